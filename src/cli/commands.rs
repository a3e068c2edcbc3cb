//! The commands that talk to a server. Each is one variant here; its arguments and what it does stand in
//! the file of its group beside this one.

use super::bench::{self, BenchArgs};
use super::bulk::{self, MoveArgs};
use super::clients::{self, ConnectionsArgs, DisconnectArgs};
use super::cluster::{self, ClusterCommand};
use super::exit::Failure;
use super::job::{self, DeleteArgs, GetArgs, KickArgs, RescheduleArgs, RunNowArgs};
use super::list::{self, CountArgs, ListArgs};
use super::push::{self, PushArgs};
use super::reserve::{self, ReserveArgs};
use super::settle::{self, BuryArgs, FinishArgs, ReleaseArgs, TouchArgs};
use super::stats::{self, StatsArgs, TopicsArgs};
use super::topic::{self, PauseArgs, PeekArgs, ResumeArgs, TopicCommand};

/// Every client command; `adjourn --help` lists them after `serve` and `demo`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum ClientCommand {
    /// Push a job, or a job per line of standard input; prints the id
    Push(Box<PushArgs>),
    /// Reserve jobs; prints a JSON object per job
    Reserve(ReserveArgs),
    /// Say that reserved jobs are done: they are removed
    Finish(FinishArgs),
    /// Give reserved jobs back, to be attempted again
    Release(ReleaseArgs),
    /// Start the time to run of reserved jobs anew
    Touch(TouchArgs),
    /// Set reserved jobs aside until somebody kicks them
    Bury(BuryArgs),
    /// Show one job as a JSON object
    Get(GetArgs),
    /// Remove one job, whatever its state
    Delete(Box<DeleteArgs>),
    /// Give one job a new due time
    Reschedule(Box<RescheduleArgs>),
    /// Make one delayed job ready at once
    RunNow(Box<RunNowArgs>),
    /// Make one buried job ready
    Kick(Box<KickArgs>),
    /// Put jobs into another topic
    Move(Box<MoveArgs>),
    /// Stop the reserving of a topic's jobs
    Pause(PauseArgs),
    /// Start the reserving of a topic's jobs again
    Resume(ResumeArgs),
    /// Show the next job of a topic without reserving it
    Peek(PeekArgs),
    /// Clear or delete a topic
    #[command(subcommand)]
    Topic(TopicCommand),
    /// List jobs by topic, state, due time, key or attempts
    List(Box<ListArgs>),
    /// Count jobs by the same conditions
    Count(Box<CountArgs>),
    /// List the topics with their counts
    Topics(TopicsArgs),
    /// Show the counts of the whole queue, and by topic
    Stats(StatsArgs),
    /// List the clients that are connected to the node that leads
    Connections(ConnectionsArgs),
    /// Close the connection of a client
    Disconnect(DisconnectArgs),
    /// Look at the members of a cluster, and change who they are
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Measure a server: pushes, whole cycles, or how late jobs come
    Bench(BenchArgs),
}

/// Carries out one command.
pub(super) fn run(command: ClientCommand) -> Result<(), Failure> {
    match command {
        ClientCommand::Push(args) => push::run(&args),
        ClientCommand::Reserve(args) => reserve::run(args),
        ClientCommand::Finish(args) => settle::finish(args),
        ClientCommand::Release(args) => settle::release(args),
        ClientCommand::Touch(args) => settle::touch(args),
        ClientCommand::Bury(args) => settle::bury(args),
        ClientCommand::Get(args) => job::get(args),
        ClientCommand::Delete(args) => job::delete(*args),
        ClientCommand::Reschedule(args) => job::reschedule(*args),
        ClientCommand::RunNow(args) => job::run_now(*args),
        ClientCommand::Kick(args) => job::kick(*args),
        ClientCommand::Move(args) => bulk::move_jobs(&args),
        ClientCommand::Pause(args) => topic::pause(args),
        ClientCommand::Resume(args) => topic::resume(args),
        ClientCommand::Peek(args) => topic::peek(args),
        ClientCommand::Topic(command) => topic::run(command),
        ClientCommand::List(args) => list::list(&args),
        ClientCommand::Count(args) => list::count(&args),
        ClientCommand::Topics(args) => stats::topics(&args),
        ClientCommand::Stats(args) => stats::stats(&args),
        ClientCommand::Connections(args) => clients::connections(&args),
        ClientCommand::Disconnect(args) => clients::disconnect(&args),
        ClientCommand::Cluster(command) => cluster::run(command),
        ClientCommand::Bench(args) => bench::run(args),
    }
}
