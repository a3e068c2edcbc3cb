//! `adjourn schedule`: sets, shows and runs schedules, and brings them in line with a file. `next` asks no server.

mod apply;
mod arguments;
mod backfill;
mod change;
mod choices;
mod next;
mod set;
mod settings;
mod show;

use clap::Subcommand;

use super::exit::Failure;
use apply::ApplyArgs;
use backfill::BackfillArgs;
use change::{NamedArgs, PauseArgs, WhichArgs};
use next::NextArgs;
use set::SetArgs;
use show::{ListArgs, ShowArgs};

const EXAMPLES: &str = "\
Examples:
  adjourn schedule next '0 9 * * 1-5' --zone Europe/Berlin
  adjourn schedule set reports daily '0 9 * * 1-5' --zone Europe/Berlin --body daily
  adjourn schedule show reports daily
  adjourn schedule list reports
  adjourn schedule apply schedules.toml --dry-run";

/// `adjourn schedule`.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum ScheduleCommand {
    /// Show the next times of a cron expression or an interval; asks no server
    Next(NextArgs),
    /// Create a schedule, or replace all of its settings
    Set(Box<SetArgs>),
    /// Show a schedule: where it stands, its settings, and what it did of late
    Show(ShowArgs),
    /// List the schedules of a topic
    List(ListArgs),
    /// Delete a schedule, or many; their jobs stay
    #[command(after_help = change::DELETE_EXAMPLE, override_usage = "adjourn schedule delete [OPTIONS] <TOPIC> <NAME|--prefix <PREFIX>|--all>")]
    Delete(WhichArgs),
    /// Let a schedule, or many, fire no more until they are resumed
    #[command(after_help = change::PAUSE_EXAMPLE, override_usage = "adjourn schedule pause [OPTIONS] <TOPIC> <NAME|--prefix <PREFIX>|--all>")]
    Pause(PauseArgs),
    /// Let a paused schedule, or many, fire again
    #[command(after_help = change::RESUME_EXAMPLE, override_usage = "adjourn schedule resume [OPTIONS] <TOPIC> <NAME|--prefix <PREFIX>|--all>")]
    Resume(WhichArgs),
    /// Push a job for each time that a schedule had in the past
    Backfill(BackfillArgs),
    /// Push a job of a schedule now; prints the job's id
    #[command(after_help = change::RUN_EXAMPLE)]
    Run(NamedArgs),
    /// Set the schedules that a file has, and show the difference
    Apply(ApplyArgs),
}

/// Runs a subcommand of `adjourn schedule`.
pub(super) fn run(command: ScheduleCommand) -> Result<(), Failure> {
    match command {
        ScheduleCommand::Next(args) => next::run(&args),
        ScheduleCommand::Set(args) => set::run(&args),
        ScheduleCommand::Show(args) => show::show(&args),
        ScheduleCommand::List(args) => show::list(&args),
        ScheduleCommand::Delete(args) => change::delete(&args),
        ScheduleCommand::Pause(args) => change::pause(&args),
        ScheduleCommand::Resume(args) => change::resume(&args),
        ScheduleCommand::Backfill(args) => backfill::run(&args),
        ScheduleCommand::Run(args) => change::run(&args),
        ScheduleCommand::Apply(args) => apply::run(&args),
    }
}
