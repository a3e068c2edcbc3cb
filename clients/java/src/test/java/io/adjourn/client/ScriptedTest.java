package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.ScriptedServer.Peer;
import io.adjourn.client.internal.wire.Opcode;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** What the client does with a server that misbehaves, stalls or refuses. */
class ScriptedTest {
    private final Map<String, Long> seen = new ConcurrentHashMap<>();

    private static Client client(ScriptedServer server) {
        return Client.builder().address(server.address()).requestTimeout(Duration.ofSeconds(20)).connect();
    }

    @Test
    void unansweredPushesAreRepeatedUnderTheirNumbersInTheirOrder() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.next(Opcode.PUSH);
            peer.next(Opcode.PUSH);
        }, peer -> {
            seen.put("session", peer.welcome(9, 3).u64(16));
            ScriptedServer.Request first = peer.next(Opcode.PUSH);
            ScriptedServer.Request second = peer.next(Opcode.PUSH);
            seen.put("first", first.u64(0));
            seen.put("second", second.u64(0));
            peer.pushed(second.id(), 43);
            peer.pushed(first.id(), 41, 42);
            ScriptedServer.Request third = peer.next(Opcode.PUSH);
            seen.put("third", third.u64(0));
            peer.pushed(third.id(), 44);
            peer.untilEnd();
        }); Client client = client(server)) {
            CompletableFuture<List<PushResult>> two = client.pushAllAsync("t", List.of(NewJob.text("a"), NewJob.text("b")));
            CompletableFuture<PushResult> one = client.pushAsync("t", NewJob.text("c"));
            assertEquals(List.of(41L, 42L), two.join().stream().map(PushResult::id).toList());
            assertEquals(43, one.join().id());
            client.push("t", NewJob.text("d"));
            assertEquals(Map.of("session", 9L, "first", 1L, "second", 3L, "third", 4L), seen);
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void aForgottenSessionLeavesAWrittenPushUnknownAndNumbersFromOne() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.next(Opcode.PUSH);
        }, peer -> {
            peer.welcome(10, 0);
            ScriptedServer.Request push = peer.next(Opcode.PUSH);
            seen.put("number", push.u64(0));
            peer.pushed(push.id(), 50);
            peer.untilEnd();
        }); Client client = client(server)) {
            OutcomeUnknownException unknown = assertThrows(OutcomeUnknownException.class, () -> client.push("t", NewJob.text("a")));
            assertEquals(Applied.UNKNOWN, unknown.applied());
            assertEquals(50, client.push("t", NewJob.text("b")).id());
            assertEquals(1, seen.get("number"));
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void aClientWithoutASessionRepeatsItsPushesUnderTheirKeys() throws IOException {
        List<List<Long>> before = new CopyOnWriteArrayList<>();
        List<List<Long>> after = new CopyOnWriteArrayList<>();
        try (ScriptedServer server = new ScriptedServer(peer -> {
            before.add(wishes(peer.welcome(0, 0)));
            before.add(numberAndKey(peer.next(Opcode.PUSH)));
            before.add(numberAndKey(peer.next(Opcode.PUSH)));
        }, peer -> {
            after.add(wishes(peer.welcome(0, 0)));
            ScriptedServer.Request first = peer.next(Opcode.PUSH);
            ScriptedServer.Request second = peer.next(Opcode.PUSH);
            after.addAll(List.of(numberAndKey(first), numberAndKey(second)));
            peer.pushed(second.id(), 43);
            peer.pushed(first.id(), 41, 42);
            peer.untilEnd();
        }); Client client = withoutSession(server.address()).connect()) {
            CompletableFuture<List<PushResult>> two = client.pushAllAsync("t", List.of(NewJob.text("a"), NewJob.text("b")));
            CompletableFuture<PushResult> one = client.pushAsync("t", NewJob.text("c"));
            assertEquals(List.of(41L, 42L), two.join().stream().map(PushResult::id).toList());
            assertEquals(43, one.join().id());
            assertEquals(before, after);
            assertEquals(List.of(2L, 0L, 0L, 0L), before.get(0), "no session is asked for");
            List<Long> first = before.get(1);
            List<Long> second = before.get(2);
            assertEquals(List.of(0L, 0L), List.of(first.get(0), second.get(0)), "no numbers");
            assertEquals(first.get(1) + 2, second.get(1), "each job has a key");
            client.close(Duration.ofMillis(1));
        }
    }

    private static ClientBuilder withoutSession(String address) {
        return Client.builder().address(address).requestTimeout(Duration.ofSeconds(20)).withoutSession(true);
    }

    /** Of a HELLO without a wish for heartbeats: its options, its session and the secret. */
    private static List<Long> wishes(ScriptedServer.Request hello) {
        return List.of(hello.u64(8), hello.u64(16), hello.u64(24), hello.u64(32));
    }

    /** Of a PUSH that ends with a key. */
    private static List<Long> numberAndKey(ScriptedServer.Request push) {
        int length = push.payload().length;
        return List.of(push.u64(0), push.u64(length - 16), push.u64(length - 8));
    }

    @Test
    void aClientWithoutASessionRefusesWhatNeedsLeasesAtOnce() {
        // Nobody listens there.
        try (Client client = withoutSession("127.0.0.1:1").build()) {
            UsageException refused = assertThrows(UsageException.class, () -> client.reserve("t", 1, Duration.ofSeconds(1)));
            assertEquals("this client has no session: leave out withoutSession to reserve jobs", refused.getMessage());
            assertThrows(UsageException.class, () -> client.reserveAsync(List.of(TopicShare.of("t")), 1, Duration.ZERO));
            assertThrows(UsageException.class, () -> client.subscribe("t", 1));
            assertThrows(UsageException.class, client::leases);
            assertThrows(UsageException.class, () -> client.async().leases());
            assertThrows(UsageException.class, () -> Worker.builder(client).topic("t").handler(job -> { }).start());
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void aClientWithoutASessionSendsHeartbeatsOnly() throws Exception {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(0, 0, 10_000, 400);
            ScriptedServer.Request push = peer.next(Opcode.PUSH);
            peer.pushed(push.id(), peer.pings);
            peer.untilEnd();
        }); Client client = withoutSession(server.address()).connect()) {
            Thread.sleep(400);
            assertEquals(0, client.push("t", NewJob.text("x")).id(), "no PING for the sake of leases");
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void aFrameInPiecesIsReadAndOneWithAWrongLengthEndsTheConnection() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            int id = peer.next(Opcode.COUNT).id();
            for (byte one : Peer.frame(Opcode.COUNTED.number(), id, body -> body.u64(7).u8(16).u8(0).u32(0).u8(99))) {
                peer.raw(new byte[] {one});
            }
            // Ids and opcodes that nobody knows are ignored.
            peer.send(Opcode.COUNTED, 4_000, body -> body.u64(1));
            peer.raw(Peer.frame(0xb9, peer.next(Opcode.COUNT).id(), body -> body.u8(1)));
            peer.raw(new byte[] {-1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0});
            peer.untilEnd();
        }, peer -> {
            peer.welcome(9, 3);
            int id = peer.next(Opcode.COUNT).id();
            peer.send(Opcode.COUNTED, id, body -> body.u32(7));
            peer.untilEnd();
        }, peer -> {
            peer.welcome(9, 3);
            peer.send(Opcode.COUNTED, peer.next(Opcode.COUNT).id(), body -> body.u64(8));
            peer.untilEnd();
        }); Client client = client(server)) {
            assertEquals(7, client.count(Filter.ALL));
            assertEquals(8, client.count(Filter.ALL), "asked again after a garbled length, and after a garbled payload");
            client.close(Duration.ofMillis(1));
        }
    }

    @Test
    void aRefusalDecidesByItsMarks() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            ScriptedServer.Request push = peer.next(Opcode.PUSH);
            peer.error(push.id(), ErrorCode.BUSY, true, 0, 10);
            ScriptedServer.Request again = peer.next(Opcode.PUSH);
            seen.put("again", again.u64(0));
            peer.pushed(again.id(), 5);
            peer.error(peer.next(Opcode.RUN_NOW).id(), ErrorCode.BUSY, true, 1, 0);
            peer.send(Opcode.ERROR, peer.next(Opcode.RUN_NOW).id(), body -> body.u16(77).u8(0).u8(0).u32(0).text8("").text16("new"));
            peer.error(peer.next(Opcode.RUN_NOW).id(), ErrorCode.STOPPING, true, 0, 1);
            peer.send(Opcode.GOING_AWAY, 0, body -> body.text16("bye").u8(1));
            peer.untilEnd();
        }, peer -> {
            peer.welcome(9, 3);
            peer.send(Opcode.CHANGED, peer.next(Opcode.RUN_NOW).id(), body -> body.u64(42).u64(0).u8(1));
            peer.send(Opcode.GOING_AWAY, 0, body -> body.text16("taken").u8(3));
            peer.untilEnd();
        }); Client client = client(server)) {
            assertEquals(5, client.push("t", NewJob.text("x")).id(), "retried by itself");
            assertEquals(1, seen.get("again"), "under its number");
            assertThrows(OutcomeUnknownException.class, () -> client.runNow(JobRef.id(42)));
            ServerException.Unknown newer = assertThrows(ServerException.Unknown.class, () -> client.runNow(JobRef.id(42)));
            assertEquals(77, newer.number());
            assertEquals(JobState.READY, client.runNow(JobRef.id(42)).state(), "nothing was applied: asked elsewhere");
            Await.until("the session was taken over", () -> {
                try {
                    client.count(Filter.ALL);
                    return false;
                } catch (ClientClosedException e) {
                    return true;
                }
            });
        }
    }

    @Test
    void anotherClusterIsAnotherQueue() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.next(Opcode.COUNT);
        }, peer -> {
            int id = peer.next(Opcode.HELLO).id();
            peer.send(Opcode.WELCOME, id, body -> body.u16(1).u8(3).u64(1).u64(1).u64(9).raw(new byte[16]).u32(400).u32(2_000)
                    .u32(100_000).u32(90_000).u32(100).u32(100).u32(100).u32(100).text8("other").list(10, 0).u64(1));
            peer.untilEnd();
        }); Client client = client(server)) {
            assertThrows(WrongClusterException.class, () -> client.count(Filter.ALL));
        }
    }

    @Test
    void leasesThatNeverCameAreGivenBackBeforeAnythingElse() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            ScriptedServer.Request reserve = peer.next(Opcode.RESERVE);
            peer.send(Opcode.RESERVED, reserve.id(), body -> jobs(body, 7));
            peer.next(Opcode.RESERVE);
        }, peer -> {
            peer.welcome(9, 3);
            ScriptedServer.Request leases = peer.next(Opcode.LEASES);
            peer.send(Opcode.LEASED, leases.id(), body -> jobs(body.u8(0), 7, 8));
            while (!seen.containsKey("released")) {
                ScriptedServer.Request request = peer.next();
                if (request.is(Opcode.RELEASE)) {
                    assertTrue(request.payload().length == 8 + 6 + 16, "one lease");
                    seen.put("how", request.u64(0));
                    seen.put("released", request.u64(22));
                    peer.send(Opcode.SETTLED, request.id(), body -> body.list(2, 1).u16(0));
                }
            }
            peer.untilEnd();
        }); Client client = client(server)) {
            assertEquals(1, client.reserve("t", 1, Duration.ofSeconds(5)).size());
            CompletableFuture<List<Job>> waiting = client.reserveAsync(List.of(TopicShare.of("t")), 1, Duration.ofMinutes(1));
            Await.until("released", () -> seen.containsKey("released"));
            assertEquals(Map.of("how", -2L, "released", 8L), seen);
            waiting.cancel(true);
            client.close(Duration.ofMillis(1));
        }
    }

    private static void jobs(io.adjourn.client.internal.wire.FrameWriter body, long... fences) {
        body.list(53, fences.length);
        for (long fence : fences) {
            body.u64(fence).u64(fence).u64(0).u32(1).u32(1).u32(60_000).u8(1).u16(0).u16(0).u32(0).u64(0);
        }
        // Pieces follow each fixed part: with one job that is the same.
        if (fences.length == 1) {
            body.raw(new byte[] {'t'});
        } else {
            byte[] all = body.toBytes();
            body.clear();
            int head = all.length - 53 * fences.length;
            for (int i = 0; i < all.length; i++) {
                body.u8(all[i]);
                if (i >= head && (i - head + 1) % 53 == 0) {
                    body.raw(new byte[] {'t'});
                }
            }
        }
    }

    @Test
    void aCallThatIsNeverAnsweredEndsAtItsDeadline() throws IOException {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            peer.untilEnd();
        }); Client client = Client.builder().address(server.address()).requestTimeout(Duration.ofMillis(300)).build()) {
            client.awaitConnected(Duration.ofSeconds(20));
            assertThrows(OutcomeUnknownException.class, () -> client.push("t", NewJob.text("x")));
            RequestTimeoutException late = assertThrows(RequestTimeoutException.class, client::topics);
            assertEquals("TIMEOUT", late.code());
            long start = System.nanoTime();
            client.close(Duration.ofMillis(200));
            assertTrue(System.nanoTime() - start < 5_000_000_000L);
        }
    }

    @Test
    void anInterruptEndsAWait() throws Exception {
        try (ScriptedServer server = new ScriptedServer(peer -> {
            peer.welcome(9, 0);
            ScriptedServer.Request reserve = peer.next(Opcode.RESERVE);
            seen.put("reserve", (long) reserve.id());
            ScriptedServer.Request cancel = peer.next(Opcode.CANCEL);
            seen.put("cancelled", (long) cancel.payload()[0]);
            // The job was granted just before: it is given back.
            peer.send(Opcode.DONE, cancel.id(), body -> { });
            peer.send(Opcode.RESERVED, reserve.id(), body -> jobs(body, 8));
            seen.put("released", peer.next(Opcode.RELEASE).u64(14));
            peer.untilEnd();
        }); Client client = client(server)) {
            CompletableFuture<Throwable> ended = new CompletableFuture<>();
            Thread caller = new Thread(() -> {
                try {
                    client.reserve("t", 1, Duration.ofMinutes(1));
                } catch (InterruptedCallException e) {
                    ended.complete(Thread.currentThread().isInterrupted() ? e : null);
                }
            });
            caller.start();
            Await.until("it waits", () -> seen.containsKey("reserve"));
            caller.interrupt();
            assertEquals("INTERRUPTED", ((AdjournException) ended.get()).code());
            Await.until("the job is released", () -> seen.containsKey("released"));
            assertEquals(seen.get("reserve"), seen.get("cancelled"));
            assertEquals(8, seen.get("released"));
            client.close(Duration.ofMillis(1));
        }
    }
}
