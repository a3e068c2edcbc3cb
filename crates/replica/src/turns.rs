//! A turn: the bounded work that a replica does before its driver looks for new inputs.
//!
//! However much clients ask for, a member must exchange messages in time, or it loses leadership. So each poll does a
//! bounded amount of each kind of work and leaves the rest, in order, to the next poll, which the driver makes at once
//! ([`Replica::next_wake_us`]). In between, the driver passes in new inputs, and ticks come first.
//!
//! Work is counted, not timed: a unit takes about a microsecond. A unit is a changed job, a lookup of a lease or a topic,
//! or a KiB of a request or of a block read from disk; each block adds a fixed amount. One account covers all work of a
//! request: its check and its handler now, and its commands and its answer later.
//!
//! - **Requests** wait by connection, and connections take turns; a turn ends with the request that uses it up. No request
//!   is taken while much work of unapplied entries or unanswered reads is pending, so that no client waits long behind
//!   another one's requests. Requests of a gone client are taken in the same way.
//! - **A push** whose keys belong to many spilled jobs is proposed in parts, each after the previous one was applied
//!   ([`pushes`](super::leader::pushes)).
//! - **Entries** are closed when their commands are much work, and are applied up to a limit per turn.
//! - **Reads** are answered up to a limit per turn. A pass over many jobs takes many turns (`leader::browse`), as does one
//!   over many topics (`leader::topic_pass`).

use super::Replica;
use super::group::work::UNIT_BYTES;
use super::io::ConnectionId;
use super::leader::Leader;
use super::node::connections::Asker;
use super::node::request_queue::Asked;
use adjourn_storage::StorageError;

/// A poll takes no more requests after this much work.
const REQUESTS_WORK: u64 = 1024;
/// A connection's turn ends after this much work, including later work of its requests.
const SHARE_WORK: u64 = 256;
/// A poll applies no more entries after this much work.
const APPLY_WORK: u64 = 2048;
/// The limit on committed entries that wait, in bytes. A follower that exceeds it works for longer than a turn.
const COMMITTED_BYTES_MAX: usize = 16 << 20;

impl Replica {
    /// True if there is work to do at once, without a new event.
    pub(super) fn has_more_to_do(&self) -> bool {
        let Self { node, group, leader, .. } = self;
        let entries = !group.log.committed.is_empty() && !group.raft.is_installing();
        let requests = node.connections.any_asked() && self.takes_requests();
        let leads = leader.as_ref().is_some_and(|leader| leader.has_more_to_do(node, group));
        entries || requests || leads || node.connections.any_resumable()
    }

    /// Takes waiting requests, connection by connection.
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

    /// Takes all remaining requests of a connection, to refuse them: this node is stopping.
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

    /// Applies committed entries up to the work of a turn, except those after a checkpoint that is still being installed.
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

    /// Answers reads whose state is new enough, up to the work of a turn.
    pub(super) fn answer_reads(&mut self) {
        let Self { node, group, leader, .. } = self;
        if let Some(leader) = leader {
            return leader.answer_reads(node, group);
        }
        // Without a leader no read is held. This empties the list of connections that may have room, or the node would not
        // sleep.
        while let Some((asker, _)) = node.connections.resume() {
            node.connections.refuse(asker, group.elsewhere(node));
        }
    }

    /// True if another request can be taken now.
    fn takes_requests(&self) -> bool {
        self.leader.as_ref().is_none_or(Leader::takes_requests)
    }

    /// The work done, and the work requested and not done yet.
    fn work_asked(&self) -> u64 {
        let asked = self.leader.as_ref().map_or(0, |leader| leader.proposals.work() + leader.reads.work());
        self.group.work_done() + asked
    }
}
