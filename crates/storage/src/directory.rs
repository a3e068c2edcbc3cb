//! The data directory: its contents, how it is founded, and when it is refused.
//!
//! ```text
//! DIR/identity      whose data it is
//! DIR/log/          the log: files of the journal, and a folder for each stretch in the archive
//! DIR/chunks/       checkpoints
//! DIR/incoming.pull a partial snapshot from another member
//! DIR/incoming/     a checkpoint that is fetched from another member; a start empties it
//! DIR/log.lost-1/   a log that was replaced; no command reads it again
//! DIR/lock          held by the process that uses the directory
//! ```
//!
//! While it [changes over](super::changeover), there are also `identity.next`, `log.new`, `chunks.new` and `chunks.old`.
//!
//! **Founding** and **restoring** change over to the first state. A crash before that leaves no identity. An interrupted
//! founding leaves half a log, in which nothing was ever acknowledged: the next start clears it and founds again. An
//! interrupted restore leaves `chunks.new`: a node refuses the directory, because the operator wants the jobs, not an
//! empty queue. A second restore starts over.
//!
//! So a log or a checkpoint without an identity has *lost* it. The directory is refused, not founded again.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::archive::SledArchive;
use super::changeover::{
    self, CHUNKS, CHUNKS_NEW, CHUNKS_OLD, Changed, Folders, IDENTITY, IDENTITY_NEW, IDENTITY_NEXT, INCOMING,
    LOG, LOG_LOST, LOG_NEW,
};
use super::folder::create::{create_durably, make_private};
use super::folder::{DiskFolder, remove_folder};
use super::identity::{FORMAT, Identity, IdentityError};
use super::journal::JournalSize;
use super::lock::{self, Lock};
use super::log::{Found, Log, LogPlace};
use super::{Damage, FileDamage, LogBase, LogEntry, StorageError, Vote, chunks, sync};

/// The part of another member's checkpoint that is received so far.
const INCOMING_PULL: &str = "incoming.pull";
/// What the system puts into the root of a file system.
const LOST_AND_FOUND: &str = "lost+found";

/// The log of call-backs. It is not part of the queue: it is neither copied nor read here.
pub const CALL_BACKS: &str = "call-backs";

const OURS: [&str; 13] = [
    CALL_BACKS,
    IDENTITY,
    IDENTITY_NEW,
    IDENTITY_NEXT,
    LOG,
    LOG_NEW,
    CHUNKS,
    CHUNKS_NEW,
    CHUNKS_OLD,
    INCOMING,
    INCOMING_PULL,
    lock::NAME,
    LOST_AND_FOUND,
];

/// A data directory that this process has locked.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// `None` if no node has run here and nothing may be changed.
    _lock: Option<Lock>,
}

/// The log of a data directory.
pub(super) type DiskLog = Log<DiskFolder, SledArchive>;

impl Directory {
    /// Creates the directory if it is missing, and locks it. A directory with foreign content is left untouched.
    pub(super) fn take(path: &Path) -> Result<Self, StorageError> {
        create_durably(path)?;
        Self::take_existing(path)
    }

    /// True if a founding was completed in the directory.
    pub(super) fn is_founded(path: &Path) -> bool {
        [IDENTITY, IDENTITY_NEXT].into_iter().any(|name| path.join(name).exists())
    }

    /// Locks an existing directory.
    pub(super) fn take_existing(path: &Path) -> Result<Self, StorageError> {
        match fs::metadata(path) {
            Ok(found) if !found.is_dir() => {
                return Err(StorageError::NotADirectory { path: path.to_owned() });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StorageError::NoData { path: path.to_owned() });
            }
            _ => {}
        }
        if !Self::is_founded(path)
            && let Some(entry) = foreign_entry(path)?
        {
            return Err(StorageError::NotADataDirectory { path: path.to_owned(), entry });
        }
        let lock = Lock::take(path)?;
        Ok(Self { path: path.to_owned(), _lock: Some(lock) })
    }

    /// Locks an existing directory for reading: nothing in it is touched.
    pub(super) fn look(path: &Path) -> Result<Self, StorageError> {
        if path.exists() && !path.is_dir() {
            return Err(StorageError::NotADirectory { path: path.to_owned() });
        }
        let directory = Self { path: path.to_owned(), _lock: Lock::hold(path)? };
        if !Self::is_founded(path) && !directory.has_data()? && !directory.has(CHUNKS_NEW)? {
            return Err(StorageError::NoData { path: path.to_owned() });
        }
        Ok(directory)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the identity; `None` if the directory was never founded.
    pub(super) fn identity(&self) -> Result<Option<Identity>, StorageError> {
        let name = if changeover::is_decided(self)? { IDENTITY_NEXT } else { IDENTITY };
        if self.has(name)? {
            return self.read_identity(name).map(Some);
        }
        if self.has_data()? {
            return Err(self.damaged(Damage::IdentityMissing));
        }
        if self.has(CHUNKS_NEW)? { Err(self.damaged(Damage::RestoreUnfinished)) } else { Ok(None) }
    }

    /// True if there is a log or a folder of checkpoints.
    fn has_data(&self) -> Result<bool, StorageError> {
        Ok(self.has(LOG)? || self.has(CHUNKS)?)
    }

    /// Founds the directory for a new node. Removes what an interrupted founding left.
    pub(super) fn found(&self, identity: Identity, size: JournalSize) -> Result<(), StorageError> {
        let base = LogBase::root(identity.cluster_id);
        Log::create(self.new_log(identity, size)?, base, Vote::default())?;
        self.change_over(identity).map(drop)
    }

    /// Refuses a directory that is not empty, except for what an interrupted restore left.
    pub(super) fn refuse_filled(path: &Path) -> Result<(), StorageError> {
        if !path.is_dir() {
            return Ok(());
        }
        let unfinished = !Self::is_founded(path);
        let half_built =
            |name: &OsStr| unfinished && (name == CHUNKS_NEW || name == LOG_NEW || name == IDENTITY_NEW);
        match first_entry(path, |name| name == lock::NAME || name == LOST_AND_FOUND || half_built(name))? {
            Some(entry) => Err(StorageError::NotEmpty { path: path.to_owned(), entry }),
            None => Ok(()),
        }
    }

    /// Creates and locks an empty directory, to be filled from a backup.
    pub(super) fn take_empty(path: &Path) -> Result<Self, StorageError> {
        Self::refuse_filled(path)?;
        let directory = Self::take(path)?;
        // The previous holder of the lock may have filled it.
        Self::refuse_filled(path)?;
        Ok(directory)
    }

    /// The end of a restore, when the [next checkpoint](Self::new_chunks) is durable: the log begins after it, with one
    /// entry. A node opens the directory from here on.
    pub(super) fn finish_restoring(
        &self,
        identity: Identity,
        base: LogBase,
        first: &LogEntry,
    ) -> Result<(), StorageError> {
        let vote = Vote { term: first.term, vote: 0 };
        let mut log = Log::create(self.new_log(identity, JournalSize::default())?, base, vote)?;
        log.commit(None, std::slice::from_ref(first), first.index)?;
        log.write_watermark()?;
        self.change_over(identity).map(drop)
    }

    /// Completes interrupted changes, and makes the names durable that a start reads here. Call it before any file is
    /// opened or removed.
    ///
    /// The [log](super::log) settles its own files. Every other file that counts got its name after a sync that went well:
    /// `identity`, and what a manifest lists, and the manifest itself.
    ///
    /// Returns the result of the completed change, if there was one.
    pub(super) fn settle(&self) -> Result<Option<Changed>, StorageError> {
        changeover::settle(self)
    }

    /// Changes over to the new state, which belongs to `identity`. See [`changeover::change_over`].
    pub(super) fn change_over(&self, identity: Identity) -> Result<Changed, StorageError> {
        identity.write(&self.path.join(IDENTITY_NEW))?;
        changeover::change_over(self)
    }

    /// Replaces the checkpoint with the one in `incoming`. See [`changeover::install`].
    pub(super) fn install(&self) -> Result<(), StorageError> {
        self.read_identity(IDENTITY)?.write(&self.path.join(IDENTITY_NEW))?;
        changeover::install(self)
    }

    /// Opens the existing log, beside a checkpoint that stands for `base`.
    pub(super) fn open(
        &self,
        identity: Identity,
        base: Option<LogBase>,
        size: JournalSize,
    ) -> Result<(DiskLog, Found), StorageError> {
        let base = base.unwrap_or(LogBase::root(identity.cluster_id));
        let place = self.log_place(identity, size)?.ok_or_else(|| self.damaged(Damage::LogMissing))?;
        Log::open(place, base)
    }

    /// The place of the log; `None` if there is none.
    pub(super) fn log_place(
        &self,
        identity: Identity,
        size: JournalSize,
    ) -> Result<Option<LogPlace<DiskFolder, SledArchive>>, StorageError> {
        let folder = self.path.join(changeover::place(self, LOG, LOG_NEW)?);
        Ok(folder.is_dir().then(|| self.place_in(&folder, identity, size)))
    }

    /// The place for the next log; removes an unfinished one.
    pub(super) fn new_log(
        &self,
        identity: Identity,
        size: JournalSize,
    ) -> Result<LogPlace<DiskFolder, SledArchive>, StorageError> {
        self.remove(LOG_NEW)?;
        self.make(LOG_NEW)?;
        Ok(self.place_in(&self.path.join(LOG_NEW), identity, size))
    }

    /// The place of a log in this folder.
    pub(super) fn place_in(
        &self,
        folder: &Path,
        identity: Identity,
        size: JournalSize,
    ) -> LogPlace<DiskFolder, SledArchive> {
        LogPlace {
            path: self.path.clone(),
            archive: SledArchive::new(&self.path, folder),
            folder: DiskFolder::existing(folder),
            storage_id: identity.storage_id,
            size,
        }
    }

    /// The folder of checkpoints.
    pub(super) fn chunks(&self) -> Result<DiskFolder, StorageError> {
        DiskFolder::new(&self.path.join(CHUNKS))
    }

    /// The folder for the next checkpoint; removes an unfinished one. Without an identity, a node refuses the directory
    /// from here on.
    pub(super) fn new_chunks(&self) -> Result<DiskFolder, StorageError> {
        self.remove(CHUNKS_NEW)?;
        DiskFolder::new(&self.path.join(CHUNKS_NEW))
    }

    /// The folder of checkpoints, for reading; `None` if there is none.
    pub(super) fn existing_chunks(&self) -> Result<Option<DiskFolder>, StorageError> {
        let path = self.path.join(changeover::place(self, CHUNKS, CHUNKS_NEW)?);
        Ok(path.is_dir().then(|| DiskFolder::existing(&path)))
    }

    /// Where a checkpoint of another member is assembled.
    pub(super) fn incoming(&self) -> DiskFolder {
        DiskFolder::existing(&self.path.join(INCOMING))
    }

    /// For a start that finds no manifest, and a log that does not begin at its first entry. Such a log was truncated
    /// after a checkpoint: if there are files of one, its manifest is lost.
    pub(super) fn refuse_lost_manifest(&self) -> Result<(), StorageError> {
        match self.existing_chunks()? {
            Some(folder) if chunks::holds_finished(&folder)? => {
                Err(self.damaged(Damage::Manifest(FileDamage::Missing)))
            }
            _ => Ok(()),
        }
    }

    fn read_identity(&self, name: &str) -> Result<Identity, StorageError> {
        match Identity::read(&self.path.join(name))? {
            Ok(identity) => Ok(identity),
            Err(IdentityError::Damaged) => Err(self.damaged(Damage::Identity)),
            Err(IdentityError::Newer(found)) => {
                Err(StorageError::NewerFormat { path: self.path.clone(), found, known: FORMAT })
            }
        }
    }

    fn damaged(&self, damage: Damage) -> StorageError {
        StorageError::Damaged { path: self.path.clone(), damage }
    }
}

impl Folders for Directory {
    fn has(&self, name: &str) -> Result<bool, StorageError> {
        let path = self.path.join(name);
        path.try_exists().map_err(|error| StorageError::io("read", &path, error))
    }

    fn make(&self, name: &str) -> Result<(), StorageError> {
        make_private(&self.path.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        let to = self.path.join(to);
        fs::rename(self.path.join(from), &to).map_err(|error| StorageError::io("rename to", &to, error))
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        remove_folder(&self.path.join(name))
    }

    fn sync(&self) -> Result<(), StorageError> {
        sync::directory(&self.path)
    }
}

/// The first entry of the directory that does not belong to Adjourn.
fn foreign_entry(path: &Path) -> Result<Option<PathBuf>, StorageError> {
    let given_up = |name: &OsStr| name.as_encoded_bytes().starts_with(LOG_LOST.as_bytes());
    first_entry(path, |name| given_up(name) || OURS.into_iter().any(|ours| OsStr::new(ours) == name))
}

/// The first entry of the directory that `known` does not accept.
fn first_entry(path: &Path, known: impl Fn(&OsStr) -> bool) -> Result<Option<PathBuf>, StorageError> {
    let fail = |error| StorageError::io("read", path, error);
    for entry in fs::read_dir(path).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        if !known(&name) {
            return Ok(Some(PathBuf::from(name)));
        }
    }
    Ok(None)
}
