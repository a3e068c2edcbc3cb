//! A partial snapshot, as a file that becomes a backup when it is complete. Everything here blocks.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use adjourn_storage::StorageError;
use adjourn_storage::backup_file::{FOOTER_BYTES, footer};

/// The size of one read, in bytes.
const READ_BYTES: usize = 256 << 10;

/// The file of a partial snapshot.
pub(super) struct PartialSnapshot {
    path: PathBuf,
    file: File,
    hasher: Box<Xxh3>,
    bytes: u64,
}

impl PartialSnapshot {
    /// Continues the file at `path` if it begins with `first`, the first bytes of a checkpoint of `total` bytes; else
    /// begins a new one with them.
    pub(super) fn begin(path: &Path, first: &[u8], total: u64) -> Result<Self, StorageError> {
        let fail = |error| StorageError::io("write", path, error);
        let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = open().map_err(fail)?;
        let kept = kept_bytes(&mut file, first, total).map_err(fail)?;
        file.set_len(kept).map_err(fail)?;
        let mut partial = Self { path: path.to_owned(), file, hasher: Box::new(Xxh3::new()), bytes: 0 };
        if kept == 0 {
            partial.put(first)?;
        } else {
            partial.hash_all().map_err(fail)?;
        }
        Ok(partial)
    }

    /// The length so far, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds bytes at the end.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.file.write_all(bytes).map_err(|error| StorageError::io("write", &self.path, error))?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Turns the complete file into a backup.
    pub(super) fn finish(mut self) -> Result<(), StorageError> {
        let footer = footer(self.hasher.digest128(), self.bytes + FOOTER_BYTES);
        self.put(&footer)
    }

    /// Hashes the present bytes, and ends at the end of the file.
    fn hash_all(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let read = self.file.read(&mut buffer)?;
            if read == 0 {
                return Ok(());
            }
            self.hasher.update(buffer.get(..read).unwrap_or_default());
            self.bytes += read as u64;
        }
    }
}

/// Removes the file, if it exists.
pub(super) fn remove(path: &Path) -> Result<(), StorageError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StorageError::io("remove", path, error)),
        _ => Ok(()),
    }
}

/// How many bytes of a file may stay: none if it does not begin with `first`. A footer does not stay.
fn kept_bytes(file: &mut File, first: &[u8], total: u64) -> io::Result<u64> {
    let bytes = file.metadata()?.len();
    if bytes < first.len() as u64 {
        return Ok(0);
    }
    let mut found = vec![0; first.len()];
    file.read_exact(&mut found)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(if found == first { bytes.min(total) } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("pulled");
        (directory, path)
    }

    #[test]
    fn it_goes_on_where_it_was_if_it_begins_with_the_same_bytes() {
        let (_directory, path) = places();
        let mut partial = PartialSnapshot::begin(&path, b"head", 12).expect("begun");
        partial.put(b"more").expect("written");
        drop(partial);
        let mut partial = PartialSnapshot::begin(&path, b"head", 12).expect("begun");
        assert_eq!(partial.bytes(), 8);
        partial.put(b"rest").expect("written");
        partial.finish().expect("written");
        let whole = std::fs::read(&path).expect("a file");
        let hash = xxhash_rust::xxh3::xxh3_128(b"headmorerest");
        assert_eq!(whole, [b"headmorerest", &footer(hash, 12 + FOOTER_BYTES)[..]].concat());
        let again = PartialSnapshot::begin(&path, b"head", 12).expect("begun");
        assert_eq!(again.bytes(), 12, "a footer is none of it");
    }

    #[test]
    fn of_another_checkpoint_nothing_is_kept() {
        let (_directory, path) = places();
        for there in [&b"tail and more"[..], b"he", b""] {
            std::fs::write(&path, there).expect("written");
            drop(PartialSnapshot::begin(&path, b"head", 12).expect("begun"));
            assert_eq!(std::fs::read(&path).expect("a file"), b"head");
        }
        remove(&path).and_then(|()| remove(&path)).expect("gone, and gone already");
        assert!(!path.exists());
    }
}
