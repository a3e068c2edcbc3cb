//! `adjourn import`: takes over what another queue, or an export, has.

mod beanstalkd;
mod beanstalkd_client;
mod jsonl;
mod numbers;
mod part;
mod php_delayqueue;
mod progress;
mod redis;
mod rows;
mod sink;

use clap::Subcommand;
use indicatif::{ProgressBar, ProgressStyle};

use self::beanstalkd::BeanstalkdArgs;
use self::jsonl::JsonlArgs;
use self::php_delayqueue::PhpDelayqueueArgs;
use self::redis::RedisArgs;
use crate::exit::Failure;

const EXAMPLES: &str = "\
Each command has a --dry-run. docs/migrate.md has a guide for each.

Example:
  adjourn import jsonl all.jsonl
  adjourn import beanstalkd 10.0.0.5:11300 --dry-run
  adjourn import redis redis://10.0.0.5/0 --laravel --dry-run
  adjourn import php-delayqueue topics.sql";

/// Take over the jobs or the topics of another queue.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum ImportCommand {
    /// Jobs of an export: see `adjourn export`
    #[command(after_help = jsonl::EXAMPLES)]
    Jsonl(JsonlArgs),
    /// Jobs of beanstalkd: its tubes are emptied
    #[command(after_help = beanstalkd::EXAMPLES)]
    Beanstalkd(BeanstalkdArgs),
    /// Jobs that an older queue keeps in Redis: a sorted set, Laravel, BullMQ, php-delayqueue, ouqiang's
    #[command(after_help = redis::EXAMPLES)]
    Redis(Box<RedisArgs>),
    /// Topics of php-delayqueue: their call-backs, conditions, delays and retries
    #[command(after_help = php_delayqueue::EXAMPLES)]
    PhpDelayqueue(PhpDelayqueueArgs),
}

/// Runs a subcommand of `adjourn import`.
pub(super) fn run(command: ImportCommand) -> Result<(), Failure> {
    match command {
        ImportCommand::Jsonl(args) => jsonl::run(&args),
        ImportCommand::Beanstalkd(args) => beanstalkd::run(&args),
        ImportCommand::Redis(args) => redis::run(&args),
        ImportCommand::PhpDelayqueue(args) => php_delayqueue::run(&args),
    }
}

/// Counts jobs while they are taken.
fn progress_bar() -> ProgressBar {
    match ProgressStyle::with_template("{spinner} {pos} jobs, {per_sec}, {elapsed}") {
        Ok(style) => ProgressBar::new_spinner().with_style(style),
        Err(_) => ProgressBar::hidden(),
    }
}
