//! What to do about instants that have come, some of them unnoticed.
//!
//! An instant is *on time* if it is the last one that has come, and that is no longer ago than [`ON_TIME_MS`]. All earlier
//! ones were missed: nobody looked at the schedule between two instants. [`Missed`] says which of them are fired late.

use adjourn_types::limits::SCHEDULE_MISSED_MAX;
use adjourn_types::{Millis, Missed};

use crate::calendar::Calendar;

/// How late the last instant may be and still be on time, in milliseconds. A change of leaders takes less.
pub const ON_TIME_MS: u64 = 60_000;

/// Most missed instants that are fired late.
pub const CATCH_UP_MAX: usize = SCHEDULE_MISSED_MAX as usize;

/// Instants are counted up to this number; a count of it means: that many or more.
pub const COUNTED_MAX: usize = 10_000;

/// Most instants that one look back collects; more than [`CATCH_UP_MAX`].
const FOUND_MAX: usize = 4 * CATCH_UP_MAX;

/// The first look back for the last instants, in milliseconds.
const LOOK_BACK_MS: u64 = 1000;

/// Which of the missed instants are fired late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatchUp {
    /// None, the last one, or all of them.
    pub missed: Missed,
    /// Only those that are no longer ago than this, in milliseconds; `None` for any.
    pub window_ms: Option<u64>,
    /// With [`Missed::All`]: at most so many, the last ones; at most [`CATCH_UP_MAX`].
    pub instants_max: usize,
    /// At most so many are fired together; the rest with the next decision.
    pub together_max: usize,
}

/// The instants of a schedule that have come, and the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Those to fire, in order.
    pub fire: Vec<Millis>,
    /// Those that are not fired, if there are any.
    pub skipped: Option<Skipped>,
    /// The first one after all of these; `None` if there is none.
    pub next: Option<Millis>,
}

/// Instants that are not fired: some that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The first one.
    pub first: Millis,
    /// The last one.
    pub last: Millis,
    /// How many they are.
    pub instants: u64,
}

impl Calendar {
    /// Decides about the instants from `first`, which has come, up to `now`. No more than `left` are fired.
    pub fn decide(&self, first: Millis, now: Millis, catch_up: &CatchUp, left: Option<u64>) -> Decision {
        if now < first {
            return Decision { fire: Vec::new(), skipped: None, next: Some(first) };
        }
        let left = left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        let wanted = match catch_up.missed {
            Missed::None | Missed::Last => 1,
            Missed::All => catch_up.instants_max.clamp(1, CATCH_UP_MAX),
        };
        let mut fire = self.last_instants(first, now, wanted.min(left));
        let oldest = match catch_up.missed {
            Missed::None => now.0.saturating_sub(ON_TIME_MS),
            Missed::Last | Missed::All => {
                catch_up.window_ms.map_or(0, |ms| now.0.saturating_sub(ms.max(ON_TIME_MS)))
            }
        };
        fire.retain(|instant| instant.0 >= oldest);
        let end = fire.first().map_or(now, |fired| Millis(fired.0.saturating_sub(1)));
        let skipped = self.skipped(first, end);
        let rest = fire.split_off(fire.len().min(catch_up.together_max.max(1)));
        let next = rest.first().copied().or_else(|| self.next_after(now));
        Decision { fire, skipped, next }
    }

    /// Decides about an instant that had to wait until an earlier job had ended: it is fired whatever its age. Those after
    /// it up to `now` are skipped.
    pub fn decide_held(&self, held: Millis, now: Millis) -> Decision {
        let skipped = self.next_after(held).and_then(|first| self.skipped(first, now));
        Decision { fire: vec![held], skipped, next: self.next_after(now.max(held)) }
    }

    /// The instants from `first`, which is one, up to `end`.
    fn skipped(&self, first: Millis, end: Millis) -> Option<Skipped> {
        if first > end {
            return None;
        }
        let last = self.last_instants(first, end, 1).last().copied().unwrap_or(first);
        let others = self.between(first, last).take(COUNTED_MAX - 1).count() as u64;
        Some(Skipped { first, last, instants: 1 + others })
    }

    /// The last `count` instants up to `now`, none before `first`, which is an instant. `count` is at most [`CATCH_UP_MAX`].
    ///
    /// It looks back twice as far each time. If that finds too many, because they are close together, the right distance is
    /// between the last two.
    fn last_instants(&self, first: Millis, now: Millis, count: usize) -> Vec<Millis> {
        let (mut too_near_ms, mut too_far_ms) = (0, None);
        let mut back_ms = LOOK_BACK_MS;
        loop {
            let from = Millis(now.0.saturating_sub(back_ms)).max(first);
            let found = self.first_behind(from, first, now);
            if found.len() > FOUND_MAX {
                too_far_ms = Some(back_ms);
            } else if found.len() >= count || from == first {
                return found.into_iter().rev().take(count).rev().collect();
            } else {
                too_near_ms = back_ms;
            }
            back_ms = match too_far_ms {
                Some(too_far_ms) => u64::midpoint(too_near_ms, too_far_ms),
                None => back_ms.saturating_mul(2),
            };
        }
    }

    /// The first instants behind `from`, or from `first` on, up to `now`: at most one more than [`FOUND_MAX`].
    fn first_behind(&self, from: Millis, first: Millis, now: Millis) -> Vec<Millis> {
        let first = Some(first).filter(|first| *first == from && *first <= now);
        first.into_iter().chain(self.between(from, now)).take(FOUND_MAX + 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recurrence::Recurrence;

    fn calendar(text: &str) -> Calendar {
        Calendar::new(Recurrence::parse(text, Millis(0)).expect("valid"))
    }

    fn catch_up(missed: Missed) -> CatchUp {
        CatchUp { missed, window_ms: None, instants_max: 3, together_max: 100 }
    }

    fn seconds(decision: &Decision) -> (Vec<u64>, Option<(u64, u64)>, Option<u64>) {
        let fire = decision.fire.iter().map(|at| at.0 / 1000).collect();
        (
            fire,
            decision.skipped.map(|skipped| (skipped.last.0 / 1000, skipped.instants)),
            decision.next.map(|at| at.0 / 1000),
        )
    }

    #[test]
    fn an_instant_on_time_is_fired_whatever_is_done_about_missed_ones() {
        let minutes = calendar("* * * * *");
        for missed in [Missed::None, Missed::Last, Missed::All] {
            for late_ms in [0, 30_000, 59_999] {
                let decision =
                    minutes.decide(Millis(600_000), Millis(600_000 + late_ms), &catch_up(missed), None);
                assert_eq!(seconds(&decision), (vec![600], None, Some(660)), "{missed:?} {late_ms}");
            }
        }
    }

    #[test]
    fn missed_instants_are_fired_as_asked() {
        let hours = calendar("0 * * * *");
        let (first, now) = (Millis(3_600_000), Millis(5 * 3_600_000 + 120_000));
        for (missed, window_ms, expected) in [
            (Missed::None, None, (vec![], Some((18_000, 5)), Some(21_600))),
            (Missed::Last, None, (vec![18_000], Some((14_400, 4)), Some(21_600))),
            (Missed::Last, Some(100_000), (vec![], Some((18_000, 5)), Some(21_600))),
            (Missed::All, None, (vec![10_800, 14_400, 18_000], Some((7200, 2)), Some(21_600))),
            (Missed::All, Some(4_000_000), (vec![14_400, 18_000], Some((10_800, 3)), Some(21_600))),
        ] {
            let catch_up = CatchUp { window_ms, ..catch_up(missed) };
            let decision = hours.decide(first, now, &catch_up, None);
            assert_eq!(seconds(&decision), expected, "{missed:?} {window_ms:?}");
        }
        let on_time = hours.decide(first, Millis(5 * 3_600_000 + 1), &catch_up(Missed::None), None);
        assert_eq!(seconds(&on_time), (vec![18_000], Some((14_400, 4)), Some(21_600)));
    }

    #[test]
    fn no_more_are_fired_than_are_left() {
        let minutes = calendar("* * * * *");
        let (first, now) = (Millis(60_000), Millis(300_000));
        let decision = |left| seconds(&minutes.decide(first, now, &catch_up(Missed::All), Some(left)));
        assert_eq!(decision(2), (vec![240, 300], Some((180, 3)), Some(360)));
        assert_eq!(decision(4), (vec![180, 240, 300], Some((120, 2)), Some(360)));
        let over = Calendar { end: Some(Millis(300_000)), ..minutes.clone() };
        assert_eq!(over.decide(first, now, &catch_up(Missed::Last), None).next, None);
    }

    #[test]
    fn a_year_of_seconds_takes_no_time() {
        let seconds_of = calendar("* * * * * *");
        let (first, now) = (Millis(1000), Millis(365 * 86_400_000));
        let decision = seconds_of.decide(first, now, &catch_up(Missed::All), None);
        let end = now.0 / 1000;
        assert_eq!(
            seconds(&decision),
            (vec![end - 2, end - 1, end], Some((end - 3, COUNTED_MAX as u64)), Some(end + 1))
        );
    }

    #[test]
    fn a_burst_long_ago_takes_no_time() {
        let seconds_of_january = calendar("* * * * 1 *");
        let year_ms = 365 * 86_400_000;
        let (first, now) = (Millis(0), Millis(10 * year_ms));
        let decision = seconds_of_january.decide(first, now, &catch_up(Missed::All), None);
        let all = seconds_of_january.between(Millis(now.0 - year_ms), now);
        let last: Vec<_> = all.collect::<Vec<_>>().into_iter().rev().take(3).rev().collect();
        assert_eq!(decision.fire, last);
    }

    #[test]
    fn many_instants_are_fired_in_several_steps() {
        let minutes = calendar("* * * * *");
        let catch_up = CatchUp { instants_max: 5, together_max: 2, ..catch_up(Missed::All) };
        let now = Millis(600_000);
        let decide = |first: u64| seconds(&minutes.decide(Millis(first * 1000), now, &catch_up, None));
        assert_eq!(decide(60), (vec![360, 420], Some((300, 5)), Some(480)));
        assert_eq!(decide(480), (vec![480, 540], None, Some(600)));
        assert_eq!(decide(600), (vec![600], None, Some(660)));
    }

    #[test]
    fn an_instant_that_was_held_is_fired_whatever_its_age() {
        let minutes = calendar("* * * * *");
        let held = |now| seconds(&minutes.decide_held(Millis(60_000), Millis(now)));
        assert_eq!(held(60_000), (vec![60], None, Some(120)));
        assert_eq!(held(600_000), (vec![60], Some((600, 9)), Some(660)));
    }

    #[test]
    fn nothing_is_decided_before_the_first_instant() {
        let minutes = calendar("* * * * *");
        let decision = minutes.decide(Millis(60_000), Millis(59_999), &catch_up(Missed::All), None);
        assert_eq!(seconds(&decision), (vec![], None, Some(60)));
    }

    #[test]
    fn sparse_instants_are_found() {
        let leap_days = calendar("0 0 29 2 *");
        let first = leap_days.next_after(Millis(0)).expect("there is one");
        let now = Millis(60 * 365 * 86_400_000);
        let decision =
            leap_days.decide(first, now, &CatchUp { instants_max: 20, ..catch_up(Missed::All) }, None);
        let all: Vec<_> = leap_days.between(Millis(0), now).collect();
        assert_eq!((decision.fire, decision.skipped), (all, None));
    }
}
