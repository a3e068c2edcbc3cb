//! PUSH and PUSHED.

use std::num::NonZeroU128;

use bytes::{BufMut as _, Bytes, BytesMut};

use super::decode_error::DecodeError;
use super::error::ErrorCode;
use super::field::{Field, Subject, check_when};
use super::response::PushResult;
use super::wire::{
    Fields, Fixed, Reader, in_range, key_bytes, not_longer, put_list, put_piece, put_topic8, some_not_more,
    when, when_fields,
};
use adjourn_types::limits::{PUSH_JOBS_MAX, TTR_MS_MAX, TTR_MS_MIN};
use adjourn_types::{Attributes, IfExists, JobId, Key, Millis, TopicName, When};

const JOB_FIXED_BYTES: usize = 26;
const RESULT_FIXED_BYTES: usize = 11;
const PUSHED: u8 = 0;
const KEPT: u8 = 1;
const REPLACED: u8 = 2;
const REFUSED: u8 = 3;
const POSTPONED: u8 = 4;

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

fn encode_job(job: &NewJob, out: &mut BytesMut) {
    let (due_kind, due_ms) = when_fields(job.due);
    let key = key_bytes(job.key.as_ref());
    let attributes = job.attributes.as_bytes();
    Fixed::<JOB_FIXED_BYTES>::new()
        .u64(due_ms)
        .u32(job.priority)
        .u32(job.ttr_ms)
        .u8(due_kind)
        .u8(job.if_exists as u8)
        .length16(key.len())
        .length16(attributes.len())
        .length32(job.body.len())
        .write(out);
    put_piece(out, key);
    put_piece(out, attributes);
    put_piece(out, &job.body);
}

impl Field for Push {
    fn put(&self, out: &mut BytesMut) {
        out.put_u64_le(self.sequence);
        put_topic8(out, &self.topic);
        put_list(out, JOB_FIXED_BYTES, self.jobs.len());
        for job in &self.jobs {
            encode_job(job, out);
        }
        if let Some(Idempotency { key, list_jobs }) = self.idempotency {
            out.put_u128_le(key.get());
            if list_jobs as usize != self.jobs.len() {
                out.put_u32_le(list_jobs);
            }
        }
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let sequence = reader.u64("sequence")?;
        let topic = reader.topic8()?;
        let list = reader.list_of_some::<JOB_FIXED_BYTES>("jobs", PUSH_JOBS_MAX)?;
        let jobs = reader.items(list, decode_job)?;
        let fields = reader.fields_mut();
        let idempotency = if fields.is_empty() {
            None
        } else {
            let [low, high] = [fields.u64("idempotency")?, fields.u64("idempotency")?];
            let list_jobs = if fields.is_empty() { 0 } else { fields.u32("list_jobs")? };
            let list_jobs = if list_jobs == 0 { count(&jobs) } else { list_jobs };
            let key = NonZeroU128::new(u128::from(low) | u128::from(high) << 64);
            key.map(|key| Idempotency { key, list_jobs })
        };
        Ok(Self { topic, sequence, jobs, idempotency })
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

fn decode_job(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<NewJob, DecodeError> {
    let due_ms = fields.u64("due_ms")?;
    let priority = fields.u32("priority")?;
    let ttr_ms = fields.u32("ttr_ms")?;
    let due = when(fields.u8("due_kind")?, due_ms)?;
    let if_exists = fields.u8("if_exists")?;
    let if_exists =
        IfExists::from_u8(if_exists).ok_or(DecodeError::Choice { field: "if_exists", value: if_exists })?;
    let key_bytes = fields.u16("key")?;
    let attributes_bytes = fields.u16("attributes")?;
    let body_bytes = fields.u32("body")?;
    let key = reader.key(key_bytes)?;
    let attributes = reader.attributes(attributes_bytes)?;
    let body = reader.bytes(body_bytes as usize, reader.body_bytes_max(), "body")?;
    Ok(NewJob { due, priority, ttr_ms, if_exists, key, attributes, body })
}

/// A time to run; 0 stands for another's choice.
fn check_ttr(ttr_ms: u32) -> Result<(), DecodeError> {
    if ttr_ms == 0 { Ok(()) } else { in_range(ttr_ms, TTR_MS_MIN..=TTR_MS_MAX, "ttr_ms") }
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
    put_list(out, RESULT_FIXED_BYTES, results.len());
    for result in results {
        let (kind, code, job) = match *result {
            PushResult::Pushed(job) => (PUSHED, 0, Some(job)),
            PushResult::Kept(job) => (KEPT, 0, Some(job)),
            PushResult::Replaced(job) => (REPLACED, 0, Some(job)),
            PushResult::Postponed(job) => (POSTPONED, 0, Some(job)),
            PushResult::Refused(code, job) => (REFUSED, code as u16, job),
        };
        let job = job.map_or(0, |job| job.0);
        Fixed::<RESULT_FIXED_BYTES>::new().u8(kind).u16(code).u64(job).write(out);
    }
}

pub(super) fn decode_pushed(reader: &mut Reader<'_>) -> Result<Vec<PushResult>, DecodeError> {
    let list = reader.list::<RESULT_FIXED_BYTES>("results", usize::MAX)?;
    reader.items(list, |_, mut fields| {
        let kind = fields.u8("outcome")?;
        let code = fields.u16("code")?;
        let job = JobId(fields.u64("job")?);
        Ok(match kind {
            PUSHED => PushResult::Pushed(job),
            KEPT => PushResult::Kept(job),
            REPLACED => PushResult::Replaced(job),
            POSTPONED => PushResult::Postponed(job),
            REFUSED => {
                let code = ErrorCode::from_u16(code).unwrap_or(ErrorCode::Unknown);
                PushResult::Refused(code, (job != JobId(0)).then_some(job))
            }
            // From a newer server: the caller must check what happened to the job.
            _ => PushResult::Refused(ErrorCode::OutcomeUnknown, (job != JobId(0)).then_some(job)),
        })
    })
}
