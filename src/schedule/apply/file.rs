//! The file of `adjourn schedule apply`.
//!
//! An entry is read as the options of `adjourn schedule set`, so that both take the same values and refuse the same ones. All
//! errors of a file are told at once.

use std::collections::BTreeSet;
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, CommandFactory as _, Parser};
use toml::{Table, Value};

use crate::exit::{Exit, Failure};
use crate::schedule::arguments::ScheduleArgs;
use adjourn_calendar::{Calendar, RulesError, ZoneData};
use adjourn_protocol::ScheduleSet;
use adjourn_server::config::{nearest, toml_reason};
use adjourn_types::{Millis, ScheduleRules};

/// The key of the tables.
const SCHEDULE: &str = "schedule";
/// The table of headers.
const HEADERS: &str = "headers";
/// Keys that each entry has.
const REQUIRED: [&str; 3] = ["topic", "name", "when"];

/// An entry as options.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Entry {
    #[command(flatten)]
    schedule: ScheduleArgs,
}

/// The schedules of a file, each of which a server could set.
pub(super) fn read(path: &Path, zones: &ZoneData) -> Result<Vec<ScheduleSet>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::new(Exit::Usage, format_args!("cannot read the schedules in {}: {error}", path.display()))
    })?;
    let file = table(path, &text)?;
    schedules(&file, zones).map_err(|faults| faulty(path, &faults))
}

/// The failure of a file with these faults.
pub(super) fn faulty(path: &Path, faults: &[String]) -> Failure {
    let lines: Vec<String> = faults.iter().map(|fault| format!("{}: {fault}", path.display())).collect();
    Failure::new(Exit::Usage, lines.join("\n"))
}

fn table(path: &Path, text: &str) -> Result<Table, Failure> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text.get(..at).unwrap_or(text).matches('\n').count() + 1;
        let why = toml_reason(&error);
        Failure::new(Exit::Usage, format_args!("{}, line {line}: {why}", path.display()))
    })
}

fn schedules(file: &Table, zones: &ZoneData) -> Result<Vec<ScheduleSet>, Vec<String>> {
    if let Some(unknown) = file.keys().find(|key| *key != SCHEDULE) {
        return Err(vec![format!("there is no key {unknown}: expected [[{SCHEDULE}]] tables")]);
    }
    let entries = file.get(SCHEDULE).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if entries.is_empty() {
        return Err(vec![format!(
            "it has no schedule: expected [[{SCHEDULE}]] tables with topic, name and when"
        )]);
    }
    let (mut sets, mut faults, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (nth, entry) in entries.iter().enumerate() {
        let fault = |why: String| format!("{}: {why}", title(entry, nth));
        match schedule(entry, zones) {
            Ok(set) if !names.insert((set.topic.clone(), set.name.clone())) => {
                faults.push(fault("it is in the file twice".to_owned()));
            }
            Ok(set) => sets.push(set),
            Err(why) => faults.push(fault(why)),
        }
    }
    if faults.is_empty() { Ok(sets) } else { Err(faults) }
}

/// What an entry is called in an error.
fn title(entry: &Value, nth: usize) -> String {
    let text = |key| entry.get(key).and_then(Value::as_str);
    match (text("name"), text("topic")) {
        (Some(name), Some(topic)) => format!("schedule {name} of {topic}"),
        (Some(name), None) => format!("schedule {name}"),
        (None, _) => format!("schedule {}, counted from 1", nth + 1),
    }
}

fn schedule(entry: &Value, zones: &ZoneData) -> Result<ScheduleSet, String> {
    let entry = entry.as_table().ok_or("expected a table")?;
    if let Some(missing) = REQUIRED.into_iter().find(|key| !entry.contains_key(*key)) {
        return Err(format!("the key {missing} is missing"));
    }
    let mut command = Entry::command();
    // How an argument is shown is known only when the command is built.
    command.build();
    let words = words(entry, &command)?;
    let parsed = Entry::try_parse_from(words).map_err(|error| reason(&error, &command))?;
    let body = parsed.schedule.job.body.clone().unwrap_or_default();
    let set = parsed.schedule.schedule(body.into())?;
    check(&set, zones)?;
    Ok(set)
}

/// The command line that says what an entry says.
fn words(entry: &Table, command: &clap::Command) -> Result<Vec<String>, String> {
    let mut options = Vec::new();
    for (key, value) in entry.iter().filter(|(key, _)| !REQUIRED.contains(&key.as_str())) {
        let known = command.get_arguments().find(|argument| argument.get_id() == key);
        let option = known.and_then(Arg::get_long).ok_or_else(|| unknown(key, command))?;
        if key == HEADERS {
            options.extend(headers(value)?.into_iter().map(|header| format!("--{option}={header}")));
        } else {
            options.push(format!("--{option}={}", scalar(key, value)?));
        }
    }
    options.push("--".to_owned());
    for key in REQUIRED {
        options.push(entry.get(key).map(|value| scalar(key, value)).transpose()?.unwrap_or_default());
    }
    Ok(options)
}

fn unknown(key: &str, command: &clap::Command) -> String {
    let known: Vec<&str> = command.get_arguments().map(|argument| argument.get_id().as_str()).collect();
    match nearest(key, known.iter().copied()) {
        Some(meant) => format!("there is no key {key}: do you mean {meant}?"),
        None => format!("there is no key {key}: expected {}", known.join(", ")),
    }
}

fn scalar(key: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Datetime(time) => Ok(time.to_string()),
        other => Err(format!("{key}: expected a text, a number or a time, found {other}")),
    }
}

/// Each header as NAME=VALUE.
fn headers(value: &Value) -> Result<Vec<String>, String> {
    let expected = || "headers: expected a table of texts, or of lists of texts".to_owned();
    let mut headers = Vec::new();
    for (name, value) in value.as_table().ok_or_else(expected)? {
        if name.contains('=') {
            return Err(format!("headers: the name {name} has a ="));
        }
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            headers.push(format!("{name}={}", value.as_str().ok_or_else(expected)?));
        }
    }
    Ok(headers)
}

/// What is wrong with a value, in the words of the file.
fn reason(error: &clap::Error, command: &clap::Command) -> String {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else {
        return error.to_string();
    };
    let argument = command.get_arguments().find(|argument| argument.to_string() == *shown);
    let key = argument.map_or(shown.as_str(), |argument| argument.get_id().as_str());
    let why = std::error::Error::source(error).map(ToString::to_string);
    let why = why.unwrap_or_else(|| match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(words)) => format!("expected one of {}", words.join(", ")),
        _ => error.to_string(),
    });
    match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => format!("{key} {value:?}: {why}"),
        _ => format!("{key}: {why}"),
    }
}

/// Refuses what a server would refuse of any schedule.
fn check(set: &ScheduleSet, zones: &ZoneData) -> Result<(), String> {
    calendar(&set.rules, zones, Millis(0))?;
    if !set.rules.has_room_for_keys(&set.name) {
        return Err("its name is too long for the keys of its jobs: give a shorter one, or a key".to_owned());
    }
    Ok(())
}

/// When a schedule fires. An interval without an origin counts from `origin`.
pub(super) fn calendar(rules: &ScheduleRules, zones: &ZoneData, origin: Millis) -> Result<Calendar, String> {
    Calendar::of_rules(rules, origin, zones).map_err(|error| match error {
        RulesError::When(error) => format!("when: {error}"),
        RulesError::Zone(error) => format!("zone: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::{Dst, Overlap, When};

    fn parsed(text: &str) -> Result<Vec<ScheduleSet>, String> {
        let file = table(Path::new("a.toml"), text).map_err(|failure| failure.message)?;
        schedules(&file, &ZoneData::bundled()).map_err(|faults| faults.join("\n"))
    }

    fn entry(more: &str) -> String {
        format!("[[schedule]]\ntopic = \"reports\"\nname = \"daily\"\nwhen = \"0 9 * * *\"\n{more}\n")
    }

    #[test]
    fn an_entry_has_the_options_of_a_set() {
        let text = entry(
            "zone = 'Europe/Berlin'\ndst = 'literal'\nstart = 2030-01-01T00:00:00Z\nend = '2031-01-01 00:00 Europe/Berlin'\n\
             count = 3\njitter = '1m'\nmissed = 'all'\nmissed_window = '1d'\nmissed_max = 5\noverlap = 'queue-one'\n\
             pause_after_failures = 6\nkey = 'one'\nnote = '-'\nbody = '-'\npriority = 7\nttr = '8s'\nattempts_max = 9\n\
             backoff = '1s..10s'\nexpires_after = '1h'\nremember = '1d'\nheaders = { b = 'x=y', a = ['1', '2'] }",
        );
        let sets = parsed(&text).expect("valid");
        let [ScheduleSet { topic, name, rules, template, .. }] = &sets[..] else { panic!("{sets:?}") };
        assert_eq!((topic.as_str(), name.as_str(), rules.when.as_str()), ("reports", "daily", "0 9 * * *"));
        assert_eq!((rules.dst, rules.overlap, rules.jitter_ms), (Dst::Literal, Overlap::QueueOne, 60_000));
        assert_eq!((rules.start, rules.failures_max), (Some(Millis(1_893_456_000_000)), 6));
        assert_eq!((&template.body[..], rules.note.as_str()), (&b"-"[..], "-"), "a minus is a text here");
        assert!(template.attributes.headers().eq([("a", "1"), ("a", "2"), ("b", "x=y")]));
        assert_eq!(template.attributes.policy().expires, Some(When::After(3_600_000)));
    }

    #[test]
    fn faults_name_the_entry_and_are_told_all_at_once() {
        for (text, expected) in [
            ("", "it has no schedule: expected [[schedule]] tables"),
            ("schedule = 1", "it has no schedule"),
            ("schedules = []", "there is no key schedules: expected [[schedule]] tables"),
            ("[[schedule]]\ntopic = reports", "a.toml, line 2: "),
            ("[[schedule]]\ntopic = 'reports'", "schedule 1, counted from 1: the key name is missing"),
            ("[[schedule]]\nname = 'a'", "schedule a: the key topic is missing"),
            (&entry("zome = 'UTC'"), "schedule daily of reports: there is no key zome: do you mean zone?"),
            (&entry("colour = 1"), "there is no key colour: expected topic, name, when, zone"),
            (&entry("help = 1"), "there is no key help"),
            (
                &entry("zone = 'Berlin'"),
                "schedule daily of reports: zone: there is no time zone Berlin: did you mean Europe/Berlin",
            ),
            (&entry("ttr = '1ms'"), "ttr \"1ms\": expected a duration between 100ms and 7d"),
            (&entry("priority = -1"), "priority \"-1\": expected a whole number from 0"),
            (&entry("priority = 1.5"), "priority: expected a text, a number or a time, found 1.5"),
            (&entry("missed = 'some'"), "missed \"some\": expected one of none, last, all"),
            (&entry("missed_max = 3"), "missed-max goes with missed all"),
            (&entry("headers = 'a=b'"), "headers: expected a table of texts"),
            (&entry("headers = { a = 1 }"), "headers: expected a table of texts"),
            (&entry("headers = { 'a=b' = 'c' }"), "headers: the name a=b has a ="),
            (&entry("start = 2030-01-01"), "start \"2030-01-01\": expected a time"),
            (&(entry("") + &entry("")), "schedule daily of reports: it is in the file twice"),
            (
                &entry("").replace("0 9 * * *", "0 9 * *"),
                "when: a cron expression has 5 or 6 fields: this one has 4",
            ),
            (
                &entry("").replace("reports", "no topic"),
                "topic \"no topic\": a topic name has 1 to 200 characters",
            ),
            (&entry("").replace("daily", &"n".repeat(250)), "its name is too long for the keys of its jobs"),
            (&entry("").replace("daily", ""), "name \"\": the name of a schedule has 1 to 255 bytes"),
        ] {
            let told = parsed(text).expect_err(text);
            assert!(told.contains(expected), "{text}: {told}");
        }
        let two = entry("zone = 'Berlin'") + &entry("ttr = 1").replace("daily", "weekly");
        let told = parsed(&two).expect_err("refused");
        assert!(
            told.lines().count() == 2 && told.contains("\nschedule weekly of reports: ttr \"1\""),
            "{told}"
        );
        let long = entry("key = 'k'").replace("daily", &"n".repeat(255));
        assert!(parsed(&long).is_ok(), "with a key, the name may be longer");
    }
}
