//! Log compaction: the log is copied into a new, small database, and the old one is removed.
//!
//! sled reuses the space of removed values, and never shrinks its file. So a log that once was long, and was
//! truncated, keeps all its space. When it is large and little of it is needed, it is **compacted**, a step at a time
//! between commits. Each step writes one synced round of at most 1 MiB:
//!
//! 1. An empty log is created beside it, `log.move`, which begins after the same base.
//! 2. The values after the base are copied, in their order. Commits and truncation continue in the old log
//!    meanwhile: until the last step it is authoritative.
//! 3. The copy is closed, opened and read back: only then may the old log be removed.
//! 4. When the copy has caught up, the [swap]: `log` becomes `log.old`, then `log.move` becomes `log`. Each name is
//!    durable before the next step begins.
//! 5. `log.old` is removed a piece at a time, because removing gigabytes at once blocks a file system.
//!
//! The first rename decides, as with an [install](super::install). Before it, a start finds the old log, and ignores
//! `log.move`; from then on `log.old` exists, and a start [completes](complete) the remaining steps. The values are
//! the same to the byte, and so is the chain: watermark and checkpoint are not affected.
//!
//! # When it is aborted
//!
//! Any operation on the log except appending and truncating copied values aborts it: replaced entries, an installed
//! checkpoint, a truncation beyond the copy. So does lack of space, which may affect only the new log, and a copy
//! that does not read back unchanged. A failure in the authoritative log ends the process, as ever. The next
//! compaction starts from the beginning.
//!
//! # What it costs
//!
//! A log is compacted when less than a quarter of its file is needed, and again when as much as a quarter of the new
//! one was added to it. So it never copies more bytes than were written since.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::durable::LogBackend;
use super::install::Folders;
use super::log::ROUND_BYTES_MAX;
use super::value::{Assembler, HEADER_BYTES, Key, PAYLOAD_BYTES_MAX, VALUE_BYTES_MAX, Value, ValueError};
use super::{Damage, LogBase, LogEntry, StorageError, StorageErrorKind};
use crate::types::GroupId;

/// The folder of the authoritative log.
pub(super) const LOG: &str = "log";
/// The folder of the new log during a compaction.
pub(super) const LOG_MOVE: &str = "log.move";
/// The folder of the old log after the swap.
pub(super) const LOG_OLD: &str = "log.old";

/// A file that is not larger than this stays.
const FILE_BYTES_MIN: u64 = 128 << 20;
/// A log is compacted when the values after its base take less than this part of the file.
const LIVE_SHARE: u64 = 4;
/// Free space reserved for the authoritative log, in addition to the space that the caller wants kept.
const ROOM_BYTES: u64 = 16 << 20;
const GROUP: GroupId = GroupId(0);

/// The result of one step of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shrunk {
    /// There is nothing to do.
    Nothing,
    /// Another step follows.
    More,
    /// The copy does not read back as it was written, and was discarded. Another step follows.
    CopyCorrupt,
    /// The log was replaced by its copy. Another step follows.
    Compacted {
        /// Bytes of the old file.
        bytes_before: u64,
        /// Bytes of the new file.
        bytes_after: u64,
    },
}

/// One of the two logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The authoritative log.
    Log,
    /// Its copy.
    New,
}

/// The operations of a compaction on a log and its copy. It has two implementations, as [`LogBackend`] has.
pub(super) trait CompactionBackend {
    /// Bytes of the file of the authoritative log.
    fn file_bytes(&self) -> Result<u64, StorageError>;
    /// Free space on the device.
    fn free_bytes(&self) -> Result<u64, StorageError>;
    /// Values of a log in the order of their keys, from `from` on: the first one in any case, and no further one with
    /// which they would have more than `bytes_max` bytes. None at its end. Nothing is verified.
    fn values_from(
        &mut self,
        which: Which,
        from: Key,
        bytes_max: usize,
    ) -> Result<Vec<(Key, Bytes)>, StorageError>;
    /// Makes the new log, an empty one that begins after `base`.
    fn create_new(&mut self, base: LogBase) -> Result<(), StorageError>;
    /// Adds values to the new log, which are one round at most. Durable when it returns.
    fn put_new(&mut self, values: &[(Key, Bytes)]) -> Result<(), StorageError>;
    /// Drops the cached data of the new log: later reads come from the disk.
    fn reopen_new(&mut self) -> Result<(), StorageError>;
    /// The new log takes the place of the one that counts, with its base and its end. Durable when it returns.
    fn swap_logs(&mut self) -> Result<(), StorageError>;
    /// Removes a part of what there is beside the authoritative log. Returns whether all of it is gone.
    fn remove_rest(&mut self) -> Result<bool, StorageError>;
}

/// Puts the new log in the place of the old one. All of it is durable. Durable when this returns.
pub(super) fn swap(folders: &impl Folders) -> Result<(), StorageError> {
    folders.rename(LOG, LOG_OLD)?;
    folders.sync()?;
    folders.rename(LOG_MOVE, LOG)?;
    folders.sync()
}

/// Completes a swap that was cut short. For a start, before anything opens the log.
pub(super) fn complete(folders: &impl Folders) -> Result<(), StorageError> {
    if !is_cut_short(folders)? {
        return Ok(());
    }
    // An earlier process may have died before its first step was durable.
    folders.sync()?;
    folders.rename(LOG_MOVE, LOG)?;
    folders.sync()
}

/// Whether `log.move` is what counts, because it was not renamed yet.
pub(super) fn is_cut_short(folders: &impl Folders) -> Result<bool, StorageError> {
    Ok(!folders.has(LOG)? && folders.has(LOG_OLD)? && folders.has(LOG_MOVE)?)
}

/// Moves a log.
pub(super) struct Compactor {
    /// The data directory, for messages.
    path: PathBuf,
    file_bytes_min: u64,
    /// Bytes added to the log since its last compaction.
    added_bytes: u64,
    /// Bytes of the file after its last compaction.
    moved_bytes: u64,
    stage: Stage,
}

enum Stage {
    /// There is one log.
    Rest,
    Copying(Copying),
    /// There is something beside the authoritative log.
    Removing,
}

/// How far a copy is.
struct Copying {
    /// Expects the value that is copied next.
    copied: Assembler,
    /// Expects the value that is read back next; `None` until all was copied for the first time.
    checked: Option<Assembler>,
    base: LogBase,
    bytes: u64,
    bytes_before: u64,
}

impl Compactor {
    /// For the data directory `path`, in which there is one log.
    pub(super) fn new(path: &Path) -> Self {
        let (added_bytes, moved_bytes) = (0, 0);
        Self {
            path: path.to_owned(),
            file_bytes_min: FILE_BYTES_MIN,
            added_bytes,
            moved_bytes,
            stage: Stage::Rest,
        }
    }

    /// From now on a file that is not larger than this stays.
    pub(super) fn set_file_bytes_min(&mut self, bytes: u64) {
        self.file_bytes_min = bytes;
    }

    /// Takes one step, if there is one to take. `live_bytes` is what the values behind the base take, if that is known;
    /// `spare_bytes` of the device are left alone.
    pub(super) fn step(
        &mut self,
        backend: &mut impl LogBackend,
        live_bytes: Option<u64>,
        spare_bytes: u64,
    ) -> Result<Shrunk, StorageError> {
        match &mut self.stage {
            Stage::Rest => {
                let Some(bytes_before) = self.is_due(backend, live_bytes, spare_bytes)? else {
                    return Ok(Shrunk::Nothing);
                };
                let created = backend.create_new(backend.base()).map_err(CopyError::of);
                self.stage = match created {
                    Ok(()) => Stage::Copying(Copying::new(backend.base(), bytes_before)),
                    Err(_) => Stage::Removing,
                };
                created.map_or_else(CopyError::given_up, |()| Ok(Shrunk::More))
            }
            Stage::Copying(copying) => {
                let has_room = backend.free_bytes()? >= spare_bytes.saturating_add(ROOM_BYTES);
                let stepped =
                    if has_room { copying.step(backend, &self.path) } else { Err(CopyError::Short) };
                let bytes_before = copying.bytes_before;
                match stepped {
                    Ok(true) => {}
                    Ok(false) => return Ok(Shrunk::More),
                    Err(error) => {
                        self.stage = Stage::Removing;
                        if matches!(error, CopyError::Corrupt) {
                            // It may be so again: not before there is as much to gain as now.
                            (self.added_bytes, self.moved_bytes) = (0, bytes_before);
                        }
                        return error.given_up();
                    }
                }
                backend.swap_logs()?;
                self.stage = Stage::Removing;
                (self.added_bytes, self.moved_bytes) = (0, backend.file_bytes()?);
                Ok(Shrunk::Compacted { bytes_before, bytes_after: self.moved_bytes })
            }
            Stage::Removing => {
                if !backend.remove_rest()? {
                    return Ok(Shrunk::More);
                }
                self.stage = Stage::Rest;
                Ok(Shrunk::Nothing)
            }
        }
    }

    /// `bytes` bytes were added to the log.
    pub(super) fn added(&mut self, bytes: u64) {
        self.added_bytes += bytes;
    }

    /// More was done to the log than adding to it, or is about to be.
    pub(super) fn give_up(&mut self) {
        if let Stage::Copying(_) = self.stage {
            self.stage = Stage::Removing;
        }
    }

    /// The log begins after `base` now.
    pub(super) fn cut(&mut self, base: LogBase) {
        if let Stage::Copying(copying) = &self.stage
            && copying.copied.next().index <= base.index
        {
            self.stage = Stage::Removing;
        }
    }

    /// The size of the file, if the log is due for compaction.
    fn is_due(
        &self,
        backend: &impl LogBackend,
        live_bytes: Option<u64>,
        spare_bytes: u64,
    ) -> Result<Option<u64>, StorageError> {
        let Some(live_bytes) = live_bytes else { return Ok(None) };
        if self.added_bytes < self.moved_bytes / LIVE_SHARE {
            return Ok(None);
        }
        let file_bytes = backend.file_bytes()?;
        if file_bytes <= self.file_bytes_min || live_bytes >= file_bytes / LIVE_SHARE {
            return Ok(None);
        }
        // Until it is done, there are both. sled writes some values several times.
        let wanted = spare_bytes.saturating_add(4 * (ROOM_BYTES + live_bytes));
        Ok((backend.free_bytes()? >= wanted).then_some(file_bytes))
    }
}

impl Copying {
    fn new(base: LogBase, bytes_before: u64) -> Self {
        Self { copied: after(base), checked: None, base, bytes: 0, bytes_before }
    }

    /// Copies a round and reads one back. Returns whether all is copied and read back.
    fn step(&mut self, backend: &mut impl LogBackend, path: &Path) -> Result<bool, CopyError> {
        let end = backend.end().index;
        if self.copied.next().index <= end {
            let values = round(backend, Which::Log, &mut self.copied, end, path).map_err(CopyError::Log)?;
            self.bytes += values.iter().map(|(_, value)| value.len() as u64).sum::<u64>();
            backend.put_new(&values).map_err(CopyError::of)?;
            // A copy that is not smaller than its source is useless.
            if self.bytes > self.bytes_before / 2 {
                return Err(CopyError::Short);
            }
        }
        let is_copied = self.copied.next().index > end;
        let Some(checked) = &mut self.checked else {
            if is_copied {
                // It writes a little.
                backend.reopen_new().map_err(CopyError::of)?;
                self.checked = Some(after(self.base));
            }
            return Ok(false);
        };
        if checked.next() < self.copied.next() {
            round(backend, Which::New, checked, end, path).map_err(CopyError::of)?;
        }
        Ok(is_copied && checked.next() == self.copied.next())
    }
}

/// Why a copy was discarded.
enum CopyError {
    /// There is no space for it, or nothing to gain.
    Short,
    /// It does not read back as it was written.
    Corrupt,
    /// The authoritative log failed, which ends the process.
    Log(StorageError),
}

impl CopyError {
    /// What a failure of the new log means. The authoritative log is whole, whatever becomes of the copy.
    fn of(error: StorageError) -> Self {
        // Some file systems allocate space only at the sync. No entry of the copy is relied on yet.
        if error.is_shortage() || is_full(&error) {
            Self::Short
        } else if error.kind() == StorageErrorKind::Damaged {
            Self::Corrupt
        } else {
            Self::Log(error)
        }
    }

    /// What it came to, if all it costs is the copy.
    fn given_up(self) -> Result<Shrunk, StorageError> {
        match self {
            Self::Short => Ok(Shrunk::More),
            Self::Corrupt => Ok(Shrunk::CopyCorrupt),
            Self::Log(error) => Err(error),
        }
    }
}

/// Expects what follows `base`.
fn after(base: LogBase) -> Assembler {
    Assembler::new(GROUP, base.index + 1, base.term, base.crc)
}

/// The next values of a log, up to entry `end`; each must continue the previous one.
fn round(
    backend: &mut impl LogBackend,
    which: Which,
    assembler: &mut Assembler,
    end: u64,
    path: &Path,
) -> Result<Vec<(Key, Bytes)>, StorageError> {
    let damaged = |damage| StorageError::Damaged { path: path.to_owned(), damage };
    let mut values = backend.values_from(which, assembler.next(), ROUND_BYTES_MAX)?;
    values.retain(|(key, _)| key.index <= end);
    if values.is_empty() {
        return Err(damaged(Damage::Hole { index: assembler.next().index }));
    }
    for (key, bytes) in &values {
        let expected = assembler.next();
        if *key != expected {
            return Err(damaged(Damage::Hole { index: expected.index }));
        }
        let bad = |source: ValueError| damaged(Damage::Value { index: key.index, source });
        assembler.take(&Value::decode(bytes).map_err(bad)?).map_err(bad)?;
    }
    Ok(values)
}

fn is_full(error: &StorageError) -> bool {
    let StorageError::Io { source, .. } = error else { return false };
    matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Sizes in bytes of the values of a log, by runs of its entries. Sizes of values never read or written are unknown.
#[derive(Debug)]
pub(super) struct Weights {
    runs: VecDeque<Run>,
    /// From this index on it is known.
    from: u64,
}

/// Entries that follow each other.
#[derive(Debug)]
struct Run {
    last: u64,
    bytes: u64,
}

impl Weights {
    /// No finer than the largest value.
    const RUN_BYTES: u64 = VALUE_BYTES_MAX as u64;

    /// For a log that ends with entry `last`, with no sizes known.
    pub(super) fn unknown(last: u64) -> Self {
        Self { runs: VecDeque::new(), from: last + 1 }
    }

    /// Takes an entry, the one after the last. Returns the bytes of its values.
    pub(super) fn add(&mut self, entry: &LogEntry) -> u64 {
        let parts = entry.data.len().div_ceil(PAYLOAD_BYTES_MAX).max(1);
        let bytes = (entry.data.len() + parts * HEADER_BYTES) as u64;
        match self.runs.back_mut() {
            Some(run) if run.bytes < Self::RUN_BYTES => {
                run.last = entry.index;
                run.bytes += bytes;
            }
            _ => self.runs.push_back(Run { last: entry.index, bytes }),
        }
        bytes
    }

    /// The entries from `index` on are gone. Of a run that is gone in part, all the bytes still count.
    pub(super) fn remove_end(&mut self, index: u64) {
        self.from = self.from.min(index);
        while let Some(run) = self.runs.pop_back_if(|run| run.last >= index) {
            let before = self.runs.back().map_or(self.from - 1, |run| run.last);
            if before + 1 < index {
                self.runs.push_back(Run { last: index - 1, ..run });
            }
        }
    }

    /// What the values behind `base` take; somewhat more if it lies within a run. `None` if it is not known.
    pub(super) fn behind(&mut self, base: u64) -> Option<u64> {
        while self.runs.pop_front_if(|run| run.last <= base).is_some() {}
        (self.from <= base + 1).then(|| self.runs.iter().map(|run| run.bytes).sum())
    }

    /// Whether the entry at `index` is among those that are counted.
    pub(super) fn knows(&self, index: u64) -> bool {
        index >= self.from
    }
}

#[cfg(test)]
mod tests;
