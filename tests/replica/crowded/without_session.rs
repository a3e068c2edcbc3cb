//! Connections that want no session: what they do costs the log nothing but their changes.

use std::num::NonZeroU128;

use adjourn_protocol::{
    ErrorCode, Hello, Idempotency, JobRef, NewJob, Push, PushResult, Request, RequestId, Reserve, Response,
    Subscribe, Welcome,
};
use adjourn_replica::{ConnectionId, Input, Permit};
use adjourn_types::{JobId, SessionId};

use super::rig::{GRACE_MS, Rig, hello, jobs};

const HELLO: u32 = 1;
const PUSH: u32 = 2;
const STATS: u32 = 3;
const GOODBYE: u32 = 4;

fn without_session() -> Request {
    Request::Hello(Hello { without_session: true, ..hello() })
}

/// A push that is taken once, however often it is sent.
fn push_once() -> Request {
    let key = NonZeroU128::new(77).expect("not 0");
    let idempotency = Some(Idempotency { key, list_jobs: 1 });
    let topic = "jobs".parse().expect("a name");
    Request::Push(Push { topic, sequence: 0, jobs: vec![NewJob::new("x")], idempotency })
}

fn numbered_push() -> Request {
    let topic = "jobs".parse().expect("a name");
    Request::Push(Push { topic, sequence: 1, jobs: vec![NewJob::new("x")], idempotency: None })
}

fn reserve() -> Request {
    Request::Reserve(Reserve { topics: jobs(), jobs_max: 1, wait_ms: 0, weights: Vec::new() })
}

/// One packet with all of these.
fn ask_all(rig: &mut Rig, connection: ConnectionId, requests: Vec<(u32, Request)>) {
    let requests = requests.into_iter().map(|(id, request)| (RequestId(id), request)).collect();
    let input = Input::Requests { connection, from: None, requests, permit: Permit::default() };
    rig.replica.handle(rig.at, input);
    rig.poll();
}

fn welcome(rig: &Rig, connection: ConnectionId, id: u32) -> &Welcome {
    match rig.answer(connection, id) {
        Response::Welcome(welcome) => welcome,
        other => panic!("{other:?}"),
    }
}

/// The ids of what was answered, in the order of the answers.
fn order(rig: &Rig, connection: ConnectionId) -> Vec<u32> {
    rig.answers.iter().filter(|(to, ..)| *to == connection).map(|(_, id, _)| id.0).collect()
}

/// How many sessions the queue knows.
fn sessions(rig: &mut Rig, connection: ConnectionId) -> u32 {
    rig.ask(connection, 900, Request::Stats);
    match rig.answers.pop() {
        Some((.., Response::Stats(stats))) => stats.sessions,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_push_from_a_web_request_is_one_commit_and_is_taken_once() {
    let mut rig = Rig::new();
    let mut pushed = Vec::new();
    for number in [1, 2] {
        let web = rig.open(number);
        ask_all(
            &mut rig,
            web,
            vec![(HELLO, without_session()), (PUSH, push_once()), (GOODBYE, Request::Goodbye)],
        );
        assert_eq!(order(&rig, web), [HELLO], "it needs nothing of the disk");
        assert_eq!(welcome(&rig, web, HELLO).session, SessionId::NONE);
        assert_eq!(rig.orders.len(), 1, "one write");
        rig.written();
        assert_eq!(order(&rig, web), [HELLO, PUSH, GOODBYE]);
        assert_eq!(*rig.answer(web, GOODBYE), Response::Done);
        assert_eq!(rig.orders.len(), 0, "and no other one");
        pushed.push(rig.answer(web, PUSH).clone());
        rig.disconnect(web);
    }
    assert_eq!(pushed, vec![Response::Pushed(vec![PushResult::Pushed(JobId(1))]); 2]);
    let looker = rig.open(3);
    rig.ask(looker, HELLO, without_session());
    assert_eq!((rig.ready(looker), sessions(&mut rig, looker)), (1, 0));
    rig.pass(GRACE_MS + 1);
    assert_eq!(rig.orders.len(), 0, "nobody has a grace that ends");
}

#[test]
fn reads_and_management_need_no_session() {
    let mut rig = Rig::new();
    let looker = rig.open(1);
    ask_all(&mut rig, looker, vec![(HELLO, without_session()), (STATS, Request::Stats)]);
    assert!(matches!(rig.answer(looker, STATS), Response::Stats(_)));
    assert_eq!(rig.orders.len(), 0);
    rig.push(looker, PUSH, "jobs", 1);
    rig.settle();
    rig.pushed(looker, PUSH);
    rig.ask(looker, 5, Request::Pause { topic: "jobs".parse().expect("a name"), for_ms: None });
    rig.settle();
    assert_eq!(*rig.answer(looker, 5), Response::Done);
}

#[test]
fn what_needs_a_session_is_refused() {
    let mut rig = Rig::new();
    let client = rig.open(1);
    rig.ask(client, HELLO, without_session());
    let subscribe = Subscribe { topics: jobs(), credit_jobs: 1, credit_bytes: 1 << 20, weights: Vec::new() };
    let refused = [
        reserve(),
        Request::ReserveJob(JobRef::Id(JobId(1))),
        Request::Subscribe(subscribe),
        Request::Leases { after: JobId(0), jobs_max: 1 },
        numbered_push(),
    ];
    for (id, request) in (10..).zip(refused) {
        rig.ask(client, id, request);
        assert_eq!(rig.refusal(client, id), Some(ErrorCode::Invalid), "request {id}");
    }
    assert_eq!(rig.orders.len(), 0);
    for (id, hello) in (20..).zip([without_session(), Request::Hello(hello())]) {
        rig.ask(client, id, hello);
        assert_eq!(rig.refusal(client, id), Some(ErrorCode::Invalid), "it was said before");
    }
}

#[test]
fn goodbye_is_answered_last_and_ends_the_talk() {
    let mut rig = Rig::new();
    let client = rig.open(1);
    let after = 9;
    let all = [without_session(), push_once(), Request::Stats, Request::Goodbye, Request::Stats];
    ask_all(&mut rig, client, [HELLO, PUSH, STATS, GOODBYE, after].into_iter().zip(all).collect());
    assert_eq!(rig.refusal(client, after), Some(ErrorCode::SessionUnknown));
    assert!(!rig.is_answered(client, GOODBYE), "the push is under way");
    rig.settle();
    assert_eq!(order(&rig, client).last(), Some(&GOODBYE));
    assert_eq!(rig.answered, 5, "each once");
    rig.ask(client, 10, without_session());
    assert_eq!(rig.refusal(client, 10), Some(ErrorCode::Invalid));
}
