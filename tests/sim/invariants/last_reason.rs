//! The reason of a job's last release or bury is shown: the one that was acknowledged last, or a later one that was asked for.
//!
//! Consumers give as a reason the lease that they settle, so it says by itself what it was given for.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{Request, RequestId, Response};
use adjourn_replica::ConnectionId;
use adjourn_types::{Fence, JobId, JobState, Lease};

use super::super::seen::{Seen, When};
use super::super::time::Us;
use super::Invariant;

#[derive(Debug)]
pub(super) struct LastReason {
    /// Leases that were to be settled with a reason.
    asked: BTreeSet<Lease>,
    /// The newest fence of each job that was, and when that was acknowledged.
    settled: BTreeMap<JobId, BTreeMap<Fence, Us>>,
    /// When each look at a job was asked for.
    looks: BTreeMap<(ConnectionId, RequestId), Us>,
    /// A node that is short of memory keeps no reasons.
    may_be_short: bool,
}

impl LastReason {
    pub(super) fn new(may_be_short: bool) -> Self {
        let (asked, settled) = (BTreeSet::new(), BTreeMap::new());
        Self { asked, settled, looks: BTreeMap::new(), may_be_short }
    }

    fn shown(&self, asked_at: Us, job: JobId, reason: Option<&str>) -> Result<(), String> {
        let of_job = self.settled.get(&job).into_iter().flatten();
        let due =
            of_job.filter(|(_, at)| **at < asked_at && !self.may_be_short).map(|(fence, _)| *fence).max();
        let lease: Option<Lease> = reason
            .map(str::parse)
            .transpose()
            .map_err(|_| format!("job {job} shows the reason {reason:?}, which nobody gave"))?;
        if let Some(lease) = lease.filter(|lease| lease.job != job || !self.asked.contains(lease)) {
            return Err(format!("job {job} shows the reason {lease}, which nobody gave for it"));
        }
        let shown = lease.map(|lease| lease.fence);
        if shown < due {
            return Err(format!(
                "job {job} shows the reason of fence {shown:?} after that of {due:?} was acknowledged"
            ));
        }
        Ok(())
    }
}

impl Invariant for LastReason {
    fn name(&self) -> &'static str {
        "last reason"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Asked { connection, id, request, .. } => match request {
                Request::Get(_) | Request::Peek { .. } => _ = self.looks.insert((*connection, *id), when.at),
                Request::Release { leases, reason: Some(_), .. }
                | Request::Bury { leases, reason: Some(_) } => {
                    self.asked.extend(leases);
                }
                _ => {}
            },
            Seen::Said { connection, id, request, response, .. } => {
                let asked_at = self.looks.remove(&(*connection, *id)).unwrap_or(0);
                match (request, response) {
                    (_, Response::Job(report)) if report.state != Some(JobState::Finished) => {
                        self.shown(asked_at, report.id, report.history.reason.as_deref())?;
                    }
                    (
                        Some(
                            Request::Release { leases, reason: Some(_), .. }
                            | Request::Bury { leases, reason: Some(_) },
                        ),
                        Response::Settled(results),
                    ) => {
                        for (lease, _) in leases.iter().zip(results).filter(|(_, result)| result.is_ok()) {
                            self.settled.entry(lease.job).or_default().entry(lease.fence).or_insert(when.at);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}
