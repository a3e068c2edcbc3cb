//! Commands: the instructions in log entries.
//!
//! A command is not a request: requests change with the protocol, commands are replayed for years. New fields come only
//! with a new version of the [entry](super::entry) encoding. Commands name topics by text, because a topic's number may be
//! gone when they are applied.

#![expect(clippy::ref_option_ref, reason = "the derived code borrows the key as it is")]

use serde::{Deserialize, Serialize};

use crate::store::Record;
use crate::topics::groups::GroupChange;
use adjourn_types::{
    AttributeSet, BuryReason, Filter, GroupName, IfExists, JobId, Lease, Millis, Overlap, PolicyChange,
    RetryDefaults, ScheduleBefore, SessionId, SessionSecret, SkipReason, States, When,
};

/// One step of the state machine. Each has exactly one [`Outcome`](super::Outcome).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command<'a> {
    /// The first command of a new queue sets the secret under which keys are hashed. It is rejected if there was one
    /// before, or while a job exists.
    Genesis {
        /// Drawn at random by the node that founded the queue.
        key_secret: [u8; 16],
    },
    /// The wall clock was set: its new offset from the stamp.
    ClockOffset {
        /// Wall clock minus stamp, in milliseconds.
        offset_ms: i64,
    },
    /// Opens a session.
    SessionOpen {
        /// The secret that a resume must present.
        secret: SessionSecret,
        /// If true, its leases run to their deadline when it lapses or closes.
        leases_outlive: bool,
        /// Who opens it, for the history of the jobs that it holds: at most
        /// [`CLIENT_BYTES_MAX`](adjourn_types::limits::CLIENT_BYTES_MAX) bytes; empty if that is not known.
        client: &'a str,
    },
    /// Resumes a lapsed session that the queue still remembers.
    SessionResume {
        /// The lapsed session.
        session: SessionId,
        /// The secret that the session was opened with.
        secret: SessionSecret,
    },
    /// A session's grace is over: its leases end as failed attempts. The queue remembers the session for a while.
    SessionLapse {
        /// The session that lapses.
        session: SessionId,
    },
    /// A client closed its session: as [`Self::SessionLapse`], but the session is forgotten at once.
    SessionClose {
        /// The session that ends.
        session: SessionId,
    },
    /// Adds jobs to one topic. A repeated sequence number gets its first outcome.
    Push {
        /// The producer; [`SessionId`] 0 for none.
        session: SessionId,
        /// Sequence number of the first job; 0 if repeats are not to be recognised.
        sequence: u64,
        /// The topic, created if it is new.
        topic: &'a str,
        /// The jobs.
        #[serde(borrow)]
        jobs: Vec<NewJob<'a>>,
    },
    /// Leases ready jobs to a live session. Paused and unknown topics have no jobs.
    Reserve {
        /// The consumer.
        session: SessionId,
        /// The topics to reserve from, and which of them gives the next job.
        #[serde(borrow)]
        topics: TopicOrder<'a>,
        /// The maximum number of jobs.
        jobs_max: u32,
        /// No job is added once their bodies have reached this size, in bytes.
        bytes_max: u64,
    },
    /// Finishes jobs. A repeated finish under the same lease succeeds for a while.
    Finish {
        /// Leases on the finished jobs.
        leases: Vec<Lease>,
    },
    /// Gives jobs back. The attempt counts as failed: a job without an attempt left is buried.
    Release {
        /// Leases on the released jobs.
        leases: Vec<Lease>,
        /// The delay until the next attempt; `None` follows the backoff.
        delay_ms: Option<u64>,
        /// False if the work was not begun: the attempt is not counted, and `delay_ms` only delays the job.
        attempted: bool,
        /// The new last reason of each job, of at most [`REASON_BYTES_MAX`](adjourn_types::limits::REASON_BYTES_MAX) bytes; if
        /// empty, the last one stays.
        reason: &'a str,
    },
    /// Restarts the time of leases.
    Touch {
        /// Leases to extend.
        leases: Vec<Lease>,
        /// The new time to run from now on; `None` uses the job's own.
        ttr_ms: Option<u32>,
    },
    /// Buries jobs.
    Bury {
        /// Leases on the jobs to bury.
        leases: Vec<Lease>,
        /// As in [`Self::Release`].
        reason: &'a str,
    },
    /// Removes a job in any state. A lease on it ends.
    Delete {
        /// The job to remove.
        #[serde(borrow)]
        job: JobSelect<'a>,
    },
    /// Sets a new due time, before its expiry, for a delayed or ready job. A buried job must be kicked first.
    Reschedule {
        /// The job to reschedule.
        #[serde(borrow)]
        job: JobSelect<'a>,
        /// The new due time.
        due: When,
        /// The [version](super::JobView::version) that the job must have, if set.
        version: Option<u64>,
    },
    /// Makes a delayed job ready, due now. A ready one is unchanged.
    RunNow {
        /// The job to make ready.
        #[serde(borrow)]
        job: JobSelect<'a>,
    },
    /// Makes a buried job ready, due now; its attempts start at 0 again.
    Kick {
        /// The job to kick.
        #[serde(borrow)]
        job: JobSelect<'a>,
    },
    /// Pauses or resumes a topic: reserve takes no job of a paused one.
    TopicPause {
        /// The topic to pause or resume.
        topic: &'a str,
        /// True to pause.
        paused: bool,
        /// Who pauses it: at most [`CLIENT_BYTES_MAX`](adjourn_types::limits::CLIENT_BYTES_MAX) bytes; empty if that is not known.
        by: &'a str,
        /// The pause ends by itself after this time, at most [`DELAY_MS_MAX`](adjourn_types::limits::DELAY_MS_MAX); `None` until it
        /// is resumed.
        for_ms: Option<u64>,
    },
    /// Continues after entries may have been lost, or a copy of the queue may have gone on. The ids, fences and sessions
    /// that were given out there must not be given out again: each count continues at `floor`, or
    /// [`IDS_SKIPPED`](super::IDS_SKIPPED) further if it is there already. The members are forgotten: the node continues
    /// alone.
    SkipIds {
        /// See [`ids_floor`](super::ids_floor).
        floor: u64,
    },
    /// Adds a member of the cluster, or updates its addresses. A removed member, or another copy of the data, is rejected.
    MemberSet {
        /// Its number.
        node: u64,
        /// Its copy of the data.
        storage_id: [u8; 16],
        /// Where the other members reach it.
        peer_address: &'a str,
        /// Where clients reach it.
        client_address: &'a str,
    },
    /// All members support this feature level: commands that need it may follow. A lower level changes nothing.
    FeatureLevel {
        /// The level that all members support.
        level: u32,
    },
    /// Kicks the first buried jobs of a topic, in the order (priority, due, id). Needs the feature level
    /// [`FEATURE_KICK_MANY`](adjourn_types::FEATURE_KICK_MANY).
    KickMany {
        /// The topic of the buried jobs.
        topic: &'a str,
        /// The maximum number of jobs to kick.
        jobs_max: u32,
    },
    /// Applies one change to each of these jobs that exists, meets the conditions and is in a state that allows it.
    Bulk {
        /// The topic that the jobs must be in; `None` for any.
        #[serde(borrow)]
        topic: Option<&'a str>,
        /// The change.
        change: BulkChange,
        /// The jobs to change.
        jobs: Vec<JobId>,
        /// Conditions that each job must meet when this is applied.
        #[serde(borrow)]
        conditions: Conditions<'a>,
    },
    /// Moves jobs to another topic, with their history. Reserved jobs stay, and jobs whose key exists there.
    Move {
        /// The topic that the jobs must be in; `None` for any.
        #[serde(borrow)]
        from: Option<&'a str>,
        /// The new topic, created when the first job moves there.
        to: &'a str,
        /// The jobs to move, with their keys.
        #[serde(borrow)]
        jobs: Vec<KeyedJob<'a>>,
        /// Conditions that each job must meet when this is applied.
        #[serde(borrow)]
        conditions: Conditions<'a>,
    },
    /// Forgets a topic without jobs, and its settings. Its number is never used again.
    TopicDelete {
        /// The topic to forget.
        topic: &'a str,
    },
    /// Changes a topic's policy; the topic is created if it is new.
    TopicPolicy {
        /// The topic.
        topic: &'a str,
        /// The change, as [`PolicyChange::encode`](adjourn_types::PolicyChange::encode) writes it.
        #[serde(with = "serde_bytes", borrow)]
        change: &'a [u8],
    },
    /// Adds jobs to one topic under an idempotency key.
    PushIdempotent {
        /// The owner of the key: other owners may use the same one.
        owner: u64,
        /// The key of the first job; the next jobs have the keys that follow.
        key: u128,
        /// The number of jobs in the whole list, of which these may be a part: a key belongs to one list.
        list_jobs: u32,
        /// The topic, created if it is new.
        topic: &'a str,
        /// The jobs.
        #[serde(borrow)]
        jobs: Vec<NewJob<'a>>,
    },
    /// Sets the retry defaults for jobs that are pushed from now on, from the leader's configuration.
    RetryDefaults {
        /// They apply where neither job nor topic sets anything.
        defaults: RetryDefaults,
    },
    /// Changes parts of a delayed, ready or buried job.
    Edit {
        /// The job to change.
        job: JobId,
        /// What changes.
        #[serde(borrow)]
        edit: JobEdit<'a>,
        /// The [version](super::JobView::version) that the job must have, if set.
        version: Option<u64>,
    },
    /// Creates a schedule, or changes the one with its name.
    ScheduleSet {
        /// The topic of its jobs, created if it is new.
        topic: &'a str,
        /// What it is to be.
        #[serde(borrow)]
        schedule: NewSchedule<'a>,
        /// The schedule that the proposer saw under this name; `None` if there was none. If it is another one by now, nothing is
        /// changed.
        before: Option<ScheduleBefore>,
    },
    /// Pushes jobs of a schedule.
    ScheduleFire {
        /// The schedule.
        schedule: JobId,
        /// The [checksum](super::BodyRef::checksum) of the schedule's record from which this was made. If it has another one
        /// by now, nothing is changed.
        record_checksum: u32,
        /// Why the schedule fires; `None` if a user asks for it.
        tick: Option<Tick>,
        /// The jobs to push, in order.
        #[serde(borrow)]
        firings: Vec<NewFiring<'a>>,
        /// What they have in common.
        #[serde(borrow)]
        template: JobTemplate<'a>,
    },
    /// Pauses or resumes a schedule.
    SchedulePause {
        /// The schedule.
        schedule: JobId,
        /// True to pause.
        paused: bool,
        /// Why it is paused: at most [`REASON_BYTES_MAX`](adjourn_types::limits::REASON_BYTES_MAX) bytes; empty for no note.
        note: &'a str,
    },
    /// Forgets a schedule. Its jobs stay.
    ScheduleDelete {
        /// The schedule.
        schedule: JobId,
    },
    /// Changes the settings of a group.
    GroupSet {
        /// Its topic.
        topic: &'a str,
        /// Its name.
        group: &'a str,
        /// The change.
        change: GroupChange,
    },
    /// Leases one job to a live session, whether it is ready, delayed or buried, and whatever holds it back.
    ReserveJob {
        /// The consumer.
        session: SessionId,
        /// The job.
        #[serde(borrow)]
        job: JobSelect<'a>,
    },
    /// Passes over fences. Those of leases that were granted, and lost with a crash, must not be issued again.
    SkipFences {
        /// How many, at most [`SKIPPED_FENCES_MAX`](super::SKIPPED_FENCES_MAX).
        count: u64,
    },
}

impl Command<'_> {
    /// True if this version can read the parts of the command that have an encoding of their own. An entry from a newer
    /// version is refused as a whole: to skip a command would make this replica's state differ from the others'.
    pub(super) fn is_readable(&self) -> bool {
        match self {
            Self::TopicPolicy { change, .. } => PolicyChange::decode(change).is_ok(),
            _ => true,
        }
    }
}

/// A job with its key, so that the key can be hashed for another topic without reading the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyedJob<'a> {
    /// The job.
    pub job: JobId,
    /// The key that it was pushed with; `None` without one.
    #[serde(with = "serde_bytes", borrow)]
    pub key: Option<&'a [u8]>,
}

/// A change to each of many jobs, as the command for one job makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BulkChange {
    /// Removes it.
    Delete,
    /// Makes it ready, if it is buried.
    Kick,
    /// Makes it ready, if it is delayed.
    RunNow,
    /// Gives it this due time of the wall clock.
    Reschedule {
        /// The new due time. A job that has it already is left alone.
        due: Millis,
    },
}

/// The conditions of a [`Filter`] that may change while a job lives.
///
/// The proposer has selected jobs by a filter. Some may change before the command is applied, so each is checked again, and
/// skipped if it no longer matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions<'a> {
    /// As [`States::bits`](adjourn_types::States::bits) writes them.
    pub states: u8,
    /// As in the filter, like the fields below.
    pub due_from: Option<Millis>,
    /// See the filter.
    pub due_before: Option<Millis>,
    /// See the filter.
    pub attempts_min: Option<u32>,
    /// See the filter.
    pub attempts_max: Option<u32>,
    /// See the filter.
    pub buried: Option<BuryReason>,
    /// See the filter.
    #[serde(borrow)]
    pub reason: Option<&'a str>,
    /// See the filter.
    #[serde(borrow)]
    pub group: Option<&'a str>,
}

impl<'a> Conditions<'a> {
    /// The conditions of a filter that may change while a job lives, without the topic, which a command names separately. A
    /// job's key does not change.
    pub fn of(filter: &'a Filter) -> Self {
        Self {
            states: filter.states.bits(),
            due_from: filter.due_from,
            due_before: filter.due_before,
            attempts_min: filter.attempts_min,
            attempts_max: filter.attempts_max,
            buried: filter.buried,
            reason: filter.reason.as_deref(),
            group: filter.group.as_ref().map(GroupName::as_str),
        }
    }

    pub(super) fn filter(&self) -> Filter {
        Filter {
            states: States::from_bits(self.states).unwrap_or_default(),
            due_from: self.due_from,
            due_before: self.due_before,
            attempts_min: self.attempts_min,
            attempts_max: self.attempts_max,
            buried: self.buried,
            reason: self.reason.map(str::to_owned),
            group: self.group.and_then(|group| group.parse().ok()),
            ..Filter::default()
        }
    }
}

/// How a reserve chooses among several topics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TopicOrder<'a> {
    /// The first job in the order (priority, due, id) over all topics.
    OfJobs(#[serde(borrow)] Vec<&'a str>),
    /// The topics take turns by their shares; within a topic the usual order holds.
    OfShares(#[serde(borrow)] Vec<Share<'a>>),
}

impl<'a> TopicOrder<'a> {
    /// The names of the topics.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        let (topics, shares) = match self {
            Self::OfJobs(topics) => (&topics[..], &[][..]),
            Self::OfShares(shares) => (&[][..], &shares[..]),
        };
        topics.iter().copied().chain(shares.iter().map(|share| share.topic))
    }
}

/// A topic's share in a weighted reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share<'a> {
    /// The topic.
    pub topic: &'a str,
    /// Its weight relative to the other topics that have a job.
    pub weight: u16,
    /// Its credit when the reserve begins: the highest credit gets the next job. Negative if it had more than its share.
    pub standing: i64,
}

/// Identifies a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobSelect<'a> {
    /// By its id.
    Id(JobId),
    /// By the user's key.
    Key {
        /// The key's topic.
        topic: &'a str,
        /// The key.
        #[serde(with = "serde_bytes", borrow)]
        key: &'a [u8],
    },
}

/// The parts of a job that an edit changes; `None` leaves a part as it is. The proposer has checked the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEdit<'a> {
    /// The new due time, before its expiry. A buried job has none.
    pub due: Option<When>,
    /// The new priority, as in [`NewJob`].
    pub priority: Option<u32>,
    /// The new time of a lease, as in [`NewJob`].
    pub ttr_ms: Option<u32>,
    /// The new record.
    #[serde(borrow)]
    pub record: Option<EditedRecord<'a>>,
}

/// A job's record after an edit. The proposer made it from the record that the job had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditedRecord<'a> {
    /// The [checksum](super::BodyRef::checksum) of the record from which this one was made. If the job has another record by
    /// now, nothing is changed.
    pub before: u32,
    /// The attributes that are new. What the job took from its topic for the others stays.
    pub replaced: AttributeSet,
    /// The whole record, new and old parts. The key does not change.
    #[serde(borrow)]
    pub record: Record<'a>,
}

/// A schedule that is set. The proposer has checked its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSchedule<'a> {
    /// Its name, unique in its topic.
    #[serde(with = "serde_bytes", borrow)]
    pub name: &'a [u8],
    /// As in [`NewJob`].
    pub priority: u32,
    /// As in [`NewJob`].
    pub ttr_ms: u32,
    /// What it does while an earlier job has not ended.
    pub overlap: Overlap,
    /// It is paused after this many failures in a row; 0 for never.
    pub failures_max: u32,
    /// Its next instant, by the wall clock; `None` if there is none.
    pub next: Option<Millis>,
    /// The encoded attributes: those of its jobs, and when it fires.
    #[serde(with = "serde_bytes", borrow)]
    pub attributes: &'a [u8],
    /// The payload of its jobs.
    #[serde(with = "serde_bytes", borrow)]
    pub body: &'a [u8],
}

/// An instant of a schedule has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tick {
    /// The instant. If it is not the schedule's next one by now, nothing is changed.
    pub instant: Millis,
    /// The instants that are not fired.
    pub skipped: Option<SkippedInstants>,
    /// The next instant from now on; `None` if there is none.
    pub next: Option<Millis>,
    /// It has no next one if it pushes a job at so many instants now; `None` for no such number.
    pub left: Option<u64>,
}

/// Instants that a schedule does not fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedInstants {
    /// The first one.
    pub first: Millis,
    /// The last one.
    pub last: Millis,
    /// How many they are.
    pub instants: u64,
    /// Why they are skipped.
    pub reason: SkipReason,
}

/// One job of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFiring<'a> {
    /// The instant that it is for, by the wall clock.
    pub instant: Millis,
    /// When the job is due: the instant, or a little later.
    pub due: Millis,
    /// The job's key. If a job has it, no job is pushed.
    #[serde(with = "serde_bytes", borrow)]
    pub key: Option<&'a [u8]>,
}

/// What the jobs of a schedule have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobTemplate<'a> {
    /// The encoded attributes.
    #[serde(with = "serde_bytes", borrow)]
    pub attributes: &'a [u8],
    /// The payload.
    #[serde(with = "serde_bytes", borrow)]
    pub body: &'a [u8],
}

/// One job of a push. The proposer has checked its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewJob<'a> {
    /// When it is due.
    pub due: When,
    /// A lower number is reserved first. [`PRIORITY_UNSAID`](adjourn_types::limits::PRIORITY_UNSAID) leaves it to the topic.
    pub priority: u32,
    /// How long a lease on it lasts, in milliseconds; 0 leaves it to the topic.
    pub ttr_ms: u32,
    /// What to do if the key exists.
    pub if_exists: IfExists,
    /// The user's key.
    #[serde(with = "serde_bytes", borrow)]
    pub key: Option<&'a [u8]>,
    /// The encoded attributes; empty for none.
    #[serde(with = "serde_bytes", borrow)]
    pub attributes: &'a [u8],
    /// The payload.
    #[serde(with = "serde_bytes", borrow)]
    pub body: &'a [u8],
}
