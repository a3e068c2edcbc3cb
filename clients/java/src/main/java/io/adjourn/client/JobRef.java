package io.adjourn.client;

import io.adjourn.client.internal.Names;

/** Names one job, by its id or by its key. */
public sealed interface JobRef {
    /** The job with this id (unsigned). */
    static JobRef id(long job) {
        return new Id(job);
    }

    /** The job of a topic that has this key. */
    static JobRef key(String topic, String key) {
        return new Key(topic, key);
    }

    /** @param job the id, unsigned */
    record Id(long job) implements JobRef {
        @Override
        public String toString() {
            return "job " + Long.toUnsignedString(job);
        }
    }

    /**
     * @param topic the topic
     * @param key the key, unique in its topic
     */
    record Key(String topic, String key) implements JobRef {
        /** Checks both names. */
        public Key {
            Names.topic(topic);
            Names.key(key);
        }

        @Override
        public String toString() {
            return "job " + key + " of " + topic;
        }
    }
}
