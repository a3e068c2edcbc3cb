//! `adjourn recover`.

use super::exit::{Exit, Failure};

/// What `adjourn recover` is told.
#[derive(Debug, clap::Args)]
pub(super) struct RecoverArgs {}

/// Carries it out.
pub(super) fn run(_args: RecoverArgs) -> Result<(), Failure> {
    Err(Failure::new(Exit::Refused, "not in this build"))
}
