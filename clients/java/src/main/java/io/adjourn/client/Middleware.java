package io.adjourn.client;

/**
 * Wraps the handling of each job, for example to continue a trace:
 *
 * <pre>{@code
 * (job, next) -> {
 *     try (var span = tracer.start(job.header("traceparent"))) {
 *         next.handle(job);
 *     }
 * }
 * }</pre>
 */
@FunctionalInterface
public interface Middleware {
    /** Calls {@code next}, once. */
    void around(Job job, Handler next) throws Exception;
}
