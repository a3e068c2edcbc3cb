//! Counts of the outcomes and durations of a node's calls.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use adjourn_server::Buckets;

/// The possible outcomes of a job.
pub(super) const OUTCOMES: [&str; 6] = ["finished", "kept", "retried", "buried", "paused", "not_tried"];

/// The counts.
#[derive(Debug, Default)]
pub(super) struct Counts(Mutex<Counted>);

/// The counts since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// The number of jobs by outcome.
    pub outcomes: [u64; OUTCOMES.len()],
    /// The durations of calls.
    pub took: Buckets,
}

impl Counted {
    /// The number of jobs by the name of the outcome.
    pub fn outcomes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        OUTCOMES.into_iter().zip(self.outcomes)
    }
}

impl Counts {
    pub(super) fn count(&self, outcome: &str) {
        let mut counted = self.lock();
        let place = OUTCOMES.iter().position(|known| *known == outcome);
        if let Some(count) = place.and_then(|place| counted.outcomes.get_mut(place)) {
            *count += 1;
        }
    }

    pub(super) fn took(&self, took: Duration) {
        self.lock().took.record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    pub(super) fn counted(&self) -> Counted {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
