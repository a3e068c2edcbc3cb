//! Extracts the files of a checkpoint from a backup.

use super::Backup;
use crate::StorageError;
use crate::chunks::MANIFEST;
use crate::chunks::output;
use crate::folder::Folder;

impl Backup {
    /// Writes the files of the checkpoint unchanged into a folder, after removing its previous content; durable when it
    /// returns. The manifest comes last: without it there is no checkpoint. Nothing is verified: see
    /// [`verify`](Self::verify).
    pub fn unpack<F: Folder>(&self, folder: &F) -> Result<(), StorageError> {
        folder.list()?.iter().try_for_each(|name| folder.remove(name))?;
        for file in self.folder.files().iter().filter(|file| file.name != MANIFEST) {
            if let Some(source) = self.folder.open(&file.name)? {
                output::copy(folder, &file.name, &source, |_| {})?;
            }
        }
        folder.sync()?;
        self.manifest.write(folder)
    }
}
