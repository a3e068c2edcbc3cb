package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.adjourn.client.testing.TestQueue;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
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

    @Test
    void aJobThatAWorkerHasPrefetchedIsGivenBackAtHalfOfItsLease() throws InterruptedException {
        try (TestQueue queue = TestQueue.start(); Client client = Client.builder().address(queue.address()).connect()) {
            client.push("t", NewJob.text("long"));
            client.push("t", NewJob.text("short").ttr(Duration.ofSeconds(1)));
            CountDownLatch go = new CountDownLatch(1);
            Queue<Job> handled = new ConcurrentLinkedQueue<>();
            Worker worker = Worker.builder(client).topic("t").concurrency(1).prefetch(1).handler(job -> {
                go.await();
                handled.add(job);
            }).start();
            Await.until("one runs and one waits", () -> worker.health().running() == 1 && worker.health().waiting() == 1);
            long fence = client.leases().get(1).fence();
            // The clock of the queue stands still: only the client can have ended this lease.
            Await.until("it came again", () -> client.leases().stream().anyMatch(job -> job.text().equals("short") && job.fence() != fence));
            go.countDown();
            Await.until("both are done", () -> handled.size() == 2);
            assertEquals(List.of(1L, 1L), handled.stream().map(Job::attempts).toList());
            worker.close();
        }
    }
}
