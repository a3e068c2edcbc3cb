//! `adjourn get`, `delete`, `reschedule`, `run-now` and `kick`: one job, by its id or by its key. `kick` takes many of a
//! topic, too.
//!
//! Each prints one JSON object: the job, or what became of it.

use clap::{ArgGroup, Args, value_parser};
use serde::Serialize;

use super::arguments::{delay_ms, time};
use super::connection::{Leases, ServerArgs, not_found};
use super::exit::Failure;
use super::output::{changed_json, print_json, report_json};
use crate::client::{Changed, Client, ClientError};
use crate::protocol::JobRef;
use crate::types::{JobId, Key, Millis, TopicName, When};

const GET_EXAMPLE: &str = "\
Example:
  adjourn get --id 42
  adjourn get --topic orders --key order-17";

/// What `adjourn get` is told.
#[derive(Debug, Args)]
#[command(after_help = GET_EXAMPLE)]
pub(super) struct GetArgs {
    #[command(flatten)]
    job: JobArgs,
}

const DELETE_EXAMPLE: &str = "\
Prints the job's id and the state that it was in.

Example:
  adjourn delete --id 42
  adjourn delete --topic orders --key order-17";

/// What `adjourn delete` is told.
#[derive(Debug, Args)]
#[command(after_help = DELETE_EXAMPLE)]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    job: JobArgs,
}

const RESCHEDULE_EXAMPLE: &str = "\
The job may be delayed or ready. A reserved job is its consumer's; a buried one is kicked first.

Example:
  adjourn reschedule --topic orders --key order-17 --delay 30m
  adjourn reschedule --id 42 --at 2030-12-24T18:00:00Z";

/// What `adjourn reschedule` is told.
#[derive(Debug, Args)]
#[command(after_help = RESCHEDULE_EXAMPLE)]
#[command(group = ArgGroup::new("due").args(["delay", "at"]).required(true))]
pub(super) struct RescheduleArgs {
    #[command(flatten)]
    job: JobArgs,
    /// Due so long after the server accepts this, for example 30m
    #[arg(long, value_name = "DURATION", value_parser = delay_ms)]
    delay: Option<u64>,
    /// Due at this time (RFC 3339), for example 2030-12-24T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<Millis>,
}

const RUN_NOW_EXAMPLE: &str = "\
Example:
  adjourn run-now --id 42
  adjourn run-now --topic orders --key order-17";

/// What `adjourn run-now` is told.
#[derive(Debug, Args)]
#[command(after_help = RUN_NOW_EXAMPLE)]
pub(super) struct RunNowArgs {
    #[command(flatten)]
    job: JobArgs,
}

const KICK_EXAMPLE: &str = "\
With --max the buried jobs of a topic are kicked: by priority, then by when they were due. Their number is printed.

Example:
  adjourn kick --id 42
  adjourn kick --topic orders --key order-17
  adjourn kick --topic orders --max 1000";

/// What `adjourn kick` is told.
#[derive(Debug, Args)]
#[command(after_help = KICK_EXAMPLE)]
#[command(group = ArgGroup::new("jobs").args(["id", "key", "max"]).required(true))]
#[command(group = ArgGroup::new("within").args(["key", "max"]))]
pub(super) struct KickArgs {
    /// The job's id as `adjourn push` prints it
    #[arg(long, value_name = "ID", value_parser = value_parser!(u64), conflicts_with = "topic")]
    id: Option<u64>,
    /// The topic of the job's key, or of the jobs
    #[arg(long, value_name = "TOPIC", requires = "within")]
    topic: Option<TopicName>,
    /// The key that the job was pushed with
    #[arg(long, value_name = "KEY", requires = "topic")]
    key: Option<Key>,
    /// As many buried jobs of the topic as there are, but no more than this
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), requires = "topic")]
    max: Option<u64>,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Serialize)]
struct KickedJson {
    kicked: u64,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("job").args(["id", "key"]).required(true))]
struct JobArgs {
    /// The job's id as `adjourn push` prints it
    #[arg(long, value_name = "ID", value_parser = value_parser!(u64), conflicts_with = "topic")]
    id: Option<u64>,
    /// The topic of the job's key
    #[arg(long, value_name = "TOPIC", requires = "key")]
    topic: Option<TopicName>,
    /// The key that the job was pushed with
    #[arg(long, value_name = "KEY", requires = "topic")]
    key: Option<Key>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Shows a job.
pub(super) fn get(args: GetArgs) -> Result<(), Failure> {
    let (server, job) = args.job.split();
    let report = server.with_client(Leases::EndWithIt, async |client| client.get(job).await)?;
    print_json(&report_json(&report.ok_or_else(not_found)?))
}

/// Removes a job.
pub(super) fn delete(args: DeleteArgs) -> Result<(), Failure> {
    args.job.change(async |client, job| client.delete(job).await)
}

/// Gives a job a new due time.
pub(super) fn reschedule(args: RescheduleArgs) -> Result<(), Failure> {
    let due = args.at.map_or(When::After(args.delay.unwrap_or(0)), When::At);
    args.job.change(async |client, job| client.reschedule(job, due).await)
}

/// Makes a delayed job ready.
pub(super) fn run_now(args: RunNowArgs) -> Result<(), Failure> {
    args.job.change(async |client, job| client.run_now(job).await)
}

/// Makes buried jobs ready.
pub(super) fn kick(args: KickArgs) -> Result<(), Failure> {
    let KickArgs { id, topic, key, max, server } = args;
    let (Some(topic), Some(jobs_max)) = (&topic, max) else {
        let job = JobArgs { id, topic, key, server };
        return job.change(async |client, job| client.kick(job).await);
    };
    let kicked =
        server.with_client(Leases::EndWithIt, async |client| client.kick_many(topic, jobs_max).await)?;
    print_json(&KickedJson { kicked })
}

impl JobArgs {
    fn split(self) -> (ServerArgs, JobRef) {
        let job = match (self.id, self.topic, self.key) {
            (None, Some(topic), Some(key)) => JobRef::Key { topic, key },
            // clap lets nothing else through than an id or both of the others.
            (id, _, _) => JobRef::Id(JobId(id.unwrap_or(0))),
        };
        (self.server, job)
    }

    fn change<F>(self, request: F) -> Result<(), Failure>
    where
        F: AsyncFnOnce(&Client, JobRef) -> Result<Changed, ClientError>,
    {
        let (server, job) = self.split();
        let changed = server.with_client(Leases::EndWithIt, async |client| request(client, job).await)?;
        print_json(&changed_json(&changed))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        job: JobArgs,
    }

    #[test]
    fn a_job_is_named_by_its_id_or_by_its_key() {
        let parse = |args: &[&str]| {
            Line::try_parse_from([&["get"], args].concat()).map(|line| line.job.split().1).ok()
        };
        let key = JobRef::Key { topic: "a".parse().expect("a topic"), key: "k".parse().expect("a key") };
        assert_eq!(parse(&["--id", "42"]), Some(JobRef::Id(JobId(42))));
        assert_eq!(parse(&["--topic", "a", "--key", "k"]), Some(key));
        for incomplete in
            [&[][..], &["--topic", "a"], &["--key", "k"], &["--id", "42", "--key", "k"], &["--id", "x"]]
        {
            assert_eq!(parse(incomplete), None, "{incomplete:?}");
        }
    }
}
