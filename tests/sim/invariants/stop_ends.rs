//! A stop ends: accepted requests are done, or are another leader's by now, and the process exits.

use std::collections::BTreeMap;

use super::super::seen::{NodeId, Seen, When};
use super::super::time::{SECOND, Us};
use super::Invariant;

/// A disk may hang, a majority may be away, and a hand-over may fail.
const STOP_MAX: Us = 20 * SECOND;

#[derive(Debug, Default)]
pub(super) struct StopEnds {
    /// Nodes that were asked to stop, and by when they have.
    stopping: BTreeMap<NodeId, Us>,
}

impl Invariant for StopEnds {
    fn name(&self) -> &'static str {
        "stop ends"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Stops { node } => _ = self.stopping.insert(*node, when.at + STOP_MAX),
            Seen::Ended { node, .. } => _ = self.stopping.remove(node),
            Seen::Turned { node, .. } if self.stopping.get(node).is_some_and(|until| *until < when.at) => {
                return Err(format!("node {node} was asked to stop {STOP_MAX} us ago"));
            }
            _ => {}
        }
        Ok(())
    }
}
