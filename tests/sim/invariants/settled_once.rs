//! A finish counts only from the holder of the job, and a repeated one answers as the first did.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{Request, RequestId, Response};
use adjourn_replica::ConnectionId;
use adjourn_types::limits::FINISHED_WINDOW_MS;
use adjourn_types::{JobId, Lease};

use super::super::seen::{Seen, When};
use super::super::time::{MS, Us};
use super::{Invariant, Jumps, delivered};

#[derive(Debug, Default)]
pub(super) struct SettledOnce {
    /// The newest lease of each job.
    newest: BTreeMap<JobId, Lease>,
    /// Requests to finish under a lease that was no longer the newest when they came.
    stale: BTreeSet<(ConnectionId, RequestId, Lease)>,
    /// Under which lease each job was finished first, and when.
    finished: BTreeMap<JobId, (Lease, Us)>,
    refused: BTreeSet<Lease>,
    jumps: Jumps,
}

impl SettledOnce {
    fn finished(&mut self, at: Us, lease: Lease, is_stale: bool) -> Result<(), String> {
        if self.refused.contains(&lease) {
            return Err(format!("lease {lease} was refused, and is good for a finish later"));
        }
        let (first, _) = *self.finished.entry(lease.job).or_insert((lease, at));
        if first != lease {
            return Err(format!(
                "job {} was finished under lease {first} and under lease {lease}",
                lease.job
            ));
        }
        if is_stale {
            Err(format!("lease {lease} was followed by another, and is good for a finish"))
        } else {
            Ok(())
        }
    }

    fn refused(&mut self, at: Us, lease: Lease) -> Result<(), String> {
        if let Some((first, finished)) = self.finished.get(&lease.job).filter(|(first, _)| *first == lease) {
            let passed = at - finished + self.jumps.ahead_since(*finished, at);
            if passed + MS < FINISHED_WINDOW_MS * MS {
                return Err(format!("a finish of {first} was answered, and refused {passed} us later"));
            }
        }
        self.refused.insert(lease);
        Ok(())
    }
}

impl Invariant for SettledOnce {
    fn name(&self) -> &'static str {
        "settled once"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.jumps.see(when, seen);
        match seen {
            Seen::Asked { connection, id, request: Request::Finish { leases }, .. } => {
                let newest = &self.newest;
                let finished = &self.finished;
                let is_stale = |lease: &&Lease| {
                    newest.get(&lease.job).is_some_and(|newest| newest.fence > lease.fence)
                        && finished.get(&lease.job).is_none_or(|(first, _)| first != *lease)
                };
                self.stale.extend(leases.iter().filter(is_stale).map(|lease| (*connection, *id, *lease)));
            }
            Seen::Said { connection, id, request, response, .. } => {
                for lease in delivered(response).iter().map(|job| job.lease) {
                    let newest = self.newest.entry(lease.job).or_insert(lease);
                    *newest = if newest.fence < lease.fence { lease } else { *newest };
                }
                if let (Some(Request::Finish { leases }), Response::Settled(results)) = (request, response) {
                    for (lease, result) in leases.iter().zip(results) {
                        let is_stale = self.stale.remove(&(*connection, *id, *lease));
                        match result {
                            Ok(()) => self.finished(when.at, *lease, is_stale)?,
                            Err(_) => self.refused(when.at, *lease)?,
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
