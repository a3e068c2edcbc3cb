//! What can be seen from outside of a node: the one thing that the invariants and the trace are made from.

use std::fmt;

use adjourn::engine::Entry;
use adjourn::protocol::{Request, RequestId, Response};
use adjourn::replica::{ConnectionId, Notice, PersistOrder};
use adjourn::storage::{LogEntry, Recovered};
use adjourn::types::{Millis, SessionId};

use super::time::Us;

/// A node's number.
pub(super) type NodeId = u64;

/// Something that was seen, at a moment of true time.
#[derive(Debug)]
pub(super) enum Seen<'a> {
    /// A node begins with what its disk remembers.
    Started {
        node: NodeId,
        recovered: &'a Recovered,
        log: &'a [LogEntry],
        /// By so much its stamp may have jumped ahead of true time: the wall clock was set while nobody watched it.
        jumped_us: Us,
    },
    /// A node is gone, or ends in good order.
    Ended { node: NodeId, why: End },
    /// A node says something to its operator.
    Noticed { node: NodeId, notice: &'a Notice },
    /// A node wants something made durable.
    Ordered { node: NodeId, order: &'a PersistOrder },
    /// A node is told that it is durable.
    Persisted { node: NodeId, number: u64 },
    /// A request reaches a node.
    Asked { connection: ConnectionId, session: Option<SessionId>, id: RequestId, request: &'a Request },
    /// A node answers; nothing is acknowledged before.
    Said {
        connection: ConnectionId,
        session: Option<SessionId>,
        id: RequestId,
        request: Option<&'a Request>,
        response: &'a Response,
    },
    /// A connection is there. Its client connects for the first time, or again.
    Connected { client: usize, connection: ConnectionId },
    /// A connection is gone, and the node can know by now.
    Gone { connection: ConnectionId, session: Option<SessionId> },
    /// A node's wall clock is set.
    Set { node: NodeId, by_ms: i64 },
    /// A node's core has looked at what happened; it looks again after this pause at the latest.
    Turned { node: NodeId, pause: Us },
    /// Nothing goes wrong any more.
    Healed,
    /// What was begun is over; whoever looks finds everything in its place.
    Inspected,
    /// Every client is gone.
    Deserted,
}

/// How a node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    PowerCut,
    Killed,
    DiskFailed,
    Stopped,
}

/// When something was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct When {
    pub(super) at: Us,
    /// What the node's wall clock shows.
    pub(super) wall: Millis,
}

impl fmt::Display for Seen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { node, recovered, log, jumped_us } => {
                let Recovered { vote, commit, last_index, last_term, .. } = recovered;
                write!(f, "node {node} starts: {} entries to {last_index} of term {last_term}, ", log.len())?;
                write!(f, "commit {commit}, {vote:?}, jumped {jumped_us} us")
            }
            Self::Ended { node, why } => write!(f, "node {node} ends: {why:?}"),
            Self::Noticed { node, notice } => write!(f, "node {node} notes {notice:?}"),
            Self::Ordered { node, order } => {
                write!(
                    f,
                    "node {node} writes {}: {:?}, commit {}",
                    order.number, order.batch.vote, order.batch.commit
                )?;
                order.batch.entries.iter().try_for_each(|entry| write_entry(f, entry))
            }
            Self::Persisted { node, number } => write!(f, "node {node} has written {number}"),
            Self::Asked { connection, session, id, request } => {
                let session = session.map_or(0, |session| session.0);
                write!(f, "{:>4}.{:<4} s{session} -> {request:?}", connection.0, id.0)
            }
            Self::Said { connection, session, id, response, .. } => {
                let session = session.map_or(0, |session| session.0);
                write!(f, "{:>4}.{:<4} s{session} <- {response:?}", connection.0, id.0)
            }
            Self::Connected { client, connection } => write!(f, "{:>4} is client {client}", connection.0),
            Self::Gone { connection, session } => write!(f, "{:>4} is gone, {session:?}", connection.0),
            Self::Set { node, by_ms } => write!(f, "the clock of node {node} is set by {by_ms} ms"),
            Self::Turned { node, pause } => write!(f, "node {node} sleeps for {pause} us"),
            Self::Healed => write!(f, "all is healed"),
            Self::Inspected => write!(f, "all is inspected"),
            Self::Deserted => write!(f, "all are gone"),
        }
    }
}

fn write_entry(f: &mut fmt::Formatter<'_>, entry: &LogEntry) -> fmt::Result {
    write!(f, "; entry {} of term {}", entry.index, entry.term)?;
    match Entry::decode(&entry.data) {
        Ok(decoded) => write!(f, " at {}: {:?}", decoded.stamp, decoded.commands),
        Err(_) => write!(f, ", empty"),
    }
}
