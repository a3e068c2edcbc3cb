//! The inputs and outputs of a replica.

use std::sync::Arc;

use super::node::account::{HeldMemory, MemoryAccount};
use crate::engine::CapturedSessions;
use crate::protocol::{Request, RequestId, RequestOpcode, Response};
use crate::raft::{Message, Wanted};
use crate::storage::{
    Checkpoint, CheckpointBegin, CheckpointJobs, LogEntry, PersistBatch, PinnedBackup, Restored, StorageError,
};
use crate::types::{Access, Lease, Member, Millis, RetryDefaults, SessionSecret};

/// The machine's two clocks, read at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// A monotonic clock, in microseconds since some moment before the replica was made.
    pub elapsed_us: u64,
    /// The wall clock.
    pub wall: Millis,
}

/// A client's connection, as the driver numbers it. Never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// What a replica needs to know of its node and never asks for again.
#[derive(Clone, Debug)]
pub struct ReplicaConfig {
    /// This node's number in the group, from 1.
    pub node: u64,
    /// Which cluster it belongs to.
    pub cluster_id: [u8; 16],
    /// Its copy of the data.
    pub storage_id: [u8; 16],
    /// Whether the cluster was founded here: then this node is its first member. Any other becomes one when it is added.
    pub founder: bool,
    /// Random bytes for whatever the replica has to draw: the key secret of a new queue, election timeouts.
    pub entropy: [u8; 32],
    /// What WELCOME says of the server.
    pub server_name: String,
    /// Where clients reach this node.
    pub client_address: String,
    /// Where the other members reach it; empty if they cannot.
    pub peer_address: String,
    /// The highest feature level that this node takes part in; at most [`FEATURE_LEVEL`](crate::types::FEATURE_LEVEL).
    pub feature_level_max: u32,
    /// Largest body that is accepted.
    pub body_bytes_max: usize,
    /// The longest time between two frames from each side.
    pub heartbeat_ms: u32,
    /// How long a lost connection's leases are kept.
    pub session_grace_ms: u64,
    /// The queue's defaults for retries while this node leads.
    pub retry_defaults: RetryDefaults,
    /// Unsent bytes per connection before grants and reads pause.
    pub output_bytes_max: usize,
    /// Bytes that may be proposed and not yet committed, in all; beyond it pushes get `BUSY`, and beyond twice as many
    /// what settles and changes jobs does, too.
    pub uncommitted_bytes_max: usize,
    /// Bytes of memory that the process may take; beyond it pushes get `BUSY`. 0 for no limit.
    pub memory_max_bytes: u64,
    /// What clients may make the node take beside its state, of that.
    pub memory_account: MemoryAccount,
    /// A checkpoint is taken when the log has grown by this many bytes, or by more if there are many resident jobs; an
    /// eighth is enough when the last one began more than a minute ago.
    pub checkpoint_log_bytes: u64,
}

/// What a node says of itself when it connects to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerInfo {
    /// Who and where it is.
    pub member: Member,
    /// The highest feature level that it takes part in.
    pub feature_level_max: u32,
}

/// What one node sends to another at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The sender's wall clock.
    pub wall: Millis,
    /// The stamp that the sender would give an entry now, in microseconds; 0 if it has neither led nor followed since it was
    /// started, and does not know. Followers go by their leader's.
    pub stamp_us: u64,
    /// The last entry that the sender has applied.
    pub applied: u64,
    /// A state hash of the sender's, and the entry after which the state had it: one of those that all members look at.
    pub audited: (u64, u128),
    /// Messages of Raft.
    pub messages: Vec<Message>,
}

impl Bundle {
    /// How much memory and bandwidth its messages take, by and large, in bytes.
    pub fn weight_bytes(&self) -> usize {
        self.messages.iter().map(Message::weight_bytes).sum()
    }
}

/// Why a node cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// No node answers at the address.
    #[error("nobody answers at {address}: {why}")]
    Unreachable {
        /// The address that was dialled.
        address: String,
        /// What the system said.
        why: String,
    },
    /// Whoever answers does not prove to be a node.
    #[error("no node answers at {address}: {why}")]
    Unproven {
        /// The address that was dialled.
        address: String,
        /// What went wrong.
        why: String,
    },
    /// A node answers, but refuses to be a member, or cannot be one.
    #[error("the node at {address} refuses: {why}")]
    Refused {
        /// The address that was dialled.
        address: String,
        /// The reason that it gave.
        why: String,
    },
}

/// A client that has connected.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Fresh random bytes: the secret of its session, if it opens one.
    pub secret: SessionSecret,
    /// What it may do.
    pub access: Arc<Access>,
    /// Where it comes from, for operators to read.
    pub address: String,
    /// Most requests that it may have under way.
    pub in_flight_max: u32,
}

impl Arrival {
    /// A client of a server without tokens, which may do everything.
    pub fn open(secret: SessionSecret, address: impl Into<String>) -> Self {
        let access = Arc::new(Access::open());
        Self { secret, access, address: address.into(), in_flight_max: 1024 }
    }
}

/// Something that an auditor should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    /// The name of the client's token; empty without one.
    pub token: String,
    /// Where the client is.
    pub address: String,
    /// What it asked for.
    pub request: RequestOpcode,
    /// On what.
    pub about: String,
    /// Why it was denied; `None` if it was not.
    pub denied: Option<String>,
}

/// Something of the driver's that it gets back, by its being dropped, when the requests that came with it are taken up: it
/// goes by that when it reads more.
#[derive(Debug, Default)]
pub struct Permit {
    _held: Option<Box<dyn std::fmt::Debug + Send>>,
}

impl Permit {
    /// For this.
    pub fn new(held: impl std::fmt::Debug + Send + 'static) -> Self {
        Self { _held: Some(Box::new(held)) }
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    /// A client connected.
    Connected {
        /// The new connection.
        connection: ConnectionId,
        /// Who came.
        arrival: Arrival,
    },
    /// Requests that were read together from one connection, in the order in which they came. HELLO is first on
    /// each connection, and nothing follows before its answer is written; the driver has checked its version and its
    /// token. `BACKUP_READ` and `BACKUP_END` never come here: the driver answers them.
    Requests {
        /// The connection that sent them.
        connection: ConnectionId,
        /// Who asks, if others ask over the same connection: where it comes from, for operators to read.
        from: Option<Arc<str>>,
        /// The requests with their ids, in order.
        requests: Vec<(RequestId, Request)>,
        /// The driver's, for the room that they take until they are taken up.
        permit: Permit,
    },
    /// Output to a client was written to its socket. Reported in lumps, each of less than half of
    /// [`ReplicaConfig::output_bytes_max`]; unreported bytes count as unwritten.
    Written {
        /// The client's connection.
        connection: ConnectionId,
        /// How much, as [`Response::weight_bytes`] counts.
        bytes: usize,
    },
    /// Memory was given back to [`ReplicaConfig::memory_account`] for which this replica [waits](super::MemoryShare::want).
    MemoryGivenBack,
    /// Leases that [`Response::age`] removed from the output: their jobs do not reach their consumer.
    NotSent {
        /// The consumer's connection.
        connection: ConnectionId,
        /// The removed leases.
        leases: Vec<Lease>,
    },
    /// A client is gone, or was cut off. Nothing more comes from it or is sent to it.
    Disconnected {
        /// The lost connection.
        connection: ConnectionId,
    },
    /// The batch of this [`WriteBatch`], and all before it, are durable.
    Persisted {
        /// Its number.
        number: u64,
    },
    /// A connection to another node is there, and each knows who the other is.
    PeerConnected {
        /// Its identity and addresses, as it reports them.
        about: PeerInfo,
    },
    /// There is no connection to another node any more.
    PeerLost {
        /// The node's number.
        node: u64,
    },
    /// Another node says something.
    Peer {
        /// The node's number.
        from: u64,
        /// Its messages, with the state of its clock.
        bundle: Bundle,
    },
    /// What [`Output::Probe`] found out.
    Probed {
        /// The address that was dialled.
        address: String,
        /// The node found there, or the error.
        found: Result<PeerInfo, ProbeError>,
    },
    /// The entries that [`Output::Fetch`] asked for: the first of them, at least one.
    Fetched {
        /// In their order.
        entries: Vec<LogEntry>,
    },
    /// The checkpoint that [`Output::FetchSnapshot`] asked for is here: whole, verified, and durable beside what this node
    /// has.
    SnapshotFetched {
        /// The last entry that it contains.
        index: u64,
        /// The state that it holds.
        restored: Box<Restored>,
    },
    /// That checkpoint will not come: no node has it any more.
    SnapshotGone {
        /// The last entry that it contains.
        index: u64,
    },
    /// A member fetches the checkpoint that it was offered. Worth telling once a second.
    SnapshotPulled {
        /// The member that fetches.
        node: u64,
    },
    /// A member asked for a checkpoint that this node has no more.
    SnapshotRefused {
        /// The member that asked.
        node: u64,
    },
    /// A batch of [`CheckpointOrder::Sessions`] or [`CheckpointOrder::Jobs`] was taken in.
    CheckpointTook,
    /// There is no space for the checkpoint that was asked for last. Its files are gone.
    CheckpointAbandoned,
    /// What the checkpoint that was asked for last needs of an earlier one cannot be read. Its files are gone.
    CheckpointUnreadable(StorageError),
    /// The checkpoint that was asked for last is durable.
    CheckpointDone(Box<Checkpoint>),
    /// The memory of the process. Report it often while there is a limit and many jobs are pushed.
    Memory {
        /// In bytes.
        resident_bytes: u64,
    },
    /// The free space fell below (or rose above) what pushes need.
    DiskLow(bool),
    /// Stop taking new work; [`Output::Stopped`] follows when everything accepted is durable and answered.
    Stop,
}

/// A batch to make durable. Batches are numbered from 1, and are written in that order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteBatch {
    /// The number for [`Input::Persisted`].
    pub number: u64,
    /// When the oldest command in it was taken up, on the monotonic clock; for other members' entries, when they came.
    pub since_us: u64,
    /// The term, vote, entries and commit to write.
    pub batch: PersistBatch,
}

/// A part of a checkpoint, for the checkpoint thread. There is one checkpoint at a time.
#[derive(Debug)]
pub enum CheckpointOrder {
    /// One begins.
    Begin(Box<CheckpointBegin>),
    /// Some of its sessions, before its jobs; each batch is answered with [`Input::CheckpointTook`].
    Sessions(CapturedSessions),
    /// Some of its jobs, answered as sessions are.
    Jobs(CheckpointJobs),
    /// That were all. When it is durable, [`Input::CheckpointDone`] says so.
    End,
    /// Give the checkpoint up: no more parts follow. [`Input::CheckpointAbandoned`] answers once.
    Abandon,
}

/// Something to be done.
#[derive(Debug)]
pub enum Output {
    /// Answers for one connection. Those to different requests may stand in any order. The driver adds the stages to
    /// [`Response::Stats`]. When it writes an answer, it lets [`Response::age`] give the remaining time of the leases in it.
    Send {
        /// The client's connection.
        connection: ConnectionId,
        /// What; `GoingAway` carries request id 0.
        responses: Vec<(RequestId, Response)>,
        /// How many of them answer a request; the others come unasked.
        answers: u32,
        /// Their memory: dropped when they are written.
        memory: HeldMemory,
    },
    /// Close this connection when its output is written: another one took over its session, this node does not lead
    /// any more, or there is no room for its session.
    Close {
        /// The connection to close.
        connection: ConnectionId,
    },
    /// Something to make durable.
    Persist(WriteBatch),
    /// Something to say to another node. It may be lost.
    Peer {
        /// The receiving node's number.
        to: u64,
        /// Messages, with the state of this node's clock.
        bundle: Bundle,
    },
    /// The nodes that may be talked to from here on, this one included, and the removed ones.
    Members {
        /// The members.
        members: Vec<Member>,
        /// Numbers of nodes that were members once.
        removed: Vec<u64>,
        /// What every member must be able to do.
        feature_level: u32,
    },
    /// Find out which node is at this address; [`Input::Probed`] brings the result.
    Probe {
        /// The address to dial.
        address: String,
    },
    /// Read entries of the log, for a member that lags; [`Input::Fetched`] brings them. The read sees all earlier
    /// [`Output::Persist`] batches.
    Fetch(Wanted),
    /// A checkpoint to be fetched from another node; [`Input::SnapshotFetched`] brings it, or [`Input::SnapshotGone`] says
    /// that it will not come. There is one at a time: this one takes the place of any before it.
    FetchSnapshot {
        /// The node that has it.
        from: u64,
        /// The last entry that it contains.
        index: u64,
    },
    /// Something to write, beside the log and without haste.
    Checkpoint(CheckpointOrder),
    /// A backup that was asked for can be read over its connection.
    Backup {
        /// The connection that asked.
        connection: ConnectionId,
        /// Under which request, which the driver answers.
        request: RequestId,
        /// The checkpoint to read from.
        backup: Arc<PinnedBackup>,
    },
    /// The log is not needed any more up to this entry: a checkpoint that contains it is durable.
    Cut {
        /// The last entry that may go.
        through: u64,
    },
    /// The data on the disk cannot be read, or a part is missing. The node has to end; nothing comes after this.
    Failed(StorageError),
    /// Something an operator should know.
    Notice(Notice),
    /// Something an auditor should know. Never because of a push that is allowed.
    Audited(Box<Audited>),
    /// After [`Input::Stop`]: nothing is under way any more.
    Stopped,
}

/// What the server logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// This node leads from now on, in this term, and has applied everything from before: requests are taken.
    /// Until then they are answered with `NO_LEADER` or `NOT_LEADER`.
    Leading {
        /// The Raft term.
        term: u64,
    },
    /// This node no longer leads.
    Following {
        /// The Raft term.
        term: u64,
    },
    /// Another node leads, as far as this one knows.
    Follows {
        /// The leader's number.
        leader: u64,
    },
    /// This node is not a member any more.
    Removed,
    /// A member's state is not what this node's was after the same entry: one of them is wrong.
    StateDiffers {
        /// Which member.
        node: u64,
        /// The entry.
        index: u64,
    },
    /// A majority of the voters had another state after this entry: this node serves no clients from here on.
    StateOutvoted {
        /// The entry.
        index: u64,
    },
    /// A part of the state is unreadable. This node serves no clients until another member's checkpoint has replaced the state.
    StateLost {
        /// Where, and why.
        what: String,
    },
    /// The wall clock differs from those of a majority by more than may be. This node does not lead while that is so.
    ClockOutside {
        /// How far it is ahead of the others; negative is behind.
        by_ms: i64,
    },
    /// Something that a client wanted to see cannot be read from the disk.
    Unreadable {
        /// Where, why, and what to do.
        what: String,
    },
    /// The wall clock was set. Delays and leases take no notice; absolute times follow it.
    ClockStepped {
        /// By how much; negative is back.
        by_ms: i64,
    },
}
