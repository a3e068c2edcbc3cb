package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.adjourn.client.testing.TestQueue;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Workers that start, or cannot, and the end of their client. */
class WorkerStartTest {
    @Test
    void aClientClosesAfterAWorkerThatCouldNotSubscribe() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = Client.builder().address(queue.address()).connect();
            WorkerBuilder mixed = Worker.builder(client).topic("a", 2).topic("b").handler(job -> { });
            assertThrows(UsageException.class, mixed::start);
            client.close();
            assertFalse(client.isConnected());
        }
    }

    @Test
    void aWorkerThatHasNoThreadsHoldsNoJob() {
        try (TestQueue queue = TestQueue.start()) {
            WorkerBuilder threadless = Worker.builder(queue.client()).topic("a").concurrency(2).handler(job -> { })
                    .threads(task -> {
                        throw new IllegalStateException("no thread");
                    });
            assertThrows(IllegalStateException.class, threadless::start);
            queue.client().push("a", NewJob.text("x"));
            assertEquals(JobState.READY, queue.client().peek("a").state());
            assertEquals(0, queue.client().workers().count());
        }
    }

    @Test
    void aWorkerThatStartsWhileItsClientClosesIsRefused() throws Exception {
        try (TestServer server = new TestServer(); Client other = Client.builder().address(server.address()).connect()) {
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch go = new CountDownLatch(1);
            AtomicInteger runs = new AtomicInteger();
            Client closing = Client.builder().address(server.address()).connect();
            Worker worker = Worker.builder(closing).topic("early").concurrency(1).handler(job -> {
                begun.countDown();
                go.await();
            }).start();
            long early = other.push("early", NewJob.text("x")).id();
            begun.await();
            Thread close = new Thread(closing::close);
            close.start();
            Await.until("the client closes", () -> !worker.health().consuming());
            other.push("late", NewJob.text("x"));
            assertThrows(ClientClosedException.class, () -> Worker.builder(closing).topic("late").handler(job -> {
                runs.incrementAndGet();
                Thread.sleep(60_000);
            }).start());
            go.countDown();
            close.join();
            assertEquals(JobState.FINISHED, other.get(JobRef.id(early)).state());
            Job late = other.reserve("late", 1, Duration.ofSeconds(10)).get(0);
            assertEquals(1, late.attempts());
            assertEquals(0, runs.get(), "another consumer has the job");
        }
    }

    @Test
    void aWorkerThatEndsByItselfIsForgotten() throws Exception {
        try (TestQueue queue = TestQueue.start()) {
            Worker worker = HandlerFailureTest.fatal(queue.client(), 1);
            assertEquals(1, queue.client().workers().count());
            queue.client().push("t", NewJob.text("x").backoff(Backoff.fixed(Duration.ofHours(1))));
            Await.until("its thread has ended", () -> worker.health().threads() == 0);
            Await.until("it is forgotten", () -> queue.client().workers().count() == 0);
            queue.client().push("t", NewJob.text("next"));
            assertEquals("next", queue.client().reserve("t", 1, Duration.ZERO).get(0).text(), "no job comes to it");
        }
    }
}
