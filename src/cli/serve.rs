//! `adjourn serve`.

use super::exit::{Exit, Failure};

/// What `adjourn serve` is told.
#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {}

/// Carries it out.
pub(super) fn run(_args: ServeArgs) -> Result<(), Failure> {
    Err(Failure::new(Exit::Refused, "not in this build"))
}
