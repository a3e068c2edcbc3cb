package io.adjourn.client;

/**
 * How a worker is.
 *
 * @param consuming it gets jobs: its subscription stands, over a live connection, it is not stopping, and at least one of its
 *     threads lives
 * @param running handlers that run
 * @param waiting jobs that wait for a handler
 * @param threads threads that live: as many as its concurrency, less those that an error of the JVM, such as a lack of memory,
 *     has ended; 0 once it has ended
 * @param problem what ended it by itself, else {@code null}
 */
public record Health(boolean consuming, int running, int waiting, int threads, AdjournException problem) {
}
