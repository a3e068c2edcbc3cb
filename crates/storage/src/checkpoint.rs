//! Writes a checkpoint, and reads the newest one back.
//!
//! The writer receives the captured state from the core in batches and does all slow work: it sorts, encodes, writes
//! and syncs. It shares with the core only chunks, which never change, and snapshots of bitmaps.
//!
//! A checkpoint writes:
//!
//! - a row for each job whose record is only in memory, and for each that waits long enough to be spilled: then the
//!   row is all of the job;
//! - the live rows of mostly dead chunks, so that these chunks can be removed;
//! - an entry for each resident job, with the place of its row, in page files: one for each page of the engine's
//!   slab. The file of an unchanged page is kept;
//! - the manifest. From its rename on it is the newest checkpoint.
//!
//! Rows are gathered until they fill one chunk, sorted, and written. [`memory_bytes_max`] is the memory that this
//! takes.
//!
//! Until the manifest has its name, the checkpoint can be given up at any time: nothing lists its files. From then
//! on nothing may fail ([`CheckpointWriter::seal`], [`SealedCheckpoint::publish`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::backup_file::PinnedBackup;
use super::chunks::{self, BlockCache, Chunk, ChunkWriter, Manifest, ManifestChunk, Pages, StagedManifest};
use super::folder::Folder;
use super::records::{CHUNKS_MAX, ChunkState, Records, row, row_place};
use super::{Damage, LogBase, StorageError};
use adjourn_engine::{
    CapturedSessions, Engine, PartialMetadata, Place, RestoreError, Restoring, SavedJob, StateMetadata,
};
use adjourn_types::limits::BODY_BYTES_CEILING;
use adjourn_types::{GroupId, JobId};
use jobs::CheckpointJob;
pub use jobs::CheckpointJobs;
use resident::{PAGE_BYTES_MAX, ResidentPages, RowAt};
pub use resident::{PageFile, begin_capture};
use row::{Row, Rows};

/// The facts about gathered rows, and the jobs that wait for these rows, may take this many times the memory of the
/// rows.
const KNOWN_PER_ROW_BYTES: usize = 2;

/// The facts about a row: while it is gathered, its new place, and the report to the core.
const KNOWN_BYTES: usize = size_of::<Row>() + size_of::<Place>() + size_of::<Written>();

/// One checkpoint writes at most this many chunks of old rows again.
const REWRITTEN_CHUNKS_MAX: u64 = 4;

/// Memory is reserved for rows of this length, a common one, in bytes.
const ROW_BYTES: usize = 192;
/// Beyond a full chunk, memory is reserved for the row that fills it.
const LAST_ROW_BYTES: usize = 64 << 10;

/// Blocks that stay cached after a record was read from them: resident jobs come in no order of their rows.
const CACHE_BLOCKS: usize = 16;

/// The captured state with which a checkpoint begins.
#[derive(Clone, Debug)]
pub struct CheckpointBegin {
    /// The number of the checkpoint, from 1.
    pub number: u32,
    /// The last entry that it contains.
    pub index: u64,
    /// That entry's term.
    pub term: u64,
    /// The members that vote.
    pub voters: Vec<u64>,
    /// The members that do not vote.
    pub learners: Vec<u64>,
    /// Hash of the state.
    pub state_hash: u128,
    /// Jobs in the state.
    pub jobs: u64,
    /// The state without its jobs. Sessions may follow.
    pub metadata: PartialMetadata,
    /// Every chunk with a live row.
    pub chunks: Vec<ChunkState>,
    /// Those chunks to be rewritten: their live rows move to new chunks.
    pub rewrite: Vec<u32>,
    /// The valid files of pages that are not captured.
    pub pages: Vec<PageFile>,
    /// The first number for a new chunk.
    pub next_chunk: u32,
    /// A new chunk is closed when its rows take this many bytes.
    pub chunk_bytes: usize,
    /// How many records are in memory; used to reserve memory for their rows.
    pub records: usize,
    /// True to hold its files open, for a backup.
    pub pin: bool,
}

/// Bytes of memory that writing a checkpoint takes at most with chunks of `chunk_bytes`, in addition to 48 for each record
/// in memory at its beginning.
pub fn memory_bytes_max(chunk_bytes: usize) -> usize {
    let rewritten = size_of::<Written>() + 2 * size_of::<(Place, RowAt)>();
    let one_row = BODY_BYTES_CEILING + (1 << 20);
    let pages = KNOWN_PER_ROW_BYTES * chunk_bytes + 2 * PAGE_BYTES_MAX;
    chunk_bytes + pages + rewritten_rows_max(chunk_bytes) * rewritten + one_row
}

/// The maximum number of old rows that one checkpoint writes again.
pub fn rewritten_rows_max(chunk_bytes: usize) -> usize {
    // More do not fit into one chunk: see [`KNOWN_PER_ROW_BYTES`].
    KNOWN_PER_ROW_BYTES * chunk_bytes / KNOWN_BYTES
}

impl Records {
    /// The chunks to rewrite, so that their dead rows can be removed: those that are less than half live. If there are
    /// very many chunks, also those with fewer live bytes than half of a new chunk, the smallest first. Bounded in bytes
    /// and rows; at least one, if there is any.
    pub fn to_rewrite(&self, chunk_bytes: usize) -> Vec<u32> {
        let mut worth: Vec<_> = self.sizes().filter(|(_, rows, _)| *rows > 0).collect();
        worth.sort_unstable();
        let mut surplus = worth.len().saturating_sub(CHUNKS_MAX);
        let chunk = chunk_bytes as u64;
        let (mut bytes, mut rows) = (REWRITTEN_CHUNKS_MAX * chunk, rewritten_rows_max(chunk_bytes) as u64);
        let mut chosen = Vec::new();
        for ((live, all), live_rows, number) in worth {
            let wanted = 2 * live < all || (surplus > 0 && 2 * live < chunk);
            let fits = live <= bytes && u64::from(live_rows) <= rows;
            if wanted && (fits || chosen.is_empty()) {
                bytes = bytes.saturating_sub(live);
                rows = rows.saturating_sub(live_rows.into());
                surplus = surplus.saturating_sub(1);
                chosen.push(number);
            }
        }
        chosen
    }
}

/// A job whose record was written to a new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The job's id.
    pub job: JobId,
    /// Where its record was.
    pub from: Place,
    /// Its place in the new chunk.
    pub to: Place,
    /// The job's hash, if this checkpoint spilled it: then the row is all of the job.
    spilled: Option<[u8; 16]>,
}

impl Written {
    /// The job's hash, if this checkpoint spilled it.
    pub fn spilled(&self) -> Option<u128> {
        self.spilled.map(u128::from_le_bytes)
    }
}

/// A checkpoint that is durable.
#[derive(Debug)]
pub struct Checkpoint {
    /// The last entry that it contains.
    pub index: u64,
    /// Its new chunks.
    pub chunks: Vec<Arc<Chunk>>,
    /// The jobs in the new chunks, in the order of their rows.
    pub written: Vec<Written>,
    /// All its chunks, those of earlier checkpoints too, by rising number.
    pub listed: Vec<Arc<Chunk>>,
    /// All its page files.
    pub pages: Vec<PageFile>,
    /// The first number for the next new chunk.
    pub next_chunk: u32,
    /// Its open files, if they were asked for and could be opened.
    pub pinned: Option<Arc<PinnedBackup>>,
}

impl Checkpoint {
    /// The numbers of all its chunks.
    pub fn numbers(&self) -> Vec<u32> {
        self.listed.iter().map(|chunk| chunk.summary().number).collect()
    }
}

/// A checkpoint that is being written.
pub struct CheckpointWriter<F: Folder> {
    folder: F,
    begin: CheckpointBegin,
    rows: Rows,
    pages: ResidentPages<F>,
    /// New places of rewritten rows whose resident jobs are not entered yet, by old place.
    moved: BTreeMap<Place, RowAt>,
    chunks: Vec<Arc<Chunk>>,
    /// Chunks of earlier checkpoints that stay, by rising number.
    kept: Vec<(Arc<Chunk>, ManifestChunk)>,
    /// Chunks that this checkpoint adds: their numbers are higher.
    added: Vec<ManifestChunk>,
    written: Vec<Written>,
    next_chunk: u32,
    cache: BlockCache,
}

/// A checkpoint that is durable except for the name of its manifest: it is not valid yet.
pub struct SealedCheckpoint<F: Folder> {
    folder: F,
    manifest: Manifest,
    staged: StagedManifest<F>,
    checkpoint: Checkpoint,
}

impl<F: Folder> CheckpointWriter<F> {
    /// Begins a checkpoint in the folder of chunks.
    pub fn begin(folder: F, mut begin: CheckpointBegin) -> Result<Self, StorageError> {
        begin.rewrite.sort_unstable();
        let rows = begin.records.min(rewritten_rows_max(begin.chunk_bytes));
        let bytes = (begin.records * ROW_BYTES).min(begin.chunk_bytes + LAST_ROW_BYTES);
        let mut writer = Self {
            pages: ResidentPages::new(folder.clone(), begin.number),
            folder,
            rows: Rows::with_capacity(rows, bytes),
            moved: BTreeMap::new(),
            chunks: Vec::new(),
            kept: Vec::new(),
            added: Vec::new(),
            written: Vec::with_capacity(begin.records),
            next_chunk: begin.next_chunk,
            cache: BlockCache::new(CACHE_BLOCKS),
            begin,
        };
        for state in std::mem::take(&mut writer.begin.chunks) {
            if writer.is_rewritten(state.chunk.summary().number) {
                writer.rewrite(&state)?;
            } else {
                let ChunkState { chunk, live, spilled } = state;
                let (live, spilled) = (Arc::unwrap_or_clone(live), Arc::unwrap_or_clone(spilled));
                let summary = chunk.summary().clone();
                writer.kept.push((chunk, ManifestChunk { summary, live, spilled }));
            }
        }
        Ok(writer)
    }

    /// Adds sessions.
    ///
    /// # Panics
    ///
    /// If there are more than the metadata has.
    pub fn add_sessions(&mut self, sessions: &CapturedSessions) {
        self.begin.metadata.push(sessions);
    }

    /// Adds jobs.
    pub fn add(&mut self, batch: &CheckpointJobs) -> Result<(), StorageError> {
        batch.iter().try_for_each(|(job, saved, record)| self.add_one(job, saved, record))
    }

    fn add_one(
        &mut self,
        job: &CheckpointJob,
        saved: &[u8],
        record: Option<&[u8]>,
    ) -> Result<(), StorageError> {
        let CheckpointJob { page, head, place, spillable, .. } = *job;
        let moves = row(place).is_none_or(|(chunk, _)| self.is_rewritten(chunk));
        // The rewrite copies its row unchanged; the next checkpoint can spill it.
        let again = spillable.is_some() && moves && record.is_none();
        let spilled = spillable.filter(|_| !again);
        let row_at = if record.is_some() || spilled.is_some() {
            self.rows.append(saved);
            match record {
                Some(record) => self.rows.append(record),
                None => self.take_over(place)?,
            }
            RowAt::Gathered(self.rows.push(head, place, spilled.is_some(), spilled))
        } else if moves {
            self.moved.remove(&place).unwrap_or_else(|| unreachable!("its row was gathered before it"))
        } else {
            RowAt::Is(place)
        };
        // A spilled job needs no entry: its row is all of it.
        if spilled.is_none() {
            self.pages.enter(page, saved, row_at, again)?;
        }
        self.flush_if_full()
    }

    /// Completes it, after every session and every resident job was added. `base` is the log's entry at the checkpoint's
    /// index.
    ///
    /// # Panics
    ///
    /// If `base` is another entry, or a session or a job is missing.
    pub fn seal(mut self, base: LogBase) -> Result<SealedCheckpoint<F>, StorageError> {
        assert_eq!(
            (base.index, base.term),
            (self.begin.index, self.begin.term),
            "a checkpoint stands for the entry at which it was captured"
        );
        self.flush()?;
        let written = self.pages.finish()?;
        self.folder.sync()?;
        let CheckpointBegin {
            number,
            index,
            term,
            voters,
            learners,
            state_hash,
            jobs,
            metadata,
            mut pages,
            ..
        } = self.begin;
        pages.extend(written);
        pages.sort_unstable_by_key(|pages| pages.summary.id);
        let resident: u64 = pages.iter().map(|pages| pages.summary.entries).sum();
        let chunks = self.kept.iter().map(|(_, kept)| kept).chain(&self.added);
        let spilled: u64 = chunks.map(|chunk| u64::from(chunk.spilled.count())).sum();
        assert_eq!(resident + spilled, jobs, "every job is in a checkpoint once");
        let (mut listed, kept): (Vec<_>, Vec<_>) = self.kept.into_iter().unzip();
        listed.extend(self.chunks.iter().cloned());
        let manifest = Manifest {
            group: GroupId::ONLY.0,
            checkpoint: number.into(),
            index,
            term,
            log_crc: base.crc,
            voters,
            learners,
            next_chunk: self.next_chunk,
            state_hash,
            jobs,
            metadata: metadata.finish(),
            chunks: kept.into_iter().chain(self.added).collect(),
            pages: pages.iter().map(|pages| pages.summary.clone()).collect(),
        };
        let staged = manifest.stage(&self.folder)?;
        let (chunks, written, next_chunk) = (self.chunks, self.written, self.next_chunk);
        let checkpoint = Checkpoint { index, chunks, written, listed, pages, next_chunk, pinned: None };
        Ok(SealedCheckpoint { folder: self.folder, manifest, staged, checkpoint })
    }

    fn is_rewritten(&self, chunk: u32) -> bool {
        self.begin.rewrite.binary_search(&chunk).is_ok()
    }

    /// Gathers the live rows of a chunk, so that the chunk can be removed.
    fn rewrite(&mut self, state: &ChunkState) -> Result<(), StorageError> {
        let ChunkState { chunk, live, spilled } = state;
        let (mut next, mut heads) = (0, Vec::new());
        while let Some(first) = live.next_set(next) {
            next = first;
            chunk.read_heads(first, &mut heads)?;
            if heads.is_empty() {
                return Err(chunk.bad_row(first));
            }
            for (nth, head) in (first..).zip(heads.drain(..)) {
                next = nth + 1;
                if !live.get(nth) {
                    continue;
                }
                self.rows.append(&chunk.read_row(nth, &mut self.cache)?);
                let (from, is_spilled) = (row_place(chunk.summary().number, nth), spilled.get(nth));
                let gathered = self.rows.push(head.into(), from, is_spilled, None);
                if !is_spilled {
                    self.moved.insert(from, RowAt::Gathered(gathered));
                }
                self.flush_if_full()?;
            }
        }
        Ok(())
    }

    /// Copies the record of a job whose row is in a kept chunk. This checkpoint then no longer needs that row.
    fn take_over(&mut self, place: Place) -> Result<(), StorageError> {
        let Some((number, row)) = row(place) else { unreachable!("a record in memory comes with its job") };
        let found = self.kept.binary_search_by_key(&number, |(_, kept)| kept.summary.number);
        let Some((chunk, kept)) = found.ok().and_then(|nth| self.kept.get_mut(nth)) else {
            unreachable!("a place is in a chunk that is held")
        };
        let bytes = chunk.read_row(row, &mut self.cache)?;
        let (_, record) = SavedJob::decode(&bytes).map_err(|_| chunk.bad_row(row))?;
        self.rows.append(record);
        kept.live.clear(row);
        Ok(())
    }

    fn flush_if_full(&mut self) -> Result<(), StorageError> {
        let known = (self.rows.len() + 1) * KNOWN_BYTES + self.pages.waiting_bytes();
        let chunk_bytes = self.begin.chunk_bytes;
        let full = self.rows.bytes() >= chunk_bytes || known > KNOWN_PER_ROW_BYTES * chunk_bytes;
        if full { self.flush() } else { Ok(()) }
    }

    /// Writes the gathered rows as a chunk.
    fn flush(&mut self) -> Result<(), StorageError> {
        let number = self.next_chunk;
        if self.rows.len() > 0 {
            self.rows.sort();
            self.write_chunk(number)?;
        }
        let places = self.rows.places(number);
        for row_at in self.moved.values_mut() {
            row_at.place(&places);
        }
        self.rows.clear();
        self.pages.place(&places)
    }

    fn write_chunk(&mut self, number: u32) -> Result<(), StorageError> {
        self.next_chunk += 1;
        let mut writer = ChunkWriter::create(&self.folder, number)?;
        for (row, bytes) in self.rows.with_bytes() {
            writer.push(row.head.into(), bytes)?;
        }
        let summary = writer.finish()?;
        let mut spilled = chunks::Bits::new(summary.rows);
        for (nth, row) in (0..).zip(self.rows.iter()) {
            if row.is_spilled {
                // A spilled job has no entry in a page file.
                spilled.set(nth);
            }
            let (job, to) = (JobId(row.head.id), row_place(number, nth));
            self.written.push(Written { job, from: row.from, to, spilled: row.hash });
        }
        self.chunks.push(Arc::new(Chunk::open(&self.folder, &summary)?));
        self.added.push(ManifestChunk { live: chunks::Bits::full(summary.rows), summary, spilled });
        Ok(())
    }
}

impl<F: Folder> SealedCheckpoint<F> {
    /// Makes it the newest checkpoint, durably; then removes the files that it does not list.
    ///
    /// After any failure here it is unknown which checkpoint is the newest: the caller must write nothing more.
    pub fn publish(self) -> Result<Checkpoint, StorageError> {
        self.staged.publish()?;
        match chunks::remove_unlisted(&self.folder, Some(&self.manifest)) {
            // They are ignored, and removed after the next checkpoint.
            Err(error) if error.is_shortage() => {}
            removed => _ = removed?,
        }
        Ok(self.checkpoint)
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
    /// The error if a member's state is unreadable: then there are no jobs, and no entry may be applied.
    pub lost: Option<StorageError>,
}

/// Reads the newest checkpoint; `None` if there never was one. Nothing is removed: that is for [`sweep`].
pub fn restore<F: Folder>(folder: &F) -> Result<Option<Restored>, StorageError> {
    let Some(manifest) = Manifest::read(folder)? else { return Ok(None) };
    // An earlier process may have died before the name was durable. From here on no process may fall back to an older one.
    folder.sync()?;
    read(folder, manifest).map(Some)
}

/// As [`restore`], for a member that starts from its own checkpoint: an unreadable state is no obstacle if other members
/// have it.
pub fn restore_own<F: Folder>(folder: &F) -> Result<Option<Restored>, StorageError> {
    let lost = match restore(folder) {
        Err(error) if error.is_unreadable() => error,
        restored => return restored,
    };
    match Manifest::read(folder)? {
        Some(manifest) if manifest.voters.len() + manifest.learners.len() > 1 => {
            let engine = decode_metadata(folder, &manifest)?.restore(0).give_up();
            Ok(Some(restored(manifest, engine, Records::default(), Some(lost))))
        }
        _ => Err(lost),
    }
}

/// Removes the files that the newest checkpoint does not list. Call it when the log was found to continue that checkpoint:
/// until it is known that a manifest is the newest one, the unlisted files may be the only data.
pub fn sweep<F: Folder>(folder: &F) -> Result<(), StorageError> {
    chunks::remove_unlisted(folder, Manifest::read(folder)?.as_ref()).map(drop)
}

/// Reads the checkpoint that a manifest stands for. Changes nothing.
pub fn read<F: Folder>(folder: &F, mut manifest: Manifest) -> Result<Restored, StorageError> {
    let bad = |source| {
        let (path, damage) = (folder.path().to_owned(), Damage::State(source));
        StorageError::Damaged { path, damage }
    };
    let metadata = decode_metadata(folder, &manifest)?;
    // Memory is reserved by the lengths of the files, not by the manifest. They are too many to be held open.
    let resident = manifest
        .pages
        .iter()
        .try_fold(0, |sum, summary| Pages::open(folder, summary).map(|pages| sum + pages.entries()))?;
    let spilled: u64 = manifest.chunks.iter().map(|chunk| u64::from(chunk.spilled.count())).sum();
    let mut restoring = metadata.restore(usize::try_from(spilled + resident).unwrap_or(usize::MAX));
    let mut records = Records::default();
    for listed in std::mem::take(&mut manifest.chunks) {
        let taken = restore_chunk(folder, listed, &mut restoring, &mut records);
        taken.map_err(|error| error.with_topics(&manifest.metadata))?.map_err(bad)?;
    }
    for summary in &manifest.pages {
        let pages = Pages::open(folder, summary)?;
        let mut nth = 0;
        pages.for_each(|entry| {
            nth += 1;
            let (place, saved) = entry.split_first_chunk().ok_or_else(|| pages.bad_entry(nth))?;
            let (saved, _) = SavedJob::decode(saved).map_err(|_| pages.bad_entry(nth))?;
            restoring.resident(saved, Place(u64::from_le_bytes(*place))).map_err(bad)
        })?;
    }
    let engine = restoring.finish().map_err(bad)?;
    Ok(restored(manifest, engine, records, None))
}

pub(super) fn decode_metadata<F: Folder>(
    folder: &F,
    manifest: &Manifest,
) -> Result<StateMetadata, StorageError> {
    let bad = |source| {
        let (path, damage) = (folder.path().to_owned(), Damage::State(source));
        StorageError::Damaged { path, damage }
    };
    StateMetadata::decode(&manifest.metadata).map_err(bad)
}

fn restored(manifest: Manifest, engine: Engine, records: Records, lost: Option<StorageError>) -> Restored {
    let base = LogBase { index: manifest.index, term: manifest.term, crc: manifest.log_crc };
    let number = u32::try_from(manifest.checkpoint).unwrap_or(u32::MAX);
    let Manifest { voters, learners, next_chunk, .. } = manifest;
    Restored { number, base, voters, learners, next_chunk, engine, records, lost }
}

/// Restores a chunk and the spilled jobs in it. The inner error says which job does not fit.
fn restore_chunk<F: Folder>(
    folder: &F,
    listed: ManifestChunk,
    restoring: &mut Restoring,
    records: &mut Records,
) -> Result<Result<(), RestoreError>, StorageError> {
    let ManifestChunk { summary, live, spilled } = listed;
    let chunk = Chunk::open(folder, &summary)?;
    let mut taken = Ok(());
    chunk.for_each_index(|row, head| {
        if spilled.get(row) && taken.is_ok() {
            taken = restoring.spilled(JobId(head.id), head.key_hash, row_place(summary.number, row));
        }
    })?;
    let (chunk, live, spilled) = (Arc::new(chunk), Arc::new(live), Arc::new(spilled));
    records.restore_chunk(ChunkState { chunk, live, spilled })?;
    Ok(taken)
}

mod jobs;
mod resident;
mod row;
#[cfg(test)]
mod tests;
