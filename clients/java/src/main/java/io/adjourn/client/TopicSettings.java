package io.adjourn.client;

import java.time.Duration;

/**
 * A topic's policy, and how much of it there is.
 *
 * @param jobs jobs that are delayed, ready, reserved or buried
 * @param bytes bytes of their bodies
 * @param paused whether its delivery is stopped
 * @param pauseLeft how long that lasts; zero if it is not stopped, or does not end by itself
 * @param attemptsOfServer whether the attempts in {@code policy} are the server's default, and not set here
 * @param backoffOfServer the same of the backoff
 * @param policy its settings
 */
public record TopicSettings(long jobs, long bytes, boolean paused, Duration pauseLeft, boolean attemptsOfServer,
        boolean backoffOfServer, TopicPolicy policy) {
}
