//! The parts of a job that clients see.

use std::fmt;

use super::Millis;

/// The state of a job.
///
/// ```text
///            push                  due                 reserve             finish
///   (none) --------> delayed ------------> ready ------------> reserved ---------> finished, or gone
///              |         ^                   ^ ^                  | | |
///              |         |   release, after a delay or a backoff  | | |
///              |         +----------------------------------------+ | |
///              |                             |  release, ttr over   | |
///              |                             +----------------------+ |
///              +--- due at once --> ready    |  kick                  | bury, attempts used up
///                                            +------- buried <--------+
/// ```
///
/// `delete` and expiry end a job in any state but the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum JobState {
    /// Its due time lies ahead.
    Delayed = 0,
    /// Due; any consumer of its topic may reserve it.
    Ready = 1,
    /// One session holds it under a lease.
    Reserved = 2,
    /// Set aside until it is kicked or deleted.
    Buried = 3,
    /// Done. The queue still remembers it, for a short time or for as long as the job asks.
    Finished = 4,
    /// Not a job but a schedule, which pushes jobs like it. It is never delivered, and no request for jobs shows it.
    Scheduled = 5,
}

impl JobState {
    /// The state of a job with this number on the wire.
    pub fn from_u8(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Delayed,
            1 => Self::Ready,
            2 => Self::Reserved,
            3 => Self::Buried,
            4 => Self::Finished,
            _ => return None,
        })
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delayed => "delayed",
            Self::Ready => "ready",
            Self::Reserved => "reserved",
            Self::Buried => "buried",
            Self::Finished => "finished",
            Self::Scheduled => "scheduled",
        })
    }
}

/// What happened to a job so far; `None` if it did not happen, or is not known. Times are wall-clock times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobHistory {
    /// When it was pushed.
    pub pushed: Option<Millis>,
    /// When a consumer was first given a lease on it.
    pub reserved_first: Option<Millis>,
    /// When a consumer was last given a lease on it.
    pub reserved_last: Option<Millis>,
    /// When it was last edited.
    pub edited: Option<Millis>,
    /// Who was given the last lease: the client's address, its token and its name, as of when its session was opened.
    pub held_by: Option<String>,
    /// The text that came with the last release or bury that had one.
    pub reason: Option<String>,
    /// When it was finished.
    pub finished: Option<Millis>,
}

/// What a push does when its topic already has a live job with the same key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum IfExists {
    /// The push is refused; the answer names the live job.
    #[default]
    Reject = 0,
    /// The push succeeds without effect; the answer is the id of the live job.
    Keep = 1,
    /// The new job replaces the live one, under a new id. If the live job is reserved, the push is refused.
    Replace = 2,
    /// As [`Self::Replace`], but a reserved job is replaced too: its lease ends.
    ReplaceReserved = 3,
    /// A delayed or ready job stays, and takes everything from the new one, also the due time, which is capped at
    /// [`POSTPONE_MAX`](super::tag::POSTPONE_MAX) after the first push. A buried job is replaced. If the job is reserved,
    /// the push is refused.
    Postpone = 4,
}

impl IfExists {
    /// The mode with this number on the wire and on disk.
    pub fn from_u8(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Reject,
            1 => Self::Keep,
            2 => Self::Replace,
            3 => Self::ReplaceReserved,
            4 => Self::Postpone,
            _ => return None,
        })
    }
}

/// Why a job is buried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum BuryReason {
    /// A consumer buried it.
    Consumer = 0,
    /// All its attempts failed.
    AttemptsUsedUp = 1,
    /// It came due, or was about to be delivered for the first time, later than its topic allows.
    TooLate = 2,
}

impl BuryReason {
    /// The reason with this number on the wire and on disk.
    pub fn from_u8(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Consumer,
            1 => Self::AttemptsUsedUp,
            2 => Self::TooLate,
            _ => return None,
        })
    }
}

impl fmt::Display for BuryReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Consumer => "buried by a consumer",
            Self::AttemptsUsedUp => "attempts used up",
            Self::TooLate => "too late",
        })
    }
}
