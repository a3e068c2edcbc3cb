package io.adjourn.client;

import io.adjourn.client.internal.fake.FakeExchange;
import java.time.Duration;
import java.time.Instant;

/**
 * A queue in memory, for the tests of programs that use this library: a {@link Client} that needs no server, and a clock that
 * only {@link #advance} moves. It has the queue's rules for jobs, leases, keys, attempts, backoffs and dead letters. It has no
 * cluster, no weights, no rates and no lateness, and no jitter.
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

    /** Moves its clock; all that is due on the way happens in its order. */
    public void advance(Duration time) {
        exchange.advance(time);
    }

    @Override
    public void close() {
        client.close();
    }
}
