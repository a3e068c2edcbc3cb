//! `adjourn pause`, `resume`, `peek` and `topic`: one topic.

use std::time::Duration;

use bytes::Bytes;
use clap::{Args, Subcommand};
use serde::Serialize;

use super::policy::{self, SetArgs, ShowArgs};
use crate::connection::{ServerArgs, Session, not_found};
use crate::exit::Failure;
use crate::jobs::bulk::{all_steps, count_if_allowed};
use crate::output::print_json;
use adjourn_client::{Client, ClientError};
use adjourn_json::JobJson;
use adjourn_json::values::{ValueError, duration_within};
use adjourn_protocol::{Bulk, Change, ErrorCode};
use adjourn_types::limits::{BULK_JOBS_MAX, DELAY_MS_MAX};
use adjourn_types::{Filter, States, TopicName};

const PAUSE_EXAMPLE: &str = "\
Jobs can still be pushed and become ready; they are not delivered until `adjourn resume`, or until the time of --for is over.
A topic is created with its first job: before that there is nothing to pause, and the command ends with 3.

Examples:
  adjourn pause emails
  adjourn pause emails --for 10m";

/// What `adjourn pause` is told.
#[derive(Debug, Args)]
#[command(after_help = PAUSE_EXAMPLE)]
pub(crate) struct PauseArgs {
    /// End the pause after this time; of a paused topic, too
    #[arg(long = "for", value_name = "DURATION", value_parser = pause_ms)]
    for_ms: Option<u64>,
    #[command(flatten)]
    topic: TopicArgs,
}

const RESUME_EXAMPLE: &str = "\
Example:
  adjourn resume emails";

/// What `adjourn resume` is told.
#[derive(Debug, Args)]
#[command(after_help = RESUME_EXAMPLE)]
pub(crate) struct ResumeArgs {
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
pub(crate) struct PeekArgs {
    #[command(flatten)]
    topic: TopicArgs,
}

const TOPIC_EXAMPLES: &str = "\
Examples:
  adjourn topic set callbacks --attempts-max 6 --backoff 10s,30s,60s,2m,5m --dead-letters failed-callbacks
  adjourn topic show callbacks
  adjourn topic clear callbacks";

/// `adjourn topic`.
#[derive(Debug, Subcommand)]
#[command(after_help = TOPIC_EXAMPLES)]
pub(crate) enum TopicCommand {
    /// Change a topic's policy: its defaults, limits and call-backs
    Set(Box<SetArgs>),
    /// Show a topic's policy
    Show(ShowArgs),
    /// Delete all jobs of a topic
    Clear(ClearArgs),
    /// Delete a topic that has no jobs, with its settings: its name is free at once
    Delete(DeleteArgs),
}

const CLEAR_EXAMPLE: &str = "\
Deletes the jobs step by step, including reserved ones. If it is interrupted, call it again to continue. Prints how many jobs there were
and how many were deleted.

Example:
  adjourn topic clear emails";

/// What `adjourn topic clear` is told.
#[derive(Debug, Args)]
#[command(after_help = CLEAR_EXAMPLE)]
pub(crate) struct ClearArgs {
    #[command(flatten)]
    topic: TopicArgs,
}

const DELETE_EXAMPLE: &str = "\
An empty topic is deleted some time later anyway; this command frees its name now, and ends a pause. Ends with 3 if there is no such
topic.

Example:
  adjourn topic delete emails
  adjourn topic delete emails --force";

/// What `adjourn topic delete` is told.
#[derive(Debug, Args)]
#[command(after_help = DELETE_EXAMPLE)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    topic: TopicArgs,
    /// Delete its jobs first, as `adjourn topic clear` does
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Serialize)]
struct ClearedJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<u64>,
    deleted: u64,
}

/// If jobs are pushed meanwhile, a topic is cleared at most this often before it is deleted.
const CLEARED_MAX: usize = 5;

#[derive(Debug, Args)]
struct TopicArgs {
    /// The topic
    topic: TopicName,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `adjourn pause`.
pub(crate) fn pause(args: PauseArgs) -> Result<(), Failure> {
    let TopicArgs { topic, server } = args.topic;
    server.with_client(Session::None, async |client| match args.for_ms {
        Some(for_ms) => client.pause_for(&topic, Duration::from_millis(for_ms)).await,
        None => client.pause(&topic).await,
    })
}

/// Parses how long a pause lasts.
fn pause_ms(text: &str) -> Result<u64, ValueError> {
    duration_within(text, 1..=DELAY_MS_MAX)
}

/// Runs `adjourn resume`.
pub(crate) fn resume(args: ResumeArgs) -> Result<(), Failure> {
    let TopicArgs { topic, server } = args.topic;
    server.with_client(Session::None, async |client| client.resume(&topic).await)
}

/// Runs a subcommand of `adjourn topic`.
pub(crate) fn run(command: TopicCommand) -> Result<(), Failure> {
    match command {
        TopicCommand::Set(args) => policy::set(&args),
        TopicCommand::Show(args) => policy::show(&args),
        TopicCommand::Clear(args) => {
            let TopicArgs { topic, server } = args.topic;
            let cleared = server.with_client(Session::None, async |client| clear(client, &topic).await)?;
            print_json(&cleared)
        }
        TopicCommand::Delete(args) => {
            let TopicArgs { topic, server } = args.topic;
            server.with_client(Session::None, async |client| delete(client, &topic, args.force).await)
        }
    }
}

async fn clear(client: &Client, topic: &TopicName) -> Result<ClearedJson, ClientError> {
    let filter = Filter { topic: Some(topic.clone()), states: States::WITH_FINISHED, ..Filter::default() };
    let matched = count_if_allowed(client, filter.clone()).await?;
    let bulk = Bulk { change: Change::Delete, filter, jobs_max: BULK_JOBS_MAX, cursor: Bytes::new() };
    let deleted = all_steps(client, bulk, matched).await?.jobs;
    Ok(ClearedJson { matched, deleted })
}

async fn delete(client: &Client, topic: &TopicName, force: bool) -> Result<(), ClientError> {
    for _ in 0..if force { CLEARED_MAX } else { 0 } {
        clear(client, topic).await?;
        match client.delete_topic(topic).await {
            Err(error) if error.code() == Some(ErrorCode::WrongState) => {}
            other => return other,
        }
    }
    client.delete_topic(topic).await
}

/// Runs `adjourn peek`.
pub(crate) fn peek(args: PeekArgs) -> Result<(), Failure> {
    let TopicArgs { topic, server } = args.topic;
    let report = server.with_client(Session::None, async |client| client.peek(&topic).await)?;
    print_json(&JobJson::of(&report.ok_or_else(not_found)?, true))
}
