// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

/** Where a job stands. */
public enum JobState {
    /** Its due time lies ahead. */
    DELAYED(0),
    /** It waits for a consumer. */
    READY(1),
    /** A consumer holds it under a lease. */
    RESERVED(2),
    /** It is set aside until somebody kicks it. */
    BURIED(3),
    /** It was finished, and is still remembered. */
    FINISHED(4),
    /** A state that only a newer server knows. */
    UNKNOWN(-1);

    private final int number;

    JobState(int number) {
        this.number = number;
    }

    /** Its number on the wire. */
    public int number() {
        return number;
    }

    static JobState of(int number) {
        return switch (number) {
            case 0 -> DELAYED;
            case 1 -> READY;
            case 2 -> RESERVED;
            case 3 -> BURIED;
            case 4 -> FINISHED;
            default -> UNKNOWN;
        };
    }
}
