//! `adjourn schedule set`: creates a schedule, or replaces its settings.

use std::num::NonZeroU32;

use bytes::Bytes;
use clap::Args;
use serde::Serialize;

use super::arguments::ScheduleArgs;
use crate::connection::{ServerArgs, Session};
use crate::exit::{Exit, Failure};
use crate::jobs::push::body;
use crate::output::print_json;
use crate::usage::whole;
use adjourn_json::values::time_text;
use adjourn_protocol::{IfVersion, ScheduleSet, Scheduled};

const SET_EXAMPLE: &str = "\
Sets all of the schedule: what is not given has its default, also if the schedule had another value. Its history stays, and so does its \
next time if the new settings have it, too. A schedule that a user paused stays paused. Prints its id, its version, which grows with each set, and the next time.

Example:
  adjourn schedule set reports daily '0 9 * * 1-5' --zone Europe/Berlin --body daily
  adjourn schedule set shop poll '@every 90s' --missed none --overlap skip --expires-after 90s
  adjourn schedule set mails christmas '@at 2030-12-24T18:00:00Z' --missed-window 1d --body - < letter.txt
  adjourn schedule set reports daily '0 8 * * 1-5' --zone Europe/Berlin --body daily --if-version 1";

/// What `adjourn schedule set` is told.
#[derive(Debug, Args)]
#[command(after_help = SET_EXAMPLE)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    schedule: ScheduleArgs,
    /// Only if the schedule has this version
    #[arg(long, value_name = "N", value_parser = whole(1..=u32::MAX - 1), conflicts_with = "if_new")]
    if_version: Option<u32>,
    /// Only if there is no schedule of this name
    #[arg(long)]
    if_new: bool,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Serialize)]
struct ScheduledJson {
    id: u64,
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Runs `adjourn schedule set`.
pub(super) fn run(args: &SetArgs) -> Result<(), Failure> {
    let set = args.set()?;
    let Scheduled { schedule, version, next } =
        args.server.with_client(Session::None, async |client| client.set_schedule(set).await)?;
    print_json(&ScheduledJson { id: schedule.0, version, next: next.map(time_text) })
}

impl SetArgs {
    fn set(&self) -> Result<ScheduleSet, Failure> {
        let if_version = match self.if_version.and_then(NonZeroU32::new) {
            Some(version) => IfVersion::Is(version),
            None if self.if_new => IfVersion::New,
            None => IfVersion::Any,
        };
        let body = self.schedule.job.body.as_deref().map_or(Ok(Bytes::new()), body)?;
        let set = self.schedule.schedule(body).map_err(|error| Failure::new(Exit::Usage, error))?;
        Ok(ScheduleSet { if_version, ..set })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        set: SetArgs,
    }

    #[test]
    fn a_version_or_none_may_be_expected() {
        let set = |options: &[&str]| {
            let named = ["set", "reports", "daily", "@daily", "--body", "b"];
            let line = CommandLine::try_parse_from([&named, options].concat()).ok()?;
            line.set.set().ok()
        };
        let plain = set(&[]).expect("valid");
        assert_eq!((plain.if_version, &plain.template.body[..]), (IfVersion::Any, &b"b"[..]));
        let expected = [
            (&["--if-new"][..], Some(IfVersion::New)),
            (&["--if-version", "7"], NonZeroU32::new(7).map(IfVersion::Is)),
            (&["--if-version", "7", "--if-new"], None),
            (&["--if-version", "0"], None),
            (&["--if-version", "4294967295"], None),
        ];
        for (options, if_version) in expected {
            assert_eq!(set(options).map(|set| set.if_version), if_version, "{options:?}");
        }
    }
}
