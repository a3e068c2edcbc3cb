//! The rules of a node's durable state, whatever it lies on: what is written before what, and what a start refuses.
//!
//! [`Media`] is a log and two small files. It has two implementations, as [`Storage`](super::Storage) has: sled and
//! files, and the twin in memory. The rules stand here once, so that what the twin survives in a simulation is what
//! the disk goes by.
//!
//! - A **vote** is durable before the entries that came with it.
//! - The **watermark** follows the log: it is written after the log's sync, lazily, and at once with the very first
//!   entry. Cutting a suffix lowers it first. So it never claims more than there is.
//! - **The first failure is the last call that does anything**: nobody knows what the system dropped with a failed
//!   sync.

use std::path::PathBuf;

use super::slots::Values;
use super::{Damage, LogEntry, PersistBatch, Recovered, StorageError, Vote};

/// The small files beside the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SmallFile {
    /// Term and vote.
    Vote,
    /// Last durable index, commit index.
    Watermark,
}

/// Where a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Index of the last entry; 0 if there is none.
    pub(super) index: u64,
    /// Its term; 0 if there is none.
    pub(super) term: u64,
    /// Checksum of its last value, or the root of the chain.
    pub(super) crc: u32,
}

/// A log and two small files, each durable when a call that writes it returns.
pub(super) trait Media {
    /// The first index that the log may hold.
    fn first_index(&self) -> u64;
    /// Where the log ends.
    fn end(&self) -> End;
    /// Where the log would end if it were cut before `index`.
    fn end_before(&mut self, index: u64) -> Result<End, StorageError>;
    /// Adds entries, which follow each other; those that stand from the first one's index on are removed.
    fn append(&mut self, entries: &[LogEntry]) -> Result<(), StorageError>;
    /// Hands the entries from `first` on to `visit`, verifying each.
    fn scan(
        &mut self,
        first: u64,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<(), StorageError>;
    /// What a small file holds.
    fn values(&self, file: SmallFile) -> Values;
    /// Replaces what a small file holds.
    fn write(&mut self, file: SmallFile, values: Values) -> Result<(), StorageError>;
    /// Something has failed: nothing more is written, not even when this is closed.
    fn abandon(&mut self);
}

/// The durable state on some media.
pub(super) struct Durable<M> {
    media: M,
    /// The data directory, for messages.
    path: PathBuf,
    /// What the watermark should say.
    watermark: Watermark,
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
    fn new(end: End, commit: u64) -> Self {
        Self { last: end.index, commit: commit.min(end.index), crc: end.crc }
    }

    /// As the file holds it.
    fn values(self) -> Values {
        [self.last, self.commit, u64::from(self.crc)]
    }
}

impl<M: Media> Durable<M> {
    /// Takes over what was found, unless the log ends before its watermark, or is another one there.
    pub(super) fn new(mut media: M, path: PathBuf) -> Result<Self, StorageError> {
        let [durable, commit, crc] = media.values(SmallFile::Watermark);
        let end = media.end();
        let last = end.index;
        if last < durable {
            return Err(StorageError::ShortLog { path, last, durable });
        }
        if durable > 0 && u64::from(media.end_before(durable + 1)?.crc) != crc {
            return Err(StorageError::Damaged { path, damage: Damage::Replaced { index: durable } });
        }
        let watermark = Watermark::new(end, commit);
        Ok(Self { media, path, watermark, failed: false })
    }

    /// What was found: where the log begins and ends, term and vote.
    pub(super) fn recovered(&self) -> Recovered {
        let end = self.media.end();
        let [term, vote, _] = self.media.values(SmallFile::Vote);
        Recovered {
            vote: Vote { term, vote },
            commit: self.watermark.commit,
            first_index: self.media.first_index(),
            last_index: end.index,
            last_term: end.term,
        }
    }

    pub(super) fn media(&self) -> &M {
        &self.media
    }

    pub(super) fn media_mut(&mut self) -> &mut M {
        &mut self.media
    }

    pub(super) fn into_media(self) -> M {
        self.media
    }

    /// See [`Storage::persist`](super::Storage::persist).
    pub(super) fn persist(&mut self, batch: &PersistBatch) -> Result<(), StorageError> {
        self.carefully(|durable| {
            if let Some(Vote { term, vote }) = batch.vote {
                // Into both slots: one that goes bad later must not bring an older vote back.
                durable.media.write(SmallFile::Vote, [term, vote, 0])?;
                durable.media.write(SmallFile::Vote, [term, vote, 0])?;
            }
            durable.append(&batch.entries, batch.commit)
        })
    }

    /// See [`Storage::write_watermark`](super::Storage::write_watermark).
    pub(super) fn write_watermark(&mut self) -> Result<(), StorageError> {
        self.carefully(Self::flush_watermark)
    }

    /// See [`Storage::replay`](super::Storage::replay).
    pub(super) fn replay(
        &mut self,
        first: u64,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.carefully(|durable| durable.media.scan(first, visit))
    }

    fn append(&mut self, entries: &[LogEntry], commit: u64) -> Result<(), StorageError> {
        let Some(first) = entries.first() else {
            self.watermark.commit = commit.min(self.watermark.last).max(self.watermark.commit);
            return Ok(());
        };
        let before = first.index.saturating_sub(1);
        let [durable, ..] = self.media.values(SmallFile::Watermark);
        if durable > before {
            self.watermark = Watermark::new(self.media.end_before(first.index)?, self.watermark.commit);
            self.flush_watermark()?;
        }
        self.media.append(entries)?;
        self.watermark = Watermark::new(self.media.end(), commit);
        if durable == 0 { self.flush_watermark() } else { Ok(()) }
    }

    fn flush_watermark(&mut self) -> Result<(), StorageError> {
        let values = self.watermark.values();
        if self.media.values(SmallFile::Watermark) == values {
            return Ok(());
        }
        self.media.write(SmallFile::Watermark, values)
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
            self.media.abandon();
        })
    }
}
