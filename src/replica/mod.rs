//! One node of one group: the engine joined to Raft, without sockets, files, clocks or threads.
//!
//! The driver (the server's core, or the simulator) passes events to [`Replica::handle`], then calls
//! [`Replica::poll`] for the actions to take: answers to send, a batch to make durable. Time is an argument.
//! [`Replica::next_wake_us`] returns when to call again if nothing happens.
//!
//! The path of a request: it waits for its connection's turn (`turns`). `requests` turns it into a command and adds
//! it to `proposals`. `poll` stamps the gathered commands and proposes them. When Raft reports the entry as durable
//! and committed, `outcomes` applies it to the engine and answers the waiting requests. Nothing is answered before
//! it is durable. Reads are answered from the applied state: at once on a single node, else when `read_index` has
//! confirmed that this node still led.
//!
//! Waiting consumers are not state. `waiters` has them, and `poll` proposes a reserve for them in the same entry
//! that moves the due jobs: one round trip through the log per delivery. Without a waiter nothing is proposed except
//! bounded housekeeping, so an idle queue writes nothing.

mod account;
mod audited;
mod browse;
mod bulk;
mod checkpoint;
mod clock;
mod cluster;
mod connections;
mod io;
mod leader_health;
mod leadership;
mod memory;
mod observe;
mod operator;
mod outcomes;
mod peers;
mod proposals;
mod pushes;
mod queries;
mod read_index;
mod recovery;
mod requests;
mod rights;
mod sessions;
mod shares;
mod snapshots;
mod state_trust;
mod stopping;
mod token_limits;
mod topic_pass;
mod turns;
mod waiters;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use account::{HeldMemory, MemoryAccount, MemoryShare};
pub use io::{
    Arrival, Audited, Bundle, CheckpointOrder, ConnectionId, Input, Notice, Now, Output, PeerInfo, Permit,
    ProbeError, ReplicaConfig, WriteBatch,
};
pub use observe::{CalledBack, OBSERVED_TOPICS_MAX, Observation};
pub use recovery::{Recovery, ReplayError};

use crate::engine::{Command, Engine};
use crate::protocol::Response;
use crate::raft::{Drained, Group, LostEntries, Message, TICK_MS};
use crate::storage::{LogEntry, Records, Recovered, Restored, StorageError};
use crate::types::limits::ENTRY_BYTES_TARGET;
use crate::types::{Lease, Millis, SessionId};
use browse::Passes;
use checkpoint::Checkpoints;
use clock::LeaderClock;
use cluster::Cluster;
use connections::Connections;
use memory::Memory;
use peers::{CLOCKS_AGREE_MS, Peers, Verdict};
use proposals::{Proposals, Reply};
use read_index::PendingReads;
use snapshots::Incoming;
use state_trust::Untrusted;
use stopping::Stop;
use token_limits::TokenLimits;
use turns::Turns;
use waiters::Waiters;

/// Batches handed out and not yet durable: one that is being written and one that waits for the disk.
const WRITES_IN_FLIGHT_MAX: usize = 2;
/// No batch is larger than this by more than one entry, in bytes: it is what the disk has unsynced at once.
const WRITE_BYTES_MAX: usize = 512 << 10;
/// The interval at which due jobs are moved without a waiter.
const HOUSEKEEPING_US: u64 = 1_000_000;
/// Ticks that are made up for after this node stood still: the others have not counted on it meanwhile.
const TICKS_AT_ONCE_MAX: u64 = 2;
/// The interval at which the wall clock is compared, to notice that somebody set it.
const CLOCK_CHECK_US: u64 = 1_000_000;
/// How long before they fire timers are put in order, so that an entry finds it done.
const PREPARE_AHEAD_MS: u64 = 3_000;
/// The number of timers in one go; at most one go in [`PREPARE_PAUSE_US`] unless something else happens.
const PREPARE_BUDGET: usize = 2048;
/// How long before they are due spilled jobs are loaded into memory.
const LOAD_AHEAD_MS: u64 = 60_000;
/// The number of these jobs in one go.
const LOAD_BUDGET: usize = 512;
/// Pause between two goes.
const PREPARE_PAUSE_US: u64 = 1_000;

/// One node of one group.
pub struct Replica {
    config: ReplicaConfig,
    group: Group,
    engine: Engine,
    records: Records,
    checkpoints: Checkpoints,
    /// The log is not needed up to here: to be said once.
    cut_through: Option<u64>,
    failure: Failure,
    /// Why the state cannot be relied on, if it cannot.
    untrusted: Option<Untrusted>,
    clock: LeaderClock,
    connections: Connections,
    waiters: Waiters,
    proposals: Proposals,
    reads: PendingReads,
    peers: Peers,
    cluster: Cluster,
    incoming: Incoming,
    /// Committed entries that wait for another turn, or until a checkpoint is installed that comes before them.
    committed: VecDeque<LogEntry>,
    turns: Turns,
    passes: Passes,
    /// Somebody became a member, ceased to be one, or moved: to be said once.
    members_changed: bool,
    /// To be handed out at the next poll.
    due: Vec<Output>,
    notices: Vec<Notice>,
    closes: Vec<ConnectionId>,
    /// Index and term of the last entry that was applied.
    applied: (u64, u64),
    started_us: u64,
    now_us: u64,
    wall: Millis,
    next_tick_us: u64,
    next_housekeeping_us: u64,
    /// While a checkpoint lags behind the log, nothing is proposed before: the last entry was a moment ago.
    next_proposal_us: u64,
    /// Sessions whose lapse or close is proposed: they cannot be resumed without another command.
    lapsing: BTreeSet<SessionId>,
    /// The sessions of each token, as far as this node opened them.
    token_limits: TokenLimits,
    /// Commands that end or resume these sessions, held back while reserves of theirs are in flight: undelivered grants are
    /// given back first.
    held_ends: BTreeMap<SessionId, Vec<(Command<'static>, Reply)>>,
    /// Leases that this leader itself gives back, as their jobs did not reach their consumer.
    given_back: BTreeSet<Lease>,
    /// The numbers of the batches that the disk has not reported durable.
    writes_in_flight: Vec<u64>,
    /// While there are some: when the disk began with the oldest of them.
    writing_since_us: u64,
    /// Whether all timers of the next seconds are in order, and no job that is due soon is spilled.
    prepared: bool,
    /// The term in which this node leads and has applied everything from before.
    serving_term: Option<u64>,
    disk_low: bool,
    memory: Memory,
    stop: Stop,
}

/// Whether the disk could be read. After a failure nothing more is done.
enum Failure {
    No,
    Happened(StorageError),
    /// Said with [`Output::Failed`].
    Told,
}

impl Replica {
    /// Begins a recovery from the log found on the disk, and the newest checkpoint.
    /// [`Recovery::replay`] follows, then [`Recovery::start`].
    pub fn recover(config: ReplicaConfig, recovered: Recovered, restored: Option<Restored>) -> Recovery {
        Recovery::new(config, recovered, restored)
    }

    /// Takes in an event. [`Self::poll`] returns the actions that follow.
    pub fn handle(&mut self, now: Now, input: Input) {
        self.look_at_clocks(now);
        match input {
            Input::Connected { connection, arrival } => {
                self.connections.add(connection, arrival, self.wall);
            }
            Input::Requests { connection, from, requests, permit } => {
                self.connections.ask(connection, from, requests, permit);
            }
            Input::Written { connection, bytes } => self.written(connection, bytes),
            Input::MemoryGivenBack => self.memory_given_back(),
            Input::NotSent { connection, leases } => self.not_sent(connection, leases),
            Input::Disconnected { connection } => self.disconnected(connection),
            Input::Persisted { number } => self.persisted(number),
            Input::PeerConnected { about } => self.peers.connected(about, self.now_us),
            Input::PeerLost { node } => {
                self.peers.lost(node);
                self.group.unreachable(node);
            }
            Input::Peer { from, bundle } => self.heard(from, bundle),
            Input::Probed { address, found } => self.probed(&address, found),
            Input::Fetched { entries } => {
                self.cluster.fetching = false;
                self.group.fetched(entries);
            }
            Input::SnapshotFetched { index, restored } => self.snapshot_fetched(index, restored),
            Input::SnapshotGone { index } => self.snapshot_gone(index),
            Input::SnapshotPulled { node } => self.peers.fetches(node, self.now_us),
            Input::SnapshotRefused { node } => self.group.snapshot_failed(node),
            Input::DiskLow(low) => self.disk_low = low,
            Input::Memory { resident_bytes } => self.memory_measured(resident_bytes),
            Input::CheckpointTook => self.checkpoints.taken(),
            Input::CheckpointAbandoned => self.checkpoint_abandoned(),
            Input::CheckpointUnreadable(error) => {
                self.checkpoint_abandoned();
                self.note_failure(Err(error));
            }
            Input::CheckpointDone(checkpoint) => {
                let done = self.checkpoint_done(checkpoint);
                self.note_failure(done);
            }
            Input::Stop => self.stop(),
        }
    }

    /// Does everything that can be done now, and hands over what the driver has to do.
    pub fn poll(&mut self, now: Now, outputs: &mut Vec<Output>) {
        self.look_at_clocks(now);
        if matches!(self.failure, Failure::No) {
            let done = self.work(outputs);
            self.note_failure(done);
        }
        if !matches!(self.failure, Failure::No) {
            // The answers may depend on an unreadable job.
            outputs.clear();
            if let Failure::Happened(error) = std::mem::replace(&mut self.failure, Failure::Told) {
                outputs.push(Output::Failed(error));
            }
            return;
        }
        outputs.append(&mut self.due);
        // Without a state this node has applied nothing.
        let applied = if self.has_lost_state() { 0 } else { self.applied.0 };
        self.peers.flush(self.wall, self.clock.shown_us(), applied, outputs);
        self.connections.flush(outputs);
        outputs.extend(self.closes.drain(..).map(|connection| Output::Close { connection }));
        outputs.extend(self.notices.drain(..).map(Output::Notice));
        if self.may_stop() {
            self.stop = Stop::Done;
            outputs.push(Output::Stopped);
        }
    }

    /// Whether this node is the only member.
    pub fn is_alone(&self) -> bool {
        self.group.is_alone()
    }

    /// Index of the last entry that was applied.
    pub fn applied_index(&self) -> u64 {
        self.applied.0
    }

    /// The wall clock by which jobs are due, in microseconds, as of the last [`Self::poll`].
    pub fn wall_us(&self) -> u64 {
        self.clock.wall_us()
    }

    /// Index of the last entry that was applied, and the hash of the state; `None` if the state is lost. Panics if the engine is
    /// not what its jobs say. For tests and for hunting a fault: it looks at every job.
    #[doc(hidden)]
    pub fn audit(&mut self) -> Option<(u64, u128)> {
        if self.has_lost_state() {
            return None;
        }
        self.engine.verify(&mut self.records);
        Some((self.applied.0, self.engine.state_hash()))
    }

    /// Does what can be done now, until a job cannot be read.
    fn work(&mut self, outputs: &mut Vec<Output>) -> Result<(), StorageError> {
        self.tick();
        // Received messages may have ended this node's leadership.
        self.follow_leadership();
        self.take_requests();
        self.take_snapshot_in();
        self.want_state();
        self.lapse_sessions();
        self.keep_cluster();
        self.transfer_leadership();
        if !self.group.is_alone()
            && let Some(context) = self.reads.ask()
        {
            self.group.read(context);
        }
        let loaded = self.load_ahead()?;
        // Apply committed entries first: their outcomes may queue waiters again, for the next proposal.
        loop {
            while let Some(drained) = self.group.drain() {
                self.carry_out(drained, outputs);
            }
            self.apply_committed()?;
            if !self.propose() {
                break;
            }
        }
        self.answer_reads();
        if let Some(wanted) = self.group.wanted().filter(|_| !self.cluster.fetching) {
            self.cluster.fetching = true;
            outputs.push(Output::Fetch(wanted));
        }
        if std::mem::take(&mut self.members_changed) {
            let members = self.engine.members().values().cloned().collect();
            let removed = self.engine.removed_members().collect();
            let feature_level = self.engine.feature_level();
            outputs.push(Output::Members { members, removed, feature_level });
        }
        let ahead = self.clock.stamp().after(PREPARE_AHEAD_MS);
        self.prepared = self.has_lost_state() || (self.engine.prepare(ahead, PREPARE_BUDGET) && loaded);
        self.note_memory();
        self.step_checkpoint(outputs)?;
        outputs.extend(self.checkpoints.take_backups());
        if let Some(through) = self.cut_through.take() {
            self.group.cut(through);
            outputs.push(Output::Cut { through });
        }
        Ok(())
    }

    /// Loads the jobs that are due soon. Whether those are all.
    fn load_ahead(&mut self) -> Result<bool, StorageError> {
        if self.has_lost_state() {
            return Ok(true);
        }
        let ahead = self.clock.stamp().after(LOAD_AHEAD_MS);
        self.engine.load_ahead(&mut self.records, ahead, LOAD_BUDGET)
    }

    /// Remembers the first failure: nothing is done after it.
    fn note_failure(&mut self, outcome: Result<(), StorageError>) {
        if let (Err(error), Failure::No) = (self.survive(outcome), &self.failure) {
            self.failure = Failure::Happened(error);
        }
    }

    /// Follows a change of the wall clock. Commands received after it also come after it in the log.
    fn look_at_clocks(&mut self, now: Now) {
        let passed_ms = now.elapsed_us.saturating_sub(self.now_us) / 1000;
        if now.wall.0.abs_diff(self.wall.0.saturating_add(passed_ms)) > CLOCKS_AGREE_MS {
            // It was set since the others showed theirs.
            self.peers.forget_clocks();
        }
        self.now_us = self.now_us.max(now.elapsed_us);
        self.wall = now.wall;
        let Some(by_ms) = self.clock.advance(now) else { return };
        // Among several members it counts only if most of their clocks show the same.
        if self.group.is_alone() || (self.is_serving() && self.verdict() == Verdict::Agreed) {
            self.clock.adopt(by_ms);
            self.notices.push(Notice::ClockStepped { by_ms });
            self.propose_offset();
        }
    }

    /// When to poll again although nothing happened, on the monotonic clock. Never further than a second away.
    pub fn next_wake_us(&mut self) -> u64 {
        let can_shrink = self.checkpoints.is_idle() && self.engine.can_shrink();
        if can_shrink
            || self.records.has_forgotten()
            || self.has_more_to_do()
            || (self.stop == Stop::Asked && self.proposals.is_idle())
        {
            return self.now_us;
        }
        let mut wake_us = self.now_us + if self.prepared { CLOCK_CHECK_US } else { PREPARE_PAUSE_US };
        if !self.group.is_alone() {
            wake_us = wake_us.min(self.next_tick_us);
        }
        wake_us = wake_us.min(self.next_keep_us());
        wake_us = wake_us.min(self.checkpoints.next_step_us().unwrap_or(u64::MAX));
        if self.is_serving() {
            let ends = [self.connections.next_grace_end_us(), self.waiters.next_deadline_us(self.now_us)];
            wake_us = ends.into_iter().flatten().fold(wake_us, u64::min);
            if self.writes_in_flight.len() < WRITES_IN_FLIGHT_MAX {
                let is_held_back = self.next_proposal_us > self.now_us;
                wake_us =
                    wake_us.min(if is_held_back { self.next_proposal_us } else { self.next_timer_us() });
            }
        }
        wake_us.max(self.now_us)
    }

    /// When a timer of the engine needs an entry: when it fires if somebody waits, else when housekeeping is next.
    /// Housekeeping gives way to a batch that is being written; the end of that wakes us.
    fn next_timer_us(&mut self) -> u64 {
        let stamp = self.clock.stamp();
        let housekeeping_us = if self.may_keep_house() { self.next_housekeeping_us } else { u64::MAX };
        let mut timer_us = if self.engine.is_overdue(stamp) { housekeeping_us } else { u64::MAX };
        if let Some(free) = self.engine.next_free(stamp, |topic| self.waiters.in_line(topic)) {
            timer_us = timer_us.min(self.clock.elapsed_at(free));
        }
        if let Some(deadline) = self.engine.next_deadline_after(stamp) {
            let fires_us = self.clock.elapsed_at(deadline);
            let waited_for = self.waiters.any_in_line();
            timer_us = timer_us.min(if waited_for { fires_us } else { fires_us.max(housekeeping_us) });
        }
        timer_us
    }

    fn carry_out(&mut self, drained: Drained, outputs: &mut Vec<Output>) {
        if let Some((number, batch)) = drained.persist {
            self.read_ahead_of(&batch.entries);
            if self.writes_in_flight.is_empty() {
                self.writing_since_us = self.now_us;
            }
            self.writes_in_flight.push(number);
            let first = batch.entries.first();
            let since_us = first.and_then(|entry| self.proposals.since_us(entry.term, entry.index));
            let since_us = since_us.unwrap_or(self.now_us);
            outputs.push(Output::Persist(WriteBatch { number, since_us, batch }));
        }
        for message in drained.messages {
            if let Some(offer) = message.snapshot() {
                if self.untrusted.is_some() {
                    continue;
                }
                self.peers.offered(message.to(), self.now_us);
                debug_assert!(offer.index > 0, "a checkpoint of something");
            }
            self.peers.say(message);
        }
        for (context, index) in drained.reads {
            self.reads.confirm(context, index);
        }
        self.committed.extend(drained.committed);
    }

    fn persisted(&mut self, number: u64) {
        self.writes_in_flight.retain(|order| *order > number);
        self.writing_since_us = self.now_us;
        if let Some(index) = self.group.persisted(number) {
            self.installed(index);
        }
    }

    /// Another node says something: one that is connected, for only then the driver knows that it is who it says.
    fn heard(&mut self, from: u64, bundle: Bundle) {
        if self.peers.one(from).is_none() {
            return;
        }
        let differs = self.peers.heard(from, &bundle, self.wall, self.now_us);
        self.compare_states(from, differs);
        let (stamp_us, applied) = (bundle.stamp_us, bundle.applied);
        for message in bundle.messages {
            if message.from() != from || message.to() != self.config.node {
                continue;
            }
            match message.snapshot() {
                Some(offer) => self.offered(message, offer.index),
                None if self.holds_back(&message) => {}
                None => self.step(message),
            }
        }
        if self.group.leader() == Some(from) {
            self.clock.follow(self.group.term(), stamp_us);
        } else if applied >= self.applied.0 {
            // Who lacks entries may go by a leader of before, whose stamps were ahead of those in them.
            self.clock.hear(stamp_us);
        }
    }

    /// Shows Raft what a member said.
    fn step(&mut self, message: Message) {
        if let Err(LostEntries { known, last }) = self.group.step(message) {
            self.note_failure(Err(StorageError::LostAcknowledged { known, last }));
        }
    }

    /// Whether the disk and the group can take another entry now.
    fn may_propose(&self) -> bool {
        self.is_serving()
            && self.group.takes_proposals()
            && self.now_us >= self.next_proposal_us
            && self.writes_in_flight.len() < WRITES_IN_FLIGHT_MAX
    }

    /// Stamps and proposes the commands that have gathered, and reserves for waiting consumers. Returns whether there was anything.
    /// What cannot be proposed yet waits.
    fn propose(&mut self) -> bool {
        if !self.may_propose() {
            return false;
        }
        let stamp = self.clock.stamp();
        self.take_turns(stamp);
        let pause_us = self.lagging_pause_us();
        let bytes_max = if pause_us == 0 { WRITE_BYTES_MAX } else { ENTRY_BYTES_TARGET };
        let housekeeping = self.housekeeping_is_due(stamp);
        let mut bytes = 0;
        while bytes < bytes_max && (self.proposals.any_waiting() || (bytes == 0 && housekeeping)) {
            let (data, proposal) = self.proposals.take_entry(stamp);
            let length = data.len();
            let Ok((term, index)) = self.group.propose(data) else {
                let replies = self.proposals.done(proposal);
                let elsewhere = self.elsewhere();
                self.answer_lost(replies, &elsewhere);
                return false;
            };
            self.proposals.proposed(term, index, proposal);
            bytes += length;
        }
        if bytes > 0 {
            self.next_proposal_us = self.now_us + pause_us;
        }
        bytes > 0
    }

    /// Proposes a reserve for each waiter that has jobs to expect from an entry with this stamp.
    fn take_turns(&mut self, stamp: Millis) {
        let mut coming = self.proposals.take_fresh();
        if self.waiters.any_in_line() {
            if self.engine.is_overdue(stamp)
                && self.engine.due_topics(stamp, &mut |topic| *coming.entry(topic).or_default() += 1)
            {
                // The awaited jobs may come after all of these.
                self.next_housekeeping_us = self.now_us;
            }
            let engine = &self.engine;
            let mut topics = self.waiters.waited_for(engine.deliverable_topics());
            topics.extend(coming.keys().filter(|topic| !engine.deliverable_topics().contains(topic)));
            topics.extend(engine.free_by(stamp).filter(|topic| self.waiters.in_line(*topic)));
            let available = |topic| engine.available(topic, coming.get(&topic).copied().unwrap_or(0), stamp);
            if coming.keys().any(|topic| self.waiters.in_line(*topic) && available(*topic) == 0) {
                // A lease that ends makes room, once it has ended.
                self.next_housekeeping_us = self.now_us;
            }
            let (connections, mut tight) = (&mut self.connections, Vec::new());
            let turns = self
                .waiters
                .take_turns(topics, available, |id| connections.room_for_turn(id, &mut tight) as u64);
            for turn in turns {
                let reply = Reply::Turn(turn.waiter, turn.claim);
                self.proposals.add(&turn.command(), turn.claim.jobs, reply, self.now_us);
            }
        }
        for over in self.waiters.take_expired(self.now_us) {
            self.connections.send(over.connection, over.request, Response::Reserved(Vec::new()));
        }
    }

    /// Whether an entry without commands is needed, to move due jobs that no consumer waits for.
    fn housekeeping_is_due(&mut self, stamp: Millis) -> bool {
        if self.proposals.any_waiting() || !self.engine.is_overdue(stamp) {
            return false;
        }
        if self.now_us < self.next_housekeeping_us || !self.may_keep_house() {
            return false;
        }
        // After a long stop there is more than one entry may move: go on at once until it is done.
        let pause_us = if self.engine.due_topics(stamp, &mut |_| {}) { 0 } else { HOUSEKEEPING_US };
        self.next_housekeeping_us = self.now_us + pause_us;
        true
    }

    fn may_keep_house(&self) -> bool {
        self.writes_in_flight.is_empty() && self.stop == Stop::No
    }

    /// Bytes of memory that the state takes, by and large, and one beside it that is to take its place.
    fn memory_bytes(&self) -> u64 {
        let states = std::iter::once((&self.engine, &self.records)).chain(self.incoming.state());
        states.map(|(engine, records)| (engine.memory_bytes() + records.memory_bytes()) as u64).sum()
    }

    fn tick(&mut self) {
        self.judge_leader_health();
        if self.group.is_alone() {
            self.next_tick_us = self.now_us;
            return;
        }
        self.peers.show_clock(self.group.members(), self.now_us);
        let tick_us = TICK_MS * 1000;
        self.next_tick_us =
            self.next_tick_us.max(self.now_us.saturating_sub(tick_us * (TICKS_AT_ONCE_MAX - 1)));
        while self.next_tick_us <= self.now_us {
            self.next_tick_us += tick_us;
            self.group.tick();
        }
    }

    fn propose_offset(&mut self) {
        if self.is_serving() {
            self.proposals.set_clock_offset(self.clock.offset_ms());
        }
    }
}
