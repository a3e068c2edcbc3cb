package io.adjourn.client;

import io.adjourn.client.internal.fake.FakeExchange;
import java.time.Duration;
import java.time.Instant;

/**
 * A queue in memory, for the tests of programs that use this library: a {@link Client} that needs no server, and a clock that
 * only {@link #advance} moves. It has the queue's rules for jobs, leases, keys, attempts and backoffs, weights, and the policies
 * of topics: defaults, limits, rates, late jobs, dead letters.
 *
 * <p>It differs from a server in this: there is no cluster and no backup, and backoffs have no jitter. A queue that is never
 * down has no jobs that come due late, so {@link TopicPolicy.LateAction#RATE} and {@link TopicPolicy.LateAction#SPREAD} do
 * nothing; a first delivery is late if nobody took the job before.
 *
 * <pre>{@code
 * FakeQueue queue = new FakeQueue();
 * queue.client().push("orders", NewJob.text("17").delay(Duration.ofMinutes(30)));
 * queue.advance(Duration.ofMinutes(30));
 * assertEquals("17", queue.client().reserve("orders", 1, Duration.ZERO).get(0).text());
 * }</pre>
 */
public final class FakeQueue implements AutoCloseable {
    private final FakeExchange exchange;
    private final Client client;

    /** Its clock begins at the start of 2026. */
    public FakeQueue() {
        this(Instant.parse("2026-01-01T00:00:00Z"));
    }

    /** Its clock begins there. */
    public FakeQueue(Instant start) {
        exchange = new FakeExchange(start);
        client = Client.over(exchange);
    }

    /** Its client. */
    public Client client() {
        return client;
    }

    /** What its clock shows. */
    public Instant now() {
        return exchange.time();
    }

    /**
     * Moves its clock; all that is due on the way happens in its order. The leases of jobs that are handed out on the way run from
     * the end: no handler can work on the way.
     */
    public void advance(Duration time) {
        exchange.advance(time);
    }

    @Override
    public void close() {
        client.close();
    }
}
