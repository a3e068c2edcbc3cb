//! The state without its jobs, as it is written to a checkpoint, and the way back to an engine.

use bincode::Options as _;
use serde::{Deserialize, Serialize};

use super::clock::Clock;
use super::finished::SavedFinished;
use super::members::Members;
use super::saved::{SavedJob, options};
use super::sessions::SavedSession;
use super::store::Place;
use super::topics::{SavedNumbers, SavedTopic};
use super::{COUNT_MAX, COUNTED_JOBS_MAX, Engine, hash, jobs};
use crate::types::{GroupId, JobId, Millis, TopicId, TopicName};

/// Everything in the state but the jobs.
///
/// Encoded in bincode 1.3 with varint integers, in the order of the fields. What encloses it says in which version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    group: GroupId,
    stamp: Millis,
    clock_offset_ms: i64,
    key_secret: Option<[u8; 16]>,
    last_job: u64,
    last_fence: u64,
    last_session: u64,
    jobs: u64,
    /// How many of them have a key.
    keyed: u64,
    topics: Vec<SavedTopic>,
    sessions: Vec<SavedSession>,
    finished: SavedFinished,
    members: Members,
    /// The running sum of the state hash, jobs included.
    sum: hash::Sum,
    /// Stands behind the rest, and is left out when it is empty: so older versions read a state of their feature level, and
    /// this one reads theirs.
    #[serde(skip)]
    topic_numbers: SavedNumbers,
}

/// Why a state cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// Bytes are no image.
    #[error("the image of the state cannot be decoded")]
    Malformed,
    /// A topic's name is none.
    #[error("the name of topic {0} is none")]
    TopicName(u32),
    /// Numbers that leave no room for those that follow, or of which a later one was given out already.
    #[error("the image of the state counts what it cannot have given out")]
    Counts,
    /// A job that is there twice, whose topic is not, or whose id or fence was not given out yet.
    #[error("job {0:?} does not fit into the state")]
    Job(JobId),
    /// The jobs are not those that the image counts.
    #[error("the checkpoint counts {expected} jobs and has {found}")]
    Jobs {
        /// As the image says.
        expected: u64,
        /// As they came.
        found: u64,
    },
    /// A topic's jobs are not those that the image counts.
    #[error("the jobs of topic {0} are not as many as the checkpoint counts")]
    TopicJobs(u32),
    /// All is there, but not as it was.
    #[error("the hash of the state is not the one that the checkpoint says")]
    Hash,
}

/// What a state counts of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicCounts {
    /// Its number.
    pub id: TopicId,
    /// Its name.
    pub name: TopicName,
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
}

/// An engine that gets its jobs back.
#[derive(Debug)]
pub struct Restoring {
    engine: Engine,
    image: Image,
    /// Handles of jobs that no index has yet.
    unindexed: Vec<u32>,
}

/// So many jobs are indexed together.
const INDEXED_AT_ONCE: usize = 1 << 18;

impl Engine {
    /// Everything in the state but the jobs.
    pub fn image(&self) -> Image {
        Image {
            group: self.group,
            stamp: self.clock.stamp,
            clock_offset_ms: self.clock.offset_ms,
            key_secret: self.key_secret,
            last_job: self.last_job,
            last_fence: self.last_fence,
            last_session: self.sessions.last(),
            jobs: self.jobs(),
            keyed: self.jobs.keyed() as u64,
            topics: self.topics.save(),
            sessions: self.sessions.save(),
            finished: self.finished.save(),
            members: self.members.clone(),
            sum: self.sum,
            topic_numbers: self.topics.save_numbers(),
        }
    }
}

impl Engine {
    fn has_given_out(&self, id: JobId) -> bool {
        id.group() == self.group && (1..=self.last_job).contains(&id.sequence())
    }
}

impl Image {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = encoded(self);
        if self.topic_numbers != SavedNumbers::default() {
            bytes.extend(encoded(&self.topic_numbers));
        }
        bytes
    }

    /// Reads one.
    pub fn decode(bytes: &[u8]) -> Result<Self, ImageError> {
        let mut rest = bytes;
        let mut decoder = bincode::Deserializer::with_reader(&mut rest, options());
        let mut image = Self::deserialize(&mut decoder).map_err(|_| ImageError::Malformed)?;
        if !rest.is_empty() {
            let numbers = bincode::DefaultOptions::new().deserialize(rest);
            image.topic_numbers = numbers.map_err(|_| ImageError::Malformed)?;
        }
        let nameless = image.numbered().find(|(_, topic)| topic.name().is_none()).map(|(id, _)| id);
        match nameless {
            Some(id) => Err(ImageError::TopicName(id.0)),
            None if image.counts() => Ok(image),
            None => Err(ImageError::Counts),
        }
    }

    /// Whether all numbers were given out, and leave room for more.
    fn counts(&self) -> bool {
        self.last_job <= COUNTED_JOBS_MAX
            && self.last_fence <= COUNT_MAX
            && self.last_session <= COUNT_MAX
            && self.topic_numbers.fit(self.topics.len())
            && self.sessions.iter().all(|session| session.id().0 <= self.last_session)
            && self.finished.is_within(COUNT_MAX, self.last_job, self.last_fence)
    }

    /// How many jobs the state has.
    pub fn jobs(&self) -> u64 {
        self.jobs
    }

    /// The time of the last entry.
    pub fn stamp(&self) -> Millis {
        self.stamp
    }

    /// How far the wall clock is ahead of the stamp (negative: behind it), in milliseconds.
    pub fn clock_offset_ms(&self) -> i64 {
        self.clock_offset_ms
    }

    /// The topics, by number.
    pub fn topics(&self) -> impl Iterator<Item = TopicCounts> + '_ {
        self.numbered().filter_map(|(id, topic)| topic.counts(id))
    }

    fn numbered(&self) -> impl Iterator<Item = (TopicId, &SavedTopic)> {
        self.topic_numbers.of(&self.topics).map(|(id, _)| id).zip(&self.topics)
    }

    /// Begins to restore the state. All its jobs have to follow.
    ///
    /// Room is made for as many jobs as there are said to be, but for no more than `jobs_max`.
    pub fn restore(self, jobs_max: usize) -> Restoring {
        let room = |jobs: u64| usize::try_from(jobs).map_or(jobs_max, |jobs| jobs.min(jobs_max));
        let mut engine = Engine::new(self.group);
        engine.clock = Clock { stamp: self.stamp, offset_ms: self.clock_offset_ms };
        engine.key_secret = self.key_secret;
        (engine.last_job, engine.last_fence) = (self.last_job, self.last_fence);
        engine.topics.restore(&self.topics, &self.topic_numbers);
        engine.sessions.restore(self.last_session, &self.sessions);
        engine.finished.restore(&self.finished);
        engine.members.clone_from(&self.members);
        engine.jobs.reserve(room(self.jobs), room(self.keyed));
        Restoring { engine, image: self, unindexed: Vec::new() }
    }
}

fn encoded(saved: &impl Serialize) -> Vec<u8> {
    options()
        .serialize(saved)
        .unwrap_or_else(|error| unreachable!("a state in memory always encodes: {error}"))
}

impl Restoring {
    /// Takes a near job back, whose record is at `place`.
    pub fn near(&mut self, saved: SavedJob, place: Place) -> Result<(), ImageError> {
        let engine = &mut self.engine;
        let given_out = engine.has_given_out(saved.id()) && saved.fence().0 <= engine.last_fence;
        if !given_out || engine.topics.find(saved.topic()).is_none() {
            return Err(ImageError::Job(saved.id()));
        }
        let slot = engine.jobs.place(saved.into_job(place));
        self.taken(slot)
    }

    /// Takes a far job back, which is at `place`.
    pub fn far(&mut self, id: JobId, identity: Option<u128>, place: Place) -> Result<(), ImageError> {
        if !self.engine.has_given_out(id) {
            return Err(ImageError::Job(id));
        }
        let handle = self.engine.jobs.place_far(id, identity, place);
        self.taken(handle)
    }

    fn taken(&mut self, handle: u32) -> Result<(), ImageError> {
        self.unindexed.push(handle);
        if self.unindexed.len() < INDEXED_AT_ONCE { Ok(()) } else { self.index() }
    }

    /// A job that is there twice is noticed here.
    fn index(&mut self) -> Result<(), ImageError> {
        self.engine.jobs.index_all(&self.unindexed).map_err(ImageError::Job)?;
        let near = self.unindexed.drain(..).filter_map(|handle| jobs::found(handle).near());
        near.for_each(|slot| self.engine.enter(slot));
        Ok(())
    }

    /// Ends it though the jobs cannot be had: what is left says who is in the group, and what time it is. Nothing may be
    /// applied to it.
    pub fn give_up(self) -> Engine {
        let Image { clock_offset_ms, group, members, stamp, .. } = self.image;
        let mut engine = Engine::new(group);
        (engine.members, engine.clock) = (members, Clock { stamp, offset_ms: clock_offset_ms });
        engine
    }

    /// Ends it, when all jobs are back.
    pub fn finish(mut self) -> Result<Engine, ImageError> {
        self.index()?;
        let Self { mut engine, image, .. } = self;
        let found = engine.jobs();
        if found != image.jobs {
            return Err(ImageError::Jobs { expected: image.jobs, found });
        }
        // The far jobs are counted, and in the sum, without having been looked at.
        engine.topics.restore_delayed(&image.topics).map_err(|topic| ImageError::TopicJobs(topic.0))?;
        engine.sum = image.sum;
        Ok(engine)
    }
}
