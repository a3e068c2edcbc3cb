//! A value of a log of format 1 and its key: bytes in, values out. Knows nothing of sled.
//!
//! The key is the entry's index and the number of the part, big-endian, so that keys sort as the log goes:
//!
//! ```text
//!  0        8     10
//!  | index  | part |
//! ```
//!
//! A value is a header and a payload, little-endian. An entry that does not fit one value is cut into parts, each
//! with the same term and kind, all but the last one full; the last one says so.
//!
//! ```text
//!  0       4         5      6       7      8      16      24     26      28        32         36    40
//!  | magic | version | kind | group | last | term | index | part | zero  | payload | previous | crc | payload...
//!  | ADJL  | u8      | u8   | u8    | u8   | u64  | u64   | u16  | u16   | u32     | u32      | u32 |
//! ```
//!
//! `crc` is the CRC32C of everything before it and of the payload. `previous` is the `crc` of the value before, so
//! the values form a **chain**: each one can be checked alone, and two that were never neighbours show it. The
//! chain starts from a number made of the cluster's id: a log of another cluster does not fit
//! either. It survives both cuts. When a suffix is cut, the next value continues from the last one that stays. When
//! a prefix is cut, the first value that stays still carries what its predecessor's checksum was.

use bytes::{Bytes, BytesMut};

use super::super::{EntryKind, LogEntry};
use crate::types::GroupId;
use crate::types::limits::ENTRY_BYTES_MAX;

/// Largest value, in bytes.
pub(super) const VALUE_BYTES_MAX: usize = 16 << 10;
/// Bytes of a value before its payload.
pub(super) const HEADER_BYTES: usize = 40;
/// Largest payload of one value, in bytes.
pub(super) const PAYLOAD_BYTES_MAX: usize = VALUE_BYTES_MAX - HEADER_BYTES;
/// Length of a key, in bytes.
pub(super) const KEY_BYTES: usize = 10;

const MAGIC: [u8; 4] = *b"ADJL";
const VERSION: u8 = 1;
/// Offset of the checksum in the header, in bytes.
const CRC_AT: usize = HEADER_BYTES - 4;
/// The entry, and the part of it, that a value holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Index of the entry.
    pub(super) index: u64,
    /// From 0.
    pub(super) part: u16,
}

/// A value, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value<'a> {
    /// How to read the entry.
    pub(super) kind: EntryKind,
    /// Whose log it is.
    pub(super) group: GroupId,
    /// No further part follows.
    pub(super) last: bool,
    /// The entry's term.
    pub(super) term: u64,
    /// Where it stands.
    pub(super) key: Key,
    /// Checksum of the value before.
    pub(super) previous: u32,
    /// Checksum of this one.
    pub(super) crc: u32,
    /// A piece of the entry.
    pub(super) payload: &'a [u8],
}

/// In what way a value is not as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ValueError {
    /// Shorter or longer than it says, or not beginning as a value does.
    #[error("it is no value of this log")]
    Malformed,
    /// Written by a newer version.
    #[error("its value has version {0}, this binary knows up to {VERSION}")]
    Version(u8),
    /// A bit flipped, or part of it was not written.
    #[error("its checksum does not match")]
    Checksum,
    /// It stands under another's key.
    #[error("it stands in the wrong place")]
    Place,
    /// It does not continue the value before it.
    #[error("it does not continue the entry before it")]
    Chain,
}

/// The checksum of a value: of its header up to where the checksum stands, and of its payload.
pub(super) fn checksum(header: &[u8], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(header), payload)
}

impl Key {
    /// The first key of an entry.
    pub(super) fn first(index: u64) -> Self {
        Self { index, part: 0 }
    }

    /// As sled stores it.
    pub(super) fn encode(self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        let (index, part) = bytes.split_at_mut(8);
        index.copy_from_slice(&self.index.to_be_bytes());
        part.copy_from_slice(&self.part.to_be_bytes());
        bytes
    }
}

impl<'a> Value<'a> {
    /// Reads a value and checks it against its own checksum.
    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, ValueError> {
        let (header, payload) = bytes.split_first_chunk().ok_or(ValueError::Malformed)?;
        let header: &[u8; HEADER_BYTES] = header;
        let (covered, crc) = header.split_at(CRC_AT);
        let crc = u32::from_le_bytes(crc.try_into().map_err(|_| ValueError::Malformed)?);
        let mut fields = Fields(covered);
        if fields.take()? != MAGIC || bytes.len() > VALUE_BYTES_MAX {
            return Err(ValueError::Malformed);
        }
        let [version, kind, group, last] = fields.take()?;
        if checksum(covered, payload) != crc {
            return Err(ValueError::Checksum);
        }
        if version != VERSION {
            return Err(ValueError::Version(version));
        }
        let term = u64::from_le_bytes(fields.take()?);
        let index = u64::from_le_bytes(fields.take()?);
        let part = u16::from_le_bytes(fields.take()?);
        let zero: [u8; 2] = fields.take()?;
        let payload_bytes = u32::from_le_bytes(fields.take()?);
        let previous = u32::from_le_bytes(fields.take()?);
        // No log begins at 0, and none comes to its end.
        if index == 0
            || index == u64::MAX
            || zero != [0; 2]
            || payload_bytes as usize != payload.len()
            || last > 1
        {
            return Err(ValueError::Malformed);
        }
        let last = last == 1;
        // So the number of parts is bounded by the size of an entry.
        if !last && payload.len() != PAYLOAD_BYTES_MAX {
            return Err(ValueError::Malformed);
        }
        let kind = kind_of(kind).ok_or(ValueError::Malformed)?;
        let key = Key { index, part };
        Ok(Self { kind, group: GroupId(group), last, term, key, previous, crc, payload })
    }
}

/// Reads values in the order of their keys, checks that each continues the one before, and puts entries together.
#[derive(Debug)]
pub(super) struct Assembler {
    group: GroupId,
    previous: u32,
    next: Key,
    term: u64,
    /// The parts so far of an entry whose last part has not come.
    pending: Option<(EntryKind, BytesMut)>,
}

impl Assembler {
    /// Expects entry `index` next, continuing a value with the checksum `previous` in `term`.
    pub(super) fn new(group: GroupId, index: u64, term: u64, previous: u32) -> Self {
        Self { group, previous, next: Key::first(index), term, pending: None }
    }

    /// Takes the next value; returns an entry when this was its last part.
    pub(super) fn take(&mut self, value: &Value<'_>) -> Result<Option<LogEntry>, ValueError> {
        if value.key != self.next || value.group != self.group {
            return Err(ValueError::Place);
        }
        if value.previous != self.previous || value.term < self.term {
            return Err(ValueError::Chain);
        }
        let data = match self.pending.take() {
            None if value.last => Bytes::copy_from_slice(value.payload),
            pending => {
                let first = pending.is_none();
                let (kind, mut data) = pending.unwrap_or((value.kind, BytesMut::new()));
                let same_entry = first || value.term == self.term;
                if kind != value.kind || !same_entry || data.len() + value.payload.len() > ENTRY_BYTES_MAX {
                    return Err(ValueError::Chain);
                }
                data.extend_from_slice(value.payload);
                if !value.last {
                    self.pending = Some((kind, data));
                    self.step(value, Key { index: value.key.index, part: value.key.part + 1 });
                    return Ok(None);
                }
                data.freeze()
            }
        };
        self.step(value, Key::first(value.key.index + 1));
        Ok(Some(LogEntry { index: value.key.index, term: value.term, kind: value.kind, data }))
    }

    /// The key that must come next.
    pub(super) fn next(&self) -> Key {
        self.next
    }

    fn step(&mut self, value: &Value<'_>, next: Key) {
        self.previous = value.crc;
        self.term = value.term;
        self.next = next;
    }
}

/// The part of a header that is not read yet.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], ValueError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(ValueError::Malformed)?;
        self.0 = rest;
        Ok(*field)
    }
}

fn kind_of(byte: u8) -> Option<EntryKind> {
    [EntryKind::Normal, EntryKind::ConfChange].into_iter().find(|kind| *kind as u8 == byte)
}
