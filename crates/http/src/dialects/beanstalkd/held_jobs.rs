//! The jobs that a connection holds.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use adjourn_protocol::Delivered;
use adjourn_types::{JobId, Lease};

/// Before a lease ends, its connection is told of it for this long.
const SAFETY_MARGIN: Duration = Duration::from_secs(1);

/// The jobs that a connection holds.
#[derive(Debug, Default)]
pub(super) struct HeldJobs(BTreeMap<JobId, HeldJob>);

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldJob {
    pub(super) lease: Lease,
    pub(super) priority: u32,
    lasts: Duration,
    ends: Instant,
}

impl HeldJobs {
    /// Adds a job that was delivered now.
    pub(super) fn add(&mut self, job: &Delivered, now: Instant) {
        let lasts = Duration::from_millis(job.ttr_left_ms.into());
        let held = HeldJob { lease: job.lease, priority: job.priority, lasts, ends: now + lasts };
        self.0.insert(job.lease.job, held);
    }

    /// A job, if its lease has not ended.
    pub(super) fn get(&self, id: u64, now: Instant) -> Option<HeldJob> {
        self.0.get(&JobId(id)).copied().filter(|job| job.ends > now)
    }

    /// A lease begins anew.
    pub(super) fn touched(&mut self, id: u64, now: Instant) {
        if let Some(job) = self.0.get_mut(&JobId(id)) {
            job.ends = now + job.lasts;
        }
    }

    /// A job is not held any more.
    pub(super) fn remove(&mut self, id: u64) {
        self.0.remove(&JobId(id));
    }

    /// When the last second of one of the leases begins, whichever is first.
    pub(super) fn soon(&mut self, now: Instant) -> Option<Instant> {
        self.0.retain(|_, job| job.ends > now);
        let first = self.0.values().map(|job| job.ends).min()?;
        Some(first.checked_sub(SAFETY_MARGIN).unwrap_or(now))
    }
}
