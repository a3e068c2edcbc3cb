//! The numbers of the protocol: opcodes of responses, error codes, choices, bits.
//!
//! Generated from `schema/` by `make generate`: do not edit.

use std::fmt;

use crate::opcode::opcodes;

opcodes! {
    /// What a server may send.
    ResponseOpcode {
        /// The answer to HELLO.
        Welcome = 0x81, "WELCOME";
        /// The answer to PING: at some moment after it was sent this node led, and the session was connected to it.
        Pong = 0x82, "PONG";
        /// It is done.
        Done = 0x83, "DONE";
        /// Unasked, under request id 0: the server is about to close the connection.
        GoingAway = 0x84, "GOING_AWAY";
        /// The outcomes of a PUSH: one per job, in order.
        Pushed = 0x90, "PUSHED";
        /// The jobs of a RESERVE; none when the wait was over first.
        Reserved = 0xA0, "RESERVED";
        /// The answer to SUBSCRIBE. Jobs follow as DELIVER.
        Subscribed = 0xA1, "SUBSCRIBED";
        /// Unasked, under the request id of the SUBSCRIBE: jobs that are now leased to this session.
        Deliver = 0xA2, "DELIVER";
        /// A page of the leases that the session holds.
        Leased = 0xA3, "LEASED";
        /// The outcomes of FINISH, RELEASE, TOUCH and BURY: one per lease, in order.
        Settled = 0xB0, "SETTLED";
        /// One job as it stands.
        Job = 0xC0, "JOB";
        /// One job was changed.
        Changed = 0xC1, "CHANGED";
        /// Jobs were kicked.
        Kicked = 0xC2, "KICKED";
        /// A page of jobs.
        Jobs = 0xC3, "JOBS";
        /// How many jobs match.
        Counted = 0xC4, "COUNTED";
        /// How many jobs were changed.
        Bulked = 0xC5, "BULKED";
        /// Counts by topic.
        TopicCounts = 0xD0, "TOPIC_COUNTS";
        /// Counts of the queue.
        QueueStats = 0xD1, "QUEUE_STATS";
        /// Clients' connections.
        ConnectionList = 0xD2, "CONNECTION_LIST";
        /// A topic's policy.
        TopicSettings = 0xD3, "TOPIC_SETTINGS";
        /// A backup can be read.
        BackupReady = 0xE0, "BACKUP_READY";
        /// A part of a backup.
        BackupData = 0xE1, "BACKUP_DATA";
        /// When a schedule would fire.
        Instants = 0xEF, "INSTANTS";
        /// The members of the cluster, as one node sees them.
        ClusterReport = 0xF0, "CLUSTER_REPORT";
        /// A page of groups.
        Groups = 0xF5, "GROUPS";
        /// Why a job, a topic or a group gives nothing to a consumer.
        Reasons = 0xF6, "REASONS";
        /// A schedule is set.
        Scheduled = 0xF8, "SCHEDULED";
        /// One schedule as it stands.
        Schedule = 0xF9, "SCHEDULE";
        /// A page of schedules.
        Schedules = 0xFA, "SCHEDULES";
        /// A schedule pushed a job.
        ScheduleRan = 0xFB, "SCHEDULE_RAN";
        /// A part of a time that has passed is filled, or counted.
        ScheduleFilled = 0xFC, "SCHEDULE_FILLED";
        /// The request failed as a whole.
        Error = 0xFF, "ERROR";
    }
}

/// Why a request, or one item of a batch, was refused. The numbers are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum ErrorCode {
    /// The frame or a field in it cannot be decoded.
    Malformed = 1,
    /// The opcode, version, group, choice or critical attribute is not supported by this server, or not by every member.
    Unsupported = 2,
    /// A frame, body, batch or text exceeds its limit.
    TooLarge = 3,
    /// HELLO is missing, or has no token, an unknown one, or one that was revoked or has expired.
    Unauthenticated = 4,
    /// A value is out of range.
    Invalid = 5,
    /// The token lacks the right that this request needs.
    Forbidden = 6,
    /// This node does not lead.
    NotLeader = 16,
    /// No leader is elected yet.
    NoLeader = 17,
    /// Too much work is in flight; for PUSH also: the server has reached its memory limit, and the message says so.
    Busy = 18,
    /// The disk is nearly full: pushes are refused.
    DiskFull = 19,
    /// The server is stopping.
    Stopping = 20,
    /// The server's disk cannot read the requested data.
    Unreadable = 21,
    /// Every requested topic is paused.
    Paused = 32,
    /// Too many topics, sessions or subscriptions; in PUSHED, the topic's policy allows no more jobs or bytes.
    Quota = 33,
    /// The lease has ended.
    StaleLease = 34,
    /// The topic has a job with this key, alive or remembered.
    KeyExists = 35,
    /// There is no such job, topic or subscription.
    NotFound = 36,
    /// The job is reserved, and the request needs a job that is not.
    Reserved = 37,
    /// The job is not in the required state.
    WrongState = 38,
    /// The session is no longer known.
    SessionUnknown = 39,
    /// The queue has forgotten the outcome of this push.
    OutcomeUnknown = 40,
    /// The job would expire before it is due.
    ExpiresBeforeDue = 41,
    /// The sequence number, or the idempotency key, of the job was used for another job.
    SequenceReused = 42,
    /// The job is no longer of the version that the request names.
    Changed = 43,
    /// A code that this version does not know; a newer server sent it. Never sent itself.
    Unknown = u16::MAX,
}

impl ErrorCode {
    /// Every code that is sent, for tables and tests.
    pub const ALL: [Self; 24] = [
        Self::Malformed,
        Self::Unsupported,
        Self::TooLarge,
        Self::Unauthenticated,
        Self::Invalid,
        Self::Forbidden,
        Self::NotLeader,
        Self::NoLeader,
        Self::Busy,
        Self::DiskFull,
        Self::Stopping,
        Self::Unreadable,
        Self::Paused,
        Self::Quota,
        Self::StaleLease,
        Self::KeyExists,
        Self::NotFound,
        Self::Reserved,
        Self::WrongState,
        Self::SessionUnknown,
        Self::OutcomeUnknown,
        Self::ExpiresBeforeDue,
        Self::SequenceReused,
        Self::Changed,
    ];

    /// What every request may be told.
    pub(crate) const ANY: &[Self] = &[
        Self::Malformed,
        Self::Unsupported,
        Self::TooLarge,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotLeader,
        Self::NoLeader,
        Self::Stopping,
        Self::SessionUnknown,
    ];

    /// True if the same request may succeed later without a change.
    pub fn retryable(self) -> bool {
        matches!(self, Self::NotLeader | Self::NoLeader | Self::Busy | Self::DiskFull | Self::Stopping | Self::Paused)
    }

    /// The name that `protocol.md` gives it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "MALFORMED",
            Self::Unsupported => "UNSUPPORTED",
            Self::TooLarge => "TOO_LARGE",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Invalid => "INVALID",
            Self::Forbidden => "FORBIDDEN",
            Self::NotLeader => "NOT_LEADER",
            Self::NoLeader => "NO_LEADER",
            Self::Busy => "BUSY",
            Self::DiskFull => "DISK_FULL",
            Self::Stopping => "STOPPING",
            Self::Unreadable => "UNREADABLE",
            Self::Paused => "PAUSED",
            Self::Quota => "QUOTA",
            Self::StaleLease => "STALE_LEASE",
            Self::KeyExists => "KEY_EXISTS",
            Self::NotFound => "NOT_FOUND",
            Self::Reserved => "RESERVED",
            Self::WrongState => "WRONG_STATE",
            Self::SessionUnknown => "SESSION_UNKNOWN",
            Self::OutcomeUnknown => "OUTCOME_UNKNOWN",
            Self::ExpiresBeforeDue => "EXPIRES_BEFORE_DUE",
            Self::SequenceReused => "SEQUENCE_REUSED",
            Self::Changed => "CHANGED",
            Self::Unknown => "UNKNOWN",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Numbers that stand for one of some choices.
pub(crate) mod choices {
    /// How a due time counts.
    pub(crate) mod due_kind {
        /// Milliseconds after the queue accepts the request.
        pub(crate) const AFTER: u8 = 0;
        /// On the wall clock.
        pub(crate) const AT: u8 = 1;
    }
    /// How far the clock of a server for tests moves.
    pub(crate) mod step {
        /// By a duration.
        pub(crate) const BY: u8 = 0;
        /// To the time at which the next delayed job is due, of all topics.
        pub(crate) const TO_NEXT: u8 = 1;
    }
    /// How a job reference names a job.
    pub(crate) mod job_kind {
        /// By its id.
        pub(crate) const ID: u8 = 0;
        /// By its topic and key.
        pub(crate) const KEY: u8 = 1;
    }
    /// What a bulk change does to each job.
    pub(crate) mod change {
        /// Removes it.
        pub(crate) const DELETE: u8 = 0;
        /// Makes it ready if it is buried.
        pub(crate) const KICK: u8 = 1;
        /// Makes it ready if it is delayed.
        pub(crate) const RUN_NOW: u8 = 2;
        /// Gives it a new due time.
        pub(crate) const RESCHEDULE: u8 = 3;
        /// Moves it to another topic.
        pub(crate) const MOVE: u8 = 4;
    }
    /// What became of a pushed job.
    pub(crate) mod outcome {
        /// It is in the queue, and durable; `job` is its id.
        pub(crate) const PUSHED: u8 = 0;
        /// A job with this key exists; `job` is the id of that one.
        pub(crate) const KEPT: u8 = 1;
        /// It took the place of the job with its key; `job` is its own, new id.
        pub(crate) const REPLACED: u8 = 2;
        /// `code` is an error code; `job` is the existing job for `KEY_EXISTS` and `RESERVED`, else 0.
        pub(crate) const REFUSED: u8 = 3;
        /// The job with its key waits for the new due time; `job` is the id of that one.
        pub(crate) const POSTPONED: u8 = 4;
    }
    /// Why a schedule does not fire at present.
    pub(crate) mod paused {
        /// It fires.
        pub(crate) const NOT_PAUSED: u8 = 0;
        /// A user paused it.
        pub(crate) const USER: u8 = 1;
        /// Too many of its jobs failed one after another.
        pub(crate) const FAILURES: u8 = 2;
    }
    /// Which schedules, by whether they are paused.
    pub(crate) mod which_paused {
        /// All.
        pub(crate) const ANY: u8 = 0;
        /// Those that are paused.
        pub(crate) const PAUSED: u8 = 1;
        /// Those that are not.
        pub(crate) const ACTIVE: u8 = 2;
    }
    /// Whether something is paused or resumed.
    pub(crate) mod pause {
        /// It stays as it is.
        pub(crate) const KEEP: u8 = 0;
        /// It is paused.
        pub(crate) const PAUSE: u8 = 1;
        /// It is resumed.
        pub(crate) const RESUME: u8 = 2;
    }
    /// What became of an instant of a schedule.
    pub(crate) mod fired {
        /// It pushed the job, which has not ended.
        pub(crate) const PUSHED: u8 = 0;
        /// It pushed the job, and a consumer finished that.
        pub(crate) const FINISHED: u8 = 1;
        /// It pushed the job, and that was buried, or moved to the dead letters.
        pub(crate) const FAILED: u8 = 2;
        /// It pushed the job, and that was deleted or replaced.
        pub(crate) const DELETED: u8 = 3;
        /// It pushed the job, and that expired, or was dropped because it was late.
        pub(crate) const EXPIRED: u8 = 4;
        /// It was skipped: it had passed when the schedule was looked at.
        pub(crate) const MISSED: u8 = 5;
        /// It was skipped: an earlier job had not ended.
        pub(crate) const OVERLAP: u8 = 6;
        /// It was skipped: the topic's policy, or a limit of the queue, did not allow the job.
        pub(crate) const REFUSED: u8 = 7;
        /// It was skipped: the topic has a job with the key, which may be buried or remembered.
        pub(crate) const KEY_TAKEN: u8 = 8;
    }
}

/// Sets of bits.
pub(crate) mod bits {
    /// What a client wants of its connection.
    pub(crate) mod hello_options {
        /// Leases run to their deadline whatever happens to the session, see sessions. It takes effect only when a session is opened; a resumed session keeps what it was opened with.
        pub(crate) const LEASES_OUTLIVE: u32 = 1 << 0;
        /// None is opened if `session` is 0, see connections without a session.
        pub(crate) const NO_SESSION: u32 = 1 << 1;
    }
    /// What became of the session.
    pub(crate) mod welcome_marks {
        /// The session was resumed.
        pub(crate) const RESUMED: u8 = 1 << 0;
        /// Its leases were kept.
        pub(crate) const LEASES_KEPT: u8 = 1 << 1;
    }
    /// What is so of a member.
    pub(crate) mod member_marks {
        /// It leads.
        pub(crate) const LEADS: u8 = 1 << 0;
    }
    /// What is so of a page.
    pub(crate) mod page_marks {
        /// There are more.
        pub(crate) const MORE: u8 = 1 << 0;
    }
    /// What a list shows.
    pub(crate) mod list_marks {
        /// Show bodies.
        pub(crate) const BODIES: u8 = 1 << 0;
    }
    /// The parts of a job that an EDIT changes.
    pub(crate) mod edited {
        /// When it is due.
        pub(crate) const DUE: u16 = 1 << 0;
        /// Its priority.
        pub(crate) const PRIORITY: u16 = 1 << 1;
        /// How long a lease lasts.
        pub(crate) const TTR: u16 = 1 << 2;
        /// Its body, and with it the header `content-type`.
        pub(crate) const BODY: u16 = 1 << 3;
        /// Its other headers, and `content-type` if it is given.
        pub(crate) const HEADERS: u16 = 1 << 4;
        /// When it expires.
        pub(crate) const EXPIRES: u16 = 1 << 5;
        /// How many attempts it has.
        pub(crate) const ATTEMPTS_MAX: u16 = 1 << 6;
        /// The wait between attempts.
        pub(crate) const BACKOFF: u16 = 1 << 7;
        /// How long it is remembered.
        pub(crate) const DEDUPE_RETENTION: u16 = 1 << 8;
        /// The group that it belongs to.
        pub(crate) const GROUP: u16 = 1 << 9;
    }
    /// What is so of a schedule.
    pub(crate) mod schedule_marks {
        /// Its next instant has come, and is about to be fired.
        pub(crate) const COME: u8 = 1 << 0;
        /// Its next instant has come, and waits until an earlier job has ended.
        pub(crate) const HELD: u8 = 1 << 1;
    }
    /// What is so of a topic.
    pub(crate) mod topic_marks {
        /// Reserving is stopped.
        pub(crate) const PAUSED: u8 = 1 << 0;
    }
    /// What is so of a topic, and where its settings come from.
    pub(crate) mod settings_marks {
        /// Reserving is stopped.
        pub(crate) const PAUSED: u8 = 1 << 0;
        /// *attempts* is the server's default, and not set here.
        pub(crate) const ATTEMPTS_OF_SERVER: u8 = 1 << 1;
        /// The same of *backoff*.
        pub(crate) const BACKOFF_OF_SERVER: u8 = 1 << 2;
    }
    /// What is so of a connection.
    pub(crate) mod connection_marks {
        /// It waits for more topics than are listed.
        pub(crate) const MORE_TOPICS: u8 = 1 << 0;
    }
    /// What else a DISCONNECT does.
    pub(crate) mod disconnect_options {
        /// Also end its session.
        pub(crate) const ENDS_SESSION: u8 = 1 << 0;
    }
    /// What is so of a member, and what is known of it.
    pub(crate) mod node_marks {
        /// The reporting node is connected to it, or is it.
        pub(crate) const CONNECTED: u8 = 1 << 0;
        /// *matched* is known.
        pub(crate) const MATCHED: u8 = 1 << 1;
        /// *applied* is known.
        pub(crate) const APPLIED: u8 = 1 << 2;
        /// *ahead_ms* is known.
        pub(crate) const AHEAD: u8 = 1 << 3;
        /// The comparison of states is known.
        pub(crate) const COMPARED: u8 = 1 << 4;
        /// The states are the same.
        pub(crate) const SAME_STATE: u8 = 1 << 5;
    }
    /// What is so of an error.
    pub(crate) mod error_marks {
        /// The same request may succeed later, as it is.
        pub(crate) const RETRYABLE: u8 = 1 << 0;
    }
}

/// `delay_ms` of a RELEASE: the attempt failed, and the job waits for its backoff.
pub(crate) const RELEASE_BY_BACKOFF: u64 = 0xffff_ffff_ffff_ffff;

/// `delay_ms` of a RELEASE: the work was not begun; no attempt is counted, and the job is ready at once.
pub(crate) const RELEASE_NOT_STARTED: u64 = 0xffff_ffff_ffff_fffe;

/// Added to `delay_ms` of a RELEASE: the work was not begun and is not to begin before this delay; no attempt is counted.
pub(crate) const RELEASE_PARKED: u64 = 0x8000_0000_0000_0000;
