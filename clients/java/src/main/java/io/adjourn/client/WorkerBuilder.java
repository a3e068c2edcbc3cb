package io.adjourn.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Makes a {@link Worker}. */
public final class WorkerBuilder {
    private static final AtomicInteger NUMBER = new AtomicInteger();

    final Client client;
    final List<TopicShare> topics = new ArrayList<>();
    final List<Middleware> middleware = new ArrayList<>();
    Handler handler;
    int concurrency = 8;
    int prefetch;
    Duration maxRunTime = Duration.ofHours(1);
    ThreadFactory threads = task -> new Thread(task, "adjourn-worker-" + NUMBER.incrementAndGet());

    WorkerBuilder(Client client) {
        this.client = client;
    }

    /** A topic to work on; may be repeated. */
    public WorkerBuilder topic(String topic) {
        topics.add(TopicShare.of(topic));
        return this;
    }

    /** A topic that takes turns with the others by its weight. */
    public WorkerBuilder topic(String topic, int weight) {
        topics.add(TopicShare.of(topic, weight));
        return this;
    }

    /** What is done with each job. */
    public WorkerBuilder handler(Handler newHandler) {
        handler = newHandler;
        return this;
    }

    /** How many handlers run at once; 8 without it. */
    public WorkerBuilder concurrency(int handlers) {
        if (handlers < 1) {
            throw new UsageException("a worker has at least one handler at once");
        }
        concurrency = handlers;
        return this;
    }

    /**
     * How many jobs wait in memory beside those, under leases that run already; none without it. It saves a round trip between
     * two short jobs.
     */
    public WorkerBuilder prefetch(int jobs) {
        if (jobs < 0) {
            throw new UsageException("a prefetch is not negative");
        }
        prefetch = jobs;
        return this;
    }

    /** The lease of a handler is extended for at most this long; then the handler is interrupted. One hour without it. */
    public WorkerBuilder maxRunTime(Duration time) {
        maxRunTime = time;
        return this;
    }

    /** Wraps each handling; the first one is outermost. */
    public WorkerBuilder middleware(Middleware more) {
        middleware.add(more);
        return this;
    }

    /** Makes the threads of the handlers, for example virtual ones. */
    public WorkerBuilder threads(ThreadFactory factory) {
        threads = factory;
        return this;
    }

    /** Subscribes and starts to work. */
    public Worker start() {
        if (handler == null || topics.isEmpty()) {
            throw new UsageException("a worker needs a topic and a handler");
        }
        Worker worker = new Worker(this);
        worker.begin();
        return worker;
    }
}
