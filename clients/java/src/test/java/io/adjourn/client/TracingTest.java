package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.adjourn.client.testing.TestQueue;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a {@link Tracing} sees, and what becomes of its headers. */
class TracingTest {
    private final Queue<String> seen = new ConcurrentLinkedQueue<>();
    private final BlockingQueue<String> outcomes = new LinkedBlockingQueue<>();
    private final TestQueue queue = TestQueue.start();
    private final Client client = Client.builder().address(queue.address()).onPush(job -> job.header("hook", "1")).tracing(new Numbers()).connect();

    /** Numbers the pushes. */
    private final class Numbers implements Tracing {
        private int pushes;

        @Override
        public CompletableFuture<List<PushResult>> push(String topic, List<NewJob> jobs, Pusher next) {
            String number = String.valueOf(++pushes);
            seen.add("push " + topic + " " + jobs.size() + " " + jobs.get(0).attributes().header("hook").orElse(""));
            return next.push(jobs.stream().map(job -> job.header("traceparent", number)).toList())
                    .whenComplete((results, error) -> outcomes.add(error == null ? "pushed " + results.size() : "failed"));
        }

        @Override
        public void around(Job job, Handler next) throws Exception {
            seen.add("handles " + job.header("traceparent").orElse(""));
            next.handle(job);
            seen.add("handled");
        }
    }

    @AfterEach
    void stop() {
        client.close();
        queue.close();
    }

    /** Handles so many jobs, and stops. */
    private void handle(int jobs) throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(jobs);
        Worker worker = Worker.builder(client).topic("t").concurrency(1).middleware((job, next) -> {
            seen.add("middleware");
            next.handle(job);
        }).handler(job -> {
            seen.add(job.text());
            begun.countDown();
        }).start();
        begun.await(10, TimeUnit.SECONDS);
        worker.stop(Duration.ofSeconds(10));
    }

    @Test
    void aJobIsFollowedFromItsPushAndAroundAllMiddleware() throws InterruptedException {
        client.pushAllAsync("t", List.of(NewJob.text("a"), NewJob.text("b"))).join();
        handle(2);
        assertEquals(List.of("push t 2 1", "handles 1", "middleware", "a", "handled", "handles 1", "middleware", "b", "handled"),
                List.copyOf(seen));
        assertEquals("pushed 2", outcomes.poll(10, TimeUnit.SECONDS));
    }

    @Test
    void aPushThatFailsIsTold() throws InterruptedException {
        NewJob large = NewJob.text("x").header("large", "x".repeat(Limits.HEADERS_BYTES_MAX));
        assertThrows(AdjournException.class, () -> client.push("t", large));
        assertEquals("failed", outcomes.poll(10, TimeUnit.SECONDS));
    }

    @Test
    void aRepeatUnderAKeyKeepsTheHeadersOfTheFirstPush() throws InterruptedException {
        IdempotencyKey key = new IdempotencyKey(1, 2);
        long id = client.push("t", NewJob.text("x"), key).id();
        assertEquals(id, client.push("t", NewJob.text("x"), key).id());
        handle(1);
        assertEquals(List.of("push t 1 1", "push t 1 1", "handles 1", "middleware", "x", "handled"), List.copyOf(seen));
    }

    /** Fails before or after what it wraps. */
    private record Faulty(boolean isBefore) implements Tracing {
        @Override
        public CompletableFuture<List<PushResult>> push(String topic, List<NewJob> jobs, Pusher next) {
            if (!isBefore) {
                next.push(List.of());
                next.push(jobs).completeExceptionally(new IllegalStateException("the tracing is broken"));
            }
            throw new IllegalStateException("the tracing is broken");
        }

        @Override
        public void around(Job job, Handler next) throws Exception {
            if (!isBefore) {
                next.handle(job);
                next.handle(job);
            }
            throw new IllegalStateException("the tracing is broken");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aFaultIsLoggedOnceAndChangesNoOutcome(boolean isBefore) throws InterruptedException {
        Queue<LogRecord> logged = new ConcurrentLinkedQueue<>();
        Logger log = Logger.getLogger("io.adjourn.client");
        Level level = log.getLevel();
        log.setLevel(Level.WARNING);
        log.setFilter(line -> !line.getMessage().startsWith("tracing failed") || !logged.add(line));
        try (Client faulty = Client.builder().address(queue.address()).tracing(new Faulty(isBefore)).connect()) {
            faulty.push("faulty", NewJob.text("a"));
            assertThrows(AdjournException.class, () -> faulty.push("faulty", NewJob.text("x").header("large", "x".repeat(Limits.HEADERS_BYTES_MAX))));
            assertEquals(1, queue.client().count(Filter.topic("faulty")));
            CountDownLatch begun = new CountDownLatch(1);
            Worker worker = Worker.builder(faulty).topic("faulty").handler(job -> {
                seen.add(job.text());
                begun.countDown();
            }).start();
            begun.await(10, TimeUnit.SECONDS);
            worker.stop(Duration.ofSeconds(10));
            assertEquals(List.of("a"), List.copyOf(seen));
            assertEquals(0, queue.client().count(Filter.topic("faulty")));
            assertEquals(1, logged.size());
        } finally {
            log.setFilter(null);
            log.setLevel(level);
        }
    }
}
