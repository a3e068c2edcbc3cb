//! Jobs that are reserved together come by priority, then by due time, then by id; those of topics with weights do so within their
//! topic.

use adjourn::protocol::{Delivered, Request};

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
        let mut jobs: Vec<&Delivered> = delivered(response).iter().collect();
        if has_weights {
            // Stable: within a topic they stay as they came.
            jobs.sort_by_key(|job| job.topic.clone());
        }
        for pair in jobs.windows(2) {
            let [one, next] = pair else { continue };
            if has_weights && one.topic != next.topic {
                continue;
            }
            let place = |job: &Delivered| {
                if self.by_due { (job.priority, job.due.0, job.lease.job.0) } else { (job.priority, 0, 0) }
            };
            if place(one) > place(next) {
                return Err(format!("job {} came before job {}", one.lease.job, next.lease.job));
            }
        }
        Ok(())
    }
}
