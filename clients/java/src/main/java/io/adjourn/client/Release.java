package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Constants;
import java.time.Duration;

/**
 * How a job is given back.
 *
 * @param delayMs what RELEASE says
 */
public record Release(long delayMs) {
    /** The attempt failed; the job waits for its backoff. */
    public static final Release BACKOFF = new Release(Constants.RELEASE_BY_BACKOFF);
    /** The attempt failed; the job is ready at once. */
    public static final Release AT_ONCE = new Release(0);
    /** The work was not started: no attempt is counted, and the job is ready at once and keeps its place. */
    public static final Release NOT_STARTED = new Release(Constants.RELEASE_NOT_STARTED);

    /** The attempt failed; the next one is after this time, at most ten years. */
    public static Release after(Duration delay) {
        return new Release(millis(delay));
    }

    /**
     * The work was not started, and is not to be before this time, at most ten years: no attempt is counted, and the job is delayed. For
     * example because what the work needs is away for a while.
     */
    public static Release parked(Duration delay) {
        return new Release(Constants.RELEASE_PARKED + millis(delay));
    }

    private static long millis(Duration delay) {
        long ms = Millis.of(delay);
        if (ms > Limits.DELAY_MS_MAX) {
            throw new UsageException("a delay is at most ten years: " + delay);
        }
        return ms;
    }
}
