//! Schedules: what they do at an instant, and what became of it.

use std::num::{NonZeroU32, NonZeroU64};

use super::limits::KEY_BYTES_MAX;
use super::{JobId, Key, Millis};

/// Most entries in the history of a schedule.
pub const SCHEDULE_HISTORY_MAX: usize = 20;

/// What a schedule does at an instant while an earlier job of it has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum Overlap {
    /// It pushes no job.
    #[default]
    Skip = 0,
    /// It pushes another job.
    Allow = 1,
    /// It pushes the job as soon as the earlier one has ended. Further instants until then are skipped.
    QueueOne = 2,
    /// It deletes the earlier job, also a reserved one, and pushes another.
    Replace = 3,
}

impl Overlap {
    /// What has this number on the wire and on disk.
    pub fn from_u8(number: u8) -> Option<Self> {
        [Self::Skip, Self::Allow, Self::QueueOne, Self::Replace].into_iter().find(|one| *one as u8 == number)
    }
}

/// How a cron expression follows the changes of the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Dst {
    /// As cron(8): a fixed time that is skipped fires at once after the gap, a repeated one fires once. If the hour or the minute is a
    /// wildcard, the expression follows real time, as with [`Self::Literal`].
    #[default]
    Vixie = 0,
    /// A skipped time does not fire, a repeated one fires twice.
    Literal = 1,
}

impl Dst {
    /// What has this number on the wire and on disk.
    pub fn from_u8(number: u8) -> Option<Self> {
        [Self::Vixie, Self::Literal].into_iter().find(|one| *one as u8 == number)
    }
}

/// Which of the instants that passed unnoticed are fired late: all members were down, the schedule was paused, or the clock
/// was set forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum Missed {
    /// The last one.
    #[default]
    Last = 0,
    /// None of them.
    None = 1,
    /// All of them, up to a number.
    All = 2,
}

impl Missed {
    /// What has this number on the wire and on disk.
    pub fn from_u8(number: u8) -> Option<Self> {
        [Self::Last, Self::None, Self::All].into_iter().find(|one| *one as u8 == number)
    }
}

/// When a schedule fires, and what it does then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleRules {
    /// A cron expression, `@daily` and the like, `@every` with a duration, or `@at` with times.
    pub when: String,
    /// The IANA name of the time zone of a cron expression; empty means UTC.
    pub zone: String,
    /// What happens when the clocks of the zone are changed.
    pub dst: Dst,
    /// From when `@every` counts; `None`: from when the schedule is set first.
    pub origin: Option<Millis>,
    /// It does not fire before this time.
    pub start: Option<Millis>,
    /// It does not fire after this time.
    pub end: Option<Millis>,
    /// It ends when it has pushed a job at so many instants.
    pub count: Option<NonZeroU64>,
    /// A job is due up to this long after its instant, in milliseconds.
    pub jitter_ms: u32,
    /// Which of the instants that passed unnoticed are fired late.
    pub missed: Missed,
    /// Only those that are no longer ago than this, in milliseconds.
    pub window_ms: Option<NonZeroU64>,
    /// With [`Missed::All`]: at most so many, the last ones; `None` for [`SCHEDULE_MISSED_DEFAULT`].
    pub missed_max: Option<NonZeroU32>,
    /// What it does while an earlier job has not ended.
    pub overlap: Overlap,
    /// It is paused after this many failures in a row; 0 for never.
    pub failures_max: u32,
    /// The key of its jobs; `None`: its name, `@`, and the instant in milliseconds.
    pub key: Option<Key>,
    /// For people.
    pub note: String,
}

impl ScheduleRules {
    /// The key of the job of an instant: that of the rules, or the name with the instant.
    pub fn key_of(&self, name: &str, instant: Millis) -> Option<Key> {
        self.key.clone().or_else(|| Key::new(format!("{name}@{}", instant.0).into()).ok())
    }

    /// True if a schedule of this name has room for its instants in the keys of its jobs.
    pub fn has_room_for_keys(&self, name: &str) -> bool {
        self.key.is_some() || name.len() <= SCHEDULE_NAME_IN_KEY_BYTES_MAX
    }
}

/// The longest name, in bytes, that fits into a key with `@` and any instant in milliseconds.
pub const SCHEDULE_NAME_IN_KEY_BYTES_MAX: usize = KEY_BYTES_MAX - 21;

/// How many missed instants are fired late with [`Missed::All`], unless the rules say it.
pub const SCHEDULE_MISSED_DEFAULT: u32 = 100;

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

/// What a new content of a schedule was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ScheduleBefore {
    /// Its id.
    pub schedule: JobId,
    /// How often it was set.
    pub version: u32,
    /// Its next instant. A firing changes it: so no instant is lost or fired twice around a set.
    pub next: Option<Millis>,
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
