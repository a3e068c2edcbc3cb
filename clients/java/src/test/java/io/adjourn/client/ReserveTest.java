package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.ScriptedServer.Peer;
import io.adjourn.client.internal.wire.Opcode;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A server may end the wait of a reserve early: it goes on. */
class ReserveTest {
    private static final Duration WAIT = Duration.ofSeconds(20);

    /** What is left of the wait in the RESERVE before. */
    private final AtomicLong left = new AtomicLong(WAIT.toMillis());

    private static Client client(ScriptedServer server) {
        return Client.builder().address(server.address()).requestTimeout(WAIT).connect();
    }

    /** The next RESERVE, which asks for the rest of the wait. */
    private int nextReserve(Peer peer) throws IOException {
        ScriptedServer.Request reserve = peer.next(Opcode.RESERVE);
        long before = left.getAndSet(reserve.u64(0));
        assertTrue(left.get() >= 1 && left.get() <= before, left + " ms after " + before + " ms");
        return reserve.id();
    }

    private static void noJob(Peer peer, int id) throws IOException {
        peer.send(Opcode.RESERVED, id, body -> body.list(53, 0));
    }

    /** One job, whose lease ends at this time of the server's clock; 0 for none said. */
    private static void oneJob(Peer peer, int id, long job, long deadlineMs) throws IOException {
        peer.send(Opcode.RESERVED, id, body -> body.list(53, 1).u64(job).u64(job).u64(0).u32(1).u32(1).u32(60_000).u8(1).u16(0).u16(0)
                .u32(0).u64(deadlineMs).raw(new byte[] {'t'}));
    }

    @Test
    void itGoesOnHereAndOnTheNextConnection() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            noJob(peer, nextReserve(peer));
            int id = nextReserve(peer);
            peer.send(Opcode.GOING_AWAY, 0, body -> body.text16("stops").u8(1));
            noJob(peer, id);
            peer.untilEnd();
        }, peer -> {
            peer.welcome(9, 3);
            peer.send(Opcode.LEASED, peer.next(Opcode.LEASES).id(), body -> body.u8(0).list(53, 0));
            oneJob(peer, nextReserve(peer), 42, 0);
            peer.untilEnd();
        }); Client client = client(server)) {
            assertEquals(42, client.reserve("t", 1, WAIT).get(0).id());
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void itGoesOnIfTheLeaseOfEveryJobIsOver() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            oneJob(peer, nextReserve(peer), 41, 1); // WELCOME showed 1 on this clock
            oneJob(peer, nextReserve(peer), 42, 0);
            peer.untilEnd();
        }); Client client = client(server)) {
            assertEquals(42, client.reserve("t", 1, WAIT).get(0).id());
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void aServerThatAlwaysAnswersAtOnceIsNotAskedAllTheTime() throws IOException {
        AtomicInteger asked = new AtomicInteger();
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            while (true) {
                noJob(peer, nextReserve(peer));
                asked.incrementAndGet();
            }
        }); Client client = client(server)) {
            assertEquals(List.of(), client.reserve("t", 1, Duration.ofMillis(300)));
            assertTrue(asked.get() >= 2 && asked.get() <= 30, asked + " times");
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void oneThatWasLeftWhileItPausedIsNotSentAgain() throws Exception {
        CountDownLatch answered = new CountDownLatch(1);
        AtomicInteger longOnes = new AtomicInteger();
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            while (true) {
                ScriptedServer.Request request = peer.next();
                if (request.is(Opcode.COUNT)) {
                    longOnes.set(0); // what was sent before the caller left
                    peer.send(Opcode.COUNTED, request.id(), body -> body.u64(7));
                } else if (request.is(Opcode.RESERVE)) {
                    longOnes.addAndGet(request.u64(0) > 1_000 ? 1 : 0);
                    noJob(peer, request.id());
                    answered.countDown();
                } else {
                    peer.send(Opcode.DONE, request.id(), body -> { });
                }
            }
        }); Client client = client(server)) {
            CompletableFuture<List<Job>> waiting = client.reserveAsync(List.of(TopicShare.of("t")), 1, Duration.ofHours(1));
            answered.await();
            assertTrue(waiting.cancel(true));
            assertEquals(7, client.count(Filter.ALL));
            // Longer than the pause of the one that was left.
            assertEquals(List.of(), client.reserve("t", 1, Duration.ofMillis(400)));
            assertEquals(0, longOnes.get());
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void aChangeOfTheClusterIsNotRepeatedAfterARefusal() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.error(peer.next(Opcode.CLUSTER_REMOVE).id(), ErrorCode.BUSY, true, 0, 0);
            peer.untilEnd();
        }); Client client = client(server)) {
            assertThrows(ServerException.Busy.class, () -> client.clusterRemove(2));
            client.close(Duration.ofMillis(1));
        }
    }
}
