//! Consumers that change their minds, that have weights, that ask what they hold, and that an operator sends away.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use adjourn_protocol::{
    ConnectionReport, Delivered, ErrorCode, GoingAway, Hello, JobRef, Leased, Request, RequestId, Reserve,
    Response, Resume, Subscribe,
};
use adjourn_replica::{ConnectionId, Input, Permit};
use adjourn_types::limits::RESERVE_JOBS_MAX;
use adjourn_types::{JobId, SessionId, TopicName};

use super::rig::{GRACE_MS, Rig, hello, jobs};

fn poll(topics: Vec<TopicName>, weights: &[u16], wait_ms: u64) -> Request {
    Request::Reserve(Reserve { topics, jobs_max: 1, wait_ms, weights: weights.to_vec() })
}

fn topics(names: &[&str]) -> Vec<TopicName> {
    names.iter().map(|name| name.parse().expect("a name")).collect()
}

fn delivered(answer: &Response) -> &[Delivered] {
    match answer {
        Response::Reserved(jobs) | Response::Deliver(jobs) | Response::Leased(Leased { jobs, .. }) => jobs,
        _ => &[],
    }
}

impl Rig {
    /// The answers to a request, in their order.
    fn answers_to(&self, connection: ConnectionId, id: u32) -> Vec<&Response> {
        let found = self.answers.iter().filter(|(to, of, _)| (*to, *of) == (connection, RequestId(id)));
        found.map(|(.., answer)| answer).collect()
    }

    /// The topics of the jobs that a connection got so far, in their order.
    fn topics_of(&self, connection: ConnectionId) -> Vec<String> {
        self.sent(connection).flat_map(delivered).map(|job| job.topic.to_string()).collect()
    }

    fn leases(&mut self, connection: ConnectionId, id: u32, after: u64, jobs_max: u32) -> (Vec<u64>, bool) {
        self.ask(connection, id, Request::Leases { after: JobId(after), jobs_max });
        self.settle();
        match self.answer(connection, id) {
            Response::Leased(page) => (page.jobs.iter().map(|job| job.lease.job.0).collect(), page.has_more),
            other => panic!("{other:?}"),
        }
    }

    /// Connects, and goes on with the session of another connection.
    fn resume(&mut self, number: u64, resume: Resume) -> ConnectionId {
        let connection = self.open(number);
        self.ask(connection, 0, Request::Hello(Hello { resume: Some(resume), ..hello() }));
        self.settle();
        assert!(matches!(self.answer(connection, 0), Response::Welcome(welcome) if welcome.leases_kept));
        connection
    }

    fn session(&self, connection: ConnectionId) -> Resume {
        match self.answer(connection, 0) {
            Response::Welcome(welcome) => welcome.resume().expect("a session"),
            other => panic!("{other:?}"),
        }
    }

    fn connections(
        &mut self,
        asker: ConnectionId,
        id: u32,
        after: u64,
        max: u32,
    ) -> (Vec<ConnectionReport>, bool) {
        self.ask(asker, id, Request::Connections { after, connections_max: max });
        self.settle();
        match self.answer(asker, id) {
            Response::Connections(list) => (list.connections.clone(), list.has_more),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_reserve_that_is_cancelled_is_answered_at_once_and_gets_nothing() {
    let mut rig = Rig::new();
    let [producer, consumer, other] = [1, 2, 3].map(|number| rig.connect(number));
    rig.ask(consumer, 1, poll(jobs(), &[], 60_000));
    assert!(!rig.is_answered(consumer, 1));
    rig.ask(consumer, 2, Request::Cancel { request: 1 });
    assert_eq!(rig.answers_to(consumer, 1), [&Response::Reserved(Vec::new())]);
    assert_eq!(rig.answer(consumer, 2), &Response::Done);
    for (id, request) in [(3, 1), (4, 77), (5, 2)] {
        rig.ask(consumer, id, Request::Cancel { request });
        assert_eq!(rig.refusal(consumer, id), Some(ErrorCode::NotFound), "request {request}");
    }
    // Another connection's is not this one's to cancel, and a subscription is none.
    rig.ask(other, 1, poll(jobs(), &[], 60_000));
    rig.subscribe(other, 2, 0);
    for (id, request) in [(6, 1), (7, 2)] {
        rig.ask(consumer, id, Request::Cancel { request });
        assert_eq!(rig.refusal(consumer, id), Some(ErrorCode::NotFound));
    }
    rig.push(producer, 1, "jobs", 1);
    rig.settle();
    assert_eq!((rig.topics_of(consumer).len(), rig.topics_of(other).len()), (0, 1));
}

/// A consumer that waits for a topic that is there and has no job, and another client.
fn waiting() -> (Rig, [ConnectionId; 3]) {
    let mut rig = Rig::new();
    let [producer, consumer, other] = [1, 2, 3].map(|number| rig.connect(number));
    rig.push(producer, 1, "jobs", 1);
    rig.settle();
    let job = rig.pushed(producer, 1);
    rig.ask(producer, 2, Request::Delete(JobRef::Id(job)));
    rig.settle();
    rig.ask(consumer, 1, poll(jobs(), &[], 60_000));
    (rig, [producer, consumer, other])
}

#[test]
fn a_grant_on_its_way_reaches_the_reserve_that_is_cancelled() {
    let (mut rig, [producer, consumer, _]) = waiting();
    rig.push(producer, 3, "jobs", 1);
    assert!(!rig.orders.is_empty() && !rig.is_answered(consumer, 1), "it is being written");
    rig.ask(consumer, 2, Request::Cancel { request: 1 });
    assert_eq!(rig.answer(consumer, 2), &Response::Done);
    assert!(!rig.is_answered(consumer, 1), "its answer is on its way");
    rig.settle();
    let answers = rig.answers_to(consumer, 1);
    assert!(matches!(answers[..], [Response::Reserved(jobs)] if jobs.len() == 1), "{answers:?}");
    assert_eq!(rig.ready(producer), 0);
}

#[test]
fn a_grant_that_comes_to_nothing_ends_the_wait_of_a_cancelled_reserve() {
    let (mut rig, [producer, consumer, other]) = waiting();
    // The disk is behind: a job, and who takes it before the one that waits, meet in one entry.
    rig.push(producer, 3, "other", 1);
    rig.push(producer, 4, "other", 1);
    rig.push(producer, 5, "jobs", 1);
    rig.ask(other, 1, poll(jobs(), &[], 0));
    rig.written();
    rig.ask(consumer, 2, Request::Cancel { request: 1 });
    assert_eq!(rig.answer(consumer, 2), &Response::Done);
    assert!(!rig.is_answered(consumer, 1), "a reserve for it is being written");
    rig.settle();
    assert_eq!(rig.answers_to(consumer, 1), [&Response::Reserved(Vec::new())], "it does not wait on");
    assert_eq!(rig.topics_of(other), ["jobs"]);
}

#[test]
fn leases_come_in_pages_by_job_and_none_that_is_over() {
    let mut rig = Rig::new();
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    for id in 1..=5 {
        rig.push(producer, id, "jobs", 1);
    }
    rig.subscribe(consumer, 1, 5);
    rig.settle();
    let held: Vec<Delivered> = rig.sent(consumer).flat_map(delivered).cloned().collect();
    let ids: Vec<u64> = held.iter().map(|job| job.lease.job.0).collect();
    assert_eq!(ids.len(), 5);
    assert_eq!(rig.leases(consumer, 2, 0, RESERVE_JOBS_MAX), (ids.clone(), false));
    assert_eq!(rig.leases(consumer, 3, 0, 2), (ids[..2].to_vec(), true));
    assert_eq!(rig.leases(consumer, 4, ids[1], 2), (ids[2..4].to_vec(), true));
    assert_eq!(rig.leases(consumer, 5, ids[3], 2), (ids[4..].to_vec(), false));
    assert_eq!(rig.leases(consumer, 6, ids[4], 2), (Vec::new(), false));
    let again =
        rig.answers_to(consumer, 2).into_iter().flat_map(delivered).map(|job| (job.lease, job.deadline_ms));
    assert!(again.eq(held.iter().map(|job| (job.lease, job.deadline_ms))), "as they were delivered");
    assert_eq!(rig.leases(producer, 90, 0, 9), (Vec::new(), false), "it holds none");
    rig.ask(consumer, 7, Request::Finish { leases: vec![held[0].lease] });
    rig.settle();
    assert_eq!(rig.leases(consumer, 8, 0, 9), (ids[1..].to_vec(), false));
    // A bit before the end of the others.
    rig.pass(u64::from(held[1].ttr_left_ms) - 30);
    assert_eq!(rig.leases(consumer, 9, 0, 9), (Vec::new(), false));
}

#[test]
fn what_was_granted_to_a_lost_connection_and_is_given_back_is_not_shown() {
    let mut rig = Rig::new();
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    let session = rig.session(consumer);
    rig.subscribe(consumer, 1, 9);
    rig.push(producer, 1, "jobs", 1);
    rig.settle();
    let [seen] = rig.sent(consumer).flat_map(delivered).map(|job| job.lease.job.0).collect::<Vec<_>>()[..]
    else {
        panic!("one job came")
    };
    rig.push(producer, 2, "jobs", 1);
    assert!(!rig.orders.is_empty(), "a grant is being written");
    rig.replica.handle(rig.at, Input::Disconnected { connection: consumer });
    let connection = rig.open(4);
    let resume = Some(session);
    rig.ask(connection, 0, Request::Hello(Hello { resume, ..hello() }));
    // The grant is applied, and what gives it back is being written.
    rig.written();
    rig.ask(connection, 1, Request::Leases { after: JobId(0), jobs_max: 9 });
    while !rig.is_answered(connection, 1) {
        rig.written();
    }
    assert!(!rig.orders.is_empty(), "it is not given back yet");
    let shown: Vec<u64> = delivered(rig.answer(connection, 1)).iter().map(|job| job.lease.job.0).collect();
    assert_eq!(shown, [seen]);
    rig.settle();
    assert_eq!(rig.leases(connection, 2, 0, 9), (vec![seen], false));
    assert_eq!(rig.ready(producer), 1, "the other one is there for anybody");
}

#[test]
fn a_lease_that_was_shown_elsewhere_is_not_given_back_for_what_was_not_sent() {
    let mut rig = Rig::new();
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    let session = rig.session(consumer);
    rig.subscribe(consumer, 1, 9);
    rig.push(producer, 1, "jobs", 1);
    rig.settle();
    let lease = rig.sent(consumer).flat_map(delivered).map(|job| job.lease).next().expect("a job");
    let second = rig.resume(4, session);
    assert_eq!(rig.leases(second, 1, 0, 9), (vec![lease.job.0], false));
    // The old connection did not get it out in time. The new one holds it.
    rig.replica.handle(rig.at, Input::NotSent { connection: consumer, leases: vec![lease] });
    rig.poll();
    rig.settle();
    rig.ask(second, 2, Request::Finish { leases: vec![lease] });
    rig.settle();
    assert_eq!(rig.answer(second, 2), &Response::Settled(vec![Ok(())]));
}

/// They are more than one turn takes, and the client is back in between.
#[test]
fn what_a_lost_connection_asked_for_is_done_though_its_session_goes_on_elsewhere() {
    const JOBS: u32 = 600;
    let mut rig = Rig::new();
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    let session = rig.session(consumer);
    rig.subscribe(consumer, 1, JOBS);
    (1..=JOBS).for_each(|id| rig.push(producer, id, "jobs", 1));
    rig.settle();
    let leases: Vec<_> = rig.sent(consumer).flat_map(delivered).map(|job| job.lease).collect();
    assert_eq!(leases.len(), JOBS as usize);
    let again = rig.open(3);
    let finishes = leases.into_iter().zip(2..);
    let finishes =
        finishes.map(|(lease, id)| (RequestId(id), Request::Finish { leases: vec![lease] })).collect();
    let hello = vec![(RequestId(0), Request::Hello(Hello { resume: Some(session), ..hello() }))];
    for (connection, requests) in [(consumer, finishes), (again, hello)] {
        let permit = Permit::default();
        rig.replica.handle(rig.at, Input::Requests { connection, from: None, requests, permit });
    }
    rig.replica.handle(rig.at, Input::Disconnected { connection: consumer });
    rig.poll();
    rig.settle();
    assert!(matches!(rig.answer(again, 0), Response::Welcome(welcome) if welcome.leases_kept));
    assert_eq!(rig.leases(again, 1, 0, JOBS), (Vec::new(), false), "all of them are finished");
}

#[test]
fn weights_share_jobs_out_in_one_go_and_over_many() {
    let names = topics(&["a", "b", "c"]);
    let expected = ["a", "a", "b", "a", "c", "a", "a"];
    let pushed = |rig: &mut Rig, producer| {
        for id in 0..10 {
            ["a", "b", "c"].iter().zip(1..).for_each(|(name, nth)| rig.push(producer, id * 3 + nth, name, 1));
        }
        rig.settle();
    };
    // A subscription that holds one job at a time, one that takes many, and single polls.
    let mut rig = Rig::new();
    let [producer, one, many] = [1, 2, 3].map(|number| rig.connect(number));
    pushed(&mut rig, producer);
    let subscribe = |credit_jobs| {
        let (topics, weights) = (names.clone(), vec![5, 1, 1]);
        Request::Subscribe(Subscribe { topics, credit_jobs, credit_bytes: 1 << 20, weights })
    };
    rig.ask(many, 1, subscribe(7));
    rig.settle();
    assert_eq!(rig.topics_of(many), expected);
    rig.ask(one, 1, subscribe(1));
    rig.settle();
    for id in 0..6 {
        let lease = rig.sent(one).flat_map(delivered).last().expect("a job").lease;
        rig.ask(one, 10 + id, Request::Finish { leases: vec![lease] });
        rig.settle();
    }
    assert_eq!(rig.topics_of(one), expected);
    let mut rig = Rig::new();
    let [producer, polls] = [1, 2].map(|number| rig.connect(number));
    pushed(&mut rig, producer);
    for (id, wait_ms) in (1..).zip([0, 60_000, 0, 0, 60_000, 60_000, 0]) {
        rig.ask(polls, id, poll(names.clone(), &[5, 1, 1], wait_ms));
        rig.settle();
    }
    assert_eq!(rig.topics_of(polls), expected);
}

#[test]
fn the_share_of_a_topic_without_jobs_goes_to_the_others() {
    let mut rig = Rig::new();
    let [producer, consumer] = [1, 2].map(|number| rig.connect(number));
    for (id, name) in (1..).zip(["a", "b", "a", "b", "a", "b"]) {
        rig.push(producer, id, name, 1);
    }
    rig.settle();
    rig.ask(producer, 50, Request::Pause { topic: "a".parse().expect("a name"), for_ms: None });
    rig.settle();
    for id in 1..=2 {
        rig.ask(consumer, id, poll(topics(&["a", "none", "b"]), &[9, 9, 1], 60_000));
        rig.settle();
    }
    assert_eq!(rig.topics_of(consumer), ["b", "b"]);
    // A topic that comes is waited for by its weight, too.
    rig.ask(producer, 51, Request::Resume { topic: "a".parse().expect("a name") });
    rig.push(producer, 9, "none", 1);
    rig.settle();
    for id in 3..=4 {
        rig.ask(consumer, id, poll(topics(&["a", "none", "b"]), &[9, 9, 1], 0));
        rig.settle();
    }
    assert_eq!(rig.topics_of(consumer)[2..], ["a", "none"]);
}

#[test]
fn connections_are_shown_with_what_they_wait_for() {
    let mut rig = Rig::new();
    let [operator, consumer] = [1, 2].map(|number| rig.connect(number));
    rig.push(operator, 1, "jobs", 10);
    rig.settle();
    rig.subscribe(consumer, 1, 5);
    rig.settle();
    rig.ask(consumer, 2, poll(topics(&["later", "jobs"]), &[], 60_000));
    let silent = rig.open(9);
    let (all, has_more) = rig.connections(operator, 2, 0, 256);
    assert!(!has_more);
    assert_eq!(all.iter().map(|report| report.connection).collect::<Vec<_>>(), [1, 2, 9]);
    let session = rig.session(consumer).session;
    let [_, report, unsaid] = &all[..] else { panic!("{all:?}") };
    assert_eq!(
        (report.session, report.leases, report.subscriptions, report.reserves),
        (Some(session), 1, 1, 1)
    );
    assert_eq!((report.credit_jobs, report.credit_bytes), (4, (1 << 28) - 10));
    assert_eq!(report.topics, topics(&["jobs", "later"]));
    assert_eq!(
        (report.address.as_str(), report.client_name.as_str()),
        ("10.0.0.9:1", hello().client_name.as_str())
    );
    assert!(report.unsent_bytes > 0 && !report.has_more_topics && report.since <= rig.at.wall);
    assert_eq!((unsaid.session, unsaid.client_name.as_str()), (None, ""));
    assert_eq!(silent, ConnectionId(9));
    let (page, has_more) = rig.connections(operator, 3, 1, 1);
    assert_eq!((page.len(), page.first().map(|one| one.connection), has_more), (1, Some(2), true));
    assert_eq!(rig.connections(operator, 4, 9, 1), (Vec::new(), false));
}

#[test]
fn a_connection_that_waits_for_much_shows_some_of_it() {
    let mut rig = Rig::new();
    let [operator, consumer] = [1, 2].map(|number| rig.connect(number));
    for id in 1..=40 {
        let names = [format!("topic-{id:02}"), format!("other-{id:02}")];
        let topics = names.iter().map(|name| name.parse().expect("a name")).collect();
        rig.ask(consumer, id, poll(topics, &[], 60_000));
    }
    let (all, _) = rig.connections(operator, 2, 1, 9);
    let report = all.first().expect("the consumer");
    assert_eq!((report.reserves, report.topics.len(), report.has_more_topics), (40, 16, true));
}

#[test]
fn an_operator_closes_a_connection_and_its_session_goes_into_grace() {
    let mut rig = Rig::new();
    let [operator, consumer] = [1, 2].map(|number| rig.connect(number));
    rig.push(operator, 1, "jobs", 1);
    rig.settle();
    rig.subscribe(consumer, 1, 1);
    rig.ask(consumer, 2, poll(jobs(), &[], 60_000));
    rig.settle();
    let session = rig.session(consumer);
    rig.ask(operator, 2, Request::Disconnect { connection: 2, ends_session: false });
    assert_eq!(rig.answer(operator, 2), &Response::Done);
    assert_eq!(rig.answers_to(consumer, 2), [&Response::Reserved(Vec::new())]);
    let farewell = rig.answers_to(consumer, 0);
    assert!(
        matches!(farewell[..], [_, Response::GoingAway { reason: GoingAway::Disconnected, .. }]),
        "{farewell:?}"
    );
    assert!(matches!(rig.answers_to(consumer, 1)[..], [Response::Subscribed, _, Response::Error(_)]));
    rig.ask(consumer, 3, Request::Ping);
    assert_eq!(rig.refusal(consumer, 3), Some(ErrorCode::SessionUnknown), "it is not heard any more");
    rig.replica.handle(rig.at, Input::Disconnected { connection: consumer });
    // In time it goes on, and else its lease ends.
    let again = rig.resume(5, session);
    assert_eq!(rig.leases(again, 1, 0, 9).0.len(), 1);
    rig.ask(operator, 3, Request::Disconnect { connection: 5, ends_session: false });
    rig.replica.handle(rig.at, Input::Disconnected { connection: again });
    rig.pass(GRACE_MS + 1);
    rig.settle();
    rig.poll();
    rig.settle();
    assert_eq!(rig.ready(operator), 1);
}

#[test]
fn an_operator_ends_a_session_with_its_connection() {
    let mut rig = Rig::new();
    let [operator, consumer] = [1, 2].map(|number| rig.connect(number));
    rig.push(operator, 1, "jobs", 1);
    rig.settle();
    rig.subscribe(consumer, 1, 1);
    rig.settle();
    let session = rig.session(consumer);
    rig.ask(operator, 2, Request::Disconnect { connection: 2, ends_session: true });
    assert!(!rig.is_answered(operator, 2), "its leases are not given back before that is durable");
    rig.settle();
    assert_eq!(rig.answer(operator, 2), &Response::Done);
    assert_eq!(rig.ready(operator), 1);
    let connection = rig.open(5);
    rig.ask(connection, 0, Request::Hello(Hello { resume: Some(session), ..hello() }));
    rig.settle();
    let is_new = |answer: &Response| matches!(answer, Response::Welcome(welcome) if !welcome.resumed);
    assert!(is_new(rig.answer(connection, 0)));
    for (id, connection, code) in [(3, 77, ErrorCode::NotFound), (4, 1, ErrorCode::Invalid)] {
        rig.ask(operator, id, Request::Disconnect { connection, ends_session: true });
        assert_eq!(rig.refusal(operator, id), Some(code));
    }
    assert_ne!(session.session, SessionId(0));
}

#[test]
fn a_connection_is_closed_once_its_hello_is_answered() {
    let mut rig = Rig::new();
    let operator = rig.connect(1);
    let connection = rig.open(5);
    rig.ask(connection, 0, Request::Hello(hello()));
    let disconnect = || Request::Disconnect { connection: 5, ends_session: true };
    rig.ask(operator, 1, disconnect());
    assert_eq!(rig.refusal(operator, 1), Some(ErrorCode::Busy), "its session is being opened");
    rig.settle();
    assert!(matches!(rig.answer(connection, 0), Response::Welcome(_)));
    rig.ask(operator, 2, disconnect());
    rig.settle();
    assert_eq!(rig.answer(operator, 2), &Response::Done);
    let session = rig.session(connection);
    let again = rig.open(6);
    rig.ask(again, 0, Request::Hello(Hello { resume: Some(session), ..hello() }));
    rig.settle();
    assert!(matches!(rig.answer(again, 0), Response::Welcome(welcome) if !welcome.resumed));
}

#[test]
fn a_page_of_connections_with_many_subscriptions_is_short() {
    const SUBSCRIPTIONS: u32 = 1024;
    const CONNECTIONS: u64 = 20;
    let mut rig = Rig::new();
    let operator = rig.connect(1);
    for number in 2..2 + CONNECTIONS {
        let connection = rig.connect(number);
        for id in 1..=SUBSCRIPTIONS {
            rig.subscribe(connection, id, 0);
        }
        rig.settle();
    }
    let (first, has_more) = rig.connections(operator, 1, 0, 256);
    assert!(has_more && first.len() < 20, "{} in one page", first.len());
    let (mut seen, mut has_more, mut id) = (first, has_more, 1);
    while has_more {
        id += 1;
        let after = seen.last().expect("every page has one").connection;
        let (page, more) = rig.connections(operator, id, after, 256);
        assert!(!page.is_empty());
        seen.extend(page);
        has_more = more;
    }
    let numbers: Vec<u64> = seen.iter().map(|report| report.connection).collect();
    assert_eq!(numbers, (1..2 + CONNECTIONS).collect::<Vec<_>>());
    assert!(seen.iter().skip(1).all(|report| report.subscriptions == SUBSCRIPTIONS));
}
