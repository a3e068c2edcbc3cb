//! Groups of jobs: their limits, their order and their turns, in the topics that [`tenants`](super::super::clients) asks for.
//!
//! What an entry does to jobs is seen in the engine of [`same_state`](super::same_state), which applies the committed entries. What
//! is allowed follows from what was asked of the topics, and from books of our own: nobody asks the engine what holds a
//! group back.

mod book;
mod limits;
mod log;
mod order;
mod turns;

use super::super::seen::{Seen, When};
use super::Invariant;
use book::Book;
use limits::Limits;
use log::Event;
pub(super) use log::GroupLog;
use order::InOrder;
use turns::Turns;

/// What must hold of each entry.
trait Rule {
    const NAME: &'static str;

    /// An entry begins. Its settings are in the book.
    fn begin(&mut self, _book: &Book) {}

    /// Something happens to a job, which is in the book as it was before.
    fn before(&mut self, event: &Event, book: &Book) -> Result<(), String>;

    /// It has happened. The job is in the book as it is now, if it is still there.
    fn after(&mut self, _event: &Event, _book: &Book) {}
}

/// An invariant that goes through the log.
#[derive(Debug)]
struct Follower<R> {
    log: GroupLog,
    /// Number of entries that it has seen.
    seen: usize,
    book: Book,
    rule: R,
}

/// All of them.
pub(super) fn all(log: &GroupLog) -> Vec<Box<dyn Invariant + Send>> {
    vec![
        Box::new(Follower::new(log, Limits::default())),
        Box::new(Follower::new(log, InOrder)),
        Box::new(Follower::new(log, Turns::default())),
    ]
}

impl<R: Rule> Follower<R> {
    fn new(log: &GroupLog, rule: R) -> Self {
        Self { log: log.clone(), seen: 0, book: Book::default(), rule }
    }
}

impl<R: Rule> Invariant for Follower<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        if !matches!(seen, Seen::Turned { .. } | Seen::Inspected) {
            return Ok(());
        }
        for step in self.log.steps().iter().skip(self.seen) {
            self.seen += 1;
            self.book.begin(step);
            self.rule.begin(&self.book);
            for event in &step.events {
                self.rule.before(event, &self.book)?;
                self.book.note(event);
                self.rule.after(event, &self.book);
            }
        }
        Ok(())
    }
}
