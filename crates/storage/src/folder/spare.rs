//! A folder that keeps some space of its device free, which other work needs to recover from a full disk.
//!
//! Below that reserve it refuses to create or extend a file, as if the disk were full. It checks before each file
//! and every few MiB, so it may exceed the limit by that much. All other calls pass through.

use super::{Folder, FolderWriter, Path, StorageError};

/// Bytes written between two checks of the free space.
const LOOK_EVERY_BYTES: usize = 4 << 20;

/// A folder on a device that leaves some space free. Clones are the same folder.
#[derive(Clone, Debug)]
pub struct SpareFolder<F> {
    folder: F,
    spare_bytes: u64,
}

/// A file in it that is being written.
#[derive(Debug)]
pub struct SpareWriter<F: Folder> {
    writer: F::Writer,
    folder: SpareFolder<F>,
    /// Bytes written since the last check.
    bytes: usize,
}

impl<F: Folder> SpareFolder<F> {
    /// Keeps this many bytes free; with 0 it never checks.
    pub fn new(folder: F, spare_bytes: u64) -> Self {
        Self { folder, spare_bytes }
    }

    fn look(&self) -> Result<(), StorageError> {
        if self.spare_bytes > 0 && self.folder.free_bytes()? < self.spare_bytes {
            let path = self.folder.path().to_owned();
            return Err(StorageError::DiskFull { action: "write to", path });
        }
        Ok(())
    }
}

impl<F: Folder> Folder for SpareFolder<F> {
    type File = F::File;
    type Writer = SpareWriter<F>;

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn create(&self, name: &str) -> Result<SpareWriter<F>, StorageError> {
        self.look()?;
        Ok(SpareWriter { writer: self.folder.create(name)?, folder: self.clone(), bytes: 0 })
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        self.folder.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        self.folder.remove(name)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.folder.sync()
    }

    fn open(&self, name: &str) -> Result<Option<F::File>, StorageError> {
        self.folder.open(name)
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        Ok(self.folder.free_bytes()?.saturating_sub(self.spare_bytes))
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        self.folder.list()
    }
}

impl<F: Folder> FolderWriter for SpareWriter<F> {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.bytes += bytes.len();
        if self.bytes >= LOOK_EVERY_BYTES {
            self.bytes = 0;
            self.folder.look()?;
        }
        self.writer.append(bytes)
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        self.writer.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::SimulatedFolder;

    #[test]
    fn what_is_spared_is_left_to_others() {
        const MIB: usize = 1 << 20;
        let device = SimulatedFolder::new(0);
        device.set_capacity_bytes(20 * MIB as u64);
        let folder = SpareFolder::new(device.clone(), 10 * MIB as u64);
        let mut writer = folder.create("a").expect("there is space");
        let mut written = 0;
        let refused = loop {
            match writer.append(&vec![1; MIB / 4]) {
                Ok(()) => written += MIB / 4,
                Err(error) => break error,
            }
        };
        assert!(refused.is_shortage(), "{refused}");
        assert!((10 * MIB..=14 * MIB).contains(&written), "{written} bytes were written");
        assert!(folder.create("b").map(drop).expect_err("no space").is_shortage());
        // Other folders still have some space, and the unfinished file can be removed.
        device.create("c").and_then(|mut other| other.append(&vec![1; MIB])).expect("there is space");
        folder.remove("a").expect("removed");
        folder.create("b").map(drop).expect("there is space");
        SpareFolder::new(device, 0).create("d").map(drop).expect("it never looks");
    }
}
