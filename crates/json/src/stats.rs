//! Counts as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::values::time_text;
use adjourn_protocol::{StageReport, StatsReport, TopicReport, Totals};

/// The counts of a whole queue: the totals at the top level, then each topic's.
#[derive(Serialize, ToSchema)]
#[schema(as = Stats)]
pub struct StatsJson<'a> {
    /// The sums over all topics.
    #[serde(flatten)]
    pub totals: TotalsJson,
    /// The server's clock.
    #[schema(format = DateTime)]
    pub now: String,
    /// How long the server has been up.
    pub uptime_ms: u64,
    /// Open connections.
    pub connections: u32,
    /// Sessions that the queue knows.
    pub sessions: u32,
    /// Consumers that wait for jobs.
    pub waiting: u32,
    /// The last entry of the log that was applied.
    pub applied_index: u64,
    /// The Raft term.
    pub term: u64,
    /// The hash of the state after that entry.
    pub state_hash: String,
    /// Each topic, by name.
    #[schema(value_type = BTreeMap<String, PausableJson>)]
    pub topics: BTreeMap<&'a str, PausableJson>,
    /// Where the time of the answering node goes, by stage.
    #[schema(value_type = BTreeMap<String, StageJson>)]
    pub stages: BTreeMap<&'a str, StageJson>,
}

/// How long one stage of the work took, over the last one to two minutes.
#[derive(Serialize, ToSchema)]
#[schema(as = Stage)]
pub struct StageJson {
    /// How many durations there are.
    pub count: u64,
    /// The median, in microseconds.
    pub p50_us: u64,
    /// 99 % of them are at most this.
    pub p99_us: u64,
    /// 99.9 % of them are at most this.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
}

/// The counts of a topic, under its name.
#[derive(Serialize, ToSchema)]
#[schema(as = Pausable)]
pub struct PausableJson {
    /// Its counts.
    #[serde(flatten)]
    pub totals: TotalsJson,
    /// Whether reserving is stopped.
    pub paused: bool,
    /// Long polls and subscriptions that want its jobs.
    pub consumers: u32,
    /// How late jobs were at their first delivery, at most, during the last one or two minutes; 0 if none was delivered.
    pub late_ms: u64,
}

/// One topic.
#[derive(Serialize, ToSchema)]
#[schema(as = Topic)]
pub struct TopicJson<'a> {
    /// Its name.
    pub topic: &'a str,
    /// Whether reserving is stopped.
    pub paused: bool,
    /// Long polls and subscriptions that want its jobs.
    pub consumers: u32,
    /// How late jobs were at their first delivery, at most, during the last one or two minutes; 0 if none was delivered.
    pub late_ms: u64,
    /// Its counts.
    #[serde(flatten)]
    pub totals: TotalsJson,
}

/// Counts of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Totals)]
pub struct TotalsJson {
    /// Jobs whose due time lies ahead.
    pub delayed: u64,
    /// Jobs that wait for a consumer.
    pub ready: u64,
    /// Jobs under a lease.
    pub reserved: u64,
    /// Jobs set aside.
    pub buried: u64,
    /// Jobs ever pushed, or moved here.
    pub pushed: u64,
    /// Jobs ever finished.
    pub finished: u64,
    /// Jobs ever deleted, replaced, or moved to another topic.
    pub deleted: u64,
    /// Jobs ever dropped because they expired.
    pub expired: u64,
    /// For how long the oldest ready job has been due; 0 without one.
    pub oldest_ready_ms: u64,
}

impl<'a> StatsJson<'a> {
    /// Counts as `adjourn stats --json` prints them.
    pub fn of(stats: &'a StatsReport) -> Self {
        let of_topic = |topic: &'a TopicReport| {
            let TopicReport { paused, consumers, late_ms, ref totals, .. } = *topic;
            let counts = PausableJson { totals: TotalsJson::of(totals), paused, consumers, late_ms };
            (topic.topic.as_str(), counts)
        };
        Self {
            totals: TotalsJson::of(&stats.totals),
            now: time_text(stats.now),
            uptime_ms: stats.uptime_ms,
            connections: stats.connections,
            sessions: stats.sessions,
            waiting: stats.waiting,
            applied_index: stats.applied_index,
            term: stats.term,
            state_hash: format!("{:032x}", stats.state_hash),
            topics: stats.topics.iter().map(of_topic).collect(),
            stages: stats.stages.iter().map(|stage| (stage.stage.as_str(), StageJson::of(stage))).collect(),
        }
    }
}

impl StageJson {
    fn of(stage: &StageReport) -> Self {
        let StageReport { stage: _, count, p50_us, p99_us, p999_us, max_us } = *stage;
        Self { count, p50_us, p99_us, p999_us, max_us }
    }
}

impl<'a> TopicJson<'a> {
    /// One topic as `adjourn topics --json` prints it.
    pub fn of(topic: &'a TopicReport) -> Self {
        let TopicReport { paused, consumers, late_ms, ref totals, .. } = *topic;
        Self { topic: topic.topic.as_str(), paused, consumers, late_ms, totals: TotalsJson::of(totals) }
    }
}

impl TotalsJson {
    /// These counts.
    pub fn of(totals: &Totals) -> Self {
        Self {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::Millis;

    #[test]
    fn stats_have_their_totals_at_the_top() {
        let totals =
            Totals { delayed: 3, ready: 1, pushed: 12_345, oldest_ready_ms: 61_234, ..Totals::default() };
        let topic = TopicReport {
            topic: "orders".parse().expect("a topic"),
            paused: true,
            consumers: 2,
            late_ms: 3,
            totals,
        };
        let stage = "commit".to_owned();
        let stage =
            StageReport { stage, count: 1000, p50_us: 210, p99_us: 1800, p999_us: 7000, max_us: 12_000 };
        let stats = StatsReport {
            now: Millis(1_767_225_600_005),
            uptime_ms: 61_000,
            connections: 2,
            sessions: 3,
            waiting: 1,
            applied_index: 77,
            term: 4,
            state_hash: 0xabc,
            totals,
            topics: vec![topic],
            stages: vec![stage],
        };
        let counts = concat!(
            r#""delayed":3,"ready":1,"reserved":0,"buried":0,"pushed":12345,"finished":0,"deleted":0,"#,
            r#""expired":0,"oldest_ready_ms":61234"#
        );
        let rest = concat!(
            r#""now":"2026-01-01T00:00:00.005Z","uptime_ms":61000,"connections":2,"sessions":3,"waiting":1,"#,
            r#""applied_index":77,"term":4,"state_hash":"00000000000000000000000000000abc""#
        );
        let stages = r#"{"commit":{"count":1000,"p50_us":210,"p99_us":1800,"p999_us":7000,"max_us":12000}}"#;
        assert_eq!(
            serde_json::to_string(&StatsJson::of(&stats)).expect("JSON"),
            format!(
                "{{{counts},{rest},\"topics\":{{\"orders\":{{{counts},\"paused\":true,\"consumers\":2,\"late_ms\":3}}}},\"stages\":{stages}}}"
            )
        );
    }
}
