//! `adjourn schedule backfill`: jobs for the times that a schedule had while it was not there.

use std::time::Duration;

use clap::Args;
use tokio::time::sleep;

use super::arguments::name;
use crate::connection::{ServerArgs, Session};
use crate::exit::{Exit, Failure};
use crate::output::{complain, print};
use adjourn_client::{Client, ClientError};
use adjourn_json::values::{time_of_people, time_text};
use adjourn_protocol::{BACKFILL_MAX, Backfill, ErrorCode, ScheduleFill, ScheduleFilled};
use adjourn_types::{Millis, TopicName};

const BACKFILL_EXAMPLE: &str = "\
Pushes a job for each time of the schedule from --from to --to, due now. If the topic has a job with the key of such a time, that one stays. \
These are jobs like any others: the history of the schedule does not show them, and they do not overlap with its own.

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
    let time = |is_dry_run| ScheduleFill {
        topic: topic.clone(),
        name: name.clone(),
        from: *from,
        to: *to,
        is_dry_run,
    };
    let counted = server.with_client(Session::None, async |client| {
        let mut counted = Backfill::new(time(true));
        while let Some(part) = counted.next().filter(|_| !counted.is_too_long()) {
            counted.note(&client.fill_schedule(part.clone()).await?);
        }
        Ok(counted)
    })?;
    if counted.is_too_long() {
        let text = format!(
            "the schedule has more than {BACKFILL_MAX} times from --from to --to: fill a shorter one"
        );
        return Err(usage(text));
    }
    if *dry_run {
        return print(|out| writeln!(out, "times {}", counted.instants));
    }
    let mut filled = Backfill::new(time(false));
    let ended = server.with_client(Session::None, async |client| {
        // The schedule may be another one by now.
        while let Some(part) = filled.next().filter(|_| !filled.is_too_long()) {
            filled.note(&fill(client, part).await?);
        }
        Ok(())
    });
    let rest = filled.next().filter(|_| filled.instants > 0).map(|rest| rest.from);
    let Backfill { pushed, kept, refused, .. } = filled;
    // Before an error, too: what was pushed stays.
    print(|out| {
        let times = counted.instants;
        writeln!(out, "times {times}, pushed {pushed}, there already {kept}, refused {refused}")
    })?;
    if let Some(rest) = rest {
        complain(format_args!("go on with --from {}: what comes before is done", time_text(rest)));
    }
    ended?;
    if refused > 0 {
        let text = "the topic's policy, or a limit of the queue, does not allow the refused jobs: run it again when it does, what is there stays";
        return Err(Failure::new(Exit::Refused, text.to_owned()));
    }
    Ok(())
}

/// Fills a part, as soon as a limit allows it.
async fn fill(client: &Client, part: &ScheduleFill) -> Result<ScheduleFilled, ClientError> {
    loop {
        match client.fill_schedule(part.clone()).await {
            Err(ClientError::Refused(reply)) if reply.code == ErrorCode::Busy => {
                sleep(Duration::from_millis(reply.retry_after_ms.max(1).into())).await;
            }
            ended => return ended,
        }
    }
}
