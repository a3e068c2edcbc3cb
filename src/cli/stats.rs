//! `adjourn topics` and `adjourn stats`: counts, as a table for people or as JSON for scripts.

use clap::Args;

use super::connection::{Leases, ServerArgs};
use super::exit::Failure;
use super::output::{print, stats_json, stats_table, topic_json, topics_table, write_json};

const TOPICS_EXAMPLE: &str = "\
Example:
  adjourn topics
  adjourn topics --json | jq -r 'select(.buried > 0) | .topic'";

/// What `adjourn topics` is told.
#[derive(Debug, Args)]
#[command(after_help = TOPICS_EXAMPLE)]
pub(super) struct TopicsArgs {
    /// Print a JSON object per topic
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

const STATS_EXAMPLE: &str = "\
The JSON object has the totals at the top level: delayed, ready, reserved, buried (jobs now); pushed, \
finished, deleted, expired (jobs so far); oldest_ready_ms (time since the oldest ready job was due). \
`topics` has the same totals for each topic.

Example:
  adjourn stats
  adjourn stats --json | jq .oldest_ready_ms";

/// What `adjourn stats` is told.
#[derive(Debug, Args)]
#[command(after_help = STATS_EXAMPLE)]
pub(super) struct StatsArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Lists the topics.
pub(super) fn topics(args: &TopicsArgs) -> Result<(), Failure> {
    let topics = args.server.with_client(Leases::EndWithIt, async |client| client.topics().await)?;
    print(|out| {
        if !args.json {
            return out.write_all(topics_table(&topics).as_bytes());
        }
        topics.iter().try_for_each(|topic| write_json(out, &topic_json(topic)))
    })
}

/// Shows the counts.
pub(super) fn stats(args: &StatsArgs) -> Result<(), Failure> {
    let stats = args.server.with_client(Leases::EndWithIt, async |client| client.stats().await)?;
    print(|out| {
        if !args.json {
            return out.write_all(stats_table(&stats).as_bytes());
        }
        write_json(out, &stats_json(&stats))
    })
}
