//! The commands that talk to a server. Each is one variant here and one file beside this one.

use super::exit::Failure;

/// Every client command; `adjourn --help` lists them after `serve` and `demo`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum ClientCommand {}

/// Carries out one command.
pub(super) fn run(command: ClientCommand) -> Result<(), Failure> {
    match command {}
}
