//! What has ended stays ended: after an acknowledged finish or delete a job is never seen again.

use std::collections::BTreeSet;

use adjourn::protocol::{JobRef, Request, Response};
use adjourn::types::JobId;

use super::super::seen::{Seen, When};
use super::{Invariant, delivered};

#[derive(Debug, Default)]
pub(super) struct Ended {
    ended: BTreeSet<JobId>,
    /// Ended by what is being said in this turn, in which answers stand in no order.
    just_now: Vec<JobId>,
}

impl Invariant for Ended {
    fn name(&self) -> &'static str {
        "ended"
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Said { request, response, .. } => {
                let shown = match response {
                    Response::Job(report) => Some(report.id),
                    _ => None,
                };
                let mut jobs = delivered(response).iter().map(|job| job.lease.job).chain(shown);
                if let Some(job) = jobs.find(|job| self.ended.contains(job)) {
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
                        self.just_now.push(*job);
                    }
                    _ => {}
                }
            }
            Seen::Turned { .. } => self.ended.extend(self.just_now.drain(..)),
            _ => {}
        }
        Ok(())
    }
}
