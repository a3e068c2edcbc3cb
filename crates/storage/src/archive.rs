//! Keeps the stretches of the log that no longer fit into the journal. A stretch is added and removed as a whole.
//!
//! A stretch is the bytes of its journal file, head and records. It is there in full, durable and read back, or not at
//! all: it is written under another name, and renamed. After that it never changes.
//!
//! [`SledArchive`] keeps each stretch in a sled database of its own, in values of 64 KiB. sled is used for what it does
//! well, and its weak points are covered here:
//!
//! - Its `flush` does not reach the disk on Linux. Every file is synced once more when the database is closed.
//! - After a power cut, it may come up without values. The database has its name only when all of it is durable; one
//!   without that name is removed.
//! - It gives no sign at some kinds of damage: values are silently gone. Each stretch is read back before its journal
//!   file is used again; and records have checksums.
//! - It panics at other kinds: every call is made where a panic is caught.
//! - Its behaviour on a full disk is untested: it is called only where there is room. If the room runs out meanwhile,
//!   any error of sled counts as a full disk.
//! - It evicts nothing from its cache during a scan: a database is open only while its stretch is read.

use std::fmt;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use super::folder::{Folder, FolderFile, FolderWriter as _, free_bytes, remove_folder};
use super::journal::layout::BLOCK_BYTES;
use super::{Damage, StorageError, sync};

/// Bytes of a value.
const PIECE_BYTES: usize = 64 << 10;
/// sled's unit of writing.
const SEGMENT_BYTES: usize = 8 << 20;
/// sled's cache, in bytes. A value is read once.
const CACHE_BYTES: u64 = 16 << 20;
/// Free space that a database needs beside the stretch: sled allocates a segment before it needs it.
const SPARE_BYTES: u64 = 2 * SEGMENT_BYTES as u64;
/// Prefix of the name of a stretch.
const PREFIX: &str = "stretch-";
/// Suffix of the name while the stretch is incomplete.
const UNFINISHED: &str = ".new";
/// A copy of a stretch's first block, in its folder: it is read without sled.
const HEAD: &str = "head";

/// Keeps stretches. Clones are the same archive.
pub(super) trait Archive: Clone + Send + 'static {
    /// A stretch that is open for reading.
    type Stretch: FolderFile;

    /// The numbers of the stretches, in no order. Unfinished ones are removed.
    fn list(&self) -> Result<Vec<u64>, StorageError>;

    /// The first [`BLOCK_BYTES`] of a stretch.
    fn head(&self, number: u64) -> Result<Vec<u8>, StorageError>;

    /// Opens a stretch.
    fn open(&self, number: u64) -> Result<Self::Stretch, StorageError>;

    /// Copies the first `bytes` of `source` into the archive. Durable when it returns.
    fn write(&self, number: u64, source: &dyn FolderFile, bytes: u64) -> Result<(), StorageError>;

    /// Removes a stretch, if it is there.
    fn remove(&self, number: u64) -> Result<(), StorageError>;
}

/// An archive of files, for folders without sled.
#[derive(Clone, Debug)]
pub(super) struct FileArchive<F>(pub(super) F);

impl<F: Folder> Archive for FileArchive<F> {
    type Stretch = F::File;

    fn list(&self) -> Result<Vec<u64>, StorageError> {
        let mut numbers = Vec::new();
        for name in self.0.list()? {
            match number_of(&name) {
                Some(number) => numbers.push(number),
                None if is_unfinished(&name) => self.0.remove(&name)?,
                None => {}
            }
        }
        Ok(numbers)
    }

    fn head(&self, number: u64) -> Result<Vec<u8>, StorageError> {
        let mut head = vec![0; BLOCK_BYTES];
        let read = self.open(number)?.read_at(0, &mut head)?;
        head.truncate(read);
        Ok(head)
    }

    fn open(&self, number: u64) -> Result<F::File, StorageError> {
        self.0.existing(&name(number))
    }

    fn write(&self, number: u64, source: &dyn FolderFile, bytes: u64) -> Result<(), StorageError> {
        let unfinished = name(number) + UNFINISHED;
        let mut file = self.0.create(&unfinished)?;
        for_each_piece(source, bytes, |_, piece| file.append(piece))?;
        file.sync()?;
        self.0.rename(&unfinished, &name(number))?;
        self.0.sync()
    }

    fn remove(&self, number: u64) -> Result<(), StorageError> {
        match self.0.open(&name(number))? {
            Some(_) => self.0.remove(&name(number)),
            None => Ok(()),
        }
    }
}

/// An archive of sled databases, each in a folder of its own.
#[derive(Clone, Debug)]
pub(super) struct SledArchive {
    /// The folder of the log.
    path: PathBuf,
    /// The data directory, for messages.
    directory: PathBuf,
}

impl SledArchive {
    /// In the folder of the log `path`.
    pub(super) fn new(directory: &Path, path: &Path) -> Self {
        Self { path: path.to_owned(), directory: directory.to_owned() }
    }

    fn stretch(&self, number: u64) -> PathBuf {
        self.path.join(name(number))
    }
}

impl Archive for SledArchive {
    type Stretch = SledStretch;

    fn list(&self) -> Result<Vec<u64>, StorageError> {
        let fail = |error| StorageError::io("read", &self.path, error);
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name();
            match name.to_str().and_then(number_of) {
                Some(number) => numbers.push(number),
                None if name.to_str().is_some_and(is_unfinished) => remove_folder(&entry.path())?,
                None => {}
            }
        }
        Ok(numbers)
    }

    fn head(&self, number: u64) -> Result<Vec<u8>, StorageError> {
        let path = self.stretch(number).join(HEAD);
        fs::read(&path).map_err(|error| StorageError::io("read", &path, error))
    }

    fn open(&self, number: u64) -> Result<SledStretch, StorageError> {
        SledStretch::open(&self.directory, &self.stretch(number))
    }

    fn write(&self, number: u64, source: &dyn FolderFile, bytes: u64) -> Result<(), StorageError> {
        let path = self.path.join(name(number) + UNFINISHED);
        remove_folder(&path)?;
        let full = || StorageError::DiskFull { action: "write to", path: self.path.clone() };
        if free_bytes(&self.path)? < bytes + SPARE_BYTES {
            return Err(full());
        }
        let mut written = write_database(&self.directory, &path, source, bytes);
        // An error of sled does not say why a write failed. One of the system does; a copy that differs has another
        // cause.
        let says_why = |error: &StorageError| {
            matches!(error, StorageError::Io { .. } | StorageError::Damaged { damage: Damage::Copy, .. })
        };
        if written.as_ref().is_err_and(|error| !says_why(error)) && free_bytes(&self.path)? < SPARE_BYTES / 2
        {
            written = Err(full());
        }
        if written.as_ref().is_err_and(StorageError::is_shortage_or_late) {
            // If this fails, the next start removes it.
            let _ = remove_folder(&path);
        }
        written?;
        let to = self.stretch(number);
        fs::rename(&path, &to).map_err(|error| StorageError::io("rename to", &to, error))?;
        sync::directory(&self.path)
    }

    fn remove(&self, number: u64) -> Result<(), StorageError> {
        let (path, leaving) = (self.stretch(number), self.path.join(name(number) + UNFINISHED));
        match fs::rename(&path, &leaving) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StorageError::io("rename to", &leaving, error))
            }
            _ => remove_folder(&leaving),
        }
    }
}

/// Writes a stretch into the new folder `path`, and reads it back. All of it is durable except for the folder's name.
fn write_database(
    directory: &Path,
    path: &Path,
    source: &dyn FolderFile,
    bytes: u64,
) -> Result<(), StorageError> {
    fs::create_dir(path).map_err(|error| StorageError::io("create", path, error))?;
    let mut batch = sled::Batch::default();
    for_each_piece(source, bytes, |number, piece| {
        if number == 0 {
            let head = path.join(HEAD);
            let block = piece.get(..BLOCK_BYTES).unwrap_or(piece);
            fs::write(&head, block).map_err(|error| StorageError::io("write", &head, error))?;
        }
        batch.insert(&number.to_be_bytes(), piece);
        Ok(())
    })?;
    let written = SledStretch::open(directory, path)?;
    written.call("write", |db| {
        db.apply_batch(batch)?;
        db.flush().map(drop)
    })?;
    drop(written);
    let written = SledStretch::open(directory, path)?;
    for_each_piece(source, bytes, |number, piece| {
        let found = written.call("read", |db| db.get(number.to_be_bytes()))?;
        if found.is_some_and(|found| found == piece) {
            return Ok(());
        }
        Err(StorageError::Damaged { path: directory.to_owned(), damage: Damage::Copy })
    })?;
    drop(written);
    sync_files(path)
}

/// Syncs every file in a folder, and the folder itself.
fn sync_files(path: &Path) -> Result<(), StorageError> {
    let fail = |error| StorageError::io("read", path, error);
    for entry in fs::read_dir(path).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() {
            sync_files(&path)?;
        } else {
            let file = File::open(&path).map_err(|error| StorageError::io("open", &path, error))?;
            sync::file(&file, &path)?;
        }
    }
    sync::directory(path)
}

/// A stretch in a database.
pub(super) struct SledStretch {
    /// `None` only while it is dropped, and after a panic.
    db: Option<sled::Db>,
    path: PathBuf,
    directory: PathBuf,
}

impl SledStretch {
    fn open(directory: &Path, path: &Path) -> Result<Self, StorageError> {
        let config = sled::Config::new()
            .path(path)
            .segment_size(SEGMENT_BYTES)
            .cache_capacity(CACHE_BYTES)
            .use_compression(false)
            .flush_every_ms(None);
        let damaged = |damage| StorageError::Damaged { path: directory.to_owned(), damage };
        let db = catch_unwind(AssertUnwindSafe(|| config.open()))
            .map_err(|_| damaged(Damage::FilesPanicked))?
            .map_err(|error| sled_error(directory, "open", path, error))?;
        Ok(Self { db: Some(db), path: path.to_owned(), directory: directory.to_owned() })
    }

    /// Calls sled, and converts its errors and panics to errors of storage.
    fn call<T>(
        &self,
        action: &'static str,
        call: impl FnOnce(&sled::Db) -> sled::Result<T>,
    ) -> Result<T, StorageError> {
        let panicked =
            || StorageError::Damaged { path: self.directory.clone(), damage: Damage::FilesPanicked };
        let db = self.db.as_ref().ok_or_else(panicked)?;
        catch_unwind(AssertUnwindSafe(|| call(db)))
            .map_err(|_| panicked())?
            .map_err(|error| sled_error(&self.directory, action, &self.path, error))
    }
}

impl FolderFile for SledStretch {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at = offset + done as u64;
            let number = u32::try_from(at / PIECE_BYTES as u64).unwrap_or(u32::MAX);
            let Some(piece) = self.call("read", |db| db.get(number.to_be_bytes()))? else { break };
            let within = usize::try_from(at % PIECE_BYTES as u64).unwrap_or(0);
            let piece = piece.get(within..).unwrap_or_default();
            let read = rest.iter_mut().zip(piece).map(|(to, from)| *to = *from).count();
            if read == 0 {
                break;
            }
            done += read;
        }
        Ok(done)
    }

    fn bytes(&self) -> Result<u64, StorageError> {
        let last = self.call("read", |db| db.last())?;
        Ok(last.map_or(0, |(number, piece)| {
            let number = number.as_ref().try_into().map_or(0, u32::from_be_bytes);
            u64::from(number) * PIECE_BYTES as u64 + piece.len() as u64
        }))
    }

    fn will_read(&self, _offset: u64, _bytes: u64) {}
}

impl fmt::Debug for SledStretch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SledStretch").field(&self.path).finish()
    }
}

impl Drop for SledStretch {
    fn drop(&mut self) {
        let Some(db) = self.db.take() else { return };
        // Nothing can be told of a panic while closing.
        let closed = catch_unwind(AssertUnwindSafe(|| drop(db))).is_ok();
        if closed && let Ok(file) = File::open(self.path.join("db")) {
            // sled's threads may hold the lock a moment longer: wait, so that the next open does not find it locked.
            let _closed = file.lock();
            let _open = file.unlock();
        }
    }
}

fn sled_error(directory: &Path, action: &'static str, path: &Path, error: sled::Error) -> StorageError {
    match error {
        // A file that ends too early is damaged; the disk did not fail.
        sled::Error::Io(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
            StorageError::io(action, path, source)
        }
        error => StorageError::Damaged { path: directory.to_owned(), damage: Damage::Files(error) },
    }
}

fn for_each_piece(
    source: &dyn FolderFile,
    bytes: u64,
    mut visit: impl FnMut(u32, &[u8]) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut at = 0;
    for number in 0.. {
        let wanted = usize::try_from(bytes - at).unwrap_or(usize::MAX).min(PIECE_BYTES);
        piece.truncate(wanted);
        if wanted == 0 || source.read_at(at, &mut piece)? < wanted {
            break;
        }
        visit(number, &piece)?;
        at += wanted as u64;
    }
    Ok(())
}

fn name(number: u64) -> String {
    format!("{PREFIX}{number}")
}

fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

fn is_unfinished(name: &str) -> bool {
    name.strip_suffix(UNFINISHED).and_then(number_of).is_some()
}
