//! `adjourn list` and `adjourn count`: many jobs, selected by a filter.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use clap::{Args, ValueEnum};

use super::filter::FilterArgs;
use crate::connection::{ServerArgs, Session};
use crate::exit::Failure;
use crate::output::table::aligned;
use crate::output::{JobsTable, complain, print, write_json};
use crate::usage::whole;
use adjourn_client::{Client, ClientError};
use adjourn_json::JobJson;
use adjourn_json::values::{ValueError, duration_within, time_of_people, time_text};
use adjourn_protocol::{DueBar, JobReport, List};
use adjourn_types::limits::{DELAY_MS_MAX, DUE_BARS_MAX, LIST_JOBS_MAX};
use adjourn_types::{DueBars, ListOrder, Millis};

const LIST_EXAMPLE: &str = "\
If there are more jobs than --limit, the command prints the cursor for the next call to standard error.

Example:
  adjourn list --topic orders --state delayed,buried
  adjourn list --topic orders --key-prefix order- --order key
  adjourn list --due-before 2030-12-24T18:00:00Z --json --bodies --all";

/// What `adjourn list` is told.
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLE)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Sort by due time, by id (the order of the pushes) or by key
    #[arg(long, value_name = "ORDER", value_enum, default_value = "due")]
    order: Order,
    /// Most jobs to list
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole(1..=u64::MAX))]
    limit: u64,
    /// List all jobs
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Continue an earlier list from its cursor
    #[arg(long, value_name = "CURSOR", value_parser = cursor)]
    cursor: Option<Bytes>,
    /// Print a JSON object per job
    #[arg(long)]
    json: bool,
    /// Show the jobs' bodies, too
    #[arg(long, requires = "json")]
    bodies: bool,
    #[command(flatten)]
    server: ServerArgs,
}

const COUNT_EXAMPLE: &str = "\
A count by topic and state is exact. Otherwise jobs that change, or move to the disk, meanwhile may be missed or counted twice.

Example:
  adjourn count --topic orders --state delayed --due-before 2030-12-24T18:00:00Z
  adjourn count --topic orders --bar 1h --bars 24";

/// What `adjourn count` is told.
#[derive(Debug, Args)]
#[command(after_help = COUNT_EXAMPLE)]
pub(crate) struct CountArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Count by when jobs are due, in parts of this length
    #[arg(long, value_name = "DURATION", value_parser = bar_ms)]
    bar: Option<u64>,
    /// How many parts
    #[arg(long, value_name = "N", requires = "bar", default_value_t = 24, value_parser = whole(1..=DUE_BARS_MAX))]
    bars: u32,
    /// When the first part begins (RFC 3339); now by default
    #[arg(long, value_name = "TIME", requires = "bar", value_parser = time_of_people)]
    bars_from: Option<Millis>,
    #[command(flatten)]
    server: ServerArgs,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Order {
    Due,
    Id,
    Key,
}

impl From<Order> for ListOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Due => Self::Due,
            Order::Id => Self::Id,
            Order::Key => Self::Key,
        }
    }
}

/// Runs `adjourn list`.
pub(crate) fn list(args: &ListArgs) -> Result<(), Failure> {
    let order = args.order.into();
    let cursor = args.cursor.clone().unwrap_or_default();
    let mut list =
        List { filter: args.filter.filter(), order, jobs_max: 0, with_bodies: args.bodies, cursor };
    let mut left = if args.all { u64::MAX } else { args.limit };
    args.server.with_client(Session::None, async |client| {
        let mut table = JobsTable::default();
        while left > 0 {
            list.jobs_max = u32::try_from(left).unwrap_or(u32::MAX).min(LIST_JOBS_MAX);
            let jobs = next_page(client, &mut list).await?;
            left -= jobs.len() as u64;
            if show(args, &jobs, &mut table).is_err() || list.cursor.is_empty() {
                return Ok(());
            }
        }
        complain(format_args!(
            "there may be more: continue with --cursor {}",
            URL_SAFE_NO_PAD.encode(&list.cursor)
        ));
        Ok(())
    })
}

/// Runs `adjourn count`.
pub(crate) fn count(args: &CountArgs) -> Result<(), Failure> {
    let filter = args.filter.filter();
    let Some(width_ms) = args.bar else {
        let jobs = args.server.with_client(Session::None, async |client| client.count(filter).await)?;
        return print(|out| writeln!(out, "{jobs}"));
    };
    let by_due = args.server.with_client(Session::None, async |client| {
        let from = match args.bars_from {
            Some(from) => from,
            None => client.ping().await?,
        };
        client.count_by_due(filter, DueBars { from, width_ms, count: args.bars }).await
    })?;
    let row = |(nth, bar): (usize, &DueBar)| {
        let from = if nth == 0 { "before".to_owned() } else { time_text(bar.from) };
        [from, bar.jobs.to_string()]
    };
    let header = ["DUE FROM".to_owned(), "JOBS".to_owned()];
    let rows: Vec<_> = std::iter::once(header).chain(by_due.iter().enumerate().map(row)).collect();
    print(|out| out.write_all(aligned(&rows).as_bytes()))
}

/// Parses the length of a part.
fn bar_ms(text: &str) -> Result<u64, ValueError> {
    duration_within(text, 1..=DELAY_MS_MAX)
}

/// The next page that has jobs, or the last one.
pub(super) async fn next_page(client: &Client, list: &mut List) -> Result<Vec<JobReport>, ClientError> {
    loop {
        let page = client.list(list.clone()).await?;
        list.cursor = page.cursor;
        if !page.jobs.is_empty() || list.cursor.is_empty() {
            return Ok(page.jobs);
        }
    }
}

fn show(args: &ListArgs, jobs: &[JobReport], table: &mut JobsTable) -> Result<(), Failure> {
    print(|out| {
        if !args.json {
            return out.write_all(table.page(jobs).as_bytes());
        }
        jobs.iter().try_for_each(|job| write_json(out, &JobJson::of(job, args.bodies)))
    })
}

/// Parses a cursor.
pub(crate) fn cursor(text: &str) -> Result<Bytes, ValueError> {
    URL_SAFE_NO_PAD.decode(text).map(Bytes::from).map_err(|_| ValueError::Cursor)
}
