// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client.internal.wire;

/** The numbers of choices that are no types of the public API. */
public final class Choice {
    private Choice() {
    }

    /** How a due time counts. */
    public static final class DueKind {
        /** Milliseconds after the queue accepts the request. */
        public static final int AFTER = 0;
        /** On the wall clock. */
        public static final int AT = 1;

        private DueKind() {
        }
    }

    /** How far the clock of a server for tests moves. */
    public static final class Step {
        /** By a duration. */
        public static final int BY = 0;
        /** To the time at which the next delayed job is due, of all topics. */
        public static final int TO_NEXT = 1;

        private Step() {
        }
    }

    /** How a job reference names a job. */
    public static final class JobKind {
        /** By its id. */
        public static final int ID = 0;
        /** By its topic and key. */
        public static final int KEY = 1;

        private JobKind() {
        }
    }

    /** What a bulk change does to each job. */
    public static final class Change {
        /** Removes it. */
        public static final int DELETE = 0;
        /** Makes it ready if it is buried. */
        public static final int KICK = 1;
        /** Makes it ready if it is delayed. */
        public static final int RUN_NOW = 2;
        /** Gives it a new due time. */
        public static final int RESCHEDULE = 3;
        /** Moves it to another topic. */
        public static final int MOVE = 4;

        private Change() {
        }
    }

    /** What became of a pushed job. */
    public static final class Outcome {
        /** It is in the queue, and durable; {@code job} is its id. */
        public static final int PUSHED = 0;
        /** A job with this key exists; {@code job} is the id of that one. */
        public static final int KEPT = 1;
        /** It took the place of the job with its key; {@code job} is its own, new id. */
        public static final int REPLACED = 2;
        /** {@code code} is an error code; {@code job} is the existing job for {@code KEY_EXISTS} and {@code RESERVED}, else 0. */
        public static final int REFUSED = 3;
        /** The job with its key waits for the new due time; {@code job} is the id of that one. */
        public static final int POSTPONED = 4;

        private Outcome() {
        }
    }

    /** What a schedule does when the clocks of its zone are changed. */
    public static final class Dst {
        /** As cron: a time that is skipped fires at once after the gap, a repeated one fires once. */
        public static final int VIXIE = 0;
        /** A time that is skipped does not fire, a repeated one fires twice. */
        public static final int LITERAL = 1;

        private Dst() {
        }
    }

    /** Which of the instants that passed unnoticed are fired late. */
    public static final class Missed {
        /** The last one. */
        public static final int LAST = 0;
        /** None of them. */
        public static final int NONE = 1;
        /** All of them, up to a number. */
        public static final int ALL = 2;

        private Missed() {
        }
    }

    /** What a schedule does at an instant while an earlier job of it has not ended. */
    public static final class Overlap {
        /** Pushes no job. */
        public static final int SKIP = 0;
        /** Pushes another job. */
        public static final int ALLOW = 1;
        /** Pushes the job as soon as the earlier one has ended; further instants until then are skipped. */
        public static final int QUEUE_ONE = 2;
        /** Deletes the earlier job, also a reserved one, and pushes another. */
        public static final int REPLACE = 3;

        private Overlap() {
        }
    }

    /** Why a schedule does not fire at present. */
    public static final class Paused {
        /** It fires. */
        public static final int NOT_PAUSED = 0;
        /** A user paused it. */
        public static final int USER = 1;
        /** Too many of its jobs failed one after another. */
        public static final int FAILURES = 2;

        private Paused() {
        }
    }

    /** Which schedules, by whether they are paused. */
    public static final class WhichPaused {
        /** All. */
        public static final int ANY = 0;
        /** Those that are paused. */
        public static final int PAUSED = 1;
        /** Those that are not. */
        public static final int ACTIVE = 2;

        private WhichPaused() {
        }
    }

    /** Whether something is paused or resumed. */
    public static final class Pause {
        /** It stays as it is. */
        public static final int KEEP = 0;
        /** It is paused. */
        public static final int PAUSE = 1;
        /** It is resumed. */
        public static final int RESUME = 2;

        private Pause() {
        }
    }

    /** Why a job, a topic or a group gives nothing to a consumer now. */
    public static final class Why {
        /** Nothing holds it back. */
        public static final int NEXT = 0;
        /** Its due time has not come. */
        public static final int DELAYED = 1;
        /** The topic is paused. */
        public static final int TOPIC_PAUSED = 2;
        /** The topic has as many leases as it may. */
        public static final int TOPIC_LEASES = 3;
        /** The topic has used up its rate. */
        public static final int TOPIC_RATE = 4;
        /** Its group is paused. */
        public static final int GROUP_PAUSED = 5;
        /** Its group has as many leases as it may. */
        public static final int GROUP_LEASES = 6;
        /** Its group has used up its rate. */
        public static final int GROUP_RATE = 7;
        /** A job of its group is reserved, and they go one at a time. */
        public static final int GROUP_RESERVED = 8;
        /** A job of its group waits for its next attempt, and they go one at a time. */
        public static final int GROUP_RETRY = 9;
        /** A job of its group is buried, and they go one at a time. */
        public static final int GROUP_BURIED = 10;
        /** Jobs of its topic, or of its group, come first. */
        public static final int BEHIND = 11;
        /** No consumer waits on the topic. */
        public static final int NO_CONSUMER = 12;
        /** The calls of the topic are paused. */
        public static final int CALL_BACK_PAUSED = 13;
        /** A consumer has it. */
        public static final int RESERVED = 14;
        /** It is buried. */
        public static final int BURIED = 15;
        /** It is finished, and remembered. */
        public static final int FINISHED = 16;
        /** No job is ready. */
        public static final int EMPTY = 17;
        /** The destination of the topic's calls failed: calls are suspended. */
        public static final int CALL_BACK_SUSPENDED = 18;

        private Why() {
        }
    }

    /** What became of an instant of a schedule. */
    public static final class Fired {
        /** It pushed the job, which has not ended. */
        public static final int PUSHED = 0;
        /** It pushed the job, and a consumer finished that. */
        public static final int FINISHED = 1;
        /** It pushed the job, and that was buried, or moved to the dead letters. */
        public static final int FAILED = 2;
        /** It pushed the job, and that was deleted or replaced. */
        public static final int DELETED = 3;
        /** It pushed the job, and that expired, or was dropped because it was late. */
        public static final int EXPIRED = 4;
        /** It was skipped: it had passed when the schedule was looked at. */
        public static final int MISSED = 5;
        /** It was skipped: an earlier job had not ended. */
        public static final int OVERLAP = 6;
        /** It was skipped: the topic's policy, or a limit of the queue, did not allow the job. */
        public static final int REFUSED = 7;
        /** It was skipped: the topic has a job with the key, which may be buried or remembered. */
        public static final int KEY_TAKEN = 8;

        private Fired() {
        }
    }

    /** Why a server closes a connection. */
    public static final class GoingAway {
        /** Not said. */
        public static final int UNKNOWN = 0;
        /** The server stops; new requests are answered with {@code STOPPING}. */
        public static final int STOPPING = 1;
        /** This node no longer leads. */
        public static final int NOT_LEADER = 2;
        /** Another connection took the session over. */
        public static final int SESSION_TAKEN_OVER = 3;
        /** An operator closed the connection. */
        public static final int DISCONNECTED = 4;

        private GoingAway() {
        }
    }

    /** What a member of the cluster is. */
    public static final class Role {
        /** It receives the log and does not vote. */
        public static final int LEARNER = 0;
        /** It votes, and its disk counts. */
        public static final int VOTER = 1;
        /** A voter that leads. */
        public static final int LEADER = 2;

        private Role() {
        }
    }

    /** How the wait grows with the attempts. */
    public static final class BackoffKind {
        /** One wait, always the same. */
        public static final int FIXED = 0;
        /** Step, maximum: a step more after each attempt. */
        public static final int LINEAR = 1;
        /** First, maximum: twice as long after each attempt. */
        public static final int EXPONENTIAL = 2;
        /** 1 to 32 waits, one after the other; the last one repeats. */
        public static final int LIST = 3;

        private BackoffKind() {
        }
    }
}
