//! Each node has a small disk of its own. It fills up under load, nearly and quite; then there is space again.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use adjourn::protocol::{JobRef, NewJob, Push, PushResult, Request, Response};
use adjourn::types::JobId;

use crate::load::Load;
use crate::report::{Pauses, finish};
use crate::rig::Cluster;
use crate::server_rig::{Raw, hello, topic};
use crate::wires::{Machines, Wires};

const DISK_MIB: u64 = 64;
const FREE_MIN_BYTES: u64 = 16 << 20;
/// Pushes that cannot all have been under way before.
const MORE: usize = 50;
/// How a node ends whose disk took no more.
const DISK_FAILED: i32 = 8;

fn start() -> (Cluster<Wires>, Load) {
    let free_min_bytes = FREE_MIN_BYTES.to_string();
    let arguments =
        ["--session-grace-ms", "60000", "--checkpoint-log-bytes", "1048576", "--disk-free-min-bytes"];
    let arguments = [&arguments[..], &[&free_min_bytes]].concat();
    let cluster = Cluster::of_three(Wires::new(Machines::Disks(DISK_MIB)), &arguments);
    let load = Load::start(&cluster.addresses());
    load.await_pushes(500);
    (cluster, load)
}

pub(crate) fn the_disk_of_the_leader_fills_up() {
    let (mut cluster, load) = start();
    let mut pauses = Pauses::default();
    let leader = cluster.await_voters(3).node;
    let kept = push_for_later(&cluster, leader);
    load.watch();
    let filling = Filling::leaves(&cluster, leader, FREE_MIN_BYTES / 2);
    cluster.wait_for("pushes to be refused", |_| (load.ledger().refused > 0).then_some(()));
    // What takes jobs out of the queue goes on until there is nothing more to take.
    cluster.wait_for("what was there to be finished", |_| {
        let ledger = load.ledger();
        (ledger.finished() >= ledger.pushes()).then_some(())
    });
    let deleted = ask(&cluster, leader, Request::Delete(JobRef::Id(kept)));
    assert!(matches!(deleted, Response::Changed { .. }), "{deleted:?}");
    drop(filling);
    load.await_pushes(MORE);
    pauses.add("the leader's disk is nearly full", load.longest_pause());
    load.watch();
    fill_up(&mut cluster, &load, leader);
    pauses.add("the leader's disk is full", load.longest_pause());
    finish("Without an acknowledged push: the leader's disk", &cluster, load, pauses, &[]);
}

pub(crate) fn the_disk_of_a_follower_fills_up() {
    let (mut cluster, load) = start();
    let mut pauses = Pauses::default();
    let leader = cluster.await_voters(3).node;
    load.watch();
    fill_up(&mut cluster, &load, leader % 3 + 1);
    pauses.add("a follower's disk is full", load.longest_pause());
    assert_eq!(load.ledger().refused, 0, "who leads has space");
    finish("Without an acknowledged push: a follower's disk", &cluster, load, pauses, &[]);
}

/// Fills a disk to its end under load: the node ends, the others go on. With space again, it comes back.
fn fill_up(cluster: &mut Cluster<Wires>, load: &Load, node: u64) {
    let filling = Filling::leaves(cluster, node, 0);
    let mut process = cluster.node(node).process.take().expect("it runs");
    let ended = cluster.wait_for("the node to end", |_| process.child.try_wait().expect("it can be asked"));
    assert_eq!(ended.code(), Some(DISK_FAILED));
    load.await_pushes(MORE);
    drop(filling);
    cluster.start(node);
    cluster.await_voters(3);
}

/// A job that no consumer gets meanwhile.
fn push_for_later(cluster: &Cluster<Wires>, leader: u64) -> JobId {
    let jobs = vec![NewJob::new("kept").after(3_600_000)];
    match ask(
        cluster,
        leader,
        Request::Push(Push { topic: topic("later"), sequence: 0, jobs, idempotency: None }),
    ) {
        Response::Pushed(results) => match results.first() {
            Some(PushResult::Pushed(id)) => *id,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn ask(cluster: &Cluster<Wires>, node: u64, request: Request) -> Response {
    let node = cluster.nodes.iter().find(|one| one.number == node).expect("it has a place");
    let mut raw = Raw::try_connect(node.place.asked_at).expect("it listens");
    for request in [Request::Hello(hello()), request] {
        raw.send(&[request]).expect("it takes requests");
        let (_, response) = raw.receive().expect("an answer");
        if !matches!(response, Response::Welcome(_)) {
            return response;
        }
    }
    panic!("no answer");
}

/// A file that takes space on a node's disk, while this lives.
struct Filling(PathBuf);

impl Filling {
    /// Takes all space except `left_bytes`.
    fn leaves(cluster: &Cluster<Wires>, node: u64, left_bytes: u64) -> Self {
        let node = cluster.nodes.iter().find(|one| one.number == node).expect("it has a place");
        let found = rustix::fs::statvfs(&node.place.data).expect("a disk");
        let free_bytes = found.f_bavail * found.f_frsize;
        let filling = Self(node.place.data.join("filling"));
        let mut file = File::create(&filling.0).expect("a file");
        let block = [0; 4096];
        // If no space is to be left, repeat until other writers leave none.
        let mut blocks =
            if left_bytes == 0 { u64::MAX } else { free_bytes.saturating_sub(left_bytes) / 4096 };
        while blocks > 0 {
            match file.write_all(&block) {
                Ok(()) => blocks -= 1,
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => panic!("{error}"),
            }
        }
        filling
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).expect("it was there");
    }
}
