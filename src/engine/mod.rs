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

mod bulk;
mod capture;
mod change;
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
mod list;
mod listing;
mod loaded;
mod members;
mod move_jobs;
mod paged;
mod policy;
mod postpone;
mod push;
mod read;
mod ready;
mod recent;
mod repeat;
mod reserve;
mod retry;
mod saved;
mod saved_topics;
mod sessions;
mod settle;
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
pub use command::{BulkChange, Command, Conditions, JobSelect, KeyedJob, NewJob, Share, TopicSelect};
pub use entry::{Entry, EntryBuilder, EntryError};
pub use events::{JobEvent, JobEventKind};
pub use listing::{Listed, Listing};
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

use std::collections::BTreeSet;

use crate::types::limits::LAPSE_LEASES_MAX;
use crate::types::{
    FEATURE_BOUNDED_STATE, FEATURE_JOB_HISTORY, FEATURE_REMEMBERED_JOBS, GroupId, JobId, Lease, Member,
    Millis, SessionId, TopicId,
};

/// How far [`Command::SkipIds`] moves the counts that are beyond its floor: further than any log that was lost can have
/// moved them.
pub const IDS_SKIPPED: u64 = 1 << 40;

/// No clock makes a [floor](ids_floor) higher than this: the job sequence has 56 bits, and some room is left for those that
/// count on, and skip on.
pub const LAST_JOB_MAX: u64 = (1 << 56) - (1 << 48);

/// The highest valid job count. Skipped ids end far below it, so that ids for centuries are left.
pub const COUNTED_JOBS_MAX: u64 = (1 << 56) - IDS_SKIPPED;

/// The greatest of all other numbers that count up.
pub const COUNT_MAX: u64 = 1 << 62;

/// The count at which ids continue after an accepted loss or a restored backup, at this time. All ids issued before,
/// by this queue or by one made from the same backup, are lower, if the wall clock is right and
/// the queue has issued at most 16,384 ids in each millisecond since 2020. That is enough until the year 2155.
pub fn ids_floor(wall: Millis) -> u64 {
    const YEAR_2020_MS: u64 = 1_577_836_800_000;
    const PER_MS_SHIFT: u32 = 14;
    (wall.0.saturating_sub(YEAR_2020_MS)).min(LAST_JOB_MAX >> PER_MS_SHIFT) << PER_MS_SHIFT
}

/// How far ahead of its stamp an entry collects timers, so that no later entry has to collect all of them.
const PREPARE_AHEAD_MS: u64 = 5000;

/// Timers that an entry collects ahead at most.
const PREPARE_STEPS_MAX: usize = 2048;

/// The state of one group.
///
/// A delayed job without a key and without attributes that the engine heeds takes about 120 bytes.
#[derive(Debug)]
pub struct Engine {
    group: GroupId,
    clock: clock::Clock,
    /// Keys are hashed under it; `None` before the genesis.
    key_secret: Option<[u8; 16]>,
    /// Sequence of the job that was pushed last.
    last_job: u64,
    /// The fence that was granted last.
    last_fence: u64,
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
    reserving: reserve::Scratch,
    /// Ready jobs that reserves of the entry under way have not granted but put away: no state.
    put_away_in_entry: usize,
    /// Jobs that got another record since the last capture began; not part of the state. The store may use a place again, so the
    /// place alone does not tell the captured record from the present one.
    renewed: BTreeSet<JobId>,
    loaded: loaded::Loaded,
}

impl Engine {
    /// An empty queue, before its genesis.
    pub fn new(group: GroupId) -> Self {
        Self {
            group,
            clock: clock::Clock::default(),
            key_secret: None,
            last_job: 0,
            last_fence: 0,
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
            reserving: reserve::Scratch::default(),
            put_away_in_entry: 0,
            renewed: BTreeSet::new(),
            loaded: loaded::Loaded::default(),
        }
    }

    /// Applies one entry: fires the timers that are due at its stamp (a bounded number of jobs, by time and id), then
    /// carries out each command. An entry with an older stamp than the last one counts as having the last one's.
    ///
    /// # Errors
    ///
    /// When a spilled job cannot be read. The entry is then half applied: the state is not to be used any more.
    pub fn apply<S: JobStore>(&mut self, entry: &Entry<'_>, store: &mut S) -> Result<Applied, S::Error> {
        self.clock.stamp = self.clock.stamp.max(entry.stamp);
        self.topics.advance(self.clock.stamp);
        self.put_away_in_entry = 0;
        let mut applied =
            Applied { outcomes: Vec::with_capacity(entry.commands.len()), ..Applied::default() };
        self.turn_back();
        self.move_due(store, &mut applied.ended)?;
        self.finished.forget_old(self.clock.stamp, &mut self.sum);
        self.idempotent.forget_old(self.clock.stamp, &mut self.sum);
        self.sessions.forget_old(self.clock.stamp, &mut self.sum);
        self.topics.forget_idle(self.clock.stamp, &mut self.sum);
        for command in &entry.commands {
            self.load_named(command, store)?;
            let outcome = self.carry_out(command, store, &mut applied.ended);
            applied.outcomes.push(outcome.unwrap_or_else(Outcome::Rejected));
        }
        self.topics.settle(self.is_bounded().then_some(self.clock.stamp), &mut self.sum);
        applied.topics_gone = self.topics.take_gone();
        self.sessions.settle(&mut self.sum);
        let ahead = self.clock.at(self.clock.stamp.after(PREPARE_AHEAD_MS));
        self.timers.prepare(ahead, PREPARE_STEPS_MAX);
        Ok(applied)
    }

    fn move_due<S: JobStore>(&mut self, store: &mut S, ended: &mut Vec<Lease>) -> Result<(), S::Error> {
        let mut moved = transition::Moved::default();
        while !moved.is_enough() {
            let Some(slot) = self.first_due(store)? else { break };
            moved.add(&self.jobs[slot]);
            self.fire(slot, store, ended);
        }
        Ok(())
    }

    fn carry_out(
        &mut self,
        command: &Command<'_>,
        store: &mut impl JobStore,
        ended: &mut Vec<Lease>,
    ) -> Result<Outcome, Reject> {
        match command {
            Command::Genesis { key_secret } => {
                // Keys that live were hashed under what held then.
                if self.key_secret.is_some() || self.jobs.len() > 0 {
                    return Err(Reject::GenesisTwice);
                }
                self.key_secret = Some(*key_secret);
            }
            Command::ClockOffset { offset_ms } => self.clock.set_offset(*offset_ms),
            Command::SessionOpen { secret, leases_outlive } => {
                let bounded = self.is_bounded();
                let session = self.sessions.open(*secret, *leases_outlive, bounded, &mut self.sum)?;
                return Ok(Outcome::Session { session });
            }
            Command::SessionResume { session, secret } => {
                self.sessions.resume(*session, secret)?;
                return Ok(Outcome::Session { session: *session });
            }
            Command::SessionLapse { session } => return self.end_session(*session, store, ended),
            Command::SessionClose { session } => return self.close_session(*session, store, ended),
            Command::Push { session, sequence, topic, jobs } => {
                return self.push(*session, *sequence, *topic, jobs, store, ended).map(Outcome::Pushed);
            }
            Command::PushIdempotent { .. } => return self.push_idempotent(command, store, ended),
            Command::Reserve { session, topics, jobs_max, bytes_max } => {
                let grants = self.reserve(*session, topics, *jobs_max, *bytes_max, store)?;
                return Ok(Outcome::Granted(grants));
            }
            Command::Delete { job } => return self.delete(job, store, ended),
            Command::Reschedule { job, due } => return self.reschedule(job, *due, None),
            Command::RescheduleIf { job, due, version } => return self.reschedule(job, *due, Some(*version)),
            Command::RunNow { job } => return self.run_now(job),
            Command::Kick { job } => return self.kick(job),
            Command::TopicPause { topic, paused } => self.pause_topic(*topic, *paused)?,
            Command::TopicPolicy { topic, change } => return self.change_policy(*topic, change),
            Command::TopicDelete { topic } => return self.delete_topic(*topic),
            Command::SkipIds { floor } => self.skip_ids(*floor),
            Command::MemberSet { node, storage_id, peer_address, client_address } => {
                let [peer_address, client_address] = [*peer_address, *client_address].map(str::to_owned);
                let member = Member { node: *node, storage_id: *storage_id, peer_address, client_address };
                self.members.set(member, &mut self.sum)?;
            }
            Command::FeatureLevel { level } => self.raise_feature_level(*level),
            Command::RetryDefaults { defaults } => return self.set_defaults(defaults),
            Command::KickMany { topic, jobs_max } => return self.kick_many(*topic, *jobs_max),
            Command::ReserveNamed { session, topics, jobs_max, bytes_max } => {
                return self.reserve_named(*session, topics, *jobs_max, *bytes_max, store);
            }
            Command::Finish { .. }
            | Command::Release { .. }
            | Command::Touch { .. }
            | Command::Bury { .. }
            | Command::ReleaseBecause { .. }
            | Command::BuryBecause { .. } => return Ok(self.settle(command, store)),
            Command::Bulk { .. } | Command::BulkIn { .. } | Command::Move { .. } => {
                return self.change_jobs(command, store, ended);
            }
            Command::ReserveWeighted { session, shares, jobs_max, bytes_max } => {
                return self.reserve_weighted(*session, shares, *jobs_max, *bytes_max, store);
            }
        }
        Ok(Outcome::Done)
    }

    fn skip_ids(&mut self, floor: u64) {
        let skipped = |last: u64| if last < floor { floor } else { last + IDS_SKIPPED };
        let skipped_to = skipped(self.last_job).min(COUNTED_JOBS_MAX - IDS_SKIPPED);
        self.last_job = self.last_job.max(skipped_to);
        self.last_fence = skipped(self.last_fence);
        self.sessions.skip(skipped);
        self.members.clear(&mut self.sum);
    }

    fn pause_topic(&mut self, topic: TopicSelect<'_>, paused: bool) -> Result<(), Reject> {
        let topic = if self.is_bounded() { self.existing(topic)? } else { self.intern(topic)? };
        self.topics.pause(topic, paused);
        Ok(())
    }

    /// Its name is free at once. Requests that wait for its jobs then wait for those of the next topic with that name.
    fn delete_topic(&mut self, topic: TopicSelect<'_>) -> Result<Outcome, Reject> {
        let topic = self.existing(topic)?;
        Ok(match self.topics.existing(topic).all_jobs() {
            0 => {
                self.topics.forget(topic, &mut self.sum);
                Outcome::Done
            }
            jobs => Outcome::TopicHasJobs { jobs },
        })
    }

    /// From the level on at which topics may be forgotten, those without jobs are idle.
    fn raise_feature_level(&mut self, level: u32) {
        let was_bounded = self.is_bounded();
        self.members.raise_feature_level(level);
        if self.is_bounded() && !was_bounded {
            self.topics.note_all();
        }
    }

    /// A node is not a member of the cluster any more, by an entry that is none of commands.
    pub fn remove_member(&mut self, node: u64) {
        self.members.remove(node, &mut self.sum);
    }

    /// Whether the state is to keep the stricter bounds, which all members know.
    fn is_bounded(&self) -> bool {
        self.members.feature_level() >= FEATURE_BOUNDED_STATE
    }

    /// Whether the state records what happens to jobs, which all members know.
    fn keeps_history(&self) -> bool {
        self.members.feature_level() >= FEATURE_JOB_HISTORY
    }

    /// Whether finished jobs are remembered for as long as they say, which all members know.
    fn remembers_jobs(&self) -> bool {
        self.members.feature_level() >= FEATURE_REMEMBERED_JOBS
    }

    /// The topic that a command names; made if it is named and new.
    fn intern(&mut self, topic: TopicSelect<'_>) -> Result<TopicId, Reject> {
        match topic {
            TopicSelect::Id(_) => self.existing(topic),
            TopicSelect::Name(name) => self.topics.intern(name, &mut self.sum),
        }
    }

    /// The topic that a command names, if it is there.
    fn existing(&self, topic: TopicSelect<'_>) -> Result<TopicId, Reject> {
        self.known(topic).filter(|id| self.topics.find(*id).is_some()).ok_or(Reject::NotFound)
    }

    /// A session may hold leases no longer: each counts as a failed attempt. Where it has more of them than one command gives
    /// back, it is done by the same command when that was carried out often enough.
    fn end_session(
        &mut self,
        session: SessionId,
        store: &mut impl JobStore,
        ended: &mut Vec<Lease>,
    ) -> Result<Outcome, Reject> {
        for slot in self.sessions.lapse(session, self.clock.stamp, self.lapse_leases_max())? {
            let job = &self.jobs[slot];
            ended.push(Lease { job: job.id, fence: job.fence() });
            self.fail_attempt(slot, None, store);
        }
        Ok(match self.sessions.lease_count(session) as u64 {
            0 => Outcome::Done,
            leases => Outcome::Lapsing { leases },
        })
    }

    /// As [`Self::end_session`]; with its last lease it is forgotten.
    fn close_session(
        &mut self,
        session: SessionId,
        store: &mut impl JobStore,
        ended: &mut Vec<Lease>,
    ) -> Result<Outcome, Reject> {
        let outcome = self.end_session(session, store, ended)?;
        if outcome == Outcome::Done {
            self.sessions.forget(session, &mut self.sum);
        }
        Ok(outcome)
    }

    /// How many leases one command gives back of a session that ends. All of them where there may be members that know no
    /// better.
    fn lapse_leases_max(&self) -> usize {
        let in_steps = self.feature_level() >= FEATURE_BOUNDED_STATE;
        if in_steps { LAPSE_LEASES_MAX } else { usize::MAX }
    }
}
