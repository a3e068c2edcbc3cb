//! RESERVE and SUBSCRIBE; RESERVED, DELIVER and LEASED.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::field::{Field, Subject};
use super::response::{Delivered, Leased};
use super::wire::{Fixed, Reader, in_range, key_bytes, not_more, put_list, put_piece, some_not_more};
use adjourn_types::limits::{
    CREDIT_BYTES_MAX, CREDIT_JOBS_MAX, RESERVE_JOBS_MAX, RESERVE_TOPICS_MAX, WAIT_MS_MAX,
};
use adjourn_types::{Fence, JobId, Lease, Millis, TopicName};

const TOPIC_FIXED_BYTES: usize = 1;
const WEIGHT_FIXED_BYTES: usize = 2;
const JOB_FIXED_BYTES: usize = 53;
/// Older servers send no deadline.
const JOB_FIXED_BYTES_MIN: usize = 45;
const LEASED_MORE: u8 = 1;

/// A long-poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// The topics to reserve from.
    pub topics: Vec<TopicName>,
    /// The maximum number of jobs.
    pub jobs_max: u32,
    /// The longest wait in milliseconds, after which the answer has no job; 0 answers at once.
    pub wait_ms: u64,
    /// The topics' shares, one number from 1 on per topic in their order: with weights 5 and 1 the first topic gives five
    /// jobs for each of the second while both have some. Without weights the order is by priority, due time and id over all
    /// topics.
    pub weights: Vec<u16>,
}

/// A subscription to jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribe {
    /// The topics to subscribe to.
    pub topics: Vec<TopicName>,
    /// Most jobs held at once. Settling a lease returns its share.
    pub credit_jobs: u32,
    /// Most bytes of bodies held at once. While it is above 0 one more job is sent, however large.
    pub credit_bytes: u64,
    /// See [`Reserve::weights`].
    pub weights: Vec<u16>,
}

impl Field for Reserve {
    fn put(&self, out: &mut BytesMut) {
        Fixed::<12>::new().u64(self.wait_ms).u32(self.jobs_max).write(out);
        encode_topics(&self.topics, out);
        encode_weights(&self.weights, out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let (wait_ms, jobs_max) = (reader.u64("wait_ms")?, reader.u32("jobs_max")?);
        Ok(Self { topics: decode_topics(reader)?, jobs_max, wait_ms, weights: decode_weights(reader)? })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        check_topics(&self.topics, &self.weights)?;
        in_range(self.wait_ms, 0..=WAIT_MS_MAX, "wait_ms")?;
        in_range(self.jobs_max, 1..=RESERVE_JOBS_MAX, "jobs_max")
    }

    fn subject(&mut self) -> Subject<'_> {
        Subject::Topics(&self.topics)
    }

    fn detach(self) -> Self {
        Self { topics: detached_topics(&self.topics), ..self }
    }
}

impl Field for Subscribe {
    fn put(&self, out: &mut BytesMut) {
        Fixed::<12>::new().u32(self.credit_jobs).u64(self.credit_bytes).write(out);
        encode_topics(&self.topics, out);
        encode_weights(&self.weights, out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let (credit_jobs, credit_bytes) = (reader.u32("credit_jobs")?, reader.u64("credit_bytes")?);
        Ok(Self {
            topics: decode_topics(reader)?,
            credit_jobs,
            credit_bytes,
            weights: decode_weights(reader)?,
        })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        check_topics(&self.topics, &self.weights)?;
        in_range(self.credit_jobs, 0..=CREDIT_JOBS_MAX, "credit_jobs")?;
        in_range(self.credit_bytes, 0..=CREDIT_BYTES_MAX, "credit_bytes")
    }

    fn subject(&mut self) -> Subject<'_> {
        Subject::Topics(&self.topics)
    }

    fn detach(self) -> Self {
        Self { topics: detached_topics(&self.topics), ..self }
    }
}

fn detached_topics(topics: &[TopicName]) -> Vec<TopicName> {
    topics.iter().map(TopicName::detached).collect()
}

fn encode_topics(topics: &[TopicName], out: &mut BytesMut) {
    put_list(out, TOPIC_FIXED_BYTES, topics.len());
    for topic in topics {
        super::wire::put_topic8(out, topic);
    }
}

/// Some topics, and a weight for each or none.
fn check_topics(topics: &[TopicName], weights: &[u16]) -> Result<(), DecodeError> {
    some_not_more(topics.len(), RESERVE_TOPICS_MAX, "topics")?;
    not_more(weights.len(), RESERVE_TOPICS_MAX, "weights")?;
    weights.iter().try_for_each(|weight| in_range(*weight, 1..=u16::MAX, "weight"))?;
    if weights.is_empty() || weights.len() == topics.len() {
        Ok(())
    } else {
        Err(DecodeError::Weights { weights: weights.len(), topics: topics.len() })
    }
}

fn decode_topics(reader: &mut Reader<'_>) -> Result<Vec<TopicName>, DecodeError> {
    let list = reader.list_of_some::<TOPIC_FIXED_BYTES>("topics", RESERVE_TOPICS_MAX)?;
    reader.items(list, |reader, mut fields| {
        let bytes = fields.u8("topic")?;
        reader.topic(bytes)
    })
}

/// Writes the weights, or nothing without weights: so a server that does not know them understands the request.
fn encode_weights(weights: &[u16], out: &mut BytesMut) {
    if weights.is_empty() {
        return;
    }
    put_list(out, WEIGHT_FIXED_BYTES, weights.len());
    for weight in weights {
        out.put_u16_le(*weight);
    }
}

fn decode_weights(reader: &mut Reader<'_>) -> Result<Vec<u16>, DecodeError> {
    if reader.is_at_end() {
        return Ok(Vec::new());
    }
    let list = reader.list::<WEIGHT_FIXED_BYTES>("weights", RESERVE_TOPICS_MAX)?;
    reader.items(list, |_, mut fields| fields.u16("weight"))
}

pub(super) fn encode_leased(leased: &Leased, out: &mut BytesMut) {
    out.put_u8(if leased.has_more { LEASED_MORE } else { 0 });
    encode_jobs(&leased.jobs, out);
}

pub(super) fn decode_leased(reader: &mut Reader<'_>) -> Result<Leased, DecodeError> {
    let marks = reader.u8("marks")?;
    Ok(Leased { has_more: marks & LEASED_MORE != 0, jobs: decode_jobs(reader)? })
}

pub(super) fn encode_jobs(jobs: &[Delivered], out: &mut BytesMut) {
    put_list(out, JOB_FIXED_BYTES, jobs.len());
    for job in jobs {
        encode_job(job, out);
    }
}

fn encode_job(job: &Delivered, out: &mut BytesMut) {
    let topic = job.topic.as_str().as_bytes();
    let key = key_bytes(job.key.as_ref());
    let attributes = job.attributes.as_bytes();
    Fixed::<JOB_FIXED_BYTES>::new()
        .u64(job.lease.job.0)
        .u64(job.lease.fence.0)
        .u64(job.due.0)
        .u32(job.priority)
        .u32(job.attempts)
        .u32(job.ttr_left_ms)
        .length8(topic.len())
        .length16(key.len())
        .length16(attributes.len())
        .length32(job.body.len())
        .u64(job.deadline_ms)
        .write(out);
    put_piece(out, topic);
    put_piece(out, key);
    put_piece(out, attributes);
    put_piece(out, &job.body);
}

pub(super) fn decode_jobs(reader: &mut Reader<'_>) -> Result<Vec<Delivered>, DecodeError> {
    let list = reader.list::<JOB_FIXED_BYTES_MIN>("jobs", usize::MAX)?;
    reader.items(list, |reader, mut fields| {
        let job = JobId(fields.u64("job")?);
        let fence = Fence(fields.u64("fence")?);
        let due = Millis(fields.u64("due_ms")?);
        let priority = fields.u32("priority")?;
        let attempts = fields.u32("attempts")?;
        let ttr_left_ms = fields.u32("ttr_left_ms")?;
        let topic_bytes = fields.u8("topic")?;
        let key_bytes = fields.u16("key")?;
        let attributes_bytes = fields.u16("attributes")?;
        let body_bytes = fields.u32("body")?;
        let deadline_ms = fields.late_u64("deadline_ms")?;
        Ok(Delivered {
            lease: Lease { job, fence },
            topic: reader.topic(topic_bytes)?,
            key: reader.key(key_bytes)?,
            priority,
            attempts,
            due,
            ttr_left_ms,
            deadline_ms,
            attributes: reader.shown_attributes(attributes_bytes)?,
            body: reader.bytes(body_bytes as usize, usize::MAX, "body")?,
        })
    })
}
