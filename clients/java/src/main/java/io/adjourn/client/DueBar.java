package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Response;
import java.time.Instant;

/**
 * How many jobs are due in a part of a time.
 *
 * @param start when it begins: it goes on to the next one, and the last one has no end. {@code null} for the jobs before the first bar
 * @param jobs how many jobs are due in it
 */
public record DueBar(Instant start, long jobs) {
    static DueBar of(Response.DueBar bar) {
        return new DueBar(Millis.instantOrNull(bar.startMs()), bar.jobs());
    }
}
