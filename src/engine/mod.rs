//! The queue itself: commands in, outcomes out.
//!
//! Pure and deterministic. What [`Engine::apply`] does is a function of the state and the entry alone: no
//! clock, no random source, no file, no configuration, and no iteration over a hash map. The same log gives
//! the same [state hash](Engine::state_hash) on every machine.
//!
//! The engine holds a job's metadata and a reference to its body, never the body: see [`JobStore`]. It holds even less of a spilled
//! job. It does not know who leads, which consumers wait, or where a body is stored.
//!
//! # What an entry does
//!
//! 1. The stamp moves forward to the entry's; an older one changes nothing.
//! 2. Jobs that the wall clock made ready, and that are not due any more as it was set back, wait again, up to the same number. Then
//!    timers that are due fire, in the order (time, id), up to [a number of jobs](crate::types::limits::DUE_PER_ENTRY_MAX) or
//!    [of bytes of their bodies](crate::types::limits::DUE_BYTES_PER_ENTRY_MAX): delayed jobs become ready, leases whose time is
//!    over end, expired jobs are dropped. The entries after it fire the remaining timers.
//! 3. A bounded number of old sessions, old finished leases and idle topics is forgotten.
//! 4. Each command is carried out, and has one outcome.
//! 5. A bounded number of timers that come due soon is put in order, so that no single entry has to do that for a
//!    million of them. This is derived work: it shows in no outcome and in no hash. [`Engine::prepare`] does
//!    more of it between entries.
//!
//! # The life of a job
//!
//! ```text
//!            push                  due                 reserve             finish
//!   (none) --------> delayed ------------> ready ------------> reserved ---------> finished, or gone
//!              |         ^                   ^ ^                  | | |
//!              |         |   after a delay   | |   an attempt     | | |
//!              |         |   or a backoff    | |   failed         | | |
//!              |         +-------------------|-|------------------+ | |
//!              |                             | +--------------------+ |
//!              +--- due at once -------------+  kick                  | bury, attempts used up
//!                                            +------- buried <--------+
//! ```
//!
//! An attempt fails when its lease's time is over, when it is released, and when its session lapses or closes. A
//! finished job that its attributes ask to remember stays as it is until that time is over, and its key with it. A job that
//! expires is dropped when that time comes; under a lease, when the lease ends. Delete ends a job in any state.
//!
//! A wall clock that is set back makes a ready job delayed if its due time lies ahead again. One that is set forward past the expiry of a
//! job makes the job wait, delayed or buried, until it has expired by the clock before as well: see [`clock`].
//!
//! # Invariants
//!
//! - A job is in exactly one state, and in exactly what that state asks for: an order of its topic, a
//!   timer, the leases of its session. All changes go through [`Engine::change`], which takes it out of the one and puts
//!   it into the other; `verify` recomputes all of it from the jobs.
//! - A job has at most one timer.
//! - Job ids and fences only grow and are never used again.
//! - The state hash is the sum of the hashes of its parts; it does not depend on slots, wheels or the order of insertion.

mod apply;
mod capture;
mod clock;
mod cost;
mod defaults;
mod events;
mod finished;
mod free;
mod hash;
mod held;
mod idempotency;
mod index;
mod job;
mod jobs;
mod key_secret;
mod list;
mod listing;
mod loaded;
mod members;
mod numbers;
mod paged;
mod policy;
mod read;
mod ready;
mod recent;
mod repeat;
mod retry;
mod saved;
mod saved_topics;
mod sessions;
pub(crate) mod slab;
mod spill;
mod spilled;
mod state_metadata;
mod timers;
mod topics;
mod transition;
mod verify;
mod wheel;
mod window;

pub mod command;
pub mod entry;
pub mod outcome;
pub mod store;

pub use capture::{CapturedJob, PAGE_SLOTS_MAX};
pub use clock::{Moment, Timeline};
pub use command::{BulkChange, Command, Conditions, JobSelect, KeyedJob, NewJob, Share, TopicOrder};
pub use entry::{Entry, EntryBuilder, EntryError};
pub use events::{JobEvent, JobEventKind};
pub use listing::{Listed, Listing};
pub use numbers::{COUNT_MAX, COUNTED_JOBS_MAX, IDS_SKIPPED, LAST_JOB_MAX, ids_floor};
pub use outcome::{
    Applied, FinishedView, Grant, JobView, Outcome, PushOutcome, Reject, SessionStatus, SessionView,
    TopicView,
};
pub use retry::wait_ms;
pub use saved::{SavedJob, SavedJobError};
pub use spill::{HORIZON_MS, Relocated};
pub use state_metadata::{
    CapturedSessions, PartialMetadata, RestoreError, Restoring, SESSION_OUTCOMES, StateMetadata, TopicCounts,
};
pub use store::{BodyRef, JobStore, Place, Record, SpilledTimer, WalkFrom, Walked};
pub use topics::TopicTotals;

use apply::Applier;
use jobs::Found;

#[cfg(test)]
use crate::types::JobId;
use crate::types::{GroupId, Millis, TopicId, TopicName};

/// The state of one group.
///
/// A delayed job without a key and without attributes that the engine heeds takes about 120 bytes.
#[derive(Debug)]
pub struct Engine {
    numbers: numbers::Numbers,
    clock: clock::Clock,
    key_secret: key_secret::KeySecret,
    jobs: jobs::Jobs,
    timers: timers::Timers,
    topics: topics::Topics,
    sessions: sessions::Sessions,
    finished: finished::Finished,
    idempotent: idempotency::IdempotentPushes,
    members: members::Members,
    defaults: defaults::Defaults,
    sum: hash::Sum,
    /// How many jobs were changed: no state.
    changes: u64,
    events: events::Events,
    reserving: apply::Scratch,
}

impl Engine {
    /// An empty queue, before its genesis.
    pub fn new(group: GroupId) -> Self {
        Self {
            numbers: numbers::Numbers::new(group),
            clock: clock::Clock::default(),
            key_secret: key_secret::KeySecret::default(),
            jobs: jobs::Jobs::default(),
            timers: timers::Timers::new(),
            topics: topics::Topics::default(),
            sessions: sessions::Sessions::default(),
            finished: finished::none_finished(),
            idempotent: idempotency::no_pushes(),
            members: members::Members::default(),
            defaults: defaults::Defaults::default(),
            sum: hash::Sum::default(),
            changes: 0,
            events: events::Events::default(),
            reserving: apply::Scratch::default(),
        }
    }

    /// Applies one entry: fires the timers that are due at its stamp (a bounded number of jobs, by time and id), then
    /// carries out each command. An entry with an older stamp than the last one counts as having the last one's.
    ///
    /// # Errors
    ///
    /// When a spilled job cannot be read. The entry is then half applied: the state is not to be used any more.
    pub fn apply<S: JobStore>(&mut self, entry: &Entry<'_>, store: &mut S) -> Result<Applied, S::Error> {
        Applier::new(self, store).apply(entry)
    }

    /// Applies that a node is not a member of the cluster any more, which no command says.
    pub fn remove_member(&mut self, node: u64) {
        self.members.remove(node, &mut self.sum);
    }

    /// Time goes on to an entry's stamp. Returns the stamp that counts.
    fn advance(&mut self, stamp: Millis) -> Millis {
        self.clock.stamp = self.clock.stamp.max(stamp);
        self.topics.advance(self.clock.stamp);
        self.clock.stamp
    }

    /// Forgets a bounded number of old sessions, old finished leases, old pushes and idle topics.
    fn forget_old(&mut self) {
        let stamp = self.clock.stamp;
        self.finished.forget_old(stamp, &mut self.sum);
        self.idempotent.forget_old(stamp, &mut self.sum);
        self.sessions.forget_old(stamp, &mut self.sum);
        self.topics.forget_idle(stamp, &mut self.sum);
    }

    /// Brings the sum of the state hash up to date with what the entry changed. Returns the topics that are gone.
    fn end_entry(&mut self) -> Vec<(TopicId, TopicName)> {
        self.topics.settle(self.clock.stamp, &mut self.sum);
        self.sessions.settle(&mut self.sum);
        self.topics.take_gone()
    }

    /// The topic that a command names; made if it is new.
    fn intern(&mut self, topic: &str) -> Result<TopicId, Reject> {
        self.topics.intern(topic, &mut self.sum)
    }

    /// The topic that a command names, if it is there.
    fn existing(&self, topic: &str) -> Result<TopicId, Reject> {
        self.topics.id(topic).ok_or(Reject::NotFound)
    }

    /// The job that is meant.
    fn find(&self, job: &JobSelect<'_>) -> Option<Found> {
        match job {
            JobSelect::Id(id) => self.jobs.find(*id),
            JobSelect::Key { topic, key } => {
                let topic = self.topics.id(topic)?;
                self.jobs.find_key(self.key_secret.hash(topic, key))
            }
        }
    }

    /// The topic that is meant, or all of them: `None`.
    fn known_or_all(&self, topic: Option<&str>) -> Result<Option<TopicId>, NoSuchTopic> {
        topic.map(|topic| self.topics.id(topic).ok_or(NoSuchTopic)).transpose()
    }
}

/// A command names a topic that does not exist.
#[derive(Clone, Copy, Debug)]
struct NoSuchTopic;

#[cfg(test)]
impl Engine {
    /// Moves a job without its key being found any more. Panics if there is no such job.
    pub(crate) fn move_without_key<S>(&mut self, job: JobId, topic: &str, store: &mut S)
    where
        S: JobStore<Error: std::fmt::Debug>,
    {
        let topic = self.intern(topic).expect("there is room");
        self.load_named(&Command::Delete { job: JobSelect::Id(job) }, store).expect("read");
        let slot = self.jobs.resident(job).expect("it is there");
        self.move_job(slot, topic, None);
        self.topics.settle(self.clock.stamp, &mut self.sum);
    }
}
