//! What each node's log is, as its write batches say: the books that invariants keep.

use std::collections::VecDeque;

use adjourn_replica::WriteBatch;
use adjourn_storage::{LogEntry, Vote};

/// The log of one node.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) vote: Vote,
    durable: Log,
    /// How many entries at its end a crash may lose.
    volatile: u64,
    pending: VecDeque<WriteBatch>,
    /// Index of the last entry, with all that was ordered, and its term.
    last: (u64, u64),
}

/// A log that goes on behind a checkpoint of another node, if `base` is not 0.
#[derive(Clone, Debug, Default)]
struct Log {
    base: u64,
    entries: Vec<LogEntry>,
}

/// What a start finds.
struct Found<'a> {
    base: u64,
    entries: &'a [LogEntry],
}

impl Book {
    /// Index of the last durable entry.
    pub(super) fn end(&self) -> u64 {
        self.durable.end()
    }

    /// Index of the last entry, with all that was ordered.
    pub(super) fn last(&self) -> u64 {
        self.last.0
    }

    /// A durable entry, if it did not come in a checkpoint.
    pub(super) fn entry(&self, index: u64) -> Option<&LogEntry> {
        self.durable.entry(index)
    }

    /// Whether the durable data contains this entry, in the log or in a checkpoint.
    pub(super) fn has(&self, entry: &LogEntry) -> bool {
        entry.index <= self.durable.base || self.entry(entry.index) == Some(entry)
    }

    /// Notes an ordered write, which must continue the log.
    pub(super) fn ordered(&mut self, order: &WriteBatch) -> Result<(), String> {
        if let Some(installed) = order.batch.install {
            self.last = (installed, 0);
        }
        for entry in &order.batch.entries {
            let (index, term) = (entry.index, entry.term);
            let (last, last_term) = self.last;
            if index > last + 1 {
                return Err(format!("entry {index} follows {last} entries"));
            }
            if index == last + 1 && term < last_term {
                return Err(format!(
                    "entry {index} is of term {term}, the one before it of term {last_term}"
                ));
            }
            self.last = (index, term);
        }
        self.pending.push_back(order.clone());
        Ok(())
    }

    /// Notes a completed write. Returns the first entry that has changed, if one has.
    pub(super) fn persisted(&mut self, number: u64) -> Option<u64> {
        let mut first = None;
        while let Some(order) = self.pending.pop_front_if(|order| order.number <= number) {
            self.vote = order.batch.vote.unwrap_or(self.vote);
            self.durable.write(&order);
            let added = order.batch.entries.len() as u64;
            self.volatile = if order.is_volatile { self.volatile + added } else { 0 };
            let changed = order.batch.entries.first().map(|entry| entry.index);
            first = first.into_iter().chain(changed).min();
        }
        first
    }

    /// What a crash might have lost was written.
    pub(super) fn flushed(&mut self) {
        self.volatile = 0;
    }

    /// The node starts again, with this log after `base`: the durable one, or one that was being written.
    pub(super) fn started(&mut self, base: u64, entries: &[LogEntry], vote: Vote) -> Result<(), String> {
        let front = self.pending.pop_front();
        self.pending.clear();
        let front_vote = front.as_ref().and_then(|order| order.batch.vote);
        if vote != self.vote && Some(vote) != front_vote {
            return Err(format!("{vote:?} is found, {:?} was durable", self.vote));
        }
        self.vote = vote;
        let found = Found { base, entries };
        let volatile = std::mem::take(&mut self.volatile);
        let installed = front.as_ref().filter(|order| order.batch.install == Some(base));
        // No other checkpoint can be there: the log that ended here may have been another one.
        let before = if let Some(order) = installed {
            self.durable.write(order);
            base
        } else {
            self.durable.end() - volatile
        };
        if !found.is_cut_from(&self.durable, before) {
            let Some(order) = front else { return Err(found.is_none_of(before)) };
            let first = order.batch.entries.first().map(|entry| entry.index);
            let kept = order.batch.install.or(first).map_or(before, |first| first - 1);
            if !found.is_cut_from(&self.durable, kept) {
                self.durable.write(&order);
                let shortest = order.batch.install.unwrap_or(kept);
                if !found.is_cut_from(&self.durable, shortest) {
                    return Err(found.is_none_of(before));
                }
            }
        }
        self.durable.truncate(found.end());
        self.last =
            self.durable.entries.last().map_or((self.durable.base, 0), |last| (last.index, last.term));
        Ok(())
    }
}

impl Log {
    fn end(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    fn entry(&self, index: u64) -> Option<&LogEntry> {
        self.entries.get(place(index.checked_sub(self.base + 1)?))
    }

    fn truncate(&mut self, end: u64) {
        self.entries.truncate(place(end.saturating_sub(self.base)));
    }

    fn write(&mut self, order: &WriteBatch) {
        if let Some(installed) = order.batch.install {
            *self = Self { base: installed, entries: Vec::new() };
        }
        if let Some(first) = order.batch.entries.first() {
            self.truncate(first.index - 1);
            self.entries.extend(order.batch.entries.iter().cloned());
        }
    }
}

impl Found<'_> {
    fn end(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    /// Whether it is that log with nothing missing up to an entry, and perhaps more behind that.
    fn is_cut_from(&self, log: &Log, shortest: u64) -> bool {
        let is_there = self.base >= log.base && self.base <= log.end() && self.end() <= log.end();
        let same = |entry: &LogEntry| log.entry(entry.index) == Some(entry);
        is_there && self.end() >= shortest && self.entries.iter().all(same)
    }

    fn is_none_of(&self, durable: u64) -> String {
        format!("{durable} entries were durable, others are found: {} to {}", self.base, self.end())
    }
}

/// A place in a list that stays in memory.
pub(super) fn place(index: u64) -> usize {
    usize::try_from(index).expect("it is a place in memory")
}
