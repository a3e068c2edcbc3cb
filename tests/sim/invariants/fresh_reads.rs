//! A read sees everything that was acknowledged before it was asked: the counts never fall behind.
//!
//! That a single job is there is for [`acknowledged`](super::acknowledged) to say, and that what ended is not for
//! [`ended`](super::ended).

use std::collections::{BTreeMap, BTreeSet};

use adjourn::protocol::{PushResult, Request, RequestId, Response};
use adjourn::replica::ConnectionId;
use adjourn::types::JobId;

use super::super::seen::{Seen, When};
use super::Invariant;

#[derive(Debug, Default)]
pub(super) struct FreshReads {
    pushed: BTreeSet<JobId>,
    /// How many jobs were acknowledged when each question came.
    asked: BTreeMap<(ConnectionId, RequestId), u64>,
    /// The last entry that anybody saw in an answer, when it came.
    seen: u64,
    asked_after: BTreeMap<(ConnectionId, RequestId), u64>,
}

impl Invariant for FreshReads {
    fn name(&self) -> &'static str {
        "fresh reads"
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Asked { connection, id, request: Request::Stats, .. } => {
                self.asked.insert((*connection, *id), self.pushed.len() as u64);
                self.asked_after.insert((*connection, *id), self.seen);
            }
            Seen::Said { response: Response::Pushed(results), .. } => {
                self.pushed.extend(results.iter().filter_map(|result| match result {
                    PushResult::Pushed(job) | PushResult::Replaced(job) => Some(*job),
                    PushResult::Kept(_) | PushResult::Refused(..) => None,
                }));
            }
            Seen::Said { node, connection, id, response: Response::Stats(stats), .. } => {
                let pushed = self.asked.remove(&(*connection, *id)).unwrap_or(0);
                if stats.totals.pushed < pushed {
                    return Err(format!(
                        "node {node} counts {} jobs, {pushed} were acknowledged before it was asked",
                        stats.totals.pushed
                    ));
                }
                let after = self.asked_after.remove(&(*connection, *id)).unwrap_or(0);
                if stats.applied_index < after {
                    return Err(format!(
                        "node {node} answers as of entry {}, another answer was of {after} before",
                        stats.applied_index
                    ));
                }
                self.seen = self.seen.max(stats.applied_index);
            }
            _ => {}
        }
        Ok(())
    }
}
