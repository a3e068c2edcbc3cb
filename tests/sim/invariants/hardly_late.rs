//! Hardly late: where nothing goes wrong and somebody waits, a job is delivered within what the disk takes.

use std::collections::BTreeMap;

use adjourn::protocol::{Request, Response};
use adjourn::types;
use bytes::Bytes;

use super::super::seen::{Seen, When};
use super::super::time::{MS, Us, WallClock};
use super::{Invariant, delivered};

/// A reserve may wait for the one before it, and each of both for two writes before its own: six of 3 ms; and for the
/// core's turns between them.
const LATE_MAX: Us = 22 * MS;

#[derive(Debug, Default)]
pub(super) struct HardlyLate {
    /// Since when somebody waits.
    waited_for: Option<Us>,
    due: BTreeMap<Bytes, Us>,
}

impl Invariant for HardlyLate {
    fn name(&self) -> &'static str {
        "hardly late"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Asked { request: Request::Push(push), .. } => {
                let epoch = WallClock::new(0, 0).show(0);
                for job in &push.jobs {
                    let due = match job.due {
                        types::When::After(delay_ms) => when.at + delay_ms * MS,
                        types::When::At(at) => at.since(epoch) * MS,
                    };
                    self.due.entry(job.body.clone()).or_insert(due.max(when.at));
                }
            }
            Seen::Said { response: Response::Subscribed, .. } => _ = self.waited_for.get_or_insert(when.at),
            Seen::Said { response, .. } => {
                for job in delivered(response).iter().filter(|job| job.attempts == 1) {
                    let waited_for = self.waited_for.unwrap_or(when.at);
                    let due = self.due.get(&job.body).copied().unwrap_or(when.at).max(waited_for);
                    if when.at > due + LATE_MAX {
                        return Err(format!("job {} came {} us late", job.lease.job, when.at - due));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
