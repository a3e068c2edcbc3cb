//! `adjourn reserve`: takes jobs under a lease and prints them.
//!
//! The leases outlive this process: another one finishes the jobs.

use clap::Args;

use crate::connection::{ServerArgs, Session};
use crate::exit::{Exit, Failure};
use crate::output::{print, write_json};
use crate::usage::whole;
use adjourn_client::Client;
use adjourn_json::DeliveredJson;
use adjourn_json::values::{spelled, wait_ms};
use adjourn_protocol::{Reserve, Totals};
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
          value_parser = whole(1..=RESERVE_JOBS_MAX))]
    max: u32,
    /// Relative shares of the topics, in their order, for example 5,3,2. Without weights the order is by priority, due time and id across all topics
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = whole(1..=u16::MAX))]
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
    let request =
        Reserve { topics: topics.clone(), jobs_max: args.max, wait_ms: args.wait.unwrap_or(0), weights };
    let (jobs, full) = args.server.with_client(Session::LeasesOutliveIt, async |client| {
        let jobs = client.reserve(request).await?;
        let full = if jobs.is_empty() { full(client, &topics).await } else { Vec::new() };
        Ok((jobs, full))
    })?;
    if jobs.is_empty() {
        let nothing = match args.wait {
            Some(wait_ms) => format!("nothing to reserve within {}", spelled(wait_ms)),
            None if full.is_empty() => "nothing to reserve: use --wait 5s to wait for a job".to_owned(),
            None => "nothing to reserve".to_owned(),
        };
        let full = full.iter().map(|(topic, leases_max)| {
            format!("{topic} has jobs, but its leases-max of {leases_max} is reached: finish or release some jobs, or raise it")
        });
        let lines: Vec<String> = std::iter::once(nothing).chain(full).collect();
        return Err(Failure::new(Exit::Nothing, lines.join("\n")));
    }
    print(|out| jobs.iter().try_for_each(|job| write_json(out, &DeliveredJson::of(job))))
}

/// Those of the topics that have ready jobs and give out no more of them, with their `leases-max`. None for a client that may not
/// know.
async fn full(client: &Client, topics: &[TopicName]) -> Vec<(TopicName, u32)> {
    let mut limited = Vec::new();
    for topic in topics {
        let settings = client.topic_settings(topic).await;
        let leases_max = settings.ok().and_then(|settings| settings.policy.leases_max);
        limited.extend(leases_max.map(|leases_max| (topic.clone(), leases_max)));
    }
    if limited.is_empty() {
        return limited;
    }
    let counts = client.topics().await.unwrap_or_default();
    limited.retain(|(topic, leases_max)| {
        let is_full = |totals: Totals| totals.ready > 0 && totals.reserved >= u64::from(*leases_max);
        counts.iter().any(|report| report.topic == *topic && is_full(report.totals))
    });
    limited
}
