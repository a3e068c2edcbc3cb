//! This node's part of a group: its log by way of Raft, the state that the log has led to, and its checkpoints.
//!
//! All members have one, the leader too. What only a leader does is in [`leader`](super::leader).

mod apply;
pub(crate) mod checkpoint;
pub(crate) mod clock;
pub(crate) mod cluster;
pub(crate) mod snapshots;
pub(crate) mod state;
mod trust;
pub(crate) mod work;

use std::collections::VecDeque;

use crate::raft::{self, LostEntries, Message, TICK_MS};
use crate::replica::group::checkpoint::Checkpoints;
use crate::replica::group::cluster::Cluster;
use crate::replica::group::snapshots::Incoming;
use crate::replica::group::state::State;
use crate::replica::group::trust::Untrusted;
use crate::replica::group::work::{Work, reading};
use crate::replica::io::{Bundle, Notice, Output, WriteBatch};
use crate::replica::node::Node;
use crate::replica::stopping::Stop;
use crate::storage::{LogEntry, PersistBatch, StorageError};

/// Ticks that are made up for after this node stood still: the others have not counted on it meanwhile.
const TICKS_AT_ONCE_MAX: u64 = 2;
/// How long before they fire timers are put in order, so that an entry finds it done.
const PREPARE_AHEAD_MS: u64 = 3_000;
/// The number of timers in one go; at most one go in [`PREPARE_PAUSE_US`](super::PREPARE_PAUSE_US) unless something else happens.
const PREPARE_BUDGET: usize = 2048;
/// How long before they are due spilled jobs are loaded into memory.
const LOAD_AHEAD_MS: u64 = 60_000;
/// The number of these jobs in one go.
const LOAD_BUDGET: usize = 512;

/// One member of a group.
pub(super) struct Group {
    pub(super) raft: raft::Group,
    pub(super) state: State,
    /// Index and term of the last entry that was applied.
    pub(super) applied: (u64, u64),
    /// Why the state cannot be relied on, if it cannot.
    pub(super) untrusted: Option<Untrusted>,
    pub(super) log: Log,
    pub(super) checkpoints: Checkpoints,
    pub(super) incoming: Incoming,
    pub(super) work: Work,
    pub(super) cluster: Cluster,
    /// Under this number was asked last whether this node still leads. None comes twice, whoever led meanwhile.
    pub(super) last_read: u64,
    /// Somebody became a member, ceased to be one, or moved: to be said once.
    pub(super) members_changed: bool,
    /// Whether all timers of the next seconds are in order, and no job that is due soon is spilled.
    pub(super) prepared: bool,
    pub(super) next_tick_us: u64,
}

/// The log on its way: to the disk, and from there into the state.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The numbers of the batches that the disk has not reported durable.
    pub(super) in_flight: Vec<u64>,
    /// While there are some: when the disk began with the oldest of them.
    pub(super) writing_since_us: u64,
    /// Committed entries that wait for another turn, or until a checkpoint is installed that comes before them.
    pub(super) committed: VecDeque<LogEntry>,
    /// Entries are being read from the disk, for a member that lags.
    pub(super) is_fetching: bool,
    /// It is not needed up to here: to be said once.
    pub(super) cut_through: Option<u64>,
}

impl Group {
    /// Loads the jobs that are due soon. Whether those are all.
    pub(super) fn load_ahead(&mut self) -> Result<bool, StorageError> {
        if self.has_lost_state() {
            return Ok(true);
        }
        let ahead = self.state.clock.stamp().after(LOAD_AHEAD_MS);
        self.state.engine.load_ahead(&mut self.state.records, ahead, LOAD_BUDGET)
    }

    /// Puts the next timers in order. `loaded` says whether the jobs that are due soon are in memory.
    pub(super) fn prepare(&mut self, loaded: bool) {
        let ahead = self.state.clock.stamp().after(PREPARE_AHEAD_MS);
        self.prepared = self.has_lost_state() || (self.state.engine.prepare(ahead, PREPARE_BUDGET) && loaded);
    }

    /// Hands a batch to the disk. Its oldest command came at `since_us`, if it is of this node.
    pub(super) fn persist(
        &mut self,
        node: &Node,
        number: u64,
        batch: PersistBatch,
        since_us: Option<u64>,
    ) -> Output {
        self.read_ahead_of(&batch.entries);
        if self.log.in_flight.is_empty() {
            self.log.writing_since_us = node.now_us;
        }
        self.log.in_flight.push(number);
        Output::Persist(WriteBatch { number, since_us: since_us.unwrap_or(node.now_us), batch })
    }

    pub(super) fn persisted(&mut self, node: &mut Node, number: u64) {
        self.log.in_flight.retain(|order| *order > number);
        self.log.writing_since_us = node.now_us;
        if let Some(index) = self.raft.persisted(number) {
            self.installed(node, index);
        }
    }

    /// Passes on to other members what Raft says to them.
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

    /// Another node says something: one that is connected, for only then the driver knows that it is who it says.
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
            // Who lacks entries may go by a leader of before, whose stamps were ahead of those in them.
            self.state.clock.hear(stamp_us);
        }
        heard
    }

    /// Shows Raft what a member said.
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

    /// The entries that a member needs were read from the disk.
    pub(super) fn fetched(&mut self, entries: Vec<LogEntry>) {
        self.log.is_fetching = false;
        self.raft.fetched(entries);
    }

    /// Sets the clock of a leader that has followed none since it was started. The other members go by its stamp from here on. One
    /// clock alone may have been set unnoticed. Without a state it is not known how far the wall clock is from the stamp.
    pub(super) fn set_clock(&mut self, node: &Node) {
        if self.raft.is_leader() && !self.state.clock.is_set() && !self.has_lost_state() {
            let members = self.raft.members();
            self.state.clock.catch_up(node.peers.reached(node.config.node, members, node.wall, node.now_us));
        }
    }

    /// The term in which this node leads and could serve clients, if it does.
    pub(super) fn may_serve(&self) -> Option<u64> {
        (self.raft.is_leader() && self.untrusted.is_none()).then(|| self.raft.term())
    }

    /// Tells the driver who leads, if that is another node and news.
    pub(super) fn tell_leader(&mut self, node: &mut Node) {
        let leader = self.raft.leader().filter(|leader| *leader != node.config.node);
        if leader != self.cluster.leader_told {
            self.cluster.leader_told = leader;
            node.notices.extend(leader.map(|leader| Notice::Follows { leader }));
        }
    }

    /// Whether the next step of the housekeeping of the memory may be done now.
    pub(super) fn can_free_memory(&self) -> bool {
        (self.checkpoints.is_idle() && self.state.engine.can_shrink()) || self.state.records.has_forgotten()
    }

    /// The members, if that was not said since they changed.
    pub(super) fn take_members(&mut self) -> Option<Output> {
        std::mem::take(&mut self.members_changed).then(|| Output::Members {
            members: self.state.engine.members().values().cloned().collect(),
            removed: self.state.engine.removed_members().collect(),
            feature_level: self.state.engine.feature_level(),
        })
    }

    /// Entries to be read from the disk, if a member needs some and none are.
    pub(super) fn take_wanted(&mut self) -> Option<Output> {
        let wanted = self.raft.wanted().filter(|_| !self.log.is_fetching)?;
        self.log.is_fetching = true;
        Some(Output::Fetch(wanted))
    }

    /// Up to where the log can go, once.
    pub(super) fn take_cut(&mut self) -> Option<Output> {
        let through = self.log.cut_through.take()?;
        self.raft.cut(through);
        Some(Output::Cut { through })
    }

    /// The index of the last entry that the state has; 0 without a state, which has nothing.
    pub(super) fn shown_applied(&self) -> u64 {
        if self.has_lost_state() { 0 } else { self.applied.0 }
    }

    /// Bytes of memory that the state takes, by and large, and one beside it that is to take its place.
    pub(super) fn memory_bytes(&self) -> u64 {
        let states = std::iter::once((&self.state.engine, &self.state.records)).chain(self.incoming.state());
        states.map(|(engine, records)| (engine.memory_bytes() + records.memory_bytes()) as u64).sum()
    }

    /// The process takes this much memory.
    pub(super) fn memory_measured(&self, node: &mut Node, resident_bytes: u64) {
        let of_state = resident_bytes.saturating_sub(node.config.memory_account.taken() as u64);
        let (estimated_bytes, checkpoint_bytes) = (self.memory_bytes(), self.checkpoint_memory_bytes(node));
        node.memory.measured(of_state, estimated_bytes, checkpoint_bytes);
    }

    /// Notes what the state takes. Nothing changes that until the next entry is applied, or something is taken out of memory.
    pub(super) fn note_memory(&self, node: &mut Node) {
        if node.memory.is_limited() {
            let estimated_bytes = self.memory_bytes();
            node.memory.changed(estimated_bytes);
        }
    }

    /// Whether the disk has time for an entry that nobody waits for.
    pub(super) fn may_keep_house(&self, node: &Node) -> bool {
        self.log.in_flight.is_empty() && node.stop == Stop::No
    }

    /// Begins to read what the commands of entries that the leader has sent will need of the disk: they are applied when they are
    /// committed.
    pub(super) fn read_ahead_of(&self, entries: &[LogEntry]) {
        if self.state.engine.spilled_jobs() == 0 || self.raft.is_leader() {
            return;
        }
        for entry in entries {
            if let Ok(Some(decoded)) = crate::replica::recovery::decode(entry) {
                decoded.commands.iter().for_each(|command| _ = self.state.read_ahead(command));
            }
        }
    }

    /// Work that was done since this node started.
    pub(super) fn work_done(&self) -> u64 {
        let read = reading(self.state.records.blocks_read(), self.state.records.block_bytes_read());
        self.work.done + self.state.engine.changes() + read
    }
}
