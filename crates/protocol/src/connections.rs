//! `CONNECTION_LIST`, the answer to CONNECTIONS.

use bytes::{Bytes, BytesMut};

use super::codes::bits::{connection_marks, page_marks};
use super::decode_error::DecodeError;
use super::layout::{frames, records};
use super::wire::{self, Reader, mark, text, text8};
use adjourn_types::{Millis, SessionId, TopicName};

/// A page of the clients that are connected to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionList {
    /// True if there are connections after the last one.
    pub has_more: bool,
    /// The connections, by number.
    pub connections: Vec<ConnectionReport>,
}

/// One client that is connected to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionReport {
    /// Its number, unique while the node runs.
    pub connection: u64,
    /// Its session; `None` before WELCOME and after GOODBYE.
    pub session: Option<SessionId>,
    /// When it connected, by the node's wall clock.
    pub since: Millis,
    /// Leases that the session holds, except for those that outlive it.
    pub leases: u32,
    /// Its subscriptions.
    pub subscriptions: u32,
    /// Its RESERVEs that wait.
    pub reserves: u32,
    /// The remaining credit of its subscriptions, in jobs.
    pub credit_jobs: u64,
    /// The remaining credit of its subscriptions, in bytes.
    pub credit_bytes: u64,
    /// Bytes for it that its socket has not taken, as far as the node knows.
    pub unsent_bytes: u64,
    /// Its address, as `host:port`.
    pub address: String,
    /// The name in its HELLO.
    pub client_name: String,
    /// Some of the topics of its subscriptions and RESERVEs.
    pub topics: Vec<TopicName>,
    /// True if there may be more topics.
    pub has_more_topics: bool,
}

/// About what the fields of fixed length take, in bytes.
const PART_BYTES: usize = 128;

impl ConnectionReport {
    /// Estimated bytes that it holds.
    pub(super) fn weight_bytes(&self) -> usize {
        let topics_bytes: usize = self.topics.iter().map(|topic| 1 + topic.as_str().len()).sum();
        PART_BYTES + self.address.len() + self.client_name.len() + topics_bytes
    }
}

pub(super) fn encode_list(list: &ConnectionList, out: &mut BytesMut) {
    let marks = mark(list.has_more, page_marks::MORE);
    frames::ConnectionList { marks, connections: list.connections.iter().map(record) }.put(out);
}

pub(super) fn decode_list(reader: &mut Reader<'_>) -> Result<ConnectionList, DecodeError> {
    let frames::ConnectionList { marks, connections } =
        frames::ConnectionList::take(reader, report_of_record)?;
    Ok(ConnectionList { has_more: marks & page_marks::MORE != 0, connections })
}

fn record(report: &ConnectionReport) -> records::Connection<&[u8]> {
    let topics = report.topics.iter().take(usize::from(u8::MAX));
    records::Connection {
        connection: report.connection,
        session: report.session.unwrap_or_default().0,
        since_ms: report.since.0,
        leases: report.leases,
        subscriptions: report.subscriptions,
        reserves: report.reserves,
        credit_jobs: report.credit_jobs,
        credit_bytes: report.credit_bytes,
        unsent_bytes: report.unsent_bytes,
        marks: mark(report.has_more_topics, connection_marks::MORE_TOPICS),
        address: text8(&report.address),
        client_name: text8(&report.client_name),
        topics: topics.map(|topic| topic.as_str().as_bytes()).collect(),
    }
}

fn report_of_record(connection: records::Connection<Bytes>) -> Result<ConnectionReport, DecodeError> {
    let session = Some(SessionId(connection.session)).filter(|session| *session != SessionId::NONE);
    Ok(ConnectionReport {
        connection: connection.connection,
        session,
        since: Millis(connection.since_ms),
        leases: connection.leases,
        subscriptions: connection.subscriptions,
        reserves: connection.reserves,
        credit_jobs: connection.credit_jobs,
        credit_bytes: connection.credit_bytes,
        unsent_bytes: connection.unsent_bytes,
        address: text(&connection.address, "address")?,
        client_name: text(&connection.client_name, "client_name")?,
        topics: connection.topics.into_iter().map(wire::topic).collect::<Result<_, _>>()?,
        has_more_topics: connection.marks & connection_marks::MORE_TOPICS != 0,
    })
}
