// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

/** Why a job is buried. */
public enum BuriedReason {
    /** The job is not buried. */
    NOT_BURIED(0),
    /** A consumer buried it, or its push. */
    BY_CONSUMER(1),
    /** Its attempts are used up. */
    ATTEMPTS_USED_UP(2),
    /** It was too late. */
    TOO_LATE(3),
    /** A reason that only a newer server knows. */
    UNKNOWN(-1);

    private final int number;

    BuriedReason(int number) {
        this.number = number;
    }

    /** Its number on the wire. */
    public int number() {
        return number;
    }

    static BuriedReason of(int number) {
        return switch (number) {
            case 0 -> NOT_BURIED;
            case 1 -> BY_CONSUMER;
            case 2 -> ATTEMPTS_USED_UP;
            case 3 -> TOO_LATE;
            default -> UNKNOWN;
        };
    }
}
