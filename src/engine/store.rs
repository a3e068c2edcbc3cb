//! The data that the engine does not keep itself: records (key, attributes, body), and the spilled jobs.

use serde::{Deserialize, Serialize};

use super::clock::Timeline;
use super::saved::SavedJob;
use crate::types::{JobId, Millis, TopicId};

/// What a store was given for one job and gives back by reference: everything that the engine itself
/// never needs to decide anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The user's own id.
    pub key: Option<&'a [u8]>,
    /// The encoded attributes.
    pub attributes: &'a [u8],
    /// Opaque.
    pub body: &'a [u8],
}

/// Where a store keeps something. It means something to the store alone and is not part of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place(pub u64);

/// A reference to a record that a [`JobStore`] keeps.
///
/// The place is not part of the state: two replicas that agree may keep the same record in different places. Length
/// and checksum are state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyRef {
    /// Where the store put it.
    pub place: Place,
    /// Length of the body, in bytes.
    pub body_bytes: u32,
    /// CRC32C of key, attributes and body.
    pub checksum: u32,
}

/// The timer of a spilled job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpilledTimer {
    /// When it fires, on its timeline.
    pub at: u64,
    /// The job.
    pub job: JobId,
    /// Where the job is.
    pub place: Place,
}

/// Where a walk over spilled jobs begins, and which of them it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkFrom {
    /// Jobs of this topic; of all topics if there is none.
    pub topic: Option<TopicId>,
    /// Jobs behind this point, in the order (time of the timer by the wall clock, id).
    pub after: (Millis, JobId),
    /// How far the wall clock is ahead of the stamp: it puts the two timelines in one order.
    pub offset_ms: i64,
}

/// How far a walk has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    /// To this job.
    Job {
        /// When its timer fires, by the wall clock.
        at: Millis,
        /// The job.
        job: JobId,
    },
    /// The budget is used up: all that comes before this time has been walked over.
    Until(Millis),
    /// To the end.
    End,
}

/// Keeps the records of all jobs while they live, and all of a job that is *spilled*: delayed for so long that the
/// engine itself keeps no more than its id, its key's hash and its place.
///
/// Whether a job is spilled is not state. It becomes so when somebody has written it and says so
/// ([`Engine::relocate`](super::Engine::relocate)), and the engine takes it back into memory before it does anything to it.
pub trait JobStore {
    /// Why a spilled job could not be read. The state is then not to be used any more: the entry was half applied.
    type Error;

    /// A walk over the spilled jobs, which does not borrow the store.
    type Walk: Clone + std::fmt::Debug;

    /// Takes a record in.
    fn keep(&mut self, record: Record<'_>) -> BodyRef;

    /// Drops a record: its job is gone. Called once for each kept reference.
    fn forget(&mut self, body: BodyRef);

    /// A spilled job.
    fn spilled_job(&mut self, place: Place) -> Result<SavedJob, Self::Error>;

    /// The topic of a spilled job. Reads less than all of the job.
    fn spilled_topic(&mut self, place: Place) -> Result<TopicId, Self::Error>;

    /// The key of a record.
    fn key(&mut self, body: BodyRef) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Begins a walk over the spilled jobs in the order of their timers by the wall clock. Nothing is read yet.
    fn walk(&self, from: WalkFrom) -> Self::Walk;

    /// Goes on to the next job: takes as many jobs as it looks at from `budget`, by and large, and stops when that is 0. It
    /// may come to jobs that are not spilled any more, whose rows the store still has, and to the same job twice. Jobs that
    /// stay spilled meanwhile are not passed over, wherever their rows move.
    fn walk_on(&self, walk: &mut Self::Walk, budget: &mut usize) -> Result<Walked, Self::Error>;

    /// The first spilled job of a timeline in the order (time, id).
    fn first_spilled(&mut self, timeline: Timeline) -> Result<Option<SpilledTimer>, Self::Error>;

    /// A spilled job is in memory from now on. Its record stays where it is.
    fn no_longer_spilled(&mut self, place: Place);
}
