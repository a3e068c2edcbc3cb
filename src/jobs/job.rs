//! `adjourn get`, `delete`, `reschedule`, `run-now` and `kick`: one job, by its id or by its key. `kick` takes many
//! of a topic, too.
//!
//! Each prints one JSON object: the job, or the result of the change. `delete`, `reschedule`, `run-now` and `kick`
//! accept a filter in place of a job, and then change every matching job, step by step.

use clap::{ArgGroup, Args};
use serde::Serialize;

use super::bulk::{Action, BulkArgs, Due};
use crate::connection::{ServerArgs, Session, not_found};
use crate::exit::{Exit, Failure};
use crate::output::print_json;
use crate::usage::whole;
use adjourn_client::{Changed, Client, ClientError};
use adjourn_json::values::{delay_ms, time_of_people};
use adjourn_json::{ChangedJson, JobJson};
use adjourn_protocol::JobRef;
use adjourn_types::{JobId, Key, Millis, TopicName, When};

const GET_EXAMPLE: &str = "\
Example:
  adjourn get 42
  adjourn get orders order-17";

/// What `adjourn get` is told.
#[derive(Debug, Args)]
#[command(after_help = GET_EXAMPLE)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    job: JobArgs,
}

const DELETE_EXAMPLE: &str = "\
Prints the job's id and its previous state.

Example:
  adjourn delete 42
  adjourn delete orders order-17
  adjourn delete --topic orders --state buried --dry-run";

/// What `adjourn delete` is told.
#[derive(Debug, Args)]
#[command(after_help = DELETE_EXAMPLE)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    job: NamedArgs,
    #[command(flatten)]
    bulk: BulkArgs,
}

const RESCHEDULE_EXAMPLE: &str = "\
The job must be delayed or ready. A reserved job belongs to its consumer; kick a buried job first.

Example:
  adjourn reschedule orders order-17 --delay 30m
  adjourn reschedule 42 --at 2030-12-24T18:00:00Z
  adjourn reschedule --topic orders --state delayed --due-before 2030-12-24T18:00:00Z --delay 1h";

/// What `adjourn reschedule` is told.
#[derive(Debug, Args)]
#[command(after_help = RESCHEDULE_EXAMPLE)]
#[command(group = ArgGroup::new("due").args(["delay", "at"]).required(true))]
pub(crate) struct RescheduleArgs {
    #[command(flatten)]
    job: NamedArgs,
    #[command(flatten)]
    bulk: BulkArgs,
    /// Delay after the server accepts this, for example 30m
    #[arg(long, value_name = "DURATION", value_parser = delay_ms)]
    delay: Option<u64>,
    /// Due at this time, for example 2030-12-24T18:00:00Z or '2030-12-24 18:00 Europe/Berlin'
    #[arg(long, value_name = "TIME", value_parser = time_of_people)]
    at: Option<Millis>,
}

const RUN_NOW_EXAMPLE: &str = "\
Example:
  adjourn run-now 42
  adjourn run-now orders order-17";

/// What `adjourn run-now` is told.
#[derive(Debug, Args)]
#[command(after_help = RUN_NOW_EXAMPLE)]
pub(crate) struct RunNowArgs {
    #[command(flatten)]
    job: NamedArgs,
    #[command(flatten)]
    bulk: BulkArgs,
}

const KICK_EXAMPLE: &str = "\
With --max, kicks the buried jobs of a topic by priority, then by due time, and prints their number.

Example:
  adjourn kick 42
  adjourn kick orders order-17
  adjourn kick orders --max 1000
  adjourn kick --topic orders --state buried --reason timeout";

/// What `adjourn kick` is told.
#[derive(Debug, Args)]
#[command(after_help = KICK_EXAMPLE)]
pub(crate) struct KickArgs {
    #[command(flatten)]
    job: NamedArgs,
    #[command(flatten)]
    bulk: BulkArgs,
    /// Kick up to this many buried jobs of the topic
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::MAX), conflicts_with = "key")]
    max: Option<u64>,
}

#[derive(Debug, Serialize)]
struct KickedJson {
    kicked: u64,
}

/// A job, unless there are conditions.
#[derive(Debug, Args)]
pub(super) struct NamedArgs {
    /// The job's id as `adjourn push` prints it, or the topic of its key
    #[arg(value_name = "ID|TOPIC")]
    job: Option<String>,
    /// The key that the job was pushed with
    key: Option<Key>,
    #[command(flatten)]
    server: ServerArgs,
}

/// A job.
#[derive(Debug, Args)]
pub(super) struct JobArgs {
    /// The job's id as `adjourn push` prints it, or the topic of its key
    #[arg(value_name = "ID|TOPIC")]
    job: String,
    /// The key that the job was pushed with
    key: Option<Key>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `adjourn get`.
pub(crate) fn get(args: GetArgs) -> Result<(), Failure> {
    let (server, job) = args.job.split()?;
    let report = server.with_client(Session::None, async |client| client.get(job).await)?;
    print_json(&JobJson::of(&report.ok_or_else(not_found)?, true))
}

/// Runs `adjourn delete`.
pub(crate) fn delete(args: DeleteArgs) -> Result<(), Failure> {
    match args.job.one(&args.bulk)? {
        Ok(job) => job.change(async |client, job| client.delete(job).await),
        Err(server) => args.bulk.run(&server, Action::Delete),
    }
}

/// Runs `adjourn reschedule`.
pub(crate) fn reschedule(args: RescheduleArgs) -> Result<(), Failure> {
    let delay_ms = args.delay.unwrap_or(0);
    match args.job.one(&args.bulk)? {
        Ok(job) => {
            let due = args.at.map_or(When::After(delay_ms), When::At);
            job.change(async |client, job| client.reschedule(job, due).await)
        }
        Err(server) => {
            let due = args.at.map_or(Due::After(delay_ms), Due::At);
            args.bulk.run(&server, Action::Reschedule(due))
        }
    }
}

/// Runs `adjourn run-now`.
pub(crate) fn run_now(args: RunNowArgs) -> Result<(), Failure> {
    match args.job.one(&args.bulk)? {
        Ok(job) => job.change(async |client, job| client.run_now(job).await),
        Err(server) => args.bulk.run(&server, Action::RunNow),
    }
}

/// Runs `adjourn kick`.
pub(crate) fn kick(args: KickArgs) -> Result<(), Failure> {
    let KickArgs { job, bulk, max } = args;
    let Some(jobs_max) = max else {
        return match job.one(&bulk)? {
            Ok(job) => job.change(async |client, job| client.kick(job).await),
            Err(server) => bulk.run(&server, Action::Kick),
        };
    };
    let (topic, server) = match (job.job, bulk.only_topic()) {
        (Some(name), None) if !bulk.is_given() && !bulk.is_of_steps() => (topic(&name)?, job.server),
        (None, Some(topic)) => (topic, job.server),
        _ => {
            let alone = "--max goes with a topic and no other condition, for example: kick orders --max 100";
            return Err(Failure::new(Exit::Usage, alone));
        }
    };
    let kicked =
        server.with_client(Session::None, async |client| client.kick_many(&topic, jobs_max).await)?;
    print_json(&KickedJson { kicked })
}

impl NamedArgs {
    /// The server, and the job if one is named.
    pub(super) fn split(self) -> Result<(ServerArgs, Option<JobRef>), Failure> {
        let Self { job, key, server } = self;
        let Some(job) = job else { return Ok((server, None)) };
        let (server, job) = JobArgs { job, key, server }.split()?;
        Ok((server, Some(job)))
    }

    /// The named job; only the server if jobs are selected by conditions.
    fn one(self, bulk: &BulkArgs) -> Result<Result<JobArgs, ServerArgs>, Failure> {
        let Self { job, key, server } = self;
        match job {
            Some(_) if bulk.is_given() => {
                let both = "name one job, or say which jobs by conditions: not both";
                Err(Failure::new(Exit::Usage, both))
            }
            Some(_) if bulk.is_of_steps() => {
                let one =
                    "--dry-run and --cursor go with conditions, such as --topic: a job is named without them";
                Err(Failure::new(Exit::Usage, one))
            }
            Some(job) => Ok(Ok(JobArgs { job, key, server })),
            None => Ok(Err(server)),
        }
    }
}

impl JobArgs {
    fn split(self) -> Result<(ServerArgs, JobRef), Failure> {
        let Self { job, key, server } = self;
        let named = match key {
            Some(key) => JobRef::Key { topic: topic(&job)?, key },
            None => JobRef::Id(JobId(job.parse().map_err(|_| {
                let message = format!(
                    "{job} is not a job id: give an id, or a topic and a key, for example: orders order-17"
                );
                Failure::new(Exit::Usage, message)
            })?)),
        };
        Ok((server, named))
    }

    /// Changes the job, and prints the result.
    pub(super) fn change<F>(self, request: F) -> Result<(), Failure>
    where
        F: AsyncFnOnce(&Client, JobRef) -> Result<Changed, ClientError>,
    {
        let (server, job) = self.split()?;
        let changed = server.with_client(Session::None, async |client| request(client, job).await)?;
        print_json(&ChangedJson::new(changed.job, changed.state, changed.due))
    }
}

fn topic(name: &str) -> Result<TopicName, Failure> {
    name.parse().map_err(|error| Failure::new(Exit::Usage, error))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        job: JobArgs,
    }

    #[test]
    fn a_job_is_named_by_its_id_or_by_its_key() {
        let parse = |args: &[&str]| {
            let line = CommandLine::try_parse_from([&["get"], args].concat()).ok()?;
            line.job.split().ok().map(|(_, job)| job)
        };
        let key = JobRef::Key { topic: "7".parse().expect("a topic"), key: "k".parse().expect("a key") };
        assert_eq!(parse(&["42"]), Some(JobRef::Id(JobId(42))));
        assert_eq!(parse(&["7", "k"]), Some(key), "a topic may look like an id");
        for wrong in [&[][..], &["orders"], &["no topic", "k"], &["orders", ""], &["orders", "k", "more"]] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }
}
