//! Monitoring of a node: `/metrics` in the text format of `OpenMetrics`, `/healthz` and `/readyz`.
//!
//! A node answers for itself, whether it leads or not. It counts the jobs that it has applied: on a member that lags, the
//! counts are older.

use std::fmt;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use serde::Serialize;

use super::caller::{Caller, HttpState};
use super::problem::Problem;
use adjourn_alerts::AlertsSeen;
use adjourn_call_backs::CallBacksSeen;
use adjourn_protocol::{ErrorCode, Role, Totals};
use adjourn_server::{BOUNDS_US, Buckets, OBSERVED_TOPICS_MAX, Observation, Observed, Vitals};
use adjourn_types::Right;

const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The health of a node.
#[derive(Serialize)]
struct Health {
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<&'static str>,
}

/// The metrics that one token may see.
#[derive(Debug)]
struct Metrics {
    observed: Box<Observed>,
    /// The calls of this node, with the topics that the token may see.
    call_backs: CallBacksSeen,
    alerts: AlertsSeen,
    /// The memory of the process and the free space of its disk, in bytes, where the system reports them.
    resident_bytes: Option<u64>,
    disk_free_bytes: Option<u64>,
}

/// `GET /metrics`: a caller that may read any topic sees the node, and the topics that it may read.
pub(super) async fn metrics(caller: Caller, State(state): State<HttpState>) -> Result<Response, Problem> {
    let access = caller.with_right(Right::Read, "metrics need")?;
    let mut call_backs = state.call_backs().seen();
    call_backs.topics.retain(|(topic, _)| access.has(Right::Read, topic.as_str()));
    call_backs.topics.truncate(OBSERVED_TOPICS_MAX);
    let observed = state.local().observe(access).await.ok_or_else(|| Problem::from(hangs()))?;
    let metrics = Metrics {
        observed,
        call_backs,
        alerts: state.alerts().seen(),
        resident_bytes: state.local().resident_bytes(),
        disk_free_bytes: state.local().disk_free_bytes().await,
    };
    let mut registry = Registry::with_prefix("adjourn");
    registry.register_collector(Box::new(metrics));
    let mut text = String::new();
    encode(&mut text, &registry).map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Unknown, error.to_string())
    })?;
    Ok(([(CONTENT_TYPE, HeaderValue::from_static(TEXT))], text).into_response())
}

/// `GET /healthz`: the process lives, and its core answers. It needs no token, and shows nothing else.
pub(super) async fn health(State(state): State<HttpState>) -> Response {
    match state.local().vitals().await {
        Some(_) => answer(Vec::new()),
        None => answer(vec!["the core does not answer"]),
    }
}

/// `GET /readyz`: the node can serve clients now. It needs no token either.
pub(super) async fn readiness(State(state): State<HttpState>) -> Response {
    let Some(vitals) = state.local().vitals().await else {
        return answer(vec!["the core does not answer"]);
    };
    let Vitals { has_leader, disk_is_full, memory_is_short } = vitals;
    let reasons = [
        (!has_leader, "no node leads"),
        (disk_is_full, "the disk is nearly full: pushes are refused"),
        (memory_is_short, "the memory limit is reached: pushes are refused"),
    ];
    answer(reasons.into_iter().filter_map(|(holds, reason)| holds.then_some(reason)).collect())
}

fn answer(reasons: Vec<&'static str>) -> Response {
    let is_well = reasons.is_empty();
    let status = if is_well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let health = Health { status: if is_well { "ok" } else { "not ready" }, reasons };
    let json = serde_json::to_vec(&health).unwrap_or_default();
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], json).into_response()
}

fn hangs() -> adjourn_protocol::ErrorReply {
    adjourn_protocol::ErrorReply::new(ErrorCode::Busy, "the node does not say how it is: look at its log")
}

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut sheet = Sheet(encoder);
        self.node(&mut sheet)?;
        self.raft(&mut sheet)?;
        self.durations(&mut sheet)?;
        self.calls(&mut sheet)?;
        self.alerts(&mut sheet)?;
        let Observation { totals, topics_count, .. } = &self.observed.observation;
        if let Some(totals) = totals {
            sheet.gauge("topics", "Topics that the queue knows", None, *topics_count)?;
            jobs(&mut sheet, "jobs", "All jobs", &[("", *totals)])?;
        }
        let topics: Vec<(&str, Totals)> = self
            .observed
            .observation
            .topics
            .iter()
            .map(|topic| (topic.topic.as_str(), topic.totals))
            .collect();
        jobs(&mut sheet, "topic_jobs", "Jobs of a topic", &topics)?;
        let paused = self.observed.observation.topics.iter();
        let paused = paused.map(|topic| ([("topic", topic.topic.as_str())], u64::from(topic.paused)));
        sheet.gauges("topic_paused", "Whether nobody gets jobs of the topic", None, paused)
    }
}

impl Metrics {
    fn node(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let of_node = &self.observed.observation;
        let version = [[("version", env!("CARGO_PKG_VERSION"))]].into_iter().map(|labels| (labels, 1_u64));
        sheet.gauges("build", "The version of the node; always 1", None, version)?;
        let uptime = seconds(Duration::from_millis(of_node.uptime_ms));
        sheet.gauge("uptime", "How long the node has been up", Some(&Unit::Seconds), uptime)?;
        sheet.gauge("connections", "Connections of clients with this node", None, of_node.connections)?;
        sheet.gauge("sessions", "Sessions that the queue knows", None, of_node.sessions)?;
        sheet.gauge("consumers_waiting", "Consumers that wait for jobs here", None, of_node.waiting)?;
        let full = u64::from(of_node.disk_is_full);
        sheet.gauge("disk_full", "Whether pushes are refused for want of disk space", None, full)?;
        let short = u64::from(of_node.memory_is_short);
        sheet.gauge("memory_short", "Whether pushes are refused for want of memory", None, short)?;
        if let Some(bytes) = self.disk_free_bytes {
            sheet.gauge("disk_free", "Free space where the data is", Some(&Unit::Bytes), bytes)?;
        }
        if let Some(bytes) = self.resident_bytes {
            sheet.gauge("memory_resident", "Memory that the process takes", Some(&Unit::Bytes), bytes)?;
        }
        Ok(())
    }

    fn raft(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let Observation { cluster, applied, .. } = &self.observed.observation;
        let leads = u64::from(cluster.leader == Some(cluster.node));
        sheet.gauge("raft_leads", "Whether this node leads", None, leads)?;
        let has_leader = u64::from(cluster.leader.is_some());
        sheet.gauge("raft_has_leader", "Whether this node knows a leader", None, has_leader)?;
        sheet.gauge("raft_term", "The Raft term", None, cluster.term)?;
        sheet.gauge("raft_last_index", "The last entry in the log", None, cluster.last)?;
        sheet.gauge(
            "raft_commit_index",
            "The last entry that is known to be committed",
            None,
            cluster.commit,
        )?;
        sheet.gauge("raft_applied_index", "The last entry that was applied", None, *applied)?;
        let level = u64::from(cluster.feature_level);
        sheet.gauge("raft_feature_level", "What all members can do", None, level)?;
        let numbers: Vec<String> = cluster.members.iter().map(|member| member.node.to_string()).collect();
        let members = || numbers.iter().map(String::as_str).zip(&cluster.members);
        let connected = members().map(|(node, member)| ([("node", node)], u64::from(member.is_connected)));
        sheet.gauges("member_connected", "Whether this node is connected to the member", None, connected)?;
        let votes =
            members().map(|(node, member)| ([("node", node)], u64::from(member.role != Role::Learner)));
        sheet.gauges("member_votes", "Whether the member votes", None, votes)?;
        let lag = members().filter_map(|(node, member)| {
            Some(([("node", node)], cluster.last.saturating_sub(member.matched?)))
        });
        sheet.gauges(
            "member_lag_entries",
            "Entries that the member has not on its disk; the leader knows",
            None,
            lag,
        )?;
        let ahead = members().filter_map(|(node, member)| {
            let ahead_ms = member.ahead_ms?;
            let apart = seconds(Duration::from_millis(ahead_ms.unsigned_abs()));
            Some(([("node", node)], if ahead_ms < 0 { -apart } else { apart }))
        });
        sheet.gauges(
            "member_clock_ahead",
            "How far the member's clock is ahead of this node's",
            Some(&Unit::Seconds),
            ahead,
        )
    }

    fn calls(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let CallBacksSeen { counted, under_way, leases_lost, lines_left_out, topics } = &self.call_backs;
        let outcomes = counted.outcomes().map(|(outcome, jobs)| ([("outcome", outcome)], jobs));
        sheet.counters("call_backs", "Jobs that were to be called back, by what became of them", outcomes)?;
        let took = "How long calls to destinations took";
        sheet.histogram("call_back", took, &counted.took)?;
        let under_way = u64::try_from(*under_way).unwrap_or(u64::MAX);
        sheet.gauge("call_backs_under_way", "Calls that are not answered yet", None, under_way)?;
        let lost = "Calls that ended when another had the job";
        sheet.counters("call_backs_lost", lost, none(*leases_lost))?;
        let left_out = "Attempts that were not logged for want of time";
        sheet.counters("call_backs_unlogged", left_out, none(*lines_left_out))?;
        let open = topics
            .iter()
            .map(|(topic, open)| ([("topic", topic.as_str())], u64::try_from(*open).unwrap_or(u64::MAX)));
        sheet.gauges(
            "topic_destinations_failing",
            "Destinations that are left alone because they failed",
            None,
            open,
        )
    }

    fn alerts(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let AlertsSeen { firing, sent, failed } = &self.alerts;
        let subjects = firing
            .iter()
            .map(|(rule, firing)| ([("rule", rule.as_str())], u64::try_from(*firing).unwrap_or(u64::MAX)));
        sheet.gauges(
            "alerts_firing",
            "Subjects that a rule of alerts has told to be wrong",
            None,
            subjects,
        )?;
        sheet.counters("alerts_sent", "Messages of alerts that a target accepted", none(*sent))?;
        sheet.counters("alerts_failed", "Messages of alerts that no target accepted", none(*failed))
    }

    fn durations(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        for (stage, buckets) in &self.observed.stages {
            let (name, help) = match *stage {
                "wait" => {
                    ("commit_wait", "From a request until the write that it is in begins, once a commit")
                }
                "commit" => ("commit", "Writing and syncing a commit"),
                "apply" => ("apply", "A turn that applies entries"),
                _ => (
                    "lateness",
                    "From when a job was due until it was handed over, at its first attempt; the leader knows",
                ),
            };
            sheet.histogram(name, help, buckets)?;
        }
        Ok(())
    }
}

/// One value without labels.
fn none(value: u64) -> impl Iterator<Item = ([Label<'static>; 0], u64)> {
    std::iter::once(([], value))
}

/// The counts of jobs, under names with this prefix: of the queue, without a label, or of topics.
fn jobs(sheet: &mut Sheet<'_>, prefix: &str, whose: &str, of: &[(&str, Totals)]) -> fmt::Result {
    let is_queue = of.first().is_some_and(|(topic, _)| topic.is_empty());
    let states: [(&str, Count); 4] = [
        ("delayed", |totals| totals.delayed),
        ("ready", |totals| totals.ready),
        ("reserved", |totals| totals.reserved),
        ("buried", |totals| totals.buried),
    ];
    let help = format!("{whose}, by state");
    let now = of.iter().flat_map(|(topic, totals)| {
        states.iter().map(move |(state, count)| (job_labels(topic, Some(state)), count(totals)))
    });
    sheet.gauges(prefix, &help, None, now)?;
    let ever: [(&str, Count); 4] = [
        ("pushed", |totals| totals.pushed),
        ("finished", |totals| totals.finished),
        ("deleted", |totals| totals.deleted),
        ("expired", |totals| totals.expired),
    ];
    for (what, count) in ever {
        let counts = of.iter().map(|(topic, totals)| (job_labels(topic, None), count(totals)));
        sheet.counters(&format!("{prefix}_{what}"), &format!("{whose} that were ever {what}"), counts)?;
    }
    let name = if is_queue { "oldest_ready" } else { "topic_oldest_ready" };
    let ages = of.iter().map(|(topic, totals)| {
        (job_labels(topic, None), seconds(Duration::from_millis(totals.oldest_ready_ms)))
    });
    sheet.gauges(name, "How long the job that has waited longest is ready", Some(&Unit::Seconds), ages)
}

fn job_labels<'a>(topic: &'a str, state: Option<&'a str>) -> Vec<Label<'a>> {
    let topic = (!topic.is_empty()).then_some(("topic", topic));
    topic.into_iter().chain(state.map(|state| ("state", state))).collect()
}

/// One of the counts of a topic.
type Count = fn(&Totals) -> u64;
/// A label's name and value.
type Label<'a> = (&'static str, &'a str);

/// Metrics being written.
struct Sheet<'a>(DescriptorEncoder<'a>);

impl Sheet<'_> {
    fn gauge(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        value: impl EncodeGaugeValue + Copy,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        metric.encode_gauge(&value)
    }

    fn gauges<'l, L: AsRef<[Label<'l>]>, V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        values: impl Iterator<Item = (L, V)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for (labels, value) in values {
            metric.encode_family(&labels.as_ref())?.encode_gauge(&value)?;
        }
        Ok(())
    }

    fn counters<'l, L: AsRef<[Label<'l>]>>(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = (L, u64)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in values {
            metric.encode_family(&labels.as_ref())?.encode_counter::<NoLabelSet, _, f64>(&value, None)?;
        }
        Ok(())
    }

    fn histogram(&mut self, name: &str, help: &str, buckets: &Buckets) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        let bounds =
            BOUNDS_US.iter().map(|bound| seconds(Duration::from_micros(*bound))).chain([f64::INFINITY]);
        let counts: Vec<(f64, u64)> = bounds.zip(buckets.counts).collect();
        let count = buckets.counts.iter().sum();
        metric.encode_histogram::<NoLabelSet>(
            seconds(Duration::from_micros(buckets.sum_us)),
            count,
            &counts,
            None,
        )
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
