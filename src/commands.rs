//! The commands that talk to a server. Each is one variant here; its arguments and its code are in the file of its
//! group beside this one.

use super::bench::{self, BenchArgs};
use super::clients::{self, ConnectionsArgs, DisconnectArgs};
use super::cluster::{self, ClusterCommand};
use super::exit::Failure;
use crate::jobs::bulk::{self, MoveArgs};
use crate::jobs::edit::{self, EditArgs};
use crate::jobs::export::{self, ExportArgs};
use crate::jobs::job::{self, DeleteArgs, GetArgs, KickArgs, RescheduleArgs, RunNowArgs};
use crate::jobs::list::{self, CountArgs, ListArgs};
use crate::jobs::push::{self, PushArgs};
use crate::jobs::reserve::{self, ReserveArgs};
use crate::jobs::settle::{self, BuryArgs, FinishArgs, ReleaseArgs, TouchArgs};
use crate::jobs::why::{self, WhyArgs};
use crate::topics::groups::{self, GroupCommand, GroupsArgs};
use crate::topics::stats::{self, StatsArgs, TopicsArgs};
use crate::topics::topic::{self, PauseArgs, PeekArgs, ResumeArgs, TopicCommand};

/// Every client command; `adjourn --help` lists them after `serve` and `demo`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum ClientCommand {
    /// Push a job, or a job per line of standard input; prints the id
    Push(Box<PushArgs>),
    /// Lease due jobs; prints a JSON object per job
    Reserve(ReserveArgs),
    /// Finish leased jobs: the work is done, and they are removed
    Finish(FinishArgs),
    /// Give leased jobs back, to be attempted again
    Release(ReleaseArgs),
    /// Extend leases: restart their time to run
    Touch(TouchArgs),
    /// Set leased jobs aside until they are kicked or deleted
    Bury(BuryArgs),
    /// Show one job as a JSON object
    Get(GetArgs),
    /// Remove a job in any state, or all jobs that match a filter
    Delete(Box<DeleteArgs>),
    /// Change the due time of a job, or of all jobs that match a filter
    Reschedule(Box<RescheduleArgs>),
    /// Change the body, priority or other parts of a job
    Edit(Box<EditArgs>),
    /// Make a delayed job ready at once, or all that match a filter
    RunNow(Box<RunNowArgs>),
    /// Make a buried job ready, or all that match a filter
    Kick(Box<KickArgs>),
    /// Move jobs to another topic
    Move(Box<MoveArgs>),
    /// Stop delivery of a topic's jobs
    Pause(PauseArgs),
    /// Restart delivery of a topic's jobs
    Resume(ResumeArgs),
    /// Show the next job of a topic without reserving it
    Peek(PeekArgs),
    /// Set or show a topic's policy; clear or delete a topic
    #[command(subcommand)]
    Topic(TopicCommand),
    /// List jobs by topic, state, due time, key or attempts
    List(Box<ListArgs>),
    /// Count jobs by the same filter
    Count(Box<CountArgs>),
    /// Write jobs as lines that `adjourn import jsonl` takes back
    Export(Box<ExportArgs>),
    /// Say why a job is not running, or why a topic gives no job
    Why(WhyArgs),
    /// List the groups of a topic's jobs
    Groups(GroupsArgs),
    /// Change the weight of a group, pause or resume it
    #[command(subcommand)]
    Group(GroupCommand),
    /// List the topics with their counts
    Topics(TopicsArgs),
    /// Show the counts of the whole queue, and by topic
    Stats(StatsArgs),
    /// List the clients that are connected to the leader
    Connections(ConnectionsArgs),
    /// Close the connection of a client
    Disconnect(DisconnectArgs),
    /// Show, add and remove the members of a cluster; transfer leadership
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Measure a server: pushes, whole cycles, lateness
    Bench(BenchArgs),
}

/// Runs one command.
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
        ClientCommand::Edit(args) => edit::run(*args),
        ClientCommand::RunNow(args) => job::run_now(*args),
        ClientCommand::Kick(args) => job::kick(*args),
        ClientCommand::Move(args) => bulk::move_jobs(&args),
        ClientCommand::Pause(args) => topic::pause(args),
        ClientCommand::Resume(args) => topic::resume(args),
        ClientCommand::Peek(args) => topic::peek(args),
        ClientCommand::Topic(command) => topic::run(command),
        ClientCommand::List(args) => list::list(&args),
        ClientCommand::Count(args) => list::count(&args),
        ClientCommand::Export(args) => export::run(&args),
        ClientCommand::Why(args) => why::run(args),
        ClientCommand::Groups(args) => groups::list(&args),
        ClientCommand::Group(command) => groups::run(command),
        ClientCommand::Topics(args) => stats::topics(&args),
        ClientCommand::Stats(args) => stats::stats(&args),
        ClientCommand::Connections(args) => clients::connections(&args),
        ClientCommand::Disconnect(args) => clients::disconnect(&args),
        ClientCommand::Cluster(command) => cluster::run(command),
        ClientCommand::Bench(args) => bench::run(args),
    }
}
