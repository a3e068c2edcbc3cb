//! `adjourn schedule delete`, `pause`, `resume` and `run`: one schedule by its name, or many.

use clap::{ArgGroup, Args};

use super::arguments::name;
use crate::connection::{ServerArgs, Session};
use crate::exit::Failure;
use crate::output::print;
use adjourn_client::{Client, ClientError};
use adjourn_protocol::{ErrorCode, ScheduleChange, ScheduleConditions};
use adjourn_types::TopicName;

pub(super) const DELETE_EXAMPLE: &str = "\
The jobs that it pushed stay. Ends with 3 if there is no schedule of this name. With --prefix or --all, prints how many were deleted.

Example:
  adjourn schedule delete reports daily
  adjourn schedule delete reports --prefix tenant-7.";

pub(super) const PAUSE_EXAMPLE: &str = "\
A paused schedule keeps its place: --missed says which of the times that pass meanwhile are fired after `adjourn schedule resume`. \
`adjourn schedule run` pushes a job all the same.

Example:
  adjourn schedule pause reports daily --note 'until the books are closed'
  adjourn schedule pause reports --prefix tenant-7.
  adjourn schedule pause reports --all";

pub(super) const RESUME_EXAMPLE: &str = "\
Also resumes a schedule that was paused because its jobs failed, and counts its failures from 0.

Example:
  adjourn schedule resume reports daily
  adjourn schedule resume reports --prefix tenant-7.";

pub(super) const RUN_EXAMPLE: &str = "\
Pushes the job whether an earlier one is finished or not, and also if the schedule is paused. The next time stays.

Example:
  adjourn schedule run reports daily";

/// A schedule and the server that has it.
#[derive(Debug, Args)]
pub(crate) struct NamedArgs {
    /// The topic of its jobs
    topic: TopicName,
    /// Its name
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    #[command(flatten)]
    server: ServerArgs,
}

/// A schedule, or many, and the server that has them.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).args(["name", "prefix", "all"]))]
pub(crate) struct WhichArgs {
    /// The topic of their jobs
    topic: TopicName,
    /// The name of one schedule
    #[arg(value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// All schedules of the topic whose names begin with this
    #[arg(long, value_name = "PREFIX", value_parser = name)]
    prefix: Option<String>,
    /// All schedules of the topic
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// The schedules to pause, and why.
#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Why, for people
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
}

/// Runs `adjourn schedule delete`.
pub(super) fn delete(args: &WhichArgs) -> Result<(), Failure> {
    change(args, ScheduleChange::Delete, "")
}

/// Runs `adjourn schedule pause`.
pub(super) fn pause(args: &PauseArgs) -> Result<(), Failure> {
    change(&args.which, ScheduleChange::Pause, &args.note)
}

/// Runs `adjourn schedule resume`.
pub(super) fn resume(args: &WhichArgs) -> Result<(), Failure> {
    change(args, ScheduleChange::Resume, "")
}

fn change(args: &WhichArgs, change: ScheduleChange, note: &str) -> Result<(), Failure> {
    let WhichArgs { topic, name, prefix, all: _, server } = args;
    if let Some(name) = name {
        return server
            .with_client(Session::None, async |client| carry_out(client, change, topic, name, note).await);
    }
    let prefix = prefix.clone().unwrap_or_default();
    let conditions = ScheduleConditions { prefix, ..ScheduleConditions::default() };
    let mut changed = 0;
    let ended = server.with_client(Session::None, async |client| {
        let all = client.schedules(Some(topic), &conditions).await?;
        for schedule in all.iter().filter(|schedule| change.changes(schedule.state.paused, !note.is_empty()))
        {
            match carry_out(client, change, topic, &schedule.name, note).await {
                Ok(()) => changed += 1,
                // Somebody else has deleted it.
                Err(error) if error.code() == Some(ErrorCode::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    });
    // Before an error, too: what was changed stays so.
    if changed > 0 || ended.is_ok() {
        let plural = if changed == 1 { "" } else { "s" };
        print(|out| writeln!(out, "{changed} schedule{plural} {}", done(change)))?;
    }
    ended
}

/// What the command says that it did.
fn done(change: ScheduleChange) -> &'static str {
    match change {
        ScheduleChange::Delete => "deleted",
        ScheduleChange::Pause => "paused",
        ScheduleChange::Resume => "resumed",
    }
}

async fn carry_out(
    client: &Client,
    change: ScheduleChange,
    topic: &TopicName,
    name: &str,
    note: &str,
) -> Result<(), ClientError> {
    match change {
        ScheduleChange::Delete => client.delete_schedule(topic, name).await,
        ScheduleChange::Pause => client.pause_schedule(topic, name, note).await,
        ScheduleChange::Resume => client.resume_schedule(topic, name).await,
    }
}

/// Runs `adjourn schedule run`.
pub(super) fn run(args: &NamedArgs) -> Result<(), Failure> {
    let NamedArgs { topic, name, server } = args;
    let job = server.with_client(Session::None, async |client| client.run_schedule(topic, name).await)?;
    print(|out| writeln!(out, "{}", job.0))
}
