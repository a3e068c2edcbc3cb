//! The data directory: its contents, how it is founded, and when it is refused.
//!
//! ```text
//! DIR/identity      whose data it is; its name appears when the founding is complete
//! DIR/founding      the same file before that
//! DIR/restoring     the same file while a backup is put here
//! DIR/log/          the sled database
//! DIR/log.move/     the new log during a compaction
//! DIR/log.old/      the log before the compaction; it is removed a piece at a time
//! DIR/vote          term and vote, two slots
//! DIR/chunks/       checkpoints
//! DIR/incoming.pull a partial snapshot from another member
//! DIR/incoming/     a checkpoint that is fetched from another member; a start empties it
//! DIR/chunks.old/   the checkpoint before one that is being installed
//! DIR/watermark     how far the log is durable and committed, and the last value's checksum, two slots
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
use std::sync::Arc;

use super::compaction::{self, LOG, LOG_MOVE, LOG_OLD};
use super::folder::DiskFolder;
use super::identity::{FORMAT, Identity, IdentityError};
use super::inspect::FileReport;
use super::install::{self, CHUNKS, CHUNKS_OLD, Folders, INCOMING};
use super::lock::{self, Lock};
use super::log::Log;
use super::slot_file::{SlotFile, Values};
use super::{Damage, FileDamage, LogBase, LogEntry, StorageError, chunks, sync};

/// The magic of the vote file.
pub(super) const VOTE_MAGIC: [u8; 4] = *b"ADJV";
/// The magic of the watermark file.
pub(super) const WATERMARK_MAGIC: [u8; 4] = *b"ADJW";

const IDENTITY: &str = "identity";
const IDENTITY_NEW: &str = "identity.new";
const FOUNDING: &str = "founding";
const RESTORING: &str = "restoring";
const VOTE: &str = "vote";
const WATERMARK: &str = "watermark";
const RECOVERING: &str = "recovering";
const LOG_NEW: &str = "log.new";
const LOG_LOST: &str = "log.lost";
/// The part of another member's checkpoint that is received so far.
const INCOMING_PULL: &str = "incoming.pull";
/// What the system puts into the root of a file system.
const LOST_AND_FOUND: &str = "lost+found";

/// The bytes of a file that are freed at a time.
const PIECE_BYTES: u64 = 2 << 20;

const OURS: [&str; 17] = [
    IDENTITY,
    IDENTITY_NEW,
    FOUNDING,
    RESTORING,
    LOG,
    LOG_MOVE,
    LOG_OLD,
    LOG_NEW,
    VOTE,
    WATERMARK,
    CHUNKS,
    CHUNKS_OLD,
    INCOMING,
    INCOMING_PULL,
    RECOVERING,
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

/// What a founded directory holds.
pub(super) struct Contents {
    pub(super) directory: Arc<Directory>,
    pub(super) identity: Identity,
    pub(super) log: Log,
    /// The new log of a compaction.
    pub(super) log_new: Option<Log>,
    /// The log that it came from, until it is closed.
    pub(super) log_old: Option<Log>,
    pub(super) vote: SlotFile,
    pub(super) watermark: SlotFile,
}

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
    pub(super) fn found(self: &Arc<Self>, identity: Identity) -> Result<Contents, StorageError> {
        let founding = self.path.join(FOUNDING);
        identity.write(&founding)?;
        sync::directory(&self.path)?;
        let log = self.log_path();
        remove_folder(&log)?;
        let log = Log::create(&self.path, &log, LogBase::root(identity.cluster_id))?;
        let vote = SlotFile::create(&self.path.join(VOTE), VOTE_MAGIC, [0, 0, 0])?;
        let watermark = SlotFile::create(&self.path.join(WATERMARK), WATERMARK_MAGIC, [0, 0, 0])?;
        sync::directory(&self.path)?;
        self.rename_durably(FOUNDING, IDENTITY)?;
        Ok(self.contents(identity, log, [vote, watermark]))
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
    pub(super) fn finish_restoring(&self, base: LogBase, first: LogEntry) -> Result<(), StorageError> {
        let mut log = Log::create(&self.path, &self.log_path(), base)?;
        log.append(&[first])?;
        let end = log.end();
        drop(log);
        self.replace_vote([end.term, 0, 0])?;
        self.replace_watermark([end.index, end.index, u64::from(end.crc)])?;
        sync::directory(&self.path)?;
        self.rename_durably(RESTORING, IDENTITY)
    }

    /// Completes interrupted changes, and makes everything durable that a start reads here, even if the syncs of
    /// an earlier process failed: a power cut can then no longer remove data that the start relies on. Call it before any file is
    /// opened or removed.
    ///
    /// That is names, vote, watermark and log. Every other file that counts got its name after a sync that went well:
    /// `identity`, and what a manifest lists, and the manifest itself.
    pub(super) fn settle(&self) -> Result<(), StorageError> {
        install::complete(self)?;
        compaction::complete(self)?;
        [VOTE, WATERMARK].into_iter().try_for_each(|name| sync::settle(&self.path.join(name)))?;
        Log::settle(&self.path, &self.log_path())
    }

    /// Opens the existing data, beside a checkpoint that stands for `base`.
    pub(super) fn open(
        self: &Arc<Self>,
        identity: Identity,
        base: Option<LogBase>,
    ) -> Result<Contents, StorageError> {
        if self.is_recovering() {
            return Err(self.damaged(Damage::RecoverUnfinished));
        }
        let vote = self.vote()?.ok_or_else(|| self.damaged(Damage::Vote))?;
        let watermark = self.watermark()?.ok_or_else(|| self.damaged(Damage::Watermark))?;
        let base = base.unwrap_or(LogBase::root(identity.cluster_id));
        Ok(self.contents(identity, self.log(base)?, [vote, watermark]))
    }

    fn contents(
        self: &Arc<Self>,
        identity: Identity,
        log: Log,
        [vote, watermark]: [SlotFile; 2],
    ) -> Contents {
        let directory = Arc::clone(self);
        Contents { directory, identity, log, log_new: None, log_old: None, vote, watermark }
    }

    pub(super) fn log(&self, base: LogBase) -> Result<Log, StorageError> {
        Log::open(&self.path, &self.log_path(), base)
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

    pub(super) fn log_path(&self) -> PathBuf {
        self.path.join(LOG)
    }

    /// The folder of the authoritative log, for a caller that must not change anything.
    pub(super) fn log_that_counts(&self) -> PathBuf {
        // One that takes another's place counts from the first step on.
        let name = if compaction::is_cut_short(self).unwrap_or(false) { LOG_MOVE } else { LOG };
        self.path.join(name)
    }

    /// The folders of a compaction beside it, and the bytes of their files.
    pub(super) fn logs_beside(&self) -> Result<Vec<FileReport>, StorageError> {
        let counts = self.log_that_counts();
        let mut found = Vec::new();
        for name in [LOG_MOVE, LOG_OLD] {
            let path = self.path.join(name);
            if path != counts && self.has(name)? {
                found.push(FileReport { name: name.to_owned(), bytes: bytes_in(&path)? });
            }
        }
        Ok(found)
    }

    /// Creates an empty log for a compaction. It is durable with its name.
    pub(super) fn create_log_for_compaction(&self, base: LogBase) -> Result<Log, StorageError> {
        let log = Log::create(&self.path, &self.path.join(LOG_MOVE), base)?;
        sync::directory(&self.path)?;
        Ok(log)
    }

    /// Removes a piece of what a compaction left beside the log. Returns whether all of it is gone.
    pub(super) fn remove_piece(&self) -> Result<bool, StorageError> {
        for name in [LOG_MOVE, LOG_OLD] {
            if !self.has(name)? {
                continue;
            }
            let path = self.path.join(name);
            if shorten(&path.join("db"))? {
                return Ok(false);
            }
            remove_folder(&path)?;
            sync::directory(&self.path)?;
        }
        Ok(true)
    }

    /// A new log beside the one that is there; one that was begun before goes.
    pub(super) fn create_new_log(&self, base: LogBase) -> Result<Log, StorageError> {
        let path = self.path.join(LOG_NEW);
        remove_folder(&path)?;
        Log::create(&self.path, &path, base)
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

    pub(super) fn replace_vote(&self, values: Values) -> Result<(), StorageError> {
        SlotFile::create(&self.path.join(VOTE), VOTE_MAGIC, values).map(drop)
    }

    pub(super) fn replace_watermark(&self, values: Values) -> Result<(), StorageError> {
        SlotFile::create(&self.path.join(WATERMARK), WATERMARK_MAGIC, values).map(drop)
    }

    pub(super) fn vote(&self) -> Result<Option<SlotFile>, StorageError> {
        SlotFile::open(&self.path.join(VOTE), VOTE_MAGIC)
    }

    pub(super) fn watermark(&self) -> Result<Option<SlotFile>, StorageError> {
        SlotFile::open(&self.path.join(WATERMARK), WATERMARK_MAGIC)
    }

    /// Term and vote, read alone; `None` if neither copy is good.
    pub(super) fn vote_values(&self) -> Result<Option<Values>, StorageError> {
        SlotFile::read(&self.path.join(VOTE), VOTE_MAGIC)
    }

    /// The watermark, read alone; `None` if neither copy is good.
    pub(super) fn watermark_values(&self) -> Result<Option<Values>, StorageError> {
        SlotFile::read(&self.path.join(WATERMARK), WATERMARK_MAGIC)
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

    fn rename_durably(&self, from: &str, to: &str) -> Result<(), StorageError> {
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

fn remove_folder(path: &Path) -> Result<(), StorageError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StorageError::io("remove", path, error)),
        _ => Ok(()),
    }
}

/// Bytes of the files in a folder and in those below it.
fn bytes_in(folder: &Path) -> Result<u64, StorageError> {
    let fail = |error| StorageError::io("read", folder, error);
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let found = entry.metadata().map_err(fail)?;
        bytes += if found.is_dir() { bytes_in(&entry.path())? } else { found.len() };
    }
    Ok(bytes)
}

/// Takes a piece off the end of a file, unless it is no longer than that.
fn shorten(path: &Path) -> Result<bool, StorageError> {
    let file = match fs::File::options().write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(StorageError::io("open", path, error)),
    };
    let bytes = file.metadata().map_err(|error| StorageError::io("read", path, error))?.len();
    if bytes <= PIECE_BYTES {
        return Ok(false);
    }
    file.set_len(bytes - PIECE_BYTES).map_err(|error| StorageError::io("cut", path, error))?;
    Ok(true)
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
