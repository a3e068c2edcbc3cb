//! `adjourn alerts`: tries out a file of alerts before a server reads it.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::exit::{Exit, Failure};
use super::output::print;
use super::serve::runtime;

const EXAMPLES: &str = "\
Examples:
  adjourn alerts test
  adjourn alerts test --file /etc/adjourn/alerts.toml --to chat
  adjourn serve --alerts-file alerts.toml

docs/alerts.md says what the file has. A server reads it again within five seconds of a change.";

/// Try out the alerts that a server sends.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum AlertsCommand {
    /// Check the file and send a test message to its targets
    #[command(after_help = EXAMPLES)]
    Test(TestArgs),
}

/// What `adjourn alerts test` is told.
#[derive(Debug, Args)]
pub(super) struct TestArgs {
    /// File of the alerts
    #[arg(long = "file", env = "ADJOURN_ALERTS_FILE", value_name = "FILE", default_value = "alerts.toml")]
    path: PathBuf,
    /// Only this target; repeat it for several
    #[arg(long = "to", value_name = "TARGET")]
    targets: Vec<String>,
}

pub(super) fn run(command: AlertsCommand) -> Result<(), Failure> {
    let AlertsCommand::Test(TestArgs { path, targets }) = command;
    let tested = runtime(1)?
        .block_on(adjourn_alerts::test(&path, &targets))
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    print(|out| {
        if tested.is_empty() {
            writeln!(out, "{}: no targets", path.display())?;
        }
        tested.iter().try_for_each(|test| match &test.outcome {
            Ok(()) => writeln!(out, "{}: accepted", test.target),
            Err(error) => writeln!(out, "{}: {error}", test.target),
        })
    })?;
    let failed = tested.iter().filter(|test| test.outcome.is_err()).count();
    match failed {
        0 => Ok(()),
        _ => Err(Failure::new(
            Exit::Unreachable,
            format_args!("{failed} of {} targets did not accept the message", tested.len()),
        )),
    }
}
