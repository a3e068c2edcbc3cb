//! One process at a time has a data directory.
//!
//! The system's lock on an open file (`flock`): it ends with the process, however that ends, so a lock file that is
//! left behind means nothing. It counts within one process as well. The file's content, the process id, is only for
//! the message that the next one shows.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use super::StorageError;

/// The name of the file in the data directory.
pub(super) const NAME: &str = "lock";

/// Held while it lives.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock of `directory`, or says who has it.
    pub(super) fn take(directory: &Path) -> Result<Self, StorageError> {
        let path = directory.join(NAME);
        let fail = |action| {
            let path = &path;
            move |source| StorageError::io(action, path, source)
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(fail("open"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(StorageError::InUse { path: directory.to_owned(), pid: pid(&mut file) });
            }
            Err(error) => return Err(fail("lock")(error.into())),
        }
        note_pid(&mut file).map_err(fail("write"))?;
        Ok(Self { file })
    }
}

fn note_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that this process is about to start has it open until it runs.
        let _closed_anyway = flock(&self.file, FlockOperation::Unlock);
    }
}

fn pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
