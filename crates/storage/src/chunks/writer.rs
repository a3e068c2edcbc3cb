//! Writes a chunk, row by row.

use std::collections::BTreeMap;

use super::super::StorageError;
use super::super::folder::Folder;
use super::block::BlockBuilder;
use super::fields::length;
use super::index::{IndexBuilder, RowHead};
use super::layout::{BlockPlace, ChunkSummary, Footer, TopicSummary, header};
use super::output::Output;
use super::{chunk_name, index};

/// The approximate size of a block, in bytes.
const BLOCK_BYTES: usize = 16 << 10;
/// Chunk numbers are below this: a place in memory has 31 bits for one.
const CHUNK_NUMBERS: u32 = 1 << 31;

/// A chunk that is being written.
///
/// Takes 21 bytes of memory a row, 37 if it has a key hash, until it is finished: with many jobs, begin a new
/// chunk from time to time.
pub struct ChunkWriter<F: Folder> {
    number: u32,
    output: Output<F>,
    block: BlockBuilder,
    /// The order of the first row of the block that is being gathered.
    first: (u8, u64, u64),
    directory: Vec<BlockPlace>,
    index: IndexBuilder,
    topics: BTreeMap<u32, TopicSummary>,
    last: Option<(u8, u64, u64)>,
}

impl<F: Folder> ChunkWriter<F> {
    /// Begins a chunk. Replaces an unfinished one of the same number.
    ///
    /// # Panics
    ///
    /// If the number has more than 31 bits.
    pub fn create(folder: &F, number: u32) -> Result<Self, StorageError> {
        assert!(number < CHUNK_NUMBERS, "there are no chunk numbers left");
        let mut output = Output::create(folder, chunk_name(number))?;
        output.put(&header(number).encode())?;
        Ok(Self {
            number,
            output,
            block: BlockBuilder::new(BLOCK_BYTES),
            first: (0, 0, 0),
            directory: Vec::new(),
            index: IndexBuilder::default(),
            topics: BTreeMap::new(),
            last: None,
        })
    }

    /// Adds a row; rows come in ascending order of [`RowHead::order`]. Returns its number.
    ///
    /// # Panics
    ///
    /// If the chunk has `u32::MAX` rows already.
    pub fn push(&mut self, head: RowHead, bytes: &[u8]) -> Result<u32, StorageError> {
        let order = head.order();
        debug_assert!(self.last < Some(order), "{:?} and then {order:?}", self.last);
        debug_assert!(
            matches!(head.timeline, index::TIMELINE_STAMP | index::TIMELINE_WALL),
            "timeline {}",
            head.timeline
        );
        self.last = Some(order);
        if !self.block.fits(bytes.len()) {
            self.finish_block()?;
        }
        if self.block.is_empty() {
            self.first = order;
        }
        let row = self.block.next();
        assert!(row < u32::MAX, "a chunk has 32 bits for a row");
        self.block.push(bytes);
        self.index.push(&head);
        let RowHead { at, topic, .. } = head;
        let new = TopicSummary { topic, rows: 0, first_at: at, last_at: at };
        let summary = self.topics.entry(topic).or_insert(new);
        summary.rows += 1;
        summary.first_at = summary.first_at.min(at);
        summary.last_at = summary.last_at.max(at);
        Ok(row)
    }

    /// Rows that were pushed so far.
    pub fn rows(&self) -> u32 {
        self.block.next()
    }

    /// Bytes of the finished blocks so far.
    pub fn bytes(&self) -> u64 {
        self.output.bytes()
    }

    /// Finishes the file and renames it: its data is durable, and a sync of the folder makes its name durable.
    pub fn finish(mut self) -> Result<ChunkSummary, StorageError> {
        if !self.block.is_empty() {
            self.finish_block()?;
        }
        let rows = self.block.next();
        let (starts, index) = self.index.finish();
        let topics: Vec<TopicSummary> = self.topics.into_values().collect();

        let directory_at = self.output.bytes();
        let index_at = directory_at + Footer::directory_bytes(self.directory.len(), starts.len());
        let mut directory = Vec::new();
        for block in &self.directory {
            block.encode(&mut directory);
        }
        for start in &starts {
            directory.extend_from_slice(&(index_at + start).to_le_bytes());
        }
        let mut summary = Vec::new();
        for topic in &topics {
            topic.encode(&mut summary);
        }
        for section in [&directory, &index, &summary] {
            self.output.put(section)?;
        }

        let summary_at = index_at + index.len() as u64;
        let footer = Footer {
            number: self.number,
            rows,
            blocks: length(self.directory.len()),
            pieces: length(starts.len()),
            topics: length(topics.len()),
            directory_crc: crc32c::crc32c(&directory),
            summary_crc: crc32c::crc32c(&summary),
            directory_at,
            index_at,
            summary_at,
            bytes: summary_at + summary.len() as u64 + Footer::BYTES,
        };
        self.output.put(&footer.encode())?;
        let hash = self.output.hash();
        self.output.put(&footer.seal(hash))?;
        debug_assert_eq!(self.output.bytes(), footer.bytes);
        self.output.finish()?;
        Ok(ChunkSummary { number: self.number, rows, bytes: footer.bytes, hash, topics })
    }

    fn finish_block(&mut self) -> Result<(), StorageError> {
        let first_row = self.block.first();
        let at = self.output.bytes();
        let bytes = self.block.finish(&mut self.output)?;
        self.directory.push(BlockPlace { order: self.first, at, bytes, first_row });
        Ok(())
    }
}
