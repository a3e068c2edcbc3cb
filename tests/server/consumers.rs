//! Consumers over a real server: they cancel, share topics out by weights, find leases again, and are sent away.

use std::path::Path;

use adjourn_protocol::{
    Advance, ConnectionReport, Delivered, ErrorCode, GoingAway, Hello, Leased, Request, RequestId, Reserve,
    Response, Subscribe,
};
use adjourn_server::config::ClockChoice;
use adjourn_types::limits::{CONNECTION_TOPICS_MAX, RESERVE_TOPICS_MAX, SUBSCRIPTIONS_MAX};
use adjourn_types::{JobId, TopicName};

use crate::server_rig::{Node, Raw, adjourn, hello, push, topic};

fn reserve(names: &[&str], weights: &[u16], wait_ms: u64) -> Request {
    let topics = names.iter().map(|name| topic(name)).collect();
    Request::Reserve(Reserve { topics, jobs_max: 10, wait_ms, weights: weights.to_vec() })
}

fn jobs(response: Response) -> Vec<Delivered> {
    match response {
        Response::Reserved(jobs) | Response::Deliver(jobs) | Response::Leased(Leased { jobs, .. }) => jobs,
        other => panic!("{other:?}"),
    }
}

/// The connection of the client of this name.
fn named(client: &mut Raw, name: &str) -> ConnectionReport {
    let all = client.connections();
    let found = all.iter().find(|report| report.client_name == name);
    found.unwrap_or_else(|| panic!("{all:?}")).clone()
}

#[test]
fn topics_say_how_many_consumers_want_their_jobs_and_how_late_these_came() {
    let node = Node::start(Path::new("/nowhere/at/all"), |config| {
        (config.memory, config.clock) = (true, ClockChoice::Manual);
    });
    let (mut producer, mut client) = (Raw::greeted(node.address), Raw::greeted(node.address));
    let shown = |producer: &mut Raw| match producer.ask(Request::Topics) {
        Response::Topics(topics) => {
            topics.iter().map(|topic| (topic.consumers, topic.late_ms)).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    producer.ask(push("a", "body", 1_000));
    producer.ask(push("b", "body", 5_000));
    assert_eq!(shown(&mut producer), [(0, 0), (0, 0)]);
    let subscribe = Subscribe {
        topics: vec![topic("b"), topic("c")],
        credit_jobs: 1,
        credit_bytes: 1 << 20,
        weights: Vec::new(),
    };
    client.ask(Request::Subscribe(subscribe));
    assert_eq!(shown(&mut producer), [(0, 0), (1, 0)]);
    // The clock passes the time at which the job of the subscribed topic is due.
    producer.ask(Request::Advance(Advance::By(7_000)));
    assert_eq!(jobs(client.receive().expect("a job").1).len(), 1);
    assert_eq!(shown(&mut producer), [(0, 0), (1, 2_000)], "nobody has asked for the job of the other one");
}

#[test]
fn a_cancelled_reserve_takes_no_job() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    for _ in 0..20 {
        let first = client.send(&[reserve(&["t"], &[], 60_000)]).expect("a server").0;
        client.send(&[Request::Cancel { request: first }, push("t", "body", 0), reserve(&["t"], &[], 0)]);
        let mut answers: Vec<_> = (0..4).map(|_| client.receive().expect("an answer")).collect();
        answers.sort_by_key(|(id, _)| *id);
        let [(_, cancelled), (_, done), (_, pushed), (_, taken)] = answers.as_slice() else { unreachable!() };
        assert_eq!((cancelled, done), (&Response::Reserved(Vec::new()), &Response::Done));
        assert!(matches!(pushed, Response::Pushed(_)));
        let leases: Vec<_> = jobs(taken.clone()).iter().map(|job| job.lease).collect();
        assert_eq!(leases.len(), 1);
        client.ask(Request::Finish { leases });
        let Response::Error(refused) = client.ask(Request::Cancel { request: first }) else {
            panic!("answered")
        };
        assert_eq!(refused.code, ErrorCode::NotFound);
    }
    node.stop();
}

#[test]
fn each_reserve_is_answered_once_though_it_is_cancelled_while_jobs_come() {
    const ROUNDS: u32 = 200;
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let (mut producer, mut client) = (Raw::greeted(node.address), Raw::greeted(node.address));
    let mut taken = 0;
    for _ in 0..ROUNDS {
        let first = client.send(&[reserve(&["t"], &[], 60_000)]).expect("a server").0;
        producer.send(&[push("t", "body", 0)]);
        client.send(&[Request::Cancel { request: first }]);
        let mut answers: Vec<_> = (0..2).map(|_| client.receive().expect("an answer")).collect();
        answers.sort_by_key(|(id, _)| *id);
        let [(RequestId(id), reserved), (_, cancelled)] = answers.as_slice() else { unreachable!() };
        assert_eq!(*id, first);
        let is_late = matches!(cancelled, Response::Error(error) if error.code == ErrorCode::NotFound);
        assert!(is_late || *cancelled == Response::Done, "{cancelled:?}");
        let leases: Vec<_> = jobs(reserved.clone()).iter().map(|job| job.lease).collect();
        taken += u32::try_from(leases.len()).expect("few");
        if !leases.is_empty() {
            client.ask(Request::Finish { leases });
        }
        assert!(matches!(producer.receive(), Some((_, Response::Pushed(_)))));
    }
    while taken < ROUNDS {
        let leases: Vec<_> =
            jobs(client.ask(reserve(&["t"], &[], 10_000))).iter().map(|job| job.lease).collect();
        taken += u32::try_from(leases.len()).expect("few");
        client.ask(Request::Finish { leases });
    }
    let Response::Stats(stats) = client.ask(Request::Stats) else { panic!("counts") };
    assert_eq!((stats.totals.finished, stats.totals.ready, stats.totals.reserved), (ROUNDS.into(), 0, 0));
    node.stop();
}

#[test]
fn a_session_that_is_resumed_finds_the_leases_that_it_holds() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::connect(node.address);
    let welcome = client.greet(hello());
    for n in 0..5 {
        client.ask(push("t", format!("body {n}"), 0));
    }
    let held = jobs(client.ask(reserve(&["t"], &[], 0)));
    assert_eq!(held.len(), 5);
    drop(client);
    let mut client = Raw::connect(node.address);
    let resume = welcome.resume();
    assert!(client.greet(Hello { resume, ..hello() }).leases_kept);
    let (mut found, mut after) = (Vec::new(), JobId(0));
    loop {
        let Response::Leased(page) = client.ask(Request::Leases { after, jobs_max: 2 }) else {
            panic!("a page")
        };
        assert!(page.jobs.len() <= 2);
        after = page.jobs.last().expect("a job").lease.job;
        found.extend(page.jobs);
        if !page.has_more {
            break;
        }
    }
    let shown =
        |jobs: &[Delivered]| -> Vec<_> { jobs.iter().map(|job| (job.lease, job.body.clone())).collect() };
    assert_eq!(shown(&found), shown(&held));
    assert!(
        found.iter().zip(&held).all(|(now, then)| now.ttr_left_ms <= then.ttr_left_ms && now.ttr_left_ms > 0)
    );
    node.stop();
}

#[test]
fn topics_give_jobs_by_their_weights() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    for _ in 0..10 {
        for name in ["a", "b", "c"] {
            client.ask(push(name, "body", 0));
        }
    }
    let topics = |jobs: Vec<Delivered>| jobs.iter().map(|job| job.topic.to_string()).collect::<String>();
    assert_eq!(topics(jobs(client.ask(reserve(&["a", "b", "c"], &[5, 3, 2], 0)))), "abcaabacba");
    let subscribe = Request::Subscribe(Subscribe {
        topics: ["a", "b", "c"].map(topic).to_vec(),
        credit_jobs: 6,
        credit_bytes: 1 << 20,
        weights: vec![1, 1, 4],
    });
    assert_eq!(client.ask(subscribe), Response::Subscribed);
    assert_eq!(topics(jobs(client.receive().expect("jobs").1)), "cacbcc");
    let Response::Error(refused) = client.ask(reserve(&["a", "b"], &[1], 0)) else { panic!("refused") };
    assert_eq!(refused.code, ErrorCode::Invalid, "{refused}");
    assert!(client.is_alive());
    node.stop();
}

#[test]
fn an_operator_sees_who_is_connected_and_sends_one_away() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let (mut operator, mut client) = (Raw::greeted(node.address), Raw::connect(node.address));
    let welcome = client.greet(Hello { client_name: "billing".to_owned(), ..hello() });
    client.ask(push("t", "body", 0));
    assert_eq!(jobs(client.ask(reserve(&["t"], &[], 0))).len(), 1);
    client.send(&[reserve(&["t", "u"], &[], 60_000)]);
    assert!(client.is_alive());
    let report = named(&mut operator, "billing");
    assert_eq!((report.session, report.leases, report.reserves), (Some(welcome.session), 1, 1));
    assert_eq!(report.topics, ["t", "u"].map(topic));
    assert!(report.address.starts_with("127.0.0.1:"), "{report:?}");

    let connection = report.connection;
    let ended = operator.ask(Request::Disconnect { connection, ends_session: true });
    assert_eq!(ended, Response::Done);
    let mut farewell: Vec<_> = std::iter::from_fn(|| client.receive()).collect();
    farewell.sort_by_key(|(id, _)| *id);
    let [(RequestId(0), Response::GoingAway { reason, .. }), (_, empty)] = farewell.as_slice() else {
        panic!("{farewell:?}")
    };
    assert_eq!((*reason, empty), (GoingAway::Disconnected, &Response::Reserved(Vec::new())));
    assert_eq!(jobs(operator.ask(reserve(&["t"], &[], 0))).len(), 1, "its lease was given back");
    let Response::Error(gone) = operator.ask(Request::Disconnect { connection, ends_session: false }) else {
        panic!("it is gone")
    };
    assert_eq!(gone.code, ErrorCode::NotFound);
    node.stop();
}

#[test]
fn connections_have_other_numbers_after_a_restart() {
    let data = tempfile::tempdir().expect("a directory");
    let numbers = || {
        let node = Node::start(data.path(), |_| ());
        let number = Raw::greeted(node.address).connections().first().map(|report| report.connection);
        node.stop();
        number.expect("it is connected")
    };
    let [first, second] = [(); 2].map(|()| numbers());
    assert!(first != second && first.max(second) < 1 << 53, "{first} and {second}");
}

#[test]
fn the_command_line_lists_connections_and_closes_one() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::connect(node.address);
    client.greet(Hello { client_name: "billing".to_owned(), ..hello() });
    let address = node.address.to_string();
    let run = |arguments: &[&str]| {
        let output = adjourn(arguments).args(["--server", &address]).output().expect("it runs");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let (code, table) = run(&["connections"]);
    assert!(code == Some(0) && table.contains("billing") && table.contains("adjourn-cli"), "{table}");
    let (_, lines) = run(&["connections", "--json"]);
    let line = lines.lines().find(|line| line.contains(r#""client_name":"billing""#)).expect("it is there");
    let number =
        line.strip_prefix(r#"{"connection":"#).and_then(|rest| rest.split(',').next()).expect("a number");
    assert_eq!(run(&["disconnect", number, "--end-session"]).0, Some(0));
    assert!(matches!(
        client.receive(),
        Some((_, Response::GoingAway { reason: GoingAway::Disconnected, .. }))
    ));
    assert_eq!(client.receive(), None);
    assert_eq!(run(&["disconnect", number]).0, Some(3), "nothing there");
    let weighed = run(&["reserve", "a", "b", "--weights", "2"]);
    assert_eq!(weighed.0, Some(2), "a weight for each topic");
    assert_eq!(run(&["reserve", "a", "b", "--weights", "2,1"]).0, Some(3), "nothing there");
    node.stop();
}

#[test]
fn a_client_that_waits_for_everything_costs_an_operator_little() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let (mut operator, mut client) = (Raw::greeted(node.address), Raw::connect(node.address));
    client.greet(Hello { client_name: "greedy".to_owned(), ..hello() });
    let topics = |number: usize| -> Vec<TopicName> {
        (0..RESERVE_TOPICS_MAX).map(|nth| topic(&format!("{number:0100}-{nth}"))).collect()
    };
    let weights = vec![u16::MAX; RESERVE_TOPICS_MAX];
    for number in 0..SUBSCRIPTIONS_MAX {
        let (topics, weights) = (topics(number), weights.clone());
        client.send(&[Request::Subscribe(Subscribe { topics, credit_jobs: 1, credit_bytes: 1, weights })]);
        assert!(matches!(client.receive(), Some((_, Response::Subscribed))));
    }
    let report = named(&mut operator, "greedy");
    assert_eq!(report.subscriptions as usize, SUBSCRIPTIONS_MAX);
    assert_eq!((report.topics.len(), report.has_more_topics), (CONNECTION_TOPICS_MAX, true));
    // Unread answers wait, as those of other reads do.
    let ask = || Request::Connections { after: 0, connections_max: 256 };
    let many: Vec<Request> = (0..2000).map(|_| ask()).collect();
    client.send(&many);
    assert!(operator.is_alive());
    for _ in &many {
        assert!(matches!(client.receive(), Some((_, Response::Connections(_)))));
    }
    node.stop();
}
