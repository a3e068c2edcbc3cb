//! The rules of a node's durable state, on any log backend: the order of writes, and what a start refuses.
//!
//! [`LogBackend`], the log backend, is a log and two small files. It has two implementations, like
//! [`Storage`](super::Storage): sled and files, and the simulated disk. The rules are here once, so that the
//! simulation tests the code that the real disk uses.
//!
//! - A **vote** is durable before the entries that came with it.
//! - The **watermark** follows the log: it is written after the log's sync, lazily, and at once with the very first
//!   entry. Truncating a suffix lowers it first. So it never claims more than there is.
//! - A log begins after its **base**, the entry of a checkpoint. Truncating a prefix lowers nothing: for entries up
//!   to the base the checkpoint is authoritative, and the watermark is not compared with the log any more.
//! - If the **checkpoint is ahead of the log**, the log is dropped, unless the watermark shows that it once reached
//!   beyond the checkpoint.
//! - A checkpoint of another member is **installed** ahead of the log: first the entries from its entry on are
//!   truncated; they conflict with it and were never committed. The entries before stay until the checkpoint is in
//!   place: others may rely on this node having them. So a crash leaves the old checkpoint with a log as long as any
//!   member relies on, or the new one, ahead of the log.
//! - A log that keeps too much space is [compacted](super::compaction); until the swap the old one is the log. Any
//!   operation on it except append and truncating its beginning aborts the compaction.
//! - **The first failure is the last call that does anything**: it is unknown what the system dropped with a failed
//!   sync.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::chunks::Manifest;
use super::compaction::{CompactionBackend, Compactor, Shrunk, Weights};
use super::folder::Folder;
use super::slot_file::Values;
use super::{Damage, LogBase, LogEntry, PersistBatch, Recovered, StorageError, Vote};

/// The small files beside the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SmallFile {
    /// Term and vote.
    Vote,
    /// Last durable index, commit index.
    Watermark,
}

/// Called for each entry of a scan; it may end the scan.
pub(super) type Visit<'a> = dyn FnMut(LogEntry) -> Result<ControlFlow<()>, StorageError> + 'a;

/// A log and two small files, each durable when a call that writes it returns.
pub(super) trait LogBackend: CompactionBackend {
    /// The base of the log: the one it was opened with, or the newest one at which it was cut if that is later.
    fn base(&self) -> LogBase;
    /// Where the log ends: at its base or after it.
    fn end(&self) -> LogBase;
    /// Index of the last entry that was there when the log was opened; below the base if the checkpoint was ahead.
    fn last_found(&self) -> u64;
    /// Where the log would end if everything from `index` on were gone.
    fn end_before(&mut self, index: u64) -> Result<LogBase, StorageError>;
    /// Adds entries, which follow each other; those that stand from the first one's index on are removed.
    fn append(&mut self, entries: &[LogEntry]) -> Result<(), StorageError>;
    /// Removes one round of values from the beginning, up to `through`. Returns whether all are gone.
    fn cut(&mut self, through: u64) -> Result<bool, StorageError>;
    /// Hands the entries from `first` on to `visit`, verifying each.
    fn scan(&mut self, first: u64, visit: &mut Visit<'_>) -> Result<(), StorageError>;
    /// Gives back the memory that scans took.
    fn forget_read(&mut self) -> Result<(), StorageError>;
    /// The entry that the incoming checkpoint stands for; `None` if there is no such checkpoint.
    fn incoming(&self) -> Result<Option<LogBase>, StorageError>;
    /// Removes the entries from `index` on, which is after the base.
    fn remove_end(&mut self, index: u64) -> Result<(), StorageError>;
    /// Puts the incoming checkpoint in the place of the one that is there. It stands for `base`, after which the log
    /// begins, and ends, from here on; it ended before.
    fn install(&mut self, base: LogBase) -> Result<(), StorageError>;
    /// What a small file holds.
    fn values(&self, file: SmallFile) -> Values;
    /// Replaces what a small file holds.
    fn write(&mut self, file: SmallFile, values: Values) -> Result<(), StorageError>;
    /// Something has failed: nothing more is written, not even when this is closed.
    fn abandon(&mut self);
}

/// The durable state on some backend.
pub(super) struct Durable<M> {
    backend: M,
    /// The data directory, for messages.
    path: PathBuf,
    /// What the watermark should say.
    watermark: Watermark,
    weights: Weights,
    compactor: Compactor,
    failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watermark {
    last: u64,
    commit: u64,
    /// Checksum of the last entry's last value. Entries that were replaced form a chain of their own, which sled
    /// may bring back when newer bytes in its file are damaged: they end with another.
    crc: u32,
}

impl Watermark {
    /// That of a log which ends there.
    fn new(end: LogBase, commit: u64) -> Self {
        Self { last: end.index, commit: commit.min(end.index), crc: end.crc }
    }

    /// As the file holds it.
    fn values(self) -> Values {
        [self.last, self.commit, u64::from(self.crc)]
    }
}

/// Refuses a log whose last entry is `last`, or its base if that is later, when the watermark says that there was
/// more, or another entry. `end_before` is the log's.
pub(super) fn check_watermark(
    path: &Path,
    [durable, _, crc]: Values,
    base: u64,
    last: u64,
    end_before: impl FnOnce(u64) -> Result<LogBase, StorageError>,
) -> Result<(), StorageError> {
    let path = path.to_owned();
    if durable > last.max(base) {
        return Err(StorageError::ShortLog { path, last, durable });
    }
    if durable >= base.max(1) && u64::from(end_before(durable + 1)?.crc) != crc {
        return Err(StorageError::Damaged { path, damage: Damage::Replaced { index: durable } });
    }
    Ok(())
}

/// The entry that the checkpoint in a folder stands for; `None` if there is no checkpoint.
pub(super) fn base_in(folder: &impl Folder) -> Result<Option<LogBase>, StorageError> {
    Ok(Manifest::read(folder)?.map(|Manifest { index, term, log_crc: crc, .. }| LogBase { index, term, crc }))
}

impl<M: LogBackend> Durable<M> {
    /// Accepts the found log, unless it ends before its watermark, or differs there. A log that the
    /// checkpoint is ahead of is emptied.
    pub(super) fn new(mut backend: M, path: PathBuf) -> Result<Self, StorageError> {
        let watermark = backend.values(SmallFile::Watermark);
        let (base, last) = (backend.base(), backend.last_found());
        check_watermark(&path, watermark, base.index, last, |index| backend.end_before(index))?;
        let [_, commit, _] = watermark;
        if last < base.index {
            while !backend.cut(base.index)? {}
        }
        let watermark = Watermark::new(backend.end(), commit.max(base.index));
        let (weights, compactor) = (Weights::unknown(backend.end().index), Compactor::new(&path));
        Ok(Self { backend, path, watermark, weights, compactor, failed: false })
    }

    /// The data found at the start: where the log begins and ends, term and vote.
    pub(super) fn recovered(&self) -> Recovered {
        let end = self.backend.end();
        let [term, vote, _] = self.backend.values(SmallFile::Vote);
        Recovered {
            vote: Vote { term, vote },
            commit: self.watermark.commit,
            first_index: self.backend.base().index + 1,
            last_index: end.index,
            last_term: end.term,
        }
    }

    pub(super) fn backend(&self) -> &M {
        &self.backend
    }

    pub(super) fn media_mut(&mut self) -> &mut M {
        &mut self.backend
    }

    /// From now on a log whose file is not larger than this stays where it is.
    pub(super) fn set_move_bytes_min(&mut self, bytes: u64) {
        self.compactor.set_file_bytes_min(bytes);
    }

    pub(super) fn into_media(self) -> M {
        self.backend
    }

    /// See [`Storage::persist`](super::Storage::persist).
    pub(super) fn persist(&mut self, batch: &PersistBatch) -> Result<(), StorageError> {
        self.carefully(|durable| {
            if let Some(Vote { term, vote }) = batch.vote {
                // Into both slots: one that goes bad later must not bring an older vote back.
                durable.backend.write(SmallFile::Vote, [term, vote, 0])?;
                durable.backend.write(SmallFile::Vote, [term, vote, 0])?;
            }
            if let Some(index) = batch.install {
                durable.install(index)?;
            }
            durable.append(&batch.entries, batch.commit)
        })
    }

    /// See [`Storage::write_watermark`](super::Storage::write_watermark).
    pub(super) fn write_watermark(&mut self) -> Result<(), StorageError> {
        self.carefully(Self::flush_watermark)
    }

    /// See [`Storage::base_at`](super::Storage::base_at).
    pub(super) fn base_at(&mut self, index: u64) -> Result<LogBase, StorageError> {
        self.carefully(|durable| durable.backend.end_before(index + 1))
    }

    /// See [`Storage::cut`](super::Storage::cut).
    pub(super) fn cut(&mut self, through: u64) -> Result<bool, StorageError> {
        debug_assert!(through <= self.backend.end().index, "entry {through} is not there to be cut");
        self.carefully(|durable| {
            let done = durable.backend.cut(through)?;
            durable.compactor.cut(durable.backend.base());
            Ok(done)
        })
    }

    /// See [`Storage::shrink`](super::Storage::shrink).
    pub(super) fn shrink(&mut self, spare_bytes: u64) -> Result<Shrunk, StorageError> {
        self.carefully(|durable| {
            let live_bytes = durable.weights.behind(durable.backend.base().index);
            durable.compactor.step(&mut durable.backend, live_bytes, spare_bytes)
        })
    }

    /// See [`Storage::replay`](super::Storage::replay).
    pub(super) fn replay(
        &mut self,
        first: u64,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.carefully(|durable| {
            let Self { backend, weights, .. } = durable;
            let is_news = !weights.knows(first);
            if is_news {
                *weights = Weights::unknown(first - 1);
            }
            backend.scan(first, &mut |entry| {
                if is_news {
                    weights.add(&entry);
                }
                visit(entry).map(ControlFlow::Continue)
            })?;
            // At a start, memory is more welcome than some milliseconds.
            backend.forget_read()
        })
    }

    /// See [`Storage::read`](super::Storage::read).
    pub(super) fn read(
        &mut self,
        first: u64,
        last: u64,
        bytes_max: u64,
    ) -> Result<Vec<LogEntry>, StorageError> {
        let mut entries = Vec::new();
        let is_there = first > self.backend.base().index && first <= last;
        if !is_there {
            return Ok(entries);
        }
        let mut bytes = 0;
        self.carefully(|durable| {
            durable.backend.scan(first, &mut |entry| {
                bytes += entry.data.len() as u64;
                if !entries.is_empty() && bytes > bytes_max {
                    return Ok(ControlFlow::Break(()));
                }
                let is_last = entry.index >= last || bytes >= bytes_max;
                entries.push(entry);
                Ok(if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })
        })?;
        Ok(entries)
    }

    fn install(&mut self, index: u64) -> Result<(), StorageError> {
        let found = self.backend.incoming()?;
        let Some(base) = found.filter(|base| base.index == index) else {
            let damage = Damage::Incoming { wanted: index, found: found.map(|base| base.index) };
            return Err(StorageError::Damaged { path: self.path.clone(), damage });
        };
        debug_assert!(index > self.backend.base().index, "checkpoint {index} is not newer");
        if self.backend.end().index >= index {
            let [durable, ..] = self.backend.values(SmallFile::Watermark);
            if durable >= index {
                self.watermark = Watermark::new(self.backend.end_before(index)?, self.watermark.commit);
                self.flush_watermark()?;
            }
            self.backend.remove_end(index)?;
        }
        self.compactor.give_up();
        self.backend.install(base)?;
        self.weights = Weights::unknown(index);
        self.watermark = Watermark::new(base, index);
        self.flush_watermark()
    }

    fn append(&mut self, entries: &[LogEntry], commit: u64) -> Result<(), StorageError> {
        let Some(first) = entries.first() else {
            self.watermark.commit = commit.min(self.watermark.last).max(self.watermark.commit);
            return Ok(());
        };
        let before = first.index.saturating_sub(1);
        debug_assert!(before >= self.backend.base().index, "entry {} is below the base", first.index);
        let [durable, ..] = self.backend.values(SmallFile::Watermark);
        if durable > before {
            self.watermark = Watermark::new(self.backend.end_before(first.index)?, self.watermark.commit);
            self.flush_watermark()?;
        }
        if first.index <= self.backend.end().index {
            self.compactor.give_up();
            self.weights.remove_end(first.index);
        }
        self.backend.append(entries)?;
        for entry in entries {
            self.compactor.added(self.weights.add(entry));
        }
        self.watermark = Watermark::new(self.backend.end(), commit);
        if durable == 0 { self.flush_watermark() } else { Ok(()) }
    }

    fn flush_watermark(&mut self) -> Result<(), StorageError> {
        let values = self.watermark.values();
        if self.backend.values(SmallFile::Watermark) == values {
            return Ok(());
        }
        self.backend.write(SmallFile::Watermark, values)
    }

    /// Carries something out unless something failed before.
    fn carefully<T>(
        &mut self,
        action: impl FnOnce(&mut Self) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        if self.failed {
            return Err(StorageError::FailedBefore { path: self.path.clone() });
        }
        action(self).inspect_err(|_| {
            self.failed = true;
            self.backend.abandon();
        })
    }
}
