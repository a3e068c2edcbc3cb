package io.adjourn.client;

/** The calling thread was interrupted while it waited. Its interrupt flag is set again; the call may be carried out all the same. */
public final class InterruptedCallException extends AdjournException {
    private static final long serialVersionUID = 1;

    public InterruptedCallException(String message, Throwable cause) {
        super("INTERRUPTED", true, Applied.UNKNOWN, message, cause);
    }

    public InterruptedCallException(String message) {
        this(message, null);
    }
}
