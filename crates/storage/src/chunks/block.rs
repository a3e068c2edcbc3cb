//! A block: rows or entries, one behind the other, with a table of where each ends.
//!
//! ```text
//!  0       4       8       12      16    20                       20 + 4 * count
//!  | magic | count | bytes | first | crc | end | end | ... | end | data...
//!  | ADJB  | u32   | u32   | u32   | u32 | u32                   |
//! ```
//!
//! Little-endian. `bytes` is the whole block's length, `first` the number of its first row. An end counts from the
//! beginning of the data. `crc` is the CRC32C of the 16 bytes before it and of everything behind it.

use std::ops::Range;

use bytes::Bytes;

use super::super::StorageError;
use super::super::folder::Folder;
use super::fields::{Fields, length};
use super::output::Output;

/// Bytes of a block before its table.
pub(super) const BLOCK_HEADER_BYTES: usize = 20;

const MAGIC: [u8; 4] = *b"ADJB";
const CRC_AT: usize = BLOCK_HEADER_BYTES - 4;
const END_BYTES: usize = 4;

/// Gathers rows until they make a block.
#[derive(Debug)]
pub(super) struct BlockBuilder {
    /// The maximum length of a block with more than one row, in bytes.
    bytes_max: usize,
    first: u32,
    count: u32,
    ends: Vec<u8>,
    data: Vec<u8>,
}

/// A block's first fields. They are not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub(super) count: u32,
    pub(super) bytes: u32,
    pub(super) first: u32,
    crc: u32,
}

impl BlockBuilder {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, first: 0, count: 0, ends: Vec::new(), data: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of the first row of the block.
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// Number of the row that comes next.
    pub(super) fn next(&self) -> u32 {
        self.first + self.count
    }

    /// True if a row of this length can be added; false if a new block must be begun.
    pub(super) fn fits(&self, bytes: usize) -> bool {
        let taken = BLOCK_HEADER_BYTES + self.ends.len() + self.data.len();
        self.is_empty() || taken + END_BYTES + bytes <= self.bytes_max
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
        self.ends.extend_from_slice(&length(self.data.len()).to_le_bytes());
        self.count = self.count.checked_add(1).expect("rows are counted in 32 bits");
    }

    /// Writes the block to a file, and begins the next one. Returns its length.
    pub(super) fn finish<F: Folder>(&mut self, output: &mut Output<F>) -> Result<u32, StorageError> {
        let bytes = length(BLOCK_HEADER_BYTES + self.ends.len() + self.data.len());
        let mut header = Vec::with_capacity(BLOCK_HEADER_BYTES);
        header.extend_from_slice(&MAGIC);
        for number in [self.count, bytes, self.first] {
            header.extend_from_slice(&number.to_le_bytes());
        }
        let crc = crc32c::crc32c_append(crc32c::crc32c(&header), &self.ends);
        header.extend_from_slice(&crc32c::crc32c_append(crc, &self.data).to_le_bytes());
        for part in [&header, &self.ends, &self.data] {
            output.put(part)?;
        }
        self.first = self.next();
        self.count = 0;
        self.ends.clear();
        self.data.clear();
        Ok(bytes)
    }
}

impl BlockHeader {
    /// Decodes the header; `None` if no block begins like this.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let magic: [u8; 4] = fields.take()?;
        let header =
            Self { count: fields.u32()?, bytes: fields.u32()?, first: fields.u32()?, crc: fields.u32()? };
        (magic == MAGIC && header.bytes as usize >= BLOCK_HEADER_BYTES).then_some(header)
    }
}

/// Checks the header, the checksum and the table of a whole block. `None` if it is damaged.
pub(super) fn check(bytes: &[u8]) -> Option<BlockHeader> {
    let header = BlockHeader::read(bytes)?;
    let (covered, behind) = (bytes.get(..CRC_AT)?, bytes.get(BLOCK_HEADER_BYTES..)?);
    let crc = crc32c::crc32c_append(crc32c::crc32c(covered), behind);
    let (ends, data) = behind.split_at_checked(table_bytes(header.count))?;
    let mut last = 0;
    for end in ends.as_chunks::<END_BYTES>().0 {
        let end = u32::from_le_bytes(*end);
        if end < last {
            return None;
        }
        last = end;
    }
    (header.bytes as usize == bytes.len() && header.crc == crc && last as usize == data.len())
        .then_some(header)
}

/// The `nth` row, from 0, of a block that was checked.
pub(super) fn row(block: &Bytes, nth: u32) -> Option<Bytes> {
    Some(block.slice(range(block, nth)?))
}

/// The rows of a block that was checked.
pub(super) fn rows(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..).map_while(|nth| block.get(range(block, nth)?))
}

fn range(block: &[u8], nth: u32) -> Option<Range<usize>> {
    let count = BlockHeader::read(block)?.count;
    let ends = block.get(BLOCK_HEADER_BYTES..)?.get(..table_bytes(count))?.as_chunks::<END_BYTES>().0;
    let end = |nth: usize| ends.get(nth).map(|end| u32::from_le_bytes(*end) as usize);
    let nth = nth as usize;
    let begin = if nth == 0 { 0 } else { end(nth - 1)? };
    let data = BLOCK_HEADER_BYTES + ends.len() * END_BYTES;
    Some(data + begin..data + end(nth)?)
}

fn table_bytes(count: u32) -> usize {
    count as usize * END_BYTES
}
