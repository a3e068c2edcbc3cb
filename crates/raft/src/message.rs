//! Messages between members, and their encoding.
//!
//! raft-rs uses protobuf, whose parser has an open advisory, so peers never exchange it: each field of a message is
//! converted to a type of our own and encoded with bincode. A forged length cannot cause an allocation: memory is taken
//! only for bytes that have arrived. [`KINDS`] lists the messages that members may send. All others are refused, in
//! particular proposals, whose outcome would never be reported.

use bincode::Options as _;
use bytes::Bytes;
use raft::eraftpb;
use serde::{Deserialize, Serialize};

use super::entries::{from_raft, to_raft};
use super::membership::Membership;
use adjourn_storage::{EntryKind, LogEntry};

/// A Raft message from one member to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Message(eraftpb::Message);

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The bytes cannot be decoded.
    #[error("a message between members cannot be understood")]
    Malformed,
    /// Members never send a message of this kind.
    #[error("members do not send each other messages of kind {0}")]
    Kind(u8),
}

/// Names a checkpoint that the sender offers; the receiver then fetches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotOffer {
    /// The last entry that it contains.
    pub index: u64,
    /// That entry's term.
    pub term: u64,
}

/// Estimated memory of a message's fields, in bytes.
const FIELDS_BYTES: usize = 128;
/// Estimated memory of an entry's fields, in bytes.
const ENTRY_FIELDS_BYTES: usize = 64;

/// The kinds of messages that members exchange, with their numbers in the encoding.
const KINDS: [(u8, eraftpb::MessageType); 10] = [
    (1, eraftpb::MessageType::MsgAppend),
    (2, eraftpb::MessageType::MsgAppendResponse),
    (3, eraftpb::MessageType::MsgRequestVote),
    (4, eraftpb::MessageType::MsgRequestVoteResponse),
    (5, eraftpb::MessageType::MsgSnapshot),
    (6, eraftpb::MessageType::MsgHeartbeat),
    (7, eraftpb::MessageType::MsgHeartbeatResponse),
    (8, eraftpb::MessageType::MsgTimeoutNow),
    (9, eraftpb::MessageType::MsgRequestPreVote),
    (10, eraftpb::MessageType::MsgRequestPreVoteResponse),
];

/// A message in its encoded form.
#[derive(Serialize, Deserialize)]
struct Sent<'a> {
    kind: u8,
    to: u64,
    from: u64,
    term: u64,
    log_term: u64,
    index: u64,
    commit: u64,
    commit_term: u64,
    request_snapshot: u64,
    reject: bool,
    reject_hint: u64,
    priority: i64,
    #[serde(with = "serde_bytes")]
    context: &'a [u8],
    snapshot: Option<SentSnapshot>,
    #[serde(borrow)]
    entries: Vec<SentEntry<'a>>,
}

#[derive(Serialize, Deserialize)]
struct SentSnapshot {
    index: u64,
    term: u64,
    voters: Vec<u64>,
    learners: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct SentEntry<'a> {
    kind: u8,
    index: u64,
    term: u64,
    #[serde(with = "serde_bytes")]
    data: &'a [u8],
}

impl Message {
    pub(super) fn new(message: eraftpb::Message) -> Self {
        Self(message)
    }

    pub(super) fn into_raft(self) -> eraftpb::Message {
        self.0
    }

    /// The receiving member.
    pub fn to(&self) -> u64 {
        self.0.to
    }

    /// The sending member.
    pub fn from(&self) -> u64 {
        self.0.from
    }

    /// True if it may overtake other messages. Urgent messages keep the group together and must never wait behind large
    /// ones. An append, even an empty one, must stay in order: it follows the previous append, and is refused without it.
    pub fn is_urgent(&self) -> bool {
        self.0.get_msg_type() != eraftpb::MessageType::MsgAppend
    }

    /// An estimate of its memory and bandwidth, in bytes.
    pub fn weight_bytes(&self) -> usize {
        let entries = self.0.entries.iter().map(|entry| ENTRY_FIELDS_BYTES + entry.data.len());
        FIELDS_BYTES + self.0.context.len() + entries.sum::<usize>()
    }

    /// The checkpoint that it offers to a member that lags too far behind.
    pub fn snapshot(&self) -> Option<SnapshotOffer> {
        let is_snapshot = self.0.get_msg_type() == eraftpb::MessageType::MsgSnapshot;
        let offered = self.0.get_snapshot().get_metadata();
        is_snapshot.then_some(SnapshotOffer { index: offered.index, term: offered.term })
    }

    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let message = &self.0;
        let kind = KINDS.iter().find(|(_, kind)| *kind == message.get_msg_type());
        let entries: Vec<LogEntry> = message.entries.iter().cloned().map(from_raft).collect();
        let offered = message.get_snapshot().get_metadata();
        let members = Membership::from(offered.get_conf_state());
        let sent = Sent {
            kind: kind.map_or(0, |(number, _)| *number),
            to: message.to,
            from: message.from,
            term: message.term,
            log_term: message.log_term,
            index: message.index,
            commit: message.commit,
            commit_term: message.commit_term,
            request_snapshot: message.request_snapshot,
            reject: message.reject,
            reject_hint: message.reject_hint,
            priority: message.priority,
            context: &message.context,
            snapshot: self.snapshot().map(|SnapshotOffer { index, term }| SentSnapshot {
                index,
                term,
                voters: members.voters,
                learners: members.learners,
            }),
            entries: entries.iter().map(SentEntry::new).collect(),
        };
        let encoded = options().serialize(&sent);
        encoded.unwrap_or_else(|error| unreachable!("a message in memory always encodes: {error}"))
    }

    /// Decodes a message. Its entries share the memory of `bytes`.
    pub fn decode(bytes: &Bytes) -> Result<Self, MessageError> {
        let sent: Sent<'_> = options().deserialize(bytes).map_err(|_| MessageError::Malformed)?;
        let kind = KINDS.iter().find(|(number, _)| *number == sent.kind);
        let (_, kind) = kind.ok_or(MessageError::Kind(sent.kind))?;
        if sent.term == 0 || !sent.follows() {
            return Err(MessageError::Malformed);
        }
        let entries = sent.entries.iter().map(|entry| entry.read(bytes).map(to_raft));
        let mut message = eraftpb::Message {
            to: sent.to,
            from: sent.from,
            term: sent.term,
            log_term: sent.log_term,
            index: sent.index,
            commit: sent.commit,
            commit_term: sent.commit_term,
            request_snapshot: sent.request_snapshot,
            reject: sent.reject,
            reject_hint: sent.reject_hint,
            priority: sent.priority,
            context: bytes.slice_ref(sent.context),
            entries: entries.collect::<Result<Vec<_>, _>>()?.into(),
            ..eraftpb::Message::default()
        };
        message.set_msg_type(*kind);
        if let Some(SentSnapshot { index, term, voters, learners }) = sent.snapshot {
            let metadata = message.mut_snapshot().mut_metadata();
            (metadata.index, metadata.term) = (index, term);
            metadata.set_conf_state(Membership { voters, learners }.into());
        }
        Ok(Self(message))
    }
}

impl Sent<'_> {
    /// True if its entries are consecutive, and none has a later term than the message.
    fn follows(&self) -> bool {
        let mut before = (self.index, self.log_term);
        self.entries.iter().all(|entry| {
            let follows = before.0.checked_add(1) == Some(entry.index) && before.1 <= entry.term;
            before = (entry.index, entry.term);
            follows && entry.term <= self.term
        })
    }
}

impl<'a> SentEntry<'a> {
    fn new(entry: &'a LogEntry) -> Self {
        let LogEntry { index, term, kind, data } = entry;
        Self { kind: *kind as u8, index: *index, term: *term, data }
    }

    fn read(&self, bytes: &Bytes) -> Result<LogEntry, MessageError> {
        let kind =
            [EntryKind::Normal, EntryKind::ConfChange].into_iter().find(|kind| *kind as u8 == self.kind);
        let kind = kind.ok_or(MessageError::Malformed)?;
        Ok(LogEntry { index: self.index, term: self.term, kind, data: bytes.slice_ref(self.data) })
    }
}

fn options() -> impl bincode::Options {
    bincode::DefaultOptions::new().with_varint_encoding()
}
