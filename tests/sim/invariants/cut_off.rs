//! A node that reaches no other one grants nothing and acknowledges nothing, once it has had the time to notice. A start begins
//! that anew: who was the only voter, as far as it knew, finds the change that made another one in its own log.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{Request, Response};
use adjourn_raft::{Membership, MembershipChange};
use adjourn_storage::{EntryKind, LogEntry};

use super::super::seen::{NodeId, Seen, When};
use super::super::time::{SECOND, Us};
use super::{Invariant, delivered};

/// What the others had agreed to before may take so long to be durable: a slow disk, twice.
const NOTICES_AFTER: Us = 4 * SECOND;

#[derive(Debug)]
pub(super) struct CutOff {
    /// Since when nodes are alone.
    alone: BTreeMap<NodeId, Us>,
    /// The changes of the membership that were written and not overwritten, in the order of the log.
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    index: u64,
    term: u64,
    after: Membership,
}

impl Default for CutOff {
    fn default() -> Self {
        Self {
            alone: BTreeMap::new(),
            changes: vec![Change { index: 0, term: 0, after: Membership::alone(1) }],
        }
    }
}

impl CutOff {
    fn islands(&mut self, at: Us, islands: &[NodeId]) {
        let islands: BTreeSet<NodeId> = islands.iter().copied().collect();
        self.alone.retain(|node, _| islands.contains(node));
        for node in islands {
            self.alone.entry(node).or_insert(at);
        }
    }

    fn written(&mut self, entry: &LogEntry) -> Result<(), String> {
        // A later term writes over what an earlier one had not made durable everywhere.
        self.changes.retain(|change| change.index < entry.index || change.term >= entry.term);
        let newest = self.changes.last().ok_or("no members")?;
        if entry.kind != EntryKind::ConfChange || entry.index <= newest.index || entry.term < newest.term {
            return Ok(());
        }
        let change = MembershipChange::decode(&entry.data).ok_or("a change that is none")?;
        if let Some(after) = newest.after.after(change) {
            self.changes.push(Change { index: entry.index, term: entry.term, after });
        }
        Ok(())
    }

    fn others_vote(&self, node: NodeId) -> bool {
        self.changes.last().is_some_and(|newest| newest.after.voters.iter().any(|voter| *voter != node))
    }

    fn said(
        &self,
        at: Us,
        node: NodeId,
        request: Option<&Request>,
        response: &Response,
    ) -> Result<(), String> {
        let acknowledges = match response {
            Response::Error(_) | Response::Cluster(_) | Response::GoingAway { .. } | Response::Subscribed => {
                false
            }
            // Others that are answered so change nothing that all agree on.
            Response::Done => matches!(
                request,
                Some(
                    Request::Pause { .. }
                        | Request::Resume { .. }
                        | Request::ClusterAdd { .. }
                        | Request::ClusterRemove { .. }
                )
            ),
            Response::Reserved(_) | Response::Deliver(_) => !delivered(response).is_empty(),
            _ => true,
        };
        let since = self.alone.get(&node).filter(|since| **since + NOTICES_AFTER <= at);
        match since {
            Some(since) if acknowledges && self.others_vote(node) => {
                Err(format!("node {node} is cut off since {since} us, and says {response:?}"))
            }
            _ => Ok(()),
        }
    }
}

impl Invariant for CutOff {
    fn name(&self) -> &'static str {
        "cut off"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Islands { islands } => self.islands(when.at, islands),
            Seen::Started { node, .. } => {
                self.alone.entry(*node).and_modify(|since| *since = when.at);
            }
            Seen::Ordered { order, .. } => {
                return order.batch.entries.iter().try_for_each(|entry| self.written(entry));
            }
            Seen::Said { node, request, response, .. } => {
                return self.said(when.at, *node, *request, response);
            }
            _ => {}
        }
        Ok(())
    }
}
