//! What each node's log is, as its orders say: the books that invariants keep.

use std::collections::VecDeque;

use adjourn::replica::PersistOrder;
use adjourn::storage::{LogEntry, Vote};

/// The log of one node, from index 1.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) durable: Vec<LogEntry>,
    pub(super) vote: Vote,
    pending: VecDeque<PersistOrder>,
    /// Index of the last entry, with all that was ordered, and its term.
    last: (u64, u64),
}

impl Book {
    /// Notes what is to be written, which goes on from what is there.
    pub(super) fn ordered(&mut self, order: &PersistOrder) -> Result<(), String> {
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

    /// Notes what is written. Returns the first entry that has changed, if one has.
    pub(super) fn persisted(&mut self, number: u64) -> Option<u64> {
        let mut first = None;
        while let Some(order) = self.pending.pop_front_if(|order| order.number <= number) {
            let changed = self.write(&order);
            first = first.into_iter().chain(changed).min();
        }
        first
    }

    /// The node starts again, with this log behind `base`, which is what was there or was being written.
    pub(super) fn started(&mut self, base: u64, found: &[LogEntry], vote: Vote) -> Result<(), String> {
        let front = self.pending.pop_front();
        self.pending.clear();
        let front_vote = front.as_ref().and_then(|order| order.batch.vote);
        if vote != self.vote && Some(vote) != front_vote {
            return Err(format!("{vote:?} is found, {:?} was durable", self.vote));
        }
        self.vote = vote;
        let there = place(base) + found.len();
        let before = self.durable.len();
        let fits = |log: &[LogEntry], shortest: usize| {
            let behind = log.get(place(base)..there);
            there >= shortest && place(base) <= log.len() && behind == Some(found)
        };
        let is_as_it_was = before == there && fits(&self.durable, 0);
        if is_as_it_was {
            self.note_last();
            return Ok(());
        }
        let entries = front.map(|order| order.batch.entries).unwrap_or_default();
        let kept = entries.first().map_or(before, |first| place(first.index) - 1);
        if fits(&self.durable, kept) {
            self.durable.truncate(there);
        } else {
            self.durable.truncate(kept);
            self.durable.extend(entries);
            if !fits(&self.durable, kept) {
                return Err(format!("{before} entries were durable, others are found: {base} to {there}"));
            }
            self.durable.truncate(there);
        }
        self.note_last();
        Ok(())
    }

    fn write(&mut self, order: &PersistOrder) -> Option<u64> {
        self.vote = order.batch.vote.unwrap_or(self.vote);
        let first = order.batch.entries.first()?.index;
        self.durable.truncate(place(first) - 1);
        self.durable.extend(order.batch.entries.iter().cloned());
        Some(first)
    }

    fn note_last(&mut self) {
        self.last = self.durable.last().map_or((0, 0), |last| (last.index, last.term));
    }
}

/// Where the entry after this index stands in a list that begins with the first one.
pub(super) fn place(index: u64) -> usize {
    usize::try_from(index).expect("it is a place in memory")
}
