package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Response;
import java.time.Instant;

/**
 * An instant of a schedule, and what the clocks of its zone show.
 *
 * @param instant the instant
 * @param local the date, time, offset and abbreviation in the zone, such as {@code 2027-03-28 03:00:00 +02:00 CEST}
 */
public record LocalInstant(Instant instant, String local) {
    static LocalInstant of(Response.LocalInstant i) {
        return new LocalInstant(Millis.instant(i.instantMs()), i.local());
    }
}
