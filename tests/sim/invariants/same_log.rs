//! The log only grows, and is the state: what was durable is there after a restart, in the checkpoint or behind it, and
//! replaying it gives the state that was there at each index.
//!
//! The book is an engine of its own, with bodies of its own, which applies what the node has made durable.

use std::cell::RefCell;

use adjourn::engine::{Engine, Entry};
use adjourn::protocol::Response;
use adjourn::replica::{Notice, PersistOrder};
use adjourn::storage::{LogEntry, Recovered, Restored};
use adjourn::types::GroupId;

use super::super::seen::{Seen, When};
use super::Invariant;
use crate::kept_bodies::KeptBodies;

#[derive(Debug)]
pub(super) struct SameLog {
    /// What was ordered, from index 1.
    entries: Vec<LogEntry>,
    /// Orders that are not durable: number, index of the last entry.
    orders: Vec<(u64, usize)>,
    /// So many entries are durable.
    durable: usize,
    state: State,
    /// The state hash after each entry.
    hashes: Vec<u128>,
    /// The newest term in which somebody led.
    term: u64,
}

#[derive(Debug)]
struct State {
    engine: Engine,
    bodies: KeptBodies,
}

impl Default for SameLog {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            orders: Vec::new(),
            durable: 0,
            state: State::new(),
            hashes: Vec::new(),
            term: 0,
        }
    }
}

impl State {
    fn new() -> Self {
        Self { engine: Engine::new(GroupId(0)), bodies: KeptBodies::default() }
    }

    fn apply(&mut self, entry: &LogEntry) -> Result<u128, String> {
        if !entry.data.is_empty() {
            let decoded = Entry::decode(&entry.data).map_err(|error| error.to_string())?;
            let Ok(_) = self.engine.apply(&decoded, &mut self.bodies);
        }
        Ok(self.engine.state_hash())
    }
}

impl SameLog {
    fn ordered(&mut self, order: &PersistOrder) -> Result<(), String> {
        for entry in &order.batch.entries {
            let last = self.entries.last();
            if entry.index != self.entries.len() as u64 + 1 {
                return Err(format!("entry {} follows {} entries", entry.index, self.entries.len()));
            }
            if last.is_some_and(|last| last.term > entry.term) {
                return Err(format!(
                    "entry {} is of term {}, the one before it of a later one",
                    entry.index, entry.term
                ));
            }
            self.entries.push(entry.clone());
        }
        self.orders.push((order.number, self.entries.len()));
        Ok(())
    }

    fn persisted(&mut self, number: u64) -> Result<(), String> {
        let done = self.orders.iter().take_while(|(order, _)| *order <= number).count();
        if let Some((_, last)) = self.orders.drain(..done).next_back() {
            self.durable = self.durable.max(last);
        }
        self.catch_up()
    }

    fn catch_up(&mut self) -> Result<(), String> {
        for entry in &self.entries[self.hashes.len()..self.durable] {
            self.hashes.push(self.state.apply(entry)?);
        }
        Ok(())
    }

    fn started(
        &mut self,
        recovered: &Recovered,
        restored: Option<&Restored>,
        log: &[LogEntry],
    ) -> Result<(), String> {
        self.orders.clear();
        let base = restored.map_or(0, |restored| restored.base.index);
        let first = usize::try_from(base).expect("it is a place in memory");
        let there = first + log.len();
        if there < self.durable || first > self.durable {
            return Err(format!("{} entries were durable, {first} to {there} are there", self.durable));
        }
        if recovered.commit > there as u64 {
            return Err(format!("{} entries are committed, {there} are there", recovered.commit));
        }
        for (nth, entry) in (first..).zip(log) {
            if self.entries.get(nth) != Some(entry) {
                return Err(format!("entry {} is not the one that was written", entry.index));
            }
        }
        if let Some(restored) = restored {
            self.is_state_at(base, restored.engine.state_hash())?;
        }
        self.entries.truncate(there);
        let mut replayed = State::new();
        for (entry, before) in self.entries.iter().zip(&self.hashes) {
            if replayed.apply(entry)? != *before {
                return Err(format!("replaying entry {} gives another state", entry.index));
            }
        }
        for entry in &self.entries[self.hashes.len()..] {
            self.hashes.push(replayed.apply(entry)?);
        }
        replayed.engine.verify(&mut replayed.bodies);
        self.durable = there;
        self.state = replayed;
        Ok(())
    }

    fn is_state_at(&self, index: u64, state_hash: u128) -> Result<(), String> {
        let place = usize::try_from(index).unwrap_or(usize::MAX).wrapping_sub(1);
        let expected = match index {
            0 => Some(Engine::new(GroupId(0)).state_hash()),
            _ => self.hashes.get(place).copied(),
        };
        if expected == Some(state_hash) {
            return Ok(());
        }
        Err(format!("at entry {index} the state is not what the log says"))
    }
}

impl Invariant for SameLog {
    fn name(&self) -> &'static str {
        "same log"
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Ordered { order, .. } => self.ordered(order)?,
            Seen::Persisted { number, .. } => self.persisted(*number)?,
            Seen::Started { recovered, restored, log, .. } => {
                self.started(recovered, restored.map(RefCell::borrow).as_deref(), log)?;
            }
            Seen::CheckpointBegins { begin, .. } => self.is_state_at(begin.index, begin.state_hash)?,
            Seen::Audited { index, state_hash, .. } => self.is_state_at(*index, *state_hash)?,
            Seen::Noticed { notice: Notice::Leading { term }, .. } => {
                if *term <= self.term {
                    return Err(format!("term {term} has a leader again, after term {}", self.term));
                }
                self.term = *term;
            }
            Seen::Said { response: Response::Stats(stats), .. } => {
                self.is_state_at(stats.applied_index, stats.state_hash)?;
            }
            Seen::Inspected => self.state.engine.verify(&mut self.state.bodies),
            _ => {}
        }
        Ok(())
    }
}
