//! Calendars against a model that walks through time, and against dates that people know.

mod changes;
mod document;
mod history;
mod model;
mod random;
mod walk;

use adjourn_types::Millis;
use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::zone::Zone;
use crate::{Calendar, Dst, Recurrence};

/// The rules of a zone, from the bundled database, so that a test does not depend on the machine.
fn rules(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).expect("a zone")
}

fn calendar(text: &str, rules: TimeZone, dst: Dst) -> Calendar {
    let recurrence = Recurrence::parse(text, Millis(0)).unwrap_or_else(|error| panic!("{text}: {error}"));
    Calendar { zone: Zone::new(rules), dst, ..Calendar::new(recurrence) }
}

/// A time in RFC 3339.
fn millis(text: &str) -> Millis {
    let at: Timestamp = text.parse().expect("a time");
    Millis(at.as_millisecond().try_into().expect("after 1970"))
}

fn millis_of(second: i64) -> Millis {
    Millis(u64::try_from(second).expect("after 1970") * 1000)
}
