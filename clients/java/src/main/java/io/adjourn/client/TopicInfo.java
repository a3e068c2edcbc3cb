package io.adjourn.client;

import io.adjourn.client.internal.wire.Response;

/**
 * Counts of one topic.
 *
 * @param name its name
 * @param paused whether its delivery is stopped
 * @param totals the counts
 */
public record TopicInfo(String name, boolean paused, Totals totals) {
    static TopicInfo of(Response.TopicCount topic) {
        return new TopicInfo(topic.topic(), topic.isMarkedPaused(), Totals.of(topic.totals()));
    }
}
