//! A turn: the bounded work that a replica does before its driver checks for other inputs.
//!
//! Whatever clients ask for, a member must exchange messages with the others in time, or it loses leadership. So
//! each poll does a bounded amount of each kind of work and leaves the rest, in order, to the next, which the driver
//! makes at once ([`Replica::next_wake_us`]); before that the driver passes in new inputs, and ticks come first.
//!
//! Work is counted, not timed: a unit takes about a microsecond. A unit is a job that changes, a lease or a topic that is
//! looked up, or a KiB of a request or of a block that is read; each block counts some more. Whatever a request costs is in one
//! account, the work that is asked for: what its check and its handler do at once, and what its commands and its answer will take.
//!
//! - **Requests** wait by connection, and connections take turns; a turn ends with the request that uses it up. None is taken
//!   while the entries that are not yet applied, or the reads that are not yet answered, are much work: so no client waits
//!   for long behind another's requests. The requests of a connection that is gone are taken in the same way.
//! - **A push** whose keys are those of many spilled jobs is proposed in parts, the next one when the one before it was applied
//!   ([`pushes`](super::leader::pushes)).
//! - **Entries** are closed when their commands are much work, and applied up to the bound of one turn.
//! - **Reads** are answered up to the bound. A pass over many jobs lasts many turns
//!   (`leader::browse`); so does one over many topics (`leader::topic_pass`).

use super::Replica;
use super::group::work::UNIT_BYTES;
use super::io::ConnectionId;
use super::leader::Leader;
use super::node::connections::{Asked, Asker};
use crate::storage::StorageError;

/// The work of requests after which a turn takes no more.
const REQUESTS_WORK: u64 = 1024;
/// The work of requests, and of their effects, after which it is the next connection's turn.
const SHARE_WORK: u64 = 256;
/// The work of entries after which a turn applies no more.
const APPLY_WORK: u64 = 2048;
/// The bytes of committed entries that may wait. Beyond it, a follower that applies too slowly works longer than a turn.
const COMMITTED_BYTES_MAX: usize = 16 << 20;

impl Replica {
    /// Whether there is something to be done at once, without anything that comes.
    pub(super) fn has_more_to_do(&self) -> bool {
        let Self { node, group, leader, .. } = self;
        let entries = !group.log.committed.is_empty() && !group.raft.is_installing();
        let requests = node.connections.any_asked() && self.takes_requests();
        let leads = leader.as_ref().is_some_and(|leader| leader.has_more_to_do(node, group));
        entries || requests || leads || node.connections.any_resumable()
    }

    /// Takes requests that wait, connection by connection.
    pub(super) fn take_requests(&mut self) {
        let until = self.group.work_done() + REQUESTS_WORK;
        while self.group.work_done() < until
            && self.takes_requests()
            && let Some(connection) = self.node.connections.next_asker()
        {
            let share = self.work_asked() + SHARE_WORK;
            while self.work_asked() < share
                && self.takes_requests()
                && let Some(asked) = self.node.connections.take_asked(connection)
            {
                self.take(connection, asked);
            }
            self.node.connections.end_turn(connection);
            self.forget_if_done(connection);
        }
    }

    /// All that a connection asked for and that was not taken: this node stops, and refuses it.
    pub(super) fn take_last_requests(&mut self, connection: ConnectionId) {
        while let Some(asked) = self.node.connections.take_asked(connection) {
            self.take(connection, asked);
        }
    }

    fn take(&mut self, connection: ConnectionId, asked: Asked) {
        let bytes = self.proposed_bytes();
        match asked {
            Asked::Request(request, asked) => self.request(Asker { connection, request }, asked),
            Asked::Rest(rest) => self.push_on(rest),
        }
        let added_bytes = self.proposed_bytes().saturating_sub(bytes);
        self.group.work.count(1 + added_bytes as u64 / UNIT_BYTES);
    }

    fn proposed_bytes(&self) -> usize {
        self.leader.as_ref().map_or(0, |leader| leader.proposals.bytes())
    }

    /// Applies committed entries until the turn's work is done, except those after a checkpoint that is not installed
    /// yet.
    pub(super) fn apply_committed(&mut self) -> Result<(), StorageError> {
        if !self.group.raft.is_installing() {
            let until = self.group.work_done() + APPLY_WORK;
            let mut bytes: usize = self.group.log.committed.iter().map(|entry| entry.data.len()).sum();
            while (self.group.work_done() < until || bytes > COMMITTED_BYTES_MAX)
                && let Some(entry) = self.group.log.committed.pop_front()
            {
                bytes -= entry.data.len();
                self.group.work.count(1);
                let applied = self.apply(&entry);
                self.group.survive(&mut self.node, applied)?;
            }
            self.group.raft.applied(self.group.applied.0);
        }
        self.follow_leadership();
        Ok(())
    }

    /// Answers the reads for which the state is new enough, until it was enough for a turn.
    pub(super) fn answer_reads(&mut self) {
        let Self { node, group, leader, .. } = self;
        if let Some(leader) = leader {
            return leader.answer_reads(node, group);
        }
        // No read is held without a leader. This empties the list of those that may have room, or the node would not sleep.
        while let Some((asker, _)) = node.connections.resume() {
            node.connections.refuse(asker, group.elsewhere(node));
        }
    }

    /// Whether another request can be taken now.
    fn takes_requests(&self) -> bool {
        self.leader.as_ref().is_none_or(Leader::takes_requests)
    }

    /// Work that was done, and what was asked for and is not done yet.
    fn work_asked(&self) -> u64 {
        let asked = self.leader.as_ref().map_or(0, |leader| leader.proposals.work() + leader.reads.work());
        self.group.work_done() + asked
    }
}
