package io.adjourn.client;

/** The client was closed, or another process took its session over. */
public final class ClientClosedException extends AdjournException {
    private static final long serialVersionUID = 1;

    public ClientClosedException(String message, Throwable cause) {
        super("CLOSED", false, Applied.NO, message, cause);
    }

    public ClientClosedException(String message) {
        this(message, null);
    }
}
