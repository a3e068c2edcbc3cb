//! Leases of jobs that are on their way to an asker of this process, and those that reach none.

use std::time::Duration;

use super::super::connection::ConnectionConfig;
use super::Local;
use crate::protocol::{Delivered, ReleaseKind, Request, Response};
use crate::types::{Lease, whole_ms};

impl Local {
    /// How much is left of the lease of a job that this core granted. It has run since the core spoke, however long its job was on the
    /// way.
    pub fn lease_left(&self, job: &Delivered) -> Duration {
        Duration::from_millis(job.left_ms(clock_ms(&self.config)))
    }
}

/// The server's monotonic clock, in milliseconds that have begun.
pub(super) fn clock_ms(config: &ConnectionConfig) -> u64 {
    whole_ms(config.clock.elapsed()) + 1
}

/// The leases of jobs that reach nobody.
pub(super) fn leases_of(response: &Response) -> Vec<Lease> {
    match response {
        Response::Reserved(jobs) | Response::Deliver(jobs) => jobs.iter().map(|job| job.lease).collect(),
        _ => Vec::new(),
    }
}

/// The request that gives back jobs that reach nobody: they were not started.
pub(super) fn release(leases: Vec<Lease>) -> Request {
    Request::Release { kind: ReleaseKind::NotStarted, leases, reason: None }
}
