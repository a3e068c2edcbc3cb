//! What `docs/schedules.md` shows, against the code.

use std::fmt::Write as _;

use adjourn_types::Millis;
use jiff::Timestamp;
use jiff::fmt::strtime;

use super::walk::changes;
use super::{calendar, millis, millis_of, rules};
use crate::{Dst, Recurrence};

const DOCUMENT: &str = include_str!("../../../../docs/schedules.md");
const ZONES: [&str; 2] = ["Europe/Berlin", "America/New_York"];
const EXPRESSIONS: [&str; 3] = ["30 1 * * *", "30 2 * * *", "*/30 1-2 * * *"];

/// The changes of 2027, and what fires on these days.
fn table() -> String {
    let mut table = "| zone | clocks | expression | vixie | literal |\n|---|---|---|---|---|\n".to_owned();
    for zone in ZONES {
        let rules = rules(zone);
        let [from, to] = ["2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"].map(millis);
        let seconds = |at: Millis| i64::try_from(at.0 / 1000).expect("fits");
        for change in changes(&rules, seconds(from), seconds(to)) {
            let local = |second: i64, format: &str| {
                let at = Timestamp::from_second(second).expect("in range").to_zoned(rules.clone());
                strtime::format(format, &at).expect("a text")
            };
            let clocks = format!(
                "{} {} to {}",
                local(change, "%-d %B"),
                next_minute(&local(change - 60, "%H:%M")),
                local(change, "%H:%M")
            );
            for expression in EXPRESSIONS {
                let fires = |dst| {
                    let calendar = calendar(expression, rules.clone(), dst);
                    let day = calendar.between(millis_of(change - 4 * 3600), millis_of(change + 4 * 3600));
                    let texts: Vec<String> = day.map(|at| local(seconds(at), "%H:%M %Z")).collect();
                    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
                };
                let (vixie, literal) = (fires(Dst::Vixie), fires(Dst::Literal));
                writeln!(table, "| {zone} | {clocks} | `{expression}` | {vixie} | {literal} |")
                    .expect("a text");
            }
        }
    }
    table
}

/// The clocks would show this if they were not changed.
fn next_minute(text: &str) -> String {
    let (hour, minute) = text.split_once(':').expect("a time");
    let minutes = hour.parse::<u32>().expect("hours") * 60 + minute.parse::<u32>().expect("minutes") + 1;
    format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60)
}

#[test]
fn it_has_the_changes_of_a_year() {
    let table = table();
    assert!(DOCUMENT.contains(&table), "put this table into docs/schedules.md:\n{table}");
}

/// The first code span of each row of the tables with a heading.
fn rows(heading: &str) -> Vec<&'static str> {
    let lines = DOCUMENT.lines().skip_while(|line| !line.starts_with(heading)).skip(2);
    let rows = lines.take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect()
}

#[test]
fn what_it_shows_is_accepted() {
    let shown = [rows("| expression |"), rows("| short form |")].concat();
    assert!(shown.len() > 15, "only {shown:?}");
    for text in shown {
        assert!(Recurrence::parse(text, Millis(0)).is_ok(), "{text}");
    }
    for text in rows("| refused |") {
        assert!(Recurrence::parse(text, Millis(0)).is_err(), "{text}");
    }
}
