//! The store for data that the engine does not keep itself: records (key, attributes, body) and spilled jobs.

#![expect(clippy::ref_option_ref, reason = "the derived code borrows the key as it is")]

use serde::{Deserialize, Serialize};

use super::clock::Timeline;
use super::place::{BodyRef, Place};
use crate::job::saved::SavedJob;
use adjourn_types::{JobId, Millis, TopicId};

/// The part of a job on which no decision of the engine depends. The store returns it by reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record<'a> {
    /// The user's own id.
    #[serde(with = "serde_bytes", borrow)]
    pub key: Option<&'a [u8]>,
    /// The encoded attributes; empty for none.
    #[serde(with = "serde_bytes", borrow)]
    pub attributes: &'a [u8],
    /// The payload.
    #[serde(with = "serde_bytes", borrow)]
    pub body: &'a [u8],
}

/// The timer of a spilled job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpilledTimer {
    /// When it fires, on its timeline.
    pub at: u64,
    /// The job.
    pub job: JobId,
    /// The place of the job.
    pub place: Place,
}

/// The start of a walk over spilled jobs, and a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkFrom {
    /// Only jobs of this topic; `None` for all topics.
    pub topic: Option<TopicId>,
    /// Only jobs after this point, in the order (time of the timer by the wall clock, id).
    pub after: (Millis, JobId),
    /// Wall clock minus stamp, in milliseconds: it brings both timelines into one order.
    pub offset_ms: i64,
}

/// The result of a step of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    /// The next job.
    Job {
        /// When its timer fires, by the wall clock.
        at: Millis,
        /// The job.
        job: JobId,
    },
    /// The budget is used up: the walk has passed everything before this time.
    Until(Millis),
    /// The walk is complete.
    End,
}

/// How many spilled jobs there are, by the time of their timers.
#[derive(Clone, Debug)]
pub struct TimerCounts {
    /// Times by the wall clock; they rise.
    pub bounds: Vec<Millis>,
    /// For each bound the jobs before it that are not before an earlier one. If there is one count more, it has the jobs
    /// behind the last bound; else they are left out.
    pub counts: Vec<u64>,
}

/// Keeps the records of all jobs, and the whole of a *spilled* job: one that is delayed for so long that the engine keeps
/// only its id, its key's hash and its place.
///
/// Spilling is not part of the state. A job becomes spilled once the caller has written it and calls
/// [`Engine::relocate`](super::Engine::relocate). The engine loads it back into memory before it changes the job.
pub trait JobStore {
    /// Why a spilled job could not be read. The entry is then half applied, and the engine must not be used any more.
    type Error;

    /// A walk over the spilled jobs. It does not borrow the store.
    type Walk: Clone + std::fmt::Debug;

    /// Stores a record.
    fn keep(&mut self, record: Record<'_>) -> BodyRef;

    /// Drops the record of a job that is gone. Called once for each kept reference.
    fn forget(&mut self, body: BodyRef);

    /// Reads a spilled job.
    fn spilled_job(&mut self, place: Place) -> Result<SavedJob, Self::Error>;

    /// Reads the topic of a spilled job, without reading all of the job.
    fn spilled_topic(&mut self, place: Place) -> Result<TopicId, Self::Error>;

    /// Reads the key of a record.
    fn key(&mut self, body: BodyRef) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Begins a walk over the spilled jobs in the order of their timers by the wall clock. Reads nothing yet.
    fn walk(&self, from: WalkFrom) -> Self::Walk;

    /// Continues to the next job. Takes about 1 from `budget` for each job that it looks at, and stops at 0. It may return
    /// jobs that are not spilled any more but still have rows in the store, and the same job twice. It does not skip jobs
    /// that stay spilled, even if their rows move.
    fn walk_on(&self, walk: &mut Self::Walk, budget: &mut usize) -> Result<Walked, Self::Error>;

    /// Counts the spilled jobs of a walk instead of visiting them, as they are at the first call. Returns true when all are
    /// counted, false when the budget is used up.
    fn count_on(
        &self,
        walk: &mut Self::Walk,
        counts: &mut TimerCounts,
        budget: &mut usize,
    ) -> Result<bool, Self::Error>;

    /// The first spilled job of a timeline in the order (time, id).
    fn first_spilled(&mut self, timeline: Timeline) -> Result<Option<SpilledTimer>, Self::Error>;

    /// The engine has loaded a spilled job into memory. Its record stays in place.
    fn no_longer_spilled(&mut self, place: Place);
}
