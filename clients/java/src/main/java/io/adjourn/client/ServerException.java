package io.adjourn.client;

import java.time.Duration;

/** The server refused a request, or one item of it. There is a type for each code; {@link Unknown} for those of a newer server. */
public abstract sealed class ServerException extends AdjournException {
    private static final long serialVersionUID = 1;

    private final int number;
    private final long retryAfterMs;
    private final long existingJob;

    private ServerException(String code, Refusal refusal) {
        super(code, refusal.retryable, refusal.applied, code + ": " + refusal.message, null);
        this.number = refusal.number;
        this.retryAfterMs = refusal.retryAfterMs;
        this.existingJob = refusal.job;
    }

    /** The number of the code on the wire. */
    public final int number() {
        return number;
    }

    @Override
    public final Duration retryAfter() {
        return Duration.ofMillis(retryAfterMs);
    }

    /** The id (unsigned) of the job that is in the way of a push: for {@link KeyExists} and {@link Reserved}, else 0. */
    public final long existingJob() {
        return existingJob;
    }

    /** The error of a whole request, as an ERROR frame says it; {@link OutcomeUnknownException} for that code. */
    public static AdjournException ofRequest(int number, boolean retryable, Applied applied, long retryAfterMs, String message) {
        return of(new Refusal(number, retryable, applied, retryAfterMs, 0, message));
    }

    /** The error of one item of a batch. Nothing was changed for it, unless its outcome is unknown. */
    public static AdjournException ofItem(int number, long job) {
        ErrorCode code = ErrorCode.of(number);
        String message = code == ErrorCode.UNKNOWN ? "code " + number : "refused";
        if (job != 0) {
            message += (code == ErrorCode.OUTCOME_UNKNOWN ? ", look at job " : ", by job ") + Long.toUnsignedString(job);
        }
        return of(new Refusal(number, code.isRetryable(), Applied.NO, 0, job, message));
    }

    private static AdjournException of(Refusal refusal) {
        return switch (ErrorCode.of(refusal.number)) {
            case MALFORMED -> new Malformed(refusal);
            case UNSUPPORTED -> new Unsupported(refusal);
            case TOO_LARGE -> new TooLarge(refusal);
            case UNAUTHORISED -> new Unauthorised(refusal);
            case INVALID -> new Invalid(refusal);
            case NOT_LEADER -> new NotLeader(refusal);
            case NO_LEADER -> new NoLeader(refusal);
            case BUSY -> new Busy(refusal);
            case DISK_FULL -> new DiskFull(refusal);
            case STOPPING -> new Stopping(refusal);
            case UNREADABLE -> new Unreadable(refusal);
            case PAUSED -> new Paused(refusal);
            case QUOTA -> new Quota(refusal);
            case STALE_LEASE -> new StaleLease(refusal);
            case KEY_EXISTS -> new KeyExists(refusal);
            case NOT_FOUND -> new NotFound(refusal);
            case RESERVED -> new Reserved(refusal);
            case WRONG_STATE -> new WrongState(refusal);
            case SESSION_UNKNOWN -> new SessionUnknown(refusal);
            case EXPIRES_BEFORE_DUE -> new ExpiresBeforeDue(refusal);
            case SEQUENCE_REUSED -> new SequenceReused(refusal);
            case CHANGED -> new Changed(refusal);
            case OUTCOME_UNKNOWN -> new OutcomeUnknownException("the outcome is not known: " + refusal.message);
            case UNKNOWN -> new Unknown(refusal);
        };
    }

    private record Refusal(int number, boolean retryable, Applied applied, long retryAfterMs, long job, String message) {
    }

    /** The frame or a field in it cannot be decoded. */
    public static final class Malformed extends ServerException {
        private static final long serialVersionUID = 1;

        private Malformed(Refusal refusal) {
            super("MALFORMED", refusal);
        }
    }

    /** This server, or one member of the cluster, does not support what was asked. */
    public static final class Unsupported extends ServerException {
        private static final long serialVersionUID = 1;

        private Unsupported(Refusal refusal) {
            super("UNSUPPORTED", refusal);
        }
    }

    /** A frame, body, batch or text exceeds its limit. */
    public static final class TooLarge extends ServerException {
        private static final long serialVersionUID = 1;

        private TooLarge(Refusal refusal) {
            super("TOO_LARGE", refusal);
        }
    }

    /** The token is missing or wrong. */
    public static final class Unauthorised extends ServerException {
        private static final long serialVersionUID = 1;

        private Unauthorised(Refusal refusal) {
            super("UNAUTHORISED", refusal);
        }
    }

    /** A value is out of range; the message names it. */
    public static final class Invalid extends ServerException {
        private static final long serialVersionUID = 1;

        private Invalid(Refusal refusal) {
            super("INVALID", refusal);
        }
    }

    /** The node does not lead. The client follows the leader by itself; this is seen only at a deadline. */
    public static final class NotLeader extends ServerException {
        private static final long serialVersionUID = 1;

        private NotLeader(Refusal refusal) {
            super("NOT_LEADER", refusal);
        }
    }

    /** No leader is elected yet. */
    public static final class NoLeader extends ServerException {
        private static final long serialVersionUID = 1;

        private NoLeader(Refusal refusal) {
            super("NO_LEADER", refusal);
        }
    }

    /** Too much work is in flight, or the server is at its memory limit. */
    public static final class Busy extends ServerException {
        private static final long serialVersionUID = 1;

        private Busy(Refusal refusal) {
            super("BUSY", refusal);
        }
    }

    /** The server's disk is nearly full: pushes are refused. */
    public static final class DiskFull extends ServerException {
        private static final long serialVersionUID = 1;

        private DiskFull(Refusal refusal) {
            super("DISK_FULL", refusal);
        }
    }

    /** The server is stopping. */
    public static final class Stopping extends ServerException {
        private static final long serialVersionUID = 1;

        private Stopping(Refusal refusal) {
            super("STOPPING", refusal);
        }
    }

    /** The server's disk cannot read the data; the message names the file. */
    public static final class Unreadable extends ServerException {
        private static final long serialVersionUID = 1;

        private Unreadable(Refusal refusal) {
            super("UNREADABLE", refusal);
        }
    }

    /** Every requested topic is paused. */
    public static final class Paused extends ServerException {
        private static final long serialVersionUID = 1;

        private Paused(Refusal refusal) {
            super("PAUSED", refusal);
        }
    }

    /** Too many topics, sessions or subscriptions, or the topic's policy allows no more jobs. */
    public static final class Quota extends ServerException {
        private static final long serialVersionUID = 1;

        private Quota(Refusal refusal) {
            super("QUOTA", refusal);
        }
    }

    /** The lease has ended. Drop the work: another consumer may have the job. */
    public static final class StaleLease extends ServerException {
        private static final long serialVersionUID = 1;

        private StaleLease(Refusal refusal) {
            super("STALE_LEASE", refusal);
        }
    }

    /** The topic has a job with this key; {@link #existingJob()} is its id. */
    public static final class KeyExists extends ServerException {
        private static final long serialVersionUID = 1;

        private KeyExists(Refusal refusal) {
            super("KEY_EXISTS", refusal);
        }
    }

    /** There is no such job, topic, subscription or connection. */
    public static final class NotFound extends ServerException {
        private static final long serialVersionUID = 1;

        private NotFound(Refusal refusal) {
            super("NOT_FOUND", refusal);
        }
    }

    /** The job is reserved; {@link #existingJob()} is its id after a push. */
    public static final class Reserved extends ServerException {
        private static final long serialVersionUID = 1;

        private Reserved(Refusal refusal) {
            super("RESERVED", refusal);
        }
    }

    /** The job is not in the required state. */
    public static final class WrongState extends ServerException {
        private static final long serialVersionUID = 1;

        private WrongState(Refusal refusal) {
            super("WRONG_STATE", refusal);
        }
    }

    /** The session is no longer known. The client opens a new one by itself. */
    public static final class SessionUnknown extends ServerException {
        private static final long serialVersionUID = 1;

        private SessionUnknown(Refusal refusal) {
            super("SESSION_UNKNOWN", refusal);
        }
    }

    /** The job would expire before it is due. */
    public static final class ExpiresBeforeDue extends ServerException {
        private static final long serialVersionUID = 1;

        private ExpiresBeforeDue(Refusal refusal) {
            super("EXPIRES_BEFORE_DUE", refusal);
        }
    }

    /** The sequence number was used for another job: a fault of the client. */
    public static final class SequenceReused extends ServerException {
        private static final long serialVersionUID = 1;

        private SequenceReused(Refusal refusal) {
            super("SEQUENCE_REUSED", refusal);
        }
    }

    /** The job is no longer of the version that was named. */
    public static final class Changed extends ServerException {
        private static final long serialVersionUID = 1;

        private Changed(Refusal refusal) {
            super("CHANGED", refusal);
        }
    }

    /** A code that this version of the library does not know: decide by its marks. */
    public static final class Unknown extends ServerException {
        private static final long serialVersionUID = 1;

        private Unknown(Refusal refusal) {
            super("UNKNOWN", refusal);
        }
    }
}
