package io.adjourn.client.internal.wire;

/** A frame from the other side cannot be decoded. */
public final class MalformedFrameException extends Exception {
    private static final long serialVersionUID = 1;

    public MalformedFrameException(String message) {
        super(message);
    }
}
