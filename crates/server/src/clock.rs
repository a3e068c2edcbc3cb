//! The only place of the server that reads the machine's clocks.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use adjourn_replica::Now;
use adjourn_types::{Millis, whole_ms};

/// Reads both clocks. Copies agree: they count from the same moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    base: Instant,
}

impl Clock {
    /// A clock whose elapsed time begins now.
    #[expect(clippy::disallowed_methods, reason = "the server's edge: time enters here")]
    pub(super) fn start() -> Self {
        Self { base: Instant::now() }
    }

    /// The time on both clocks.
    pub(super) fn now(self) -> Now {
        Now { elapsed_us: micros(self.elapsed()), wall: wall() }
    }

    /// Time since the clock was started.
    pub(super) fn elapsed(self) -> Duration {
        self.base.elapsed()
    }
}

/// The wall clock.
#[expect(clippy::disallowed_methods, reason = "the server's edge: time enters here")]
pub fn wall() -> Millis {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(whole_ms(since_epoch))
}

fn micros(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}
