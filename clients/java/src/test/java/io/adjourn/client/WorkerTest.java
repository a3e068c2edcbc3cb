package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Workers against a real server. */
class WorkerTest {
    private static final Duration STOP = Duration.ofSeconds(10);
    private static TestServer server;
    private static Client client;

    @BeforeAll
    static void start() {
        server = new TestServer("--heartbeat-ms", "300", "--session-grace-ms", "2000");
        client = Client.builder().address(server.address()).connect();
    }

    @AfterAll
    static void stop() {
        client.close();
        server.close();
    }

    private static boolean isIn(String topic, JobState state) {
        return client.count(Filter.topic(topic).states(state)) == 1;
    }

    @Test
    void aJobIsFinishedAfterTheHandlerReturnedAndNotBefore() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        Queue<String> seen = new ConcurrentLinkedQueue<>();
        Worker worker = Worker.builder(client).topic("ok").concurrency(1)
                .middleware((job, next) -> {
                    seen.add("before " + job.header("traceparent").orElse(""));
                    next.handle(job);
                    seen.add("after");
                })
                .handler(job -> {
                    seen.add(job.text());
                    go.await();
                }).start();
        assertTrue(worker.health().consuming());
        long id = client.push("ok", NewJob.text("x").header("traceparent", "00-7")).id();
        Await.until("it runs", () -> worker.health().running() == 1);
        // Changes of one connection are applied in their order: when this is answered, a FINISH before it was applied.
        client.push("elsewhere", NewJob.text("x"));
        assertEquals(JobState.RESERVED, client.get(JobRef.id(id)).state());
        go.countDown();
        Await.until("it is finished", () -> client.get(JobRef.id(id)).state() == JobState.FINISHED);
        assertEquals(List.of("before 00-7", "x", "after"), List.copyOf(seen));
        assertTrue(worker.stop(STOP));
        assertFalse(worker.health().consuming());
        worker.join();
    }

    @Test
    void closingAClientWaitsForItsHandlers() throws Exception {
        long id = client.push("closing", NewJob.text("x")).id();
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        Client other = Client.builder().address(server.address()).connect();
        Worker worker = Worker.builder(other).topic("closing").handler(job -> {
            begun.countDown();
            go.await();
        }).start();
        begun.await();
        Thread closing = new Thread(other::close);
        closing.start();
        Await.until("the worker stops", () -> !worker.health().consuming());
        assertEquals(JobState.RESERVED, client.get(JobRef.id(id)).state(), "no GOODBYE over a handler");
        go.countDown();
        closing.join();
        assertEquals(JobState.FINISHED, client.get(JobRef.id(id)).state());
    }

    @Test
    void aFailureIsLoggedOnceForEachJobAndReason() {
        FailureLog log = new FailureLog();
        assertEquals(0, log.note(0, 1, "no paper").orElseThrow());
        assertTrue(log.note(0, 1, "no paper").isEmpty(), "it was said");
        for (int job = 2; job <= 10; job++) {
            assertEquals(0, log.note(0, job, "no paper").orElseThrow());
        }
        for (int job = 11; job <= 30; job++) {
            assertTrue(log.note(0, job, "no paper").isEmpty(), "too many at once");
        }
        assertEquals(20, log.note(1_000_000_000L, 31, "no paper").orElseThrow());
    }

    @Test
    void aFailureIsReleasedWithItsReasonAndItsBackoff() {
        Worker worker = Worker.builder(client).topic("fail").handler(job -> {
            switch (job.text()) {
                case "retry" -> throw new RetryJobException(Duration.ofHours(2), "later");
                case "bury" -> throw new BuryJobException("never");
                default -> throw new IllegalStateException("ä".repeat(2_000));
            }
        }).start();
        long plain = client.push("fail", NewJob.text("x").backoff(Backoff.fixed(Duration.ofHours(1)))).id();
        long retry = client.push("fail", NewJob.text("retry")).id();
        long bury = client.push("fail", NewJob.text("bury")).id();
        Await.until("all are settled", () -> client.count(Filter.topic("fail").states(JobState.DELAYED)) == 2
                && isIn("fail", JobState.BURIED));
        assertEquals("ä".repeat(512), client.get(JobRef.id(plain)).reason());
        assertEquals("later", client.get(JobRef.id(retry)).reason());
        assertEquals(BuriedReason.BY_CONSUMER, client.get(JobRef.id(bury)).buried());
        worker.close();
    }

    @Test
    void aLongHandlerKeepsItsLeaseAndIsInterruptedWhenItsTimeIsOver() {
        AtomicReference<LostReason> reason = new AtomicReference<>();
        Worker worker = Worker.builder(client).topic("long").maxRunTime(Duration.ofMillis(1_500)).handler(job -> {
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                reason.set(job.lost().orElse(null));
                throw e;
            }
        }).start();
        long id = client.push("long", NewJob.text("x").ttr(Duration.ofMillis(500)).backoff(Backoff.fixed(Duration.ofHours(1)))).id();
        Await.until("it is released", () -> isIn("long", JobState.DELAYED));
        JobInfo job = client.get(JobRef.id(id));
        assertEquals(1, job.attempts(), "three times its ttr in one lease");
        assertEquals(LostReason.RUN_TIME_OVER, reason.get());
        assertTrue(job.reason().contains("PT1.5S"), job.reason());
        worker.close();
    }

    @Test
    void aLostLeaseStopsTheHandlerAndSettlesNothing() {
        AtomicReference<LostReason> reason = new AtomicReference<>();
        CountDownLatch ended = new CountDownLatch(1);
        Worker worker = Worker.builder(client).topic("lost").handler(job -> {
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                reason.set(job.lost().orElse(null));
                ended.countDown();
            }
        }).start();
        long id = client.push("lost", NewJob.text("x").key("k").ttr(Duration.ofMillis(600))).id();
        Await.until("it runs", () -> worker.health().running() == 1);
        client.push("lost", NewJob.text("y").key("k").delay(Duration.ofHours(1)).ifExists(IfExists.REPLACE_ANY));
        Await.until("the handler was stopped", () -> ended.getCount() == 0 && worker.health().running() == 0);
        assertEquals(LostReason.LEASE_LOST, reason.get());
        assertTrue(isIn("lost", JobState.DELAYED), "the new job is untouched");
        assertTrue(client.list(Filter.topic("lost")).noneMatch(job -> job.id() == id));
        worker.close();
    }

    @Test
    void aSilentServerStopsTheHandlersBeforeTheGraceIsOver() {
        try (TestServer own = new TestServer("--heartbeat-ms", "300", "--session-grace-ms", "1500");
                Client consumer = Client.builder().address(own.address()).connect()) {
            AtomicReference<LostReason> reason = new AtomicReference<>();
            Worker worker = Worker.builder(consumer).topic("t").concurrency(1).handler(job -> {
                try {
                    if (job.attempts() == 1) {
                        Thread.sleep(60_000);
                    }
                } catch (InterruptedException e) {
                    reason.set(job.lost().orElse(null));
                }
            }).start();
            long id = consumer.push("t", NewJob.text("x")).id();
            Await.until("it runs", () -> worker.health().running() == 1);
            own.signal("STOP");
            Await.until("the handler was stopped", () -> reason.get() != null);
            assertEquals(LostReason.PRESUMED_LOST, reason.get());
            assertFalse(worker.health().consuming(), "a silent server delivers nothing");
            own.signal("CONT");
            Await.until("it is done on the second attempt", () -> consumer.get(JobRef.id(id)).state() == JobState.FINISHED);
            Await.until("it consumes again", () -> worker.health().consuming());
            worker.close();
        }
    }

    @Test
    void aStopGivesBackWhatWasNotStartedAndEndsAtItsDeadline() throws Exception {
        Client own = Client.builder().address(server.address()).connect();
        CountDownLatch release = new CountDownLatch(1);
        Worker worker = Worker.builder(own).topic("stop").concurrency(2).prefetch(3).handler(job -> {
            while (release.getCount() > 0) {
                try {
                    release.await();
                } catch (InterruptedException e) {
                    // A handler that does not listen.
                }
            }
        }).start();
        client.pushAll("stop", IntStream.range(0, 5).mapToObj(i -> NewJob.text("s")).toList());
        Await.until("two run and three wait", () -> worker.health().running() == 2 && worker.health().waiting() == 3);
        long start = System.nanoTime();
        assertFalse(worker.stop(Duration.ofMillis(500)), "two handlers do not end");
        assertTrue(System.nanoTime() - start < 5_000_000_000L);
        assertEquals(3, client.list(Filter.topic("stop").states(JobState.READY)).filter(job -> job.attempts() == 0).count());
        own.close();
        assertEquals(2, client.count(Filter.topic("stop").states(JobState.RESERVED)), "no GOODBYE while they run");
        release.countDown();
        worker.join();
    }

    @Test
    void aStopInterruptsAndTheJobIsReadyAtOnce() {
        AtomicReference<LostReason> reason = new AtomicReference<>();
        Worker worker = Worker.builder(client).topic("halt").handler(job -> {
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                reason.set(job.lost().orElse(null));
                throw e;
            }
        }).start();
        client.push("halt", NewJob.text("x").backoff(Backoff.fixed(Duration.ofHours(1))));
        Await.until("it runs", () -> worker.health().running() == 1);
        assertTrue(worker.stop(Duration.ofMillis(1_000)));
        assertEquals(LostReason.STOPPING, reason.get());
        assertTrue(isIn("halt", JobState.READY));
    }

    @Test
    void aWorkerGoesOnAfterTheServerWasKilled() {
        try (TestServer own = new TestServer(); Client consumer = Client.builder().address(own.address()).connect()) {
            CountDownLatch go = new CountDownLatch(1);
            Worker worker = Worker.builder(consumer).topic("t").concurrency(2).handler(job -> go.await()).start();
            List<Long> ids = consumer.pushAll("t", List.of(NewJob.text("a"), NewJob.text("b"), NewJob.text("c"))).stream()
                    .map(PushResult::id).toList();
            Await.until("two run", () -> worker.health().running() == 2);
            own.kill();
            Await.until("it knows", () -> !worker.health().consuming());
            go.countDown();
            own.start();
            Await.until("all are finished", () -> ids.stream()
                    .allMatch(id -> consumer.get(JobRef.id(id)).state() == JobState.FINISHED));
            assertEquals(1, consumer.get(JobRef.id(ids.get(0))).attempts(), "the lease was kept and FINISH repeated");
            worker.close();
        }
    }
}
