//! Commands: the instructions in the log.
//!
//! A command is not a request: requests change with the protocol, commands are replayed for years. A field is only
//! ever added in a new version of the [entry](super::entry) encoding. A topic is named: its number may be gone when the command is
//! applied.

#![expect(clippy::ref_option_ref, reason = "the derived code borrows the key as it is")]

use serde::{Deserialize, Serialize};

use crate::types::{
    BuryReason, Filter, IfExists, JobId, Lease, Millis, PolicyChange, RetryDefaults, SessionId,
    SessionSecret, States, When,
};

/// One step of the state. Each has exactly one [`Outcome`](super::Outcome).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command<'a> {
    /// The first command of a new queue: the secret under which keys are hashed. A second one is refused, and so is
    /// one while a job lives.
    Genesis {
        /// Drawn at random by the node that founded the queue.
        key_secret: [u8; 16],
    },
    /// The wall clock is now so far ahead of the stamp (negative: behind it).
    ClockOffset {
        /// Added to a stamp it gives the wall clock, in milliseconds.
        offset_ms: i64,
    },
    /// A new session.
    SessionOpen {
        /// What resuming it must show.
        secret: SessionSecret,
        /// Its leases run to their deadline when it lapses or closes.
        leases_outlive: bool,
    },
    /// A lapsed session comes back before the queue forgot it.
    SessionResume {
        /// The lapsed session.
        session: SessionId,
        /// Must be the one it was opened with.
        secret: SessionSecret,
    },
    /// A session's grace is over: its leases are given back as failed attempts. It is remembered for a while.
    SessionLapse {
        /// The session that lapses.
        session: SessionId,
    },
    /// A session said goodbye: as a lapse, and it is forgotten at once.
    SessionClose {
        /// The session that ends.
        session: SessionId,
    },
    /// New jobs of one topic. The outcome of a repeated sequence is that of the first time.
    Push {
        /// The producer; [`SessionId`] 0 for none.
        session: SessionId,
        /// Sequence of the first job; 0: repeats are not recognised.
        sequence: u64,
        /// Where they belong; created if it is new.
        topic: &'a str,
        /// The jobs.
        #[serde(borrow)]
        jobs: Vec<NewJob<'a>>,
    },
    /// Ready jobs for one consumer. The session must be live; topics that are paused or not known have none.
    Reserve {
        /// The consumer.
        session: SessionId,
        /// The topics to reserve from, and which of them gives the next job.
        #[serde(borrow)]
        topics: TopicOrder<'a>,
        /// The maximum number of jobs.
        jobs_max: u32,
        /// No further job is added once their bodies have reached this size in bytes.
        bytes_max: u64,
    },
    /// Jobs are done. One that was finished under the same lease a short time ago is so still.
    Finish {
        /// Leases on the finished jobs.
        leases: Vec<Lease>,
    },
    /// Jobs are given back. The attempt counts as failed: without one left the job is buried.
    Release {
        /// Leases on the released jobs.
        leases: Vec<Lease>,
        /// When next; `None` follows the backoff.
        delay_ms: Option<u64>,
        /// False when the work was not begun: the attempt is taken back. A delay is the time until the next one.
        attempted: bool,
        /// The new last reason of each job, of at most [`REASON_BYTES_MAX`](crate::types::limits::REASON_BYTES_MAX) bytes; empty
        /// for none.
        reason: &'a str,
    },
    /// Leases start anew.
    Touch {
        /// Leases to extend.
        leases: Vec<Lease>,
        /// A new time to run from now on; `None` keeps the job's own.
        ttr_ms: Option<u32>,
    },
    /// Jobs are set aside.
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
    /// A new due time for a delayed or ready job, before its expiry. A buried one is kicked first.
    Reschedule {
        /// The job to reschedule.
        #[serde(borrow)]
        job: JobSelect<'a>,
        /// When it is due now.
        due: When,
        /// The [version](super::JobView::version) that the job has to have, if any.
        version: Option<u64>,
    },
    /// A delayed job becomes ready, due now. One that is ready stays as it is.
    RunNow {
        /// The job to make ready.
        #[serde(borrow)]
        job: JobSelect<'a>,
    },
    /// A buried job becomes ready, due now; its attempts start at 0 again.
    Kick {
        /// The job to kick.
        #[serde(borrow)]
        job: JobSelect<'a>,
    },
    /// Stops or starts the reserving of a topic's jobs.
    TopicPause {
        /// The topic to pause or resume.
        topic: &'a str,
        /// Stops it.
        paused: bool,
    },
    /// Entries before this one may have been lost, or live on in another queue. The ids, fences and sessions that they gave
    /// out must not come again: each count goes on at `floor`, or [`IDS_SKIPPED`](super::IDS_SKIPPED) further if it is
    /// there already. The node that goes on is alone: the members are forgotten.
    SkipIds {
        /// See [`ids_floor`](super::ids_floor).
        floor: u64,
    },
    /// A member of the cluster is there, or has moved. One that was removed, or has another copy of the data, is refused.
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
    /// All members can do this much: what needs it may be proposed from here on. A lower level changes nothing.
    FeatureLevel {
        /// The level that all members have.
        level: u32,
    },
    /// Buried jobs of a topic become ready, due now, the first in the order (priority, due, id); their attempts start at 0
    /// again. It needs the feature level [`FEATURE_KICK_MANY`](crate::types::FEATURE_KICK_MANY).
    KickMany {
        /// The topic of the buried jobs.
        topic: &'a str,
        /// The maximum number of jobs to kick.
        jobs_max: u32,
    },
    /// The same change to many jobs: to each of them that is there, meets the conditions and may be changed so.
    Bulk {
        /// In which topic the jobs have to be; `None` for any.
        #[serde(borrow)]
        topic: Option<&'a str>,
        /// What to do.
        change: BulkChange,
        /// To which jobs.
        jobs: Vec<JobId>,
        /// Conditions that each job must meet when this is applied.
        #[serde(borrow)]
        conditions: Conditions<'a>,
    },
    /// Jobs go to another topic, with all that is known of them. Left alone are those that are reserved, and those whose key
    /// lives there.
    Move {
        /// In which topic the jobs have to be; `None` for any.
        #[serde(borrow)]
        from: Option<&'a str>,
        /// Where they go; created if it is new and a job goes there.
        to: &'a str,
        /// Which jobs.
        #[serde(borrow)]
        jobs: Vec<KeyedJob<'a>>,
        /// Conditions that each job must meet when this is applied.
        #[serde(borrow)]
        conditions: Conditions<'a>,
    },
    /// A topic without jobs is forgotten, with its settings; its number is never used again.
    TopicDelete {
        /// The topic to forget.
        topic: &'a str,
    },
    /// Changes what a topic decides for its jobs; the topic is made if it is new.
    TopicPolicy {
        /// Whose policy changes.
        topic: &'a str,
        /// As [`PolicyChange::encode`](crate::types::PolicyChange::encode) writes it.
        #[serde(with = "serde_bytes", borrow)]
        change: &'a [u8],
    },
    /// New jobs of one topic, known by a key.
    PushIdempotent {
        /// Whose key it is.
        owner: u64,
        /// Of the first job; the others have those that follow it.
        key: u128,
        /// How many jobs the list has of which these are all, or a part: a key is used for one list.
        list_jobs: u32,
        /// Where they belong; created if it is new.
        topic: &'a str,
        /// The jobs.
        #[serde(borrow)]
        jobs: Vec<NewJob<'a>>,
    },
    /// The defaults for retries of the jobs that are pushed from here on, as the leader's configuration has them.
    RetryDefaults {
        /// For jobs that say nothing, in topics that say nothing.
        defaults: RetryDefaults,
    },
}

impl Command<'_> {
    /// Whether this version can read what the command carries in an encoding of its own. If not, it comes from a newer one, and
    /// to leave it out would make this replica's state differ from the others'.
    pub(super) fn is_readable(&self) -> bool {
        match self {
            Self::TopicPolicy { change, .. } => PolicyChange::decode(change).is_ok(),
            _ => true,
        }
    }
}

/// A job with its key, so that its key's hash for another topic is known without reading its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyedJob<'a> {
    /// The job.
    pub job: JobId,
    /// As it was pushed; `None` if it has none.
    #[serde(with = "serde_bytes", borrow)]
    pub key: Option<&'a [u8]>,
}

/// What a bulk change does to each job, as the command for one job does.
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
        /// When it is due. A job that is due then already is left alone.
        due: Millis,
    },
}

/// The conditions of a [`Filter`] that may change while a job lives.
///
/// The proposer of a change has found jobs that match a filter. Some may have changed by the time the command is applied: so each is
/// checked again, and skipped if it no longer matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions<'a> {
    /// As [`States::bits`](crate::types::States::bits) writes them.
    pub states: u8,
    /// As in the filter, and so are those that follow.
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
}

impl<'a> Conditions<'a> {
    /// The conditions of a filter that may change while a job lives, but its topic, which a command names by itself. Its key
    /// does not change.
    pub fn of(filter: &'a Filter) -> Self {
        Self {
            states: filter.states.bits(),
            due_from: filter.due_from,
            due_before: filter.due_before,
            attempts_min: filter.attempts_min,
            attempts_max: filter.attempts_max,
            buried: filter.buried,
            reason: filter.reason.as_deref(),
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
            ..Filter::default()
        }
    }
}

/// Which of several topics gives the next job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TopicOrder<'a> {
    /// That with the first job in the order (priority, due, id).
    OfJobs(#[serde(borrow)] Vec<&'a str>),
    /// Each in its turn, by its share; within one the order is the usual one.
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

/// A topic's part in a weighted reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share<'a> {
    /// Which topic.
    pub topic: &'a str,
    /// Its weight among those that have a job.
    pub weight: u16,
    /// How far it is ahead of its turn (negative: it has had more) when the reserve begins.
    pub standing: i64,
}

/// Names a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobSelect<'a> {
    /// By the queue's id.
    Id(JobId),
    /// By the user's.
    Key {
        /// The key's topic.
        topic: &'a str,
        /// The key.
        #[serde(with = "serde_bytes", borrow)]
        key: &'a [u8],
    },
}

/// One job of a push. Its fields were checked before it was proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewJob<'a> {
    /// When it is due.
    pub due: When,
    /// A lower number is reserved first. [`PRIORITY_UNSAID`](crate::types::limits::PRIORITY_UNSAID) leaves it to the topic.
    pub priority: u32,
    /// How long a lease on it lasts, in milliseconds; 0 leaves it to the topic.
    pub ttr_ms: u32,
    /// What to do when the key lives.
    pub if_exists: IfExists,
    /// The user's own id.
    #[serde(with = "serde_bytes", borrow)]
    pub key: Option<&'a [u8]>,
    /// The encoded attributes; empty for none.
    #[serde(with = "serde_bytes", borrow)]
    pub attributes: &'a [u8],
    /// Opaque.
    #[serde(with = "serde_bytes", borrow)]
    pub body: &'a [u8],
}
