package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Request;
import java.time.Duration;

/**
 * How a job is given back.
 *
 * @param delayMs what RELEASE says
 */
public record Release(long delayMs) {
    private static final long DELAY_MS_MAX = 315_360_000_000L;
    /** The attempt failed; the job waits for its backoff. */
    public static final Release BACKOFF = new Release(Request.BACKOFF);
    /** The attempt failed; the job is ready at once. */
    public static final Release AT_ONCE = new Release(0);
    /** The work was not started: no attempt is counted. */
    public static final Release NOT_STARTED = new Release(Request.NOT_STARTED);

    /** The attempt failed; the next one is after this time, at most ten years. */
    public static Release after(Duration delay) {
        long ms = Millis.of(delay);
        if (ms > DELAY_MS_MAX) {
            throw new UsageException("a delay is at most ten years: " + delay);
        }
        return new Release(ms);
    }
}
