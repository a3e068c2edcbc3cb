//! Tenants that share a queue and try to hurt one another: with requests that cost more than they look, with the jobs of others,
//! and with what all of them share.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::num::NonZeroU128;
use std::sync::Arc;

use adjourn_protocol::{
    ErrorCode, Idempotency, JobRef, NewJob, Push, PushResult, ReleaseKind, Request, RequestId, Response,
};
use adjourn_replica::{Arrival, ConnectionId, Input, Permit};
use adjourn_types::limits::{IDEMPOTENT_LIST_JOBS_MAX, LEASES_MAX};
use adjourn_types::{
    Access, Fence, IfExists, JobId, Key, Lease, PolicyChange, SessionSecret, TopicName, TopicPolicy,
};

use super::rig::{Rig, hello};

/// Longer than what a cache of blocks keeps: each job is a block of its own, and is read each time.
const BODY_BYTES: usize = 70 << 10;
const JOBS: usize = 200;
/// No turn reads more blocks than this.
const READS_PER_TURN_MAX: u64 = 40;
const THREE_HOURS_MS: u64 = 3 * 3_600_000;

/// A queue with many large jobs of a shop that are not in memory.
struct Spilled {
    rig: Rig,
    shop: ConnectionId,
    thief: ConnectionId,
    jobs: Vec<JobId>,
}

fn topic(name: &str) -> TopicName {
    name.parse().expect("a name")
}

fn key(number: usize) -> Key {
    format!("key {number}").parse().expect("a key")
}

fn large(number: usize) -> NewJob {
    NewJob::new(vec![b'x'; BODY_BYTES]).after(THREE_HOURS_MS).key(key(number))
}

fn connect(rig: &mut Rig, number: u64, access: Access) -> ConnectionId {
    let arrival = Arrival { access: Arc::new(access), ..Arrival::open(SessionSecret([3; 16]), "10.0.0.9:1") };
    let client = rig.open_as(number, arrival);
    rig.ask(client, 0, Request::Hello(hello()));
    rig.settle();
    client
}

fn access(token: &str, topics: &str) -> Access {
    let grants = vec![format!("push,consume,read,manage:{topics}").parse().expect("a grant")];
    Access { token: token.to_owned(), grants, ..Access::open() }
}

fn push(name: &str, jobs: Vec<NewJob>) -> Push {
    Push { topic: topic(name), sequence: 0, jobs, idempotency: None }
}

/// All of these come at once, with ids from 1 on.
fn hand(rig: &mut Rig, connection: ConnectionId, requests: Vec<Request>) {
    let requests = (1..).map(RequestId).zip(requests).collect();
    rig.replica
        .handle(rig.at, Input::Requests { connection, from: None, requests, permit: Permit::default() });
}

fn results(rig: &Rig, connection: ConnectionId, id: u32) -> Vec<PushResult> {
    match rig.answer(connection, id) {
        Response::Pushed(results) => results.clone(),
        other => panic!("{other:?}"),
    }
}

impl Spilled {
    fn new() -> Self {
        let mut rig = Rig::with_checkpoints(256 << 10);
        let shop = connect(&mut rig, 1, access("shop", "shop.*"));
        let thief = connect(&mut rig, 2, access("thief", "thief.*"));
        let mut jobs = Vec::new();
        for (id, number) in (1..).zip(0..JOBS) {
            rig.ask(shop, id, Request::Push(push("shop.a", vec![large(number)])));
            rig.settle();
            jobs.push(rig.pushed(shop, id));
            rig.write_checkpoints();
        }
        let mut spilled = Self { rig, shop, thief, jobs };
        let reads = spilled.reads();
        spilled.rig.ask(shop, 900, Request::Get(JobRef::Id(spilled.jobs[JOBS / 2])));
        assert!(spilled.reads() > reads, "the jobs are not in memory");
        spilled.rig.answers.clear();
        spilled
    }

    /// Blocks and pieces of indexes that were read, all in all.
    fn reads(&self) -> u64 {
        self.rig.folder.reads()
    }

    /// Turns until the shop has an answer to a small push.
    fn turns_of_a_push(&mut self, id: u32) -> usize {
        self.rig.push(self.shop, id, "shop.b", 10);
        let mut turns = 1;
        while !self.rig.is_answered(self.shop, id) {
            self.turn();
            turns += 1;
            assert!(turns < 1_000, "the others are not heard");
        }
        turns
    }

    /// A turn, and a disk that is fast. No turn reads much.
    fn turn(&mut self) {
        let reads = self.reads();
        self.rig.poll();
        let read = self.reads() - reads;
        assert!(read <= READS_PER_TURN_MAX, "one turn read {read} times");
        if !self.rig.orders.is_empty() {
            let reads = self.reads();
            self.rig.written();
            let read = self.reads() - reads;
            assert!(read <= READS_PER_TURN_MAX, "one turn read {read} times");
        }
    }

    /// Goes on until the last of these requests is answered. How many turns that takes.
    fn turns_until(&mut self, client: ConnectionId, last: u32) -> usize {
        let mut turns = 0;
        while !self.rig.is_answered(client, last) {
            self.turn();
            turns += 1;
            assert!(turns < 10_000, "it is never done");
        }
        turns
    }
}

#[test]
fn leases_that_name_spilled_jobs_have_nothing_read() {
    let mut scene = Spilled::new();
    let named = scene.jobs.iter().cycle().take(LEASES_MAX);
    let leases: Vec<Lease> = named.map(|job| Lease { job: *job, fence: Fence(1) }).collect();
    let reads = scene.reads();
    let requests = vec![
        Request::Finish { leases: leases.clone() },
        Request::Release { leases: leases.clone(), kind: ReleaseKind::Backoff, reason: None },
        Request::Touch { leases: leases.clone(), ttr_ms: None },
        Request::Bury { leases, reason: None },
    ];
    hand(&mut scene.rig, scene.thief, requests);
    scene.turns_until(scene.thief, 4);
    assert_eq!(scene.reads(), reads);
    for id in 1..=4 {
        let Response::Settled(settled) = scene.rig.answer(scene.thief, id) else { panic!("not settled") };
        assert!(
            settled.len() == LEASES_MAX && settled.iter().all(|lease| *lease == Err(ErrorCode::StaleLease))
        );
    }
}

#[test]
fn requests_that_have_jobs_read_leave_others_their_turns() {
    let mut scene = Spilled::new();
    let deletes: Vec<Request> =
        scene.jobs.iter().cycle().take(2_000).map(|job| Request::Delete(JobRef::Id(*job))).collect();
    hand(&mut scene.rig, scene.thief, deletes);
    let turns = scene.turns_of_a_push(901);
    assert!(turns <= 4, "the other waited for {turns} turns");
    assert!(!scene.rig.is_answered(scene.thief, 1_000));
    scene.turns_until(scene.thief, 2_000);
    assert_eq!(scene.rig.refusal(scene.thief, 1_500), Some(ErrorCode::NotFound));
    scene.rig.ask(scene.shop, 902, Request::Get(JobRef::Id(scene.jobs[0])));
    assert!(matches!(scene.rig.answer(scene.shop, 902), Response::Job(_)), "it is still there");
}

#[test]
fn what_one_asked_for_that_is_gone_is_done_in_turns() {
    let mut scene = Spilled::new();
    let mut requests: Vec<Request> =
        scene.jobs.iter().cycle().take(2_000).map(|job| Request::Delete(JobRef::Id(*job))).collect();
    requests.push(Request::Push(push("thief.a", vec![NewJob::new("last").key(key(1))])));
    hand(&mut scene.rig, scene.thief, requests);
    let reads = scene.reads();
    scene.rig.replica.handle(scene.rig.at, Input::Disconnected { connection: scene.thief });
    assert!(scene.reads() - reads <= READS_PER_TURN_MAX, "all of it was done at once");
    let turns = scene.turns_of_a_push(901);
    assert!(turns <= 4, "the other waited for {turns} turns");
    assert!(scene.reads() - reads < 1_000, "the rest waits for more turns");
    let again = connect(&mut scene.rig, 3, access("thief", "thief.*"));
    let mut asks = 0;
    loop {
        asks += 1;
        scene.rig.ask(again, asks, Request::Get(JobRef::Key { topic: topic("thief.a"), key: key(1) }));
        scene.turns_until(again, asks);
        if matches!(scene.rig.answer(again, asks), Response::Job(_)) {
            break;
        }
        assert!(asks < 5_000, "what it asked for last is not done");
    }
}

#[test]
fn a_push_with_the_keys_of_many_spilled_jobs_is_taken_in_parts() {
    let mut scene = Spilled::new();
    let jobs =
        (0..JOBS).map(|number| NewJob { if_exists: IfExists::Keep, ..NewJob::new("").key(key(number)) });
    let mut jobs: Vec<NewJob> = jobs.collect();
    jobs.push(NewJob::new("new").key(key(JOBS)).after(THREE_HOURS_MS));
    let big = Push { sequence: 7, ..push("shop.a", jobs) };
    let (shop, other) = (scene.shop, connect(&mut scene.rig, 3, access("other", "other.*")));
    hand(&mut scene.rig, shop, vec![Request::Push(big.clone()), Request::Delete(JobRef::Id(scene.jobs[0]))]);
    scene.turn();
    scene.rig.push(other, 1, "other.a", 10);
    let turns = scene.turns_until(other, 1);
    assert!(turns <= 4, "the other waited for {turns} turns");
    assert!(!scene.rig.is_answered(shop, 1), "not all jobs were read");
    scene.turns_until(shop, 1);
    let pushed = results(&scene.rig, shop, 1);
    let (new, kept) = pushed.split_last().expect("results");
    assert!(matches!(new, PushResult::Pushed(_)));
    assert!(kept.iter().eq(scene.jobs.iter().map(|job| PushResult::Kept(*job)).collect::<Vec<_>>().iter()));
    // What was asked for behind it is done behind it.
    scene.turns_until(shop, 2);
    assert!(matches!(scene.rig.answer(shop, 2), Response::Changed { job, .. } if *job == scene.jobs[0]));
    scene.rig.ask(shop, 3, Request::Push(big));
    scene.turns_until(shop, 3);
    assert_eq!(results(&scene.rig, shop, 3), pushed, "a repeat is known by the numbers of all jobs");
}

#[test]
fn a_push_in_parts_ends_with_outcomes_for_all_of_its_jobs() {
    for with_client in [true, false] {
        let mut scene = Spilled::new();
        let jobs = (0..JOBS)
            .map(|number| NewJob { if_exists: IfExists::Replace, ..NewJob::new("").key(key(number)) });
        let requests = vec![Request::Push(push("shop.a", jobs.collect()))];
        hand(&mut scene.rig, scene.shop, requests);
        scene.turn();
        scene.turn();
        assert!(!scene.rig.is_answered(scene.shop, 1));
        if with_client {
            // The node stops: what was not begun is refused, and may be pushed again elsewhere.
            scene.rig.replica.handle(scene.rig.at, Input::Stop);
            scene.turns_until(scene.shop, 1);
            let results = results(&scene.rig, scene.shop, 1);
            let refused = PushResult::Refused(ErrorCode::Stopping, None);
            let replaced =
                results.iter().take_while(|result| matches!(result, PushResult::Replaced(_))).count();
            assert!(replaced > 0 && replaced < JOBS);
            assert!(results.len() == JOBS && results[replaced..].iter().all(|result| *result == refused));
        } else {
            scene.rig.replica.handle(scene.rig.at, Input::Disconnected { connection: scene.shop });
            let again = connect(&mut scene.rig, 3, access("shop", "shop.*"));
            let last = JobRef::Key { topic: topic("shop.a"), key: key(JOBS - 1) };
            let (mut asks, mut taken) = (0, 0);
            loop {
                asks += 1;
                scene.rig.ask(again, asks, Request::Get(last.clone()));
                scene.turns_until(again, asks);
                match scene.rig.answer(again, asks) {
                    Response::Job(job) if job.body.is_empty() => break,
                    _ => assert!(asks < 1_000, "the rest is not pushed"),
                }
                let sent: usize = scene.rig.sent(again).map(Response::weight_bytes).sum();
                scene.rig.take(again, sent - taken);
                taken = sent;
            }
        }
    }
}

#[test]
fn reads_of_many_topics_leave_others_their_turns() {
    const TOPICS: usize = 3_000;
    const MANY: u32 = 200;
    let mut rig = Rig::new();
    let [shop, crowd] = [1, 2].map(|number| rig.connect(number));
    for number in 0..TOPICS {
        rig.push(shop, 1, &format!("t{number}"), 1);
        rig.settle();
    }
    rig.answers.clear();
    hand(&mut rig, crowd, (0..MANY).map(|_| Request::Topics).collect());
    rig.poll();
    rig.ask(shop, 2, Request::Peek { topic: topic("t7") });
    let (mut turns, mut taken) = (1, 0);
    while !rig.is_answered(crowd, MANY) {
        // Its socket takes all that comes.
        let sent: usize = rig.sent(crowd).map(Response::weight_bytes).sum();
        rig.replica.handle(rig.at, Input::Written { connection: crowd, bytes: sent - taken });
        taken = sent;
        rig.wake();
        turns += usize::from(!rig.is_answered(shop, 2));
    }
    assert!(turns <= 8, "the other waited for {turns} turns");
}

fn keyed(number: u128, jobs: Vec<NewJob>) -> Request {
    let list_jobs = u32::try_from(jobs.len()).expect("few");
    let idempotency = NonZeroU128::new(number).map(|key| Idempotency { key, list_jobs });
    Request::Push(Push { idempotency, ..push("shared.a", jobs) })
}

#[test]
fn idempotency_keys_belong_to_the_token_that_uses_them() {
    let mut rig = Rig::new();
    let shop = connect(&mut rig, 1, access("shop", "shared.*"));
    let thief = connect(&mut rig, 2, access("thief", "shared.*"));
    let ask = |rig: &mut Rig, client, id, body: &'static str| {
        rig.ask(client, id, keyed(77, vec![NewJob::new(body)]));
        rig.settle();
        results(rig, client, id)
    };
    let PushResult::Pushed(occupied) = ask(&mut rig, thief, 1, "junk")[0] else { panic!("not pushed") };
    let own = ask(&mut rig, shop, 1, "order");
    assert!(matches!(own[..], [PushResult::Pushed(job)] if job != occupied), "{own:?}");
    assert_eq!(ask(&mut rig, shop, 2, "order"), own, "its own repeat is known");
    // To the thief the other's key looks like any other.
    assert!(matches!(
        ask(&mut rig, thief, 2, "order")[..],
        [PushResult::Refused(ErrorCode::SequenceReused, None)]
    ));
    let again = connect(&mut rig, 3, access("shop", "shared.*"));
    assert_eq!(ask(&mut rig, again, 1, "order"), own, "by another connection of the token");
}

#[test]
fn a_key_is_for_one_list_and_a_list_is_no_longer_than_what_is_remembered() {
    let mut rig = Rig::new();
    let shop = connect(&mut rig, 1, access("shop", "shared.*"));
    let jobs = |count: usize| (0..count).map(|number| NewJob::new(format!("{number}"))).collect::<Vec<_>>();
    let ask = |rig: &mut Rig, id, request| {
        rig.ask(shop, id, request);
        rig.settle();
    };
    ask(&mut rig, 1, keyed(1_000, jobs(3)));
    let first = results(&rig, shop, 1);
    ask(&mut rig, 2, keyed(1_000, jobs(5)));
    ask(&mut rig, 3, keyed(1_000, jobs(2)));
    let reused = PushResult::Refused(ErrorCode::SequenceReused, None);
    assert_eq!((results(&rig, shop, 2), results(&rig, shop, 3)), (vec![reused; 5], vec![reused; 2]));
    ask(&mut rig, 4, keyed(1_000, jobs(3)));
    assert_eq!(results(&rig, shop, 4), first);
    ask(&mut rig, 5, Request::Stats);
    assert!(matches!(rig.answer(shop, 5), Response::Stats(stats) if stats.totals.pushed == 3));
    // A part of a list that is too long.
    let list_jobs = u32::try_from(IDEMPOTENT_LIST_JOBS_MAX).expect("few") + 1;
    let idempotency = NonZeroU128::new(5_000).map(|key| Idempotency { key, list_jobs });
    ask(&mut rig, 6, Request::Push(Push { idempotency, ..push("shared.a", jobs(3)) }));
    let Response::Error(error) = rig.answer(shop, 6) else { panic!("taken") };
    assert_eq!(error.code, ErrorCode::TooLarge);
    assert!(error.message.contains("8192"), "{}", error.message);
}

#[test]
fn topics_of_dead_letters_count_for_their_token() {
    let mut rig = Rig::new();
    let shop = connect(&mut rig, 1, Access { topics_max: 4, ..access("shop", "shop.*") });
    let mut id = 0;
    let mut ask = |rig: &mut Rig, request| {
        id += 1;
        rig.ask(shop, id, request);
        rig.settle();
        rig.refusal(shop, id)
    };
    let new = |name: &str| Request::Push(push(name, vec![NewJob::new("").after(60_000)]));
    let set = |name: &str, to: &str| {
        let set = TopicPolicy { dead_letters: Some(topic(to)), ..TopicPolicy::default() };
        let change = Box::new(PolicyChange { set, ..PolicyChange::default() });
        Request::TopicSet(adjourn_protocol::TopicSet { topic: topic(name), change })
    };
    assert_eq!(ask(&mut rig, set("shop.a", "shop.dead")), None, "two of four");
    assert_eq!(ask(&mut rig, new("shop.a")), None);
    // What a policy will make counts also when nothing has come of it for long.
    rig.pass(20_000);
    assert_eq!(ask(&mut rig, new("shop.b")), None);
    assert_eq!(ask(&mut rig, set("shop.b", "shop.b2")), None, "four of four");
    assert_eq!(ask(&mut rig, new("shop.c")), Some(ErrorCode::Quota));
    assert_eq!(ask(&mut rig, set("shop.a", "shop.dead2")), Some(ErrorCode::Quota));
    assert_eq!(ask(&mut rig, new("shop.dead")), None, "it counts already");
    // It is made, and is still one.
    assert_eq!(ask(&mut rig, new("shop.c")), Some(ErrorCode::Quota));
    // Another name in its place: the old one counts until it is looked at again.
    rig.pass(2_000);
    assert_eq!(ask(&mut rig, set("shop.b", "shop.dead")), None);
    rig.pass(2_000);
    assert_eq!(ask(&mut rig, new("shop.c")), None, "three of four before");
    assert_eq!(ask(&mut rig, new("shop.d")), Some(ErrorCode::Quota));
    assert_eq!(ask(&mut rig, Request::TopicDelete { topic: topic("shop.none") }), Some(ErrorCode::NotFound));
}

/// A topic for dead letters that is named and made in one entry.
#[test]
fn a_topic_counts_once_when_it_is_made_together_with_what_names_it() {
    let mut rig = Rig::new();
    let shop = connect(&mut rig, 1, Access { topics_max: 4, ..access("shop", "shop.*") });
    let new = |name: &str| Request::Push(push(name, vec![NewJob::new("").after(60_000)]));
    let set = |name: &str, to: &str| {
        let set = TopicPolicy { dead_letters: Some(topic(to)), ..TopicPolicy::default() };
        let change = Box::new(PolicyChange { set, ..PolicyChange::default() });
        Request::TopicSet(adjourn_protocol::TopicSet { topic: topic(name), change })
    };
    let mut id = 0;
    let mut ask_all = |rig: &mut Rig, requests: Vec<Request>| -> Vec<Option<ErrorCode>> {
        let first = id + 1;
        let requests: Vec<_> =
            requests.into_iter().zip(first..).map(|(one, id)| (RequestId(id), one)).collect();
        id += u32::try_from(requests.len()).expect("few");
        let permit = Permit::default();
        rig.replica.handle(rig.at, Input::Requests { connection: shop, from: None, requests, permit });
        rig.poll();
        rig.settle();
        (first..=id).map(|id| rig.refusal(shop, id)).collect()
    };
    assert_eq!(ask_all(&mut rig, vec![set("shop.a", "shop.dead"), new("shop.dead")]), [None, None]);
    assert_eq!(ask_all(&mut rig, vec![set("shop.b", "shop.dead2"), new("shop.dead2")]), [None, None]);
    assert_eq!(ask_all(&mut rig, vec![new("shop.c")]), [Some(ErrorCode::Quota)], "four of four");
    let gone = Request::TopicDelete { topic: topic("shop.dead2") };
    assert_eq!(ask_all(&mut rig, vec![gone, set("shop.b", "shop.dead")])[1], None);
}
