package io.adjourn.client.internal.session;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.adjourn.client.internal.wire.FrameWriter;
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

    private static byte[] key(long low, long high) {
        return new FrameWriter(16).u64(low).u64(high).toBytes();
    }

    @Test
    void theNextKeyIsBehindTheJobsOfThePush() {
        requests.nextKeyLow = -3;
        requests.nextKeyHigh = 7;
        assertArrayEquals(key(-3, 7), requests.takeKey(2));
        assertArrayEquals(key(-1, 7), requests.takeKey(4));
        assertArrayEquals(key(3, 8), requests.takeKey(1));
        assertArrayEquals(key(4, 8), requests.takeKey(1));
    }

    @Test
    void zeroIsLeftOut() {
        requests.nextKeyLow = -1;
        requests.nextKeyHigh = -1;
        assertArrayEquals(key(-1, -1), requests.takeKey(1));
        assertArrayEquals(key(1, 0), requests.takeKey(2));
        assertArrayEquals(key(3, 0), requests.takeKey(1));
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
        Request.PushJob job = new Request.PushJob(0, 0, 0, 0, 0, "", new byte[0], new byte[0]);
        Request.Push push = new Request.Push(0, "t", Collections.nCopies(4_096, job));
        List<Open> pushes = Stream.of(timeout, timeout, HOUR)
                .map(wait -> new Open(Open.Kind.CALL, push, null, ticker.now(), wait)).toList();
        pushes.forEach(requests::accept);
        return pushes;
    }

    private static List<Boolean> onWire(List<Open> pushes) {
        return pushes.stream().map(push -> push.onWire).toList();
    }
}
