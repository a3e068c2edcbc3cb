//! There is one history: what any node applies is durable on a majority and the same on all, it is never taken back, and
//! the state at an entry is the same on every node, before and after a restart.
//!
//! The book is an engine of its own, with bodies of its own, which applies the committed entries.

use std::cell::RefCell;
use std::collections::BTreeMap;

use adjourn_engine::{Engine, Entry};
use adjourn_protocol::Response;
use adjourn_raft::{Membership, MembershipChange};
use adjourn_replica::WriteBatch;
use adjourn_storage::{EntryKind, LogEntry, Restored};
use adjourn_types::GroupId;

use super::super::seen::{NodeId, Seen, When};
use super::Invariant;
use super::books::{Book, place};
use super::groups::GroupLog;
use crate::kept_bodies::KeptBodies;

#[derive(Debug)]
pub(super) struct SameState {
    books: BTreeMap<NodeId, Book>,
    /// What nodes had that have lost it: it counted while it was there.
    lost: BTreeMap<NodeId, Book>,
    /// The committed entries, from index 1.
    history: Vec<LogEntry>,
    /// The state hash after each of these.
    hashes: Vec<u128>,
    engine: Engine,
    bodies: KeptBodies,
    members: Membership,
    /// The members before the last change, and the last entry that they may have agreed to: a change counts from the
    /// moment at which it is applied.
    before: (Membership, u64),
    /// The last change of members.
    changed_at: u64,
    /// Up to where each node has shown that it applied, in this life.
    knows: BTreeMap<NodeId, u64>,
    /// Up to where each node has shown that it applied.
    applied: BTreeMap<NodeId, u64>,
    /// What the entries do to jobs of groups, if somebody wants to know.
    groups: Option<GroupLog>,
}

impl SameState {
    pub(super) fn new(groups: Option<GroupLog>) -> Self {
        let mut engine = Engine::new(GroupId(0));
        engine.watch_jobs(groups.is_some());
        Self {
            books: BTreeMap::new(),
            lost: BTreeMap::new(),
            history: Vec::new(),
            hashes: Vec::new(),
            engine,
            bodies: KeptBodies::default(),
            members: Membership::alone(1),
            before: (Membership::alone(1), 0),
            changed_at: 0,
            knows: BTreeMap::new(),
            applied: BTreeMap::new(),
            groups,
        }
    }

    fn ordered(&mut self, node: NodeId, order: &WriteBatch) -> Result<(), String> {
        if order.is_volatile && self.members != Membership::alone(node) {
            return Err(format!("node {node} may lose what it tells {:?}", self.members));
        }
        let book = self.books.entry(node).or_default();
        book.ordered(order)?;
        if self.knows.get(&node).is_none_or(|known| *known < self.changed_at) {
            // Should it lead, it goes by the members before.
            self.before.1 = self.before.1.max(book.last());
        }
        Ok(())
    }

    fn persisted(&mut self, node: NodeId, number: u64) -> Result<(), String> {
        let changed = self.books.entry(node).or_default().persisted(number);
        let applied = self.applied.get(&node).copied().unwrap_or(0);
        if let Some(first) = changed.filter(|first| *first <= applied) {
            return Err(format!("node {node} writes entry {first} again, after it has applied {applied}"));
        }
        if self.members.voters == [node] {
            // It is the only voter.
            let durable = self.books[&node].end();
            self.commit(node, durable)?;
        }
        Ok(())
    }

    /// A node shows that it has applied everything up to an entry.
    fn shows(&mut self, node: NodeId, index: u64) -> Result<(), String> {
        self.knows.insert(node, index);
        let before = self.applied.get(&node).copied().unwrap_or(0);
        if index <= before {
            return Ok(());
        }
        self.commit(node, index)?;
        let book = self.books.entry(node).or_default();
        for entry in (before + 1..=index).filter_map(|index| book.entry(index)) {
            if self.history[place(entry.index) - 1] != *entry {
                return Err(format!("node {node} has applied another entry {} than others", entry.index));
            }
        }
        self.applied.insert(node, index);
        Ok(())
    }

    /// What a node has up to an entry is committed, as it says.
    fn commit(&mut self, node: NodeId, index: u64) -> Result<(), String> {
        let durable = self.books.entry(node).or_default().end();
        if index > durable {
            return Err(format!("node {node} has applied entry {index}, its log ends at {durable}"));
        }
        while (self.history.len() as u64) < index {
            let Some(entry) = self.books[&node].entry(self.history.len() as u64 + 1).cloned() else {
                return Err(format!("node {node} has taken over what nobody has applied, up to {index}"));
            };
            let has = |voter: &&u64| {
                let of_voter = [&self.books, &self.lost].into_iter().filter_map(|books| books.get(voter));
                of_voter.into_iter().any(|book| book.has(&entry))
            };
            let agree =
                |members: &Membership| members.voters.iter().filter(has).count() >= members.majority();
            let (before, until) = &self.before;
            if !agree(&self.members) && (entry.index > *until || !agree(before)) {
                let holders = self.members.voters.iter().filter(has).count();
                let voters = &self.members.voters;
                return Err(format!(
                    "entry {} is applied by node {node}, and durable on {holders} of {voters:?}",
                    entry.index
                ));
            }
            self.apply(entry)?;
        }
        Ok(())
    }

    fn apply(&mut self, entry: LogEntry) -> Result<(), String> {
        match entry.kind {
            EntryKind::Normal if entry.data.is_empty() => {}
            EntryKind::Normal => {
                let decoded = Entry::decode(&entry.data).map_err(|error| error.to_string())?;
                let Ok(applied) = self.engine.apply(&decoded, &mut self.bodies);
                if let Some(groups) = &self.groups {
                    let events = self.engine.take_events();
                    groups.note(self.engine.stamp(), &decoded, &applied.outcomes, events);
                }
            }
            EntryKind::ConfChange => {
                let change = MembershipChange::decode(&entry.data).ok_or("a change that is none")?;
                if let Some(after) = self.members.after(change) {
                    for gone in self.members.all().filter(|node| !after.contains(*node)) {
                        self.engine.remove_member(gone);
                    }
                    self.changed_at = entry.index;
                    let last = self.books.values().map(Book::last).max();
                    self.before = (std::mem::replace(&mut self.members, after), last.unwrap_or(0));
                }
            }
        }
        self.hashes.push(self.engine.state_hash());
        self.history.push(entry);
        Ok(())
    }

    /// What the only voter has lost that a crash may lose never was.
    fn forget_after(&mut self, node: NodeId, durable: u64) {
        if self.history.len() as u64 <= durable {
            return;
        }
        assert!(self.groups.is_none(), "what became of jobs of groups cannot be taken back");
        let mut lost = self.history.iter().skip(place(durable));
        assert!(lost.all(|entry| entry.kind == EntryKind::Normal), "a change of members is lost");
        self.hashes.truncate(place(durable));
        self.history.truncate(place(durable));
        self.applied.entry(node).and_modify(|applied| *applied = durable.min(*applied));
        (self.engine, self.bodies) = (Engine::new(GroupId(0)), KeptBodies::default());
        for entry in &self.history {
            if entry.kind == EntryKind::Normal && !entry.data.is_empty() {
                let decoded = Entry::decode(&entry.data).expect("it was decoded before");
                let Ok(_) = self.engine.apply(&decoded, &mut self.bodies);
            }
        }
        assert_eq!(Some(&self.engine.state_hash()), self.hashes.last(), "it is what it was");
    }

    fn is_state_at(&self, node: NodeId, index: u64, state_hash: u128) -> Result<(), String> {
        let expected = match index {
            0 => Some(Engine::new(GroupId(0)).state_hash()),
            _ => self.hashes.get(place(index) - 1).copied(),
        };
        if expected == Some(state_hash) {
            return Ok(());
        }
        Err(format!("at entry {index} the state of node {node} is not what the log says"))
    }

    fn shows_state(&mut self, node: NodeId, index: u64, state_hash: u128) -> Result<(), String> {
        self.shows(node, index)?;
        self.is_state_at(node, index, state_hash)
    }

    fn started(
        &mut self,
        node: NodeId,
        vote: adjourn_storage::Vote,
        restored: Option<&Restored>,
        log: &[LogEntry],
    ) -> Result<(), String> {
        let base = restored.map_or(0, |restored| restored.base.index);
        self.books.entry(node).or_default().started(base, log, vote)?;
        if self.members.voters == [node] {
            let durable = self.books[&node].end();
            self.forget_after(node, durable);
            self.commit(node, durable)?;
        }
        if let Some(restored) = restored.filter(|restored| restored.lost.is_none()) {
            self.is_state_at(node, base, restored.engine.state_hash())?;
        }
        self.engine.verify(&mut self.bodies);
        Ok(())
    }
}

impl Invariant for SameState {
    fn name(&self) -> &'static str {
        "same state"
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Ordered { node, order } => self.ordered(*node, order)?,
            Seen::Persisted { node, number } => self.persisted(*node, *number)?,
            Seen::Flushed { node } => self.books.entry(*node).or_default().flushed(),
            Seen::Started { node, recovered, restored, log, .. } => {
                self.knows.remove(node);
                self.started(*node, recovered.vote, restored.map(RefCell::borrow).as_deref(), log)?;
            }
            Seen::Wiped { node } => {
                self.lost.extend(self.books.remove_entry(node));
                self.applied.remove(node);
            }
            Seen::CheckpointBegins { node, begin } => {
                self.shows_state(*node, begin.index, begin.state_hash)?;
            }
            Seen::BackedUp { node, index, state_hash } => self.is_state_at(*node, *index, *state_hash)?,
            Seen::Audited { node, index, state_hash } => self.shows_state(*node, *index, *state_hash)?,
            Seen::Speaks { from, bundle, .. } => {
                let (index, state_hash) = bundle.audited;
                // Who has lost its state says that it has applied nothing.
                self.shows(*from, bundle.applied.max(index))?;
                if index > 0 {
                    self.is_state_at(*from, index, state_hash)?;
                }
            }
            Seen::Said { node, response: Response::Stats(stats), .. } => {
                self.shows_state(*node, stats.applied_index, stats.state_hash)?;
            }
            Seen::Inspected => self.engine.verify(&mut self.bodies),
            _ => {}
        }
        Ok(())
    }
}
