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
//!   ([`pushes`](super::pushes)).
//! - **Entries** are closed when their commands are much work, and applied up to the bound of one turn.
//! - **Reads** are answered up to the bound. A pass over many jobs lasts many turns
//!   ([`Passes`](super::browse::Passes)); so does one over many topics ([`topic_pass`](super::topic_pass)).

use super::Replica;
use super::group::Group;
use super::group::work::UNIT_BYTES;
use super::io::ConnectionId;
use super::leader::Leader;
use super::leader::proposals::Reply;
use super::node::Node;
use super::node::connections::{Asked, Asker};
use super::stopping::Stop;
use crate::engine::Command;
use crate::protocol::Request;
use crate::storage::StorageError;

/// The work of requests after which a turn takes no more.
const REQUESTS_WORK: u64 = 1024;
/// The work of requests, and of their effects, after which it is the next connection's turn.
const SHARE_WORK: u64 = 256;
/// No request is taken while the commands that are not applied yet have this much work.
const UNDER_WAY_WORK_MAX: u64 = 65_536;
/// No request is taken while this many reads wait for their answers.
const READS_MAX: usize = 1024;
/// Nor while they are this much work.
const READS_WORK_MAX: u64 = 8192;
/// The work of entries after which a turn applies no more.
const APPLY_WORK: u64 = 2048;
/// The bytes of committed entries that may wait. Beyond it, a follower that applies too slowly works longer than a turn.
const COMMITTED_BYTES_MAX: usize = 16 << 20;
/// The work of reads after which a turn answers no more.
const READS_WORK: u64 = 1024;

impl Leader {
    fn has_more_to_do(&self, node: &Node, group: &Group) -> bool {
        let reads = self.reads.any_ready(group.applied.0);
        // A bulk change finds its jobs after the entries of its turn were proposed.
        let commands = self.proposals.any_waiting() && self.may_propose(node, group);
        reads || commands || self.passes.are_any()
    }

    /// Adds a command to those that wait to be proposed. Begins to read the records that it will need from the disk.
    pub(super) fn add_command(&mut self, node: &Node, group: &Group, command: &Command<'_>, reply: Reply) {
        let work = group.engine.changes_of(command) + group.read_ahead(command);
        self.proposals.add(command, work, reply, node.now_us);
    }

    /// Answers the reads for which the state is new enough, until it was enough for a turn.
    pub(super) fn answer_reads(&mut self, node: &mut Node, group: &mut Group) {
        if group.raft.is_alone() {
            // No other node can lead: the applied state is the newest.
            self.reads.confirm_all();
        }
        let until = group.work_done() + READS_WORK;
        while group.work_done() < until
            && let Some((asker, request)) = node.connections.resume()
        {
            self.answer_read(node, group, asker, &request);
        }
        while group.work_done() < until
            && self.shows_what_is_due(node, group)
            && let Some((asker, request)) = self.reads.take_ready(group.applied.0)
        {
            if !node.connections.is_there(asker.connection) {
                group.work.count(1);
            } else if node.connections.must_wait(asker) {
                group.work.count(1);
                node.connections.hold(asker, request);
            } else {
                self.answer_read(node, group, asker, &request);
            }
        }
        self.go_on_browsing(node, group);
    }

    /// Whether the first ready read would see the jobs that were due when it came. If not, the next entry moves them, at once,
    /// and reads wait for it. They wait for no further entry: after an outage millions of jobs may be due.
    fn shows_what_is_due(&mut self, node: &Node, group: &mut Group) -> bool {
        let Some(stamp) = self.reads.first_ready(group.applied.0) else { return false };
        let is_moved = group.engine.stamp() >= stamp;
        // A stopping node moves no more jobs, and answers the requests.
        if is_moved || node.stop != Stop::No || !group.engine.is_overdue(stamp) {
            return true;
        }
        self.next_housekeeping_us = node.now_us;
        self.reads.await_entry(group.applied.0);
        false
    }

    fn answer_read(&mut self, node: &mut Node, group: &mut Group, asker: Asker, request: &Request) {
        group.work.count(1);
        if let Err(error) = self.read(node, group, asker, request) {
            group.unreadable(node, asker, &error);
        }
    }

    /// Whether another request can be taken now.
    fn takes_requests(&self) -> bool {
        let reads = self.reads.count() < READS_MAX && self.reads.work() < READS_WORK_MAX;
        reads && self.proposals.work() < UNDER_WAY_WORK_MAX
    }
}

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
        // Whoever was to get more room waits for nothing here.
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
