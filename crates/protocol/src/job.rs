//! Requests about one job, named by its id or its key; JOB and CHANGED. `KICK_MANY`, about many of a topic; KICKED.

use bytes::{Bytes, BytesMut};

use super::decode_error::DecodeError;
use super::layout::{frames, records};
use super::response::{JobReport, Response};
use super::wire::{self, Reader, key_bytes, some_text, text8, text16, time, time_ms};
use adjourn_types::{Attributes, BuryReason, JobHistory, JobId, JobState, Millis};

const NOT_BURIED: u8 = 0;
/// The number of an unknown state.
const STATE_UNKNOWN: u8 = u8::MAX;

pub(super) fn encode_kicked(jobs: u32, out: &mut BytesMut) {
    frames::Kicked { jobs }.put(out);
}

pub(super) fn decode_kicked(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    Ok(Response::Kicked { jobs: frames::Kicked::take(reader)?.jobs })
}

pub(super) fn encode_report(report: &JobReport, out: &mut BytesMut) {
    let frame = frames::Job {
        shown: shown(report),
        past: past(&report.history),
        finished_ms: time_ms(report.history.finished),
        version: report.version,
    };
    frame.put(out);
}

pub(super) fn decode_report(reader: &mut Reader<'_>) -> Result<JobReport, DecodeError> {
    let frames::Job { shown, past, finished_ms, version } = frames::Job::take(reader)?;
    let history = JobHistory { finished: time(finished_ms), ..history_of(&past)? };
    Ok(JobReport { history, version, ..report_of_shown(shown)? })
}

fn shown(report: &JobReport) -> records::Shown<&[u8]> {
    records::Shown {
        job: report.id.0,
        due_ms: report.due.0,
        state: state_number(report.state),
        buried: buried_number(report.buried),
        priority: report.priority,
        attempts: report.attempts,
        ttr_ms: report.ttr_ms,
        ttr_left_ms: report.ttr_left_ms,
        topic: report.topic.as_str().as_bytes(),
        key: key_bytes(report.key.as_ref()),
        attributes: report.attributes.as_bytes(),
        body: &report.body,
    }
}

fn report_of_shown(shown: records::Shown<Bytes>) -> Result<JobReport, DecodeError> {
    Ok(JobReport {
        id: JobId(shown.job),
        state: JobState::from_u8(shown.state),
        topic: wire::topic(shown.topic)?,
        key: wire::key(shown.key)?,
        priority: shown.priority,
        attempts: shown.attempts,
        due: Millis(shown.due_ms),
        ttr_ms: shown.ttr_ms,
        ttr_left_ms: shown.ttr_left_ms,
        buried: buried(shown.buried),
        attributes: Attributes::shown(shown.attributes)?,
        body_bytes: u32::try_from(shown.body.len()).unwrap_or(u32::MAX),
        body: shown.body,
        history: JobHistory::default(),
        version: 0,
    })
}

fn past(history: &JobHistory) -> records::Past<&[u8]> {
    records::Past {
        pushed_ms: time_ms(history.pushed),
        reserved_first_ms: time_ms(history.reserved_first),
        reserved_last_ms: time_ms(history.reserved_last),
        edited_ms: time_ms(history.edited),
        held_by: text8(history.held_by.as_deref().unwrap_or_default()),
        reason: text16(history.reason.as_deref().unwrap_or_default()),
    }
}

fn history_of(past: &records::Past<Bytes>) -> Result<JobHistory, DecodeError> {
    Ok(JobHistory {
        pushed: time(past.pushed_ms),
        reserved_first: time(past.reserved_first_ms),
        reserved_last: time(past.reserved_last_ms),
        edited: time(past.edited_ms),
        held_by: some_text(&past.held_by, "held_by")?,
        reason: some_text(&past.reason, "reason")?,
        finished: None,
    })
}

/// A job on a page: as JOB shows it, with the length of its body.
pub(super) fn listed(report: &JobReport) -> records::Listed<&[u8]> {
    records::Listed { shown: shown(report), body_bytes: report.body_bytes, past: past(&report.history) }
}

pub(super) fn report_of_listed(listed: records::Listed<Bytes>) -> Result<JobReport, DecodeError> {
    let records::Listed { shown, body_bytes, past } = listed;
    Ok(JobReport { body_bytes, history: history_of(&past)?, ..report_of_shown(shown)? })
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
    frames::Changed { job: job.0, due_ms: due.0, state: state_number(state), version }.put(out);
}

pub(super) fn decode_changed(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let frames::Changed { job, due_ms, state, version } = frames::Changed::take(reader)?;
    Ok(Response::Changed { job: JobId(job), state: JobState::from_u8(state), due: Millis(due_ms), version })
}
