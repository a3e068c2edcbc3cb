//! The progress of a fetched checkpoint, as the log shows it from time to time: how far it is, and how long it still takes.

use std::time::Duration;

use tokio::time::Instant;

/// The time between two lines of the log.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// The progress of one fetch.
#[derive(Clone, Copy, Debug)]
pub(super) struct FetchProgress {
    begun: Instant,
    told: Instant,
    /// The bytes that were there when it began.
    before: u64,
    total: u64,
}

/// What a line of the log shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) percent: u64,
    pub(super) bytes_per_second: u64,
    /// `None` while nothing arrives.
    pub(super) seconds_left: Option<u64>,
}

impl FetchProgress {
    /// A fetch of `total` bytes that begins now, with some of them there already.
    pub(super) fn begin(before: u64, total: u64, now: Instant) -> Self {
        Self { begun: now, told: now, before, total }
    }

    /// What to show when this many bytes are there; `None` if the last line is not old enough.
    pub(super) fn show(&mut self, bytes: u64, now: Instant) -> Option<Shown> {
        if now.duration_since(self.told) < TOLD_EVERY {
            return None;
        }
        self.told = now;
        let elapsed_ms = now.duration_since(self.begun).as_millis().max(1);
        let per_second = u128::from(bytes.saturating_sub(self.before)) * 1000 / elapsed_ms;
        let bytes_per_second = u64::try_from(per_second).unwrap_or(u64::MAX);
        let percent = u128::from(bytes) * 100 / u128::from(self.total.max(1));
        Some(Shown {
            percent: u64::try_from(percent).unwrap_or(u64::MAX),
            bytes_per_second,
            seconds_left: self.total.saturating_sub(bytes).checked_div(bytes_per_second),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_every_ten_seconds_with_the_rate_since_the_beginning() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut progress = FetchProgress::begin(1_000, 10_000, begun);
        assert_eq!(progress.show(1_500, at(9)), None);
        let shown = Shown { percent: 20, bytes_per_second: 100, seconds_left: Some(80) };
        assert_eq!(progress.show(2_000, at(10)), Some(shown));
        assert_eq!(progress.show(9_000, at(19)), None);
        let shown = Shown { percent: 90, bytes_per_second: 400, seconds_left: Some(2) };
        assert_eq!(progress.show(9_000, at(20)), Some(shown));
    }

    #[test]
    fn a_fetch_that_stands_still_has_no_end() {
        let begun = Instant::now();
        let mut progress = FetchProgress::begin(500, 1_000, begun);
        let shown = Shown { percent: 50, bytes_per_second: 0, seconds_left: None };
        assert_eq!(progress.show(500, begun + TOLD_EVERY), Some(shown));
    }
}
