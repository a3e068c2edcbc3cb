//! Firings at equal distances from a stated origin. They know no zone.

use adjourn_types::limits::DELAY_MS_MAX;
use adjourn_types::{DurationError, Millis, duration_ms};

/// Shortest interval, in milliseconds: as often as a cron expression can fire.
pub const EVERY_MS_MIN: u64 = 1000;
/// Longest interval, in milliseconds: as far ahead as a job can be.
pub const EVERY_MS_MAX: u64 = DELAY_MS_MAX;

/// Fires at `origin`, and then each time that `every_ms` have passed.
///
/// A firing that is late or left out does not move the later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Every {
    every_ms: u64,
    origin: Millis,
}

/// Why an interval is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EveryError {
    /// Not a duration.
    #[error("@every takes a duration, for example @every 90s: {0}")]
    Duration(#[from] DurationError),
    /// Too short or too long, in milliseconds.
    #[error("@every takes 1s to 3650d: this is {0}ms")]
    Range(u64),
}

impl Every {
    /// An interval in milliseconds, counted from `origin`.
    pub fn new(every_ms: u64, origin: Millis) -> Result<Self, EveryError> {
        let is_valid = (EVERY_MS_MIN..=EVERY_MS_MAX).contains(&every_ms);
        if is_valid { Ok(Self { every_ms, origin }) } else { Err(EveryError::Range(every_ms)) }
    }

    pub(crate) fn parse(text: &str, origin: Millis) -> Result<Self, EveryError> {
        Self::new(duration_ms(text)?, origin)
    }

    pub(crate) fn next_after(&self, instant: Millis) -> Option<Millis> {
        let Some(since_ms) = instant.0.checked_sub(self.origin.0) else { return Some(self.origin) };
        let steps = since_ms / self.every_ms + 1;
        steps.checked_mul(self.every_ms)?.checked_add(self.origin.0).map(Millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_from_the_origin() {
        let every = Every::parse("90s", Millis(1_000_500)).expect("an interval");
        for (after, expected) in
            [(0, 1_000_500), (1_000_499, 1_000_500), (1_000_500, 1_090_500), (1_090_499, 1_090_500)]
        {
            assert_eq!(every.next_after(Millis(after)), Some(Millis(expected)), "{after}");
        }
        assert_eq!(every.next_after(Millis(u64::MAX)), None);
    }

    #[test]
    fn it_has_bounds() {
        assert_eq!(EVERY_MS_MAX, 3650 * 86_400_000, "as the message says");
        for (text, expected) in [
            ("1s", "Ok(())"),
            ("3650d", "Ok(())"),
            ("999ms", "@every takes 1s to 3650d: this is 999ms"),
            ("0s", "1s to 3650d"),
            ("11y", "1s to 3650d"),
            ("90", "@every takes a duration, for example @every 90s: expected a number and a unit"),
            ("", "@every takes a duration"),
            ("5M", "15m for minutes"),
        ] {
            let read = match Every::parse(text, Millis(0)) {
                Ok(_) => "Ok(())".to_owned(),
                Err(error) => error.to_string(),
            };
            assert!(read.contains(expected), "{text}: {read}");
        }
    }
}
