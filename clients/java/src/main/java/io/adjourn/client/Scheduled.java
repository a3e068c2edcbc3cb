package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Response;
import java.time.Instant;

/**
 * A schedule that was set.
 *
 * @param id its id, unsigned; it stays when the schedule is set again
 * @param version how often it was set
 * @param next its next instant; {@code null} if there is none
 */
public record Scheduled(long id, long version, Instant next) {
    static Scheduled of(Response.Scheduled s) {
        return new Scheduled(s.schedule(), Integer.toUnsignedLong(s.version()), Millis.instantOrNull(s.nextMs()));
    }
}
