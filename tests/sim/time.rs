//! True time, and the wall clocks that machines show instead.
//!
//! True time is what the world runs on, in microseconds. A machine's monotonic clock follows it exactly, from a moment of
//! its own; its wall clock is skewed, drifts, and is set by somebody now and then.

use adjourn_types::Millis;

/// A moment of true time, or a length of it, in microseconds.
pub(super) type Us = u64;

pub(super) const MS: Us = 1_000;
pub(super) const SECOND: Us = 1_000_000;
pub(super) const HOUR: Us = 3_600 * SECOND;

/// What a correct wall clock shows when true time begins, in milliseconds.
const EPOCH_MS: u64 = 1_790_000_000_000;

/// A machine's wall clock.
#[derive(Clone, Debug)]
pub(super) struct WallClock {
    /// Ahead of the true one by so much at `since`.
    ahead_us: i64,
    since: Us,
    drift_ppm: i64,
    /// The most that it was ahead when it was set.
    most_ahead_us: i64,
}

impl WallClock {
    pub(super) fn new(ahead_ms: i64, drift_ppm: i64) -> Self {
        let at_first_us = ahead_ms * 1000;
        Self { ahead_us: at_first_us, since: 0, drift_ppm, most_ahead_us: at_first_us }
    }

    pub(super) fn show(&self, now: Us) -> Millis {
        Millis((EPOCH_MS * 1000 + now).saturating_add_signed(self.ahead_us(now)) / 1000)
    }

    /// What it would show if it had never been set back.
    pub(super) fn show_most(&self, now: Us) -> Millis {
        Millis((EPOCH_MS * 1000 + now).saturating_add_signed(self.most_ahead_us) / 1000)
    }

    /// Somebody sets it.
    pub(super) fn step(&mut self, now: Us, by_ms: i64) {
        let ahead_us = self.ahead_us(now) + by_ms * 1000;
        *self = Self { ahead_us, since: now, most_ahead_us: ahead_us.max(self.most_ahead_us), ..*self };
    }

    /// It goes faster or slower from now on.
    pub(super) fn drift(&mut self, now: Us, drift_ppm: i64) {
        *self = Self { ahead_us: self.ahead_us(now), since: now, drift_ppm, ..*self };
    }

    fn ahead_us(&self, now: Us) -> i64 {
        self.ahead_us + i64::try_from(now - self.since).unwrap_or(i64::MAX) / 1_000_000 * self.drift_ppm
    }
}

/// `12.345678` for a moment.
pub(super) fn written(at: Us) -> String {
    format!("{:6}.{:06}", at / SECOND, at % SECOND)
}
