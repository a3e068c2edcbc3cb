//! Points in time and durations. Nothing here reads a clock.

use std::fmt;
use std::time::Duration;

/// A point in time: milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Millis(pub u64);

impl Millis {
    /// The point `delay_ms` later; the largest point on overflow.
    #[must_use]
    pub fn after(self, delay_ms: u64) -> Self {
        Self(self.0.saturating_add(delay_ms))
    }

    /// Milliseconds from `earlier` to `self`; 0 when `earlier` is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// A duration in whole milliseconds; the largest number on overflow.
pub fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// When a job becomes due.
///
/// The two kinds differ when the machine's clock is set: `After` is elapsed time and unaffected, `At` follows the wall
/// clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum When {
    /// Milliseconds after the queue accepts the command.
    After(u64),
    /// At this point of the wall clock.
    At(Millis),
}

impl Default for When {
    fn default() -> Self {
        Self::After(0)
    }
}
