//! The client's state, driven by hand: its output is decoded like a server does.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod again;
mod heartbeats;
mod leases;
mod undelivered;

use super::*;
use crate::requests::heartbeats::{Beat, PING_ID_MIN};
use adjourn_protocol::{
    Applied, ClusterReport, ErrorCode, ErrorReply, FrameDecoder, GoingAway, JobRef, MemberReport, NewJob,
    Push, PushResult, Reserve, Role,
};
use adjourn_types::{Fence, JobId, SessionId};

const TIMEOUT_MS: u64 = 30_000;

struct Client {
    now: Instant,
    requests: Requests,
    answers: Answers,
}

type Call = oneshot::Receiver<Outcome>;

fn welcome() -> Welcome {
    Welcome {
        version: 1,
        server_name: "test".to_owned(),
        cluster_id: [1; 16],
        session: SessionId(1),
        secret: adjourn_types::SessionSecret::default(),
        resumed: false,
        leases_kept: false,
        heartbeat_ms: 1_000,
        session_grace_ms: 10_000,
        frame_bytes_max: 70_000,
        body_bytes_max: 5_000,
        push_jobs_max: 4_096,
        leases_max: 10,
        reserve_jobs_max: 100,
        in_flight_max: 100,
        members: Vec::new(),
        clock_ms: 0,
    }
}

fn resumed() -> Welcome {
    Welcome { resumed: true, leases_kept: true, ..welcome() }
}

impl Client {
    fn new(welcome: Welcome) -> Self {
        let now = Instant::now();
        let requests = Requests::new(now, now, welcome, Some(Duration::from_millis(TIMEOUT_MS)), false);
        Self { now, requests, answers: Answers::default() }
    }

    fn call(&mut self, request: Request) -> Call {
        let call = self.requests.accept(self.now, request).unwrap();
        self.requests.pump(self.now, &mut self.answers);
        call
    }

    fn push(&mut self, jobs: usize) -> Call {
        self.call(push(jobs))
    }

    /// Requests sent since the last call, except LEASES.
    fn sent(&mut self) -> Vec<(RequestId, Request)> {
        let mut sent = self.sent_all();
        sent.retain(|(_, request)| !matches!(request, Request::Leases { .. }));
        sent
    }

    fn sent_all(&mut self) -> Vec<(RequestId, Request)> {
        let decoder = &mut FrameDecoder::new(u32::MAX);
        let mut sent = Vec::new();
        while let Some(frame) = decoder.next(&mut self.requests.wire.out).unwrap() {
            sent.push((frame.header.id, Request::decode(&frame, usize::MAX).unwrap()));
        }
        self.requests.pump(self.now, &mut self.answers);
        sent
    }

    /// The sequences of the pushes that were sent since the last call.
    fn sequences(&mut self) -> Vec<u64> {
        let sequence = |request| if let Request::Push(push) = request { Some(push.sequence) } else { None };
        self.sent().into_iter().filter_map(|(_, request)| sequence(request)).collect()
    }

    fn answer(&mut self, id: u32, response: Response) {
        self.requests.answer(self.now, RequestId(id), Ok(response), &mut self.answers);
        self.requests.pump(self.now, &mut self.answers);
        self.tell();
    }

    fn refuse(&mut self, id: u32, code: ErrorCode) {
        self.answer(id, Response::Error(ErrorReply::new(code, "no")));
    }

    fn reconnect(&mut self, welcome: Welcome) {
        self.requests.down(None, &mut self.answers);
        self.requests.up(self.now, self.now, welcome, &mut self.answers).unwrap();
        self.tell();
    }

    fn later(&mut self, wait_ms: u64) -> Instant {
        self.now += Duration::from_millis(wait_ms);
        let next = self.requests.end_late_calls(self.now, &mut self.answers).unwrap();
        self.tell();
        next
    }

    fn tell(&mut self) {
        for (waiter, outcome) in self.answers.ended.drain(..) {
            let _ = waiter.send(outcome);
        }
    }
}

/// The n-th heartbeat of a connection.
fn ping(nth: u32) -> (RequestId, Request) {
    (RequestId(PING_ID_MIN + nth), Request::Ping)
}

fn push(jobs: usize) -> Request {
    let jobs = (0..jobs).map(|n| NewJob::new(n.to_string())).collect();
    Request::Push(Push { topic: "t".parse().unwrap(), sequence: 0, jobs, idempotency: None })
}

fn pushed(jobs: u64) -> Response {
    Response::Pushed((0..jobs).map(|job| PushResult::Pushed(JobId(job))).collect())
}

fn reserve(wait_ms: u64) -> Request {
    Request::Reserve(Reserve {
        topics: vec!["t".parse().unwrap()],
        jobs_max: 1,
        wait_ms,
        weights: Vec::new(),
    })
}

fn outcome(mut call: Call) -> Result<Response, String> {
    call.try_recv().unwrap().map_err(|error| match error {
        ClientError::Refused(reply) => reply.code.to_string(),
        error => format!("{error:?}"),
    })
}

#[test]
fn numbers_follow_the_jobs_and_start_at_one() {
    let mut client = Client::new(welcome());
    let _calls = [client.push(1), client.push(3), client.push(2)];
    assert_eq!(client.sequences(), [1, 2, 5]);
}

#[test]
fn jobs_under_keys_wait_while_many_are_unanswered() {
    const MOST: usize = 4_096;
    let none = || Welcome { session: SessionId::NONE, frame_bytes_max: u32::MAX, ..welcome() };
    let mut client = Client::new(none());
    // The numbers of the keys pass 2^64 in the second push.
    client.requests.push_under_keys(u128::from(u64::MAX) - MOST as u128 - 9);
    let _calls = [client.push(MOST), client.push(MOST), client.push(MOST), client.push(1)];
    assert_eq!(client.sequences(), [0, 0]);
    client.answer(2, pushed(MOST as u64));
    assert_eq!(client.sequences(), [], "the first one may be repeated");
    client.reconnect(none());
    assert_eq!(client.sequences(), [0]);
    client.answer(1, pushed(MOST as u64));
    assert_eq!(client.sequences(), [0, 0]);
    assert!(matches!(client.requests.accept(client.now, reserve(1)), Err(ClientError::NoSession)));
}

#[test]
fn answers_in_any_order_end_the_right_call() {
    let mut client = Client::new(welcome());
    let (first, second) = (client.push(1), client.push(2));
    client.answer(2, pushed(2));
    assert_eq!(outcome(second), Ok(pushed(2)));
    client.answer(1, pushed(1));
    assert_eq!(outcome(first), Ok(pushed(1)));
}

#[test]
fn what_has_no_answer_is_sent_again_in_order_under_the_same_numbers() {
    let mut client = Client::new(welcome());
    let _calls = [client.push(1), client.push(2), client.push(3)];
    client.answer(2, pushed(2));
    let reused = client.push(1);
    client.sent();
    client.requests.down(None, &mut client.answers);
    let _new = client.push(1);
    assert_eq!(client.sent(), []);
    client.requests.up(client.now, client.now, resumed(), &mut client.answers).unwrap();
    assert_eq!(client.sequences(), [1, 4, 7, 8]);
    client.answer(2, pushed(1));
    assert_eq!(outcome(reused), Ok(pushed(1)), "the freed id was given to the next push, not its turn");
}

#[test]
fn a_lost_session_leaves_sent_pushes_unknown_and_pushes_the_rest_under_new_numbers() {
    let mut client = Client::new(Welcome { in_flight_max: 2, ..welcome() });
    let (sent, waiting) = (client.push(5), client.push(2));
    assert_eq!(client.sequences(), [1], "places are kept for what the connection asks itself");
    client.reconnect(Welcome { session: SessionId(2), in_flight_max: 2, ..welcome() });
    assert_eq!(outcome(sent), Err("OutcomeUnknown".to_owned()));
    assert_eq!(client.sequences(), [1]);
    client.answer(2, pushed(2));
    assert_eq!(outcome(waiting), Ok(pushed(2)));
}

#[test]
fn a_refusal_without_effect_is_final_unless_an_earlier_copy_is_in_doubt() {
    let mut client = Client::new(welcome());
    let once = client.push(1);
    client.refuse(1, ErrorCode::DiskFull);
    assert_eq!(outcome(once), Err("DISK_FULL".to_owned()));
    let twice = client.push(1);
    client.reconnect(resumed());
    client.refuse(1, ErrorCode::DiskFull);
    assert_eq!(outcome(twice), Err("OutcomeUnknown".to_owned()));
}

#[test]
fn a_server_that_cannot_help_is_left_and_nothing_is_lost() {
    let mut client = Client::new(welcome());
    let (asked, moved) = (client.push(1), client.call(Request::Stats));
    client.sent();
    let reply =
        ErrorReply { leader: Some("there:1".to_owned()), ..ErrorReply::new(ErrorCode::NotLeader, "no") };
    client.answer(1, Response::Error(reply));
    let held = client.push(1);
    assert_eq!(client.sent(), [], "nothing more is sent here");
    assert!(!client.requests.drained(), "an answer is outstanding");
    client.refuse(2, ErrorCode::Stopping);
    assert!(client.requests.drained());
    client.reconnect(Welcome { session: SessionId(2), ..welcome() });
    let sent: Vec<_> =
        client.sent().into_iter().map(|(id, request)| (id.0, request.opcode() as u8)).collect();
    assert_eq!(sent, [(1, 0x10), (2, 0x53), (3, 0x10)], "not applied, so pushed again even in a new session");
    drop((asked, moved, held));
}

#[test]
fn what_moves_a_job_is_not_repeated_and_what_settles_is() {
    let mut client = Client::new(welcome());
    let kick = client.call(Request::Kick(JobRef::Id(JobId(1))));
    let _finish = client.call(Request::Finish { leases: vec![Lease { job: JobId(1), fence: Fence(0) }] });
    client.sent();
    client.reconnect(resumed());
    assert_eq!(outcome(kick), Err("OutcomeUnknown".to_owned()));
    assert!(matches!(client.sent().as_slice(), [(_, Request::Finish { .. })]));
}

#[test]
fn another_cluster_is_another_queue() {
    let mut client = Client::new(welcome());
    client.requests.down(None, &mut client.answers);
    let other = Welcome { cluster_id: [2; 16], ..resumed() };
    let error = client.requests.up(client.now, client.now, other, &mut client.answers).unwrap_err();
    assert!(matches!(error, ClientError::WrongCluster { expected: [1, ..], found: [2, ..] }));
}

#[test]
fn the_server_limits_what_is_in_flight() {
    let mut client = Client::new(Welcome { in_flight_max: 5, ..welcome() });
    let _calls: Vec<_> = (0..4).map(|_| client.call(Request::Stats)).collect();
    assert_eq!(client.sent().len(), 2);
    assert_eq!(client.sent().len(), 0);
    client.refuse(1, ErrorCode::Busy);
    assert_eq!(client.sent().len(), 1);
}

#[test]
fn no_more_pushes_are_unanswered_than_the_queue_remembers() {
    let roomy = |welcome| Welcome { frame_bytes_max: 1 << 20, ..welcome };
    let mut client = Client::new(roomy(welcome()));
    let _calls: Vec<_> = (0..6).map(|_| client.push(4_096)).collect();
    assert_eq!(client.sequences(), [1, 4_097, 8_193, 12_289]);
    client.answer(2, pushed(4_096));
    assert_eq!(client.sequences().len(), 0, "the first is still in doubt");
    client.answer(1, pushed(4_096));
    assert_eq!(client.sequences(), [16_385, 20_481]);
    client.reconnect(roomy(resumed()));
    assert_eq!(client.sequences(), [8_193, 12_289, 16_385, 20_481]);
}

#[test]
fn what_the_server_would_refuse_for_its_size_is_not_sent() {
    let mut client = Client::new(Welcome { push_jobs_max: 2, ..welcome() });
    let refused = |request| match client.requests.accept(client.now, request) {
        Err(ClientError::TooLarge { what, found, max }) => Some((what, found, max)),
        _ => None,
    };
    let large = Push {
        topic: "t".parse().unwrap(),
        sequence: 0,
        jobs: vec![NewJob::new(vec![0; 5_001])],
        idempotency: None,
    };
    let leases = vec![Lease { job: JobId(1), fence: Fence(0) }; 11];
    let requests = [push(3), Request::Push(large), Request::Finish { leases }];
    let expected = [(Excess::Jobs, 3, 2), (Excess::Body, 5_001, 5_000), (Excess::Leases, 11, 10)];
    assert_eq!(requests.map(refused), expected.map(Some));
    let mut client = Client::new(Welcome { frame_bytes_max: 100, ..welcome() });
    let frame = client.push(100);
    client.tell();
    assert!(outcome(frame).unwrap_err().starts_with("TooLarge { what: Frame"));
    assert_eq!(client.sent(), []);
}

#[test]
fn a_reserve_that_is_sent_again_asks_for_the_rest_of_its_wait() {
    let mut client = Client::new(welcome());
    let call = client.call(reserve(10_000));
    client.sent();
    client.now += Duration::from_secs(4);
    client.reconnect(resumed());
    assert_eq!(client.sent(), [(RequestId(1), reserve(6_000))]);
    client.reconnect(resumed());
    drop(call);
    client.reconnect(resumed());
    client.sent();
    client.reconnect(resumed());
    assert_eq!(client.sent(), [], "nobody wants its jobs any more");
}

#[test]
fn late_calls_end_and_their_answers_harm_nobody() {
    let mut client = Client::new(welcome());
    let start = client.now;
    let (push, stats, poll) = (client.push(1), client.call(Request::Stats), client.call(reserve(5_000)));
    assert_eq!(client.later(TIMEOUT_MS - 1), start + Duration::from_millis(TIMEOUT_MS));
    assert_eq!(client.later(1), start + Duration::from_millis(TIMEOUT_MS + 5_000));
    assert_eq!(outcome(push), Err("OutcomeUnknown".to_owned()));
    assert_eq!(outcome(stats), Err(format!("Timeout {{ after_ms: {TIMEOUT_MS} }}")));
    client.sent();
    let next = client.push(1);
    assert_eq!(client.sent().first().unwrap().0, RequestId(4), "ids of late calls are in use until answered");
    client.answer(1, pushed(1));
    client.answer(4, pushed(1));
    assert_eq!(outcome(next), Ok(pushed(1)));
    client.reconnect(resumed());
    assert!(matches!(client.sent().as_slice(), [(_, Request::Reserve(_))]), "late calls are not repeated");
    drop(poll);
}

#[test]
fn a_call_that_was_never_sent_ends_without_doubt() {
    let mut client = Client::new(welcome());
    client.requests.down(None, &mut client.answers);
    let call = client.push(1);
    client.later(TIMEOUT_MS);
    assert_eq!(outcome(call), Err(format!("Timeout {{ after_ms: {TIMEOUT_MS} }}")));
    client.requests.up(client.now, client.now, resumed(), &mut client.answers).unwrap();
    assert_eq!(client.sent(), [], "it is not sent after all");
}

#[test]
fn a_server_that_goes_away_is_asked_who_else_is_there() {
    let mut client = Client::new(welcome());
    let message = "stopping".to_owned();
    client.answer(0, Response::GoingAway { message: message.clone(), reason: GoingAway::Stopping });
    assert!(!client.requests.drained(), "the question is to be sent first");
    assert_eq!(client.sent(), [(MEMBERS_ID, Request::ClusterStatus)]);
    client.answer(0, Response::GoingAway { message, reason: GoingAway::Stopping });
    assert_eq!(client.sent(), [], "once");
    assert!(client.requests.drained(), "nothing waits for the answer");
}

#[test]
fn a_broken_answer_ends_its_call_only() {
    let mut client = Client::new(welcome());
    let (short, other) = (client.push(2), client.call(Request::Stats));
    client.answer(1, pushed(1));
    assert_eq!(outcome(short), Err("Protocol(Items { asked: 2, found: 1 })".to_owned()));
    client.answer(99, pushed(1));
    client.answer(2, Response::Pong { now: adjourn_types::Millis(1), clock_ms: 0 });
    assert_eq!(
        outcome(other),
        Ok(Response::Pong { now: adjourn_types::Millis(1), clock_ms: 0 }),
        "the ticket tells them apart"
    );
}

#[test]
fn a_subscription_keeps_its_id_and_forgets_jobs_of_lost_leases() {
    let mut client = Client::new(welcome());
    let feed = Arc::new(Feed::new(8));
    let subscribe = Subscribe {
        topics: vec!["t".parse().unwrap()],
        credit_jobs: 8,
        credit_bytes: 1_000,
        weights: Vec::new(),
    };
    let (id, _call) = client.requests.subscribe(client.now, subscribe, Arc::clone(&feed)).unwrap();
    client.requests.pump(client.now, &mut client.answers);
    client.answer(id.0, Response::Subscribed);
    client.answer(id.0, Response::Deliver(vec![delivered(1), delivered(2)]));
    assert_eq!(client.requests.wire.in_flight, 0, "a subscription that stands does not count");
    client.reconnect(resumed());
    assert!(matches!(client.sent().as_slice(), [.., (again, Request::Subscribe(_))] if *again == id));
    client.reconnect(Welcome { leases_kept: false, ..resumed() });
    client.answer(id.0, Response::Deliver(vec![delivered(3)]));
    let left: Vec<u64> = feed.leave().iter().map(|job| job.lease.job.0).collect();
    assert_eq!(left, [3], "the leases of the others are over");
    client.sent();
    client.requests.unsubscribe(client.now, id);
    client.requests.pump(client.now, &mut client.answers);
    assert!(
        matches!(client.sent().as_slice(), [(_, Request::Unsubscribe { subscription })] if *subscription == id.0)
    );
    client.answer(id.0, Response::Deliver(vec![delivered(4)]));
    assert_eq!(client.answers.stray.iter().map(|lease| lease.job.0).collect::<Vec<_>>(), [4]);
    client.answer(2, Response::Done);
    assert_eq!(client.requests.open.iter_mut().count(), 0);
}

/// The answer of a leader that has lost the lead.
fn moved(applied: Applied) -> Response {
    let leader = Some("there:1".to_owned());
    Response::Error(ErrorReply { applied, leader, ..ErrorReply::new(ErrorCode::NotLeader, "moved") })
}

fn finish() -> Request {
    Request::Finish { leases: vec![Lease { job: JobId(1), fence: Fence(1) }] }
}

#[test]
fn pushes_follow_the_leader_under_their_numbers_and_in_their_order() {
    let mut client = Client::new(welcome());
    let _calls = [client.push(1), client.push(2), client.push(1), client.push(1)];
    client.sent();
    // The outcome of proposed pushes is unknown, and their answers come after those of the others.
    for id in [3, 4] {
        client.answer(id, moved(Applied::No));
    }
    for id in [1, 2] {
        client.answer(id, moved(Applied::Unknown));
    }
    let _later = client.push(1);
    assert_eq!(client.sent(), [], "nothing more is sent there");
    assert!(client.requests.drained());
    client.reconnect(resumed());
    assert_eq!(client.sequences(), [1, 2, 4, 5, 6]);
}

#[test]
fn without_its_session_what_was_proposed_is_unknown_and_what_was_not_is_pushed_anew() {
    let mut client = Client::new(welcome());
    let (proposed, waiting) = (client.push(2), client.push(1));
    client.sent();
    client.answer(1, moved(Applied::Unknown));
    client.answer(2, moved(Applied::No));
    client.reconnect(Welcome { session: SessionId(2), ..welcome() });
    assert_eq!(outcome(proposed), Err("OutcomeUnknown".to_owned()));
    assert_eq!(client.sequences(), [1], "under a new number: no copy of it was taken");
    client.answer(2, pushed(1));
    assert_eq!(outcome(waiting), Ok(pushed(1)));
}

#[test]
fn what_may_be_repeated_follows_the_leader_whatever_became_of_it() {
    for applied in [Applied::No, Applied::Unknown] {
        let mut client = Client::new(welcome());
        let (poll, done) = (client.call(reserve(10_000)), client.call(finish()));
        client.sent();
        client.now += Duration::from_secs(1);
        client.answer(1, moved(applied));
        client.answer(2, moved(applied));
        assert!(client.requests.drained());
        client.reconnect(resumed());
        assert_eq!(client.sent(), [(RequestId(1), reserve(9_000)), (RequestId(2), finish())]);
        client.answer(2, Response::Settled(vec![Ok(())]));
        assert_eq!(outcome(done), Ok(Response::Settled(vec![Ok(())])));
        drop(poll);
    }
}

#[test]
fn what_may_not_be_repeated_says_so_and_the_leader_is_followed_all_the_same() {
    let mut client = Client::new(welcome());
    let kicks = [(); 2].map(|()| client.call(Request::Kick(JobRef::Id(JobId(1)))));
    let add = client.call(Request::ClusterAdd { address: "new:2".to_owned() });
    client.sent();
    client.answer(1, moved(Applied::Unknown));
    client.answer(3, moved(Applied::Unknown));
    assert!(!client.requests.drained(), "an answer is outstanding");
    client.refuse(2, ErrorCode::NoLeader);
    let [unknown, not_applied] = kicks;
    assert_eq!(outcome(unknown), Err("NOT_LEADER".to_owned()));
    assert_eq!(outcome(add), Err("NOT_LEADER".to_owned()));
    assert!(client.requests.drained());
    assert_eq!(client.requests.elsewhere.leader.as_deref(), Some("there:1"), "the hint stands");
    client.reconnect(resumed());
    assert!(matches!(client.sent().as_slice(), [(RequestId(2), Request::Kick(_))]), "not applied: again");
    drop(not_applied);
}

#[test]
fn a_subscription_follows_the_leader_under_its_id() {
    let mut client = Client::new(welcome());
    let feed = Arc::new(Feed::new(8));
    let subscribe = Subscribe {
        topics: vec!["t".parse().unwrap()],
        credit_jobs: 8,
        credit_bytes: 1_000,
        weights: Vec::new(),
    };
    let (id, _call) = client.requests.subscribe(client.now, subscribe, Arc::clone(&feed)).unwrap();
    client.requests.pump(client.now, &mut client.answers);
    client.sent();
    client.answer(id.0, Response::Subscribed);
    client.answer(id.0, Response::Deliver(vec![delivered(1)]));
    client.answer(id.0, moved(Applied::No));
    assert!(client.requests.drained(), "it does not hold the connection");
    let done = client.call(finish());
    client.reconnect(resumed());
    let sent = client.sent();
    assert!(
        matches!(sent.as_slice(), [(again, Request::Subscribe(_)), (_, Request::Finish { .. })] if *again == id)
    );
    client.answer(id.0, Response::Subscribed);
    client.answer(id.0, Response::Deliver(vec![delivered(2)]));
    let jobs: Vec<u64> = feed.leave().iter().map(|job| job.lease.job.0).collect();
    assert_eq!(jobs, [1, 2], "the session went on, and its leases with it");
    drop(done);
}

#[test]
fn the_members_are_asked_for_now_and_then() {
    let mut client = Client::new(Welcome { heartbeat_ms: 0, ..welcome() });
    let later = |client: &mut Client| {
        client.now += Duration::from_secs(5);
        let _next = client.requests.beat(client.now);
        client.sent()
    };
    let member = |node: u64, client_address: &str, role| MemberReport {
        node,
        role,
        peer_address: String::new(),
        client_address: client_address.to_owned(),
        is_connected: true,
        matched: None,
        applied: None,
        ahead_ms: None,
        audited: 0,
        same_state: None,
    };
    let report = |members| {
        Response::Cluster(Box::new(ClusterReport {
            node: 1,
            cluster_id: [1; 16],
            leader: Some(2),
            term: 1,
            last: 1,
            commit: 1,
            feature_level: 1,
            members,
        }))
    };
    assert_eq!(client.requests.beat(client.now), Beat::Quiet(client.now + Duration::from_secs(1)));
    assert_eq!(later(&mut client), [(MEMBERS_ID, Request::ClusterStatus)]);
    assert_eq!(client.requests.beat(client.now), Beat::Quiet(client.now + Duration::from_secs(5)));
    let members =
        vec![member(1, "a:1", Role::Voter), member(2, "b:1", Role::Leader), member(3, "", Role::Learner)];
    client.answer(MEMBERS_ID.0, report(members));
    let known = |client: &Client| {
        let members = client.requests.welcome.members.iter();
        members.map(|member| (member.node, member.address.clone(), member.leader)).collect::<Vec<_>>()
    };
    let expected = [(1, "a:1".to_owned(), false), (2, "b:1".to_owned(), true)];
    assert_eq!(known(&client), expected);
    client.answer(MEMBERS_ID.0, report(Vec::new()));
    assert_eq!(known(&client), expected, "a node that knows none tells nothing");
    client.refuse(MEMBERS_ID.0, ErrorCode::Stopping);
    assert_eq!(later(&mut client).len(), 1);
    client.refuse(MEMBERS_ID.0, ErrorCode::Unsupported);
    assert_eq!(later(&mut client), [], "a server that does not know the question is left alone");
}

fn delivered(job: u64) -> adjourn_protocol::Delivered {
    adjourn_protocol::Delivered {
        lease: Lease { job: JobId(job), fence: Fence(job) },
        topic: "t".parse().unwrap(),
        key: None,
        priority: 0,
        attempts: 1,
        due: adjourn_types::Millis(0),
        ttr_left_ms: 60_000,
        deadline_ms: 0,
        attributes: adjourn_types::Attributes::default(),
        body: bytes::Bytes::new(),
    }
}
