//! The data directory: its contents, how it is founded, and when it is refused.
//!
//! ```text
//! DIR/identity      whose data it is; its name appears when the founding is complete
//! DIR/founding      the same file before that
//! DIR/restoring     the same file while a backup is put here
//! DIR/log/          the log: files of the journal, and a folder for each stretch in the archive
//! DIR/chunks/       checkpoints
//! DIR/incoming.pull a partial snapshot from another member
//! DIR/incoming/     a checkpoint that is fetched from another member; a start empties it
//! DIR/chunks.old/   the checkpoint before one that is being installed
//! DIR/lock          held by the process that has the directory
//! DIR/recovering    a loss is being accepted: whose data it will be afterwards, as in `identity`
//! DIR/log.new/      the log that will be there afterwards
//! DIR/log.lost-1/   the previous log; no command reads it again
//! ```
//!
//! **Founding** writes `founding`, then everything else, syncs all of it, and renames `founding` to `identity`. A
//! crash before the rename leaves a directory in which nothing was ever acknowledged: the next start clears it and
//! founds again. A crash after it leaves a directory that is complete.
//!
//! **Restoring** does the same from a backup, under the name `restoring`. A crash leaves a directory that a node refuses:
//! the operator wants the jobs, not an empty queue. A second restore starts over.
//!
//! So a log without an identity and without `founding` has *lost* its identity. It is refused, not founded again.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::archive::SledArchive;
use super::folder::{DiskFolder, remove_folder};
use super::identity::{FORMAT, Identity, IdentityError};
use super::install::{self, CHUNKS, CHUNKS_OLD, Folders, INCOMING};
use super::journal::JournalSize;
use super::lock::{self, Lock};
use super::log::{Found, Log, Place};
use super::takeover::{self, LOG_BEFORE, VOTE, WATERMARK};
use super::{Damage, FileDamage, LogBase, LogEntry, StorageError, Vote, chunks, sync};

/// The folder of the log.
pub(super) const LOG: &str = "log";

const IDENTITY: &str = "identity";
const IDENTITY_NEW: &str = "identity.new";
const FOUNDING: &str = "founding";
const RESTORING: &str = "restoring";
const RECOVERING: &str = "recovering";
/// The folder of a log that is to take the place of the log.
pub(super) const LOG_NEW: &str = "log.new";
const LOG_LOST: &str = "log.lost";
/// The part of another member's checkpoint that is received so far.
const INCOMING_PULL: &str = "incoming.pull";
/// What the system puts into the root of a file system.
const LOST_AND_FOUND: &str = "lost+found";

const OURS: [&str; 18] = [
    IDENTITY,
    IDENTITY_NEW,
    FOUNDING,
    RESTORING,
    LOG,
    LOG_BEFORE,
    LOG_NEW,
    VOTE,
    WATERMARK,
    CHUNKS,
    CHUNKS_OLD,
    INCOMING,
    INCOMING_PULL,
    RECOVERING,
    takeover::LOG_MOVE,
    takeover::LOG_OLD,
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
    /// Makes the directory if there is none, and locks it. One that holds other things is left untouched.
    pub(super) fn take(path: &Path) -> Result<Self, StorageError> {
        create_durably(path)?;
        Self::take_existing(path)
    }

    /// Whether a founding was completed in a directory.
    pub(super) fn is_founded(path: &Path) -> bool {
        path.join(IDENTITY).exists()
    }

    /// Locks a directory that must be there.
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
        if !path.join(IDENTITY).exists()
            && let Some(entry) = foreign_entry(path)?
        {
            return Err(StorageError::NotADataDirectory { path: path.to_owned(), entry });
        }
        let lock = Lock::take(path)?;
        Ok(Self { path: path.to_owned(), _lock: Some(lock) })
    }

    /// Locks a directory that must be there and that is only to be looked at: nothing in it is touched.
    pub(super) fn look(path: &Path) -> Result<Self, StorageError> {
        if path.exists() && !path.is_dir() {
            return Err(StorageError::NotADirectory { path: path.to_owned() });
        }
        let data = [IDENTITY, RESTORING, LOG, VOTE, WATERMARK, CHUNKS]
            .into_iter()
            .any(|name| path.join(name).exists());
        if !data {
            return Err(StorageError::NoData { path: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), _lock: Lock::hold(path)? })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the identity; `None` if the directory was never founded.
    pub(super) fn identity(&self) -> Result<Option<Identity>, StorageError> {
        let path = self.path.join(IDENTITY);
        if !path.try_exists().map_err(|error| StorageError::io("read", &path, error))? {
            if self.path.join(RESTORING).exists() {
                return Err(self.damaged(Damage::RestoreUnfinished));
            }
            let data = [LOG, VOTE, WATERMARK, CHUNKS].into_iter().any(|name| self.path.join(name).exists());
            let lost = data && !self.path.join(FOUNDING).exists();
            return if lost { Err(self.damaged(Damage::IdentityMissing)) } else { Ok(None) };
        }
        self.read_identity(IDENTITY).map(Some)
    }

    /// Makes the directory that of a new node. What a founding that was cut short left behind goes.
    pub(super) fn found(&self, identity: Identity, size: JournalSize) -> Result<DiskLog, StorageError> {
        let founding = self.path.join(FOUNDING);
        identity.write(&founding)?;
        sync::directory(&self.path)?;
        let base = LogBase::root(identity.cluster_id);
        let log = Log::create(self.new_log(LOG, identity, size)?, base, Vote::default())?;
        sync::directory(&self.path)?;
        self.rename_durably(FOUNDING, IDENTITY)?;
        Ok(log)
    }

    /// Refuses a directory that holds anything, but for what restoring a backup left behind that was cut short.
    pub(super) fn refuse_filled(path: &Path) -> Result<(), StorageError> {
        let unfinished = path.join(RESTORING).exists() && !path.join(IDENTITY).exists();
        if !path.is_dir() || unfinished {
            return Ok(());
        }
        match first_entry(path, |name| name == lock::NAME || name == LOST_AND_FOUND)? {
            Some(entry) => Err(StorageError::NotEmpty { path: path.to_owned(), entry }),
            None => Ok(()),
        }
    }

    /// Makes and locks a directory that is to be filled from a backup: an empty one.
    pub(super) fn take_empty(path: &Path) -> Result<Self, StorageError> {
        Self::refuse_filled(path)?;
        let directory = Self::take(path)?;
        // The previous holder of the lock may have filled it.
        Self::refuse_filled(path)?;
        Ok(directory)
    }

    /// Begins to fill it: what an earlier attempt left behind goes, and a node refuses it from here on.
    pub(super) fn begin_restoring(&self, identity: Identity) -> Result<(), StorageError> {
        identity.write(&self.path.join(RESTORING))?;
        sync::directory(&self.path)?;
        [LOG, CHUNKS].into_iter().try_for_each(|name| remove_folder(&self.path.join(name)))
    }

    /// Ends that, when the checkpoint is durable: the log begins behind it, with one entry. A node opens it from here on.
    pub(super) fn finish_restoring(
        &self,
        identity: Identity,
        base: LogBase,
        first: &LogEntry,
    ) -> Result<(), StorageError> {
        let vote = Vote { term: first.term, vote: 0 };
        let mut log = Log::create(self.new_log(LOG, identity, JournalSize::default())?, base, vote)?;
        log.commit(None, std::slice::from_ref(first), first.index)?;
        log.write_watermark()?;
        sync::directory(&self.path)?;
        self.rename_durably(RESTORING, IDENTITY)
    }

    /// Completes interrupted changes, and makes the names durable that a start reads here. Call it before any file is opened or
    /// removed.
    ///
    /// The [log](super::log) settles its own files. Every other file that counts got its name after a sync that went well:
    /// `identity`, and what a manifest lists, and the manifest itself.
    pub(super) fn settle(&self) -> Result<(), StorageError> {
        install::complete(self)
    }

    /// Opens the existing log, beside a checkpoint that stands for `base`.
    pub(super) fn open(
        &self,
        identity: Identity,
        base: Option<LogBase>,
        size: JournalSize,
    ) -> Result<(DiskLog, Found), StorageError> {
        if self.is_recovering() {
            return Err(self.damaged(Damage::RecoverUnfinished));
        }
        let base = base.unwrap_or(LogBase::root(identity.cluster_id));
        if !self.path.join(LOG).is_dir() {
            return Err(self.damaged(Damage::LogMissing));
        }
        Log::open(self.log_place(LOG, identity, size), base)
    }

    /// The place of a log in this folder.
    pub(super) fn log_place(
        &self,
        name: &str,
        identity: Identity,
        size: JournalSize,
    ) -> Place<DiskFolder, SledArchive> {
        let folder = self.path.join(name);
        Place {
            path: self.path.clone(),
            archive: SledArchive::new(&self.path, &folder),
            folder: DiskFolder::existing(&folder),
            storage_id: identity.storage_id,
            size,
        }
    }

    /// The same for a log that is to be made; one that was begun before goes.
    pub(super) fn new_log(
        &self,
        name: &str,
        identity: Identity,
        size: JournalSize,
    ) -> Result<Place<DiskFolder, SledArchive>, StorageError> {
        let folder = self.path.join(name);
        remove_folder(&folder)?;
        make_private(&folder)?;
        Ok(self.log_place(name, identity, size))
    }

    /// Where checkpoints are.
    pub(super) fn chunks(&self) -> Result<DiskFolder, StorageError> {
        DiskFolder::new(&self.path.join(CHUNKS))
    }

    /// The same to be looked at, if it is there.
    pub(super) fn existing_chunks(&self) -> Option<DiskFolder> {
        // One that is being installed counts from its first step on.
        let name = if install::is_cut_short(self).unwrap_or(false) { INCOMING } else { CHUNKS };
        let path = self.path.join(name);
        path.is_dir().then(|| DiskFolder::existing(&path))
    }

    /// Where a checkpoint of another member is put together.
    pub(super) fn incoming(&self) -> DiskFolder {
        DiskFolder::existing(&self.path.join(INCOMING))
    }

    /// To be asked when there is no manifest and the log does not begin at its first entry: it was cut behind a
    /// checkpoint, so if there are files of one, there was a manifest.
    pub(super) fn refuse_lost_manifest(&self) -> Result<(), StorageError> {
        match self.existing_chunks() {
            Some(folder) if chunks::holds_finished(&folder)? => {
                Err(self.damaged(Damage::Manifest(FileDamage::Missing)))
            }
            _ => Ok(()),
        }
    }

    /// From now on, until [`end_recovering`](Self::end_recovering), no node opens the directory. Then it belongs to
    /// `identity`.
    pub(super) fn begin_recovering(&self, identity: Identity) -> Result<(), StorageError> {
        identity.write(&self.path.join(IDENTITY_NEW))?;
        self.rename_durably(IDENTITY_NEW, RECOVERING)
    }

    pub(super) fn is_recovering(&self) -> bool {
        self.path.join(RECOVERING).exists()
    }

    /// The identity that the directory will have, if it is being recovered.
    pub(super) fn recovering(&self) -> Result<Option<Identity>, StorageError> {
        if self.is_recovering() { self.read_identity(RECOVERING).map(Some) } else { Ok(None) }
    }

    pub(super) fn end_recovering(&self) -> Result<(), StorageError> {
        self.rename_durably(RECOVERING, IDENTITY)
    }

    /// Replaces the old log with the new one, and keeps the old one under another name. Completes the replacement
    /// if it was interrupted.
    pub(super) fn swap_logs(&self) -> Result<(), StorageError> {
        if !self.path.join(LOG_NEW).exists() {
            return Ok(());
        }
        if self.path.join(LOG).exists() {
            let mut number = 1;
            while self.path.join(format!("{LOG_LOST}-{number}")).exists() {
                number += 1;
            }
            self.rename_durably(LOG, &format!("{LOG_LOST}-{number}"))?;
        }
        self.rename_durably(LOG_NEW, LOG)
    }

    fn read_identity(&self, name: &str) -> Result<Identity, StorageError> {
        match Identity::read(&self.path.join(name))? {
            Ok((_, found)) if found < FORMAT => {
                Err(StorageError::OlderFormat { path: self.path.clone(), found })
            }
            Ok((identity, _)) => Ok(identity),
            Err(IdentityError::Damaged) => Err(self.damaged(Damage::Identity)),
            Err(IdentityError::Newer(found)) => {
                Err(StorageError::NewerFormat { path: self.path.clone(), found, known: FORMAT })
            }
        }
    }

    /// The identity, if it is of a format before this one.
    pub(super) fn older_identity(&self) -> Result<Option<Identity>, StorageError> {
        let path = self.path.join(IDENTITY);
        if !path.exists() {
            return Ok(None);
        }
        let older = |(identity, found): (Identity, u32)| (found < FORMAT).then_some(identity);
        Ok(Identity::read(&path)?.ok().and_then(older))
    }

    /// Replaces the identity.
    pub(super) fn renew_identity(&self, identity: Identity) -> Result<(), StorageError> {
        identity.write(&self.path.join(IDENTITY_NEW))?;
        self.rename_durably(IDENTITY_NEW, IDENTITY)
    }

    pub(super) fn rename_durably(&self, from: &str, to: &str) -> Result<(), StorageError> {
        let to = self.path.join(to);
        fs::rename(self.path.join(from), &to).map_err(|error| StorageError::io("rename to", &to, error))?;
        sync::directory(&self.path)
    }

    fn damaged(&self, damage: Damage) -> StorageError {
        StorageError::Damaged { path: self.path.clone(), damage }
    }
}

impl Folders for Directory {
    fn has(&self, name: &'static str) -> Result<bool, StorageError> {
        let path = self.path.join(name);
        path.try_exists().map_err(|error| StorageError::io("read", &path, error))
    }

    fn make(&self, name: &'static str) -> Result<(), StorageError> {
        make_private(&self.path.join(name))
    }

    fn rename(&self, from: &'static str, to: &'static str) -> Result<(), StorageError> {
        let to = self.path.join(to);
        fs::rename(self.path.join(from), &to).map_err(|error| StorageError::io("rename to", &to, error))
    }

    fn remove(&self, name: &'static str) -> Result<(), StorageError> {
        remove_folder(&self.path.join(name))
    }

    fn sync(&self) -> Result<(), StorageError> {
        sync::directory(&self.path)
    }
}

/// Makes a directory and those above it that are missing, each of them durable in the one above.
pub(super) fn create_durably(path: &Path) -> Result<(), StorageError> {
    if path.is_dir() {
        // The process that made it may have died before its name was durable.
        return sync_parent(path);
    }
    if path.exists() {
        return Err(StorageError::NotADirectory { path: path.to_owned() });
    }
    create_durably(parent(path))?;
    make_private(path)?;
    sync::directory(parent(path))
}

fn sync_parent(path: &Path) -> Result<(), StorageError> {
    match sync::directory(parent(path)) {
        // It belongs to another user, who made this one.
        Err(StorageError::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

fn make_private(path: &Path) -> Result<(), StorageError> {
    // Only the owner may read the pushed jobs.
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(StorageError::io("create", path, error))
        }
        _ => Ok(()),
    }
}

/// Something in the directory that Adjourn did not put there.
fn foreign_entry(path: &Path) -> Result<Option<PathBuf>, StorageError> {
    let given_up = |name: &OsStr| name.as_encoded_bytes().starts_with(LOG_LOST.as_bytes());
    first_entry(path, |name| given_up(name) || OURS.into_iter().any(|ours| OsStr::new(ours) == name))
}

/// Something in the directory that is not known.
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
