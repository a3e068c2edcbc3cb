//! The leader's clock: it stamps entries, and never steps.
//!
//! The stamp is the last one plus the monotonic time since then. Small differences from the wall clock are slewed, by at
//! most 500 parts per million, so that the stamp neither stops nor goes back. A larger difference means that the machine's
//! clock was set: it goes into the *offset* between stamp and wall clock. Delays and leases run on the stamp and are
//! unaffected; absolute times follow the wall clock.

use crate::io::Now;
use adjourn_types::Millis;

/// A larger difference is a step of the wall clock, in microseconds.
const STEP_US: i64 = 1_000_000;
/// Slewing makes the stamp faster or slower by one part in this number.
const SLEW_PARTS: u64 = 2000;
/// A follower's clock runs ahead of its leader's by less than one part in this number, slewing and quartz drift included.
const FOLLOW_PARTS: u64 = 1000;

/// Stamp and offset at the moment of the last [`LeaderClock::advance`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaderClock {
    stamp_us: u64,
    elapsed_us: u64,
    offset_ms: i64,
    /// Elapsed time that slewing has not used yet; less than [`SLEW_PARTS`].
    unslewed_us: u64,
    /// The term of the leader that last showed its stamp, and when it did, on the monotonic clock.
    followed: Option<(u64, u64)>,
    /// True if this node has led, or followed a leader, since its start: from then on the monotonic clock has counted.
    is_set: bool,
    /// True if another node whose clock is set has shown its stamp, so that no elapsed time is missing from it.
    was_counted: bool,
}

impl LeaderClock {
    /// Continues from the state's last stamp and offset. The time that has passed since then is not known.
    pub(crate) fn new(now: Now, stamp: Millis, offset_ms: i64) -> Self {
        Self {
            stamp_us: stamp.0.saturating_mul(1000),
            elapsed_us: now.elapsed_us,
            offset_ms,
            unslewed_us: 0,
            followed: None,
            is_set: false,
            was_counted: false,
        }
    }

    /// Advances to `now`. Returns by how many milliseconds the wall clock was set. It does so on each call until the step
    /// is [adopted](Self::adopt) or undone.
    pub(crate) fn advance(&mut self, now: Now) -> Option<i64> {
        let passed_us = now.elapsed_us.saturating_sub(self.elapsed_us);
        self.elapsed_us = self.elapsed_us.max(now.elapsed_us);
        self.stamp_us += passed_us;
        let wall_us = signed(now.wall.0.saturating_mul(1000)) - self.offset_ms * 1000;
        let drift_us = wall_us - signed(self.stamp_us);
        if drift_us.abs() > STEP_US {
            return Some(drift_us / 1000);
        }
        let slewed_for_us = self.unslewed_us.saturating_add(passed_us);
        self.unslewed_us = slewed_for_us % SLEW_PARTS;
        let slew_us = signed(slewed_for_us / SLEW_PARTS);
        self.stamp_us = self.stamp_us.saturating_add_signed(drift_us.clamp(-slew_us, slew_us));
        None
    }

    /// Adopts a step of the wall clock into the offset.
    pub(crate) fn adopt(&mut self, by_ms: i64) {
        self.offset_ms += by_ms;
    }

    /// Follows the stamp that the leader of a term shows. The bundle took a while to arrive, so the true stamp is a little
    /// later: a slow bundle sets this clock back by no more than the clock may have run ahead of the leader's. A leader
    /// that shows 0 does not know its stamp.
    pub(super) fn follow(&mut self, term: u64, stamp_us: u64) {
        if stamp_us == 0 {
            return;
        }
        let before = self.followed.replace((term, self.elapsed_us)).filter(|(before, _)| *before == term);
        let floor_us = before.map_or(0, |(_, before_us)| {
            self.stamp_us.saturating_sub((self.elapsed_us - before_us) / FOLLOW_PARTS)
        });
        self.stamp_us = stamp_us.max(floor_us);
        self.is_set = true;
    }

    /// The stamp that this node shows to others, in microseconds; 0 until the clock is set.
    pub(crate) fn shown_us(&self) -> u64 {
        if self.is_set { self.stamp_us } else { 0 }
    }

    /// Takes the stamp of a node that does not lead: it is not ahead of the last leader's; or 0.
    pub(super) fn hear(&mut self, stamp_us: u64) {
        if !self.is_set && stamp_us > 0 {
            self.stamp_us = self.stamp_us.max(stamp_us);
            self.was_counted = true;
        }
    }

    /// Sets the clock of a node that has followed no leader since its start. If no other node has counted the time since
    /// the last stamp, the clock advances up to `wall`; else it does not, because wall clocks differ and a delay is elapsed
    /// time.
    pub(crate) fn catch_up(&mut self, wall: Millis) {
        if !std::mem::replace(&mut self.is_set, true) && !self.was_counted {
            let passed = wall.0.saturating_add_signed(self.offset_ms.saturating_neg());
            self.stamp_us = self.stamp_us.max(passed.saturating_mul(1000));
        }
    }

    /// Begins to lead, with the stamp and offset of the state. The stamp continues from the last leader's.
    pub(crate) fn lead(&mut self, stamp: Millis, offset_ms: i64) {
        self.stamp_us = self.stamp_us.max(stamp.0.saturating_mul(1000));
        self.offset_ms = offset_ms;
    }

    /// The stamp of an entry proposed now.
    pub(crate) fn stamp(&self) -> Millis {
        Millis(self.stamp_us / 1000)
    }

    /// The wall clock as the state sees it, in microseconds.
    pub(crate) fn wall_us(&self) -> u64 {
        self.stamp_us.saturating_add_signed(self.offset_ms.saturating_mul(1000))
    }

    /// The same in milliseconds.
    pub(crate) fn wall(&self) -> Millis {
        Millis(self.wall_us() / 1000)
    }

    /// True if this node has led, or followed a leader, since its start.
    pub(super) fn is_set(&self) -> bool {
        self.is_set
    }

    /// Wall clock minus stamp, in milliseconds.
    pub(crate) fn offset_ms(&self) -> i64 {
        self.offset_ms
    }

    /// The monotonic time at which the stamp reaches `stamp`; slewing may make it slightly early.
    pub(crate) fn elapsed_at(&self, stamp: Millis) -> u64 {
        let left_us = stamp.0.saturating_mul(1000).saturating_sub(self.stamp_us);
        self.elapsed_us.saturating_add(left_us)
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_US: u64 = 1_000_000;

    fn at(elapsed_us: u64, wall_ms: u64) -> Now {
        Now { elapsed_us, wall: Millis(wall_ms) }
    }

    #[test]
    fn a_step_forward_goes_into_the_offset() {
        let mut clock = LeaderClock::new(at(0, 100_000), Millis(100_000), 0);
        let stepped = at(SECOND_US, 101_000 + 3_600_000);
        assert_eq!(clock.advance(stepped), Some(3_600_000));
        assert_eq!(clock.advance(stepped), Some(3_600_000), "until it is taken over");
        clock.adopt(3_600_000);
        assert_eq!((clock.stamp(), clock.offset_ms()), (Millis(101_000), 3_600_000));
        assert_eq!(clock.advance(at(2 * SECOND_US, 102_000 + 3_600_000)), None);
        assert_eq!(clock.stamp(), Millis(102_000));
    }

    #[test]
    fn a_step_back_neither_stops_nor_rewinds_the_stamp() {
        let mut clock = LeaderClock::new(at(0, 5_000_000), Millis(5_000_000), 0);
        assert_eq!(clock.advance(at(SECOND_US, 1_001_000)), Some(-4_000_000));
        clock.adopt(-4_000_000);
        assert_eq!((clock.stamp(), clock.offset_ms()), (Millis(5_001_000), -4_000_000));
    }

    #[test]
    fn a_small_difference_is_slewed() {
        let mut clock = LeaderClock::new(at(0, 10_000), Millis(10_000), 0);
        let mut last = clock.stamp();
        for second in 1..=2000 {
            assert_eq!(clock.advance(at(second * SECOND_US, 9_500 + second * 1000)), None);
            assert!(clock.stamp() > last, "it never stops");
            last = clock.stamp();
        }
        assert_eq!(last, Millis(9_500 + 2_000_000), "after 1000 s half a second is made good");
    }

    #[test]
    fn it_is_slewed_however_often_it_is_asked() {
        let mut clock = LeaderClock::new(at(0, 10_000), Millis(10_000), 0);
        for step in 1..=200_000 {
            assert_eq!(clock.advance(at(step * 50, 10_005 + step / 20)), None);
        }
        assert_eq!(clock.stamp(), Millis(20_005), "10 s make good 5 ms");
    }

    #[test]
    fn a_restart_counts_the_time_that_has_passed_but_never_goes_back() {
        let started = |stamp, offset_ms, wall| {
            let mut clock = LeaderClock::new(at(0, wall), Millis(stamp), offset_ms);
            clock.catch_up(Millis(wall));
            clock
        };
        assert_eq!(started(50_000, 0, 90_000).stamp(), Millis(90_000));
        assert_eq!(started(50_000, 30_000, 90_000).stamp(), Millis(60_000));
        let mut back = started(50_000, 0, 20_000);
        assert_eq!(back.stamp(), Millis(50_000));
        assert_eq!(back.advance(at(1, 20_000)), Some(-30_000));
    }

    #[test]
    fn a_node_that_has_seen_no_leader_yet_believes_the_others_first() {
        let mut clock = LeaderClock::new(at(0, 3_690_000), Millis(50_000), 0);
        assert_eq!(clock.stamp(), Millis(50_000), "its own clock may have been set");
        clock.hear(0);
        let mut among_restarted = clock;
        clock.hear(89_000_000);
        clock.hear(70_000_000);
        assert_eq!((clock.stamp(), clock.shown_us()), (Millis(89_000), 0));
        clock.catch_up(Millis(89_300));
        assert_eq!(clock.stamp(), Millis(89_000), "somebody has counted, and not by a wall clock");
        clock.hear(99_000_000);
        clock.catch_up(Millis(3_690_000));
        assert_eq!((clock.stamp(), clock.shown_us()), (Millis(89_000), 89_000_000), "now it counts itself");
        among_restarted.catch_up(Millis(90_000));
        assert_eq!(among_restarted.stamp(), Millis(90_000), "so much have most clocks reached");
    }

    #[test]
    fn a_new_leader_goes_on_where_the_last_one_was() {
        let mut clock = LeaderClock::new(at(0, 100_000), Millis(100_000), 0);
        clock.follow(3, 99_990_000);
        assert_eq!(clock.advance(at(SECOND_US, 101_000)), None);
        clock.catch_up(Millis(500_000));
        clock.lead(Millis(99_000), 250);
        assert_eq!((clock.stamp(), clock.offset_ms()), (Millis(100_990), 250));
        clock.lead(Millis(200_000), 0);
        assert_eq!(clock.stamp(), Millis(200_000), "never behind what is in the log");
    }

    #[test]
    fn what_took_longer_to_come_does_not_set_a_follower_back() {
        let mut clock = LeaderClock::new(at(0, 100_000), Millis(100_000), 0);
        clock.follow(3, 99_990_000);
        assert_eq!(clock.advance(at(SECOND_US, 101_000)), None);
        clock.follow(3, 100_200_000);
        assert_eq!(clock.stamp(), Millis(100_989), "it may have run ahead by a part in a thousand");
        clock.follow(4, 100_200_000);
        assert_eq!(clock.stamp(), Millis(100_200), "another leader grants by another clock");
    }

    #[test]
    fn it_says_when_a_stamp_will_be_reached() {
        let clock = LeaderClock::new(at(7, 1000), Millis(1000), 0);
        assert_eq!(clock.elapsed_at(Millis(1500)), 500_007);
        assert_eq!(clock.elapsed_at(Millis(500)), 7);
    }
}
