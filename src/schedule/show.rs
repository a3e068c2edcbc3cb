//! `adjourn schedule show` and `list`: schedules as they stand.

use std::io::{self, Write};
use std::path::Path;

use clap::Args;

use super::arguments::name;
use super::settings::{body_text, settings, shortened};
use crate::connection::{ServerArgs, Session};
use crate::exit::Failure;
use crate::output::table::aligned;
use crate::output::{plain_line, print, write_json};
use adjourn_calendar::{Recurrence, SYSTEM_ZONES, ZoneData};
use adjourn_json::values::{time_of_people, time_text};
use adjourn_json::{FiringJson, ScheduleJson};
use adjourn_protocol::{ListedSchedule, ScheduleConditions, ScheduleReport, ScheduleState};
use adjourn_types::{Fired, Firing, Millis, PausedBy, ScheduleRules, TopicName};

const SHOW_EXAMPLE: &str = "\
Shows the settings as `adjourn schedule set` takes them, and what the schedule did at its last times, the oldest first: the job that it \
pushed and what became of it, or why it pushed none, and at how many times. Ends with 3 when there is no such schedule.

Example:
  adjourn schedule show reports daily
  adjourn schedule show reports daily --json | jq '.history[-1]'";

/// What `adjourn schedule show` is told.
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLE)]
pub(crate) struct ShowArgs {
    /// The topic of its jobs
    topic: TopicName,
    /// Its name
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

const LIST_EXAMPLE: &str = "\
Example:
  adjourn schedule list
  adjourn schedule list reports --prefix monthly- --paused
  adjourn schedule list reports --next-before '2030-12-24 18:00 Europe/Berlin'
  adjourn schedule list reports --json | jq -r 'select(.failures > 0) | .name'";

/// What `adjourn schedule list` is told.
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLE)]
pub(crate) struct ListArgs {
    /// The topic of their jobs; all topics if not given
    topic: Option<TopicName>,
    /// Only schedules whose names begin with this
    #[arg(long, value_name = "PREFIX", default_value = "", hide_default_value = true)]
    prefix: String,
    /// Only paused schedules
    #[arg(long, conflicts_with = "active")]
    paused: bool,
    /// Only schedules that are not paused
    #[arg(long)]
    active: bool,
    /// Only schedules that fire next before this time
    #[arg(long, value_name = "TIME", value_parser = time_of_people)]
    next_before: Option<Millis>,
    /// Print a JSON object per schedule
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `adjourn schedule show`.
pub(super) fn show(args: &ShowArgs) -> Result<(), Failure> {
    let ShowArgs { topic, name, json, server } = args;
    let report = server.with_client(Session::None, async |client| client.schedule(topic, name).await)?;
    print(|out| {
        if *json {
            return write_json(out, &ScheduleJson::of(topic.as_str(), name, &report));
        }
        writeln!(out, "{topic} {}: {}", plain_line(name), standing(&report))?;
        write_settings(out, &report)?;
        if report.history.is_empty() {
            return Ok(());
        }
        write!(out, "\n{}", history(&report.history))
    })
}

/// Runs `adjourn schedule list`.
pub(super) fn list(args: &ListArgs) -> Result<(), Failure> {
    let conditions = ScheduleConditions {
        prefix: args.prefix.clone(),
        paused: (args.paused || args.active).then_some(args.paused),
        next_before: args.next_before,
    };
    let listed = args.server.with_client(Session::None, async |client| {
        client.schedules(args.topic.as_ref(), &conditions).await
    })?;
    print(|out| {
        if !args.json {
            return out.write_all(table(&listed, args.topic.is_none()).as_bytes());
        }
        listed.iter().try_for_each(|one| write_json(out, &ScheduleJson::listed(one)))
    })
}

/// Where a schedule stands, in a line.
fn standing(report: &ScheduleReport) -> String {
    let ScheduleReport { state, pause_note, rules, .. } = report;
    let ScheduleState { version, next, fired, running, failures, .. } = state;
    let next = next.map_or_else(|| "no next time".to_owned(), |next| format!("next {}", local(rules, next)));
    let mut parts = vec![format!("version {version}"), next];
    if state.is_held {
        parts.push("which waits until an earlier job has ended".to_owned());
    } else if state.has_come {
        parts.push("which has come".to_owned());
    }
    parts.extend(state.paused.map(|by| match by {
        PausedBy::User if pause_note.is_empty() => "paused".to_owned(),
        PausedBy::User => format!("paused: {}", plain_line(pause_note)),
        PausedBy::Failures => "paused because its jobs failed".to_owned(),
    }));
    parts.push(format!("fired {fired}, running {running}, failures in a row {failures}"));
    parts.join(", ")
}

/// A time in UTC, and in the zone of the schedule if it has another one that this machine knows.
fn local(rules: &ScheduleRules, at: Millis) -> String {
    let zone = Some(&rules.zone).filter(|zone| !zone.is_empty() && *zone != "UTC");
    let zones = ZoneData::newest(Path::new(SYSTEM_ZONES));
    let local = zone.and_then(|zone| zones.zone(zone).ok()).map(|zone| zone.local_text(at));
    local.map_or_else(|| time_text(at), |local| format!("{} ({local})", time_text(at)))
}

fn write_settings(out: &mut dyn Write, report: &ScheduleReport) -> io::Result<()> {
    let mut settings = settings(&shown(&report.rules), &report.template);
    settings.push(("body".into(), body_text(&report.template.body)));
    let width = settings.iter().map(|(name, _)| plain_line(name).len() + 2).max().unwrap_or_default().max(14);
    settings
        .iter()
        .try_for_each(|(name, value)| writeln!(out, "  {:<width$}{}", plain_line(name), plain_line(value)))
}

/// The rules without the time from which an interval counts, if they have none: the server notes one with every schedule.
fn shown(rules: &ScheduleRules) -> ScheduleRules {
    let is_interval = matches!(Recurrence::parse(&rules.when, Millis(0)), Ok(Recurrence::Every(_)));
    ScheduleRules { origin: rules.origin.filter(|_| is_interval), ..rules.clone() }
}

fn history(firings: &[Firing]) -> String {
    let head = ["TIME", "FIRED OR SKIPPED", "JOB", "TIMES", "OUTCOME"].map(str::to_owned);
    let rows = firings.iter().map(|firing| {
        let (job, times) = match firing.what {
            Fired::Pushed { job, .. } => (job.0.to_string(), 1),
            Fired::Skipped { instants, .. } => ("-".to_owned(), instants),
        };
        [time_text(firing.instant), time_text(firing.at), job, times.to_string(), outcome(firing)]
    });
    aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// What became of the job, or why there is none.
fn outcome(firing: &Firing) -> String {
    let fired = FiringJson::of(firing).fired;
    match firing.what {
        Fired::Skipped { last, instants: 2.., .. } => format!("{fired} until {}", time_text(last)),
        _ => fired.to_owned(),
    }
}

const COLUMNS: usize = 8;

/// A table of schedules; of several topics, with their topics.
fn table(listed: &[ListedSchedule], has_topics: bool) -> String {
    let head = ["NAME", "WHEN", "ZONE", "NEXT", "PAUSED", "RUNNING", "FIRED", "NOTE"].map(str::to_owned);
    let rows = std::iter::once(head).chain(listed.iter().map(row));
    if !has_topics {
        return aligned(&rows.collect::<Vec<_>>());
    }
    let topics = std::iter::once("TOPIC").chain(listed.iter().map(|one| one.topic.as_str()));
    let rows = topics.zip(rows).map(|(topic, [name, when, zone, next, paused, running, fired, note])| {
        [topic.to_owned(), name, when, zone, next, paused, running, fired, note]
    });
    aligned(&rows.collect::<Vec<_>>())
}

fn row(listed: &ListedSchedule) -> [String; COLUMNS] {
    let ListedSchedule { state, pause_note, rules, name, .. } = listed;
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { shortened(text) };
    let paused = match state.paused {
        None => "-",
        Some(PausedBy::User) if pause_note.is_empty() => "user",
        Some(PausedBy::User) => pause_note,
        Some(PausedBy::Failures) => "failures",
    };
    [
        name.clone(),
        shortened(&rules.when),
        if rules.zone.is_empty() { "UTC".to_owned() } else { rules.zone.clone() },
        state.next.map_or_else(|| "-".to_owned(), time_text),
        shortened(paused),
        state.running.to_string(),
        state.fired.to_string(),
        or_dash(&rules.note),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_protocol::JobTemplate;
    use adjourn_types::{JobEnd, JobId, SkipReason};

    const STATE: ScheduleState = ScheduleState {
        id: JobId(7),
        version: 2,
        next: Some(Millis(1_767_225_600_000)),
        has_come: true,
        is_held: true,
        paused: None,
        fired: 9,
        running: 1,
        failures: 0,
    };

    fn rules(zone: &str) -> ScheduleRules {
        ScheduleRules { when: "@daily".to_owned(), zone: zone.to_owned(), ..ScheduleRules::default() }
    }

    #[test]
    fn a_schedule_says_where_it_stands() {
        let standing = |state, zone| {
            standing(&ScheduleReport {
                state,
                pause_note: String::new(),
                rules: rules(zone),
                template: JobTemplate::default(),
                history: Vec::new(),
            })
        };
        assert_eq!(
            standing(STATE, "Europe/Berlin"),
            "version 2, next 2026-01-01T00:00:00.000Z (2026-01-01 01:00:00 +01:00 CET), which waits until an earlier job has \
             ended, fired 9, running 1, failures in a row 0"
        );
        let paused = ScheduleState {
            next: None,
            is_held: false,
            has_come: false,
            paused: Some(PausedBy::Failures),
            ..STATE
        };
        assert_eq!(
            standing(paused, ""),
            "version 2, no next time, paused because its jobs failed, fired 9, running 1, failures in a row 0"
        );
    }

    #[test]
    fn a_history_has_a_line_for_each_firing() {
        let firing = |what| Firing { instant: Millis(0), at: Millis(1), what };
        let pushed = firing(Fired::Pushed { job: JobId(42), end: Some(JobEnd::Finished) });
        let last = Millis(3_600_000);
        let missed = firing(Fired::Skipped { last, instants: 13, reason: SkipReason::Missed });
        assert_eq!(
            history(&[pushed, missed]),
            "\
TIME                              FIRED OR SKIPPED  JOB  TIMES                                OUTCOME
1970-01-01T00:00:00.000Z  1970-01-01T00:00:00.001Z   42      1                               finished
1970-01-01T00:00:00.000Z  1970-01-01T00:00:00.001Z    -     13  missed until 1970-01-01T01:00:00.000Z
"
        );
    }

    #[test]
    fn nothing_in_a_schedule_begins_a_line_of_the_list() {
        let rules = ScheduleRules { note: "a\nb".to_owned(), ..rules("") };
        let topic = "reports".parse().expect("a topic");
        let (name, pause_note) = ("daily\n".to_owned(), String::new());
        let listed = ListedSchedule { state: STATE, pause_note, rules, topic, name };
        let text = table(std::slice::from_ref(&listed), false);
        let cells: Vec<&str> = text.lines().nth(1).expect("a row").split_whitespace().collect();
        let next = "2026-01-01T00:00:00.000Z";
        assert_eq!(cells, ["daily\\u000a", "@daily", "UTC", next, "-", "1", "9", "a\\u000ab"]);
        assert_eq!(text.lines().count(), 2);
        let all = table(&[listed], true);
        let cells: Vec<&str> = all.lines().nth(1).expect("a row").split_whitespace().collect();
        assert_eq!(cells.first_chunk(), Some(&["reports", "daily\\u000a"]));
    }
}
