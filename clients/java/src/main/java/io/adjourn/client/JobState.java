package io.adjourn.client;

/** The state of a job. */
public enum JobState {
    DELAYED, READY, RESERVED, BURIED,
    /** Finished a short time ago, or remembered. */
    FINISHED,
    /** A state of a newer server. */
    UNKNOWN;

    static JobState of(int number) {
        return number < UNKNOWN.ordinal() ? values()[number] : UNKNOWN;
    }
}
