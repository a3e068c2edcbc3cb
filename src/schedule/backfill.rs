//! `adjourn schedule backfill`: jobs for the times that a schedule had while it was not there.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use tokio::time::sleep;

use super::arguments::name;
use crate::connection::{ServerArgs, Session};
use crate::exit::{Exit, Failure};
use crate::output::print;
use adjourn_calendar::{BACKFILL_MAX, Calendar, SYSTEM_ZONES, ZoneData};
use adjourn_client::{Client, ClientError};
use adjourn_json::values::time_of_people;
use adjourn_protocol::backfill::{Filled, pushes};
use adjourn_protocol::{ErrorCode, NewJob, PushResult};
use adjourn_types::{Millis, TopicName};

const BACKFILL_EXAMPLE: &str = "\
Pushes a job for each time of the schedule from --from to --to, due now. If the topic has a job with the key of such a time, that one stays. \
These are jobs like any others: the history of the schedule does not show them, and they do not overlap with its own. \
The times are those of the zone data of this machine.

Example:
  adjourn schedule backfill reports daily --from 2024-11-04T00:00:00Z --to 2024-11-11T00:00:00Z --dry-run
  adjourn schedule backfill reports daily --from 2024-11-04T00:00:00Z --to 2024-11-11T00:00:00Z";

/// What `adjourn schedule backfill` is told.
#[derive(Debug, Args)]
#[command(after_help = BACKFILL_EXAMPLE)]
pub(crate) struct BackfillArgs {
    /// The topic of its jobs
    topic: TopicName,
    /// Its name
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// The first time that counts
    #[arg(long, value_name = "TIME", value_parser = time_of_people)]
    from: Millis,
    /// The last time that counts; it must not be ahead
    #[arg(long, value_name = "TIME", value_parser = time_of_people)]
    to: Millis,
    /// Push nothing, and print how many times there are
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `adjourn schedule backfill`.
pub(super) fn run(args: &BackfillArgs) -> Result<(), Failure> {
    let BackfillArgs { topic, name, from, to, dry_run, server } = args;
    let usage = |text: String| Failure::new(Exit::Usage, text);
    if from > to {
        return Err(usage("--to is before --from: exchange them".to_owned()));
    }
    let report = server.with_client(Session::None, async |client| {
        // The server's clock counts.
        if *to > client.ping().await? {
            return Ok(None);
        }
        client.schedule(topic, name).await.map(Some)
    })?;
    let ahead = || usage("--to is ahead: the schedule fires what is ahead by itself".to_owned());
    let report = report.ok_or_else(ahead)?;
    if report.rules.key.is_some() {
        let text =
            "all jobs of this schedule have one key, so that only one can be there: push a job yourself";
        return Err(Failure::new(Exit::Refused, text.to_owned()));
    }
    let zones = ZoneData::newest(Path::new(SYSTEM_ZONES));
    let calendar =
        Calendar::of_rules(&report.rules, *from, &zones).map_err(|error| usage(error.to_string()))?;
    let times = calendar.to_fill(*from, *to).ok_or_else(|| {
        usage(format!(
            "the schedule has more than {BACKFILL_MAX} times from --from to --to: fill a shorter one"
        ))
    })?;
    if *dry_run {
        return print(|out| writeln!(out, "times {}", times.len()));
    }
    let mut filled = Filled::default();
    let ended = server.with_client(Session::None, async |client| {
        for (_, jobs) in pushes(&report, name, &times) {
            filled.count(&push(client, topic, jobs).await?);
        }
        Ok(())
    });
    let Filled { pushed, kept, refused } = filled;
    // Before an error, too: what was pushed stays.
    print(|out| {
        let times = times.len();
        writeln!(out, "times {times}, pushed {pushed}, there already {kept}, refused {refused}")
    })?;
    ended?;
    if refused > 0 {
        let text = "the topic's policy, or a limit of the queue, does not allow the refused jobs: run it again when it does, what is there stays";
        return Err(Failure::new(Exit::Refused, text.to_owned()));
    }
    Ok(())
}

/// Pushes jobs, as soon as a limit of the token allows it.
async fn push(client: &Client, topic: &TopicName, jobs: Vec<NewJob>) -> Result<Vec<PushResult>, ClientError> {
    loop {
        match client.push(topic, jobs.clone()).await {
            Err(ClientError::Refused(reply)) if reply.code == ErrorCode::Busy => {
                sleep(Duration::from_millis(reply.retry_after_ms.max(1).into())).await;
            }
            ended => return ended,
        }
    }
}
