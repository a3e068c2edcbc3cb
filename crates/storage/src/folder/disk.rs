//! The [`Folder`] on real files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt as _;

use super::create::create_durably;
use super::{FixedFile, Folder, FolderFile, FolderWriter, JournalFolder, Path, PathBuf, StorageError, sync};

/// A folder on the disk.
#[derive(Clone, Debug)]
pub struct DiskFolder {
    path: PathBuf,
}

/// A file on the disk that is open for reading, perhaps also for overwriting.
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    path: PathBuf,
}

/// A file on the disk that is being written.
#[derive(Debug)]
pub struct DiskWriter {
    file: File,
    path: PathBuf,
}

impl DiskFolder {
    /// Opens the folder; creates it durably if it is missing.
    pub fn new(path: &Path) -> Result<Self, StorageError> {
        create_durably(path)?;
        Ok(Self::existing(path))
    }

    /// Links a file of another folder, which never changes, under the same name; copies it where the file system cannot
    /// link. The name is not durable when it returns.
    pub(crate) fn link(&self, from: &Self, name: &str) -> Result<(), StorageError> {
        let (there, here) = (from.path.join(name), self.path.join(name));
        if fs::hard_link(&there, &here).is_ok() {
            return Ok(());
        }
        let copied = fs::copy(&there, &here).and_then(|_| File::open(&here));
        sync::file(&copied.map_err(|error| StorageError::io("copy to", &here, error))?, &here)
    }

    /// A folder that must exist. Touches nothing.
    pub fn existing(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }
}

impl DiskFile {
    /// Opens a file at any path; `None` if there is none.
    pub fn open(path: &Path) -> Result<Option<Self>, StorageError> {
        Self::open_for(OpenOptions::new().read(true), path)
    }

    /// Wraps an open file, which may have no name: `name` is for error messages.
    pub fn of(file: File, name: &Path) -> Self {
        Self { file, path: name.to_owned() }
    }

    fn open_for(options: &OpenOptions, path: &Path) -> Result<Option<Self>, StorageError> {
        match options.open(path) {
            Ok(file) => Ok(Some(Self { file, path: path.to_owned() })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StorageError::io("open", path, error)),
        }
    }
}

/// Free space on the device of a folder, in bytes.
pub(crate) fn free_bytes(path: &Path) -> Result<u64, StorageError> {
    let free = rustix::fs::statvfs(path).map_err(|error| StorageError::io("look at", path, error.into()))?;
    Ok(free.f_bavail.saturating_mul(free.f_frsize))
}

/// Removes a folder and what is in it, if it is there.
pub(crate) fn remove_folder(path: &Path) -> Result<(), StorageError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StorageError::io("remove", path, error)),
        _ => Ok(()),
    }
}

impl Folder for DiskFolder {
    type File = DiskFile;
    type Writer = DiskWriter;

    fn path(&self) -> &Path {
        &self.path
    }

    fn create(&self, name: &str) -> Result<DiskWriter, StorageError> {
        let path = self.path.join(name);
        // The old file is removed, not truncated: another process may be reading it.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StorageError::io("remove", &path, error));
            }
            _ => {}
        }
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Ok(DiskWriter { file, path }),
            Err(error) => Err(StorageError::io("create", &path, error)),
        }
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        let to = self.path.join(to);
        fs::rename(self.path.join(from), &to).map_err(|error| StorageError::io("rename to", &to, error))
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        let path = self.path.join(name);
        fs::remove_file(&path).map_err(|error| StorageError::io("remove", &path, error))
    }

    fn sync(&self) -> Result<(), StorageError> {
        sync::directory(&self.path)
    }

    fn open(&self, name: &str) -> Result<Option<DiskFile>, StorageError> {
        DiskFile::open(&self.path.join(name))
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        free_bytes(&self.path)
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        let fail = |error| StorageError::io("read", &self.path, error);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(fail)? {
            names.extend(entry.map_err(fail)?.file_name().into_string().ok());
        }
        names.sort_unstable();
        Ok(names)
    }
}

impl FolderFile for DiskFile {
    fn read_at(&self, offset: u64, mut buffer: &mut [u8]) -> Result<usize, StorageError> {
        let mut done = 0;
        while !buffer.is_empty() {
            match self.file.read_at(buffer, offset + done as u64) {
                Ok(0) => break,
                Ok(read) => {
                    done += read;
                    buffer = buffer.get_mut(read..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(StorageError::io("read", &self.path, error)),
            }
        }
        Ok(done)
    }

    fn bytes(&self) -> Result<u64, StorageError> {
        let metadata = self.file.metadata().map_err(|error| StorageError::io("read", &self.path, error))?;
        Ok(metadata.len())
    }

    fn will_read(&self, offset: u64, bytes: u64) {
        // Only advice: if the file system ignores it, the later read waits for the disk.
        let _ = rustix::fs::fadvise(&self.file, offset, NonZeroU64::new(bytes), rustix::fs::Advice::WillNeed);
    }
}

impl JournalFolder for DiskFolder {
    type Fixed = DiskFile;

    fn overwrite(&self, name: &str) -> Result<Option<DiskFile>, StorageError> {
        DiskFile::open_for(OpenOptions::new().read(true).write(true), &self.path.join(name))
    }

    fn settle(&self, name: &str) -> Result<(), StorageError> {
        sync::settle(&self.path.join(name))
    }
}

impl FixedFile for DiskFile {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        self.file.write_all_at(bytes, offset).map_err(|error| StorageError::io("write", &self.path, error))
    }

    fn sync(&self) -> Result<(), StorageError> {
        sync::data(&self.file, &self.path)
    }
}

impl FolderWriter for DiskWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.file.write_all(bytes).map_err(|error| StorageError::io("write", &self.path, error))
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        sync::data(&self.file, &self.path)
    }
}
