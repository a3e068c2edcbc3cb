//! Connected clients as JSON.

use serde::Serialize;
use utoipa::ToSchema;

use super::values::time_text;
use adjourn_protocol::ConnectionReport;
use adjourn_types::TopicName;

/// A connected client.
#[derive(Serialize, ToSchema)]
#[schema(as = Connection)]
pub struct ConnectionJson<'a> {
    /// The connection's number on its node.
    pub connection: u64,
    /// Its session.
    pub session: Option<u64>,
    /// When it came.
    #[schema(format = DateTime)]
    pub since: String,
    /// Leases that its session holds.
    pub leases: u32,
    /// Its subscriptions.
    pub subscriptions: u32,
    /// RESERVEs that wait.
    pub reserves: u32,
    /// Credit of all subscriptions, in jobs.
    pub credit_jobs: u64,
    /// Credit of all subscriptions, in bytes.
    pub credit_bytes: u64,
    /// Answers that it has not read.
    pub unsent_bytes: u64,
    /// Where it is.
    pub address: &'a str,
    /// What it calls itself.
    pub client_name: &'a str,
    /// Topics that it waits for.
    pub topics: Vec<&'a str>,
    /// Whether there are more of them.
    pub has_more_topics: bool,
}

impl<'a> ConnectionJson<'a> {
    /// A client as `adjourn connections --json` prints it.
    pub fn of(report: &'a ConnectionReport) -> Self {
        Self {
            connection: report.connection,
            session: report.session.map(|session| session.0),
            since: time_text(report.since),
            leases: report.leases,
            subscriptions: report.subscriptions,
            reserves: report.reserves,
            credit_jobs: report.credit_jobs,
            credit_bytes: report.credit_bytes,
            unsent_bytes: report.unsent_bytes,
            address: &report.address,
            client_name: &report.client_name,
            topics: report.topics.iter().map(TopicName::as_str).collect(),
            has_more_topics: report.has_more_topics,
        }
    }
}
