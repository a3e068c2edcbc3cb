//! Three real nodes under load from real clients, to whom everything happens that happens to machines.
//!
//! What is checked at the end is what was promised: every push that was acknowledged was delivered, under one id; no job
//! came early, twice at once, or again after it was finished; and all members have the same state.

mod load;
mod proxy;
mod rig;

use std::time::Duration;

use adjourn::protocol::{Request, Role};
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use rustix::process::Signal;

use load::Load;
use proxy::CLIENTS;
use rig::{Cluster, now};

/// A session keeps its leases through every fault here: only a lease's own end gives a job back.
const ARGUMENTS: [&str; 2] = ["--session-grace-ms", "60000"];
const KILLS: usize = 50;
/// Whoever waits longer for a leader has none.
const LEADERLESS_MAX: Duration = Duration::from_secs(30);

#[test]
fn what_was_acknowledged_survives_fifty_kills_of_the_leader() {
    let mut cluster = Cluster::of_three(&ARGUMENTS);
    let load = Load::start(&cluster.addresses());
    let mut leaderless = Vec::new();
    for _ in 0..KILLS {
        load.await_pushes(200);
        let leader = cluster.await_voters(3).node;
        cluster.kill(leader);
        leaderless.push(load.await_acknowledgement(now(), LEADERLESS_MAX));
        cluster.start(leader);
    }
    finish("kill -9 of the leader", &cluster, load, leaderless);
}

#[test]
fn frozen_and_cut_off_nodes_do_no_harm() {
    let mut cluster = Cluster::of_three(&ARGUMENTS);
    let load = Load::start(&cluster.addresses());
    let mut dice = TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]);
    let mut leaderless = Vec::new();
    for round in 0..12 {
        load.await_pushes(200);
        let leader = cluster.await_voters(3).node;
        let others = [leader % 3 + 1, (leader + 1) % 3 + 1];
        let other = if dice.next_u32().is_multiple_of(2) { others[0] } else { others[1] };
        let begun = now();
        let stays = match round % 6 {
            0 => freeze(&mut cluster, leader),
            1 => freeze(&mut cluster, other),
            2 => cut(&cluster, &[(leader, others[0]), (leader, others[1])]),
            3 => cut(&cluster, &[(others[0], leader), (others[1], leader)]),
            4 => cut(&cluster, &[(leader, other), (other, leader)]),
            _ => cut(&cluster, &[(CLIENTS, other), (other, CLIENTS)]),
        };
        if !stays {
            // It may have acknowledged something before the others noticed.
            cluster.wait_for("another leader", |cluster| {
                cluster.leader_report().filter(|report| report.node != leader).map(drop)
            });
        }
        load.await_pushes(50);
        leaderless.push(begun.elapsed());
        thaw(&mut cluster);
        cluster.gates.heal();
    }
    finish("frozen, or cut off", &cluster, load, leaderless);
}

/// Stops a process. Whether the leader stays.
fn freeze(cluster: &mut Cluster, number: u64) -> bool {
    let leads = cluster.leader_report().is_some_and(|report| report.node == number);
    cluster.node(number).process.as_ref().expect("it runs").signal(Signal::STOP);
    cluster.node(number).frozen = true;
    !leads
}

fn thaw(cluster: &mut Cluster) {
    for node in cluster.nodes.iter_mut().filter(|node| node.frozen) {
        node.frozen = false;
        node.process.as_ref().expect("it runs").signal(Signal::CONT);
    }
}

fn cut(cluster: &Cluster, links: &[(u64, u64)]) -> bool {
    for (from, to) in links {
        cluster.gates.cut(*from, *to);
    }
    links.len() == 2 && links.first().map(|(from, to)| (*to, *from)) == links.get(1).copied()
}

#[test]
fn one_node_grows_to_three_a_dead_one_is_replaced_and_all_are_restarted_in_turn() {
    let mut cluster = Cluster::founded(&ARGUMENTS);
    let load = Load::start(&cluster.addresses());
    load.await_pushes(500);
    for number in [2, 3] {
        cluster.prepare(number);
        cluster.start(number);
        cluster.add(number).expect("it is added");
        load.await_pushes(100);
    }
    cluster.await_voters(3);
    let twice = cluster.add(3).expect_err("it is a member already");
    assert!(twice.message.contains("is a member already"), "{twice}");
    cluster.kill(2);
    cluster.prepare(4);
    cluster.start(4);
    cluster.ask_leader(&Request::ClusterRemove { node: 2 }).expect("it is removed");
    cluster.add(4).expect("it is added");
    load.await_pushes(200);
    cluster.nodes.retain(|node| node.number != 2);
    cluster.await_voters(3);
    let mut handed_over = Vec::new();
    for number in [1, 3, 4] {
        let leads = cluster.await_voters(3).node == number;
        let begun = now();
        let process = cluster.node(number).process.take().expect("it runs");
        assert_eq!(process.terminate().code(), Some(0));
        if leads {
            handed_over.push(load.await_acknowledgement(begun, LEADERLESS_MAX));
        }
        cluster.start(number);
        load.await_pushes(100);
    }
    finish("a leader that stops in order", &cluster, load, handed_over);
}

#[test]
fn who_comes_back_far_behind_gets_a_checkpoint() {
    let mut cluster = Cluster::of_three(&["--session-grace-ms", "60000", "--checkpoint-log-bytes", "65536"]);
    let load = Load::start(&cluster.addresses());
    load.await_pushes(200);
    let leader = cluster.await_voters(3).node;
    let behind = leader % 3 + 1;
    cluster.kill(behind);
    load.await_pushes(40_000);
    cluster.start(behind);
    finish("far behind", &cluster, load, Vec::new());
}

#[test]
fn what_an_operator_gets_wrong_is_told_and_harms_nothing() {
    let mut cluster = Cluster::of_three(&ARGUMENTS);
    let load = Load::start(&cluster.addresses());
    let add = |address: &str| Request::ClusterAdd { address: address.to_owned() };
    let refused = |cluster: &Cluster, request: &Request| {
        cluster.ask_leader(request).expect_err("that cannot be done").message
    };
    let nobody = refused(&cluster, &add("127.0.0.1:1"));
    assert!(nobody.contains("nobody answers at 127.0.0.1:1"), "{nobody}");
    let leader = cluster.await_leader();
    let own = cluster.node(leader).peer_front.to_string();
    let itself = refused(&cluster, &add(&own));
    assert!(itself.contains("this one") || itself.contains("number"), "{itself}");
    let stranger = refused(&cluster, &Request::ClusterRemove { node: 77 });
    assert!(stranger.contains("node 77 is no member"), "{stranger}");
    let other = leader % 3 + 1;
    cluster.kill(other);
    cluster.wait_for("the leader to notice", |cluster| {
        let report = cluster.leader_report()?;
        let down = report.members.iter().find(|member| member.node == other)?;
        (!down.is_connected).then_some(())
    });
    // Its data is lost: under its old number it is refused.
    std::fs::remove_dir_all(&cluster.node(other).data).expect("it was there");
    let (code, log) = cluster.try_start(other).expect_err("it is refused");
    assert!(code != Some(0) && log.contains("another number"), "{code:?}: {log}");
    let votes = cluster.await_leader();
    assert!(votes != other);
    cluster.nodes.retain(|node| node.number != other);
    cluster.ask_leader(&Request::ClusterRemove { node: other }).expect("it is removed");
    let left = cluster.wait_for("two members", |cluster| {
        cluster.leader_report().filter(|report| report.members.len() == 2)
    });
    assert!(left.members.iter().all(|member| member.role != Role::Learner));
    finish("wrong orders", &cluster, load, Vec::new());
}

/// Lets everything come to its end, checks it, and prints what there is to say.
fn finish(what: &str, cluster: &Cluster, load: Load, mut leaderless: Vec<Duration>) {
    cluster.await_voters(cluster.nodes.len());
    let ledger = load.check();
    let report = cluster.await_same_state();
    leaderless.sort_unstable();
    let at =
        |part: usize| leaderless.get((leaderless.len() * part / 100).min(leaderless.len().saturating_sub(1)));
    let ms = |part| at(part).map_or(0, Duration::as_millis);
    println!("| {what} | |\n|---|--:|");
    println!("| times | {} |", leaderless.len());
    println!("| without acknowledgements, p50 / p90 / max (ms) | {} / {} / {} |", ms(50), ms(90), ms(100));
    println!("| pushes acknowledged | {} |", ledger.pushes());
    println!("| finishes acknowledged | {} |", ledger.finished());
    println!("| deliveries repeated after a lease was over | {} |", ledger.repeats);
    println!(
        "| state of all members equal at entry | {} |",
        report.members.iter().map(|m| m.audited).max().unwrap_or(0)
    );
    println!("| term | {} |", report.term);
}
