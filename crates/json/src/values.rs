//! Values as text: durations, times, backoffs, headers.
//!
//! The error of an invalid value states the expected form and an example. Durations are rounded up to whole
//! milliseconds, so that nothing is ever early. Nothing here reads a clock.

use std::fmt;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use adjourn_types::limits::{
    BACKOFF_LIST_MAX, DEDUPE_RETENTION_MS_MAX, DELAY_MS_MAX, REASON_BYTES_MAX, TTR_MS_MAX, TTR_MS_MIN,
    WAIT_MS_MAX,
};
use adjourn_types::{Backoff, BackoffCurve, DurationError, Millis, duration_ms};

/// Why a text is not a valid value.
#[derive(Debug, thiserror::Error)]
pub enum ValueError {
    /// Not a duration.
    #[error(transparent)]
    Duration(#[from] DurationError),
    /// A duration that the queue does not accept.
    #[error("expected a duration between {} and {}", spelled(*.0.start()), spelled(*.0.end()))]
    DurationRange(RangeInclusive<u64>),
    /// Not a point in time.
    #[error(
        "expected a time that exists with its offset, as in RFC 3339, for example 2030-12-24T18:00:00Z or 2030-12-24T18:00:00+01:00"
    )]
    Time,
    /// Not a point in time, where one may also be given with a zone.
    #[error(
        "expected a time with its offset or its zone, for example 2030-12-24T18:00:00Z, 2030-12-24T18:00:00+01:00 or \
         '2030-12-24 18:00 Europe/Berlin'"
    )]
    TimeOfPeople,
    /// A number, which might count seconds or milliseconds.
    #[error("expected a time as 2030-12-24T18:00:00Z: a number alone might be seconds or milliseconds")]
    BareTime,
    /// Not a date and a time of day before the name of a zone.
    #[error("expected a date, a time and a zone, for example 2030-12-24 18:00 Europe/Berlin")]
    LocalTime,
    /// Not a time zone.
    #[error(
        "there is no time zone {0} on this machine: expected a name such as Europe/Berlin or UTC. Is tzdata installed?"
    )]
    Zone(String),
    /// The clocks of the zone go from a time before it to one after it.
    #[error("the clocks of that zone skip {0}: give another time")]
    Skipped(DateTime),
    /// The clocks of the zone show it twice: both times with their offsets.
    #[error("the clocks of that zone show it twice: give {0}")]
    Repeated(String),
    /// Not a cursor.
    #[error("expected a cursor that `adjourn list` printed")]
    Cursor,
    /// Before 1970.
    #[error("expected a time after 1970-01-01T00:00:00Z")]
    TimeTooEarly,
    /// Not NAME=VALUE.
    #[error("expected NAME=VALUE with a name of 1 to 255 bytes, for example content-type=text/plain")]
    Header,
    /// A `..` in which the second value is the smaller one.
    #[error("expected the smaller duration first, for example 1s..10m")]
    RangeReversed,
    /// A `+` without the longest wait.
    #[error("expected +STEP..MAX for waits that grow evenly, for example +5s..1m")]
    BackoffLinear,
    /// A `~` without a percentage.
    #[error("expected a jitter of 0% to 100% behind the waits, for example 1s..10m~20%")]
    BackoffJitter,
    /// Longer than a reason may be.
    #[error("expected a text of at most {REASON_BYTES_MAX} bytes: this one has {0}")]
    ReasonTooLong(usize),
    /// More intervals than a job may name.
    #[error("expected at most {BACKOFF_LIST_MAX} durations, for example 1s,5s,1m")]
    BackoffTooMany,
}

/// A duration within bounds, in milliseconds.
pub fn duration_within(text: &str, range: RangeInclusive<u64>) -> Result<u64, ValueError> {
    let millis = duration_ms(text)?;
    if range.contains(&millis) { Ok(millis) } else { Err(ValueError::DurationRange(range)) }
}

/// A delay or a retention, in milliseconds.
pub fn delay_ms(text: &str) -> Result<u64, ValueError> {
    duration_within(text, 0..=DELAY_MS_MAX)
}

/// How long a finished job is remembered, in milliseconds.
pub fn retention_ms(text: &str) -> Result<u64, ValueError> {
    duration_within(text, 0..=DEDUPE_RETENTION_MS_MAX)
}

/// How long to wait for jobs, in milliseconds.
pub fn wait_ms(text: &str) -> Result<u64, ValueError> {
    duration_within(text, 0..=WAIT_MS_MAX)
}

/// A time to run, in milliseconds.
pub fn ttr_ms(text: &str) -> Result<u32, ValueError> {
    narrow(duration_ms(text)?, TTR_MS_MIN..=TTR_MS_MAX)
}

/// Parses a time in RFC 3339, rounded up to the millisecond.
pub fn time(text: &str) -> Result<Millis, ValueError> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ValueError::BareTime);
    }
    millis_at(text.parse::<Timestamp>().map_err(|_| ValueError::Time)?)
}

fn millis_at(instant: Timestamp) -> Result<Millis, ValueError> {
    let nanos = instant.as_nanosecond();
    let millis = (nanos + 999_999).div_euclid(1_000_000);
    u64::try_from(millis).map(Millis).map_err(|_| ValueError::TimeTooEarly)
}

/// A time as people write it: in RFC 3339, or as the clocks of a time zone show it, for example `2030-12-24 18:00 Europe/Berlin`.
/// A time that these clocks skip or show twice is refused.
pub fn time_of_people(text: &str) -> Result<Millis, ValueError> {
    let Some((local, zone)) = text.rsplit_once(' ').filter(|(_, zone)| zone.starts_with(char::is_alphabetic))
    else {
        return time(text).map_err(|error| match error {
            ValueError::Time => ValueError::TimeOfPeople,
            other => other,
        });
    };
    let rules = TimeZone::get(zone).map_err(|_| ValueError::Zone(zone.to_owned()))?;
    let local = local.replacen('T', " ", 1);
    let read = |format| DateTime::strptime(format, &local);
    let local =
        read("%Y-%m-%d %H:%M").or_else(|_| read("%Y-%m-%d %H:%M:%S")).map_err(|_| ValueError::LocalTime)?;
    match rules.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => {
            millis_at(offset.to_timestamp(local).map_err(|_| ValueError::LocalTime)?)
        }
        AmbiguousOffset::Gap { .. } => Err(ValueError::Skipped(local)),
        AmbiguousOffset::Fold { before, after } => {
            Err(ValueError::Repeated(format!("{local}{} or {local}{}", written(before), written(after))))
        }
    }
}

/// An offset as RFC 3339 writes it.
fn written(offset: Offset) -> String {
    let (sign, minutes) = (if offset.is_negative() { '-' } else { '+' }, offset.seconds().abs() / 60);
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// A time in RFC 3339, in UTC, to the millisecond.
pub fn time_text(at: Millis) -> String {
    let at = i64::try_from(at.0).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    format!("{:.3}", at.unwrap_or(Timestamp::MAX))
}

/// Escapes a text for use between the quotes of a JSON string.
pub fn inside_quotes(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}

/// Checks the reason of a release or a bury.
pub fn reason(text: &str) -> Result<String, ValueError> {
    if text.len() > REASON_BYTES_MAX {
        return Err(ValueError::ReasonTooLong(text.len()));
    }
    Ok(text.to_owned())
}

/// A header as NAME=VALUE.
pub fn header(text: &str) -> Result<(String, String), ValueError> {
    match text.split_once('=') {
        Some((name, value)) if (1..=255).contains(&name.len()) => Ok((name.to_owned(), value.to_owned())),
        _ => Err(ValueError::Header),
    }
}

/// The waits between attempts: `1s` always, `1s..10m` doubling up to ten minutes, `+5s..1m` five seconds more each time up
/// to a minute, `1s,5s,1m` one after the other. A trailing `~20%` shortens each wait by up to that part.
pub fn backoff(text: &str) -> Result<Backoff, ValueError> {
    let (text, jitter_percent) = match text.split_once('~') {
        Some((waits, jitter)) => (waits, percent(jitter).ok_or(ValueError::BackoffJitter)?),
        None => (text, 0),
    };
    let curve = if let Some(linear) = text.strip_prefix('+') {
        let (step, max) = linear.split_once("..").ok_or(ValueError::BackoffLinear)?;
        let (step_ms, max_ms) = rising(interval_ms(step)?, interval_ms(max)?)?;
        BackoffCurve::Linear { step_ms, max_ms }
    } else if let Some((first, max)) = text.split_once("..") {
        let (first_ms, max_ms) = rising(interval_ms(first)?, interval_ms(max)?)?;
        BackoffCurve::Exponential { first_ms, max_ms }
    } else if text.contains(',') {
        let waits = text.split(',').map(interval_ms).collect::<Result<Vec<u32>, _>>()?;
        if waits.len() > BACKOFF_LIST_MAX {
            return Err(ValueError::BackoffTooMany);
        }
        BackoffCurve::List(waits)
    } else {
        BackoffCurve::Fixed(interval_ms(text)?)
    };
    Ok(Backoff { curve, jitter_percent })
}

fn percent(text: &str) -> Option<u8> {
    text.strip_suffix('%')?.parse().ok().filter(|percent| *percent <= 100)
}

/// One delay, or the shortest and the longest of delays that are spread evenly: `1h`, `1d..30d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayRange {
    /// The shortest, in milliseconds.
    pub min_ms: u64,
    /// The longest, in milliseconds.
    pub max_ms: u64,
}

impl fmt::Display for DelayRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min_ms == self.max_ms {
            return f.write_str(&spelled(self.min_ms));
        }
        write!(f, "{} to {}", spelled(self.min_ms), spelled(self.max_ms))
    }
}

/// A delay or a range of delays.
pub fn delay_range(text: &str) -> Result<DelayRange, ValueError> {
    let (min_ms, max_ms) = match text.split_once("..") {
        Some((min, max)) => rising(delay_ms(min)?, delay_ms(max)?)?,
        None => (delay_ms(text)?, delay_ms(text)?),
    };
    Ok(DelayRange { min_ms, max_ms })
}

/// A backoff in the form that [`backoff`] parses.
pub fn backoff_text(backoff: &Backoff) -> String {
    let text = |wait_ms: &u32| spelled(u64::from(*wait_ms)).replace(' ', "");
    let waits = match &backoff.curve {
        BackoffCurve::Fixed(wait_ms) => text(wait_ms),
        BackoffCurve::Linear { step_ms, max_ms } => format!("+{}..{}", text(step_ms), text(max_ms)),
        BackoffCurve::Exponential { first_ms, max_ms } => format!("{}..{}", text(first_ms), text(max_ms)),
        BackoffCurve::List(waits) => waits.iter().map(text).collect::<Vec<_>>().join(","),
    };
    match backoff.jitter_percent {
        0 => waits,
        percent => format!("{waits}~{percent}%"),
    }
}

/// A duration as it could have been given, for example `1h 30m`; days are the longest unit.
pub fn spelled(millis: u64) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
    let mut rest = millis;
    let mut parts = Vec::new();
    for (unit, unit_ms) in units {
        let count = rest / unit_ms;
        rest %= unit_ms;
        if count > 0 {
            parts.push(format!("{count}{unit}"));
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
}

fn interval_ms(text: &str) -> Result<u32, ValueError> {
    narrow(duration_ms(text)?, 0..=u32::MAX)
}

fn narrow(millis: u64, range: RangeInclusive<u32>) -> Result<u32, ValueError> {
    match u32::try_from(millis) {
        Ok(narrow) if range.contains(&narrow) => Ok(narrow),
        _ => Err(ValueError::DurationRange(u64::from(*range.start())..=u64::from(*range.end()))),
    }
}

fn rising<T: PartialOrd>(first: T, last: T) -> Result<(T, T), ValueError> {
    if first <= last { Ok((first, last)) } else { Err(ValueError::RangeReversed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal<T: std::fmt::Debug>(outcome: Result<T, ValueError>) -> String {
        outcome.expect_err("refused").to_string()
    }

    #[test]
    fn a_time_may_be_that_of_the_clocks_of_a_zone() {
        let utc = |text| time_of_people(text).map(time_text).map_err(|error| error.to_string());
        assert_eq!(utc("2030-12-24 18:00 Europe/Berlin").as_deref(), Ok("2030-12-24T17:00:00.000Z"));
        assert_eq!(utc("2030-06-24 18:00:30 Europe/Berlin").as_deref(), Ok("2030-06-24T16:00:30.000Z"));
        assert_eq!(utc("2030-12-24T18:00 UTC").as_deref(), Ok("2030-12-24T18:00:00.000Z"));
        assert_eq!(utc("2030-12-24T18:00:00+01:00").as_deref(), Ok("2030-12-24T17:00:00.000Z"));
        for (text, expected) in [
            ("2030-03-31 02:30 Europe/Berlin", "skip 2030-03-31T02:30:00: give another"),
            ("2030-10-27 02:30 Europe/Berlin", "2030-10-27T02:30:00+02:00 or 2030-10-27T02:30:00+01:00"),
            ("2030-11-03 01:30 America/New_York", "2030-11-03T01:30:00-04:00 or 2030-11-03T01:30:00-05:00"),
            ("2030-12-24 18:00+09:00 Europe/Berlin", "expected a date, a time and a zone"),
            ("2030-12-24 18:00[Asia/Tokyo] Europe/Berlin", "expected a date, a time and a zone"),
            ("2030-12-24 Europe/Berlin", "expected a date, a time and a zone"),
            ("", "with its offset"),
            ("2030-12-24 18:00 Berlin", "no time zone Berlin"),
            ("tomorrow Europe/Berlin", "expected a date, a time and a zone"),
            (
                "2030-12-24 18:00",
                "for example 2030-12-24T18:00:00Z, 2030-12-24T18:00:00+01:00 or '2030-12-24 18:00 Europe/Berlin'",
            ),
            ("1900000000", "seconds or milliseconds"),
        ] {
            let refused = utc(text).expect_err(text);
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }

    #[test]
    fn durations_have_units_and_round_up() {
        for (text, expected) in
            [("1500ms", 1500), ("60s", 60_000), ("1h 30m", 5_400_000), ("3d", 259_200_000), ("1us", 1)]
        {
            assert_eq!(delay_ms(text).expect("a delay"), expected, "{text}");
        }
        assert!(refusal(delay_ms("90")).contains("for example 1500ms"));
        assert!(refusal(delay_ms("soon")).contains("for example 1500ms"));
        assert!(refusal(delay_ms("1h 15M")).contains("15m for minutes"));
        assert_eq!(refusal(delay_ms("11y")), "expected a duration between 0s and 3650d");
        assert_eq!(refusal(wait_ms("61m")), "expected a duration between 0s and 1h");
    }

    #[test]
    fn a_time_to_run_has_bounds() {
        assert_eq!(ttr_ms("100ms").expect("shortest"), TTR_MS_MIN);
        assert_eq!(ttr_ms("7d").expect("longest"), TTR_MS_MAX);
        for bad in ["99ms", "7d 1ms", "100y"] {
            assert_eq!(refusal(ttr_ms(bad)), "expected a duration between 100ms and 7d");
        }
    }

    #[test]
    fn times_carry_their_offset_and_round_up() {
        assert_eq!(time("1970-01-01T00:00:01Z").expect("UTC"), Millis(1000));
        assert_eq!(time("1970-01-01T01:00:00.0001+01:00").expect("offset"), Millis(1));
        assert_eq!(refusal(time("1969-12-31T23:59:59Z")), "expected a time after 1970-01-01T00:00:00Z");
        assert!(refusal(time("2030-12-24T18:00:00")).contains("for example 2030-12-24T18:00:00Z"));
        assert!(refusal(time("tomorrow")).contains("RFC 3339"));
    }

    #[test]
    fn times_beyond_the_calendar_are_its_end() {
        assert_eq!(time_text(Millis(u64::MAX)), "9999-12-30T22:00:00.999Z");
    }

    #[test]
    fn backoffs_read_back_what_they_write() {
        for (text, curve) in [
            ("1s", BackoffCurve::Fixed(1000)),
            ("1s..10m", BackoffCurve::Exponential { first_ms: 1000, max_ms: 600_000 }),
            ("+5s..1m", BackoffCurve::Linear { step_ms: 5000, max_ms: 60_000 }),
            ("1s,5s,1m30s", BackoffCurve::List(vec![1000, 5000, 90_000])),
        ] {
            for (jitter, jitter_percent) in [("", 0), ("~1%", 1), ("~100%", 100)] {
                let text = format!("{text}{jitter}");
                let read = backoff(&text).expect("a backoff");
                assert_eq!(read, Backoff { curve: curve.clone(), jitter_percent });
                assert_eq!(backoff_text(&read), text);
            }
        }
        for jitter in ["1s~", "1s~20", "1s~101%", "1s~-1%"] {
            assert!(refusal(backoff(jitter)).contains("1s..10m~20%"), "{jitter}");
        }
        assert!(refusal(backoff("10m..1s")).contains("smaller duration first"));
        assert!(refusal(backoff("+5s")).contains("+5s..1m"));
        assert!(refusal(backoff(&["1s"; 33].join(","))).contains("at most 32"));
        assert!(refusal(backoff("1s..")).contains("for example"));
        assert!(refusal(backoff("50d")).contains("expected a duration between 0s and"));
    }

    #[test]
    fn ranges_of_delays() {
        assert_eq!(delay_range("1h").expect("one"), DelayRange { min_ms: 3_600_000, max_ms: 3_600_000 });
        assert_eq!(delay_range("1s..2s").expect("two"), DelayRange { min_ms: 1000, max_ms: 2000 });
        assert!(refusal(delay_range("2s..1s")).contains("smaller duration first"));
    }

    #[test]
    fn headers_split_at_the_first_equals_sign() {
        assert_eq!(header("a=b=c").expect("a header"), ("a".to_owned(), "b=c".to_owned()));
        for bad in ["a", "=b", &format!("{}=b", "a".repeat(256))] {
            assert!(refusal(header(bad)).contains("NAME=VALUE"));
        }
    }
}
