//! Whether this node's state is trusted: it can be read completely, and agrees with that of a majority.
//!
//! A node with an untrusted state is still a member: its log and its vote are intact. But it serves no clients, offers no
//! checkpoint, starts no election by itself, and gives up leadership. If it has the newest log, it may have to lead briefly
//! to pass that log on.
//!
//! - **Outvoted**: a majority of the voters had another state after the same entry. This never resolves by itself: the
//!   machine or the program is faulty, and an operator must replace the node.
//! - **Lost**: a part of the state cannot be read from disk. From then on nothing is applied, and a checkpoint of the
//!   leader replaces log and state, as for a member that lags. Raft asks for it
//!   ([`Group::request_snapshot`](adjourn_raft::Group::request_snapshot)) once the whole log is committed: a checkpoint
//!   contains all committed entries, so nothing that this node has acknowledged is lost with its log. To reach that point,
//!   the leader's new entries are dropped for a second at a time.
//!
//! A single voter has no other source: it ends if it cannot read its state.

use super::Group;
use super::checkpoint::Stage;
use super::snapshots::Incoming;
use super::state::no_job;
use crate::io::{CheckpointOrder, Notice, Output};
use crate::node::Node;
use crate::node::connections::Asker;
use adjourn_engine::Listed;
use adjourn_protocol::{ErrorCode, ErrorReply, Request, Response};
use adjourn_raft::Message;
use adjourn_storage::StorageError;

/// Entries are dropped for this long, then accepted for as long, in turns.
const HOLD_BACK_US: u64 = 1_000_000;

/// Why the state is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untrusted {
    /// A majority had another state after the entry at `index`.
    Outvoted { index: u64 },
    /// A part of it cannot be read, since this moment on the monotonic clock.
    Lost { since_us: u64 },
}

impl Group {
    /// True if the state is lost, so that no entry can be applied.
    pub(crate) fn has_lost_state(&self) -> bool {
        matches!(self.untrusted, Some(Untrusted::Lost { .. }))
    }

    /// Follows a member's report of its state. `differs` is the entry after which it was not this node's, if that is new.
    pub(super) fn compare_states(&mut self, node: &mut Node, member: u64, differs: Option<u64>) {
        let Some(index) = differs else { return };
        node.notices.push(Notice::StateDiffers { node: member, index });
        if self.untrusted.is_none()
            && let Some(index) = node.peers.outvoted(node.config.node, self.raft.members())
        {
            self.untrusted = Some(Untrusted::Outvoted { index });
            node.notices.push(Notice::StateOutvoted { index });
        }
    }

    /// Handles the result of an access to the state. A member survives a state that cannot be read.
    pub(crate) fn survive(
        &mut self,
        node: &mut Node,
        outcome: Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        match outcome {
            Err(error) if self.goes_on_without(node, &error) => Ok(()),
            outcome => outcome,
        }
    }

    /// True if this node continues although a part of the state cannot be read. It then gives up the state.
    pub(super) fn goes_on_without(&mut self, node: &mut Node, error: &StorageError) -> bool {
        let goes_on = error.is_unreadable() && self.raft.members().has_voters_beside(node.config.node);
        if goes_on && !self.has_lost_state() {
            self.lose_state(node, error);
        }
        goes_on
    }

    /// Gives up the state, until a checkpoint of another member replaces it.
    pub(crate) fn lose_state(&mut self, node: &mut Node, error: &StorageError) {
        self.untrusted = Some(Untrusted::Lost { since_us: node.now_us });
        node.notices.push(Notice::StateLost { what: error.to_string() });
        self.prepared = true;
        self.checkpoints.stage = match std::mem::take(&mut self.checkpoints.stage) {
            Stage::Capturing { .. } => {
                // The rest would come from a state that may be half changed.
                node.due.push(Output::Checkpoint(CheckpointOrder::Abandon));
                Stage::Writing
            }
            Stage::Writing => Stage::Writing,
            Stage::Idle | Stage::Adopting { .. } => Stage::Idle,
        };
    }

    /// Asks for a checkpoint if the state is lost and none is being fetched.
    pub(crate) fn want_state(&mut self) {
        if self.has_lost_state() && matches!(self.incoming, Incoming::Nothing) {
            self.raft.request_snapshot();
        }
    }

    /// True if an entry from the leader is to be dropped, as if it were lost on the network: without new entries, the whole
    /// log is soon committed.
    pub(super) fn holds_back(&self, node: &Node, message: &Message) -> bool {
        let Some(Untrusted::Lost { since_us }) = self.untrusted else { return false };
        let holds = (node.now_us.saturating_sub(since_us) / HOLD_BACK_US).is_multiple_of(2);
        holds && !message.is_urgent() && self.raft.last_index() > self.raft.commit()
    }

    /// Reports that data for an answer cannot be read from disk. The state does not depend on it, so a single node
    /// continues; a member replaces its state by another member's.
    pub(crate) fn unreadable(&mut self, node: &mut Node, asker: Asker, error: &StorageError) {
        let what = error.to_string();
        let text = format!("the requested data cannot be read: {what}");
        node.connections.refuse(asker, ErrorReply::new(ErrorCode::Unreadable, text));
        node.notices.push(Notice::Unreadable { what });
        self.goes_on_without(node, error);
    }

    /// Answers a peek with the found job.
    pub(crate) fn show(&mut self, node: &mut Node, asker: Asker, found: &Result<Listed, StorageError>) {
        let view = match found {
            Ok(Listed::Job(view)) => view,
            Ok(_) => return node.connections.send(asker, no_job()),
            Err(error) => return self.unreadable(node, asker, error),
        };
        if node.connections.must_wait(asker) {
            let topic = self.state.topic_name(view.topic);
            return node.connections.hold_searched(asker, Request::Peek { topic });
        }
        match self.state.job_report(view, node.connections.is_operator(asker.connection)) {
            Ok(report) => node.connections.send(asker, Response::Job(Box::new(report))),
            Err(error) => self.unreadable(node, asker, &error),
        }
    }
}
