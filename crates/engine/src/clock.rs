//! The two timelines of the state: the stamp, and the wall clock beside it.
//!
//! The stamp is elapsed time and never goes back. The wall clock is the stamp plus an offset, which changes when the
//! machine's clock is set. [`When`] selects the timeline.
//!
//! A clock that was set forward may be wrong and be set back later. It makes jobs due, but for a day no job is ended
//! (dropped or buried as late) by it alone: that needs the clock from before the step as well.

use serde::{Deserialize, Serialize};

use adjourn_types::{Millis, When};

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

    /// The other timeline.
    pub(super) fn other(self) -> Self {
        match self {
            Self::Stamp => Self::Wall,
            Self::Wall => Self::Stamp,
        }
    }

    /// Its number on disk and in the state hash.
    pub fn number(self) -> u8 {
        match self {
            Self::Stamp => 1,
            Self::Wall => 2,
        }
    }
}

/// A step forward of the wall clock may be wrong for this long, in milliseconds of the stamp.
const DOUBT_MS: u64 = 24 * 3_600_000;

/// A step forward of at most this size is trusted, in milliseconds: clocks always differ by that much.
const SMALL_STEP_MS: i64 = 1_000;

/// A step forward of the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StepForward {
    /// The stamp at which it was set.
    pub(super) at: Millis,
    /// The offset before the step.
    pub(super) before_ms: i64,
}

/// The current time on both timelines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    pub(super) stamp: Millis,
    pub(super) offset_ms: i64,
    /// The last step forward, unless it was undone.
    pub(super) forward: Option<StepForward>,
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

    /// The current time on a timeline.
    pub(super) fn now(self, timeline: Timeline) -> u64 {
        match timeline {
            Timeline::Stamp => self.stamp.0,
            Timeline::Wall => self.wall().0,
        }
    }

    /// Follows a change of the wall clock.
    pub(super) fn set_offset(&mut self, offset_ms: i64) {
        if offset_ms.saturating_sub(self.offset_ms) > SMALL_STEP_MS {
            // While a step is doubted, a further step does not make it trusted.
            let before_ms = self.slower_offset_ms();
            self.forward = Some(StepForward { at: self.stamp, before_ms });
        }
        self.offset_ms = offset_ms;
        self.forward = self.forward.filter(|forward| forward.before_ms < offset_ms);
    }

    /// The stamp by which a moment has surely come: by the wall clock now, and by the one before a step forward less than a
    /// day ago.
    pub(super) fn surely(self, moment: Moment) -> i128 {
        let offset_ms = self.slower_offset_ms();
        Self { offset_ms, ..self }.as_stamp(moment)
    }

    /// The stamp at which a moment will surely have come, if the clock is not set until then.
    pub(super) fn sure_at(self, moment: Moment) -> u64 {
        let doubted_until = self.doubted().map_or(u64::MAX, |doubted| doubted.at.after(DOUBT_MS).0);
        let believed = self.as_stamp(moment).max(i128::from(doubted_until));
        u64::try_from(self.surely(moment).min(believed).max(0)).unwrap_or(u64::MAX)
    }

    /// The offset of the slower clock: the one before a doubted step, or the current one.
    fn slower_offset_ms(self) -> i64 {
        self.doubted().map_or(self.offset_ms, |doubted| doubted.before_ms.min(self.offset_ms))
    }

    /// The last step forward, while it is doubted.
    fn doubted(self) -> Option<StepForward> {
        self.forward.filter(|forward| forward.at.after(DOUBT_MS) > self.stamp)
    }

    /// True if a moment has come for sure: see [`Self::surely`].
    pub(super) fn surely_reached(self, moment: Moment) -> bool {
        self.surely(moment) <= i128::from(self.stamp.0)
    }

    /// True if a moment has come by the current clock.
    pub(super) fn reached(self, moment: Moment) -> bool {
        moment.at <= self.now(moment.timeline)
    }

    /// Resolves a due time from a client.
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

    /// True if a job with this due time would expire before it could become ready.
    pub(super) fn expires_before(self, expires: Moment, due: Moment) -> bool {
        self.as_stamp(expires) <= self.as_stamp(due).max(i128::from(self.stamp.0))
    }

    /// A moment as a stamp, by the current offset. It may be negative.
    pub(super) fn as_stamp(self, moment: Moment) -> i128 {
        match moment.timeline {
            Timeline::Stamp => i128::from(moment.at),
            Timeline::Wall => i128::from(moment.at) - i128::from(self.offset_ms),
        }
    }

    /// A moment on the wall clock, by the current offset.
    pub(super) fn as_wall(self, moment: Moment) -> Millis {
        match moment.timeline {
            Timeline::Stamp => Millis(moment.at.saturating_add_signed(self.offset_ms)),
            Timeline::Wall => Millis(moment.at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(stamp: u64) -> Clock {
        Clock { stamp: Millis(stamp), ..Clock::default() }
    }

    /// The stamp by which a wall-clock time has surely come.
    fn surely(clock: Clock, wall: u64) -> i128 {
        clock.surely(Moment { timeline: Timeline::Wall, at: wall })
    }

    #[test]
    fn a_clock_that_was_set_forward_is_doubted_for_a_day() {
        let mut clock = at(1_000);
        clock.set_offset(50_000);
        assert_eq!(surely(clock, 60_000), 60_000, "by the clock before");
        assert_eq!(surely(clock.at(Millis(1_000 + DOUBT_MS - 1)), 60_000), 60_000);
        assert_eq!(surely(clock.at(Millis(1_000 + DOUBT_MS)), 60_000), 10_000, "by the clock as it is");
        assert_eq!(clock.surely(clock.later(70)), 1_070, "elapsed time is sure");
    }

    #[test]
    fn a_clock_that_was_set_back_is_taken_as_it_is() {
        let mut clock = at(1_000);
        clock.set_offset(-500);
        assert_eq!((surely(clock, 60_000), clock.forward), (60_500, None));
        clock.set_offset(50_000);
        clock.set_offset(-500);
        assert_eq!((surely(clock, 60_000), clock.forward), (60_500, None), "the step forward was undone");
        clock.set_offset(50_000);
        clock.set_offset(-900);
        assert_eq!(surely(clock, 60_000), 60_900, "the slower of the two");
    }

    #[test]
    fn a_small_step_is_not_doubted() {
        let mut clock = at(1_000);
        clock.set_offset(SMALL_STEP_MS);
        assert_eq!((surely(clock, 60_000), clock.forward), (59_000, None));
    }

    #[test]
    fn a_step_forward_does_not_end_the_doubt_about_the_one_before() {
        let mut clock = at(1_000);
        clock.set_offset(10_000);
        clock.stamp = Millis(1_000 + DOUBT_MS - 1);
        clock.set_offset(20_000);
        assert_eq!(clock.forward, Some(StepForward { at: clock.stamp, before_ms: 0 }));
        clock.stamp = clock.stamp.after(DOUBT_MS);
        clock.set_offset(30_000);
        assert_eq!(clock.forward, Some(StepForward { at: clock.stamp, before_ms: 20_000 }));
    }

    #[test]
    fn what_is_doubted_is_sure_after_a_day_at_the_latest() {
        let mut clock = at(1_000);
        clock.set_offset(9 * DOUBT_MS.cast_signed());
        let sure_at = |wall: u64| clock.sure_at(Moment { timeline: Timeline::Wall, at: wall });
        assert_eq!(sure_at(60_000), 60_000, "by the clock before");
        assert_eq!(sure_at(8 * DOUBT_MS), 1_000 + DOUBT_MS, "by the clock as it is, when it is believed");
        assert_eq!(sure_at(11 * DOUBT_MS), 2 * DOUBT_MS, "when it shows that time");
    }
}
