//! The wait between two attempts to reconnect.
//!
//! Exponential, with full jitter: each wait is random between zero and a bound that doubles. So clients that
//! lost the same server return spread over time, not all at once. (M. Brooker, "Exponential Backoff And Jitter",
//! 2015.)

use std::time::Duration;

/// The bound of the first wait, in milliseconds.
const FIRST_MS_MAX: u64 = 50;
/// The bound of every wait while servers answer that there is no leader: an election takes a second or two.
const HEARD_MS_MAX: u64 = 250;

/// The waits of one series of attempts.
#[derive(Debug)]
pub(crate) struct Reconnects {
    bound_ms: u64,
    bound_ms_max: u64,
}

impl Reconnects {
    /// Waits of at most `wait_ms_max`.
    pub(crate) fn new(wait_ms_max: u64) -> Self {
        Self { bound_ms: FIRST_MS_MAX.min(wait_ms_max), bound_ms_max: wait_ms_max }
    }

    /// The next wait; `rng` is any random number. It stays short when a server `was_heard`.
    pub(crate) fn wait(&mut self, rng: u64, was_heard: bool) -> Duration {
        let bound_ms_max = if was_heard { self.bound_ms_max.min(HEARD_MS_MAX) } else { self.bound_ms_max };
        let wait_ms = rng % (self.bound_ms.min(bound_ms_max) + 1);
        self.bound_ms = self.bound_ms.saturating_mul(2).min(bound_ms_max);
        Duration::from_millis(wait_ms)
    }

    /// Starts over, after a good connection.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.bound_ms_max);
    }
}

/// A random number. Without the system's entropy all clients wait the full bound, which is safe.
pub(crate) fn rng() -> u64 {
    getrandom::u64().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_doubles_up_to_the_maximum_and_starts_over() {
        let mut reconnects = Reconnects::new(120);
        let longest = |reconnects: &mut Reconnects| {
            let bound_ms = reconnects.bound_ms;
            reconnects.wait(bound_ms, false).as_millis()
        };
        let waits: Vec<_> = (0..4).map(|_| longest(&mut reconnects)).collect();
        assert_eq!(waits, [50, 100, 120, 120]);
        reconnects.reset();
        assert_eq!(longest(&mut reconnects), 50);
        assert_eq!(Reconnects::new(0).wait(7, false), Duration::ZERO);
    }

    #[test]
    fn while_somebody_answers_the_waits_stay_short() {
        let mut reconnects = Reconnects::new(1_000);
        for _ in 0..8 {
            reconnects.wait(0, false);
        }
        assert_eq!(reconnects.bound_ms, 1_000);
        assert_eq!(reconnects.wait(250, true), Duration::from_millis(250));
        assert_eq!(reconnects.wait(251, true), Duration::ZERO, "drawn between nothing and the bound");
    }
}
