package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.adjourn.client.testing.TestQueue;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Jobs that wait in memory, and those that do not any more. */
class WaitingJobsTest {
    @Test
    void aFinishedJobLeavesTheHeapBeforeHalfOfItsLease() {
        try (TestQueue queue = TestQueue.start()) {
            Queue<WeakReference<Job>> taken = new ConcurrentLinkedQueue<>();
            Worker worker = Worker.builder(queue.client()).topic("t").concurrency(1).prefetch(3)
                    .handler(job -> taken.add(new WeakReference<>(job))).start();
            queue.client().pushAll("t", IntStream.range(0, 20).mapToObj(i -> NewJob.text("x").ttr(Duration.ofHours(1))).toList());
            Await.until("all are done", () -> queue.client().stats().totals().finished() == 20);
            // A frame of the worker's thread may still refer to the last ones.
            Await.until("they are collected", () -> {
                System.gc();
                return taken.stream().filter(job -> job.get() != null).count() <= 3;
            });
            worker.close();
        }
    }

    @Test
    void eachJobIsGivenBackAtHalfOfItsOwnLease() throws InterruptedException {
        try (TestServer server = new TestServer(); Client client = Client.builder().address(server.address()).connect();
                Subscription jobs = client.subscribe("t", 3)) {
            client.push("t", NewJob.text("hours").ttr(Duration.ofHours(1)));
            client.push("t", NewJob.text("first").ttr(Duration.ofSeconds(2)));
            client.push("t", NewJob.text("second").ttr(Duration.ofSeconds(3)));
            Await.until("all wait", () -> jobs.waiting() == 3);
            List<Long> fences = client.leases().stream().map(Job::fence).toList();
            Await.until("two came again", () -> client.leases().stream().filter(job -> !fences.contains(job.fence())).count() == 2);
            Job longest = jobs.poll(Duration.ofSeconds(5));
            assertEquals("hours", longest.text());
            assertEquals(fences.get(0), longest.fence());
            Job again = jobs.poll(Duration.ofSeconds(5));
            assertEquals(1, again.attempts());
        }
    }
}
