package io.adjourn.client;

/** The error codes of the protocol. */
public enum ErrorCode {
    MALFORMED(1), UNSUPPORTED(2), TOO_LARGE(3), UNAUTHORISED(4), INVALID(5), NOT_LEADER(16), NO_LEADER(17), BUSY(18),
    DISK_FULL(19), STOPPING(20), UNREADABLE(21), PAUSED(32), QUOTA(33), STALE_LEASE(34), KEY_EXISTS(35), NOT_FOUND(36),
    RESERVED(37), WRONG_STATE(38), SESSION_UNKNOWN(39), OUTCOME_UNKNOWN(40), EXPIRES_BEFORE_DUE(41), SEQUENCE_REUSED(42), CHANGED(43),
    /** A code of a newer server. */
    UNKNOWN(0);

    private final int number;

    ErrorCode(int number) {
        this.number = number;
    }

    /** The number on the wire; 0 for {@link #UNKNOWN}. */
    public int number() {
        return number;
    }

    /** The code of this number. */
    public static ErrorCode of(int number) {
        for (ErrorCode code : values()) {
            if (code.number == number) {
                return code;
            }
        }
        return UNKNOWN;
    }

    /** Whether the protocol calls it retryable. An ERROR frame says so itself. */
    boolean isRetryable() {
        return switch (this) {
            case NOT_LEADER, NO_LEADER, BUSY, DISK_FULL, STOPPING, PAUSED -> true;
            default -> false;
        };
    }
}
