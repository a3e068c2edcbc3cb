package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.internal.fake.FakeExchange;
import io.adjourn.client.internal.session.Exchange;
import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.internal.wire.Request;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
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
        try (FakeQueue queue = new FakeQueue()) {
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
        try (FakeQueue queue = new FakeQueue()) {
            assertBacksOff(Unprintable.class.getName(), settled(queue.client(), job -> {
                throw new Unprintable();
            }));
        }
    }

    @Test
    void aThreadGoesOnAfterItsStackWasTooDeep() {
        try (FakeQueue queue = new FakeQueue()) {
            assertBacksOff(StackOverflowError.class.getName(), settled(queue.client(), HandlerFailureTest::deeper));
        }
    }

    private static void deeper(Job job) {
        deeper(job);
    }

    @Test
    void aJobThatCannotBeSettledIsReleased() {
        Client client = Client.over(failing(new FakeExchange(Instant.EPOCH), Opcode.BURY));
        assertBacksOff("", settled(client, job -> {
            throw new BuryJobException("never");
        }));
        client.close();
    }

    /** An exchange that fails, and throws, when such a request is handed over. */
    private static Exchange failing(Exchange exchange, Opcode fails) {
        return (Exchange) Proxy.newProxyInstance(Exchange.class.getClassLoader(), new Class<?>[] {Exchange.class}, (self, method, arguments) -> {
            if (method.getName().equals("submit") && ((Request) arguments[0]).opcode() == fails) {
                throw new IllegalStateException(fails + " fails");
            }
            try {
                return method.invoke(exchange, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
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
        try (FakeQueue queue = new FakeQueue()) {
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
            assertEquals(List.of(JobState.DELAYED, JobState.DELAYED), client.list(Filter.topic("t")).map(JobInfo::state).toList());
        }
    }
}
