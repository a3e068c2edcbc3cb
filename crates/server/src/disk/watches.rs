//! The disk thread's periodic checks: free space, memory and slow commits. They do no IO on storage: the results are
//! passed in.

use std::time::Duration;

use tracing::warn;

use adjourn_types::whole_ms;

/// Decides whether the disk is nearly full, with hysteresis.
pub(super) struct SpaceWatch {
    pub(super) free_min_bytes: u64,
    low: bool,
    pub(super) next_check: Duration,
}

impl SpaceWatch {
    /// Keeps this many bytes free; the first check is at once.
    pub(super) fn new(free_min_bytes: u64, now: Duration) -> Self {
        Self { free_min_bytes, low: false, next_check: now }
    }

    /// The new state, if `free_bytes` changes it.
    pub(super) fn turned(&mut self, free_bytes: u64) -> Option<bool> {
        let enough_bytes = self.free_min_bytes.saturating_add(self.free_min_bytes / 8);
        let low = if self.low { free_bytes < enough_bytes } else { free_bytes < self.free_min_bytes };
        (low != self.low).then(|| {
            self.low = low;
            low
        })
    }
}

/// Measures the memory of the process, but not at each commit.
pub(super) struct MemoryWatch {
    wanted: bool,
    next: Duration,
}

impl MemoryWatch {
    const EVERY: Duration = Duration::from_millis(50);
    /// The memory of the process can shrink while nothing is written, too.
    const IDLE_EVERY: Duration = Duration::from_secs(1);

    /// Measures at once, if `wanted`.
    pub(super) fn new(wanted: bool, now: Duration) -> Self {
        Self { wanted, next: now }
    }

    /// The memory of the process, if it is time to measure.
    pub(super) fn measure(&mut self, now: Duration) -> Option<u64> {
        if !self.wanted || now < self.next {
            return None;
        }
        self.next = now + Self::EVERY;
        resident_bytes()
    }

    /// When to measure although nothing happens.
    pub(super) fn next_when_idle(&self) -> Duration {
        if self.wanted { self.next + Self::IDLE_EVERY } else { Duration::MAX }
    }
}

/// The resident memory of the process; `None` where the system does not report it in this way.
pub(crate) fn resident_bytes() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Logs commits that take long, at a limited rate.
#[derive(Default)]
pub(super) struct SlowCommits {
    since_last_line: u64,
    next_line: Duration,
}

impl SlowCommits {
    const SLOW: Duration = Duration::from_millis(200);
    const LINE_EVERY: Duration = Duration::from_secs(10);

    pub(super) fn note(&mut self, now: Duration, took: Duration, bytes: usize) {
        if took < Self::SLOW {
            return;
        }
        self.since_last_line += 1;
        if now >= self.next_line {
            let took_ms = whole_ms(took);
            warn!(took_ms, bytes, commits = self.since_last_line, "the disk is slow to sync");
            *self = Self { since_last_line: 0, next_line: now + Self::LINE_EVERY };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// Pushes are refused while memory is short, and then no other command may come that would wake the thread.
    #[test]
    fn memory_is_looked_at_although_nothing_is_written() {
        let mut memory = MemoryWatch::new(true, seconds(5));
        assert!(memory.measure(seconds(4)).is_none() && memory.measure(seconds(6)).is_some());
        let next = memory.next_when_idle();
        assert!(next <= seconds(8) && memory.measure(next).is_some(), "{next:?}");
        assert_eq!(MemoryWatch::new(false, seconds(5)).next_when_idle(), Duration::MAX);
    }

    #[test]
    fn space_does_not_waver_at_the_limit() {
        let mut space = SpaceWatch::new(800, Duration::ZERO);
        let turns = [900, 799, 800, 899, 900, 800, 799].map(|free_bytes| space.turned(free_bytes));
        assert_eq!(turns, [None, Some(true), None, None, Some(false), None, Some(true)]);
    }
}
