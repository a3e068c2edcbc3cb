//! `adjourn bench drain`: how many ready jobs per second are delivered and finished.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;

use super::consume::{Consumed, Consumers, Watch, wait_until};
use super::report::{Deliveries, JSON_HELP, Phase, Report};
use super::{LinkArgs, clock, close, progress, show};
use crate::connection::runtime;
use crate::exit::Failure;
use crate::usage::whole;
use adjourn_protocol::Delivered;
use adjourn_types::TopicName;

const DRAIN_EXAMPLE: &str = "\
Removes jobs from a topic for good: at least --jobs, and all other jobs that the consumers hold by then. \
Jobs that do not arrive within 15 seconds count as missing.

Example:
  adjourn bench push --jobs 1000000 --delay 0s --topic bench/backlog
  adjourn bench drain --jobs 200000 --topic bench/backlog";

/// What `adjourn bench drain` is told.
#[derive(Debug, Args)]
#[command(after_help = format!("{JSON_HELP}\n\n{DRAIN_EXAMPLE}"))]
pub(super) struct DrainBenchArgs {
    /// How many jobs at least
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = whole(1..=u64::MAX))]
    jobs: u64,
    /// The topic
    #[arg(long, value_name = "TOPIC")]
    topic: TopicName,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    link: LinkArgs,
}

/// Runs `adjourn bench drain`.
pub(super) fn run(args: &DrainBenchArgs) -> Result<(), Failure> {
    let report = runtime()?.block_on(measure(args))?;
    show(&report, args.json)
}

async fn measure(args: &DrainBenchArgs) -> Result<Report, Failure> {
    let clients = args.link.connect().await?;
    let bar = progress("drain", args.jobs);
    let drained = Arc::new(Drained { finished: AtomicU64::new(0), progress: bar.clone() });
    let started = clock::instant();
    let consumers = Consumers::start(&clients, &args.topic, &drained).await?;
    wait_until(args.jobs, || drained.finished.load(Ordering::Relaxed)).await;
    let Consumed { finished, last_answer, .. } = consumers.stop().await;
    let elapsed = last_answer.map_or(Duration::ZERO, |last| last - started);
    bar.finish_and_clear();
    close(clients).await;

    let whole = Phase::new(finished.done, elapsed, "answered after", &finished.latencies);
    let missing = args.jobs.saturating_sub(finished.done);
    let deliveries = Deliveries { missing, ..Deliveries::default() };
    let report = args.link.report("drain", &args.topic, args.jobs, whole, finished.errors);
    Ok(Report { deliveries: Some(deliveries), ..report })
}

/// Counts finished jobs.
struct Drained {
    finished: AtomicU64,
    progress: ProgressBar,
}

impl Watch for Drained {
    fn came(&self, _: &Delivered, _: u64, _: &mut Consumed) {}

    fn finished(&self, jobs: u64) {
        self.finished.fetch_add(jobs, Ordering::Relaxed);
        if !self.progress.is_hidden() {
            self.progress.inc(jobs);
        }
    }
}
