//! Changes of clocks that people know, with the local times at which they would expect a firing.

use jiff::tz::TimeZone;

use super::{calendar, millis, rules};
use crate::Dst;
use adjourn_types::Millis;

/// Asserts the local times of the firings from one instant on.
#[track_caller]
fn fires(text: &str, zone: &str, dst: Dst, from: &str, expected: &[&str]) {
    let calendar = calendar(text, rules(zone), dst);
    let found: Vec<String> =
        calendar.preview(millis(from), expected.len()).map(|firing| firing.local).collect();
    assert_eq!(found, expected, "{text} {zone} {dst:?}");
}

#[test]
fn a_skipped_hour() {
    let from = "2027-03-27T12:00:00Z";
    let [day_before, after_gap, day_after] = [
        "2027-03-28 01:30:00 +01:00 CET",
        "2027-03-28 03:00:00 +02:00 CEST",
        "2027-03-29 02:30:00 +02:00 CEST",
    ];
    fires("30 1 * * *", "Europe/Berlin", Dst::Vixie, from, &[day_before]);
    fires("30 2 * * *", "Europe/Berlin", Dst::Vixie, from, &[after_gap, day_after]);
    fires("30 2 * * *", "Europe/Berlin", Dst::Literal, from, &[day_after]);
    // Once, not once for each skipped minute, and not once more for the time at which the gap ends.
    fires(
        "0,20,40 2 * * *",
        "Europe/Berlin",
        Dst::Vixie,
        from,
        &[after_gap, "2027-03-29 02:00:00 +02:00 CEST"],
    );
    fires("30 2,3 * * *", "Europe/Berlin", Dst::Vixie, from, &[after_gap, "2027-03-28 03:30:00 +02:00 CEST"]);
    fires("0 2,3 * * *", "Europe/Berlin", Dst::Vixie, from, &[after_gap, "2027-03-29 02:00:00 +02:00 CEST"]);
    // Wildcards are owed nothing.
    fires("*/30 2 * * *", "Europe/Berlin", Dst::Vixie, from, &["2027-03-29 02:00:00 +02:00 CEST"]);
    fires("30 2 28 3 *", "Europe/Berlin", Dst::Vixie, from, &[after_gap, "2028-03-28 02:30:00 +02:00 CEST"]);
}

#[test]
fn a_repeated_hour() {
    let from = "2027-10-30T12:00:00Z";
    let [first, second, day_after] = [
        "2027-10-31 02:30:00 +02:00 CEST",
        "2027-10-31 02:30:00 +01:00 CET",
        "2027-11-01 02:30:00 +01:00 CET",
    ];
    fires("30 2 * * *", "Europe/Berlin", Dst::Vixie, from, &[first, day_after]);
    fires("30 2 * * *", "Europe/Berlin", Dst::Literal, from, &[first, second, day_after]);
    fires("30 * * * *", "Europe/Berlin", Dst::Vixie, "2027-10-31T00:00:00Z", &[first, second]);
    fires("30 2 * * *", "Europe/Berlin", Dst::Vixie, "2027-10-31T00:45:00Z", &[day_after]);
    fires("30 2 * * *", "Europe/Berlin", Dst::Vixie, "2027-10-31T01:15:00Z", &[day_after]);
}

#[test]
fn half_an_hour_on_lord_howe_island() {
    let zone = "Australia/Lord_Howe";
    let skipped = "2027-10-02T12:00:00Z";
    fires(
        "15 2 * * *",
        zone,
        Dst::Vixie,
        skipped,
        &["2027-10-03 02:30:00 +11:00 +11", "2027-10-04 02:15:00 +11:00 +11"],
    );
    fires("15 2 * * *", zone, Dst::Literal, skipped, &["2027-10-04 02:15:00 +11:00 +11"]);
    let repeated = "2027-04-03T12:00:00Z";
    let [first, second] = ["2027-04-04 01:45:00 +11:00 +11", "2027-04-04 01:45:00 +10:30 +1030"];
    fires("45 1 * * *", zone, Dst::Vixie, repeated, &[first, "2027-04-05 01:45:00 +10:30 +1030"]);
    fires("45 1 * * *", zone, Dst::Literal, repeated, &[first, second]);
}

#[test]
fn a_skipped_day() {
    let (apia, from) = ("Pacific/Apia", "2011-12-29T12:00:00Z");
    let [before, after_gap, after] = [
        "2011-12-29 09:00:00 -10:00 -10",
        "2011-12-31 00:00:00 +14:00 +14",
        "2011-12-31 09:00:00 +14:00 +14",
    ];
    fires("0 9 * * *", apia, Dst::Vixie, from, &[before, after_gap, after]);
    fires("0 9 * * *", apia, Dst::Literal, from, &[before, after]);
    fires("0 9,17 30 12 *", apia, Dst::Vixie, from, &[after_gap, "2012-12-30 09:00:00 +14:00 +14"]);
    fires("0 9 30 12 *", apia, Dst::Literal, from, &["2012-12-30 09:00:00 +14:00 +14"]);
    let after_gap = "1993-08-22 00:00:00 +12:00 +12";
    fires("0 12 21 8 *", "Pacific/Kwajalein", Dst::Vixie, "1993-08-20T00:00:00Z", &[after_gap]);
}

#[test]
fn a_new_offset_without_daylight_saving() {
    let from = "2018-05-04T00:00:00Z";
    let after_gap = "2018-05-05 00:00:00 +09:00 KST";
    fires("45 23 4 5 *", "Asia/Pyongyang", Dst::Vixie, from, &[after_gap]);
    fires("0 0 5 5 *", "Asia/Pyongyang", Dst::Vixie, from, &[after_gap]);
    let [first, second] = ["2015-08-14 23:45:00 +09:00 KST", "2015-08-14 23:45:00 +08:30 KST"];
    fires("45 23 14 8 *", "Asia/Pyongyang", Dst::Literal, "2015-08-14T00:00:00Z", &[first, second]);
}

#[test]
fn a_time_that_is_always_skipped() {
    // The last Sunday of March at 02:30 does not exist in Berlin, in any year.
    let text = "30 2 * 3 SUNL";
    let yearly = ["2027-03-28 03:00:00 +02:00 CEST", "2028-03-26 03:00:00 +02:00 CEST"];
    fires(text, "Europe/Berlin", Dst::Vixie, "2027-01-01T00:00:00Z", &yearly);
    let never = calendar(text, rules("Europe/Berlin"), Dst::Literal);
    assert_eq!(never.next_after(millis("2027-01-01T00:00:00Z")), None);
}

#[test]
fn a_repeated_day() {
    // No zone has repeated a day since 1970, so this one is made up: a day goes by twice from each last Sunday of October.
    let rules = || TimeZone::posix("AAA10BBB-14,M3.5.0,M10.5.0").expect("a zone");
    let firings = |dst| {
        let calendar = calendar("0 9 31 10 *", rules(), dst);
        calendar.preview(millis("2027-10-29T00:00:00Z"), 2).map(|firing| firing.local).collect::<Vec<_>>()
    };
    assert_eq!(firings(Dst::Vixie), ["2027-10-31 09:00:00 -10:00 AAA", "2028-10-31 09:00:00 -10:00 AAA"]);
    let repeated = calendar("0 9 30 10 *", rules(), Dst::Literal);
    let twice: Vec<_> =
        repeated.preview(millis("2027-10-29T00:00:00Z"), 2).map(|firing| firing.local).collect();
    assert_eq!(twice, ["2027-10-30 09:00:00 +14:00 BBB", "2027-10-30 09:00:00 -10:00 AAA"]);
    let once = calendar("0 9 30 10 *", rules(), Dst::Vixie);
    assert_eq!(once.between(millis("2027-10-29T00:00:00Z"), millis("2027-11-02T00:00:00Z")).count(), 1);
}

#[test]
fn rare_days_are_found() {
    for (text, from, expected) in [
        ("0 0 29 2 *", "2027-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"),
        ("0 0 * 2 SUN#5", "2027-01-01T00:00:00Z", "2032-02-29T00:00:00Z"),
        ("0 0 * 2 MON#5", "2072-03-01T00:00:00Z", "2112-02-29T00:00:00Z"),
        ("0 0 1 1 1#1", "2027-01-01T00:00:00Z", "2027-01-04T00:00:00Z"),
        ("59 59 23 31 12 *", "9998-12-31T23:59:59Z", "none"),
    ] {
        let next = calendar(text, TimeZone::UTC, Dst::Vixie).next_after(millis(from));
        let expected = if expected == "none" { None } else { Some(millis(expected)) };
        assert_eq!(next, expected, "{text} after {from}");
    }
}

#[test]
fn a_calendar_has_a_start_and_an_end() {
    let [start, end] = ["2027-01-02T00:00:00Z", "2027-01-04T00:00:00Z"].map(millis);
    let mut daily = calendar("@daily", TimeZone::UTC, Dst::Vixie);
    (daily.start, daily.end) = (Some(start), Some(end));
    let days: Vec<_> = daily.between(Millis(0), Millis(u64::MAX)).collect();
    assert_eq!(days, [start, millis("2027-01-03T00:00:00Z"), end], "both are inside");
    daily.start = Some(Millis(start.0 + 1));
    assert_eq!(daily.next_after(Millis(0)), Some(millis("2027-01-03T00:00:00Z")));
    daily.start = Some(Millis(end.0 + 1));
    assert_eq!(daily.next_after(Millis(0)), None);
}
