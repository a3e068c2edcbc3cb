//! `adjourn schedule apply`: brings the schedules of a server in line with a file.
//!
//! The whole file is checked before anything is set. Then each schedule that differs is set with the version that it was
//! compared with, so that nothing is overwritten that somebody else has set meanwhile.

mod file;
mod plan;

use std::path::{Path, PathBuf};

use clap::Args;

use crate::connection::{ServerArgs, Session};
use crate::exit::Failure;
use crate::output::{plain_line, show};
use adjourn_calendar::{SYSTEM_ZONES, ZoneData};
use adjourn_client::Client;
use adjourn_protocol::ScheduleSet;
use plan::{Difference, Plan, Step, of_one};

const APPLY_EXAMPLE: &str = "\
The file is TOML. Each [[schedule]] has a topic, a name, and when; other keys are the options of `adjourn schedule set`, with _ for -, and a \
table of headers:
  [[schedule]]
  topic = \"reports\"
  name = \"daily\"
  when = \"0 9 * * 1-5\"
  zone = \"Europe/Berlin\"
  expires_after = \"1h\"
  body = \"daily\"
  headers = { content-type = \"text/plain\" }

Prints a line for each schedule: + new, ~ changed, with what differs, = the same, - not in the file. The last are schedules of topics that \
the file names; --prune deletes them. A faulty file changes nothing. If a server refuses one schedule, the command stops there; apply the file \
again to go on. A schedule that a user paused stays paused.

Example:
  adjourn schedule apply schedules.toml --dry-run
  adjourn schedule apply schedules.toml --prune";

/// What `adjourn schedule apply` is told.
#[derive(Debug, Args)]
#[command(after_help = APPLY_EXAMPLE)]
pub(crate) struct ApplyArgs {
    /// The file with the schedules
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Show the difference, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Delete the schedules that the file does not have, of the topics that it names
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `adjourn schedule apply`.
pub(super) fn run(args: &ApplyArgs) -> Result<(), Failure> {
    let zones = ZoneData::newest(Path::new(SYSTEM_ZONES));
    let wanted = file::read(&args.path, &zones)?;
    args.server.with_client(Session::None, async |client| Ok(apply(client, args, wanted, &zones).await))?
}

async fn apply(
    client: &Client,
    args: &ApplyArgs,
    wanted: Vec<ScheduleSet>,
    zones: &ZoneData,
) -> Result<(), Failure> {
    let plan = Plan::make(client, wanted).await?;
    let refused = plan.refused(zones, client.welcome().body_bytes_max);
    if !refused.is_empty() {
        return Err(file::faulty(&args.path, &refused));
    }
    let (mut new, mut changed, mut same) = (0, 0, 0);
    for step in plan.steps {
        let line = told(&step);
        match step.difference {
            Difference::New => new += 1,
            Difference::Changed { .. } => changed += 1,
            Difference::Same => same += 1,
        }
        if !args.dry_run && step.difference != Difference::Same {
            let (topic, name) = (step.wanted.topic.clone(), step.wanted.name.clone());
            client.set_schedule(step.set()).await.map_err(|error| of_one(&topic, &name, &error))?;
        }
        show(line);
    }
    let surplus = plan.surplus.len();
    for (topic, name) in plan.surplus {
        if args.prune && !args.dry_run {
            client.delete_schedule(&topic, &name).await.map_err(|error| of_one(&topic, &name, &error))?;
        }
        let advice = if args.prune { "" } else { "  not in the file: --prune deletes it" };
        show(format_args!("- {topic} {}{advice}", plain_line(&name)));
    }
    let surplus =
        if args.prune { format!("deleted {surplus}") } else { format!("not in the file {surplus}") };
    let undone = if args.dry_run { ": this was a dry run, nothing is changed" } else { "" };
    show(format_args!("new {new}, changed {changed}, the same {same}, {surplus}{undone}"));
    Ok(())
}

/// A step as people read it.
fn told(step: &Step) -> String {
    let named = format!("{} {}", step.wanted.topic, plain_line(&step.wanted.name));
    match &step.difference {
        Difference::New => format!("+ {named}"),
        Difference::Same => format!("= {named}"),
        Difference::Changed { changes, .. } => {
            let changes = changes.iter().flat_map(|change| {
                let name = plain_line(&change.name);
                ["\n    ".to_owned(), format!("{name}: {} -> {}", change.before, change.after)]
            });
            [format!("~ {named}")].into_iter().chain(changes).collect()
        }
    }
}
