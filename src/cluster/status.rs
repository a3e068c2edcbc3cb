//! `adjourn cluster status`: the leader's view of the cluster, or the view of the node that answers.

use std::collections::VecDeque;

use clap::Args;

use super::super::connection::{ServerArgs, Session, failure, runtime};
use super::super::exit::{Exit, Failure};
use super::super::output::{print, print_json};
use crate::output::table::aligned;
use adjourn_client::{Client, ClientConfig, ClientError, Servers};
use adjourn_json::{ClusterJson, compared, id_text, lag, matched, role_text};
use adjourn_protocol::{ClusterReport, MemberReport, Role};

const STATUS_EXAMPLE: &str = "\
The first node that answers names the leader, and the command asks the leader, which knows the most. --local shows the
first node's view. LAG is in log entries; CLOCK is how far the member's wall clock is ahead of the reporting node's;
STATE compares hashes of the state after the same entry. Unknown values are `-`, and null in JSON.

The JSON object has node (the one that reports), cluster_id, leader, term, last, commit (entries of its log),
feature_level, and members: node, role (leader, voter, learner), client_address, peer_address, connected, matched,
applied, lag, clock_offset_ms, state (same, differs), state_index. Ends with 7 if a state differs.

Example:
  adjourn cluster status
  adjourn cluster status --server 10.0.0.1:7440,10.0.0.2:7440,10.0.0.3:7440
  adjourn cluster status --json | jq -r '.members[] | select(.connected | not) | .node'";

/// What `adjourn cluster status` is told.
#[derive(Debug, Args)]
#[command(after_help = STATUS_EXAMPLE)]
pub(crate) struct StatusArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Print the view of the first node that answers, even if it does not lead
    #[arg(long)]
    local: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// A node that does not answer within this time is skipped.
const ANSWER_MS_MAX: u64 = 3_000;

/// Runs `adjourn cluster status`.
pub(super) fn run(args: &StatusArgs) -> Result<(), Failure> {
    let mut config = args.server.config(Session::None);
    config.connect_timeout_ms = ANSWER_MS_MAX;
    let found = runtime()?.block_on(async {
        if args.local { Client::cluster_status_of(&config).await } else { best(&config).await }
    });
    let report = found.map_err(|error| failure(&error))?;
    if args.json {
        print_json(&ClusterJson::of(&report))?;
    } else {
        print(|out| out.write_all(report_text(&report).as_bytes()))?;
    }
    fault(&report).map_or(Ok(()), |fault| Err(Failure::new(Exit::DataDamaged, fault)))
}

/// The leader's report if it can be reached, else that of the first node that answered.
async fn best(config: &ClientConfig) -> Result<ClusterReport, ClientError> {
    let servers: Servers = config.server.parse()?;
    let mut ahead: VecDeque<String> = servers.addresses.iter().cloned().collect();
    let mut asked = Vec::new();
    let mut first = Err(ClientError::Closed);
    while let Some(server) = ahead.pop_front() {
        if asked.contains(&server) {
            continue;
        }
        let one = ClientConfig { server: servers.written(&server), ..config.clone() };
        let found = Client::cluster_status_of(&one).await;
        asked.push(server);
        let report = match found {
            Ok(report) if report.leader == Some(report.node) => return Ok(report),
            Ok(report) => report,
            Err(error) => {
                first = first.or(Err(error));
                continue;
            }
        };
        // The leader is asked next. If this node knows no leader, another one may.
        for member in report.members.iter().filter(|member| !member.client_address.is_empty()) {
            if Some(member.node) == report.leader {
                ahead.push_front(member.client_address.clone());
            } else {
                ahead.push_back(member.client_address.clone());
            }
        }
        first = first.or(Ok(report));
    }
    first
}

fn report_text(report: &ClusterReport) -> String {
    let ClusterReport { node, term, commit, feature_level, .. } = report;
    let leader = report.leader.map_or("no node leads".to_owned(), |leader| format!("node {leader} leads"));
    let facts = format!(
        "cluster {}: {leader}, term {term}, commit {commit}, feature level {feature_level}; as node {node} sees it\n",
        id_text(report.cluster_id)
    );
    if report.members.is_empty() {
        let advice =
            "The node waits to be added: `adjourn cluster add ITS_PEER_ADDRESS --server A_MEMBER` does it.";
        return format!("{facts}\n{advice}\n");
    }
    let head = ["NODE", "ROLE", "CLIENTS", "PEERS", "UP", "MATCHED", "LAG", "CLOCK", "STATE"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(report.members.iter().map(|member| row(report, member)));
    format!("{facts}\n{}", aligned(&rows))
}

/// The problem and the remedy if members have different states.
fn fault(report: &ClusterReport) -> Option<String> {
    let differs = |member: &&MemberReport| compared(member).is_some_and(|(same, _)| !same);
    let wrong: Vec<&MemberReport> = report.members.iter().filter(differs).collect();
    let nodes = |members: &[&MemberReport]| {
        let nodes: Vec<String> = members.iter().map(|member| member.node.to_string()).collect();
        nodes.join(", ")
    };
    if wrong.is_empty() {
        return None;
    }
    let voters = report.members.iter().filter(|member| member.role != Role::Learner);
    let (differing, same): (Vec<&MemberReport>, Vec<&MemberReport>) = voters.partition(differs);
    let knows_itself = wrong.iter().any(|member| member.node == report.node);
    let is_settled = knows_itself || same.len() > differing.len();
    let nodes = nodes(&wrong);
    Some(if is_settled {
        format!(
            "the state of node {nodes} differs from that of most members: it serves no clients. Keep its data directory, remove it \
             with `adjourn cluster remove`, and add a node under another number"
        )
    } else {
        format!(
            "node {nodes} and node {} have different states after the same entries, and there is no majority to tell which one is right: \
             see \"Members that differ\" in cluster/README.md",
            report.node
        )
    })
}

fn row(report: &ClusterReport, member: &MemberReport) -> [String; 9] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let address = |address: &str| or_dash((!address.is_empty()).then(|| address.to_owned()));
    let state = compared(member).map(|(same, index)| {
        let verdict = if same { "same" } else { "DIFFERS" };
        format!("{verdict} at {index}")
    });
    [
        member.node.to_string(),
        role_text(member.role).to_owned(),
        address(&member.client_address),
        address(&member.peer_address),
        if member.is_connected { "yes" } else { "no" }.to_owned(),
        or_dash(matched(member).map(|matched| matched.to_string())),
        or_dash(lag(report, member).map(|lag| lag.to_string())),
        or_dash(member.ahead_ms.map(|ahead_ms| format!("{ahead_ms:+}ms"))),
        or_dash(state),
    ]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::cluster) fn member(node: u64, peer_address: &str) -> MemberReport {
        MemberReport {
            node,
            role: Role::Voter,
            peer_address: peer_address.to_owned(),
            client_address: format!("c{node}:1"),
            is_connected: true,
            matched: Some(1_230),
            applied: Some(1_228),
            ahead_ms: Some(-3),
            audited: 1_216,
            same_state: Some(true),
        }
    }

    pub(in crate::cluster) fn report() -> ClusterReport {
        let leader =
            MemberReport { role: Role::Leader, matched: Some(1_234), ahead_ms: Some(0), ..member(1, "p1:2") };
        let learner = MemberReport {
            role: Role::Learner,
            client_address: String::new(),
            is_connected: false,
            matched: Some(900),
            applied: None,
            ahead_ms: None,
            audited: 0,
            same_state: Some(true),
            ..member(3, "p3:2")
        };
        ClusterReport {
            node: 1,
            cluster_id: [0x10; 16],
            leader: Some(1),
            term: 3,
            last: 1_234,
            commit: 1_233,
            feature_level: 1,
            members: vec![leader, member(2, "p2:2"), learner],
        }
    }

    #[test]
    fn the_table_shows_what_is_known_and_dashes_for_the_rest() {
        let expected = "\
cluster 10101010101010101010101010101010: node 1 leads, term 3, commit 1233, feature level 1; as node 1 sees it

NODE     ROLE  CLIENTS  PEERS   UP  MATCHED  LAG  CLOCK         STATE
1      leader     c1:1   p1:2  yes     1234    0   +0ms  same at 1216
2       voter     c2:1   p2:2  yes     1230    4   -3ms  same at 1216
3     learner        -   p3:2   no      900  334      -             -
";
        assert_eq!(report_text(&report()), expected);
    }

    #[test]
    fn a_state_that_differs_and_a_missing_leader_are_told() {
        let other = MemberReport { same_state: Some(false), ..member(2, "p2:2") };
        let text = report_text(&ClusterReport { leader: None, members: vec![other], ..report() });
        for expected in [": no node leads, term 3", "DIFFERS at 1216"] {
            assert!(text.contains(expected), "{text}");
        }
        let waiting = report_text(&ClusterReport { members: Vec::new(), ..report() });
        assert!(waiting.contains("waits to be added: `adjourn cluster add"), "{waiting}");
    }

    #[test]
    fn it_says_who_is_wrong_if_that_is_known() {
        let fault = |reports: u64, differing: &[u64]| {
            let one =
                |node| MemberReport { same_state: Some(!differing.contains(&node)), ..member(node, "p:1") };
            fault(&ClusterReport { node: reports, members: [1, 2, 3].map(one).into(), ..report() })
        };
        assert_eq!(fault(1, &[]), None);
        let outvoted = |fault: Option<String>, node: u64| {
            fault.is_some_and(|text| {
                text.contains(&format!("the state of node {node} differs from that of most members"))
            })
        };
        assert!(outvoted(fault(1, &[2]), 2));
        assert!(outvoted(fault(3, &[3]), 3), "it knows itself");
        let open = fault(1, &[2, 3]).expect("a fault");
        assert!(open.contains("node 2, 3 and node 1 have different states"), "{open}");
    }

    #[test]
    fn the_json_has_null_for_what_is_not_known() {
        let json = serde_json::to_string(&ClusterJson::of(&report())).expect("JSON");
        let expected = concat!(
            r#"{"node":1,"cluster_id":"10101010101010101010101010101010","leader":1,"term":3,"last":1234,"#,
            r#""commit":1233,"feature_level":1,"members":[{"node":1,"role":"leader","client_address":"c1:1","#,
            r#""peer_address":"p1:2","connected":true,"matched":1234,"applied":1228,"lag":0,"clock_offset_ms":0,"#,
            r#""state":"same","state_index":1216},{"node":2,"role":"voter","client_address":"c2:1","#,
            r#""peer_address":"p2:2","connected":true,"matched":1230,"applied":1228,"lag":4,"clock_offset_ms":-3,"#,
            r#""state":"same","state_index":1216},{"node":3,"role":"learner","client_address":"","#,
            r#""peer_address":"p3:2","connected":false,"matched":900,"applied":null,"lag":334,"#,
            r#""clock_offset_ms":null,"state":null,"state_index":null}]}"#
        );
        assert_eq!(json, expected);
    }
}
