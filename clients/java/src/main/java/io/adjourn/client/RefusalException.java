package io.adjourn.client;

import java.time.Duration;

/** What all types of {@link ServerException} have in common. */
abstract sealed class RefusalException extends AdjournException permits ServerException {
    private static final long serialVersionUID = 1;

    private final int number;
    private final long retryAfterMs;
    private final long existingJob;

    RefusalException(String code, Refusal refusal) {
        super(code, refusal.retryable(), refusal.applied(), code + ": " + refusal.message(), null);
        this.number = refusal.number();
        this.retryAfterMs = refusal.retryAfterMs();
        this.existingJob = refusal.job();
    }

    /** The number of the code on the wire. */
    public final int number() {
        return number;
    }

    @Override
    public final Duration retryAfter() {
        return Duration.ofMillis(retryAfterMs);
    }

    /**
     * The id (unsigned) of the job that is in the way of a push: for {@link ServerException.KeyExists} and
     * {@link ServerException.Reserved}, else 0.
     */
    public final long existingJob() {
        return existingJob;
    }

    /** The error of a whole request, as an ERROR frame says it; {@link OutcomeUnknownException} for that code. */
    public static AdjournException ofRequest(int number, boolean retryable, Applied applied, long retryAfterMs, String message) {
        return ServerException.of(new Refusal(number, retryable, applied, retryAfterMs, 0, message));
    }

    /** The error of one item of a batch. Nothing was changed for it, unless its outcome is unknown. */
    public static AdjournException ofItem(int number, long job) {
        ErrorCode code = ErrorCode.of(number);
        String message = code == ErrorCode.UNKNOWN ? "code " + number : "refused";
        if (job != 0) {
            message += (code == ErrorCode.OUTCOME_UNKNOWN ? ", look at job " : ", by job ") + Long.toUnsignedString(job);
        }
        return ServerException.of(new Refusal(number, code.isRetryable(), Applied.NO, 0, job, message));
    }
}
