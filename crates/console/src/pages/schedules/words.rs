//! When a schedule fires, in plain words. Expressions of other than the usual forms have none.

use adjourn_json::values::spelled;
use adjourn_types::duration_ms;

use crate::texts::{Language, text};

/// More times of day, days or months than these are not listed.
const LISTED_MAX: usize = 6;
/// The same for the minutes of an hour.
const MINUTES_MAX: usize = 12;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// The names of cron expressions.
const NICKNAMES: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

/// Spans, the longest first: their length, and how one and several of them are told.
const SPANS: [(u64, &str, &str); 4] = [
    (24 * HOUR_MS, text("every 24 hours"), text("every {0} days")),
    (HOUR_MS, text("every hour"), text("every {0} hours")),
    (MINUTE_MS, text("every minute"), text("every {0} minutes")),
    (1000, text("every second"), text("every {0} seconds")),
];

/// The days of a week: their short names and their names. Sunday is 0.
const WEEKDAYS: [(&str, &str); 7] = [
    ("SUN", text("Sunday")),
    ("MON", text("Monday")),
    ("TUE", text("Tuesday")),
    ("WED", text("Wednesday")),
    ("THU", text("Thursday")),
    ("FRI", text("Friday")),
    ("SAT", text("Saturday")),
];

/// The months, from 1.
const MONTHS: [(&str, &str); 12] = [
    ("JAN", text("January")),
    ("FEB", text("February")),
    ("MAR", text("March")),
    ("APR", text("April")),
    ("MAY", text("May")),
    ("JUN", text("June")),
    ("JUL", text("July")),
    ("AUG", text("August")),
    ("SEP", text("September")),
    ("OCT", text("October")),
    ("NOV", text("November")),
    ("DEC", text("December")),
];

const ORDINALS: [&str; 5] = [
    text("on the first {0} of the month"),
    text("on the second {0} of the month"),
    text("on the third {0} of the month"),
    text("on the fourth {0} of the month"),
    text("on the fifth {0} of the month"),
];

const NEAREST: &str = text("on the day from Monday to Friday that is nearest to day {0} of the month");

/// The time of day of an expression.
enum Clock {
    /// Times with commas between them.
    At(String),
    /// Again and again.
    Repeats(String),
}

/// A field of an expression: the values that it may have, and the names of the first ones.
#[derive(Clone, Copy)]
struct Field {
    min: usize,
    max: usize,
    names: &'static [(&'static str, &'static str)],
}

const SECOND: Field = Field { min: 0, max: 59, names: &[] };
const MINUTE: Field = SECOND;
const HOUR: Field = Field { min: 0, max: 23, names: &[] };
const DAY: Field = Field { min: 1, max: 31, names: &[] };
const MONTH: Field = Field { min: 1, max: 12, names: &MONTHS };
const WEEKDAY: Field = Field { min: 0, max: 7, names: &WEEKDAYS };

/// When a schedule fires, in words.
pub(super) fn of(when: &str, language: Language) -> Option<String> {
    let (name, rest) = when.trim().split_once(char::is_whitespace).unwrap_or((when.trim(), ""));
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "@every" => Some(every(duration_ms(rest.trim()).ok()?, language)),
        "@at" => at(rest, language),
        _ => {
            let nickname = NICKNAMES.into_iter().find(|(known, _)| *known == name);
            cron(nickname.map_or(when, |(_, expression)| expression), language)
        }
    }
}

fn every(span_ms: u64, language: Language) -> String {
    let span = SPANS.into_iter().find(|(length, ..)| span_ms > 0 && span_ms.is_multiple_of(*length));
    match span {
        Some((length, one, _)) if span_ms == length => language.say(one).to_owned(),
        Some((length, _, several)) => language.fill(several, &[&(span_ms / length).to_string()]),
        None => language.fill("every {0}", &[&spelled(span_ms)]),
    }
}

fn at(times: &str, language: Language) -> Option<String> {
    match times.split_ascii_whitespace().count() {
        0 => None,
        1 => Some(language.fill("once, at {0}", &[times.trim()])),
        several => Some(language.fill("at {0} fixed times", &[&several.to_string()])),
    }
}

fn cron(expression: &str, language: Language) -> Option<String> {
    let expression = expression.to_ascii_uppercase();
    let fields: Vec<&str> = expression.split_whitespace().collect();
    let [second, minute, hour, day, month, weekday] = match *fields.as_slice() {
        [minute, hour, day, month, weekday] => ["0", minute, hour, day, month, weekday],
        [second, minute, hour, day, month, weekday] => [second, minute, hour, day, month, weekday],
        _ => return None,
    };
    let days = days(day, weekday, language)?;
    let told = match (clock(second, minute, hour, language)?, days) {
        (Clock::At(times), days) => {
            let days = days.unwrap_or_else(|| language.say("every day").to_owned());
            language.fill("{0} at {1}", &[&days, &times])
        }
        (Clock::Repeats(told), None) => told,
        (Clock::Repeats(told), Some(days)) => language.fill("{0}, {1}", &[&told, &days]),
    };
    in_months(told, month, language)
}

fn clock(second: &str, minute: &str, hour: &str, language: Language) -> Option<Clock> {
    if (minute, hour) == ("*", "*") && second != "0" {
        let seconds = SECOND.step(second)?;
        return Some(Clock::Repeats(every(seconds * 1000, language)));
    }
    if second != "0" {
        return None;
    }
    let hours = HOUR.values(hour)?;
    if let Some(minutes) = MINUTE.step(minute) {
        let told = every(minutes * MINUTE_MS, language);
        if hour == "*" {
            return Some(Clock::Repeats(told));
        }
        let (from, to) = ends(&hours)?;
        let (from, to) = (time(from, 0), time(to, 60 - usize::try_from(minutes).ok()?));
        return Some(Clock::Repeats(language.fill("{0} from {1} to {2}", &[&told, &from, &to])));
    }
    let minutes = MINUTE.values(minute)?;
    let only = if let [only] = *minutes { Some(only) } else { None };
    match (only, HOUR.step(hour)) {
        (Some(minute), Some(step)) => {
            let told = every(step * HOUR_MS, language);
            return Some(Clock::Repeats(language.fill("{0} at minute {1}", &[&told, &minute.to_string()])));
        }
        (None, Some(1)) if minutes.len() <= MINUTES_MAX => {
            let minutes = joined(minutes.iter().map(ToString::to_string), language);
            return Some(Clock::Repeats(
                language.fill("{0} at minute {1}", &[language.say("every hour"), &minutes]),
            ));
        }
        _ => {}
    }
    if minutes.len() * hours.len() <= LISTED_MAX {
        let times = hours.iter().flat_map(|hour| minutes.iter().map(|minute| time(*hour, *minute)));
        return Some(Clock::At(joined(times, language)));
    }
    let (minute, (from, to)) = (only?, ends(&hours)?);
    let (from, to) = (time(from, minute), time(to, minute));
    Some(Clock::Repeats(language.fill("{0} from {1} to {2}", &[language.say("every hour"), &from, &to])))
}

/// The days on which it fires: `Some(None)` for every day.
#[expect(clippy::option_option, reason = "no words, or no need of words")]
fn days(day: &str, weekday: &str, language: Language) -> Option<Option<String>> {
    let is_any = |field: &str| field == "*" || field == "?";
    match (is_any(day), is_any(weekday)) {
        (true, true) => Some(None),
        (true, false) if matches!(weekday, "0-6" | "1-7" | "MON-SUN" | "SUN-SAT") => Some(None),
        (true, false) => weekdays(weekday, language).map(Some),
        (false, true) => days_of_month(day, language).map(Some),
        // One of the two is enough.
        (false, false) => None,
    }
}

fn weekdays(field: &str, language: Language) -> Option<String> {
    let name = |weekday: usize| WEEKDAYS.get(weekday % 7).map(|(_, name)| language.say(name));
    if let Some(day) = field.strip_suffix('L') {
        let day = name(WEEKDAY.value(day)?)?;
        return Some(language.fill("on the last {0} of the month", &[day]));
    }
    if let Some((day, number)) = field.split_once('#') {
        let ordinal = number.parse::<usize>().ok()?.checked_sub(1).and_then(|place| ORDINALS.get(place))?;
        return Some(language.fill(ordinal, &[name(WEEKDAY.value(day)?)?]));
    }
    if let Some((from, to)) = field.split_once('-')
        && let (Some(from), Some(to)) = (WEEKDAY.value(from), WEEKDAY.value(to))
    {
        return Some(language.fill("{0} to {1}", &[name(from)?, name(to)?]));
    }
    let mut all: Vec<usize> =
        WEEKDAY.values(field)?.into_iter().map(|day| if day == 0 { 7 } else { day }).collect();
    all.sort_unstable();
    all.dedup();
    let names = all.iter().map(|day| name(*day).map(str::to_owned)).collect::<Option<Vec<_>>>()?;
    (names.len() <= LISTED_MAX).then(|| joined(names.into_iter(), language))
}

fn days_of_month(field: &str, language: Language) -> Option<String> {
    match field.strip_suffix('W') {
        _ if field == "L" => return Some(language.say("on the last day of the month").to_owned()),
        Some("L") => {
            return Some(language.say("on the last day from Monday to Friday of the month").to_owned());
        }
        Some(day) => {
            let day = DAY.value(day)?.to_string();
            return Some(language.fill(NEAREST, &[&day]));
        }
        None => {}
    }
    let days = DAY.values(field)?;
    match days.len() {
        1 => Some(language.fill("on day {0} of the month", &[field])),
        2..=LISTED_MAX => {
            let days = joined(days.iter().map(ToString::to_string), language);
            Some(language.fill("on the days {0} of the month", &[&days]))
        }
        _ => None,
    }
}

/// Adds the months, unless it fires in all of them.
fn in_months(told: String, field: &str, language: Language) -> Option<String> {
    if field == "*" {
        return Some(told);
    }
    let months = MONTH.values(field)?;
    let name = |month: usize| MONTHS.get(month - 1).map(|(_, name)| language.say(name));
    if months.len() <= LISTED_MAX {
        let names = months.iter().filter_map(|month| name(*month).map(str::to_owned));
        return Some(language.fill("{0}, in {1}", &[&told, &joined(names, language)]));
    }
    let (from, to) = ends(&months)?;
    Some(language.fill("{0}, in the months from {1} to {2}", &[&told, name(from)?, name(to)?]))
}

impl Field {
    /// How far apart the values of `*`, or of a step over it, are. `None` if they do not go on evenly in the
    /// next round.
    fn step(self, text: &str) -> Option<u64> {
        let step: usize = if text == "*" { 1 } else { text.strip_prefix("*/")?.parse().ok()? };
        (step > 0 && (self.max + 1).is_multiple_of(step)).then_some(step as u64)
    }

    /// All values of the field, in order.
    fn values(self, text: &str) -> Option<Vec<usize>> {
        let mut all = Vec::new();
        for item in text.split(',') {
            let (range, step) = item.split_once('/').unwrap_or((item, "1"));
            let (from, to) = match range.split_once('-') {
                Some((from, to)) => (self.value(from)?, self.value(to)?),
                None if range == "*" => (self.min, self.max),
                None => (self.value(range)?, self.value(range)?),
            };
            let step: usize = step.parse().ok().filter(|step| *step > 0)?;
            all.extend((from..=to).step_by(step));
        }
        all.sort_unstable();
        all.dedup();
        if all.is_empty() { None } else { Some(all) }
    }

    /// A number, or a name.
    fn value(self, text: &str) -> Option<usize> {
        let named = self.names.iter().position(|(name, _)| *name == text).map(|place| place + self.min);
        named.or_else(|| text.parse().ok()).filter(|value| (self.min..=self.max).contains(value))
    }
}

/// The first and the last value, if none is left out between them.
fn ends(values: &[usize]) -> Option<(usize, usize)> {
    let (first, last) = (*values.first()?, *values.last()?);
    (last - first + 1 == values.len()).then_some((first, last))
}

fn time(hour: usize, minute: usize) -> String {
    format!("{hour:02}:{minute:02}")
}

fn joined(parts: impl Iterator<Item = String>, language: Language) -> String {
    parts.collect::<Vec<_>>().join(language.say(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_expressions_have_words() {
        for (when, expected) in [
            ("* * * * *", "every minute"),
            ("*/15 * * * *", "every 15 minutes"),
            ("*/10 * * * * *", "every 10 seconds"),
            ("0 9 * * *", "every day at 09:00"),
            ("0 9 * * 1-5", "Monday to Friday at 09:00"),
            ("0 9 ? * MON-FRI", "Monday to Friday at 09:00"),
            ("0 9 * * 0-6", "every day at 09:00"),
            ("0 9 * * sat,sun", "Saturday, Sunday at 09:00"),
            ("0 0 9 * * 7", "Sunday at 09:00"),
            ("30 6,18 * * *", "every day at 06:30, 18:30"),
            ("0 8-18/2 * * *", "every day at 08:00, 10:00, 12:00, 14:00, 16:00, 18:00"),
            ("0 9-17 * * MON-FRI", "every hour from 09:00 to 17:00, Monday to Friday"),
            ("*/15 9-17 * * *", "every 15 minutes from 09:00 to 17:45"),
            ("5 * * * *", "every hour at minute 5"),
            ("5,35 * * * *", "every hour at minute 5, 35"),
            ("0 */6 * * *", "every 6 hours at minute 0"),
            ("0 0 1 JAN,JUL *", "on day 1 of the month at 00:00, in January, July"),
            (
                "0 0 1,15 4-12 *",
                "on the days 1, 15 of the month at 00:00, in the months from April to December",
            ),
            ("0 12 L * *", "on the last day of the month at 12:00"),
            ("0 12 LW * *", "on the last day from Monday to Friday of the month at 12:00"),
            (
                "0 12 15W * *",
                "on the day from Monday to Friday that is nearest to day 15 of the month at 12:00",
            ),
            ("0 12 * * FRIL", "on the last Friday of the month at 12:00"),
            ("0 12 * * MON#2", "on the second Monday of the month at 12:00"),
            ("@hourly", "every hour at minute 0"),
            ("@Daily", "every day at 00:00"),
            ("@weekly", "Sunday at 00:00"),
            ("@yearly", "on day 1 of the month at 00:00, in January"),
            ("@every 90s", "every 90 seconds"),
            ("@every 1h 30m", "every 90 minutes"),
            ("@every 1d", "every 24 hours"),
            ("@every 3d", "every 3 days"),
            ("@every 1500ms", "every 1s 500ms"),
            ("@at 2030-12-24T18:00:00Z", "once, at 2030-12-24T18:00:00Z"),
            ("@at 2030-12-24T18:00:00Z 2031-12-24T18:00:00Z", "at 2 fixed times"),
        ] {
            assert_eq!(of(when, Language::English).as_deref(), Some(expected), "{when}");
        }
    }

    #[test]
    fn others_have_none() {
        for when in [
            "0 12 13 * FRI",
            "0 0 */2 * *",
            "*/7 9-17 * * *",
            "15 30 9 * * *",
            "* 9,11 * * *",
            "@reboot",
            "",
            "0 9 * *",
        ] {
            assert_eq!(of(when, Language::English), None, "{when}");
        }
    }
}
