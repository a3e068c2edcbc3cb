//! What can be seen from outside of a node: the one thing that the invariants and the trace are made from.

use std::cell::RefCell;
use std::fmt;

use adjourn_engine::Entry;
use adjourn_protocol::{Request, RequestId, Response};
use adjourn_raft::MembershipChange;
use adjourn_replica::{Bundle, ConnectionId, Notice, WriteBatch};
use adjourn_storage::{Checkpoint, CheckpointBegin, EntryKind, LogEntry, Recovered, Restored};
use adjourn_types::{Millis, SessionId};

use super::chunks::Chunks;
use super::time::Us;

/// A node's number.
pub(super) type NodeId = u64;

/// Something that was seen, at a moment of true time.
pub(super) enum Seen<'a> {
    /// A node begins with what its disk remembers.
    Started {
        node: NodeId,
        recovered: &'a Recovered,
        /// The checkpoint that was there.
        restored: Option<&'a RefCell<Restored>>,
        /// The log behind it.
        log: &'a [LogEntry],
        chunks: &'a Chunks,
        /// How far its stamp jumps ahead of true time if it leads before it has seen another leader: the wall clocks of
        /// most nodes were set while they were unwatched.
        jumped_us: Us,
        /// What its version can do.
        feature_level_max: u32,
    },
    /// A node is gone, or ends in good order.
    Ended { node: NodeId, why: End, connections: &'a [ConnectionId] },
    /// Somebody stops a node in good order.
    Stops { node: NodeId },
    /// A node says something to its operator.
    Noticed { node: NodeId, notice: &'a Notice },
    /// A node wants something made durable.
    Ordered { node: NodeId, order: &'a WriteBatch },
    /// A node is told that it is durable.
    Persisted { node: NodeId, number: u64 },
    /// A node has written what it had told before.
    Flushed { node: NodeId },
    /// A node begins to write a checkpoint.
    CheckpointBegins { node: NodeId, begin: &'a CheckpointBegin },
    /// A checkpoint is durable.
    Checkpointed { node: NodeId, checkpoint: &'a Checkpoint, chunks: &'a Chunks },
    /// There was no space for the checkpoint that had begun.
    CheckpointAbandoned { node: NodeId },
    /// A part of the log's beginning is gone, up to this entry at most.
    Cut { node: NodeId, through: u64 },
    /// A chore of the log was done, in time or late; it may have put a stretch into the archive.
    ChoreDone { node: NodeId, archived: bool },
    /// All of a node's state was compared with itself: the hash of the state, and the last entry in it.
    Audited { node: NodeId, index: u64, state_hash: u128 },
    /// A request reaches a node.
    Asked {
        node: NodeId,
        connection: ConnectionId,
        session: Option<SessionId>,
        id: RequestId,
        request: &'a Request,
    },
    /// A node answers; nothing is acknowledged before.
    Said {
        node: NodeId,
        connection: ConnectionId,
        session: Option<SessionId>,
        id: RequestId,
        request: Option<&'a Request>,
        response: &'a Response,
    },
    /// A frame of a node reaches its client, who asked for it at `sent`, by true time.
    Heard { connection: ConnectionId, sent: Option<Us>, request: Option<&'a Request>, response: &'a Response },
    /// A connection is there. Its client connects for the first time, or again.
    Connected { client: usize, connection: ConnectionId, slow: bool },
    /// A connection is gone, and the node can know by now.
    Gone { node: NodeId, connection: ConnectionId, session: Option<SessionId> },
    /// A node's wall clock is set.
    Set { node: NodeId, by_ms: i64 },
    /// A node's core has looked at what happened; it looks again after this pause at the latest.
    Turned { node: NodeId, pause: Us },
    /// A node hears that it is connected to another one.
    PeerConnected { node: NodeId, peer: NodeId },
    /// A node hears that it is not any more.
    PeerLost { node: NodeId, peer: NodeId },
    /// A node says something to another one.
    Speaks { from: NodeId, to: NodeId, bundle: &'a Bundle },
    /// These nodes, and no others, are cut off from all others.
    Islands { islands: &'a [NodeId] },
    /// A checkpoint of another node is there, beside what the node has.
    Fetched { node: NodeId, index: u64 },
    /// A backup that a node held is whole: the last entry in it, and the hash of its state.
    BackedUp { node: NodeId, index: u64, state_hash: u128 },
    /// A node puts a checkpoint of another node in the place of its own. Perhaps its log ends with the entry that the
    /// checkpoint stands for.
    Installs { node: NodeId, agrees: bool },
    /// A node has lost all that was on its disk.
    Wiped { node: NodeId },
    /// Nothing goes wrong any more.
    Healed,
    /// All work is over; an inspection finds everything in its place.
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
    /// What the node's wall clock shows; among several nodes, what most of them show.
    pub(super) wall: Millis,
    /// The most that the state may take for the time: this, but among several nodes that do not agree.
    pub(super) wall_max: Millis,
}

impl fmt::Display for Seen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { node, recovered, restored, log, jumped_us, feature_level_max, .. } => {
                let Recovered { vote, commit, last_index, last_term, .. } = recovered;
                write!(f, "node {node} of level {feature_level_max} starts: {} entries ", log.len())?;
                write!(f, "to {last_index} of term {last_term}, ")?;
                write!(f, "commit {commit}, {vote:?}, jumped {jumped_us} us")?;
                let base = restored.map(|restored| restored.borrow().base.index);
                base.map_or(Ok(()), |index| write!(f, ", after the checkpoint at {index}"))
            }
            Self::CheckpointBegins { node, begin } => {
                let CheckpointBegin { number, index, jobs, chunks, rewrite, .. } = begin;
                write!(f, "node {node} begins checkpoint {number} at {index} with {jobs} jobs, ")?;
                write!(f, "{} chunks, {rewrite:?} anew", chunks.len())
            }
            Self::Checkpointed { node, checkpoint, .. } => {
                let Checkpoint { index, written, .. } = checkpoint;
                let (rows, listed) = (written.len(), checkpoint.numbers());
                write!(f, "node {node} has a checkpoint at {index}: {rows} rows, chunks {listed:?}")
            }
            Self::CheckpointAbandoned { node } => write!(f, "node {node} has no space for its checkpoint"),
            Self::ChoreDone { node, archived } => {
                write!(f, "node {node} has done a chore; one more in the archive: {archived}")
            }
            Self::Cut { node, through } => write!(f, "node {node} cuts to {through}"),
            Self::Audited { node, index, state_hash } => {
                write!(f, "node {node} is at {index} with {state_hash:032x}")
            }
            Self::Ended { node, why, .. } => write!(f, "node {node} ends: {why:?}"),
            Self::Stops { node } => write!(f, "node {node} is asked to stop"),
            Self::Noticed { node, notice } => write!(f, "node {node} notes {notice:?}"),
            Self::Ordered { node, order } => write_order(f, *node, order),
            Self::Persisted { node, number } => write!(f, "node {node} has written {number}"),
            Self::Flushed { node } => write!(f, "node {node} has written what it told before"),
            Self::Asked { node, connection, session, id, request } => {
                let session = session.map_or(0, |session| session.0);
                write!(f, "{node}: {:>4}.{:<4} s{session} -> {request:?}", connection.0, id.0)
            }
            Self::Said { node, connection, session, id, response, .. } => {
                let session = session.map_or(0, |session| session.0);
                write!(f, "{node}: {:>4}.{:<4} s{session} <- {response:?}", connection.0, id.0)
            }
            Self::Heard { connection, sent, response, .. } => {
                write!(f, "{:>4} hears, asked at {sent:?}: {:?}", connection.0, response.opcode())
            }
            Self::Connected { client, connection, .. } => write!(f, "{:>4} is client {client}", connection.0),
            Self::Gone { connection, session, .. } => write!(f, "{:>4} is gone, {session:?}", connection.0),
            Self::Set { node, by_ms } => write!(f, "the clock of node {node} is set by {by_ms} ms"),
            Self::Turned { node, pause } => write!(f, "node {node} sleeps for {pause} us"),
            Self::PeerConnected { node, peer } => write!(f, "node {node} is connected to {peer}"),
            Self::PeerLost { node, peer } => write!(f, "node {node} is connected to {peer} no more"),
            Self::Speaks { from, to, bundle } => {
                let Bundle { wall, stamp_us, applied, messages, .. } = bundle;
                write!(f, "node {from} to {to}: applied {applied}, stamp {stamp_us}, wall {wall}")?;
                messages.iter().try_for_each(|message| write!(f, "; {message:?}"))
            }
            Self::Islands { islands } => write!(f, "nodes {islands:?} are cut off"),
            Self::Fetched { node, index } => write!(f, "node {node} has fetched the checkpoint at {index}"),
            Self::BackedUp { node, index, .. } => write!(f, "node {node} has a backup at {index}"),
            Self::Installs { node, agrees } => {
                write!(f, "node {node} installs what it has fetched; its log agrees: {agrees}")
            }
            Self::Wiped { node } => write!(f, "node {node} has lost its disk"),
            Self::Healed => write!(f, "all is healed"),
            Self::Inspected => write!(f, "all is inspected"),
            Self::Deserted => write!(f, "all are gone"),
        }
    }
}

fn write_order(f: &mut fmt::Formatter<'_>, node: NodeId, order: &WriteBatch) -> fmt::Result {
    let WriteBatch { number, since_us: _, batch, is_volatile } = order;
    let when = if *is_volatile { ", later" } else { "" };
    write!(f, "node {node} writes {number}{when}: {:?}, commit {}", batch.vote, batch.commit)?;
    batch.entries.iter().try_for_each(|entry| write_entry(f, entry))
}

fn write_entry(f: &mut fmt::Formatter<'_>, entry: &LogEntry) -> fmt::Result {
    write!(f, "; entry {} of term {}", entry.index, entry.term)?;
    if entry.kind == EntryKind::ConfChange {
        return write!(f, ": {:?}", MembershipChange::decode(&entry.data));
    }
    match Entry::decode(&entry.data) {
        Ok(decoded) => write!(f, " at {}: {:?}", decoded.stamp, decoded.commands),
        Err(_) => write!(f, ", empty"),
    }
}
