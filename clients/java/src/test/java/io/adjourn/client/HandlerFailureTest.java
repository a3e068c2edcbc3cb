package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.testing.TestQueue;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whatever a handler throws, its job is settled and its worker goes on. */
class HandlerFailureTest {
    private static final NewJob HOURLY = NewJob.text("").backoff(Backoff.fixed(Duration.ofHours(1)));

    /** An exception that fails when it is asked or printed. */
    private static final class Unprintable extends RuntimeException {
        private static final long serialVersionUID = 1;

        @Override
        public String getMessage() {
            throw new IllegalStateException("no message");
        }

        @Override
        public String toString() {
            throw new StackOverflowError("no text");
        }
    }

    private static JobInfo settled(Client client, Handler handler) {
        long id = client.push("t", HOURLY).id();
        Worker worker = Worker.builder(client).topic("t").concurrency(1).handler(job -> {
            if (job.id() == id) {
                handler.handle(job);
            }
        }).start();
        long next = client.push("t", HOURLY).id();
        Await.until("the thread goes on", () -> client.get(JobRef.id(next)).state() == JobState.FINISHED);
        assertEquals(1, worker.health().threads());
        assertTrue(worker.stop(Duration.ofSeconds(5)));
        return client.get(JobRef.id(id));
    }

    private static void assertBacksOff(String reason, JobInfo job) {
        assertEquals(JobState.DELAYED, job.state());
        assertEquals(1, job.attempts());
        assertTrue(job.reason().contains(reason), job.reason());
    }

    @Test
    void aRetryWithAnImpossibleDelayWaitsForTheBackoff() {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            assertBacksOff("negative", settled(client, job -> {
                throw new RetryJobException(Duration.ofSeconds(-1), "later");
            }));
            assertBacksOff("a retry needs a delay", settled(client, job -> {
                throw new RetryJobException(null, "later");
            }));
            assertBacksOff("ten years", settled(client, job -> {
                throw new RetryJobException(Duration.ofDays(4_000), "later");
            }));
        }
        assertThrows(UsageException.class, () -> new RetryJobException(Duration.ofSeconds(-1), "later"));
    }

    @Test
    void anExceptionThatCannotBePrintedIsReleasedWithItsClass() {
        try (TestQueue queue = TestQueue.start()) {
            assertBacksOff(Unprintable.class.getName(), settled(queue.client(), job -> {
                throw new Unprintable();
            }));
        }
    }

    @Test
    void aThreadGoesOnAfterItsStackWasTooDeep() {
        try (TestQueue queue = TestQueue.start()) {
            assertBacksOff(StackOverflowError.class.getName(), settled(queue.client(), HandlerFailureTest::deeper));
        }
    }

    private static void deeper(Job job) {
        deeper(job);
    }

    @Test
    void aJobThatCannotBeSettledIsReleased() throws ReflectiveOperationException {
        try (TestQueue queue = TestQueue.start(); Client client = Client.builder().address(queue.address()).connect()) {
            List<JobRef> jobs = List.of(JobRef.id(client.push("t", HOURLY).id()), JobRef.id(client.push("t", HOURLY).id()));
            // Nothing that a caller can do makes it throw: so it loses what it settles with.
            Field settles = Client.class.getDeclaredField("direct");
            settles.setAccessible(true);
            settles.set(client, null);
            Worker worker = Worker.builder(client).topic("t").concurrency(1).handler(job -> {
                throw new BuryJobException("never");
            }).start();
            for (JobRef job : jobs) {
                Await.until("it is released", () -> queue.client().get(job).state() == JobState.DELAYED);
                assertBacksOff("", queue.client().get(job));
            }
            assertEquals(1, worker.health().threads());
        }
    }

    /** A worker of topic {@code t} with so many threads, each of which its first job ends. */
    static Worker fatal(Client client, int threads) {
        return Worker.builder(client).topic("t").concurrency(threads).threads(task -> {
            Thread thread = new Thread(task);
            thread.setUncaughtExceptionHandler((ended, error) -> { });
            return thread;
        }).handler(job -> {
            throw new OutOfMemoryError("of this test");
        }).start();
    }

    @Test
    void aThreadThatAnErrorOfTheJvmHasEndedIsMissed() throws InterruptedException {
        try (TestQueue queue = TestQueue.start()) {
            Client client = queue.client();
            Worker worker = fatal(client, 2);
            assertEquals(2, worker.health().threads());
            client.push("t", HOURLY);
            Await.until("one is left", () -> worker.health().threads() == 1);
            assertTrue(worker.health().consuming());
            client.push("t", HOURLY);
            Await.until("none is left", () -> worker.health().threads() == 0);
            assertFalse(worker.health().consuming());
            worker.join();
            Await.until("both are released", () -> client.count(Filter.topic("t").states(JobState.DELAYED)) == 2);
        }
    }
}
