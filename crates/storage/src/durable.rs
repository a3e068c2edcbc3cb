//! The rules of a node's durable state, on any volume: the order of writes, and what a start refuses.
//!
//! [`Volume`] is what a node's data is on. It has two implementations: a data directory, and a simulated disk. The rules
//! are here and in the [log](super::log) once, so that the simulation tests the code that the real disk uses.
//!
//! - A **vote** is durable before or with the entries that came with it.
//! - A log begins after its **base**, the entry of a checkpoint. For entries up to the base the checkpoint is
//!   authoritative.
//! - If the **checkpoint is ahead of the log**, the log is dropped.
//! - A checkpoint of another member is **installed** in one rename. Before it, only entries that conflict with the
//!   checkpoint are truncated: those from its entry on, if the log has one of another term there; they were never
//!   committed. All others stay until the checkpoint is in place, because other members may rely on this node having them.
//!   A member that lost its state installs a checkpoint that its whole log agrees with. So a crash leaves the old
//!   checkpoint with a log as long as any member relies on, or the new one, which the log reaches and agrees with, or
//!   which is ahead of it.
//! - **The first failure is the last call that does anything**: it is unknown what the system dropped with a failed
//!   sync. A call that found no room before it changed anything is no failure.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::chunks::Manifest;
use super::folder::{Folder, JournalFolder};
use super::log::{Chore, Found, Log};
use super::{Damage, LogBase, LogEntry, PersistBatch, Recovered, Storage, StorageError};

/// With so many entries that wait to be written, they are.
const LATER_ENTRIES_MAX: usize = 4096;

/// The medium of a node's data.
pub(super) trait Volume {
    /// The folder of the journal.
    type Folder: JournalFolder;
    /// The archive of the log.
    type Archive: Archive;

    /// The entry that the incoming checkpoint stands for; `None` if there is no such checkpoint.
    fn incoming(&self) -> Result<Option<LogBase>, StorageError>;
    /// Replaces the present checkpoint with the incoming one. Durable when it returns.
    fn install(&self) -> Result<(), StorageError>;
    /// Free space, in bytes.
    fn free_bytes(&self) -> Result<u64, StorageError>;
}

/// The durable state on some volume.
pub(super) struct Durable<V: Volume> {
    log: Log<V::Folder, V::Archive>,
    volume: V,
    /// The data directory, for messages.
    path: PathBuf,
    failed: bool,
    /// What is to be written before anything else; empty if there is nothing.
    later: PersistBatch,
}

/// The entry that the checkpoint in a folder stands for; `None` if there is no checkpoint.
pub(super) fn base_in(folder: &impl Folder) -> Result<Option<LogBase>, StorageError> {
    Ok(Manifest::read(folder)?.map(|manifest| manifest.base()))
}

impl<V: Volume> Durable<V> {
    /// Takes an open log. If the checkpoint is ahead of it, the log is replaced.
    pub(super) fn new(
        volume: V,
        mut log: Log<V::Folder, V::Archive>,
        found: Found,
        path: &Path,
    ) -> Result<Self, StorageError> {
        let base = log.base();
        if found.last < base.index {
            log.rebase(base)?;
        }
        Ok(Self { log, volume, path: path.to_owned(), failed: false, later: PersistBatch::default() })
    }

    /// The data found at the start: where the log begins and ends, term and vote.
    pub(super) fn recovered(&self) -> Recovered {
        let LogBase { index: last_index, term: last_term, .. } = self.log.end();
        Recovered {
            vote: self.log.vote(),
            commit: self.log.commit_index(),
            first_index: self.log.base().index + 1,
            last_index,
            last_term,
        }
    }

    pub(super) fn volume(&self) -> &V {
        &self.volume
    }

    pub(super) fn volume_mut(&mut self) -> &mut V {
        &mut self.volume
    }

    pub(super) fn into_volume(self) -> V {
        self.volume
    }

    fn install(&mut self, index: u64) -> Result<(), StorageError> {
        let found = self.volume.incoming()?;
        let Some(base) = found.filter(|base| base.index == index) else {
            let damage = Damage::Incoming { wanted: index, found: found.map(|base| base.index) };
            return Err(StorageError::Damaged { path: self.path.clone(), damage });
        };
        debug_assert!(
            index >= self.log.base().index,
            "checkpoint {index} is older than the one that is there"
        );
        if self.log.end().index >= index {
            self.truncate_conflict(base)?;
        }
        self.volume.install()?;
        self.log.rebase(base)
    }

    /// Truncates the log before the entry of `base` if it has a different entry there.
    fn truncate_conflict(&mut self, base: LogBase) -> Result<(), StorageError> {
        let index = base.index;
        let ours = self.log.end_before(index + 1)?;
        if ours.term != base.term {
            return self.log.remove_end(index);
        }
        if ours == base {
            return Ok(());
        }
        // There is one entry of a term at an index, but these differ: the log or the checkpoint is damaged.
        Err(StorageError::Damaged { path: self.path.clone(), damage: Damage::Replaced { index } })
    }

    /// Writes what was to be written later.
    fn write_later(&mut self) -> Result<(), StorageError> {
        if !self.later.entries.is_empty() {
            let PersistBatch { vote, entries, commit, .. } = &self.later;
            self.log.commit(*vote, entries, *commit)?;
            self.later = PersistBatch::default();
        }
        Ok(())
    }

    /// Runs `action`, unless something failed before.
    fn carefully<T>(
        &mut self,
        action: impl FnOnce(&mut Self) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        if self.failed {
            return Err(StorageError::FailedBefore { path: self.path.clone() });
        }
        action(self).inspect_err(|error| self.failed = !matches!(error, StorageError::Passing(_)))
    }
}

/// A type with its durable state on a volume: that makes it a [`Storage`].
pub(super) trait OnVolume {
    /// The type of the volume.
    type Volume: Volume;

    /// The durable state.
    fn durable(&mut self) -> &mut Durable<Self::Volume>;

    /// The volume.
    fn volume(&self) -> &Self::Volume;
}

impl<S: OnVolume> Storage for S {
    fn persist(&mut self, batch: &PersistBatch) -> Result<(), StorageError> {
        self.durable().carefully(|durable| {
            let PersistBatch { vote, install, entries, commit } = batch;
            let Some(index) = *install else {
                if durable.later.entries.is_empty() {
                    return durable.log.commit(*vote, entries, *commit);
                }
                let mut whole = durable.later.clone();
                whole.add(batch.clone());
                durable.log.commit(whole.vote, &whole.entries, whole.commit)?;
                durable.later = PersistBatch::default();
                return Ok(());
            };
            durable.write_later()?;
            // The batch's commit index belongs to the log after the install.
            durable.log.commit(*vote, &[], 0)?;
            durable
                .install(index)
                .and_then(|()| durable.log.commit(None, entries, *commit))
                .map_err(StorageError::after_a_change)
        })
    }

    fn persist_later(&mut self, batch: PersistBatch) -> Result<(), StorageError> {
        debug_assert!(batch.vote.is_none() && batch.install.is_none(), "only entries may be lost");
        self.durable().carefully(|durable| {
            durable.later.add(batch);
            if durable.later.entries.len() < LATER_ENTRIES_MAX { Ok(()) } else { durable.write_later() }
        })
    }

    fn write_watermark(&mut self) -> Result<(), StorageError> {
        self.durable().carefully(|durable| {
            let written = durable.write_later();
            // Without room for it, what is durable still gets its watermark.
            if !matches!(written, Ok(()) | Err(StorageError::Passing(_))) {
                return written;
            }
            durable.log.write_watermark()?;
            written
        })
    }

    fn base_at(&mut self, index: u64) -> Result<LogBase, StorageError> {
        self.durable().carefully(|durable| {
            durable.write_later()?;
            durable.log.end_before(index + 1).map_err(StorageError::before_any_change)
        })
    }

    fn cut(&mut self, through: u64) -> Result<(), StorageError> {
        self.durable().carefully(|durable| {
            debug_assert!(through <= durable.log.end().index, "entry {through} is not there to be cut");
            durable.log.cut(through)
        })
    }

    fn chore(&mut self) -> Option<Chore> {
        let durable = self.durable();
        if durable.failed { None } else { durable.log.chore() }
    }

    fn chore_done(&mut self, done: Result<(), StorageError>) -> Result<(), StorageError> {
        self.durable().carefully(|durable| durable.log.chore_done(done))
    }

    fn replay(
        &mut self,
        first: u64,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.durable().carefully(|durable| {
            durable.log.scan(first, &mut |entry| visit(entry).map(ControlFlow::Continue))?;
            durable.log.forget_read();
            Ok(())
        })
    }

    fn read(&mut self, first: u64, last: u64, bytes_max: u64) -> Result<Vec<LogEntry>, StorageError> {
        let durable = self.durable();
        durable.carefully(Durable::write_later)?;
        let mut entries = Vec::new();
        let is_there = first > durable.log.base().index && first <= last;
        if !is_there {
            return Ok(entries);
        }
        let mut bytes = 0;
        durable.carefully(|durable| {
            let scanned = durable.log.scan(first, &mut |entry| {
                bytes += entry.data.len() as u64;
                if !entries.is_empty() && bytes > bytes_max {
                    return Ok(ControlFlow::Break(()));
                }
                let is_last = entry.index >= last || bytes >= bytes_max;
                entries.push(entry);
                Ok(if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            });
            scanned.map_err(StorageError::before_any_change)
        })?;
        Ok(entries)
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        self.volume().free_bytes()
    }
}
