//! The command line: the root of `adjourn`, and the dispatch of its subcommands.
//!
//! `serve`, `demo`, `recover`, `inspect` and `restore` run a node or work on its directory, `backup` on a file; all
//! other commands are clients and are in [`commands`]. Nothing here makes decisions about jobs: it reads arguments
//! and prints answers.

// They panic when their reader has gone: what a command prints goes through `output`.
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod alerts;
mod backup;
mod bench;
mod cert;
mod clients;
mod cluster;
mod commands;
mod connection;
mod demo;
mod draw_id;
mod exit;
mod import;
mod in_flight;
mod inspect;
mod jobs;
mod output;
mod recover;
mod replace;
mod restore;
mod schedule;
mod serve;
mod token;
mod topics;
mod usage;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub use exit::{EXIT_CODES_HELP, Exit, Failure};

/// A persistent delay queue: push a job with a due time; when it comes, one consumer holds the job.
#[derive(Debug, Parser)]
#[command(name = "adjourn", version, after_help = EXIT_CODES_HELP, propagate_version = true)]
struct Root {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a node until it gets SIGTERM or SIGINT
    Serve(Box<serve::ServeArgs>),
    /// Start a node, push three jobs, watch them arrive, and keep serving
    Demo(demo::DemoArgs),
    /// Start again from a log that ends too early, and accept the loss
    Recover(recover::RecoverArgs),
    /// Show and verify the data directory of a stopped node, read-only
    Inspect(inspect::InspectArgs),
    /// Take, verify or inspect a backup; the queue keeps serving
    #[command(subcommand)]
    Backup(backup::BackupCommand),
    /// Create a data directory from a backup
    Restore(restore::RestoreArgs),
    /// Make a CA and certificates for TLS
    #[command(subcommand)]
    Cert(cert::CertCommand),
    /// Set, show and run schedules, which push jobs at the times of a calendar
    #[command(subcommand)]
    Schedule(schedule::ScheduleCommand),
    /// Create, list and revoke the tokens that clients show
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Try out the alerts that a server sends
    #[command(subcommand)]
    Alerts(alerts::AlertsCommand),
    /// Take over jobs of an export, beanstalkd or Redis, or topics of php-delayqueue
    #[command(subcommand)]
    Import(import::ImportCommand),
    #[command(flatten)]
    Client(commands::ClientCommand),
}

/// Parses the command line, runs the command and returns its exit code.
pub fn main() -> ExitCode {
    let mut command = usage::prepared(Root::command());
    let outcome = read_arguments(&mut command).and_then(|root| run(root, &command));
    match outcome {
        Ok(()) => Exit::Done.into(),
        Err(failure) => {
            output::complain(format_args!("adjourn: {failure}"));
            failure.exit.into()
        }
    }
}

/// What the command line asks for. A help, a version and most mistakes end the process here: mistakes with 2, as
/// `Exit::Usage` does.
fn read_arguments(command: &mut clap::Command) -> Result<Root, Failure> {
    let read = command.try_get_matches_from_mut(std::env::args_os());
    read.and_then(|found| Root::from_arg_matches(&found)).map_err(|error| usage::answer(command, error))
}

fn run(root: Root, command: &clap::Command) -> Result<(), Failure> {
    let remarks = usage::unknown_variables(command);
    if !matches!(root.command, Command::Serve(_)) {
        for remark in &remarks {
            output::complain(format_args!("adjourn: warning: {remark}"));
        }
    }
    match root.command {
        Command::Serve(args) => serve::run(*args, &remarks),
        Command::Demo(args) => demo::run(args),
        Command::Recover(args) => recover::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Backup(command) => backup::run(command),
        Command::Restore(args) => restore::run(&args),
        Command::Cert(command) => cert::run(command),
        Command::Schedule(command) => schedule::run(command),
        Command::Token(command) => token::run(command),
        Command::Alerts(command) => alerts::run(command),
        Command::Import(command) => import::run(command),
        Command::Client(command) => commands::run(command),
    }
}
