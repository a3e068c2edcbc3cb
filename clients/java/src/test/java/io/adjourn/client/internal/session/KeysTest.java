package io.adjourn.client.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.adjourn.client.IdempotencyKey;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.Response;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The keys of pushes without a session. */
class KeysTest {
    private static final long HOUR = 3_600_000_000_000L;

    private final Guard guard = new Guard();
    private final Ticker ticker = new Ticker();
    private final Wire wire = new Wire(guard, ticker, List.of());
    private final Requests requests = new Requests(guard, ticker, wire, true);

    @BeforeEach
    void lock() {
        guard.lock();
    }

    @AfterEach
    void unlock() {
        guard.unlock();
    }

    private static IdempotencyKey key(long low, long high) {
        return new IdempotencyKey(high, low);
    }

    @Test
    void theNextKeyIsBehindTheJobsOfThePush() {
        requests.nextKey = key(-3, 7);
        assertEquals(key(-3, 7), requests.takeKey(2));
        assertEquals(key(-1, 7), requests.takeKey(4));
        assertEquals(key(3, 8), requests.takeKey(1));
        assertEquals(key(4, 8), requests.takeKey(1));
    }

    @Test
    void aKeyWithoutRoomForTheJobsIsDrawnAnew() {
        requests.nextKey = key(-2, -1);
        assertEquals(key(-2, -1), requests.takeKey(2));
        IdempotencyKey drawn = requests.nextKey;
        assertEquals(drawn, requests.takeKey(2));
        assertEquals(drawn.plus(2), requests.takeKey(1));
        requests.nextKey = key(-2, -1);
        drawn = requests.takeKey(3);
        assertNotEquals(key(-2, -1), drawn);
        assertEquals(drawn.plus(3), requests.takeKey(1));
    }

    @Test
    void atMost8192JobsAreSentAndNotAnswered() {
        up();
        List<Open> pushes = acceptThree(HOUR);
        assertEquals(List.of(true, true, false), onWire(pushes));
        requests.succeed(pushes.get(0), Answer.of(new Response.Pushed(List.of())));
        requests.pump();
        assertEquals(List.of(false, true, true), onWire(pushes));
    }

    @Test
    void aPushThatNobodyWaitsForCountsUntilItsAnswer() {
        up();
        List<Open> pushes = acceptThree(0);
        requests.expire(ticker.now());
        requests.pump();
        assertEquals(List.of(true, true, false), onWire(pushes));
        requests.succeed(pushes.get(1), Answer.of(new Response.Pushed(List.of())));
        requests.pump();
        assertEquals(List.of(true, false, true), onWire(pushes));
    }

    @Test
    void aRefusedPushCountsAgainWhenItIsRepeated() {
        up();
        List<Open> pushes = acceptThree(HOUR);
        requests.retry(pushes.get(0), 0);
        requests.pump();
        assertEquals(List.of(false, true, true), onWire(pushes));
        requests.takeUpLater(ticker.now());
        requests.pump();
        assertEquals(List.of(false, true, true), onWire(pushes));
        requests.succeed(pushes.get(1), Answer.of(new Response.Pushed(List.of())));
        requests.pump();
        assertEquals(List.of(true, false, true), onWire(pushes));
    }

    @Test
    void aLostConnectionStartsTheCountAnew() {
        up();
        List<Open> pushes = acceptThree(HOUR);
        wire.down();
        requests.lost();
        assertEquals(List.of(false, false, false), onWire(pushes));
        up();
        requests.pump();
        assertEquals(List.of(true, true, false), onWire(pushes));
    }

    private void up() {
        wire.up(new Response.Welcome(1, 0, new byte[16], 0, new byte[16], 400, 2_000, 1 << 20, 90_000, 4_096, 100, 100, 100, "core",
                List.of(), 1), null);
    }

    /** The callers of the first two wait for this long. */
    private List<Open> acceptThree(long timeout) {
        Request.NewJob job = new Request.NewJob(0, 0, 0, 0, 0, "", new byte[0], new byte[0]);
        Request.Push push = Pushes.of("t", Collections.nCopies(4_096, job));
        List<Open> pushes = Stream.of(timeout, timeout, HOUR)
                .map(wait -> new Open(Open.Kind.CALL, push, null, ticker.now(), wait)).toList();
        pushes.forEach(requests::accept);
        return pushes;
    }

    private static List<Boolean> onWire(List<Open> pushes) {
        return pushes.stream().map(push -> push.onWire).toList();
    }
}
