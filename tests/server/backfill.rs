//! What a schedule pushes for a time that has passed, and what it would fire.

use std::num::NonZeroU64;

use adjourn_protocol::{
    ErrorCode, Request, Response, ScheduleFill, ScheduleFilled, ScheduleInstants, SchedulePreview,
};
use adjourn_types::{Key, Millis, ScheduleRules};

use super::schedules::{every_minute, history, is_set, named, refused, set, still};
use crate::server_rig::Raw;

const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;

fn fill(from: u64, to: u64, is_dry_run: bool) -> ScheduleFill {
    let (topic, name) = named("daily");
    ScheduleFill { topic, name, from: Millis(from), to: Millis(to), is_dry_run }
}

fn filled(client: &mut Raw, part: &ScheduleFill) -> ScheduleFilled {
    match client.ask(Request::ScheduleFill(part.clone())) {
        Response::ScheduleFilled(filled) => filled,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_time_that_has_passed_is_filled_part_by_part() {
    let (_node, mut client) = still();
    let rules =
        ScheduleRules { when: "@every 1m".to_owned(), origin: Some(Millis(MINUTE)), ..every_minute() };
    is_set(&mut client, set("daily", rules.clone()));
    let mut next = Some(Millis(DAY));
    let mut parts = Vec::new();
    while let Some(from) = next {
        let part = filled(&mut client, &fill(from.0, 2 * DAY, true));
        next = part.next;
        parts.push(part.instants);
    }
    assert_eq!(parts, [1000, 441], "both ends count");
    // A part takes some hundred jobs, and the next one begins where it ended.
    let (mut next, mut pushed) = (Some(Millis(DAY)), 0);
    while let Some(from) = next {
        let part = filled(&mut client, &fill(from.0, 2 * DAY, false));
        assert_eq!((part.pushed, part.kept, part.refused), (part.instants, 0, 0));
        assert!((1..1000).contains(&part.instants), "{part:?}");
        (next, pushed) = (part.next, pushed + part.pushed);
    }
    assert_eq!(pushed, 1441);
    let again = filled(&mut client, &fill(DAY, DAY + MINUTE, false));
    assert_eq!((again.instants, again.pushed, again.kept, again.next), (2, 0, 2, None));
    assert_eq!(history(&mut client, "daily"), [], "it knows nothing of them");
    let none = filled(&mut client, &fill(DAY + 1, DAY + 2, false));
    assert_eq!(none, ScheduleFilled::default());
    let keyed = ScheduleRules { key: Some(Key::new("key"[..].into()).expect("a key")), ..rules };
    for (name, part, expected) in [
        ("a time that ends before it begins", fill(DAY, DAY - 1, true), "exchange"),
        ("a time that is ahead", fill(DAY, 400 * 365 * DAY, true), "ahead"),
    ] {
        let error = refused(&mut client, Request::ScheduleFill(part));
        assert_eq!(error.code, ErrorCode::Invalid, "{name}");
        assert!(error.message.contains(expected), "{error:?}");
    }
    let gone = ScheduleFill { name: "gone".to_owned(), ..fill(DAY, DAY, true) };
    assert_eq!(refused(&mut client, Request::ScheduleFill(gone)).code, ErrorCode::NotFound);
    is_set(&mut client, set("daily", keyed));
    let error = refused(&mut client, Request::ScheduleFill(fill(DAY, DAY, false)));
    assert!(error.message.contains("one key"), "{error:?}");
}

fn previewed(client: &mut Raw, asked: SchedulePreview) -> ScheduleInstants {
    match client.ask(Request::SchedulePreview(asked)) {
        Response::Instants(shown) => shown,
        other => panic!("{other:?}"),
    }
}

#[test]
fn rules_are_previewed_without_a_schedule() {
    let (_node, mut client) = still();
    let rules = ScheduleRules {
        when: "30 2 * * *".to_owned(),
        zone: "Europe/Berlin".to_owned(),
        ..ScheduleRules::default()
    };
    let asked = |rules: &ScheduleRules, instants_max| {
        let from = Some(Millis(1_711_753_200_000));
        SchedulePreview { rules: Box::new(rules.clone()), from, instants_max }
    };
    let shown = previewed(&mut client, asked(&rules, 3));
    let local: Vec<_> = shown.instants.iter().map(|(_, local)| local.as_str()).collect();
    let expected = [
        "2024-03-30 02:30:00 +01:00 CET",
        "2024-03-31 03:00:00 +02:00 CEST",
        "2024-04-01 02:30:00 +02:00 CEST",
    ];
    assert_eq!(local, expected);
    assert!(!shown.zone_data.is_empty());
    let wrong = ScheduleRules { zone: "Mars/Olympus".to_owned(), ..rules.clone() };
    for asked in [asked(&wrong, 1), asked(&rules, 0), asked(&rules, 1001)] {
        assert_eq!(refused(&mut client, Request::SchedulePreview(asked)).code, ErrorCode::Invalid);
    }
}

#[test]
fn a_preview_counts_from_the_start_and_ends_as_the_schedule_does() {
    let (_node, mut client) = still();
    let rules = ScheduleRules {
        when: "@every 7h".to_owned(),
        start: Some(Millis(DAY)),
        count: NonZeroU64::new(2),
        ..ScheduleRules::default()
    };
    let asked = SchedulePreview { rules: Box::new(rules), from: Some(Millis(DAY + 1)), instants_max: 10 };
    let shown = previewed(&mut client, asked);
    let instants: Vec<_> = shown.instants.iter().map(|(instant, _)| instant.0).collect();
    assert_eq!(instants, [DAY + 7 * 60 * MINUTE, DAY + 14 * 60 * MINUTE]);
}
