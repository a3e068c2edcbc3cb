package io.adjourn.client;

/** The answer was lost and a repeat is not safe: look up what became of the call, for example with a job's key. */
public final class OutcomeUnknownException extends AdjournException {
    private static final long serialVersionUID = 1;

    public OutcomeUnknownException(String message, Throwable cause) {
        super("OUTCOME_UNKNOWN", false, Applied.UNKNOWN, message, cause);
    }

    public OutcomeUnknownException(String message) {
        this(message, null);
    }
}
