//! Who has lost its disk, or was removed, is no member any more, and never becomes one again under its number.

use std::collections::BTreeSet;

use adjourn_raft::MembershipChange;
use adjourn_replica::Notice;
use adjourn_storage::EntryKind;

use super::super::seen::{NodeId, Seen, When};
use super::Invariant;

#[derive(Debug, Default)]
pub(super) struct Members {
    wiped: BTreeSet<NodeId>,
    /// Those that a serving leader has written out, and the index of the change.
    removed: BTreeSet<NodeId>,
    newest: u64,
    leading: Option<NodeId>,
}

impl Members {
    fn changes(&mut self, index: u64, change: MembershipChange) -> Result<(), String> {
        let comes = match change {
            MembershipChange::Learner(node) | MembershipChange::Voter(node) => Some(node),
            MembershipChange::Alone(_) => None,
            MembershipChange::Remove(node) => {
                self.removed.insert(node);
                None
            }
        };
        if let Some(node) = comes.filter(|node| self.removed.contains(node)) {
            return Err(format!("node {node} becomes a member again with entry {index}"));
        }
        if let Some(node) = comes.filter(|node| self.wiped.contains(node)) {
            return Err(format!("node {node} has lost its disk, and becomes a member with entry {index}"));
        }
        Ok(())
    }
}

impl Invariant for Members {
    fn name(&self) -> &'static str {
        "members"
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Wiped { node } => _ = self.wiped.insert(*node),
            Seen::PeerConnected { node, peer } if self.wiped.contains(peer) => {
                return Err(format!("node {node} listens to {peer}, which has lost its disk"));
            }
            Seen::Noticed { node, notice: Notice::Leading { .. } } => self.leading = Some(*node),
            Seen::Ordered { node, order } if self.leading == Some(*node) => {
                for entry in order.batch.entries.iter().filter(|entry| entry.kind == EntryKind::ConfChange) {
                    let change = MembershipChange::decode(&entry.data).ok_or("a change that is none")?;
                    if entry.index > self.newest {
                        self.newest = entry.index;
                        self.changes(entry.index, change)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
