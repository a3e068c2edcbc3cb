//! Jobs that are reserved together come by priority, then by due time, then by id.

use super::super::seen::{Seen, When};
use super::{Invariant, delivered};

#[derive(Debug)]
pub(super) struct Order {
    /// Due times are compared: nobody sets the clock between a job's turn and its delivery.
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
        let Seen::Said { response, .. } = seen else { return Ok(()) };
        for pair in delivered(response).windows(2) {
            let [one, next] = pair else { continue };
            let place = |job: &adjourn::protocol::Delivered| {
                if self.by_due { (job.priority, job.due.0, job.lease.job.0) } else { (job.priority, 0, 0) }
            };
            if place(one) > place(next) {
                return Err(format!("job {} came before job {}", one.lease.job, next.lease.job));
            }
        }
        Ok(())
    }
}
