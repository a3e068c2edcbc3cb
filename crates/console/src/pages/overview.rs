//! The first page: how the queue does, and where to look next.

use askama::Template;

use super::Answer;
use crate::chart::{Series, lines};
use crate::history::{LATENESS_TOLD_MAX_MS, Slice, charted};
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::Problem;
use adjourn_protocol::{ErrorCode, ErrorReply, Totals};
use adjourn_server::OBSERVED_TOPICS_MAX;
use adjourn_types::Right;

/// A point of a chart is the time between this many samples.
const SAMPLES_PER_POINT: usize = 6;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    view: View,
    totals: Totals,
    /// True if there are topics that the totals leave out.
    is_part: bool,
    topics: u64,
    minute: Option<Slice>,
    slices: Vec<Slice>,
    rates_chart: String,
    lateness_chart: String,
    node: NodeState,
    alerts: Vec<(String, usize)>,
}

impl OverviewPage {
    /// A quantile of the lateness, as a text.
    fn late(&self, ms: &Option<f64>) -> String {
        match ms {
            None => "–".to_owned(),
            Some(ms) if ms.is_infinite() => format!("> {}", self.view.span(LATENESS_TOLD_MAX_MS)),
            Some(ms) => format!("≤ {ms} ms"),
        }
    }
}

/// The node that shows the page.
struct NodeState {
    number: u64,
    leader: Option<u64>,
    is_leader: bool,
    members: usize,
    connected: usize,
    memory: Option<u64>,
    disk_free: Option<u64>,
    disk_is_full: bool,
    memory_is_short: bool,
    connections: u64,
    waiting: u64,
    uptime_ms: u64,
}

pub(super) async fn show(visitor: Visitor) -> Answer {
    let access = visitor.caller.with_right(Right::Read, "the console needs")?;
    let local = visitor.console.http.local();
    let observed = local.observe(access).await.ok_or_else(|| {
        let message = "the node does not answer: it is overloaded, or its disk hangs";
        Problem::from(ErrorReply::new(ErrorCode::Busy, message))
    })?;
    let seen = observed.observation;
    let of_topics = || seen.topics.iter().fold(Totals::default(), |sum, topic| with(sum, &topic.totals));
    let cluster = &seen.cluster;
    let node = NodeState {
        number: cluster.node,
        leader: cluster.leader,
        is_leader: cluster.leader == Some(cluster.node),
        members: cluster.members.len(),
        connected: cluster.members.iter().filter(|one| one.is_connected || one.node == cluster.node).count(),
        memory: local.resident_bytes(),
        disk_free: local.disk_free_bytes().await,
        disk_is_full: seen.disk_is_full,
        memory_is_short: seen.memory_is_short,
        connections: seen.connections,
        waiting: seen.waiting,
        uptime_ms: seen.uptime_ms,
    };
    let view = visitor.view("overview");
    let history = &visitor.console.history;
    // The history is of all topics.
    let sees_all = seen.totals.is_some();
    let slices = if sees_all { history.slices(SAMPLES_PER_POINT) } else { Vec::new() };
    let values = |of: fn(&Slice) -> f64| slices.iter().map(of).collect::<Vec<_>>();
    let (pushed, finished) = (values(|one| one.rates.pushed), values(|one| one.rates.finished));
    let (p50, p99) = (values(|one| charted(one.p50_ms)), values(|one| charted(one.p99_ms)));
    let rates = [Series { class: "line-1", values: &pushed }, Series { class: "line-2", values: &finished }];
    let lateness = [Series { class: "line-2", values: &p50 }, Series { class: "line-3", values: &p99 }];
    page(&OverviewPage {
        totals: seen.totals.unwrap_or_else(of_topics),
        is_part: !sees_all && seen.topics.len() >= OBSERVED_TOPICS_MAX,
        topics: if sees_all { seen.topics_count } else { seen.topics.len() as u64 },
        minute: history.last_minute().filter(|_| sees_all),
        rates_chart: lines(&rates, view.say("Pushed and finished jobs a second")),
        lateness_chart: lines(&lateness, view.say("Lateness in milliseconds")),
        slices,
        node,
        alerts: visitor
            .console
            .http
            .alerts()
            .seen()
            .firing
            .into_iter()
            .filter(|(_, firing)| *firing > 0 && view.sees_server())
            .collect(),
        view,
    })
}

/// The depths of some topics together.
fn with(sum: Totals, one: &Totals) -> Totals {
    Totals {
        delayed: sum.delayed + one.delayed,
        ready: sum.ready + one.ready,
        reserved: sum.reserved + one.reserved,
        buried: sum.buried + one.buried,
        oldest_ready_ms: sum.oldest_ready_ms.max(one.oldest_ready_ms),
        ..sum
    }
}
