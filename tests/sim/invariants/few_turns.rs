//! Few turns: whatever tenants ask for, no other's change waits for more turns than these. Turns count in which the core has more
//! to do at once, and neither a write nor a checkpoint is under way: then nothing but the core's other work delays it. A checkpoint
//! that lags holds entries back.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{Kind, Request, RequestId};
use adjourn_replica::ConnectionId;

use super::super::seen::{Seen, When};
use super::Invariant;

/// Commands that are not applied yet may be so many turns' work when no more are taken.
const TURNS_MAX: u32 = 64;

#[derive(Debug, Default)]
pub(super) struct FewTurns {
    /// Changes that wait for their answer, and for how many turns.
    waiting: BTreeMap<(ConnectionId, RequestId), u32>,
    /// Writes that are not durable.
    writing: BTreeSet<u64>,
    /// A checkpoint is under way.
    is_checkpointing: bool,
}

impl Invariant for FewTurns {
    fn name(&self) -> &'static str {
        "few turns"
    }

    fn see(&mut self, _: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Asked { connection, id, request, .. } if is_change(request) => {
                self.waiting.insert((*connection, *id), 0);
            }
            Seen::Said { connection, id, .. } => _ = self.waiting.remove(&(*connection, *id)),
            Seen::Gone { connection, .. } => self.waiting.retain(|(of, _), _| of != connection),
            Seen::Ended { .. } => {
                self.waiting.clear();
                self.writing.clear();
                self.is_checkpointing = false;
            }
            Seen::CheckpointBegins { .. } => self.is_checkpointing = true,
            Seen::Checkpointed { .. } | Seen::CheckpointAbandoned { .. } => self.is_checkpointing = false,
            Seen::Ordered { order, .. } => _ = self.writing.insert(order.number),
            Seen::Persisted { number, .. } => self.writing.retain(|order| order > number),
            Seen::Turned { pause: 0, .. } if self.writing.is_empty() && !self.is_checkpointing => {
                for ((connection, id), turns) in &mut self.waiting {
                    *turns += 1;
                    if *turns > TURNS_MAX {
                        let (connection, id) = (connection.0, id.0);
                        return Err(format!("request {connection}.{id} has waited for {turns} turns"));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether a request is answered when its command is applied, and not before.
fn is_change(request: &Request) -> bool {
    matches!(request, Request::Push(_)) || request.opcode().kind() == Kind::Change
}
