//! What a server shows of what happened to a job: over its protocol, across kills, and of jobs that are on the disk alone.

use std::path::Path;

use adjourn_protocol::{
    ErrorCode, JobRef, JobReport, NewJob, Push, PushResult, ReleaseKind, Request, Reserve, Response,
};
use adjourn_types::limits::REASON_BYTES_MAX;
use adjourn_types::{JobHistory, JobId, JobState, Lease};

use crate::server_rig::{Process, Raw, topic};

const DAY_MS: u64 = 86_400_000;
/// So small that some hundred jobs make a checkpoint due.
const SMALL: [&str; 2] = ["--checkpoint-log-bytes", "65536"];

fn push_one(client: &mut Raw, name: &str, job: NewJob) -> JobId {
    let push = Push { topic: topic(name), sequence: 0, jobs: vec![job], idempotency: None };
    match client.ask(Request::Push(push)) {
        Response::Pushed(results) => match results.first() {
            Some(PushResult::Pushed(id)) => *id,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn reserve_one(client: &mut Raw, name: &str) -> Lease {
    let reserve = Reserve { topics: vec![topic(name)], jobs_max: 1, wait_ms: 10_000, weights: Vec::new() };
    match client.ask(Request::Reserve(reserve)) {
        Response::Reserved(jobs) => jobs.first().expect("a job").lease,
        other => panic!("{other:?}"),
    }
}

fn report(client: &mut Raw, id: JobId) -> JobReport {
    match client.ask(Request::Get(JobRef::Id(id))) {
        Response::Job(report) => *report,
        other => panic!("{other:?}"),
    }
}

fn settled(response: &Response) {
    assert_eq!(*response, Response::Settled(vec![Ok(())]));
}

#[test]
fn a_job_shows_what_happened_to_it() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &[]);
    let mut client = Raw::greeted(server.address);
    let id = push_one(&mut client, "orders", NewJob::new("body"));
    let JobHistory { pushed, .. } = report(&mut client, id).history;
    assert!(pushed.is_some());
    let expected = JobHistory { pushed, ..JobHistory::default() };
    assert_eq!(report(&mut client, id).history, expected);

    let lease = reserve_one(&mut client, "orders");
    let leases = vec![lease];
    let first = report(&mut client, id).history;
    assert!(first.reserved_first >= pushed && first.reserved_first == first.reserved_last, "{first:?}");
    let held_by = first.held_by.as_deref().expect("a holder");
    assert!(held_by.starts_with("127.0.0.1:"), "{held_by}");
    let long = Some("x".repeat(REASON_BYTES_MAX + 1));
    for request in [
        Request::Bury { leases: leases.clone(), reason: long.clone() },
        Request::Release { leases: leases.clone(), kind: ReleaseKind::Backoff, reason: long },
    ] {
        let Response::Error(error) = client.ask(request) else { panic!("too long") };
        assert_eq!(error.code, ErrorCode::TooLarge);
        assert!(error.message.contains("reason of 1025 bytes, at most 1024"), "{error}");
    }
    let reason = Some("the shop does not answer".to_owned());
    settled(&client.ask(Request::Release { leases, kind: ReleaseKind::After(0), reason: reason.clone() }));
    let Response::Job(peeked) = client.ask(Request::Peek { topic: topic("orders") }) else { panic!("a job") };
    assert_eq!(peeked.history, JobHistory { reason: reason.clone(), ..first });

    let lease = reserve_one(&mut client, "orders");
    settled(&client.ask(Request::Bury { leases: vec![lease], reason: None }));
    assert_eq!(report(&mut client, id).history.reason, reason, "the last one stays");
    assert!(matches!(client.ask(Request::Kick(JobRef::Id(id))), Response::Changed { .. }));
    let lease = reserve_one(&mut client, "orders");
    settled(&client.ask(Request::Finish { leases: vec![lease] }));
    let gone = report(&mut client, id);
    assert_eq!((gone.state, gone.attempts, &gone.topic), (Some(JobState::Finished), 1, &topic("orders")));
    assert!(gone.body.is_empty() && gone.history.finished >= pushed, "{:?}", gone.history);
    for request in [Request::Delete(JobRef::Id(id)), Request::Kick(JobRef::Id(id))] {
        let Response::Error(error) = client.ask(request) else { panic!("it is gone") };
        assert_eq!(error.code, ErrorCode::NotFound);
    }
    let Response::Error(error) = client.ask(Request::Peek { topic: topic("orders") }) else { panic!("none") };
    assert_eq!(error.code, ErrorCode::NotFound);
    server.kill();

    let server = Process::start(data.path(), &[]);
    assert_eq!(report(&mut Raw::greeted(server.address), id), gone, "also after a kill");
}

/// Pushes until there is a checkpoint with all that was pushed before.
fn checkpoint(client: &mut Raw, data: &Path) {
    let manifest = || std::fs::metadata(data.join("chunks/manifest")).and_then(|found| found.modified()).ok();
    for _ in 0..2 {
        let before = manifest();
        while manifest() == before {
            push_one(client, "filler", NewJob::new(vec![7; 2000]));
        }
    }
}

#[test]
fn resident_and_spilled_jobs_keep_their_history_in_a_checkpoint_and_a_backup() {
    let folder = tempfile::tempdir().expect("a directory");
    let data = folder.path().join("data");
    let server = Process::start(&data, &SMALL);
    let mut client = Raw::greeted(server.address);
    let near = push_one(&mut client, "orders", NewJob::new("near"));
    let lease = reserve_one(&mut client, "orders");
    settled(&client.ask(Request::Bury { leases: vec![lease], reason: Some("no such address".to_owned()) }));
    let far = push_one(&mut client, "orders", NewJob::new("far"));
    let (leases, kind) = (vec![reserve_one(&mut client, "orders")], ReleaseKind::After(2 * DAY_MS));
    settled(&client.ask(Request::Release { leases, kind, reason: Some("not before Monday".to_owned()) }));
    checkpoint(&mut client, &data);
    let before = [near, far].map(|id| report(&mut client, id));
    assert_eq!(
        before.each_ref().map(|job| job.history.reason.as_deref()),
        [Some("no such address"), Some("not before Monday")]
    );
    server.kill();

    let server = Process::start(&data, &SMALL);
    let mut client = Raw::greeted(server.address);
    assert_eq!([near, far].map(|id| report(&mut client, id)), before);
    let (address, file) = (server.address.to_string(), folder.path().join("backup"));
    let (restored, file) = (folder.path().join("restored"), file.to_str().expect("text"));
    let run = |arguments: &[&str]| {
        let output = crate::server_rig::adjourn(arguments).output().expect("the binary");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["backup", "create", file, "--server", &address]);
    run(&["restore", file, "--data", restored.to_str().expect("text")]);
    let server = Process::start(&restored, &[]);
    let mut client = Raw::greeted(server.address);
    assert_eq!([near, far].map(|id| report(&mut client, id)), before);
    assert!(matches!(client.ask(Request::RunNow(JobRef::Id(far))), Response::Changed { .. }));
    let [_, expected] = before;
    assert_eq!(report(&mut client, far).history, expected.history, "loaded");
}
