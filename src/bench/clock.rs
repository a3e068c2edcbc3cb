//! The clocks of the benches. No other part of the command line reads one.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The wall clock, in microseconds since the Unix epoch.
#[expect(clippy::disallowed_methods, reason = "a bench compares due times with the wall clock")]
pub(super) fn wall_us() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}

/// The monotonic clock.
#[expect(clippy::disallowed_methods, reason = "a bench measures how long requests take")]
pub(super) fn instant() -> Instant {
    Instant::now()
}
