//! `adjourn topic set` and `show`: what a topic decides for its jobs.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;

use super::arguments::{backoff, backoff_text, delay_ms, spelled, ttr_ms};
use super::connection::{Leases, ServerArgs};
use super::exit::{Exit, Failure};
use super::output::{print, write_json};
use crate::protocol::TopicSettings;
use crate::types::limits::RATE_PER_SECOND_MAX;
use crate::types::{Backoff, Late, LateAction, PolicyChange, Setting, TopicName, TopicPolicy};

const SET_EXAMPLE: &str = "\
Settings that are not named stay as they are; `none` takes one away. Defaults count for jobs that are pushed from now on and do not
say it themselves; all other settings count at once, for all jobs of the topic.

Examples:
  adjourn topic set callbacks --attempts 6 --backoff 10s,30s,60s,2m,5m --dead-letters failed-callbacks
  adjourn topic set mails --rate 50 --leases-max 200 --late 1h:drop
  adjourn topic set reminders --late 10m:spread=1h --rate none";

/// What `adjourn topic set` is told.
#[derive(Debug, Args)]
#[command(after_help = SET_EXAMPLE)]
pub(super) struct SetArgs {
    /// The topic
    topic: TopicName,
    /// Default time that a consumer may hold a job, for example 30s
    #[arg(long, value_name = "DURATION", value_parser = or_none(ttr_ms), help_heading = "Defaults")]
    ttr: Option<Change<u32>>,
    /// Default priority; a lower number is reserved first
    #[arg(long, value_name = "N", value_parser = or_none(number::<u32>), help_heading = "Defaults")]
    priority: Option<Change<u32>>,
    /// Default number of attempts, after which a job is buried
    #[arg(long, value_name = "N", value_parser = or_none(number::<u32>), help_heading = "Defaults")]
    attempts: Option<Change<u32>>,
    /// Default wait between attempts, for example 10s,30s,60s,2m,5m or 1s..10m
    #[arg(long, value_name = "WAITS", value_parser = or_none(backoff), help_heading = "Defaults")]
    backoff: Option<Change<Backoff>>,
    /// Drop jobs without an expiry of their own so long after they were due
    #[arg(long, value_name = "DURATION", value_parser = or_none(delay_ms), help_heading = "Defaults")]
    expires_after: Option<Change<u64>>,
    /// Refuse pushes while the topic has this many jobs
    #[arg(long, value_name = "N", value_parser = or_none(number::<u64>), help_heading = "Limits")]
    jobs_max: Option<Change<u64>>,
    /// Refuse pushes that take the bodies of all jobs beyond this many bytes
    #[arg(long, value_name = "BYTES", value_parser = or_none(number::<u64>), help_heading = "Limits")]
    bytes_max: Option<Change<u64>>,
    /// Refuse larger bodies
    #[arg(long, value_name = "BYTES", value_parser = or_none(number::<u32>), help_heading = "Limits")]
    body_max: Option<Change<u32>>,
    /// Let no more jobs be reserved at the same time
    #[arg(long, value_name = "N", value_parser = or_none(number::<u32>), help_heading = "Limits")]
    leases_max: Option<Change<u32>>,
    /// Deliver no more jobs in a second
    #[arg(long, value_name = "N", value_parser = or_none(number::<u32>), help_heading = "Limits")]
    rate: Option<Change<u32>>,
    /// What happens to jobs that are later than a time: AFTER:drop, AFTER:bury, AFTER:spread=DURATION or AFTER:rate=N
    #[arg(long, value_name = "AFTER:ACTION", value_parser = or_none(late), help_heading = "Late, failed and finished jobs")]
    late: Option<Change<Late>>,
    /// The topic that takes the jobs that would be buried here
    #[arg(long, value_name = "TOPIC", value_parser = or_none(str::parse::<TopicName>), help_heading = "Late, failed and finished jobs")]
    dead_letters: Option<Change<TopicName>>,
    /// Remember finished jobs and their keys for this time, if they do not say it
    #[arg(long, value_name = "DURATION", value_parser = or_none(delay_ms), help_heading = "Late, failed and finished jobs")]
    remember: Option<Change<u64>>,
    #[command(flatten)]
    server: ServerArgs,
}

const SHOW_EXAMPLE: &str = "\
Shows each setting as `adjourn topic set` takes it. Ends with 3 when there is no such topic.

Example:
  adjourn topic show callbacks";

/// What `adjourn topic show` is told.
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLE)]
pub(super) struct ShowArgs {
    /// The topic
    topic: TopicName,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// A new value, or none from now on.
#[derive(Clone, Debug)]
enum Change<T> {
    To(T),
    None,
}

#[derive(Debug, Serialize)]
struct SettingsJson<'a> {
    topic: &'a str,
    paused: bool,
    jobs: u64,
    bytes: u64,
    settings: BTreeMap<&'static str, String>,
}

/// Why a value of a setting cannot be used.
#[derive(Debug, thiserror::Error)]
enum SettingError {
    #[error("expected a number from 1 on, or none")]
    Number,
    #[error(
        "expected a time and what happens to jobs that are later: 1h:drop, 1h:bury, 1h:spread=2h or 1h:rate=50"
    )]
    Late,
}

fn or_none<T, E: std::fmt::Display>(
    read: impl Fn(&str) -> Result<T, E> + Clone,
) -> impl Fn(&str) -> Result<Change<T>, String> + Clone {
    move |text: &str| {
        if text == "none" {
            return Ok(Change::None);
        }
        read(text).map(Change::To).map_err(|error| error.to_string())
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, SettingError> {
    text.parse().map_err(|_| SettingError::Number)
}

fn late(text: &str) -> Result<Late, SettingError> {
    let (after, action) = text.split_once(':').ok_or(SettingError::Late)?;
    let after_ms = delay_ms(after).map_err(|_| SettingError::Late)?;
    let then = match action.split_once('=') {
        None if action == "drop" => LateAction::Drop,
        None if action == "bury" => LateAction::Bury,
        Some(("spread", over)) => {
            let over_ms = delay_ms(over).ok().filter(|over_ms| *over_ms > 0);
            LateAction::Spread { over_ms: over_ms.ok_or(SettingError::Late)? }
        }
        Some(("rate", jobs)) => {
            let jobs = jobs.parse().ok().filter(|jobs| (1..=RATE_PER_SECOND_MAX).contains(jobs));
            LateAction::PerSecond(jobs.ok_or(SettingError::Late)?)
        }
        _ => return Err(SettingError::Late),
    };
    Ok(Late { after_ms, then })
}

impl SetArgs {
    fn change(&self) -> PolicyChange {
        let mut change = PolicyChange::default();
        let PolicyChange { set, unset } = &mut change;
        let mut put = |setting: Setting, is_taken_away: bool| {
            if is_taken_away {
                unset.insert(setting);
            }
        };
        put(Setting::Ttr, taken(self.ttr.as_ref(), &mut set.ttr_ms));
        put(Setting::Priority, taken(self.priority.as_ref(), &mut set.priority));
        put(Setting::Attempts, taken(self.attempts.as_ref(), &mut set.attempts_max));
        put(Setting::Backoff, taken(self.backoff.as_ref(), &mut set.backoff));
        put(Setting::ExpiresAfter, taken(self.expires_after.as_ref(), &mut set.expires_after_ms));
        put(Setting::JobsMax, taken(self.jobs_max.as_ref(), &mut set.jobs_max));
        put(Setting::BytesMax, taken(self.bytes_max.as_ref(), &mut set.bytes_max));
        put(Setting::BodyMax, taken(self.body_max.as_ref(), &mut set.body_bytes_max));
        put(Setting::LeasesMax, taken(self.leases_max.as_ref(), &mut set.leases_max));
        put(Setting::Rate, taken(self.rate.as_ref(), &mut set.per_second_max));
        put(Setting::Late, taken(self.late.as_ref(), &mut set.late));
        put(Setting::DeadLetters, taken(self.dead_letters.as_ref(), &mut set.dead_letters));
        put(Setting::Remember, taken(self.remember.as_ref(), &mut set.retention_ms));
        change
    }
}

/// Puts a new value into its place. Whether the setting is taken away.
fn taken<T: Clone>(change: Option<&Change<T>>, place: &mut Option<T>) -> bool {
    match change {
        Some(Change::To(value)) => *place = Some(value.clone()),
        Some(Change::None) => return true,
        None => {}
    }
    false
}

/// Changes a topic's policy.
pub(super) fn set(args: &SetArgs) -> Result<(), Failure> {
    let change = args.change();
    if change == PolicyChange::default() {
        return Err(Failure::new(Exit::Usage, "say what to change, for example --attempts 5 or --rate none"));
    }
    args.server.with_client(Leases::EndWithIt, async |client| client.set_topic(&args.topic, change).await)
}

/// Shows a topic's policy.
pub(super) fn show(args: &ShowArgs) -> Result<(), Failure> {
    let topic = &args.topic;
    let shown =
        args.server.with_client(Leases::EndWithIt, async |client| client.topic_settings(topic).await)?;
    let TopicSettings { policy, paused, jobs, bytes } = shown;
    let settings: Vec<(&'static str, String)> = Setting::ALL
        .into_iter()
        .filter_map(|setting| Some((setting.name(), setting_text(setting, &policy)?)))
        .collect();
    print(|out| {
        if args.json {
            let settings = settings.into_iter().collect();
            let topic = topic.as_str();
            return write_json(out, &SettingsJson { topic, paused, jobs, bytes, settings });
        }
        let state = if paused { ", paused" } else { "" };
        writeln!(out, "{topic}: {jobs} jobs, {bytes} bytes{state}")?;
        settings.iter().try_for_each(|(name, text)| writeln!(out, "  {name:<14}{text}"))
    })
}

/// A setting as `adjourn topic set` takes it.
fn setting_text(setting: Setting, policy: &TopicPolicy) -> Option<String> {
    let duration = |millis: u64| spelled(millis).replace(' ', "");
    match setting {
        Setting::Ttr => policy.ttr_ms.map(|ttr_ms| duration(ttr_ms.into())),
        Setting::Priority => policy.priority.map(|priority| priority.to_string()),
        Setting::Attempts => policy.attempts_max.map(|attempts| attempts.to_string()),
        Setting::Backoff => policy.backoff.as_ref().map(backoff_text),
        Setting::ExpiresAfter => policy.expires_after_ms.map(duration),
        Setting::JobsMax => policy.jobs_max.map(|jobs| jobs.to_string()),
        Setting::BytesMax => policy.bytes_max.map(|bytes| bytes.to_string()),
        Setting::BodyMax => policy.body_bytes_max.map(|bytes| bytes.to_string()),
        Setting::LeasesMax => policy.leases_max.map(|leases| leases.to_string()),
        Setting::Rate => policy.per_second_max.map(|jobs| jobs.to_string()),
        Setting::Late => policy.late.map(|late| {
            let then = match late.then {
                LateAction::Drop => "drop".to_owned(),
                LateAction::Bury => "bury".to_owned(),
                LateAction::Spread { over_ms } => format!("spread={}", duration(over_ms)),
                LateAction::PerSecond(jobs) => format!("rate={jobs}"),
            };
            format!("{}:{then}", duration(late.after_ms))
        }),
        Setting::DeadLetters => policy.dead_letters.as_ref().map(ToString::to_string),
        Setting::Remember => policy.retention_ms.map(duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_shown_as_it_is_taken() {
        for text in ["1h:drop", "1m30s:bury", "0s:spread=2h", "10m:rate=50"] {
            let policy = TopicPolicy { late: Some(late(text).expect(text)), ..TopicPolicy::default() };
            assert_eq!(setting_text(Setting::Late, &policy).as_deref(), Some(text));
        }
        for text in ["", "1h", "drop", "1h:", "1h:burn", "1h:spread", "1h:spread=0s", "1h:rate=0", "x:drop"] {
            assert!(late(text).is_err(), "{text}");
        }
        let read = or_none(number::<u32>);
        assert!(matches!(
            (read("none"), read("7"), read("-1")),
            (Ok(Change::None), Ok(Change::To(7)), Err(_))
        ));
    }
}
