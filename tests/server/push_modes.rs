//! What a push does with a key that lives, over a real server: it replaces a reserved job, and it postpones one.

use adjourn_protocol::{
    ErrorCode, JobRef, JobReport, NewJob, Push, PushResult, Request, Reserve, Response, Subscribe,
};
use adjourn_types::limits::DELAY_MS_MAX;
use adjourn_types::{AttributesBuilder, IfExists, JobId, JobState, Lease, Millis, When};

use crate::server_rig::{Process, Raw, topic};

const HOUR_MS: u64 = 3_600_000;

fn job(mode: IfExists, delay_ms: u64, body: &str) -> NewJob {
    let key = Some("shop-3".parse().expect("a key"));
    NewJob { if_exists: mode, due: When::After(delay_ms), key, ..NewJob::new(body.to_owned()) }
}

fn push(client: &mut Raw, sequence: u64, job: NewJob) -> PushResult {
    match client.ask(Request::Push(Push {
        topic: topic("index"),
        sequence,
        jobs: vec![job],
        idempotency: None,
    })) {
        Response::Pushed(results) => *results.first().expect("a result"),
        other => panic!("{other:?}"),
    }
}

fn get(client: &mut Raw) -> JobReport {
    let key = "shop-3".parse().expect("a key");
    match client.ask(Request::Get(JobRef::Key { topic: topic("index"), key })) {
        Response::Job(report) => *report,
        other => panic!("{other:?}"),
    }
}

fn pushed(result: PushResult) -> JobId {
    let PushResult::Pushed(id) = result else { panic!("{result:?}") };
    id
}

fn finish(client: &mut Raw, lease: Lease) -> Response {
    client.ask(Request::Finish { leases: vec![lease] })
}

#[test]
fn a_reserved_job_is_replaced_and_its_subscription_goes_on() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &[]);
    let mut client = Raw::greeted(server.address);
    let mut consumer = Raw::greeted(server.address);
    let topics = vec![topic("index")];
    let credit = Subscribe { topics, credit_jobs: 1, credit_bytes: 1 << 20, weights: Vec::new() };
    assert_eq!(consumer.ask(Request::Subscribe(credit)), Response::Subscribed);
    let first = pushed(push(&mut client, 0, job(IfExists::Reject, 0, "old")));
    let Some((_, Response::Deliver(jobs))) = consumer.receive() else { panic!("a job") };
    let stale = jobs.first().expect("a job").lease;
    assert_eq!(stale.job, first);
    let refused = PushResult::Refused(ErrorCode::Reserved, Some(first));
    assert_eq!(push(&mut client, 0, job(IfExists::Replace, 0, "new")), refused);

    let PushResult::Replaced(second) = push(&mut client, 0, job(IfExists::ReplaceReserved, 0, "new")) else {
        panic!("it is replaced")
    };
    let Some((_, Response::Deliver(jobs))) = consumer.receive() else { panic!("its credit came back") };
    let job = jobs.first().expect("a job");
    assert_eq!((job.lease.job, &job.body[..]), (second, &b"new"[..]));
    let settled = consumer.ask(Request::Finish { leases: vec![stale, job.lease] });
    assert_eq!(settled, Response::Settled(vec![Err(ErrorCode::StaleLease), Ok(())]));
}

#[test]
fn a_job_is_postponed_until_it_is_quiet_or_its_cap_is_reached() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &[]);
    let mut client = Raw::greeted(server.address);
    let id = pushed(push(&mut client, 1, job(IfExists::Postpone, 2 * HOUR_MS, "one")));
    let first = get(&mut client);
    let postponed = PushResult::Postponed(id);
    assert_eq!(push(&mut client, 2, job(IfExists::Postpone, 3 * HOUR_MS, "two")), postponed);
    let second = get(&mut client);
    assert_eq!((second.id, second.state, &second.body[..]), (id, Some(JobState::Delayed), &b"two"[..]));
    assert!(second.due >= first.due.after(HOUR_MS), "{second:?}");
    assert_eq!(second.history.pushed, first.history.pushed);

    let capped = AttributesBuilder::default().postpone_max(HOUR_MS).build().expect("valid");
    let three = NewJob { attributes: capped, ..job(IfExists::Postpone, 9 * HOUR_MS, "three") };
    assert_eq!(push(&mut client, 3, three.clone()), postponed);
    let third = get(&mut client);
    assert_eq!(Some(third.due), first.history.pushed.map(|pushed: Millis| pushed.after(HOUR_MS)));
    assert_eq!(push(&mut client, 4, job(IfExists::Postpone, 0, "four")), postponed);
    assert_eq!(push(&mut client, 3, three), postponed, "the repeat changes nothing");
    assert_eq!((get(&mut client).state, &get(&mut client).body[..]), (Some(JobState::Ready), &b"four"[..]));

    let reserve = Reserve { topics: vec![topic("index")], jobs_max: 1, wait_ms: 10_000, weights: Vec::new() };
    let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("a job") };
    let lease = jobs.first().expect("a job").lease;
    let refused = PushResult::Refused(ErrorCode::Reserved, Some(id));
    assert_eq!(push(&mut client, 0, job(IfExists::Postpone, 0, "five")), refused);
    assert_eq!(finish(&mut client, lease), Response::Settled(vec![Ok(())]));
    assert_ne!(pushed(push(&mut client, 0, job(IfExists::Postpone, HOUR_MS, "six"))), id);

    let attributes = AttributesBuilder::default().postpone_max(DELAY_MS_MAX + 1).build().expect("built");
    let seven = NewJob { attributes, ..job(IfExists::Postpone, 0, "seven") };
    let too_long =
        Request::Push(Push { topic: topic("index"), sequence: 0, jobs: vec![seven], idempotency: None });
    let Response::Error(error) = client.ask(too_long) else { panic!("it is too long") };
    assert_eq!(error.code, ErrorCode::Invalid);
    assert!(error.message.contains("postpone_max is at most 315360000000 ms"), "{error}");
}

#[test]
fn a_number_that_is_used_again_for_another_job_is_refused() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &[]);
    let mut client = Raw::greeted(server.address);
    let plain = |body: &str| NewJob::new(body.to_owned());
    let id = pushed(push(&mut client, 1, plain("one")));
    assert_eq!(push(&mut client, 1, plain("one")), PushResult::Pushed(id), "a repeat");
    let refused = PushResult::Refused(ErrorCode::SequenceReused, None);
    assert_eq!(push(&mut client, 1, plain("two")), refused);
    assert!(pushed(push(&mut client, 2, plain("two"))) > id);
}
