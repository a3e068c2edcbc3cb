//! `adjourn bench cycle`: how many jobs per second go from push through delivery to finish.
//!
//! Two phases, one after the other: all jobs are pushed, due at once; then subscribed consumers take and
//! finish them all. The total rate is the number of jobs over the sum of both times.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::task::JoinSet;

use super::consume::{BodyStamp, Consumers, Seen};
use super::load::{Tally, push_all, share};
use super::report::{Deliveries, JSON_HELP, Phase, Report};
use super::{LoadArgs, WindowArgs, clock, close, progress, show};
use crate::connection::runtime;
use crate::exit::Failure;
use crate::usage::whole;
use adjourn_protocol::NewJob;
use adjourn_types::TopicName;

const CYCLE_EXAMPLE: &str = "\
All jobs are pushed first, due at once; then they are delivered to subscribed consumers and finished. \
per_second counts jobs over the time of both phases.

Example:
  adjourn bench cycle
  adjourn bench cycle --jobs 1000000 --connections 4";

/// What `adjourn bench cycle` is told.
#[derive(Debug, Args)]
#[command(after_help = format!("{JSON_HELP}\n\n{CYCLE_EXAMPLE}"))]
pub(super) struct CycleBenchArgs {
    /// How many jobs
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = whole(1..=u64::MAX))]
    jobs: u64,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    load: LoadArgs,
}

/// Runs `adjourn bench cycle`.
pub(super) fn run(args: &CycleBenchArgs) -> Result<(), Failure> {
    let topic = args.load.jobs.topic()?;
    let report = runtime()?.block_on(measure(args, &topic))?;
    show(&report, args.load.json)
}

async fn measure(args: &CycleBenchArgs, topic: &TopicName) -> Result<Report, Failure> {
    let clients = args.load.link.connect().await?;
    let (jobs, body_bytes) = (args.jobs, args.load.jobs.body);

    let pushing = args.window.pushing(topic, progress("push", jobs));
    let started = clock::instant();
    let mut tasks = JoinSet::new();
    for (client, place) in clients.iter().cloned().zip(0..) {
        let (pushing, numbers) = (pushing.clone(), share(jobs, place, args.load.link.connections));
        let make = move |number| NewJob::new(BodyStamp { number, due_ms: 0 }.body(body_bytes));
        tasks.spawn(async move { push_all(&client, &pushing, numbers, make).await });
    }
    let pushed = Tally::sum(tasks).await;
    let push_time = started.elapsed();
    pushing.progress.finish_and_clear();

    let seen = Arc::new(Seen::none_of(jobs, progress("finish", pushed.done)));
    let started = clock::instant();
    let consumers = Consumers::start(&clients, topic, &seen).await?;
    seen.wait_for(pushed.done).await;
    let consumed = consumers.stop().await;
    let finish_time = consumed.last_answer.map_or(Duration::ZERO, |last| last - started);
    close(clients).await;

    let push = Phase::new(pushed.done, push_time, "answered after", &pushed.latencies);
    let finish =
        Phase::new(consumed.finished.done, finish_time, "answered after", &consumed.finished.latencies);
    let mut all = pushed;
    let missing = all.done - seen.distinct();
    all.merge(&consumed.finished);
    let whole = Phase::new(consumed.finished.done, push_time + finish_time, "answered after", &all.latencies);
    Ok(Report {
        window: Some(args.window),
        phases: vec![("push", push), ("finish", finish)],
        deliveries: Some(Deliveries { rate_per_second: None, early: 0, twice: consumed.twice, missing }),
        ..args.load.report("cycle", topic, jobs, whole, all.errors)
    })
}
