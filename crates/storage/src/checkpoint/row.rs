//! The rows of the next chunk, while they are gathered.
//!
//! There are many, so the facts about each take as little memory as possible, and the memory is reused for the next
//! chunk.

use super::super::chunks::RowHead;
use super::super::records::row_place;
use adjourn_engine::Place;

/// The number of rows that are fetched from memory at once.
const FETCHED_ROWS: usize = 16;

/// A [`RowHead`] that takes less memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) at: u64,
    pub(super) id: u64,
    pub(super) topic: u32,
    pub(super) timeline: u8,
    pub(super) key_hash: Option<[u8; 16]>,
}

/// A row that is gathered.
pub(super) struct Row {
    pub(super) head: Head,
    /// The previous place of its record.
    pub(super) from: Place,
    /// True if the row is a spilled job.
    pub(super) is_spilled: bool,
    /// The job's hash when it was written. A different hash now tells the engine that the job has changed.
    pub(super) hash: Option<[u8; 16]>,
    /// Its number: how many rows were gathered before it.
    nth: u32,
    /// Where its bytes begin among those of all rows.
    begin: usize,
    end: usize,
}

/// Rows that are gathered, and their bytes.
pub(super) struct Rows {
    rows: Vec<Row>,
    bytes: Vec<u8>,
}

impl Rows {
    /// Reserves room for `rows` rows and `bytes` bytes. The system provides the memory when it is used.
    pub(super) fn with_capacity(rows: usize, bytes: usize) -> Self {
        Self { rows: Vec::with_capacity(rows), bytes: Vec::with_capacity(bytes) }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The bytes of all rows.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Appends to the bytes of the row that is pushed next.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds a row with the bytes that were appended. Returns its number: how many were added before it.
    pub(super) fn push(&mut self, head: Head, from: Place, is_spilled: bool, hash: Option<[u8; 16]>) -> u32 {
        let nth = u32::try_from(self.rows.len()).unwrap_or_else(|_| unreachable!("a chunk has fewer rows"));
        let begin = self.rows.last().map_or(0, |last| last.end);
        let end = self.bytes.len();
        self.rows.push(Row { head, from, is_spilled, hash, nth, begin, end });
        nth
    }

    /// Sorts the rows into the order of a chunk.
    pub(super) fn sort(&mut self) {
        self.rows.sort_unstable_by_key(|Row { head, .. }| (head.timeline, head.at, head.id));
    }

    /// Each row.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }

    /// Each row with its bytes.
    pub(super) fn with_bytes(&self) -> impl Iterator<Item = (&Row, &[u8])> {
        self.rows.chunks(FETCHED_ROWS).flat_map(|rows| {
            self.fetch(rows);
            rows.iter().map(|row| (row, self.bytes.get(row.begin..row.end).unwrap_or_default()))
        })
    }

    /// Loads these scattered rows into the processor's cache all at once: one after the other, each load would be waited
    /// for.
    fn fetch(&self, rows: &[Row]) {
        let byte = |at: usize| self.bytes.get(at).copied().unwrap_or_default();
        let sum = rows.iter().fold(0, |sum: u8, row| sum ^ byte(row.begin) ^ byte(row.end.saturating_sub(1)));
        std::hint::black_box(sum);
    }

    /// The place of each row, by its number, once they are written to `chunk` in sorted order.
    pub(super) fn places(&self, chunk: u32) -> Vec<Place> {
        let mut places = vec![Place(0); self.rows.len()];
        for (nth, row) in (0..).zip(&self.rows) {
            if let Some(place) = places.get_mut(row.nth as usize) {
                *place = row_place(chunk, nth);
            }
        }
        places
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.bytes.clear();
    }
}

impl From<Head> for RowHead {
    fn from(head: Head) -> Self {
        let Head { at, id, topic, timeline, key_hash } = head;
        Self { id, timeline, at, topic, key_hash: key_hash.map(u128::from_le_bytes) }
    }
}

impl From<RowHead> for Head {
    fn from(head: RowHead) -> Self {
        let RowHead { id, timeline, at, topic, key_hash } = head;
        Self { at, id, topic, timeline, key_hash: key_hash.map(u128::to_le_bytes) }
    }
}
