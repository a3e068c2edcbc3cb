//! Measures where this node spends time: the last minutes of a few durations, for STATS.
//!
//! It reads no clock: the threads that do the work measure, once per commit or turn, and the core records. Only a recent
//! window is kept: a problem that began a minute ago would not show among days of good figures.

use std::time::Duration;

use hdrhistogram::Histogram;

use adjourn_protocol::StageReport;

/// The window covers between one and two of these.
const WINDOW: Duration = Duration::from_mins(1);
/// Anything longer is recorded as this: one day, in microseconds.
const MAX_US: u64 = 86_400_000_000;
/// Significant decimal digits that are kept: with two, a histogram takes 32 KB.
const DIGITS: u8 = 2;

/// The durations of each stage.
#[derive(Debug)]
pub(super) struct Stages {
    /// The longest wait of a request of a write, from when the core took it until its write began; on a follower, that
    /// of the entries. One per commit.
    pub(super) wait: Stage,
    /// Writing and syncing entries. One per commit.
    pub(super) commit: Stage,
    /// A turn of the core that applied entries, with everything else that it did. One per turn.
    pub(super) apply: Stage,
    /// From when a job was due until the core passed it on to be sent, for the first attempt. One per job.
    pub(super) lateness: Stage,
    /// When the window moves next.
    moves: Duration,
}

/// The durations of one stage: this minute's and the last one's, and all since the start.
#[derive(Debug)]
pub(super) struct Stage {
    current: Histogram<u64>,
    last: Histogram<u64>,
    all: Buckets,
}

/// The upper bounds of [`Buckets`], in microseconds. Longer durations have a bucket of their own.
pub const BOUNDS_US: [u64; 19] = [
    50,
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    60_000_000,
    600_000_000,
];

/// Durations since the start, as counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buckets {
    /// The number of durations up to each bound and above the one before; the last count is of longer ones.
    pub counts: [u64; BOUNDS_US.len() + 1],
    /// The sum of all durations, in microseconds.
    pub sum_us: u64,
}

impl Buckets {
    /// Adds a duration in microseconds.
    pub fn record(&mut self, us: u64) {
        let place = BOUNDS_US.partition_point(|bound| *bound < us);
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        self.sum_us = self.sum_us.saturating_add(us);
    }
}

/// The measured times of one commit.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommitTimes {
    /// See [`Stages::wait`].
    pub(super) waited: Duration,
    /// See [`Stages::commit`].
    pub(super) took: Duration,
}

impl Stages {
    /// Empty stages, for a node that starts.
    pub(super) fn new(now: Duration) -> Self {
        let [wait, commit, apply, lateness] = [(); 4].map(|()| Stage::new());
        Self { wait, commit, apply, lateness, moves: now + WINDOW }
    }

    /// Moves the window on. Cheap: call it before recording and before reporting.
    pub(super) fn advance(&mut self, now: Duration) {
        if now < self.moves {
            return;
        }
        // After a pause both minutes are too old.
        let both = now >= self.moves + WINDOW;
        for stage in [&mut self.wait, &mut self.commit, &mut self.apply, &mut self.lateness] {
            stage.advance(both);
        }
        self.moves = now + WINDOW;
    }

    /// Records the times of one commit.
    pub(super) fn committed(&mut self, times: CommitTimes) {
        self.wait.record(times.waited);
        self.commit.record(times.took);
    }

    /// All stages, in the order in which a job meets them.
    pub(super) fn report(&self) -> Vec<StageReport> {
        let Self { wait, commit, apply, lateness, moves: _ } = self;
        let named = [("wait", wait), ("commit", commit), ("apply", apply), ("lateness", lateness)];
        named.map(|(name, stage)| stage.report(name)).into()
    }

    /// All durations since the start, by the names and in the order of [`Self::report`].
    pub(super) fn since_start(&self) -> [(&'static str, Buckets); 4] {
        let Self { wait, commit, apply, lateness, moves: _ } = self;
        [("wait", wait.all), ("commit", commit.all), ("apply", apply.all), ("lateness", lateness.all)]
    }
}

impl Stage {
    fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, MAX_US, DIGITS)
            .unwrap_or_else(|error| unreachable!("the bounds are constants: {error}"));
        Self { last: histogram.clone(), current: histogram, all: Buckets::default() }
    }

    /// Adds one duration.
    pub(super) fn record(&mut self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.current.saturating_record(us);
        self.all.record(us);
    }

    fn advance(&mut self, both: bool) {
        std::mem::swap(&mut self.current, &mut self.last);
        self.current.reset();
        if both {
            self.last.reset();
        }
    }

    fn report(&self, name: &str) -> StageReport {
        let mut window = self.last.clone();
        window += &self.current;
        StageReport {
            stage: name.to_owned(),
            count: window.len(),
            p50_us: window.value_at_quantile(0.5),
            p99_us: window.value_at_quantile(0.99),
            p999_us: window.value_at_quantile(0.999),
            max_us: window.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn counts(stages: &Stages) -> Vec<(String, u64)> {
        stages.report().into_iter().map(|report| (report.stage, report.count)).collect()
    }

    fn lateness(stages: &Stages) -> StageReport {
        stages.report().pop().expect("the last stage")
    }

    #[test]
    fn each_stage_has_its_figures() {
        let mut stages = Stages::new(seconds(0));
        for _ in 0..3 {
            stages.committed(CommitTimes { waited: seconds(2), took: seconds(1) });
        }
        stages.apply.record(seconds(3));
        let named = [("wait", 3), ("commit", 3), ("apply", 1), ("lateness", 0)];
        assert_eq!(counts(&stages), named.map(|(name, count)| (name.to_owned(), count)));
        let [wait, commit, ..] = &stages.report()[..] else { panic!("four") };
        for (report, us) in [(wait, 2_000_000), (commit, 1_000_000)] {
            for shown in [report.p50_us, report.p99_us, report.p999_us, report.max_us] {
                assert!((us..us + us / 100).contains(&shown), "{report:?}");
            }
        }
        assert_eq!(lateness(&stages).max_us, 0, "nothing was late");
    }

    #[test]
    fn percentiles_are_told_apart() {
        let mut stages = Stages::new(seconds(0));
        for (us, times) in [(10, 980), (20, 15), (50, 4), (100, 1)] {
            (0..times).for_each(|_| stages.lateness.record(Duration::from_micros(us)));
        }
        let StageReport { count, p50_us, p99_us, p999_us, max_us, .. } = lateness(&stages);
        assert_eq!((count, p50_us, p99_us, p999_us, max_us), (1000, 10, 20, 50, 100));
    }

    #[test]
    fn the_window_moves_on() {
        let mut stages = Stages::new(seconds(0));
        let mut see = |now, recorded| {
            stages.advance(now);
            (0..recorded).for_each(|_| stages.lateness.record(seconds(1)));
            lateness(&stages).count
        };
        assert_eq!(see(seconds(59), 1), 1);
        assert_eq!(see(seconds(60), 10), 11, "the last minute counts");
        assert_eq!(see(seconds(119), 0), 11);
        assert_eq!(see(seconds(120), 100), 110, "the minute before it does not");
        assert_eq!(see(seconds(239), 5), 105);
        assert_eq!(see(seconds(360), 0), 0, "after a pause nothing is new enough");
    }

    #[test]
    fn no_duration_is_too_long() {
        let mut stages = Stages::new(seconds(0));
        stages.lateness.record(Duration::MAX);
        let max_us = lateness(&stages).max_us;
        assert!((MAX_US..MAX_US + MAX_US / 100).contains(&max_us), "{max_us}");
    }
}
