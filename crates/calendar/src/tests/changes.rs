//! Every change of the clocks in ten years, in zones that change them in different ways.

use jiff::tz::TimeZone;

use super::model::{Item, Pattern};
use super::walk::{changes, firings, offset};
use super::{calendar, millis, millis_of, rules};
use crate::Dst;

const HOUR: i64 = 3600;

/// Zones, each with the least number of changes of its offset from 2020 to 2029: newer zone data may have others. Tehran and Apia gave
/// up changing the clocks in these years. Casablanca sets them back for each Ramadan, Lord Howe Island by half an hour.
const ZONES: [(&str, usize); 6] = [
    ("America/New_York", 14),
    ("Europe/Berlin", 14),
    ("Australia/Lord_Howe", 14),
    ("Africa/Casablanca", 14),
    ("Asia/Tehran", 6),
    ("Pacific/Apia", 3),
];

/// Patterns for the hours around a change: fixed ones, one that meets the gap or the repeat, and wildcards.
fn patterns(rules: &TimeZone, change: i64) -> Vec<Pattern> {
    let (before, after) = (offset(rules, change - 1), offset(rules, change));
    let local = change + before.min(after);
    let inside = |seconds: i64, unit: i64, most: i64| {
        i8::try_from((local + seconds).div_euclid(unit).rem_euclid(most)).expect("small")
    };
    let one = |value| vec![Item::One(value)];
    let mut patterns: Vec<Pattern> = [0, 60, 600, 1740, 1800, HOUR, 2 * HOUR, -60]
        .into_iter()
        .map(|seconds| Pattern::daily(one(inside(seconds, 60, 60)), one(inside(seconds, HOUR, 24))))
        .collect();
    patterns.extend([
        Pattern::daily(vec![Item::Range(0, 59)], one(inside(0, HOUR, 24))),
        Pattern::daily(vec![Item::One(15), Item::One(45)], vec![Item::Range(0, 3)]),
        Pattern::daily(one(0), vec![Item::RangeNth(0, 23, 2)]),
        Pattern::daily(one(0), one(0)),
        Pattern::daily(vec![Item::Any], vec![Item::Any]),
        Pattern::daily(vec![Item::EveryNth(20)], one(inside(0, HOUR, 24))),
        Pattern::daily(one(10), vec![Item::EveryNth(2)]),
        Pattern::daily(vec![Item::EveryNth(7)], vec![Item::Any]),
    ]);
    patterns
}

#[test]
fn each_change_of_ten_years_is_as_the_model_has_it() {
    let [from, to] = ["2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z"]
        .map(|at| i64::try_from(millis(at).0 / 1000).expect("fits"));
    let mut differ_by_mode = 0;
    for (name, count_min) in ZONES {
        let rules = rules(name);
        let changes = changes(&rules, from, to);
        assert!(changes.len() >= count_min, "{name} has {}", changes.len());
        for change in changes {
            for pattern in patterns(&rules, change) {
                let (from, to) = (change - 26 * HOUR, change + 26 * HOUR);
                let [vixie, literal] = [Dst::Vixie, Dst::Literal].map(|dst| {
                    let expected = firings(&pattern, &rules, dst, from, to);
                    let calendar = calendar(&pattern.to_string(), rules.clone(), dst);
                    let found: Vec<_> = calendar.between(millis_of(from - 1), millis_of(to)).collect();
                    let expected: Vec<_> = expected.into_iter().map(millis_of).collect();
                    assert_eq!(found, expected, "{pattern} {name} {dst:?} around {change}");
                    // Also from instants at which nothing fires, such as those of a repeat.
                    for at in (from..to).step_by(900).map(millis_of) {
                        let next = expected.iter().copied().find(|firing| *firing > at);
                        let found = calendar.next_after(at).filter(|firing| *firing <= millis_of(to));
                        assert_eq!(found, next, "{pattern} {name} {dst:?} after {at}");
                    }
                    found
                });
                differ_by_mode += usize::from(vixie != literal);
            }
        }
    }
    assert!(differ_by_mode > 400, "only {differ_by_mode} times a change made a difference");
}
