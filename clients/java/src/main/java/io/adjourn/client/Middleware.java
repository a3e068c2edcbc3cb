package io.adjourn.client;

/**
 * Wraps the handling of each job, for example to measure it:
 *
 * <pre>{@code
 * (job, next) -> {
 *     try (var timer = metrics.time(job.topic())) {
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
