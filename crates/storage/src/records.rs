//! The records of live jobs, and all of the spilled jobs.
//!
//! A record is in memory until a checkpoint has written it to a chunk, and in the chunk from then on: a job that is
//! pushed and finished between two checkpoints is never written to a chunk, and a job that stays for long takes no
//! memory for its record. Of a spilled job only the row in its chunk exists.
//!
//! Each chunk has two bitmaps over its rows: `live`, the row is the record of a job; `spilled`, it is also the job
//! itself. They are copied on write while a checkpoint still reads them.
//!
//! A row is the saved job ([`SavedJob`]) followed by its record. Rows are sorted by the time their jobs wait for. So
//! merging the chunks, with a cursor in each, gives the spilled jobs in order.

#![expect(clippy::indexing_slicing, reason = "there are two timelines")]

mod count;
mod walk;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use bytes::Bytes;

use super::StorageError;
use super::bodies::{MemoryBodies, StoredRecord};
use super::chunks::{Bits, BlockCache, Chunk};
use adjourn_engine::{
    BodyRef, JobStore, Place, Record, Relocated, SavedJob, SpilledTimer, Timeline, TimerCounts, WalkFrom,
    Walked,
};
use adjourn_types::{JobId, TopicId};

pub use walk::Walk;

/// Blocks that stay cached after a read: jobs come due block by block in each chunk.
const CACHE_BLOCKS: usize = 128;

/// A record below this size, in bytes, is copied out of its block.
const COPIED_BYTES_MAX: usize = 8 << 10;

/// With more chunks than this, small ones are merged.
pub(super) const CHUNKS_MAX: usize = 256;

/// Reading a piece of a chunk's index, a thousand rows, takes as long as checking this many jobs in memory.
const JOBS_PER_PART: usize = 4096;

/// Set in the place of a row of a chunk; without it a place is one in memory.
const ROW_BIT: u64 = 1 << 63;

/// Every record.
#[derive(Debug)]
pub struct Records {
    bodies: MemoryBodies,
    /// Places of records that were dropped while a checkpoint may still read them; `None` without a capture.
    retained: Option<Vec<BodyRef>>,
    /// Places of such records after their capture has ended: they are not freed yet.
    forgotten: Vec<BodyRef>,
    chunks: BTreeMap<u32, LiveChunk>,
    /// How often the set of chunks changed.
    generation: u64,
    cache: BlockCache,
    /// Pieces of indexes that were read for single rows.
    heads_read: u64,
    /// The next spilled job of each chunk, on each timeline.
    fronts: [BinaryHeap<Reverse<SpilledOrder>>; 2],
}

/// A chunk with at least one needed record.
#[derive(Debug)]
struct LiveChunk {
    chunk: Arc<Chunk>,
    live: Arc<Bits>,
    spilled: Arc<Bits>,
    /// On each timeline, the lowest row that may be spilled.
    cursors: [u32; 2],
    /// The first row on the wall clock's timeline.
    split: u32,
}

/// A chunk with its bitmaps, at one moment.
#[derive(Clone, Debug)]
pub struct ChunkState {
    /// The chunk.
    pub chunk: Arc<Chunk>,
    /// Rows that are records of jobs.
    pub live: Arc<Bits>,
    /// Rows that are spilled jobs.
    pub spilled: Arc<Bits>,
}

/// The sort key of a chunk's next spilled job: time, id, chunk, row.
type SpilledOrder = (u64, JobId, u32, u32);

impl Default for Records {
    fn default() -> Self {
        Self {
            bodies: MemoryBodies::default(),
            retained: None,
            forgotten: Vec::new(),
            chunks: BTreeMap::new(),
            generation: 0,
            cache: BlockCache::new(CACHE_BLOCKS),
            heads_read: 0,
            fronts: [BinaryHeap::new(), BinaryHeap::new()],
        }
    }
}

impl Records {
    /// The record of a live job.
    ///
    /// # Panics
    ///
    /// If it should be in memory and is not.
    pub fn record(&mut self, body: BodyRef) -> Result<StoredRecord, StorageError> {
        match row(body.place) {
            None => Ok(self.bodies.record(number(body.place))),
            Some((chunk, row)) => {
                let bytes = self.read(chunk, row)?;
                let (_, record) = self.saved(chunk, row, &bytes)?;
                // A small slice would keep its whole block in memory until it is sent.
                let copied = record.len() < COPIED_BYTES_MAX;
                let record = if copied { Bytes::copy_from_slice(record) } else { bytes.slice_ref(record) };
                StoredRecord::within(&record).ok_or_else(|| self.bad_row(chunk, row))
            }
        }
    }

    /// The bytes of a record that is in memory; `None` if it is in a chunk.
    pub fn in_memory(&self, place: Place) -> Option<&[u8]> {
        if row(place).is_some() { None } else { Some(self.bodies.block(number(place))) }
    }

    /// Begins to read the block of a row, without waiting for it. Returns the length of the block; 0 for a row in memory.
    pub fn read_ahead(&self, place: Place) -> u64 {
        let held = row(place).and_then(|(chunk, row)| Some((self.chunks.get(&chunk)?, row)));
        held.map_or(0, |(held, row)| held.chunk.read_ahead(row, &self.cache).into())
    }

    /// How many blocks, and pieces of indexes for single rows, were read from files.
    pub fn blocks_read(&self) -> u64 {
        self.cache.kept() + self.heads_read
    }

    /// The total length of the blocks that were read, in bytes.
    pub fn block_bytes_read(&self) -> u64 {
        self.cache.kept_bytes()
    }

    /// How many records are in memory.
    pub fn in_memory_count(&self) -> usize {
        self.bodies.len()
    }

    /// Estimated memory of the records in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.bodies.memory_bytes()
    }

    /// Begins a capture: until [`Self::end_capture`], records in memory stay there. Returns the chunks as they are.
    pub fn begin_capture(&mut self) -> Vec<ChunkState> {
        self.retained.get_or_insert_default();
        self.chunks.values().filter(|held| held.live.count() > 0).map(LiveChunk::state).collect()
    }

    /// Ends the capture: [`Self::free_forgotten`] can free the records that were dropped during it.
    pub fn end_capture(&mut self) {
        self.forgotten.extend(self.retained.take().unwrap_or_default());
    }

    /// Frees up to `records_max` of the records that were dropped during a capture. There may be very many.
    pub fn free_forgotten(&mut self, records_max: usize) {
        for body in self.forgotten.split_off(self.forgotten.len().saturating_sub(records_max)) {
            self.bodies.forget(number(body.place));
        }
        if self.forgotten.is_empty() {
            self.forgotten = Vec::new();
        }
    }

    /// True if such records are left.
    pub fn has_forgotten(&self) -> bool {
        !self.forgotten.is_empty()
    }

    /// Adds a chunk without live rows.
    pub fn add_chunk(&mut self, chunk: Arc<Chunk>) -> Result<(), StorageError> {
        let rows = chunk.rows();
        let none = Arc::new(Bits::new(rows));
        self.restore_chunk(ChunkState { chunk, live: Arc::clone(&none), spilled: none })
    }

    /// Adds a chunk with its bitmaps.
    pub fn restore_chunk(&mut self, state: ChunkState) -> Result<(), StorageError> {
        let ChunkState { chunk, live, spilled } = state;
        let number = chunk.summary().number;
        let split = chunk.first_row_from(Timeline::Wall.number(), 0)?;
        let cursors = [0, split].map(|from| spilled.next_set(from).unwrap_or(chunk.rows()));
        let mut held = LiveChunk { chunk, live, spilled, cursors, split };
        // The stamp's timeline ends where that of the wall clock begins.
        held.cursors[0] = held.cursors[0].min(split);
        self.chunks.insert(number, held);
        self.generation += 1;
        Timeline::ALL.into_iter().try_for_each(|timeline| self.push_turn(number, timeline))
    }

    /// A checkpoint has written a job's record, or all of a spilled job, to the row `to` of a chunk: uses that from
    /// now on.
    pub fn relocated(&mut self, from: Place, to: Place, relocated: Relocated) -> Result<(), StorageError> {
        let Some((chunk, row)) = row(to) else { return Ok(()) };
        if relocated == Relocated::Gone {
            return Ok(());
        }
        self.release(from);
        let Some(held) = self.chunks.get_mut(&chunk) else { return Ok(()) };
        Arc::make_mut(&mut held.live).set(row);
        if relocated == Relocated::Spilled {
            Arc::make_mut(&mut held.spilled).set(row);
            let timeline = held.timeline(row);
            if row < held.cursors[timeline as usize] {
                held.cursors[timeline as usize] = row;
                self.push_turn(chunk, timeline)?;
            }
        }
        Ok(())
    }

    /// Frees memory after many records were dropped.
    pub fn shrink(&mut self) {
        self.bodies.shrink();
    }

    /// Drops the chunks that are not listed. None of their rows may be needed.
    pub fn retain_chunks(&mut self, listed: impl Fn(u32) -> bool) {
        self.generation += 1;
        let cache = &mut self.cache;
        self.chunks.retain(|number, held| {
            let keep = listed(*number) || held.live.count() > 0;
            if !keep {
                cache.forget(*number);
            }
            keep
        });
    }

    /// True if the rows that are no longer needed take more than `least_bytes`, and more than the needed ones.
    pub fn has_waste(&self, least_bytes: u64) -> bool {
        let bytes = self.chunks.values().map(LiveChunk::bytes);
        let (live, all) = bytes.fold((0, 0), |sum, (live, all)| (sum.0 + live, sum.1 + all));
        all - live > live.max(least_bytes)
    }

    /// The size of new chunks, in bytes, between `least` and `most`: so that all rows fit into [`CHUNKS_MAX`] chunks.
    pub fn chunk_bytes(&self, least: usize, most: usize) -> usize {
        let live: u64 = self.chunks.values().map(|held| held.bytes().0).sum();
        usize::try_from(live / CHUNKS_MAX as u64).unwrap_or(usize::MAX).clamp(least, most)
    }

    /// The chunks, each with the bytes of its live rows and of all its rows, the number of live rows, and its number.
    pub(super) fn sizes(&self) -> impl Iterator<Item = ((u64, u64), u32, u32)> + '_ {
        self.chunks.iter().map(|(number, held)| (held.bytes(), held.live.count(), *number))
    }

    /// The chunks with their bitmaps.
    pub fn chunks(&self) -> impl Iterator<Item = ChunkState> + '_ {
        self.chunks.values().map(LiveChunk::state)
    }

    /// Drops a record, in memory or in a chunk.
    fn release(&mut self, place: Place) {
        match row(place) {
            None => self.bodies.forget(number(place)),
            Some((chunk, row)) => {
                if let Some(held) = self.chunks.get_mut(&chunk) {
                    debug_assert!(held.live.get(row), "a record is forgotten once");
                    Arc::make_mut(&mut held.live).clear(row);
                    if held.spilled.get(row) {
                        Arc::make_mut(&mut held.spilled).clear(row);
                    }
                }
            }
        }
    }

    fn read(&mut self, chunk: u32, row: u32) -> Result<Bytes, StorageError> {
        let held =
            self.chunks.get(&chunk).unwrap_or_else(|| unreachable!("a place is in a chunk that is held"));
        held.chunk.read_row(row, &mut self.cache)
    }

    fn saved<'a>(&self, chunk: u32, row: u32, bytes: &'a [u8]) -> Result<(SavedJob, &'a [u8]), StorageError> {
        SavedJob::decode(bytes).map_err(|_| self.bad_row(chunk, row))
    }

    fn bad_row(&self, chunk: u32, row: u32) -> StorageError {
        match self.chunks.get(&chunk) {
            Some(held) => held.chunk.bad_row(row),
            None => unreachable!("a place is in a chunk that is held"),
        }
    }

    /// Queues the next spilled job of a chunk.
    fn push_turn(&mut self, chunk: u32, timeline: Timeline) -> Result<(), StorageError> {
        let Some(held) = self.chunks.get(&chunk) else { return Ok(()) };
        let row = held.cursors[timeline as usize];
        if row >= held.end(timeline) {
            return Ok(());
        }
        let bytes = self.read(chunk, row)?;
        let (saved, _) = self.saved(chunk, row, &bytes)?;
        let until = saved.delayed_until().ok_or_else(|| self.bad_row(chunk, row))?;
        self.fronts[timeline as usize].push(Reverse((until.at, saved.id(), chunk, row)));
        Ok(())
    }

    /// Moves on to a chunk's next spilled job.
    fn advance(&mut self, chunk: u32, timeline: Timeline) -> Result<(), StorageError> {
        let Some(held) = self.chunks.get_mut(&chunk) else { return Ok(()) };
        let from = held.cursors[timeline as usize] + 1;
        let end = held.end(timeline);
        held.cursors[timeline as usize] = held.spilled.next_set(from).unwrap_or(end).min(end);
        self.push_turn(chunk, timeline)
    }
}

impl LiveChunk {
    /// Estimated bytes of its live rows, and bytes of all of it.
    fn bytes(&self) -> (u64, u64) {
        let all = self.chunk.summary().bytes;
        (all * u64::from(self.live.count()) / u64::from(self.chunk.rows().max(1)), all)
    }

    fn state(&self) -> ChunkState {
        let Self { chunk, live, spilled, .. } = self;
        ChunkState { chunk: Arc::clone(chunk), live: Arc::clone(live), spilled: Arc::clone(spilled) }
    }

    fn timeline(&self, row: u32) -> Timeline {
        if row < self.split { Timeline::Stamp } else { Timeline::Wall }
    }

    /// The first and last time of the timers of a topic, or of all, on either timeline; `None` if it has no row here.
    fn times(&self, topic: Option<TopicId>) -> Option<(u64, u64)> {
        let of_topic = self.chunk.summary().topics.iter();
        let of_topic = of_topic.filter(|found| topic.is_none_or(|topic| topic.0 == found.topic));
        of_topic.fold(None, |times: Option<(u64, u64)>, topic| {
            let (first, last) = times.unwrap_or((u64::MAX, 0));
            Some((first.min(topic.first_at), last.max(topic.last_at)))
        })
    }

    /// The first row of a timeline.
    fn begin(&self, timeline: Timeline) -> u32 {
        match timeline {
            Timeline::Stamp => 0,
            Timeline::Wall => self.split,
        }
    }

    /// The row after the last one of a timeline.
    fn end(&self, timeline: Timeline) -> u32 {
        match timeline {
            Timeline::Stamp => self.split,
            Timeline::Wall => self.chunk.rows(),
        }
    }
}

impl JobStore for Records {
    type Error = StorageError;
    type Walk = Walk;

    fn keep(&mut self, record: Record<'_>) -> BodyRef {
        self.bodies.keep(record)
    }

    fn forget(&mut self, body: BodyRef) {
        match &mut self.retained {
            Some(retained) if row(body.place).is_none() => retained.push(body),
            _ => self.release(body.place),
        }
    }

    fn spilled_job(&mut self, place: Place) -> Result<SavedJob, StorageError> {
        let (chunk, row) = row(place).unwrap_or_else(|| unreachable!("a spilled job is in a chunk"));
        let bytes = self.read(chunk, row)?;
        Ok(self.saved(chunk, row, &bytes)?.0)
    }

    fn spilled_topic(&mut self, place: Place) -> Result<TopicId, StorageError> {
        let (chunk, row) = row(place).unwrap_or_else(|| unreachable!("a spilled job is in a chunk"));
        let held =
            self.chunks.get(&chunk).unwrap_or_else(|| unreachable!("a place is in a chunk that is held"));
        let mut heads = Vec::new();
        held.chunk.read_heads(row, &mut heads)?;
        self.heads_read += 1;
        heads.first().map(|head| TopicId(head.topic)).ok_or_else(|| held.chunk.bad_row(row))
    }

    fn key(&mut self, body: BodyRef) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.record(body)?.key.map(|key| key.to_vec()))
    }

    fn walk(&self, from: WalkFrom) -> Walk {
        Walk::new(from)
    }

    fn walk_on(&self, walk: &mut Walk, budget: &mut usize) -> Result<Walked, StorageError> {
        self.walk_further(walk, budget)
    }

    fn count_on(
        &self,
        walk: &mut Walk,
        counts: &mut TimerCounts,
        budget: &mut usize,
    ) -> Result<bool, StorageError> {
        self.count_further(walk, counts, budget)
    }

    fn first_spilled(&mut self, timeline: Timeline) -> Result<Option<SpilledTimer>, StorageError> {
        while let Some(Reverse((at, job, chunk, row))) = self.fronts[timeline as usize].peek().copied() {
            // The cursor may have moved back after a timer was queued: then it is queued again, and this one is
            // skipped.
            let held = self.chunks.get(&chunk).filter(|held| held.cursors[timeline as usize] == row);
            match held {
                Some(held) if held.spilled.get(row) => {
                    return Ok(Some(SpilledTimer { at, job, place: row_place(chunk, row) }));
                }
                held => {
                    let is_next = held.is_some();
                    self.fronts[timeline as usize].pop();
                    if is_next {
                        self.advance(chunk, timeline)?;
                    }
                }
            }
        }
        Ok(None)
    }

    fn no_longer_spilled(&mut self, place: Place) {
        if let Some((chunk, row)) = row(place)
            && let Some(held) = self.chunks.get_mut(&chunk)
        {
            Arc::make_mut(&mut held.spilled).clear(row);
        }
    }
}

/// The place of a row of a chunk.
pub fn row_place(chunk: u32, row: u32) -> Place {
    Place(ROW_BIT | u64::from(chunk) << 32 | u64::from(row))
}

/// Chunk and row of a place, unless it is in memory.
#[expect(clippy::cast_possible_truncation, reason = "31 bits and 32")]
pub fn row(place: Place) -> Option<(u32, u32)> {
    (place.0 & ROW_BIT != 0).then_some(((place.0 >> 32) as u32 & (u32::MAX >> 1), place.0 as u32))
}

/// The number of a place in memory.
fn number(place: Place) -> u32 {
    u32::try_from(place.0).unwrap_or_else(|_| unreachable!("a place in memory has 32 bits"))
}
