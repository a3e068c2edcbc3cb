//! The past of a job, in a cluster: all members keep the same.

use adjourn_protocol::{JobRef, JobReport, NewJob, PushResult, ReleaseKind, Request, Reserve, Response};
use adjourn_replica::ConnectionId;
use adjourn_types::{JobId, Lease};

use super::rig::Rig;

fn reserve(rig: &mut Rig, node: u64, client: ConnectionId, id: u32) -> Lease {
    let topics = vec!["jobs".parse().expect("a topic")];
    let reserve = Request::Reserve(Reserve { topics, jobs_max: 1, wait_ms: 0, weights: Vec::new() });
    match rig.ask(node, client, id, reserve) {
        Response::Reserved(jobs) => jobs.first().expect("a job").lease,
        other => panic!("{other:?}"),
    }
}

fn get(rig: &mut Rig, node: u64, client: ConnectionId, id: u32, job: JobId) -> JobReport {
    match rig.ask(node, client, id, Request::Get(JobRef::Id(job))) {
        Response::Job(report) => *report,
        other => panic!("{other:?}"),
    }
}

fn hashes(rig: &mut Rig, node: u64) -> Vec<Option<bool>> {
    let client = rig.open(node);
    match rig.ask(node, client, 1, Request::ClusterStatus) {
        Response::Cluster(report) => report.members.iter().map(|member| member.same_state).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn reasons_are_kept_by_every_member() {
    let mut rig = Rig::of(&[0, 0, 0]);
    let leader = rig.elect();
    let client = rig.connect(leader);
    rig.push_jobs(leader, client, 1, vec![NewJob::new("one")]);
    let Response::Pushed(results) = rig.answer(leader, client, 1) else { panic!("not pushed") };
    let [PushResult::Pushed(job)] = results[..] else { panic!("{results:?}") };
    let lease = reserve(&mut rig, leader, client, 2);
    let because = |reason: &str| Some(reason.to_owned());
    let (kind, reason) = (ReleaseKind::After(0), because("too early"));
    let release = Request::Release { leases: vec![lease], kind, reason };
    assert_eq!(rig.ask(leader, client, 3, release), Response::Settled(vec![Ok(())]));
    assert_eq!(get(&mut rig, leader, client, 4, job).history.reason, because("too early"));
    let lease = reserve(&mut rig, leader, client, 5);
    let bury = Request::Bury { leases: vec![lease], reason: because("no such address") };
    assert_eq!(rig.ask(leader, client, 6, bury), Response::Settled(vec![Ok(())]));
    let report = get(&mut rig, leader, client, 7, job);
    assert_eq!(report.history.reason, because("no such address"));
    assert!(report.history.reserved_last.is_some() && report.history.pushed.is_some(), "{report:?}");
    // Members compare their states after every 64th entry.
    for id in 10..140 {
        rig.push(leader, client, id, 0);
        rig.answer(leader, client, id);
    }
    rig.pass(2_000);
    let same = hashes(&mut rig, leader);
    assert!(same.iter().all(|same| *same == Some(true)), "{same:?}");
}
