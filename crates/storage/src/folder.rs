//! A folder of files: the only interface through which checkpoints and the journal touch files.
//!
//! [`Folder`] has two implementations: [`DiskFolder`] on real files, and [`SimulatedFolder`], a simulation in memory,
//! which loses unsynced data, tears writes, flips bits, fails and fills up. Neither knows the content of the files.
//! [`SpareFolder`] wraps one of them and reserves some of its space.
//!
//! # Promises
//!
//! - Only the creator of a file appends to it; its synced data is durable. A file of checkpoints is written once. A file
//!   of the journal is overwritten: a power cut keeps any part of what was written since the last sync.
//! - A name (of a file that was created, renamed or removed) is durable after [`Folder::sync`], not before.
//! - An open file stays readable after its name was removed or given to another file.
//!
//! After an error of the system nothing more may be done with a folder, with one exception: when the disk is full,
//! removing files is still allowed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{StorageError, sync};

pub(crate) mod create;
mod disk;
mod simulated;
mod spare;

pub use disk::{DiskFile, DiskFolder, DiskWriter};
pub(super) use disk::{free_bytes, remove_folder};
pub use simulated::{Fault, FaultyFile, FaultyWriter, SimulatedFolder};
pub use spare::{SpareFolder, SpareWriter};

/// A folder. Clones are the same folder.
pub trait Folder: Clone + Send + Sync + 'static {
    /// A file that is open for reading.
    type File: FolderFile;
    /// A file that is being written.
    type Writer: FolderWriter;

    /// Its path, for error messages.
    fn path(&self) -> &Path;

    /// Creates a new file. An older file of this name loses the name, and stays readable for those who have it open.
    fn create(&self, name: &str) -> Result<Self::Writer, StorageError>;

    /// Renames a file. Replaces a file that has the new name.
    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError>;

    /// Removes a file's name; its space is free when no process has it open any more.
    fn remove(&self, name: &str) -> Result<(), StorageError>;

    /// Makes the names durable.
    fn sync(&self) -> Result<(), StorageError>;

    /// Opens a file for reading; `None` if there is none of this name.
    fn open(&self, name: &str) -> Result<Option<Self::File>, StorageError>;

    /// Opens a file that must be there.
    fn existing(&self, name: &str) -> Result<Self::File, StorageError> {
        let missing = || StorageError::io("open", &self.path().join(name), ErrorKind::NotFound.into());
        self.open(name)?.ok_or_else(missing)
    }

    /// Free space on its device, in bytes.
    fn free_bytes(&self) -> Result<u64, StorageError>;

    /// The names in it, sorted. Names that are not UTF-8 are left out.
    fn list(&self) -> Result<Vec<String>, StorageError>;
}

/// A file that is open for reading.
pub trait FolderFile: std::fmt::Debug + Send + Sync + 'static {
    /// Fills `buffer` from `offset` on. Returns how many bytes there were: fewer than were asked for only at the end
    /// of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError>;

    /// Its length in bytes.
    fn bytes(&self) -> Result<u64, StorageError>;

    /// Announces a read. An implementation may begin it now; the call does not wait. Errors appear at the read, not before.
    fn will_read(&self, offset: u64, bytes: u64);
}

/// A file that is being written.
pub trait FolderWriter: Send + 'static {
    /// Writes at its end.
    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError>;

    /// Makes the written data durable, not the file's name.
    fn sync(&mut self) -> Result<(), StorageError>;
}

/// A folder whose files can be overwritten.
pub trait JournalFolder: Folder {
    /// A file that is being overwritten.
    type Fixed: FixedFile;

    /// Opens a file to be read and overwritten; `None` if there is none of this name.
    fn overwrite(&self, name: &str) -> Result<Option<Self::Fixed>, StorageError>;

    /// Makes durable what a reader of the file sees, even if earlier syncs failed; does nothing if there is no file.
    /// See [`sync::settle`].
    fn settle(&self, name: &str) -> Result<(), StorageError>;
}

/// A file whose content is overwritten and whose length stays.
pub trait FixedFile: FolderFile {
    /// Writes within its length.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError>;

    /// Makes the written data durable.
    fn sync(&self) -> Result<(), StorageError>;
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "lengths are known here")]
mod tests;
