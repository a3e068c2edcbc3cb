package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A real server that is killed, stopped and started again on the same data. */
class ReconnectTest {
    private static final Duration WAIT = Duration.ofSeconds(15);

    @Test
    void noPushIsLostOrDoubledWhenTheServerIsKilled() throws Exception {
        pushWhileTheServerIsKilled(false);
    }

    @Test
    void noPushUnderAKeyIsLostOrDoubledWhenTheServerIsKilled() throws Exception {
        pushWhileTheServerIsKilled(true);
    }

    private static void pushWhileTheServerIsKilled(boolean withoutSession) throws Exception {
        try (TestServer server = new TestServer(); Client client = Client.builder().address(server.address())
                .requestTimeout(Duration.ofSeconds(60)).withoutSession(withoutSession).connect()) {
            List<CompletableFuture<PushResult>> pushes = new ArrayList<>();
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < 400; i++) {
                    pushes.add(client.pushAsync("orders", NewJob.text("r" + round + "-" + i)));
                }
                if (round == 1) {
                    server.terminate();
                } else {
                    server.kill();
                }
                server.start();
            }
            long ids = pushes.stream().map(CompletableFuture::join).map(PushResult::id).distinct().count();
            assertEquals(pushes.size(), ids);
            assertEquals(pushes.size(), client.count(Filter.topic("orders")));
            assertEquals(pushes.size(), client.list(Filter.topic("orders"), ListOrder.ID, 500, true)
                    .map(job -> new String(job.body())).distinct().count());
        }
    }

    @Test
    void aLeaseIsKeptAndAReserveGoesOnAcrossARestart() throws Exception {
        try (TestServer server = new TestServer(); Client client = Client.builder().address(server.address()).connect()) {
            client.push("a", NewJob.text("x"));
            Job job = client.reserve("a", 1, WAIT).get(0);
            CompletableFuture<List<Job>> waiting = client.reserveAsync(List.of(TopicShare.of("b")), 1, Duration.ofMinutes(1));
            Subscription subscription = client.subscribe("c", 2);
            server.kill();
            Await.until("the client sees it", () -> !client.isConnected() && !subscription.isActive());
            CompletableFuture<PushResult> pushed = client.pushAsync("b", NewJob.text("y"));
            server.start();
            job.finish();
            pushed.get();
            assertEquals("y", waiting.get().get(0).text());
            client.push("c", NewJob.text("z"));
            assertEquals("z", subscription.poll(WAIT).text());
            assertEquals(JobState.FINISHED, client.get(JobRef.id(job.id())).state());
            subscription.close();
        }
    }

    @Test
    void whatIsNotSafeToRepeatEndsWithOutcomeUnknown() throws Exception {
        try (TestServer server = new TestServer("--heartbeat-ms", "300");
                Client client = Client.builder().address(server.address()).requestTimeout(Duration.ofSeconds(40)).connect()) {
            long id = client.push("t", NewJob.text("x").delay(Duration.ofHours(1))).id();
            server.signal("STOP");
            CompletableFuture<Throwable> runNow = failure(() -> client.runNow(JobRef.id(id)));
            CompletableFuture<Throwable> get = failure(() -> client.get(JobRef.id(id)));
            Throwable unknown = runNow.get();
            assertEquals(OutcomeUnknownException.class, unknown.getClass());
            assertEquals(Applied.UNKNOWN, ((AdjournException) unknown).applied());
            server.signal("CONT");
            assertEquals(null, get.get(), "a read is repeated");
        }
    }

    @Test
    void aSilentServerIsGivenUpAndItsLeasesArePresumedLost() throws Exception {
        try (TestServer server = new TestServer("--heartbeat-ms", "300", "--session-grace-ms", "1500");
                Client client = Client.builder().address(server.address()).connect()) {
            client.push("t", NewJob.text("x"));
            Job job = client.reserve("t", 1, WAIT).get(0);
            server.signal("STOP");
            Await.until("presumed lost", () -> job.lost().isPresent());
            assertEquals(LostReason.PRESUMED_LOST, job.lost().orElseThrow());
            LeaseLostException lost = assertThrows(LeaseLostException.class, job::finish);
            assertEquals("STALE_LEASE", lost.code());
            assertFalse(client.isConnected());
            server.signal("CONT");
            client.awaitConnected(WAIT);
            assertEquals(2, client.reserve("t", 1, WAIT).get(0).attempts());
        }
    }

    @Test
    void aPortWhereNothingListensIsWaitedForNoLongerThanConnectingMayTake() {
        ClientBuilder builder = Client.builder().address("127.0.0.1:" + TestServer.freePort());
        ConnectionException error = assertThrows(ConnectionException.class,
                () -> builder.connectTimeout(Duration.ofSeconds(2)).requestTimeout(Duration.ofMinutes(10)).connect());
        assertTrue(error.getMessage().contains("within 2000 ms"), error.getMessage());
        assertTrue(error.getMessage().contains("refused"), error.getMessage());
    }

    @Test
    void deadlinesHoldWithoutAServer() {
        long start = System.nanoTime();
        try (Client client = Client.builder().address("127.0.0.1:" + TestServer.freePort()).requestTimeout(Duration.ofMillis(300)).build()) {
            ConnectionException error = assertThrows(ConnectionException.class, () -> client.push("t", NewJob.text("x")));
            assertEquals("CANNOT_CONNECT", error.code());
            assertEquals(Applied.NO, error.applied());
            assertTrue(error.retryable());
        }
        assertTrue(System.nanoTime() - start < 10_000_000_000L);
    }

    @Test
    void theTokenIsSentAndAWrongOneIsHopeless() throws Exception {
        Path tokens = Files.createTempFile("adjourn-java-", ".tokens");
        // Of "sesame".
        Files.writeString(tokens, """
                [[token]]
                name = "shop"
                sha256 = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272"
                allow = ["push"]
                """);
        try (TestServer server = new TestServer("--tokens-file", tokens.toString())) {
            try (Client client = Client.builder().address(server.address()).token("sesame").connect()) {
                client.push("t", NewJob.text("x"));
            }
            ServerException.Unauthenticated refused = assertThrows(ServerException.Unauthenticated.class,
                    () -> Client.builder().address(server.address()).token("wrong").connect());
            assertEquals(4, refused.number());
        } finally {
            Files.delete(tokens);
        }
    }

    @Test
    void goodbyeGivesLeasesBackAndEveryCallAfterItFails() {
        try (TestServer server = new TestServer(); Client other = Client.builder().address(server.address()).connect()) {
            Client client = Client.builder().address(server.address()).connect();
            client.push("t", NewJob.text("x"));
            client.reserve("t", 1, WAIT);
            CompletableFuture<List<Job>> waiting = client.reserveAsync(List.of(TopicShare.of("u")), 1, Duration.ofMinutes(1));
            client.close();
            client.close();
            assertEquals("CLOSED", assertThrows(ClientClosedException.class, client::topics).code());
            assertTrue(waiting.isCompletedExceptionally() || failure(waiting::join).join() != null);
            assertEquals(1, other.reserve("t", 1, WAIT).size());
        }
    }

    private static CompletableFuture<Throwable> failure(Runnable call) {
        CompletableFuture<Throwable> failure = new CompletableFuture<>();
        new Thread(() -> {
            try {
                call.run();
                failure.complete(null);
            } catch (Throwable e) {
                failure.complete(e);
            }
        }).start();
        return failure;
    }
}
