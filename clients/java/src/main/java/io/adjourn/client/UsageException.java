package io.adjourn.client;

/** The caller asked for what cannot be. Nothing was sent. */
public final class UsageException extends AdjournException {
    private static final long serialVersionUID = 1;

    public UsageException(String message, Throwable cause) {
        super("USAGE", false, Applied.NO, message, cause);
    }

    public UsageException(String message) {
        this(message, null);
    }
}
