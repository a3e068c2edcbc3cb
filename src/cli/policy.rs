//! `adjourn topic set` and `show`: what a topic decides for its jobs.

use clap::Args;

use super::connection::{Leases, ServerArgs};
use super::exit::{Exit, Failure};
use super::output::{print, write_json};
use crate::json::{SettingError, TopicSettingsJson, setting_change, settings_text};
use crate::types::{PolicyChange, Setting, TopicName};

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
    #[arg(long, value_name = "DURATION", value_parser = to(Setting::Ttr), help_heading = "Defaults")]
    ttr: Option<PolicyChange>,
    /// Default priority; a lower number is reserved first
    #[arg(long, value_name = "N", value_parser = to(Setting::Priority), help_heading = "Defaults")]
    priority: Option<PolicyChange>,
    /// Default number of attempts, after which a job is buried
    #[arg(long, value_name = "N", value_parser = to(Setting::Attempts), help_heading = "Defaults")]
    attempts: Option<PolicyChange>,
    /// Default wait between attempts, for example 10s,30s,60s,2m,5m or 1s..10m
    #[arg(long, value_name = "WAITS", value_parser = to(Setting::Backoff), help_heading = "Defaults")]
    backoff: Option<PolicyChange>,
    /// Drop jobs without an expiry of their own so long after they were due
    #[arg(long, value_name = "DURATION", value_parser = to(Setting::ExpiresAfter), help_heading = "Defaults")]
    expires_after: Option<PolicyChange>,
    /// Refuse pushes while the topic has this many jobs
    #[arg(long, value_name = "N", value_parser = to(Setting::JobsMax), help_heading = "Limits")]
    jobs_max: Option<PolicyChange>,
    /// Refuse pushes that take the bodies of all jobs beyond this many bytes
    #[arg(long, value_name = "BYTES", value_parser = to(Setting::BytesMax), help_heading = "Limits")]
    bytes_max: Option<PolicyChange>,
    /// Refuse larger bodies
    #[arg(long, value_name = "BYTES", value_parser = to(Setting::BodyMax), help_heading = "Limits")]
    body_max: Option<PolicyChange>,
    /// Let no more jobs be reserved at the same time
    #[arg(long, value_name = "N", value_parser = to(Setting::LeasesMax), help_heading = "Limits")]
    leases_max: Option<PolicyChange>,
    /// Deliver no more jobs in a second
    #[arg(long, value_name = "N", value_parser = to(Setting::Rate), help_heading = "Limits")]
    rate: Option<PolicyChange>,
    /// What happens to jobs that are later than a time: AFTER:drop, AFTER:bury, AFTER:spread=DURATION or AFTER:rate=N
    #[arg(long, value_name = "AFTER:ACTION", value_parser = to(Setting::Late), help_heading = "Late, failed and finished jobs")]
    late: Option<PolicyChange>,
    /// The topic that takes the jobs that would be buried here
    #[arg(long, value_name = "TOPIC", value_parser = to(Setting::DeadLetters), help_heading = "Late, failed and finished jobs")]
    dead_letters: Option<PolicyChange>,
    /// Remember finished jobs and their keys for this time, if they do not say it
    #[arg(long, value_name = "DURATION", value_parser = to(Setting::Remember), help_heading = "Late, failed and finished jobs")]
    remember: Option<PolicyChange>,
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

fn to(setting: Setting) -> impl Fn(&str) -> Result<PolicyChange, SettingError> + Clone {
    move |text: &str| setting_change(setting, text)
}

impl SetArgs {
    fn change(&self) -> PolicyChange {
        let all = [
            &self.ttr,
            &self.priority,
            &self.attempts,
            &self.backoff,
            &self.expires_after,
            &self.jobs_max,
            &self.bytes_max,
            &self.body_max,
            &self.leases_max,
            &self.rate,
            &self.late,
            &self.dead_letters,
            &self.remember,
        ];
        let mut changes = PolicyChange::default();
        all.into_iter().flatten().for_each(|change| changes.add(change));
        changes
    }
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
    print(|out| {
        if args.json {
            return write_json(out, &TopicSettingsJson::of(topic.as_str(), &shown));
        }
        let state = if shown.paused { ", paused" } else { "" };
        writeln!(out, "{topic}: {} jobs, {} bytes{state}", shown.jobs, shown.bytes)?;
        settings_text(&shown.policy).try_for_each(|(name, text)| writeln!(out, "  {name:<14}{text}"))
    })
}
