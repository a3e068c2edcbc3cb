package io.adjourn.client;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Follows nothing. */
final class NoTracing implements Tracing {
    @Override
    public CompletableFuture<List<PushResult>> push(String topic, List<NewJob> jobs, Pusher next) {
        return next.push(jobs);
    }

    @Override
    public void around(Job job, Handler next) throws Exception {
        next.handle(job);
    }
}
