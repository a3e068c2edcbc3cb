//! A log has exactly the entries written to it: durable entries are there after a restart, in the checkpoint or after it, byte
//! for byte; so are term and vote, and no node votes twice in a term.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use adjourn_engine::{Command, Entry};
use adjourn_protocol::{Request, Response};
use adjourn_replica::WriteBatch;
use adjourn_storage::{LogEntry, Recovered, Vote};
use adjourn_types::SessionId;

use super::super::clients::CALLER;
use super::super::seen::{NodeId, Seen, When};
use super::books::Book;
use super::{Invariant, has_commands};

#[derive(Debug, Default)]
pub(super) struct SameLog {
    books: BTreeMap<NodeId, Book>,
    /// The sessions of callers, whose leases a crash may lose.
    callers: BTreeSet<SessionId>,
    /// For whom each node has voted in each term, durable or not.
    votes: BTreeMap<(NodeId, u64), u64>,
}

impl SameLog {
    fn book(&mut self, node: NodeId) -> &mut Book {
        self.books.entry(node).or_default()
    }

    fn ordered(&mut self, node: NodeId, order: &WriteBatch) -> Result<(), String> {
        if let Some(Vote { term, vote }) = order.batch.vote {
            let first = self.votes.entry((node, term)).or_insert(vote);
            if *first != 0 && *first != vote {
                return Err(format!("node {node} votes for {first} and for {vote} in term {term}"));
            }
            *first = vote;
        }
        if order.is_volatile {
            order.batch.entries.iter().try_for_each(|entry| self.may_be_lost(entry))?;
        }
        self.book(node).ordered(order)
    }

    /// Only what grants leases to callers may be lost with a crash.
    fn may_be_lost(&self, entry: &LogEntry) -> Result<(), String> {
        let decoded = Entry::decode(&entry.data).map_err(|error| error.to_string())?;
        let is_grant = |command: &Command<'_>| matches!(command, Command::Reserve { session, .. } if self.callers.contains(session));
        if has_commands(entry) && decoded.commands.iter().all(is_grant) {
            Ok(())
        } else {
            Err(format!("entry {} may be lost: {:?}", entry.index, decoded.commands))
        }
    }

    fn started(
        &mut self,
        node: NodeId,
        recovered: &Recovered,
        base: u64,
        log: &[LogEntry],
    ) -> Result<(), String> {
        let there = base + log.len() as u64;
        if recovered.commit > there {
            return Err(format!("{} entries are committed, {there} are there", recovered.commit));
        }
        let book = self.book(node);
        book.started(base, log, recovered.vote)?;
        // A vote that was not durable was not sent.
        let vote = book.vote;
        self.votes.retain(|(voter, term), _| *voter != node || *term <= vote.term);
        self.votes.insert((node, vote.term), vote.vote);
        Ok(())
    }
}

impl Invariant for SameLog {
    fn name(&self) -> &'static str {
        "same log"
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Ordered { node, order } => self.ordered(*node, order)?,
            Seen::Persisted { node, number } => _ = self.book(*node).persisted(*number),
            Seen::Flushed { node } => self.book(*node).flushed(),
            Seen::Said {
                request: Some(Request::Hello(hello)), response: Response::Welcome(welcome), ..
            } if hello.client_name == CALLER => {
                self.callers.insert(welcome.session);
            }
            Seen::Started { node, recovered, restored, log, .. } => {
                let base = restored.map(RefCell::borrow).map_or(0, |restored| restored.base.index);
                self.started(*node, recovered, base, log)?;
            }
            Seen::Wiped { node } => {
                self.books.remove(node);
                self.votes.retain(|(voter, _), _| voter != node);
            }
            _ => {}
        }
        Ok(())
    }
}
