//! `adjourn topic set` and `show`: a topic's policy.

use clap::Args;

use crate::connection::{ServerArgs, Session};
use crate::exit::{Exit, Failure};
use crate::output::{print, write_json};
use adjourn_json::values::spelled;
use adjourn_json::{TopicSettingsJson, defaults_text, setting_change, settings_text};
use adjourn_types::{PolicyChange, Setting, TopicName};

const SET_EXAMPLE: &str = "\
Other settings stay as they are; `none` removes one. A default applies to jobs that are pushed from now on without that value. All
other settings apply at once, to all jobs of the topic.

Examples:
  adjourn topic set callbacks --attempts-max 6 --backoff 10s,30s,60s,2m,5m --dead-letters failed-callbacks
  adjourn topic set mails --rate 50 --leases-max 200 --late 1h:drop
  adjourn topic set reminders --late 10m:spread=1h --rate none
  adjourn topic set orders --call-back 'https://shop.example/due/{key}' --call-back-timeout 5s --attempts-max 10 --backoff 10s..1h";

/// What `adjourn topic set` is told.
#[derive(Debug, Args)]
#[command(after_help = SET_EXAMPLE)]
pub(crate) struct SetArgs {
    /// The topic
    topic: TopicName,
    /// Default time that a consumer may hold a job, for example 30s
    #[arg(long, value_name = "DURATION", value_parser = to(Setting::Ttr), help_heading = "Defaults")]
    ttr: Option<PolicyChange>,
    /// Default priority; a lower number is reserved first
    #[arg(long, value_name = "N", value_parser = to(Setting::Priority), help_heading = "Defaults")]
    priority: Option<PolicyChange>,
    /// Default number of attempts, after which a job is buried
    #[arg(long, value_name = "N", value_parser = to(Setting::AttemptsMax), help_heading = "Defaults")]
    attempts_max: Option<PolicyChange>,
    /// Default wait between attempts, for example 10s,30s,60s,2m,5m or 1s..10m
    #[arg(long, value_name = "WAITS", value_parser = to(Setting::Backoff), help_heading = "Defaults")]
    backoff: Option<PolicyChange>,
    /// Drop jobs without an expiry of their own this long after they were due
    #[arg(long, value_name = "DURATION", value_parser = to(Setting::ExpiresAfter), help_heading = "Defaults")]
    expires_after: Option<PolicyChange>,
    /// Refuse pushes while the topic has this many jobs
    #[arg(long, value_name = "N", value_parser = to(Setting::JobsMax), help_heading = "Limits")]
    jobs_max: Option<PolicyChange>,
    /// Refuse pushes while the bodies of all jobs would have more bytes than this
    #[arg(long, value_name = "BYTES", value_parser = to(Setting::BytesMax), help_heading = "Limits")]
    bytes_max: Option<PolicyChange>,
    /// Refuse larger bodies
    #[arg(long, value_name = "BYTES", value_parser = to(Setting::BodyMax), help_heading = "Limits")]
    body_max: Option<PolicyChange>,
    /// Most jobs that can be reserved at the same time
    #[arg(long, value_name = "N", value_parser = to(Setting::LeasesMax), help_heading = "Limits")]
    leases_max: Option<PolicyChange>,
    /// Most jobs to deliver per second
    #[arg(long, value_name = "N", value_parser = to(Setting::Rate), help_heading = "Limits")]
    rate: Option<PolicyChange>,
    /// What happens to jobs that are later than a time: AFTER:drop, AFTER:bury, AFTER:spread=DURATION or AFTER:rate=N
    #[arg(long, value_name = "AFTER:ACTION", value_parser = to(Setting::Late), help_heading = "Late, failed and finished jobs")]
    late: Option<PolicyChange>,
    /// Move jobs to this topic instead of burying them
    #[arg(long, value_name = "TOPIC", value_parser = to(Setting::DeadLetters), help_heading = "Late, failed and finished jobs")]
    dead_letters: Option<PolicyChange>,
    /// Default time to remember finished jobs and their keys
    #[arg(long, value_name = "DURATION", value_parser = to(Setting::Remember), help_heading = "Late, failed and finished jobs")]
    remember: Option<PolicyChange>,
    /// URL to call when a job is due; placeholders such as {id}, {key} and {body.form} are filled in
    #[arg(long, value_name = "URL", value_parser = to(Setting::CallBackUrl), help_heading = "Call-backs")]
    call_back: Option<PolicyChange>,
    /// GET, POST, PUT, PATCH or DELETE; the default is POST
    #[arg(long, value_name = "METHOD", value_parser = to(Setting::CallBackMethod), help_heading = "Call-backs")]
    call_back_method: Option<PolicyChange>,
    /// Headers to send, lines of `Name: value`
    #[arg(long, value_name = "LINES", value_parser = to(Setting::CallBackHeaders), help_heading = "Call-backs")]
    call_back_headers: Option<PolicyChange>,
    /// Body to send instead of the job's; placeholders such as {body.json} are filled in
    #[arg(long, value_name = "TEXT", value_parser = to(Setting::CallBackBody), help_heading = "Call-backs")]
    call_back_body: Option<PolicyChange>,
    /// How long a call may take; the default is 10s
    #[arg(long, value_name = "DURATION", value_parser = to(Setting::CallBackTimeout), help_heading = "Call-backs")]
    call_back_timeout: Option<PolicyChange>,
    /// Most calls at the same time; the default is 16
    #[arg(long, value_name = "N", value_parser = to(Setting::CallBackConcurrency), help_heading = "Call-backs")]
    call_back_concurrency: Option<PolicyChange>,
    /// Most calls per second
    #[arg(long, value_name = "N", value_parser = to(Setting::CallBackRate), help_heading = "Call-backs")]
    call_back_rate: Option<PolicyChange>,
    /// Sign calls with the secrets that the servers have under this name
    #[arg(long, value_name = "NAME", value_parser = to(Setting::CallBackSecrets), help_heading = "Call-backs")]
    call_back_secrets: Option<PolicyChange>,
    /// What to do with a job whose call gets a status of 4xx; the default is bury
    #[arg(long, value_name = "bury|retry", value_parser = to(Setting::CallBackRefused), help_heading = "Call-backs")]
    call_back_refused: Option<PolicyChange>,
    /// Try again if this condition is true for the reply, for example "{res.code} != 200"
    #[arg(long, value_name = "CONDITION", value_parser = to(Setting::CallBackRetryIf), help_heading = "Call-backs")]
    call_back_retry_if: Option<PolicyChange>,
    /// When a call succeeded: status for a status of 2xx, reply for a reply that is neither empty nor 0
    #[arg(long, value_name = "status|reply", value_parser = to(Setting::CallBackSuccess), help_heading = "Call-backs")]
    call_back_success: Option<PolicyChange>,
    /// Let a job name the URL itself, in its header `call-back`
    #[arg(long, value_name = "true", value_parser = to(Setting::CallBackOfJob), help_heading = "Call-backs")]
    call_back_of_job: Option<PolicyChange>,
    /// How long attempts can be looked up; the default is 7d
    #[arg(long, value_name = "DURATION", value_parser = to(Setting::CallBackLog), help_heading = "Call-backs")]
    call_back_log: Option<PolicyChange>,
    /// Make no calls
    #[arg(long, value_name = "true", value_parser = to(Setting::CallBackPaused), help_heading = "Call-backs")]
    call_back_paused: Option<PolicyChange>,
    /// Delay of jobs that a caller of php-delayqueue pushes without a time
    #[arg(long, value_name = "DURATION", value_parser = to(Setting::CallBackDelay), help_heading = "Call-backs")]
    call_back_delay: Option<PolicyChange>,
    /// Let the groups of its jobs take turns
    #[arg(long, value_name = "true", value_parser = to(Setting::Fair), help_heading = "Groups")]
    fair: Option<PolicyChange>,
    /// Most jobs of one group that can be reserved at the same time
    #[arg(long, value_name = "N", value_parser = to(Setting::GroupLeasesMax), help_heading = "Groups")]
    group_leases_max: Option<PolicyChange>,
    /// Most jobs of one group to deliver per second
    #[arg(long, value_name = "N", value_parser = to(Setting::GroupRate), help_heading = "Groups")]
    group_rate: Option<PolicyChange>,
    /// How many of them may be delivered at once; the default is a tenth of the rate
    #[arg(long, value_name = "N", value_parser = to(Setting::GroupBurst), help_heading = "Groups")]
    group_burst: Option<PolicyChange>,
    /// fifo: one job of a group at a time, in order
    #[arg(long, value_name = "fifo", value_parser = to(Setting::GroupOrder), help_heading = "Groups")]
    group_order: Option<PolicyChange>,
    /// With fifo, what a buried job means to those behind it; the default is block
    #[arg(long, value_name = "block|continue", value_parser = to(Setting::GroupOnBury), help_heading = "Groups")]
    group_on_bury: Option<PolicyChange>,
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
pub(crate) struct ShowArgs {
    /// The topic
    topic: TopicName,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

fn to(setting: Setting) -> impl Fn(&str) -> Result<PolicyChange, String> + Clone {
    move |text: &str| setting_change(setting, text).map_err(|error| with_flags(error.to_string()))
}

/// A reason with the names of flags in place of those of settings.
fn with_flags(reason: String) -> String {
    // The longer names come last, and begin with shorter ones.
    Setting::ALL
        .into_iter()
        .rev()
        .fold(reason, |reason, setting| reason.replace(setting.name(), &flag(setting)))
}

/// The name of a setting on the command line.
pub(crate) fn flag(setting: Setting) -> String {
    setting.name().replace('_', "-")
}

impl SetArgs {
    fn change(&self) -> PolicyChange {
        let all = [
            &self.ttr,
            &self.priority,
            &self.attempts_max,
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
            &self.call_back,
            &self.call_back_method,
            &self.call_back_headers,
            &self.call_back_body,
            &self.call_back_timeout,
            &self.call_back_concurrency,
            &self.call_back_rate,
            &self.call_back_secrets,
            &self.call_back_refused,
            &self.call_back_retry_if,
            &self.call_back_success,
            &self.call_back_of_job,
            &self.call_back_log,
            &self.call_back_paused,
            &self.call_back_delay,
            &self.fair,
            &self.group_leases_max,
            &self.group_rate,
            &self.group_burst,
            &self.group_order,
            &self.group_on_bury,
        ];
        let mut changes = PolicyChange::default();
        all.into_iter().flatten().for_each(|change| changes.add(change));
        changes
    }
}

/// Runs `adjourn topic set`.
pub(crate) fn set(args: &SetArgs) -> Result<(), Failure> {
    let change = args.change();
    if change == PolicyChange::default() {
        return Err(Failure::new(
            Exit::Usage,
            "say what to change, for example --attempts-max 5 or --rate none",
        ));
    }
    args.server.with_client(Session::None, async |client| client.set_topic(&args.topic, change).await)
}

/// Runs `adjourn topic show`.
pub(crate) fn show(args: &ShowArgs) -> Result<(), Failure> {
    let topic = &args.topic;
    let shown = args.server.with_client(Session::None, async |client| client.topic_settings(topic).await)?;
    print(|out| {
        if args.json {
            return write_json(out, &TopicSettingsJson::of(topic.as_str(), &shown));
        }
        let set = settings_text(&shown.policy);
        let defaults = defaults_text(&shown).map(|(name, text)| (name, format!("{text} (default)")));
        let lines: Vec<(&str, String)> = set.chain(defaults).collect();
        let width = lines.iter().map(|(name, _)| name.len() + 2).max().unwrap_or_default().max(14);
        let state = match (shown.paused, shown.pause_left_ms) {
            (false, _) => String::new(),
            (true, 0) => ", paused".to_owned(),
            (true, left_ms) => format!(", paused for {}", spelled(left_ms / 1000 * 1000)),
        };
        writeln!(out, "{topic}: {} jobs, {} bytes{state}", shown.jobs, shown.bytes)?;
        lines.iter().try_for_each(|(name, text)| writeln!(out, "  {name:<width$}{text}"))
    })
}
