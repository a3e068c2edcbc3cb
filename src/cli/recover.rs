//! `adjourn recover`: goes on with what is left of a log, on purpose.

use std::path::PathBuf;

use super::exit::{Exit, Failure};
use super::serve::storage_exit;
use crate::server::wall;
use crate::storage::{Salvage, StorageError};

const EXAMPLES: &str = "\
Examples:
  adjourn recover --data /var/lib/adjourn
  adjourn recover --data /var/lib/adjourn --yes

The first says what would be kept and what would be lost, and ends with 7 if there is a loss to accept. The second
keeps the entries up to the first that is missing or damaged, and gives up the rest. Restore a backup instead if
there is one. The old log stays in the directory as log.lost-1: delete it when nobody will look at it again.

No server may run on the directory. The disk needs room for a second log.";

/// What `adjourn recover` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RecoverArgs {
    /// The data directory
    #[arg(long, env = "ADJOURN_DATA", value_name = "DIR")]
    data: PathBuf,
    /// Do it: what is missing is lost for good
    #[arg(long)]
    yes: bool,
}

/// Carries it out.
pub(super) fn run(args: &RecoverArgs) -> Result<(), Failure> {
    let salvage = Salvage::examine(&args.data).map_err(|error| failure(&error))?;
    if !salvage.is_needed() {
        println!("The log is whole up to entry {}: there is nothing to recover.", salvage.kept());
        return Ok(());
    }
    println!("{}", report(&salvage));
    if !args.yes {
        let data = args.data.display();
        let advice = format!("nothing was changed. `adjourn recover --data {data} --yes` does it");
        return Err(Failure::new(Exit::DataDamaged, advice));
    }
    salvage.accept(draw_id()?, wall()).map_err(|error| failure(&error))?;
    println!("Done: `adjourn serve --data {}` starts again.", args.data.display());
    Ok(())
}

fn report(salvage: &Salvage) -> String {
    if salvage.is_unfinished() {
        return "An earlier recovery was cut short and is to be finished: nothing more is lost.".to_owned();
    }
    let kept = salvage.kept();
    let mut lines = Vec::new();
    lines.extend(salvage.obstacle().map(|obstacle| format!("Found: {obstacle}.")));
    lines.push(match kept {
        0 => "Kept: nothing.".to_owned(),
        kept => format!("Kept: the log entries up to {kept}."),
    });
    lines.push(match salvage.durable() {
        Some(durable) if durable > kept => {
            format!("Lost: the entries from {} to {durable}, and those after it if there were any.", kept + 1)
        }
        _ if salvage.obstacle().is_some() => {
            format!("Lost: the entries from {} on, if there were any.", kept + 1)
        }
        Some(_) => "Lost: no entry. The vote is forgotten.".to_owned(),
        None => format!("Lost: unknown. Whether there were entries after {kept}, the directory cannot say."),
    });
    lines.join("\n")
}

fn failure(error: &StorageError) -> Failure {
    Failure::new(storage_exit(error), error)
}

/// A new id, of a cluster or of a copy of the data.
#[expect(clippy::disallowed_methods, reason = "the edge: what is new draws its id here")]
pub(super) fn draw_id() -> Result<[u8; 16], Failure> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| {
        Failure::new(Exit::Refused, format_args!("the system gives no random bytes: {error}"))
    })?;
    Ok(id)
}
