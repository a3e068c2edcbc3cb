//! What a topic decides for its jobs, seen by clients of a real server.

use std::collections::BTreeSet;
use std::num::NonZeroU128;
use std::time::{Duration, Instant};

use adjourn_protocol::{
    Delivered, ErrorCode, Idempotency, JobRef, JobReport, List, NewJob, Push, PushResult, ReleaseKind,
    Request, Reserve, Response, TopicSet, TopicSettings,
};
use adjourn_types::limits::PRIORITY_DEFAULT;
use adjourn_types::{
    AttributesBuilder, Backoff, BackoffCurve, BuryReason, Filter, JobId, JobState, Late, LateAction,
    ListOrder, Millis, PolicyChange, RetryDefaults, Setting, TopicPolicy, When,
};
use bytes::Bytes;

use crate::server_rig::{Node, Raw, push, topic};

fn set(client: &mut Raw, name: &str, change: impl FnOnce(&mut TopicPolicy)) {
    let mut settings = PolicyChange::default();
    change(&mut settings.set);
    let answer = client.ask(Request::TopicSet(TopicSet { topic: topic(name), change: Box::new(settings) }));
    assert_eq!(answer, Response::Done);
}

fn settings(client: &mut Raw, name: &str) -> TopicSettings {
    match client.ask(Request::TopicShow { topic: topic(name) }) {
        Response::TopicSettings(settings) => *settings,
        other => panic!("{other:?}"),
    }
}

fn reserve(client: &mut Raw, name: &str, jobs_max: u32, wait_ms: u64) -> Vec<Delivered> {
    let topics = vec![topic(name)];
    match client.ask(Request::Reserve(Reserve { topics, jobs_max, wait_ms, weights: Vec::new() })) {
        Response::Reserved(jobs) => jobs,
        other => panic!("{other:?}"),
    }
}

fn push_due(client: &mut Raw, name: &str, due: When) -> PushResult {
    let job = NewJob { due, ..NewJob::new("body") };
    match client.ask(Request::Push(Push {
        topic: topic(name),
        sequence: 0,
        jobs: vec![job],
        idempotency: None,
    })) {
        Response::Pushed(results) => *results.first().expect("a result"),
        other => panic!("{other:?}"),
    }
}

fn release(client: &mut Raw, job: &Delivered) {
    let release = Request::Release { leases: vec![job.lease], kind: ReleaseKind::Backoff, reason: None };
    assert_eq!(client.ask(release), Response::Settled(vec![Ok(())]));
}

fn start() -> (tempfile::TempDir, Node, Raw) {
    let data = tempfile::tempdir().expect("a directory");
    let node = Node::start(data.path(), |_| ());
    let client = Raw::greeted(node.address);
    (data, node, client)
}

#[test]
fn a_policy_is_kept_and_changes_setting_by_setting() {
    let (data, node, mut client) = start();
    let unknown = client.ask(Request::TopicShow { topic: topic("t") });
    assert!(matches!(unknown, Response::Error(error) if error.code == ErrorCode::NotFound));
    set(&mut client, "t", |policy| (policy.ttr_ms, policy.leases_max) = (Some(500), Some(3)));
    set(&mut client, "t", |policy| policy.leases_max = Some(4));
    let expected = TopicPolicy { ttr_ms: Some(500), leases_max: Some(4), ..TopicPolicy::default() };
    assert_eq!(settings(&mut client, "t").policy, expected);
    client.ask(push("t", "12345", 60_000));
    let shown = settings(&mut client, "t");
    assert_eq!((shown.jobs, shown.bytes, shown.paused), (1, 5, false));

    drop(client);
    node.stop();
    let node = Node::start(data.path(), |_| ());
    let mut client = Raw::greeted(node.address);
    assert_eq!(settings(&mut client, "t"), shown, "also after a restart");
    let unset = PolicyChange { set: TopicPolicy::default(), unset: BTreeSet::from(Setting::ALL) };
    client.ask(Request::TopicSet(TopicSet { topic: topic("t"), change: Box::new(unset) }));
    assert!(settings(&mut client, "t").policy.is_empty());
}

#[test]
fn jobs_that_do_not_say_take_what_their_topic_says() {
    let (_data, _node, mut client) = start();
    let backoff = Backoff { curve: BackoffCurve::Fixed(0), jitter_percent: 0 };
    client.ask(push("plain", "body", 0));
    let plain = reserve(&mut client, "plain", 1, 0);
    assert_eq!(plain.first().map(|job| job.priority), Some(PRIORITY_DEFAULT));
    set(&mut client, "t", |policy| {
        (policy.ttr_ms, policy.priority) = (Some(7_000), Some(5));
        (policy.attempts_max, policy.backoff) = (Some(2), Some(backoff));
    });
    client.ask(push("t", "body", 0));
    let job = reserve(&mut client, "t", 1, 0).pop().expect("a job");
    assert!(job.priority == 5 && job.ttr_left_ms <= 7_000, "{job:?}");
    release(&mut client, &job);
    let job = reserve(&mut client, "t", 1, 0).pop().expect("the second attempt");
    release(&mut client, &job);
    let Response::Job(report) = client.ask(Request::Get(JobRef::Id(job.lease.job))) else {
        panic!("it lives")
    };
    assert_eq!((report.state, report.buried), (Some(JobState::Buried), Some(BuryReason::AttemptsUsedUp)));
}

fn shown(client: &mut Raw, id: JobId) -> JobReport {
    match client.ask(Request::Get(JobRef::Id(id))) {
        Response::Job(report) => *report,
        other => panic!("{other:?}"),
    }
}

#[test]
fn jobs_and_topics_that_say_nothing_take_the_server_s_defaults_and_keep_them() {
    let data = tempfile::tempdir().expect("a directory");
    let defaults = RetryDefaults::default();
    let node = Node::start(data.path(), |config| config.retry_defaults = defaults.clone());
    let mut client = Raw::greeted(node.address);
    assert_eq!(defaults.attempts_max, Some(25));
    client.ask(push("t", "body", 0));
    let shown_settings = settings(&mut client, "t");
    assert_eq!((&shown_settings.defaults, shown_settings.policy.is_empty()), (&defaults, true));
    let job = reserve(&mut client, "t", 1, 0).pop().expect("a job");
    assert!(job.attributes.is_empty(), "it is delivered as it was pushed");
    let policy = shown(&mut client, job.lease.job).attributes.policy();
    assert_eq!((policy.attempts_max, policy.backoff), (defaults.attempts_max, defaults.backoff));
    release(&mut client, &job);
    let failed = shown(&mut client, job.lease.job);
    assert!(failed.due >= job.due.after(800), "it waits for its backoff: {failed:?}");
    let filter = Filter { topic: Some(topic("t")), ..Filter::default() };
    let list = List { filter, order: ListOrder::Id, jobs_max: 9, with_bodies: false, cursor: Bytes::new() };
    let Response::Jobs { jobs, .. } = client.ask(Request::List(list)) else { panic!("a page") };
    assert_eq!(jobs.first().map(|job| &job.attributes), Some(&failed.attributes));
    // What the topic sets counts first.
    set(&mut client, "t", |policy| policy.attempts_max = Some(7));
    let of_queue = settings(&mut client, "t").defaults;
    assert_eq!(of_queue, RetryDefaults { attempts_max: None, ..RetryDefaults::default() });

    // Another configuration counts for the jobs that are pushed from then on.
    drop(client);
    node.stop();
    let once = RetryDefaults { attempts_max: Some(1), backoff: None };
    let node = Node::start(data.path(), |config| config.retry_defaults = once.clone());
    let mut client = Raw::greeted(node.address);
    assert_eq!(shown(&mut client, failed.id).attributes, failed.attributes);
    client.ask(push("other", "body", 0));
    assert_eq!(settings(&mut client, "other").defaults, once);
    let job = reserve(&mut client, "other", 1, 0).pop().expect("a job");
    release(&mut client, &job);
    assert_eq!(shown(&mut client, job.lease.job).buried, Some(BuryReason::AttemptsUsedUp));
}

#[test]
fn a_job_that_failed_stands_behind_those_that_were_not_tried() {
    let (_data, _node, mut client) = start();
    let mut push_one = || push_due(&mut client, "t", When::After(0));
    let pushed = [push_one(), push_one(), push_one()];
    let take = |client: &mut Raw| reserve(client, "t", 1, 0).pop().expect("a job").lease;
    let give_back = |client: &mut Raw, lease, kind| {
        let release = Request::Release { leases: vec![lease], kind, reason: None };
        assert_eq!(client.ask(release), Response::Settled(vec![Ok(())]));
    };
    let first = take(&mut client);
    give_back(&mut client, first, ReleaseKind::After(0));
    let second = take(&mut client);
    assert_eq!(PushResult::Pushed(second.job), pushed[1]);
    // It was not tried.
    give_back(&mut client, second, ReleaseKind::NotStarted);
    let again = take(&mut client);
    assert_eq!(again.job, second.job);
    // There is no backoff anywhere.
    give_back(&mut client, again, ReleaseKind::Backoff);
    let left = reserve(&mut client, "t", 9, 0);
    let left: Vec<_> = left.iter().map(|job| PushResult::Pushed(job.lease.job)).collect();
    assert_eq!(left, [pushed[2], pushed[0], pushed[1]]);
}

#[test]
fn a_push_of_which_no_job_is_accepted_makes_no_topic() {
    let (_data, _node, mut client) = start();
    let expires = AttributesBuilder::default().expires(When::At(Millis(1))).build().expect("valid");
    let job = NewJob { attributes: expires, ..NewJob::new("body") };
    let key = NonZeroU128::new(7).map(|key| Idempotency { key, list_jobs: 1 });
    for (sequence, idempotency) in [(0, None), (1, None), (0, key)] {
        let jobs = vec![job.clone()];
        let refused = client.ask(Request::Push(Push { topic: topic("t"), sequence, jobs, idempotency }));
        let expected = PushResult::Refused(ErrorCode::ExpiresBeforeDue, None);
        assert_eq!(refused, Response::Pushed(vec![expected]));
    }
    assert_eq!(client.ask(Request::Topics), Response::Topics(Vec::new()));
}

#[test]
fn a_topic_that_is_full_takes_no_more() {
    let (_data, _node, mut client) = start();
    set(&mut client, "t", |policy| (policy.jobs_max, policy.body_bytes_max) = (Some(2), Some(4)));
    let now = When::After(0);
    let first = push_due(&mut client, "t", now);
    assert!(matches!(first, PushResult::Pushed(_)));
    assert!(matches!(push_due(&mut client, "t", now), PushResult::Pushed(_)));
    assert_eq!(push_due(&mut client, "t", now), PushResult::Refused(ErrorCode::Quota, None));
    let job = reserve(&mut client, "t", 1, 0).pop().expect("a job");
    client.ask(Request::Finish { leases: vec![job.lease] });
    assert!(matches!(push_due(&mut client, "t", now), PushResult::Pushed(_)));
    let large = client.ask(push("t", "12345", 0));
    assert_eq!(large, Response::Pushed(vec![PushResult::Refused(ErrorCode::TooLarge, None)]));
    set(&mut client, "t", |policy| (policy.jobs_max, policy.bytes_max) = (Some(100), Some(11)));
    assert_eq!(push_due(&mut client, "t", now), PushResult::Refused(ErrorCode::Quota, None));
}

#[test]
fn no_more_jobs_are_reserved_than_may_be() {
    let (_data, _node, mut client) = start();
    set(&mut client, "t", |policy| policy.leases_max = Some(2));
    for _ in 0..3 {
        push_due(&mut client, "t", When::After(0));
    }
    let jobs = reserve(&mut client, "t", 10, 0);
    assert_eq!(jobs.len(), 2);
    assert_eq!(reserve(&mut client, "t", 10, 0), []);
    // One that waits gets the third as soon as one of the two is done.
    let topics = vec![topic("t")];
    let waits = Request::Reserve(Reserve { topics, jobs_max: 10, wait_ms: 60_000, weights: Vec::new() });
    let lease = jobs.first().map(|job| job.lease).expect("two jobs");
    client.send(&[waits, Request::Finish { leases: vec![lease] }]).expect("a server");
    let answers = [client.receive().expect("an answer").1, client.receive().expect("an answer").1];
    let third = |answer: &Response| matches!(answer, Response::Reserved(jobs) if jobs.len() == 1);
    assert!(answers.iter().any(third), "{answers:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a rate is jobs in a time")]
fn deliveries_are_spread_by_the_rate_and_go_on_by_themselves() {
    let (_data, _node, mut client) = start();
    set(&mut client, "t", |policy| policy.per_second_max = Some(20));
    let jobs = vec![NewJob::new("body"); 8];
    client.ask(Request::Push(Push { topic: topic("t"), sequence: 0, jobs, idempotency: None }));
    let begun = Instant::now();
    let mut taken = 0;
    while taken < 8 {
        let jobs = reserve(&mut client, "t", 10, 60_000);
        assert!((1..=2).contains(&jobs.len()), "a tenth of a second's worth at once: {}", jobs.len());
        taken += jobs.len();
    }
    // Eight at 50 ms each; the first two may come at once.
    assert!(begun.elapsed() >= Duration::from_millis(290), "{:?}", begun.elapsed());
}

#[test]
fn what_is_late_is_dropped_buried_or_comes_bit_by_bit() {
    let (_data, _node, mut client) = start();
    let long_ago = When::At(Millis(1_000_000));
    for (name, then) in [
        ("drop", LateAction::Drop),
        ("bury", LateAction::Bury),
        ("rate", LateAction::PerSecond(1)),
        ("spread", LateAction::Spread { over_ms: 1 }),
    ] {
        set(&mut client, name, |policy| policy.late = Some(Late { after_ms: 60_000, then }));
        push_due(&mut client, name, When::After(0));
        push_due(&mut client, name, long_ago);
    }
    for (name, delivered) in [("drop", 1), ("bury", 1), ("rate", 2), ("spread", 2)] {
        assert_eq!(reserve(&mut client, name, 10, 0).len(), delivered, "{name}");
    }
    let Response::Topics(topics) = client.ask(Request::Topics) else { panic!("counts") };
    let count = |name: &str, count: fn(&adjourn_protocol::Totals) -> u64| {
        topics.iter().find(|report| report.topic.as_str() == name).map(|report| count(&report.totals))
    };
    assert_eq!(count("drop", |totals| totals.expired), Some(1));
    assert_eq!(count("bury", |totals| totals.buried), Some(1));
}

#[test]
fn bad_settings_are_refused() {
    let (_data, _node, mut client) = start();
    let mut change = PolicyChange::default();
    change.set.dead_letters = Some(topic("t"));
    let answer = client.ask(Request::TopicSet(TopicSet { topic: topic("t"), change: Box::new(change) }));
    assert!(matches!(answer, Response::Error(error) if error.code == ErrorCode::Invalid));
}

#[test]
fn what_would_be_buried_goes_to_the_dead_letters() {
    let (_data, _node, mut client) = start();
    set(&mut client, "t", |policy| {
        (policy.attempts_max, policy.dead_letters) = (Some(1), Some(topic("failed")));
    });
    let keyed = |body: &str| {
        let job = NewJob { key: Some("k".parse().expect("a key")), ..NewJob::new(body.to_owned()) };
        Request::Push(Push { topic: topic("t"), sequence: 0, jobs: vec![job], idempotency: None })
    };
    // Both have the same key, one after the other: neither is lost among the dead letters.
    for (body, reason) in [("1", Some("no such address")), ("2", None)] {
        client.ask(keyed(body));
        let job = reserve(&mut client, "t", 1, 0).pop().expect("a job");
        let reason = reason.map(str::to_owned);
        client.ask(Request::Release { leases: vec![job.lease], kind: ReleaseKind::Backoff, reason });
    }
    let dead = reserve(&mut client, "failed", 10, 0);
    let bodies: Vec<&[u8]> = dead.iter().map(|job| &job.body[..]).collect();
    assert_eq!(bodies, [b"1", b"2"]);
    let reasons = dead.iter().map(|job| match client.ask(Request::Get(JobRef::Id(job.lease.job))) {
        Response::Job(report) => report.history.reason.expect("it has one"),
        other => panic!("{other:?}"),
    });
    assert_eq!(reasons.collect::<Vec<_>>(), ["no such address", "attempts used up"]);
    let by_key = JobRef::Key { topic: topic("failed"), key: "k".parse().expect("a key") };
    let unknown = client.ask(Request::Get(by_key));
    assert!(matches!(unknown, Response::Error(error) if error.code == ErrorCode::NotFound));
}
