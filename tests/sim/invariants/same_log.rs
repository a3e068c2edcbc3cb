//! The log only grows, and is the state: what was durable is there after a restart, and replaying it gives the state that
//! was there at each index.
//!
//! The book is an engine of its own, with bodies of its own, which applies what the node has made durable.

use adjourn::engine::{Engine, Entry};
use adjourn::protocol::Response;
use adjourn::replica::{Notice, PersistOrder};
use adjourn::storage::{LogEntry, Recovered};
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

    fn started(&mut self, recovered: &Recovered, log: &[LogEntry]) -> Result<(), String> {
        self.orders.clear();
        if log.len() < self.durable {
            return Err(format!("{} entries were durable, {} are there", self.durable, log.len()));
        }
        if recovered.commit > log.len() as u64 {
            return Err(format!("{} entries are committed, {} are there", recovered.commit, log.len()));
        }
        for (nth, entry) in log.iter().enumerate() {
            if self.entries.get(nth) != Some(entry) {
                return Err(format!("entry {} is not the one that was written", entry.index));
            }
        }
        self.entries.truncate(log.len());
        let mut replayed = State::new();
        for (entry, before) in log.iter().zip(&self.hashes) {
            if replayed.apply(entry)? != *before {
                return Err(format!("replaying entry {} gives another state", entry.index));
            }
        }
        for entry in &log[self.hashes.len()..] {
            self.hashes.push(replayed.apply(entry)?);
        }
        replayed.engine.verify(&mut replayed.bodies);
        self.durable = log.len();
        self.state = replayed;
        Ok(())
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
            Seen::Started { recovered, log, .. } => self.started(recovered, log)?,
            Seen::Noticed { notice: Notice::Leading { term }, .. } => {
                if *term <= self.term {
                    return Err(format!("term {term} has a leader again, after term {}", self.term));
                }
                self.term = *term;
            }
            Seen::Said { response: Response::Stats(stats), .. } => {
                let place = usize::try_from(stats.applied_index).unwrap_or(usize::MAX).wrapping_sub(1);
                if self.hashes.get(place) != Some(&stats.state_hash) {
                    return Err(format!(
                        "at entry {} the state is not what the log says",
                        stats.applied_index
                    ));
                }
            }
            Seen::Inspected => self.state.engine.verify(&mut self.state.bodies),
            _ => {}
        }
        Ok(())
    }
}
