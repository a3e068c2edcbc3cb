//! `adjourn cluster`, typed by an operator: one node becomes three, others lead, and all but one are removed.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use adjourn_protocol::Response;
use adjourn_types::FEATURE_LEVEL;
use serde_json::{Value, json};

use super::proxy::Gates;
use super::rig::Cluster;
use super::{ARGUMENTS, free_port};
use crate::cli::commands::Commands;
use crate::server_rig::{Raw, push};

const STATUS: [&str; 3] = ["cluster", "status", "--json"];
/// Each push is an entry of the log: after this number, members have compared their states.
const PUSHES: u64 = 100;
/// Clocks that are the same one show no more than this between them.
const SAME_CLOCK_MS: u64 = 500;

#[test]
fn the_cluster_commands_do_what_they_say() {
    let mut cluster = Cluster::founded(Gates::default(), &ARGUMENTS);
    grow(&mut cluster);
    let status = look(&mut cluster);
    let leader = move_leadership(&cluster, &status);
    shrink(&cluster, leader);
}

fn commands(cluster: &Cluster<Gates>) -> Commands {
    Commands::to(&cluster.addresses())
}

/// The members of a report: who they are, and what.
fn roles(report: &Value) -> Vec<(u64, &str)> {
    let members = report["members"].as_array().expect("a list");
    let member = |one: &Value| one["node"].as_u64().expect("a number");
    members.iter().map(|one| (member(one), one["role"].as_str().expect("a word"))).collect()
}

fn grow(cluster: &mut Cluster<Gates>) {
    let alone = commands(cluster).json(&STATUS);
    assert_eq!((&alone["leader"], roles(&alone)), (&json!(1), vec![(1, "leader")]));
    let [second, third] = [2, 3].map(|number| {
        cluster.prepare(number);
        cluster.start(number);
        cluster.node(number).place.peer_front.to_string()
    });
    let waiting = Commands::to(&cluster.node(2).place.client_front).ok(&["cluster", "status", "--local"]);
    assert!(waiting.contains("The node waits to be added"), "{waiting}");

    let commands = commands(cluster);
    let added = commands.ok(&["cluster", "add", &second, "--wait"]);
    assert_eq!(added, "node 2 is a member and votes\n");
    commands.fails(&["cluster", "add", &second], 1, "INVALID: node 2 is a member already");
    commands.fails(&["cluster", "add", "127.0.0.1:1"], 1, "BUSY: cannot reach 127.0.0.1:1");
    let added = commands.json(&["cluster", "add", &third, "--wait", "--json"]);
    assert_eq!(added, json!({ "node": 3, "role": "voter" }));
}

fn look(cluster: &mut Cluster<Gates>) -> Value {
    let mut raw = Raw::greeted(cluster.node(1).place.asked_at);
    for _ in 0..PUSHES {
        let pushed = raw.ask(push("jobs", "body", 3_600_000));
        assert!(matches!(pushed, Response::Pushed(_)), "{pushed:?}");
    }
    let commands = commands(cluster);
    let report = cluster.wait_for("members that lack nothing", |_| {
        let report = commands.json(&STATUS);
        let lacks_nothing = |member: &Value| member["lag"] == 0 && member["state"] == "same";
        report["members"].as_array()?.iter().all(lacks_nothing).then_some(report)
    });
    let facts = ["node", "leader", "feature_level"].map(|field| report[field].clone());
    assert_eq!(facts, [json!(1), json!(1), json!(FEATURE_LEVEL)]);
    let cluster_id = report["cluster_id"].as_str().expect("a text");
    assert!(
        cluster_id.len() == 32 && cluster_id.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{cluster_id}"
    );
    assert_eq!(roles(&report), [(1, "leader"), (2, "voter"), (3, "voter")]);

    let text = commands.ok(&["cluster", "status"]);
    let lines: Vec<&str> = text.lines().collect();
    let said = format!("cluster {cluster_id}: node 1 leads, term {}, commit ", report["term"]);
    assert!(lines[0].starts_with(&said) && lines[0].ends_with("; as node 1 sees it"), "{text}");
    for (place, node) in cluster.nodes.iter().enumerate() {
        let (client, peer) = (node.place.client_front.to_string(), node.place.peer_front.to_string());
        let member = &report["members"][place];
        for (field, expected) in [
            ("node", json!(node.number)),
            ("client_address", json!(client)),
            ("peer_address", json!(peer)),
            ("connected", json!(true)),
            ("matched", report["last"].clone()),
        ] {
            assert_eq!(member[field], expected, "{field} in {report}");
        }
        let offset_ms = member["clock_offset_ms"].as_i64().expect("it was seen");
        assert!(offset_ms.unsigned_abs() <= SAME_CLOCK_MS, "{report}");
        assert!(member["state_index"].as_u64() >= Some(64) && member["applied"].is_u64(), "{report}");
        let row: Vec<&str> = lines[3 + place].split_whitespace().collect();
        let [number, role, clients, peers, up, matched, lag, clock, state @ ..] = &row[..] else {
            panic!("{text}")
        };
        let expected =
            [&node.number.to_string(), member["role"].as_str().expect("a word"), &client, &peer, "yes"];
        assert_eq!([*number, *role, *clients, *peers, *up], expected, "{text}");
        assert!(
            matched.parse::<u64>().is_ok() && lag.parse::<u64>().is_ok() && clock.ends_with("ms"),
            "{text}"
        );
        assert_eq!(state[..2], ["same", "at"], "{text}");
    }
    report
}

/// Returns who leads in the end.
fn move_leadership(cluster: &Cluster<Gates>, before: &Value) -> u64 {
    let commands = commands(cluster);
    commands.fails(&["cluster", "transfer", "77"], 1, "INVALID: node 77 does not vote");
    assert_eq!(commands.ok(&["cluster", "transfer", "2"]), "node 2 leads\n");
    let moved = commands.json(&STATUS);
    assert_eq!(roles(&moved), [(1, "voter"), (2, "leader"), (3, "voter")]);
    assert!(moved["leader"] == 2 && moved["term"].as_u64() > before["term"].as_u64(), "{moved}");
    let third =
        cluster.nodes.iter().find(|node| node.number == 3).expect("it has a place").place.client_front;
    // Nobody listens on the first address, and the leader's is known only by the member at the second one.
    let through_one = Commands::to(&format!("{},{third}", free_port())).json(&STATUS);
    assert_eq!((&through_one["node"], &through_one["leader"]), (&json!(2), &json!(2)), "{through_one}");
    assert_eq!(
        commands.json(&["cluster", "transfer", "2", "--json"]),
        json!({ "leader": 2 }),
        "it leads already"
    );

    cluster.await_voters(3);
    let stepped = commands.json(&["cluster", "step-down", "--json"]);
    let leader = stepped["leader"].as_u64().expect("somebody leads");
    assert!([1, 3].contains(&leader), "{stepped}");
    let text = commands.ok(&["cluster", "status"]);
    assert!(text.contains(&format!(": node {leader} leads, term ")), "{text}");
    let local = cluster.nodes.iter().find(|node| node.number == 2).expect("it has a place");
    let local = Commands::to(&local.place.client_front).json(&[&STATUS[..], &["--local"]].concat());
    assert_eq!((&local["node"], &local["leader"]), (&json!(2), &json!(leader)));
    leader
}

fn shrink(cluster: &Cluster<Gates>, leader: u64) {
    cluster.await_voters(3);
    let commands = commands(cluster);
    let numbers = [leader, leader % 3 + 1, (leader + 1) % 3 + 1].map(|number| number.to_string());
    let [leads, one, other] = &numbers;
    let says = format!("INVALID: node {leads} leads: move leadership first");
    commands.fails(&["cluster", "remove", leads], 1, &says);
    commands.fails(&["cluster", "remove", "77"], 1, "INVALID: node 77 is not a member");
    let removed = commands.ok(&["cluster", "remove", one]);
    assert_eq!(removed, format!("node {one} was removed, and its number cannot be used again\n"));
    commands.fails(&["cluster", "remove", one], 1, &format!("INVALID: node {one} is not a member"));
    let removed = commands.json(&["cluster", "remove", other, "--json"]);
    assert_eq!(removed, json!({ "removed": other.parse::<u64>().expect("a number") }));
    commands.fails(
        &["cluster", "remove", leads],
        1,
        &format!("INVALID: node {leads} is the only one that votes"),
    );
    assert_eq!(roles(&commands.json(&STATUS)), [(leader, "leader")]);
    commands.ok(&["push", "jobs", "one more"]);
    assert_eq!(commands.json(&["stats", "--json"])["pushed"], json!(PUSHES + 1));
}
