//! `adjourn topics` and `adjourn stats`: counts, as a table for people or as JSON for scripts.

use clap::Args;

use crate::connection::{ServerArgs, Session};
use crate::exit::Failure;
use crate::output::table::aligned;
use crate::output::{print, write_json};
use adjourn_json::values::spelled;
use adjourn_json::{StatsJson, TopicJson};
use adjourn_protocol::{StageReport, StatsReport, TopicReport, Totals};

const TOPICS_EXAMPLE: &str = "\
Example:
  adjourn topics
  adjourn topics --json | jq -r 'select(.buried > 0) | .topic'";

/// What `adjourn topics` is told.
#[derive(Debug, Args)]
#[command(after_help = TOPICS_EXAMPLE)]
pub(crate) struct TopicsArgs {
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

`stages` shows where the time of the node went that answers, the leader, in its last one to two minutes: count, \
p50_us, p99_us, p999_us and max_us (microseconds; 0 if the count is) of
  wait      per commit: from when its oldest request was taken up until the write began
  commit    per commit: writing and syncing it
  apply     per turn of the core: applying entries, and all other work of the turn
  lateness  per job, first attempt: from its due time until it was handed over to be sent; also large if nobody \
asked for the job

Example:
  adjourn stats
  adjourn stats --json | jq .oldest_ready_ms
  adjourn stats --json | jq .stages.commit.p99_us";

/// What `adjourn stats` is told.
#[derive(Debug, Args)]
#[command(after_help = STATS_EXAMPLE)]
pub(crate) struct StatsArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `adjourn topics`.
pub(crate) fn topics(args: &TopicsArgs) -> Result<(), Failure> {
    let topics = args.server.with_client(Session::None, async |client| client.topics().await)?;
    print(|out| {
        if !args.json {
            return out.write_all(topics_table(&topics).as_bytes());
        }
        topics.iter().try_for_each(|topic| write_json(out, &TopicJson::of(topic)))
    })
}

/// Runs `adjourn stats`.
pub(crate) fn stats(args: &StatsArgs) -> Result<(), Failure> {
    let stats = args.server.with_client(Session::None, async |client| client.stats().await)?;
    print(|out| {
        if !args.json {
            return out.write_all(stats_table(&stats).as_bytes());
        }
        write_json(out, &StatsJson::of(&stats))
    })
}

/// The counts of a whole queue, as a table.
fn stats_table(stats: &StatsReport) -> String {
    let facts = [
        ("up", spelled(stats.uptime_ms)),
        ("connections", stats.connections.to_string()),
        ("sessions", stats.sessions.to_string()),
        ("waiting", stats.waiting.to_string()),
        ("index", stats.applied_index.to_string()),
        ("term", stats.term.to_string()),
    ];
    let facts = facts.map(|(name, value)| format!("{name} {value}")).join(", ");
    let mut rows = topic_rows(&stats.topics);
    rows.push(row("(all)".to_owned(), &stats.totals));
    let stages =
        if stats.stages.is_empty() { String::new() } else { format!("\n{}", stages_table(&stats.stages)) };
    format!("{facts}\n\n{}{stages}", aligned(&rows))
}

/// The durations of each stage, in microseconds.
fn stages_table(stages: &[StageReport]) -> String {
    let head = ["STAGE", "COUNT", "P50 us", "P99 us", "P99.9 us", "MAX us"].map(str::to_owned);
    let rows = stages.iter().map(|stage| {
        let StageReport { stage, count, p50_us, p99_us, p999_us, max_us } = stage;
        let [count, p50, p99, p999, max] = [count, p50_us, p99_us, p999_us, max_us].map(u64::to_string);
        [stage.clone(), count, p50, p99, p999, max]
    });
    aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// The counts of topics, as a table.
fn topics_table(topics: &[TopicReport]) -> String {
    aligned(&topic_rows(topics))
}

const COLUMNS: usize = 10;

fn topic_rows(topics: &[TopicReport]) -> Vec<[String; COLUMNS]> {
    let head = [
        "TOPIC", "DELAYED", "READY", "RESERVED", "BURIED", "PUSHED", "FINISHED", "DELETED", "EXPIRED",
        "OLDEST",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(topics.iter().map(|topic| {
        let name = if topic.paused { format!("{} (paused)", topic.topic) } else { topic.topic.to_string() };
        row(name, &topic.totals)
    }));
    rows
}

fn row(name: String, totals: &Totals) -> [String; COLUMNS] {
    let oldest = match totals.oldest_ready_ms {
        0 => "-".to_owned(),
        short_ms @ ..10_000 => format!("{short_ms}ms"),
        long_ms => spelled(long_ms / 1000 * 1000).replace(' ', ""),
    };
    let counts = [
        totals.delayed,
        totals.ready,
        totals.reserved,
        totals.buried,
        totals.pushed,
        totals.finished,
        totals.deleted,
        totals.expired,
    ];
    let [delayed, ready, reserved, buried, pushed, finished, deleted, expired] =
        counts.map(|count| count.to_string());
    [name, delayed, ready, reserved, buried, pushed, finished, deleted, expired, oldest]
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::Millis;

    fn stats() -> StatsReport {
        let totals =
            Totals { delayed: 3, ready: 1, pushed: 12_345, oldest_ready_ms: 61_234, ..Totals::default() };
        let topic = TopicReport {
            topic: "orders".parse().expect("a topic"),
            paused: true,
            consumers: 2,
            late_ms: 3,
            totals,
        };
        StatsReport {
            now: Millis(1_767_225_600_005),
            uptime_ms: 61_000,
            connections: 2,
            sessions: 3,
            waiting: 1,
            applied_index: 77,
            term: 4,
            state_hash: 0xabc,
            totals,
            topics: vec![topic],
            stages: vec![StageReport {
                stage: "commit".to_owned(),
                count: 1000,
                p50_us: 210,
                p99_us: 1800,
                p999_us: 7000,
                max_us: 12_000,
            }],
        }
    }

    #[test]
    fn tables_are_aligned() {
        assert_eq!(
            stats_table(&stats()),
            "\
up 1m 1s, connections 2, sessions 3, waiting 1, index 77, term 4

TOPIC            DELAYED  READY  RESERVED  BURIED  PUSHED  FINISHED  DELETED  EXPIRED  OLDEST
orders (paused)        3      1         0       0   12345         0        0        0    1m1s
(all)                  3      1         0       0   12345         0        0        0    1m1s

STAGE   COUNT  P50 us  P99 us  P99.9 us  MAX us
commit   1000     210    1800      7000   12000
"
        );
        let older = StatsReport { stages: Vec::new(), ..stats() };
        assert!(!stats_table(&older).contains("STAGE"), "an older server does not say");
    }
}
