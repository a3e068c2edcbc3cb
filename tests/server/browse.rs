//! Lists and counts over a real server, and clients that make them costly.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::collections::BTreeSet;

use adjourn_protocol::{
    Bulk, Change, Count, ErrorCode, JobRef, JobReport, List, NewJob, Push, Request, Response,
};
use adjourn_types::{Filter, JobId, JobState, ListOrder, States};
use bytes::Bytes;

use crate::server_rig::{Node, Raw, topic};

const HOUR_MS: u64 = 3_600_000;

/// Pushes `jobs` jobs with keys to a topic, due from two hours on.
fn fill(client: &mut Raw, name: &str, jobs: usize) -> Vec<JobId> {
    let mut ids = Vec::new();
    for first in (0..jobs).step_by(1000) {
        let one = |nth: usize| {
            let key = format!("key {nth:06}").parse().expect("a key");
            NewJob::new("a body").after(2 * HOUR_MS + nth as u64 * 1000).key(key)
        };
        let jobs = (first..jobs.min(first + 1000)).map(one).collect();
        let Response::Pushed(results) =
            client.ask(Request::Push(Push { topic: topic(name), sequence: 0, jobs, idempotency: None }))
        else {
            panic!("not pushed")
        };
        ids.extend(results.into_iter().map(|result| match result {
            adjourn_protocol::PushResult::Pushed(id) => id,
            other => panic!("{other:?}"),
        }));
    }
    ids
}

fn list(name: &str, jobs_max: u32) -> List {
    let filter = Filter { topic: Some(topic(name)), ..Filter::default() };
    List { filter, jobs_max, ..List::default() }
}

/// All pages of a list.
fn all(client: &mut Raw, mut list: List) -> Vec<JobReport> {
    let mut all = Vec::new();
    loop {
        let (jobs, cursor) = page(client.ask(Request::List(list.clone())));
        assert!(jobs.len() <= list.jobs_max as usize);
        all.extend(jobs);
        if cursor.is_empty() {
            return all;
        }
        list.cursor = cursor;
    }
}

fn page(response: Response) -> (Vec<JobReport>, Bytes) {
    match response {
        Response::Jobs { jobs, cursor } => (jobs, cursor),
        other => panic!("{other:?}"),
    }
}

fn code(response: &Response) -> ErrorCode {
    match response {
        Response::Error(error) => error.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_job_is_on_one_page_in_each_order_before_and_after_a_restart() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    let ids = fill(&mut client, "many", 2500);
    fill(&mut client, "others", 100);
    let check = |client: &mut Raw| {
        for order in [ListOrder::Due, ListOrder::Id, ListOrder::Key] {
            let found = all(client, List { order, ..list("many", 700) });
            assert!(found.iter().map(|job| job.id).eq(ids.iter().copied()), "{order:?}");
            let shown = |job: &JobReport| (job.state, job.body_bytes, job.body.len());
            assert!(found.iter().all(|job| shown(job) == (Some(JobState::Delayed), 6, 0)));
        }
        let bodies = all(client, List { with_bodies: true, ..list("many", 1024) });
        assert!(bodies.iter().all(|job| job.body == "a body" && job.key.is_some()));
        let count = |client: &mut Raw, filter| match client.ask(Request::Count(Count::from(filter))) {
            Response::Counted { jobs, .. } => jobs,
            other => panic!("{other:?}"),
        };
        assert_eq!(count(client, Filter::default()), 2600);
        let of_topic = list("many", 1).filter;
        assert_eq!(count(client, Filter { key_prefix: Some("key 00123".into()), ..of_topic.clone() }), 10);
        let ready = States::of([JobState::Ready]);
        assert_eq!(count(client, Filter { states: ready, ..of_topic }), 0);
    };
    check(&mut client);
    drop(client);
    node.stop();
    let node = Node::start(data.path(), |_| ());
    check(&mut Raw::greeted(node.address));
    node.stop();
}

/// An earlier list was given up at the same cursor: what it found then is not shown to the later one.
#[test]
fn a_list_shows_what_was_pushed_before_it_began_wherever_an_earlier_one_was_given_up() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    fill(&mut client, "some", 6);
    let by_id = |jobs_max, cursor| List { order: ListOrder::Id, cursor, jobs_max, ..List::default() };
    let (_, cursor) = page(client.ask(Request::List(by_id(2, Bytes::new()))));
    let (_, given_up) = page(client.ask(Request::List(by_id(2, cursor))));
    let late = fill(&mut client, "more", 1)[0];
    let (_, cursor) = page(client.ask(Request::List(by_id(4, Bytes::new()))));
    assert_eq!(cursor, given_up);
    let (jobs, _) = page(client.ask(Request::List(by_id(100, cursor))));
    assert!(jobs.iter().any(|job| job.id == late), "{jobs:?}");
    node.stop();
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    fill(&mut client, "some", 10);
    let (_, cursor) = page(client.ask(Request::List(list("some", 5))));
    for (order, cursor) in
        [(ListOrder::Id, cursor.clone()), (ListOrder::Due, cursor.slice(1..)), (ListOrder::Due, "x".into())]
    {
        let wrong = Request::List(List { order, cursor, ..list("some", 5) });
        assert_eq!(code(&client.ask(wrong)), ErrorCode::Invalid);
    }
    // A filter's bytes, as they stand in COUNT behind their length.
    for (filter, expected) in [
        (&[99, 0, 0, 0][..], ErrorCode::Unsupported),
        (&[0, 0, 0, 0], ErrorCode::Malformed),
        (&[2, 0, 1, 0, 0x20], ErrorCode::Unsupported),
        (&[2, 0, 2, 0, 1, 1], ErrorCode::Malformed),
        (&[6, 0, 4, 0, 1, 0, 0, 0, 6, 0, 4, 0, 1, 0, 0, 0], ErrorCode::Malformed),
        (&[6, 0, 4, 0, 1, 0], ErrorCode::Malformed),
        (&[1, 0, 0, 0], ErrorCode::Invalid),
        (&[8, 0, 1, 0, 0], ErrorCode::Unsupported),
    ] {
        let length = u8::try_from(filter.len()).expect("short");
        let frame = [&[10 + length, 0, 0, 0, 0x48, 0, 0, 0, 99, 0, 0, 0, length, 0], filter].concat();
        client.send_bytes(&frame);
        let (_, response) = client.receive().expect("an answer");
        assert_eq!(code(&response), expected, "{filter:?}: {response:?}");
    }
    let nothing = page(client.ask(Request::List(list("no such topic".replace(' ', "-").as_str(), 5))));
    assert_eq!(nothing, (Vec::new(), Bytes::new()));
    node.stop();
}

fn bulk(change: Change, name: &str, jobs_max: u32) -> Bulk {
    Bulk { change, filter: list(name, 1).filter, jobs_max, cursor: Bytes::new() }
}

#[test]
fn jobs_move_in_steps_with_their_keys() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    let ids = fill(&mut client, "many", 2500);
    fill(&mut client, "taken", 10);
    let to = |name| Change::Move { to: topic(name) };
    assert_eq!(code(&client.ask(Request::Bulk(bulk(to("many"), "many", 10)))), ErrorCode::Invalid);
    let (mut step, mut sums, mut steps) = (bulk(to("taken"), "many", 700), (0, 0), 0);
    loop {
        let Response::Bulked { jobs, skipped, cursor } = client.ask(Request::Bulk(step.clone())) else {
            panic!("no step")
        };
        sums = (sums.0 + jobs, sums.1 + skipped);
        steps += 1;
        step.cursor = cursor;
        if step.cursor.is_empty() {
            break;
        }
    }
    assert_eq!((sums, steps), ((2490, 10), 4));
    let there = all(&mut client, List { order: ListOrder::Id, ..list("taken", 1024) });
    assert_eq!(there.len(), 2500);
    assert!(there[..2490].iter().map(|job| job.id).eq(ids[10..].iter().copied()));
    let key = "key 002499".parse().expect("a key");
    let Response::Job(job) = client.ask(Request::Get(JobRef::Key { topic: topic("taken"), key })) else {
        panic!("it is not found by its key")
    };
    assert_eq!((job.id, job.topic), (ids[2499], topic("taken")));
    node.stop();
}

#[test]
fn a_step_ends_when_it_has_met_many_bytes() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    for _ in 0..11 {
        let jobs = vec![NewJob::new(vec![7; 1 << 20]).after(2 * HOUR_MS)];
        client.ask(Request::Push(Push { topic: topic("large"), sequence: 0, jobs, idempotency: None }));
    }
    let first = client.ask(Request::Bulk(bulk(Change::RunNow, "large", 1024)));
    let Response::Bulked { jobs: 8, cursor, .. } = first else { panic!("{first:?}") };
    let second = client.ask(Request::Bulk(Bulk { cursor, ..bulk(Change::RunNow, "large", 1024) }));
    let Response::Bulked { jobs: 3, .. } = second else { panic!("{second:?}") };
    node.stop();
}

#[test]
fn a_topic_is_deleted_when_it_has_no_jobs() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    fill(&mut client, "some", 10);
    let delete = || Request::TopicDelete { topic: topic("some") };
    let refused = client.ask(delete());
    let Response::Error(error) = &refused else { panic!("{refused:?}") };
    assert!(error.code == ErrorCode::WrongState && error.message.contains("jobs: 10"), "{error:?}");
    let Response::Bulked { jobs: 10, .. } = client.ask(Request::Bulk(bulk(Change::Delete, "some", 10)))
    else {
        panic!("not cleared")
    };
    assert_eq!(client.ask(Request::Pause { topic: topic("some"), for_ms: None }), Response::Done);
    assert_eq!(client.ask(delete()), Response::Done);
    assert_eq!(code(&client.ask(delete())), ErrorCode::NotFound);
    // A topic with that name is another one: it is not paused.
    fill(&mut client, "some", 1);
    let Response::Topics(topics) = client.ask(Request::Topics) else { panic!("no topics") };
    let one: Vec<_> = topics.iter().map(|one| (one.topic.clone(), one.paused, one.totals.pushed)).collect();
    assert_eq!(one, [(topic("some"), false, 1)]);
    node.stop();
}

#[test]
fn who_asks_for_a_thousand_lists_and_goes_holds_up_nobody() {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    let ids = fill(&mut client, "many", 20_000);
    let mut hostile = Raw::greeted(node.address);
    let lists: Vec<_> = (0..1000)
        .map(|nth| {
            let order = if nth % 2 == 0 { ListOrder::Id } else { ListOrder::Key };
            Request::List(List { order, with_bodies: true, ..list("many", 1024) })
        })
        .collect();
    hostile.send(&lists).expect("a server");
    let (jobs, _) = page(client.ask(Request::List(list("many", 100))));
    assert_eq!(jobs.len(), 100);
    drop(hostile);
    assert!(client.is_alive());

    // One that reads slowly gets all its pages, however many it asked for.
    let mut slow = Raw::greeted(node.address);
    let (first, last) = slow.send(&lists[..40]).map(|first| (first.0, first.0 + 39)).expect("a server");
    let mut answered = BTreeSet::new();
    while answered.len() < 40 {
        let (id, response) = slow.receive().expect("an answer");
        let (jobs, cursor) = page(response);
        assert!(jobs.iter().map(|job| job.id).eq(ids[..1024].iter().copied()) && !cursor.is_empty());
        assert!((first..=last).contains(&id.0) && answered.insert(id));
    }
    node.stop();
}
