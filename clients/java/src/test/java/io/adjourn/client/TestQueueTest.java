package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.testing.TestQueue;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The queue for tests: its clock, what workers do on it, and what a test can say of it. */
class TestQueueTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private static void assertFails(String message, Executable assertion) {
        AssertionError failure = assertThrows(AssertionError.class, assertion);
        assertTrue(failure.getMessage().contains(message), failure.getMessage());
    }

    // ---- assertions

    @Test
    void whatWasPushedIsFound() {
        try (TestQueue queue = TestQueue.start(); Client shop = Client.builder().address(queue.address()).connect()) {
            queue.assertNotPushed("orders");
            assertFails("no job was pushed to orders, nor to any other topic", () -> queue.assertPushed("orders"));
            shop.push("orders", NewJob.json(Map.of("order", 17)).key("order-17").delay(Duration.ofMinutes(30)));
            shop.push("orders", NewJob.text("now"));
            queue.assertPushed("orders");
            JobInfo found = queue.assertPushed("orders", job -> job.key().equals("order-17") && job.delay().equals(Duration.ofMinutes(30)));
            assertEquals(17L, found.json(Map.class).get("order"));
            assertThrows(UsageException.class, () -> queue.assertPushed("orders", job -> job.text().equals("now")).json(Map.class));
            assertFails("order-17 of orders (DELAYED, due " + found.due() + ", delay PT30M): {\"order\":17}",
                    () -> queue.assertPushed("orders", job -> job.key().equals("order-18")));
            queue.assertNotPushed("orders", job -> job.key().equals("order-18"));
            assertFails("delay PT30M", () -> queue.assertNotPushed("orders", job -> job.key().equals("order-17")));
            assertFails("2 of 2", () -> {
                shop.bulk(BulkChange.DELETE, Filter.ALL).count();
                queue.assertNotPushed("orders");
            });
            queue.assertNotPushed("mails");
            assertFails("only to orders", () -> queue.assertPushed("mails"));
        }
    }

    @Test
    void whatIsGoneWasPushedAllTheSame() {
        try (TestQueue queue = TestQueue.start()) {
            queue.client().push("t", NewJob.text("gone"));
            queue.client().push("t", NewJob.text("remembered").remember(Duration.ofDays(2)).delay(Duration.ofMinutes(1)));
            queue.client().reserve("t", 1, Duration.ZERO).get(0).finish();
            queue.advanceToNext();
            queue.client().reserve("t", 1, Duration.ZERO).get(0).finish();
            assertEquals(JobState.FINISHED, queue.assertPushed("t", job -> job.text().equals("remembered")).state());
            assertFails("1 of 2 jobs are finished or deleted", () -> queue.assertPushed("t", job -> job.text().equals("gone")));
            assertFails("nobody can say what was pushed to t; 1 of 2", () -> queue.assertNotPushed("t", job -> job.text().equals("other")));
            queue.client().push("short", NewJob.text("x"));
            queue.client().reserve("short", 1, Duration.ZERO).get(0).finish();
            queue.advance(Duration.ofMinutes(11));
            // With the next change the server forgets the topic.
            queue.client().push("next", NewJob.text("x"));
            assertEquals(List.of("next", "t"), queue.client().topics().stream().map(TopicInfo::name).toList());
            queue.assertPushed("short");
            assertFails("jobs were pushed to short", () -> queue.assertNotPushed("short"));
            assertFails("its jobs are finished or deleted", () -> queue.assertNotPushed("short", job -> true));
        }
    }

    @Test
    void whatIsLeftIsShown() throws InterruptedException {
        try (TestQueue queue = TestQueue.start()) {
            queue.assertNothingLeft();
            Instant start = queue.now();
            queue.client().push("t", NewJob.text("second").delay(Duration.ofMinutes(2)));
            queue.client().push("t", NewJob.text("first").delay(Duration.ofMinutes(1)));
            queue.client().push("t", NewJob.text("held"));
            Job held = queue.client().reserve("t", 1, Duration.ZERO).get(0);
            assertEquals(List.of("first " + start.plus(Duration.ofMinutes(1)), "second " + start.plus(Duration.ofMinutes(2))),
                    queue.pending("t").stream().map(job -> job.text() + " " + job.due()).toList());
            assertEquals(List.of(), queue.pending("other"));
            held.bury("no such address");
            queue.client().bulk(BulkChange.DELETE, Filter.topic("t").states(JobState.DELAYED)).count();
            assertFails("(BURIED, due " + start + ", delay PT0S, no such address): held", queue::assertNothingLeft);
            assertFails("BURIED", () -> queue.assertNothingLeft(Duration.ofMillis(1)));
            queue.client().delete(JobRef.id(held.id()));
            queue.assertNothingLeft();
        }
    }

    @Test
    void eachTestHasItsOwn() {
        try (TestQueue one = TestQueue.start(); TestQueue other = TestQueue.start()) {
            one.client().push("t", NewJob.text("x").delay(Duration.ofHours(1)));
            other.assertNotPushed("t");
            Instant before = other.now();
            one.advance(Duration.ofMinutes(5));
            assertEquals(before, other.now());
        }
    }

    // ---- the clock

    @Test
    void theClockMakesJobsDueAndEndsLeases() throws Exception {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            client.push("t", NewJob.text("later").delay(Duration.ofMinutes(30)).ttr(Duration.ofSeconds(10)).backoff(Backoff.fixed(Duration.ZERO)));
            CompletableFuture<List<Job>> waiting = client.reserveAsync(List.of(TopicShare.of("t")), 1, Duration.ofHours(1));
            queue.advance(Duration.ofMinutes(29));
            assertEquals(Duration.ofMinutes(1), Duration.between(queue.now(), queue.pending("t").get(0).due()));
            assertFalse(waiting.isDone());
            queue.advance(Duration.ofMinutes(1));
            Job job = waiting.get().get(0);
            assertEquals("later", job.text());
            queue.advance(Duration.ofSeconds(10));
            assertThrows(ServerException.StaleLease.class, job::finish);
            Job again = client.reserve("t", 1, Duration.ZERO).get(0);
            assertEquals(2, again.attempts());
            assertTrue(Long.compareUnsigned(again.fence(), job.fence()) > 0);
            again.finish();
            queue.assertNothingLeft();
        }
    }

    @Test
    void aWorkerRunsOnIt() throws InterruptedException {
        try (TestQueue queue = TestQueue.start()) {
            CountDownLatch ran = new CountDownLatch(2);
            AtomicReference<LostReason> reason = new AtomicReference<>();
            Worker worker = Worker.builder(queue.client()).topic("t").concurrency(1).handler(job -> {
                ran.countDown();
                if (job.attempts() == 1) {
                    throw new IllegalStateException("the first time");
                } else if (job.attempts() == 2) {
                    try {
                        Thread.sleep(60_000);
                    } catch (InterruptedException e) {
                        reason.set(job.lost().orElse(null));
                        throw e;
                    }
                }
            }).start();
            JobRef job = JobRef.id(queue.client().push("t", NewJob.text("x").ttr(Duration.ofMillis(500)).backoff(Backoff.fixed(Duration.ofMinutes(1)))).id());
            Await.until("it was released", () -> queue.client().get(job).state() == JobState.DELAYED);
            assertEquals("the first time", queue.client().get(job).reason());
            queue.advanceToNext();
            Await.until("the second attempt", () -> ran.getCount() == 0);
            queue.advance(Duration.ofMinutes(1));
            Await.until("the lease was lost", () -> reason.get() == LostReason.LEASE_LOST);
            queue.advance(Duration.ofMinutes(1));
            queue.assertNothingLeft(PATIENCE);
            assertEquals(JobState.FINISHED, queue.client().get(job).state());
            assertTrue(worker.stop(Duration.ofSeconds(5)));
        }
    }

    @Test
    void backoffsWaitAsTheProtocolSays() {
        try (TestQueue queue = TestQueue.start()) {
            assertEquals(List.of(10L, 20L, 25L, 25L), waits(queue, Backoff.linear(Duration.ofMillis(10), Duration.ofMillis(25))));
            assertEquals(List.of(1_000L, 2_000L, 4_000L, 6_000L),
                    waits(queue, Backoff.exponential(Duration.ofSeconds(1), Duration.ofSeconds(6))));
            assertEquals(List.of(5L, 50L, 50L, 50L), waits(queue, Backoff.list(Duration.ofMillis(5), Duration.ofMillis(50))));
            assertEquals(List.of(7L, 7L, 7L, 7L), waits(queue, Backoff.fixed(Duration.ofMillis(7))));
        }
    }

    /** After each of four failed attempts. */
    private static List<Long> waits(TestQueue queue, Backoff backoff) {
        JobRef job = JobRef.id(queue.client().push("t", NewJob.text("x").backoff(backoff)).id());
        List<Long> waits = new ArrayList<>();
        for (int attempt = 1; attempt <= 4; attempt++) {
            queue.client().reserve("t", 1, Duration.ZERO).get(0).release("no");
            waits.add(Duration.between(queue.now(), queue.client().get(job).due()).toMillis());
            queue.advanceToNext();
        }
        queue.client().delete(job);
        return waits;
    }

    @Test
    void aRateLetsJobsThroughAsTimePasses() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            client.setTopic("t", TopicPolicy.EMPTY.rate(2));
            client.pushAll("t", Collections.nCopies(3, NewJob.text("x")));
            assertEquals(1, client.reserve("t", 5, Duration.ZERO).size());
            queue.advance(Duration.ofMillis(499));
            assertEquals(0, client.reserve("t", 5, Duration.ZERO).size());
            queue.advance(Duration.ofMillis(1));
            assertEquals(1, client.reserve("t", 5, Duration.ZERO).size());
            CompletableFuture<List<Job>> last = client.reserveAsync(List.of(TopicShare.of("t")), 5, Duration.ofMinutes(1));
            queue.advance(Duration.ofSeconds(10));
            assertEquals(1, last.join().size());
        }
    }

    @Test
    void lateJobsAreBuriedOrDropped() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            client.setTopic("buries", TopicPolicy.EMPTY.late(Duration.ofMinutes(1), TopicPolicy.LateAction.BURY, 0));
            client.setTopic("drops", TopicPolicy.EMPTY.late(Duration.ofMinutes(1), TopicPolicy.LateAction.DROP, 0));
            client.push("buries", NewJob.text("x"));
            client.push("drops", NewJob.text("x"));
            queue.advance(Duration.ofMinutes(1).plusMillis(1));
            assertEquals(List.of(), client.reserve(List.of(TopicShare.of("buries"), TopicShare.of("drops")), 5, Duration.ZERO));
            assertEquals(1, client.count(Filter.ALL.buried(BuriedReason.TOO_LATE)));
            assertEquals(1, client.stats().totals().expired());
        }
    }

    @Test
    void noLeaseEndsInTheAdvanceThatBeginsIt() throws InterruptedException {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            client.push("t", NewJob.text("x").delay(Duration.ofHours(1)).ttr(Duration.ofMinutes(1)).attemptsMax(2));
            try (Subscription jobs = client.subscribe("t", 1)) {
                queue.advance(Duration.ofDays(1));
                Job job = jobs.poll(PATIENCE);
                assertEquals(1, job.attempts());
                assertTrue(job.lost().isEmpty());
                job.finish();
            }
        }
    }
}
