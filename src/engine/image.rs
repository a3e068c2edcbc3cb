//! The metadata of the state: everything but the jobs, as a checkpoint stores it, and its conversion back to an
//! engine.

use bincode::Options as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::clock::Clock;
use super::finished::{SavedAttempts, SavedFinished};
use super::members::Members;
use super::policy::SavedRule;
use super::saved::{SavedJob, options};
use super::sessions::SavedSession;
use super::store::Place;
use super::topics::{SavedNumbers, SavedTopic};
use super::{COUNT_MAX, COUNTED_JOBS_MAX, Engine, hash, jobs};
use crate::types::{GroupId, JobId, Millis, TopicId, TopicName};

/// Everything in the state but the jobs.
///
/// Encoded in bincode 1.3 with varint integers, in the order of the fields. What encloses it says in which version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Image {
    head: Head,
    sessions: Vec<SavedSession>,
    tail: Tail,
    /// Stands behind the rest, and is left out when it is empty: so older versions read a state of their feature level, and
    /// this one reads theirs.
    #[serde(skip)]
    topic_numbers: SavedNumbers,
    /// Stands behind these, and is left out in the same way.
    #[serde(skip)]
    attempts: SavedAttempts,
    /// And behind these.
    #[serde(skip)]
    rules: Vec<SavedRule>,
}

/// The fields before the sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
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
}

/// The fields after the sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Tail {
    finished: SavedFinished,
    members: Members,
    /// The running sum of the state hash, jobs included.
    sum: hash::Sum,
}

/// An encoded image whose sessions follow, a few at a time: there may be megabytes of them.
#[derive(Clone, Debug)]
pub struct PartialImage {
    bytes: Vec<u8>,
    /// What stands after the sessions.
    tail: Vec<u8>,
    /// Sessions that are missing yet.
    missing: usize,
}

/// Encoded sessions, as they were when the capture began.
#[derive(Clone, Debug, Default)]
pub struct CapturedSessions {
    count: usize,
    bytes: Vec<u8>,
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

/// Encoding a session costs about as much as encoding this many outcomes.
pub const SESSION_OUTCOMES: usize = 8;

/// So many jobs are indexed together.
const INDEXED_AT_ONCE: usize = 1 << 18;

impl Engine {
    /// Everything in the state but the jobs.
    pub fn image(&self) -> Image {
        Image { sessions: self.sessions.save(), ..self.image_without_sessions() }
    }

    /// The same, without the sessions: [`Self::capture_sessions`] gives them as they are now, if a capture has just begun.
    pub fn partial_image(&self) -> PartialImage {
        PartialImage::new(&self.image_without_sessions(), self.sessions.len())
    }

    /// Encodes the next sessions, as they were when the capture began, until they remember `outcomes_max` outcomes. Each counts
    /// as [`SESSION_OUTCOMES`] more. There is one at least, unless all were captured.
    pub fn capture_sessions(&mut self, outcomes_max: usize) -> CapturedSessions {
        let mut captured = CapturedSessions::default();
        let mut left = outcomes_max.max(1);
        while left > 0
            && let Some((session, outcomes)) = self.sessions.captured()
        {
            captured.bytes.extend(encoded(&session));
            captured.count += 1;
            left = left.saturating_sub(SESSION_OUTCOMES + outcomes);
        }
        captured
    }

    fn image_without_sessions(&self) -> Image {
        let head = Head {
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
        };
        let tail = Tail { finished: self.finished.save(), members: self.members.clone(), sum: self.sum };
        let (topic_numbers, attempts) = (self.topics.save_numbers(), self.finished.save_attempts());
        let rules = self.topics.save_rules();
        Image { head, sessions: Vec::new(), tail, topic_numbers, attempts, rules }
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
        let mut partial = PartialImage::new(self, self.sessions.len());
        let bytes = self.sessions.iter().flat_map(encoded).collect();
        partial.push(&CapturedSessions { count: self.sessions.len(), bytes });
        partial.finish()
    }

    /// Reads one.
    pub fn decode(bytes: &[u8]) -> Result<Self, ImageError> {
        let mut rest = bytes;
        let mut decoder = bincode::Deserializer::with_reader(&mut rest, options());
        let mut image = Self::deserialize(&mut decoder).map_err(|_| ImageError::Malformed)?;
        if !rest.is_empty() {
            image.topic_numbers = next(&mut rest)?;
        }
        if !rest.is_empty() {
            image.attempts = next(&mut rest)?;
        }
        if !rest.is_empty() {
            image.rules = next(&mut rest)?;
        }
        if !rest.is_empty() {
            return Err(ImageError::Malformed);
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
        self.head.last_job <= COUNTED_JOBS_MAX
            && self.head.last_fence <= COUNT_MAX
            && self.head.last_session <= COUNT_MAX
            && self.topic_numbers.fit(self.head.topics.len())
            && self.tail.finished.fits(&self.attempts)
            && self.rules.iter().all(SavedRule::is_valid)
            && self.sessions.iter().all(|session| session.id().0 <= self.head.last_session)
            && self.tail.finished.is_within(COUNT_MAX, self.head.last_job, self.head.last_fence)
    }

    /// How many jobs the state has.
    pub fn jobs(&self) -> u64 {
        self.head.jobs
    }

    /// The time of the last entry.
    pub fn stamp(&self) -> Millis {
        self.head.stamp
    }

    /// How far the wall clock is ahead of the stamp (negative: behind it), in milliseconds.
    pub fn clock_offset_ms(&self) -> i64 {
        self.head.clock_offset_ms
    }

    /// The topics, by number.
    pub fn topics(&self) -> impl Iterator<Item = TopicCounts> + '_ {
        self.numbered().filter_map(|(id, topic)| topic.counts(id))
    }

    fn numbered(&self) -> impl Iterator<Item = (TopicId, &SavedTopic)> {
        self.topic_numbers.of(&self.head.topics).map(|(id, _)| id).zip(&self.head.topics)
    }

    /// Begins to restore the state. All its jobs have to follow.
    ///
    /// Room is made for as many jobs as there are said to be, but for no more than `jobs_max`.
    pub fn restore(self, jobs_max: usize) -> Restoring {
        let room = |jobs: u64| usize::try_from(jobs).map_or(jobs_max, |jobs| jobs.min(jobs_max));
        let mut engine = Engine::new(self.head.group);
        engine.clock = Clock { stamp: self.head.stamp, offset_ms: self.head.clock_offset_ms };
        engine.key_secret = self.head.key_secret;
        (engine.last_job, engine.last_fence) = (self.head.last_job, self.head.last_fence);
        engine.topics.restore(&self.head.topics, &self.topic_numbers, &self.rules, self.head.stamp);
        engine.sessions.restore(self.head.last_session, &self.sessions);
        engine.finished.restore(&self.tail.finished, &self.attempts);
        engine.members.clone_from(&self.tail.members);
        engine.jobs.reserve(room(self.head.jobs), room(self.head.keyed));
        Restoring { engine, image: self, unindexed: Vec::new() }
    }
}

impl PartialImage {
    fn new(image: &Image, missing: usize) -> Self {
        let Image { head, tail, topic_numbers, attempts, rules, .. } = image;
        let mut bytes = encoded(head);
        bytes.extend(encoded(&(missing as u64)));
        let mut tail = encoded(tail);
        let (has_attempts, has_rules) = (!attempts.is_empty(), !rules.is_empty());
        if *topic_numbers != SavedNumbers::default() || has_attempts || has_rules {
            tail.extend(encoded(topic_numbers));
        }
        if has_attempts || has_rules {
            tail.extend(encoded(attempts));
        }
        if has_rules {
            tail.extend(encoded(rules));
        }
        Self { bytes, tail, missing }
    }

    /// Adds sessions, behind those that were added before.
    ///
    /// # Panics
    ///
    /// If there are more than the image has.
    pub fn push(&mut self, sessions: &CapturedSessions) {
        assert!(sessions.count <= self.missing, "the image has {} more sessions", self.missing);
        self.missing -= sessions.count;
        self.bytes.extend_from_slice(&sessions.bytes);
    }

    /// The image as bytes, when all sessions are there.
    ///
    /// # Panics
    ///
    /// If one is missing.
    pub fn finish(mut self) -> Vec<u8> {
        assert_eq!(self.missing, 0, "sessions that the image has were not captured");
        self.bytes.append(&mut self.tail);
        self.bytes
    }
}

impl From<Image> for PartialImage {
    fn from(image: Image) -> Self {
        Self { bytes: image.encode(), tail: Vec::new(), missing: 0 }
    }
}

impl CapturedSessions {
    /// Whether there is none: all were captured.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of memory that they take.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// Reads what stands at the beginning of `rest`, and leaves what follows it.
fn next<T: DeserializeOwned>(rest: &mut &[u8]) -> Result<T, ImageError> {
    let mut decoder = bincode::Deserializer::with_reader(rest, options());
    T::deserialize(&mut decoder).map_err(|_| ImageError::Malformed)
}

fn encoded(saved: &impl Serialize) -> Vec<u8> {
    options()
        .serialize(saved)
        .unwrap_or_else(|error| unreachable!("a state in memory always encodes: {error}"))
}

impl Restoring {
    /// Takes a resident job back, whose record is at `place`.
    pub fn resident(&mut self, saved: SavedJob, place: Place) -> Result<(), ImageError> {
        let engine = &mut self.engine;
        let given_out = engine.has_given_out(saved.id()) && saved.fence().0 <= engine.last_fence;
        if !given_out || engine.topics.find(saved.topic()).is_none() {
            return Err(ImageError::Job(saved.id()));
        }
        let slot = engine.jobs.place(saved.into_job(place));
        self.taken(slot)
    }

    /// Takes a spilled job back, which is at `place`.
    pub fn spilled(&mut self, id: JobId, identity: Option<u128>, place: Place) -> Result<(), ImageError> {
        if !self.engine.has_given_out(id) {
            return Err(ImageError::Job(id));
        }
        let handle = self.engine.jobs.place_spilled(id, identity, place);
        self.taken(handle)
    }

    fn taken(&mut self, handle: u32) -> Result<(), ImageError> {
        self.unindexed.push(handle);
        if self.unindexed.len() < INDEXED_AT_ONCE { Ok(()) } else { self.index() }
    }

    /// A job that is there twice is noticed here.
    fn index(&mut self) -> Result<(), ImageError> {
        self.engine.jobs.index_all(&self.unindexed).map_err(ImageError::Job)?;
        let resident = self.unindexed.drain(..).filter_map(|handle| jobs::found(handle).resident());
        resident.for_each(|slot| self.engine.enter(slot));
        Ok(())
    }

    /// Ends it though the jobs cannot be had: what is left says who is in the group, and what time it is. Nothing may be
    /// applied to it.
    pub fn give_up(self) -> Engine {
        let Image { head: Head { clock_offset_ms, group, stamp, .. }, tail: Tail { members, .. }, .. } =
            self.image;
        let mut engine = Engine::new(group);
        (engine.members, engine.clock) = (members, Clock { stamp, offset_ms: clock_offset_ms });
        engine
    }

    /// Ends it, when all jobs are back.
    pub fn finish(mut self) -> Result<Engine, ImageError> {
        self.index()?;
        let Self { mut engine, image, .. } = self;
        let found = engine.jobs();
        if found != image.head.jobs {
            return Err(ImageError::Jobs { expected: image.head.jobs, found });
        }
        // The spilled jobs are counted, and in the sum, without having been looked at.
        let counted = engine.topics.restore_delayed(&image.head.topics, &image.rules);
        counted.map_err(|topic| ImageError::TopicJobs(topic.0))?;
        engine.sum = image.tail.sum;
        Ok(engine)
    }
}
