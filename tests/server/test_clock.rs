//! The clock of a server for tests: it stands still until a test moves it, and then everything that is due is there.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::path::Path;
use std::time::Duration;

use adjourn_client::{Client, ClientConfig};
use adjourn_protocol::{Advance, Delivered, ErrorCode, ErrorReply, Request, Reserve, Response, Subscribe};
use adjourn_server::config::{ClockChoice, Config};
use adjourn_server::testing::TestServer;
use adjourn_types::{AttributesBuilder, Key, Millis, When};

use crate::server_rig::{Node, Raw, hello, push, topic};

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const DAY: u64 = 24 * 60 * MINUTE;

/// A server in memory whose clock stands still. There is no directory that it could use.
fn still() -> Node {
    still_with(|_| {})
}

fn still_with(change: impl FnOnce(&mut Config)) -> Node {
    Node::start(Path::new("/nowhere/at/all"), |config| {
        (config.memory, config.clock) = (true, ClockChoice::Manual);
        change(config);
    })
}

fn reserve(name: &str, wait_ms: u64) -> Request {
    Request::Reserve(Reserve { topics: vec![topic(name)], jobs_max: 10, wait_ms, weights: Vec::new() })
}

fn reserved(client: &mut Raw, name: &str) -> Vec<Delivered> {
    match client.ask(reserve(name, 0)) {
        Response::Reserved(jobs) => jobs,
        other => panic!("{other:?}"),
    }
}

fn pong(response: Response) -> (Millis, u64) {
    match response {
        Response::Pong { now, clock_ms } => (now, clock_ms),
        other => panic!("{other:?}"),
    }
}

fn now(client: &mut Raw) -> (Millis, u64) {
    pong(client.ask(Request::Ping))
}

fn advance(client: &mut Raw, by_ms: u64) -> (Millis, u64) {
    pong(client.ask(Request::Advance(Advance::By(by_ms))))
}

fn refusal(client: &mut Raw, request: Request) -> ErrorReply {
    match client.ask(request) {
        Response::Error(error) => error,
        other => panic!("{other:?}"),
    }
}

/// The answer to a request that was sent before.
fn receive(client: &mut Raw) -> Response {
    client.receive().expect("an answer").1
}

/// Sends a request that waits, and makes sure that the server has it.
fn send_waiting(client: &mut Raw, request: Request) {
    let first = client.send(&[request, Request::Ping]).expect("a server");
    let (id, answer) = client.receive().expect("an answer");
    assert_eq!(id.0, first.0 + 1, "the first request waits: {answer:?}");
}

#[test]
fn a_job_is_there_when_the_clock_is_moved_to_its_due_time_and_not_before() {
    let node = still();
    let mut client = Raw::greeted(node.address);
    let (began, clock_ms) = now(&mut client);
    client.ask(push("mails", "later", 15 * MINUTE));
    assert_eq!(reserved(&mut client, "mails"), []);
    advance(&mut client, 15 * MINUTE - 1);
    assert_eq!(reserved(&mut client, "mails"), [], "a millisecond is missing");
    let moved = advance(&mut client, 1);
    assert_eq!(moved, (began.after(15 * MINUTE), clock_ms + 15 * MINUTE));
    let jobs = reserved(&mut client, "mails");
    assert_eq!(jobs.iter().map(|job| (job.due, job.attempts)).collect::<Vec<_>>(), [(moved.0, 1)]);
    assert_eq!(now(&mut client), moved, "it stands still");
}

#[test]
fn those_who_wait_get_a_job_when_the_clock_is_moved() {
    let node = still();
    let (mut operator, mut poll, mut stream) =
        (Raw::greeted(node.address), Raw::greeted(node.address), Raw::greeted(node.address));
    operator.ask(push("polled", "a", DAY));
    operator.ask(push("streamed", "b", DAY));
    send_waiting(&mut poll, reserve("polled", 30 * MINUTE));
    let subscribe =
        Subscribe { topics: vec![topic("streamed")], credit_jobs: 9, credit_bytes: 1 << 20, weights: vec![] };
    assert_eq!(stream.ask(Request::Subscribe(subscribe)), Response::Subscribed);
    // Far beyond what the first one waits: that is its patience, not the queue's time.
    advance(&mut operator, DAY);
    let Response::Reserved(jobs) = receive(&mut poll) else { panic!("no answer to RESERVE") };
    assert_eq!(jobs.len(), 1);
    let Response::Deliver(jobs) = receive(&mut stream) else { panic!("no delivery") };
    assert_eq!(jobs.len(), 1);
}

#[test]
fn the_next_step_goes_to_the_due_time_of_the_next_job() {
    let node = still();
    let mut client = Raw::greeted(node.address);
    let (began, _) = now(&mut client);
    client.ask(push("slow", "", 20 * MINUTE + 7));
    client.ask(push("slow", "", 20 * MINUTE + 7));
    client.ask(push("fast", "", 10 * MINUTE + 3));
    let leased = push("leased", "", 0);
    client.ask(leased);
    assert_eq!(reserved(&mut client, "leased").len(), 1, "the end of a lease is no due time");
    for (name, jobs, after_ms) in [("fast", 1, 10 * MINUTE + 3), ("slow", 2, 20 * MINUTE + 7)] {
        let (at, _) = pong(client.ask(Request::Advance(Advance::ToNext)));
        assert_eq!(at, began.after(after_ms), "{name}");
        assert_eq!(reserved(&mut client, name).len(), jobs, "{name}");
    }
    let before = now(&mut client);
    let refused = refusal(&mut client, Request::Advance(Advance::ToNext));
    assert_eq!((refused.code, now(&mut client)), (ErrorCode::NotFound, before), "{refused:?}");
}

#[test]
fn a_lease_ends_when_the_clock_is_moved_to_its_deadline() {
    let node = still();
    let mut client = Raw::greeted(node.address);
    client.ask(push("mails", "", 0));
    let [job] = &reserved(&mut client, "mails")[..] else { panic!("no job") };
    assert_eq!(u64::from(job.ttr_left_ms), MINUTE, "no time has passed since the grant");
    assert_eq!(job.deadline_ms, 0, "a client's clock runs, so it cannot count from one that does not");
    advance(&mut client, MINUTE - 1);
    assert_eq!(reserved(&mut client, "mails"), []);
    advance(&mut client, 1);
    let [again] = &reserved(&mut client, "mails")[..] else { panic!("no job") };
    assert_eq!((again.lease.job, again.attempts), (job.lease.job, 2));
    let Response::Settled(results) = client.ask(Request::Finish { leases: vec![job.lease] }) else {
        panic!("not settled")
    };
    assert_eq!(results, [Err(ErrorCode::StaleLease)]);
}

#[test]
fn the_grace_of_a_session_is_the_queue_s_time() {
    let node = still();
    let mut operator = Raw::greeted(node.address);
    let mut gone = Raw::greeted(node.address);
    operator.ask(push("mails", "", 0));
    assert_eq!(reserved(&mut gone, "mails").len(), 1);
    drop(gone);
    while operator.connections().len() > 1 {}
    // Shorter than the lease.
    let grace_ms = Config::default().session_grace_ms;
    assert!(grace_ms < MINUTE);
    advance(&mut operator, grace_ms - 1);
    assert_eq!(reserved(&mut operator, "mails"), []);
    advance(&mut operator, 1);
    assert_eq!(reserved(&mut operator, "mails").len(), 1);
}

#[test]
fn a_connected_client_stays_connected_over_days() {
    let server_side = still_with(|config| config.heartbeat_ms = 60_000);
    let mut operator = Raw::greeted(server_side.address);
    let mut raw = Raw::greeted(server_side.address);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let client = runtime
        .block_on(Client::connect(ClientConfig::new(server_side.address.to_string())))
        .expect("connected");
    let session = client.welcome().session;
    let (before, _) = now(&mut operator);
    advance(&mut operator, 10 * DAY);
    assert_eq!(runtime.block_on(client.ping()).expect("an answer"), before.after(10 * DAY));
    assert_eq!((client.reconnects(), client.welcome().session), (0, session));
    assert!(raw.is_alive());
    runtime.block_on(client.close()).expect("closed");
}

#[test]
fn everything_is_there_at_once_however_much_is_due() {
    const JOBS: u64 = 20_000;
    let node = still();
    let mut client = Raw::greeted(node.address);
    for part in 0..JOBS / 1000 {
        let Request::Push(mut all) = push("many", "x", 0) else { unreachable!() };
        let job = all.jobs.remove(0);
        all.jobs = (0..1000).map(|nth| job.clone().after((part * 1000 + nth) * 97 + 1)).collect();
        client.ask(Request::Push(all));
    }
    let ready = |client: &mut Raw| match client.ask(Request::Topics) {
        Response::Topics(topics) => topics.iter().map(|topic| topic.totals.ready).sum::<u64>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(ready(&mut client), 0);
    advance(&mut client, JOBS / 2 * 97);
    assert_eq!(ready(&mut client), JOBS / 2);
    advance(&mut client, DAY);
    assert_eq!(ready(&mut client), JOBS);
}

#[test]
fn what_is_sent_before_keeps_the_time_before() {
    let node = still();
    let mut client = Raw::greeted(node.address);
    let (began, _) = now(&mut client);
    let advance = Request::Advance(Advance::By(MINUTE));
    let keyed = |name: &str, delay_ms| {
        let Request::Push(mut one) = push("mails", "", delay_ms) else { unreachable!() };
        one.jobs.iter_mut().for_each(|job| job.key = Some(Key::new(name.to_owned().into()).expect("a key")));
        Request::Push(one)
    };
    // All in one write.
    client.send(&[keyed("before", MINUTE), advance, keyed("after", MINUTE)]).expect("a server");
    (0..3).for_each(|_| drop(receive(&mut client)));
    let jobs = reserved(&mut client, "mails");
    assert_eq!(jobs.iter().map(|job| job.due).collect::<Vec<_>>(), [began.after(MINUTE)]);
    pong(client.ask(Request::Advance(Advance::ToNext)));
    assert_eq!(reserved(&mut client, "mails")[0].due, began.after(2 * MINUTE));
}

#[test]
fn the_answer_comes_when_what_was_sent_before_has_become_due_too() {
    let node = still();
    let (mut client, mut other) = (Raw::greeted(node.address), Raw::greeted(node.address));
    for nth in 0..50 {
        let advance = Request::Advance(Advance::By(MINUTE));
        client.send(&[push("mails", "", MINUTE), advance]).expect("a server");
        let first = receive(&mut client);
        let is_early = matches!(first, Response::Pong { .. });
        let Response::Topics(topics) = other.ask(Request::Topics) else { panic!("no counts") };
        let second = receive(&mut client);
        assert!(is_early || matches!(second, Response::Pong { .. }), "{first:?}, {second:?}");
        let Response::Topics(now) = other.ask(Request::Topics) else { panic!("no counts") };
        let seen = if is_early { &topics } else { &now };
        assert_eq!(seen.iter().map(|topic| topic.totals.ready).sum::<u64>(), nth + 1, "after {first:?}");
    }
}

#[test]
fn absolute_times_releases_and_expiry_follow_the_clock() {
    let node = still();
    let mut client = Raw::greeted(node.address);
    let (began, _) = now(&mut client);
    let Request::Push(mut at) = push("at", "", 0) else { unreachable!() };
    at.jobs.iter_mut().for_each(|job| job.due = When::At(began.after(DAY)));
    client.ask(Request::Push(at));
    advance(&mut client, DAY - 1);
    assert_eq!(reserved(&mut client, "at"), []);
    advance(&mut client, 1);
    let [job] = &reserved(&mut client, "at")[..] else { panic!("no job") };
    let release = adjourn_protocol::ReleaseKind::After(DAY);
    client.ask(Request::Release { kind: release, leases: vec![job.lease], reason: None });
    let (next, _) = pong(client.ask(Request::Advance(Advance::ToNext)));
    assert_eq!(next, began.after(2 * DAY));
    assert_eq!(reserved(&mut client, "at")[0].attempts, 2);
    let Request::Push(mut short) = push("short", "", 0) else { unreachable!() };
    let expires = AttributesBuilder::default().expires(When::After(MINUTE)).build().expect("attributes");
    short.jobs.iter_mut().for_each(|job| job.attributes = expires.clone());
    client.ask(Request::Push(short));
    advance(&mut client, MINUTE - 1);
    let Response::Topics(topics) = client.ask(Request::Topics) else { panic!("no topics") };
    assert_eq!(topics.iter().map(|topic| (topic.totals.ready, topic.totals.expired)).max(), Some((1, 0)));
    advance(&mut client, 1);
    assert_eq!(reserved(&mut client, "short"), []);
}

#[test]
fn a_server_whose_clock_is_the_machine_s_refuses() {
    let folder = tempfile::tempdir().expect("a folder");
    let on_disk = Node::start(&folder.path().join("data"), |_| {});
    let in_memory = Node::start(Path::new("/nowhere"), |config| config.memory = true);
    for node in [on_disk, in_memory] {
        let mut client = Raw::greeted(node.address);
        let (before, _) = now(&mut client);
        for step in [Advance::By(DAY), Advance::ToNext] {
            let refused = refusal(&mut client, Request::Advance(step));
            assert_eq!(refused.code, ErrorCode::Unsupported);
            assert!(refused.message.contains("--memory --clock manual"), "{refused:?}");
        }
        assert!(now(&mut client).0 < before.after(DAY));
    }
}

#[test]
fn a_token_without_the_right_to_the_server_moves_no_clock() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens.toml");
    let [shop, operator] =
        crate::http::tokens_in(&file, [&["--allow", "push,consume,read,manage"], &["--allow", "admin"]]);
    let node = still_with(|config| config.tokens_file = Some(file));
    let mut greeted = [shop, operator].map(|token| {
        let mut client = Raw::connect(node.address);
        client.greet(adjourn_protocol::Hello { token: bytes::Bytes::from(token).into(), ..hello() });
        client
    });
    let refused = refusal(&mut greeted[0], Request::Advance(Advance::By(1)));
    assert_eq!(refused.code, ErrorCode::Forbidden);
    advance(&mut greeted[1], 1);
}

#[tokio::test]
async fn a_test_of_a_program_has_a_server_of_its_own() {
    let server = TestServer::start().await.expect("started");
    let client = Client::connect(ClientConfig::new(server.address().to_string())).await.expect("connected");
    let began = server.now().await.expect("a time");
    client
        .push_one(&topic("mails"), adjourn_protocol::NewJob::new("a").after(15 * MINUTE))
        .await
        .expect("pushed");
    client.push_one(&topic("mails"), adjourn_protocol::NewJob::new("b").after(DAY)).await.expect("pushed");
    let reserve = || async {
        let Request::Reserve(reserve) = reserve("mails", 0) else { unreachable!() };
        client.reserve(reserve).await.expect("an answer").len()
    };
    assert_eq!(reserve().await, 0);
    assert_eq!(server.advance(Duration::from_mins(15)).await, Ok(began.after(15 * MINUTE)));
    assert_eq!(reserve().await, 1);
    assert_eq!(server.advance_to_next().await, Ok(began.after(DAY)));
    assert_eq!(reserve().await, 1);
    assert_eq!(client.advance(Advance::By(5)).await.expect("moved"), began.after(DAY + 5));
    let too_far = server.advance(Duration::MAX).await.expect_err("too far");
    assert_eq!(too_far.code, ErrorCode::Invalid);
    let address = server.address();
    drop(server);
    drop(client);
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
