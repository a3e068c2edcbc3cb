package io.adjourn.client;

/**
 * Works on a job. When it returns, the job is finished; when it throws, the job is released, to be attempted again as its
 * backoff says. When the lease is lost, its thread is interrupted and {@link Job#lost} says why.
 */
@FunctionalInterface
public interface Handler {
    /** Does the work. */
    void handle(Job job) throws Exception;
}
