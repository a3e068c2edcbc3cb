package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Response;
import java.time.Duration;

/**
 * Counts of one topic.
 *
 * @param name its name
 * @param paused whether its delivery is stopped
 * @param consumers how many long polls and subscriptions want its jobs, on any member that the leader serves
 * @param late how late jobs were at their first delivery, at most, during the last one or two minutes; zero if none was delivered
 * @param totals the counts
 */
public record TopicInfo(String name, boolean paused, long consumers, Duration late, Totals totals) {
    static TopicInfo of(Response.TopicCount topic) {
        return new TopicInfo(topic.topic(), topic.isMarkedPaused(), Integer.toUnsignedLong(topic.consumers()),
                Millis.duration(topic.lateMs()), Totals.of(topic.totals()));
    }
}
