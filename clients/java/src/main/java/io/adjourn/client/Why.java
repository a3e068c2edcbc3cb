package io.adjourn.client;

import io.adjourn.client.internal.wire.Choice;

/** Why a job, a topic or a group gives nothing to a consumer now. */
public enum Why {
    /** Nothing holds it back. */
    NEXT(Choice.Why.NEXT),
    /** Its due time has not come. */
    DELAYED(Choice.Why.DELAYED),
    /** The topic is paused. */
    TOPIC_PAUSED(Choice.Why.TOPIC_PAUSED),
    /** The topic has as many leases as it may. */
    TOPIC_LEASES(Choice.Why.TOPIC_LEASES),
    /** The topic has used up its rate. */
    TOPIC_RATE(Choice.Why.TOPIC_RATE),
    /** Its group is paused. */
    GROUP_PAUSED(Choice.Why.GROUP_PAUSED),
    /** Its group has as many leases as it may. */
    GROUP_LEASES(Choice.Why.GROUP_LEASES),
    /** Its group has used up its rate. */
    GROUP_RATE(Choice.Why.GROUP_RATE),
    /** A job of its group is reserved, and they go one at a time. */
    GROUP_RESERVED(Choice.Why.GROUP_RESERVED),
    /** A job of its group waits for its next attempt, and they go one at a time. */
    GROUP_RETRY(Choice.Why.GROUP_RETRY),
    /** A job of its group is buried, and they go one at a time. */
    GROUP_BURIED(Choice.Why.GROUP_BURIED),
    /** Jobs of its topic, or of its group, come first. */
    BEHIND(Choice.Why.BEHIND),
    /** No consumer waits on the topic. */
    NO_CONSUMER(Choice.Why.NO_CONSUMER),
    /** The calls of the topic are paused. */
    CALL_BACK_PAUSED(Choice.Why.CALL_BACK_PAUSED),
    /** A consumer has it. */
    RESERVED(Choice.Why.RESERVED),
    /** It is buried. */
    BURIED(Choice.Why.BURIED),
    /** It is finished, and remembered. */
    FINISHED(Choice.Why.FINISHED),
    /** No job is ready. */
    EMPTY(Choice.Why.EMPTY),
    /** The destination of the topic's calls failed: calls are suspended. */
    CALL_BACK_SUSPENDED(Choice.Why.CALL_BACK_SUSPENDED),
    /** A reason that only a newer server knows. */
    UNKNOWN(-1);

    private final int number;

    Why(int number) {
        this.number = number;
    }

    /** Its number on the wire. */
    public int number() {
        return number;
    }

    static Why of(int number) {
        for (Why one : values()) {
            if (one.number == number) {
                return one;
            }
        }
        return UNKNOWN;
    }
}
