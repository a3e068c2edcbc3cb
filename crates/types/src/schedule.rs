//! Schedules: what they do at an instant, and what became of it.

use super::{JobId, Millis};

/// Most entries in the history of a schedule.
pub const SCHEDULE_HISTORY_MAX: usize = 20;

/// What a schedule does at an instant while an earlier job of it has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum Overlap {
    /// It pushes another job.
    Allow = 0,
    /// It pushes no job.
    #[default]
    Skip = 1,
    /// It pushes the job as soon as the earlier one has ended. Further instants until then are skipped.
    QueueOne = 2,
    /// It deletes the earlier job, also a reserved one, and pushes another.
    Replace = 3,
}

/// Which of the instants that passed unnoticed are fired late: all members were down, the schedule was paused, or the clock
/// was set forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum Missed {
    /// None of them.
    None = 0,
    /// The last one.
    #[default]
    Last = 1,
    /// All of them, up to a number.
    All = 2,
}

/// How a job of a schedule ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum JobEnd {
    /// A consumer finished it.
    Finished = 0,
    /// It was buried, or moved to the dead letters.
    Failed = 1,
    /// It was deleted or replaced.
    Deleted = 2,
    /// It expired, or was dropped because it was late.
    Expired = 3,
}

/// Why a schedule pushed no job at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum SkipReason {
    /// The instant had passed when the schedule was looked at, and it does not fire it late.
    Missed = 0,
    /// An earlier job of it had not ended.
    Overlap = 1,
    /// The topic's policy, or a limit of the queue, did not allow the job.
    Refused = 2,
    /// The topic has a job with the key, which may be buried or remembered.
    KeyTaken = 3,
}

/// What a schedule did at one instant, or at several ones after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Firing {
    /// The instant, by the wall clock; the first of several.
    pub instant: Millis,
    /// When it was fired or skipped, by the wall clock.
    pub at: Millis,
    /// What it did.
    pub what: Fired,
}

/// What a schedule did at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Fired {
    /// It pushed a job.
    Pushed {
        /// The job.
        job: JobId,
        /// How the job ended; `None` if it has not ended.
        end: Option<JobEnd>,
    },
    /// It pushed none.
    Skipped {
        /// The last of the instants that were skipped together.
        last: Millis,
        /// How many they are.
        instants: u64,
        /// Why.
        reason: SkipReason,
    },
}

impl Fired {
    /// The job that it pushed, if that has not ended.
    pub fn running_job(self) -> Option<JobId> {
        match self {
            Self::Pushed { job, end: None } => Some(job),
            _ => None,
        }
    }
}

/// Why a schedule does not fire at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum PausedBy {
    /// A user paused it.
    User = 0,
    /// Too many of its jobs failed one after another.
    Failures = 1,
}
