//! Going on with what is there, after a loss that somebody accepts.
//!
//! [`Salvage::examine`] says what would be kept and what is lost, and changes no entry. [`Salvage::accept`] does it:
//!
//! 1. The entries that verify, from the first one after the newest checkpoint on, are copied into a new log beside the old one. At its end comes
//!    an entry that says that there was a loss: ids, fences and sessions that the lost entries may have given out
//!    must not come again ([`Command::SkipIds`]).
//! 2. `recovering` marks the directory: from here on a node refuses it.
//! 3. The logs change places. The old one is kept under another name, until somebody deletes it.
//! 4. The watermark says where the new log ends; a vote that cannot be read is replaced by a term that is at least the
//!    log's. The identity gets another storage id: in a cluster, this is not the copy that acknowledged what was lost.
//! 5. The mark goes.
//!
//! A crash before 2 leaves everything as it was. After it, accepting again does the steps that are left; each may be done
//! twice.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::chunks::Manifest;
use super::directory::Directory;
use super::identity::Identity;
use super::log::Log;
use super::slots::Values;
use super::{Damage, EntryKind, LogBase, LogEntry, StorageError};
use crate::engine::{Command, EntryBuilder, ids_floor};
use crate::types::Millis;

/// So much is copied between two syncs.
const COPY_BYTES: usize = 512 << 10;

/// What a directory would be after a loss was accepted. The directory is locked while this lives.
#[derive(Debug)]
pub struct Salvage {
    directory: Directory,
    identity: Identity,
    base: LogBase,
    kept: u64,
    watermark: Option<Values>,
    obstacle: Option<StorageError>,
    vote_is_bad: bool,
    unfinished: bool,
}

impl Salvage {
    /// Reads all of a directory that a node refuses. One that was never founded, or whose identity is damaged, has
    /// nothing that could be recovered. Whatever happened to the log, what the newest checkpoint holds is kept.
    pub fn examine(path: &Path) -> Result<Self, StorageError> {
        let directory = Directory::take_existing(path)?;
        let identity = directory.identity()?.ok_or_else(|| StorageError::NoData { path: path.to_owned() })?;
        let watermark = directory.watermark()?.map(|slots| slots.values());
        let vote_is_bad = directory.vote()?.is_none();
        let unfinished = directory.is_recovering();
        let manifest = Manifest::read(&directory.chunks()?)?;
        let any_checkpoint = manifest.is_some();
        let base = manifest.map(|Manifest { index, term, log_crc: crc, .. }| LogBase { index, term, crc });
        let base = base.unwrap_or(LogBase::root(identity.cluster_id));
        let kept = base.index;
        let mut salvage =
            Self { directory, identity, base, kept, watermark, obstacle: None, vote_is_bad, unfinished };
        if !unfinished {
            salvage.read()?;
        }
        if !any_checkpoint {
            salvage.refuse_lost_manifest()?;
        }
        Ok(salvage)
    }

    /// Index of the last entry that would be kept, in the log or in the checkpoint; 0 if none.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Up to which index the log was durable, if the watermark can be read.
    pub fn durable(&self) -> Option<u64> {
        self.watermark.map(|[durable, ..]| durable)
    }

    /// Why no more can be kept; `None` if the log just ends.
    pub fn obstacle(&self) -> Option<&StorageError> {
        self.obstacle.as_ref()
    }

    /// Whether an earlier acceptance was cut short. Accepting again finishes it, and loses nothing more.
    pub fn is_unfinished(&self) -> bool {
        self.unfinished
    }

    /// Whether there is anything to accept. A node opens the directory otherwise.
    pub fn is_needed(&self) -> bool {
        let complete = self.durable().is_some_and(|durable| durable <= self.kept) && self.obstacle.is_none();
        self.unfinished || self.vote_is_bad || !complete
    }

    /// Makes the directory one that a node opens, with what can be kept, as a copy named `storage_id`.
    /// `now` is the wall clock.
    pub fn accept(self, storage_id: [u8; 16], now: Millis) -> Result<(), StorageError> {
        if !self.is_needed() {
            return Ok(());
        }
        if !self.unfinished {
            self.copy(now)?;
            self.directory.begin_recovering()?;
        }
        self.directory.swap_logs()?;
        let log = self.directory.log(self.base)?;
        let end = log.end();
        drop(log);
        let commit = self.directory.watermark()?.map_or(0, |slots| slots.values()[1]);
        self.directory.replace_watermark([end.index, commit.min(end.index), u64::from(end.crc)])?;
        if self.directory.vote()?.is_none_or(|slots| slots.values()[0] < end.term) {
            self.directory.replace_vote([end.term, 0, 0])?;
        }
        self.directory.replace_identity(Identity { storage_id, ..self.identity })?;
        self.directory.end_recovering()
    }

    fn read(&mut self) -> Result<(), StorageError> {
        (self.kept, self.obstacle) = self.verified()?;
        if self.kept == self.base.index
            && self.obstacle.is_some()
            && set_summaries_aside(&self.directory.log_path())?
        {
            (self.kept, self.obstacle) = self.verified()?;
        }
        Ok(())
    }

    /// Refuses a log that was cut behind a checkpoint whose manifest is lost: its chunks hold jobs that somebody may
    /// still save.
    fn refuse_lost_manifest(&self) -> Result<(), StorageError> {
        let is_cut = match &self.obstacle {
            Some(obstacle) => obstacle.is_of_cut_log(),
            None => self.kept == 0 && self.durable().is_some_and(|durable| durable > 0),
        };
        if is_cut { self.directory.refuse_lost_manifest() } else { Ok(()) }
    }

    /// Up to where the log verifies, and what is there instead of the next entry.
    fn verified(&self) -> Result<(u64, Option<StorageError>), StorageError> {
        let mut kept = self.base.index;
        let obstacle = self.salvage(&mut |entry| {
            kept = entry.index;
            Ok(())
        })?;
        if let Some([durable, _, crc]) = self.watermark
            && (self.base.index.max(1)..=kept).contains(&durable)
            && obstacle.is_none()
        {
            let end = self.directory.log(self.base)?.end_before(durable + 1)?;
            let damage = Damage::Replaced { index: durable };
            let replaced = StorageError::Damaged { path: self.directory.path().to_owned(), damage };
            return Ok((kept, (u64::from(end.crc) != crc).then_some(replaced)));
        }
        Ok((kept, obstacle))
    }

    fn salvage(
        &self,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<Option<StorageError>, StorageError> {
        Log::salvage(self.directory.path(), &self.directory.log_path(), self.base, visit)
    }

    /// Step 1.
    fn copy(&self, now: Millis) -> Result<(), StorageError> {
        let mut copy =
            Copy { log: self.directory.create_new_log(self.base)?, gathered: Vec::new(), bytes: 0 };
        let mut failed = None;
        self.salvage(&mut |entry| {
            if failed.is_none() && entry.index <= self.kept {
                failed = copy.take(entry).err();
            }
            Ok(())
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        copy.write()?;
        let end = copy.log.end();
        let term = self.directory.vote()?.map_or(0, |slots| slots.values()[0]).max(end.term).max(1);
        copy.take(skip_ids(end.index + 1, term, now))?;
        copy.write()
    }
}

/// The entry after which no id, fence or session comes again that an entry may have given out which is not there. `now`
/// is the wall clock.
pub(super) fn skip_ids(index: u64, term: u64, now: Millis) -> LogEntry {
    let mut entry = EntryBuilder::default();
    entry.push(&Command::SkipIds { floor: ids_floor(now) });
    // The state's clock takes no notice of a stamp that is behind it.
    let data = entry.finish(Millis(0)).into();
    LogEntry { index, term, kind: EntryKind::Normal, data }
}

/// Takes away the summaries that sled makes of its log to open faster: one that is damaged stops it. Says whether
/// there were any.
fn set_summaries_aside(log: &Path) -> Result<bool, StorageError> {
    let fail = |error| StorageError::io("read", log, error);
    let mut any = false;
    if !log.is_dir() {
        return Ok(any);
    }
    for entry in fs::read_dir(log).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        if name.as_encoded_bytes().starts_with(b"snap.") {
            let mut aside = OsString::from("aside.");
            aside.push(&name);
            let aside = log.join(aside);
            fs::rename(log.join(&name), &aside)
                .map_err(|error| StorageError::io("rename to", &aside, error))?;
            any = true;
        }
    }
    Ok(any)
}

/// The new log as it grows.
struct Copy {
    log: Log,
    gathered: Vec<LogEntry>,
    bytes: usize,
}

impl Copy {
    fn take(&mut self, entry: LogEntry) -> Result<(), StorageError> {
        self.bytes += entry.data.len();
        self.gathered.push(entry);
        if self.bytes < COPY_BYTES { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<(), StorageError> {
        self.bytes = 0;
        self.log.append(&std::mem::take(&mut self.gathered))
    }
}

#[cfg(test)]
pub(super) mod tests;
