package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Response;
import java.time.Duration;
import java.time.Instant;

/**
 * Where a group of a topic stands.
 *
 * @param name its name
 * @param ready how many of its jobs wait for a consumer
 * @param reserved how many of its jobs a consumer has
 * @param oldestReady how long the next of its jobs has been ready; zero if none is
 * @param weight how many jobs it gives at a turn, 1 to 1,000
 * @param paused whether {@link Client#setGroup} paused it
 * @param hold what holds it back; {@link Why#NEXT} if nothing does
 * @param holdUntil when that ends, on the server's wall clock; {@code null} if that is not known
 */
public record GroupInfo(String name, long ready, long reserved, Duration oldestReady, long weight, boolean paused, Why hold,
        Instant holdUntil) {
    static GroupInfo of(Response.GroupState g) {
        return new GroupInfo(g.name(), g.ready(), g.reserved(), Millis.duration(g.oldestMs()), Integer.toUnsignedLong(g.weight()),
                g.paused() != 0, Why.of(g.hold()), Millis.instantOrNull(g.untilMs()));
    }
}
