//! One node of one group: the engine joined to Raft, without sockets, files, clocks or threads.
//!
//! The driver (the server's core, or the simulator) passes events to [`Replica::handle`], then calls
//! [`Replica::poll`] for the actions to take: answers to send, a batch to make durable. Time is an argument.
//! [`Replica::next_wake_us`] returns when to call again if no event comes before.
//!
//! Three owners share the work. A leader may change its group and its node, and a group its node, but not the other way
//! round:
//!
//! - the **node** (`node`): clients' connections, the other nodes, memory, clocks, and the outputs;
//! - its **group** (`group`): Raft, writes in flight, the state, checkpoints;
//! - the **leader** (`leader`), while this node leads and serves: waiting clients, and their work in the log. It is an
//!   `Option`: when leadership is lost, it is taken out, and its last act is to tell waiting clients where to go.
//!
//! The path of a request: it waits for its connection's turn (`turns`). `leader::requests` turns it into a command and adds
//! it to `leader::proposals`. `poll` stamps the collected commands and proposes them (`leader`). When Raft reports the
//! entry as durable and committed, `group::apply` applies it to the engine, and `leader::outcomes` answers the waiting
//! requests. Nothing is answered before it is durable, except for volatile leases on a single node. Reads are answered from
//! the applied state: at once on a single node, else when `leader::reads` has confirmed that this node still led.
//!
//! Waiting consumers are not part of the state. `leader::waiters` keeps them, and `poll` proposes a reserve for them in the
//! same entry that moves the due jobs: one round trip through the log per delivery. Without a waiter nothing is proposed
//! except bounded housekeeping, so an idle queue writes nothing.

mod account;
mod audited;
mod group;
mod io;
mod leader;
mod node;
mod observe;
mod recovery;
mod refusals;
mod rights;
mod secrets;
mod selects;
mod stopping;
mod token_limits;
mod turns;

pub use account::{HeldMemory, MemoryAccount, MemoryShare};
pub use io::{
    Arrival, Audited, Bundle, CheckpointOrder, ConnectionId, Input, Notice, Now, Output, PeerInfo, Permit,
    ProbeError, ReplicaConfig, WriteBatch,
};
pub use observe::{CalledBack, OBSERVED_TOPICS_MAX, Observation};
pub use recovery::{Recovery, ReplayError};

use adjourn_raft::Drained;
use adjourn_storage::{Recovered, Restored, StorageError};
use group::Group;
use leader::Leader;
use node::Node;
use stopping::Stop;

/// How often the wall clock is checked for having been set, in microseconds.
const CLOCK_CHECK_US: u64 = 1_000_000;
/// The pause between steps of sorting timers and loading jobs ahead, while there is more to do, in microseconds.
const PREPARE_PAUSE_US: u64 = 1_000;

/// One node of one group.
pub struct Replica {
    node: Node,
    group: Group,
    /// Set while this node leads and has applied all earlier entries: then it serves requests.
    leader: Option<Leader>,
    failure: Failure,
}

/// The first failure to read the disk. After it, nothing more is done.
enum Failure {
    No,
    Happened(StorageError),
    /// Reported with [`Output::Failed`].
    Told,
}

impl Replica {
    /// Begins a recovery from the log on disk and the newest checkpoint. [`Recovery::replay`] follows, then
    /// [`Recovery::start`].
    pub fn recover(config: ReplicaConfig, recovered: Recovered, restored: Option<Restored>) -> Recovery {
        Recovery::new(config, recovered, restored)
    }

    /// Handles an event. [`Self::poll`] returns the actions that follow.
    pub fn handle(&mut self, now: Now, input: Input) {
        self.look_at_clocks(now);
        let Self { node, group, leader, .. } = self;
        match input {
            Input::Connected { connection, arrival } => node.connections.add(connection, arrival, node.wall),
            Input::Requests { connection, from, requests, permit } => {
                node.connections.ask(connection, from, requests, permit);
            }
            Input::Written { connection, bytes } => {
                node.connections.written(connection, bytes);
                self.line_up(connection);
            }
            Input::MemoryGivenBack => {
                for connection in node.connections.take_short() {
                    self.line_up(connection);
                }
            }
            Input::NotSent { connection, leases } => {
                if let Some(leader) = leader {
                    leader.not_sent(node, group, connection, leases);
                }
            }
            Input::CallsSuspended { topic, for_ms } => {
                if let Some(leader) = leader {
                    leader.calls_suspended(node, topic, for_ms);
                }
            }
            Input::Disconnected { connection } => self.disconnected(connection),
            Input::Persisted { number } => group.persisted(node, number),
            Input::PeerConnected { about } => node.peers.connected(about, node.now_us),
            Input::PeerLost { node: lost } => {
                node.peers.lost(lost);
                group.raft.unreachable(lost);
            }
            Input::Peer { from, bundle } => {
                let heard = group.heard(node, from, bundle);
                self.note_failure(heard);
            }
            Input::Probed { address, found } => {
                if let Some(leader) = leader {
                    leader.changes.probed(node, group, &address, found);
                }
            }
            Input::Fetched { entries } => group.fetched(entries),
            Input::SnapshotFetched { index, restored } => {
                let fits = group.snapshot_fetched(node, index, restored);
                self.note_failure(fits);
            }
            Input::SnapshotGone { index } => group.snapshot_gone(index),
            Input::SnapshotPulled { node: by } => node.peers.fetches(by, node.now_us),
            Input::SnapshotRefused { node: by } => group.raft.snapshot_failed(by),
            Input::DiskLow(low) => node.disk_low = low,
            Input::Memory { resident_bytes } => group.memory_measured(node, resident_bytes),
            Input::CheckpointTook => group.checkpoints.taken(),
            Input::CheckpointAbandoned => group.checkpoint_abandoned(node),
            Input::CheckpointUnreadable(error) => {
                group.checkpoint_abandoned(node);
                self.note_failure(Err(error));
            }
            Input::CheckpointDone(checkpoint) => {
                let done = group.checkpoint_done(node, checkpoint);
                self.note_failure(done);
            }
            Input::Stop => self.stop(),
        }
    }

    /// Does all work that is possible now, and returns the actions for the driver.
    pub fn poll(&mut self, now: Now, outputs: &mut Vec<Output>) {
        self.look_at_clocks(now);
        if matches!(self.failure, Failure::No) {
            let done = self.work(outputs);
            self.note_failure(done);
        }
        if !matches!(self.failure, Failure::No) {
            // Answers may depend on a job that cannot be read.
            outputs.clear();
            if let Failure::Happened(error) = std::mem::replace(&mut self.failure, Failure::Told) {
                outputs.push(Output::Failed(error));
            }
            return;
        }
        let Self { node, group, .. } = self;
        outputs.append(&mut node.due);
        node.peers.flush(node.wall, group.state.clock.shown_us(), group.shown_applied(), outputs);
        node.flush(outputs);
        if self.may_stop() {
            self.node.stop = Stop::Done;
            outputs.push(Output::Stopped);
        }
    }

    /// True if this node is the only member.
    pub fn is_alone(&self) -> bool {
        self.group.raft.is_alone()
    }

    /// Index of the last entry that was applied.
    pub fn applied_index(&self) -> u64 {
        self.group.applied.0
    }

    /// The queue's monotonic clock as of the last [`Self::poll`], in microseconds: leases end by it. It is the driver's,
    /// unless it is [manual](Recovery::with_manual_clock).
    pub fn clock_us(&self) -> u64 {
        self.node.queue_us
    }

    /// The wall clock that decides which jobs are due, in microseconds, as of the last [`Self::poll`].
    pub fn wall_us(&self) -> u64 {
        self.group.state.clock.wall_us()
    }

    /// The index of the last applied entry and the state hash; `None` if the state is lost. Panics if the engine is
    /// inconsistent. For tests and debugging: it visits every job.
    #[doc(hidden)]
    pub fn audit(&mut self) -> Option<(u64, u128)> {
        let group = &mut self.group;
        if group.has_lost_state() {
            return None;
        }
        group.state.engine.verify(&mut group.state.records);
        Some((group.applied.0, group.state.engine.state_hash()))
    }

    /// Does the work of one poll, unless a job cannot be read.
    fn work(&mut self, outputs: &mut Vec<Output>) -> Result<(), StorageError> {
        self.group.tick(&mut self.node);
        // Received messages may have ended this node's leadership.
        self.follow_leadership();
        self.take_requests();
        let stepped = self.group.take_snapshot_in();
        self.note_failure(stepped);
        self.group.want_state();
        self.lead();
        self.transfer_leadership();
        self.ask_for_reads();
        let loaded = self.group.load_ahead()?;
        // Apply committed entries first: their outcomes may let waiters reserve again in the next proposal.
        loop {
            while let Some(drained) = self.group.raft.drain() {
                self.carry_out(drained, outputs);
            }
            self.apply_committed()?;
            let Self { node, group, leader, .. } = self;
            let Some(leader) = leader else { break };
            leader.fire_schedules(node, group);
            if !leader.propose(node, group) {
                break;
            }
        }
        self.answer_reads();
        let Self { node, group, leader, .. } = self;
        outputs.extend(group.take_wanted());
        outputs.extend(group.take_members());
        group.prepare(loaded);
        group.note_memory(node);
        if let Some(leader) = leader {
            leader.end_advances(node, group);
        }
        group.step_checkpoint(node, outputs)?;
        outputs.extend(group.checkpoints.take_backups());
        outputs.extend(group.take_cut());
        Ok(())
    }

    /// Begins to serve once an entry of this node's own term is applied, and ends when it no longer leads.
    fn follow_leadership(&mut self) {
        let Self { node, group, leader, .. } = self;
        group.set_clock(node);
        let serves = group.may_serve();
        if let Some(former) = leader.take_if(|leader| serves != Some(leader.term)) {
            former.end(node, group);
        }
        if leader.is_none()
            && let Some(term) = serves.filter(|term| *term == group.applied.1)
        {
            *leader = Some(Leader::begin(node, group, term));
        }
        group.tell_leader(node);
    }

    /// Work of a leader that no request triggers.
    fn lead(&mut self) {
        let Self { node, group, leader, .. } = self;
        if let Some(leader) = leader {
            leader.advance_to_found(node, group);
            leader.lapse_sessions(node, group);
        }
        if group.is_keep_due(node) {
            // Also before this node serves: its majority may need the member that fetches.
            group.follow_fetches(node);
            if let Some(leader) = leader {
                leader.changes.keep(node, group, &mut leader.proposals);
            }
        }
    }

    /// Asks Raft whether this node still leads, for the reads that have arrived.
    fn ask_for_reads(&mut self) {
        let Self { group, leader, .. } = self;
        if !group.raft.is_alone()
            && let Some(leader) = leader
            && let Some(context) = leader.reads.ask(&mut group.last_read)
        {
            group.raft.read(context);
        }
    }

    fn carry_out(&mut self, drained: Drained, outputs: &mut Vec<Output>) {
        let Self { node, group, leader, .. } = self;
        if let Some((number, batch)) = drained.persist {
            let first = batch.entries.first().zip(leader.as_ref());
            let since_us =
                first.and_then(|(first, leader)| leader.proposals.since_us(first.term, first.index));
            let is_volatile =
                leader.as_ref().is_some_and(|leader| leader.proposals.are_volatile(&batch.entries));
            outputs.push(group.persist(node, number, batch, since_us, is_volatile));
        }
        group.say(node, drained.messages);
        if let Some(leader) = leader {
            drained.reads.into_iter().for_each(|(context, index)| leader.reads.confirm(context, index));
        }
        group.log.committed.extend(drained.committed);
    }

    /// Keeps the first failure: no work is done after it.
    fn note_failure(&mut self, outcome: Result<(), StorageError>) {
        let survived = self.group.survive(&mut self.node, outcome);
        if let (Err(error), Failure::No) = (survived, &self.failure) {
            self.failure = Failure::Happened(error);
        }
    }

    /// Follows a change of the wall clock. Commands that arrive after it also come after it in the log.
    fn look_at_clocks(&mut self, now: Now) {
        let Self { node, group, leader, .. } = self;
        node.look_at_clocks(now);
        let Some(by_ms) = group.state.clock.advance(node.queue_now()) else { return };
        let Some(by_ms) = group.believed_step_ms(node, leader.is_some(), by_ms) else { return };
        group.state.clock.adopt(by_ms);
        node.notices.push(Notice::ClockStepped { by_ms });
        if let Some(leader) = leader {
            leader.propose_offset(group);
        }
    }

    /// When to poll again if no event comes before, on the monotonic clock; at most a second ahead.
    pub fn next_wake_us(&mut self) -> u64 {
        if self.group.can_free_memory() || self.has_more_to_do() || self.is_stopping_idly() {
            return self.node.now_us;
        }
        let Self { node, group, leader, .. } = self;
        let mut wake_us = node.now_us + if group.prepared { CLOCK_CHECK_US } else { PREPARE_PAUSE_US };
        if !group.raft.is_alone() {
            wake_us = wake_us.min(group.next_tick_us);
        }
        wake_us = wake_us.min(group.checkpoints.next_step_us().unwrap_or(u64::MAX));
        if let Some(leader) = leader {
            wake_us = wake_us.min(leader.next_wake_us(node, group));
        }
        wake_us.max(node.now_us)
    }

    /// Lets the waiters of a connection try again: it may have room.
    fn line_up(&mut self, connection: ConnectionId) {
        if let Some(leader) = &mut self.leader {
            leader.waiters.line_up_all(connection);
        }
    }

    /// A client is gone. Its earlier requests that affect others are still carried out, in its turns.
    fn disconnected(&mut self, connection: ConnectionId) {
        if let Some(leader) = &mut self.leader {
            leader.stop_waiting(connection);
        }
        self.node.connections.leave(connection);
        self.forget_if_done(connection);
    }

    /// Forgets a connection of a gone client once all its requests are taken up.
    fn forget_if_done(&mut self, connection: ConnectionId) {
        let Self { node, leader, .. } = self;
        match leader {
            Some(leader) => leader.forget_if_done(node, connection),
            None if node.connections.is_done(connection) => _ = node.connections.remove(connection),
            None => {}
        }
    }
}
