// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

/** The server refused a request, or one item of it. There is a type for each code; {@link Unknown} for those of a newer server. */
public abstract sealed class ServerException extends RefusalException {
    private static final long serialVersionUID = 1;

    private ServerException(String code, Refusal refusal) {
        super(code, refusal);
    }

    static AdjournException of(Refusal refusal) {
        return switch (ErrorCode.of(refusal.number())) {
            case MALFORMED -> new Malformed(refusal);
            case UNSUPPORTED -> new Unsupported(refusal);
            case TOO_LARGE -> new TooLarge(refusal);
            case UNAUTHENTICATED -> new Unauthenticated(refusal);
            case INVALID -> new Invalid(refusal);
            case FORBIDDEN -> new Forbidden(refusal);
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
            case OUTCOME_UNKNOWN -> new OutcomeUnknownException("the outcome is not known: " + refusal.message());
            case UNKNOWN -> new Unknown(refusal);
        };
    }

    /** The frame or a field in it cannot be decoded. What to do: fix the client. */
    public static final class Malformed extends ServerException {
        private static final long serialVersionUID = 1;

        private Malformed(Refusal refusal) {
            super("MALFORMED", refusal);
        }
    }

    /**
     * The opcode, version, group, choice or critical attribute is not supported by this server, or not by every member. What to
     * do: use only features of this version, or a newer server.
     */
    public static final class Unsupported extends ServerException {
        private static final long serialVersionUID = 1;

        private Unsupported(Refusal refusal) {
            super("UNSUPPORTED", refusal);
        }
    }

    /** A frame, body, batch or text exceeds its limit. What to do: send less at once; see WELCOME and limits. */
    public static final class TooLarge extends ServerException {
        private static final long serialVersionUID = 1;

        private TooLarge(Refusal refusal) {
            super("TOO_LARGE", refusal);
        }
    }

    /**
     * HELLO is missing, or has no token, an unknown one, or one that was revoked or has expired. What to do: send HELLO first,
     * with a valid token.
     */
    public static final class Unauthenticated extends ServerException {
        private static final long serialVersionUID = 1;

        private Unauthenticated(Refusal refusal) {
            super("UNAUTHENTICATED", refusal);
        }
    }

    /** A value is out of range. What to do: correct the value; the message names it. */
    public static final class Invalid extends ServerException {
        private static final long serialVersionUID = 1;

        private Invalid(Refusal refusal) {
            super("INVALID", refusal);
        }
    }

    /**
     * The token lacks the right that this request needs. What to do: use a token with that right, or add the right to this one;
     * the message names it.
     */
    public static final class Forbidden extends ServerException {
        private static final long serialVersionUID = 1;

        private Forbidden(Refusal refusal) {
            super("FORBIDDEN", refusal);
        }
    }

    /** This node does not lead. What to do: connect to {@code leader}, or to each of {@code members} in turn: clusters. */
    public static final class NotLeader extends ServerException {
        private static final long serialVersionUID = 1;

        private NotLeader(Refusal refusal) {
            super("NOT_LEADER", refusal);
        }
    }

    /** No leader is elected yet. What to do: try again after {@code retry_after_ms}, here or at another member. */
    public static final class NoLeader extends ServerException {
        private static final long serialVersionUID = 1;

        private NoLeader(Refusal refusal) {
            super("NO_LEADER", refusal);
        }
    }

    /**
     * Too much work is in flight; for PUSH also: the server has reached its memory limit, and the message says so. What to do:
     * wait {@code retry_after_ms}, then send less at once; finishing or deleting jobs frees memory.
     */
    public static final class Busy extends ServerException {
        private static final long serialVersionUID = 1;

        private Busy(Refusal refusal) {
            super("BUSY", refusal);
        }
    }

    /** The disk is nearly full: pushes are refused. What to do: free space on the server; settling and deleting still work. */
    public static final class DiskFull extends ServerException {
        private static final long serialVersionUID = 1;

        private DiskFull(Refusal refusal) {
            super("DISK_FULL", refusal);
        }
    }

    /** The server is stopping. What to do: connect again, here or to another member. */
    public static final class Stopping extends ServerException {
        private static final long serialVersionUID = 1;

        private Stopping(Refusal refusal) {
            super("STOPPING", refusal);
        }
    }

    /** The server's disk cannot read the requested data. What to do: tell the operator; the message names the file. */
    public static final class Unreadable extends ServerException {
        private static final long serialVersionUID = 1;

        private Unreadable(Refusal refusal) {
            super("UNREADABLE", refusal);
        }
    }

    /** Every requested topic is paused. What to do: RESUME one, or wait. */
    public static final class Paused extends ServerException {
        private static final long serialVersionUID = 1;

        private Paused(Refusal refusal) {
            super("PAUSED", refusal);
        }
    }

    /**
     * Too many topics, sessions or subscriptions; in PUSHED, the topic's policy allows no more jobs or bytes. What to do: finish
     * or delete jobs; use fewer names; send GOODBYE; UNSUBSCRIBE. After HELLO it has the mark retryable: wait
     * {@code retry_after_ms}.
     */
    public static final class Quota extends ServerException {
        private static final long serialVersionUID = 1;

        private Quota(Refusal refusal) {
            super("QUOTA", refusal);
        }
    }

    /** The lease has ended. What to do: drop the work; another consumer may have the job. */
    public static final class StaleLease extends ServerException {
        private static final long serialVersionUID = 1;

        private StaleLease(Refusal refusal) {
            super("STALE_LEASE", refusal);
        }
    }

    /**
     * The topic has a job with this key, alive or remembered. What to do: use the id in the result, or push with keep or replace.
     */
    public static final class KeyExists extends ServerException {
        private static final long serialVersionUID = 1;

        private KeyExists(Refusal refusal) {
            super("KEY_EXISTS", refusal);
        }
    }

    /** There is no such job, topic or subscription. What to do: treat it as finished, or as never there. */
    public static final class NotFound extends ServerException {
        private static final long serialVersionUID = 1;

        private NotFound(Refusal refusal) {
            super("NOT_FOUND", refusal);
        }
    }

    /** The job is reserved, and the request needs a job that is not. What to do: wait until it is settled. */
    public static final class Reserved extends ServerException {
        private static final long serialVersionUID = 1;

        private Reserved(Refusal refusal) {
            super("RESERVED", refusal);
        }
    }

    /** The job is not in the required state. What to do: check with GET. */
    public static final class WrongState extends ServerException {
        private static final long serialVersionUID = 1;

        private WrongState(Refusal refusal) {
            super("WRONG_STATE", refusal);
        }
    }

    /** The session is no longer known. What to do: connect again; HELLO resumes the session or opens a new one. */
    public static final class SessionUnknown extends ServerException {
        private static final long serialVersionUID = 1;

        private SessionUnknown(Refusal refusal) {
            super("SESSION_UNKNOWN", refusal);
        }
    }

    /** The job would expire before it is due. What to do: set a later expiry or an earlier due time. */
    public static final class ExpiresBeforeDue extends ServerException {
        private static final long serialVersionUID = 1;

        private ExpiresBeforeDue(Refusal refusal) {
            super("EXPIRES_BEFORE_DUE", refusal);
        }
    }

    /**
     * The sequence number, or the idempotency key, of the job was used for another job. What to do: fix the client: each job
     * needs its own number. Push the job under a new one.
     */
    public static final class SequenceReused extends ServerException {
        private static final long serialVersionUID = 1;

        private SequenceReused(Refusal refusal) {
            super("SEQUENCE_REUSED", refusal);
        }
    }

    /** The job is no longer of the version that the request names. What to do: look at the job again, and decide anew. */
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
