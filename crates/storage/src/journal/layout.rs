//! The bytes of a journal file: its head, its watermark and its records. Knows no file.
//!
//! ```text
//!  0        4096     8192
//!  | head   | watermark   | record | record | ...   then zeros, or what the file held before
//! ```
//!
//! The **head** says what the file continues. It is durable before the first record is written. All numbers are
//! little-endian.
//!
//! ```text
//!  0       4         8        16         24           32     40     48       56          64         68      72      76
//!  | magic | version | number | sequence | base index | term | vote | commit | base term | base crc | chain | group | crc |
//!  | ADJH  | u32     | u64    | u64      | u64        | u64  | u64  | u64    | u64       | u32      | u32   | u32   | u32 |
//! ```
//!
//! The **watermark** names a durable record. It is written after that record: a journal that ends before it has lost
//! acknowledged data.
//!
//! ```text
//!  0       4         8        16         24      32       40    44
//!  | magic | version | number | sequence | index | commit | crc |
//!  | ADJW  | u32     | u64    | u64      | u64   | u64    | u32 |
//! ```
//!
//! A **record** is all that one commit makes durable. Its sequence is one more than that of the record before.
//!
//! ```text
//!  0       4         5       6       8          16       20      24         28           32
//!  | magic | version | group | flags | sequence | length | chain | body crc | header crc | body...
//!  | ADJR  | u8      | u8    | u16   | u64      | u32    | u32   | u32      | u32        |
//!
//!  body:  | commit | term | vote | before: index | term | crc | entry | entry | ...
//!         | u64    | u64  | u64  | u64           | u64  | u32 |
//!           always   flag VOTE     flag ENTRIES
//!  entry: | kind | length | term | data...
//!         | u8   | u32    | u64  |
//! ```
//!
//! `chain` is the `header crc` of the record before. Every checksum is a CRC32C that begins with a **salt**, which
//! clients do not know: a job's body that looks like a record never passes for one.
//!
//! Entries form a chain of their own ([`LogBase::after`]): each has a checksum of itself and of all before it, since the
//! beginning of the cluster. It is not stored with each entry: `before` has that of the entry before the first one.

use bytes::Bytes;

use super::super::{EntryKind, LogBase, LogEntry, Vote};
use adjourn_types::GroupId;

/// Bytes of each of the first two blocks, of the head and of the watermark.
pub const BLOCK_BYTES: usize = 4096;
/// The offset of the watermark.
pub const WATERMARK_AT: u64 = BLOCK_BYTES as u64;
/// The offset of the first record.
pub const RECORDS_AT: u64 = 2 * BLOCK_BYTES as u64;
/// Bytes of a record before its body.
pub const HEADER_BYTES: usize = 32;

const HEAD_MAGIC: [u8; 4] = *b"ADJH";
const WATERMARK_MAGIC: [u8; 4] = *b"ADJW";
/// The first bytes of a record.
pub const RECORD_MAGIC: [u8; 4] = *b"ADJR";
const VERSION: u8 = 1;
const GROUP: GroupId = GroupId::ONLY;
const VOTE: u16 = 1;
const ENTRIES: u16 = 2;

/// What a journal file continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The stretch of the log in the file, from 1; 0 if there is none.
    pub number: u64,
    /// The sequence of its first record.
    pub sequence: u64,
    /// The checksum of the record before.
    pub chain: u32,
    /// The entry that the first one continues.
    pub base: LogBase,
    /// Term and vote before the first record.
    pub vote: Vote,
    /// The commit index before the first record.
    pub commit: u64,
}

/// A durable record, and the end of the log at that record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermark {
    /// The number of its stretch.
    pub number: u64,
    /// The record's sequence; that of the record before the first one if this stretch has none.
    pub sequence: u64,
    /// Index of the last entry.
    pub index: u64,
    /// The commit index.
    pub commit: u64,
}

/// A place between two records.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Where the next record begins.
    pub offset: u64,
    /// The next record's sequence.
    pub sequence: u64,
    /// The checksum of the record before.
    pub chain: u32,
    /// The end of the log before the next record.
    pub end: LogBase,
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    version: u8,
    group: u8,
    flags: u16,
    /// One more than that of the record before.
    pub sequence: u64,
    /// Bytes of the body.
    pub length: usize,
    /// The checksum of the record before.
    pub chain: u32,
    body_crc: u32,
    /// Its own checksum.
    pub crc: u32,
}

/// The body of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// The commit index when it was written.
    pub commit: u64,
    /// Term and vote, if they changed.
    pub vote: Option<Vote>,
    /// The entry before the first one, if there are entries.
    pub before: Option<LogBase>,
    /// The entries, which follow each other.
    pub entries: Vec<LogEntry>,
}

/// The kind of damage to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// No record begins there, or its checksum does not match.
    #[error("its checksum is wrong")]
    Checksum,
    /// It is intact, but not the content of a record.
    #[error("it is malformed")]
    Malformed,
    /// Written by a newer version.
    #[error("it has version {0}, and this binary supports versions up to {VERSION}")]
    Version(u8),
    /// It does not continue the record before it.
    #[error("it does not continue the record before it")]
    Chain,
}

impl LogBase {
    /// The end of a log that ended with this, after one more entry.
    #[must_use]
    pub fn after(self, entry: &LogEntry) -> Self {
        let mut fields = [0; 17];
        let (numbers, kind) = fields.split_at_mut(16);
        let (index, term) = numbers.split_at_mut(8);
        index.copy_from_slice(&entry.index.to_le_bytes());
        term.copy_from_slice(&entry.term.to_le_bytes());
        kind.fill(entry.kind as u8);
        let crc = crc32c::crc32c_append(crc32c::crc32c_append(self.crc, &fields), &entry.data);
        Self { index: entry.index, term: entry.term, crc }
    }
}

impl Head {
    /// The head of a file without a stretch.
    pub fn unused() -> Self {
        let base = LogBase { index: 0, term: 0, crc: 0 };
        Self { number: 0, sequence: 0, chain: 0, base, vote: Vote::default(), commit: 0 }
    }

    /// The point of its first record.
    pub fn point(&self) -> Point {
        let Self { sequence, chain, base: end, .. } = *self;
        Point { offset: RECORDS_AT, sequence, chain, end }
    }

    /// Encodes it as a block.
    pub fn encode(&self, salt: u32) -> Vec<u8> {
        let mut bytes = start(HEAD_MAGIC);
        let Self { number, sequence, chain, base, vote: Vote { term, vote }, commit } = *self;
        for field in [number, sequence, base.index, term, vote, commit, base.term] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        for field in [base.crc, chain, u32::from(GROUP.0)] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        seal(bytes, salt)
    }

    /// Decodes a block; `None` if it holds no head.
    pub fn decode(salt: u32, block: &[u8]) -> Option<Self> {
        let mut fields = open(HEAD_MAGIC, salt, block, 7 * 8 + 3 * 4)?;
        let number = fields.u64()?;
        let sequence = fields.u64()?;
        let index = fields.u64()?;
        let vote = Vote { term: fields.u64()?, vote: fields.u64()? };
        let commit = fields.u64()?;
        let base = LogBase { index, term: fields.u64()?, crc: fields.u32()? };
        let chain = fields.u32()?;
        (fields.u32()? == u32::from(GROUP.0)).then_some(Self { number, sequence, chain, base, vote, commit })
    }
}

impl Watermark {
    /// Encodes it as a block.
    pub fn encode(&self, salt: u32) -> Vec<u8> {
        let mut bytes = start(WATERMARK_MAGIC);
        for field in [self.number, self.sequence, self.index, self.commit] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        seal(bytes, salt)
    }

    /// The order in which watermarks are written: the greatest is the newest.
    pub fn order(&self) -> (u64, u64, u64) {
        (self.number, self.sequence, self.commit)
    }

    /// Decodes a block; `None` if it holds no watermark.
    pub fn decode(salt: u32, block: &[u8]) -> Option<Self> {
        let mut fields = open(WATERMARK_MAGIC, salt, block, 4 * 8)?;
        let (number, sequence) = (fields.u64()?, fields.u64()?);
        Some(Self { number, sequence, index: fields.u64()?, commit: fields.u64()? })
    }
}

impl Header {
    /// Decodes the header of a record; `None` if none begins with these bytes.
    pub fn decode(salt: u32, bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (covered, crc) = bytes.split_last_chunk()?;
        let crc = u32::from_le_bytes(*crc);
        let mut fields = Fields(covered);
        if fields.take()? != RECORD_MAGIC || checksum(salt, covered) != crc {
            return None;
        }
        let [version, group] = fields.take()?;
        let flags = u16::from_le_bytes(fields.take()?);
        let sequence = fields.u64()?;
        let length = usize::try_from(fields.u32()?).ok()?;
        let (chain, body_crc) = (fields.u32()?, fields.u32()?);
        Some(Self { version, group, flags, sequence, length, chain, body_crc, crc })
    }

    /// Decodes the body.
    pub fn body(&self, salt: u32, bytes: &Bytes) -> Result<Body, RecordError> {
        if bytes.len() != self.length || checksum(salt, bytes) != self.body_crc {
            return Err(RecordError::Checksum);
        }
        if self.version != VERSION {
            return Err(RecordError::Version(self.version));
        }
        self.fields(bytes).filter(|_| self.group == GROUP.0).ok_or(RecordError::Malformed)
    }

    fn fields(&self, bytes: &Bytes) -> Option<Body> {
        let mut fields = Fields(bytes);
        let commit = fields.u64()?;
        let has = |flag: u16| self.flags & flag != 0;
        if self.flags & !(VOTE | ENTRIES) != 0 {
            return None;
        }
        let mut body = Body { commit, vote: None, before: None, entries: Vec::new() };
        if has(VOTE) {
            body.vote = Some(Vote { term: fields.u64()?, vote: fields.u64()? });
        }
        if !has(ENTRIES) {
            return fields.0.is_empty().then_some(body);
        }
        let before = LogBase { index: fields.u64()?, term: fields.u64()?, crc: fields.u32()? };
        body.before = Some(before);
        let mut last = (before.index, before.term);
        while !fields.0.is_empty() {
            let [kind] = fields.take()?;
            let kind = kind_of(kind)?;
            let length = usize::try_from(fields.u32()?).ok()?;
            let term = fields.u64()?;
            let (data, rest) = fields.0.split_at_checked(length)?;
            fields.0 = rest;
            let index = last.0.checked_add(1)?;
            // No log reaches the last index, and terms never decrease.
            if index == u64::MAX || term < last.1 {
                return None;
            }
            last = (index, term);
            body.entries.push(LogEntry { index, term, kind, data: bytes.slice_ref(data) });
        }
        (!body.entries.is_empty()).then_some(body)
    }
}

/// The length of the record of a commit, in bytes.
pub fn record_bytes(vote: Option<Vote>, entries: &[LogEntry]) -> usize {
    let vote = if vote.is_some() { 16 } else { 0 };
    let before = if entries.is_empty() { 0 } else { 20 };
    HEADER_BYTES + 8 + vote + before + entries.iter().map(|entry| 13 + entry.data.len()).sum::<usize>()
}

/// Replaces the content of `out` with the record of a commit at `point`. Its entries continue `point.end`. Returns
/// the point after it.
pub fn encode_record(
    salt: u32,
    point: Point,
    commit: u64,
    vote: Option<Vote>,
    entries: &[LogEntry],
    out: &mut Vec<u8>,
) -> Point {
    let Point { offset, sequence, chain, mut end } = point;
    out.clear();
    out.resize(HEADER_BYTES, 0);
    out.extend_from_slice(&commit.to_le_bytes());
    let mut flags = 0;
    if let Some(Vote { term, vote }) = vote {
        flags |= VOTE;
        out.extend_from_slice(&term.to_le_bytes());
        out.extend_from_slice(&vote.to_le_bytes());
    }
    if !entries.is_empty() {
        flags |= ENTRIES;
        out.extend_from_slice(&end.index.to_le_bytes());
        out.extend_from_slice(&end.term.to_le_bytes());
        out.extend_from_slice(&end.crc.to_le_bytes());
    }
    for entry in entries {
        debug_assert_eq!(entry.index, end.index + 1, "entries follow each other");
        out.push(entry.kind as u8);
        out.extend_from_slice(&u32::try_from(entry.data.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(&entry.term.to_le_bytes());
        out.extend_from_slice(&entry.data);
        end = end.after(entry);
    }
    let (header, body) = out.split_at_mut(HEADER_BYTES);
    let mut fields = Vec::with_capacity(HEADER_BYTES);
    fields.extend_from_slice(&RECORD_MAGIC);
    fields.extend_from_slice(&[VERSION, GROUP.0]);
    fields.extend_from_slice(&u16::to_le_bytes(flags));
    fields.extend_from_slice(&sequence.to_le_bytes());
    fields.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    fields.extend_from_slice(&chain.to_le_bytes());
    fields.extend_from_slice(&checksum(salt, body).to_le_bytes());
    let crc = checksum(salt, &fields);
    fields.extend_from_slice(&crc.to_le_bytes());
    header.copy_from_slice(&fields);
    Point { offset: offset + out.len() as u64, sequence: sequence + 1, chain: crc, end }
}

fn kind_of(byte: u8) -> Option<EntryKind> {
    [EntryKind::Normal, EntryKind::ConfChange].into_iter().find(|kind| *kind as u8 == byte)
}

fn checksum(salt: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(salt, bytes)
}

fn start(magic: [u8; 4]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.extend_from_slice(&u32::from(VERSION).to_le_bytes());
    bytes
}

fn seal(mut bytes: Vec<u8>, salt: u32) -> Vec<u8> {
    bytes.extend_from_slice(&checksum(salt, &bytes).to_le_bytes());
    bytes.resize(BLOCK_BYTES, 0);
    bytes
}

/// The fields of a block, `bytes` bytes long; `None` if the block is damaged.
fn open(magic: [u8; 4], salt: u32, block: &[u8], bytes: usize) -> Option<Fields<'_>> {
    let (covered, rest) = block.split_at_checked(8 + bytes)?;
    let crc = u32::from_le_bytes(*rest.first_chunk()?);
    let fields = covered.strip_prefix(&start(magic)[..])?;
    (checksum(salt, covered) == crc).then_some(Fields(fields))
}

/// Little-endian numbers, one after the other.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const BYTES: usize>(&mut self) -> Option<[u8; BYTES]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }
}

#[cfg(test)]
mod tests;
