package io.adjourn.client;

/**
 * A topic's policy, and how much of it there is.
 *
 * @param jobs jobs that are delayed, ready, reserved or buried
 * @param bytes bytes of their bodies
 * @param paused whether its delivery is stopped
 * @param policy its settings
 */
public record TopicSettings(long jobs, long bytes, boolean paused, TopicPolicy policy) {
}
