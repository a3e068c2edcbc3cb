//! At most one node serves in a term, and none that is not a member any more.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_replica::Notice;

use super::super::seen::{NodeId, Seen, When};
use super::Invariant;

#[derive(Debug, Default)]
pub(super) struct OneLeader {
    /// Who served in each term.
    terms: BTreeMap<u64, NodeId>,
    removed: BTreeSet<NodeId>,
}

impl Invariant for OneLeader {
    fn name(&self) -> &'static str {
        "one leader"
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Noticed { node, notice: Notice::Leading { term } } => {
                if self.removed.contains(node) {
                    return Err(format!("node {node} leads after it was removed"));
                }
                if let Some(before) = self.terms.insert(*term, *node) {
                    return Err(format!("nodes {before} and {node} lead in term {term}"));
                }
            }
            Seen::Noticed { node, notice: Notice::Removed } => _ = self.removed.insert(*node),
            Seen::Noticed { notice: Notice::StateDiffers { node, index }, .. } => {
                return Err(format!(
                    "at entry {index} the state of node {node} differs, as another one says"
                ));
            }
            _ => {}
        }
        Ok(())
    }
}
