//! `adjourn bench`: measures a server as its clients see it.
//!
//! `push` sends jobs and waits for each to be durable; `drain` takes and finishes existing jobs; `cycle` does both; `late`
//! pushes jobs that are due soon and measures how late each one comes; `keys` gets and cancels jobs by their keys; `list`
//! reads the pages of a list; `churn` keeps pushing, moving and removing jobs and shows the memory and disk of the server.
//! A run has a topic of its own unless one is given. The requests are not random, so that two runs put the same load on a
//! server.

mod churn;
mod clock;
mod consume;
mod cycle;
mod drain;
mod footprint;
mod keys;
mod late;
mod list;
mod load;
mod push;
mod report;
mod scatter;

use std::fmt::Write;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use serde::Serialize;

use load::Pushing;
use report::{Errors, Phase, Report};

use crate::connection::{ServerArgs, Session, goodbye};
use crate::exit::{Exit, Failure};
use crate::output::{print, write_json};
use crate::usage::whole;
use adjourn_client::Client;
use adjourn_types::TopicName;
use adjourn_types::limits::{BODY_BYTES_MAX_DEFAULT, PUSH_JOBS_MAX};

#[expect(clippy::cast_possible_truncation, reason = "a constant of a few thousand")]
const BATCH_MAX: u32 = PUSH_JOBS_MAX as u32;

const BENCH_EXAMPLE: &str = "\
Example:
  adjourn bench push
  adjourn bench cycle --jobs 500000
  adjourn bench late --rate 1000 --json";

/// What `adjourn bench` is told.
#[derive(Debug, Args)]
#[command(after_help = BENCH_EXAMPLE)]
pub(super) struct BenchArgs {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// How many jobs per second the server makes durable
    Push(push::PushBenchArgs),
    /// How many existing jobs per second are delivered and finished
    Drain(drain::DrainBenchArgs),
    /// How many jobs per second go from push through delivery to finish
    Cycle(cycle::CycleBenchArgs),
    /// How long after their due time jobs are delivered
    Late(late::LateBenchArgs),
    /// How long it takes to get and to delete a job by its key
    Keys(keys::KeysBenchArgs),
    /// How long the pages of a list take
    List(list::ListBenchArgs),
    /// Whether memory and disk stay bounded through long churn
    Churn(churn::ChurnBenchArgs),
}

/// The load that most benches can be told.
#[derive(Debug, Args)]
struct LoadArgs {
    #[command(flatten)]
    jobs: JobArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    link: LinkArgs,
}

/// The jobs to push.
#[derive(Debug, Args)]
struct JobArgs {
    /// The size of each body in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = body_bytes)]
    body: usize,
    /// The topic; one of its own per run if not given
    #[arg(long, value_name = "TOPIC")]
    topic: Option<TopicName>,
}

/// The way to the server.
#[derive(Debug, Args)]
struct LinkArgs {
    /// Connections that share the load
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole::<u32>(1..=4096))]
    connections: u32,
    #[command(flatten)]
    server: ServerArgs,
}

/// How a connection pushes.
#[derive(Clone, Copy, Debug, Args, Serialize)]
struct WindowArgs {
    /// PUSH frames in flight on each connection
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = whole::<u32>(1..=65_536))]
    window: u32,
    /// Jobs in each PUSH frame
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = whole(1..=BATCH_MAX))]
    batch: u32,
}

/// Runs one bench and prints its results.
pub(super) fn run(args: BenchArgs) -> Result<(), Failure> {
    match args.bench {
        Bench::Push(args) => push::run(&args),
        Bench::Drain(args) => drain::run(&args),
        Bench::Cycle(args) => cycle::run(&args),
        Bench::Late(args) => late::run(&args),
        Bench::Keys(args) => keys::run(&args),
        Bench::List(args) => list::run(&args),
        Bench::Churn(args) => churn::run(&args),
    }
}

impl LoadArgs {
    /// The report of a bench, still without window, phases and deliveries.
    fn report(
        &self,
        bench: &'static str,
        topic: &TopicName,
        jobs: u64,
        whole: Phase,
        errors: Errors,
    ) -> Report {
        let body_bytes = Some(self.jobs.body);
        Report { body_bytes, ..self.link.report(bench, topic, jobs, whole, errors) }
    }
}

impl JobArgs {
    fn topic(&self) -> Result<TopicName, Failure> {
        let own = || format!("bench/{}", clock::wall_us() / 1000).parse();
        self.topic.clone().map_or_else(own, Ok).map_err(|error| Failure::new(Exit::Usage, error))
    }
}

impl LinkArgs {
    /// Connects one client per connection.
    async fn connect(&self) -> Result<Vec<Client>, Failure> {
        let mut clients = Vec::new();
        for _ in 0..self.connections {
            clients.push(self.server.connect(Session::EndsWithIt).await?);
        }
        Ok(clients)
    }

    /// The report of a bench without pushes, phases and deliveries.
    fn report(
        &self,
        bench: &'static str,
        topic: &TopicName,
        jobs: u64,
        whole: Phase,
        errors: Errors,
    ) -> Report {
        Report {
            bench,
            server: self.server.address.clone(),
            topic: topic.to_string(),
            jobs,
            connections: self.connections,
            window: None,
            body_bytes: None,
            whole,
            phases: Vec::new(),
            deliveries: None,
            errors,
        }
    }
}

/// Prints a report. Fails if a bench had errors.
fn show(report: &Report, json: bool) -> Result<(), Failure> {
    print(|out| {
        if json {
            return write_json(out, report);
        }
        out.write_all(report.text().as_bytes())
    })?;
    if report.is_clean() { Ok(()) } else { Err(unclean()) }
}

fn unclean() -> Failure {
    Failure::new(Exit::Refused, "some jobs failed: see the counts in the report")
}

impl WindowArgs {
    fn pushing(self, topic: &TopicName, progress: ProgressBar) -> Pushing {
        let size = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Pushing { topic: topic.clone(), window: size(self.window), batch: size(self.batch), progress }
    }
}

/// Ends the session of every connection.
async fn close(clients: Vec<Client>) {
    for client in clients {
        goodbye(&client).await;
    }
}

/// A progress bar over jobs, on a terminal only.
fn progress(phase: &'static str, jobs: u64) -> ProgressBar {
    let bar = ProgressBar::new(jobs).with_prefix(phase);
    let rate = |state: &ProgressState, text: &mut dyn Write| {
        // A bar that cannot be drawn is not an error.
        let _ = write!(text, "{:.0}", state.per_sec());
    };
    let template = "{prefix} [{wide_bar}] {human_pos}/{human_len} jobs, {rate} per second";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("rate", rate).progress_chars("=> "));
    }
    bar
}

fn body_bytes(text: &str) -> Result<usize, BodyBytesError> {
    match text.parse() {
        Ok(bytes) if bytes <= BODY_BYTES_MAX_DEFAULT => Ok(bytes),
        _ => Err(BodyBytesError),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("expected a number of bytes up to {BODY_BYTES_MAX_DEFAULT}, for example 64")]
struct BodyBytesError;
