//! Reasons, in a cluster with one older member: they are refused until it is upgraded. Then all members keep the same ones.

use adjourn::protocol::{
    ErrorCode, JobRef, JobReport, NewJob, PushResult, ReleaseKind, Request, Reserve, Response,
};
use adjourn::replica::ConnectionId;
use adjourn::types::{FEATURE_JOB_HISTORY, JobHistory, JobId, JobState, Lease};

use super::rig::{Rig, refusal};

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
fn reasons_are_kept_when_every_member_knows_them() {
    let mut rig = Rig::of(&[0, 0, 0]);
    rig.change_version(3, FEATURE_JOB_HISTORY - 1);
    let leader = rig.elect();
    let client = rig.connect(leader);
    rig.push_jobs(leader, client, 1, vec![NewJob::new("one")]);
    let Response::Pushed(results) = rig.answer(leader, client, 1) else { panic!("not pushed") };
    let [PushResult::Pushed(job)] = results[..] else { panic!("{results:?}") };
    let lease = reserve(&mut rig, leader, client, 2);
    let leases = vec![lease];
    let because = |reason: &str| Some(reason.to_owned());
    let (kind, reason) = (ReleaseKind::Backoff, because("too early"));
    for (id, request) in (3..).zip([
        Request::Release { leases: leases.clone(), kind, reason: reason.clone() },
        Request::Bury { leases: leases.clone(), reason },
    ]) {
        let error = refusal(rig.ask(leader, client, id, request));
        assert_eq!(error.code, ErrorCode::Unsupported);
        assert!(error.message.contains("upgrade the others"), "{error}");
    }
    let report = get(&mut rig, leader, client, 5, job);
    assert_eq!((report.state, report.history), (Some(JobState::Reserved), JobHistory::default()));
    let done = rig.ask(leader, client, 6, Request::Release { leases, kind, reason: None });
    assert_eq!(done, Response::Settled(vec![Ok(())]));

    rig.change_version(3, FEATURE_JOB_HISTORY);
    rig.pass(2_000);
    let leader = rig.elect();
    let client = rig.connect(leader);
    let lease = reserve(&mut rig, leader, client, 1);
    let bury = Request::Bury { leases: vec![lease], reason: because("no such address") };
    assert_eq!(rig.ask(leader, client, 2, bury), Response::Settled(vec![Ok(())]));
    let report = get(&mut rig, leader, client, 3, job);
    assert_eq!(report.history.reason, because("no such address"));
    assert!(report.history.reserved_last.is_some() && report.history.pushed.is_none(), "{report:?}");
    // Members compare their states after every 64th entry.
    for id in 10..140 {
        rig.push(leader, client, id, 0);
        rig.answer(leader, client, id);
    }
    rig.pass(2_000);
    let same = hashes(&mut rig, leader);
    assert!(same.iter().all(|same| *same == Some(true)), "{same:?}");
}
