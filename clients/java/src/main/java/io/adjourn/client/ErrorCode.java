// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

/** The error codes of the protocol. */
public enum ErrorCode {
    /** The frame or a field in it cannot be decoded. */
    MALFORMED(1, false, "the frame or a field in it cannot be decoded", "fix the client"),
    /** The opcode, version, group, choice or critical attribute is not supported by this server, or not by every member. */
    UNSUPPORTED(2, false,
            "the opcode, version, group, choice or critical attribute is not supported by this server, or not by every member",
            "use only features of this version, or a newer server"),
    /** A frame, body, batch or text exceeds its limit. */
    TOO_LARGE(3, false, "a frame, body, batch or text exceeds its limit", "send less at once; see WELCOME and limits"),
    /** HELLO is missing, or has no token, an unknown one, or one that was revoked or has expired. */
    UNAUTHENTICATED(4, false, "HELLO is missing, or has no token, an unknown one, or one that was revoked or has expired",
            "send HELLO first, with a valid token"),
    /** A value is out of range. */
    INVALID(5, false, "a value is out of range", "correct the value; the message names it"),
    /** The token lacks the right that this request needs. */
    FORBIDDEN(6, false, "the token lacks the right that this request needs",
            "use a token with that right, or add the right to this one; the message names it"),
    /** This node does not lead. */
    NOT_LEADER(16, true, "this node does not lead", "connect to leader, or to each of members in turn: clusters"),
    /** No leader is elected yet. */
    NO_LEADER(17, true, "no leader is elected yet", "try again after retry_after_ms, here or at another member"),
    /** Too much work is in flight; for PUSH also: the server has reached its memory limit, and the message says so. */
    BUSY(18, true, "too much work is in flight; for PUSH also: the server has reached its memory limit, and the message says so",
            "wait retry_after_ms, then send less at once; finishing or deleting jobs frees memory"),
    /** The disk is nearly full: pushes are refused. */
    DISK_FULL(19, true, "the disk is nearly full: pushes are refused",
            "free space on the server; settling and deleting still work"),
    /** The server is stopping. */
    STOPPING(20, true, "the server is stopping", "connect again, here or to another member"),
    /** The server's disk cannot read the requested data. */
    UNREADABLE(21, false, "the server's disk cannot read the requested data", "tell the operator; the message names the file"),
    /** Every requested topic is paused. */
    PAUSED(32, true, "every requested topic is paused", "RESUME one, or wait"),
    /** Too many topics, sessions or subscriptions; in PUSHED, the topic's policy allows no more jobs or bytes. */
    QUOTA(33, false, "too many topics, sessions or subscriptions; in PUSHED, the topic's policy allows no more jobs or bytes",
            "finish or delete jobs; use fewer names; send GOODBYE; UNSUBSCRIBE. After HELLO it has the mark retryable: wait retry_after_ms"),
    /** The lease has ended. */
    STALE_LEASE(34, false, "the lease has ended", "drop the work; another consumer may have the job"),
    /** The topic has a job with this key, alive or remembered. */
    KEY_EXISTS(35, false, "the topic has a job with this key, alive or remembered",
            "use the id in the result, or push with keep or replace"),
    /** There is no such job, topic or subscription. */
    NOT_FOUND(36, false, "there is no such job, topic or subscription", "treat it as finished, or as never there"),
    /** The job is reserved, and the request needs a job that is not. */
    RESERVED(37, false, "the job is reserved, and the request needs a job that is not", "wait until it is settled"),
    /** The job is not in the required state. */
    WRONG_STATE(38, false, "the job is not in the required state", "check with GET"),
    /** The session is no longer known. */
    SESSION_UNKNOWN(39, false, "the session is no longer known", "connect again; HELLO resumes the session or opens a new one"),
    /** The queue has forgotten the outcome of this push. */
    OUTCOME_UNKNOWN(40, false, "the queue has forgotten the outcome of this push", "look for the job by its key"),
    /** The job would expire before it is due. */
    EXPIRES_BEFORE_DUE(41, false, "the job would expire before it is due", "set a later expiry or an earlier due time"),
    /** The sequence number, or the idempotency key, of the job was used for another job. */
    SEQUENCE_REUSED(42, false, "the sequence number, or the idempotency key, of the job was used for another job",
            "fix the client: each job needs its own number. Push the job under a new one"),
    /** The job is no longer of the version that the request names. */
    CHANGED(43, false, "the job is no longer of the version that the request names", "look at the job again, and decide anew"),
    /** A code of a newer server. */
    UNKNOWN(0, false, "a code of a newer server", "decide by its marks");

    private final int number;
    private final boolean isRetryable;
    private final String meaning;
    private final String remedy;

    ErrorCode(int number, boolean isRetryable, String meaning, String remedy) {
        this.number = number;
        this.isRetryable = isRetryable;
        this.meaning = meaning;
        this.remedy = remedy;
    }

    /** The number on the wire; 0 for {@link #UNKNOWN}. */
    public int number() {
        return number;
    }

    /** Whether the protocol calls it retryable. An ERROR frame says so itself. */
    public boolean isRetryable() {
        return isRetryable;
    }

    /** What it means, without a full stop. */
    public String meaning() {
        return meaning;
    }

    /** What to do, without a full stop. */
    public String remedy() {
        return remedy;
    }

    /** The code of this number. */
    public static ErrorCode of(int number) {
        return switch (number) {
            case 1 -> MALFORMED;
            case 2 -> UNSUPPORTED;
            case 3 -> TOO_LARGE;
            case 4 -> UNAUTHENTICATED;
            case 5 -> INVALID;
            case 6 -> FORBIDDEN;
            case 16 -> NOT_LEADER;
            case 17 -> NO_LEADER;
            case 18 -> BUSY;
            case 19 -> DISK_FULL;
            case 20 -> STOPPING;
            case 21 -> UNREADABLE;
            case 32 -> PAUSED;
            case 33 -> QUOTA;
            case 34 -> STALE_LEASE;
            case 35 -> KEY_EXISTS;
            case 36 -> NOT_FOUND;
            case 37 -> RESERVED;
            case 38 -> WRONG_STATE;
            case 39 -> SESSION_UNKNOWN;
            case 40 -> OUTCOME_UNKNOWN;
            case 41 -> EXPIRES_BEFORE_DUE;
            case 42 -> SEQUENCE_REUSED;
            case 43 -> CHANGED;
            default -> UNKNOWN;
        };
    }
}
