//! `adjourn backup`: takes a backup of a serving queue, verifies one, or shows its contents.

mod create;
mod source;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::connection::ServerArgs;
use crate::exit::Failure;
use crate::inspect::contents::{CheckpointJson, checkpoint_json, checkpoint_tables, jobs_text};
use crate::output::{print, print_json};
use crate::serve::storage_exit;
use adjourn_json::id_text;
use adjourn_json::values::time_text;
use adjourn_storage::backup_file::BackupFile;
use adjourn_storage::{Backup, CheckpointReport, StorageError};
pub(super) use source::{Source, folder_of};

const EXAMPLES: &str = "\
Examples:
  adjourn backup create queue.backup
  adjourn backup verify queue.backup
  adjourn backup inspect queue.backup --json
  adjourn restore queue.backup --data /var/lib/adjourn-restored
  adjourn backup create - | age -r KEY > queue.backup.age
  age -d -i KEY-FILE queue.backup.age | adjourn backup verify -";

/// What `adjourn backup` can do.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum BackupCommand {
    /// Take a backup over the connection, while the queue keeps serving
    Create(CreateArgs),
    /// Read a whole backup and verify it
    Verify(VerifyArgs),
    /// Show the contents of a backup, without reading all of it
    Inspect(InspectArgs),
}

const CREATE_EXAMPLE: &str = "\
Example:
  adjourn backup create queue.backup
  adjourn backup create /backups/queue-$(date +%F).backup --server 10.0.0.5:7440

The backup is the state after one log entry; it contains everything that was acknowledged before the command began.
Until it is complete it is called FILE.part: such a file is incomplete and can be deleted. As - it goes to standard output, for
a program that encrypts or compresses it: see that no command of the pipe fails (`set -o pipefail`), and verify what it made.";

/// What `adjourn backup create` is told.
#[derive(Debug, Args)]
#[command(after_help = CREATE_EXAMPLE)]
pub(super) struct CreateArgs {
    /// The file to write, or - for standard output
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Most bytes per second, so that deliveries are hardly delayed; 0 for no limit
    #[arg(long, value_name = "BYTES", default_value_t = BYTES_PER_SECOND)]
    bytes_per_second: u64,
    #[command(flatten)]
    server: ServerArgs,
}

/// At this rate a gigabyte takes half a minute.
const BYTES_PER_SECOND: u64 = 32 << 20;

const VERIFY_EXAMPLE: &str = "\
Example:
  adjourn backup verify queue.backup

Needs no server. It checks every checksum, decodes and counts every job, and recomputes the hash of the state. Ends
with 7, and names the byte, if anything was changed.

What comes through a pipe is kept, as it is, in a file without a name in $TMPDIR (/tmp): it needs the space of the whole backup. A
backup that was compressed or encrypted has to be unpacked first.";

/// What `adjourn backup verify` is told.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLE)]
pub(super) struct VerifyArgs {
    /// The backup, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

const INSPECT_EXAMPLE: &str = "\
Example:
  adjourn backup inspect queue.backup
  adjourn backup inspect queue.backup --json | jq '.checkpoint.topics'

What comes through a pipe is kept in a file without a name in $TMPDIR (/tmp): it needs the space of the whole backup.";

/// What `adjourn backup inspect` is told.
#[derive(Debug, Args)]
#[command(after_help = INSPECT_EXAMPLE)]
pub(super) struct InspectArgs {
    /// The backup, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs `adjourn backup`.
pub(super) fn run(command: BackupCommand) -> Result<(), Failure> {
    match command {
        BackupCommand::Create(args) => create::run(&args),
        BackupCommand::Verify(args) => verify(&args),
        BackupCommand::Inspect(args) => inspect(&args),
    }
}

/// A progress bar over bytes, with rate and remaining time; on a terminal only.
pub(super) fn progress(what: &'static str, bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes).with_prefix(what);
    let template = "{prefix} [{wide_bar}] {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// The failure of a command whose backup or directory cannot be used.
pub(super) fn storage_failure(error: &StorageError) -> Failure {
    Failure::new(storage_exit(error), error)
}

fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    let Source { backup, name, .. } = &Source::open(&args.file, &std::env::temp_dir())?;
    let header = *backup.header();
    let bar = progress("verifying", 2 * header.bytes);
    let verified = backup.verify(|done| bar.set_position(done));
    bar.finish_and_clear();
    verified.map_err(|error| storage_failure(&error))?;
    print(|out| {
        let (file, jobs, index, hash) =
            (name.display(), jobs_text(header.jobs), header.index, header.state_hash);
        writeln!(out, "{file} is intact: {jobs} at entry {index}, state hash {hash:032x}")
    })
}

fn inspect(args: &InspectArgs) -> Result<(), Failure> {
    let Source { backup, name, .. } = &Source::open(&args.file, &std::env::temp_dir())?;
    let checkpoint = backup.checkpoint();
    if args.json {
        print_json(&json(name, backup, &checkpoint))
    } else {
        print(|out| out.write_all(text(backup, &checkpoint).as_bytes()))
    }
}

#[derive(Serialize)]
struct BackupJson<'a> {
    file: String,
    bytes: u64,
    created: String,
    cluster_id: String,
    node: u64,
    group: u8,
    files: Vec<FileJson<'a>>,
    checkpoint: CheckpointJson<'a>,
}

#[derive(Serialize)]
struct FileJson<'a> {
    name: &'a str,
    at: u64,
    bytes: u64,
    hash: String,
}

fn json<'a>(path: &Path, backup: &'a Backup, checkpoint: &'a CheckpointReport) -> BackupJson<'a> {
    let header = backup.header();
    let file = |file: &'a BackupFile| {
        let BackupFile { name, at, bytes, hash } = file;
        FileJson { name, at: *at, bytes: *bytes, hash: format!("{hash:032x}") }
    };
    BackupJson {
        file: path.display().to_string(),
        bytes: header.bytes,
        created: time_text(header.created_at),
        cluster_id: id_text(header.cluster_id),
        node: header.node,
        group: header.group.0,
        files: backup.files().iter().map(file).collect(),
        checkpoint: checkpoint_json(checkpoint),
    }
}

fn text(backup: &Backup, checkpoint: &CheckpointReport) -> String {
    let header = backup.header();
    let mut text = String::new();
    for (name, value) in [
        ("created", time_text(header.created_at)),
        ("of cluster", id_text(header.cluster_id)),
        ("of node", header.node.to_string()),
        (
            "checkpoint",
            format!("at entry {} of term {}, {}", header.index, header.term, jobs_text(header.jobs)),
        ),
        ("state hash", format!("{:032x}", header.state_hash)),
        ("bytes", header.bytes.to_string()),
    ] {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{name:<12}{value}");
    }
    text.push('\n');
    text.push_str(&checkpoint_tables(checkpoint));
    text
}
