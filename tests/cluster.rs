//! Three real nodes under load from real clients, to whom everything happens that happens to machines.
//!
//! At the end the test checks the guarantees: every push that was acknowledged was delivered, under one id; no job
//! came early, twice at once, or again after it was finished; no lease was lost before its time; the queue has counted
//! the acknowledged requests; and all members have the same state.

mod alerts;
mod call_backs;
mod commands;
mod followers;
mod load;
mod ports;
mod proxy;
mod report;
mod rig;
mod versions;

use adjourn_protocol::{ErrorCode, Request, Role};
use adjourn_storage::{Depth, Inspection};
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use rustix::process::Signal;

use load::{Ledger, Load};
pub(crate) use ports::free_port;
use proxy::{CLIENTS, Gates};
use report::{Pauses, finish};
use rig::Cluster;
pub(crate) use rig::now;

/// A session keeps its leases through every fault here: only a lease's own end gives a job back.
const ARGUMENTS: [&str; 4] = ["--session-grace-ms", "60000", "--default-backoff", "none"];
const KILLS: usize = 25;
/// Leadership is handed over so often, in each of two ways.
const HAND_OVERS: usize = 10;
/// More pushes than can have been in flight before: then a leader acknowledges again.
const MORE: usize = 50;

#[test]
fn what_was_acknowledged_survives_kills_of_the_leader() {
    let mut cluster = Cluster::of_three(Gates::default(), &ARGUMENTS);
    let load = Load::start(&cluster.addresses());
    let mut pauses = Pauses::default();
    for _ in 0..KILLS {
        load.await_pushes(200);
        let leader = cluster.await_voters(3).node;
        load.watch();
        cluster.kill(leader);
        load.await_pushes(MORE);
        pauses.add("leader killed with -9", load.longest_pause());
        cluster.start(leader);
    }
    let ledger = finish("Without an acknowledged push: kills", &cluster, load, pauses, &[]);
    assert_carried_over(&ledger, KILLS);
}

/// Each time that leadership moved, somebody held a job, and finished it with the next leader.
fn assert_carried_over(ledger: &Ledger, times: usize) {
    let carried_over = ledger.carried_over();
    assert!(
        carried_over >= times as u64,
        "{carried_over} leases went on with another leader in {times} times"
    );
}

#[test]
fn leadership_is_handed_over_again_and_again() {
    let mut cluster = Cluster::of_three(Gates::default(), &ARGUMENTS);
    let load = Load::start(&cluster.addresses());
    let mut pauses = Pauses::default();
    for round in 0..2 * HAND_OVERS {
        load.await_pushes(200);
        let leader = cluster.await_voters(3).node;
        load.watch();
        let cause = if round.is_multiple_of(2) {
            cluster.ask_leader(&Request::ClusterTransfer { node: 0 }).expect("another takes over");
            "leader steps down"
        } else {
            let process = cluster.node(leader).process.take().expect("it runs");
            assert_eq!(process.terminate().code(), Some(0));
            "leader is stopped with SIGTERM"
        };
        load.await_pushes(MORE);
        pauses.add(cause, load.longest_pause());
        if cluster.node(leader).process.is_none() {
            cluster.start(leader);
        }
    }
    let ledger = finish("Without an acknowledged push: handed over", &cluster, load, pauses, &[]);
    assert_carried_over(&ledger, 2 * HAND_OVERS);
}

#[test]
fn frozen_and_cut_off_nodes_do_no_harm() {
    let mut cluster = Cluster::of_three(Gates::default(), &ARGUMENTS);
    let load = Load::start(&cluster.addresses());
    let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]);
    let mut pauses = Pauses::default();
    for round in 0..12 {
        load.await_pushes(200);
        let leader = cluster.await_voters(3).node;
        let others = [leader % 3 + 1, (leader + 1) % 3 + 1];
        let other = if rng.next_u32().is_multiple_of(2) { others[0] } else { others[1] };
        load.watch();
        let (what, stays) = match round % 6 {
            0 => ("leader frozen", freeze(&mut cluster, leader)),
            1 => ("another frozen", freeze(&mut cluster, other)),
            2 => {
                ("nothing comes from the leader", cut(&cluster, &[(leader, others[0]), (leader, others[1])]))
            }
            3 => ("nothing comes to the leader", cut(&cluster, &[(others[0], leader), (others[1], leader)])),
            4 => ("leader and another apart", cut(&cluster, &[(leader, other), (other, leader)])),
            _ => ("clients and another apart", cut(&cluster, &[(CLIENTS, other), (other, CLIENTS)])),
        };
        if !stays {
            // It may have acknowledged something before the others noticed.
            cluster.await_other_leader(leader);
        }
        load.await_pushes(MORE);
        pauses.add(what, load.longest_pause());
        thaw(&mut cluster);
        cluster.network.heal();
    }
    finish("Without an acknowledged push: freezes and cuts", &cluster, load, pauses, &[]);
}

/// Stops a process. Whether the leader stays.
fn freeze(cluster: &mut Cluster<Gates>, number: u64) -> bool {
    let leads = cluster.leader_report().is_some_and(|report| report.node == number);
    cluster.node(number).process.as_ref().expect("it runs").signal(Signal::STOP);
    cluster.node(number).frozen = true;
    !leads
}

fn thaw(cluster: &mut Cluster<Gates>) {
    for node in cluster.nodes.iter_mut().filter(|node| node.frozen) {
        node.frozen = false;
        node.process.as_ref().expect("it runs").signal(Signal::CONT);
    }
}

fn cut(cluster: &Cluster<Gates>, links: &[(u64, u64)]) -> bool {
    for (from, to) in links {
        cluster.network.cut(*from, *to);
    }
    links.len() == 2 && links.first().map(|(from, to)| (*to, *from)) == links.get(1).copied()
}

#[test]
fn one_node_grows_to_three_a_dead_one_is_replaced_and_all_are_restarted_in_turn() {
    let mut cluster = Cluster::founded(Gates::default(), &ARGUMENTS);
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
    let mut pauses = Pauses::default();
    for number in [1, 3, 4] {
        let leads = cluster.await_voters(3).node == number;
        load.watch();
        let process = cluster.node(number).process.take().expect("it runs");
        assert_eq!(process.terminate().code(), Some(0));
        cluster.start(number);
        load.await_pushes(100);
        if leads {
            pauses.add("leader is stopped with SIGTERM, and started", load.longest_pause());
        }
    }
    finish("Without an acknowledged push: restarts in turn", &cluster, load, pauses, &[]);
}

#[test]
fn who_comes_back_far_behind_gets_a_checkpoint() {
    let mut cluster = Cluster::of_three(
        Gates::default(),
        &["--session-grace-ms", "60000", "--checkpoint-log-bytes", "65536"],
    );
    let load = Load::start(&cluster.addresses());
    load.await_pushes(200);
    let leader = cluster.await_voters(3).node;
    let behind = leader % 3 + 1;
    cluster.kill(behind);
    let log = inspect(&mut cluster, behind).log.expect("a log");
    load.await_pushes(40_000);
    // From here on it takes none of its own.
    cluster.arguments = ARGUMENTS.map(str::to_owned).to_vec();
    cluster.start(behind);
    finish("A node comes back far behind", &cluster, load, Pauses::default(), &[]);
    cluster.kill(behind);
    let inspection = inspect(&mut cluster, behind);
    assert_eq!(inspection.damage.len(), 0, "{:?}", inspection.damage);
    let pulled = inspection.checkpoint.expect("it was pulled").index;
    assert!(pulled > log.last, "the one at entry {pulled} is its own: it had {log:?}");
}

/// Looks at the data of a node that does not run.
fn inspect(cluster: &mut Cluster<Gates>, number: u64) -> Inspection {
    let scratch = tempfile::tempdir().expect("a directory");
    let data = &cluster.node(number).place.data;
    adjourn_storage::inspect(data, &scratch.path().join("log"), Depth::Files).expect("a data directory")
}

#[test]
fn what_an_operator_gets_wrong_is_told_and_harms_nothing() {
    let mut cluster = Cluster::of_three(Gates::default(), &ARGUMENTS);
    let load = Load::start(&cluster.addresses());
    let add = |address: &str| Request::ClusterAdd { address: address.to_owned() };
    let refused = |cluster: &Cluster<Gates>, request: &Request| {
        cluster.ask_leader(request).expect_err("that cannot be done").message
    };
    let no_address = cluster.ask_leader(&add("nowhere")).expect_err("it has no port");
    assert_eq!((no_address.code, no_address.retryable()), (ErrorCode::Invalid, false), "{no_address}");
    let nobody = cluster.ask_leader(&add("127.0.0.1:1")).expect_err("nobody is there");
    assert_eq!((nobody.code, nobody.retryable()), (ErrorCode::Busy, true), "it may be starting: {nobody}");
    assert!(nobody.message.contains("cannot reach 127.0.0.1:1"), "{nobody}");
    let leader = cluster.await_leader();
    let own = cluster.node(leader).place.peer_front.to_string();
    let itself = refused(&cluster, &add(&own));
    assert!(itself.contains("this one") || itself.contains("number"), "{itself}");
    let stranger = refused(&cluster, &Request::ClusterRemove { node: 77 });
    assert!(stranger.contains("node 77 is not a member"), "{stranger}");
    let other = leader % 3 + 1;
    cluster.kill(other);
    cluster.wait_for("the leader to notice", |cluster| {
        let report = cluster.leader_report()?;
        let down = report.members.iter().find(|member| member.node == other)?;
        (!down.is_connected).then_some(())
    });
    // Its data is lost: under its old number it is refused.
    std::fs::remove_dir_all(&cluster.node(other).place.data).expect("it was there");
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
    finish("Wrong orders", &cluster, load, Pauses::default(), &[]);
}
