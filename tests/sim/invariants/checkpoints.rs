//! A checkpoint is all of the state, and no more: whatever it lists is there and whole, every job has one row, nothing
//! else lies beside it, and data reported durable is found by the next start.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use adjourn_storage::audit::audit;
use adjourn_storage::checkpoint::rewritten_rows_max;
use adjourn_storage::chunks::{MANIFEST, Manifest, chunk_name, pages_name};
use adjourn_storage::folder::Folder as _;
use adjourn_storage::{CheckpointBegin, ChunkState, Depth, Restored, StorageError};

use super::super::chunks::Chunks;
use super::super::seen::{NodeId, Seen, When};
use super::Invariant;

#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    /// Of each node, the index of the last one that was reported durable.
    durable: BTreeMap<NodeId, u64>,
    /// How many steps its folder had taken by then, since its start.
    steps: BTreeMap<NodeId, u64>,
    /// Checkpoints of each node since every client is gone, and the chunks that the last one has.
    in_silence: Option<BTreeMap<NodeId, (u64, usize)>>,
}

/// In a silence a node may take one checkpoint for earlier changes, at once or when the last one is long ago, and one to remove
/// rows. What one may write again is bounded, so there may be more while each leaves fewer chunks.
const IN_SILENCE_MAX: u64 = 2;

impl Checkpoints {
    fn started(
        &self,
        node: NodeId,
        restored: Option<&RefCell<Restored>>,
        chunks: &Chunks,
    ) -> Result<(), String> {
        let durable = self.durable.get(&node).copied().unwrap_or(0);
        let Some(restored) = restored else {
            return match durable {
                0 => is_swept(chunks, None, false),
                durable => Err(format!("the checkpoint at {durable} is gone")),
            };
        };
        let restored = &mut *restored.borrow_mut();
        let index = restored.base.index;
        if index < durable {
            return Err(format!("the checkpoint at {durable} is gone, that at {index} is back"));
        }
        if restored.lost.is_some() {
            // It cannot be read, and there is nothing to compare.
            return Ok(());
        }
        let Some(manifest) = unless_broken(Manifest::read(chunks))? else { return Ok(()) };
        let manifest = manifest.ok_or("a checkpoint was restored without a manifest")?;
        is_whole(chunks, &manifest)?;
        is_swept(chunks, Some(&manifest), false)?;
        let engine = &restored.engine;
        engine.verify(&mut restored.records);
        if (manifest.index, manifest.state_hash) != (index, engine.state_hash()) {
            return Err(format!("at {index} the state is not that of the manifest"));
        }
        let (live, spilled) = restored.records.chunks().fold((0, 0), |(live, spilled), state| {
            (live + u64::from(state.live.count()), spilled + u64::from(state.spilled.count()))
        });
        if (live, spilled) != (engine.jobs(), engine.spilled_jobs()) {
            let (jobs, spilled_jobs) = (engine.jobs(), engine.spilled_jobs());
            return Err(format!("{jobs} jobs, {spilled_jobs} spilled, have {live} rows, {spilled} spilled"));
        }
        Ok(())
    }

    fn checkpointed(
        &mut self,
        node: NodeId,
        index: u64,
        listed: &[u32],
        chunks: &Chunks,
    ) -> Result<(), String> {
        let before = self.durable.insert(node, index).unwrap_or(0);
        if index < before {
            return Err(format!("the checkpoint at {index} follows that at {before}"));
        }
        let Some(manifest) = unless_broken(Manifest::read(chunks))? else { return Ok(()) };
        let manifest = manifest.ok_or("a checkpoint without a manifest")?;
        if manifest.index != index {
            return Err(format!("the checkpoint at {index} has the manifest of {}", manifest.index));
        }
        let numbers: Vec<u32> = manifest.chunks.iter().map(|chunk| chunk.summary.number).collect();
        if numbers != listed {
            return Err(format!("chunks {listed:?} are reported, {numbers:?} are listed"));
        }
        // Files that cannot be removed for want of space go after the next one.
        let steps_before = self.steps.insert(node, chunks.folder.steps()).unwrap_or(0);
        let was_full = chunks.folder.full_at().is_some_and(|at| at >= steps_before);
        is_swept(chunks, Some(&manifest), was_full)?;
        let rows: u64 = manifest.chunks.iter().map(|chunk| u64::from(chunk.live.count())).sum();
        if rows != manifest.jobs {
            return Err(format!("{} jobs have {rows} rows", manifest.jobs));
        }
        if let Some(in_silence) = &mut self.in_silence {
            let (count, chunks_before) = in_silence.entry(node).or_default();
            if listed.len() >= *chunks_before {
                *count += 1;
            }
            *chunks_before = listed.len();
            if *count > IN_SILENCE_MAX {
                return Err("one checkpoint follows the other although nobody does anything".to_owned());
            }
        }
        Ok(())
    }
}

/// Of what a checkpoint goes on with, most is needed, or as much is written again as may be.
fn takes_little(begin: &CheckpointBegin) -> Result<(), String> {
    let size = |state: &ChunkState| {
        let (rows, all) = (u64::from(state.live.count()), u64::from(state.chunk.rows()));
        (rows, state.chunk.summary().bytes * rows / all)
    };
    let is_rewritten = |state: &&ChunkState| begin.rewrite.contains(&state.chunk.summary().number);
    let rewritten = begin.chunks.iter().filter(is_rewritten).map(size);
    let (rows, bytes) = rewritten.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    for state in begin.chunks.iter().filter(|state| !is_rewritten(state)) {
        let (live, live_bytes) = size(state);
        let enough = rows + live > rewritten_rows_max(begin.chunk_bytes) as u64
            || bytes + live_bytes > 4 * begin.chunk_bytes as u64;
        if 2 * live < state.chunk.rows().into() && !enough {
            let number = state.chunk.summary().number;
            return Err(format!("{live} of {} rows of chunk {number} live", state.chunk.rows()));
        }
    }
    Ok(())
}

/// What the manifest lists is there, to the last byte, and makes the state that it says.
fn is_whole(chunks: &Chunks, manifest: &Manifest) -> Result<(), String> {
    let found = unless_broken(audit(chunks, manifest, Depth::Whole, |_| {}))?;
    found.into_iter().flatten().next().map_or(Ok(()), |damage| Err(damage.to_string()))
}

/// Nothing else is there; or at least all that is listed, if more may be left.
fn is_swept(chunks: &Chunks, manifest: Option<&Manifest>, may_be_left: bool) -> Result<(), String> {
    let Some(found) = unless_broken(chunks.list())? else { return Ok(()) };
    let found: BTreeSet<String> = found.into_iter().collect();
    let numbers = manifest.iter().flat_map(|manifest| &manifest.chunks).map(|chunk| chunk.summary.number);
    let pages = manifest.iter().flat_map(|manifest| &manifest.pages).map(|pages| pages_name(pages.id));
    let mut listed: BTreeSet<String> = numbers.map(chunk_name).chain(pages).collect();
    listed.extend(manifest.map(|_| MANIFEST.to_owned()));
    if found == listed || (may_be_left && found.is_superset(&listed)) {
        return Ok(());
    }
    Err(format!("{listed:?} are listed, {found:?} are there"))
}

/// `None` if the device has failed: then the check is impossible.
fn unless_broken<T>(read: Result<T, StorageError>) -> Result<Option<T>, String> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(StorageError::Io { .. }) => Ok(None),
        Err(damage) => Err(damage.to_string()),
    }
}

impl Invariant for Checkpoints {
    fn name(&self) -> &'static str {
        "checkpoints"
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Started { node, restored, chunks, .. } => {
                self.steps.remove(node);
                self.started(*node, *restored, chunks)
            }
            Seen::CheckpointBegins { begin, .. } => takes_little(begin),
            Seen::Checkpointed { node, checkpoint, chunks } => {
                self.checkpointed(*node, checkpoint.index, &checkpoint.numbers(), chunks)
            }
            Seen::Wiped { node } => {
                self.durable.remove(node);
                Ok(())
            }
            Seen::Deserted => {
                self.in_silence = Some(BTreeMap::new());
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
