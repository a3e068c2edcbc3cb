//! The queue itself: commands in, outcomes out.
//!
//! Pure and deterministic. What [`Engine::apply`] does is a function of the state and the entry alone: no
//! clock, no random source, no file, no configuration, and no iteration over a hash map. The same log gives
//! the same [state hash](Engine::state_hash) on every machine.
//!
//! The engine holds a job's metadata and a reference to its body, never the body: see [`JobStore`]. Of a spilled job it
//! holds even less. It does not know the leader, the waiting consumers, or where bodies are stored.
//!
//! # What an entry does
//!
//! 1. The stamp advances to the entry's. An older stamp changes nothing.
//! 2. If the wall clock was set back, jobs that are not due any more wait again, up to the same limit. Then due timers
//!    fire, in the order (time, id), until [a number of jobs](adjourn_types::limits::DUE_PER_ENTRY_MAX) or [of bytes of
//!    their bodies](adjourn_types::limits::DUE_BYTES_PER_ENTRY_MAX) is reached: delayed jobs become ready, expired leases
//!    end, expired jobs are dropped. Then the timers of a smaller number of schedules fire, whose instant has come. The next
//!    entries fire the remaining timers.
//! 3. A bounded number of old sessions, old finished leases, old pushes and idle topics is forgotten.
//! 4. Each command is carried out, and has one outcome.
//! 5. A bounded number of timers that come due soon is sorted ahead, so that no single entry has to sort a million of them.
//!    This affects no outcome and no hash. [`Engine::prepare`] does more of it between entries.
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
//! An attempt fails when its lease expires, when the job is released, and when its session lapses or closes. A finished job
//! whose attributes ask for it is remembered, with its key, for the time they set. A job that expires is dropped at that
//! time; under a lease, when the lease ends. Delete ends a job in any state.
//!
//! If the wall clock is set back, a ready job whose due time is ahead again becomes delayed. If it is set forward past a
//! job's expiry, the job waits, delayed or buried, until it has expired by the clock from before the step as well: see
//! [`clock`].
//!
//! # Invariants
//!
//! - A job is in exactly one state, and in exactly the structures that its state needs: an order of its topic, a timer, the
//!   leases of its session. All changes go through [`Engine::change`], which removes it from the old ones and adds it to
//!   the new ones; `verify` recomputes all of them from the jobs.
//! - A job has at most one timer.
//! - Job ids and fences only grow and are never used again.
//! - The state hash is the sum of the hashes of its parts; it does not depend on slots, wheels or the order of insertion.

mod apply;
mod capture;
mod clock;
mod cost;
mod defaults;
mod events;
mod hash;
mod job;
mod jobs;
mod key_secret;
mod members;
mod numbers;
mod place;
mod read;
mod recent;
mod sessions;
mod spill;
mod timers;
mod topics;
mod transition;
mod verify;

pub mod command;
pub mod entry;
pub mod outcome;
pub mod store;

pub use capture::CapturedJob;
pub use capture::state_metadata::{
    CapturedSessions, PartialMetadata, RestoreError, Restoring, SESSION_OUTCOMES, StateMetadata,
};
pub use clock::{Moment, Timeline};
pub use command::{
    BulkChange, Command, Conditions, EditedRecord, JobEdit, JobSelect, JobTemplate, KeyedJob, NewFiring,
    NewJob, NewSchedule, Share, SkippedInstants, Tick, TopicOrder,
};
pub use entry::{Entry, EntryBuilder, EntryError};
pub use events::{JobEvent, JobEventKind};
pub use job::retry::wait_ms;
pub use job::saved::{SavedJob, SavedJobError};
pub use jobs::capture::PAGE_SLOTS_MAX;
pub use jobs::slab;
pub use numbers::{COUNT_MAX, COUNTED_JOBS_MAX, IDS_SKIPPED, LAST_JOB_MAX, SKIPPED_FENCES_MAX, ids_floor};
pub use outcome::{
    Applied, FinishedView, Grant, JobView, Outcome, Paused, PushOutcome, Reject, ScheduleView, SessionStatus,
    SessionView, TopicView,
};
pub use place::{BodyRef, Place};
pub use read::listing::{Listed, Listing};
pub use spill::{HORIZON_MS, Relocated};
pub use store::{JobStore, Record, SpilledTimer, TimerCounts, WalkFrom, Walked};
pub use topics::TopicTotals;
pub use topics::groups::group::GroupHold;
pub use topics::groups::{GroupChange, GroupView};
pub use topics::hold::Hold;
pub use topics::saved_topics::TopicCounts;

use apply::Applier;
use jobs::Found;

#[cfg(any(test, feature = "test-access"))]
use adjourn_types::JobId;
use adjourn_types::{GroupId, JobState, Millis, TopicId, TopicName};

/// The state of one group.
///
/// A delayed job without a key and without retry or expiry attributes takes about 120 bytes.
#[derive(Debug)]
pub struct Engine {
    numbers: numbers::Numbers,
    clock: clock::Clock,
    key_secret: key_secret::KeySecret,
    jobs: jobs::Jobs,
    timers: timers::Timers,
    topics: topics::Topics,
    sessions: sessions::Sessions,
    finished: recent::finished::Finished,
    idempotent: recent::idempotency::IdempotentPushes,
    members: members::Members,
    defaults: defaults::Defaults,
    sum: hash::Sum,
    /// The number of changes to jobs so far; not state.
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
            finished: recent::finished::none_finished(),
            idempotent: recent::idempotency::no_pushes(),
            members: members::Members::default(),
            defaults: defaults::Defaults::default(),
            sum: hash::Sum::default(),
            changes: 0,
            events: events::Events::default(),
            reserving: apply::Scratch::default(),
        }
    }

    /// Applies one entry: fires the timers that are due at its stamp (a bounded number of jobs, by time and id), then
    /// carries out each command. If its stamp is older than the last entry's, the last one counts.
    ///
    /// # Errors
    ///
    /// If a spilled job cannot be read. The entry is then half applied, and the engine must not be used any more.
    pub fn apply<S: JobStore>(&mut self, entry: &Entry<'_>, store: &mut S) -> Result<Applied, S::Error> {
        Applier::new(self, store).apply(entry)
    }

    /// Removes a member for good. The replica calls this for a membership change in the log, which is not a command.
    pub fn remove_member(&mut self, node: u64) {
        self.members.remove(node, &mut self.sum);
    }

    /// Advances the stamp to an entry's. Returns the stamp in force.
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

    /// Updates the sum of the state hash with the entry's changes. Returns the topics that were forgotten.
    fn end_entry(&mut self) -> Vec<(TopicId, TopicName)> {
        self.topics.settle(self.clock.stamp, &mut self.sum);
        self.sessions.settle(&mut self.sum);
        self.topics.take_gone()
    }

    /// The topic of this name, created if it is new.
    fn intern(&mut self, topic: &str) -> Result<TopicId, Reject> {
        self.topics.intern(topic, &mut self.sum)
    }

    /// The topic of this name, if it exists.
    fn existing(&self, topic: &str) -> Result<TopicId, Reject> {
        self.topics.id(topic).ok_or(Reject::NotFound)
    }

    /// The job that a command or a reader names. A schedule is no job.
    fn find(&self, job: &JobSelect<'_>) -> Option<Found> {
        let is_job = |found: &Found| match found {
            Found::Resident(slot) => self.jobs[*slot].state != JobState::Scheduled,
            Found::Spilled(_) => true,
        };
        match job {
            JobSelect::Id(id) => self.jobs.find(*id).filter(is_job),
            JobSelect::Key { topic, key } => {
                let topic = self.topics.id(topic)?;
                self.jobs.find_key(self.key_secret.hash(topic, key))
            }
        }
    }

    /// The named topic; `None` for all topics.
    fn known_or_all(&self, topic: Option<&str>) -> Result<Option<TopicId>, NoSuchTopic> {
        topic.map(|topic| self.topics.id(topic).ok_or(NoSuchTopic)).transpose()
    }
}

/// A named topic does not exist.
#[derive(Clone, Copy, Debug)]
struct NoSuchTopic;

#[cfg(any(test, feature = "test-access"))]
impl Engine {
    /// Moves a job and makes it unfindable by its key.
    ///
    /// # Panics
    ///
    /// If there is no such job.
    pub fn move_without_key<S>(&mut self, job: JobId, topic: &str, store: &mut S)
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
