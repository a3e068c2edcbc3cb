//! A replica whose disk is behind: what gathers meanwhile meets in entries, in the order in which it came.

mod consumers;
mod memory;
mod rig;
mod rights;
mod tenants;
mod turns;
mod volatile;
mod without_session;

use adjourn_protocol::{
    Delivered, ErrorCode, Hello, JobRef, NewJob, Push, Request, RequestId, Reserve, Response, Subscribe,
};
use adjourn_replica::{ConnectionId, Input, Permit};
use adjourn_types::limits::{DUE_PER_ENTRY_MAX, LEASES_MAX};
use adjourn_types::{AttributesBuilder, Fence, JobId, JobState, Lease, TopicName, When};

use rig::{LARGE_BYTES, Rig, UNCOMMITTED_BYTES_MAX, hello, jobs};

/// More than the replica hands to the disk at once, in pushes of a full entry each.
const LARGE_PUSHES: u32 = 9;

#[test]
fn a_job_that_is_deleted_right_after_its_reserve_is_not_delivered() {
    let mut rig = Rig::new();
    let [producer, consumer, operator] = [1, 2, 3].map(|number| rig.connect(number));
    rig.push(producer, 1, "jobs", 10);
    rig.settle();
    let job = rig.pushed(producer, 1);

    // Two orders are under way; later pushes gather, more than the next order takes.
    rig.push(producer, 2, "other", 10);
    rig.push(producer, 3, "other", 10);
    assert_eq!(rig.orders.len(), 2);
    for id in 0..LARGE_PUSHES {
        rig.push(producer, 10 + id, "other", LARGE_BYTES);
    }
    let topics = jobs();
    rig.ask(
        consumer,
        1,
        Request::Reserve(Reserve { topics, jobs_max: 1, wait_ms: 100, weights: Vec::new() }),
    );
    // The reserve is proposed last, and has to wait for another order: the delete comes into its entry.
    rig.written();
    rig.ask(operator, 1, Request::Delete(JobRef::Id(job)));
    rig.ask(operator, 2, Request::Get(JobRef::Id(job)));
    assert!(matches!(rig.answer(operator, 2), Response::Job(_)), "not yet deleted");
    rig.settle();

    assert!(matches!(rig.answer(operator, 1), Response::Changed { .. }));
    assert!(!rig.answers.iter().any(|(to, _, answer)| {
        *to == consumer && matches!(answer, Response::Reserved(jobs) if !jobs.is_empty())
    }));
    rig.ask(operator, 3, Request::Get(JobRef::Id(job)));
    let gone = matches!(rig.answer(operator, 3), Response::Error(error) if error.code == ErrorCode::NotFound);
    assert!(gone);
}

#[test]
fn reads_show_what_is_due_though_nobody_waits_for_it() {
    let mut rig = Rig::new();
    let [producer, reader] = [1, 2].map(|number| rig.connect(number));
    let later = |delay_ms| NewJob::new("").after(delay_ms);
    let topic: TopicName = "later".parse().expect("a name");
    let many = vec![later(5_000); DUE_PER_ENTRY_MAX];
    let pushes = [vec![later(200)], vec![later(200); 100], many.clone(), many.clone(), many.clone(), many];
    for (id, jobs) in (1..).zip(pushes) {
        rig.ask(
            producer,
            id,
            Request::Push(Push { topic: topic.clone(), sequence: 0, jobs, idempotency: None }),
        );
    }
    rig.settle();
    // The pushes are more work than one turn does.
    (0..50).for_each(|_| rig.poll());
    let first = rig.pushed(producer, 1);
    rig.ask(reader, 1, Request::Get(JobRef::Id(first)));
    assert!(matches!(rig.answer(reader, 1), Response::Job(job) if job.state == Some(JobState::Delayed)));
    rig.pass(200);
    let reads = [Request::Stats, Request::Get(JobRef::Id(first)), Request::Topics];
    for (id, read) in (2..).zip(reads) {
        rig.ask(reader, id, read);
        assert!(!rig.is_answered(reader, id), "what is due was not moved");
    }
    assert_eq!(rig.orders.len(), 1, "one entry moves it");
    rig.settle();
    let Response::Stats(stats) = rig.answer(reader, 2) else { panic!("counts") };
    assert_eq!(stats.totals.ready, 101);
    assert!(matches!(rig.answer(reader, 3), Response::Job(job) if job.state == Some(JobState::Ready)));
    // More than one entry moves: no read waits for all of it.
    rig.pass(4_990);
    rig.ask(reader, 5, Request::Stats);
    while !rig.is_answered(reader, 5) {
        rig.written();
        rig.poll();
    }
    let Response::Stats(stats) = rig.answer(reader, 5) else { panic!("counts") };
    let totals = stats.totals;
    assert!(totals.delayed > 0 && totals.ready > DUE_PER_ENTRY_MAX as u64, "{totals:?}");
}

#[test]
fn a_stop_answers_reads_though_something_is_due() {
    let mut rig = Rig::new();
    let [producer, reader] = [1, 2].map(|number| rig.connect(number));
    let jobs = vec![NewJob::new("").after(50)];
    rig.ask(
        producer,
        1,
        Request::Push(Push { topic: "later".parse().expect("a name"), sequence: 0, jobs, idempotency: None }),
    );
    rig.settle();
    let job = rig.pushed(producer, 1);
    rig.pass(60);
    // The disk is behind: no entry comes.
    rig.push(producer, 2, "other", 10);
    rig.ask(reader, 1, Request::Get(JobRef::Id(job)));
    assert!(!rig.is_answered(reader, 1));
    rig.replica.handle(rig.at, Input::Stop);
    rig.poll();
    rig.settle();
    assert!(rig.is_answered(reader, 1));
}

#[test]
fn reads_are_answered_as_the_socket_takes_the_answers() {
    const READS: u32 = 100;
    let mut rig = Rig::new();
    let [producer, reader] = [1, 2].map(|number| rig.connect(number));
    rig.push(producer, 1, "jobs", LARGE_BYTES);
    rig.settle();
    let get = Request::Get(JobRef::Id(rig.pushed(producer, 1)));
    let requests = (1..=READS).map(|id| (RequestId(id), get.clone())).collect();
    rig.replica.handle(
        rig.at,
        Input::Requests { connection: reader, from: None, requests, permit: Permit::default() },
    );
    rig.poll();
    assert_eq!(rig.take_all(reader).len(), READS as usize);
}

#[test]
fn a_search_of_one_that_reads_slowly_ends_although_it_asks_for_more_all_the_time() {
    let mut rig = Rig::new();
    let [producer, reader] = [1, 2].map(|number| rig.connect(number));
    rig.push(producer, 1, "jobs", LARGE_BYTES);
    let later = NewJob::new("").after(60_000);
    let push =
        Push { topic: "later".parse().expect("a name"), sequence: 0, jobs: vec![later], idempotency: None };
    rig.ask(producer, 2, Request::Push(push));
    rig.settle();
    let get = Request::Get(JobRef::Id(rig.pushed(producer, 1)));
    let gets = |ids: std::ops::Range<u32>| -> Vec<_> { ids.map(|id| (RequestId(id), get.clone())).collect() };
    let ask = |rig: &mut Rig, requests| {
        let permit = Permit::default();
        rig.replica.handle(rig.at, Input::Requests { connection: reader, from: None, requests, permit });
        rig.poll();
    };
    ask(&mut rig, gets(1000..1010));
    ask(&mut rig, vec![(RequestId(1), Request::Peek { topic: "later".parse().expect("a name") })]);
    for round in 0..40 {
        // It has taken one answer, and asks for another ten.
        rig.take(reader, LARGE_BYTES);
        ask(&mut rig, gets(2000 + 10 * round..2010 + 10 * round));
        rig.poll();
    }
    assert!(matches!(rig.answer(reader, 1), Response::Job(_)));
}

#[test]
fn a_subscriber_is_granted_what_its_socket_takes() {
    const JOBS: u32 = 30;
    let mut rig = Rig::new();
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    rig.subscribe(consumer, 1, 1000);
    for id in 0..JOBS {
        rig.push(producer, 10 + id, "jobs", LARGE_BYTES);
        rig.settle();
    }
    assert_eq!(rig.ready(producer), u64::from(JOBS) - 4, "others could have them");
    assert_eq!(rig.take_all(consumer).len(), JOBS as usize);
}

#[test]
fn what_was_granted_beyond_the_room_is_given_back_unattempted() {
    let mut rig = Rig::new();
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    for id in 0..8 {
        rig.push(producer, 10 + id, "jobs", LARGE_BYTES);
        rig.settle();
    }
    // Both take their turns while there is room, and there is room for one.
    let topics = jobs();
    let subscribe = |id| {
        let subscribe =
            Subscribe { topics: topics.clone(), credit_jobs: 4, credit_bytes: 1 << 30, weights: Vec::new() };
        (RequestId(id), Request::Subscribe(subscribe))
    };
    let requests = vec![subscribe(1), subscribe(2)];
    rig.replica.handle(
        rig.at,
        Input::Requests { connection: consumer, from: None, requests, permit: Permit::default() },
    );
    rig.poll();
    rig.settle();
    assert_eq!(rig.ready(producer), 4);
    assert_eq!(rig.take_all(consumer), [1; 8], "attempts");
}

/// A job that may be attempted once is granted to a consumer that says goodbye, or is lost for good, meanwhile.
fn grant_to_one_that_leaves(leave: impl FnOnce(&mut Rig, ConnectionId)) {
    let mut rig = Rig::new();
    let [producer, consumer, other] = [1, 2, 3].map(|number| rig.connect(number));
    let reserve = |wait_ms| {
        let topics = jobs();
        Request::Reserve(Reserve { topics, jobs_max: 1, wait_ms, weights: Vec::new() })
    };
    let mut job = NewJob::new("once");
    job.attributes = AttributesBuilder::default().attempts_max(1).build().expect("attributes");
    let topic = "jobs".parse().expect("a name");
    rig.ask(producer, 1, Request::Push(Push { topic, sequence: 0, jobs: vec![job], idempotency: None }));
    rig.settle();
    rig.ask(consumer, 1, reserve(60_000));
    leave(&mut rig, consumer);
    rig.settle();
    rig.ask(other, 2, reserve(0));
    rig.settle();
    let Response::Reserved(jobs) = rig.answer(other, 2) else { panic!("refused") };
    assert_eq!(jobs.iter().map(|job| job.attempts).collect::<Vec<_>>(), [1], "nobody saw it before");
}

#[test]
fn a_goodbye_buries_no_job_that_nobody_saw() {
    grant_to_one_that_leaves(|rig, consumer| {
        rig.ask(consumer, 2, Request::Goodbye);
        assert_eq!(rig.orders.len(), 1, "the reserve is in flight");
        rig.settle();
        assert_eq!(*rig.answer(consumer, 2), Response::Done);
    });
}

#[test]
fn a_lapse_buries_no_job_that_nobody_saw() {
    grant_to_one_that_leaves(|rig, consumer| {
        rig.replica.handle(rig.at, Input::Disconnected { connection: consumer });
        rig.pass(3_100);
        assert_eq!(rig.orders.len(), 1, "the reserve is in flight");
    });
}

#[test]
fn a_job_behind_thousands_that_expired_comes_at_once() {
    let mut rig = Rig::new();
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    rig.ask(
        consumer,
        1,
        Request::Reserve(Reserve { topics: jobs(), jobs_max: 1, wait_ms: 60_000, weights: Vec::new() }),
    );
    let expiring = AttributesBuilder::default().expires(When::After(1000)).build().expect("attributes");
    let expiring = NewJob { attributes: expiring, ..NewJob::new("").after(900) };
    for id in 0..3 {
        let (topic, jobs) = ("other".parse().expect("a name"), vec![expiring.clone(); DUE_PER_ENTRY_MAX]);
        rig.ask(producer, 10 + id, Request::Push(Push { topic, sequence: 0, jobs, idempotency: None }));
        rig.settle();
    }
    let (topic, one) = ("jobs".parse().expect("a name"), vec![NewJob::new("late").after(1500)]);
    rig.ask(producer, 20, Request::Push(Push { topic, sequence: 0, jobs: one, idempotency: None }));
    rig.settle();
    // Nothing is looked at for a while, as after a long pause of the machine.
    rig.pass(5_000);
    rig.settle();
    assert_eq!(rig.sent(consumer).count(), 2, "a welcome, and the job");
}

#[test]
fn a_session_lives_while_one_of_two_that_resumed_it_speaks_for_it() {
    let mut rig = Rig::new();
    let first = rig.connect(1);
    let Response::Welcome(welcome) = rig.answer(first, 0) else { panic!("no welcome") };
    let resume = welcome.resume();
    rig.replica.handle(rig.at, Input::Disconnected { connection: first });
    rig.pass(3_100);
    rig.settle();

    // It has lapsed. Two resume it, and the later one is gone before that is applied.
    let [stays, goes] = [2, 3].map(|number| rig.open(number));
    for connection in [stays, goes] {
        rig.ask(connection, 0, Request::Hello(Hello { resume, ..hello() }));
    }
    rig.replica.handle(rig.at, Input::Disconnected { connection: goes });
    rig.settle();
    let Response::Welcome(welcome) = rig.answer(stays, 0) else { panic!("no welcome") };
    assert_eq!((welcome.resumed, Some(welcome.session)), (true, resume.map(|resume| resume.session)));
    rig.pass(3_100);
    rig.settle();

    rig.push(stays, 1, "jobs", 10);
    rig.settle();
    rig.ask(
        stays,
        2,
        Request::Reserve(Reserve { topics: jobs(), jobs_max: 1, wait_ms: 0, weights: Vec::new() }),
    );
    rig.settle();
    assert!(matches!(rig.answer(stays, 2), Response::Reserved(jobs) if jobs.len() == 1), "it holds leases");
}

#[test]
fn what_comes_unasked_is_not_counted_as_an_answer() {
    let mut rig = Rig::new();
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    rig.subscribe(consumer, 1, 10);
    rig.push(producer, 1, "jobs", 10);
    rig.settle();
    rig.replica.handle(rig.at, Input::Stop);
    rig.poll();
    let delivers = |response: &Response| matches!(response, Response::Deliver(jobs) if jobs.len() == 1);
    assert!(rig.sent(consumer).any(delivers));
    assert_eq!((rig.answers.len(), rig.answered), (7, 4), "beside DELIVER and two GOING_AWAY");
}

#[test]
fn nothing_gathers_beyond_its_bound_while_the_disk_stands_still() {
    const SETTLED: u32 = 30;
    let mut rig = Rig::new();
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    // One that was not welcomed yet adds nothing.
    let newcomer = rig.open(3);
    rig.ask(newcomer, 0, Request::Hello(hello()));
    rig.push(newcomer, 1, "jobs", LARGE_BYTES);
    assert_eq!(rig.refusal(newcomer, 1), Some(ErrorCode::Unauthenticated));

    let mut pushed = 0;
    while rig.refusal(producer, pushed).is_none() {
        pushed += 1;
        rig.push(producer, pushed, "jobs", LARGE_BYTES);
    }
    assert_eq!(rig.refusal(producer, pushed), Some(ErrorCode::Busy));
    let pushed_bytes = pushed as usize * LARGE_BYTES;
    assert!((UNCOMMITTED_BYTES_MAX..UNCOMMITTED_BYTES_MAX + 3 * LARGE_BYTES).contains(&pushed_bytes));
    // Jobs are settled for longer than they are pushed, and wait in the end.
    let leases = vec![Lease { job: JobId(1), fence: Fence(1) }; LEASES_MAX];
    for id in 1..=SETTLED {
        rig.ask(consumer, id, Request::Finish { leases: leases.clone() });
    }
    assert!((1..=SETTLED).all(|id| !rig.is_answered(consumer, id)));
    rig.settle();
    while !rig.is_answered(consumer, SETTLED) {
        rig.wake();
    }
    assert!((1..=SETTLED).all(|id| rig.refusal(consumer, id).is_none()));
    rig.push(producer, pushed + 1, "jobs", 10);
    rig.settle();
    assert_eq!(rig.refusal(producer, pushed + 1), None, "there is room again");
}

#[test]
fn leases_outlive_a_session_that_was_opened_in_place_of_a_lost_one() {
    let mut rig = Rig::new();
    let [producer, first] = [1, 2].map(|number| rig.connect(number));
    let Response::Welcome(welcome) = rig.answer(first, 0) else { panic!("no welcome") };
    let resume = welcome.resume();
    // The session is about to end when it is to be resumed.
    rig.ask(first, 1, Request::Goodbye);
    let consumer = rig.open(3);
    rig.ask(consumer, 0, Request::Hello(Hello { resume, leases_outlive: true, ..hello() }));
    rig.settle();
    assert!(matches!(rig.answer(consumer, 0), Response::Welcome(welcome) if !welcome.resumed));

    rig.push(producer, 1, "jobs", 10);
    rig.settle();
    rig.ask(
        consumer,
        1,
        Request::Reserve(Reserve { topics: jobs(), jobs_max: 1, wait_ms: 0, weights: Vec::new() }),
    );
    rig.settle();
    rig.ask(consumer, 2, Request::Goodbye);
    rig.settle();
    assert_eq!(*rig.answer(consumer, 2), Response::Done);
    assert_eq!(rig.ready(producer), 0, "the lease outlives the session");
}

/// While a checkpoint of many jobs is written, the log may grow by as much as made it due before anything has to wait.
#[test]
fn a_large_checkpoint_may_take_its_time() {
    const LOG_BYTES: u64 = 64 << 10;
    const MANY: u32 = 10_000;
    let mut rig = Rig::with_checkpoints(LOG_BYTES);
    let client = rig.connect(1);
    for id in 1..=10 {
        let jobs = vec![NewJob::new(b"x".to_vec()).after(60_000); MANY as usize / 10];
        let topic = "jobs".parse().expect("a name");
        rig.ask(client, id, Request::Push(Push { topic, sequence: 0, jobs, idempotency: None }));
        rig.settle();
    }
    let mut id = 11;
    while rig.checkpoints == 0 {
        rig.push(client, id, "jobs", LARGE_BYTES);
        rig.settle();
        id += 1;
    }
    let mut grown = 0;
    while grown < u64::from(MANY) * 32 / 2 {
        rig.push(client, id, "jobs", LARGE_BYTES);
        assert_eq!(rig.orders.len(), 1, "nothing waits although the log has grown by {grown} bytes");
        rig.settle();
        id += 1;
        grown += LARGE_BYTES as u64;
    }
}

/// A node with little to do has a short log, too: what it grew by is written after a minute, unless that is next to nothing.
#[test]
fn a_checkpoint_is_taken_of_less_when_the_last_one_is_long_ago() {
    const SIXTEENTH: usize = 4 << 10;
    const MINUTE_MS: u64 = 60_000;
    let mut rig = Rig::with_checkpoints(64 << 10);
    let client = rig.connect(1);
    rig.push(client, 1, "jobs", SIXTEENTH);
    rig.settle();
    rig.pass(MINUTE_MS);
    assert_eq!(rig.checkpoints, 0, "a sixteenth is too little");
    rig.push(client, 2, "jobs", SIXTEENTH);
    rig.settle();
    assert_eq!(rig.checkpoints, 1, "an eighth is enough");
}

/// While a checkpoint lags, entries come seldom. A reserve that needs the next one waits for that long, and no longer.
#[test]
fn a_reserve_waits_no_longer_than_the_next_entry_while_a_checkpoint_lags() {
    const PAUSE_US_MAX: u64 = 64_000;
    let mut rig = Rig::with_checkpoints(64 << 10);
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    for id in 0..40 {
        rig.push(producer, id, "jobs", LARGE_BYTES);
        while !rig.is_answered(producer, id) {
            rig.wake();
        }
    }
    assert_eq!(rig.checkpoints, 1, "nobody writes it");
    // With nothing to do it is asked all the same.
    rig.pass(PAUSE_US_MAX / 1000);
    rig.ask(
        consumer,
        1,
        Request::Reserve(Reserve { topics: jobs(), jobs_max: 1, wait_ms: 60_000, weights: Vec::new() }),
    );
    let mut slept_us = 0;
    while !rig.is_answered(consumer, 1) {
        slept_us += rig.wake();
    }
    assert!(slept_us <= PAUSE_US_MAX, "{slept_us} us");
}

#[test]
fn a_job_that_was_not_sent_in_time_comes_back_without_an_attempt() {
    let mut rig = Rig::new();
    let [producer, slow, other] = [1, 2, 3].map(|number| rig.connect(number));
    rig.push(producer, 1, "jobs", 10);
    rig.subscribe(slow, 1, 1);
    rig.settle();
    let delivery = rig.sent(slow).find(|answer| matches!(answer, Response::Deliver(_)));
    let mut delivery = delivery.expect("it is granted").clone();
    let Response::Deliver(jobs) = &delivery else { unreachable!("looked for") };
    let [Delivered { lease, deadline_ms, .. }] = jobs[..] else { panic!("{jobs:?}") };
    let mut early = delivery.clone();
    assert!(early.age(deadline_ms - 1_000).is_empty());
    let left_ms = |job: &Delivered| job.ttr_left_ms;
    assert!(matches!(&early, Response::Deliver(jobs) if jobs.iter().map(left_ms).eq([1_000])));

    // Its connection took nothing for a long time. Before the lease is over, the driver comes to it.
    let unsent = delivery.age(deadline_ms - 10);
    assert_eq!((unsent.as_slice(), delivery.is_worth_sending()), ([lease].as_slice(), false));
    rig.replica.handle(rig.at, Input::NotSent { connection: slow, leases: unsent.clone() });
    rig.replica.handle(rig.at, Input::Disconnected { connection: slow });
    rig.poll();
    rig.settle();
    rig.subscribe(other, 1, 1);
    rig.settle();
    assert_eq!(rig.take_all(other), [1]);
    // Said again it means nothing.
    rig.replica.handle(rig.at, Input::NotSent { connection: slow, leases: unsent });
    rig.poll();
    assert!(rig.orders.is_empty());
}
