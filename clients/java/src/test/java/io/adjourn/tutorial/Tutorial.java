package io.adjourn.tutorial;

import io.adjourn.client.Backoff;
import io.adjourn.client.Client;
import io.adjourn.client.Due;
import io.adjourn.client.FakeQueue;
import io.adjourn.client.Filter;
import io.adjourn.client.IfExists;
import io.adjourn.client.JobRef;
import io.adjourn.client.JobState;
import io.adjourn.client.NewJob;
import io.adjourn.client.OutcomeUnknownException;
import io.adjourn.client.ServerException;
import io.adjourn.client.Worker;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** The code of README.md and docs/tutorial.md. */
final class Tutorial {
    record CloseOrder(long order, String reason) {
    }

    private final List<String> log;
    private final CountDownLatch closed;

    Tutorial(List<String> log, CountDownLatch closed) {
        this.log = log;
        this.closed = closed;
    }

    private void close(long order) {
        log.add("closed " + order);
        closed.countDown();
    }

    void readme(String address) throws InterruptedException {
        try (Client client = Client.builder().address(address).build()) {
            client.push("orders", NewJob.json(new CloseOrder(17, "unpaid")).delay(Duration.ofSeconds(1)));

            Worker worker = Worker.builder(client).topic("orders").handler(job -> {
                CloseOrder order = job.json(CloseOrder.class);
                close(order.order());
            }).start();
            closed.await();
            worker.stop(Duration.ofSeconds(30));
        }
    }

    void tutorial(String address) throws InterruptedException {
        Client client = Client.builder().address(address).name("shop").connect();

        NewJob close = NewJob.json(new CloseOrder(18, "unpaid"))
                .delay(Duration.ofMinutes(30))
                .key("order-18")
                .attemptsMax(5)
                .backoff(Backoff.exponential(Duration.ofSeconds(1), Duration.ofMinutes(10)).jitter(20));
        long id = client.push("orders", close).id();

        try {
            client.push("orders", close);
        } catch (ServerException.KeyExists e) {
            log.add("already there: " + (e.existingJob() == id));
        }
        client.push("orders", close.ifExists(IfExists.KEEP));

        client.reschedule(JobRef.key("orders", "order-18"), Due.after(Duration.ofHours(1)));
        log.add("waiting: " + client.count(Filter.topic("orders").states(JobState.DELAYED)));
        client.runNow(JobRef.key("orders", "order-18"));

        Worker worker = Worker.builder(client)
                .topic("orders")
                .concurrency(4)
                .middleware((job, next) -> {
                    log.add("attempt " + job.attempts());
                    next.handle(job);
                })
                .handler(job -> {
                    if (job.attempts() == 1) {
                        throw new IllegalStateException("the bank does not answer");
                    }
                    close(job.json(CloseOrder.class).order());
                })
                .start();
        log.add("consuming: " + worker.health().consuming());
        closed.await();

        worker.stop(Duration.ofSeconds(30));
        client.close();
    }

    void unknown(Client client) {
        NewJob job = NewJob.text("x").key("order-19");
        try {
            client.push("orders", job);
        } catch (OutcomeUnknownException e) {
            client.push("orders", job.ifExists(IfExists.KEEP));
        }
    }

    void fake() {
        try (FakeQueue queue = new FakeQueue()) {
            queue.client().push("orders", NewJob.text("17").delay(Duration.ofMinutes(30)));
            queue.advance(Duration.ofMinutes(30));
            log.add(queue.client().reserve("orders", 1, Duration.ZERO).get(0).text());
        }
    }
}
