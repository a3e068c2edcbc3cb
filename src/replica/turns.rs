//! A turn: the bounded work that a replica does before its driver checks for other inputs.
//!
//! Whatever clients ask for, a member must exchange messages with the others in time, or it loses leadership. So
//! each poll does a bounded amount of each kind of work and leaves the rest, in order, to the next, which the driver
//! makes at once ([`Replica::next_wake_us`]); before that the driver passes in new inputs, and ticks come first.
//!
//! Work is counted, not timed: a unit takes about a microsecond. A unit is a job that changes, a lease or a topic that is
//! looked up, or a KiB of a request or of a block that is read; each block counts some more. Whatever a request costs is in one
//! account, [`Replica::work_asked`]: what its check and its handler do at once, and what its commands and its answer will take.
//!
//! - **Requests** wait by connection, and connections take turns; a turn ends with the request that uses it up. None is taken
//!   while the entries that are not yet applied, or the reads that are not yet answered, are much work: so no client waits
//!   for long behind another's requests. The requests of a connection that is gone are taken in the same way.
//! - **A push** whose keys are those of many spilled jobs is proposed in parts, the next one when the one before it was applied
//!   ([`pushes`](super::pushes)).
//! - **Entries** are closed when their commands are much work, and applied up to the bound of one turn.
//! - **Reads** are answered up to the bound. A pass over many jobs lasts many turns
//!   ([`Passes`](super::browse::Passes)); so does one over many topics ([`topic_pass`](super::topic_pass)).

use super::connections::Asked;
use super::io::ConnectionId;
use super::proposals::Reply;
use super::requests::select_job;
use super::{Replica, Stop};
use crate::engine::{Command, Place};
use crate::protocol::{Request, RequestId};
use crate::storage::{LogEntry, StorageError};

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
/// The work of reading a block from a chunk on the disk, however short it is.
const BLOCK_WORK: u64 = 64;
/// The bytes of a request, or of a block, that are one unit of work.
const UNIT_BYTES: u64 = 1024;

/// The work left for the next turn.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Work that was done, but for what engine and store count.
    done: u64,
}

impl Turns {
    /// Adds to the work done.
    pub(super) fn count(&mut self, work: u64) {
        self.done += work;
    }
}

impl Replica {
    /// Whether there is something to be done at once, without anything that comes.
    pub(super) fn has_more_to_do(&self) -> bool {
        let entries = !self.committed.is_empty() && !self.group.is_installing();
        let requests = self.connections.any_asked() && self.takes_requests();
        let reads = self.reads.any_ready(self.applied.0) || self.connections.any_resumable();
        // A bulk change finds its jobs after the entries of its turn were proposed.
        let commands = self.proposals.any_waiting() && self.may_propose();
        entries || requests || reads || commands || self.passes.are_any()
    }

    /// Takes requests that wait, connection by connection.
    pub(super) fn take_requests(&mut self) {
        let until = self.work_done() + REQUESTS_WORK;
        while self.work_done() < until
            && self.takes_requests()
            && let Some(connection) = self.connections.next_asker()
        {
            let share = self.work_asked() + SHARE_WORK;
            while self.work_asked() < share
                && self.takes_requests()
                && let Some(asked) = self.connections.take_asked(connection)
            {
                self.take(connection, asked);
            }
            self.connections.end_turn(connection);
            self.forget_if_done(connection);
        }
    }

    /// All that a connection asked for and that was not taken: this node stops, and refuses it.
    pub(super) fn take_last_requests(&mut self, connection: ConnectionId) {
        while let Some(asked) = self.connections.take_asked(connection) {
            self.take(connection, asked);
        }
    }

    fn take(&mut self, connection: ConnectionId, asked: Asked) {
        let bytes = self.proposals.bytes();
        match asked {
            Asked::Request(id, request) => self.request(connection, id, request),
            Asked::Rest(rest) => self.push_on(connection, rest),
        }
        let added_bytes = self.proposals.bytes().saturating_sub(bytes);
        self.turns.count(1 + added_bytes as u64 / UNIT_BYTES);
    }

    /// Adds a command to those that wait to be proposed. Begins to read the records that it will need from the disk.
    pub(super) fn add_command(&mut self, command: &Command<'_>, reply: Reply) {
        let work = self.engine.changes_of(command) + self.read_ahead(command);
        self.proposals.add(command, work, reply, self.now_us);
    }

    /// Begins to read what a command will need of the disk, without waiting for it. How much work that is at most.
    fn read_ahead(&self, command: &Command<'_>) -> u64 {
        self.engine.places_named(command).map(|place| self.work_of_block(place)).sum()
    }

    /// Begins to read a record. How much work that is at most; 0 if it is in memory.
    pub(super) fn work_of_block(&self, place: Place) -> u64 {
        match self.records.read_ahead(place) {
            0 => 0,
            bytes => reading(1, bytes),
        }
    }

    /// The same for the commands of entries that the leader has sent, and that will be applied when they are committed.
    pub(super) fn read_ahead_of(&self, entries: &[LogEntry]) {
        if self.engine.spilled_jobs() == 0 || self.group.is_leader() {
            return;
        }
        for entry in entries {
            if let Ok(Some(decoded)) = super::recovery::decode(entry) {
                decoded.commands.iter().for_each(|command| _ = self.read_ahead(command));
            }
        }
    }

    /// Applies committed entries until the turn's work is done, except those after a checkpoint that is not installed
    /// yet.
    pub(super) fn apply_committed(&mut self) -> Result<(), StorageError> {
        if !self.group.is_installing() {
            let until = self.work_done() + APPLY_WORK;
            let mut bytes: usize = self.committed.iter().map(|entry| entry.data.len()).sum();
            while (self.work_done() < until || bytes > COMMITTED_BYTES_MAX)
                && let Some(entry) = self.committed.pop_front()
            {
                bytes -= entry.data.len();
                self.turns.done += 1;
                if self.has_lost_state() {
                    self.pass_over(&entry);
                } else {
                    let applied = self.apply(&entry);
                    self.survive(applied)?;
                }
            }
            self.group.applied(self.applied.0);
        }
        self.follow_leadership();
        Ok(())
    }

    /// Answers the reads for which the state is new enough, until it was enough for a turn.
    pub(super) fn answer_reads(&mut self) {
        if self.group.is_alone() && self.is_serving() {
            // No other node can lead: the applied state is the newest.
            self.reads.confirm_all();
        }
        let until = self.work_done() + READS_WORK;
        while self.work_done() < until
            && let Some((connection, id, request)) = self.connections.resume()
        {
            self.answer_read(connection, id, &request);
        }
        while self.work_done() < until
            && self.shows_what_is_due()
            && let Some((connection, id, request)) = self.reads.take_ready(self.applied.0)
        {
            if !self.connections.is_there(connection) {
                self.turns.done += 1;
            } else if self.connections.must_wait(connection, id) {
                self.turns.done += 1;
                self.connections.hold(connection, id, request);
            } else {
                self.answer_read(connection, id, &request);
            }
        }
        self.go_on_browsing();
    }

    /// Whether the first ready read would see the jobs that were due when it came. If not, the next entry moves them, at once,
    /// and reads wait for it. They wait for no further entry: after an outage millions of jobs may be due.
    fn shows_what_is_due(&mut self) -> bool {
        let Some(stamp) = self.reads.first_ready(self.applied.0) else { return false };
        let is_moved = self.engine.stamp() >= stamp;
        // A stopping node moves no more jobs, and answers the requests.
        if is_moved || self.stop != Stop::No || !self.engine.is_overdue(stamp) {
            return true;
        }
        self.next_housekeeping_us = self.now_us;
        self.reads.await_entry(self.applied.0);
        false
    }

    fn answer_read(&mut self, connection: ConnectionId, id: RequestId, request: &Request) {
        self.turns.done += 1;
        if let Err(error) = self.read(connection, id, request) {
            self.unreadable(connection, id, &error);
        }
    }

    /// Whether another request can be taken now.
    fn takes_requests(&self) -> bool {
        let reads = self.reads.count() < READS_MAX && self.reads.work() < READS_WORK_MAX;
        reads && self.proposals.work() < UNDER_WAY_WORK_MAX
    }

    /// How much work it will be to answer a read, by and large. A [pass](super::browse::Passes) is in an account of its own.
    pub(super) fn work_of_read(&self, request: &Request) -> u64 {
        match request {
            Request::Topics | Request::Stats => self.engine.topic_count() as u64,
            Request::Count(filter) if filter.topic.is_none() => self.engine.topic_count() as u64,
            Request::Leases { jobs_max, .. } => u64::from(*jobs_max),
            Request::Get(job) => {
                1 + self.engine.place_of(&select_job(job)).map_or(0, |place| self.work_of_block(place))
            }
            _ => 1,
        }
    }

    /// Work that was done since this node started.
    pub(super) fn work_done(&self) -> u64 {
        let read = reading(self.records.blocks_read(), self.records.block_bytes_read());
        self.turns.done + self.engine.changes() + read
    }

    /// The same, and what was asked for and is not done yet.
    fn work_asked(&self) -> u64 {
        self.work_done() + self.proposals.work() + self.reads.work()
    }
}

/// How much work it is to read these blocks.
fn reading(blocks: u64, bytes: u64) -> u64 {
    blocks * BLOCK_WORK + bytes / UNIT_BYTES
}
