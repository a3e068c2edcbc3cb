//! One change to many jobs: `adjourn delete`, `reschedule`, `run-now` and `kick` with a filter in place of a job; `adjourn
//! move`.
//!
//! The jobs are counted first, then changed step by step, with the progress on standard error. A client that may change the
//! jobs but not read them gets no count. An interrupted command continues with `--cursor`; starting over is harmless, too.

use std::io::{IsTerminal as _, stderr};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::filter::FilterArgs;
use super::list::cursor;
use crate::connection::{ServerArgs, Session};
use crate::exit::{Exit, Failure};
use crate::output::{complain, print_json};
use adjourn_client::{Client, ClientError};
use adjourn_protocol::{Bulk, Change, ErrorCode};
use adjourn_types::limits::BULK_JOBS_MAX;
use adjourn_types::{Filter, Millis, TopicName};

/// Which jobs, and how.
#[derive(Debug, Args)]
pub(crate) struct BulkArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Count the jobs that would be changed, and change none
    #[arg(long, help_heading = "Which jobs")]
    dry_run: bool,
    /// Continue an interrupted command from its cursor
    #[arg(long, value_name = "CURSOR", value_parser = cursor, help_heading = "Which jobs")]
    cursor: Option<Bytes>,
}

/// The new due time, as given on the command line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    /// Milliseconds from now, by the server's clock.
    After(u64),
    /// At this time.
    At(Millis),
}

/// The change to make to each job.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Remove it.
    Delete,
    /// Make it ready, if it is buried.
    Kick,
    /// Make it ready, if it is delayed.
    RunNow,
    /// Give it a new due time.
    Reschedule(Due),
    /// Move it to this topic.
    Move(TopicName),
}

/// Counts of changed jobs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changes {
    /// The number of changed jobs.
    pub(crate) jobs: u64,
    /// The number of jobs that match and were left as they are: their state does not allow the change, or the target topic has
    /// their key.
    pub(crate) skipped: u64,
}

const MOVE_EXAMPLE: &str = "\
A job keeps its id, its state, its due time, its attempts and its reason. Reserved jobs are not moved, nor are jobs whose key
exists in the other topic. A new topic is created.

Example:
  adjourn move --topic orders --state buried --to orders-failed --dry-run";

/// What `adjourn move` is told.
#[derive(Debug, Args)]
#[command(after_help = MOVE_EXAMPLE)]
pub(crate) struct MoveArgs {
    /// The topic to which the jobs go
    #[arg(long, value_name = "TOPIC")]
    to: TopicName,
    #[command(flatten)]
    bulk: BulkArgs,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Serialize)]
struct BulkJson {
    /// The number of jobs that matched when they were counted, if the client may count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<u64>,
    /// The number of changed jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<u64>,
    /// The number of jobs that match and were left as they are: their state does not allow the change, or the target topic has
    /// their key.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<u64>,
}

/// Moves jobs to another topic.
pub(crate) fn move_jobs(args: &MoveArgs) -> Result<(), Failure> {
    if args.bulk.filter.filter().topic.as_ref() == Some(&args.to) {
        return Err(Failure::new(Exit::Usage, "--topic and --to are the same: name another topic"));
    }
    args.bulk.run(&args.server, Action::Move(args.to.clone()))
}

impl BulkArgs {
    /// True if jobs are selected by conditions.
    pub(crate) fn is_given(&self) -> bool {
        self.filter.filter() != Filter::default()
    }

    /// The topic, if that is the only condition.
    pub(crate) fn only_topic(&self) -> Option<TopicName> {
        let filter = self.filter.filter();
        let is_only = filter == Filter { topic: filter.topic.clone(), ..Filter::default() };
        filter.topic.filter(|_| is_only && !self.is_of_steps())
    }

    /// True if it says how the jobs are changed, which means nothing for a single one.
    pub(crate) fn is_of_steps(&self) -> bool {
        self.dry_run || self.cursor.is_some()
    }

    /// Changes the jobs.
    pub(crate) fn run(&self, server: &ServerArgs, action: Action) -> Result<(), Failure> {
        if !self.is_given() {
            let none = match action {
                Action::Move(_) => "say which jobs: --topic, --state, --due-before, --key-prefix ...",
                _ => "name a job, or say which jobs: --topic, --state, --due-before, --key-prefix ...",
            };
            return Err(Failure::new(Exit::Usage, none));
        }
        let filter = self.filter.filter();
        let (matched, done) = server.with_client(Session::None, async |client| {
            if self.dry_run {
                return Ok((Some(client.count(filter.clone()).await?), None));
            }
            let matched = count_if_allowed(client, filter.clone()).await?;
            let change = change(client, action).await?;
            let cursor = self.cursor.clone().unwrap_or_default();
            let bulk = Bulk { change, filter: filter.clone(), jobs_max: BULK_JOBS_MAX, cursor };
            Ok((matched, Some(all_steps(client, bulk, matched).await?)))
        })?;
        let changed = done.map(|done| done.jobs);
        let skipped = done.map(|done| done.skipped);
        print_json(&BulkJson { matched, changed, skipped })
    }
}

async fn change(client: &Client, action: Action) -> Result<Change, ClientError> {
    Ok(match action {
        Action::Delete => Change::Delete,
        Action::Kick => Change::Kick,
        Action::RunNow => Change::RunNow,
        Action::Move(to) => Change::Move { to },
        Action::Reschedule(Due::At(due)) => Change::Reschedule { due },
        Action::Reschedule(Due::After(delay_ms)) => {
            Change::Reschedule { due: client.ping().await?.after(delay_ms) }
        }
    })
}

/// Counts the jobs; `None` for a client that may change them but not read them.
pub(crate) async fn count_if_allowed(client: &Client, filter: Filter) -> Result<Option<u64>, ClientError> {
    match client.count(filter).await {
        Err(error) if error.code() == Some(ErrorCode::Forbidden) => Ok(None),
        counted => counted.map(Some),
    }
}

/// Does one step after the other until all are done.
pub(crate) async fn all_steps(
    client: &Client,
    mut bulk: Bulk,
    matched: Option<u64>,
) -> Result<Changes, ClientError> {
    let target =
        if stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template(match matched {
        Some(_) => "{bar:40} {human_pos}/{human_len} jobs, {eta} left",
        None => "{spinner} {human_pos} jobs",
    });
    let progress = ProgressBar::with_draw_target(matched, target);
    let progress = style.map(|style| progress.clone().with_style(style)).unwrap_or(progress);
    let mut changed = Changes::default();
    loop {
        let step = match client.bulk(bulk.clone()).await {
            Ok(step) => step,
            Err(error) => {
                progress.abandon();
                if !bulk.cursor.is_empty() {
                    let cursor = URL_SAFE_NO_PAD.encode(&bulk.cursor);
                    complain(format_args!(
                        "{} jobs were changed; continue with --cursor \"{cursor}\"",
                        changed.jobs
                    ));
                }
                return Err(error);
            }
        };
        changed.jobs += u64::from(step.jobs);
        changed.skipped += u64::from(step.skipped);
        progress.set_position(changed.jobs + changed.skipped);
        bulk.cursor = step.cursor;
        if bulk.cursor.is_empty() {
            progress.finish_and_clear();
            return Ok(changed);
        }
    }
}
