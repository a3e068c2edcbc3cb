//! The answers to TOPICS and STATS.

use bytes::{Bytes, BytesMut};

use super::codes::bits::topic_marks;
use super::decode_error::DecodeError;
use super::layout::{frames, records};
use super::response::{StageReport, StatsReport, TopicReport, Totals};
use super::wire::{self, Reader, text, text8};
use adjourn_types::Millis;

pub(super) fn encode_topics(topics: &[TopicReport], out: &mut BytesMut) {
    frames::TopicCounts { topics: topics.iter().map(topic_count) }.put(out);
}

pub(super) fn decode_topics(reader: &mut Reader<'_>) -> Result<Vec<TopicReport>, DecodeError> {
    Ok(frames::TopicCounts::take(reader, report_of_count)?.topics)
}

pub(super) fn encode_stats(stats: &StatsReport, out: &mut BytesMut) {
    let frame = frames::QueueStats {
        now: stats.now.0,
        uptime_ms: stats.uptime_ms,
        connections: stats.connections,
        sessions: stats.sessions,
        waiting: stats.waiting,
        applied_index: stats.applied_index,
        term: stats.term,
        state_hash: stats.state_hash,
        totals: totals_record(&stats.totals),
        topics: stats.topics.iter().map(topic_count),
        stages: stats.stages.iter().map(|report| records::Stage {
            stage: text8(&report.stage),
            count: report.count,
            p50_us: report.p50_us,
            p99_us: report.p99_us,
            p999_us: report.p999_us,
            max_us: report.max_us,
        }),
    };
    frame.put(out);
}

pub(super) fn decode_stats(reader: &mut Reader<'_>) -> Result<StatsReport, DecodeError> {
    let stats = frames::QueueStats::take(reader, report_of_count, |stage| {
        Ok(StageReport {
            stage: text(&stage.stage, "stage")?,
            count: stage.count,
            p50_us: stage.p50_us,
            p99_us: stage.p99_us,
            p999_us: stage.p999_us,
            max_us: stage.max_us,
        })
    })?;
    Ok(StatsReport {
        now: Millis(stats.now),
        uptime_ms: stats.uptime_ms,
        connections: stats.connections,
        sessions: stats.sessions,
        waiting: stats.waiting,
        applied_index: stats.applied_index,
        term: stats.term,
        state_hash: stats.state_hash,
        totals: totals_of_record(&stats.totals),
        topics: stats.topics,
        stages: stats.stages,
    })
}

fn topic_count(report: &TopicReport) -> records::TopicCount<&[u8]> {
    let records::Totals {
        delayed,
        ready,
        reserved,
        buried,
        pushed,
        finished,
        deleted,
        expired,
        oldest_ready_ms,
    } = totals_record(&report.totals);
    records::TopicCount {
        marks: if report.paused { topic_marks::PAUSED } else { 0 },
        topic: report.topic.as_str().as_bytes(),
        delayed,
        ready,
        reserved,
        buried,
        pushed,
        finished,
        deleted,
        expired,
        oldest_ready_ms,
    }
}

fn report_of_count(count: records::TopicCount<Bytes>) -> Result<TopicReport, DecodeError> {
    let totals = Totals {
        delayed: count.delayed,
        ready: count.ready,
        reserved: count.reserved,
        buried: count.buried,
        pushed: count.pushed,
        finished: count.finished,
        deleted: count.deleted,
        expired: count.expired,
        oldest_ready_ms: count.oldest_ready_ms,
    };
    let paused = count.marks & topic_marks::PAUSED != 0;
    Ok(TopicReport { topic: wire::topic(count.topic)?, paused, totals })
}

fn totals_record(totals: &Totals) -> records::Totals {
    records::Totals {
        delayed: totals.delayed,
        ready: totals.ready,
        reserved: totals.reserved,
        buried: totals.buried,
        pushed: totals.pushed,
        finished: totals.finished,
        deleted: totals.deleted,
        expired: totals.expired,
        oldest_ready_ms: totals.oldest_ready_ms,
    }
}

fn totals_of_record(totals: &records::Totals) -> Totals {
    Totals {
        delayed: totals.delayed,
        ready: totals.ready,
        reserved: totals.reserved,
        buried: totals.buried,
        pushed: totals.pushed,
        finished: totals.finished,
        deleted: totals.deleted,
        expired: totals.expired,
        oldest_ready_ms: totals.oldest_ready_ms,
    }
}
