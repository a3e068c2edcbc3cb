//! The inputs and outputs of a replica.

use std::sync::Arc;

use super::account::{HeldMemory, MemoryAccount};
use adjourn_calendar::ZoneData;
use adjourn_engine::CapturedSessions;
use adjourn_protocol::{Request, RequestId, RequestOpcode, Response};
use adjourn_raft::{Message, Wanted};
use adjourn_storage::{
    Checkpoint, CheckpointBegin, CheckpointJobs, LogEntry, PersistBatch, PinnedBackup, Restored, StorageError,
};
use adjourn_types::{Access, JobId, Lease, Member, Millis, RetryDefaults, SessionSecret, TopicName};

/// The machine's two clocks, read at the same moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// A monotonic clock, in microseconds since some moment before the replica was created.
    pub elapsed_us: u64,
    /// The wall clock.
    pub wall: Millis,
}

/// A client's connection. The driver assigns the number and never reuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// The configuration of a replica, which is fixed while it runs.
#[derive(Clone, Debug)]
pub struct ReplicaConfig {
    /// This node's number in the group, from 1.
    pub node: u64,
    /// The id of the cluster.
    pub cluster_id: [u8; 16],
    /// The id of this node's copy of the data.
    pub storage_id: [u8; 16],
    /// True if the cluster was founded here: then this node is its first member. Any other node becomes a member when it is
    /// added.
    pub founder: bool,
    /// Random bytes for the key secret of a new queue and for election timeouts.
    pub entropy: [u8; 32],
    /// The server's name in WELCOME.
    pub server_name: String,
    /// Where clients connect to this node.
    pub client_address: String,
    /// Where the other members connect to it; empty if they cannot.
    pub peer_address: String,
    /// The highest feature level that this node accepts; at most [`FEATURE_LEVEL`](adjourn_types::FEATURE_LEVEL).
    pub feature_level_max: u32,
    /// Largest body that is accepted, in bytes.
    pub body_bytes_max: usize,
    /// The longest time between two frames from each side.
    pub heartbeat_ms: u32,
    /// How long the leases of a lost connection are kept.
    pub session_grace_ms: u64,
    /// The retry defaults of the queue while this node leads.
    pub retry_defaults: RetryDefaults,
    /// The zone data by which this node decides when schedules fire, while it leads.
    pub zones: ZoneData,
    /// Unsent bytes per connection before grants and reads pause.
    pub output_bytes_max: usize,
    /// Bytes that may be proposed and not yet committed, in all. Above this, pushes get `BUSY`; above twice as many, so do
    /// requests that settle or change jobs.
    pub uncommitted_bytes_max: usize,
    /// Memory that the process may use, in bytes; 0 for no limit. Above this, pushes get `BUSY`.
    pub memory_max_bytes: u64,
    /// The part of that memory for clients' requests and answers.
    pub memory_account: MemoryAccount,
    /// A checkpoint is taken when the log has grown by this many bytes, or by more if there are many resident jobs. If the
    /// last one began more than a minute ago, an eighth is enough.
    pub checkpoint_log_bytes: u64,
}

/// What a node tells another one when it connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerInfo {
    /// Its identity and addresses.
    pub member: Member,
    /// The highest feature level that it accepts.
    pub feature_level_max: u32,
}

/// Everything that one node sends to another in one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The sender's wall clock.
    pub wall: Millis,
    /// The stamp that the sender would give an entry now, in microseconds; 0 if it does not know, because it has neither
    /// led nor followed since its start. Followers use their leader's stamp.
    pub stamp_us: u64,
    /// The last entry that the sender has applied.
    pub applied: u64,
    /// The index of an entry and the sender's state hash after it. All members compare their states after the same entries.
    pub audited: (u64, u128),
    /// Raft messages.
    pub messages: Vec<Message>,
}

impl Bundle {
    /// An estimate of the memory and bandwidth of its messages, in bytes.
    pub fn weight_bytes(&self) -> usize {
        self.messages.iter().map(Message::weight_bytes).sum()
    }
}

/// Why a node cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// No node answers at the address.
    #[error("cannot reach {address}: {why}")]
    Unreachable {
        /// The address that was dialled.
        address: String,
        /// What the system said.
        why: String,
    },
    /// The other side does not prove to be a node.
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

/// A client that connects.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Fresh random bytes: the secret of its session, if it opens one.
    pub secret: SessionSecret,
    /// Its token, rights and limits.
    pub access: Arc<Access>,
    /// Its address, for operators.
    pub address: String,
    /// Most requests that it may have in flight.
    pub in_flight_max: u32,
    /// True if its leases are volatile: they end with the connection, and nobody outside this process knows them. A crash
    /// of the process ends them like the loss of the connection, so a node without others tells of them before they are
    /// durable.
    pub volatile_leases: bool,
}

impl Arrival {
    /// A client of a server without tokens, which may do everything.
    pub fn open(secret: SessionSecret, address: impl Into<String>) -> Self {
        let access = Arc::new(Access::open());
        Self { secret, access, address: address.into(), in_flight_max: 1024, volatile_leases: false }
    }
}

/// A record for the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    /// The name of the client's token; empty without one.
    pub token: String,
    /// The client's address.
    pub address: String,
    /// The client's request.
    pub request: RequestOpcode,
    /// The objects of the request.
    pub about: String,
    /// The reason if it was denied; `None` if it was allowed.
    pub denied: Option<String>,
}

/// A value of the driver that is dropped when the requests that came with it have been taken up. The driver uses it to
/// limit how much it reads.
#[derive(Debug, Default)]
pub struct Permit {
    _held: Option<Box<dyn std::fmt::Debug + Send>>,
}

impl Permit {
    /// Wraps the driver's value.
    pub fn new(held: impl std::fmt::Debug + Send + 'static) -> Self {
        Self { _held: Some(Box::new(held)) }
    }
}

/// An event for the replica.
#[derive(Debug)]
pub enum Input {
    /// A client connected.
    Connected {
        /// The new connection.
        connection: ConnectionId,
        /// The client.
        arrival: Arrival,
    },
    /// Requests that were read together from one connection, in order. HELLO is first on each connection, and the driver
    /// passes on nothing more until its answer is written; it has checked version and token. The driver answers
    /// `BACKUP_READ` and `BACKUP_END` itself.
    Requests {
        /// The connection that sent them.
        connection: ConnectionId,
        /// Set if callers share the connection: the address of this caller, for operators.
        from: Option<Arc<str>>,
        /// The requests with their ids, in order.
        requests: Vec<(RequestId, Request)>,
        /// Held while the requests wait to be taken up.
        permit: Permit,
    },
    /// Output to a client was written to its socket. Reported in pieces of less than half of
    /// [`ReplicaConfig::output_bytes_max`]; unreported bytes count as unwritten.
    Written {
        /// The client's connection.
        connection: ConnectionId,
        /// How much was written, in the units of [`Response::weight_bytes`].
        bytes: usize,
    },
    /// Memory came back to [`ReplicaConfig::memory_account`] while this replica [waited](super::MemoryShare::want) for it.
    MemoryGivenBack,
    /// [`Response::age`] removed leases from the output because too little of them was left: the consumer does not get
    /// their jobs.
    NotSent {
        /// The consumer's connection.
        connection: ConnectionId,
        /// The removed leases.
        leases: Vec<Lease>,
    },
    /// The calls of a topic are suspended for this long: their only destination failed. Reported twice a second meanwhile.
    CallsSuspended {
        /// The topic.
        topic: TopicName,
        /// How long, in milliseconds.
        for_ms: u64,
    },
    /// A client is gone, or was disconnected. Nothing more comes from it, and nothing is sent to it.
    Disconnected {
        /// The lost connection.
        connection: ConnectionId,
    },
    /// The batch of a [`WriteBatch`], and all batches before it, are durable, or need not be yet.
    Persisted {
        /// Its number.
        number: u64,
    },
    /// A connection to another node is open, and both nodes have identified themselves.
    PeerConnected {
        /// Its identity and addresses, as it reports them.
        about: PeerInfo,
    },
    /// The connection to another node is lost.
    PeerLost {
        /// The node's number.
        node: u64,
    },
    /// Another node sent a bundle.
    Peer {
        /// The node's number.
        from: u64,
        /// Its messages, and its clock.
        bundle: Bundle,
    },
    /// The result of [`Output::Probe`].
    Probed {
        /// The address that was dialled.
        address: String,
        /// The node found there, or the error.
        found: Result<PeerInfo, ProbeError>,
    },
    /// The result of [`Output::Fetch`]: the first of the entries, at least one.
    Fetched {
        /// The entries, in order.
        entries: Vec<LogEntry>,
    },
    /// The result of [`Output::FetchSnapshot`]: the checkpoint is complete, verified, and durable beside this node's own
    /// data.
    SnapshotFetched {
        /// The last entry that it contains.
        index: u64,
        /// The restored state.
        restored: Box<Restored>,
    },
    /// That checkpoint is not available any more from any node.
    SnapshotGone {
        /// The last entry that it contains.
        index: u64,
    },
    /// A member fetches the checkpoint that it was offered. Reported once per second.
    SnapshotPulled {
        /// The member that fetches.
        node: u64,
    },
    /// A member asked for a checkpoint that this node no longer has.
    SnapshotRefused {
        /// The member that asked.
        node: u64,
    },
    /// The checkpoint thread has taken over a batch of [`CheckpointOrder::Sessions`] or [`CheckpointOrder::Jobs`].
    CheckpointTook,
    /// There is no disk space for the current checkpoint. Its files were deleted.
    CheckpointAbandoned,
    /// Data of an earlier checkpoint that the current one needs cannot be read. Its files were deleted.
    CheckpointUnreadable(StorageError),
    /// The current checkpoint is durable.
    CheckpointDone(Box<Checkpoint>),
    /// The memory of the process was measured. Report it often while there is a limit and many jobs are pushed.
    Memory {
        /// In bytes.
        resident_bytes: u64,
    },
    /// The disk's free space fell below what pushes need (true), or rose above it (false).
    DiskLow(bool),
    /// Take no new work. [`Output::Stopped`] follows when everything accepted is durable and answered.
    Stop,
}

/// A batch to make durable. Batches are numbered from 1 and written in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteBatch {
    /// The number for [`Input::Persisted`].
    pub number: u64,
    /// When its oldest command was taken up, on the monotonic clock; for entries from the leader, when they arrived.
    pub since_us: u64,
    /// The term, vote, entries and commit to write.
    pub batch: PersistBatch,
    /// True if it only grants volatile leases, which need not outlast this process: report it at once, and make it durable with
    /// the next batch, or soon.
    pub is_volatile: bool,
}

/// A step of a checkpoint, for the checkpoint thread. There is one checkpoint at a time.
#[derive(Debug)]
pub enum CheckpointOrder {
    /// Begins a checkpoint.
    Begin(Box<CheckpointBegin>),
    /// Some sessions, before the jobs. Each batch is answered with [`Input::CheckpointTook`].
    Sessions(CapturedSessions),
    /// Some jobs, answered like sessions.
    Jobs(CheckpointJobs),
    /// The checkpoint is complete. [`Input::CheckpointDone`] follows when it is durable.
    End,
    /// Abandon the checkpoint: no more parts follow. Answered once, with [`Input::CheckpointAbandoned`].
    Abandon,
}

/// An action for the driver.
#[derive(Debug)]
pub enum Output {
    /// Responses for one connection. Answers to different requests are in no particular order. The driver adds the stages
    /// to [`Response::Stats`], and calls [`Response::age`] when it writes, to set the remaining time of leases.
    Send {
        /// The client's connection.
        connection: ConnectionId,
        /// The responses; `GoingAway` has request id 0.
        responses: Vec<(RequestId, Response)>,
        /// How many of them answer a request; the others are unsolicited.
        answers: u32,
        /// The memory of the responses: to be dropped when they are written.
        memory: HeldMemory,
    },
    /// Close this connection once its output is written: another one took over its session, this node no longer leads, or
    /// there is no room for its session.
    Close {
        /// The connection to close.
        connection: ConnectionId,
    },
    /// Make a batch durable.
    Persist(WriteBatch),
    /// Send a bundle to another node. It may be lost.
    Peer {
        /// The receiving node's number.
        to: u64,
        /// Messages, and this node's clock.
        bundle: Bundle,
    },
    /// The nodes with which connections are allowed from now on, this one included, and the removed ones.
    Members {
        /// The members.
        members: Vec<Member>,
        /// Numbers of former members.
        removed: Vec<u64>,
        /// The feature level that every member must support.
        feature_level: u32,
    },
    /// Find out which node is at this address. [`Input::Probed`] brings the result.
    Probe {
        /// The address to dial.
        address: String,
    },
    /// Read log entries for a member that lags. [`Input::Fetched`] brings them. The read must see all earlier
    /// [`Output::Persist`] batches.
    Fetch(Wanted),
    /// Fetch a checkpoint from another node. [`Input::SnapshotFetched`] brings it, or [`Input::SnapshotGone`] says that it
    /// is not available. There is one fetch at a time: this one replaces an earlier one.
    FetchSnapshot {
        /// The node that has it.
        from: u64,
        /// The last entry that it contains.
        index: u64,
    },
    /// A step of a checkpoint, to be written beside the log and with low priority.
    Checkpoint(CheckpointOrder),
    /// A requested backup is ready to be read over its connection.
    Backup {
        /// The connection that asked.
        connection: ConnectionId,
        /// The request, which the driver answers.
        request: RequestId,
        /// The checkpoint to read from.
        backup: Arc<PinnedBackup>,
    },
    /// The log is no longer needed up to this entry, inclusive: a durable checkpoint contains it.
    Cut {
        /// The last entry that may be deleted.
        through: u64,
    },
    /// Data on disk is missing or cannot be read. The node must end; no output follows.
    Failed(StorageError),
    /// A message for operators.
    Notice(Notice),
    /// A record for the audit log. Allowed pushes are not recorded.
    Audited(Box<Audited>),
    /// Follows [`Input::Stop`] when no work is left.
    Stopped,
}

/// A message that the server logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// This node leads in this term and has applied all earlier entries, so it serves requests from now on. Before, it
    /// answered them with `NO_LEADER` or `NOT_LEADER`.
    Leading {
        /// The Raft term.
        term: u64,
    },
    /// This node no longer leads.
    Following {
        /// The Raft term.
        term: u64,
    },
    /// Another node is the leader, as far as this one knows.
    Follows {
        /// The leader's number.
        leader: u64,
    },
    /// This node is no longer a member.
    Removed,
    /// A member's state after an entry differs from this node's: one of them is wrong.
    StateDiffers {
        /// The member.
        node: u64,
        /// The entry.
        index: u64,
    },
    /// A majority of the voters has another state after an entry: this node no longer serves clients.
    StateOutvoted {
        /// The entry.
        index: u64,
    },
    /// A part of the state is unreadable. This node serves no clients until it has installed another member's checkpoint.
    StateLost {
        /// The place and the reason.
        what: String,
    },
    /// The wall clock differs too much from those of a majority. Until that is corrected, this node does not lead.
    ClockOutside {
        /// How far it is ahead; negative if it is behind.
        by_ms: i64,
    },
    /// Data that a client asked for cannot be read from disk.
    Unreadable {
        /// The place, the reason and the remedy.
        what: String,
    },
    /// A schedule whose instant has come is not fired: this node cannot read its rules.
    ScheduleUnreadable {
        /// The schedule.
        schedule: JobId,
        /// Why it is not fired.
        why: String,
    },
    /// The wall clock was set. Delays and leases are unaffected; absolute times follow it.
    ClockStepped {
        /// By how much; negative if it was set back.
        by_ms: i64,
    },
}
