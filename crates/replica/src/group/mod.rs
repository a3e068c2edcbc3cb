//! This node's part of a group: Raft and its log, the state, and the checkpoints.
//!
//! Every member has one. The work that only a leader does is in [`leader`](super::leader).

pub(crate) mod apply;
pub(crate) mod checkpoint;
pub(crate) mod clock;
pub(crate) mod cluster;
pub(crate) mod snapshots;
pub(crate) mod state;
mod trust;
pub(crate) mod work;

use std::collections::VecDeque;

use crate::group::checkpoint::Checkpoints;
use crate::group::cluster::Cluster;
use crate::group::snapshots::Incoming;
use crate::group::state::State;
use crate::group::trust::Untrusted;
use crate::group::work::{Work, reading};
use crate::io::{Bundle, Notice, Output, WriteBatch};
use crate::node::Node;
use crate::stopping::Stop;
use adjourn_raft::{LostEntries, Message, TICK_MS};
use adjourn_storage::{LogEntry, PersistBatch, StorageError};

/// Most ticks that are made up for after this node was suspended: the others did not wait for it.
const TICKS_AT_ONCE_MAX: u64 = 2;
/// Timers are sorted this long before they fire, so that an entry need not do it.
const PREPARE_AHEAD_MS: u64 = 3_000;
/// Timers sorted in one step; at most one step per [`PREPARE_PAUSE_US`](super::PREPARE_PAUSE_US), unless another event
/// comes.
const PREPARE_BUDGET: usize = 2048;
/// Spilled jobs are loaded into memory this long before they are due.
const LOAD_AHEAD_MS: u64 = 60_000;
/// Spilled jobs loaded in one step.
const LOAD_BUDGET: usize = 512;

/// One member of a group.
pub(super) struct Group {
    pub(super) raft: adjourn_raft::Group,
    pub(super) state: State,
    /// Index and term of the last applied entry.
    pub(super) applied: (u64, u64),
    /// Set if the state is not trusted.
    pub(super) untrusted: Option<Untrusted>,
    pub(super) log: Log,
    pub(super) checkpoints: Checkpoints,
    pub(super) incoming: Incoming,
    pub(super) work: Work,
    pub(super) cluster: Cluster,
    /// The number of the last question whether this node still leads. Numbers are never reused, even by a later leadership.
    pub(super) last_read: u64,
    /// True if a member was added, removed or changed, until the driver is told.
    pub(super) members_changed: bool,
    /// True if all timers of the next seconds are sorted, and all spilled jobs that are due soon are loaded.
    pub(super) prepared: bool,
    pub(super) next_tick_us: u64,
}

/// Entries in flight: to the disk, and from there to the state.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The numbers of batches that are not durable yet.
    pub(super) in_flight: Vec<u64>,
    /// When the disk began with the oldest of these batches.
    pub(super) writing_since_us: u64,
    /// Committed entries that wait for their turn, or for a checkpoint to be installed before them.
    pub(super) committed: VecDeque<LogEntry>,
    /// True while entries are read from disk, for a member that lags.
    pub(super) is_fetching: bool,
    /// The log is not needed up to this entry, until the driver is told.
    pub(super) cut_through: Option<u64>,
}

impl Group {
    /// Loads spilled jobs that are due soon. Returns true if none are left.
    pub(super) fn load_ahead(&mut self) -> Result<bool, StorageError> {
        if self.has_lost_state() {
            return Ok(true);
        }
        let ahead = self.state.clock.stamp().after(LOAD_AHEAD_MS);
        self.state.engine.load_ahead(&mut self.state.records, ahead, LOAD_BUDGET)
    }

    /// Sorts the next timers. `loaded` is true if all jobs that are due soon are in memory.
    pub(super) fn prepare(&mut self, loaded: bool) {
        let ahead = self.state.clock.stamp().after(PREPARE_AHEAD_MS);
        self.prepared = self.has_lost_state() || (self.state.engine.prepare(ahead, PREPARE_BUDGET) && loaded);
    }

    /// Passes a batch to the disk. `since_us` is when its oldest command was taken up, if it was on this node.
    /// `is_volatile` is true if it only grants volatile leases.
    pub(super) fn persist(
        &mut self,
        node: &Node,
        number: u64,
        batch: PersistBatch,
        since_us: Option<u64>,
        is_volatile: bool,
    ) -> Output {
        // Other members rely on what this node has told them.
        let is_volatile = is_volatile && batch.vote.is_none() && self.raft.stays_alone();
        self.read_ahead_of(&batch.entries);
        if self.log.in_flight.is_empty() {
            self.log.writing_since_us = node.now_us;
        }
        self.log.in_flight.push(number);
        let since_us = since_us.unwrap_or(node.now_us);
        Output::Persist(WriteBatch { number, since_us, batch, is_volatile })
    }

    pub(super) fn persisted(&mut self, node: &mut Node, number: u64) {
        self.log.in_flight.retain(|order| *order > number);
        self.log.writing_since_us = node.now_us;
        if let Some(index) = self.raft.persisted(number) {
            self.installed(node, index);
        }
    }

    /// Sends Raft's messages to the other members.
    pub(crate) fn say(&self, node: &mut Node, messages: Vec<Message>) {
        for message in messages {
            if let Some(offer) = message.snapshot() {
                if self.untrusted.is_some() {
                    continue;
                }
                node.peers.offered(message.to(), node.now_us);
                debug_assert!(offer.index > 0, "a checkpoint of something");
            }
            node.peers.say(message);
        }
    }

    /// Handles a bundle from another node. Ignores it unless the node is connected: only then the driver has identified it.
    pub(crate) fn heard(&mut self, node: &mut Node, from: u64, bundle: Bundle) -> Result<(), StorageError> {
        if node.peers.one(from).is_none() {
            return Ok(());
        }
        let differs = node.peers.heard(from, &bundle, node.wall, node.now_us);
        self.compare_states(node, from, differs);
        let (stamp_us, applied) = (bundle.stamp_us, bundle.applied);
        let mut heard = Ok(());
        for message in bundle.messages {
            if message.from() != from || message.to() != node.config.node {
                continue;
            }
            let stepped = match message.snapshot() {
                Some(offer) => self.offered(node, message, offer.index),
                None if self.holds_back(node, &message) => Ok(()),
                None => self.step(message),
            };
            heard = heard.and(stepped);
        }
        if self.raft.leader() == Some(from) {
            self.state.clock.follow(self.raft.term(), stamp_us);
        } else if applied >= self.applied.0 {
            // A member that lags may still follow the previous leader, whose stamps were ahead of those in its entries.
            self.state.clock.hear(stamp_us);
        }
        heard
    }

    /// Passes a message to Raft.
    pub(super) fn step(&mut self, message: Message) -> Result<(), StorageError> {
        let stepped = self.raft.step(message);
        stepped.map_err(|LostEntries { known, last }| StorageError::LostAcknowledged { known, last })
    }

    pub(super) fn tick(&mut self, node: &mut Node) {
        self.judge_leader_health(node);
        if self.raft.is_alone() {
            self.next_tick_us = node.now_us;
            return;
        }
        node.peers.show_clock(self.raft.members(), node.now_us);
        let tick_us = TICK_MS * 1000;
        self.next_tick_us =
            self.next_tick_us.max(node.now_us.saturating_sub(tick_us * (TICKS_AT_ONCE_MAX - 1)));
        while self.next_tick_us <= node.now_us {
            self.next_tick_us += tick_us;
            self.raft.tick();
        }
    }

    /// Takes the entries that were read from disk for a member.
    pub(super) fn fetched(&mut self, entries: Vec<LogEntry>) {
        self.log.is_fetching = false;
        self.raft.fetched(entries);
    }

    /// Sets the clock of a leader that has followed no other since its start. From now on the other members follow its
    /// stamp. A single clock may have been set unnoticed, so a majority's is used. If the state is lost, the offset of the
    /// wall clock is not known.
    pub(super) fn set_clock(&mut self, node: &Node) {
        if self.raft.is_leader() && !self.state.clock.is_set() && !self.has_lost_state() {
            let members = self.raft.members();
            self.state.clock.catch_up(node.peers.reached(node.config.node, members, node.wall, node.now_us));
        }
    }

    /// The term in which this node leads and may serve clients.
    pub(super) fn may_serve(&self) -> Option<u64> {
        (self.raft.is_leader() && self.untrusted.is_none()).then(|| self.raft.term())
    }

    /// Tells the driver about a new leader on another node.
    pub(super) fn tell_leader(&mut self, node: &mut Node) {
        let leader = self.raft.leader().filter(|leader| *leader != node.config.node);
        if leader != self.cluster.leader_told {
            self.cluster.leader_told = leader;
            node.notices.extend(leader.map(|leader| Notice::Follows { leader }));
        }
    }

    /// True if memory can be freed now.
    pub(super) fn can_free_memory(&self) -> bool {
        (self.checkpoints.is_idle() && self.state.engine.can_shrink()) || self.state.records.has_forgotten()
    }

    /// The members for the driver, once after each change.
    pub(super) fn take_members(&mut self) -> Option<Output> {
        std::mem::take(&mut self.members_changed).then(|| Output::Members {
            members: self.state.engine.members().values().cloned().collect(),
            removed: self.state.engine.removed_members().collect(),
            feature_level: self.state.engine.feature_level(),
        })
    }

    /// A read of log entries for a member, unless one is in progress.
    pub(super) fn take_wanted(&mut self) -> Option<Output> {
        let wanted = self.raft.wanted().filter(|_| !self.log.is_fetching)?;
        self.log.is_fetching = true;
        Some(Output::Fetch(wanted))
    }

    /// The truncation of the log for the driver, once.
    pub(super) fn take_cut(&mut self) -> Option<Output> {
        let through = self.log.cut_through.take()?;
        self.raft.cut(through);
        Some(Output::Cut { through })
    }

    /// The index of the last applied entry; 0 if the state is lost.
    pub(super) fn shown_applied(&self) -> u64 {
        if self.has_lost_state() { 0 } else { self.applied.0 }
    }

    /// An estimate of the memory of the state, and of an incoming state that will replace it, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let states = std::iter::once((&self.state.engine, &self.state.records)).chain(self.incoming.state());
        states.map(|(engine, records)| (engine.memory_bytes() + records.memory_bytes()) as u64).sum()
    }

    /// Takes a measurement of the process's memory.
    pub(super) fn memory_measured(&self, node: &mut Node, resident_bytes: u64) {
        let of_state = resident_bytes.saturating_sub(node.config.memory_account.taken() as u64);
        let (estimated_bytes, checkpoint_bytes) = (self.memory_bytes(), self.checkpoint_memory_bytes(node));
        node.memory.measured(of_state, estimated_bytes, checkpoint_bytes);
    }

    /// Updates the memory estimate. It changes when an entry is applied or something is evicted.
    pub(super) fn note_memory(&self, node: &mut Node) {
        if node.memory.is_limited() {
            let estimated_bytes = self.memory_bytes();
            node.memory.changed(estimated_bytes);
        }
    }

    /// True if the disk has time for an entry that no client waits for.
    pub(super) fn may_keep_house(&self, node: &Node) -> bool {
        self.log.in_flight.is_empty() && node.stop == Stop::No
    }

    /// Begins to read from disk what the leader's entries will need: they are applied when they are committed.
    pub(super) fn read_ahead_of(&self, entries: &[LogEntry]) {
        if self.state.engine.spilled_jobs() == 0 || self.raft.is_leader() {
            return;
        }
        for entry in entries {
            if let Ok(Some(decoded)) = apply::decode(entry) {
                decoded.commands.iter().for_each(|command| _ = self.state.read_ahead(command));
            }
        }
    }

    /// The work done since this node started.
    pub(super) fn work_done(&self) -> u64 {
        let read = reading(self.state.records.blocks_read(), self.state.records.block_bytes_read());
        self.work.done + self.state.engine.changes() + read
    }
}
