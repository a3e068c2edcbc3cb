package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Response;
import java.time.Instant;
import java.util.List;

/**
 * A client that is connected to the leader.
 *
 * @param connection its number, never reused
 * @param session the session that it speaks for; 0 for none
 * @param since when it connected
 * @param leases leases of the session
 * @param subscriptions its subscriptions
 * @param reserves its waiting long polls
 * @param creditJobs remaining credit in jobs
 * @param creditBytes remaining credit in bytes
 * @param unsentBytes bytes that its socket has not accepted
 * @param address its network address
 * @param clientName its name
 * @param topics topics that it waits for
 * @param hasMoreTopics whether it waits for others too
 */
public record ConnectionInfo(long connection, long session, Instant since, long leases, long subscriptions, long reserves,
        long creditJobs, long creditBytes, long unsentBytes, String address, String clientName, List<String> topics,
        boolean hasMoreTopics) {
    static ConnectionInfo of(Response.Connection c) {
        return new ConnectionInfo(c.connection(), c.session(), Millis.instant(c.sinceMs()), Integer.toUnsignedLong(c.leases()),
                Integer.toUnsignedLong(c.subscriptions()), Integer.toUnsignedLong(c.reserves()), c.creditJobs(), c.creditBytes(),
                c.unsentBytes(), c.address(), c.clientName(), c.topics(), c.isMarkedMoreTopics());
    }
}
