//! `adjourn inspect`: shows and verifies a data directory, without a server and without changing anything.

pub(crate) mod contents;
pub(crate) mod members;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::draw_id::draw_id;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_json};
use crate::serve::storage_exit;
use adjourn_json::id_text;
use adjourn_json::values::time_text;
use adjourn_raft::Membership;
use adjourn_storage::inspect::{FileReport, LogReport};
use adjourn_storage::{CheckpointReport, Depth, Inspection, UnreadableJob, inspect};
use adjourn_types::TopicName;
use contents::{CheckpointJson, checkpoint_json, checkpoint_tables, jobs_text, unreadable_text};

const EXAMPLES: &str = "\
Examples:
  adjourn inspect /var/lib/adjourn
  adjourn inspect /var/lib/adjourn --json | jq '.damage'

No server may run on the directory. Every file is read and verified; with --quick only as much as a start verifies.
Ends with 7 if anything is damaged. The log is copied into the directory for temporary files and read there.";

/// What `adjourn inspect` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct InspectArgs {
    /// The data directory
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Verify only as much as a start does
    #[arg(long)]
    quick: bool,
}

/// Runs `adjourn inspect`.
pub(super) fn run(args: &InspectArgs) -> Result<(), Failure> {
    let depth = if args.quick { Depth::Start } else { Depth::Whole };
    let scratch = std::env::temp_dir().join(format!("adjourn-inspect-{}", id_text(draw_id()?)));
    let found =
        inspect(&args.data, &scratch, depth).map_err(|error| Failure::new(storage_exit(&error), error))?;
    if args.json {
        print_json(&json(&args.data, &found))?;
    } else {
        print(|out| out.write_all(text(&found).as_bytes()))?;
    }
    match found.damage.as_slice() {
        [] => Ok(()),
        [one] => Err(Failure::new(Exit::DataDamaged, one)),
        [first, ..] => {
            let many = format!("{} things are damaged, the first: {first}", found.damage.len());
            Err(Failure::new(Exit::DataDamaged, many))
        }
    }
}

#[derive(Serialize)]
struct InspectionJson<'a> {
    data: String,
    node: Option<u64>,
    cluster_id: Option<String>,
    storage_id: Option<String>,
    founder: Option<bool>,
    voters: Option<Vec<u64>>,
    learners: Option<Vec<u64>>,
    term: Option<u64>,
    vote: Option<u64>,
    durable: Option<u64>,
    commit: Option<u64>,
    log: Option<LogJson>,
    checkpoint: Option<CheckpointJson<'a>>,
    unlisted: Vec<FileJson<'a>>,
    unreadable: Vec<UnreadableJson<'a>>,
    damage: Vec<String>,
}

#[derive(Serialize)]
struct UnreadableJson<'a> {
    id: u64,
    topic: Option<&'a str>,
    keyed: bool,
    due: String,
}

#[derive(Serialize)]
struct LogJson {
    base: u64,
    last: u64,
    last_term: u64,
    entry_bytes: u64,
    file_bytes: u64,
}

#[derive(Serialize)]
struct FileJson<'a> {
    name: &'a str,
    bytes: u64,
}

fn json<'a>(data: &Path, found: &'a Inspection) -> InspectionJson<'a> {
    let file = |file: &'a FileReport| FileJson { name: &file.name, bytes: file.bytes };
    let members = members(found);
    InspectionJson {
        data: data.display().to_string(),
        node: found.identity.map(|identity| identity.node),
        cluster_id: found.identity.map(|identity| id_text(identity.cluster_id)),
        storage_id: found.identity.map(|identity| id_text(identity.storage_id)),
        founder: found.identity.map(|identity| identity.founder),
        voters: members.as_ref().map(|members| members.voters.clone()),
        learners: members.map(|members| members.learners),
        term: found.vote.map(|vote| vote.term),
        vote: found.vote.map(|vote| vote.vote),
        durable: found.watermark.map(|watermark| watermark.durable),
        commit: found.watermark.map(|watermark| watermark.commit),
        log: found.log.map(|log| {
            let LogReport { base, last, last_term, entry_bytes, file_bytes } = log;
            LogJson { base, last, last_term, entry_bytes, file_bytes }
        }),
        checkpoint: found.checkpoint.as_ref().map(checkpoint_json),
        unlisted: found.unlisted.iter().map(file).collect(),
        unreadable: found.unreadable.iter().map(unreadable_json).collect(),
        damage: found.damage.iter().map(ToString::to_string).collect(),
    }
}

fn unreadable_json(job: &UnreadableJob) -> UnreadableJson<'_> {
    let UnreadableJob { id, topic, keyed, due } = job;
    UnreadableJson {
        id: id.0,
        topic: topic.as_ref().map(TopicName::as_str),
        keyed: *keyed,
        due: time_text(*due),
    }
}

fn text(found: &Inspection) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: Option<String>| {
        let value = value.unwrap_or_else(|| "cannot be read".to_owned());
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{name:<12}{value}");
    };
    let identity = found.identity;
    line("node", identity.map(|identity| identity.node.to_string()));
    line("cluster", identity.map(|identity| id_text(identity.cluster_id)));
    line("copy", identity.map(|identity| id_text(identity.storage_id)));
    let origin = |founder| if founder { "founded its cluster" } else { "joined its cluster" };
    line("origin", identity.map(|identity| origin(identity.founder).to_owned()));
    line("members", members(found).as_ref().map(members::text));
    line("vote", found.vote.map(|vote| format!("term {}, for node {}", vote.term, vote.vote)));
    let watermark = found.watermark;
    line(
        "watermark",
        watermark.map(|mark| format!("durable to {}, committed to {}", mark.durable, mark.commit)),
    );
    line("log", found.log.map(|log| log_text(&log)));
    let none = || "none".to_owned();
    let checkpoint = found.checkpoint.as_ref().map(|checkpoint| {
        let (number, index, term, jobs) =
            (checkpoint.number, checkpoint.index, checkpoint.term, checkpoint.jobs);
        format!("number {number}, at entry {index} of term {term}, {}", jobs_text(jobs))
    });
    line("checkpoint", Some(checkpoint.unwrap_or_else(none)));
    let hash = found.checkpoint.as_ref().map(|checkpoint| format!("{:032x}", checkpoint.state_hash));
    line("state hash", Some(hash.unwrap_or_else(none)));
    if let Some(checkpoint) = &found.checkpoint {
        let _ = write!(text, "\n{}", checkpoint_tables(checkpoint));
    }
    if !found.unlisted.is_empty() {
        text.push_str("\nNot listed, and removed by the next start:\n");
    }
    for FileReport { name, bytes } in &found.unlisted {
        let _ = writeln!(text, "  {name}, {bytes} bytes");
    }
    text.push_str(if found.damage.is_empty() { "\nNothing is damaged.\n" } else { "\nDamaged:\n" });
    for damage in &found.damage {
        let _ = writeln!(text, "  {damage}");
    }
    if !found.unreadable.is_empty() {
        text.push_str("\nJobs that cannot be read; `adjourn recover --drop-unreadable` deletes them:\n");
    }
    for job in &found.unreadable {
        let _ = writeln!(text, "{}", unreadable_text(job));
    }
    text
}

/// The members at the end of the log; `None` if the first members are not known.
fn members(found: &Inspection) -> Option<Membership> {
    let identity = found.identity?;
    let begun = match &found.checkpoint {
        Some(CheckpointReport { voters, learners, .. }) => {
            Membership { voters: voters.clone(), learners: learners.clone() }
        }
        None if identity.founder => Membership::alone(identity.node),
        None => Membership::default(),
    };
    Some(members::after(begun, &found.changes))
}

fn log_text(log: &LogReport) -> String {
    let LogReport { base, last, last_term, entry_bytes, file_bytes } = *log;
    let files = format!("files of {file_bytes} bytes");
    if last == base {
        return format!("no entry behind {base}, {files}");
    }
    format!("entries {} to {last} of term {last_term}, {entry_bytes} bytes; {files}", base + 1)
}
