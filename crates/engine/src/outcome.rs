//! The outcomes of commands, and views of the state for readers.

use serde::{Deserialize, Serialize};

use super::place::BodyRef;
use adjourn_types::{
    Backoff, BuryReason, Fence, Firing, JobHistory, JobId, JobState, Lease, Millis, Overlap, PausedBy,
    SessionId, SkipReason, TopicId, TopicName,
};

/// The result of applying one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// One outcome per command, in order.
    pub outcomes: Vec<Outcome>,
    /// Leases that ended without a settling command: they expired, their session lapsed or closed, or their job was deleted
    /// or replaced.
    pub ended: Vec<Lease>,
    /// Topics that were deleted, or forgotten because they were idle. Their numbers are not used again.
    pub topics_gone: Vec<(TopicId, TopicName)>,
}

/// The result of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Genesis, clock offset, session lapse and close, topic pause and delete, schedule pause and delete.
    Done,
    /// Session open and resume.
    Session {
        /// Its id.
        session: SessionId,
    },
    /// Push: one per job.
    Pushed(Vec<PushOutcome>),
    /// Reserve: the jobs that are now leased, possibly none.
    Granted(Vec<Grant>),
    /// Weighted reserve.
    GrantedByShares {
        /// The jobs that are now leased, possibly none.
        grants: Vec<Grant>,
        /// The change to the [standing](super::Share::standing) of each share.
        advances: Vec<i64>,
    },
    /// Finish, release, touch and bury: one per lease.
    Settled(Vec<Result<(), Reject>>),
    /// Delete, reschedule, run now and kick.
    Changed {
        /// The job.
        job: JobId,
        /// Its state now; for a delete, the state it was in.
        state: JobState,
        /// When it is due, by the wall clock.
        due: Millis,
        /// Its [version](JobView::version) now; for a delete, the last one.
        version: u64,
    },
    /// Kick many and bulk changes: how many jobs were changed.
    ChangedMany {
        /// Number of changed jobs.
        jobs: u32,
    },
    /// Move: how many jobs moved, and how many could not.
    Moved {
        /// Number of moved jobs.
        jobs: u32,
        /// Number of jobs that stay because another job has their key in the new topic.
        in_the_way: u32,
    },
    /// Topic delete: the topic has jobs or schedules, and nothing was changed.
    TopicHasJobs {
        /// Number of jobs in the topic.
        jobs: u64,
        /// Number of its schedules.
        schedules: u64,
    },
    /// Schedule set.
    ScheduleSet {
        /// Its id.
        schedule: JobId,
        /// How often it was set.
        version: u32,
        /// Its next instant; `None` if there is none.
        next: Option<Millis>,
    },
    /// Schedule fire: the job of each firing, or why it was skipped.
    Fired(Vec<Result<JobId, SkipReason>>),
    /// Session lapse and close: the session still holds leases. The command must be repeated to give them back.
    Lapsing {
        /// Number of leases left.
        leases: u64,
    },
    /// Nothing was changed.
    Rejected(Reject),
}

/// The result for one pushed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushOutcome {
    /// It was added.
    Pushed(JobId),
    /// Its key exists and the push asked to keep that job.
    Kept(JobId),
    /// It replaced the job with its key, under this new id.
    Replaced(JobId),
    /// The job with its key took over its body, due time and settings.
    Postponed(JobId),
    /// It was refused; with the job that has its key, if that is why.
    Refused(Reject, Option<JobId>),
}

/// Why a command changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reject {
    /// A genesis after the first one, or after the first job.
    GenesisTwice = 0,
    /// The lease is not the job's current one.
    StaleLease = 1,
    /// The topic has a live job with this key.
    KeyExists = 2,
    /// No such job or topic.
    NotFound = 3,
    /// The job is reserved.
    Reserved = 4,
    /// The job is in another state than the command needs.
    WrongState = 5,
    /// No such session, or a wrong secret.
    SessionUnknown = 6,
    /// The sequence number lies before the producer's window, so its outcome is forgotten.
    OutcomeUnknown = 7,
    /// The job would expire before it is due.
    ExpiresBeforeDue = 8,
    /// Too many topics.
    TopicQuota = 9,
    /// Too many sessions.
    SessionQuota = 10,
    /// The node is a former member.
    MemberRemoved = 11,
    /// The node is known with another copy of the data.
    MemberChanged = 12,
    /// The topic's policy allows no more jobs, or no more bytes.
    TopicFull = 13,
    /// The topic's policy allows no body of this size.
    BodyTooLarge = 14,
    /// The sequence number was used for another job.
    SequenceReused = 15,
    /// The job is not in the version that the command expects.
    Changed = 16,
    /// The queue has had the maximum number of different retry defaults.
    DefaultsQuota = 17,
    /// The topic has no group settings, so settings of one group mean nothing.
    NotFair = 18,
    /// Too many groups of the topic have settings.
    GroupQuota = 19,
}

impl Reject {
    /// The reason with this number.
    pub fn from_u8(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::GenesisTwice,
            1 => Self::StaleLease,
            2 => Self::KeyExists,
            3 => Self::NotFound,
            4 => Self::Reserved,
            5 => Self::WrongState,
            6 => Self::SessionUnknown,
            7 => Self::OutcomeUnknown,
            8 => Self::ExpiresBeforeDue,
            9 => Self::TopicQuota,
            10 => Self::SessionQuota,
            11 => Self::MemberRemoved,
            12 => Self::MemberChanged,
            13 => Self::TopicFull,
            14 => Self::BodyTooLarge,
            15 => Self::SequenceReused,
            16 => Self::Changed,
            17 => Self::DefaultsQuota,
            18 => Self::NotFair,
            19 => Self::GroupQuota,
            _ => return None,
        })
    }
}

/// A job that is now leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The job and its new fence.
    pub lease: Lease,
    /// Its topic.
    pub topic: TopicId,
    /// Priority; a lower number is reserved first.
    pub priority: u32,
    /// How often the job was reserved, this time included.
    pub attempts: u32,
    /// When it was due, by the wall clock.
    pub due: Millis,
    /// When the lease is over, as a stamp.
    pub deadline: Millis,
    /// Where key, attributes and body are.
    pub body: BodyRef,
}

/// A job as readers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobView {
    /// Its id.
    pub id: JobId,
    /// Its state.
    pub state: JobState,
    /// Its topic.
    pub topic: TopicId,
    /// Priority; a lower number is reserved first.
    pub priority: u32,
    /// How often it was reserved.
    pub attempts: u32,
    /// When it is, or was, due, by the wall clock.
    pub due: Millis,
    /// How long a lease on it lasts.
    pub ttr_ms: u32,
    /// The fence of its lease, and the deadline as a stamp; `None` if it is not reserved.
    pub lease: Option<(Fence, Millis)>,
    /// When it expires, by the wall clock; `None` for never.
    pub expires: Option<Millis>,
    /// It is buried after this many failed attempts; `None` for never.
    pub attempts_max: Option<u32>,
    /// The wait between attempts; `None` retries at once.
    pub backoff: Option<Backoff>,
    /// Why it is buried.
    pub buried: Option<BuryReason>,
    /// Its history.
    pub history: JobHistory,
    /// A number that changes with every change of the job; never 0.
    pub version: u64,
    /// Where key, attributes and body are.
    pub body: BodyRef,
}

/// A schedule as readers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleView {
    /// Its id.
    pub id: JobId,
    /// The topic of its jobs.
    pub topic: TopicId,
    /// The priority of its jobs, as in a push.
    pub priority: u32,
    /// How long a lease on its jobs lasts, as in a push.
    pub ttr_ms: u32,
    /// Its next instant, by the wall clock; `None` if there is none.
    pub next: Option<Millis>,
    /// True if that has come, and the leader is to fire it.
    pub is_to_fire: bool,
    /// True if that has come while an earlier job had not ended, and is fired as soon as that has ended.
    pub is_held: bool,
    /// Why it does not fire at present.
    pub paused: Option<PausedBy>,
    /// What the user who paused it noted; empty for nothing.
    pub pause_note: String,
    /// What it does while an earlier job has not ended.
    pub overlap: Overlap,
    /// It is paused after this many failures in a row; 0 for never.
    pub failures_max: u32,
    /// Failures in a row so far.
    pub failures: u32,
    /// Instants at which it pushed a job, without those by hand.
    pub fired: u64,
    /// Its jobs that have not ended.
    pub running: u32,
    /// How often it was set.
    pub version: u32,
    /// What it did of late, the oldest first.
    pub history: Vec<Firing>,
    /// Where name, attributes and body are.
    pub body: BodyRef,
}

/// A job that was finished a short time ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedView {
    /// Its topic, which still exists.
    pub topic: TopicId,
    /// How often it was reserved.
    pub attempts: u32,
    /// When it was finished, by the wall clock.
    pub at: Millis,
}

/// Since when a topic is paused, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// The stamp of the pause.
    pub since: Millis,
    /// Who paused it; empty if that is not known.
    pub by: String,
    /// The stamp at which it ends by itself; `None` if it lasts until the topic is resumed.
    pub until: Option<Millis>,
}

impl Paused {
    /// True if it has not ended by this stamp.
    pub fn lasts(&self, stamp: Millis) -> bool {
        self.until.is_none_or(|until| until > stamp)
    }
}

/// A topic as readers see it. Reading it is O(1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicView<'a> {
    /// Its number.
    pub id: TopicId,
    /// Its name.
    pub name: &'a TopicName,
    /// Set while reserve takes no job of it.
    pub paused: Option<&'a Paused>,
    /// Jobs whose due time lies ahead.
    pub delayed: u64,
    /// Jobs that wait for a consumer.
    pub ready: u64,
    /// Jobs under a lease.
    pub reserved: u64,
    /// Jobs set aside.
    pub buried: u64,
    /// Finished jobs that are still remembered.
    pub remembered: u64,
    /// Schedules, which are no jobs.
    pub schedules: u64,
    /// Jobs ever pushed, or moved here.
    pub pushed: u64,
    /// Jobs ever finished.
    pub finished: u64,
    /// Jobs ever deleted, replaced, or moved to another topic.
    pub deleted: u64,
    /// Jobs ever dropped because they expired or were late.
    pub expired: u64,
    /// Due time of the first ready job in reserving order, as a stamp.
    pub ready_since: Option<Millis>,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStatus {
    /// No such session, or a wrong secret.
    Unknown,
    /// It is live: it may hold leases.
    Live {
        /// If true, its leases run to their deadline when it lapses or closes.
        leases_outlive: bool,
    },
    /// It lapsed and gave its leases back; it may be resumed.
    Lapsed {
        /// If true, it kept its leases: they run to their deadline.
        leases_outlive: bool,
    },
}

/// A session as readers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// Its id.
    pub id: SessionId,
    /// If true, its leases run to their deadline when it lapses or closes.
    pub leases_outlive: bool,
}
