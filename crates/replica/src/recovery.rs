//! Rebuilds a replica from the data on disk.

use std::collections::VecDeque;

use super::group::apply::{change_members, decode};
use super::group::checkpoint::Checkpoints;
use super::group::clock::LeaderClock;
use super::group::cluster::Cluster;
use super::group::snapshots::Incoming;
use super::group::state::State;
use super::group::work::Work;
use super::group::{Group, Log};
use super::io::{Now, ReplicaConfig};
use super::node::Node;
use super::node::peers::Peers;
use super::{Failure, Replica};
use adjourn_engine::{Command, Engine, Entry, EntryError};
use adjourn_raft::{Membership, MembershipChange, Offer, Start};
use adjourn_storage::{EntryKind, LogEntry, Records, Recovered, Restored, StorageError};
use adjourn_types::{GroupId, Millis};

/// A replica that is being rebuilt.
pub struct Recovery {
    config: ReplicaConfig,
    recovered: Recovered,
    engine: Engine,
    records: Records,
    checkpoints: Checkpoints,
    /// Index and term of the entry before the first one in the log.
    before: (u64, u64),
    /// The first index and the term of each term, up to the applied index.
    terms: Vec<(u64, u64)>,
    members: Membership,
    offer: Option<Offer>,
    applied: (u64, u64),
    /// Entries that are not known to be committed.
    tail: VecDeque<LogEntry>,
    /// Has the state hashes after some entries, for comparison with other members.
    peers: Peers,
    /// Set if a part of a member's state could not be read. Then no more entries are applied.
    lost: Option<StorageError>,
    has_manual_clock: bool,
    /// Set if the ids of new jobs begin above this number, because of a restore or an accepted loss.
    ids_above: Option<u64>,
}

/// Why a log cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Data on disk cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// An entry that this binary cannot read.
    #[error("entry {index}: {source}")]
    Entry {
        /// Its index.
        index: u64,
        /// The reason.
        source: EntryError,
    },
    /// A change of membership that this binary cannot read.
    #[error("this binary does not know the change of membership in entry {index}: use a newer one")]
    Membership {
        /// Its index.
        index: u64,
    },
    /// The data uses a higher feature level than this node is configured to accept.
    #[error(
        "the data is of feature level {level}, and this node goes up to {level_max}: there is no way back. Start the newer \
         binary again, or leave feature_level_max out"
    )]
    FeatureLevel {
        /// The feature level of the data.
        level: u32,
        /// The highest level that this node accepts.
        level_max: u32,
    },
    /// An entry is missing.
    #[error("entry {expected} is missing: the log continues with {found}")]
    Gap {
        /// The expected index.
        expected: u64,
        /// The index that was found.
        found: u64,
    },
}

impl Recovery {
    pub(super) fn new(config: ReplicaConfig, recovered: Recovered, restored: Option<Restored>) -> Self {
        let members = if config.founder { Membership::alone(config.node) } else { Membership::default() };
        let mut recovery = Self {
            config,
            recovered,
            engine: Engine::new(GroupId::ONLY),
            records: Records::default(),
            checkpoints: Checkpoints::after(0, 1),
            before: (0, 0),
            terms: Vec::new(),
            members,
            offer: None,
            applied: (0, 0),
            tail: VecDeque::new(),
            peers: Peers::default(),
            lost: None,
            has_manual_clock: false,
            ids_above: None,
        };
        if let Some(Restored { number, base, voters, learners, next_chunk, engine, records, lost }) = restored
        {
            recovery.checkpoints = Checkpoints::after(number, next_chunk);
            recovery.before = (base.index, base.term);
            recovery.applied = recovery.before;
            recovery.members = Membership { voters, learners };
            let (index, term, members) = (base.index, base.term, recovery.members.clone());
            recovery.offer = Some(Offer { index, term, members });
            (recovery.engine, recovery.records) = (engine, records);
            recovery.lost = lost;
        }
        recovery
    }

    /// The queue's clock begins at that of the driver and stands still: only ADVANCE moves it. For a single node.
    #[must_use]
    pub fn with_manual_clock(self) -> Self {
        Self { has_manual_clock: true, ..self }
    }

    /// Checks that the checkpoint needs no higher feature level than configured. [`Self::replay`] checks the entries.
    pub fn check_feature_level(&self) -> Result<(), ReplayError> {
        check_level(self.engine.feature_level(), self.config.feature_level_max)
    }

    /// The first entry to replay.
    pub fn first_index(&self) -> u64 {
        self.applied.0 + 1
    }

    /// Takes the next entry of the log. Applies it if it is known to be committed, and leaves it to Raft otherwise.
    pub fn replay(&mut self, entry: LogEntry) -> Result<(), ReplayError> {
        let last = self.tail.back().map_or(self.applied.0, |entry| entry.index);
        if entry.index != last + 1 {
            return Err(ReplayError::Gap { expected: last + 1, found: entry.index });
        }
        // Also checks entries that are not known to be committed: this node may have to apply them.
        check(&entry, self.config.feature_level_max)?;
        if entry.kind == EntryKind::ConfChange {
            self.commit_changes()?;
        }
        if entry.index > self.recovered.commit {
            self.tail.push_back(entry);
            return Ok(());
        }
        self.apply(&entry)
    }

    /// Applies the tail up to its last change of membership. A change is only proposed once the previous one was applied, so
    /// those in the tail are committed when another one follows. A node with outdated members could elect itself beside
    /// their leader.
    fn commit_changes(&mut self) -> Result<(), ReplayError> {
        let last_change = self.tail.iter().rposition(|entry| entry.kind == EntryKind::ConfChange);
        for _ in 0..last_change.map_or(0, |place| place + 1) {
            if let Some(entry) = self.tail.pop_front() {
                self.recovered.commit = self.recovered.commit.max(entry.index);
                self.apply(&entry)?;
            }
        }
        Ok(())
    }

    fn apply(&mut self, entry: &LogEntry) -> Result<(), ReplayError> {
        match entry.kind {
            EntryKind::Normal => {
                // The entry decodes: this was checked when it was taken in.
                if self.lost.is_none()
                    && let Ok(Some(decoded)) = decode(entry)
                {
                    self.ids_above = skipped_to(&decoded).or(self.ids_above);
                    // The clients that waited for these outcomes have gone.
                    let applied = self.engine.apply(&decoded, &mut self.records).map(drop);
                    self.survive(applied)?;
                }
            }
            EntryKind::ConfChange => {
                if let Some(change) = MembershipChange::decode(&entry.data) {
                    self.members = change_members(&mut self.engine, &self.members, change);
                    let lost = self.lost.take().map_or(Ok(()), Err);
                    self.survive(lost)?;
                }
            }
        }
        let begins_term = entry.term != self.applied.1;
        if self.terms.last().is_none_or(|(_, term)| *term != entry.term) {
            self.terms.push((entry.index, entry.term));
        }
        if self.lost.is_none() {
            self.peers.note_state(entry.index, begins_term, || self.engine.state_hash());
        }
        self.checkpoints.log_bytes += entry.data.len() as u64;
        self.applied = (entry.index, entry.term);
        Ok(())
    }

    /// A member continues without a state that it cannot read, if there are other voters, which have it.
    fn survive(&mut self, outcome: Result<(), StorageError>) -> Result<(), StorageError> {
        match outcome {
            Err(error) if error.is_unreadable() && self.members.has_voters_beside(self.config.node) => {
                self.lost = Some(error);
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// The number of jobs recovered so far.
    pub fn jobs(&self) -> u64 {
        self.engine.jobs()
    }

    /// The number above which the ids of new jobs begin, if the replayed log has a restore or an accepted loss.
    pub fn ids_above(&self) -> Option<u64> {
        self.ids_above
    }

    /// Ends the replay and starts the node. The only voter leads once its first entry is durable.
    pub fn start(mut self, now: Now) -> Replica {
        let (stamp, clock_offset_ms) = self.clock_at_end();
        let mut raft = self.group();
        raft.campaign_if_sole();
        let Self { config, engine, records, checkpoints, applied, peers, lost, .. } = self;
        let mut node = Node::new(config, peers, now, self.has_manual_clock);
        let mut clock = LeaderClock::new(node.queue_now(), stamp, clock_offset_ms);
        if raft.is_alone() {
            clock.catch_up(now.wall);
        }
        let mut group = Group {
            raft,
            state: State { engine, records, clock },
            applied,
            untrusted: None,
            log: Log { writing_since_us: now.elapsed_us, ..Log::default() },
            checkpoints,
            incoming: Incoming::default(),
            work: Work::default(),
            cluster: Cluster::default(),
            last_read: 0,
            members_changed: true,
            prepared: true,
            next_tick_us: now.elapsed_us,
        };
        if let Some(error) = lost {
            group.lose_state(&mut node, &error);
        }
        Replica { node, group, leader: None, failure: Failure::No }
    }

    /// The Raft group, once the whole log is taken in.
    fn group(&mut self) -> adjourn_raft::Group {
        adjourn_raft::Group::new(Start {
            node: self.config.node,
            seed: self.config.entropy.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)),
            vote: self.recovered.vote,
            before: self.before,
            terms: std::mem::take(&mut self.terms),
            applied: self.applied.0,
            members: self.members.clone(),
            commit: self.recovered.commit,
            entries: std::mem::take(&mut self.tail).into(),
            offer: self.offer.take(),
        })
    }

    /// Stamp and clock offset at the end of the log, including the tail, which is about to be applied: a step of the wall
    /// clock that it records must not be taken for elapsed time.
    fn clock_at_end(&self) -> (Millis, i64) {
        let applied = (self.engine.stamp(), self.engine.clock_offset_ms());
        // They decode: this was checked when they were taken in.
        let normal = self.tail.iter().filter(|entry| entry.kind == EntryKind::Normal);
        let tail = normal.filter_map(|entry| decode(entry).ok().flatten());
        tail.fold(applied, |(stamp, offset_ms), entry| {
            (stamp.max(entry.stamp), last_offset(&entry).unwrap_or(offset_ms))
        })
    }
}

/// Checks that an entry can be read and raises the feature level no higher than this node accepts.
fn check(entry: &LogEntry, level_max: u32) -> Result<(), ReplayError> {
    let index = entry.index;
    match entry.kind {
        EntryKind::Normal => {
            let decoded = decode(entry).map_err(|source| ReplayError::Entry { index, source })?;
            check_level(decoded.as_ref().and_then(raised_to).unwrap_or(0), level_max)
        }
        EntryKind::ConfChange => match MembershipChange::decode(&entry.data) {
            Some(_) => Ok(()),
            None => Err(ReplayError::Membership { index }),
        },
    }
}

fn check_level(level: u32, level_max: u32) -> Result<(), ReplayError> {
    if level > level_max { Err(ReplayError::FeatureLevel { level, level_max }) } else { Ok(()) }
}

/// The feature level to which an entry raises that of the state.
fn raised_to(entry: &Entry<'_>) -> Option<u32> {
    let levels = entry.commands.iter().filter_map(|command| match command {
        Command::FeatureLevel { level } => Some(*level),
        _ => None,
    });
    levels.max()
}

/// The number above which an entry makes ids continue.
fn skipped_to(entry: &Entry<'_>) -> Option<u64> {
    let floors = entry.commands.iter().filter_map(|command| match command {
        Command::SkipIds { floor } => Some(*floor),
        _ => None,
    });
    floors.max()
}

fn last_offset(entry: &Entry<'_>) -> Option<i64> {
    entry.commands.iter().rev().find_map(|command| match command {
        Command::ClockOffset { offset_ms } => Some(*offset_ms),
        _ => None,
    })
}
