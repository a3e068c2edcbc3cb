//! `adjourn finish`, `release`, `touch` and `bury`: settles leased jobs, or extends their leases.
//!
//! Each takes leases as `adjourn reserve` prints them, prints nothing on success, and prints the reason for each
//! lease that was refused. A lease is valid in any process until its deadline.

use clap::Args;

use crate::connection::{ServerArgs, Session, exit_of, refusal_text};
use crate::exit::Failure;
use adjourn_client::{Client, ClientError};
use adjourn_json::values::{delay_ms, reason, ttr_ms};
use adjourn_protocol::{ErrorCode, ReleaseKind, SettleResult};
use adjourn_types::Lease;

const FINISH_EXAMPLE: &str = "\
Example:
  adjourn finish 42-7
  adjourn reserve emails --max 100 | jq -r .lease | xargs adjourn finish";

/// What `adjourn finish` is told.
#[derive(Debug, Args)]
#[command(after_help = FINISH_EXAMPLE)]
pub(crate) struct FinishArgs {
    #[command(flatten)]
    leases: LeaseArgs,
}

const RELEASE_EXAMPLE: &str = "\
Without --delay the job follows its backoff: its own, or that of its topic or of the server. With --delay 0s it is ready at once, behind
all jobs that are ready.

Example:
  adjourn release 42-7 --delay 30s --reason \"the shop does not answer\"
  adjourn release 42-7 --not-started";

/// What `adjourn release` is told.
#[derive(Debug, Args)]
#[command(after_help = RELEASE_EXAMPLE)]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    leases: LeaseArgs,
    /// Delay before the next attempt, for example 30s; the job's backoff if not given
    #[arg(long, value_name = "DURATION", value_parser = delay_ms)]
    delay: Option<u64>,
    /// The work was not started: no attempt is counted, and the job is ready at once
    #[arg(long, conflicts_with = "delay")]
    not_started: bool,
    /// Why; `adjourn get` shows it until another reason is given
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    reason: Option<String>,
}

const TOUCH_EXAMPLE: &str = "\
Example:
  adjourn touch 42-7
  adjourn touch 42-7 --ttr 5m";

/// What `adjourn touch` is told.
#[derive(Debug, Args)]
#[command(after_help = TOUCH_EXAMPLE)]
pub(crate) struct TouchArgs {
    #[command(flatten)]
    leases: LeaseArgs,
    /// The new time to run, counted from now, for example 5m; the job's own if not given
    #[arg(long, value_name = "DURATION", value_parser = ttr_ms)]
    ttr: Option<u32>,
}

const BURY_EXAMPLE: &str = "\
A buried job stays until `adjourn kick` or `adjourn delete`.

Example:
  adjourn bury 42-7 --reason \"the address does not exist\"";

/// What `adjourn bury` is told.
#[derive(Debug, Args)]
#[command(after_help = BURY_EXAMPLE)]
pub(crate) struct BuryArgs {
    #[command(flatten)]
    leases: LeaseArgs,
    /// Why; `adjourn get` shows it until another reason is given
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    reason: Option<String>,
}

#[derive(Debug, Args)]
struct LeaseArgs {
    /// The lease as `adjourn reserve` prints it, for example 42-7
    #[arg(value_name = "LEASE", required = true)]
    leases: Vec<Lease>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `adjourn finish`.
pub(crate) fn finish(args: FinishArgs) -> Result<(), Failure> {
    args.leases.settle(async |client, leases| client.finish(leases).await)
}

/// Runs `adjourn release`.
pub(crate) fn release(args: ReleaseArgs) -> Result<(), Failure> {
    let kind = match args.delay {
        Some(delay_ms) => ReleaseKind::After(delay_ms),
        None if args.not_started => ReleaseKind::NotStarted,
        None => ReleaseKind::Backoff,
    };
    let reason = args.reason.unwrap_or_default();
    args.leases.settle(async |client, leases| client.release_because(leases, kind, &reason).await)
}

/// Runs `adjourn touch`.
pub(crate) fn touch(args: TouchArgs) -> Result<(), Failure> {
    args.leases.settle(async |client, leases| client.touch(leases, args.ttr).await)
}

/// Runs `adjourn bury`.
pub(crate) fn bury(args: BuryArgs) -> Result<(), Failure> {
    let reason = args.reason.unwrap_or_default();
    args.leases.settle(async |client, leases| client.bury_because(leases, &reason).await)
}

impl LeaseArgs {
    /// Sends all leases in one request and collects the refused ones.
    fn settle(
        self,
        request: impl AsyncFnOnce(&Client, Vec<Lease>) -> Result<Vec<SettleResult>, ClientError>,
    ) -> Result<(), Failure> {
        let Self { leases, server } = self;
        let results =
            server.with_client(Session::None, async |client| request(client, leases.clone()).await)?;
        let outcomes = leases.into_iter().zip(results);
        refused(&outcomes.filter_map(|(lease, result)| Some((lease, result.err()?))).collect::<Vec<_>>())
    }
}

/// The failure with every refused lease, if there is one.
fn refused(refusals: &[(Lease, ErrorCode)]) -> Result<(), Failure> {
    let Some((_, first)) = refusals.first() else { return Ok(()) };
    let lines: Vec<String> =
        refusals.iter().map(|(lease, code)| format!("{lease}: {}", refusal_text(*code))).collect();
    Err(Failure::new(exit_of(*first), lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use adjourn_types::{Fence, JobId};

    #[test]
    fn every_refused_lease_is_named() {
        assert!(refused(&[]).is_ok());
        let lease = |job| Lease { job: JobId(job), fence: Fence(7) };
        let refusals = [(lease(1), ErrorCode::StaleLease), (lease(2), ErrorCode::Busy)];
        let failure = refused(&refusals).expect_err("refused");
        assert_eq!(failure.exit, Exit::Refused);
        let lines: Vec<&str> = failure.message.lines().collect();
        let [one, two] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(one.starts_with("1-7: STALE_LEASE") && two.starts_with("2-7: BUSY"), "{lines:?}");
    }
}
