//! Which waiters are in which lines, and for how many jobs.

use super::*;
use adjourn_protocol::RequestId;
use adjourn_types::{Fence, JobId};

const ORDERS: TopicId = TopicId(0);

fn asker(connection: u64, request: u32) -> Asker {
    Asker { connection: ConnectionId(connection), request: RequestId(request) }
}

fn subscribe(waiters: &mut Waiters, session: u64, jobs: i64, bytes: i64) -> WaiterId {
    let topic = ("orders".parse().expect("a name"), Some(ORDERS));
    let demand = Demand::Subscription { jobs, bytes };
    waiters.add(asker(session, 1), SessionId(session), demand, [topic])
}

fn roomy(_: ConnectionId) -> u64 {
    u64::MAX
}

fn sessions(turns: &[PendingReserve]) -> Vec<u64> {
    turns.iter().map(|turn| turn.session.0).collect()
}

#[test]
fn waiters_take_turns_and_only_as_many_as_there_are_jobs() {
    let mut waiters = Waiters::default();
    for session in 1..=3 {
        subscribe(&mut waiters, session, 1, 100);
    }
    let turns = waiters.take_turns([ORDERS], |_| 2, roomy);
    assert_eq!(sessions(&turns), [1, 2]);
    assert_eq!(sessions(&waiters.take_turns([ORDERS], |_| 2, roomy)), [0; 0], "both jobs are claimed");
    for turn in turns {
        waiters.turn_over(turn.waiter, turn.claim);
        waiters.line_up(turn.waiter);
    }
    assert_eq!(sessions(&waiters.take_turns([ORDERS], |_| 9, roomy)), [3, 1, 2]);
}

#[test]
fn only_topics_with_jobs_and_a_waiter_are_looked_at() {
    let mut waiters = Waiters::default();
    for topic in [1, 2] {
        let demand = Demand::Subscription { jobs: 1, bytes: 1 };
        let topics = [("orders".parse().expect("a name"), Some(TopicId(topic)))];
        waiters.add(asker(1, topic), SessionId(1), demand, topics);
    }
    let found = |with_jobs: &[u32]| {
        let with_jobs = with_jobs.iter().map(|topic| TopicId(*topic)).collect();
        waiters.waited_for(&with_jobs)
    };
    assert_eq!(found(&[2, 3, 4, 5]), [TopicId(2)], "through the lines");
    assert_eq!(found(&[1]), [TopicId(1)], "through the topics");
}

#[test]
fn credit_is_spent_and_comes_back_with_the_lease() {
    let mut waiters = Waiters::default();
    let id = subscribe(&mut waiters, 1, 1, 10);
    let turn = waiters.take_turns([ORDERS], |_| 5, roomy).pop().expect("a turn");
    assert_eq!((turn.jobs_max, turn.bytes_max), (1, 10));
    waiters.turn_over(id, turn.claim);
    let lease = Lease { job: JobId(1), fence: Fence(1) };
    waiters.debit(id, lease, 50);
    waiters.line_up(id);
    assert!(waiters.take_turns([ORDERS], |_| 5, roomy).is_empty(), "no credit");
    waiters.add_credit(id, 1, 0);
    assert!(waiters.take_turns([ORDERS], |_| 5, roomy).is_empty(), "40 bytes below 0");
    waiters.lease_over(lease);
    assert_eq!(
        waiters.take_turns([ORDERS], |_| 5, roomy).pop().map(|turn| (turn.jobs_max, turn.bytes_max)),
        Some((2, 10))
    );
    waiters.lease_over(lease);
    assert!(matches!(
        waiters.one(id).map(|one| one.demand),
        Some(Demand::Subscription { jobs: 2, bytes: 10 })
    ));
}

#[test]
fn one_turn_takes_no_more_than_a_frame_holds() {
    let mut waiters = Waiters::default();
    subscribe(&mut waiters, 1, i64::MAX, i64::MAX);
    let demand = Demand::Poll { jobs_max: 1, deadline_us: 100 };
    let topics = [("orders".parse().expect("a name"), Some(ORDERS))];
    waiters.add(asker(2, 1), SessionId(2), demand, topics);
    let most: Vec<_> =
        waiters.take_turns([ORDERS], |_| 5000, roomy).iter().map(|t| (t.jobs_max, t.bytes_max)).collect();
    assert_eq!(most, [(RESERVE_JOBS_MAX, RESERVE_BYTES_MAX), (1, RESERVE_BYTES_MAX)]);
}

#[test]
fn a_connection_without_room_has_no_turn_and_one_with_little_gets_little() {
    let mut waiters = Waiters::default();
    let [full, free] = [1, 2].map(|session| subscribe(&mut waiters, session, 9, 1000));
    let room = |connection| if connection == ConnectionId(1) { 0 } else { 70 };
    let turns = waiters.take_turns([ORDERS], |_| 20, room);
    assert_eq!(turns.iter().map(|turn| (turn.waiter, turn.bytes_max)).collect::<Vec<_>>(), [(free, 70)]);
    waiters.line_up(full);
    assert_eq!(sessions(&waiters.take_turns([ORDERS], |_| 20, roomy)), [1]);
}

#[test]
fn a_long_poll_ends_at_its_deadline_unless_a_reserve_is_in_flight() {
    let mut waiters = Waiters::default();
    let demand = Demand::Poll { jobs_max: 1, deadline_us: 100 };
    let topics = || [("orders".parse().expect("a name"), Some(ORDERS))];
    let first = waiters.add(asker(1, 1), SessionId(1), demand, topics());
    waiters.add(asker(2, 1), SessionId(2), demand, topics());
    let turn = waiters.take_turns([ORDERS], |_| 1, roomy).pop().expect("a turn");
    assert_eq!(turn.waiter, first);
    assert_eq!(waiters.next_deadline_us(0), Some(100));
    let over = waiters.take_expired(100);
    assert_eq!(over.iter().map(|waiter| waiter.session).collect::<Vec<_>>(), [SessionId(2)]);
    waiters.turn_over(first, turn.claim);
    assert_eq!(waiters.take_expired(100).len(), 1);
    assert_eq!(waiters.count(), 0);
}

#[test]
fn a_topic_may_be_waited_for_before_it_exists() {
    let mut waiters = Waiters::default();
    let demand = Demand::Subscription { jobs: 1, bytes: 1 };
    let topics = [("new".parse().expect("a name"), None)];
    let id = waiters.add(asker(1, 1), SessionId(1), demand, topics);
    assert!(waiters.take_turns([TopicId(1)], |_| 1, roomy).is_empty());
    for (number, name) in (0..).map(TopicId).zip(["other", "new"]) {
        assert_eq!(waiters.next_topic(), number);
        waiters.topic_made(number, &name.parse().expect("a name"));
    }
    let turn = waiters.take_turns([TopicId(1)], |_| 1, roomy).pop();
    assert_eq!(turn.map(|turn| turn.topics), Some(vec![TopicId(1)]));
    assert!(waiters.remove(id).is_some() && waiters.count() == 0);
}

#[test]
fn a_topic_that_went_is_waited_for_until_it_returns() {
    let mut waiters = Waiters::default();
    let name: TopicName = "orders".parse().expect("a name");
    let demand = Demand::Subscription { jobs: 10, bytes: 1000 };
    let topics = [(name.clone(), Some(ORDERS)), ("mails".parse().expect("a name"), Some(TopicId(1)))];
    let idle = waiters.add(asker(1, 1), SessionId(1), demand, topics.clone());
    let busy = waiters.add(asker(2, 1), SessionId(2), demand, topics.clone());
    waiters.topics_seen = 2;
    waiters.remove(idle);
    let turn = waiters.take_turns([ORDERS], |_| 1, roomy).pop().expect("a turn");
    let idle = waiters.add(asker(1, 1), SessionId(1), demand, topics);
    waiters.topics_gone(&BTreeMap::from([(ORDERS, name.clone())]));
    assert!(!waiters.in_line(ORDERS));
    waiters.turn_over(busy, turn.claim);
    waiters.line_up(busy);
    waiters.topic_made(TopicId(7), &name);
    assert_eq!(sessions(&waiters.take_turns([TopicId(7)], |_| 20, roomy)), [2, 1]);
    for waiter in [idle, busy] {
        waiters.remove(waiter);
    }
    assert!(waiters.unknown.is_empty() && waiters.lines.is_empty());
}

#[test]
fn nothing_is_kept_of_a_waiter_whose_topics_never_came_to_be() {
    let mut waiters = Waiters::default();
    let demand = Demand::Poll { jobs_max: 1, deadline_us: 100 };
    let topics = || ["here", "there"].map(|name| (name.parse().expect("a name"), None));
    let [first, second] = [1, 2].map(|n| waiters.add(asker(n, 1), SessionId(n), demand, topics()));
    waiters.remove(first);
    assert_eq!(waiters.unknown.values().map(BTreeSet::len).collect::<Vec<_>>(), [1, 1]);
    waiters.topic_made(ORDERS, &"here".parse().expect("a name"));
    waiters.remove(second);
    assert!(waiters.unknown.is_empty() && waiters.lines.is_empty());
}
