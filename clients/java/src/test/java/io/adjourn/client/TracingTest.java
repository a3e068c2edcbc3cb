package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.adjourn.client.testing.TestQueue;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a {@link Tracing} sees, and what becomes of its headers. */
class TracingTest {
    private final Queue<String> seen = new ConcurrentLinkedQueue<>();
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
                    .whenComplete((results, error) -> seen.add(error == null ? "pushed " + results.size() : "failed"));
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
        assertEquals(List.of("push t 2 1", "pushed 2", "handles 1", "middleware", "a", "handled", "handles 1", "middleware", "b", "handled"),
                List.copyOf(seen));
    }

    @Test
    void aPushThatFailsIsTold() {
        NewJob large = NewJob.text("x").header("large", "x".repeat(Limits.HEADERS_BYTES_MAX));
        assertThrows(AdjournException.class, () -> client.push("t", large));
        assertEquals(List.of("push t 1 1", "failed"), List.copyOf(seen));
    }

    @Test
    void aRepeatUnderAKeyKeepsTheHeadersOfTheFirstPush() throws InterruptedException {
        IdempotencyKey key = new IdempotencyKey(1, 2);
        long id = client.push("t", NewJob.text("x"), key).id();
        assertEquals(id, client.push("t", NewJob.text("x"), key).id());
        handle(1);
        assertEquals(List.of("push t 1 1", "pushed 1", "push t 1 1", "pushed 1", "handles 1", "middleware", "x", "handled"), List.copyOf(seen));
    }
}
