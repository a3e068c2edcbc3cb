//! Random expressions, instants and texts.

use adjourn_types::Millis;
use jiff::civil::date;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan as _};
use proptest::prelude::*;

use super::model::{Item, Pattern, patterns};
use super::walk::{changes, firings};
use super::{calendar, millis_of, rules};
use crate::{Calendar, Dst, Recurrence};

const DAY: i64 = 86_400;

fn dst() -> impl Strategy<Value = Dst> {
    prop_oneof![Just(Dst::Vixie), Just(Dst::Literal)]
}

/// Zones with changes of many kinds, and two that are made up: clocks that go a day ahead and back, and that change twice in a day.
fn zones() -> impl Strategy<Value = TimeZone> {
    let names = [
        "UTC",
        "America/New_York",
        "Europe/Berlin",
        "Europe/Dublin",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "Asia/Tehran",
        "Asia/Pyongyang",
        "Pacific/Apia",
        "Pacific/Kwajalein",
        "America/St_Johns",
        "Antarctica/Troll",
    ];
    let made_up = ["AAA10BBB-14,M3.5.0,M10.5.0", "AAA0BBB-3,M3.5.0/1,M3.5.0/23"];
    let posix = |text: &str| TimeZone::posix(text).expect("a zone");
    let all: Vec<TimeZone> = names.map(rules).into_iter().chain(made_up.map(posix)).collect();
    prop::sample::select(all)
}

/// A second near a change of the zone's clocks, or anywhere, from 1980 to 2060.
fn moment(rules: &TimeZone, anywhere: i64, near: Option<(prop::sample::Index, i64)>) -> i64 {
    let of = |year| Offset::UTC.to_timestamp(date(year, 1, 1).at(0, 0, 0, 0)).expect("in range").as_second();
    let changes = changes(rules, of(1980), of(2060));
    match near {
        Some((index, distance)) if !changes.is_empty() => *index.get(&changes) + distance,
        _ => of(1980) + anywhere.rem_euclid(of(2060) - of(1980)),
    }
}

fn parsed(pattern: &Pattern) -> Option<Recurrence> {
    let parsed = Recurrence::parse(&pattern.to_string(), Millis(0));
    let is_never = matches!(&parsed, Err(error) if error.to_string().contains("never fires"));
    assert!(parsed.is_ok() || is_never, "{pattern}: {parsed:?}");
    parsed.ok()
}

/// Random expressions seldom meet the edges of a month: 28 years have every month with every first weekday.
#[test]
fn special_days_are_as_the_model_has_them() {
    let numbered = (0..=7).flat_map(|weekday| (1..=5).map(move |nth| Item::Numbered(weekday, nth)));
    let weekdays = numbered.chain((0..=7).map(Item::LastOf)).map(|weekday| Pattern::on(Item::Any, weekday));
    let days = [Item::Last, Item::LastWeekday].into_iter().chain((1..=31).map(Item::Nearest));
    let (first, last) = (date(2020, 1, 1), date(2047, 12, 31));
    for pattern in weekdays.chain(days.map(|day| Pattern::on(day, Item::Any))) {
        let expected =
            first.series(1.day()).take_while(|day| *day <= last).filter(|day| pattern.matches_date(*day));
        let calendar = calendar(&pattern.to_string(), TimeZone::UTC, Dst::Vixie);
        let [from, to] =
            [first, last].map(|day| Offset::UTC.to_timestamp(day.at(0, 0, 0, 0)).expect("in range"));
        let found = calendar.between(millis_of(from.as_second() - 1), millis_of(to.as_second()));
        let found = found.map(|at| Timestamp::from_millisecond(at.0.cast_signed()).expect("in range"));
        assert!(found.map(|at| Offset::UTC.to_datetime(at).date()).eq(expected), "{pattern}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn firings_are_as_the_model_has_them(
        pattern in patterns(),
        rules in zones(),
        dst in dst(),
        anywhere in any::<i64>(),
        near in prop::option::weighted(0.8, (any::<prop::sample::Index>(), -2 * DAY..2 * DAY)),
    ) {
        prop_assume!(parsed(&pattern).is_some());
        let from = moment(&rules, anywhere, near);
        let to = from + if pattern.second.is_some() { DAY / 2 } else { 3 * DAY };
        let expected: Vec<_> = firings(&pattern, &rules, dst, from + 1, to).into_iter().map(millis_of).collect();
        let found: Vec<_> = calendar(&pattern.to_string(), rules, dst).between(millis_of(from), millis_of(to)).collect();
        prop_assert_eq!(found, expected, "{} from {}", pattern, from);
    }

    #[test]
    fn the_next_day_is_as_the_model_has_it(pattern in patterns(), day in 0..60_000_i64) {
        prop_assume!(parsed(&pattern).is_some());
        let start = date(1970, 1, 1) + day.days();
        let first = (0..20_000_i64).map(|days| start + days.days()).find(|day| pattern.matches_date(*day));
        let seconds = (0..DAY).map(|second| first.map(|day| day.at(0, 0, 0, 0) + second.seconds()));
        let expected = seconds.flatten().find(|at| pattern.matches_time(*at));
        let from = Millis((day * DAY * 1000).unsigned_abs().saturating_sub(1));
        let next = calendar(&pattern.to_string(), TimeZone::UTC, Dst::Vixie).next_after(from);
        let next = next.map(|at| Timestamp::from_millisecond(at.0.cast_signed()).expect("in range"));
        // Instant 0 is after no instant.
        prop_assume!(day > 0);
        prop_assert_eq!(next.map(|at| Offset::UTC.to_datetime(at)), expected, "{} from {}", pattern, start);
    }

    #[test]
    fn firings_increase_within_start_and_end(
        pattern in patterns(),
        rules in zones(),
        dst in dst(),
        instant in prop_oneof![any::<u64>(), 0..300_000_000_000_000_u64, 253_402_000_000_000..253_402_400_000_000_u64],
        bounds in any::<(Option<u64>, Option<u64>)>(),
        every_ms in 1000..=crate::EVERY_MS_MAX,
    ) {
        let every = crate::Every::new(every_ms, Millis(instant / 2)).expect("an interval");
        for recurrence in parsed(&pattern).into_iter().chain([Recurrence::Every(every)]) {
            let (start, end) = (bounds.0.map(Millis), bounds.1.map(Millis));
            let calendar = Calendar { zone: crate::zone::Zone::new(rules.clone()), dst, start, end, ..Calendar::new(recurrence) };
            let mut last = Millis(instant);
            for firing in calendar.preview(last, 5) {
                prop_assert!(firing.at > last, "{:?} after {:?}", firing, last);
                prop_assert!(start.is_none_or(|start| firing.at >= start) && end.is_none_or(|end| firing.at <= end));
                prop_assert_eq!(Some(firing.at), calendar.next_after(last));
                prop_assert_eq!(firing.local, calendar.zone.local_text(firing.at));
                last = firing.at;
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(
        text in prop_oneof![
            any::<String>(),
            "[0-9*/,#LW?-]{1,12}( [0-9*/,#LW?-]{1,9}){4,5}",
            "[0-9a-zA-Z*/,#@ -]{0,260}",
            "@every [0-9]{1,22}[smhdwMy]{1,2}",
        ],
        instant in any::<u64>(),
        rules in zones(),
        dst in dst(),
    ) {
        if let Ok(recurrence) = Recurrence::parse(&text, Millis(instant)) {
            let calendar = Calendar { zone: crate::zone::Zone::new(rules), dst, ..Calendar::new(recurrence) };
            let next = calendar.next_after(Millis(instant));
            prop_assert!(next.is_none_or(|next| next > Millis(instant)));
        }
    }
}
