//! `adjourn reserve`: takes jobs under a lease and prints them.
//!
//! The leases outlive this process: another one finishes the jobs.

use clap::{Args, value_parser};

use crate::connection::{ServerArgs, Session};
use crate::exit::{Exit, Failure};
use crate::output::{print, write_json};
use adjourn_json::DeliveredJson;
use adjourn_json::values::{spelled, wait_ms};
use adjourn_protocol::Reserve;
use adjourn_types::TopicName;
use adjourn_types::limits::RESERVE_JOBS_MAX;

const RESERVE_EXAMPLE: &str = "\
Prints a JSON object per job: id, lease, topic, key, priority, attempts, due, ttr_left_ms, headers, body \
(body_base64 instead of body when the body is not UTF-8). Pass the lease to `adjourn finish`, `release`, \
`touch` or `bury` before ttr_left_ms is over; else the job is ready again. Ends with 3 if there was no job.

Example:
  adjourn reserve emails --wait 5s
  adjourn reserve emails invoices --max 10 | jq -r '.lease + \" \" + .body'
  adjourn reserve emails invoices --weights 5,1 --max 60";

/// What `adjourn reserve` is told.
#[derive(Debug, Args)]
#[command(after_help = RESERVE_EXAMPLE)]
pub(crate) struct ReserveArgs {
    /// The topics to reserve from
    #[arg(value_name = "TOPIC", required = true)]
    topics: Vec<TopicName>,
    /// Most jobs to reserve
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = value_parser!(u32).range(1..=i64::from(RESERVE_JOBS_MAX)))]
    max: u32,
    /// Relative shares of the topics, in their order, for example 5,3,2. Without weights the order is by priority, due time and id across all topics
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = value_parser!(u16).range(1..))]
    weights: Vec<u16>,
    /// How long to wait for the first job, for example 5s; does not wait if not given
    #[arg(long, value_name = "DURATION", value_parser = wait_ms)]
    wait: Option<u64>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `adjourn reserve`.
pub(crate) fn run(args: ReserveArgs) -> Result<(), Failure> {
    let (topics, weights) = (args.topics, args.weights);
    if !weights.is_empty() && weights.len() != topics.len() {
        let (given, needed) = (weights.len(), topics.len());
        let text = format_args!("--weights has {given} numbers for {needed} topics: give one for each topic");
        return Err(Failure::new(Exit::Usage, text));
    }
    let request = Reserve { topics, jobs_max: args.max, wait_ms: args.wait.unwrap_or(0), weights };
    let jobs =
        args.server.with_client(Session::LeasesOutliveIt, async |client| client.reserve(request).await)?;
    if jobs.is_empty() {
        let text = match args.wait {
            Some(wait_ms) => format!("nothing to reserve within {}", spelled(wait_ms)),
            None => "nothing to reserve: --wait 5s waits for a job".to_owned(),
        };
        return Err(Failure::new(Exit::Nothing, text));
    }
    print(|out| jobs.iter().try_for_each(|job| write_json(out, &DeliveredJson::of(job))))
}
