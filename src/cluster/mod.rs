//! `adjourn cluster`: the members and their progress, and changes of the membership.
//!
//! `status` asks nodes one by one, whether or not they lead. The changes go to the leader, which gives the reason if
//! it refuses one.

mod status;

use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Serialize;
use tokio::time::{Instant, sleep};

use crate::connection::{ServerArgs, Session};
use crate::exit::{Exit, Failure};
use crate::output::{print, print_json};
use crate::usage::whole;
use adjourn_client::{Client, ClientError};
use adjourn_protocol::{ClusterReport, MemberReport, Role};
use adjourn_server::config::{HostPort, NODE_MAX};

const EXAMPLES: &str = "\
Examples:
  adjourn cluster status
  adjourn cluster add 10.0.0.2:7441 --wait
  adjourn cluster remove 3
  adjourn cluster transfer 2
  adjourn cluster step-down

Set --server (or ADJOURN_SERVER) to the address of any member, or to several separated by commas.";

/// What `adjourn cluster` can do.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum ClusterCommand {
    /// Show the members and their progress; any node answers, even without a leader
    Status(status::StatusArgs),
    /// Add a node that was started with `join`
    Add(AddArgs),
    /// Remove a member for good
    Remove(RemoveArgs),
    /// Transfer leadership to a member
    Transfer(TransferArgs),
    /// Transfer leadership to the member that is furthest in the log
    StepDown(StepDownArgs),
}

const ADD_EXAMPLE: &str = "\
Start the node first, with an empty data directory, a number of its own, and `join`. It receives the queue from the
leader and votes as soon as it has caught up; until then it does not count towards a majority.

Example:
  adjourn cluster add 10.0.0.2:7441
  adjourn cluster add 10.0.0.2:7441 --wait";

/// What `adjourn cluster add` is told.
#[derive(Debug, Args)]
#[command(after_help = ADD_EXAMPLE)]
pub(super) struct AddArgs {
    /// The node's peer address
    #[arg(value_name = "HOST:PORT")]
    peer_address: HostPort,
    /// Wait until it votes; retries for half a minute if the node does not answer yet
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    shown: ShownArgs,
}

const REMOVE_EXAMPLE: &str = "\
Its number cannot be used again. To reuse the machine, empty the data directory and add it under a number that was
never used. The leader cannot be removed: let it step down first.

Example:
  adjourn cluster remove 3";

/// What `adjourn cluster remove` is told.
#[derive(Debug, Args)]
#[command(after_help = REMOVE_EXAMPLE)]
pub(super) struct RemoveArgs {
    /// The member's number, as `adjourn cluster status` shows it
    #[arg(value_name = "NODE", value_parser = whole(1..=NODE_MAX))]
    node: u64,
    #[command(flatten)]
    shown: ShownArgs,
}

const TRANSFER_EXAMPLE: &str = "\
Clients follow by themselves. If the member does not take over within a moment, the leader continues to lead.

Example:
  adjourn cluster transfer 2";

/// What `adjourn cluster transfer` is told.
#[derive(Debug, Args)]
#[command(after_help = TRANSFER_EXAMPLE)]
pub(super) struct TransferArgs {
    /// The new leader
    #[arg(value_name = "NODE", value_parser = whole(1..=NODE_MAX))]
    node: u64,
    #[command(flatten)]
    shown: ShownArgs,
}

const STEP_DOWN_EXAMPLE: &str = "\
A node that gets SIGTERM does this by itself before it ends.

Example:
  adjourn cluster step-down";

/// What `adjourn cluster step-down` is told.
#[derive(Debug, Args)]
#[command(after_help = STEP_DOWN_EXAMPLE)]
pub(super) struct StepDownArgs {
    #[command(flatten)]
    shown: ShownArgs,
}

/// Which cluster, and how its answer is printed.
#[derive(Debug, Args)]
struct ShownArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// How often the cluster is asked whether a change is complete.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A node that is waited for must have started within this time.
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// A completed change of leadership shows within this number of checks.
const LOOKS_MAX: usize = 100;

/// Runs `adjourn cluster`.
pub(super) fn run(command: ClusterCommand) -> Result<(), Failure> {
    match command {
        ClusterCommand::Status(args) => status::run(&args),
        ClusterCommand::Add(args) => add(&args),
        ClusterCommand::Remove(args) => remove(&args),
        ClusterCommand::Transfer(args) => transfer(&args.shown, Some(args.node)),
        ClusterCommand::StepDown(args) => transfer(&args.shown, None),
    }
}

#[derive(Serialize)]
struct AddedJson {
    node: Option<u64>,
    role: Option<&'static str>,
}

#[derive(Serialize)]
struct RemovedJson {
    removed: u64,
}

#[derive(Serialize)]
struct LeaderJson {
    leader: Option<u64>,
}

fn add(args: &AddArgs) -> Result<(), Failure> {
    let address = &args.peer_address.0;
    let member = args.shown.change(async |client| {
        let before = client.cluster_status().await?;
        if args.wait {
            add_when_started(client, &before, address).await?;
        } else {
            client.cluster_add(address).await?;
        }
        loop {
            let now = client.cluster_status().await?;
            let member = added(&before, &now, address).cloned();
            if !args.wait || member.as_ref().is_some_and(|member| member.role != Role::Learner) {
                return Ok(member);
            }
            sleep(LOOK_EVERY).await;
        }
    })?;
    let json = AddedJson {
        node: member.as_ref().map(|member| member.node),
        role: member.as_ref().map(|member| adjourn_json::role_text(member.role)),
    };
    let text = match &member {
        Some(MemberReport { node, role: Role::Learner, .. }) => {
            format!("node {node} is a member; it votes when it has caught up: see `adjourn cluster status`")
        }
        Some(MemberReport { node, .. }) => format!("node {node} is a member and votes"),
        None => format!("the node at {address} is a member: see `adjourn cluster status`"),
    };
    args.shown.print(&json, &text)
}

/// Adds a node that may still be starting.
async fn add_when_started(client: &Client, before: &ClusterReport, address: &str) -> Result<(), ClientError> {
    let until = Instant::now() + STARTS_WITHIN;
    let mut is_in_doubt = false;
    loop {
        let Err(error) = client.cluster_add(address).await else { return Ok(()) };
        is_in_doubt |= error.outcome_unknown();
        if is_in_doubt && added(before, &client.cluster_status().await?, address).is_some() {
            return Ok(());
        }
        let ClientError::Refused(reply) = &error else { return Err(error) };
        if !reply.retryable() || Instant::now() >= until {
            return Err(error);
        }
        sleep(LOOK_EVERY.max(Duration::from_millis(reply.retry_after_ms.into()))).await;
    }
}

/// The new member; if there are several, the one with this address.
fn added<'a>(before: &ClusterReport, now: &'a ClusterReport, address: &str) -> Option<&'a MemberReport> {
    let is_new = |member: &&MemberReport| before.members.iter().all(|known| known.node != member.node);
    let mut new = now.members.iter().filter(is_new);
    new.clone().find(|member| member.peer_address == address).or_else(|| new.next())
}

fn remove(args: &RemoveArgs) -> Result<(), Failure> {
    let node = args.node;
    args.shown.change(async |client| client.cluster_remove(node).await)?;
    let text = format!("node {node} was removed, and its number cannot be used again");
    args.shown.print(&RemovedJson { removed: node }, &text)
}

fn transfer(shown: &ShownArgs, node: Option<u64>) -> Result<(), Failure> {
    let leader = shown.change(async |client| {
        client.cluster_transfer(node).await?;
        for _ in 0..LOOKS_MAX {
            let report = client.cluster_status().await?;
            // This may still be the old leader's view: only a report by the leader itself counts.
            if report.leader == Some(report.node) && node.is_none_or(|node| node == report.node) {
                return Ok(report.leader);
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(None)
    })?;
    let text = match leader {
        Some(leader) => format!("node {leader} leads"),
        None => "leadership moved: `adjourn cluster status` shows where it is".to_owned(),
    };
    shown.print(&LeaderJson { leader }, &text)
}

impl ShownArgs {
    /// Sends a change of the cluster.
    fn change<T>(&self, talk: impl AsyncFnOnce(&Client) -> Result<T, ClientError>) -> Result<T, Failure> {
        let mut lost = false;
        let done = self.server.with_client(Session::None, async |client| {
            let answer = talk(client).await;
            lost = answer.as_ref().is_err_and(ClientError::outcome_unknown);
            answer
        });
        done.map_err(|failure| if lost { in_doubt() } else { failure })
    }

    fn print(&self, json: &impl Serialize, text: &str) -> Result<(), Failure> {
        if self.json { print_json(json) } else { print(|out| writeln!(out, "{text}")) }
    }
}

/// The failure of a command that does not know whether its change was made.
fn in_doubt() -> Failure {
    let text = "the answer was lost: the change may or may not have been made. `adjourn cluster status` shows the \
                members and the leader";
    Failure::new(Exit::OutcomeUnknown, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_member_that_was_added_is_found_by_what_is_new() {
        let of = |nodes: &[(u64, &str)]| {
            let members = nodes.iter().map(|(node, address)| status::tests::member(*node, address));
            ClusterReport { members: members.collect(), ..status::tests::report() }
        };
        let (before, now) = (of(&[(1, "a:2")]), of(&[(1, "a:2"), (2, "b:2"), (3, "c:2")]));
        let found = |address| added(&before, &now, address).map(|member| member.node);
        assert_eq!([found("b:2"), found("c:2"), found("elsewhere:2")], [Some(2), Some(3), Some(2)]);
        assert_eq!(added(&now, &now, "a:2"), None);
    }
}
