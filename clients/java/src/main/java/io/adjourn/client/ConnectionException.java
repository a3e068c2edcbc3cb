package io.adjourn.client;

/** No connection to a server could be made, and nothing was sent. */
public final class ConnectionException extends AdjournException {
    private static final long serialVersionUID = 1;

    public ConnectionException(String message, Throwable cause) {
        super("CANNOT_CONNECT", true, Applied.NO, message, cause);
    }

    public ConnectionException(String message) {
        this(message, null);
    }
}
