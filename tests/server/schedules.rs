//! Schedules over the protocol: what is set fires at its instants, once each, and says what it did.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;

use adjourn_protocol::{
    Advance, Delivered, ErrorCode, ErrorReply, IfVersion, JobTemplate, ListedSchedule, Request, Reserve,
    Response, ScheduleConditions, ScheduleList, SchedulePage, ScheduleReport, ScheduleSet,
};
use adjourn_server::config::ClockChoice;
use adjourn_types::limits::PRIORITY_UNSAID;
use adjourn_types::{
    AttributesBuilder, Fired, Firing, JobEnd, JobId, Key, Lease, Millis, Missed, Overlap, PausedBy,
    ScheduleRules, SkipReason,
};
use bytes::Bytes;

use crate::server_rig::{Node, Raw, topic};

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
/// The cursor of the first page, and that of the last one.
const START: Bytes = Bytes::new();
const NOTHING: SchedulePage = SchedulePage { schedules: Vec::new(), cursor: START };

/// A server in memory whose clock stands still, and a client of it.
pub(super) fn still() -> (Node, Raw) {
    let node = Node::start(Path::new("/nowhere/at/all"), |config| {
        (config.memory, config.clock) = (true, ClockChoice::Manual);
    });
    let client = Raw::greeted(node.address);
    (node, client)
}

pub(super) fn every_minute() -> ScheduleRules {
    ScheduleRules { when: "* * * * *".to_owned(), missed: Missed::Last, ..ScheduleRules::default() }
}

fn allow(rules: ScheduleRules) -> ScheduleRules {
    ScheduleRules { overlap: Overlap::Allow, ..rules }
}

pub(super) fn set(name: &str, rules: ScheduleRules) -> ScheduleSet {
    ScheduleSet {
        topic: topic("reports"),
        name: name.to_owned(),
        rules: Box::new(rules),
        template: JobTemplate {
            priority: PRIORITY_UNSAID,
            // No lease ends in a test.
            ttr_ms: 604_800_000,
            attributes: AttributesBuilder::default().header("kind", "report").build().expect("valid"),
            body: "do it".into(),
        },
        if_version: IfVersion::Any,
    }
}

pub(super) fn is_set(client: &mut Raw, set: ScheduleSet) -> (JobId, u32, Option<Millis>) {
    match client.ask(Request::ScheduleSet(set)) {
        Response::Scheduled { schedule, version, next } => (schedule, version, next),
        other => panic!("{other:?}"),
    }
}

pub(super) fn refused(client: &mut Raw, request: Request) -> ErrorReply {
    match client.ask(request) {
        Response::Error(error) => error,
        other => panic!("{other:?}"),
    }
}

fn show(client: &mut Raw, name: &str) -> ScheduleReport {
    match client.ask(Request::ScheduleShow { topic: topic("reports"), name: name.to_owned() }) {
        Response::Schedule(report) => *report,
        other => panic!("{other:?}"),
    }
}

fn list(
    client: &mut Raw,
    conditions: &ScheduleConditions,
    cursor: Bytes,
    schedules_max: u32,
) -> SchedulePage {
    let topic = Some(topic("reports"));
    listed(client, ScheduleList { topic, conditions: conditions.clone(), schedules_max, cursor })
}

fn listed(client: &mut Raw, list: ScheduleList) -> SchedulePage {
    match client.ask(Request::ScheduleList(list)) {
        Response::Schedules(page) => page,
        other => panic!("{other:?}"),
    }
}

fn names(page: &SchedulePage) -> Vec<&str> {
    page.schedules.iter().map(|one| one.name.as_str()).collect()
}

fn advance(client: &mut Raw, by_ms: u64) -> Millis {
    match client.ask(Request::Advance(Advance::By(by_ms))) {
        Response::Pong { now, .. } => now,
        other => panic!("{other:?}"),
    }
}

/// Moves the clock to the next instant.
fn to_next(client: &mut Raw) -> Millis {
    match client.ask(Request::Advance(Advance::ToNext)) {
        Response::Pong { now, .. } => now,
        other => panic!("{other:?}"),
    }
}

fn reserve(wait_ms: u64) -> Request {
    Request::Reserve(Reserve { topics: vec![topic("reports")], jobs_max: 100, wait_ms, weights: Vec::new() })
}

fn reserved(client: &mut Raw) -> Vec<Delivered> {
    match client.ask(reserve(0)) {
        Response::Reserved(jobs) => jobs,
        other => panic!("{other:?}"),
    }
}

fn finish(client: &mut Raw, lease: Lease) {
    assert_eq!(client.ask(Request::Finish { leases: vec![lease] }), Response::Settled(vec![Ok(())]));
}

fn bury(client: &mut Raw, lease: Lease) {
    let bury = Request::Bury { leases: vec![lease], reason: None };
    assert_eq!(client.ask(bury), Response::Settled(vec![Ok(())]));
}

/// The instants of the history, and what became of them.
pub(super) fn history(client: &mut Raw, name: &str) -> Vec<(Millis, Fired)> {
    show(client, name).history.into_iter().map(|Firing { instant, what, .. }| (instant, what)).collect()
}

fn skipped(last: Millis, instants: u64, reason: SkipReason) -> Fired {
    Fired::Skipped { last, instants, reason }
}

pub(super) fn named(name: &str) -> (adjourn_types::TopicName, String) {
    (topic("reports"), name.to_owned())
}

#[test]
fn a_schedule_pushes_a_job_at_each_instant() {
    let (_node, mut client) = still();
    let (id, version, next) = is_set(&mut client, set("nightly", every_minute()));
    let first = next.expect("an instant");
    assert_eq!((version, first.0 % MINUTE), (1, 0));
    assert_eq!(to_next(&mut client), first);
    let [job] = &reserved(&mut client)[..] else { panic!("one job") };
    assert_eq!((job.due, &job.body[..]), (first, &b"do it"[..]));
    assert_eq!(job.key, Key::new(format!("nightly@{}", first.0).into()).ok());
    assert_eq!(job.attributes.iter().count(), 1, "the header, and nothing of the schedule: {job:?}");
    finish(&mut client, job.lease);
    assert_eq!(to_next(&mut client), first.after(MINUTE));
    let report = show(&mut client, "nightly");
    let state = report.state;
    assert_eq!((state.id, state.fired, state.running, state.version), (id, 2, 1, 1));
    assert_eq!(state.next, Some(first.after(2 * MINUTE)));
    let ends: Vec<_> =
        report.history.iter().map(|firing| (firing.instant, firing.what.running_job())).collect();
    assert!(matches!(ends[..], [(one, None), (two, Some(_))] if one == first && two == first.after(MINUTE)));
    assert!(matches!(
        report.history.first().map(|firing| firing.what),
        Some(Fired::Pushed { end: Some(JobEnd::Finished), .. })
    ));
}

#[test]
fn a_waiting_consumer_gets_the_job_of_an_instant_at_once() {
    let (node, mut client) = still();
    is_set(&mut client, set("nightly", every_minute()));
    let mut consumer = Raw::greeted(node.address);
    let first = consumer.send(&[reserve(60_000), Request::Ping]).expect("a server");
    let (pong, _) = consumer.receive().expect("an answer");
    assert_eq!(pong.0, first.0 + 1, "the reserve waits");
    to_next(&mut client);
    match consumer.receive().expect("an answer").1 {
        Response::Reserved(jobs) => assert_eq!(jobs.len(), 1),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_set_again_keeps_its_instant_and_its_history() {
    let (_node, mut client) = still();
    let rules = ScheduleRules { when: "@every 7m".to_owned(), ..every_minute() };
    let (id, _, next) = is_set(&mut client, set("often", rules.clone()));
    let first = to_next(&mut client);
    assert_eq!(Some(first), next);
    advance(&mut client, MINUTE);
    let noted = ScheduleRules { note: "the same times".to_owned(), ..rules.clone() };
    let again = ScheduleSet {
        if_version: IfVersion::Is(NonZeroU32::MIN),
        template: JobTemplate { body: "another".into(), ..set("", every_minute()).template },
        ..set("often", noted)
    };
    let expected = (id, 2, Some(first.after(7 * MINUTE)));
    assert_eq!(is_set(&mut client, again.clone()), expected, "an interval is not moved");
    assert_eq!(refused(&mut client, Request::ScheduleSet(again)).code, ErrorCode::Changed);
    let new = ScheduleSet { if_version: IfVersion::New, ..set("often", rules.clone()) };
    assert_eq!(refused(&mut client, Request::ScheduleSet(new)).code, ErrorCode::Changed);
    let report = show(&mut client, "often");
    assert_eq!((&report.template.body[..], &*report.rules.note), (&b"another"[..], "the same times"));
    assert_eq!(report.history.len(), 1);
    let (.., next) = is_set(&mut client, set("often", ScheduleRules { when: "@hourly".to_owned(), ..rules }));
    assert_eq!(next.map(|next| next.0 % HOUR), Some(0), "other times begin anew");
}

#[test]
fn overlap_says_what_happens_while_a_job_has_not_ended() {
    for overlap in [Overlap::Allow, Overlap::Skip, Overlap::QueueOne, Overlap::Replace] {
        let (_node, mut client) = still();
        is_set(&mut client, set("one", ScheduleRules { overlap, ..every_minute() }));
        let first = to_next(&mut client);
        let [held] = &reserved(&mut client)[..] else { panic!("one job") };
        let second = advance(&mut client, MINUTE);
        let waiting = reserved(&mut client);
        let state = show(&mut client, "one").state;
        match overlap {
            Overlap::Allow => assert_eq!((waiting.len(), state.running), (1, 2)),
            Overlap::Skip => {
                assert_eq!((waiting.len(), state.running), (0, 1));
                let skip = (second, skipped(second, 1, SkipReason::Overlap));
                assert_eq!(history(&mut client, "one").last(), Some(&skip));
            }
            Overlap::QueueOne => {
                assert_eq!((waiting.len(), state.is_held, state.next), (0, true, Some(second)));
                advance(&mut client, MINUTE);
                finish(&mut client, held.lease);
                advance(&mut client, 0);
                let [late] = &reserved(&mut client)[..] else { panic!("the held job") };
                assert_eq!(late.due, second);
                let third = first.after(2 * MINUTE);
                let skip = (third, skipped(third, 1, SkipReason::Overlap));
                assert_eq!(history(&mut client, "one").last(), Some(&skip));
            }
            Overlap::Replace => {
                assert_eq!((waiting.len(), state.running), (1, 1));
                let finish = client.ask(Request::Finish { leases: vec![held.lease] });
                assert_eq!(finish, Response::Settled(vec![Err(ErrorCode::StaleLease)]));
            }
        }
    }
}

#[test]
fn missed_instants_are_fired_as_the_rules_say() {
    for (missed, fired) in [(Missed::None, 0), (Missed::Last, 1), (Missed::All, 3)] {
        let (_node, mut client) = still();
        let rules = ScheduleRules {
            when: "@every 10m".to_owned(),
            missed,
            missed_max: NonZeroU32::new(3),
            ..allow(every_minute())
        };
        let (.., next) = is_set(&mut client, set("late", rules));
        let first = next.expect("an instant");
        let (topic, name) = named("late");
        assert_eq!(
            client.ask(Request::SchedulePause { topic, name, note: Some("why".to_owned()) }),
            Response::Done
        );
        let now = advance(&mut client, 55 * MINUTE);
        assert_eq!(
            (reserved(&mut client).len(), show(&mut client, "late").state.paused),
            (0, Some(PausedBy::User))
        );
        let (topic, name) = named("late");
        assert_eq!(client.ask(Request::ScheduleResume { topic, name }), Response::Done);
        advance(&mut client, 0);
        let jobs = reserved(&mut client);
        assert_eq!(jobs.len(), fired, "{missed:?}");
        let report = show(&mut client, "late");
        assert_eq!(report.state.next, Some(first.after(50 * MINUTE)), "{now}");
        let Some(Firing { instant, what: Fired::Skipped { instants, reason, .. }, .. }) =
            report.history.first()
        else {
            panic!("{report:?}")
        };
        assert_eq!((*instant, *instants, *reason), (first, 5 - fired as u64, SkipReason::Missed));
    }
}

#[test]
fn count_and_failures_end_a_schedule() {
    let (_node, mut client) = still();
    let twice = ScheduleRules { count: NonZeroU64::new(2), ..allow(every_minute()) };
    is_set(&mut client, set("twice", twice.clone()));
    to_next(&mut client);
    to_next(&mut client);
    assert_eq!(show(&mut client, "twice").state.next, None);
    advance(&mut client, HOUR);
    let jobs = reserved(&mut client);
    assert_eq!(jobs.len(), 2);
    for job in jobs {
        finish(&mut client, job.lease);
    }
    let (.., next) = is_set(&mut client, set("twice", twice));
    assert_eq!(next, None, "it has ended, and setting the same does not begin it anew");

    let fails = ScheduleRules { failures_max: 2, ..every_minute() };
    is_set(&mut client, set("fails", fails));
    for failures in 1..=2 {
        to_next(&mut client);
        let [job] = &reserved(&mut client)[..] else { panic!("one job") };
        bury(&mut client, job.lease);
        assert_eq!(show(&mut client, "fails").state.failures, failures);
    }
    assert_eq!(show(&mut client, "fails").state.paused, Some(PausedBy::Failures));
    advance(&mut client, HOUR);
    assert_eq!(reserved(&mut client), []);
}

#[test]
fn a_schedule_is_run_by_hand_and_forgotten() {
    let (_node, mut client) = still();
    let (.., next) =
        is_set(&mut client, set("weekly", ScheduleRules { when: "@weekly".to_owned(), ..every_minute() }));
    let (topic, name) = named("weekly");
    let run = Request::ScheduleRun { topic, name };
    let Response::ScheduleRan { job } = client.ask(run.clone()) else { panic!("it runs") };
    let [taken] = &reserved(&mut client)[..] else { panic!("one job") };
    assert_eq!((taken.lease.job, show(&mut client, "weekly").state.next), (job, next));
    assert_eq!(taken.key, None, "the usual key belongs to an instant");
    let keyed = ScheduleRules { key: Key::new("one".into()).ok(), ..every_minute() };
    is_set(&mut client, set("keyed", keyed));
    let (topic, name) = named("keyed");
    let run_keyed = Request::ScheduleRun { topic, name };
    assert!(matches!(client.ask(run_keyed.clone()), Response::ScheduleRan { .. }));
    assert_eq!(refused(&mut client, run_keyed).code, ErrorCode::KeyExists);
    let (topic, name) = named("weekly");
    assert_eq!(client.ask(Request::ScheduleDelete { topic, name }), Response::Done);
    assert_eq!(refused(&mut client, run).code, ErrorCode::NotFound);
    finish(&mut client, taken.lease);
}

#[test]
fn schedules_are_listed_in_pages() {
    let (_node, mut client) = still();
    let all = ScheduleConditions::default();
    assert_eq!(list(&mut client, &all, START, 10), NOTHING);
    for nth in 0..5 {
        is_set(&mut client, set(&format!("nth {nth}"), every_minute()));
    }
    let first = list(&mut client, &all, START, 3);
    assert_eq!(names(&first), ["nth 0", "nth 1", "nth 2"]);
    let rest = list(&mut client, &all, first.cursor, 3);
    assert_eq!((names(&rest), &rest.cursor), (vec!["nth 3", "nth 4"], &START));
    let is_right = |one: &ListedSchedule| one.rules.when == "* * * * *" && one.topic == topic("reports");
    assert!(rest.schedules.iter().all(is_right));
    assert_eq!(list(&mut client, &all, START, 5).cursor, START, "a full page may be the last one");
}

#[test]
fn schedules_are_listed_by_name_pause_and_next_instant() {
    let (_node, mut client) = still();
    for name in ["tenant-1.a", "tenant-2.a", "tenant-1.b"] {
        is_set(&mut client, set(name, every_minute()));
    }
    let yearly = ScheduleRules { when: "@yearly".to_owned(), ..every_minute() };
    let (_, _, next) = is_set(&mut client, set("tenant-1.c", yearly));
    let name = "tenant-1.b".to_owned();
    let pause = Request::SchedulePause { topic: topic("reports"), name, note: None };
    assert_eq!(client.ask(pause), Response::Done);
    let first = ScheduleConditions { prefix: "tenant-1.".to_owned(), ..ScheduleConditions::default() };
    let mut listed = |conditions: &ScheduleConditions| {
        let page = list(&mut client, conditions, START, 10);
        names(&page).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(listed(&first), ["tenant-1.a", "tenant-1.b", "tenant-1.c"]);
    assert_eq!(listed(&ScheduleConditions { paused: Some(true), ..first.clone() }), ["tenant-1.b"]);
    assert_eq!(
        listed(&ScheduleConditions { paused: Some(false), ..first.clone() }),
        ["tenant-1.a", "tenant-1.c"]
    );
    let soon = ScheduleConditions { next_before: next, ..first };
    assert_eq!(listed(&soon), ["tenant-1.a", "tenant-1.b"], "not the one with this instant");
    // No page is behind the one that finds nothing.
    let none = ScheduleConditions { prefix: "tenant-3.".to_owned(), ..ScheduleConditions::default() };
    assert_eq!(list(&mut client, &none, START, 1), NOTHING);
}

#[test]
fn the_schedules_of_all_topics_are_listed_topic_by_topic() {
    let (_node, mut client) = still();
    for (at, name) in [("b", "1"), ("a", "2"), ("b", "3"), ("c", "4")] {
        is_set(&mut client, ScheduleSet { topic: topic(at), ..set(name, every_minute()) });
    }
    let (mut found, mut cursor) = (Vec::new(), START);
    loop {
        let conditions = ScheduleConditions::default();
        let page = listed(&mut client, ScheduleList { topic: None, conditions, schedules_max: 1, cursor });
        found.extend(page.schedules.into_iter().map(|one| format!("{}/{}", one.topic, one.name)));
        cursor = page.cursor;
        if cursor.is_empty() {
            break;
        }
    }
    assert_eq!(found, ["b/1", "b/3", "a/2", "c/4"], "topics in the order in which they were made");
    let conditions = ScheduleConditions { prefix: "4".to_owned(), ..ScheduleConditions::default() };
    let all = ScheduleList { topic: None, conditions, schedules_max: 10, cursor: START };
    assert_eq!(names(&listed(&mut client, all.clone())), ["4"]);
    // A cursor of another list is refused.
    let first = ScheduleList { conditions: ScheduleConditions::default(), schedules_max: 1, ..all };
    let cursor = listed(&mut client, first.clone()).cursor;
    for list in [
        ScheduleList { topic: Some(topic("b")), cursor, ..first.clone() },
        ScheduleList { cursor: "cursor".into(), ..first },
    ] {
        assert_eq!(refused(&mut client, Request::ScheduleList(list)).code, ErrorCode::Invalid);
    }
}

#[test]
fn a_page_of_schedules_with_large_bodies_ends_early() {
    let (_node, mut client) = still();
    let large = |name: &str| {
        let mut set = set(name, every_minute());
        set.template.body = vec![7; 600 << 10].into();
        set
    };
    for name in ["a", "b", "c"] {
        is_set(&mut client, large(name));
    }
    let all = ScheduleConditions::default();
    let first = list(&mut client, &all, START, 10);
    assert_eq!(names(&first), ["a", "b"], "more than a megabyte is read");
    let rest = list(&mut client, &all, first.cursor, 10);
    assert_eq!((names(&rest), &rest.cursor), (vec!["c"], &START));
}

#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    let (_node, mut client) = still();
    let rules = |when: &str| ScheduleRules { when: when.to_owned(), ..every_minute() };
    let name_with_instant = "x".repeat(255);
    for (set, code, expected) in [
        (set("a", rules("61 * * * *")), ErrorCode::Invalid, "61"),
        (set("a", rules("@yearly 3")), ErrorCode::Invalid, "write @hourly"),
        (set("a", rules("@at 2001-01-01T00:00:00Z")), ErrorCode::Invalid, "never fires"),
        (
            set("a", ScheduleRules { zone: "Europe/Berln".to_owned(), ..every_minute() }),
            ErrorCode::Invalid,
            "Europe/Berlin",
        ),
        (set(&name_with_instant, every_minute()), ErrorCode::Invalid, "needs a key"),
        (
            ScheduleSet { if_version: IfVersion::Is(NonZeroU32::MIN), ..set("a", every_minute()) },
            ErrorCode::Changed,
            "there is no schedule",
        ),
    ] {
        let error = refused(&mut client, Request::ScheduleSet(set));
        assert_eq!(error.code, code, "{error:?}");
        assert!(error.message.contains(expected), "{error:?}");
    }
    assert_eq!(list(&mut client, &ScheduleConditions::default(), START, 10), NOTHING, "nothing was set");
}

#[test]
fn many_schedules_of_one_instant_each_push_a_job() {
    const SCHEDULES: usize = 2_000;
    let (_node, mut client) = still();
    for nth in 0..SCHEDULES {
        is_set(&mut client, set(&format!("nth {nth}"), every_minute()));
    }
    to_next(&mut client);
    let mut keys = std::collections::BTreeSet::new();
    loop {
        let jobs = reserved(&mut client);
        if jobs.is_empty() {
            break;
        }
        keys.extend(jobs.into_iter().map(|job| job.key));
    }
    assert_eq!(keys.len(), SCHEDULES);
}

#[test]
fn a_schedule_outlives_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::start(folder.path(), |_| {});
    let mut client = Raw::greeted(node.address);
    let rules = allow(ScheduleRules { when: "@every 1s".to_owned(), ..every_minute() });
    let (id, ..) = is_set(&mut client, set("often", rules.clone()));
    let mut instants = Vec::new();
    let mut take = |client: &mut Raw, count: usize| {
        let end = instants.len() + count;
        while instants.len() < end {
            match client.ask(reserve(10_000)) {
                Response::Reserved(jobs) => {
                    for job in jobs {
                        instants.push(job.due);
                        finish(client, job.lease);
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        instants.clone()
    };
    take(&mut client, 2);
    node.stop();
    let node = Node::start(folder.path(), |_| {});
    let mut client = Raw::greeted(node.address);
    let instants = take(&mut client, 2);
    let report = show(&mut client, "often");
    assert_eq!((report.state.id, report.rules.when), (id, rules.when));
    let distinct: std::collections::BTreeSet<_> = instants.iter().collect();
    assert_eq!(distinct.len(), instants.len(), "no instant twice: {instants:?}");
}
