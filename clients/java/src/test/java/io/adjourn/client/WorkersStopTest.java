package io.adjourn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.adjourn.client.testing.TestQueue;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** A client with several workers stops them together. */
class WorkersStopTest {
    @Test
    void noJobComesToAWorkerThatStopsWhileAnotherIsWaitedFor() throws Exception {
        try (TestServer server = new TestServer(); Client other = Client.builder().address(server.address()).connect()) {
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch go = new CountDownLatch(1);
            Client closing = Client.builder().address(server.address()).connect();
            Worker.builder(closing).topic("busy").handler(job -> {
                begun.countDown();
                go.await();
            }).start();
            Worker.builder(closing).topic("idle").handler(job -> { }).start();
            other.push("busy", NewJob.text("x"));
            begun.await();
            Thread close = new Thread(closing::close);
            close.start();
            Await.until("both have unsubscribed", () -> other.connections().stream().allMatch(one -> one.subscriptions() == 0));
            long id = other.push("idle", NewJob.text("x")).id();
            for (int i = 0; i < 50; i++) {
                assertEquals(JobState.READY, other.get(JobRef.id(id)).state());
            }
            go.countDown();
            close.join();
        }
    }

    @Test
    void eachWorkerHasTheWholeTimeToStop() throws Exception {
        try (TestServer server = new TestServer(); Client other = Client.builder().address(server.address()).connect()) {
            Client closing = Client.builder().address(server.address()).connect();
            CountDownLatch go = new CountDownLatch(1);
            Worker stubborn = Worker.builder(closing).topic("stubborn").handler(job -> {
                while (go.getCount() > 0) {
                    try {
                        go.await();
                    } catch (InterruptedException e) {
                        // A handler that does not listen.
                    }
                }
            }).start();
            List<Worker> polite = List.of("a", "b", "c").stream()
                    .map(topic -> Worker.builder(closing).topic(topic).handler(job -> Thread.sleep(60_000)).start()).toList();
            List.of("stubborn", "a", "b", "c").forEach(topic -> other.push(topic, NewJob.text("x")));
            Await.until("all run", () -> stubborn.health().running() == 1
                    && polite.stream().allMatch(worker -> worker.health().running() == 1));
            closing.close(Duration.ofSeconds(5));
            for (String topic : List.of("a", "b", "c")) {
                Await.until("it is released at once", () -> other.list(Filter.topic(topic))
                        .allMatch(job -> job.state() == JobState.READY && job.reason().equals("the worker stopped")));
            }
            assertEquals(JobState.RESERVED, other.list(Filter.topic("stubborn")).toList().get(0).state());
            go.countDown();
        }
    }

    @Test
    void aSubscriptionGivesBackWhatWaits() {
        try (TestQueue queue = TestQueue.start()) {
            Subscription jobs = queue.client().subscribe("t", 2);
            queue.client().pushAll("t", List.of(NewJob.text("1"), NewJob.text("2"), NewJob.text("3")));
            Await.until("two wait", () -> jobs.waiting() == 2);
            jobs.close();
            Await.until("all are ready", () -> queue.client().count(Filter.topic("t").states(JobState.READY)) == 3);
        }
    }
}
