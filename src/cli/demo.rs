//! `adjourn demo`.

use super::exit::{Exit, Failure};

/// What `adjourn demo` is told.
#[derive(Debug, clap::Args)]
pub(super) struct DemoArgs {}

/// Carries it out.
pub(super) fn run(_args: DemoArgs) -> Result<(), Failure> {
    Err(Failure::new(Exit::Refused, "not in this build"))
}
