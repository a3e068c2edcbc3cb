//! The naive model of a zone's clocks: it looks at them once a minute, or once a second.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use super::model::Pattern;
use crate::Dst;

const DAY: i64 = 86_400;

/// The firings in `from..=to`, in seconds of Unix time. A pattern with seconds is looked at each second.
pub(super) fn firings(pattern: &Pattern, rules: &TimeZone, dst: Dst, from: i64, to: i64) -> Vec<i64> {
    let (step, stride) = if pattern.second.is_some() { (1, 1) } else { (60, 60) };
    let waits_for_the_clock = dst == Dst::Vixie && pattern.is_fixed();
    let matches = |local: i64| {
        let at = Timestamp::from_second(local).expect("in range");
        pattern.matches(Offset::UTC.to_datetime(at))
    };
    let local = |at: i64| at + offset(rules, at);
    // The clock may have been set back a day and more before.
    let mut at = (from - 2 * DAY).div_euclid(step) * step;
    let mut latest = local(at) - step;
    let mut found = Vec::new();
    while at <= to {
        let now = local(at);
        let fires = if waits_for_the_clock {
            at >= from && (latest + step..=now).step_by(stride).any(matches)
        } else {
            at >= from && matches(now)
        };
        latest = latest.max(now);
        if fires {
            found.push(at);
        }
        at += step;
    }
    found
}

pub(super) fn offset(rules: &TimeZone, at: i64) -> i64 {
    rules.to_offset(Timestamp::from_second(at).expect("in range")).seconds().into()
}

/// The changes of a zone's offset between two instants.
pub(super) fn changes(rules: &TimeZone, from: i64, to: i64) -> Vec<i64> {
    let from = Timestamp::from_second(from).expect("in range");
    let all = rules.following(from).map(|change| change.timestamp().as_second());
    all.take_while(|at| *at < to).filter(|at| offset(rules, at - 1) != offset(rules, *at)).collect()
}
