//! What raft-rs reads of the log: the entries in memory that are not applied yet, and the term before them.
//!
//! It shows entries from the moment they were handed over to be persisted; raft-rs itself keeps track of which
//! of them are durable.

use std::collections::VecDeque;

use ::raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use ::raft::{GetEntriesContext, RaftState, Storage, StorageError};

use crate::storage::Vote;

pub(super) struct Tail {
    hard_state: HardState,
    membership: ConfState,
    /// Index and term of the entry before the first one here.
    before: (u64, u64),
    entries: VecDeque<Entry>,
}

impl Tail {
    pub(super) fn new(
        hard_state: HardState,
        membership: ConfState,
        before: (u64, u64),
        entries: VecDeque<Entry>,
    ) -> Self {
        Self { hard_state, membership, before, entries }
    }

    /// Returns whether term or vote changed.
    pub(super) fn set_vote(&mut self, vote: Vote) -> bool {
        let changed = (self.hard_state.term, self.hard_state.vote) != (vote.term, vote.vote);
        self.hard_state.term = vote.term;
        self.hard_state.vote = vote.vote;
        changed
    }

    pub(super) fn set_commit(&mut self, commit: u64) {
        self.hard_state.commit = commit;
    }

    pub(super) fn commit(&self) -> u64 {
        self.hard_state.commit
    }

    /// Takes entries over; those here from the first one's index on give way to them.
    pub(super) fn append(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        debug_assert!(first.index > self.before.0, "an applied entry is never replaced");
        let kept = usize::try_from(first.index - self.before.0 - 1).unwrap_or(usize::MAX);
        debug_assert!(kept <= self.entries.len(), "the log has no gaps");
        self.entries.truncate(kept);
        self.entries.extend(entries.iter().cloned());
    }

    /// Drops the entries up to `index`.
    pub(super) fn forget_to(&mut self, index: u64) {
        while let Some(first) = self.entries.front().filter(|first| first.index <= index) {
            self.before = (first.index, first.term);
            self.entries.pop_front();
        }
    }

    fn place(&self, index: u64) -> usize {
        usize::try_from(index - self.before.0 - 1).unwrap_or(usize::MAX)
    }
}

impl Storage for Tail {
    fn initial_state(&self) -> ::raft::Result<RaftState> {
        Ok(RaftState { hard_state: self.hard_state.clone(), conf_state: self.membership.clone() })
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> ::raft::Result<Vec<Entry>> {
        if low <= self.before.0 {
            return Err(StorageError::Compacted.into());
        }
        let bytes_max = max_size.into().unwrap_or(u64::MAX);
        let mut bytes = 0;
        let asked = self.entries.iter().skip(self.place(low)).take(self.place(high) - self.place(low));
        let within = asked.enumerate().take_while(|(place, entry)| {
            bytes += entry.data.len() as u64;
            *place == 0 || bytes <= bytes_max
        });
        Ok(within.map(|(_, entry)| entry.clone()).collect())
    }

    fn term(&self, index: u64) -> ::raft::Result<u64> {
        if index == self.before.0 {
            return Ok(self.before.1);
        }
        if index < self.before.0 {
            return Err(StorageError::Compacted.into());
        }
        let entry = self.entries.get(self.place(index)).ok_or(StorageError::Unavailable)?;
        Ok(entry.term)
    }

    fn first_index(&self) -> ::raft::Result<u64> {
        Ok(self.before.0 + 1)
    }

    fn last_index(&self) -> ::raft::Result<u64> {
        Ok(self.before.0 + self.entries.len() as u64)
    }

    fn snapshot(&self, _request_index: u64, _to: u64) -> ::raft::Result<Snapshot> {
        Err(StorageError::SnapshotTemporarilyUnavailable.into())
    }
}
