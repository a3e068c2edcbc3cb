//! `CONNECTION_LIST`, the answer to CONNECTIONS.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::wire::{Fixed, Reader, put_list, put_topic8, shortened};
use adjourn_types::{Millis, SessionId, TopicName};

const CONNECTION_FIXED_BYTES: usize = 64;
const LIST_MORE: u8 = 1;
const MORE_TOPICS: u8 = 1;

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

impl ConnectionReport {
    /// Estimated bytes that it holds.
    pub(super) fn weight_bytes(&self) -> usize {
        let topics_bytes: usize = self.topics.iter().map(|topic| 1 + topic.as_str().len()).sum();
        2 * CONNECTION_FIXED_BYTES + self.address.len() + self.client_name.len() + topics_bytes
    }
}

pub(super) fn encode_list(list: &ConnectionList, out: &mut BytesMut) {
    out.put_u8(if list.has_more { LIST_MORE } else { 0 });
    put_list(out, CONNECTION_FIXED_BYTES, list.connections.len());
    for report in &list.connections {
        let address = shortened(&report.address, usize::from(u8::MAX));
        let client_name = shortened(&report.client_name, usize::from(u8::MAX));
        Fixed::<CONNECTION_FIXED_BYTES>::new()
            .u64(report.connection)
            .u64(report.session.unwrap_or_default().0)
            .u64(report.since.0)
            .u32(report.leases)
            .u32(report.subscriptions)
            .u32(report.reserves)
            .u64(report.credit_jobs)
            .u64(report.credit_bytes)
            .u64(report.unsent_bytes)
            .u8(if report.has_more_topics { MORE_TOPICS } else { 0 })
            .length8(address.len())
            .length8(client_name.len())
            .length8(report.topics.len())
            .write(out);
        out.put_slice(address.as_bytes());
        out.put_slice(client_name.as_bytes());
        report.topics.iter().take(usize::from(u8::MAX)).for_each(|topic| put_topic8(out, topic));
    }
}

pub(super) fn decode_list(reader: &mut Reader<'_>) -> Result<ConnectionList, DecodeError> {
    let marks = reader.u8("marks")?;
    let listed = reader.list::<CONNECTION_FIXED_BYTES>("connections", usize::MAX)?;
    let connections = reader.items(listed, |reader, mut fields| {
        let connection = fields.u64("connection")?;
        let session = Some(SessionId(fields.u64("session")?)).filter(|session| *session != SessionId::NONE);
        let since = Millis(fields.u64("since_ms")?);
        let (leases, subscriptions) = (fields.u32("leases")?, fields.u32("subscriptions")?);
        let reserves = fields.u32("reserves")?;
        let (credit_jobs, credit_bytes) = (fields.u64("credit_jobs")?, fields.u64("credit_bytes")?);
        let unsent_bytes = fields.u64("unsent_bytes")?;
        let has_more_topics = fields.u8("marks")? & MORE_TOPICS != 0;
        let (address_bytes, name_bytes) = (fields.u8("address")?, fields.u8("client_name")?);
        let topics = fields.u8("topics")?;
        Ok(ConnectionReport {
            connection,
            session,
            since,
            leases,
            subscriptions,
            reserves,
            credit_jobs,
            credit_bytes,
            unsent_bytes,
            address: reader.text(usize::from(address_bytes), usize::MAX, "address")?,
            client_name: reader.text(usize::from(name_bytes), usize::MAX, "client_name")?,
            topics: (0..topics).map(|_| reader.topic8()).collect::<Result<_, _>>()?,
            has_more_topics,
        })
    })?;
    Ok(ConnectionList { has_more: marks & LIST_MORE != 0, connections })
}
