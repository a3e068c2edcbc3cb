package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Response;
import java.time.Duration;

/**
 * Counts of jobs.
 *
 * @param delayed delayed now
 * @param ready ready now
 * @param reserved reserved now
 * @param buried buried now
 * @param pushed pushed or moved here so far
 * @param finished finished so far
 * @param deleted deleted, replaced or moved away so far
 * @param expired dropped by their expiry so far
 * @param oldestReady time since the oldest ready job was due; zero without one
 */
public record Totals(long delayed, long ready, long reserved, long buried, long pushed, long finished, long deleted, long expired,
        Duration oldestReady) {
    static Totals of(Response.Totals t) {
        return new Totals(t.delayed(), t.ready(), t.reserved(), t.buried(), t.pushed(), t.finished(), t.deleted(), t.expired(),
                Millis.duration(t.oldestReadyMs()));
    }
}
