//! Jobs that are reserved together come by priority, then by their place, then by id; those of topics with weights do so within their
//! topic. Where groups take turns that is the order within a group only, which is not looked at here.

use adjourn_protocol::{Delivered, Request};

use super::super::clients::has_groups;
use super::super::seen::{Seen, When};
use super::{Invariant, delivered};

#[derive(Debug)]
pub(super) struct Order {
    /// Due times are compared: no client sets the clock between a job's turn and its delivery.
    by_due: bool,
}

impl Order {
    pub(super) fn new(by_due: bool) -> Self {
        Self { by_due }
    }
}

/// Whether a job's place was before that of another one of the same priority. The place of one that failed and did not wait is a
/// millisecond behind its due time.
fn is_before(job: &Delivered, other: &Delivered) -> bool {
    let was_tried = u64::from(job.attempts > 1);
    let (last, first) = (job.due.0 + was_tried, other.due.0);
    let is_tied = was_tried == 0 && other.attempts == 1 && last == first;
    job.priority == other.priority && (last < first || (is_tied && job.lease.job < other.lease.job))
}

impl Invariant for Order {
    fn name(&self) -> &'static str {
        "order"
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        let Seen::Said { request, response, .. } = seen else { return Ok(()) };
        let has_weights = match request {
            Some(Request::Reserve(reserve)) => !reserve.weights.is_empty(),
            Some(Request::Subscribe(subscribe)) => !subscribe.weights.is_empty(),
            _ => false,
        };
        let mut jobs: Vec<&Delivered> =
            delivered(response).iter().filter(|job| !has_groups(&job.topic)).collect();
        if has_weights {
            // Stable: within a topic they stay as they came.
            jobs.sort_by_key(|job| job.topic.clone());
        }
        for pair in jobs.windows(2) {
            let [one, next] = pair else { continue };
            if has_weights && one.topic != next.topic {
                continue;
            }
            if one.priority > next.priority || (self.by_due && is_before(next, one)) {
                return Err(format!("job {} came before job {}", one.lease.job, next.lease.job));
            }
        }
        Ok(())
    }
}
