//! `adjourn restore`: creates a data directory from a backup.

use std::path::PathBuf;

use clap::Args;

use super::backup::{Source, folder_of, progress, storage_failure};
use super::exit::Failure;
use super::output::print;
use crate::draw_id::draw_id;
use crate::inspect::contents::jobs_text;
use crate::usage::whole;
use adjourn_engine::ids_floor;
use adjourn_server::config::NODE_MAX;
use adjourn_server::wall;
use adjourn_storage::RestoreOptions;

const EXAMPLE: &str = "\
Example:
  adjourn restore queue.backup --data /var/lib/adjourn-restored
  adjourn serve --data /var/lib/adjourn-restored

The whole backup is verified first. The directory must be empty, or not exist yet; the queue in it is a new cluster
with all jobs of the backup. No id and no fence of the old cluster is reused: the ids of new jobs jump far ahead. Leases
continue, and sessions that are not resumed end. Stop the old queue first: both would deliver the same jobs.

A backup from standard input is kept in a temporary file on the disk of the directory until it is restored: it needs the space
twice.";

/// What `adjourn restore` is told.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct RestoreArgs {
    /// The backup, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The data directory to create
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The number of the node that will run on it
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = whole(1..=NODE_MAX))]
    node: u64,
}

/// Runs `adjourn restore`.
pub(super) fn run(args: &RestoreArgs) -> Result<(), Failure> {
    let Source { backup, .. } = &Source::open(&args.file, folder_of(&args.data))?;
    let (now, cluster_id, storage_id) = (wall(), draw_id()?, draw_id()?);
    let options = RestoreOptions { path: args.data.clone(), node: args.node, cluster_id, storage_id, now };
    let header = *backup.header();
    let bar = progress("restoring", 3 * header.bytes);
    let restored = backup.restore(&options, |done| bar.set_position(done));
    bar.finish_and_clear();
    restored.map_err(|error| storage_failure(&error))?;
    print(|out| {
        let (data, jobs) = (args.data.display(), jobs_text(header.jobs));
        let them = if header.jobs == 1 { "it" } else { "them" };
        writeln!(out, "{jobs} in {data}: `adjourn serve --data {data}` serves {them}.")?;
        let floor = ids_floor(now);
        writeln!(
            out,
            "New jobs get ids above {floor}: the old cluster may have assigned smaller ones since the backup."
        )
    })
}
