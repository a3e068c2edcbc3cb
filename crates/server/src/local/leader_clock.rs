//! An upper bound of another member's clock, by which that member decides when leases end.
//!
//! The clocks of two machines cannot be compared. But a clock value in an answer is at least the value at the time of the
//! question, and since then that clock has gone on no faster, within a tolerance, than this machine's clocks. So a lease
//! counts as over here before it is over there, however long the answer, or the delivery, was under way.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::super::clock::wall;
use adjourn_types::{Millis, whole_ms};

/// The speeds of two clocks differ by less than one part in this many.
const DRIFT_PARTS: u64 = 1000;

/// The clock of one member, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct LeaderClock(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// When each unanswered question was sent, the oldest first: answers come in this order.
    asked: VecDeque<Moment>,
    shown: Option<Shown>,
}

/// The clock showed `clock_ms` at this moment or later.
#[derive(Clone, Copy, Debug)]
struct Shown {
    at: Moment,
    clock_ms: u64,
}

/// Both clocks of this machine. The monotonic one stands still while the machine sleeps; the other one may be set.
#[derive(Clone, Copy, Debug)]
struct Moment {
    elapsed: Instant,
    wall: Millis,
}

impl LeaderClock {
    /// Notes that a question is sent now whose answer shows the clock.
    pub(super) fn asked(&self) {
        self.lock().asked.push_back(Moment::now());
    }

    /// Takes the answer to the oldest unanswered question.
    pub(super) fn answered(&self, clock_ms: u64) {
        let mut known = self.lock();
        let Some(at) = known.asked.pop_front() else { return };
        let new = Shown { at, clock_ms };
        // A slow answer gives a weaker bound than an earlier quick one.
        if known.shown.is_none_or(|known| new.now_ms_at_most() <= known.now_ms_at_most()) {
            known.shown = Some(new);
        }
    }

    /// The most that the clock shows now, in milliseconds; `u64::MAX` before the first answer.
    pub(super) fn now_ms_at_most(&self) -> u64 {
        self.lock().shown.map_or(u64::MAX, Shown::now_ms_at_most)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shown {
    fn now_ms_at_most(self) -> u64 {
        let passed_ms = whole_ms(self.at.passed());
        self.clock_ms.saturating_add(passed_ms + passed_ms / DRIFT_PARTS + 1)
    }
}

impl Moment {
    fn now() -> Self {
        Self { elapsed: Instant::now(), wall: wall() }
    }

    /// The most time that has passed since then.
    fn passed(self) -> Duration {
        self.elapsed.elapsed().max(Duration::from_millis(wall().0.saturating_sub(self.wall.0)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_counts_from_when_the_question_was_sent() {
        let clock = LeaderClock::default();
        assert_eq!(clock.now_ms_at_most(), u64::MAX, "it has shown nothing");
        clock.asked();
        advance(Duration::from_secs(2)).await;
        clock.asked();
        clock.answered(50_000);
        assert!(clock.now_ms_at_most() > 52_000, "it may have been shown two seconds ago");
        clock.answered(51_000);
        let now_ms = clock.now_ms_at_most();
        assert!((51_000..52_000).contains(&now_ms), "the second answer was quick: {now_ms}");
        clock.asked();
        advance(Duration::from_secs(1)).await;
        clock.answered(52_000);
        let later_ms = clock.now_ms_at_most();
        assert!((52_000..52_900).contains(&later_ms), "the third was slow: {later_ms}");
        clock.answered(0);
        assert!(clock.now_ms_at_most() >= later_ms, "nobody has asked for that");
    }
}
