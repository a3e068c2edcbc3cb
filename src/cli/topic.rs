//! `adjourn pause`, `resume` and `peek`: one topic.

use clap::Args;

use super::connection::{Leases, ServerArgs, not_found};
use super::exit::Failure;
use super::output::{print_json, report_json};
use crate::types::TopicName;

const PAUSE_EXAMPLE: &str = "\
Jobs can still be pushed and become ready; they are not delivered until `adjourn resume`.
A topic is created with its first job: before that there is nothing to pause, and the command ends with 3.

Example:
  adjourn pause emails";

/// What `adjourn pause` is told.
#[derive(Debug, Args)]
#[command(after_help = PAUSE_EXAMPLE)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    topic: TopicArgs,
}

const RESUME_EXAMPLE: &str = "\
Example:
  adjourn resume emails";

/// What `adjourn resume` is told.
#[derive(Debug, Args)]
#[command(after_help = RESUME_EXAMPLE)]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    topic: TopicArgs,
}

const PEEK_EXAMPLE: &str = "\
The next job is the first ready one, else the first delayed one. Ends with 3 if there is none.

Example:
  adjourn peek emails";

/// What `adjourn peek` is told.
#[derive(Debug, Args)]
#[command(after_help = PEEK_EXAMPLE)]
pub(super) struct PeekArgs {
    #[command(flatten)]
    topic: TopicArgs,
}

#[derive(Debug, Args)]
struct TopicArgs {
    /// The topic
    topic: TopicName,
    #[command(flatten)]
    server: ServerArgs,
}

/// Stops the reserving of a topic's jobs.
pub(super) fn pause(args: PauseArgs) -> Result<(), Failure> {
    let TopicArgs { topic, server } = args.topic;
    server.with_client(Leases::EndWithIt, async |client| client.pause(&topic).await)
}

/// Starts it again.
pub(super) fn resume(args: ResumeArgs) -> Result<(), Failure> {
    let TopicArgs { topic, server } = args.topic;
    server.with_client(Leases::EndWithIt, async |client| client.resume(&topic).await)
}

/// Shows the next job.
pub(super) fn peek(args: PeekArgs) -> Result<(), Failure> {
    let TopicArgs { topic, server } = args.topic;
    let report = server.with_client(Leases::EndWithIt, async |client| client.peek(&topic).await)?;
    print_json(&report_json(&report.ok_or_else(not_found)?))
}
