//! Whether this node's state can be trusted: all of it can be read, and most members have the same.
//!
//! A node with an untrusted state is still a member: its log and its vote are intact. It serves no client, offers no
//! checkpoint, starts no election by itself, and gives up leadership. If it has the newest log it may have to lead
//! for a moment, to pass that log on.
//!
//! - **Outvoted**: a majority of the voters had another state after the same entry. This never resolves by itself:
//!   the machine or the program is faulty, and an operator has to look. Replace the node.
//! - **Lost**: a part of the state cannot be read from the disk. From then on nothing is applied, and a checkpoint
//!   of the leader replaces log and state, as for a member that lags. Raft asks for it
//!   ([`Group::request_snapshot`](crate::raft::Group::request_snapshot)) when all of the log is committed: a
//!   checkpoint contains everything committed, so nothing that this node has acknowledged is dropped with its log.
//!   To get there, the leader's new entries are held back for a second at a time.
//!
//! A single voter has no other source: a state that it cannot read ends it.

use super::Replica;
use super::checkpoint::Stage;
use super::io::{CheckpointOrder, Notice, Output};
use super::snapshots::Incoming;
use crate::raft::Message;
use crate::storage::{LogEntry, StorageError};

/// Entries are held back for this time, and taken for as long, in turns.
const HOLD_BACK_US: u64 = 1_000_000;

/// Why the state cannot be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Untrusted {
    /// After the entry at `index` a majority had another one.
    Outvoted { index: u64 },
    /// A part of it cannot be read, since this moment on the monotonic clock.
    Lost { since_us: u64 },
}

impl Replica {
    /// Whether there is no state to apply anything to.
    pub(super) fn has_lost_state(&self) -> bool {
        matches!(self.untrusted, Some(Untrusted::Lost { .. }))
    }

    /// A member said what its state was. `differs` is the entry after which that was not this node's, if it is news.
    pub(super) fn compare_states(&mut self, node: u64, differs: Option<u64>) {
        let Some(index) = differs else { return };
        self.notices.push(Notice::StateDiffers { node, index });
        if self.untrusted.is_none()
            && let Some(index) = self.peers.outvoted(self.config.node, self.group.members())
        {
            self.untrusted = Some(Untrusted::Outvoted { index });
            self.notices.push(Notice::StateOutvoted { index });
        }
    }

    /// What came of an access to the state. A member goes on without one that cannot be read.
    pub(super) fn survive(&mut self, outcome: Result<(), StorageError>) -> Result<(), StorageError> {
        match outcome {
            Err(error) if self.goes_on_without(&error) => Ok(()),
            outcome => outcome,
        }
    }

    /// Whether this node goes on though a part of the state cannot be read.
    pub(super) fn goes_on_without(&mut self, error: &StorageError) -> bool {
        let goes_on = error.is_unreadable() && self.group.members().has_voters_beside(self.config.node);
        if goes_on && !self.has_lost_state() {
            self.lose_state(error);
        }
        goes_on
    }

    /// From here on there is no state, until a checkpoint of another member brings one.
    pub(super) fn lose_state(&mut self, error: &StorageError) {
        self.untrusted = Some(Untrusted::Lost { since_us: self.now_us });
        self.notices.push(Notice::StateLost { what: error.to_string() });
        self.prepared = true;
        self.checkpoints.stage = match std::mem::take(&mut self.checkpoints.stage) {
            Stage::Capturing { .. } => {
                // The rest of it would come from a state that may be half changed.
                self.due.push(Output::Checkpoint(CheckpointOrder::Abandon));
                Stage::Writing
            }
            Stage::Writing => Stage::Writing,
            Stage::Idle | Stage::Adopting { .. } => Stage::Idle,
        };
    }

    /// Passes over a committed entry, since there is no state. Only changes of the members are applied.
    pub(super) fn pass_over(&mut self, entry: &LogEntry) {
        self.applied = (entry.index, entry.term);
        self.apply_membership(entry);
    }

    /// Asks for a checkpoint, if the state is lost and none is on its way.
    pub(super) fn want_state(&mut self) {
        if self.has_lost_state() && matches!(self.incoming, Incoming::Nothing) {
            self.group.request_snapshot();
        }
    }

    /// Whether entries from the leader are to be lost on their way, which they may be: when no more come, all of the log is
    /// committed soon.
    pub(super) fn holds_back(&self, message: &Message) -> bool {
        let Some(Untrusted::Lost { since_us }) = self.untrusted else { return false };
        let holds = (self.now_us.saturating_sub(since_us) / HOLD_BACK_US).is_multiple_of(2);
        holds && !message.is_urgent() && self.group.last_index() > self.group.commit()
    }
}
