//! The cluster: its members and how far each is; adding and removing them, and handing over the lead.

use std::sync::Arc;

use askama::Template;

use super::Answer;
use super::topics::at;
use crate::form::Posted;
use crate::said::Said;
use crate::texts::text;
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::Problem;
use adjourn_json::{compared, id_text, lag, matched};
use adjourn_protocol::{ClusterReport, MemberReport, Request, Role, StatsReport};
use adjourn_types::Access;

const HERE: &str = "/console/cluster";
/// A node whose clock differs by more than this from a majority does not lead, in milliseconds.
const CLOCK_OFF_MS: u64 = 500;

#[derive(Template)]
#[template(path = "cluster.html")]
struct ClusterPage {
    view: View,
    report: ClusterReport,
    cluster_id: String,
    members: Vec<Row>,
    voters: usize,
    /// Nodes whose state differs from that of the node that reports.
    differing: String,
    /// The state hash of the leader, the last entry that it has applied, and the term.
    state: Option<(String, u64, u64)>,
    /// The node that shows the page.
    own: u64,
    /// True if this node has no port for other members.
    is_alone: bool,
}

/// A member.
struct Row {
    node: u64,
    role: Role,
    client_address: String,
    peer_address: String,
    is_connected: bool,
    matched: Option<u64>,
    applied: Option<u64>,
    lag: Option<u64>,
    /// How far its clock is ahead.
    clock: Option<String>,
    clock_is_off: bool,
    /// True if its state is that of the reporting node, and after which entry.
    compared: Option<(bool, u64)>,
}

impl Row {
    fn of(view: &View, report: &ClusterReport, member: &MemberReport) -> Self {
        let sign = |ahead: i64| if ahead < 0 { '-' } else { '+' };
        let clock = |ahead: i64| format!("{}{}", sign(ahead), view.span(ahead.unsigned_abs()));
        Self {
            node: member.node,
            role: member.role,
            client_address: member.client_address.clone(),
            peer_address: member.peer_address.clone(),
            is_connected: member.is_connected || member.node == report.node,
            matched: matched(member),
            applied: member.applied,
            lag: lag(report, member),
            clock: member.ahead_ms.map(clock),
            clock_is_off: member.ahead_ms.is_some_and(|ahead| ahead.unsigned_abs() > CLOCK_OFF_MS),
            compared: compared(member),
        }
    }

    fn label(&self) -> &'static str {
        match self.role {
            Role::Learner => text("learner"),
            Role::Voter => text("voter"),
            Role::Leader => text("leader"),
        }
    }

    fn votes(&self) -> bool {
        self.role != Role::Learner
    }

    fn leads(&self) -> bool {
        self.role == Role::Leader
    }
}

/// The members.
pub(super) async fn show(visitor: Visitor) -> Answer {
    visitor.check_sees_server()?;
    let view = visitor.view("cluster");
    let report = match visitor.ask(Request::ClusterStatus).await {
        Ok(report) => report,
        // Without a leader this node still knows the members.
        Err(problem) => own_view(&visitor).await.ok_or(problem)?,
    };
    // The page is needed most when there is no leader to answer this.
    let stats: Option<StatsReport> = visitor.ask(Request::Stats).await.ok();
    let members: Vec<Row> = report.members.iter().map(|member| Row::of(&view, &report, member)).collect();
    let differs = |one: &&Row| one.compared.is_some_and(|(is_same, _)| !is_same);
    let differing: Vec<String> = members.iter().filter(differs).map(|one| one.node.to_string()).collect();
    page(&ClusterPage {
        cluster_id: id_text(report.cluster_id),
        voters: members.iter().filter(|one| one.votes()).count(),
        differing: differing.join(", "),
        members,
        state: stats.map(|stats| (format!("{:032x}", stats.state_hash), stats.applied_index, stats.term)),
        own: visitor.console.http.call_backs().node(),
        is_alone: visitor.console.http.local().is_alone(),
        report,
        view,
    })
}

/// The cluster as this node sees it.
async fn own_view(visitor: &Visitor) -> Option<ClusterReport> {
    let nothing = Access { grants: Vec::new(), ..Access::open() };
    let observed = visitor.console.http.local().observe(Arc::new(nothing)).await?;
    Some(observed.observation.cluster)
}

/// Changes the cluster.
pub(super) async fn act(posted: Posted) -> Answer {
    posted.visitor.check_sees_server()?;
    let (fields, visitor) = (&posted.fields, &posted.visitor);
    let node = || fields.first("node").parse::<u64>().map_err(|error| at("node", &error));
    let said = match fields.first("action") {
        "transfer" => {
            visitor.ask::<()>(Request::ClusterTransfer { node: node()? }).await?;
            Said::Transferred
        }
        "add" => {
            let address = fields.first("address").trim().to_owned();
            visitor.ask::<()>(Request::ClusterAdd { address }).await?;
            Said::MemberAdded
        }
        "remove" => {
            let node = node()?;
            if fields.first("confirm") != node.to_string() {
                return Err(at("confirm", &"tick the box that names the node: its removal is permanent"));
            }
            visitor.ask::<()>(Request::ClusterRemove { node }).await?;
            Said::MemberRemoved
        }
        _ => return Err(Problem::malformed("there is no such action: load the page again")),
    };
    Ok(posted.done(HERE, said, 0))
}
