//! The answer to a refused request: codes, and whether a repeat is safe.

use std::fmt;

/// Why a request, or one item of a batch, was refused. The numbers are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum ErrorCode {
    /// The frame or a field in it cannot be understood.
    Malformed = 1,
    /// The opcode, the version or a critical attribute is not supported here.
    Unsupported = 2,
    /// A frame, a body, a batch or another field is over its limit.
    TooLarge = 3,
    /// HELLO is missing, or its token is wrong.
    Unauthorised = 4,
    /// A value is understood, but out of its range.
    Invalid = 5,
    /// This node does not lead; the leader hint says who does.
    NotLeader = 16,
    /// No leader is elected yet.
    NoLeader = 17,
    /// Too much is under way; try again.
    Busy = 18,
    /// The disk is nearly full: pushes are refused until there is space.
    DiskFull = 19,
    /// The server is stopping.
    Stopping = 20,
    /// Something on the server's disk cannot be read: it is damaged, or the disk fails.
    Unreadable = 21,
    /// The topic is paused.
    Paused = 32,
    /// A quota is used up: too many topics or sessions.
    Quota = 33,
    /// The lease is no longer held: its time is over, or it was settled.
    StaleLease = 34,
    /// The topic has a live job with this key.
    KeyExists = 35,
    /// There is no such job, topic or subscription.
    NotFound = 36,
    /// The job is reserved; the request needs a job that is not.
    Reserved = 37,
    /// The job is not in the state that the request needs.
    WrongState = 38,
    /// The session is not known (any more), or its secret is wrong.
    SessionUnknown = 39,
    /// The queue has forgotten the outcome of this push: it may or may not have been applied.
    OutcomeUnknown = 40,
    /// The job would expire before it is due.
    ExpiresBeforeDue = 41,
    /// The sequence number of the job was used for another one.
    SequenceReused = 42,
    /// The job is not of the version that the request names: it has changed since.
    Changed = 43,
    /// A code that this version does not know; a newer server sent it. Never sent itself.
    Unknown = u16::MAX,
}

impl ErrorCode {
    /// Every code that is sent, for tables and tests.
    pub const ALL: [Self; 23] = [
        Self::Malformed,
        Self::Unsupported,
        Self::TooLarge,
        Self::Unauthorised,
        Self::Invalid,
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

    /// The code with this number, if it is one of this version's.
    pub fn from_u16(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|code| *code as u16 == number)
    }

    /// True if the same request may succeed later without a change.
    pub fn retryable(self) -> bool {
        matches!(
            self,
            Self::NotLeader | Self::NoLeader | Self::Busy | Self::DiskFull | Self::Stopping | Self::Paused
        )
    }

    /// The name that `protocol.md` gives it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "MALFORMED",
            Self::Unsupported => "UNSUPPORTED",
            Self::TooLarge => "TOO_LARGE",
            Self::Unauthorised => "UNAUTHORISED",
            Self::Invalid => "INVALID",
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

/// The known effect of a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Applied {
    /// Nothing was changed.
    No = 0,
    /// It may have been applied, now or later.
    Unknown = 1,
}

/// The answer to a request that failed as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ErrorReply {
    /// The reason.
    pub code: ErrorCode,
    /// Its known effect.
    pub applied: Applied,
    /// The mark *retryable*. For an unknown code there is no other sign.
    pub is_retryable: bool,
    /// Try again after this many milliseconds; 0 means unknown.
    pub retry_after_ms: u32,
    /// The leader's client address, when the code is `NotLeader` and it is known.
    pub leader: Option<String>,
    /// One sentence for a person: the error and its remedy.
    pub message: String,
}

impl ErrorReply {
    /// An error without effect.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let (applied, is_retryable) = (Applied::No, code.retryable());
        Self { code, applied, is_retryable, retry_after_ms: 0, leader: None, message: message.into() }
    }

    /// True if the same request may succeed later without a change: by its mark, or because it states when.
    pub fn retryable(&self) -> bool {
        self.is_retryable || self.retry_after_ms > 0
    }
}
