//! A full check of a checkpoint: each file, each row, each job, and whether together they form the state that the
//! manifest describes.
//!
//! It changes nothing and trusts nothing: a decoded job is compared with its index, its checksum and every reference
//! to it, and the counts and the hash of the state are recomputed from scratch. It needs 16 bytes of memory per row,
//! plus as much as a start.

use std::collections::BTreeMap;

use super::bodies;
use super::checkpoint;
use super::chunks::{BlockCache, Chunk, Manifest, ManifestChunk, Pages, PagesSummary, RowHead};
use super::folder::Folder;
use super::records::row;
use super::{Damage, StorageError, StorageErrorKind};
use adjourn_engine::{Place, RestoreError, SavedJob};

/// How thorough a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What a start reads.
    Start,
    /// Every checksum and every hash of the files, without decoding them. Takes next to no memory.
    Files,
    /// Every job and every reference as well, and the counts and the hash of the state.
    Whole,
}

/// Everything that is wrong with the checkpoint of a manifest. `progress` is told how many bytes of chunks are done.
///
/// # Errors
///
/// Only for causes other than damage: the system refuses to read, or a file comes from a later version.
pub fn audit<F: Folder>(
    folder: &F,
    manifest: &Manifest,
    depth: Depth,
    mut progress: impl FnMut(u64),
) -> Result<Vec<StorageError>, StorageError> {
    let mut found = Vec::new();
    let mut known = BTreeMap::new();
    let mut done = 0;
    for listed in &manifest.chunks {
        known.insert(listed.summary.number, None);
        let checked = check_chunk(folder, listed, depth, &mut known, |bytes| progress(done + bytes));
        found.extend(damage(checked.map_err(|error| error.with_topics(&manifest.metadata)))?);
        done += listed.summary.bytes;
        progress(done);
    }
    for summary in &manifest.pages {
        found.extend(damage(check_pages(folder, summary, depth, &known))?);
    }
    drop(known);
    if found.is_empty() && depth != Depth::Files {
        found.extend(damage(check_state(folder, manifest, depth))?);
    }
    Ok(found)
}

/// Separates damage, which is reported, from errors that end the check.
pub(super) fn damage(outcome: Result<(), StorageError>) -> Result<Option<StorageError>, StorageError> {
    match outcome {
        Ok(()) => Ok(None),
        Err(error) if error.kind() == StorageErrorKind::Damaged => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

/// A chunk that was checked.
struct Known<'a> {
    listed: &'a ManifestChunk,
    /// Id and checksum of the job in each row.
    rows: Vec<(u64, u32)>,
}

fn check_chunk<'a, F: Folder>(
    folder: &F,
    listed: &'a ManifestChunk,
    depth: Depth,
    known: &mut BTreeMap<u32, Option<Known<'a>>>,
    progress: impl FnMut(u64),
) -> Result<(), StorageError> {
    let chunk = Chunk::open(folder, &listed.summary)?;
    if depth == Depth::Start {
        return chunk.for_each_index(|_, _| {});
    }
    chunk.verify(progress)?;
    if depth == Depth::Files {
        return Ok(());
    }
    let mut rows = Vec::with_capacity(chunk.rows() as usize);
    let mut cache = BlockCache::new(1);
    chunk.for_each_row(|row, head| {
        let bytes = chunk.read_row(row, &mut cache)?;
        let checksum = check_row(&bytes, head, listed.spilled.get(row)).ok_or_else(|| chunk.bad_row(row))?;
        rows.push((head.id, checksum));
        Ok(())
    })?;
    known.insert(listed.summary.number, Some(Known { listed, rows }));
    Ok(())
}

/// The checksum of the job in a row; `None` if it is not the job that the index names, or was changed.
pub(super) fn check_row(bytes: &[u8], head: &RowHead, is_spilled: bool) -> Option<u32> {
    let (saved, record) = SavedJob::decode(bytes).ok()?;
    let record = bodies::split(record)?;
    let checksum = bodies::checksum(record);
    let same = (saved.id().0, saved.topic().0, saved.key_hash()) == (head.id, head.topic, head.key_hash);
    let whole = checksum == saved.checksum() && record.body.len() == saved.body_bytes() as usize;
    let on_time = !is_spilled
        || saved.delayed_until().is_some_and(|at| (at.timeline.number(), at.at) == (head.timeline, head.at));
    (same && whole && on_time).then_some(checksum)
}

fn check_pages<F: Folder>(
    folder: &F,
    summary: &PagesSummary,
    depth: Depth,
    known: &BTreeMap<u32, Option<Known<'_>>>,
) -> Result<(), StorageError> {
    let pages = Pages::open(folder, summary)?;
    let mut nth = 0;
    pages.for_each(|entry| {
        nth += 1;
        let fits = || {
            let (place, saved) = entry.split_first_chunk()?;
            let (saved, _) = SavedJob::decode(saved).ok()?;
            let (chunk, row) = row(Place(u64::from_le_bytes(*place)))?;
            // The chunk is damaged, which is reported already: its rows are not known.
            let Some(Known { listed, rows }) = known.get(&chunk)? else { return Some(()) };
            let job = rows.get(row as usize)?;
            let is_record = listed.live.get(row) && !listed.spilled.get(row);
            (is_record && *job == (saved.id().0, saved.checksum())).then_some(())
        };
        if depth != Depth::Whole || fits().is_some() { Ok(()) } else { Err(pages.bad_entry(nth)) }
    })
}

fn check_state<F: Folder>(folder: &F, manifest: &Manifest, depth: Depth) -> Result<(), StorageError> {
    let (state_hash, path) = (manifest.state_hash, folder.path().to_owned());
    let mut restored = checkpoint::read(folder, manifest.clone())?;
    let recounted =
        if depth == Depth::Whole { restored.engine.recount(&mut restored.records)? } else { Ok(()) };
    let same = if restored.engine.state_hash() == state_hash { Ok(()) } else { Err(RestoreError::Hash) };
    recounted.and(same).map_err(|source| StorageError::Damaged { path, damage: Damage::State(source) })
}
