//! Finished jobs that are remembered, over a real server: their keys are taken, also after a kill, until they are forgotten.

use adjourn_protocol::{
    ErrorCode, JobRef, JobReport, List, NewJob, Push, PushResult, Request, Reserve, Response,
};
use adjourn_types::limits::DEDUPE_RETENTION_MS_MAX;
use adjourn_types::{
    Attributes, AttributesBuilder, Filter, IfExists, JobId, JobState, Key, ListOrder, States,
};
use bytes::Bytes;

use crate::server_rig::{Process, Raw, topic};

const DAY_MS: u64 = 86_400_000;

fn key() -> Key {
    "payment-17".parse().expect("a key")
}

fn remembered(retention_ms: u64) -> Attributes {
    AttributesBuilder::default().dedupe_retention(retention_ms).build().expect("built")
}

fn push(client: &mut Raw, if_exists: IfExists, attributes: Attributes) -> Response {
    let job = NewJob { if_exists, key: Some(key()), attributes, ..NewJob::new("charge") };
    client.ask(Request::Push(Push {
        topic: topic("payments"),
        sequence: 0,
        jobs: vec![job],
        idempotency: None,
    }))
}

fn result(response: &Response) -> PushResult {
    let Response::Pushed(results) = response else { panic!("{response:?}") };
    *results.first().expect("a result")
}

fn finish_one(client: &mut Raw) -> JobId {
    let (topics, weights) = (vec![topic("payments")], Vec::new());
    let reserve = Reserve { topics, jobs_max: 1, wait_ms: 10_000, weights };
    let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("a job") };
    let lease = jobs.first().expect("a job").lease;
    assert_eq!(client.ask(Request::Finish { leases: vec![lease] }), Response::Settled(vec![Ok(())]));
    lease.job
}

fn get(client: &mut Raw, job: JobRef) -> JobReport {
    match client.ask(Request::Get(job)) {
        Response::Job(report) => *report,
        other => panic!("{other:?}"),
    }
}

fn code(response: &Response) -> ErrorCode {
    let Response::Error(error) = response else { panic!("{response:?}") };
    error.code
}

fn listed(client: &mut Raw, states: States) -> Vec<(JobId, Option<JobState>)> {
    let filter = Filter { states, ..Filter::default() };
    let (order, cursor) = (ListOrder::Due, Bytes::new());
    match client.ask(Request::List(List { filter, order, jobs_max: 10, with_bodies: false, cursor })) {
        Response::Jobs { jobs, .. } => jobs.iter().map(|job| (job.id, job.state)).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_key_of_a_finished_job_is_taken_until_it_is_forgotten() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &[]);
    let mut client = Raw::greeted(server.address);
    push(&mut client, IfExists::Reject, remembered(DAY_MS));
    let id = finish_one(&mut client);
    server.kill();

    let server = Process::start(data.path(), &[]);
    let mut client = Raw::greeted(server.address);
    let by_key = JobRef::Key { topic: topic("payments"), key: key() };
    let report = get(&mut client, by_key.clone());
    assert_eq!(get(&mut client, JobRef::Id(id)), report);
    assert_eq!(
        (report.state, report.attempts, &report.body[..]),
        (Some(JobState::Finished), 1, &b"charge"[..])
    );
    assert!(report.history.finished >= report.history.reserved_last, "{:?}", report.history);
    let taken = PushResult::Refused(ErrorCode::KeyExists, Some(id));
    assert_eq!(result(&push(&mut client, IfExists::Reject, remembered(0))), taken);
    assert_eq!(result(&push(&mut client, IfExists::Keep, remembered(0))), PushResult::Kept(id));
    for request in [Request::Kick(JobRef::Id(id)), Request::RunNow(by_key.clone())] {
        assert_eq!(code(&client.ask(request)), ErrorCode::WrongState);
    }
    assert_eq!(listed(&mut client, States::default()), []);
    assert_eq!(listed(&mut client, States::of([JobState::Finished])), [(id, Some(JobState::Finished))]);
    let Response::Stats(stats) = client.ask(Request::Stats) else { panic!("stats") };
    let totals = stats.totals;
    assert_eq!((totals.delayed + totals.ready + totals.reserved + totals.buried, totals.finished), (0, 1));

    assert!(matches!(
        client.ask(Request::Delete(by_key.clone())),
        Response::Changed { job, state: Some(JobState::Finished), .. } if job == id
    ));
    assert_eq!(code(&client.ask(Request::Get(by_key))), ErrorCode::NotFound);
    assert!(matches!(result(&push(&mut client, IfExists::Reject, remembered(1))), PushResult::Pushed(_)));

    let too_long = push(&mut client, IfExists::Replace, remembered(DEDUPE_RETENTION_MS_MAX + 1));
    assert_eq!(code(&too_long), ErrorCode::Invalid);
    let Response::Error(error) = too_long else { panic!("it is too long") };
    assert!(error.message.contains("remember is at most 2592000000 ms"), "{error}");
}
