package io.adjourn.client;

import io.adjourn.client.internal.Names;
import java.util.List;

/**
 * A topic to take jobs from, and its share.
 *
 * @param topic the topic
 * @param weight 1 to 65,535; 0 for none. Either all topics of a request have a weight, or none
 */
public record TopicShare(String topic, int weight) {
    /** Checks both. */
    public TopicShare {
        Names.topic(topic);
        if (weight < 0 || weight > 0xffff) {
            throw new UsageException("a weight is 1 to 65,535: " + weight);
        }
    }

    /** A topic without a weight: the most urgent job of all topics comes first. */
    public static TopicShare of(String topic) {
        return new TopicShare(topic, 0);
    }

    /** A topic with a weight: topics take turns. */
    public static TopicShare of(String topic, int weight) {
        return new TopicShare(topic, weight);
    }

    static List<String> names(List<TopicShare> topics) {
        return topics.stream().map(TopicShare::topic).toList();
    }

    static List<Integer> weights(List<TopicShare> topics) {
        long weighted = topics.stream().filter(share -> share.weight > 0).count();
        if (weighted != 0 && weighted != topics.size()) {
            throw new UsageException("either all topics have a weight, or none");
        }
        return weighted == 0 ? List.of() : topics.stream().map(TopicShare::weight).toList();
    }
}
