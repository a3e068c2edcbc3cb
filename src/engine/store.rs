//! What the engine does not keep itself: records (key, attributes, body), and the jobs that are far.

use serde::{Deserialize, Serialize};

use super::clock::Line;
use super::saved::SavedJob;
use crate::types::{JobId, TopicId};

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

/// The timer of a far job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FarTimer {
    /// When it fires, on its timeline.
    pub at: u64,
    /// The job.
    pub job: JobId,
    /// Where the job is.
    pub place: Place,
}

/// A search for the first far job of a topic on each timeline, in the order (time, id), and how far it has come.
#[derive(Clone, Debug)]
pub struct FarSearch {
    /// Whose.
    pub topic: TopicId,
    /// The timeline that is searched.
    pub line: Line,
    /// Where the search goes on: places are looked at in an order that is the store's own affair.
    pub next: Option<(u64, Place)>,
    /// The first so far on each timeline.
    pub first: [Option<FarTimer>; 2],
}

impl FarSearch {
    /// Begins one.
    pub fn new(topic: TopicId) -> Self {
        Self { topic, line: Line::Stamp, next: None, first: [None; 2] }
    }

    /// What was found.
    pub fn found(&self) -> impl Iterator<Item = (Line, FarTimer)> {
        Line::ALL.into_iter().zip(self.first).filter_map(|(line, timer)| Some((line, timer?)))
    }
}

/// Keeps the records of all jobs while they live, and all of a job that is *far*: delayed for so long that the
/// engine itself keeps no more than its id, its key's hash and its place.
///
/// Whether a job is far is not state. It becomes so when somebody has written it and says so
/// ([`Engine::rehome`](super::Engine::rehome)), and the engine takes it back into memory before it does anything to it.
pub trait JobStore {
    /// Why a far job could not be read. The state is then not to be used any more: the entry was half applied.
    type Error;

    /// Takes a record in.
    fn keep(&mut self, record: Record<'_>) -> BodyRef;

    /// Drops a record: its job is gone. Called once for each kept reference.
    fn forget(&mut self, body: BodyRef);

    /// A far job.
    fn far_job(&mut self, place: Place) -> Result<SavedJob, Self::Error>;

    /// Goes on with a search: takes as many jobs as it looks at from `budget`, by and large, and stops when that is 0. Whether
    /// it came to its end. A job that moves from place to place meanwhile may be passed over.
    fn search_far(&self, search: &mut FarSearch, budget: &mut usize) -> Result<bool, Self::Error>;

    /// The first far job of a timeline in the order (time, id).
    fn first_far(&mut self, line: Line) -> Result<Option<FarTimer>, Self::Error>;

    /// A far job is in memory from now on. Its record stays where it is.
    fn no_longer_far(&mut self, place: Place);
}
