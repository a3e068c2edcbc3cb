//! RESERVE and SUBSCRIBE; RESERVED, DELIVER and LEASED.

use bytes::{Bytes, BytesMut};

use super::codes::bits::page_marks;
use super::decode_error::DecodeError;
use super::field::{Field, Subject};
use super::layout::{frames, records};
use super::response::{Delivered, Leased};
use super::wire::{self, Reader, in_range, key_bytes, mark, not_more, some_not_more};
use adjourn_types::limits::{
    CREDIT_BYTES_MAX, CREDIT_JOBS_MAX, RESERVE_JOBS_MAX, RESERVE_TOPICS_MAX, WAIT_MS_MAX,
};
use adjourn_types::{Attributes, Fence, JobId, Lease, Millis, TopicName};

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
        let (topics, weights) = (topic_bytes(&self.topics), self.weights.iter().copied());
        frames::Reserve { wait_ms: self.wait_ms, jobs_max: self.jobs_max, topics, weights }.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frames::Reserve { wait_ms, jobs_max, topics, weights } = frames::Reserve::take(reader)?;
        Ok(Self { topics: topics_of(topics)?, jobs_max, wait_ms, weights })
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
        let Self { credit_jobs, credit_bytes, .. } = *self;
        let (topics, weights) = (topic_bytes(&self.topics), self.weights.iter().copied());
        frames::Subscribe { credit_jobs, credit_bytes, topics, weights }.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frames::Subscribe { credit_jobs, credit_bytes, topics, weights } =
            frames::Subscribe::take(reader)?;
        Ok(Self { topics: topics_of(topics)?, credit_jobs, credit_bytes, weights })
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

fn topic_bytes(topics: &[TopicName]) -> impl ExactSizeIterator<Item = &[u8]> {
    topics.iter().map(|topic| topic.as_str().as_bytes())
}

fn topics_of(topics: Vec<Bytes>) -> Result<Vec<TopicName>, DecodeError> {
    topics.into_iter().map(wire::topic).collect()
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

pub(super) fn encode_leased(leased: &Leased, out: &mut BytesMut) {
    let marks = mark(leased.has_more, page_marks::MORE);
    frames::Leased { marks, jobs: leased.jobs.iter().map(record) }.put(out);
}

pub(super) fn decode_leased(reader: &mut Reader<'_>) -> Result<Leased, DecodeError> {
    let frames::Leased { marks, jobs } = frames::Leased::take(reader, job_of_record)?;
    Ok(Leased { has_more: marks & page_marks::MORE != 0, jobs })
}

/// Encodes the jobs of RESERVED or DELIVER, which look the same.
pub(super) fn encode_jobs(jobs: &[Delivered], out: &mut BytesMut) {
    frames::Reserved { jobs: jobs.iter().map(record) }.put(out);
}

pub(super) fn decode_jobs(reader: &mut Reader<'_>) -> Result<Vec<Delivered>, DecodeError> {
    Ok(frames::Reserved::take(reader, job_of_record)?.jobs)
}

fn record(job: &Delivered) -> records::Delivered<&[u8]> {
    records::Delivered {
        job: job.lease.job.0,
        fence: job.lease.fence.0,
        due_ms: job.due.0,
        priority: job.priority,
        attempts: job.attempts,
        ttr_left_ms: job.ttr_left_ms,
        topic: job.topic.as_str().as_bytes(),
        key: key_bytes(job.key.as_ref()),
        attributes: job.attributes.as_bytes(),
        body: &job.body,
        deadline_ms: job.deadline_ms,
    }
}

fn job_of_record(job: records::Delivered<Bytes>) -> Result<Delivered, DecodeError> {
    Ok(Delivered {
        lease: Lease { job: JobId(job.job), fence: Fence(job.fence) },
        topic: wire::topic(job.topic)?,
        key: wire::key(job.key)?,
        priority: job.priority,
        attempts: job.attempts,
        due: Millis(job.due_ms),
        ttr_left_ms: job.ttr_left_ms,
        deadline_ms: job.deadline_ms,
        attributes: Attributes::shown(job.attributes)?,
        body: job.body,
    })
}
