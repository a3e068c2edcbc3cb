package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Response;
import java.time.Instant;

/**
 * What became of one part of a time that {@link Client#fillSchedule} fills.
 *
 * @param next from when the next part goes on; {@code null} if this was the last one
 * @param instants how many instants the schedule has in this part
 * @param pushed how many jobs were pushed
 * @param kept at how many instants the topic has the job already, by its key
 * @param refused how many jobs the topic's policy, or a limit of the queue, did not allow
 */
public record ScheduleFilled(Instant next, long instants, long pushed, long kept, long refused) {
    static ScheduleFilled of(Response.ScheduleFilled f) {
        return new ScheduleFilled(Millis.instantOrNull(f.nextMs()), Integer.toUnsignedLong(f.instants()), Integer.toUnsignedLong(f.pushed()),
                Integer.toUnsignedLong(f.kept()), Integer.toUnsignedLong(f.refused()));
    }
}
