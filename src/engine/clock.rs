//! The two timelines of the state: the stamp, and the wall clock beside it.
//!
//! The stamp is elapsed time and never goes back. The wall clock is the stamp and an offset, which changes when
//! somebody sets the clock. [`When`] selects the timeline.

use serde::{Deserialize, Serialize};

use crate::types::{Millis, When};

/// A timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timeline {
    /// Elapsed time: it never steps.
    Stamp,
    /// The wall clock.
    Wall,
}

/// A point on one of the timelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment {
    /// Which timeline.
    pub timeline: Timeline,
    /// Milliseconds since the Unix epoch.
    pub at: u64,
}

impl Timeline {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Stamp, Self::Wall];

    /// Its number on disk and in the state hash.
    pub fn number(self) -> u8 {
        match self {
            Self::Stamp => 1,
            Self::Wall => 2,
        }
    }
}

/// Where both timelines are now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    pub(super) stamp: Millis,
    pub(super) offset_ms: i64,
}

impl Clock {
    /// The same clock at another stamp.
    pub(super) fn at(self, stamp: Millis) -> Self {
        Self { stamp, ..self }
    }

    /// The wall clock.
    pub(super) fn wall(self) -> Millis {
        Millis(self.stamp.0.saturating_add_signed(self.offset_ms))
    }

    /// What time it is on a timeline.
    pub(super) fn now(self, timeline: Timeline) -> u64 {
        match timeline {
            Timeline::Stamp => self.stamp.0,
            Timeline::Wall => self.wall().0,
        }
    }

    /// Whether a moment has come.
    pub(super) fn reached(self, moment: Moment) -> bool {
        moment.at <= self.now(moment.timeline)
    }

    /// The moment that a producer means.
    pub(super) fn resolve(self, when: When) -> Moment {
        match when {
            When::After(delay_ms) => self.later(delay_ms),
            When::At(at) => Moment { timeline: Timeline::Wall, at: at.0 },
        }
    }

    /// The moment `delay_ms` from now.
    pub(super) fn later(self, delay_ms: u64) -> Moment {
        Moment { timeline: Timeline::Stamp, at: self.stamp.after(delay_ms).0 }
    }

    /// Whether a job that expires then could not be ready first, if it were due at `due`.
    pub(super) fn expires_before(self, expires: Moment, due: Moment) -> bool {
        self.as_stamp(expires) <= self.as_stamp(due).max(i128::from(self.stamp.0))
    }

    /// A moment as a stamp, with the offset as it is now. It may lie before the first stamp there is.
    pub(super) fn as_stamp(self, moment: Moment) -> i128 {
        match moment.timeline {
            Timeline::Stamp => i128::from(moment.at),
            Timeline::Wall => i128::from(moment.at) - i128::from(self.offset_ms),
        }
    }

    /// A moment as the wall clock shows it.
    pub(super) fn as_wall(self, moment: Moment) -> Millis {
        match moment.timeline {
            Timeline::Stamp => Millis(moment.at.saturating_add_signed(self.offset_ms)),
            Timeline::Wall => Millis(moment.at),
        }
    }
}
