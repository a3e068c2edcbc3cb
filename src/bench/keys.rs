//! `adjourn bench keys`: how long it takes to get or cancel one job by its key.
//!
//! The jobs were pushed by `adjourn bench push --keys`, so their keys are known. A connection sends one request after
//! the other and waits for each answer: this measures latency, not rate. First come the GETs, of jobs anywhere in the
//! topic; then the cancels (DELETE), of each job at most once.

use std::ops::Range;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use tokio::task::JoinSet;

use super::load::{Tally, key_of, share};
use super::report::{JSON_HELP, Phase, Report};
use super::scatter::{Shuffle, scattered};
use super::{LinkArgs, clock, close, progress, show};
use crate::connection::runtime;
use crate::exit::{Exit, Failure};
use crate::usage::whole;
use adjourn_client::Client;
use adjourn_protocol::{ErrorCode, JobRef};
use adjourn_types::TopicName;

const KEYS_EXAMPLE: &str = "\
The deleted jobs are gone afterwards: push new ones before the next run. A job that does not exist counts as NOT_FOUND.

Example:
  adjourn bench push --jobs 1000000 --delay 1d..30d --keys --topic bench/orders
  adjourn bench keys --jobs 1000000 --topic bench/orders --connections 1";

/// What `adjourn bench keys` is told.
#[derive(Debug, Args)]
#[command(after_help = format!("{JSON_HELP}\n\n{KEYS_EXAMPLE}"))]
pub(super) struct KeysBenchArgs {
    /// How many jobs were pushed with keys
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = whole(1..=u64::MAX))]
    jobs: u64,
    /// Where to
    #[arg(long, value_name = "TOPIC")]
    topic: TopicName,
    /// How many jobs to get
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    gets: u64,
    /// How many jobs to cancel, at most all
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    cancels: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    link: LinkArgs,
}

/// Runs `adjourn bench keys`.
pub(super) fn run(args: &KeysBenchArgs) -> Result<(), Failure> {
    if args.cancels > args.jobs {
        let advice = "each job can be cancelled once: give --cancels at most what --jobs says";
        return Err(Failure::new(Exit::Usage, advice));
    }
    let report = runtime()?.block_on(measure(args))?;
    show(&report, args.json)
}

async fn measure(args: &KeysBenchArgs) -> Result<Report, Failure> {
    let clients = args.link.connect().await?;
    let (mut all, mut time, mut phases) = (Tally::new(), Duration::ZERO, Vec::new());
    for (ask, requests) in [(Ask::Get, args.gets), (Ask::Cancel, args.cancels)] {
        if requests == 0 {
            continue;
        }
        let asking = Asking {
            ask,
            topic: args.topic.clone(),
            jobs: args.jobs,
            progress: progress(ask.name(), requests),
        };
        let started = clock::instant();
        let mut tasks = JoinSet::new();
        for (client, place) in clients.iter().cloned().zip(0..) {
            let places = share(requests, place, args.link.connections);
            tasks.spawn(asking.clone().run(client, places));
        }
        let tally = Tally::sum(tasks).await;
        let elapsed = started.elapsed();
        asking.progress.finish_and_clear();
        phases.push((ask.name(), Phase::new(tally.done, elapsed, "answered after", &tally.latencies)));
        all.merge(&tally);
        time += elapsed;
    }
    close(clients).await;
    let whole = Phase::new(all.done, time, "answered after", &all.latencies);
    Ok(Report { phases, ..args.link.report("keys", &args.topic, args.jobs, whole, all.errors) })
}

/// The request for each job.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Get,
    Cancel,
}

impl Ask {
    fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Cancel => "cancel",
        }
    }
}

/// The requests of one connection.
#[derive(Clone)]
struct Asking {
    ask: Ask,
    topic: TopicName,
    jobs: u64,
    progress: ProgressBar,
}

impl Asking {
    /// Sends requests for the jobs at these places of a random order. Stops after an error of the connection.
    async fn run(self, client: Client, mut places: Range<u64>) -> Tally {
        let shuffle = Shuffle::below(self.jobs);
        let mut tally = Tally::new();
        while let Some(place) = places.next() {
            let number = match self.ask {
                Ask::Get => scattered(place) % self.jobs,
                Ask::Cancel => shuffle.at(place),
            };
            let job = JobRef::Key { topic: self.topic.clone(), key: key_of(number) };
            let sent = clock::instant();
            let there = match self.ask {
                Ask::Get => client.get(job).await.map(|found| found.is_some()),
                Ask::Cancel => client.delete(job).await.map(|_| true),
            };
            match &there {
                Ok(true) => tally.one_done(sent),
                Ok(false) => tally.errors.add(ErrorCode::NotFound.name(), 1),
                Err(error) if error.code().is_some() => tally.failed(error, 1),
                Err(error) => {
                    tally.failed(error, 1 + places.count() as u64);
                    break;
                }
            }
            if !self.progress.is_hidden() {
                self.progress.inc(1);
            }
        }
        tally
    }
}
