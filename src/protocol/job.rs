//! Requests about one job, named by its id or its key; JOB and CHANGED. `KICK_MANY`, about many of a topic; KICKED.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::request::{JobRef, Request};
use super::response::{JobReport, Response};
use super::wire::{Fixed, Reader, in_range, key_bytes, put_piece, put_text16, put_topic8, when, when_fields};
use crate::types::limits::{KEY_BYTES_MAX, KICK_JOBS_MAX};
use crate::types::{BuryReason, JobHistory, JobId, JobState, Key, Millis, SessionId, TopicName, When};

const BY_ID: u8 = 0;
const BY_KEY: u8 = 1;
const NOT_BURIED: u8 = 0;
/// In place of a time that is not known.
const NEVER: Millis = Millis(0);
/// In place of a session that is not known.
const NOBODY: SessionId = SessionId(0);

pub(super) fn encode_job_ref(job: &JobRef, out: &mut BytesMut) {
    match job {
        JobRef::Id(id) => Fixed::<9>::new().u8(BY_ID).u64(id.0).write(out),
        JobRef::Key { topic, key } => {
            out.put_u8(BY_KEY);
            put_topic8(out, topic);
            Fixed::<2>::new().length16(key.as_bytes().len()).write(out);
            out.put_slice(key.as_bytes());
        }
    }
}

pub(super) fn decode_job_ref(reader: &mut Reader<'_>) -> Result<JobRef, DecodeError> {
    match reader.u8("job_kind")? {
        BY_ID => Ok(JobRef::Id(JobId(reader.u64("job")?))),
        BY_KEY => {
            let topic = reader.topic8()?;
            Ok(JobRef::Key { topic, key: Key::new(reader.bytes16(KEY_BYTES_MAX, "key")?)? })
        }
        value => Err(DecodeError::Choice { field: "job_kind", value }),
    }
}

pub(super) fn encode_reschedule(job: &JobRef, due: When, out: &mut BytesMut) {
    let (due_kind, due_ms) = when_fields(due);
    Fixed::<9>::new().u64(due_ms).u8(due_kind).write(out);
    encode_job_ref(job, out);
}

pub(super) fn decode_reschedule(reader: &mut Reader<'_>) -> Result<Request, DecodeError> {
    let due_ms = reader.u64("due_ms")?;
    let due = when(reader.u8("due_kind")?, due_ms)?;
    Ok(Request::Reschedule { job: decode_job_ref(reader)?, due })
}

pub(super) fn encode_kick_many(topic: &TopicName, jobs_max: u32, out: &mut BytesMut) {
    out.put_u32_le(jobs_max);
    put_topic8(out, topic);
}

pub(super) fn decode_kick_many(reader: &mut Reader<'_>) -> Result<Request, DecodeError> {
    let jobs_max = in_range(reader.u32("jobs_max")?, 1, KICK_JOBS_MAX, "jobs_max")?;
    Ok(Request::KickMany { topic: reader.topic8()?, jobs_max })
}

pub(super) fn encode_kicked(jobs: u32, out: &mut BytesMut) {
    out.put_u32_le(jobs);
}

pub(super) fn decode_kicked(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    Ok(Response::Kicked { jobs: reader.u32("jobs")? })
}

pub(super) fn encode_report(report: &JobReport, out: &mut BytesMut) {
    let topic = report.topic.as_str().as_bytes();
    let key = key_bytes(report.key.as_ref());
    let attributes = report.attributes.as_bytes();
    Fixed::<43>::new()
        .u64(report.id.0)
        .u64(report.due.0)
        .u8(report.state as u8)
        .u8(report.buried.map_or(NOT_BURIED, |reason| reason as u8 + 1))
        .u32(report.priority)
        .u32(report.attempts)
        .u32(report.ttr_ms)
        .u32(report.ttr_left_ms)
        .length8(topic.len())
        .length16(key.len())
        .length16(attributes.len())
        .length32(report.body.len())
        .write(out);
    put_piece(out, topic);
    put_piece(out, key);
    put_piece(out, attributes);
    put_piece(out, &report.body);
    encode_history(&report.history, out);
}

/// Behind the pieces, where older clients do not look.
fn encode_history(history: &JobHistory, out: &mut BytesMut) {
    let JobHistory { pushed, reserved_first, reserved_last, held_by, reason, finished } = history;
    let known = |time: &Option<Millis>| time.unwrap_or(NEVER).0;
    Fixed::<32>::new()
        .u64(known(pushed))
        .u64(known(reserved_first))
        .u64(known(reserved_last))
        .u64(held_by.unwrap_or(NOBODY).0)
        .write(out);
    put_text16(out, reason.as_deref().unwrap_or_default());
    out.put_u64_le(known(finished));
}

fn decode_history(reader: &mut Reader<'_>) -> Result<JobHistory, DecodeError> {
    Ok(JobHistory {
        pushed: decode_time(reader, "pushed_ms")?,
        reserved_first: decode_time(reader, "reserved_first_ms")?,
        reserved_last: decode_time(reader, "reserved_last_ms")?,
        held_by: Some(SessionId(reader.fields_mut().late_u64("held_by")?))
            .filter(|session| *session != NOBODY),
        reason: reader.late_text16(usize::from(u16::MAX), "reason")?,
        finished: decode_time(reader, "finished_ms")?,
    })
}

fn decode_time(reader: &mut Reader<'_>, field: &'static str) -> Result<Option<Millis>, DecodeError> {
    let time = Millis(reader.fields_mut().late_u64(field)?);
    Ok(Some(time).filter(|time| *time != NEVER))
}

pub(super) fn decode_report(reader: &mut Reader<'_>) -> Result<JobReport, DecodeError> {
    let id = JobId(reader.u64("job")?);
    let due = Millis(reader.u64("due_ms")?);
    let state = decode_state(reader)?;
    let buried = decode_buried(reader)?;
    let priority = reader.u32("priority")?;
    let attempts = reader.u32("attempts")?;
    let ttr_ms = reader.u32("ttr_ms")?;
    let ttr_left_ms = reader.u32("ttr_left_ms")?;
    let topic_bytes = reader.u8("topic")?;
    let key_bytes = reader.u16("key")?;
    let attributes_bytes = reader.u16("attributes")?;
    let body_bytes = reader.u32("body")?;
    Ok(JobReport {
        id,
        state,
        topic: reader.topic(topic_bytes)?,
        key: reader.key(key_bytes)?,
        priority,
        attempts,
        due,
        ttr_ms,
        ttr_left_ms,
        buried,
        attributes: reader.attributes(attributes_bytes)?,
        body: reader.bytes(body_bytes as usize, usize::MAX, "body")?,
        history: decode_history(reader)?,
    })
}

fn decode_state(reader: &mut Reader<'_>) -> Result<JobState, DecodeError> {
    let value = reader.u8("state")?;
    JobState::from_u8(value).ok_or(DecodeError::Choice { field: "state", value })
}

fn decode_buried(reader: &mut Reader<'_>) -> Result<Option<BuryReason>, DecodeError> {
    match reader.u8("buried")? {
        NOT_BURIED => Ok(None),
        value => {
            BuryReason::from_u8(value - 1).map(Some).ok_or(DecodeError::Choice { field: "buried", value })
        }
    }
}

pub(super) fn encode_changed(job: JobId, state: JobState, due: Millis, out: &mut BytesMut) {
    Fixed::<17>::new().u64(job.0).u64(due.0).u8(state as u8).write(out);
}

pub(super) fn decode_changed(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let job = JobId(reader.u64("job")?);
    let due = Millis(reader.u64("due_ms")?);
    Ok(Response::Changed { job, state: decode_state(reader)?, due })
}
