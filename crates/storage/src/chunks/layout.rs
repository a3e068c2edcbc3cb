//! Where everything is in a chunk: header, directory, summary and footer.
//!
//! ```text
//!  header | block | ... | block | directory | index | summary | footer
//! ```
//!
//! The directory has 33 bytes a block, then 8 bytes for each piece of the index: where it begins in the file.
//!
//! ```text
//!  0          1    9    17   25      29          33
//!  | timeline | at | id | at | bytes | first row |       of a block: order of its first row, where it is, its length
//!  | u8       | u64| u64| u64| u32   | u32       |
//! ```
//!
//! The summary has 24 bytes a topic: topic u32, rows u32, first due u64, last due u64. The footer:
//!
//! ```text
//!  0       8        12     16       20       24       28              32            36     40
//!  | magic | number | rows | blocks | pieces | topics | directory crc | summary crc | zero |
//!  40             48         56           64      72     88    92
//!  | directory at | index at | summary at | bytes | hash | crc |
//! ```
//!
//! Places and the file's length are u64, the hash is the XXH3-128 of everything before it, the rest is u32. `crc` is
//! the CRC32C of the 88 bytes before it. The index has checksums of its own.

use serde::{Deserialize, Serialize};

use super::fields::{Fields, HEADER_END, Header, sealed};

/// The version of chunks that this code writes, and the newest that it reads.
pub(super) const CHUNK_VERSION: u32 = 1;

const CHUNK_MAGIC: [u8; 8] = *b"ADJCHUNK";
const FOOTER_MAGIC: [u8; 8] = *b"ADJCHEND";
const BLOCK_PLACE_BYTES: usize = 33;
const PIECE_PLACE_BYTES: usize = 8;
const TOPIC_BYTES: usize = 24;

/// The expected content of a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkSummary {
    /// The number in its name.
    pub number: u32,
    /// How many rows it has.
    pub rows: u32,
    /// The length of its file.
    pub bytes: u64,
    /// XXH3-128 of the file up to the hash.
    pub hash: u128,
    /// Rows and due times by topic.
    pub topics: Vec<TopicSummary>,
}

/// The rows of one topic in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicSummary {
    /// The topic's number.
    pub topic: u32,
    /// Rows of jobs of this topic.
    pub rows: u32,
    /// When the first of their timers fires, in ms, whatever its timeline.
    pub first_at: u64,
    /// When the last one fires.
    pub last_at: u64,
}

/// The directory's entry for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockPlace {
    /// The order of its first row.
    pub(super) order: (u8, u64, u64),
    /// Where it begins in the file.
    pub(super) at: u64,
    pub(super) bytes: u32,
    pub(super) first_row: u32,
}

/// The end of the file, without hash and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) number: u32,
    pub(super) rows: u32,
    pub(super) blocks: u32,
    pub(super) pieces: u32,
    pub(super) topics: u32,
    pub(super) directory_crc: u32,
    pub(super) summary_crc: u32,
    pub(super) directory_at: u64,
    pub(super) index_at: u64,
    pub(super) summary_at: u64,
    pub(super) bytes: u64,
}

/// The header of the file of chunk `number`.
pub(super) fn header(number: u32) -> Header {
    Header { magic: CHUNK_MAGIC, version: CHUNK_VERSION, number }
}

impl TopicSummary {
    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.topic.to_le_bytes());
        into.extend_from_slice(&self.rows.to_le_bytes());
        into.extend_from_slice(&self.first_at.to_le_bytes());
        into.extend_from_slice(&self.last_at.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (topic, rows) = (fields.u32()?, fields.u32()?);
        Some(Self { topic, rows, first_at: fields.u64()?, last_at: fields.u64()? })
    }
}

impl BlockPlace {
    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        let (timeline, at, id) = self.order;
        into.push(timeline);
        into.extend_from_slice(&at.to_le_bytes());
        into.extend_from_slice(&id.to_le_bytes());
        into.extend_from_slice(&self.at.to_le_bytes());
        into.extend_from_slice(&self.bytes.to_le_bytes());
        into.extend_from_slice(&self.first_row.to_le_bytes());
    }

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let order = (fields.u8()?, fields.u64()?, fields.u64()?);
        Some(Self { order, at: fields.u64()?, bytes: fields.u32()?, first_row: fields.u32()? })
    }
}

impl Footer {
    /// Length with hash and checksum.
    pub(super) const BYTES: u64 = 92;

    pub(super) fn directory_bytes(blocks: usize, pieces: usize) -> u64 {
        blocks as u64 * BLOCK_PLACE_BYTES as u64 + pieces as u64 * PIECE_PLACE_BYTES as u64
    }

    /// Encodes everything before the hash.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = FOOTER_MAGIC.to_vec();
        let (counts, crcs) = ([self.rows, self.blocks, self.pieces, self.topics], [self.directory_crc]);
        for number in [self.number].iter().chain(&counts).chain(&crcs).chain(&[self.summary_crc, 0]) {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for place in [self.directory_at, self.index_at, self.summary_at, self.bytes] {
            bytes.extend_from_slice(&place.to_le_bytes());
        }
        bytes
    }

    /// Encodes hash and checksum.
    pub(super) fn seal(&self, hash: u128) -> Vec<u8> {
        let hash = hash.to_le_bytes();
        let crc = crc32c::crc32c_append(crc32c::crc32c(&self.encode()), &hash);
        [&hash[..], &crc.to_le_bytes()].concat()
    }

    /// Decodes a footer, and the hash in it. `None` if it is damaged.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, u128)> {
        let mut fields = Fields(sealed(bytes)?);
        let magic: [u8; 8] = fields.take()?;
        let footer = Self {
            number: fields.u32()?,
            rows: fields.u32()?,
            blocks: fields.u32()?,
            pieces: fields.u32()?,
            topics: fields.u32()?,
            directory_crc: fields.u32()?,
            summary_crc: {
                let crc = fields.u32()?;
                (fields.u32()? == 0).then_some(crc)?
            },
            directory_at: fields.u64()?,
            index_at: fields.u64()?,
            summary_at: fields.u64()?,
            bytes: fields.u64()?,
        };
        let hash = fields.u128()?;
        (magic == FOOTER_MAGIC && fields.0.is_empty() && footer.adds_up()).then_some((footer, hash))
    }

    /// True if the sections are contiguous, from the header to the end of the file.
    fn adds_up(&self) -> bool {
        let directory_bytes = Self::directory_bytes(self.blocks as usize, self.pieces as usize);
        let summary_bytes = u64::from(self.topics) * TOPIC_BYTES as u64;
        self.directory_at >= HEADER_END
            && self.directory_at.checked_add(directory_bytes) == Some(self.index_at)
            && self.index_at <= self.summary_at
            && self.summary_at.checked_add(summary_bytes + Self::BYTES) == Some(self.bytes)
    }

    /// Decodes the directory: the places of the blocks, and where the pieces of the index begin. `None` if it is
    /// damaged.
    pub(super) fn read_directory(&self, bytes: &[u8]) -> Option<(Vec<BlockPlace>, Vec<u64>)> {
        if crc32c::crc32c(bytes) != self.directory_crc {
            return None;
        }
        let mut fields = Fields(bytes);
        let (mut end, mut rows) = (HEADER_END, 0);
        let mut blocks = Vec::with_capacity(bytes.len() / BLOCK_PLACE_BYTES);
        for _ in 0..self.blocks {
            let block = BlockPlace::read(&mut fields)?;
            // Each block begins where the one before ends, and has at least one row.
            let follows = block.at == end && (block.first_row > rows || blocks.is_empty());
            if !follows || block.first_row >= self.rows {
                return None;
            }
            (end, rows) = (block.at.checked_add(u64::from(block.bytes))?, block.first_row);
            blocks.push(block);
        }
        let pieces: Vec<u64> = fields.0.as_chunks().0.iter().map(|at| u64::from_le_bytes(*at)).collect();
        let rising = pieces.is_sorted() && pieces.first().is_none_or(|first| *first == self.index_at);
        let inside = pieces.last().is_none_or(|last| *last < self.summary_at);
        let first_row = blocks.first().is_none_or(|block| block.first_row == 0);
        (end == self.directory_at && first_row && rising && inside).then_some((blocks, pieces))
    }

    /// Decodes the summary; `None` if it is damaged.
    pub(super) fn read_summary(&self, bytes: &[u8]) -> Option<Vec<TopicSummary>> {
        if crc32c::crc32c(bytes) != self.summary_crc {
            return None;
        }
        bytes.chunks(TOPIC_BYTES).map(TopicSummary::read).collect()
    }
}
