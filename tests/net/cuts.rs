//! Cables are pulled, packets lost in one direction, links made slow and lossy, under load; then all is healed.

use adjourn_protocol::Request;

use crate::load::Load;
use crate::report::{Pauses, finish};
use crate::rig::Cluster;
use crate::wires::{CLIENTS, Machines, Wires};

const ROUNDS: u64 = 16;
/// The faults after which another leads.
const LEADERSHIP_MOVES: [u64; 4] = [0, 2, 3, 6];
/// Pushes that cannot all have been under way before.
const MORE: usize = 50;

pub(crate) fn links_are_cut_narrowed_and_healed() {
    let cluster = Cluster::of_three(Wires::new(Machines::Plain), &["--session-grace-ms", "60000"]);
    let load = Load::start(&cluster.addresses());
    let mut pauses = Pauses::default();
    for round in 0..ROUNDS {
        load.await_pushes(200);
        let leader = cluster.await_voters(3).node;
        let other = (leader + round / 8) % 3 + 1;
        let third = 6 - leader - other;
        load.watch();
        let (cause, ()) = match round % 8 {
            0 => ("the leader's cable is pulled", cluster.network.pull(leader)),
            1 => ("another's cable is pulled", cluster.network.pull(other)),
            2 => ("nothing comes from the leader", lose(&cluster, &[(leader, other), (leader, third)])),
            3 => ("nothing comes to the leader", lose(&cluster, &[(other, leader), (third, leader)])),
            4 => ("leader and another apart", lose(&cluster, &[(leader, other), (other, leader)])),
            5 => ("nothing comes to clients from another", lose(&cluster, &[(other, CLIENTS)])),
            6 => ("nothing comes to clients from the leader", step_down_unheard(&cluster, leader)),
            _ => (cluster.network.narrow(), ()),
        };
        if LEADERSHIP_MOVES.contains(&(round % 8)) {
            cluster.await_other_leader(leader);
        }
        // On narrow cables all goes on: that is to last for a while.
        load.await_pushes(if cause.starts_with("loss") { 10 * MORE } else { MORE });
        pauses.add(cause, load.longest_pause());
        cluster.network.heal();
    }
    finish("Without an acknowledged push: network namespaces", &cluster, load, pauses, &[]);
}

fn lose(cluster: &Cluster<Wires>, links: &[(u64, u64)]) {
    for (from, to) in links {
        cluster.network.lose(*from, *to);
    }
}

/// The members see nothing of it: an operator has to move leadership.
fn step_down_unheard(cluster: &Cluster<Wires>, leader: u64) {
    cluster.network.lose(leader, CLIENTS);
    cluster.ask_leader(&Request::ClusterTransfer { node: 0 }).expect("another takes over");
}
