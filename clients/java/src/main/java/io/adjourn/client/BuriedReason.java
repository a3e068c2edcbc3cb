package io.adjourn.client;

/** Why a job is buried. */
public enum BuriedReason {
    NOT_BURIED, BY_CONSUMER, ATTEMPTS_USED_UP, TOO_LATE,
    /** A reason of a newer server. */
    UNKNOWN;

    static BuriedReason of(int number) {
        return number < UNKNOWN.ordinal() ? values()[number] : UNKNOWN;
    }
}
