//! Each node has a small disk of its own. It fills up under load, nearly and quite; then there is space again.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use adjourn_protocol::{ErrorCode, JobRef, NewJob, Push, PushResult, Request, Response};
use adjourn_types::{IfExists, JobId, Key};

use crate::load::Load;
use crate::report::{Pauses, finish};
use crate::rig::Cluster;
use crate::server_rig::{Raw, hello, topic};
use crate::wires::{Machines, Wires};

const DISK_MIB: u64 = 64;
const FREE_MIN_BYTES: u64 = 16 << 20;
/// Pushes that cannot all have been under way before.
const MORE: usize = 50;
/// A log of these jobs needs more than the files that a node has in reserve.
const LARGE_JOBS: usize = 16;
const LARGE_BYTES: usize = 1 << 20;

fn start(free_min_bytes: u64) -> (Cluster<Wires>, Load) {
    let free_min_bytes = free_min_bytes.to_string();
    let arguments =
        ["--session-grace-ms", "60000", "--checkpoint-log-bytes", "1048576", "--disk-free-min-bytes"];
    let arguments = [&arguments[..], &[&free_min_bytes]].concat();
    let cluster = Cluster::of_three(Wires::new(Machines::Disks(DISK_MIB)), &arguments);
    let load = Load::start(&cluster.addresses());
    load.await_pushes(500);
    (cluster, load)
}

pub(crate) fn the_disk_of_the_leader_is_nearly_full() {
    let (mut cluster, load) = start(FREE_MIN_BYTES);
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
    // To the last byte, too.
    let rest = Filling::leaves_as(&cluster, leader, 0, "rest");
    let refused = load.ledger().refused;
    cluster.wait_for("more refusals", |_| (load.ledger().refused > refused).then_some(()));
    assert!(runs(&mut cluster, leader));
    drop((filling, rest));
    load.await_pushes(MORE);
    pauses.add("the leader's disk is nearly full, then full", load.longest_pause());
    finish("Without an acknowledged push: the leader's disk", &cluster, load, pauses, &[]);
}

pub(crate) fn the_log_of_the_leader_finds_no_room() {
    let (mut cluster, load) = start(0);
    let mut pauses = Pauses::default();
    let leader = cluster.await_voters(3).node;
    load.watch();
    let filling = Filling::leaves(&cluster, leader, 0);
    push_much(&cluster);
    cluster.await_other_leader(leader);
    load.await_pushes(MORE);
    assert!(runs(&mut cluster, leader), "it waits for room");
    drop(filling);
    cluster.await_voters(3);
    assert!(runs(&mut cluster, leader), "and goes on by itself");
    pauses.add("the leader's log finds no room", load.longest_pause());
    finish("Without an acknowledged push: the leader's log", &cluster, load, pauses, &[]);
}

pub(crate) fn the_log_of_a_follower_finds_no_room() {
    let (mut cluster, load) = start(FREE_MIN_BYTES);
    let mut pauses = Pauses::default();
    let leader = cluster.await_voters(3).node;
    let follower = leader % 3 + 1;
    load.watch();
    let filling = Filling::leaves(&cluster, follower, 0);
    push_much(&cluster);
    cluster.wait_for("the follower to fall behind", |cluster| {
        let report = cluster.leader_report()?;
        let matched = report.members.iter().find(|member| member.node == follower)?.matched?;
        (matched + 1000 < report.last).then_some(())
    });
    load.await_pushes(MORE);
    assert!(runs(&mut cluster, follower), "it waits for room");
    drop(filling);
    cluster.await_voters(3);
    assert!(runs(&mut cluster, follower), "and goes on by itself");
    pauses.add("a follower's log finds no room", load.longest_pause());
    assert_eq!(load.ledger().refused, 0, "who leads has space");
    finish("Without an acknowledged push: a follower's log", &cluster, load, pauses, &[]);
}

fn runs(cluster: &mut Cluster<Wires>, node: u64) -> bool {
    let process = cluster.node(node).process.as_mut().expect("it was started");
    process.child.try_wait().expect("it can be asked").is_none()
}

/// Pushes jobs that fill the log, and deletes them.
fn push_much(cluster: &Cluster<Wires>) {
    let key = Key::new("large".into()).expect("a key");
    for _ in 0..LARGE_JOBS {
        // It is pushed again when its answer is lost, and is there once all the same.
        let if_exists = IfExists::Keep;
        let jobs =
            vec![NewJob { if_exists, ..NewJob::new(vec![1; LARGE_BYTES]).after(3_600_000).key(key.clone()) }];
        let push = Request::Push(Push { topic: topic("large"), sequence: 0, jobs, idempotency: None });
        let id = cluster.wait_for("a large job to be pushed", |cluster| {
            match try_ask(cluster, cluster.leader_report()?.node, push.clone())? {
                Response::Pushed(results) => match results.first() {
                    Some(PushResult::Pushed(id) | PushResult::Kept(id)) => Some(*id),
                    other => panic!("{other:?}"),
                },
                Response::Error(_) => None,
                other => panic!("{other:?}"),
            }
        });
        cluster.wait_for("it to be deleted", |cluster| {
            let delete = Request::Delete(JobRef::Id(id));
            match try_ask(cluster, cluster.leader_report()?.node, delete)? {
                Response::Changed { .. } => Some(()),
                Response::Error(error) => (error.code == ErrorCode::NotFound).then_some(()),
                other => panic!("{other:?}"),
            }
        });
    }
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
    try_ask(cluster, node, request).expect("an answer")
}

/// The answer; `None` if the connection ends before it comes.
fn try_ask(cluster: &Cluster<Wires>, node: u64, request: Request) -> Option<Response> {
    let node = cluster.nodes.iter().find(|one| one.number == node).expect("it has a place");
    let mut raw = Raw::try_connect(node.place.asked_at)?;
    raw.send(&[Request::Hello(hello())])?;
    raw.receive()?;
    raw.send(&[request])?;
    Some(raw.receive()?.1)
}

/// A file that takes space on a node's disk, while this lives.
struct Filling(PathBuf);

impl Filling {
    /// Takes all space except `left_bytes`.
    fn leaves(cluster: &Cluster<Wires>, node: u64, left_bytes: u64) -> Self {
        Self::leaves_as(cluster, node, left_bytes, "filling")
    }

    /// As [`Self::leaves`], with a file of this name.
    fn leaves_as(cluster: &Cluster<Wires>, node: u64, left_bytes: u64, name: &str) -> Self {
        let node = cluster.nodes.iter().find(|one| one.number == node).expect("it has a place");
        let found = rustix::fs::statvfs(&node.place.data).expect("a disk");
        let free_bytes = found.f_bavail * found.f_frsize;
        let filling = Self(node.place.data.join(name));
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
