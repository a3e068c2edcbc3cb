package io.adjourn.client;

/** The other side broke the protocol. */
public final class ProtocolException extends AdjournException {
    private static final long serialVersionUID = 1;

    public ProtocolException(String message, Throwable cause) {
        super("PROTOCOL", false, Applied.UNKNOWN, message, cause);
    }

    public ProtocolException(String message) {
        this(message, null);
    }
}
