package io.adjourn.client;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Follows jobs from their push to their handler: {@link ClientBuilder#tracing}. The artifact {@code adjourn-opentelemetry} has the one for
 * OpenTelemetry. The first exception that it throws is logged; it changes no outcome.
 */
public interface Tracing extends Middleware {
    /**
     * Wraps each push. Calls {@code next} once and before it returns, with these jobs or with the same ones with more headers. The push ends
     * as the future of {@code next}, whatever this method returns or throws. A repeat under an {@link IdempotencyKey} may differ in
     * {@code traceparent}, {@code tracestate} and {@code baggage}, and the job keeps those of the first push; with another value of any other
     * header it is refused.
     */
    CompletableFuture<List<PushResult>> push(String topic, List<NewJob> jobs, Pusher next);

    /** Wraps the handling of each job, around all other middleware of a worker. The job is settled as {@code next} ends, whatever this throws. */
    @Override
    void around(Job job, Handler next) throws Exception;

    /** Sends a push. */
    @FunctionalInterface
    interface Pusher {
        /** Pushes the jobs. The future ends when they are acknowledged, or have failed; what is chained to it must not wait. */
        CompletableFuture<List<PushResult>> push(List<NewJob> jobs);
    }
}
