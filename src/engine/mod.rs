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

pub use body::{BodyRef, BodyStore, Record};
pub use command::{Command, JobSelect, NewJob, TopicSelect};
pub use entry::{Entry, EntryError};
pub use outcome::{Applied, Grant, JobView, Outcome, PushOutcome, Reject, TopicView};
