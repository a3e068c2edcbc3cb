//! STATS shows where the time of a node goes.

use std::collections::BTreeMap;

use adjourn_protocol::{
    NewJob, Push, ReleaseKind, Request, RequestId, Reserve, Response, StageReport, StatsReport, Subscribe,
};
use adjourn_types::{Lease, Millis, When};
use bytes::BytesMut;

use crate::server_rig::{Node, Raw, topic};

const LATE_MS: u64 = 10_000;

fn stats(client: &mut Raw) -> StatsReport {
    let Response::Stats(stats) = client.ask(Request::Stats) else { panic!("no stats") };
    *stats
}

/// The stages by name.
#[derive(Debug)]
struct Stages(BTreeMap<String, StageReport>);

impl Stages {
    fn of(client: &mut Raw) -> Self {
        Self(stats(client).stages.into_iter().map(|stage| (stage.stage.clone(), stage)).collect())
    }

    fn one(&self, name: &str) -> &StageReport {
        self.0.get(name).expect("a stage")
    }
}

/// Pushes a job that was due some seconds ago.
fn push_late(client: &mut Raw) {
    let due = Millis(stats(client).now.0 - LATE_MS);
    let job = NewJob { due: When::At(due), ..NewJob::new("late") };
    let push = Push { topic: topic("t"), sequence: 0, jobs: vec![job], idempotency: None };
    assert!(matches!(client.ask(Request::Push(push)), Response::Pushed(_)));
}

fn reserve(client: &mut Raw) -> Lease {
    let reserve = Reserve { topics: vec![topic("t")], jobs_max: 1, wait_ms: 10_000, weights: Vec::new() };
    let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("no answer") };
    jobs.first().expect("a job").lease
}

#[test]
fn each_stage_has_its_durations() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| {});
    let mut client = Raw::greeted(node.address);
    let before = Stages::of(&mut client);
    assert_eq!(before.0.keys().collect::<Vec<_>>(), ["apply", "commit", "lateness", "wait"]);
    assert_eq!(before.one("lateness").count, 0);
    push_late(&mut client);
    let lease = reserve(&mut client);
    let after = Stages::of(&mut client);
    for name in ["wait", "commit", "apply"] {
        assert!(
            after.one(name).count >= before.one(name).count + 2,
            "{name}: a push and a reserve are two commits"
        );
    }
    assert_eq!(after.one("wait").count, after.one("commit").count);
    assert!(after.one("commit").p50_us > 0, "no disk syncs in less than a microsecond");
    for StageReport { p50_us, p99_us, p999_us, max_us, .. } in after.0.values() {
        assert!([p50_us, p99_us, p999_us, max_us].is_sorted(), "{after:?}");
    }
    assert_eq!(after.one("lateness").count, 1);
    assert!(after.one("lateness").p50_us >= LATE_MS * 1000, "{after:?}");

    let release = Request::Release { leases: vec![lease], kind: ReleaseKind::After(0), reason: None };
    assert_eq!(client.ask(release), Response::Settled(vec![Ok(())]));
    reserve(&mut client);
    assert_eq!(
        Stages::of(&mut client).one("lateness").count,
        1,
        "the second attempt is not late, it was tried before"
    );
    node.stop();
}

#[test]
fn a_subscriber_s_jobs_count_too() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| {});
    let (mut consumer, mut client) = (Raw::greeted(node.address), Raw::greeted(node.address));
    let subscribe =
        Subscribe { topics: vec![topic("t")], credit_jobs: 9, credit_bytes: 1 << 20, weights: Vec::new() };
    assert_eq!(consumer.ask(Request::Subscribe(subscribe)), Response::Subscribed);
    push_late(&mut client);
    let Some((_, Response::Deliver(jobs))) = consumer.receive() else { panic!("no delivery") };
    assert_eq!(jobs.len(), 1);
    let after = Stages::of(&mut client);
    let lateness = after.one("lateness");
    assert!(lateness.count == 1 && lateness.max_us >= LATE_MS * 1000, "{lateness:?}");
    node.stop();
}

/// What is counted as unsent when the replica answers must be what is counted as sent, with the stages.
#[test]
fn stages_do_not_change_the_weight_of_an_answer() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| {});
    let with_stages = stats(&mut Raw::greeted(node.address));
    let without = StatsReport { stages: Vec::new(), ..with_stages.clone() };
    let [with_stages, without] = [with_stages, without].map(|stats| Response::Stats(Box::new(stats)));
    assert_eq!(with_stages.weight_bytes(), without.weight_bytes());
    let mut out = BytesMut::new();
    with_stages.encode(RequestId(1), &mut out);
    assert!(with_stages.weight_bytes() >= out.len());
    node.stop();
}
