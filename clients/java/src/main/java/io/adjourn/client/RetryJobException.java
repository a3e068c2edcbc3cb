package io.adjourn.client;

import java.time.Duration;

/** Thrown by a handler: the attempt failed, and the next one is after this time, whatever the job's backoff. */
public final class RetryJobException extends Exception {
    private static final long serialVersionUID = 1;

    private final Duration delay;

    /** Throws {@link UsageException} if the delay is {@code null}, negative or longer than ten years. */
    public RetryJobException(Duration delay, String reason) {
        super(reason);
        if (delay == null) {
            throw new UsageException("a retry needs a delay");
        }
        Release.after(delay);
        this.delay = delay;
    }

    Duration delay() {
        return delay;
    }
}
