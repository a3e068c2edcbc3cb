//! Clients that ask for much at once: others are heard in between, and whatever was asked for is done.

use std::sync::Arc;

use adjourn_protocol::{Bulk, Change, Hello, NewJob, Push, Request, RequestId, Reserve, Response, TopicSet};
use adjourn_replica::{ConnectionId, Input, Permit};
use adjourn_types::limits::{LAPSE_LEASES_MAX, LEASES_MAX, PUSH_JOBS_MAX};
use adjourn_types::{Fence, Filter, JobId, Lease, PolicyChange, TopicName, TopicPolicy};
use bytes::Bytes;

use super::rig::{Rig, hello, jobs};

/// All of these come at once.
fn ask_all(rig: &mut Rig, connection: ConnectionId, requests: &[Request]) {
    let requests = (1..).map(RequestId).zip(requests.iter().cloned()).collect();
    rig.replica
        .handle(rig.at, Input::Requests { connection, from: None, requests, permit: Permit::default() });
}

fn push_many(rig: &mut Rig, connection: ConnectionId, topic: &str, jobs: usize, delay_ms: u64) {
    let topic: TopicName = topic.parse().expect("a name");
    let mut left = jobs;
    while left > 0 {
        let jobs = vec![NewJob::new("").after(delay_ms); left.min(PUSH_JOBS_MAX)];
        left -= jobs.len();
        rig.ask(
            connection,
            900,
            Request::Push(Push { topic: topic.clone(), sequence: 0, jobs, idempotency: None }),
        );
        rig.settle();
    }
}

/// How many requests of a connection are answered.
fn answered(rig: &Rig, connection: ConnectionId) -> usize {
    rig.sent(connection).count()
}

#[test]
fn peeks_of_a_rare_topic_leave_the_node_time_for_others() {
    const PEEKS: usize = 500;
    const OTHERS: usize = 160_000;
    let mut rig = Rig::new();
    let [producer, crowd, other] = [1, 2, 3].map(|number| rig.connect(number));
    push_many(&mut rig, producer, "other", OTHERS, 600_000);
    push_many(&mut rig, producer, "rare", 1, 900_000);
    let peek = |topic: &str| Request::Peek { topic: topic.parse().expect("a name") };
    let (mut crowd_before, before) = (answered(&rig, crowd), answered(&rig, other));
    ask_all(&mut rig, crowd, &vec![peek("rare"); PEEKS]);
    ask_all(&mut rig, other, &[Request::Ping, peek("never"), Request::Stats]);
    rig.poll();
    assert_eq!(answered(&rig, other), before + 3, "in the first turn");
    assert_eq!(answered(&rig, crowd), crowd_before, "not all jobs were looked at");
    crowd_before += PEEKS;
    let mut turns = 1;
    while answered(&rig, crowd) < crowd_before {
        assert_eq!(rig.wake(), 0, "there is something to do");
        turns += 1;
    }
    assert!(turns <= 12, "they share their searches: {turns}");
    let rare = |answer: &&Response| matches!(answer, Response::Job(job) if job.topic.as_str() == "rare");
    assert_eq!(rig.sent(crowd).filter(rare).count(), PEEKS);
    assert!(rig.wake() > 0, "nothing is left to do");
}

#[test]
fn who_asks_for_little_does_not_wait_for_all_that_another_one_asked_for() {
    const MANY: usize = 200;
    let mut rig = Rig::new();
    let [crowd, other] = [1, 2].map(|number| rig.connect(number));
    let before = answered(&rig, crowd);
    let leases = vec![Lease { job: JobId(1), fence: Fence(1) }; LEASES_MAX];
    ask_all(&mut rig, crowd, &vec![Request::Finish { leases }; MANY]);
    rig.push(other, 1, "jobs", 10);
    while !rig.is_answered(other, 1) {
        rig.wake();
        rig.settle();
    }
    let earlier = rig.answers.iter().take_while(|(to, id, _)| (*to, *id) != (other, RequestId(1)));
    let earlier = earlier.filter(|(to, ..)| *to == crowd).count() - before;
    assert!(earlier <= 16, "{earlier} of {MANY} came before it");
    while answered(&rig, crowd) < before + MANY {
        rig.wake();
    }
}

#[test]
fn reports_of_very_many_topics_leave_the_node_time_for_others() {
    const TOPICS: usize = 5_000;
    const MANY: usize = 20;
    let mut rig = Rig::new();
    let [crowd, other] = [1, 2].map(|number| rig.connect(number));
    for number in (0..TOPICS).rev() {
        rig.push(crowd, 900, &format!("{number:04}"), 1);
    }
    while answered(&rig, crowd) <= TOPICS {
        rig.wake();
    }
    rig.take_all(crowd);
    rig.answers.clear();
    let requests = [vec![Request::Topics; MANY], vec![Request::Stats]].concat();
    ask_all(&mut rig, crowd, &requests);
    rig.push(other, 1, "9999", 10);
    rig.ask(other, 2, Request::Stats);
    let mut taken = 0;
    let mut take_new = |rig: &mut Rig| {
        let sent = rig.sent(crowd).map(Response::weight_bytes).sum();
        rig.take(crowd, sent - taken);
        taken = sent;
        rig.wake();
    };
    while !rig.is_answered(other, 2) {
        take_new(&mut rig);
    }
    assert!(rig.is_answered(other, 1), "a push waits for no report");
    let earlier = answered(&rig, crowd);
    assert!(earlier <= 2, "{earlier} of {MANY} came before the only one of another connection");
    let Response::Stats(stats) = rig.answer(other, 2) else { panic!("no counts") };
    assert_eq!(stats.topics.iter().filter(|topic| topic.topic.as_str() < "9").count(), TOPICS);
    while answered(&rig, crowd) < requests.len() {
        take_new(&mut rig);
    }
    let Response::Topics(topics) = rig.answer(crowd, 1) else { panic!("no topics") };
    assert!(topics.is_sorted_by_key(|report| report.topic.clone()) && topics.len() >= TOPICS);
}

#[test]
fn what_is_not_taken_up_keeps_its_permit() {
    const MANY: u32 = 200;
    let mut rig = Rig::new();
    let crowd = rig.connect(1);
    let held = Arc::new(());
    let leases = vec![Lease { job: JobId(1), fence: Fence(1) }; LEASES_MAX];
    for id in 1..=MANY {
        let requests = vec![(RequestId(id), Request::Finish { leases: leases.clone() })];
        let permit = Permit::new(Arc::clone(&held));
        rig.replica.handle(rig.at, Input::Requests { connection: crowd, from: None, requests, permit });
    }
    rig.poll();
    let waiting = Arc::strong_count(&held) - 1;
    assert!((150..200).contains(&waiting), "{waiting} of {MANY} wait");
    // Requests sent before the end are done.
    rig.replica.handle(rig.at, Input::Disconnected { connection: crowd });
    let (mut turns, mut waiting) = (0, Arc::strong_count(&held));
    while waiting > 1 {
        // It has something to do, or waits for the disk.
        if rig.orders.is_empty() {
            rig.poll();
        } else {
            rig.written();
        }
        assert!(Arc::strong_count(&held) + 20 > waiting, "not all of it at once");
        (turns, waiting) = (turns + 1, Arc::strong_count(&held));
        assert!(turns < 1_000, "{waiting} wait");
    }
    assert!(turns > 5, "{turns} turns");
}

#[test]
fn a_session_with_many_leases_comes_back_when_it_has_given_them_back() {
    const LEASES: usize = 2 * LAPSE_LEASES_MAX + 100;
    let mut rig = Rig::new();
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    push_many(&mut rig, producer, "jobs", LEASES, 0);
    let Response::Welcome(welcome) = rig.answer(consumer, 0) else { panic!("no welcome") };
    let resume = welcome.resume();
    rig.subscribe(consumer, 1, u32::try_from(LEASES).expect("few"));
    rig.settle();
    rig.take_all(consumer);
    assert_eq!(rig.ready(producer), 0);

    rig.replica.handle(rig.at, Input::Disconnected { connection: consumer });
    rig.pass(3_100);
    let again = rig.open(3);
    rig.ask(again, 0, Request::Hello(Hello { resume, ..hello() }));
    let mut ready = Vec::new();
    while !rig.is_answered(again, 0) {
        rig.written();
        ready.push(rig.ready(producer));
    }
    let steps = [LAPSE_LEASES_MAX, 2 * LAPSE_LEASES_MAX, LEASES].map(|leases| leases as u64);
    assert!(ready.starts_with(&steps), "{ready:?}");
    let Response::Welcome(welcome) = rig.answer(again, 0) else { panic!("no welcome") };
    assert!(welcome.resumed && !welcome.leases_kept);
    let reserve = Request::Reserve(Reserve { topics: jobs(), jobs_max: 1, wait_ms: 0, weights: Vec::new() });
    rig.ask(again, 1, reserve);
    rig.settle();
    assert!(matches!(rig.answer(again, 1), Response::Reserved(jobs) if jobs.len() == 1));
}

#[test]
fn the_steps_of_a_bulk_change_wait_for_the_disk_alone() {
    const JOBS: usize = 40_000;
    let mut rig = Rig::new();
    let [producer, operator] = [1, 2].map(|number| rig.connect(number));
    push_many(&mut rig, producer, "jobs", JOBS, 600_000);
    let filter = Filter { topic: jobs().pop(), ..Filter::default() };
    let (mut cursor, mut deleted, mut id) = (Bytes::new(), 0, 1);
    loop {
        let change = Change::Delete;
        rig.ask(operator, id, Request::Bulk(Bulk { change, filter: filter.clone(), jobs_max: 1000, cursor }));
        rig.settle();
        while !rig.is_answered(operator, id) {
            assert_eq!(rig.wake(), 0, "there is something to do");
        }
        let Response::Bulked { jobs, cursor: next, .. } = rig.answer(operator, id) else { panic!("no step") };
        deleted += *jobs as usize;
        if next.is_empty() {
            break;
        }
        (cursor, id) = (next.clone(), id + 1);
    }
    assert_eq!(deleted, JOBS);
}

#[test]
fn a_node_sleeps_while_a_topic_may_not_deliver() {
    let mut rig = Rig::new();
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    let set = TopicPolicy { per_second_max: Some(1), ..TopicPolicy::default() };
    let change = Box::new(PolicyChange { set, ..PolicyChange::default() });
    rig.ask(producer, 1, Request::TopicSet(TopicSet { topic: jobs().remove(0), change }));
    rig.settle();
    push_many(&mut rig, producer, "jobs", 5, 0);
    rig.subscribe(consumer, 1, 100);
    rig.settle();
    let (mut wakes, mut slept_us) = (0, 0);
    let delivered =
        |rig: &Rig| rig.sent(consumer).filter(|sent| matches!(sent, Response::Deliver(_))).count();
    while delivered(&rig) < 5 {
        slept_us += rig.wake();
        wakes += 1;
        assert!(wakes < 100, "it wakes up in vain: {wakes} times in {slept_us} us");
    }
    assert!((3_900_000..5_100_000).contains(&slept_us), "a job a second: {slept_us} us");
}
