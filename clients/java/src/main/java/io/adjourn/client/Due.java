package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Choice;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;

/**
 * When a job is due. A time without a zone does not say when: there is no factory for {@code LocalDateTime} on purpose.
 *
 * @param ms milliseconds, unsigned: after the queue accepts the request, or on the wall clock
 * @param isAt whether it is a point in time
 */
public record Due(long ms, boolean isAt) {
    /** At once. */
    public static final Due NOW = new Due(0, false);

    /** Refuses a delay of more than ten years. */
    public Due {
        if (!isAt && (ms < 0 || ms > Limits.DELAY_MS_MAX)) {
            throw new UsageException("a delay is at most ten years; use a point in time for more");
        }
    }

    /** This long after the queue accepts the request; at most ten years. Rounded up to a millisecond. */
    public static Due after(Duration delay) {
        return new Due(Millis.of(delay), false);
    }

    /** At this time on the wall clock; a time in the past means at once. Rounded up to a millisecond. */
    public static Due at(Instant time) {
        return new Due(Millis.of(time), true);
    }

    /** As {@link #at(Instant)}. */
    public static Due at(OffsetDateTime time) {
        return at(time.toInstant());
    }

    /** As {@link #at(Instant)}. */
    public static Due at(ZonedDateTime time) {
        return at(time.toInstant());
    }

    /** Its kind on the wire. */
    int kind() {
        return isAt ? Choice.DueKind.AT : Choice.DueKind.AFTER;
    }
}
