//! `adjourn export`: jobs as lines that an import, or a push over HTTP, takes back.

use bytes::Bytes;
use clap::Args;

use super::filter::FilterArgs;
use super::list::next_page;
use crate::connection::{ServerArgs, Session};
use crate::exit::Failure;
use crate::output::{complain, print, write_json};
use adjourn_json::ExportedJson;
use adjourn_protocol::List;
use adjourn_types::limits::LIST_JOBS_MAX;
use adjourn_types::{JobState, ListOrder};

const EXPORT_EXAMPLE: &str = "\
A line has what a push takes, the topic, and why a job is buried. Ids, attempts so far and history stay behind; a job that is reserved is written
as one that is ready. Schedules and the policies of topics are no jobs. The jobs stay where they are. It is no snapshot: a job that is pushed or finished
meanwhile may be in it or not.

Example:
  adjourn export > all.jsonl
  adjourn export --topic orders --state delayed,buried > orders.jsonl
  adjourn import jsonl orders.jsonl --server 10.0.0.7:7440";

/// What `adjourn export` is told.
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLE)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `adjourn export`.
pub(crate) fn run(args: &ExportArgs) -> Result<(), Failure> {
    let filter = args.filter.filter();
    // In the order of the pushes, so that an import repeats it.
    let mut list = List {
        filter,
        order: ListOrder::Id,
        jobs_max: LIST_JOBS_MAX,
        with_bodies: true,
        cursor: Bytes::new(),
    };
    let mut reserved = 0_u64;
    args.server.with_client(Session::None, async |client| {
        loop {
            let page = next_page(client, &mut list).await?;
            reserved += page.iter().filter(|job| job.state == Some(JobState::Reserved)).count() as u64;
            let printed =
                print(|out| page.iter().try_for_each(|job| write_json(out, &ExportedJson::of(job))));
            // Whoever reads the lines has gone.
            if printed.is_err() || list.cursor.is_empty() {
                return Ok(());
            }
        }
    })?;
    if reserved > 0 {
        complain(format_args!(
            "{reserved} jobs are reserved, and may be finished by now: an import pushes them as ready"
        ));
    }
    Ok(())
}
