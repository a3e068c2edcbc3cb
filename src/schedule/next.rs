//! `adjourn schedule next`: when a schedule would fire. It asks no server.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use super::choices::DstArg;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::usage::whole;
use adjourn_calendar::{Calendar, Recurrence, SYSTEM_ZONES, ZoneData};
use adjourn_json::values::{time_of_people, time_text};
use adjourn_types::Millis;

const NEXT_EXAMPLE: &str = "\
Prints each time in UTC and in the zone, and which zone data was used.

Example:
  adjourn schedule next '0 9 * * 1-5' --zone Europe/Berlin
  adjourn schedule next '@every 90m' --from 2027-03-28T00:00:00Z --count 3
  adjourn schedule next '30 2 * * *' --zone Europe/Berlin --dst literal
  adjourn schedule next '@at 2030-12-24T18:00:00Z 2030-12-31T23:00:00Z'";

/// What `adjourn schedule next` is told.
#[derive(Debug, Args)]
#[command(after_help = NEXT_EXAMPLE)]
pub(crate) struct NextArgs {
    /// A cron expression of five or six fields, @daily and the like, @every with a duration, or @at with times
    #[arg(value_name = "WHEN")]
    when: String,
    /// The time zone of a cron expression
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    zone: String,
    /// What happens to times that a change of the clocks skips or repeats
    #[arg(long, value_name = "MODE", value_enum, default_value = "vixie")]
    dst: DstArg,
    /// Show the times after this one; now if not given. An interval counts from it
    #[arg(long, value_name = "TIME", value_parser = time_of_people)]
    from: Option<Millis>,
    /// How many times to show
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole(1..=1000_u32))]
    count: u32,
}

/// Runs `adjourn schedule next`.
pub(super) fn run(args: &NextArgs) -> Result<(), Failure> {
    let usage = |error: &dyn std::error::Error| Failure::new(Exit::Usage, error.to_string());
    let from = args.from.unwrap_or_else(now);
    let zones = ZoneData::newest(Path::new(SYSTEM_ZONES));
    let calendar = Calendar {
        zone: zones.zone(&args.zone).map_err(|error| usage(&error))?,
        dst: args.dst.into(),
        ..Calendar::new(Recurrence::parse(&args.when, from).map_err(|error| usage(&error))?)
    };
    let firings: Vec<_> = calendar.preview(from, args.count as usize).collect();
    print(|out| {
        for firing in &firings {
            writeln!(out, "{}  {}", time_text(firing.at), firing.local)?;
        }
        writeln!(out, "zone data {zones}")
    })
}

/// The time of this machine.
#[expect(clippy::disallowed_methods, reason = "the command begins at the time of this machine")]
pub(super) fn now() -> Millis {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}
