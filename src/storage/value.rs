//! A value of the log and its key: bytes in, bytes out. Knows nothing of sled.
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
//! chain starts from a number made of the cluster's id ([`chain_root`]): a log of another cluster does not fit
//! either. It survives both cuts. When a suffix is cut, the next value continues from the last one that stays. When
//! a prefix is cut, the first value that stays still carries what its predecessor's checksum was.

use bytes::{Bytes, BytesMut};

use super::{EntryKind, LogEntry};
use crate::types::GroupId;
use crate::types::limits::ENTRY_BYTES_MAX;

/// Largest value, in bytes.
///
/// sled rewrites a leaf of up to 16 values again and again while it fills, and keeps some 256 leaves in memory. For
/// the same commits, values of 64 KiB take 350 MB of memory and five to nine times the bytes on the disk, values of
/// 16 KiB 100 MB and four to five times, at the same speed. Values of 4 KiB are slower.
pub const VALUE_BYTES_MAX: usize = 16 << 10;
/// Bytes of a value before its payload.
pub const HEADER_BYTES: usize = 40;
/// Largest payload of one value, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = VALUE_BYTES_MAX - HEADER_BYTES;
/// Length of a key, in bytes.
pub const KEY_BYTES: usize = 10;

const MAGIC: [u8; 4] = *b"ADJL";
const VERSION: u8 = 1;
/// Offset of the checksum in the header, in bytes.
const CRC_AT: usize = HEADER_BYTES - 4;
/// No entry has more parts.
const PARTS_MAX: usize = ENTRY_BYTES_MAX.div_ceil(PAYLOAD_BYTES_MAX);
const _: () = assert!(PARTS_MAX <= u16::MAX as usize);

/// The entry, and the part of it, that a value holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Index of the entry.
    pub index: u64,
    /// From 0.
    pub part: u16,
}

/// A value, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    /// How to read the entry.
    pub kind: EntryKind,
    /// Whose log it is.
    pub group: GroupId,
    /// No further part follows.
    pub last: bool,
    /// The entry's term.
    pub term: u64,
    /// Where it stands.
    pub key: Key,
    /// Checksum of the value before.
    pub previous: u32,
    /// Checksum of this one.
    pub crc: u32,
    /// A piece of the entry.
    pub payload: &'a [u8],
}

/// In what way a value is not as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
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

/// What the first value of a cluster's log continues.
pub fn chain_root(cluster_id: [u8; 16]) -> u32 {
    crc32c::crc32c(&cluster_id)
}

/// The checksum of a value: of its header up to where the checksum stands, and of its payload.
pub fn checksum(header: &[u8], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(header), payload)
}

impl Key {
    /// The first key of an entry.
    pub fn first(index: u64) -> Self {
        Self { index, part: 0 }
    }

    /// As sled stores it.
    pub fn encode(self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        let (index, part) = bytes.split_at_mut(8);
        index.copy_from_slice(&self.index.to_be_bytes());
        part.copy_from_slice(&self.part.to_be_bytes());
        bytes
    }

    /// `None` if no key of the log looks like this.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (index, rest) = bytes.split_first_chunk()?;
        let part = rest.try_into().ok()?;
        Some(Self { index: u64::from_be_bytes(*index), part: u16::from_be_bytes(part) })
    }
}

impl<'a> Value<'a> {
    /// Reads a value and checks it against its own checksum.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ValueError> {
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

/// Cuts an entry into values that continue the value whose checksum is `previous`. Returns the checksum of the last.
///
/// # Panics
///
/// If the entry is larger than any entry may be.
pub fn encode(
    group: GroupId,
    entry: &LogEntry,
    mut previous: u32,
    mut each: impl FnMut(Key, Box<[u8]>),
) -> u32 {
    assert!(entry.data.len() <= ENTRY_BYTES_MAX, "an entry of {} bytes was let through", entry.data.len());
    let mut rest = &entry.data[..];
    let mut part: u16 = 0;
    loop {
        let (payload, after) = rest.split_at(rest.len().min(PAYLOAD_BYTES_MAX));
        let key = Key { index: entry.index, part };
        let bytes = encode_part(group, entry, key, after.is_empty(), payload, previous);
        previous = bytes.1;
        each(key, bytes.0.into_boxed_slice());
        if after.is_empty() {
            return previous;
        }
        rest = after;
        part += 1;
    }
}

fn encode_part(
    group: GroupId,
    entry: &LogEntry,
    key: Key,
    last: bool,
    payload: &[u8],
    previous: u32,
) -> (Vec<u8>, u32) {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&[VERSION, entry.kind as u8, group.0, u8::from(last)]);
    bytes.extend_from_slice(&entry.term.to_le_bytes());
    bytes.extend_from_slice(&key.index.to_le_bytes());
    bytes.extend_from_slice(&key.part.to_le_bytes());
    bytes.extend_from_slice(&[0; 2]);
    let payload_bytes = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&payload_bytes.to_le_bytes());
    bytes.extend_from_slice(&previous.to_le_bytes());
    let crc = checksum(&bytes, payload);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes.extend_from_slice(payload);
    (bytes, crc)
}

/// Reads values in the order of their keys, checks that each continues the one before, and puts entries together.
#[derive(Debug)]
pub struct Assembler {
    group: GroupId,
    previous: u32,
    next: Key,
    term: u64,
    /// The parts so far of an entry whose last part has not come.
    pending: Option<(EntryKind, BytesMut)>,
}

impl Assembler {
    /// Expects entry `index` next, continuing a value with the checksum `previous` in `term`.
    pub fn new(group: GroupId, index: u64, term: u64, previous: u32) -> Self {
        Self { group, previous, next: Key::first(index), term, pending: None }
    }

    /// Takes the next value; returns an entry when this was its last part.
    pub fn take(&mut self, value: &Value<'_>) -> Result<Option<LogEntry>, ValueError> {
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
    pub fn next(&self) -> Key {
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

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "lengths are known here")]
mod tests {
    use super::*;

    const GROUP: GroupId = GroupId(0);
    const ROOT: u32 = 77;

    fn entry(index: u64, bytes: usize) -> LogEntry {
        let data: Vec<u8> = (0..=250).cycle().take(bytes).collect();
        LogEntry { index, term: 5, kind: EntryKind::Normal, data: data.into() }
    }

    fn values(entries: &[LogEntry]) -> Vec<Box<[u8]>> {
        let (mut values, mut crc) = (Vec::new(), ROOT);
        for entry in entries {
            crc = encode(GROUP, entry, crc, |_, value| values.push(value));
        }
        values
    }

    fn assemble(values: &[Box<[u8]>]) -> Result<Vec<LogEntry>, ValueError> {
        let mut assembler = Assembler::new(GROUP, 1, 0, ROOT);
        let mut entries = Vec::new();
        for value in values {
            entries.extend(assembler.take(&Value::decode(value)?)?);
        }
        Ok(entries)
    }

    #[test]
    fn entries_of_every_size_come_back() {
        let sizes = [0, 1, PAYLOAD_BYTES_MAX - 1, PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MAX + 1, 1 << 20, 0];
        let entries: Vec<LogEntry> = (1..).zip(sizes).map(|(index, bytes)| entry(index, bytes)).collect();
        let values = values(&entries);
        assert!(values.iter().all(|value| value.len() <= VALUE_BYTES_MAX));
        assert_eq!(assemble(&values), Ok(entries));
    }

    #[test]
    fn the_largest_entry_has_parts_enough() {
        let largest = entry(1, ENTRY_BYTES_MAX);
        let values = values(std::slice::from_ref(&largest));
        assert_eq!(values.len(), PARTS_MAX);
        assert_eq!(assemble(&values), Ok(vec![largest]));
    }

    #[test]
    fn the_layout_stays() {
        let confchange = LogEntry { kind: EntryKind::ConfChange, ..entry(0x0102, 3) };
        let value = values(&[confchange]).remove(0);
        let header = b"ADJL\x01\x01\0\x01\x05\0\0\0\0\0\0\0\x02\x01\0\0\0\0\0\0\0\0\0\0\x03\0\0\0M\0\0\0";
        assert_eq!(value[..CRC_AT], header[..]);
        assert_eq!(value[HEADER_BYTES..], [0, 1, 2]);
        let crc = crc32c::crc32c(&[&value[..CRC_AT], &value[HEADER_BYTES..]].concat());
        assert_eq!(value[CRC_AT..HEADER_BYTES], crc.to_le_bytes());
        let key = Key { index: 0x0102, part: 3 };
        assert_eq!(key.encode(), [0, 0, 0, 0, 0, 0, 1, 2, 0, 3]);
        assert_eq!(Key::decode(&key.encode()), Some(key));
        assert_eq!(Key::decode(&key.encode()[..9]), None);
        assert_eq!(Key::decode(&[0; 11]), None);
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_found() {
        let value = values(&[entry(1, 60)]).remove(0);
        for length in 0..value.len() {
            assert!(Value::decode(&value[..length]).is_err(), "{length} bytes");
        }
        for bit in 0..value.len() * 8 {
            let mut flipped = value.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Value::decode(&flipped).is_err(), "bit {bit}");
        }
        assert_eq!(Value::decode(&[&value[..], &[0]].concat()), Err(ValueError::Checksum));
    }

    /// A value whose checksum is right, whatever else is not.
    fn sealed(change: impl FnOnce(&mut [u8])) -> Box<[u8]> {
        let mut value = values(&[entry(1, 60)]).remove(0);
        change(&mut value);
        let crc = checksum(&value[..CRC_AT], &value[HEADER_BYTES..]);
        value[CRC_AT..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
        value
    }

    #[test]
    fn nonsense_under_a_right_checksum_is_refused() {
        let decoded = |change: fn(&mut [u8])| Value::decode(&sealed(change)).map(|value| value.key);
        assert_eq!(decoded(|_| ()), Ok(Key::first(1)));
        assert_eq!(decoded(|value| value[4] = 2), Err(ValueError::Version(2)));
        let malformed: [fn(&mut [u8]); 8] = [
            |value| value[0] = b'X',
            |value| value[5] = 3,
            |value| value[7] = 2,
            |value| value[7] = 0,
            |value| value[16] = 0,
            |value| value[16..24].fill(0xff),
            |value| value[26] = 1,
            |value| value[28] = 59,
        ];
        for change in malformed {
            assert_eq!(decoded(change), Err(ValueError::Malformed));
        }
    }

    #[test]
    fn what_does_not_follow_is_refused() {
        let whole = values(&[entry(1, 10), entry(2, 40_000), entry(3, 10)]);
        assert_eq!(whole.len(), 5);
        for missing in 0..whole.len() - 1 {
            let mut gap = whole.clone();
            gap.remove(missing);
            assert_eq!(assemble(&gap), Err(ValueError::Place), "without value {missing}");
        }
        let mut other = whole.clone();
        other[4] = values(&[entry(1, 10), entry(2, 40_001), entry(3, 10)]).remove(4);
        assert_eq!(assemble(&other), Err(ValueError::Chain), "another log's end");
        let older = LogEntry { term: 4, ..entry(2, 10) };
        assert_eq!(assemble(&values(&[entry(1, 10), older])), Err(ValueError::Chain), "a term going back");
        let mut elsewhere = Assembler::new(GROUP, 1, 0, ROOT + 1);
        let first = Value::decode(&whole[0]).expect("whole");
        assert_eq!(elsewhere.take(&first), Err(ValueError::Chain), "another cluster's log");
        let mut group = Assembler::new(GroupId(1), 1, 0, ROOT);
        assert_eq!(group.take(&first), Err(ValueError::Place), "another group's log");
    }

    #[test]
    fn parts_of_different_entries_make_none() {
        let [mut first, mut second] = [entry(1, 20_000), entry(1, 20_000)].map(|entry| values(&[entry]));
        let reseal = |value: &mut Box<[u8]>, previous: u32| {
            value[32..36].copy_from_slice(&previous.to_le_bytes());
            let crc = checksum(&value[..CRC_AT], &value[HEADER_BYTES..]);
            value[CRC_AT..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
        };
        let head = first.remove(0);
        let previous = Value::decode(&head).expect("whole").crc;
        let tail = second.remove(1);
        for (at, byte) in [(5, 1), (8, 6)] {
            let mut tail = tail.clone();
            tail[at] = byte;
            reseal(&mut tail, previous);
            assert_eq!(assemble(&[head.clone(), tail]), Err(ValueError::Chain), "byte {at}");
        }
    }
}
