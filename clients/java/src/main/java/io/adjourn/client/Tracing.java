package io.adjourn.client;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Follows jobs from their push to their handler: {@link ClientBuilder#tracing}. The artifact {@code adjourn-opentelemetry} has the one for
 * OpenTelemetry.
 */
public interface Tracing extends Middleware {
    /**
     * Wraps each push. Calls {@code next} once, with these jobs or with the same ones with more headers, and returns its future, or one that
     * ends as it does. If a push is under an {@link IdempotencyKey}, no header is added, whatever {@code next} is called with: a repeat must
     * have the same headers as the first push, and the caller may make it in another trace.
     */
    CompletableFuture<List<PushResult>> push(String topic, List<NewJob> jobs, Pusher next);

    /** Wraps the handling of each job, around all other middleware of a worker. */
    @Override
    void around(Job job, Handler next) throws Exception;

    /** Sends a push. */
    @FunctionalInterface
    interface Pusher {
        /** Pushes the jobs. The future ends when they are acknowledged, or have failed; what is chained to it must not wait. */
        CompletableFuture<List<PushResult>> push(List<NewJob> jobs);
    }
}
