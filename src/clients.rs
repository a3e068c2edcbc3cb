//! `adjourn connections` and `adjourn disconnect`: lists the clients connected to the leader, and closes a
//! connection.

use clap::Args;

use super::connection::{ServerArgs, Session};
use super::exit::Failure;
use super::output::{print, write_json};
use crate::output::table::aligned;
use adjourn_json::ConnectionJson;
use adjourn_json::values::time_text;
use adjourn_protocol::ConnectionReport;
use adjourn_types::{SessionId, TopicName};

const CONNECTIONS_EXAMPLE: &str = "\
Shows the clients of the leader; this command is one of them. A JSON object has: connection, session (null \
before a client was welcomed), since, leases, subscriptions, reserves (waiting ones), credit_jobs and credit_bytes (of \
all its subscriptions), unsent_bytes, address, client_name, topics (that it waits for: at most 16), has_more_topics.

Example:
  adjourn connections
  adjourn connections --json | jq -r 'select(.unsent_bytes > 1000000) | .connection'";

/// What `adjourn connections` is told.
#[derive(Debug, Args)]
#[command(after_help = CONNECTIONS_EXAMPLE)]
pub(super) struct ConnectionsArgs {
    /// Print a JSON object per connection
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

const DISCONNECT_EXAMPLE: &str = "\
The client is told that an operator closed its connection. It may connect again and resume its session: then it \
keeps its leases. With --end-session they are given back at once, each as a failed attempt; the client may \
still work on those jobs until it learns of it.

Example:
  adjourn disconnect 4503599644147717
  adjourn disconnect 4503599644147717 --end-session";

/// What `adjourn disconnect` is told.
#[derive(Debug, Args)]
#[command(after_help = DISCONNECT_EXAMPLE)]
pub(super) struct DisconnectArgs {
    /// Which connection: its number as `adjourn connections` shows it
    #[arg(value_name = "CONNECTION", value_parser = connection_number)]
    connection: u64,
    /// End its session as well
    #[arg(long)]
    end_session: bool,
    #[command(flatten)]
    server: ServerArgs,
}

fn connection_number(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "expected a number from the first column of `adjourn connections`")
}

/// Runs `adjourn connections`.
pub(super) fn connections(args: &ConnectionsArgs) -> Result<(), Failure> {
    let list = args.server.with_client(Session::None, async |client| client.connections().await)?;
    print(|out| {
        if !args.json {
            return out.write_all(table(&list).as_bytes());
        }
        list.iter().try_for_each(|report| write_json(out, &ConnectionJson::of(report)))
    })
}

/// Runs `adjourn disconnect`.
pub(super) fn disconnect(args: &DisconnectArgs) -> Result<(), Failure> {
    let (connection, end_session) = (args.connection, args.end_session);
    let talk = async |client: &adjourn_client::Client| client.disconnect(connection, end_session).await;
    args.server.with_client(Session::None, talk)
}

const COLUMNS: usize = 11;

fn table(list: &[ConnectionReport]) -> String {
    let head = [
        "CONNECTION",
        "CLIENT",
        "ADDRESS",
        "SESSION",
        "SINCE",
        "LEASES",
        "SUBSCRIPTIONS",
        "RESERVES",
        "CREDIT",
        "UNSENT",
        "TOPICS",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(list.iter().map(row));
    aligned(&rows)
}

fn row(report: &ConnectionReport) -> [String; COLUMNS] {
    let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    let topics: Vec<&str> = report.topics.iter().map(TopicName::as_str).collect();
    let more = if report.has_more_topics { ",..." } else { "" };
    [
        report.connection.to_string(),
        or_dash(report.client_name.clone()),
        or_dash(report.address.clone()),
        or_dash(report.session.map(|SessionId(session)| session.to_string()).unwrap_or_default()),
        time_text(report.since),
        report.leases.to_string(),
        report.subscriptions.to_string(),
        report.reserves.to_string(),
        report.credit_jobs.to_string(),
        report.unsent_bytes.to_string(),
        or_dash(topics.join(",") + more),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::Millis;

    #[test]
    fn a_client_cannot_write_on_the_operators_terminal() {
        let report = ConnectionReport {
            connection: 7,
            session: None,
            since: Millis(0),
            leases: 1,
            subscriptions: 2,
            reserves: 3,
            credit_jobs: 4,
            credit_bytes: 5,
            unsent_bytes: 6,
            address: "10.0.0.9:4711".to_owned(),
            client_name: "\u{1b}[31mbilling\n".to_owned(),
            topics: vec!["orders".parse().expect("a name")],
            has_more_topics: true,
        };
        let text = table(&[report]);
        // A client can choose any name.
        assert!(!text.contains('\u{1b}') && text.lines().count() == 2, "{text:?}");
        let cells: Vec<&str> = text.lines().nth(1).expect("a row").split_whitespace().collect();
        let expected = [
            "7",
            "\\u001b[31mbilling\\u000a",
            "10.0.0.9:4711",
            "-",
            "1970-01-01T00:00:00.000Z",
            "1",
            "2",
            "3",
            "4",
            "6",
            "orders,...",
        ];
        assert_eq!(cells, expected);
    }
}
