//! Only one process at a time uses a data directory.
//!
//! The system's lock on an open file (`flock`): it ends with the process, however that ends, so a leftover lock file
//! means nothing. It works within one process as well. The file's content, the process id, is only for the error
//! message of the next process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use super::StorageError;

/// The name of the file in the data directory.
pub(super) const NAME: &str = "lock";

/// Holds the lock while it lives.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Locks `directory` and leaves its lock file as it is; `None` if there is no file: then no process holds the lock.
    pub(super) fn hold(directory: &Path) -> Result<Option<Self>, StorageError> {
        let path = directory.join(NAME);
        match File::open(&path) {
            Ok(file) => Self::of_file(file, directory, &path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StorageError::io("open", &path, error)),
        }
    }

    /// Takes the lock of `directory`, or reports who holds it.
    pub(super) fn take(directory: &Path) -> Result<Self, StorageError> {
        let path = directory.join(NAME);
        let fail = |action| {
            let path = &path;
            move |source| StorageError::io(action, path, source)
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(fail("open"))?;
        let mut lock = Self::of_file(file, directory, &path)?;
        note_pid(&mut lock.file).map_err(fail("write"))?;
        Ok(lock)
    }

    fn of_file(mut file: File, directory: &Path, path: &Path) -> Result<Self, StorageError> {
        match file.try_lock() {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => {
                Err(StorageError::InUse { path: directory.to_owned(), pid: pid(&mut file) })
            }
            Err(TryLockError::Error(error)) => Err(StorageError::io("lock", path, error)),
        }
    }
}

fn note_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that this process is about to start has it open until it runs.
        let _closed_anyway = self.file.unlock();
    }
}

fn pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
