//! The counts of this node over the last hour, for charts and rates.
//!
//! One task looks every ten seconds. It begins with the process: a node that has just started shows little.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use adjourn_protocol::{TopicReport, Totals};
use adjourn_server::{BOUNDS_US, Buckets, Local, OBSERVED_TOPICS_MAX, Observed, wall};
use adjourn_types::{Access, Millis};

/// The longest lateness that is told from longer ones, in milliseconds.
pub(crate) const LATENESS_TOLD_MAX_MS: u64 = match BOUNDS_US {
    [.., last] => last / 1000,
};
/// The time between two samples.
const EVERY: Duration = Duration::from_secs(10);
/// The samples of an hour, and one more: a rate needs two.
const SAMPLES_MAX: usize = 361;
/// Rates of topics are those of the last minute.
const TOPIC_SAMPLES_MAX: usize = 7;

/// The samples.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<Samples>);

#[derive(Debug, Default)]
struct Samples {
    hour: VecDeque<Sample>,
    topics: VecDeque<TopicSample>,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    at: Millis,
    totals: Totals,
    lateness: Buckets,
}

#[derive(Debug)]
struct TopicSample {
    at: Millis,
    topics: BTreeMap<String, Totals>,
}

/// What came in and went out between two samples, a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rates {
    pub(crate) pushed: f64,
    pub(crate) finished: f64,
    pub(crate) deleted: f64,
    pub(crate) expired: f64,
}

impl Rates {
    /// What went without being finished.
    pub(crate) fn gone(&self) -> f64 {
        self.deleted + self.expired
    }
}

/// What a chart shows of the time between two samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    /// When it ended.
    pub(crate) at: Millis,
    pub(crate) rates: Rates,
    pub(crate) waiting: u64,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
}

impl History {
    /// Keeps samples until the server stops.
    pub(crate) fn keep(local: Local) -> Arc<Self> {
        let history = Arc::<Self>::default();
        let kept = Arc::clone(&history);
        tokio::spawn(async move {
            let (stopping, access) = (local.stopping(), Arc::new(Access::open()));
            let mut ticks = interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = stopping.cancelled() => return,
                    _ = ticks.tick() => {}
                }
                if let Some(observed) = local.observe(Arc::clone(&access)).await {
                    kept.add(wall(), &observed);
                }
            }
        });
        history
    }

    fn add(&self, at: Millis, observed: &Observed) {
        let totals = observed.observation.totals.unwrap_or_default();
        let lateness = observed.stages.iter().find(|(name, _)| *name == "lateness");
        let lateness = lateness.map(|(_, buckets)| *buckets).unwrap_or_default();
        let topics = observed.observation.topics.iter();
        let topics = topics.map(|TopicReport { topic, totals, .. }| (topic.as_str().to_owned(), *totals));
        let mut samples = self.samples();
        samples.hour.push_back(Sample { at, totals, lateness });
        samples.topics.push_back(TopicSample { at, topics: topics.collect() });
        if samples.hour.len() > SAMPLES_MAX {
            samples.hour.pop_front();
        }
        if samples.topics.len() > TOPIC_SAMPLES_MAX {
            samples.topics.pop_front();
        }
    }

    /// The last hour in slices of at most this many samples, the oldest first.
    pub(crate) fn slices(&self, samples: usize) -> Vec<Slice> {
        let held = self.samples();
        let of_hour: Vec<Sample> = held.hour.iter().rev().step_by(samples.max(1)).copied().collect();
        drop(held);
        of_hour
            .windows(2)
            .rev()
            .filter_map(|pair| if let [new, old] = pair { Some(slice(old, new)) } else { None })
            .collect()
    }

    /// What happened in the last minute; `None` right after the start.
    pub(crate) fn last_minute(&self) -> Option<Slice> {
        let samples = self.samples();
        let new = samples.hour.back()?;
        let old = samples.hour.iter().rev().take(TOPIC_SAMPLES_MAX).next_back()?;
        (new.at > old.at).then(|| slice(old, new))
    }

    /// What happened in the last minute in each of the topics that a node observes.
    pub(crate) fn topic_rates(&self) -> BTreeMap<String, Rates> {
        let samples = self.samples();
        let (Some(old), Some(new)) = (samples.topics.front(), samples.topics.back()) else {
            return BTreeMap::new();
        };
        // Of many topics only some are observed: one that was not has an unknown number of jobs from before.
        let are_all = old.topics.len() < OBSERVED_TOPICS_MAX;
        let of = |(topic, now): (&String, &Totals)| {
            let before = old.topics.get(topic).copied().or(are_all.then(Totals::default))?;
            Some((topic.clone(), rates(&before, now, new.at.0.saturating_sub(old.at.0))))
        };
        new.topics.iter().filter_map(of).collect()
    }

    fn samples(&self) -> MutexGuard<'_, Samples> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn slice(old: &Sample, new: &Sample) -> Slice {
    let counts: Vec<u64> = new
        .lateness
        .counts
        .iter()
        .zip(old.lateness.counts)
        .map(|(new, old)| new.saturating_sub(old))
        .collect();
    let Totals { delayed, ready, reserved, .. } = new.totals;
    Slice {
        at: new.at,
        rates: rates(&old.totals, &new.totals, new.at.0.saturating_sub(old.at.0)),
        waiting: delayed + ready + reserved,
        p50_ms: quantile_ms(&counts, 50),
        p99_ms: quantile_ms(&counts, 99),
    }
}

#[expect(clippy::cast_precision_loss, reason = "for a chart")]
fn rates(old: &Totals, new: &Totals, ms: u64) -> Rates {
    let rate = |old: u64, new: u64| {
        if ms == 0 { 0.0 } else { new.saturating_sub(old) as f64 * 1000.0 / ms as f64 }
    };
    Rates {
        pushed: rate(old.pushed, new.pushed),
        finished: rate(old.finished, new.finished),
        deleted: rate(old.deleted, new.deleted),
        expired: rate(old.expired, new.expired),
    }
}

/// The bound below which this many percent of the durations are; infinite if there is none. `None` without durations.
#[expect(clippy::cast_precision_loss, reason = "bounds are small")]
fn quantile_ms(counts: &[u64], percent: u64) -> Option<f64> {
    let all: u64 = counts.iter().sum();
    if all == 0 {
        return None;
    }
    let wanted = (all * percent).div_ceil(100);
    let mut seen = 0;
    for (place, count) in counts.iter().enumerate() {
        seen += count;
        if seen >= wanted {
            return Some(BOUNDS_US.get(place).map_or(f64::INFINITY, |bound| *bound as f64 / 1000.0));
        }
    }
    None
}

/// A quantile of the lateness as a chart shows it.
#[expect(clippy::cast_precision_loss, reason = "it is small")]
pub(crate) fn charted(ms: Option<f64>) -> f64 {
    ms.unwrap_or(0.0).min(LATENESS_TOLD_MAX_MS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_differences() {
        let at = |ms, pushed, late| {
            let mut lateness = Buckets::default();
            for _ in 0..late {
                lateness.record(900);
            }
            Sample { at: Millis(ms), totals: Totals { pushed, ready: 4, ..Totals::default() }, lateness }
        };
        let history = History::default();
        assert!(history.last_minute().is_none() && history.slices(1).is_empty());
        for (ms, pushed, late) in [(0, 10, 5), (10_000, 30, 5), (20_000, 30, 105)] {
            history.samples().hour.push_back(at(ms, pushed, late));
        }
        let slices = history.slices(1);
        let found: Vec<(u64, f64, Option<f64>)> =
            slices.iter().map(|slice| (slice.at.0, slice.rates.pushed, slice.p99_ms)).collect();
        assert_eq!(found, [(10_000, 2.0, None), (20_000, 0.0, Some(1.0))]);
        let late: Vec<u64> = BOUNDS_US.iter().map(|_| 0).chain([1]).collect();
        assert_eq!(quantile_ms(&late, 99), Some(f64::INFINITY), "later than all bounds");
        let minute = history.last_minute().expect("two samples");
        assert!((minute.rates.pushed - 1.0).abs() < 1e-9 && minute.waiting == 4);
    }
}
