//! What has ended stays ended: after an acknowledged finish or delete a job is never seen again.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{JobRef, Request, RequestId, Response};
use adjourn_replica::ConnectionId;
use adjourn_types::{JobId, JobState};

use super::super::seen::{Seen, When};
use super::super::time::Us;
use super::{Invariant, Leading, delivered};

#[derive(Debug, Default)]
pub(super) struct Ended {
    since: BTreeMap<JobId, Us>,
    /// Ended by an answer of this turn, whose answers have no order.
    just_now: BTreeSet<JobId>,
    /// When each read of a job was requested: it may show the state of that time.
    looks: BTreeMap<(ConnectionId, RequestId), Us>,
    leading: Leading,
}

impl Invariant for Ended {
    fn name(&self) -> &'static str {
        "ended"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.leading.see(seen);
        match seen {
            Seen::Asked {
                connection,
                id,
                request: Request::Get(_) | Request::Peek { .. } | Request::List(_),
                ..
            } => {
                self.looks.insert((*connection, *id), when.at);
            }
            Seen::Said { node, connection, id, request, response, .. } => {
                let asked = self.looks.remove(&(*connection, *id)).unwrap_or(when.at);
                let has_ended = |job: &JobId| self.since.get(job).is_some_and(|ended| *ended <= asked);
                // Another leader may have ended it meanwhile; then a client that is given it cannot settle it any more.
                let is_late = self.leading.was_followed(*node);
                let mut given = delivered(response).iter().map(|job| job.lease.job).filter(|_| !is_late);
                let shown = match response {
                    Response::Job(report) if report.state != Some(JobState::Finished) => Some(report.id),
                    _ => None,
                };
                let mut listed = match response {
                    Response::Jobs { jobs, .. } => jobs.as_slice(),
                    _ => &[],
                }
                .iter()
                .map(|job| job.id);
                let listed = listed.find(has_ended);
                if let Some(job) = given.find(has_ended).or(shown.filter(has_ended)).or(listed) {
                    return Err(format!("job {job} was seen after its end was acknowledged"));
                }
                match (request, response) {
                    (Some(Request::Finish { leases }), Response::Settled(results)) => {
                        let done = leases.iter().zip(results).filter(|(_, result)| result.is_ok());
                        self.just_now.extend(done.map(|(lease, _)| lease.job));
                    }
                    (
                        Some(Request::Delete(JobRef::Id(_) | JobRef::Key { .. })),
                        Response::Changed { job, .. },
                    ) => {
                        self.just_now.insert(*job);
                    }
                    _ => {}
                }
            }
            Seen::Turned { .. } => {
                let just_now = std::mem::take(&mut self.just_now);
                self.since.extend(just_now.into_iter().map(|job| (job, when.at)));
            }
            _ => {}
        }
        Ok(())
    }
}
