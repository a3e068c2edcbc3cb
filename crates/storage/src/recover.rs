//! Continues with the remaining data, after a loss that the operator accepts.
//!
//! [`Salvage::examine`] reports which data would be kept or lost, and changes no entry. [`Salvage::accept`] does
//! it: the entries that verify, from the first one after the newest checkpoint on, are copied into a new log, to which
//! the directory [changes over](super::changeover). The log's last entry records that there was a loss: ids, fences and
//! sessions that the lost entries may have assigned must not be reused ([`Command::SkipIds`]). The new identity has
//! another storage id: in a cluster, this is not the copy that acknowledged the lost entries. The old log is kept under
//! another name, until an operator deletes it.
//!
//! Unreadable parts of the checkpoint can be [given up](Salvage::drop_unreadable), too: see [`unreadable`]. The checkpoint
//! without them is part of the same change, and the new log ends with commands that delete those jobs.
//!
//! # Going on alone
//!
//! When the majority of a cluster is lost for good, no entry is ever committed again. [`Salvage::go_on_alone`] makes
//! one survivor a cluster of its own, in the same way:
//!
//! - All of its log counts as committed: a lost member may have acknowledged it.
//! - The last entry of the new log makes this node the only member. Raft's own rules would never allow that; no
//!   member is left to object, if the others do not come back.
//! - They must not: the cluster has another id, so that they are refused, and begins in a term that none of them can
//!   have reached.

mod unreadable;

use std::ops::ControlFlow;
use std::path::Path;

use super::chunks::Manifest;
use super::directory::{Directory, DiskLog};
use super::identity::Identity;
use super::journal::JournalSize;
use super::log::{Found, Log};
use super::{Damage, EntryKind, LogBase, LogEntry, StorageError, StorageErrorKind, Vote};
use adjourn_engine::{Command, EntryBuilder, JobSelect, ids_floor};
use adjourn_types::Millis;

pub(super) use unreadable::Unreadable;
pub use unreadable::UnreadableJob;

/// The bytes copied between two syncs.
const COPY_BYTES: usize = 512 << 10;
/// Lost members may have been some terms ahead. A thousand elections would not go unnoticed.
const TERMS_SKIPPED: u64 = 1000;
/// One entry deletes at most this many given-up jobs.
const DELETED_AT_ONCE: usize = 1024;

/// What a directory would be after a loss was accepted. The directory is locked while this lives.
#[derive(Debug)]
pub struct Salvage {
    directory: Directory,
    identity: Identity,
    has_completed: bool,
    checkpoint: Option<Manifest>,
    base: LogBase,
    kept: u64,
    kept_term: u64,
    changes: Vec<LogEntry>,
    /// The index up to which the log was durable; `None` if there is no log.
    durable: Option<u64>,
    commit: u64,
    vote: Vote,
    obstacle: Option<StorageError>,
    /// The given-up part of the checkpoint.
    dropped: Unreadable,
}

/// The identity and the membership of a survivor that goes on alone.
#[derive(Clone, Debug)]
pub struct Alone {
    /// The id of the cluster that begins with it.
    pub cluster_id: [u8; 16],
    /// The id of its copy of the data.
    pub storage_id: [u8; 16],
    /// The change after which it is the only member, encoded as the log's entries of
    /// [that kind](EntryKind::ConfChange) are.
    pub change: Vec<u8>,
}

impl Salvage {
    /// Reads all of a directory that a node refuses. Nothing can be recovered if it was never founded, or if its
    /// identity is damaged. The content of the newest checkpoint is kept, whatever happened to the log.
    pub fn examine(path: &Path) -> Result<Self, StorageError> {
        let directory = Directory::take_existing(path)?;
        let identity = directory.identity()?.ok_or_else(|| StorageError::NoData { path: path.to_owned() })?;
        let has_completed = directory.settle()?.is_some();
        let checkpoint = Manifest::read(&directory.chunks()?)?;
        let base = base_after(checkpoint.as_ref(), identity);
        let mut salvage = Self {
            directory,
            identity,
            has_completed,
            checkpoint,
            base,
            kept: base.index,
            kept_term: base.term,
            changes: Vec::new(),
            durable: None,
            commit: base.index,
            vote: Vote::default(),
            obstacle: None,
            dropped: Unreadable::default(),
        };
        salvage.read()?;
        if salvage.checkpoint.is_none() {
            salvage.refuse_lost_manifest()?;
        }
        Ok(salvage)
    }

    /// The node's number in its group.
    pub fn node(&self) -> u64 {
        self.identity.node
    }

    /// The cluster that the data belongs to.
    pub fn cluster_id(&self) -> [u8; 16] {
        self.identity.cluster_id
    }

    /// True if the cluster began in this directory.
    pub fn is_founder(&self) -> bool {
        self.identity.founder
    }

    /// The newest checkpoint.
    pub fn checkpoint(&self) -> Option<&Manifest> {
        self.checkpoint.as_ref()
    }

    /// The entries after the checkpoint that change the members, of those that would be kept.
    pub fn changes(&self) -> &[LogEntry] {
        &self.changes
    }

    /// Term of the last entry that would be kept; 0 if there is none.
    pub fn kept_term(&self) -> u64 {
        self.kept_term
    }

    /// The commit index that this node knew, as far as that can be read.
    pub fn committed(&self) -> u64 {
        self.commit
    }

    /// Index of the last entry that would be kept, in the log or in the checkpoint; 0 if none.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Up to which index the log is known to have been durable; `None` if there is no log.
    pub fn durable(&self) -> Option<u64> {
        self.durable
    }

    /// Why no more can be kept; `None` if the log just ends.
    pub fn obstacle(&self) -> Option<&StorageError> {
        self.obstacle.as_ref()
    }

    /// Reads all of the checkpoint, and returns the jobs with an unreadable part: from here on, to accept means to give
    /// them up. Do not use it on a member of a cluster: another member has these jobs.
    ///
    /// # Errors
    ///
    /// If these jobs cannot be identified.
    pub fn drop_unreadable(&mut self) -> Result<&[UnreadableJob], StorageError> {
        if let Some(manifest) = &self.checkpoint {
            self.dropped = Unreadable::find(&self.directory.chunks()?, manifest)?;
        }
        Ok(self.dropped.jobs())
    }

    /// True if an earlier change, such as a recovery, was decided and interrupted. Examining has completed it.
    pub fn has_completed(&self) -> bool {
        self.has_completed
    }

    /// True if a vote may be lost.
    pub fn forgets_vote(&self) -> bool {
        !self.is_complete()
    }

    /// True if there is a loss to accept. Otherwise a node opens the directory.
    pub fn is_needed(&self) -> bool {
        !self.is_complete() || !self.dropped.jobs().is_empty()
    }

    /// True if nothing of the log is lost.
    fn is_complete(&self) -> bool {
        self.durable.is_some_and(|durable| durable <= self.kept) && self.obstacle.is_none()
    }

    /// Keeps what can be kept, under the id `storage_id`, so that a node opens the directory. `now` is the wall
    /// clock. Returns the name under which the old log is kept.
    pub fn accept(self, storage_id: [u8; 16], now: Millis) -> Result<Option<String>, StorageError> {
        if !self.is_needed() {
            return Ok(None);
        }
        let identity = Identity { storage_id, ..self.identity };
        self.carry_out(identity, None, now)
    }

    /// Like [`Self::accept`], even without a loss, and makes the node the only member of a new cluster. Only for when
    /// a majority of the members is lost for good.
    pub fn go_on_alone(self, alone: Alone, now: Millis) -> Result<Option<String>, StorageError> {
        let Alone { cluster_id, storage_id, change } = alone;
        let identity = Identity { cluster_id, storage_id, founder: true, ..self.identity };
        self.carry_out(identity, Some(change), now)
    }

    fn carry_out(
        self,
        identity: Identity,
        change: Option<Vec<u8>>,
        now: Millis,
    ) -> Result<Option<String>, StorageError> {
        self.copy_log(identity, change, now)?;
        self.copy_checkpoint()?;
        Ok(self.directory.change_over(identity)?.kept)
    }

    /// Finds the last entry that can be kept, and the error that hides the next one.
    fn read(&mut self) -> Result<(), StorageError> {
        let (mut kept, mut kept_term, mut changes) = (self.base.index, self.base.term, Vec::new());
        let (log, found, obstacle) = self.salvage(&mut |entry| {
            (kept, kept_term) = (entry.index, entry.term);
            if entry.kind == EntryKind::ConfChange {
                changes.push(entry);
            }
            Ok(())
        })?;
        // After the end of a short log there is nothing to hide.
        self.obstacle = obstacle.filter(|obstacle| !matches!(obstacle, StorageError::ShortLog { .. }));
        (self.kept, self.kept_term, self.changes) = (kept, kept_term, changes);
        if let Some(log) = log {
            (self.durable, self.commit, self.vote) = (Some(found.durable), log.commit_index(), log.vote());
        }
        Ok(())
    }

    /// Refuses a log that was truncated after a checkpoint whose manifest is lost: the operator may still be able to save
    /// the jobs in its chunks.
    fn refuse_lost_manifest(&self) -> Result<(), StorageError> {
        let is_cut = match &self.obstacle {
            Some(obstacle) => obstacle.is_of_cut_log(),
            None => self.kept == 0 && self.durable.is_some_and(|durable| durable > 0),
        };
        if is_cut { self.directory.refuse_lost_manifest() } else { Ok(()) }
    }

    /// Calls `visit` with the entries that verify, from the first one after the checkpoint on. Returns the log, if there
    /// is one, and the error that hides the next entry.
    fn salvage(
        &self,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<(Option<DiskLog>, Found, Option<StorageError>), StorageError> {
        let missing =
            || StorageError::Damaged { path: self.directory.path().to_owned(), damage: Damage::LogMissing };
        let Some(place) = self.directory.log_place(self.identity, JournalSize::default())? else {
            return Ok((None, Found::default(), Some(missing())));
        };
        let (mut log, found, obstacle) = Log::find(place, self.base)?;
        let scanned = log.scan(self.base.index + 1, &mut |entry| visit(entry).map(ControlFlow::Continue));
        let bad = match scanned {
            Ok(()) => None,
            Err(error) if error.kind() == StorageErrorKind::Damaged => Some(error),
            Err(error) => return Err(error),
        };
        Ok((Some(log), found, bad.or(obstacle)))
    }

    /// Writes the new log.
    fn copy_log(&self, identity: Identity, change: Option<Vec<u8>>, now: Millis) -> Result<(), StorageError> {
        let is_alone = change.is_some();
        let base = base_after(self.checkpoint.as_ref(), identity);
        let term = self.vote.term.max(self.kept_term).max(1);
        let vote = match self.vote {
            _ if is_alone => Vote { term: term + TERMS_SKIPPED, vote: 0 },
            _ if self.forgets_vote() => Vote { term, vote: 0 },
            vote => vote,
        };
        let place = self.directory.new_log(identity, JournalSize::default())?;
        let commit = if is_alone { u64::MAX } else { self.commit.min(self.kept) };
        let log = Log::create(place, base, vote)?;
        let mut copy = Copy { log, commit, gathered: Vec::new(), bytes: 0 };
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
        copy.take(skip_ids(end.index + 1, term, now))?;
        let mut index = end.index + 2;
        for jobs in self.dropped.jobs().chunks(DELETED_AT_ONCE) {
            let mut entry = EntryBuilder::default();
            for job in jobs {
                entry.push(&Command::Delete { job: JobSelect::Id(job.id) });
            }
            let data = entry.finish(Millis(0)).into();
            copy.take(LogEntry { index, term, kind: EntryKind::Normal, data })?;
            index += 1;
        }
        if let Some(change) = change {
            copy.take(LogEntry { index, term, kind: EntryKind::ConfChange, data: change.into() })?;
        }
        copy.write()?;
        copy.log.write_watermark()
    }

    /// Writes the checkpoint without the given-up jobs, if there are any.
    fn copy_checkpoint(&self) -> Result<(), StorageError> {
        match &self.checkpoint {
            Some(manifest) if !self.dropped.jobs().is_empty() => {
                self.dropped.replace(&self.directory.chunks()?, &self.directory.new_chunks()?, manifest)
            }
            _ => Ok(()),
        }
    }
}

/// The entry that the log begins after: that of the checkpoint, or the root of the cluster's chain.
fn base_after(checkpoint: Option<&Manifest>, identity: Identity) -> LogBase {
    checkpoint.map_or(LogBase::root(identity.cluster_id), Manifest::base)
}

/// An entry after which no id, fence or session is reused that a lost entry may have assigned. `now` is the wall clock.
pub(super) fn skip_ids(index: u64, term: u64, now: Millis) -> LogEntry {
    let mut entry = EntryBuilder::default();
    entry.push(&Command::SkipIds { floor: ids_floor(now) });
    // The state's clock ignores a stamp in its past.
    let data = entry.finish(Millis(0)).into();
    LogEntry { index, term, kind: EntryKind::Normal, data }
}

/// The new log while it is written.
struct Copy {
    log: DiskLog,
    /// How much of it is known to be committed.
    commit: u64,
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
        self.log.commit(None, &std::mem::take(&mut self.gathered), self.commit)
    }
}

#[cfg(test)]
pub(super) mod tests;
