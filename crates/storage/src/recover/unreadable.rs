//! Jobs of a checkpoint that cannot be read, and a checkpoint without their data.
//!
//! A row of a chunk is all there is of a spilled job, or the record of a resident one. If it cannot be read, the
//! index of the chunk still has the job's id. The job must not simply be left out: the entries after the checkpoint
//! were applied to a state that had it, and without it they would assign other ids, so that acknowledged changes
//! would hit the wrong jobs. So a **placeholder** with its id, topic, key and time, and without a body, replaces it,
//! and the end of the log deletes it.
//!
//! Chunks, page files and manifest never change: those with such a job are written again, under the numbers of the
//! next checkpoint, and describe the state after the same entry.

use std::collections::{BTreeMap, BTreeSet};

use super::super::StorageError;
use super::super::audit::check_row;
use super::super::bodies;
use super::super::checkpoint;
use super::super::chunks::{
    BlockCache, Chunk, ChunkWriter, Manifest, ManifestChunk, PageWriter, Pages, PagesId, PagesSummary,
    RowHead, chunk_name, pages_name,
};
use super::super::folder::{DiskFolder, Folder};
use super::super::records::{row, row_place};
use adjourn_engine::{Moment, Place, Record, SavedJob, StateMetadata, Timeline};
use adjourn_types::{JobId, Millis, TopicId, TopicName};

/// A job with an unreadable part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableJob {
    /// Its id.
    pub id: JobId,
    /// Its topic; `None` if the state knows none of that number.
    pub topic: Option<TopicName>,
    /// True if it has a key, which cannot be read.
    pub keyed: bool,
    /// When it was due, by the wall clock as of when it was written.
    pub due: Millis,
}

/// The unreadable parts of a checkpoint.
#[derive(Debug, Default)]
pub(crate) struct Unreadable {
    /// Rows by chunk; also those that are no longer needed.
    rows: BTreeMap<u32, BTreeSet<u32>>,
    /// The jobs that need these rows.
    jobs: Vec<UnreadableJob>,
}

impl Unreadable {
    /// Reads every row of every chunk.
    ///
    /// # Errors
    ///
    /// If the job of a row cannot be identified: the index of a chunk, a page file or the metadata of the state is damaged.
    /// Then only a backup helps.
    pub(crate) fn find<F: Folder>(folder: &F, manifest: &Manifest) -> Result<Self, StorageError> {
        let metadata = checkpoint::decode_metadata(folder, manifest)?;
        let mut found = Self::default();
        for listed in &manifest.chunks {
            let chunk = Chunk::open(folder, &listed.summary)?;
            let mut cache = BlockCache::new(1);
            let mut unreadable = Vec::new();
            chunk.for_each_row(|number, head| {
                if read(&chunk, number, head, listed.spilled.get(number), &mut cache)?.is_none() {
                    unreadable.push((number, *head));
                }
                Ok(())
            })?;
            for (number, head) in unreadable {
                found.rows.entry(listed.summary.number).or_default().insert(number);
                if listed.live.get(number) {
                    found.jobs.push(job(&metadata, &head));
                }
            }
        }
        for summary in &manifest.pages {
            entries(folder, summary)?;
        }
        Ok(found)
    }

    /// The affected jobs, by chunk and time.
    pub(crate) fn jobs(&self) -> &[UnreadableJob] {
        &self.jobs
    }

    /// The affected jobs, by chunk and time.
    pub(crate) fn into_jobs(self) -> Vec<UnreadableJob> {
        self.jobs
    }

    /// Writes the checkpoint `manifest` of `from` again to `to`, with placeholders. Durable when it returns.
    pub(super) fn replace(
        &self,
        from: &DiskFolder,
        to: &DiskFolder,
        manifest: &Manifest,
    ) -> Result<(), StorageError> {
        let mut next = manifest.clone();
        next.checkpoint += 1;
        let mut moved = BTreeMap::new();
        for (chunk, rows) in &self.rows {
            let number = next.next_chunk;
            next.next_chunk += 1;
            moved.insert(*chunk, number);
            for listed in &manifest.chunks {
                if listed.summary.number == *chunk {
                    next.chunks.push(replace_chunk([from, to], listed, rows, number)?);
                }
            }
        }
        next.chunks.retain(|listed| !moved.contains_key(&listed.summary.number));
        for listed in next.chunks.iter().filter(|listed| listed.summary.number < manifest.next_chunk) {
            to.link(from, &chunk_name(listed.summary.number))?;
        }
        for summary in &mut next.pages {
            match self.replace_pages([from, to], summary, next.checkpoint, &moved)? {
                Some(replaced) => *summary = replaced,
                None => to.link(from, &pages_name(summary.id))?,
            }
        }
        next.pages.sort_unstable_by_key(|pages| pages.id);
        to.sync()?;
        let mut restored = checkpoint::read(to, next.clone())?;
        restored.engine.sum_anew(&mut restored.records)?;
        next.metadata = restored.engine.metadata().encode();
        next.state_hash = restored.engine.state_hash();
        next.write(to)
    }

    /// Writes a page file again, if its jobs have rows in chunks that moved.
    fn replace_pages(
        &self,
        [from, to]: [&DiskFolder; 2],
        summary: &PagesSummary,
        checkpoint: u64,
        moved: &BTreeMap<u32, u32>,
    ) -> Result<Option<PagesSummary>, StorageError> {
        let mut entries = entries(from, summary)?;
        let mut any = false;
        for (place, saved) in &mut entries {
            let Some((chunk, number)) = row(*place) else { continue };
            let Some(to) = moved.get(&chunk) else { continue };
            any = true;
            *place = row_place(*to, number);
            if self.rows.get(&chunk).is_some_and(|rows| rows.contains(&number)) {
                saved.lose_record(bodies::checksum(NO_RECORD));
            }
        }
        if !any {
            return Ok(None);
        }
        let checkpoint = u32::try_from(checkpoint).unwrap_or(u32::MAX);
        let mut writer = PageWriter::create(to, PagesId { checkpoint, page: summary.id.page })?;
        for (place, saved) in &entries {
            let mut bytes = place.0.to_le_bytes().to_vec();
            saved.encode(&mut bytes);
            writer.push(&bytes)?;
        }
        writer.finish().map(Some)
    }
}

/// The known facts about a job with an unreadable row.
fn job(metadata: &StateMetadata, head: &RowHead) -> UnreadableJob {
    let name = |topic: TopicId| metadata.topics().find(|known| known.id == topic).map(|known| known.name);
    let due = match timeline(head) {
        Timeline::Wall => Millis(head.at),
        Timeline::Stamp => Millis(head.at.saturating_add_signed(metadata.clock_offset_ms())),
    };
    UnreadableJob {
        id: JobId(head.id),
        topic: name(TopicId(head.topic)),
        keyed: head.key_hash.is_some(),
        due,
    }
}

fn timeline(head: &RowHead) -> Timeline {
    if head.timeline == Timeline::Wall.number() { Timeline::Wall } else { Timeline::Stamp }
}

/// The record of a placeholder.
const NO_RECORD: Record<'_> = Record { key: None, attributes: &[], body: &[] };

/// The row of a placeholder.
fn stand_in(head: &RowHead) -> Vec<u8> {
    let due = Moment { timeline: timeline(head), at: head.at };
    let (id, topic) = (JobId(head.id), TopicId(head.topic));
    let mut bytes = Vec::new();
    SavedJob::stand_in(id, topic, head.key_hash, due, bodies::checksum(NO_RECORD)).encode(&mut bytes);
    bytes.extend_from_slice(&bodies::join(NO_RECORD));
    bytes
}

fn replace_chunk(
    [from, to]: [&DiskFolder; 2],
    listed: &ManifestChunk,
    unreadable: &BTreeSet<u32>,
    number: u32,
) -> Result<ManifestChunk, StorageError> {
    let chunk = Chunk::open(from, &listed.summary)?;
    let mut writer = ChunkWriter::create(to, number)?;
    let mut cache = BlockCache::new(1);
    chunk.for_each_row(|row, head| {
        let bytes = if unreadable.contains(&row) {
            stand_in(head).into()
        } else {
            chunk.read_row(row, &mut cache)?
        };
        writer.push(*head, &bytes).map(drop)
    })?;
    Ok(ManifestChunk {
        summary: writer.finish()?,
        live: listed.live.clone(),
        spilled: listed.spilled.clone(),
    })
}

/// The content of a row; `None` if it cannot be read, or is not the job that the index names.
fn read(
    chunk: &Chunk,
    row: u32,
    head: &RowHead,
    is_spilled: bool,
    cache: &mut BlockCache,
) -> Result<Option<()>, StorageError> {
    match chunk.read_row(row, cache) {
        Ok(bytes) => Ok(check_row(&bytes, head, is_spilled).map(drop)),
        Err(error) if error.is_unreadable() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The entries of a page file.
fn entries<F: Folder>(folder: &F, summary: &PagesSummary) -> Result<Vec<(Place, SavedJob)>, StorageError> {
    let pages = Pages::open(folder, summary)?;
    let mut entries = Vec::new();
    pages.for_each(|entry| {
        let bad = || pages.bad_entry(entries.len() as u64 + 1);
        let (place, saved) = entry.split_first_chunk().ok_or_else(bad)?;
        let (saved, _) = SavedJob::decode(saved).map_err(|_| bad())?;
        entries.push((Place(u64::from_le_bytes(*place)), saved));
        Ok(())
    })?;
    Ok(entries)
}
