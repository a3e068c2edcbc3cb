//! The answers to TOPICS and STATS.

use bytes::{Bytes, BytesMut};

use super::codes::bits::topic_marks;
use super::decode_error::DecodeError;
use super::layout::{frames, records};
use super::response::{StageReport, StatsReport, TopicReport};
use super::wire::{self, Reader, mark, text, text8};
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
        totals: stats.totals,
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
        totals: stats.totals,
        topics: stats.topics,
        stages: stats.stages,
    })
}

fn topic_count(report: &TopicReport) -> records::TopicCount<&[u8]> {
    records::TopicCount {
        marks: mark(report.paused, topic_marks::PAUSED),
        consumers: report.consumers,
        late_ms: report.late_ms,
        topic: report.topic.as_str().as_bytes(),
        totals: report.totals,
    }
}

fn report_of_count(count: records::TopicCount<Bytes>) -> Result<TopicReport, DecodeError> {
    let records::TopicCount { marks, consumers, late_ms, topic, totals } = count;
    let paused = marks & topic_marks::PAUSED != 0;
    Ok(TopicReport { topic: wire::topic(topic)?, paused, consumers, late_ms, totals })
}
