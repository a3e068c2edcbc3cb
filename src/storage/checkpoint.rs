//! Writes a checkpoint, and reads the newest one back.
//!
//! The writer gets what the core captured, in batches, and does everything that takes long: it sorts, encodes, writes
//! and syncs. It shares nothing with the core but chunks, which never change, and bitmaps as they were.
//!
//! What a checkpoint writes:
//!
//! - a row for each job whose record is in memory alone, and for each that waits so long that it may go far: then the row
//!   is all of the job;
//! - the live rows of chunks of which little is live, so that the rest of them can go;
//! - an entry of the page file for each near job, with the place of its row;
//! - the manifest. From its rename on it is the newest checkpoint.
//!
//! Rows are gathered up to [`CHUNK_BYTES_MAX`], sorted, and make one chunk.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::backup::PinnedBackup;
use super::chunks::{self, Chunk, ChunkWriter, Manifest, ManifestChunk, PageWriter, Pages, RowHead};
use super::folder::Folder;
use super::records::{ChunkState, Records, row, row_place};
use super::{Damage, LogBase, StorageError};
use crate::engine::{CapturedJob, Engine, Image, Moment, Place, SavedJob};
use crate::types::{GroupId, JobId};

/// Rows of one chunk take about so much at most, in bytes.
const CHUNK_BYTES_MAX: usize = 32 << 20;

/// What a checkpoint begins with.
#[derive(Clone, Debug)]
pub struct CheckpointBegin {
    /// It is the so-and-so-many-th of its node.
    pub number: u32,
    /// The last entry that it contains.
    pub index: u64,
    /// That entry's term.
    pub term: u64,
    /// The members that vote.
    pub voters: Vec<u64>,
    /// Those that do not.
    pub learners: Vec<u64>,
    /// Hash of the state.
    pub state_hash: u128,
    /// Jobs in the state.
    pub jobs: u64,
    /// The state without its jobs.
    pub image: Vec<u8>,
    /// Every chunk of which a row is live.
    pub chunks: Vec<ChunkState>,
    /// Those of them whose live rows are to be written again.
    pub rewrite: Vec<u32>,
    /// The first number for a new chunk.
    pub next_chunk: u32,
    /// Its files are to be held open, for a backup.
    pub pin: bool,
}

/// Some near jobs, as they were when the checkpoint began.
#[derive(Clone, Debug, Default)]
pub struct CheckpointJobs {
    jobs: Vec<CheckpointJob>,
    /// Their records, one behind the other.
    records: Vec<u8>,
}

#[derive(Clone, Debug)]
struct CheckpointJob {
    job: CapturedJob,
    /// It waits so long that it may go far.
    far: bool,
    /// Where its record is among those of all, if it is in memory alone.
    record: Option<Range<usize>>,
}

impl CheckpointJobs {
    /// Adds a job, with its record if that is in memory alone. `far`: it waits so long that it may go far.
    pub fn push(&mut self, job: CapturedJob, far: bool, record: Option<&[u8]>) {
        let record = record.map(|record| {
            let begin = self.records.len();
            self.records.extend_from_slice(record);
            begin..self.records.len()
        });
        self.jobs.push(CheckpointJob { job, far, record });
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}

/// A job whose record was written to a new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Which.
    pub job: JobId,
    /// Where its record was.
    pub from: Place,
    /// Where it is as well.
    pub to: Place,
    /// All of the job is there: the hash that it had.
    pub far: Option<u128>,
}

/// A checkpoint that is durable.
#[derive(Debug)]
pub struct Checkpoint {
    /// The last entry that it contains.
    pub index: u64,
    /// Its new chunks.
    pub chunks: Vec<Arc<Chunk>>,
    /// What is in them, in the order of their rows.
    pub written: Vec<Written>,
    /// The numbers of all its chunks.
    pub listed: Vec<u32>,
    /// The first number for the next new chunk.
    pub next_chunk: u32,
    /// Its files, if they were to be held open and could be.
    pub pinned: Option<Arc<PinnedBackup>>,
}

/// A checkpoint that is being written.
pub struct CheckpointWriter<F: Folder> {
    folder: F,
    begin: CheckpointBegin,
    rows: Vec<Row>,
    /// The bytes of all rows that are gathered.
    bytes: Vec<u8>,
    pages: PageWriter<F>,
    /// Entries whose jobs have their rows among those that are gathered.
    waiting: Vec<(SavedJob, Place)>,
    /// Where the rows of near jobs went, and those that were written before, by where they were.
    moved: BTreeMap<Place, Place>,
    chunks: Vec<Arc<Chunk>>,
    kept: Vec<ManifestChunk>,
    written: Vec<Written>,
    next_chunk: u32,
}

/// A row that is gathered.
struct Row {
    head: RowHead,
    /// Where its bytes are among those of all.
    bytes: Range<usize>,
    from: Place,
    /// It is a far job.
    is_far: bool,
    /// The hash by which the engine knows whether it still is what was written.
    hash: Option<u128>,
}

impl<F: Folder> CheckpointWriter<F> {
    /// Begins a checkpoint in the folder of chunks.
    pub fn begin(folder: F, begin: CheckpointBegin) -> Result<Self, StorageError> {
        let pages = PageWriter::create(&folder, begin.number)?;
        let mut writer = Self {
            folder,
            rows: Vec::new(),
            bytes: Vec::new(),
            pages,
            waiting: Vec::new(),
            moved: BTreeMap::new(),
            chunks: Vec::new(),
            kept: Vec::new(),
            written: Vec::new(),
            next_chunk: begin.next_chunk,
            begin,
        };
        for state in writer.begin.chunks.clone() {
            if writer.is_rewritten(state.chunk.summary().number) {
                writer.rewrite(&state)?;
            } else {
                let ChunkState { chunk, live, far } = state;
                let (live, far) = (Arc::unwrap_or_clone(live), Arc::unwrap_or_clone(far));
                writer.kept.push(ManifestChunk { summary: chunk.summary().clone(), live, far });
            }
        }
        Ok(writer)
    }

    /// Takes jobs in.
    pub fn add(&mut self, batch: CheckpointJobs) -> Result<(), StorageError> {
        let CheckpointJobs { jobs, records } = batch;
        jobs.into_iter().try_for_each(|CheckpointJob { job, far, record }| {
            self.add_one(job, far, record.and_then(|range| records.get(range)))
        })
    }

    fn add_one(&mut self, job: CapturedJob, far: bool, record: Option<&[u8]>) -> Result<(), StorageError> {
        let CapturedJob { saved, place, delayed_until, hash } = job;
        let moves = row(place).is_none_or(|(chunk, _)| self.is_rewritten(chunk));
        // Its row is copied as it is: it goes far another time.
        let far = far && (record.is_some() || !moves);
        if record.is_some() || far {
            let waits_for = delayed_until.unwrap_or_else(|| saved.due());
            let begin = self.bytes.len();
            saved.encode(&mut self.bytes);
            if let Some(record) = record {
                self.bytes.extend_from_slice(record);
            } else {
                let record = self.record_at(place)?;
                self.bytes.extend_from_slice(&record);
                self.leave(place);
            }
            let (head, hash) = (head(&saved, waits_for), far.then_some(hash));
            let bytes = begin..self.bytes.len();
            self.rows.push(Row { head, bytes, from: place, is_far: far, hash });
        }
        match (far, moves) {
            (true, true) => {}
            (true, false) => self.give_up(place),
            (false, true) => self.waiting.push((saved, place)),
            (false, false) => self.enter(&saved, place)?,
        }
        if self.bytes.len() >= CHUNK_BYTES_MAX { self.flush() } else { Ok(()) }
    }

    /// Ends it, when every near job was added. `base` is the log's entry at the checkpoint's index.
    pub fn finish(mut self, base: LogBase) -> Result<Checkpoint, StorageError> {
        self.flush()?;
        let pages = self.pages.finish()?;
        self.folder.sync()?;
        let CheckpointBegin { number, index, term, voters, learners, state_hash, jobs, image, .. } =
            self.begin;
        let listed = self.kept.iter().map(|kept| kept.summary.number).collect();
        let manifest = Manifest {
            group: GroupId(0).0,
            checkpoint: number.into(),
            index,
            term,
            log_crc: base.crc,
            voters,
            learners,
            next_chunk: self.next_chunk,
            state_hash,
            jobs,
            image,
            chunks: self.kept,
            pages: Some(pages),
        };
        manifest.write(&self.folder)?;
        chunks::remove_unlisted(&self.folder, Some(&manifest))?;
        let (chunks, written, next_chunk) = (self.chunks, self.written, self.next_chunk);
        Ok(Checkpoint { index, chunks, written, listed, next_chunk, pinned: None })
    }

    /// A row that is kept was written once more, at another place: with this checkpoint nobody needs it.
    fn give_up(&mut self, place: Place) {
        let Some((chunk, row)) = row(place) else { return };
        if let Some(kept) = self.kept.iter_mut().find(|kept| kept.summary.number == chunk) {
            kept.live.clear(row);
        }
    }

    fn is_rewritten(&self, chunk: u32) -> bool {
        self.begin.rewrite.contains(&chunk)
    }

    /// Takes in the live rows of a chunk, so that the others can go with it.
    fn rewrite(&mut self, state: &ChunkState) -> Result<(), StorageError> {
        let ChunkState { chunk, live, far } = state;
        let mut heads = Vec::with_capacity(live.count() as usize);
        chunk.for_each_index(|row, head| heads.extend(live.get(row).then_some((row, head))))?;
        let mut cache = chunks::BlockCache::new(1);
        for (row, head) in heads {
            let begin = self.bytes.len();
            self.bytes.extend_from_slice(&chunk.read_row(row, &mut cache)?);
            let (bytes, from) = (begin..self.bytes.len(), row_place(chunk.summary().number, row));
            self.rows.push(Row { head, bytes, from, is_far: far.get(row), hash: None });
            if self.bytes.len() >= CHUNK_BYTES_MAX {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// The record of a job that is in a chunk.
    fn record_at(&self, place: Place) -> Result<Vec<u8>, StorageError> {
        let Some((number, row)) = row(place) else { unreachable!("a record in memory comes with its job") };
        let mut chunks = self.begin.chunks.iter().map(|state| &state.chunk);
        let chunk = chunks.find(|chunk| chunk.summary().number == number);
        let chunk = chunk.unwrap_or_else(|| unreachable!("a place is in a chunk that is held"));
        let bytes = chunk.read_row(row, &mut chunks::BlockCache::new(1))?;
        let (_, record) = SavedJob::decode(&bytes).map_err(|_| chunk.bad_row(row))?;
        Ok(record.to_vec())
    }

    /// A row is nobody's any more in this checkpoint: its job gets another one.
    fn leave(&mut self, place: Place) {
        let Some((number, row)) = row(place) else { return };
        if let Some(kept) = self.kept.iter_mut().find(|kept| kept.summary.number == number) {
            kept.live.clear(row);
        }
    }

    fn enter(&mut self, saved: &SavedJob, place: Place) -> Result<(), StorageError> {
        let mut entry = place.0.to_le_bytes().to_vec();
        saved.encode(&mut entry);
        self.pages.push(&entry)
    }

    /// Makes a chunk of the rows that are gathered.
    fn flush(&mut self) -> Result<(), StorageError> {
        let mut rows = std::mem::take(&mut self.rows);
        if !rows.is_empty() {
            rows.sort_unstable_by_key(|row| row.head.order());
            self.write_chunk(&rows)?;
        }
        self.bytes.clear();
        for (saved, from) in std::mem::take(&mut self.waiting) {
            let to = self.moved.get(&from).copied();
            self.enter(&saved, to.unwrap_or_else(|| unreachable!("its row was gathered before it")))?;
        }
        Ok(())
    }

    fn write_chunk(&mut self, rows: &[Row]) -> Result<(), StorageError> {
        let number = self.next_chunk;
        self.next_chunk += 1;
        let mut writer = ChunkWriter::create(&self.folder, number)?;
        for row in rows {
            writer.push(row.head, self.bytes.get(row.bytes.clone()).unwrap_or_default())?;
        }
        let summary = writer.finish()?;
        let mut far = chunks::Bits::new(summary.rows);
        for (nth, row) in (0..).zip(rows) {
            let to = row_place(number, nth);
            if row.is_far {
                far.set(nth);
            }
            // Of a job that goes far with this checkpoint nobody asks.
            if row.hash.is_none() {
                self.moved.insert(row.from, to);
            }
            self.written.push(Written { job: JobId(row.head.id), from: row.from, to, far: row.hash });
        }
        self.chunks.push(Arc::new(Chunk::open(&self.folder, &summary)?));
        self.kept.push(ManifestChunk { live: chunks::Bits::full(summary.rows), summary, far });
        Ok(())
    }
}

/// What is known of a row without reading it.
fn head(saved: &SavedJob, waits_for: Moment) -> RowHead {
    RowHead {
        id: saved.id().0,
        line: waits_for.line.number(),
        at: waits_for.at,
        topic: saved.topic().0,
        identity: saved.identity(),
    }
}

/// The newest checkpoint, read back.
#[derive(Debug)]
pub struct Restored {
    /// Its number.
    pub number: u32,
    /// Where the log goes on.
    pub base: LogBase,
    /// The members that vote.
    pub voters: Vec<u64>,
    /// Those that do not.
    pub learners: Vec<u64>,
    /// The first number for the next new chunk.
    pub next_chunk: u32,
    /// The state after the entry at the base.
    pub engine: Engine,
    /// The records of its jobs.
    pub records: Records,
}

/// Reads the newest checkpoint; `None` if there never was one. What it does not list goes.
pub fn restore<F: Folder>(folder: &F) -> Result<Option<Restored>, StorageError> {
    let manifest = Manifest::read(folder)?;
    if manifest.is_some() {
        // Whoever wrote it may have died before its name was durable. From here on nobody goes back behind it.
        folder.sync()?;
    }
    chunks::remove_unlisted(folder, manifest.as_ref())?;
    manifest.map(|manifest| read(folder, manifest)).transpose()
}

/// Reads the checkpoint that a manifest stands for. Changes nothing.
pub fn read<F: Folder>(folder: &F, manifest: Manifest) -> Result<Restored, StorageError> {
    let bad = |source| {
        let (path, damage) = (folder.path().to_owned(), Damage::State(source));
        StorageError::Damaged { path, damage }
    };
    let image = Image::decode(&manifest.image).map_err(bad)?;
    let far: u64 = manifest.chunks.iter().map(|chunk| u64::from(chunk.far.count())).sum();
    let near = manifest.pages.as_ref().map_or(0, |pages| pages.entries);
    let mut restoring = image.restore(usize::try_from(far + near).unwrap_or(usize::MAX));
    let mut records = Records::default();
    for ManifestChunk { summary, live, far } in manifest.chunks {
        let chunk = Chunk::open(folder, &summary)?;
        chunk.for_each_index(|row, head| {
            if far.get(row) {
                restoring.far(JobId(head.id), head.identity, row_place(summary.number, row));
            }
        })?;
        let (chunk, live, far) = (Arc::new(chunk), Arc::new(live), Arc::new(far));
        records.restore_chunk(ChunkState { chunk, live, far })?;
    }
    if let Some(summary) = manifest.pages {
        let pages = Pages::open(folder, &summary)?;
        let mut nth = 0;
        pages.for_each(|entry| {
            nth += 1;
            let (place, saved) = entry.split_first_chunk().ok_or_else(|| pages.bad_entry(nth))?;
            let (saved, _) = SavedJob::decode(saved).map_err(|_| pages.bad_entry(nth))?;
            restoring.near(saved, Place(u64::from_le_bytes(*place))).map_err(bad)
        })?;
    }
    let engine = restoring.finish().map_err(bad)?;
    let base = LogBase { index: manifest.index, term: manifest.term, crc: manifest.log_crc };
    let number = u32::try_from(manifest.checkpoint).unwrap_or(u32::MAX);
    let Manifest { voters, learners, next_chunk, .. } = manifest;
    Ok(Restored { number, base, voters, learners, next_chunk, engine, records })
}

#[cfg(test)]
mod tests;
