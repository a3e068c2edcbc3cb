//! Each node has a clock of its own. One is set forward and back by minutes, under load.

use adjourn_protocol::Request;

use crate::load::Load;
use crate::report::{Pauses, finish};
use crate::rig::Cluster;
use crate::server_rig::adjourn;
use crate::wires::{Machines, Wires, set_clock};

const STEP_SECONDS: i64 = 300;
/// Clocks are read at different moments.
const NEARLY_MS: u64 = 2_000;
/// Pushes that cannot all have been under way before.
const MORE: usize = 50;

pub(crate) fn the_clock_of_a_follower_is_set() {
    let (mut cluster, load) = start();
    let mut pauses = Pauses::default();
    for (by_seconds, cause) in
        [(STEP_SECONDS, "a follower's clock goes forward"), (-STEP_SECONDS, "a follower's clock goes back")]
    {
        let leader = cluster.await_voters(3).node;
        let follower = leader % 3 + 1;
        load.watch();
        set(&cluster, follower, by_seconds);
        load.await_pushes(200);
        pauses.add(cause, load.longest_pause());
        // A node with a wrong clock gets no leadership.
        let third = 6 - leader - follower;
        load.watch();
        cluster.ask_leader(&Request::ClusterTransfer { node: 0 }).expect("another takes over");
        assert_eq!(cluster.await_other_leader(leader), third);
        load.await_pushes(MORE);
        pauses.add("then the leader steps down", load.longest_pause());
        cluster.await_voters(3);
        load.watch();
        cluster.kill(third);
        // Where it alone has the last entries, the node with the wrong clock leads for a moment, and hands over.
        await_leadership_of(&cluster, leader);
        load.await_pushes(MORE);
        pauses.add("then the leader is killed", load.longest_pause());
        set(&cluster, follower, 0);
        cluster.start(third);
    }
    finish("Without an acknowledged push: a follower's clock", &cluster, load, pauses, &[]);
}

pub(crate) fn the_clock_of_the_leader_is_set() {
    let (cluster, load) = start();
    let mut pauses = Pauses::default();
    for (by_seconds, cause) in
        [(STEP_SECONDS, "the leader's clock goes forward"), (-STEP_SECONDS, "the leader's clock goes back")]
    {
        let leader = cluster.await_voters(3).node;
        load.watch();
        set_unseen(&cluster, leader, by_seconds);
        cluster.await_other_leader(leader);
        load.await_pushes(200);
        pauses.add(cause, load.longest_pause());
        await_offset(&cluster, leader, by_seconds);
        set(&cluster, leader, 0);
    }
    finish("Without an acknowledged push: the leader's clock", &cluster, load, pauses, &[]);
}

fn start() -> (Cluster<Wires>, Load) {
    let cluster = Cluster::of_three(Wires::new(Machines::Clocks), &["--session-grace-ms", "60000"]);
    let load = Load::start(&cluster.addresses());
    load.await_pushes(500);
    (cluster, load)
}

/// Sets a clock, and waits until the cluster has seen it.
fn set(cluster: &Cluster<Wires>, node: u64, by_seconds: i64) {
    set_unseen(cluster, node, by_seconds);
    await_offset(cluster, node, by_seconds);
}

fn set_unseen(cluster: &Cluster<Wires>, node: u64, by_seconds: i64) {
    let node = cluster.nodes.iter().find(|one| one.number == node).expect("it has a place");
    set_clock(&node.place, by_seconds);
}

fn await_leadership_of(cluster: &Cluster<Wires>, node: u64) {
    cluster.wait_for("this node to lead", |cluster| (cluster.leader_report()?.node == node).then_some(()));
}

/// Waits until `adjourn cluster status` shows how far a node's clock is off.
fn await_offset(cluster: &Cluster<Wires>, node: u64, by_seconds: i64) {
    cluster.wait_for("the clock to be seen", |cluster| {
        let shown = adjourn(&["cluster", "status", "--json", "--server", &cluster.addresses()]).output();
        let shown: serde_json::Value = serde_json::from_slice(&shown.expect("the binary").stdout).ok()?;
        let members = shown.get("members")?.as_array()?;
        let member =
            members.iter().find(|member| member.get("node").is_some_and(|number| *number == node))?;
        let off_ms = member.get("clock_offset_ms")?.as_i64()?;
        (off_ms.abs_diff(by_seconds * 1000) <= NEARLY_MS).then_some(())
    });
}
