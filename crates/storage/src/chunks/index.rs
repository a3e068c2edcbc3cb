//! The index of a chunk: what its rows are, without their bytes, in pieces of [`PIECE_ROWS`] rows.
//!
//! ```text
//!  0      4        8       12    16                             16 + 21 * rows
//!  | rows | hashes | first | crc | head | head | ... | head     | key hash | ... | key hash |
//!  | u32  | u32    | u32   | u32 | 21 bytes each                | u128 each, of the rows that have one
//!
//!  a head:   0    8    16      20      21
//!            | id | at | topic | flags |
//!            | u64| u64| u32   | u8    |       flags: the timeline (bits 0..6), whether it has a key hash (bit 7)
//! ```
//!
//! Little-endian. `first` is the number of the first row. `crc` is the CRC32C of the 12 bytes before it and of
//! everything behind it.

use super::fields::{Fields, length};

/// The timeline of timers that are set by the stamp.
pub const TIMELINE_STAMP: u8 = 1;
/// The timeline of timers that are set by the wall clock.
pub const TIMELINE_WALL: u8 = 2;

/// The number of rows in each piece but the last.
pub const PIECE_ROWS: u32 = 1024;
/// The maximum length of a piece, in bytes.
pub(super) const PIECE_BYTES_MAX: u64 =
    (PIECE_HEADER_BYTES + PIECE_ROWS as usize * (HEAD_BYTES + KEY_HASH_BYTES)) as u64;

const PIECE_HEADER_BYTES: usize = 16;
const CRC_AT: usize = PIECE_HEADER_BYTES - 4;
const HEAD_BYTES: usize = 21;
const KEY_HASH_BYTES: usize = 16;
const HAS_KEY_HASH: u8 = 0x80;

/// The index entry of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowHead {
    /// The job's id.
    pub id: u64,
    /// Which clock its timer runs by: [`TIMELINE_STAMP`] or [`TIMELINE_WALL`]; less than 128.
    pub timeline: u8,
    /// When its timer fires, in ms on that timeline.
    pub at: u64,
    /// The topic's number.
    pub topic: u32,
    /// The hash of its key, if it has one.
    pub key_hash: Option<u128>,
}

impl RowHead {
    /// The key by which the rows of a chunk are sorted.
    pub fn order(&self) -> (u8, u64, u64) {
        (self.timeline, self.at, self.id)
    }
}

/// Gathers heads and makes pieces of them.
#[derive(Debug, Default)]
pub(super) struct IndexBuilder {
    /// Where each piece that is done begins.
    starts: Vec<u64>,
    /// The pieces that are done.
    done: Vec<u8>,
    rows: u32,
    first: u32,
    heads: Vec<u8>,
    key_hashes: Vec<u8>,
}

impl IndexBuilder {
    pub(super) fn push(&mut self, head: &RowHead) {
        self.heads.extend_from_slice(&head.id.to_le_bytes());
        self.heads.extend_from_slice(&head.at.to_le_bytes());
        self.heads.extend_from_slice(&head.topic.to_le_bytes());
        let has_key_hash = if head.key_hash.is_some() { HAS_KEY_HASH } else { 0 };
        self.heads.push(head.timeline | has_key_hash);
        self.key_hashes.extend(head.key_hash.into_iter().flat_map(u128::to_le_bytes));
        self.rows += 1;
        if self.rows == PIECE_ROWS {
            self.finish_piece();
        }
    }

    /// Where each piece begins, counted from the beginning of the index, and the index.
    pub(super) fn finish(mut self) -> (Vec<u64>, Vec<u8>) {
        if self.rows > 0 {
            self.finish_piece();
        }
        (self.starts, self.done)
    }

    fn finish_piece(&mut self) {
        let begin = self.done.len();
        self.starts.push(begin as u64);
        self.done.extend_from_slice(&self.rows.to_le_bytes());
        self.done.extend_from_slice(&length(self.key_hashes.len() / KEY_HASH_BYTES).to_le_bytes());
        self.done.extend_from_slice(&self.first.to_le_bytes());
        let covered = self.done.get(begin..).unwrap_or_default();
        let crc = checksum(covered, &self.heads, &self.key_hashes);
        self.done.extend_from_slice(&crc.to_le_bytes());
        self.done.append(&mut self.heads);
        self.done.append(&mut self.key_hashes);
        self.first += self.rows;
        self.rows = 0;
    }
}

/// A piece that was read and checked.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    /// Number of its first row.
    pub(super) first: u32,
    heads: &'a [[u8; HEAD_BYTES]],
    key_hashes: &'a [[u8; KEY_HASH_BYTES]],
}

impl<'a> Piece<'a> {
    /// Decodes a piece; `None` if it is damaged.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (rows, key_hashes, first, crc) = (fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?);
        let heads = fields.bytes((rows as usize).checked_mul(HEAD_BYTES)?)?;
        let key_hashes = fields.bytes((key_hashes as usize).checked_mul(KEY_HASH_BYTES)?)?;
        let valid = fields.0.is_empty() && checksum(bytes.get(..CRC_AT)?, heads, key_hashes) == crc;
        let piece = Self { first, heads: heads.as_chunks().0, key_hashes: key_hashes.as_chunks().0 };
        valid.then_some(piece)
    }

    pub(super) fn rows(&self) -> usize {
        self.heads.len()
    }

    /// Its rows, in order. There are fewer if there are not as many key hashes as rows that have one.
    pub(super) fn heads(&self) -> impl Iterator<Item = RowHead> + use<'a> {
        let mut key_hashes = self.key_hashes.iter();
        self.heads.iter().map_while(move |bytes| {
            let mut fields = Fields(bytes);
            let (id, at, topic, flags) = (fields.u64()?, fields.u64()?, fields.u32()?, fields.u8()?);
            let key_hash = match flags & HAS_KEY_HASH {
                0 => None,
                _ => Some(u128::from_le_bytes(*key_hashes.next()?)),
            };
            Some(RowHead { id, timeline: flags & !HAS_KEY_HASH, at, topic, key_hash })
        })
    }
}

fn checksum(covered: &[u8], heads: &[u8], key_hashes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(crc32c::crc32c(covered), heads), key_hashes)
}
