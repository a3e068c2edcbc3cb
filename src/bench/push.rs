//! `adjourn bench push`: how many jobs per second the server makes durable.

use clap::Args;
use tokio::task::JoinSet;

use super::load::{Tally, everlasting_body, key_of, push_all, share};
use super::report::{JSON_HELP, Phase, Report};
use super::scatter::spread;
use super::{LoadArgs, WindowArgs, clock, close, progress, show};
use crate::connection::runtime;
use crate::exit::Failure;
use crate::output::complain;
use crate::usage::whole;
use adjourn_json::values::{DelayRange, delay_range};
use adjourn_protocol::NewJob;
use adjourn_types::TopicName;

const PUSH_EXAMPLE: &str = "\
The server answers each push when it is durable. The jobs stay in their topic until they are due and a consumer takes \
them.

Example:
  adjourn bench push
  adjourn bench push --connections 50 --window 256 --batch 1
  adjourn bench push --jobs 10000000 --delay 1d..30d --keys --topic bench/orders";

/// What `adjourn bench push` is told.
#[derive(Debug, Args)]
#[command(after_help = format!("{JSON_HELP}\n\n{PUSH_EXAMPLE}"))]
pub(super) struct PushBenchArgs {
    /// How many jobs
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = whole(1..=u64::MAX))]
    jobs: u64,
    /// How far they are delayed; a range spreads them evenly, for example 1d..30d
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = delay_range)]
    delay: DelayRange,
    /// Give each job a key: job-0, job-1 and so on, as `adjourn bench keys` expects them
    #[arg(long)]
    keys: bool,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    load: LoadArgs,
}

/// Runs `adjourn bench push`.
pub(super) fn run(args: &PushBenchArgs) -> Result<(), Failure> {
    let topic = args.load.jobs.topic()?;
    let report = runtime()?.block_on(measure(args, &topic))?;
    show(&report, args.load.json)?;
    complain(format_args!("The jobs stay in topic {topic}, due in {}.", args.delay));
    Ok(())
}

async fn measure(args: &PushBenchArgs, topic: &TopicName) -> Result<Report, Failure> {
    let clients = args.load.link.connect().await?;
    let pushing = args.window.pushing(topic, progress("push", args.jobs));
    let body = everlasting_body(args.load.jobs.body);
    let started = clock::instant();
    let mut tasks = JoinSet::new();
    for (client, place) in clients.iter().cloned().zip(0..) {
        let (pushing, body, delay, keys) = (pushing.clone(), body.clone(), args.delay, args.keys);
        let numbers = share(args.jobs, place, args.load.link.connections);
        let make = move |number| {
            let job = NewJob::new(body.clone()).after(spread(delay, number));
            if keys { job.key(key_of(number)) } else { job }
        };
        tasks.spawn(async move { push_all(&client, &pushing, numbers, make).await });
    }
    let tally = Tally::sum(tasks).await;
    let whole = Phase::new(tally.done, started.elapsed(), "answered after", &tally.latencies);
    pushing.progress.finish_and_clear();
    close(clients).await;
    let report = args.load.report("push", topic, args.jobs, whole, tally.errors);
    Ok(Report { window: Some(args.window), ..report })
}
