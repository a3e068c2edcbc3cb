//! A backup as the read-only folder of a checkpoint: each file is a part of the one file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::StorageError;
use crate::backup_file::BackupFile;
use crate::folder::{DiskFile, Folder, FolderFile, FolderWriter};

/// The files in a backup.
#[derive(Clone, Debug)]
pub struct BackupFolder {
    path: PathBuf,
    file: Arc<DiskFile>,
    files: Arc<[BackupFile]>,
}

/// A file in a backup.
#[derive(Debug)]
pub struct BackupPartFile {
    file: Arc<DiskFile>,
    at: u64,
    bytes: u64,
}

/// Has no values: a backup is never written through its folder.
#[derive(Debug)]
pub enum NoWriter {}

impl BackupFolder {
    pub(super) fn new(path: &Path, file: Arc<DiskFile>, files: Vec<BackupFile>) -> Self {
        Self { path: path.to_owned(), file, files: files.into() }
    }

    /// The files in the folder, in the order of the backup.
    pub(super) fn files(&self) -> &[BackupFile] {
        &self.files
    }

    /// The file of this name.
    pub(super) fn find(&self, name: &str) -> Option<&BackupFile> {
        self.files.iter().find(|file| file.name == name)
    }

    fn read_only(&self, action: &'static str) -> StorageError {
        StorageError::io(action, &self.path, io::Error::from(io::ErrorKind::ReadOnlyFilesystem))
    }
}

impl Folder for BackupFolder {
    type File = BackupPartFile;
    type Writer = NoWriter;

    fn path(&self) -> &Path {
        &self.path
    }

    fn create(&self, _name: &str) -> Result<NoWriter, StorageError> {
        Err(self.read_only("create a file in"))
    }

    fn rename(&self, _from: &str, _to: &str) -> Result<(), StorageError> {
        Err(self.read_only("rename a file in"))
    }

    fn remove(&self, _name: &str) -> Result<(), StorageError> {
        Err(self.read_only("remove a file from"))
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn open(&self, name: &str) -> Result<Option<BackupPartFile>, StorageError> {
        Ok(self.find(name).map(|file| {
            let BackupFile { at, bytes, .. } = *file;
            BackupPartFile { file: Arc::clone(&self.file), at, bytes }
        }))
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        Ok(0)
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        let mut names: Vec<String> = self.files.iter().map(|file| file.name.clone()).collect();
        names.sort_unstable();
        Ok(names)
    }
}

impl FolderFile for BackupPartFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        let left = usize::try_from(self.bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = buffer.len().min(left);
        self.file.read_at(self.at + offset, buffer.get_mut(..count).unwrap_or_default())
    }

    fn bytes(&self) -> Result<u64, StorageError> {
        Ok(self.bytes)
    }

    fn will_read(&self, offset: u64, bytes: u64) {
        self.file.will_read(self.at + offset, bytes);
    }
}

impl FolderWriter for NoWriter {
    fn append(&mut self, _bytes: &[u8]) -> Result<(), StorageError> {
        match *self {}
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        match *self {}
    }
}
