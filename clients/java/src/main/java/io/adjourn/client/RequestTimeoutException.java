package io.adjourn.client;

/** No answer came in time, for a call that a repeat does not harm or that was never sent. */
public final class RequestTimeoutException extends AdjournException {
    private static final long serialVersionUID = 1;

    public RequestTimeoutException(String message, boolean wasSent, Throwable cause) {
        super("TIMEOUT", true, wasSent ? Applied.UNKNOWN : Applied.NO, message, cause);
    }
}
