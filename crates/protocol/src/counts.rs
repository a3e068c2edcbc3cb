//! The answers to TOPICS and STATS.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::response::{StageReport, StatsReport, TopicReport, Totals};
use super::wire::{Fields, Fixed, Reader, put_list, shortened};
use adjourn_types::Millis;

const TOTALS_BYTES: usize = 72;
const TOPIC_FIXED_BYTES: usize = 2 + TOTALS_BYTES;
const STAGE_FIXED_BYTES: usize = 1 + 5 * 8;
const TOPIC_PAUSED: u8 = 1;

pub(super) fn encode_topics(topics: &[TopicReport], out: &mut BytesMut) {
    put_list(out, TOPIC_FIXED_BYTES, topics.len());
    for report in topics {
        let topic = report.topic.as_str().as_bytes();
        Fixed::<TOPIC_FIXED_BYTES>::new()
            .u8(if report.paused { TOPIC_PAUSED } else { 0 })
            .length8(topic.len())
            .array(totals_array(&report.totals))
            .write(out);
        out.put_slice(topic);
    }
}

pub(super) fn decode_topics(reader: &mut Reader<'_>) -> Result<Vec<TopicReport>, DecodeError> {
    let list = reader.list::<TOPIC_FIXED_BYTES>("topics", usize::MAX)?;
    reader.items(list, |reader, mut fields| {
        let marks = fields.u8("marks")?;
        let topic_bytes = fields.u8("topic")?;
        let totals = decode_totals(&mut fields)?;
        Ok(TopicReport { topic: reader.topic(topic_bytes)?, paused: marks & TOPIC_PAUSED != 0, totals })
    })
}

pub(super) fn encode_stats(stats: &StatsReport, out: &mut BytesMut) {
    Fixed::<132>::new()
        .u64(stats.now.0)
        .u64(stats.uptime_ms)
        .u32(stats.connections)
        .u32(stats.sessions)
        .u32(stats.waiting)
        .u64(stats.applied_index)
        .u64(stats.term)
        .array(stats.state_hash.to_le_bytes())
        .array(totals_array(&stats.totals))
        .write(out);
    encode_topics(&stats.topics, out);
    encode_stages(&stats.stages, out);
}

pub(super) fn decode_stats(reader: &mut Reader<'_>) -> Result<StatsReport, DecodeError> {
    Ok(StatsReport {
        now: Millis(reader.u64("now")?),
        uptime_ms: reader.u64("uptime_ms")?,
        connections: reader.u32("connections")?,
        sessions: reader.u32("sessions")?,
        waiting: reader.u32("waiting")?,
        applied_index: reader.u64("applied_index")?,
        term: reader.u64("term")?,
        state_hash: u128::from_le_bytes(reader.array("state_hash")?),
        totals: decode_totals(reader.fields_mut())?,
        topics: decode_topics(reader)?,
        stages: decode_stages(reader)?,
    })
}

fn encode_stages(stages: &[StageReport], out: &mut BytesMut) {
    put_list(out, STAGE_FIXED_BYTES, stages.len());
    for report in stages {
        let stage = shortened(&report.stage, usize::from(u8::MAX)).as_bytes();
        Fixed::<STAGE_FIXED_BYTES>::new()
            .length8(stage.len())
            .u64(report.count)
            .u64(report.p50_us)
            .u64(report.p99_us)
            .u64(report.p999_us)
            .u64(report.max_us)
            .write(out);
        out.put_slice(stage);
    }
}

/// Decodes the stages. Older servers do not send this list.
fn decode_stages(reader: &mut Reader<'_>) -> Result<Vec<StageReport>, DecodeError> {
    if reader.is_at_end() {
        return Ok(Vec::new());
    }
    let list = reader.list::<STAGE_FIXED_BYTES>("stages", usize::MAX)?;
    reader.items(list, |reader, mut fields| {
        let stage_bytes = usize::from(fields.u8("stage")?);
        Ok(StageReport {
            count: fields.u64("count")?,
            p50_us: fields.u64("p50_us")?,
            p99_us: fields.u64("p99_us")?,
            p999_us: fields.u64("p999_us")?,
            max_us: fields.u64("max_us")?,
            stage: reader.text(stage_bytes, stage_bytes, "stage")?,
        })
    })
}

fn totals_array(totals: &Totals) -> [u8; TOTALS_BYTES] {
    Fixed::<TOTALS_BYTES>::new()
        .u64(totals.delayed)
        .u64(totals.ready)
        .u64(totals.reserved)
        .u64(totals.buried)
        .u64(totals.pushed)
        .u64(totals.finished)
        .u64(totals.deleted)
        .u64(totals.expired)
        .u64(totals.oldest_ready_ms)
        .finish()
}

fn decode_totals(fields: &mut Fields<'_>) -> Result<Totals, DecodeError> {
    Ok(Totals {
        delayed: fields.u64("delayed")?,
        ready: fields.u64("ready")?,
        reserved: fields.u64("reserved")?,
        buried: fields.u64("buried")?,
        pushed: fields.u64("pushed")?,
        finished: fields.u64("finished")?,
        deleted: fields.u64("deleted")?,
        expired: fields.u64("expired")?,
        oldest_ready_ms: fields.u64("oldest_ready_ms")?,
    })
}
