//! `adjourn edit`: changes parts of one job. Prints the result of the change as JSON.

use clap::{Args, ValueEnum};

use super::job::JobArgs;
use super::push::{SettingsArgs, body};
use crate::exit::{Exit, Failure};
use crate::usage::whole;
use adjourn_json::values::{delay_ms, time_of_people, ttr_ms};
use adjourn_protocol::{Edit, JobRef};
use adjourn_types::limits::PRIORITY_UNSAID;
use adjourn_types::{AttributeSet, JobId, Millis, When};

const EDIT_EXAMPLE: &str = "\
The job must be delayed, ready or buried. What is not given stays. --header replaces all headers but content-type, which goes with the body: give both.

Example:
  adjourn edit orders order-17 --priority 1 --delay 30m
  adjourn edit 42 --body '[17, 18]' --header content-type=application/json
  adjourn edit 42 --attempts-max 50 --unset expires";

/// What `adjourn edit` is told.
#[derive(Debug, Args)]
#[command(after_help = EDIT_EXAMPLE)]
pub(crate) struct EditArgs {
    #[command(flatten)]
    job: JobArgs,
    /// The new body, or - to read it from standard input
    #[arg(long, value_name = "BODY")]
    body: Option<String>,
    /// The new delay, from the time at which the server accepts this, for example 30m
    #[arg(long, value_name = "DURATION", value_parser = delay_ms, conflicts_with = "at")]
    delay: Option<u64>,
    /// The new due time, for example 2030-12-24T18:00:00Z or '2030-12-24 18:00 Europe/Berlin'
    #[arg(long, value_name = "TIME", value_parser = time_of_people)]
    at: Option<Millis>,
    /// How long a consumer may hold the job, for example 30s
    #[arg(long, value_name = "DURATION", value_parser = ttr_ms)]
    ttr: Option<u32>,
    /// The new priority; lower numbers are reserved first
    #[arg(long, value_name = "N", value_parser = whole(0..=PRIORITY_UNSAID - 1))]
    priority: Option<u32>,
    /// Drop the job if it is not finished this long from now, for example 10m
    #[arg(long, value_name = "DURATION", value_parser = delay_ms)]
    expires: Option<u64>,
    #[command(flatten)]
    settings: SettingsArgs,
    /// Take this setting away: the default of the topic or of the server counts then; may be repeated
    #[arg(long, value_name = "SETTING", value_enum)]
    unset: Vec<Unset>,
}

/// A setting that can be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Unset {
    /// All headers
    Header,
    /// The expiry
    Expires,
    /// The number of attempts
    AttemptsMax,
    /// The wait between attempts
    Backoff,
    /// How long the job is remembered
    Remember,
    /// The group
    Group,
    /// The time to run
    Ttr,
    /// The priority
    Priority,
}

impl Unset {
    /// The attribute that it is, if it is one.
    fn attribute(self) -> AttributeSet {
        match self {
            Self::Header => AttributeSet::HEADERS,
            Self::Expires => AttributeSet::EXPIRES,
            Self::AttemptsMax => AttributeSet::ATTEMPTS_MAX,
            Self::Backoff => AttributeSet::BACKOFF,
            Self::Remember => AttributeSet::DEDUPE_RETENTION,
            Self::Group => AttributeSet::GROUP,
            Self::Ttr | Self::Priority => AttributeSet::NONE,
        }
    }
}

/// Runs `adjourn edit`.
pub(crate) fn run(args: EditArgs) -> Result<(), Failure> {
    let edit = args.edit()?;
    args.job.change(async |client, job| client.edit(Edit { job, ..edit }).await)
}

impl EditArgs {
    /// The edit, of a job that is filled in later.
    fn edit(&self) -> Result<Edit, Failure> {
        let settings = &self.settings;
        let given = [
            (!settings.headers.is_empty(), Unset::Header),
            (self.expires.is_some(), Unset::Expires),
            (settings.attempts_max.is_some(), Unset::AttemptsMax),
            (settings.backoff.is_some(), Unset::Backoff),
            (settings.remember.is_some(), Unset::Remember),
            (settings.group.is_some(), Unset::Group),
            (self.ttr.is_some(), Unset::Ttr),
            (self.priority.is_some(), Unset::Priority),
        ];
        let given = given.into_iter().filter(|(is_given, _)| *is_given).map(|(_, setting)| setting);
        if let Some(both) = given.clone().find(|setting| self.unset.contains(setting)) {
            let name = both.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            let message = format!("--unset {name} takes away what --{name} sets: give one of them");
            return Err(Failure::new(Exit::Usage, message));
        }
        let unset = |setting| self.unset.contains(&setting);
        let replaced = given.chain(self.unset.iter().copied());
        let attributes =
            settings.attributes(self.expires).build().map_err(|error| Failure::new(Exit::Usage, error))?;
        let edit = Edit {
            due: self.at.map(When::At).or(self.delay.map(When::After)),
            priority: self.priority.or(unset(Unset::Priority).then_some(PRIORITY_UNSAID)),
            ttr_ms: self.ttr.or(unset(Unset::Ttr).then_some(0)),
            body: self.body.as_deref().map(body).transpose()?,
            replaced: replaced.fold(AttributeSet::NONE, |set, setting| set.and(setting.attribute())),
            attributes,
            ..Edit::new(JobRef::Id(JobId(0)))
        };
        if edit.changes_something() {
            Ok(edit)
        } else {
            Err(Failure::new(Exit::Usage, "say what changes, for example: --priority 1"))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        edit: EditArgs,
    }

    fn edit(args: &[&str]) -> Result<Edit, String> {
        let line = CommandLine::try_parse_from([&["edit", "7"], args].concat())
            .map_err(|error| error.to_string())?;
        line.edit.edit().map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn only_what_is_given_changes() {
        let one = edit(&["--priority", "7"]).expect("valid");
        assert_eq!(one, Edit { priority: Some(7), ..Edit::new(JobRef::Id(JobId(0))) });
        let unset = edit(&["--unset", "priority", "--unset", "ttr"]).expect("valid");
        let expected =
            Edit { priority: Some(PRIORITY_UNSAID), ttr_ms: Some(0), ..Edit::new(JobRef::Id(JobId(0))) };
        assert_eq!(unset, expected);
        let many = edit(&[
            "--body",
            "new",
            "--delay",
            "5s",
            "--ttr",
            "30s",
            "--header",
            "a=b",
            "--unset",
            "expires",
            "--unset",
            "attempts-max",
        ])
        .expect("valid");
        assert_eq!((many.due, many.ttr_ms), (Some(When::After(5000)), Some(30_000)));
        assert_eq!(many.body.as_deref(), Some(&b"new"[..]));
        let replaced = AttributeSet::HEADERS.and(AttributeSet::EXPIRES).and(AttributeSet::ATTEMPTS_MAX);
        assert_eq!(many.replaced, replaced);
        assert_eq!(many.attributes.iter().count(), 1, "the header");
    }

    #[test]
    fn contradictions_are_refused() {
        for (bad, reason) in [
            (&[][..], "say what changes"),
            (&["--expires", "1h", "--unset", "expires"], "--unset expires takes away what --expires sets"),
            (&["--delay", "1s", "--at", "1970-01-01T00:00:01Z"], "cannot be used with"),
            (&["--unset", "body"], "possible values: header, expires"),
            (&["--ttr", "5s", "--unset", "ttr"], "--unset ttr takes away what --ttr sets"),
        ] {
            let told = edit(bad).expect_err("refused");
            assert!(told.contains(reason), "{bad:?}: {told}");
        }
    }
}
