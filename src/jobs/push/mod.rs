//! `adjourn push`: one job, or a job per line of standard input.

mod batches;
mod limits;
mod lines;
mod settings;

use std::io::{self, Read};

use bytes::Bytes;
use clap::{Args, ValueEnum};

use crate::connection::{ServerArgs, Session};
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::usage::whole;
use adjourn_json::values::{delay_ms, time_of_people, ttr_ms};
use adjourn_protocol::NewJob;
use adjourn_types::limits::{BODY_BYTES_CEILING, PRIORITY_UNSAID};
use adjourn_types::{AttributeError, IfExists, Key, Millis, TopicName, When};
pub(crate) use settings::SettingsArgs;

const PUSH_EXAMPLE: &str = "\
A backoff is the wait between attempts: 1s is fixed; 1s..10m doubles up to ten minutes; +5s..1m adds five seconds \
each time up to a minute; 1s,5s,1m is a list, and its last wait repeats. With ~20% after it each wait is up to 20 percent shorter. \
A job whose attempts are used up is buried.

Example:
  adjourn push emails 'to: ann' --delay 10m
  adjourn push orders close --at 2030-12-24T18:00:00Z --key order-17 --if-exists replace
  adjourn push search reindex --delay 5s --key shop-3 --if-exists postpone --postpone-max 1m
  adjourn push emails - --attempts-max 5 --backoff 1s..10m < letter.txt
  adjourn push emails --lines --delay 1h < addresses.txt > ids.txt";

/// What `adjourn push` is told.
#[derive(Debug, Args)]
#[command(after_help = PUSH_EXAMPLE)]
pub(crate) struct PushArgs {
    /// The topic that the job belongs to
    topic: TopicName,
    /// The body, or - to read it from standard input; empty if not given
    #[arg(value_name = "BODY")]
    body: Option<String>,
    /// Delay after the server accepts the job, for example 1500ms, 10m or 3d; due at once if not given
    #[arg(long, value_name = "DURATION", value_parser = delay_ms, conflicts_with = "at")]
    delay: Option<u64>,
    /// Due at this time, for example 2030-12-24T18:00:00Z or '2030-12-24 18:00 Europe/Berlin'
    #[arg(long, value_name = "TIME", value_parser = time_of_people)]
    at: Option<Millis>,
    /// How long a consumer may hold the job, for example 30s; the topic's default, or 60s, if not given
    #[arg(long, value_name = "DURATION", value_parser = ttr_ms)]
    ttr: Option<u32>,
    /// Priority; lower numbers are reserved first; if not given, the topic's default, or 1024
    #[arg(long, value_name = "N", value_parser = whole(0..=PRIORITY_UNSAID - 1))]
    priority: Option<u32>,
    /// Your own id of the job, unique in its topic while the job lives
    #[arg(long, value_name = "KEY")]
    key: Option<Key>,
    /// What to do if a job with this key exists
    #[arg(long, value_name = "MODE", value_enum, default_value = "reject", requires = "key")]
    if_exists: IfExistsArg,
    /// With --if-exists postpone: the longest time from the first push to the due time, however often the job is postponed
    #[arg(long, value_name = "DURATION", value_parser = delay_ms, requires = "if_exists")]
    postpone_max: Option<u64>,
    /// Drop the job if it is not finished this long from now, for example 10m
    #[arg(long, value_name = "DURATION", value_parser = delay_ms)]
    expires: Option<u64>,
    #[command(flatten)]
    settings: SettingsArgs,
    /// Push a job per line of standard input; prints an id per line, - for a line that was refused
    #[arg(long, conflicts_with = "key")]
    lines: bool,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum IfExistsArg {
    /// Refuse this push
    Reject,
    /// Keep the existing job, and print its id
    Keep,
    /// Replace the existing job, unless it is reserved; this one gets a new id
    Replace,
    /// Replace the existing job, even if it is reserved; this one gets a new id
    ReplaceAny,
    /// Give the existing job this body and due time, and print its id
    Postpone,
}

impl From<IfExistsArg> for IfExists {
    fn from(mode: IfExistsArg) -> Self {
        match mode {
            IfExistsArg::Reject => Self::Reject,
            IfExistsArg::Keep => Self::Keep,
            IfExistsArg::Replace => Self::Replace,
            IfExistsArg::ReplaceAny => Self::ReplaceReserved,
            IfExistsArg::Postpone => Self::Postpone,
        }
    }
}

/// Runs `adjourn push`.
pub(crate) fn run(args: &PushArgs) -> Result<(), Failure> {
    let job = args.job_without_body().map_err(|error| Failure::new(Exit::Usage, error))?;
    if args.lines {
        if args.body.as_deref().is_some_and(|body| body != "-") {
            let message = "with --lines the bodies come from standard input: leave BODY out";
            return Err(Failure::new(Exit::Usage, message));
        }
        return lines::run(&args.server, &args.topic, &job);
    }
    let body = args.body.as_deref().map_or(Ok(Bytes::new()), body)?;
    push_one(&args.server, &args.topic, NewJob { body, ..job })
}

impl PushArgs {
    fn job_without_body(&self) -> Result<NewJob, AttributeError> {
        let mut attributes = self.settings.attributes(self.expires);
        if let Some(max_ms) = self.postpone_max {
            attributes = attributes.postpone_max(max_ms);
        }
        Ok(NewJob {
            due: self.at.map_or(When::After(self.delay.unwrap_or(0)), When::At),
            priority: self.priority.unwrap_or(PRIORITY_UNSAID),
            ttr_ms: self.ttr.unwrap_or(0),
            if_exists: self.if_exists.into(),
            key: self.key.clone(),
            attributes: attributes.build()?,
            body: Bytes::new(),
        })
    }
}

fn push_one(server: &ServerArgs, topic: &TopicName, job: NewJob) -> Result<(), Failure> {
    let body_bytes = job.body.len() as u64;
    let id =
        server.with_client(Session::None, async |client| match client.push_one(topic, job).await {
            Ok(id) => Ok(Ok(id)),
            Err(error) => match limits::exceeded(client, topic, body_bytes, &error).await {
                Some(told) => Ok(Err(Failure::new(Exit::Refused, told))),
                None => Err(error),
            },
        })??;
    print(|out| writeln!(out, "{}", id.0))
}

/// The body that an argument names: itself, or standard input for `-`.
pub(crate) fn body(argument: &str) -> Result<Bytes, Failure> {
    match argument {
        "-" => whole_input(io::stdin().lock()),
        text => Ok(Bytes::copy_from_slice(text.as_bytes())),
    }
}

/// Reads all of `input`, unless it is larger than any body may be.
fn whole_input(input: impl Read) -> Result<Bytes, Failure> {
    let mut body = Vec::new();
    // One byte more than allowed shows that there is more.
    let limit = u64::try_from(BODY_BYTES_CEILING).unwrap_or(u64::MAX).saturating_add(1);
    let read = input.take(limit).read_to_end(&mut body);
    read.map_err(|error| Failure::new(Exit::Refused, format!("cannot read standard input: {error}")))?;
    if body.len() > BODY_BYTES_CEILING {
        let message = format!(
            "standard input has more than {BODY_BYTES_CEILING} bytes, the largest body of any server"
        );
        return Err(Failure::new(Exit::Refused, message));
    }
    Ok(Bytes::from(body))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use adjourn_types::{Backoff, BackoffCurve, Policy};

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        push: PushArgs,
    }

    fn parse(args: &[&str]) -> Result<PushArgs, clap::Error> {
        CommandLine::try_parse_from([&["push"], args].concat()).map(|line| line.push)
    }

    #[test]
    fn every_option_reaches_the_job() {
        let args = parse(&[
            "orders",
            "close",
            "--delay",
            "1500ms",
            "--ttr",
            "90s",
            "--priority",
            "7",
            "--key",
            "order-17",
            "--if-exists",
            "keep",
            "--header",
            "a=b",
            "--header",
            "c=d",
            "--expires",
            "10m",
            "--attempts-max",
            "5",
            "--backoff",
            "1s..10m",
        ])
        .expect("valid");
        let job = args.job_without_body().expect("within the limits");
        assert_eq!((job.due, job.ttr_ms, job.priority), (When::After(1500), 90_000, 7));
        assert_eq!((job.if_exists, job.key), (IfExists::Keep, Some("order-17".parse().expect("a key"))));
        assert_eq!(job.attributes.headers().collect::<Vec<_>>(), [("a", "b"), ("c", "d")]);
        let curve = BackoffCurve::Exponential { first_ms: 1000, max_ms: 600_000 };
        let policy = Policy {
            expires: Some(When::After(600_000)),
            attempts_max: Some(5),
            backoff: Some(Backoff { curve, jitter_percent: 0 }),
        };
        assert_eq!(job.attributes.policy(), policy);
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let job = parse(&["orders"]).expect("valid").job_without_body().expect("empty");
        assert_eq!(job, NewJob::new(Bytes::new()));
        let at = parse(&["orders", "--at", "1970-01-01T00:00:01Z"]).expect("valid").job_without_body();
        assert_eq!(at.expect("empty").due, When::At(Millis(1000)));
    }

    #[test]
    fn contradictions_are_refused() {
        for bad in [
            &["orders", "--delay", "1s", "--at", "1970-01-01T00:00:01Z"][..],
            &["orders", "--if-exists", "keep"],
            &["orders", "--lines", "--key", "k"],
            &["orders", "--attempts-max", "0"],
            &["-orders"],
            &[],
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
        let headers = parse(&["orders", "--header", &format!("a={}", "b".repeat(2000))]).expect("parses");
        assert_eq!(headers.job_without_body(), Err(AttributeError::HeadersTooLarge));
    }

    #[test]
    fn input_is_read_up_to_the_largest_body() {
        let fits = whole_input(io::repeat(7).take(BODY_BYTES_CEILING as u64)).expect("fits");
        assert_eq!(fits.len(), BODY_BYTES_CEILING);
        let failure = whole_input(io::repeat(7)).expect_err("endless");
        assert!(failure.message.contains("largest body"), "{failure}");
    }
}
