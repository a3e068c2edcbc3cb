//! Leases of jobs on their way to a caller of this process, and of jobs that reach none.

use std::time::Duration;

use super::Local;
use adjourn_protocol::{Delivered, ReleaseKind, Request, Response};
use adjourn_types::Lease;

impl Local {
    /// The remaining time of a lease that this core granted. It has run since the grant, however long the job was on its
    /// way.
    pub fn lease_left(&self, job: &Delivered) -> Duration {
        Duration::from_millis(job.left_ms(self.config.clock.queue_ms()))
    }
}

/// The leases of the jobs in a response that reaches no caller.
pub(super) fn leases_of(response: &Response) -> Vec<Lease> {
    match response {
        Response::Reserved(jobs) | Response::Deliver(jobs) => jobs.iter().map(|job| job.lease).collect(),
        _ => Vec::new(),
    }
}

/// The request that gives back jobs that reach no caller: they were not started.
pub(super) fn release(leases: Vec<Lease>) -> Request {
    Request::Release { kind: ReleaseKind::NotStarted, leases, reason: None }
}
