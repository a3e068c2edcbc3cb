package io.adjourn.bench;

import io.adjourn.client.Client;
import io.adjourn.client.Filter;
import io.adjourn.client.NewJob;
import io.adjourn.client.PushResult;
import io.adjourn.client.Worker;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

final class AdjournQueue implements Bench.Queue {
    private final Client client;
    private final String topic = "bench-" + System.nanoTime();
    private final NewJob now = NewJob.of(new byte[Bench.BODY_BYTES]);
    private final NewJob inAnHour = now.delay(Duration.ofHours(1));

    AdjournQueue(String host, int port) {
        client = Client.builder().address(host + ":" + port).connect();
    }

    @Override
    public void pushOne(int jobs) {
        for (int i = 0; i < jobs; i++) {
            client.push(topic, inAnHour);
        }
    }

    @Override
    public void pushMany(int jobs) {
        push(inAnHour, jobs);
    }

    @Override
    public void prepare(int jobs) {
        push(now, jobs);
    }

    private void push(NewJob job, int jobs) {
        ArrayDeque<CompletableFuture<List<PushResult>>> open = new ArrayDeque<>();
        for (int left = jobs; left > 0; left -= Bench.BATCH_JOBS) {
            if (open.size() == Bench.BATCHES) {
                open.remove().join().forEach(PushResult::orThrow);
            }
            open.add(client.pushAllAsync(topic, Collections.nCopies(Math.min(left, Bench.BATCH_JOBS), job)));
        }
        open.forEach(batch -> batch.join().forEach(PushResult::orThrow));
    }

    @Override
    public void work(int jobs) throws InterruptedException {
        CountDownLatch left = new CountDownLatch(jobs);
        Worker worker = Worker.builder(client).topic(topic).concurrency(Bench.HANDLERS).prefetch(Bench.TAKEN_JOBS - Bench.HANDLERS)
                .handler(job -> left.countDown()).start();
        left.await();
        // It waits for the answers to the last FINISH.
        worker.stop(Duration.ofSeconds(30));
        if (client.count(Filter.topic(topic)) != 0) {
            throw new IllegalStateException("there are jobs left");
        }
    }

    @Override
    public void close() {
        client.close();
    }
}
