//! Schedules between their types and the records of frames.

use std::num::{NonZeroU32, NonZeroU64};

use bytes::{Bytes, BytesMut};

use super::{
    JobTemplate, ListedSchedule, ScheduleFilled, ScheduleInstants, SchedulePage, ScheduleReport,
    ScheduleState,
};
use crate::codes::bits::schedule_marks;
use crate::codes::choices::{fired, paused};
use crate::decode_error::DecodeError;
use crate::layout::{frames, records};
use crate::wire::{self, Reader, key_bytes, mark, text, text8, text16, time, time_ms};
use adjourn_types::{
    Attributes, Dst, Fired, Firing, JobEnd, JobId, Millis, Missed, Overlap, PausedBy, ScheduleRules,
    SkipReason,
};

/// The rules as a server keeps them.
pub fn encode_rules(rules: &ScheduleRules) -> Bytes {
    let mut out = BytesMut::new();
    rules_record(rules).put(&mut out);
    out.freeze()
}

/// Rules that a server has kept.
pub fn decode_rules(bytes: &Bytes) -> Result<ScheduleRules, DecodeError> {
    let mut reader = Reader::new(bytes);
    let fields = reader.part(records::ScheduleRules::<&[u8]>::FIXED_BYTES, "rules")?;
    rules_of(records::ScheduleRules::<Bytes>::take(&mut reader, fields)?)
}

pub(super) fn rules_record(rules: &ScheduleRules) -> records::ScheduleRules<&[u8]> {
    records::ScheduleRules {
        origin_ms: time_ms(rules.origin),
        start_ms: time_ms(rules.start),
        end_ms: time_ms(rules.end),
        count: rules.count.map_or(0, NonZeroU64::get),
        window_ms: rules.window_ms.map_or(0, NonZeroU64::get),
        missed_max: rules.missed_max.map_or(0, NonZeroU32::get),
        jitter_ms: rules.jitter_ms,
        failures_max: rules.failures_max,
        dst: rules.dst as u8,
        missed: rules.missed as u8,
        overlap: rules.overlap as u8,
        when: text16(&rules.when),
        zone: text8(&rules.zone),
        key: key_bytes(rules.key.as_ref()),
        note: text16(&rules.note),
    }
}

pub(super) fn rules_of(record: records::ScheduleRules<Bytes>) -> Result<ScheduleRules, DecodeError> {
    let choice = |field, value| DecodeError::Choice { field, value };
    Ok(ScheduleRules {
        when: text(&record.when, "when")?,
        zone: text(&record.zone, "zone")?,
        dst: Dst::from_u8(record.dst).ok_or(choice("dst", record.dst))?,
        origin: time(record.origin_ms),
        start: time(record.start_ms),
        end: time(record.end_ms),
        count: NonZeroU64::new(record.count),
        jitter_ms: record.jitter_ms,
        missed: Missed::from_u8(record.missed).ok_or(choice("missed", record.missed))?,
        window_ms: NonZeroU64::new(record.window_ms),
        missed_max: NonZeroU32::new(record.missed_max),
        overlap: Overlap::from_u8(record.overlap).ok_or(choice("overlap", record.overlap))?,
        failures_max: record.failures_max,
        key: wire::key(record.key)?,
        note: text(&record.note, "note")?,
    })
}

pub(super) fn template_record(template: &JobTemplate) -> records::JobTemplate<&[u8]> {
    records::JobTemplate {
        priority: template.priority,
        ttr_ms: template.ttr_ms,
        attributes: template.attributes.as_bytes(),
        body: &template.body,
    }
}

fn template_of(record: records::JobTemplate<Bytes>) -> Result<JobTemplate, DecodeError> {
    Ok(JobTemplate {
        priority: record.priority,
        ttr_ms: record.ttr_ms,
        attributes: Attributes::shown(record.attributes)?,
        body: record.body,
    })
}

fn state_record(state: &ScheduleState) -> records::ScheduleState {
    records::ScheduleState {
        schedule: state.id.0,
        next_ms: time_ms(state.next),
        fired: state.fired,
        version: state.version,
        running: state.running,
        failures: state.failures,
        paused: match state.paused {
            None => paused::NOT_PAUSED,
            Some(PausedBy::User) => paused::USER,
            Some(PausedBy::Failures) => paused::FAILURES,
        },
        marks: mark(state.has_come, schedule_marks::COME) | mark(state.is_held, schedule_marks::HELD),
    }
}

fn state_of(record: &records::ScheduleState) -> ScheduleState {
    ScheduleState {
        id: JobId(record.schedule),
        version: record.version,
        next: time(record.next_ms),
        has_come: record.marks & schedule_marks::COME != 0,
        is_held: record.marks & schedule_marks::HELD != 0,
        paused: match record.paused {
            paused::NOT_PAUSED => None,
            paused::FAILURES => Some(PausedBy::Failures),
            _ => Some(PausedBy::User),
        },
        fired: record.fired,
        running: record.running,
        failures: record.failures,
    }
}

fn firing_record(firing: &Firing) -> records::Firing {
    let Firing { instant, at, what } = *firing;
    let (last, instants, job, fired) = match what {
        Fired::Pushed { job, end } => {
            let fired = match end {
                None => fired::PUSHED,
                Some(JobEnd::Finished) => fired::FINISHED,
                Some(JobEnd::Failed) => fired::FAILED,
                Some(JobEnd::Deleted) => fired::DELETED,
                Some(JobEnd::Expired) => fired::EXPIRED,
            };
            (instant, 1, job.0, fired)
        }
        Fired::Skipped { last, instants, reason } => {
            let fired = match reason {
                SkipReason::Missed => fired::MISSED,
                SkipReason::Overlap => fired::OVERLAP,
                SkipReason::Refused => fired::REFUSED,
                SkipReason::KeyTaken => fired::KEY_TAKEN,
            };
            (last, instants, 0, fired)
        }
    };
    records::Firing { instant_ms: instant.0, last_ms: last.0, instants, at_ms: at.0, job, fired }
}

fn firing_of(record: &records::Firing) -> Option<Firing> {
    let pushed = |end| Fired::Pushed { job: JobId(record.job), end };
    let skipped = |reason| Fired::Skipped { last: Millis(record.last_ms), instants: record.instants, reason };
    let what = match record.fired {
        fired::PUSHED => pushed(None),
        fired::FINISHED => pushed(Some(JobEnd::Finished)),
        fired::FAILED => pushed(Some(JobEnd::Failed)),
        fired::DELETED => pushed(Some(JobEnd::Deleted)),
        fired::EXPIRED => pushed(Some(JobEnd::Expired)),
        fired::MISSED => skipped(SkipReason::Missed),
        fired::OVERLAP => skipped(SkipReason::Overlap),
        fired::REFUSED => skipped(SkipReason::Refused),
        fired::KEY_TAKEN => skipped(SkipReason::KeyTaken),
        _ => return None,
    };
    Some(Firing { instant: Millis(record.instant_ms), at: Millis(record.at_ms), what })
}

pub(crate) fn encode_scheduled(schedule: JobId, version: u32, next: Option<Millis>, out: &mut BytesMut) {
    frames::Scheduled { schedule: schedule.0, version, next_ms: time_ms(next) }.put(out);
}

pub(crate) fn decode_scheduled(reader: &mut Reader<'_>) -> Result<(JobId, u32, Option<Millis>), DecodeError> {
    let frames::Scheduled { schedule, version, next_ms } = frames::Scheduled::take(reader)?;
    Ok((JobId(schedule), version, time(next_ms)))
}

pub(crate) fn encode_report(report: &ScheduleReport, out: &mut BytesMut) {
    let frame = frames::Schedule {
        state: state_record(&report.state),
        pause_note: text16(&report.pause_note),
        rules: rules_record(&report.rules),
        template: template_record(&report.template),
        history: report.history.iter().map(firing_record),
    };
    frame.put(out);
}

pub(crate) fn decode_report(reader: &mut Reader<'_>) -> Result<ScheduleReport, DecodeError> {
    let frame = frames::Schedule::take(reader, |firing| Ok(firing_of(&firing)))?;
    Ok(ScheduleReport {
        state: state_of(&frame.state),
        pause_note: text(&frame.pause_note, "pause_note")?,
        rules: rules_of(frame.rules)?,
        template: template_of(frame.template)?,
        history: frame.history.into_iter().flatten().collect(),
    })
}

pub(crate) fn encode_list(page: &SchedulePage, out: &mut BytesMut) {
    frames::Schedules { schedules: page.schedules.iter().map(listed_record), cursor: &page.cursor[..] }
        .put(out);
}

fn listed_record(listed: &ListedSchedule) -> records::ListedSchedule<&[u8]> {
    records::ListedSchedule {
        schedule_state: state_record(&listed.state),
        schedule_rules: rules_record(&listed.rules),
        topic: listed.topic.as_str().as_bytes(),
        name: text8(&listed.name),
        pause_note: text16(&listed.pause_note),
    }
}

pub(crate) fn decode_list(reader: &mut Reader<'_>) -> Result<SchedulePage, DecodeError> {
    let page = frames::Schedules::take(reader, |listed| {
        Ok(ListedSchedule {
            state: state_of(&listed.schedule_state),
            pause_note: text(&listed.pause_note, "pause_note")?,
            rules: rules_of(listed.schedule_rules)?,
            topic: wire::topic(listed.topic)?,
            name: text(&listed.name, "name")?,
        })
    })?;
    Ok(SchedulePage { schedules: page.schedules, cursor: page.cursor })
}

pub(crate) fn encode_filled(filled: &ScheduleFilled, out: &mut BytesMut) {
    let ScheduleFilled { instants, pushed, kept, refused, bytes, next } = *filled;
    frames::ScheduleFilled { next_ms: time_ms(next), bytes, instants, pushed, kept, refused }.put(out);
}

pub(crate) fn decode_filled(reader: &mut Reader<'_>) -> Result<ScheduleFilled, DecodeError> {
    let frames::ScheduleFilled { next_ms, bytes, instants, pushed, kept, refused } =
        frames::ScheduleFilled::take(reader)?;
    Ok(ScheduleFilled { instants, pushed, kept, refused, bytes, next: time(next_ms) })
}

pub(crate) fn encode_instants(shown: &ScheduleInstants, out: &mut BytesMut) {
    let instants = shown.instants.iter();
    let instants =
        instants.map(|(instant, local)| records::LocalInstant { instant_ms: instant.0, local: text8(local) });
    frames::Instants { zone_data: text8(&shown.zone_data), instants }.put(out);
}

pub(crate) fn decode_instants(reader: &mut Reader<'_>) -> Result<ScheduleInstants, DecodeError> {
    let shown =
        frames::Instants::take(reader, |one| Ok((Millis(one.instant_ms), text(&one.local, "local")?)))?;
    Ok(ScheduleInstants { zone_data: text(&shown.zone_data, "zone_data")?, instants: shown.instants })
}
