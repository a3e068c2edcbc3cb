//! PUSH and PUSHED.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::error::ErrorCode;
use super::request::{NewJob, Push};
use super::response::PushResult;
use super::wire::{Fixed, Reader, in_range, key_bytes, put_list, put_piece, put_topic8, when, when_fields};
use crate::types::limits::{PUSH_JOBS_MAX, TTR_MS_MAX, TTR_MS_MIN};
use crate::types::{IfExists, JobId};

const JOB_FIXED_BYTES: usize = 26;
const RESULT_FIXED_BYTES: usize = 11;
const PUSHED: u8 = 0;
const KEPT: u8 = 1;
const REPLACED: u8 = 2;
const REFUSED: u8 = 3;
const POSTPONED: u8 = 4;

pub(super) fn encode_push(push: &Push, out: &mut BytesMut) {
    out.put_u64_le(push.sequence);
    put_topic8(out, &push.topic);
    put_list(out, JOB_FIXED_BYTES, push.jobs.len());
    for job in &push.jobs {
        encode_job(job, out);
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

pub(super) fn decode_push(reader: &mut Reader<'_>, body_bytes_max: usize) -> Result<Push, DecodeError> {
    let sequence = reader.u64("sequence")?;
    let topic = reader.topic8()?;
    let list = reader.list_of_some::<JOB_FIXED_BYTES>("jobs", PUSH_JOBS_MAX)?;
    let jobs = reader.items(list, |reader, mut fields| {
        let due_ms = fields.u64("due_ms")?;
        let priority = fields.u32("priority")?;
        let ttr_ms = decode_ttr(fields.u32("ttr_ms")?)?;
        let due = when(fields.u8("due_kind")?, due_ms)?;
        let if_exists = fields.u8("if_exists")?;
        let if_exists = IfExists::from_u8(if_exists)
            .ok_or(DecodeError::Choice { field: "if_exists", value: if_exists })?;
        let key_bytes = fields.u16("key")?;
        let attributes_bytes = fields.u16("attributes")?;
        let body_bytes = fields.u32("body")?;
        let key = reader.key(key_bytes)?;
        let attributes = reader.attributes(attributes_bytes)?;
        attributes.check_new()?;
        Ok(NewJob {
            due,
            priority,
            ttr_ms,
            if_exists,
            key,
            attributes,
            body: reader.bytes(body_bytes as usize, body_bytes_max, "body")?,
        })
    })?;
    let more = jobs.len().saturating_sub(1) as u64;
    let sequence = in_range(sequence, 0, u64::MAX - more, "sequence")?;
    Ok(Push { topic, sequence, jobs })
}

/// A time to run; 0 stands for another's choice.
pub(super) fn decode_ttr(ttr_ms: u32) -> Result<u32, DecodeError> {
    if ttr_ms == 0 { Ok(0) } else { in_range(ttr_ms, TTR_MS_MIN, TTR_MS_MAX, "ttr_ms") }
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
            // Of a newer server: the caller has to look what became of it.
            _ => PushResult::Refused(ErrorCode::OutcomeUnknown, (job != JobId(0)).then_some(job)),
        })
    })
}
