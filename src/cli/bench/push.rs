//! `adjourn bench push`: how many jobs per second the server makes durable.

use std::fmt;

use clap::{Args, value_parser};
use tokio::task::JoinSet;

use super::load::{Tally, everlasting_body, push_all, share};
use super::report::{JSON_HELP, Phase, Report};
use super::{LoadArgs, WindowArgs, clock, close, progress};
use crate::cli::arguments::{DelayRange, delay_range, spelled};
use crate::cli::connection::runtime;
use crate::cli::exit::Failure;
use crate::protocol::NewJob;
use crate::types::TopicName;

const PUSH_EXAMPLE: &str = "\
Each job is answered once it is durable. The jobs stay in their topic until they are due and somebody takes \
them.

Example:
  adjourn bench push
  adjourn bench push --connections 50 --window 256 --batch 1
  adjourn bench push --jobs 10000000 --delay 1d..30d";

/// What `adjourn bench push` is told.
#[derive(Debug, Args)]
#[command(after_help = format!("{JSON_HELP}\n\n{PUSH_EXAMPLE}"))]
pub(super) struct PushBenchArgs {
    /// How many jobs
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = value_parser!(u64).range(1..))]
    jobs: u64,
    /// How far they are delayed; a range spreads them evenly, for example 1d..30d
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = delay_range)]
    delay: DelayRange,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    load: LoadArgs,
}

/// Runs it.
pub(super) fn run(args: &PushBenchArgs) -> Result<(), Failure> {
    let topic = args.load.topic()?;
    let report = runtime()?.block_on(measure(args, &topic))?;
    args.load.show(&report)?;
    eprintln!("The jobs stay in topic {topic}, due in {}.", args.delay);
    Ok(())
}

async fn measure(args: &PushBenchArgs, topic: &TopicName) -> Result<Report, Failure> {
    let LoadArgs { connections, body, .. } = args.load;
    let clients = args.load.connect().await?;
    let pushing = args.window.pushing(topic, progress("push", args.jobs));
    let body = everlasting_body(body);
    let started = clock::instant();
    let mut tasks = JoinSet::new();
    for (client, place) in clients.iter().cloned().zip(0..) {
        let (pushing, body, delay) = (pushing.clone(), body.clone(), args.delay);
        let numbers = share(args.jobs, place, connections);
        let make = move |number| NewJob::new(body.clone()).after(delay.spread(number));
        tasks.spawn(async move { push_all(&client, &pushing, numbers, make).await });
    }
    let tally = Tally::sum(tasks).await;
    let whole = Phase::new(tally.done, started.elapsed(), "answered after", &tally.latencies);
    pushing.progress.finish_and_clear();
    close(clients).await;
    let report = args.load.report("push", topic, args.jobs, whole, tally.errors);
    Ok(Report { window: Some(args.window), ..report })
}

impl DelayRange {
    /// The delay of one job: evenly spread, and the same in every run.
    fn spread(self, number: u64) -> u64 {
        let width = u128::from(self.max_ms - self.min_ms) + 1;
        let offset = (u128::from(scattered(number)) * width) >> 64;
        self.min_ms + u64::try_from(offset).unwrap_or(0)
    }
}

impl fmt::Display for DelayRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min_ms == self.max_ms {
            return f.write_str(&spelled(self.min_ms));
        }
        write!(f, "{} to {}", spelled(self.min_ms), spelled(self.max_ms))
    }
}

/// A number's place in a sequence without order: the output step of `SplitMix64` (Steele, Lea, Flood 2014).
fn scattered(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn delays_are_spread_over_the_whole_range_and_no_further() {
        let range = DelayRange { min_ms: 1000, max_ms: 1009 };
        let mut counts = BTreeMap::new();
        for number in 0..10_000 {
            *counts.entry(range.spread(number)).or_insert(0) += 1;
        }
        assert!(counts.keys().copied().eq(1000..=1009), "{counts:?}");
        assert!(counts.values().all(|count| (900..1100).contains(count)), "{counts:?}");
        let one = DelayRange { min_ms: 5, max_ms: 5 };
        assert!((0..100).all(|number| one.spread(number) == 5));
    }
}
