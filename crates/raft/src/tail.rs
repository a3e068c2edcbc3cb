//! The log as raft-rs sees it: the newest entries, from memory; the terms of all entries; and the membership.
//!
//! Entries are visible as soon as they are handed over to be persisted; raft-rs itself tracks which ones are durable.
//! Applied entries stay in memory for members that lag a little. For a member that lags further, entries are read from
//! disk: raft-rs asks for them, [`Tail::wanted`] returns the range, and [`Tail::fetched`] takes them. A member that lags
//! behind the beginning of the log is offered the newest checkpoint.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use ::raft::eraftpb::{Entry, HardState, Snapshot};
use ::raft::{GetEntriesContext, RaftState, Storage, StorageError};

use super::membership::Membership;
use adjourn_storage::Vote;

/// Applied entries that stay in memory while there are other members, in bytes.
const RECENT_BYTES_MAX: usize = 8 << 20;
/// Most members that wait for entries from disk at the same time. Others have to ask again.
const WANTED_MAX: usize = 16;

/// A checkpoint that may be offered to members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The last entry that it contains.
    pub index: u64,
    /// That entry's term.
    pub term: u64,
    /// The members at that entry.
    pub members: Membership,
}

/// Entries to read from disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The first one.
    pub first: u64,
    /// The last one.
    pub last: u64,
    /// The read ends before the entry that exceeds this size, but has at least one entry.
    pub bytes_max: u64,
}

pub(super) struct Tail {
    hard_state: HardState,
    members: Membership,
    /// Index and term of the entry before the first one in the log.
    before: (u64, u64),
    /// The first index and the term of each term, in ascending order.
    terms: VecDeque<(u64, u64)>,
    last: u64,
    /// The entries in memory: the newest ones, up to `last`.
    recent: VecDeque<Entry>,
    recent_bytes: usize,
    /// Consecutive entries that were read from disk.
    from_disk: Vec<Entry>,
    offer: Option<Offer>,
    /// raft-rs asked for a checkpoint, and none fitted.
    offer_wanted: Cell<bool>,
    /// The reads that raft-rs waits for, with the context that reports each to it.
    wanted: RefCell<VecDeque<(Wanted, GetEntriesContext)>>,
}

impl Tail {
    /// A log that begins after `before`, with the terms `terms` and the newest entries `recent`.
    pub(super) fn new(
        hard_state: HardState,
        members: Membership,
        before: (u64, u64),
        terms: VecDeque<(u64, u64)>,
        last: u64,
        recent: VecDeque<Entry>,
    ) -> Self {
        let recent_bytes = recent.iter().map(|entry| entry.data.len()).sum();
        Self {
            hard_state,
            members,
            before,
            terms,
            last,
            recent,
            recent_bytes,
            from_disk: Vec::new(),
            offer: None,
            offer_wanted: Cell::new(false),
            wanted: RefCell::default(),
        }
    }

    /// Sets term and vote. Returns true if one of them changed.
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

    pub(super) fn set_members(&mut self, members: Membership) {
        self.members = members;
    }

    pub(super) fn members(&self) -> &Membership {
        &self.members
    }

    /// Appends entries. They replace existing entries from the first one's index on.
    pub(super) fn append(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        debug_assert!(first.index > self.before.0 && first.index <= self.last + 1, "the log has no gaps");
        while let Some(entry) = self.recent.pop_back_if(|entry| entry.index >= first.index) {
            self.recent_bytes -= entry.data.len();
        }
        while self.terms.pop_back_if(|(begin, _)| *begin >= first.index).is_some() {}
        self.from_disk.retain(|entry| entry.index < first.index);
        for entry in entries {
            if self.terms.back().is_none_or(|(_, term)| *term != entry.term) {
                self.terms.push_back((entry.index, entry.term));
            }
            self.last = entry.index;
            self.recent_bytes += entry.data.len();
            self.recent.push_back(entry.clone());
        }
    }

    /// Evicts applied entries from memory, except those that other members may need soon.
    pub(super) fn forget(&mut self, applied: u64, others: bool) {
        let kept_bytes = if others { RECENT_BYTES_MAX } else { 0 };
        while self.recent_bytes > kept_bytes || (!others && !self.recent.is_empty()) {
            let Some(entry) = self.recent.pop_front_if(|entry| entry.index <= applied) else { return };
            self.recent_bytes -= entry.data.len();
        }
    }

    /// The log on disk was truncated up to `through`, inclusive.
    pub(super) fn cut(&mut self, through: u64) {
        let Ok(term) = self.term(through) else { return };
        self.before = (through, term);
        while let (Some((begin, _)), Some((next, _))) = (self.terms.front(), self.terms.get(1)) {
            if *begin > through || *next > through + 1 {
                break;
            }
            self.terms.pop_front();
        }
        while let Some(entry) = self.recent.pop_front_if(|entry| entry.index <= through) {
            self.recent_bytes -= entry.data.len();
        }
    }

    /// Replaces the whole log by a checkpoint.
    pub(super) fn install(&mut self, offer: Offer) {
        let Offer { index, term, members } = offer;
        let nothing = (VecDeque::new(), VecDeque::new());
        *self = Self::new(self.hard_state.clone(), members, (index, term), nothing.0, index, nothing.1);
    }

    /// Sets the newest checkpoint.
    pub(super) fn set_offer(&mut self, offer: Offer) {
        self.offer = Some(offer);
        self.offer_wanted.set(false);
    }

    /// True if a member needs a newer checkpoint than the newest.
    pub(super) fn is_offer_wanted(&self) -> bool {
        self.offer_wanted.get()
    }

    /// The first read that raft-rs waits for.
    pub(super) fn wanted(&self) -> Option<Wanted> {
        self.wanted.borrow().front().map(|(wanted, _)| *wanted)
    }

    /// Takes the entries of the first read. Returns the context with which raft-rs is told.
    pub(super) fn fetched(&mut self, entries: Vec<Entry>) -> Option<GetEntriesContext> {
        self.from_disk = entries;
        self.wanted.get_mut().pop_front().map(|(_, context)| context)
    }

    fn first_recent(&self) -> u64 {
        self.recent.front().map_or(self.last + 1, |entry| entry.index)
    }

    /// Queues a read of entries from disk.
    fn want(&self, wanted: Wanted, context: GetEntriesContext) {
        let mut all = self.wanted.borrow_mut();
        if all.len() < WANTED_MAX && !all.iter().any(|(other, _)| other.first == wanted.first) {
            all.push_back((wanted, context));
        }
    }
}

/// The entries from `low` to before `high`: at least one, and as many as fit into `bytes_max` bytes.
fn portion<'a>(entries: impl Iterator<Item = &'a Entry>, low: u64, high: u64, bytes_max: u64) -> Vec<Entry> {
    let mut bytes = 0;
    let asked = entries.skip_while(|entry| entry.index < low).take_while(|entry| entry.index < high);
    let within = asked.enumerate().take_while(|(place, entry)| {
        bytes += entry.data.len() as u64;
        *place == 0 || bytes <= bytes_max
    });
    within.map(|(_, entry)| entry.clone()).collect()
}

impl Storage for Tail {
    fn initial_state(&self) -> ::raft::Result<RaftState> {
        Ok(RaftState { hard_state: self.hard_state.clone(), conf_state: self.members.clone().into() })
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        context: GetEntriesContext,
    ) -> ::raft::Result<Vec<Entry>> {
        if low <= self.before.0 {
            return Err(StorageError::Compacted.into());
        }
        let bytes_max = max_size.into().unwrap_or(u64::MAX);
        let first_recent = self.first_recent();
        if low >= first_recent {
            let skipped = usize::try_from(low - first_recent).unwrap_or(usize::MAX);
            return Ok(portion(self.recent.range(skipped.min(self.recent.len())..), low, high, bytes_max));
        }
        if self.from_disk.first().is_some_and(|first| first.index <= low)
            && self.from_disk.last().is_some_and(|last| last.index >= low)
        {
            return Ok(portion(self.from_disk.iter(), low, high, bytes_max));
        }
        if !context.can_async() {
            return Err(StorageError::Unavailable.into());
        }
        self.want(Wanted { first: low, last: high.min(first_recent) - 1, bytes_max }, context);
        Err(StorageError::LogTemporarilyUnavailable.into())
    }

    fn term(&self, index: u64) -> ::raft::Result<u64> {
        if index == self.before.0 {
            return Ok(self.before.1);
        }
        if index < self.before.0 {
            return Err(StorageError::Compacted.into());
        }
        if index > self.last {
            return Err(StorageError::Unavailable.into());
        }
        let behind = self.terms.partition_point(|(begin, _)| *begin <= index);
        let run = behind.checked_sub(1).and_then(|place| self.terms.get(place));
        run.map(|(_, term)| *term).ok_or_else(|| StorageError::Unavailable.into())
    }

    fn first_index(&self) -> ::raft::Result<u64> {
        Ok(self.before.0 + 1)
    }

    fn last_index(&self) -> ::raft::Result<u64> {
        Ok(self.last)
    }

    fn snapshot(&self, request_index: u64, to: u64) -> ::raft::Result<Snapshot> {
        let fits = |offer: &&Offer| {
            offer.index >= request_index && offer.index >= self.before.0 && offer.members.contains(to)
        };
        let Some(offer) = self.offer.as_ref().filter(fits) else {
            self.offer_wanted.set(true);
            return Err(StorageError::SnapshotTemporarilyUnavailable.into());
        };
        let mut snapshot = Snapshot::default();
        let metadata = snapshot.mut_metadata();
        (metadata.index, metadata.term) = (offer.index, offer.term);
        metadata.set_conf_state(offer.members.clone().into());
        Ok(snapshot)
    }
}
