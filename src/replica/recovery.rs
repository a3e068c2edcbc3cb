//! From what the disk remembers to a replica that runs.

use std::collections::{BTreeMap, BTreeSet};

use super::checkpoint::Checkpoints;
use super::clock::LeaderClock;
use super::connections::Connections;
use super::io::{Now, ReplicaConfig};
use super::memory::Memory;
use super::proposals::Proposals;
use super::waiters::Waiters;
use super::{Failure, GROUP, Replica, Stop};
use crate::engine::{Command, Engine, Entry, EntryError};
use crate::raft::{Group, Membership, Start};
use crate::storage::{EntryKind, LogEntry, Records, Recovered, Restored, StorageError};
use crate::types::Millis;

/// A replica that is being rebuilt from its log.
pub struct Recovery {
    config: ReplicaConfig,
    recovered: Recovered,
    engine: Engine,
    records: Records,
    checkpoints: Checkpoints,
    voters: Vec<u64>,
    applied: (u64, u64),
    tail: Vec<LogEntry>,
}

/// Why a log cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A job in a chunk cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// An entry that this binary cannot read.
    #[error("entry {index}: {source}")]
    Entry {
        /// Its index.
        index: u64,
        /// Why.
        source: EntryError,
    },
    /// A change of membership, which this version does not know how to apply.
    #[error("entry {index} changes the membership: use a binary that knows clusters")]
    Membership {
        /// Its index.
        index: u64,
    },
    /// An entry is missing.
    #[error("entry {expected} is missing, the log goes on with {found}")]
    Gap {
        /// The one that should have come.
        expected: u64,
        /// The one that came.
        found: u64,
    },
}

impl Recovery {
    pub(super) fn new(config: ReplicaConfig, recovered: Recovered, restored: Option<Restored>) -> Self {
        let voters = vec![config.node];
        let mut recovery = Self {
            config,
            recovered,
            engine: Engine::new(GROUP),
            records: Records::default(),
            checkpoints: Checkpoints { next_chunk: 1, ..Checkpoints::default() },
            voters,
            applied: (0, 0),
            tail: Vec::new(),
        };
        if let Some(Restored { number, base, voters, next_chunk, engine, records }) = restored {
            recovery.checkpoints = Checkpoints { number, next_chunk, ..Checkpoints::default() };
            recovery.applied = (base.index, base.term);
            (recovery.engine, recovery.records, recovery.voters) = (engine, records, voters);
        }
        recovery
    }

    /// The first entry that is to be replayed.
    pub fn first_index(&self) -> u64 {
        self.applied.0 + 1
    }

    /// Takes the next entry of the log: applied at once when it is known to be committed, else left to Raft.
    pub fn replay(&mut self, entry: LogEntry) -> Result<(), ReplayError> {
        let last = self.tail.last().map_or(self.applied.0, |entry| entry.index);
        if entry.index != last + 1 {
            return Err(ReplayError::Gap { expected: last + 1, found: entry.index });
        }
        if entry.kind != EntryKind::Normal {
            return Err(ReplayError::Membership { index: entry.index });
        }
        let index = entry.index;
        let decoded = decode(&entry).map_err(|source| ReplayError::Entry { index, source })?;
        if entry.index > self.recovered.commit {
            self.tail.push(entry);
            return Ok(());
        }
        if let Some(decoded) = decoded {
            // Whoever waited for these outcomes is long gone.
            self.engine.apply(&decoded, &mut self.records)?;
        }
        self.checkpoints.log_bytes += entry.data.len() as u64;
        self.applied = (entry.index, entry.term);
        Ok(())
    }

    /// How many jobs are there so far.
    pub fn jobs(&self) -> u64 {
        self.engine.jobs()
    }

    /// Ends the replay and starts the node; the only voter leads as soon as its first entry is durable.
    pub fn start(self, now: Now) -> Replica {
        let (stamp, clock_offset_ms) = self.clock_at_end();
        let Self { config, recovered, engine, records, checkpoints, voters, applied, tail } = self;
        let seed = config.entropy.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let mut group = Group::new(Start {
            node: config.node,
            seed,
            vote: recovered.vote,
            applied,
            membership: Membership::from((voters, vec![])),
            commit: recovered.commit,
            entries: tail,
        });
        group.campaign_if_alone();
        let memory = Memory::new(config.memory_max_bytes);
        let clock = LeaderClock::new(now, stamp, clock_offset_ms);
        let connections = Connections::new(config.output_bytes_max);
        Replica {
            config,
            group,
            engine,
            records,
            checkpoints,
            cut_through: None,
            failure: Failure::No,
            clock,
            connections,
            waiters: Waiters::default(),
            proposals: Proposals::default(),
            notices: Vec::new(),
            closes: Vec::new(),
            applied,
            started_us: now.elapsed_us,
            now_us: now.elapsed_us,
            next_tick_us: now.elapsed_us,
            next_housekeeping_us: now.elapsed_us,
            next_proposal_us: now.elapsed_us,
            lapsing: BTreeSet::new(),
            held_ends: BTreeMap::new(),
            orders_out: Vec::new(),
            prepared: true,
            serving: false,
            disk_low: false,
            memory,
            stop: Stop::No,
        }
    }

    /// Stamp and clock offset at the end of the log, the tail included: it is about to be applied, and a wall clock
    /// that it says was set must not be taken for time that has passed.
    fn clock_at_end(&self) -> (Millis, i64) {
        let applied = (self.engine.stamp(), self.engine.clock_offset_ms());
        // That they decode was checked when they were taken in.
        let tail = self.tail.iter().filter_map(|entry| decode(entry).ok().flatten());
        tail.fold(applied, |(stamp, offset_ms), entry| {
            (stamp.max(entry.stamp), last_offset(&entry).unwrap_or(offset_ms))
        })
    }
}

fn last_offset(entry: &Entry<'_>) -> Option<i64> {
    entry.commands.iter().rev().find_map(|command| match command {
        Command::ClockOffset { offset_ms } => Some(*offset_ms),
        _ => None,
    })
}

/// An entry's commands; `None` for the empty one that a new leader appends.
pub(super) fn decode(entry: &LogEntry) -> Result<Option<Entry<'_>>, EntryError> {
    if entry.data.is_empty() { Ok(None) } else { Entry::decode(&entry.data).map(Some) }
}
