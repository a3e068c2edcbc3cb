//! The three ways to say when a schedule fires, and their text.

use adjourn_types::Millis;
use jiff::Timestamp;

use crate::cron::{Cron, CronError};
use crate::every::{Every, EveryError};
use crate::instants::{Instants, InstantsError};

/// Longest text of a cron expression or an interval, in bytes.
pub const RECURRENCE_BYTES_MAX: usize = 255;

/// Names of cron expressions. `@every` and `@at` are none: something follows them.
const NICKNAMES: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

/// When a schedule fires, apart from its zone and its first and last instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recurrence {
    /// At the local times that a cron expression matches.
    Cron(Cron),
    /// At equal distances from an origin.
    Every(Every),
    /// At the instants of a list.
    Instants(Instants),
}

/// Why a text is not a recurrence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecurrenceError {
    /// Nothing but spaces.
    #[error("write a cron expression such as \"0 9 * * 1-5\", an interval such as \"@every 90s\", or @daily")]
    Empty,
    /// A text that is too long.
    #[error(
        "a cron expression has at most {RECURRENCE_BYTES_MAX} bytes: this one has {0}. Write several schedules"
    )]
    TooLong(usize),
    /// An unknown name behind `@`.
    #[error(
        "write @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @every with a duration, or @at with times"
    )]
    Nickname,
    /// A time behind `@at` that is none.
    #[error(
        "@at takes times in RFC 3339 with spaces between them, such as \"@at 2030-12-24T18:00:00Z\": {0} is none, or is before 1970"
    )]
    Time(String),
    /// A faulty list of times.
    #[error(transparent)]
    Instants(#[from] InstantsError),
    /// A faulty cron expression.
    #[error(transparent)]
    Cron(#[from] CronError),
    /// A faulty interval.
    #[error(transparent)]
    Every(#[from] EveryError),
}

impl Recurrence {
    /// Parses a cron expression, a nickname such as `@daily`, `@every` with a duration, or `@at` with times in RFC 3339. An
    /// interval counts from `origin`.
    pub fn parse(text: &str, origin: Millis) -> Result<Self, RecurrenceError> {
        let text = text.trim();
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if name.eq_ignore_ascii_case("@at") {
            let times = rest.split_ascii_whitespace().map(instant);
            return Ok(Self::Instants(Instants::new(times.collect::<Result<_, _>>()?)?));
        }
        if text.len() > RECURRENCE_BYTES_MAX {
            return Err(RecurrenceError::TooLong(text.len()));
        }
        if text.is_empty() {
            return Err(RecurrenceError::Empty);
        }
        if !text.starts_with('@') {
            return Ok(Self::Cron(Cron::parse(text)?));
        }
        if name.eq_ignore_ascii_case("@every") {
            return Ok(Self::Every(Every::parse(rest.trim_start(), origin)?));
        }
        let known = NICKNAMES.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(text));
        let (_, expression) = known.ok_or(RecurrenceError::Nickname)?;
        Ok(Self::Cron(Cron::parse(expression)?))
    }
}

fn instant(text: &str) -> Result<Millis, RecurrenceError> {
    let time = text.parse::<Timestamp>().ok();
    let ms = time.and_then(|time| u64::try_from(time.as_millisecond()).ok());
    ms.map(Millis).ok_or_else(|| RecurrenceError::Time(text.chars().take(40).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Recurrence, String> {
        Recurrence::parse(text, Millis(0)).map_err(|error| error.to_string())
    }

    #[test]
    fn nicknames_are_cron_expressions() {
        for (name, expression) in NICKNAMES {
            let read = parse(name);
            assert!(read.is_ok(), "{name}");
            assert_eq!(read, parse(expression), "{name}");
            assert_eq!(read, parse(&format!(" {} ", name.to_uppercase())), "{name}");
        }
        assert_eq!(parse("@every 90s"), Ok(Recurrence::Every(Every::new(90_000, Millis(0)).expect("valid"))));
        assert_eq!(parse("@every  1h 30m"), parse("@Every 90m"));
    }

    #[test]
    fn times_are_a_list() {
        let list = Instants::new(vec![Millis(1000), Millis(7_201_500)]).expect("a list");
        for text in [
            "@at 1970-01-01T00:00:01Z 1970-01-01T02:00:01.5Z",
            " @AT  1970-01-01T03:00:01.5+01:00\n1970-01-01T00:00:01Z ",
        ] {
            assert_eq!(parse(text), Ok(Recurrence::Instants(list.clone())), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, expected) in [
            ("", "write a cron expression such as \"0 9 * * 1-5\""),
            ("  ", "write a cron expression"),
            (&"*".repeat(256), "at most 255 bytes: this one has 256"),
            ("@reboot", "write @hourly, @daily"),
            ("@daily 3", "write @hourly, @daily"),
            ("@every", "@every takes a duration"),
            ("@every90s", "write @hourly"),
            ("@at", "a list of times has at least one"),
            ("@at 2030-12-24", "2030-12-24 is none"),
            ("@at 1969-12-31T23:59:59Z", "before 1970"),
            ("* * * *", "a cron expression has 5 or 6 fields: this one has 4"),
        ] {
            let refused = parse(text).expect_err(text);
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
