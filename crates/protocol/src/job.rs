//! Requests about one job, named by its id or its key; JOB and CHANGED. `KICK_MANY`, about many of a topic; KICKED.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::response::{JobReport, Response};
use super::wire::{Fields, Fixed, Reader, key_bytes, put_piece, put_text16};
use adjourn_types::{BuryReason, JobHistory, JobId, JobState, Millis, SessionId};

const NOT_BURIED: u8 = 0;
/// The number of an unknown state.
const STATE_UNKNOWN: u8 = u8::MAX;
/// Stands for an unknown time.
const NEVER: Millis = Millis(0);

pub(super) fn encode_kicked(jobs: u32, out: &mut BytesMut) {
    out.put_u32_le(jobs);
}

pub(super) fn decode_kicked(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    Ok(Response::Kicked { jobs: reader.u32("jobs")? })
}

/// Bytes of a job before its pieces.
pub(super) const REPORT_BYTES: usize = 43;

/// The fixed part of a job, and the lengths of its pieces.
pub(super) struct ReportFields {
    id: JobId,
    due: Millis,
    state: Option<JobState>,
    buried: Option<BuryReason>,
    priority: u32,
    attempts: u32,
    ttr_ms: u32,
    ttr_left_ms: u32,
    topic_bytes: u8,
    key_bytes: u16,
    attributes_bytes: u16,
    shown_bytes: u32,
}

pub(super) fn encode_report(report: &JobReport, out: &mut BytesMut) {
    put_report_fields(report, out);
    put_report_pieces(report, out);
    encode_history(&report.history, out);
    out.put_u64_le(report.version);
}

pub(super) fn put_report_fields(report: &JobReport, out: &mut BytesMut) {
    Fixed::<REPORT_BYTES>::new()
        .u64(report.id.0)
        .u64(report.due.0)
        .u8(state_number(report.state))
        .u8(buried_number(report.buried))
        .u32(report.priority)
        .u32(report.attempts)
        .u32(report.ttr_ms)
        .u32(report.ttr_left_ms)
        .length8(report.topic.as_str().len())
        .length16(key_bytes(report.key.as_ref()).len())
        .length16(report.attributes.as_bytes().len())
        .length32(report.body.len())
        .write(out);
}

pub(super) fn put_report_pieces(report: &JobReport, out: &mut BytesMut) {
    put_piece(out, report.topic.as_str().as_bytes());
    put_piece(out, key_bytes(report.key.as_ref()));
    put_piece(out, report.attributes.as_bytes());
    put_piece(out, &report.body);
}

/// Encodes the history after the pieces, where older clients ignore it.
fn encode_history(history: &JobHistory, out: &mut BytesMut) {
    put_past(history, out);
    put_text16(out, history.reason.as_deref().unwrap_or_default());
    out.put_u64_le(known(history.finished));
}

/// Bytes of a live job's history, without the reason.
pub(super) const PAST_BYTES: usize = 32;

pub(super) fn put_past(history: &JobHistory, out: &mut BytesMut) {
    Fixed::<PAST_BYTES>::new()
        .u64(known(history.pushed))
        .u64(known(history.reserved_first))
        .u64(known(history.reserved_last))
        .u64(history.held_by.unwrap_or(SessionId::NONE).0)
        .write(out);
}

fn known(time: Option<Millis>) -> u64 {
    time.unwrap_or(NEVER).0
}

fn decode_history(reader: &mut Reader<'_>) -> Result<JobHistory, DecodeError> {
    let past = decode_past(reader.fields_mut())?;
    let reason = reader.late_text16(usize::from(u16::MAX), "reason")?;
    Ok(JobHistory { reason, finished: decode_time(reader.fields_mut(), "finished_ms")?, ..past })
}

/// Decodes the history. Fields that an older server does not send stay unknown.
pub(super) fn decode_past(fields: &mut Fields<'_>) -> Result<JobHistory, DecodeError> {
    Ok(JobHistory {
        pushed: decode_time(fields, "pushed_ms")?,
        reserved_first: decode_time(fields, "reserved_first_ms")?,
        reserved_last: decode_time(fields, "reserved_last_ms")?,
        held_by: Some(SessionId(fields.late_u64("held_by")?)).filter(|session| *session != SessionId::NONE),
        ..JobHistory::default()
    })
}

fn decode_time(fields: &mut Fields<'_>, field: &'static str) -> Result<Option<Millis>, DecodeError> {
    let time = Millis(fields.late_u64(field)?);
    Ok(Some(time).filter(|time| *time != NEVER))
}

pub(super) fn decode_report(reader: &mut Reader<'_>) -> Result<JobReport, DecodeError> {
    let report = decode_report_fields(reader.fields_mut())?.with_pieces(reader)?;
    let history = decode_history(reader)?;
    Ok(JobReport { history, version: reader.fields_mut().late_u64("version")?, ..report })
}

pub(super) fn decode_report_fields(fields: &mut Fields<'_>) -> Result<ReportFields, DecodeError> {
    Ok(ReportFields {
        id: JobId(fields.u64("job")?),
        due: Millis(fields.u64("due_ms")?),
        state: JobState::from_u8(fields.u8("state")?),
        buried: buried(fields.u8("buried")?),
        priority: fields.u32("priority")?,
        attempts: fields.u32("attempts")?,
        ttr_ms: fields.u32("ttr_ms")?,
        ttr_left_ms: fields.u32("ttr_left_ms")?,
        topic_bytes: fields.u8("topic")?,
        key_bytes: fields.u16("key")?,
        attributes_bytes: fields.u16("attributes")?,
        shown_bytes: fields.u32("body")?,
    })
}

impl ReportFields {
    /// Decodes the pieces that follow, and returns the job.
    pub(super) fn with_pieces(self, reader: &mut Reader<'_>) -> Result<JobReport, DecodeError> {
        Ok(JobReport {
            id: self.id,
            state: self.state,
            topic: reader.topic(self.topic_bytes)?,
            key: reader.key(self.key_bytes)?,
            priority: self.priority,
            attempts: self.attempts,
            due: self.due,
            ttr_ms: self.ttr_ms,
            ttr_left_ms: self.ttr_left_ms,
            buried: self.buried,
            attributes: reader.shown_attributes(self.attributes_bytes)?,
            body_bytes: self.shown_bytes,
            body: reader.bytes(self.shown_bytes as usize, usize::MAX, "body")?,
            history: JobHistory::default(),
            version: 0,
        })
    }
}

fn state_number(state: Option<JobState>) -> u8 {
    state.map_or(STATE_UNKNOWN, |state| state as u8)
}

/// The number of a reason on the wire; 0 for a job that is not buried.
pub(super) fn buried_number(buried: Option<BuryReason>) -> u8 {
    buried.map_or(NOT_BURIED, |reason| reason as u8 + 1)
}

/// The reason with this number on the wire, if there is one that this version knows.
pub(super) fn buried(value: u8) -> Option<BuryReason> {
    value.checked_sub(1).and_then(BuryReason::from_u8)
}

pub(super) fn encode_changed(
    job: JobId,
    state: Option<JobState>,
    due: Millis,
    version: u64,
    out: &mut BytesMut,
) {
    Fixed::<25>::new().u64(job.0).u64(due.0).u8(state_number(state)).u64(version).write(out);
}

pub(super) fn decode_changed(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let job = JobId(reader.u64("job")?);
    let due = Millis(reader.u64("due_ms")?);
    let state = JobState::from_u8(reader.u8("state")?);
    Ok(Response::Changed { job, state, due, version: reader.fields_mut().late_u64("version")? })
}
