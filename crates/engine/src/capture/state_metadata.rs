//! The metadata of the state, which is everything but the jobs, as a checkpoint stores it; and the restoring of an engine.

use bincode::Options as _;
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, StepForward};
use crate::defaults::Defaults;
use crate::job::KeyHash;
use crate::job::saved::{SavedJob, options};
use crate::key_secret::KeySecret;
use crate::members::Members;
use crate::numbers::{COUNT_MAX, COUNTED_JOBS_MAX, Numbers};
use crate::place::Place;
use crate::recent::finished::Finish;
use crate::recent::idempotency::Remembered;
use crate::sessions::SavedSession;
use crate::topics::saved_topics::{SavedTopic, SavedTopics, TopicCounts};
use crate::{Engine, hash, jobs};
use adjourn_types::{GroupId, JobId, Millis};

/// Everything in the state but the jobs.
///
/// Encoded in bincode 1.3 with varint integers, in the order of the fields. The enclosing format carries the version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct StateMetadata {
    head: Head,
    sessions: Vec<SavedSession>,
    tail: Tail,
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
    /// The number of jobs with a key.
    keyed: u64,
    topics: SavedTopics,
    forward: Option<StepForward>,
}

/// The fields after the sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Tail {
    finished: Vec<Finish>,
    idempotent: Vec<Remembered>,
    members: Members,
    defaults: Defaults,
    /// The running sum of the state hash, jobs included.
    sum: hash::Sum,
}

/// Encoded metadata whose sessions are added a few at a time: there may be megabytes of them.
#[derive(Clone, Debug)]
pub struct PartialMetadata {
    bytes: Vec<u8>,
    /// The bytes after the sessions.
    tail: Vec<u8>,
    /// The number of sessions to be added.
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
pub enum RestoreError {
    /// The bytes are not metadata.
    #[error("the metadata of the state cannot be decoded")]
    Malformed,
    /// A topic's name is not valid.
    #[error("the name of topic {0} is not valid")]
    TopicName(u32),
    /// A counter is too high, or lower than a number that was issued.
    #[error("a counter in the metadata of the state is too large")]
    Counts,
    /// A job that occurs twice, whose topic does not exist, or whose id or fence was not issued.
    #[error("job {0:?} contradicts the state")]
    Job(JobId),
    /// The number of jobs is not the one in the metadata.
    #[error("the checkpoint should have {expected} jobs, but has {found}")]
    Jobs {
        /// The number in the metadata.
        expected: u64,
        /// The number that was restored.
        found: u64,
    },
    /// The number of a topic's jobs is not the one in the metadata.
    #[error("the checkpoint has another number of jobs of topic {0} than it should")]
    TopicJobs(u32),
    /// The number of jobs matches, but not the state hash.
    #[error("the hash of the state differs from the one in the checkpoint")]
    Hash,
}

/// An engine whose jobs are being restored.
#[derive(Debug)]
pub struct Restoring {
    engine: Engine,
    metadata: StateMetadata,
    /// Handles of jobs that are not indexed yet.
    unindexed: Vec<u32>,
}

/// The cost of encoding a session, in outcomes encoded.
pub const SESSION_OUTCOMES: usize = 8;

/// Jobs are indexed in groups of this size.
const INDEXED_AT_ONCE: usize = 1 << 18;

impl StateMetadata {
    /// Everything in the state but the jobs.
    pub(crate) fn of(engine: &Engine) -> Self {
        Self { sessions: engine.sessions.save(), ..Self::without_sessions(engine) }
    }

    fn without_sessions(engine: &Engine) -> Self {
        let head = Head {
            group: engine.numbers.group(),
            stamp: engine.clock.stamp,
            clock_offset_ms: engine.clock.offset_ms,
            key_secret: engine.key_secret.0,
            last_job: engine.numbers.last_job(),
            last_fence: engine.numbers.last_fence(),
            last_session: engine.sessions.last(),
            jobs: engine.jobs(),
            keyed: engine.jobs.keyed() as u64,
            topics: engine.topics.save(),
            forward: engine.clock.forward,
        };
        let tail = Tail {
            finished: engine.finished.all().copied().collect(),
            idempotent: engine.idempotent.all().copied().collect(),
            members: engine.members.clone(),
            defaults: engine.defaults.clone(),
            sum: engine.sum,
        };
        Self { head, sessions: Vec::new(), tail }
    }

    /// Encodes the metadata.
    pub fn encode(&self) -> Vec<u8> {
        let mut partial = PartialMetadata::new(self, self.sessions.len());
        let bytes = self.sessions.iter().flat_map(encoded).collect();
        partial.push(&CapturedSessions { count: self.sessions.len(), bytes });
        partial.finish()
    }

    /// Decodes metadata and checks it.
    pub fn decode(bytes: &[u8]) -> Result<Self, RestoreError> {
        let mut rest = bytes;
        let mut decoder = bincode::Deserializer::with_reader(&mut rest, options());
        let metadata = Self::deserialize(&mut decoder).map_err(|_| RestoreError::Malformed)?;
        if !rest.is_empty() {
            return Err(RestoreError::Malformed);
        }
        let topics_fit = metadata.head.topics.check().map_err(|topic| RestoreError::TopicName(topic.0))?;
        if topics_fit && metadata.counts() { Ok(metadata) } else { Err(RestoreError::Counts) }
    }

    /// True if all numbers were issued and the counters leave room for more.
    fn counts(&self) -> bool {
        self.head.last_job <= COUNTED_JOBS_MAX
            && self.head.last_fence <= COUNT_MAX
            && self.head.last_session <= COUNT_MAX
            && self.tail.defaults.are_valid()
            && self.sessions.iter().all(|session| session.is_valid(self.head.last_session))
            && self.tail.finished.iter().all(|one| one.is_within(self.head.last_job, self.head.last_fence))
    }

    /// The number of jobs in the state.
    pub fn jobs(&self) -> u64 {
        self.head.jobs
    }

    /// The stamp of the last entry.
    pub fn stamp(&self) -> Millis {
        self.head.stamp
    }

    /// How far the wall clock is ahead of the stamp (negative: behind it), in milliseconds.
    pub fn clock_offset_ms(&self) -> i64 {
        self.head.clock_offset_ms
    }

    /// The topics, by number.
    pub fn topics(&self) -> impl Iterator<Item = TopicCounts> + '_ {
        self.head.topics.known.iter().filter_map(SavedTopic::counts)
    }

    /// Begins to restore the state. All its jobs have to follow.
    ///
    /// Reserves memory for the number of jobs in the metadata, but for at most `jobs_max`.
    pub fn restore(self, jobs_max: usize) -> Restoring {
        let room = |jobs: u64| usize::try_from(jobs).map_or(jobs_max, |jobs| jobs.min(jobs_max));
        let mut engine = Engine::new(self.head.group);
        let (stamp, offset_ms) = (self.head.stamp, self.head.clock_offset_ms);
        engine.clock = Clock { stamp, offset_ms, forward: self.head.forward };
        engine.key_secret = KeySecret(self.head.key_secret);
        engine.numbers = Numbers::restored(self.head.group, self.head.last_job, self.head.last_fence);
        engine.topics.restore(&self.head.topics, self.head.stamp);
        engine.sessions.restore(self.head.last_session, &self.sessions);
        engine.finished.restore(&self.tail.finished);
        engine.idempotent.restore(&self.tail.idempotent);
        engine.members.clone_from(&self.tail.members);
        engine.defaults.clone_from(&self.tail.defaults);
        engine.jobs.reserve(room(self.head.jobs), room(self.head.keyed));
        Restoring { engine, metadata: self, unindexed: Vec::new() }
    }
}

impl PartialMetadata {
    /// Everything in the state but jobs and sessions.
    pub(crate) fn of(engine: &Engine) -> Self {
        Self::new(&StateMetadata::without_sessions(engine), engine.sessions.len())
    }

    fn new(metadata: &StateMetadata, missing: usize) -> Self {
        let mut bytes = encoded(&metadata.head);
        bytes.extend(encoded(&(missing as u64)));
        let tail = encoded(&metadata.tail);
        Self { bytes, tail, missing }
    }

    /// Adds sessions after those added before.
    ///
    /// # Panics
    ///
    /// If the metadata has fewer sessions.
    pub fn push(&mut self, sessions: &CapturedSessions) {
        assert!(sessions.count <= self.missing, "the metadata has {} more sessions", self.missing);
        self.missing -= sessions.count;
        self.bytes.extend_from_slice(&sessions.bytes);
    }

    /// Completes the encoded metadata.
    ///
    /// # Panics
    ///
    /// If a session is missing.
    pub fn finish(mut self) -> Vec<u8> {
        assert_eq!(self.missing, 0, "sessions that the metadata has were not captured");
        self.bytes.append(&mut self.tail);
        self.bytes
    }
}

impl From<StateMetadata> for PartialMetadata {
    fn from(metadata: StateMetadata) -> Self {
        Self { bytes: metadata.encode(), tail: Vec::new(), missing: 0 }
    }
}

impl CapturedSessions {
    /// See [`Engine::capture_sessions`].
    pub(crate) fn next_of(engine: &mut Engine, outcomes_max: usize) -> Self {
        let mut captured = Self::default();
        let mut left = outcomes_max.max(1);
        while left > 0
            && let Some((session, outcomes)) = engine.sessions.captured()
        {
            captured.bytes.extend(encoded(&session));
            captured.count += 1;
            left = left.saturating_sub(SESSION_OUTCOMES + outcomes);
        }
        captured
    }

    /// True if all sessions were captured before.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of memory that they take.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len()
    }
}

fn encoded(saved: &impl Serialize) -> Vec<u8> {
    options()
        .serialize(saved)
        .unwrap_or_else(|error| unreachable!("a state in memory always encodes: {error}"))
}

impl Restoring {
    /// Restores a resident job whose record is at `place`.
    pub fn resident(&mut self, saved: SavedJob, place: Place) -> Result<(), RestoreError> {
        let engine = &mut self.engine;
        let given_out = engine.numbers.include_job(saved.id()) && engine.numbers.include_fence(saved.fence());
        if !given_out || !engine.defaults.has(saved.defaults()) || engine.topics.find(saved.topic()).is_none()
        {
            return Err(RestoreError::Job(saved.id()));
        }
        let slot = engine.jobs.place(saved.into_job(place));
        self.taken(slot)
    }

    /// Restores a spilled job that is at `place`.
    pub fn spilled(&mut self, id: JobId, key_hash: Option<u128>, place: Place) -> Result<(), RestoreError> {
        if !self.engine.numbers.include_job(id) {
            return Err(RestoreError::Job(id));
        }
        let handle = self.engine.jobs.place_spilled(id, key_hash.and_then(KeyHash::new), place);
        self.taken(handle)
    }

    fn taken(&mut self, handle: u32) -> Result<(), RestoreError> {
        self.unindexed.push(handle);
        if self.unindexed.len() < INDEXED_AT_ONCE { Ok(()) } else { self.index() }
    }

    /// Indexes the restored jobs, and finds those that occur twice.
    fn index(&mut self) -> Result<(), RestoreError> {
        self.engine.jobs.index_all(&self.unindexed).map_err(RestoreError::Job)?;
        let resident = self.unindexed.drain(..).filter_map(|handle| jobs::found(handle).resident());
        resident.for_each(|slot| self.engine.enter(slot));
        Ok(())
    }

    /// Ends the restore although the jobs cannot be read. The engine has only the members and the time; no entry may be
    /// applied to it.
    pub fn give_up(self) -> Engine {
        let StateMetadata {
            head: Head { clock_offset_ms, group, stamp, .. },
            tail: Tail { members, .. },
            ..
        } = self.metadata;
        let mut engine = Engine::new(group);
        let clock = Clock { stamp, offset_ms: clock_offset_ms, forward: None };
        (engine.members, engine.clock) = (members, clock);
        engine
    }

    /// Completes the restore when all jobs are restored.
    pub fn finish(mut self) -> Result<Engine, RestoreError> {
        self.index()?;
        let Self { mut engine, metadata, .. } = self;
        let found = engine.jobs();
        if found != metadata.head.jobs {
            return Err(RestoreError::Jobs { expected: metadata.head.jobs, found });
        }
        // The spilled jobs were not read: their counts and their part of the sum come from the metadata.
        let counted = engine.topics.restore_delayed(&metadata.head.topics);
        counted.map_err(|topic| RestoreError::TopicJobs(topic.0))?;
        engine.sum = metadata.tail.sum;
        Ok(engine)
    }
}
