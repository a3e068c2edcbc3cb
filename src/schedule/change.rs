//! `adjourn schedule delete`, `pause`, `resume` and `run`: one schedule by its name.

use clap::Args;

use super::arguments::name;
use crate::connection::{ServerArgs, Session};
use crate::exit::Failure;
use crate::output::print;
use adjourn_types::TopicName;

pub(super) const DELETE_EXAMPLE: &str = "\
The jobs that it pushed stay. Ends with 3 if there is no such schedule.

Example:
  adjourn schedule delete reports daily";

pub(super) const PAUSE_EXAMPLE: &str = "\
A paused schedule keeps its place: --missed says which of the times that pass meanwhile are fired after `adjourn schedule resume`. \
`adjourn schedule run` pushes a job all the same.

Example:
  adjourn schedule pause reports daily";

pub(super) const RESUME_EXAMPLE: &str = "\
Also resumes a schedule that was paused because its jobs failed, and counts its failures from 0.

Example:
  adjourn schedule resume reports daily";

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

/// Runs `adjourn schedule delete`.
pub(super) fn delete(args: &NamedArgs) -> Result<(), Failure> {
    let NamedArgs { topic, name, server } = args;
    server.with_client(Session::None, async |client| client.delete_schedule(topic, name).await)
}

/// Runs `adjourn schedule pause`.
pub(super) fn pause(args: &NamedArgs) -> Result<(), Failure> {
    let NamedArgs { topic, name, server } = args;
    server.with_client(Session::None, async |client| client.pause_schedule(topic, name).await)
}

/// Runs `adjourn schedule resume`.
pub(super) fn resume(args: &NamedArgs) -> Result<(), Failure> {
    let NamedArgs { topic, name, server } = args;
    server.with_client(Session::None, async |client| client.resume_schedule(topic, name).await)
}

/// Runs `adjourn schedule run`.
pub(super) fn run(args: &NamedArgs) -> Result<(), Failure> {
    let NamedArgs { topic, name, server } = args;
    let job = server.with_client(Session::None, async |client| client.run_schedule(topic, name).await)?;
    print(|out| writeln!(out, "{}", job.0))
}
