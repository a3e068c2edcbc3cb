package io.adjourn.client;

/** Another cluster answers at the address: this is a different queue. */
public final class WrongClusterException extends AdjournException {
    private static final long serialVersionUID = 1;

    public WrongClusterException(String message, Throwable cause) {
        super("WRONG_CLUSTER", false, Applied.NO, message, cause);
    }

    public WrongClusterException(String message) {
        this(message, null);
    }
}
