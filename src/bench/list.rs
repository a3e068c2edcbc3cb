//! `adjourn bench list`: how long the pages of a list take.
//!
//! A connection asks for one page after the other and waits for each. First come FIRST pages, each of a list of its own;
//! then all pages of one list. It uses one connection, because each page continues at the cursor of the one before.

use std::time::Duration;

use clap::Args;

use super::load::Tally;
use super::report::{JSON_HELP, Phase, Report, Unit};
use super::{LinkArgs, clock, close, show};
use crate::connection::runtime;
use crate::exit::Failure;
use crate::jobs::list::Order;
use crate::usage::whole;
use adjourn_client::{Client, ClientError};
use adjourn_protocol::List;
use adjourn_types::limits::LIST_JOBS_MAX;
use adjourn_types::{Filter, TopicName};

const LIST_EXAMPLE: &str = "\
Example:
  adjourn bench push --jobs 1000000 --delay 1d..30d --keys --topic bench/orders
  adjourn bench list --topic bench/orders";

/// What `adjourn bench list` is told.
#[derive(Debug, Args)]
#[command(after_help = format!("{JSON_HELP}\n\n{LIST_EXAMPLE}"))]
pub(super) struct ListBenchArgs {
    /// The topic whose jobs are listed
    #[arg(long, value_name = "TOPIC")]
    topic: TopicName,
    /// Sort by due time, by id or by key
    #[arg(long, value_name = "ORDER", value_enum, default_value = "due")]
    order: Order,
    /// Jobs on each page
    #[arg(long, value_name = "N", default_value_t = LIST_JOBS_MAX, value_parser = whole(1..=LIST_JOBS_MAX))]
    page: u32,
    /// How many first pages to ask for
    #[arg(long, value_name = "N", default_value_t = 10)]
    first: u64,
    /// Most pages of the one list, all of them if not given
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    pages: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    link: LinkArgs,
}

/// Runs `adjourn bench list`.
pub(super) fn run(args: &ListBenchArgs) -> Result<(), Failure> {
    let report = runtime()?.block_on(measure(args))?;
    show(&report, args.json)
}

async fn measure(args: &ListBenchArgs) -> Result<Report, Failure> {
    let clients = args.link.connect().await?;
    let client = clients.first().expect("there is at least one connection");
    let (mut jobs, mut all, mut time, mut phases) = (0, Tally::new(), Duration::ZERO, Vec::new());
    for (name, lists, pages) in [("first", args.first, 1), ("pages", 1, args.pages)] {
        let started = clock::instant();
        let mut tally = Tally::new();
        for _ in 0..lists {
            match read(client, args, pages, &mut tally).await {
                Ok(listed) => jobs = listed,
                Err(error) => tally.failed(&error, 1),
            }
        }
        let elapsed = started.elapsed();
        phases.push((name, of_pages(&tally, elapsed)));
        all.merge(&tally);
        time += elapsed;
    }
    close(clients).await;
    Ok(Report { phases, ..args.link.report("list", &args.topic, jobs, of_pages(&all, time), all.errors) })
}

fn of_pages(tally: &Tally, elapsed: Duration) -> Phase {
    let phase = Phase::new(tally.done, elapsed, "answered after", &tally.latencies);
    Phase { unit: Unit::Pages, ..phase }
}

/// Reads one list, at most this many pages. Returns the number of jobs on them.
async fn read(
    client: &Client,
    args: &ListBenchArgs,
    pages: u64,
    tally: &mut Tally,
) -> Result<u64, ClientError> {
    let filter = Filter { topic: Some(args.topic.clone()), ..Filter::default() };
    let mut list = List { filter, order: args.order.into(), jobs_max: args.page, ..List::default() };
    let mut jobs = 0;
    for _ in 0..pages {
        let sent = clock::instant();
        let page = client.list(list.clone()).await?;
        tally.one_done(sent);
        jobs += page.jobs.len() as u64;
        list.cursor = page.cursor;
        if list.cursor.is_empty() {
            break;
        }
    }
    Ok(jobs)
}
