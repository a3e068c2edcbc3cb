//! PUSH and PUSHED.

use std::num::NonZeroU128;

use bytes::{BufMut as _, Bytes, BytesMut};

use super::codes::choices::outcome;
use super::decode_error::DecodeError;
use super::error::ErrorCode;
use super::field::{Field, Subject, check_ttr, check_when};
use super::layout::{frames, records};
use super::response::PushResult;
use super::wire::{self, Reader, in_range, key_bytes, not_longer, some_not_more, when, when_fields};
use adjourn_types::limits::PUSH_JOBS_MAX;
use adjourn_types::{Attributes, IfExists, JobId, Key, Millis, TopicName, When};

/// Jobs for one topic, each with its own outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The topic of the jobs.
    pub topic: TopicName,
    /// The session's sequence number of the first job; the others follow. A repeated number gets the same answer as
    /// the first time. 0: no protection against repeats.
    pub sequence: u64,
    /// The jobs.
    pub jobs: Vec<NewJob>,
    /// The identity of the push for repeats, instead of a sequence.
    pub idempotency: Option<Idempotency>,
}

/// The identity of a push for repeats by the same token: a repeat gets the answer of the first push, for a day, while the
/// token's share of the last [`IDEMPOTENT_PUSHES_MAX`](adjourn_types::limits::IDEMPOTENT_PUSHES_MAX) jobs has room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// A random number, or a hash. It is the first job's number; the others have the numbers that follow.
    pub key: NonZeroU128,
    /// How many jobs the list has: more than this push if the list is split into several, each with the number of its first
    /// job.
    pub list_jobs: u32,
}

/// One job to be pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// When it is due.
    pub due: When,
    /// A lower number is reserved first.
    pub priority: u32,
    /// How long a consumer may hold it, in milliseconds; 0 is the default.
    pub ttr_ms: u32,
    /// What to do if a live job has the key.
    pub if_exists: IfExists,
    /// The user's own id.
    pub key: Option<Key>,
    /// Headers, expiry, attempts and so on.
    pub attributes: Attributes,
    /// Opaque to the queue.
    pub body: Bytes,
}

impl NewJob {
    /// A job with the default priority and time to run, due at once.
    pub fn new(body: impl Into<Bytes>) -> Self {
        Self {
            due: When::After(0),
            priority: adjourn_types::limits::PRIORITY_UNSAID,
            ttr_ms: 0,
            if_exists: IfExists::Reject,
            key: None,
            attributes: Attributes::default(),
            body: body.into(),
        }
    }

    /// Due this many milliseconds after the queue accepts it.
    #[must_use]
    pub fn after(mut self, delay_ms: u64) -> Self {
        self.due = When::After(delay_ms);
        self
    }

    /// Due at this time of the wall clock.
    #[must_use]
    pub fn at(mut self, at: Millis) -> Self {
        self.due = When::At(at);
        self
    }

    /// With the user's own id.
    #[must_use]
    pub fn key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }
}

impl Field for Push {
    fn put(&self, out: &mut BytesMut) {
        let list_jobs = self.idempotency.map(|idempotency| idempotency.list_jobs);
        let frame = frames::Push {
            sequence: self.sequence,
            topic: self.topic.as_str().as_bytes(),
            jobs: self.jobs.iter().map(job_record),
            idempotency: self.idempotency.map(|idempotency| idempotency.key.get()),
            list_jobs: list_jobs.filter(|list_jobs| *list_jobs as usize != self.jobs.len()),
        };
        frame.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frames::Push { sequence, topic, jobs, idempotency, list_jobs } =
            frames::Push::take(reader, job_of_record)?;
        let list_jobs = list_jobs.filter(|list_jobs| *list_jobs != 0).unwrap_or_else(|| count(&jobs));
        let idempotency = idempotency.and_then(NonZeroU128::new).map(|key| Idempotency { key, list_jobs });
        Ok(Self { topic: wire::topic(topic)?, sequence, jobs, idempotency })
    }

    fn check(&self, _: &'static str, body_bytes_max: usize) -> Result<(), DecodeError> {
        some_not_more(self.jobs.len(), PUSH_JOBS_MAX, "jobs")?;
        self.jobs.iter().try_for_each(|job| not_longer(job.body.len(), body_bytes_max, "body"))?;
        self.jobs.iter().try_for_each(check_job)?;
        let more = self.jobs.len().saturating_sub(1) as u64;
        in_range(self.sequence, 0..=u64::MAX - more, "sequence")?;
        let Some(Idempotency { list_jobs, .. }) = self.idempotency else { return Ok(()) };
        if list_jobs != 0 {
            in_range(list_jobs, count(&self.jobs)..=u32::MAX, "list_jobs")?;
        }
        in_range(self.sequence, 0..=0, "sequence")
    }

    fn subject(&mut self) -> Subject<'_> {
        Subject::Topic(&self.topic)
    }

    fn detach(self) -> Self {
        let jobs = self.jobs.into_iter().map(|job| NewJob {
            key: job.key.as_ref().map(Key::detached),
            attributes: job.attributes.detached(),
            body: Bytes::copy_from_slice(&job.body),
            ..job
        });
        Self { topic: self.topic.detached(), jobs: jobs.collect(), ..self }
    }
}

fn count(jobs: &[NewJob]) -> u32 {
    u32::try_from(jobs.len()).unwrap_or(u32::MAX)
}

fn check_job(job: &NewJob) -> Result<(), DecodeError> {
    check_ttr(job.ttr_ms)?;
    check_when(job.due)?;
    Ok(job.attributes.check_new()?)
}

fn job_record(job: &NewJob) -> records::NewJob<&[u8]> {
    let (due_kind, due_ms) = when_fields(job.due);
    records::NewJob {
        due_ms,
        priority: job.priority,
        ttr_ms: job.ttr_ms,
        due_kind,
        if_exists: job.if_exists as u8,
        key: key_bytes(job.key.as_ref()),
        attributes: job.attributes.as_bytes(),
        body: &job.body,
    }
}

fn job_of_record(job: records::NewJob<Bytes>) -> Result<NewJob, DecodeError> {
    let if_exists = IfExists::from_u8(job.if_exists);
    Ok(NewJob {
        due: when(job.due_kind, job.due_ms)?,
        priority: job.priority,
        ttr_ms: job.ttr_ms,
        if_exists: if_exists.ok_or(DecodeError::Choice { field: "if_exists", value: job.if_exists })?,
        key: wire::key(job.key)?,
        attributes: Attributes::unchecked(job.attributes),
        body: job.body,
    })
}

/// A time to run in milliseconds; 0 stands for `None`.
impl Field for Option<u32> {
    fn put(&self, out: &mut BytesMut) {
        out.put_u32_le(self.unwrap_or(0));
    }

    fn take(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        Ok(Some(reader.u32(name)?).filter(|ttr_ms| *ttr_ms != 0))
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        check_ttr(self.unwrap_or(0))
    }

    fn detach(self) -> Self {
        self
    }
}

pub(super) fn encode_pushed(results: &[PushResult], out: &mut BytesMut) {
    let result = |result: &PushResult| {
        let (outcome, code, job) = match *result {
            PushResult::Pushed(job) => (outcome::PUSHED, 0, Some(job)),
            PushResult::Kept(job) => (outcome::KEPT, 0, Some(job)),
            PushResult::Replaced(job) => (outcome::REPLACED, 0, Some(job)),
            PushResult::Postponed(job) => (outcome::POSTPONED, 0, Some(job)),
            PushResult::Refused(code, job) => (outcome::REFUSED, code as u16, job),
        };
        records::PushResult { outcome, code, job: job.map_or(0, |job| job.0) }
    };
    frames::Pushed { results: results.iter().map(result) }.put(out);
}

pub(super) fn decode_pushed(reader: &mut Reader<'_>) -> Result<Vec<PushResult>, DecodeError> {
    let pushed = frames::Pushed::take(reader, |records::PushResult { outcome, code, job }| {
        let (job, some_job) = (JobId(job), (job != 0).then_some(JobId(job)));
        Ok(match outcome {
            outcome::PUSHED => PushResult::Pushed(job),
            outcome::KEPT => PushResult::Kept(job),
            outcome::REPLACED => PushResult::Replaced(job),
            outcome::POSTPONED => PushResult::Postponed(job),
            outcome::REFUSED => {
                PushResult::Refused(ErrorCode::from_u16(code).unwrap_or(ErrorCode::Unknown), some_job)
            }
            // From a newer server: the caller must check what happened to the job.
            _ => PushResult::Refused(ErrorCode::OutcomeUnknown, some_job),
        })
    })?;
    Ok(pushed.results)
}
