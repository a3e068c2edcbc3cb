//! All syncs of the storage layer are made here.
//!
//! So tests can observe each of them, and let one fail. A power cut leaves the synced data, and any part of the data
//! written after that: a test that observes every sync can build all those disks from the real files.
//!
//! After a failed sync, the system treats the data that it could not write as clean: it is still readable, and no
//! later sync writes it. So a process that starts does not trust what it reads from a file that another process may
//! have written without a successful sync, until the file is [settled](settle). Writing it again is not enough: ext4
//! then writes into an extent that it still treats as unwritten, and reads zeros from it when the cache is gone.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{Advice, OFlags, fadvise};

use super::StorageError;

/// An operation that was done on a file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// A file's data, or a directory's names, were made durable.
    Synced,
    /// The system was told to drop the file from its cache: from here on reads come from the disk.
    Dropped,
}

/// Called after each operation, with the path. Its error counts as the system's.
pub type Watcher = Box<dyn FnMut(Done, &Path) -> io::Result<()>>;

thread_local! {
    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// The bytes compared at a time.
const PIECE_BYTES: usize = 1 << 20;
/// A read that bypasses the system's cache needs memory that is aligned to this many bytes.
const PAGE_BYTES: usize = 4096;

/// Reports every operation of this thread to `watcher` from now on; `None` ends it. For tests: without a watcher its
/// cost is negligible beside that of a sync.
pub fn watch(watcher: Option<Watcher>) {
    WATCHER.set(watcher);
}

/// Makes a file's content and length durable, not its name.
pub(super) fn file(file: &File, path: &Path) -> Result<(), StorageError> {
    file.sync_all().and_then(|()| tell(Done::Synced, path)).map_err(|error| StorageError::sync(path, error))
}

/// Like `file`, without the file's times, which is faster.
pub(super) fn data(file: &File, path: &Path) -> Result<(), StorageError> {
    file.sync_data().and_then(|()| tell(Done::Synced, path)).map_err(|error| StorageError::sync(path, error))
}

/// Makes the names in a directory durable.
pub(super) fn directory(path: &Path) -> Result<(), StorageError> {
    let directory = File::open(path).map_err(|error| StorageError::io("open", path, error))?;
    file(&directory, path)
}

/// Makes everything durable that a reader of the file sees, even if earlier syncs failed: syncs the unwritten data,
/// drops the file from the system's cache, and compares the data read then with the data on the disk. Does nothing if there
/// is no file. The caller ensures that no process writes to it meanwhile.
pub(super) fn settle(path: &Path) -> Result<(), StorageError> {
    let fail = |action| move |error| StorageError::io(action, path, error);
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(fail("open"))?,
    };
    self::file(&file, path)?;
    fadvise(&file, 0, None, Advice::DontNeed).map_err(|error| fail("drop from memory")(error.into()))?;
    tell(Done::Dropped, path).map_err(fail("drop from memory"))?;
    // The advice is not binding: pages that another process has mapped or locked stay.
    let same = is_on_disk(&file, path).map_err(fail("read"))?;
    if same { Ok(()) } else { Err(fail("drop from memory")(io::ErrorKind::ResourceBusy.into())) }
}

/// Whether a normal read of a file returns the same data as a read that bypasses the cache. True if the file system does not
/// support such reads.
fn is_on_disk(file: &File, path: &Path) -> io::Result<bool> {
    let opened = File::options().read(true).custom_flags(OFlags::DIRECT.bits().cast_signed()).open(path);
    let Some(disk) = known(opened)? else { return Ok(true) };
    let (mut shown, mut memory) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES + PAGE_BYTES]);
    let begin = memory.as_ptr().align_offset(PAGE_BYTES);
    let mut at = 0;
    loop {
        // Not past the last block: a process that was killed while it wrote may leave blocks after the end that are not
        // allocated yet, and Linux fails a direct read that meets them.
        let left = usize::try_from(file.metadata()?.len().saturating_sub(at)).unwrap_or(PIECE_BYTES);
        let wanted = left.next_multiple_of(PAGE_BYTES).min(PIECE_BYTES);
        let there = memory.get_mut(begin..begin + wanted).unwrap_or_default();
        let Some(bytes) = known(read_at(&disk, there, at))? else { return Ok(true) };
        if read_at(file, &mut shown, at)? != bytes || shown.get(..bytes) != there.get(..bytes) {
            return Ok(false);
        }
        if bytes >= left {
            return Ok(true);
        }
        at += bytes as u64;
    }
}

/// `None` if the file system does not support reads that bypass the cache.
fn known<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        outcome => outcome.map(Some),
    }
}

fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

fn tell(done: Done, path: &Path) -> io::Result<()> {
    WATCHER.with_borrow_mut(|watcher| watcher.as_mut().map_or(Ok(()), |watcher| watcher(done, path)))
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "lengths are known here")]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::rc::Rc;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_file_that_is_settled_is_what_it_was() {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("file");
        settle(&path).expect("there is nothing to settle");
        assert!(!path.exists());
        for length in [0, 1, PIECE_BYTES - 1, PIECE_BYTES, 2 * PIECE_BYTES + 5] {
            let bytes: Vec<u8> = (0..length).map(|at| at.to_le_bytes()[0] ^ at.to_le_bytes()[1]).collect();
            fs::write(&path, &bytes).expect("written");
            settle(&path).expect("settled");
            assert!(fs::read(&path).expect("read") == bytes, "{length} bytes");
        }
    }

    #[test]
    fn a_file_that_is_read_otherwise_than_from_the_disk_is_told() {
        let directory = TempDir::new().expect("a directory");
        let [path, other] = ["file", "other"].map(|name| directory.path().join(name));
        let bytes = vec![7; 2 * PIECE_BYTES + 5];
        fs::write(&path, &bytes).expect("written");
        let on_disk = |bytes: &[u8]| {
            fs::write(&other, bytes).expect("written");
            is_on_disk(&File::open(&other).expect("opened"), &path).expect("read")
        };
        assert!(on_disk(&bytes));
        for at in [0, PIECE_BYTES - 1, PIECE_BYTES, bytes.len() - 1] {
            let mut stale = bytes.clone();
            stale[at] ^= 1;
            assert!(!on_disk(&stale), "byte {at}");
        }
        assert!(!on_disk(&bytes[1..]) && !on_disk(&[&bytes[..], &[7]].concat()), "another length");
    }

    #[test]
    fn an_error_of_the_watcher_is_one_of_the_sync() {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("file");
        let file = File::create(&path).expect("made");
        let syncs = Rc::new(Cell::new(0));
        let seen = Rc::clone(&syncs);
        watch(Some(Box::new(move |done, _| {
            seen.set(seen.get() + u32::from(done == Done::Synced));
            if seen.get() == 4 { Err(io::Error::other("told to fail")) } else { Ok(()) }
        })));
        let outcomes = [
            super::file(&file, &path),
            data(&file, &path),
            super::directory(directory.path()),
            settle(&path),
            data(&file, &path),
        ];
        watch(None);
        assert_eq!(outcomes.map(|outcome| outcome.is_ok()), [true, true, true, false, true]);
        assert_eq!(syncs.get(), 5);
    }
}
