//! The log of one group: entries in sled, durable when a call returns.
//!
//! One tree, [values](super::value) of at most 16 KiB under index and part. sled is used for what it does well, and
//! its weak points are covered here:
//!
//! - Its `flush` does not reach the disk on Linux (it calls `sync_file_range`). A commit is `flush` and then
//!   `sync_data` on a descriptor of our own, which was opened before the first write, so that no write error between
//!   the two goes unnoticed.
//! - After a power cut, any part of the data written since the last sync may be there. sled handles that while all
//!   of it lies within two of its segments, and comes up with a prefix of the batches; with more, it may come up
//!   without values that were synced long before. So at most [`ROUND_BYTES_MAX`] go into one batch, and each batch
//!   is synced before the next begins. An entry larger than that takes several rounds; an entry with only its first
//!   parts was never acknowledged, and counts as not written.
//! - Its file never shrinks. A log that keeps too much is [compacted](super::compaction) into a new file.
//! - It evicts nothing from its cache during a scan, however small the cache is configured. A scan closes and opens
//!   it now and then; the next open reads the entries written since the last one.
//! - It panics at some kinds of damage: every call is made where a panic is caught.
//! - It gives no sign at other kinds: values are silently gone. Hence the checksums, the chain, and the watermark,
//!   which another module owns.
//!
//! # Its beginning
//!
//! A log begins after its **base**: the entry of a checkpoint, or the root of the chain. [`Log::cut`] removes the
//! values before it, the first value first, a round at a time; and each commit removes some of them, which saves a
//! sync. A crash in between leaves values before the base. Nothing is expected of those, not even that they follow
//! each other.
//!
//! # When values are checked
//!
//! [`Log::open`] reads the values at the end and at the [base](super::extent). [`Log::scan`] reads all values after
//! the base, once, and checks each: a start scans before it writes. Reading everything twice would double the time
//! of a start and find nothing more.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use sled::IVec;

use super::durable::Visit;
use super::extent::{self, Extent, Head, Heads};
use super::value::{self, Assembler, Key, VALUE_BYTES_MAX, Value};
use super::{Damage, LogBase, LogEntry, StorageError, StorageErrorKind, sync};
use crate::types::GroupId;

mod compaction;

/// Most bytes that are written and not synced.
pub(super) const ROUND_BYTES_MAX: usize = 1 << 20;
/// Most values that a round of its own removes. Removing one makes sled rewrite some of its neighbours, and counts as much
/// as writing one; and a commit waits for a round that is under way.
pub(super) const ROUND_REMOVALS_MAX: usize = 16;
const _: () = assert!(ROUND_REMOVALS_MAX * VALUE_BYTES_MAX <= ROUND_BYTES_MAX);
/// Values that a commit takes along at least, if it has room: a small one is to stay fast.
const REMOVALS_ALONG: usize = 4;
/// sled's unit of writing and of reuse.
const SEGMENT_BYTES: usize = 8 << 20;
/// sled's cache, in bytes. Written values are hardly ever read again.
const CACHE_BYTES: u64 = 16 << 20;
/// Bytes read with one search of the tree.
const READ_BYTES: usize = 64 << 10;
/// Bytes read before sled's cache is emptied. Emptying takes long in a large file, so it is seldom done.
const REOPEN_BYTES: usize = 64 << 20;
/// There is one group for now.
const GROUP: GroupId = GroupId(0);

/// An open log.
pub(super) struct Log {
    /// Closed only while it is dropped, and after a failure.
    db: Option<sled::Db>,
    /// The database's file, to be synced.
    file: File,
    /// sled's folder.
    path: PathBuf,
    /// The data directory, for messages.
    directory: PathBuf,
    /// Nothing before its successor is needed.
    base: LogBase,
    /// Entries up to this one are to be removed, and some of them may be there yet.
    cutting: Option<u64>,
    extent: Extent,
    /// Bytes read since sled's cache was emptied last.
    read_bytes: usize,
}

impl Log {
    /// Makes an empty log that begins after `base`, in the new folder `path`; all of it is durable but the folder's
    /// own name.
    pub(super) fn create(directory: &Path, path: &Path, base: LogBase) -> Result<Self, StorageError> {
        fs::create_dir(path).map_err(|error| StorageError::io("create", path, error))?;
        let file = path.join("db");
        File::create_new(&file).map_err(|error| StorageError::io("create", &file, error))?;
        let mut log = Self::open(directory, path, base)?;
        log.call(Access::Write, |db| db.flush().map(drop))?;
        for name in ["db", "conf"] {
            let path = path.join(name);
            let file = File::open(&path).map_err(|error| StorageError::io("open", &path, error))?;
            sync::file(&file, &path)?;
        }
        sync::directory(&path.join("blobs"))?;
        sync::directory(path)?;
        Ok(log)
    }

    /// Sees to it that all that is read of the log in the folder `path` is durable, before sled opens it: see
    /// [`sync::settle`]. Nothing, if there is no log.
    pub(super) fn settle(directory: &Path, path: &Path) -> Result<(), StorageError> {
        let fail = |error| StorageError::io("read", path, error);
        let Some(database) = open_database(&path.join("db"))? else { return Ok(()) };
        lock(directory, path, &database)?;
        for entry in fs::read_dir(path).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            if path.is_file() {
                sync::settle(&path)?;
            }
        }
        unlock(path, &database)?;
        sync::directory(path)
    }

    /// Opens a log that begins after `base`, and finds its end.
    pub(super) fn open(directory: &Path, path: &Path, base: LogBase) -> Result<Self, StorageError> {
        let mut log = Self::open_unread(directory, path, base)?;
        log.no_blobs()?;
        log.extent = Extent::find(&mut log, base)?;
        Ok(log)
    }

    /// Reads a log that may be damaged: hands the entries that verify to `visit`, from the first one after
    /// `base` on. Returns the error that hides the next entry, or `None` at the end of the log.
    pub(super) fn salvage(
        directory: &Path,
        path: &Path,
        base: LogBase,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<Option<StorageError>, StorageError> {
        let damage_alone = |outcome: Result<(), StorageError>| match outcome {
            Ok(()) => Ok(None),
            Err(error) if error.kind() == StorageErrorKind::Damaged => Ok(Some(error)),
            Err(error) => Err(error),
        };
        let mut log = match Self::open_unread(directory, path, base) {
            Ok(log) => log,
            Err(error) => return damage_alone(Err(error)),
        };
        let found = Extent::find(&mut log, base).map(|extent| log.extent = extent);
        let end = damage_alone(found)?;
        if end.is_some() {
            // The end is not to be found from behind: read until something is in the way.
            log.extent.end.index = u64::MAX - 1;
        }
        if log.db.is_none()
            && let Err(error) = log.reopen()
        {
            // A panic closed it, and it does not open any more.
            return damage_alone(Err(error));
        }
        let blobs = damage_alone(log.no_blobs())?;
        let scanned = log.scan(base.index + 1, &mut |entry| visit(entry).map(ControlFlow::Continue));
        Ok(damage_alone(scanned)?.or(end).or(blobs))
    }

    fn open_unread(directory: &Path, path: &Path, base: LogBase) -> Result<Self, StorageError> {
        let database = path.join("db");
        let Some(file) = open_database(&database)? else {
            let (path, damage) = (directory.to_owned(), Damage::LogMissing);
            return Err(StorageError::Damaged { path, damage });
        };
        let db = open_sled(directory, path, &file)?;
        // It writes a little.
        sync::file(&file, &database)?;
        let (path, directory) = (path.to_owned(), directory.to_owned());
        let extent = Extent::empty(base);
        Ok(Self { db: Some(db), file, path, directory, base, cutting: None, extent, read_bytes: 0 })
    }

    /// The base: the one it was opened with, or the newest one at which it was cut if that is later.
    pub(super) fn base(&self) -> LogBase {
        self.base
    }

    /// Where it ends.
    pub(super) fn end(&self) -> LogBase {
        self.extent.end
    }

    /// Index of the last entry that was there when it was opened; below the base if the checkpoint was ahead of it.
    /// Then everything up to the base has to be cut before anything is appended.
    pub(super) fn last_found(&self) -> u64 {
        self.extent.last_found
    }

    /// Where it would end if everything from `index` on were gone.
    pub(super) fn end_before(&mut self, index: u64) -> Result<LogBase, StorageError> {
        let base = self.base;
        extent::end_before(self, base, index)
    }

    /// Adds entries, which follow each other. Those that stand from the first one's index on are removed. All of it
    /// is durable when this returns; a crash in between leaves a prefix of the old or of the new log. It also removes some of the
    /// values that are to be cut.
    pub(super) fn append(&mut self, entries: &[LogEntry]) -> Result<(), StorageError> {
        let Some(first) = entries.first() else { return Ok(()) };
        let mut count = 0;
        let end = self.extent.end;
        debug_assert!(first.index > self.base.index, "entry {} is below the base", first.index);
        debug_assert!(first.index <= end.index + 1, "entry {} leaves a gap", first.index);
        let mut round = Round::default();
        if first.index <= end.index || self.extent.remains {
            let before = self.end_before(first.index)?;
            self.remove_from(first.index, &mut round)?;
            (self.extent.end, self.extent.remains) = (before, false);
        }
        for entry in entries {
            debug_assert_eq!(entry.index, self.end().index + 1, "entries follow each other");
            let mut values = Vec::with_capacity(1);
            let crc = value::encode(GROUP, entry, self.end().crc, |key, value| values.push((key, value)));
            for (key, value) in values {
                if round.bytes + value.len() > ROUND_BYTES_MAX {
                    self.commit(std::mem::take(&mut round))?;
                }
                round.bytes += value.len();
                round.batch.insert(&key.encode(), value);
                count += 1;
            }
            self.extent.end = LogBase { index: entry.index, term: entry.term, crc };
        }
        self.remove_beginning(removals_along(count, round.bytes), &mut round)?;
        self.commit(round)
    }

    /// Removes entries from the beginning, up to `through` and with it; one round of values at most. Returns whether
    /// all of them are removed. The removal is durable; a crash may bring back some of the last round.
    pub(super) fn cut(&mut self, through: u64) -> Result<bool, StorageError> {
        if through > self.base.index {
            self.base = self.end_before(through + 1)?;
        }
        self.cutting = Some(through);
        let mut round = Round::default();
        self.remove_beginning(ROUND_REMOVALS_MAX, &mut round)?;
        self.commit(round)?;
        Ok(self.cutting.is_none())
    }

    /// Adds the removal of the first values that are to be cut to `round`, at most `count` of them.
    fn remove_beginning(&mut self, count: usize, round: &mut Round) -> Result<(), StorageError> {
        let Some(through) = self.cutting.filter(|_| count > 0) else { return Ok(()) };
        let to = Key::first(through + 1).encode();
        let keys: Vec<IVec> =
            self.call(Access::Read, |db| db.range::<&[u8], _>(..&to[..]).keys().take(count + 1).collect())?;
        for key in keys.iter().take(count) {
            round.bytes += VALUE_BYTES_MAX;
            round.batch.remove(key);
        }
        self.cutting = self.cutting.filter(|_| keys.len() > count);
        Ok(())
    }

    /// Removes the entries from `index` on, which is after the base. Durable when this returns; a crash in between
    /// leaves some of them, without a gap.
    pub(super) fn remove_end(&mut self, index: u64) -> Result<(), StorageError> {
        let end = self.end_before(index)?;
        let mut round = Round::default();
        self.remove_from(index, &mut round)?;
        self.commit(round)?;
        self.extent = Extent { end, remains: false, ..self.extent };
        Ok(())
    }

    /// Makes `base`, which is after all existing values, the beginning and the end of the log. The existing values are ignored
    /// from now on, and can be [cut](Self::cut) later.
    pub(super) fn rebase(&mut self, base: LogBase) {
        debug_assert!(base.index > self.extent.end.index, "entry {} is still there", base.index);
        (self.base, self.extent) = (base, Extent::empty(base));
    }

    /// Hands the entries from `first` on to `visit`, checking each value and that it continues the one before, until
    /// `visit` breaks it off.
    pub(super) fn scan(&mut self, first: u64, visit: &mut Visit<'_>) -> Result<(), StorageError> {
        if first > self.end().index {
            return Ok(());
        }
        let before = self.end_before(first)?;
        let mut assembler = Assembler::new(GROUP, first, before.term, before.crc);
        loop {
            let mut values = Vec::new();
            let read = self.read_some(assembler.next(), READ_BYTES, &mut values);
            let at_end = values.is_empty();
            for (key, bytes) in values {
                let flow = self.visit_value(&mut assembler, &key, &bytes, visit)?;
                if assembler.next().index > self.end().index || flow.is_break() {
                    // A read error after the last needed value does not matter, unless it closed sled.
                    return if self.db.is_none() { read } else { Ok(()) };
                }
            }
            // The values before the error have been visited.
            read?;
            if at_end {
                return Err(self.damaged(Damage::Hole { index: assembler.next().index }));
            }
            self.reopen_if_due()?;
        }
    }

    /// Adds the values from `from` on to `values`: the first one in any case, and no further one with which they would
    /// have more than `bytes_max` bytes. None at the end. If it fails, it has added the values before the failure.
    fn read_some(
        &mut self,
        from: Key,
        bytes_max: usize,
        values: &mut Vec<(IVec, IVec)>,
    ) -> Result<(), StorageError> {
        let mut bytes = 0;
        let read = self.call(Access::Read, |db| {
            for value in db.range(from.encode()..) {
                let (key, value) = value?;
                if bytes > 0 && bytes + value.len() > bytes_max {
                    break;
                }
                bytes += value.len();
                values.push((key, value));
            }
            Ok(())
        });
        self.read_bytes += bytes;
        read
    }

    /// Nothing more is written or read: something has failed. sled is not even closed, which would write.
    pub(super) fn abandon(&mut self) {
        std::mem::forget(self.db.take());
    }

    fn visit_value(
        &self,
        assembler: &mut Assembler,
        key: &IVec,
        bytes: &IVec,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>, StorageError> {
        let expected = assembler.next();
        let key = self.key(key)?;
        if key != expected {
            return Err(self.damaged(Damage::Hole { index: expected.index }));
        }
        let index = key.index;
        let bad = |source| self.damaged(Damage::Value { index, source });
        let value = Value::decode(bytes).map_err(bad)?;
        match assembler.take(&value).map_err(bad)? {
            Some(entry) => visit(entry),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// Gives back the memory that reading took. Reads as much of the file as was written since it was opened.
    pub(super) fn forget_read(&mut self) -> Result<(), StorageError> {
        if self.read_bytes >= REOPEN_BYTES / 16 { self.reopen() } else { Ok(()) }
    }

    fn reopen_if_due(&mut self) -> Result<(), StorageError> {
        if self.read_bytes >= REOPEN_BYTES { self.reopen() } else { Ok(()) }
    }

    /// Closes sled and opens it again, which empties its cache.
    fn reopen(&mut self) -> Result<(), StorageError> {
        self.read_bytes = 0;
        self.close(Lock::Await);
        // When sled opens, its summary covers the writes of the last close: sync these first.
        let database = self.path.join("db");
        sync::file(&self.file, &database)?;
        self.db = Some(open_sled(&self.directory, &self.path, &self.file)?);
        sync::file(&self.file, &database)
    }

    fn close(&mut self, lock: Lock) {
        let Some(db) = self.db.take() else { return };
        // Closing flushes, and there is nothing to flush. A panic while closing has no one to report to.
        let closed = catch_unwind(AssertUnwindSafe(|| drop(db))).is_ok();
        if closed && lock == Lock::Await {
            // sled's threads may hold its lock a moment longer; the next open of the log would find it locked.
            let _closed = flock(&self.file, FlockOperation::LockExclusive);
            let _open = flock(&self.file, FlockOperation::Unlock);
        }
    }

    /// A value, checked by itself.
    fn head(&self, found: Option<(IVec, IVec)>) -> Result<Option<Head>, StorageError> {
        let Some((key, bytes)) = found else { return Ok(None) };
        let key = self.key(&key)?;
        let bad = |source| self.damaged(Damage::Value { index: key.index, source });
        Head::decode(GROUP, key, &bytes).map(Some).map_err(bad)
    }

    fn key(&self, bytes: &[u8]) -> Result<Key, StorageError> {
        Key::decode(bytes).ok_or_else(|| self.damaged(Damage::Key))
    }

    /// Removes the values from `index` on, the last one first, so that a crash leaves a prefix.
    fn remove_from(&mut self, index: u64, round: &mut Round) -> Result<(), StorageError> {
        let from = Key::first(index).encode();
        let mut last = self.call(Access::Read, |db| db.last())?;
        while let Some((key, _)) = last.filter(|(key, _)| key.as_ref() >= &from[..]) {
            if round.bytes + VALUE_BYTES_MAX > ROUND_BYTES_MAX {
                self.commit(std::mem::take(round))?;
            }
            round.bytes += VALUE_BYTES_MAX;
            round.batch.remove(&key);
            last = self.call(Access::Read, |db| db.range(&from[..]..key.as_ref()).next_back().transpose())?;
        }
        Ok(())
    }

    fn commit(&mut self, round: Round) -> Result<(), StorageError> {
        if round.bytes == 0 {
            return Ok(());
        }
        self.call(Access::Write, |db| {
            db.apply_batch(round.batch)?;
            db.flush().map(drop)
        })?;
        sync::data(&self.file, &self.path.join("db"))
    }

    /// A call to sled, with its errors and its panics made ours.
    fn call<T>(
        &mut self,
        access: Access,
        call: impl FnOnce(&sled::Db) -> sled::Result<T>,
    ) -> Result<T, StorageError> {
        let Some(db) = &self.db else {
            return Err(StorageError::FailedBefore { path: self.directory.clone() });
        };
        match catch_unwind(AssertUnwindSafe(|| call(db))) {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(sled_error(&self.directory, access.action(), &self.path, error)),
            Err(_) => {
                match access {
                    Access::Read => self.close(Lock::Leave),
                    // What a write left half done may be waited for without end.
                    Access::Write => self.abandon(),
                }
                Err(self.damaged(Damage::FilesPanicked))
            }
        }
    }

    fn no_blobs(&self) -> Result<(), StorageError> {
        let path = self.path.join("blobs");
        let mut blobs = fs::read_dir(&path).map_err(|error| StorageError::io("read", &path, error))?;
        if blobs.next().is_some() { Err(self.damaged(Damage::Blobs)) } else { Ok(()) }
    }
}

impl Heads for Log {
    fn head_from(&mut self, key: Key) -> Result<Option<Head>, StorageError> {
        let key = key.encode();
        let found = self.call(Access::Read, |db| db.range(key..).next().transpose())?;
        self.head(found)
    }

    fn head_before(&mut self, key: Option<Key>) -> Result<Option<Head>, StorageError> {
        let found = self.call(Access::Read, |db| match key.map(Key::encode) {
            Some(key) => db.range(..key).next_back().transpose(),
            None => db.last(),
        })?;
        self.head(found)
    }

    fn damaged(&self, damage: Damage) -> StorageError {
        StorageError::Damaged { path: self.directory.clone(), damage }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.close(Lock::Await);
    }
}

/// Operations on sled.
#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
}

impl Access {
    fn action(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Whether to wait until sled's lock is free.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lock {
    Await,
    Leave,
}

/// What goes into one batch and is synced together.
#[derive(Default)]
struct Round {
    batch: sled::Batch,
    bytes: usize,
}

/// How many values a log that is being cut removes with a commit that adds `count` values and whose last round has
/// `round_bytes` bytes: twice as many as are added, if there is room.
pub(super) fn removals_along(count: usize, round_bytes: usize) -> usize {
    let room = ROUND_BYTES_MAX.saturating_sub(round_bytes) / VALUE_BYTES_MAX;
    (2 * count).max(REMOVALS_ALONG).min(room)
}

/// The database's file; `None` if there is none.
fn open_database(path: &Path) -> Result<Option<File>, StorageError> {
    match File::options().read(true).write(true).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StorageError::io("open", path, error)),
    }
}

/// Takes the lock that sled takes. No other process that respects the directory's lock holds it.
fn lock(directory: &Path, path: &Path, database: &File) -> Result<(), StorageError> {
    flock(database, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
        rustix::io::Errno::WOULDBLOCK => StorageError::InUse { path: directory.to_owned(), pid: None },
        error => StorageError::io("lock", path, error.into()),
    })
}

fn unlock(path: &Path, database: &File) -> Result<(), StorageError> {
    flock(database, FlockOperation::Unlock).map_err(|error| StorageError::io("unlock", path, error.into()))
}

fn open_sled(directory: &Path, path: &Path, database: &File) -> Result<sled::Db, StorageError> {
    // sled would say in a text that somebody has it.
    lock(directory, path, database)?;
    unlock(path, database)?;
    remove_half_summaries(path)?;
    let config = sled::Config::new()
        .path(path)
        .segment_size(SEGMENT_BYTES)
        .cache_capacity(CACHE_BYTES)
        .use_compression(false)
        .flush_every_ms(None);
    let db = catch_unwind(AssertUnwindSafe(|| config.open()))
        .map_err(|_| StorageError::Damaged { path: directory.to_owned(), damage: Damage::FilesPanicked })?
        .map_err(|error| sled_error(directory, "open", path, error))?;
    // sled writes a summary of its file when it opens it, and replaces an older one.
    sync::directory(path)?;
    Ok(db)
}

/// sled writes a summary of its file as `snap.N.generating` and renames it to `snap.N`. After a crash in between it
/// would take the half one for a summary that is damaged, and not open.
fn remove_half_summaries(path: &Path) -> Result<(), StorageError> {
    let fail = |error| StorageError::io("read", path, error);
    for entry in fs::read_dir(path).map_err(fail)? {
        let half = entry.map_err(fail)?.path();
        if half.extension().is_some_and(|extension| extension == "generating") {
            fs::remove_file(&half).map_err(|error| StorageError::io("remove", &half, error))?;
        }
    }
    Ok(())
}

fn sled_error(directory: &Path, action: &'static str, path: &Path, error: sled::Error) -> StorageError {
    match error {
        // A file that ends too early is no fault of the disk.
        sled::Error::Io(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
            StorageError::io(action, path, source)
        }
        error => StorageError::Damaged { path: directory.to_owned(), damage: Damage::Files(error) },
    }
}
