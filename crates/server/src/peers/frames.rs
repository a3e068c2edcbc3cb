//! Frames between nodes: their encoding, and the checks on what arrives.
//!
//! ```text
//!  0        4      5             length  length + 4
//!  | length | kind | payload ... | crc   |
//!  | u32    | u8   |             | u32   |
//! ```
//!
//! Little-endian. `length` counts the bytes after it; `crc` is the CRC32C of all bytes before it, the length included. HELLO,
//! WELCOME and JOIN begin with a magic and the versions that the sender speaks. Every later version keeps these in place, so
//! that two nodes without a common version can say so. In these three, bytes after the known fields are ignored. Every other
//! frame is refused if it has unknown bytes.
//!
//! A frame about one Raft group (BUNDLE, FETCH, PART, GONE) begins its payload with the number of the group, `u8`. The others
//! are about the node. A frame for a group that this node does not have is refused.
//!
//! It does no IO. It allocates for the bytes that have arrived, never by a length field.

mod vouch;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use adjourn_raft::{Message, MessageError};
use adjourn_replica::{Bundle, PeerInfo};
use adjourn_types::limits::{PEER_ADDRESS_BYTES_MAX, PEER_FRAME_BYTES_MAX_BEFORE_WELCOME};
use adjourn_types::{Access, GroupId, Member, Millis, first_bytes};

/// The version that this code speaks with other nodes.
pub const VERSION: u16 = 2;
/// The oldest version that it understands.
pub const VERSION_MIN: u16 = 2;

const MAGIC: [u8; 8] = *b"ADJPEERS";
/// Bytes of a length.
const LENGTH_BYTES: usize = 4;
/// Bytes of a kind.
const KIND_BYTES: usize = 1;
/// Bytes of a checksum.
const CRC_BYTES: usize = 4;
/// Longest text of a refusal, in bytes.
const TEXT_BYTES_MAX: usize = 1024;

/// A message from one node to another.
#[derive(Clone, Debug, PartialEq)]
pub enum PeerFrame {
    /// The first frame, from the node that dialled.
    Hello(Greeting),
    /// Accepts a HELLO, and says which node answers.
    Welcome(Greeting),
    /// Refuses a HELLO, or an answer from the wrong node. The connection ends.
    Refused(Refusal),
    /// Instead of HELLO, from a node without a cluster: asks which one this is. Has the number that the node is to
    /// have.
    Join(u64),
    /// The answer to JOIN.
    Cluster(ClusterInfo),
    /// Shows that the sender is alive. Follows WELCOME at once.
    Ping,
    /// Messages from one replica to the other.
    Bundle(Bundle),
    /// Send a part of the newest checkpoint.
    Fetch {
        /// The last entry that it must contain.
        index: u64,
        /// The offset of the part in the checkpoint.
        offset: u64,
    },
    /// A part of a checkpoint.
    Part {
        /// The last entry that it contains.
        index: u64,
        /// The offset of the part.
        offset: u64,
        /// The length of the whole checkpoint.
        total: u64,
        /// The part.
        data: Bytes,
    },
    /// The newest checkpoint is not the requested one.
    Gone {
        /// The requested one.
        index: u64,
    },
    /// The access of the callers whose requests follow, encoded as clients send them.
    Vouch(Access),
}

/// What a connection between two nodes is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A permanent connection for messages of replicas.
    Peer,
    /// To learn which node answers.
    Probe,
    /// For the requests of callers. Their access follows the handshake.
    Callers,
}

/// The handshake of two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The purpose of the connection.
    pub purpose: Purpose,
    /// The cluster that the sender's data belongs to.
    pub cluster_id: [u8; 16],
    /// The sender.
    pub about: PeerInfo,
}

/// The cluster and its members, for a node that wants to join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterInfo {
    /// The cluster.
    pub cluster_id: [u8; 16],
    /// Its members, as far as the answering node knows.
    pub members: Vec<Member>,
}

/// Why a node is turned away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// The reason as a code.
    pub code: RefusalCode,
    /// The problem and its remedy, for people.
    pub text: String,
}

/// The reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum RefusalCode {
    /// For a reason that this version does not know.
    Unknown = 0,
    /// Its data belongs to another cluster.
    OtherCluster = 1,
    /// Its number is that of a member with another copy of the data: that copy is lost.
    DataLost = 2,
    /// It was a member, and was removed.
    Removed = 3,
    /// It has the refusing node's number.
    SameNumber = 4,
    /// There is no version that both understand.
    Version = 5,
    /// Its message was invalid.
    Malformed = 6,
    /// It is not the node that was dialled.
    OtherNode = 7,
    /// Too many connections are not authenticated yet.
    Busy = 8,
    /// It does not support the cluster's feature level.
    FeatureLevel = 9,
    /// Its certificate is not for its number.
    NotProven = 10,
}

/// Why bytes are not a frame. The connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerFrameError {
    /// Longer than a frame may be here.
    #[error("a frame has {bytes} bytes; at most {bytes_max} are allowed here")]
    TooLong {
        /// Its length field.
        bytes: u32,
        /// The limit.
        bytes_max: u32,
    },
    /// Shorter than the shortest frame.
    #[error("a frame has {0} bytes, fewer than the smallest frame")]
    TooShort(u32),
    /// Its checksum does not match.
    #[error("the checksum of a frame is wrong: the frame was damaged, or the sender is not a node")]
    Checksum,
    /// Its kind is unknown.
    #[error("a frame has the unknown kind {0}")]
    Kind(u8),
    /// It is about a group that this node does not have.
    #[error("a frame is for group {0}, and this node has only group {only}", only = GroupId::ONLY.0)]
    Group(u8),
    /// Its payload is not valid.
    #[error("a frame of kind {0} is malformed")]
    Malformed(u8),
    /// Its sender speaks other versions.
    #[error(
        "the other node speaks versions {min} to {max} of the nodes' protocol, this one {VERSION_MIN} to {VERSION}"
    )]
    Version {
        /// The oldest version that it speaks.
        min: u16,
        /// The newest version that it speaks.
        max: u16,
    },
    /// Its Raft message is invalid.
    #[error(transparent)]
    Message(#[from] MessageError),
}

/// Splits received bytes into frames.
#[derive(Clone, Debug)]
pub struct PeerDecoder {
    bytes_max: u32,
}

/// Numbers of kinds.
mod kind {
    pub(super) const HELLO: u8 = 1;
    pub(super) const WELCOME: u8 = 2;
    pub(super) const REFUSED: u8 = 3;
    pub(super) const JOIN: u8 = 4;
    pub(super) const CLUSTER: u8 = 5;
    pub(super) const PING: u8 = 6;
    pub(super) const BUNDLE: u8 = 7;
    pub(super) const FETCH: u8 = 8;
    pub(super) const PART: u8 = 9;
    pub(super) const GONE: u8 = 10;
    pub(super) const VOUCH: u8 = 11;

    /// True if frames of this kind are about one Raft group, and name it.
    pub(super) fn names_group(kind: u8) -> bool {
        matches!(kind, BUNDLE | FETCH | PART | GONE)
    }
}

impl PeerDecoder {
    /// A decoder for a connection before the handshake.
    pub fn new() -> Self {
        Self::with_bytes_max(PEER_FRAME_BYTES_MAX_BEFORE_WELCOME)
    }

    /// A decoder that accepts frames up to this size in bytes.
    pub fn with_bytes_max(bytes_max: usize) -> Self {
        Self { bytes_max: u32::try_from(bytes_max).unwrap_or(u32::MAX) }
    }

    /// Takes the next frame from the beginning of `buffer`; `None` if it is incomplete.
    pub fn next(&self, buffer: &mut BytesMut) -> Result<Option<PeerFrame>, PeerFrameError> {
        let Some(length) = buffer.first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length);
        if length > self.bytes_max {
            return Err(PeerFrameError::TooLong { bytes: length, bytes_max: self.bytes_max });
        }
        let bytes = LENGTH_BYTES + length as usize;
        let Some(payload_bytes) = (length as usize).checked_sub(KIND_BYTES + CRC_BYTES) else {
            return Err(PeerFrameError::TooShort(length));
        };
        if buffer.len() < bytes {
            return Ok(None);
        }
        let mut frame = buffer.split_to(bytes);
        let crc = frame.split_off(bytes - CRC_BYTES);
        if *crc != crc32c::crc32c(&frame).to_le_bytes() {
            return Err(PeerFrameError::Checksum);
        }
        frame.advance(LENGTH_BYTES);
        let kind = frame.get_u8();
        // The replica keeps payloads of bundles; a copy does not keep the bytes read around it alive.
        let payload = if kind == kind::BUNDLE { Bytes::copy_from_slice(&frame) } else { frame.freeze() };
        debug_assert_eq!(payload.len(), payload_bytes, "a payload is what is between kind and checksum");
        PeerFrame::decode(kind, payload).map(Some)
    }
}

impl Default for PeerDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl PeerFrame {
    /// Appends its bytes to `out`.
    pub fn encode(&self, out: &mut BytesMut) {
        let begin = out.len();
        out.put_u32_le(0);
        out.put_u8(self.kind());
        if kind::names_group(self.kind()) {
            out.put_u8(GroupId::ONLY.0);
        }
        match self {
            Self::Hello(greeting) | Self::Welcome(greeting) => greeting.encode(out),
            Self::Refused(Refusal { code, text }) => {
                out.put_u16_le(*code as u16);
                put_text(out, text, TEXT_BYTES_MAX);
            }
            Self::Join(node) => {
                put_versions(out);
                out.put_u64_le(*node);
            }
            Self::Cluster(cluster) => cluster.encode(out),
            Self::Ping => {}
            Self::Bundle(bundle) => put_bundle(out, bundle),
            Self::Fetch { index, offset } => {
                out.put_u64_le(*index);
                out.put_u64_le(*offset);
            }
            Self::Part { index, offset, total, data } => {
                out.put_u64_le(*index);
                out.put_u64_le(*offset);
                out.put_u64_le(*total);
                out.put_slice(data);
            }
            Self::Gone { index } => out.put_u64_le(*index),
            Self::Vouch(access) => vouch::put(out, access),
        }
        let length = out.len() - begin - LENGTH_BYTES + CRC_BYTES;
        let length = u32::try_from(length).unwrap_or_else(|_| unreachable!("a frame of {length} bytes"));
        let frame = out.get_mut(begin..).unwrap_or_default();
        frame.iter_mut().zip(length.to_le_bytes()).for_each(|(place, byte)| *place = byte);
        let crc = crc32c::crc32c(frame);
        out.put_u32_le(crc);
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Hello(_) => kind::HELLO,
            Self::Welcome(_) => kind::WELCOME,
            Self::Refused(_) => kind::REFUSED,
            Self::Join(_) => kind::JOIN,
            Self::Cluster(_) => kind::CLUSTER,
            Self::Ping => kind::PING,
            Self::Bundle(_) => kind::BUNDLE,
            Self::Fetch { .. } => kind::FETCH,
            Self::Part { .. } => kind::PART,
            Self::Gone { .. } => kind::GONE,
            Self::Vouch(_) => kind::VOUCH,
        }
    }

    fn decode(kind: u8, payload: Bytes) -> Result<Self, PeerFrameError> {
        let mut fields = Fields(payload);
        let mut grows = false;
        if kind::names_group(kind) {
            check_group(&mut fields, kind)?;
        }
        let read = match kind {
            kind::HELLO | kind::WELCOME => {
                grows = true;
                check_versions(&mut fields, kind)?;
                let greeting = Greeting::decode(&mut fields);
                greeting.map(if kind == kind::HELLO { Self::Hello } else { Self::Welcome })
            }
            kind::REFUSED => Refusal::decode(&mut fields).map(Self::Refused),
            kind::JOIN => {
                grows = true;
                check_versions(&mut fields, kind)?;
                fields.u64().map(Self::Join)
            }
            kind::CLUSTER => ClusterInfo::decode(&mut fields).map(Self::Cluster),
            kind::PING => Some(Self::Ping),
            kind::BUNDLE => read_bundle(&mut fields)?.map(Self::Bundle),
            kind::FETCH => {
                fields.u64().zip(fields.u64()).map(|(index, offset)| Self::Fetch { index, offset })
            }
            kind::PART => fields.part(),
            kind::GONE => fields.u64().map(|index| Self::Gone { index }),
            kind::VOUCH => vouch::read(&mut fields).map(Self::Vouch),
            _ => return Err(PeerFrameError::Kind(kind)),
        };
        read.filter(|_| grows || fields.0.is_empty()).ok_or(PeerFrameError::Malformed(kind))
    }
}

impl Greeting {
    fn encode(&self, out: &mut BytesMut) {
        put_versions(out);
        out.put_u8(match self.purpose {
            Purpose::Peer => 0,
            Purpose::Probe => 1,
            Purpose::Callers => 2,
        });
        out.put_slice(&self.cluster_id);
        put_member(out, &self.about.member);
        out.put_u32_le(self.about.feature_level_max);
    }

    fn decode(fields: &mut Fields) -> Option<Self> {
        let purpose = match fields.array()? {
            [0] => Purpose::Peer,
            [1] => Purpose::Probe,
            [2] => Purpose::Callers,
            _ => return None,
        };
        let cluster_id = fields.array()?;
        let (member, feature_level_max) = (fields.member()?, u32::from_le_bytes(fields.array()?));
        Some(Self { purpose, cluster_id, about: PeerInfo { member, feature_level_max } })
    }
}

impl ClusterInfo {
    fn encode(&self, out: &mut BytesMut) {
        out.put_slice(&self.cluster_id);
        self.members.iter().for_each(|member| put_member(out, member));
    }

    fn decode(fields: &mut Fields) -> Option<Self> {
        let cluster_id = fields.array()?;
        let mut members = Vec::new();
        while !fields.0.is_empty() {
            members.push(fields.member()?);
        }
        Some(Self { cluster_id, members })
    }
}

impl Refusal {
    /// A refusal for this reason.
    pub fn new(code: RefusalCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    fn decode(fields: &mut Fields) -> Option<Self> {
        use RefusalCode as Code;
        let code = u16::from_le_bytes(fields.array()?);
        let known = [
            Code::OtherCluster,
            Code::DataLost,
            Code::Removed,
            Code::SameNumber,
            Code::Version,
            Code::Malformed,
            Code::OtherNode,
            Code::Busy,
            Code::FeatureLevel,
            Code::NotProven,
        ];
        let code = known.into_iter().find(|known| *known as u16 == code).unwrap_or(Code::Unknown);
        Some(Self { code, text: fields.text(TEXT_BYTES_MAX)? })
    }
}

/// The fields of a payload that are not decoded yet.
struct Fields(Bytes);

impl Fields {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = *self.0.first_chunk()?;
        self.0.advance(N);
        Some(array)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn bytes(&mut self, count: usize) -> Option<Bytes> {
        (count <= self.0.len()).then(|| self.0.split_to(count))
    }

    fn text(&mut self, bytes_max: usize) -> Option<String> {
        let count = usize::from(u16::from_le_bytes(self.array()?));
        let bytes = self.bytes(count).filter(|_| count <= bytes_max)?;
        String::from_utf8(bytes.into()).ok()
    }

    fn member(&mut self) -> Option<Member> {
        let (node, storage_id) = (self.u64()?, self.array()?);
        let (peer_address, client_address) =
            (self.text(PEER_ADDRESS_BYTES_MAX)?, self.text(PEER_ADDRESS_BYTES_MAX)?);
        (node > 0).then_some(Member { node, storage_id, peer_address, client_address })
    }

    fn part(&mut self) -> Option<PeerFrame> {
        let (index, offset, total) = (self.u64()?, self.u64()?, self.u64()?);
        let data = std::mem::take(&mut self.0);
        let end = offset.checked_add(data.len() as u64)?;
        (end <= total).then_some(PeerFrame::Part { index, offset, total, data })
    }
}

fn put_versions(out: &mut BytesMut) {
    out.put_slice(&MAGIC);
    out.put_u16_le(VERSION_MIN);
    out.put_u16_le(VERSION);
}

fn check_versions(fields: &mut Fields, kind: u8) -> Result<(), PeerFrameError> {
    let mut read = || {
        let (magic, min, max) = (fields.array()?, fields.array()?, fields.array()?);
        (magic == MAGIC).then_some((u16::from_le_bytes(min), u16::from_le_bytes(max)))
    };
    match read() {
        None => Err(PeerFrameError::Malformed(kind)),
        Some((min, max)) if min > VERSION || max < VERSION_MIN => Err(PeerFrameError::Version { min, max }),
        Some(_) => Ok(()),
    }
}

fn check_group(fields: &mut Fields, kind: u8) -> Result<(), PeerFrameError> {
    let [group] = fields.array().ok_or(PeerFrameError::Malformed(kind))?;
    if GroupId(group) == GroupId::ONLY { Ok(()) } else { Err(PeerFrameError::Group(group)) }
}

fn put_member(out: &mut BytesMut, member: &Member) {
    out.put_u64_le(member.node);
    out.put_slice(&member.storage_id);
    put_text(out, &member.peer_address, PEER_ADDRESS_BYTES_MAX);
    put_text(out, &member.client_address, PEER_ADDRESS_BYTES_MAX);
}

/// Puts a text after its length, truncated to the maximum.
fn put_text(out: &mut BytesMut, text: &str, bytes_max: usize) {
    let text = first_bytes(text, bytes_max);
    out.put_u16_le(u16::try_from(text.len()).unwrap_or(u16::MAX));
    out.put_slice(text.as_bytes());
}

fn put_bundle(out: &mut BytesMut, bundle: &Bundle) {
    let Bundle { wall, stamp_us, applied, audited, messages } = bundle;
    out.put_u64_le(wall.0);
    out.put_u64_le(*stamp_us);
    out.put_u64_le(*applied);
    out.put_u64_le(audited.0);
    out.put_u128_le(audited.1);
    for message in messages {
        let bytes = message.encode();
        let length =
            u32::try_from(bytes.len()).unwrap_or_else(|_| unreachable!("it is smaller than a frame"));
        out.put_u32_le(length);
        out.put_slice(&bytes);
    }
}

fn read_bundle(fields: &mut Fields) -> Result<Option<Bundle>, MessageError> {
    let mut head = || {
        let (wall, stamp_us, applied) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let audited = (fields.u64()?, u128::from_le_bytes(fields.array()?));
        Some(Bundle { wall: Millis(wall), stamp_us, applied, audited, messages: Vec::new() })
    };
    let Some(mut bundle) = head() else { return Ok(None) };
    while !fields.0.is_empty() {
        let length = fields.array().map(u32::from_le_bytes);
        let Some(message) = length.and_then(|length| fields.bytes(length as usize)) else { return Ok(None) };
        bundle.messages.push(Message::decode(&message)?);
    }
    Ok(Some(bundle))
}

#[cfg(test)]
mod tests;
