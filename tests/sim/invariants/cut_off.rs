//! A node that reaches no other one grants nothing and acknowledges nothing, once it has had the time to notice.

use std::collections::{BTreeMap, BTreeSet};

use adjourn::protocol::Response;
use adjourn::raft::{Membership, MembershipChange};
use adjourn::storage::EntryKind;

use super::super::seen::{NodeId, Seen, When};
use super::super::time::{SECOND, Us};
use super::{Invariant, delivered};

/// What the others had agreed to before may take so long to be durable: a slow disk, twice.
const NOTICES_AFTER: Us = 4 * SECOND;

#[derive(Debug)]
pub(super) struct CutOff {
    /// Since when nodes are alone.
    alone: BTreeMap<NodeId, Us>,
    /// The members, by the newest change that anybody wrote, and its index.
    members: (u64, Membership),
}

impl Default for CutOff {
    fn default() -> Self {
        Self { alone: BTreeMap::new(), members: (0, Membership::alone(1)) }
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

    fn said(&self, at: Us, node: NodeId, response: &Response) -> Result<(), String> {
        let acknowledges = match response {
            Response::Error(_)
            | Response::Cluster(_)
            | Response::GoingAway { .. }
            | Response::Pong { .. }
            | Response::Subscribed
            | Response::Done => false,
            Response::Reserved(_) | Response::Deliver(_) => !delivered(response).is_empty(),
            _ => true,
        };
        let since = self.alone.get(&node).filter(|since| **since + NOTICES_AFTER <= at);
        let others_vote = self.members.1.voters.iter().any(|voter| *voter != node);
        match since {
            Some(since) if acknowledges && others_vote => {
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
            Seen::Ordered { order, .. } => {
                let changes = order.batch.entries.iter().filter(|entry| entry.kind == EntryKind::ConfChange);
                for entry in changes {
                    if entry.index <= self.members.0 {
                        continue;
                    }
                    let change = MembershipChange::decode(&entry.data).ok_or("a change that is none")?;
                    if let Some(after) = self.members.1.after(change) {
                        self.members = (entry.index, after);
                    }
                }
            }
            Seen::Said { node, response, .. } => return self.said(when.at, *node, response),
            _ => {}
        }
        Ok(())
    }
}
