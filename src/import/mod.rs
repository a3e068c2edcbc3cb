//! `adjourn import`: takes over what another queue, or an export, has.

mod beanstalkd;
mod beanstalkd_client;
mod jsonl;
mod php_delayqueue;
mod progress;
mod rows;
mod sink;

use clap::Subcommand;

use self::beanstalkd::BeanstalkdArgs;
use self::jsonl::JsonlArgs;
use self::php_delayqueue::PhpDelayqueueArgs;
use crate::exit::Failure;

const EXAMPLES: &str = "\
Each command has a --dry-run. docs/migrate.md has a guide for each.

Example:
  adjourn import jsonl all.jsonl
  adjourn import beanstalkd 10.0.0.5:11300 --dry-run
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
    /// Topics of php-delayqueue: their call-backs, conditions, delays and retries
    #[command(after_help = php_delayqueue::EXAMPLES)]
    PhpDelayqueue(PhpDelayqueueArgs),
}

/// Runs a subcommand of `adjourn import`.
pub(super) fn run(command: ImportCommand) -> Result<(), Failure> {
    match command {
        ImportCommand::Jsonl(args) => jsonl::run(&args),
        ImportCommand::Beanstalkd(args) => beanstalkd::run(&args),
        ImportCommand::PhpDelayqueue(args) => php_delayqueue::run(&args),
    }
}
