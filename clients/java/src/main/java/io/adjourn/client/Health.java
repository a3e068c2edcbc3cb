package io.adjourn.client;

/**
 * How a worker is.
 *
 * @param consuming it gets jobs: its subscription stands, over a live connection, and it is not stopping
 * @param running handlers that run
 * @param waiting jobs that wait for a handler
 * @param problem what ended it by itself, else {@code null}
 */
public record Health(boolean consuming, int running, int waiting, AdjournException problem) {
}
