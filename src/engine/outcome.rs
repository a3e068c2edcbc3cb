//! The outcomes of commands, and the views for readers.

use super::store::BodyRef;
use crate::types::{
    Backoff, BuryReason, Fence, JobHistory, JobId, JobState, Lease, Millis, SessionId, TopicId, TopicName,
};

/// What applying one entry did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// One outcome per command, in order.
    pub outcomes: Vec<Outcome>,
    /// Leases that ended otherwise than by a settling command that showed them: their time was over, their
    /// session lapsed or closed, or their job was deleted or replaced.
    pub ended: Vec<Lease>,
    /// Topics that were forgotten because they had no jobs, or deleted. Their numbers are not used again.
    pub topics_gone: Vec<(TopicId, TopicName)>,
}

/// What one command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Genesis, clock offset, session lapse and close, topic pause and delete.
    Done,
    /// Session open and resume.
    Session {
        /// Its id.
        session: SessionId,
    },
    /// Push: one per job.
    Pushed(Vec<PushOutcome>),
    /// Reserve: the jobs that are now leased; may be none.
    Granted(Vec<Grant>),
    /// Weighted reserve.
    GrantedByShares {
        /// The jobs that are now leased; may be none.
        grants: Vec<Grant>,
        /// How far they have moved the [standing](super::Share::standing) of each share.
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
        /// Its [version](JobView::version) now; of a deleted one, the last.
        version: u64,
    },
    /// Kick many and bulk changes: how many jobs were changed.
    ChangedMany {
        /// Number of changed jobs.
        jobs: u32,
    },
    /// Move.
    Moved {
        /// How many jobs went.
        jobs: u32,
        /// How many were left where they were, as another job has their key in the topic to which they were to go.
        in_the_way: u32,
    },
    /// Topic delete: it has jobs, and nothing was changed.
    TopicHasJobs {
        /// Number of jobs in the topic.
        jobs: u64,
    },
    /// Session lapse, session close: the session still holds leases. Further commands have to give them back.
    Lapsing {
        /// Number of leases left.
        leases: u64,
    },
    /// Nothing was changed.
    Rejected(Reject),
}

/// What became of one pushed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushOutcome {
    /// In the queue.
    Pushed(JobId),
    /// Its key lives and it said keep.
    Kept(JobId),
    /// It replaced the job with its key; the new id.
    Replaced(JobId),
    /// The job with its key took its body and its due time.
    Postponed(JobId),
    /// Refused; with the job that lives under its key.
    Refused(Reject, Option<JobId>),
}

/// Why a command changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reject {
    /// A second genesis, or one that comes after the first job.
    GenesisTwice = 0,
    /// The lease is not the one that holds.
    StaleLease = 1,
    /// The topic has a live job with this key.
    KeyExists = 2,
    /// No such job or topic.
    NotFound = 3,
    /// The job is reserved.
    Reserved = 4,
    /// The job is in another state than the command needs.
    WrongState = 5,
    /// No such session, or not its secret.
    SessionUnknown = 6,
    /// The sequence lies before the producer's window.
    OutcomeUnknown = 7,
    /// The job would expire before it is due.
    ExpiresBeforeDue = 8,
    /// Too many topics.
    TopicQuota = 9,
    /// Too many sessions.
    SessionQuota = 10,
    /// The node was a member once, and was removed.
    MemberRemoved = 11,
    /// The node is known with another copy of the data.
    MemberChanged = 12,
    /// The topic's policy allows no more jobs, or no more bytes.
    TopicFull = 13,
    /// The topic's policy allows no body of this size.
    BodyTooLarge = 14,
    /// The sequence number was used for another job.
    SequenceReused = 15,
    /// The job is not as the command expects it.
    Changed = 16,
    /// The queue has had too many different defaults for retries.
    DefaultsQuota = 17,
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
    /// A lower number was reserved first.
    pub priority: u32,
    /// This one included.
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
    /// Where it stands.
    pub state: JobState,
    /// Its topic.
    pub topic: TopicId,
    /// A lower number is reserved first.
    pub priority: u32,
    /// How often it was reserved.
    pub attempts: u32,
    /// When it is, or was, due, by the wall clock.
    pub due: Millis,
    /// How long a lease on it lasts.
    pub ttr_ms: u32,
    /// The lease that holds it and its deadline as a stamp.
    pub lease: Option<(Fence, Millis)>,
    /// After how many failed attempts it is buried; `None` for never.
    pub attempts_max: Option<u32>,
    /// How it waits between attempts; `None` for not at all.
    pub backoff: Option<Backoff>,
    /// Why it is buried.
    pub buried: Option<BuryReason>,
    /// What happened to it so far.
    pub history: JobHistory,
    /// A number that is new after each change of it, and never 0.
    pub version: u64,
    /// Where key, attributes and body are.
    pub body: BodyRef,
}

/// A job that was finished a short time ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedView {
    /// Its topic, which the queue still knows.
    pub topic: TopicId,
    /// How often it was reserved.
    pub attempts: u32,
    /// When it was finished, by the wall clock.
    pub at: Millis,
}

/// A topic as readers see it. The counters cost nothing to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicView<'a> {
    /// Its number.
    pub id: TopicId,
    /// Its name.
    pub name: &'a TopicName,
    /// Whether reserving is stopped.
    pub paused: bool,
    /// Jobs whose due time lies ahead.
    pub delayed: u64,
    /// Jobs that wait for a consumer.
    pub ready: u64,
    /// Jobs under a lease.
    pub reserved: u64,
    /// Jobs set aside.
    pub buried: u64,
    /// Jobs that are finished and not forgotten yet.
    pub remembered: u64,
    /// Jobs ever pushed, or moved here.
    pub pushed: u64,
    /// Jobs ever finished.
    pub finished: u64,
    /// Jobs ever deleted, replaced, or moved to another topic.
    pub deleted: u64,
    /// Jobs ever dropped because they expired.
    pub expired: u64,
    /// When the first ready job in reserving order was due, as a stamp.
    pub ready_since: Option<Millis>,
}

/// What the queue knows of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStatus {
    /// No such session, or not its secret.
    Unknown,
    /// It may hold leases.
    Live {
        /// Its leases run to their deadline when it lapses or closes.
        leases_outlive: bool,
    },
    /// Its leases were given back; it may come back.
    Lapsed {
        /// Its leases run to their deadline when it lapses or closes: it still has them.
        leases_outlive: bool,
    },
}

/// A session as readers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// Its id.
    pub id: SessionId,
    /// Its leases run to their deadline when it lapses or closes.
    pub leases_outlive: bool,
}
