package io.adjourn.client.internal.wire;

/** A value does not fit the length of its field. */
public final class FieldTooLongException extends RuntimeException {
    private static final long serialVersionUID = 1;

    FieldTooLongException(int length, int max) {
        super("a field has " + length + " bytes; at most " + max + " fit");
    }
}
