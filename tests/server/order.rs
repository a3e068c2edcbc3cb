//! What one connection may rely on: its changes are applied in order, and each of its requests is answered once.

use std::collections::BTreeSet;
use std::num::{NonZeroU64, NonZeroU128};

use adjourn_protocol::{
    Delivered, ErrorCode, Hello, Idempotency, JobRef, NewJob, Push, PushResult, ReleaseKind, Request,
    RequestId, Reserve, Response, Subscribe,
};
use adjourn_types::{IfExists, JobId, JobState, Key, Lease, Millis, When};

use crate::server_rig::{Node, Raw, hello, push, topic};

/// Requests that are sent in one piece, and the answers in their order.
fn ask_all(client: &mut Raw, requests: &[Request]) -> Vec<Response> {
    let first = client.send(requests).expect("a server").0;
    let mut answers: Vec<_> = requests.iter().map(|_| client.receive().expect("an answer")).collect();
    answers.sort_by_key(|(id, _)| *id);
    let ids: Vec<u32> = answers.iter().map(|(id, _)| id.0 - first).collect();
    assert!((0..).take(ids.len()).eq(ids.iter().copied()), "each is answered once: {answers:?}");
    answers.into_iter().map(|(_, response)| response).collect()
}

fn reserve(name: &str, wait_ms: u64) -> Request {
    Request::Reserve(Reserve { topics: vec![topic(name)], jobs_max: 10, wait_ms, weights: Vec::new() })
}

fn subscribe(name: &str) -> Request {
    Request::Subscribe(Subscribe {
        topics: vec![topic(name)],
        credit_jobs: 10,
        credit_bytes: 1000,
        weights: Vec::new(),
    })
}

fn reserved(response: &Response) -> &[Delivered] {
    match response {
        Response::Reserved(jobs) => jobs,
        other => panic!("{other:?}"),
    }
}

fn pushed(response: &Response) -> JobId {
    match response {
        Response::Pushed(results) => match results.first() {
            Some(PushResult::Pushed(id)) => *id,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_push_from_a_web_request_is_one_commit() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let without_session = || Request::Hello(Hello { without_session: true, ..hello() });
    let mut looker = Raw::connect(node.address);
    ask_all(&mut looker, &[without_session()]);
    let mut stats = || match ask_all(&mut looker, &[Request::Stats]).as_slice() {
        [Response::Stats(stats)] => (stats.applied_index, stats.sessions, stats.totals.pushed),
        other => panic!("{other:?}"),
    };
    let idempotency = Some(Idempotency { key: NonZeroU128::new(5).expect("not 0"), list_jobs: 1 });
    let jobs = vec![NewJob::new("x")];
    let once = Request::Push(Push { topic: topic("web"), sequence: 0, jobs, idempotency });
    // The first one: a start may have entries of its own under way.
    let mut first = None;
    for repeat in 0..=3 {
        let mut web = Raw::connect(node.address);
        let answers = ask_all(&mut web, &[without_session(), once.clone(), Request::Goodbye]);
        let [Response::Welcome(welcome), push, Response::Done] = answers.as_slice() else {
            panic!("{answers:?}")
        };
        assert_eq!(welcome.resume(), None);
        let now = stats();
        let (job, (index, sessions, pushes)) = *first.get_or_insert((pushed(push), now));
        assert_eq!((job, pushes), (pushed(push), 1), "it is taken once");
        assert_eq!(now, (index + repeat, sessions, pushes), "one entry each, and no session");
    }
}

#[test]
fn a_reserve_that_does_not_wait_sees_what_was_sent_before_it() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    for round in 0..40 {
        // A topic that is not there yet, and one that is.
        let name = if round % 2 == 0 { format!("new-{round}") } else { "old".to_owned() };
        let answers = ask_all(&mut client, &[push(&name, "body", 0), reserve(&name, 0)]);
        let [answer, jobs] = answers.as_slice() else { unreachable!("two were asked") };
        let [job] = reserved(jobs) else { panic!("round {round}: {jobs:?}") };
        assert_eq!(pushed(answer), job.lease.job);

        let release = Request::Release { leases: vec![job.lease], kind: ReleaseKind::After(0), reason: None };
        let answers = ask_all(&mut client, &[release, reserve(&name, 0)]);
        let again =
            answers.last().map(|jobs| reserved(jobs).iter().map(|job| job.lease.job).collect::<Vec<_>>());
        assert_eq!(again, Some(vec![job.lease.job]), "round {round}");
        let leases: Vec<Lease> = answers.iter().skip(1).flat_map(reserved).map(|job| job.lease).collect();
        client.ask(Request::Finish { leases });
    }
}

#[test]
fn what_is_sent_behind_a_reserve_sees_what_it_took() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    for round in 0..40 {
        let id = pushed(&client.ask(push("t", "body", 0)));
        let answers = ask_all(&mut client, &[reserve("t", 0), Request::Delete(JobRef::Id(id))]);
        let [jobs, deleted] = answers.as_slice() else { unreachable!("two were asked") };
        // It was granted, and deleted before its consumer could be told of it.
        assert_eq!(reserved(jobs), []);
        let state = |response: &Response| {
            matches!(response, Response::Changed { state: Some(JobState::Reserved), .. })
        };
        assert!(state(deleted), "round {round}: {deleted:?}");
    }
}

#[test]
fn a_reserve_that_does_not_wait_sees_that_its_topic_was_paused_or_resumed() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    client.ask(push("t", "body", 0));
    for _ in 0..20 {
        let answers =
            ask_all(&mut client, &[Request::Pause { topic: topic("t"), for_ms: None }, reserve("t", 0)]);
        assert_eq!(answers.get(1).map(reserved), Some([].as_slice()));
        let refused = client.ask(reserve("t", 0));
        assert!(matches!(&refused, Response::Error(error) if error.code == ErrorCode::Paused), "{refused:?}");
        let answers = ask_all(&mut client, &[Request::Resume { topic: topic("t") }, reserve("t", 0)]);
        let [job] = answers.get(1).map(reserved).expect("an answer") else { panic!("{answers:?}") };
        client.ask(Request::Release { leases: vec![job.lease], kind: ReleaseKind::NotStarted, reason: None });
    }
}

#[test]
fn what_was_not_started_counts_as_no_attempt() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    client.ask(push("t", "body", 0));
    let mut seen = Vec::new();
    for kind in
        [ReleaseKind::NotStarted, ReleaseKind::NotStarted, ReleaseKind::After(0), ReleaseKind::NotStarted]
    {
        let answer = client.ask(reserve("t", 10_000));
        let [job] = reserved(&answer) else { panic!("{answer:?}") };
        seen.push(job.attempts);
        client.ask(Request::Release { leases: vec![job.lease], kind, reason: None });
    }
    assert_eq!(seen, [1, 1, 1, 2]);
}

#[test]
fn a_version_never_comes_again() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    let [one, other] = [1, 2].map(|hours| When::At(Millis(4_000_000_000_000 + hours * 3_600_000)));
    let key: Key = "k".parse().expect("a key");
    let keyed = || {
        let job =
            NewJob { due: one, key: Some(key.clone()), if_exists: IfExists::Replace, ..NewJob::new("body") };
        Request::Push(Push { topic: topic("t"), sequence: 0, jobs: vec![job], idempotency: None })
    };
    let job = || JobRef::Key { topic: topic("t"), key: key.clone() };
    client.ask(keyed());
    let Response::Job(first) = client.ask(Request::Get(job())) else { panic!("it lives") };
    let mut seen = BTreeSet::from([first.version]);
    // There, back again, and again to where it was, and made anew.
    for step in [Some(other), Some(one), Some(one), None] {
        let request = match step {
            Some(due) => Request::Reschedule { job: job(), due, if_version: None },
            None => keyed(),
        };
        client.ask(request);
        let Response::Job(now) = client.ask(Request::Get(job())) else { panic!("it lives") };
        assert!(seen.insert(now.version), "{step:?}: {now:?}");
        assert_eq!(now.due == first.due, step != Some(other), "{now:?}");
        let stale = NonZeroU64::new(first.version);
        let refused = client.ask(Request::Reschedule { job: job(), due: other, if_version: stale });
        assert!(
            matches!(&refused, Response::Error(error) if error.code == ErrorCode::Changed),
            "{refused:?}"
        );
    }
}

#[test]
fn goodbye_answers_whoever_waits_and_ends_subscriptions() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    let first = client.send(&[reserve("t", 60_000), subscribe("t"), Request::Goodbye]).expect("a server").0;
    let answers: Vec<_> = (0..4).map(|_| client.receive().expect("an answer")).collect();
    let [(sub, Response::Subscribed), (poll, empty), (ended, Response::Error(error)), (bye, Response::Done)] =
        answers.as_slice()
    else {
        panic!("{answers:?}")
    };
    assert_eq!([sub, poll, ended, bye].map(|id| id.0 - first), [1, 0, 1, 2]);
    assert_eq!((empty, error.code), (&Response::Reserved(Vec::new()), ErrorCode::SessionUnknown));
}

#[test]
fn a_session_that_is_taken_over_answers_whoever_waits_and_ends_subscriptions() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::connect(node.address);
    let welcome = client.greet(hello());
    let first = client.send(&[subscribe("t"), reserve("t", 60_000)]).expect("a server").0;
    assert_eq!(client.receive(), Some((RequestId(first), Response::Subscribed)));
    // The RESERVE behind this is looked at before PING is answered.
    assert!(client.is_alive());
    let resume = welcome.resume();
    let mut second = Raw::connect(node.address);
    assert!(second.greet(Hello { resume, ..hello() }).resumed);
    let mut answers: Vec<_> = std::iter::from_fn(|| client.receive()).collect();
    answers.sort_by_key(|(id, _)| *id);
    let [(RequestId(0), Response::GoingAway { .. }), (subscription, Response::Error(error)), (poll, empty)] =
        answers.as_slice()
    else {
        panic!("{answers:?}")
    };
    assert_eq!((subscription.0, error.code), (first, ErrorCode::SessionUnknown));
    assert_eq!((poll.0, empty), (first + 1, &Response::Reserved(Vec::new())));
}

#[test]
fn kinds_that_are_not_known_are_unsupported() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    let mut bytes = bytes::BytesMut::new();
    let expires = adjourn_types::AttributesBuilder::default().expires(adjourn_types::When::After(60_000));
    let jobs = vec![NewJob { attributes: expires.build().expect("valid"), ..NewJob::new("body") }];
    Request::Push(Push { topic: topic("t"), sequence: 0, jobs, idempotency: None })
        .encode(RequestId(77), &mut bytes);
    // The kind stands behind the tag and the length of the attribute.
    let at = bytes.windows(4).position(|at| at == [0x02, 0x80, 9, 0]).expect("it has the attribute") + 4;
    *bytes.get_mut(at).expect("a kind") = 9;
    client.send_bytes(&bytes);
    let Some((RequestId(77), Response::Error(error))) = client.receive() else { panic!("refused") };
    assert_eq!(error.code, ErrorCode::Unsupported, "{error}");
    assert!(client.is_alive());
}

#[test]
fn a_wish_for_a_heartbeat_is_honoured_within_bounds() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    for (wish_ms, given_ms) in [(0, 10_000), (1, 100), (250, 250), (10_001, 10_001), (u32::MAX, 60_000)] {
        let mut client = Raw::connect(node.address);
        assert_eq!(client.greet(Hello { heartbeat_ms: wish_ms, ..hello() }).heartbeat_ms, given_ms);
    }
    let mut silent = Raw::connect(node.address);
    silent.greet(Hello { heartbeat_ms: 100, ..hello() });
    assert!(silent.farewell().contains("200 ms"), "it is closed after twice that time");
}
