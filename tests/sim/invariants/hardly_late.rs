//! Hardly late: where nothing goes wrong and somebody waits, a job is delivered within what the disk takes. For jobs of groups nobody
//! waits.

use std::collections::BTreeMap;

use adjourn_protocol::{Request, Response};
use bytes::Bytes;

use super::super::clients::has_groups;
use super::super::seen::{Seen, When};
use super::super::time::{MS, Us, WallClock};
use super::{Invariant, delivered};

/// A reserve may wait for the one before it, and each of both for two writes before its own: six of 3 ms; and for the
/// core's turns between them.
const LATE_MAX: Us = 22 * MS;

/// A node whose log outgrows the checkpoint that is under way writes its entries so much later, twice for one job.
const LAGGING_MAX: Us = 130 * MS;

#[derive(Debug)]
pub(super) struct HardlyLate {
    lagging: Lagging,
    /// Since when somebody waits.
    waited_for: Option<Us>,
    /// `None` once the job was delivered: it may be given back without an attempt counted.
    due: BTreeMap<Bytes, Option<Us>>,
}

/// Whether the log outgrows the checkpoint that is under way.
#[derive(Debug)]
struct Lagging {
    checkpoint_log_bytes: usize,
    /// Bytes of write batches that are not durable, by their numbers.
    ordered: BTreeMap<u64, usize>,
    /// Bytes since the checkpoint under way began.
    grown: Option<usize>,
    /// When it did so last.
    last: Option<Us>,
}

impl HardlyLate {
    pub(super) fn new(checkpoint_log_bytes: u64) -> Self {
        let checkpoint_log_bytes = usize::try_from(checkpoint_log_bytes).unwrap_or(usize::MAX);
        let lagging = Lagging { checkpoint_log_bytes, ordered: BTreeMap::new(), grown: None, last: None };
        Self { lagging, waited_for: None, due: BTreeMap::new() }
    }
}

impl Lagging {
    /// Whether an entry that was wanted then may have had to wait.
    fn was_at(&self, at: Us) -> bool {
        self.last.is_some_and(|last| last + LAGGING_MAX >= at)
    }

    fn see(&mut self, now: Us, seen: &Seen<'_>) {
        match seen {
            Seen::Ordered { order, .. } => {
                let bytes = order.batch.entries.iter().map(|entry| entry.data.len()).sum();
                self.ordered.insert(order.number, bytes);
                self.grown.iter_mut().for_each(|grown| *grown += bytes);
            }
            Seen::Persisted { number, .. } => self.ordered.retain(|order, _| order > number),
            Seen::CheckpointBegins { .. } => self.grown = Some(self.ordered.values().sum()),
            Seen::Checkpointed { .. } => self.grown = None,
            _ => {}
        }
        if self.grown.is_some_and(|grown| grown >= self.checkpoint_log_bytes) {
            self.last = Some(now);
        }
    }
}

impl Invariant for HardlyLate {
    fn name(&self) -> &'static str {
        "hardly late"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.lagging.see(when.at, seen);
        match seen {
            Seen::Asked { request: Request::Push(push), .. } => {
                let epoch = WallClock::new(0, 0).show(0);
                // A delay begins when its push is written.
                let later = if self.lagging.was_at(when.at) { LAGGING_MAX } else { 0 };
                for job in &push.jobs {
                    let due = match job.due {
                        adjourn_types::When::After(delay_ms) => when.at + delay_ms * MS + later,
                        adjourn_types::When::At(at) => at.since(epoch) * MS,
                    };
                    self.due.entry(job.body.clone()).or_insert(Some(due.max(when.at)));
                }
            }
            Seen::Said { response: Response::Subscribed, .. } => _ = self.waited_for.get_or_insert(when.at),
            Seen::Said { response, .. } => {
                for job in delivered(response) {
                    if job.attempts != 1 || has_groups(&job.topic) {
                        continue;
                    }
                    let waited_for = self.waited_for.unwrap_or(when.at);
                    let due = self.due.insert(job.body.clone(), None).flatten();
                    let due = due.unwrap_or(when.at).max(waited_for);
                    let later = if self.lagging.was_at(due) { LAGGING_MAX } else { 0 };
                    if when.at > due + LATE_MAX + later {
                        return Err(format!("job {} came {} us late", job.lease.job, when.at - due));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
