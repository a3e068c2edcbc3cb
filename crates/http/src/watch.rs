//! Monitoring of a node: `/metrics`, in the text format that the caller asks for, `/healthz` and `/readyz`.
//!
//! A node answers for itself, whether it leads or not. It counts the jobs that it has applied: on a member that lags, the
//! counts are older.

use std::fmt;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use serde::Serialize;
use utoipa::ToSchema;

use super::caller::{Caller, HttpState};
use super::exposition::Format;
use super::problem::{Problem, ProblemJson};
use adjourn_alerts::AlertsSeen;
use adjourn_call_backs::CallBacksSeen;
use adjourn_protocol::{ErrorCode, Role, TopicReport, Totals};
use adjourn_server::{BOUNDS_US, Buckets, OBSERVED_TOPICS_MAX, Observation, Observed, Vitals, wall};
use adjourn_types::{Millis, Right};

/// The health of a node.
#[derive(Serialize, ToSchema)]
struct Health {
    /// `ok` or `not ready`.
    status: &'static str,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Option<Vec<String>>)]
    reasons: Vec<&'static str>,
}

/// The metrics that one token may see.
#[derive(Debug)]
struct Metrics {
    format: Format,
    observed: Box<Observed>,
    /// The calls of this node, with the topics that the token may see.
    call_backs: CallBacksSeen,
    alerts: AlertsSeen,
    /// The memory of the process and the free space of its disk, in bytes, where the system reports them.
    resident_bytes: Option<u64>,
    disk_free_bytes: Option<u64>,
    /// The end of the certificate of the clients' port, and the time of this node.
    certificate_ends: Vec<(&'static str, Millis)>,
    now: Millis,
}

/// Show metrics
///
/// In the text format of Prometheus, or as `OpenMetrics` if the caller accepts that. A caller that may read any topic sees the node, and
/// the topics that it may read.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics",
    tag = "server",
    responses(
        (status = 200, description = "The metrics", content((String = "text/plain"), (String = "application/openmetrics-text"))),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn metrics(
    caller: Caller,
    State(state): State<HttpState>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let format = Format::asked_by(&headers);
    let access = caller.with_right(Right::Read, "metrics need")?;
    let mut call_backs = state.call_backs().seen();
    call_backs.topics.retain(|(topic, _)| access.has(Right::Read, topic.as_str()));
    call_backs.topics.truncate(OBSERVED_TOPICS_MAX);
    let observed = state.local().observe(access).await.ok_or_else(|| Problem::from(hangs()))?;
    let metrics = Metrics {
        format,
        observed,
        call_backs,
        alerts: state.alerts().seen(),
        resident_bytes: state.local().resident_bytes(),
        disk_free_bytes: state.local().disk_free_bytes().await,
        certificate_ends: state.local().certificate_ends(),
        now: wall(),
    };
    let mut registry = Registry::with_prefix("adjourn");
    registry.register_collector(Box::new(metrics));
    let text = format.write(&registry).map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Unknown, error.to_string())
    })?;
    let headers = [(CONTENT_TYPE, format.content_type()), (VARY, HeaderValue::from_static("Accept"))];
    Ok((headers, text).into_response())
}

/// Say whether the process works
///
/// It needs no token, and shows nothing else.
#[utoipa::path(
    get,
    path = "/healthz",
    operation_id = "health",
    tag = "server",
    security(()),
    responses(
        (status = 200, description = "It does", body = Health, content_type = "application/json"),
        (status = 503, description = "It does not answer", body = Health, content_type = "application/json"),
    ),
)]
pub(super) async fn health(State(state): State<HttpState>) -> Response {
    match state.local().vitals().await {
        Some(_) => answer(Vec::new()),
        None => answer(vec!["the core does not answer"]),
    }
}

/// Say whether the node can serve clients now
///
/// It needs no token.
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "readiness",
    tag = "server",
    security(()),
    responses(
        (status = 200, description = "It can", body = Health, content_type = "application/json"),
        (status = 503, description = "It cannot, for these reasons", body = Health, content_type = "application/json"),
    ),
)]
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
        let mut sheet = Sheet { encoder, format: self.format };
        self.node(&mut sheet)?;
        self.raft(&mut sheet)?;
        self.durations(&mut sheet)?;
        self.calls(&mut sheet)?;
        self.alerts(&mut sheet)?;
        let Observation { totals, topics_count, .. } = &self.observed.observation;
        if let Some(totals) = totals {
            sheet.gauge("topics", "Topics in the queue", None, *topics_count)?;
            jobs(&mut sheet, "jobs", "Jobs", &[("", *totals)])?;
        }
        let topics: Vec<(&str, Totals)> = self
            .observed
            .observation
            .topics
            .iter()
            .map(|topic| (topic.topic.as_str(), topic.totals))
            .collect();
        jobs(&mut sheet, "topic_jobs", "Jobs of a topic", &topics)?;
        let each = |value: fn(&TopicReport) -> u64| {
            let topics = self.observed.observation.topics.iter();
            topics.map(move |topic| ([("topic", topic.topic.as_str())], value(topic)))
        };
        let help = "1 while the topic is paused: its jobs are not delivered";
        sheet.gauges("topic_paused", help, None, each(|topic| topic.paused.into()))?;
        let help = "Long polls and subscriptions that want jobs of the topic";
        sheet.gauges("topic_consumers", help, None, each(|topic| topic.consumers.into()))
    }
}

impl Metrics {
    fn node(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let of_node = &self.observed.observation;
        let version = [[("version", env!("CARGO_PKG_VERSION"))]].into_iter().map(|labels| (labels, 1_u64));
        sheet.gauges("build", "The version of the node; always 1", None, version)?;
        let uptime = seconds(Duration::from_millis(of_node.uptime_ms));
        sheet.gauge("uptime", "Time since the node started", Some(&Unit::Seconds), uptime)?;
        sheet.gauge("connections", "Clients connected to this node", None, of_node.connections)?;
        sheet.gauge("sessions", "Sessions in the queue", None, of_node.sessions)?;
        sheet.gauge(
            "consumers_waiting",
            "Consumers that wait for jobs; only the leader has any",
            None,
            of_node.waiting,
        )?;
        let full = u64::from(of_node.disk_is_full);
        sheet.gauge("disk_full", "1 while pushes are refused because disk space is short", None, full)?;
        let short = u64::from(of_node.memory_is_short);
        sheet.gauge(
            "memory_short",
            "1 while pushes are refused because the memory limit is reached",
            None,
            short,
        )?;
        if let Some(bytes) = self.disk_free_bytes {
            sheet.gauge(
                "disk_free",
                "Free space on the disk of the data directory",
                Some(&Unit::Bytes),
                bytes,
            )?;
        }
        if let Some(bytes) = self.resident_bytes {
            sheet.gauge("memory_resident", "Memory of the process", Some(&Unit::Bytes), bytes)?;
        }
        let ends = self.certificate_ends.iter();
        let left = ends.map(|(port, end)| ([("port", *port)], seconds_until(*end, self.now)));
        sheet.gauges(
            "tls_certificate_expires",
            "Until the certificate of the port ends",
            Some(&Unit::Seconds),
            left,
        )
    }

    fn raft(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let Observation { cluster, applied, .. } = &self.observed.observation;
        let leads = u64::from(cluster.leader == Some(cluster.node));
        sheet.gauge("raft_leads", "1 if this node leads", None, leads)?;
        let has_leader = u64::from(cluster.leader.is_some());
        sheet.gauge("raft_has_leader", "1 if this node knows a leader", None, has_leader)?;
        sheet.gauge("raft_term", "The Raft term", None, cluster.term)?;
        sheet.gauge("raft_last_index", "The last entry in the log", None, cluster.last)?;
        sheet.gauge("raft_commit_index", "The last entry known to be committed", None, cluster.commit)?;
        sheet.gauge("raft_applied_index", "The last entry that was applied", None, *applied)?;
        let level = u64::from(cluster.feature_level);
        sheet.gauge("raft_feature_level", "The feature level that all members support", None, level)?;
        let numbers: Vec<String> = cluster.members.iter().map(|member| member.node.to_string()).collect();
        let members = || numbers.iter().map(String::as_str).zip(&cluster.members);
        let connected = members().map(|(node, member)| ([("node", node)], u64::from(member.is_connected)));
        sheet.gauges("member_connected", "1 if this node is connected to the member", None, connected)?;
        let votes =
            members().map(|(node, member)| ([("node", node)], u64::from(member.role != Role::Learner)));
        sheet.gauges("member_votes", "1 if the member votes, 0 if it is a learner", None, votes)?;
        let lag = members().filter_map(|(node, member)| {
            Some(([("node", node)], cluster.last.saturating_sub(member.matched?)))
        });
        sheet.gauges(
            "member_lag_entries",
            "Entries that the member does not have on its disk yet; only the leader knows it for other members",
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
            "How far the member's wall clock is ahead of this node's",
            Some(&Unit::Seconds),
            ahead,
        )
    }

    fn calls(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let CallBacksSeen { counted, under_way, leases_lost, lines_left_out, topics } = &self.call_backs;
        let outcomes = counted.outcomes().map(|(outcome, jobs)| ([("outcome", outcome)], jobs));
        sheet.counters(
            "call_backs",
            "Jobs for which this node had to make a call-back, by result",
            outcomes,
        )?;
        let took = "How long calls to destinations took";
        sheet.histogram("call_back", took, &counted.took)?;
        let under_way = u64::try_from(*under_way).unwrap_or(u64::MAX);
        sheet.gauge("call_backs_under_way", "Calls that are not answered yet", None, under_way)?;
        let lost = "Calls that ended after another consumer got the job";
        sheet.counters("call_backs_lost", lost, none(*leases_lost))?;
        let left_out = "Attempts that are missing in the log because it could not keep up";
        sheet.counters("call_backs_unlogged", left_out, none(*lines_left_out))?;
        let open = topics
            .iter()
            .map(|(topic, open)| ([("topic", topic.as_str())], u64::try_from(*open).unwrap_or(u64::MAX)));
        sheet.gauges(
            "topic_destinations_failing",
            "Destinations that are currently not called because they failed",
            None,
            open,
        )
    }

    fn alerts(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let AlertsSeen { firing, sent, failed } = &self.alerts;
        let subjects = firing
            .iter()
            .map(|(rule, firing)| ([("rule", rule.as_str())], u64::try_from(*firing).unwrap_or(u64::MAX)));
        sheet.gauges("alerts_firing", "Topics, members or nodes for which the rule fires", None, subjects)?;
        sheet.counters("alerts_sent", "Alert messages that a target accepted", none(*sent))?;
        sheet.counters("alerts_failed", "Alert messages that were dropped", none(*failed))
    }

    fn durations(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        for (stage, buckets) in &self.observed.stages {
            let (name, help) = match *stage {
                "wait" => (
                    "commit_wait",
                    "Time from a request until the write that contains it begins, one value per commit",
                ),
                "commit" => ("commit", "Time to write and sync a commit"),
                "apply" => ("apply", "Time of a turn that applies entries"),
                _ => (
                    "lateness",
                    "Time from the due time of a job until its first delivery; only the leader reports it",
                ),
            };
            sheet.histogram(name, help, buckets)?;
        }
        Ok(())
    }
}

/// One value without labels.
fn none<V>(value: V) -> impl Iterator<Item = ([Label<'static>; 0], V)> {
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
        sheet.counters(&format!("{prefix}_{what}"), &format!("{whose} {what} so far"), counts)?;
    }
    let name = if is_queue { "oldest_ready" } else { "topic_oldest_ready" };
    let ages = of.iter().map(|(topic, totals)| {
        (job_labels(topic, None), seconds(Duration::from_millis(totals.oldest_ready_ms)))
    });
    sheet.gauges(name, "For how long the oldest ready job has been ready", Some(&Unit::Seconds), ages)
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
struct Sheet<'a> {
    encoder: DescriptorEncoder<'a>,
    format: Format,
}

impl Sheet<'_> {
    fn gauge(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        value: impl EncodeGaugeValue + Copy,
    ) -> fmt::Result {
        let (name, unit) = self.format.named(name, unit);
        let mut metric = self.encoder.encode_descriptor(&name, help, unit, MetricType::Gauge)?;
        metric.encode_gauge(&value)
    }

    fn gauges<'l, L: AsRef<[Label<'l>]>, V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        values: impl Iterator<Item = (L, V)>,
    ) -> fmt::Result {
        let (name, unit) = self.format.named(name, unit);
        let mut metric = self.encoder.encode_descriptor(&name, help, unit, MetricType::Gauge)?;
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
        // Prometheus describes a counter by the name of its series, `OpenMetrics` without the suffix.
        let described = match self.format {
            Format::Prometheus => format!("{name}_total"),
            Format::OpenMetrics => name.to_owned(),
        };
        let mut metric = self.encoder.encode_descriptor(&described, help, None, MetricType::Counter)?;
        for (labels, value) in values {
            let labels = labels.as_ref();
            let mut series = metric.encode_family(&labels)?;
            match self.format {
                Format::Prometheus => series.encode_gauge(&value)?,
                Format::OpenMetrics => series.encode_counter::<NoLabelSet, _, f64>(&value, None)?,
            }
        }
        Ok(())
    }

    fn histogram(&mut self, name: &str, help: &str, buckets: &Buckets) -> fmt::Result {
        let (name, unit) = self.format.named(name, Some(&Unit::Seconds));
        let mut metric = self.encoder.encode_descriptor(&name, help, unit, MetricType::Histogram)?;
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

/// From now until then; negative if it is over.
fn seconds_until(then: Millis, now: Millis) -> f64 {
    let apart = seconds(Duration::from_millis(then.0.abs_diff(now.0)));
    if then < now { -apart } else { apart }
}
