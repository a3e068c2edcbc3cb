// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client.internal.wire;

/** The bits of marks, options and sets. */
public final class Bits {
    private Bits() {
    }

    /** What a client wants of its connection. */
    public static final class HelloOptions {
        /**
         * Leases run to their deadline whatever happens to the session, see sessions. It takes effect only when a session is
         * opened; a resumed session keeps what it was opened with.
         */
        public static final int LEASES_OUTLIVE = 0x1;
        /** None is opened if {@code session} is 0, see connections without a session. */
        public static final int NO_SESSION = 0x2;

        private HelloOptions() {
        }
    }

    /** What became of the session. */
    public static final class WelcomeMarks {
        /** The session was resumed. */
        public static final int RESUMED = 0x1;
        /** Its leases were kept. */
        public static final int LEASES_KEPT = 0x2;

        private WelcomeMarks() {
        }
    }

    /** What is so of a member. */
    public static final class MemberMarks {
        /** It leads. */
        public static final int LEADS = 0x1;

        private MemberMarks() {
        }
    }

    /** What is so of a page. */
    public static final class PageMarks {
        /** There are more. */
        public static final int MORE = 0x1;

        private PageMarks() {
        }
    }

    /** What a list shows. */
    public static final class ListMarks {
        /** Show bodies. */
        public static final int BODIES = 0x1;

        private ListMarks() {
        }
    }

    /** The parts of a job that an EDIT changes. */
    public static final class Edited {
        /** When it is due. */
        public static final int DUE = 0x1;
        /** Its priority. */
        public static final int PRIORITY = 0x2;
        /** How long a lease lasts. */
        public static final int TTR = 0x4;
        /** Its body, and with it the header {@code content-type}. */
        public static final int BODY = 0x8;
        /** Its other headers, and {@code content-type} if it is given. */
        public static final int HEADERS = 0x10;
        /** When it expires. */
        public static final int EXPIRES = 0x20;
        /** How many attempts it has. */
        public static final int ATTEMPTS_MAX = 0x40;
        /** The wait between attempts. */
        public static final int BACKOFF = 0x80;
        /** How long it is remembered. */
        public static final int DEDUPE_RETENTION = 0x100;
        /** The group that it belongs to. */
        public static final int GROUP = 0x200;

        private Edited() {
        }
    }

    /** What is so of a schedule. */
    public static final class ScheduleMarks {
        /** Its next instant has come, and is about to be fired. */
        public static final int COME = 0x1;
        /** Its next instant has come, and waits until an earlier job has ended. */
        public static final int HELD = 0x2;

        private ScheduleMarks() {
        }
    }

    /** What is so of a topic. */
    public static final class TopicMarks {
        /** Reserving is stopped. */
        public static final int PAUSED = 0x1;

        private TopicMarks() {
        }
    }

    /** What is so of a topic, and where its settings come from. */
    public static final class SettingsMarks {
        /** Reserving is stopped. */
        public static final int PAUSED = 0x1;
        /** attempts is the server's default, and not set here. */
        public static final int ATTEMPTS_OF_SERVER = 0x2;
        /** The same of backoff. */
        public static final int BACKOFF_OF_SERVER = 0x4;

        private SettingsMarks() {
        }
    }

    /** What is so of a connection. */
    public static final class ConnectionMarks {
        /** It waits for more topics than are listed. */
        public static final int MORE_TOPICS = 0x1;

        private ConnectionMarks() {
        }
    }

    /** What else a DISCONNECT does. */
    public static final class DisconnectOptions {
        /** Also end its session. */
        public static final int ENDS_SESSION = 0x1;

        private DisconnectOptions() {
        }
    }

    /** What is so of a member, and what is known of it. */
    public static final class NodeMarks {
        /** The reporting node is connected to it, or is it. */
        public static final int CONNECTED = 0x1;
        /** matched is known. */
        public static final int MATCHED = 0x2;
        /** applied is known. */
        public static final int APPLIED = 0x4;
        /** ahead_ms is known. */
        public static final int AHEAD = 0x8;
        /** The comparison of states is known. */
        public static final int COMPARED = 0x10;
        /** The states are the same. */
        public static final int SAME_STATE = 0x20;

        private NodeMarks() {
        }
    }

    /** What is so of an error. */
    public static final class ErrorMarks {
        /** The same request may succeed later, as it is. */
        public static final int RETRYABLE = 0x1;

        private ErrorMarks() {
        }
    }

    /** A set of states of jobs. */
    public static final class States {
        /** Delayed. */
        public static final int DELAYED = 0x1;
        /** Ready. */
        public static final int READY = 0x2;
        /** Reserved. */
        public static final int RESERVED = 0x4;
        /** Buried. */
        public static final int BURIED = 0x8;
        /** Finished and remembered. */
        public static final int FINISHED = 0x10;

        private States() {
        }
    }
}
