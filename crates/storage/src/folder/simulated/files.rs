//! Open files of the simulated folder.

use super::super::{FixedFile, FolderFile, FolderWriter, StorageError};
use super::{Fault, SharedContent, SimulatedFolder, locked};

/// A file in memory that is open for reading.
pub struct FaultyFile {
    pub(super) folder: SimulatedFolder,
    pub(super) content: SharedContent,
    pub(super) name: String,
}

/// A file in memory that is being written.
pub struct FaultyWriter {
    pub(super) folder: SimulatedFolder,
    pub(super) content: SharedContent,
    pub(super) name: String,
}

impl std::fmt::Debug for FaultyFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("FaultyFile").field(&self.name).finish()
    }
}

impl FolderFile for FaultyFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        self.folder.read(&self.name)?;
        let mut device = self.folder.device();
        let begun = device.begun.remove(&(self.name.clone(), offset));
        device.not_begun += u64::from(!begun);
        drop(device);
        let content = locked(&self.content);
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let there = content.bytes.get(offset..).unwrap_or_default();
        let read = there.iter().zip(buffer.iter_mut());
        let bytes = read.len();
        read.for_each(|(from, to)| *to = *from);
        Ok(bytes)
    }

    fn bytes(&self) -> Result<u64, StorageError> {
        self.folder.read(&self.name)?;
        Ok(locked(&self.content).bytes.len() as u64)
    }

    fn will_read(&self, offset: u64, _bytes: u64) {
        self.folder.device().begun.insert((self.name.clone(), offset));
    }
}

impl FixedFile for FaultyFile {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let _device = self.folder.step("write", &self.name)?;
        locked(&self.content).overwrite(usize::try_from(offset).unwrap_or(usize::MAX), bytes);
        Ok(())
    }

    fn sync(&self) -> Result<(), StorageError> {
        sync(&self.folder, &self.content, &self.name)
    }
}

impl FolderWriter for FaultyWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        let device = self.folder.step("write", &self.name)?;
        let free_bytes = usize::try_from(device.free_bytes()).unwrap_or(usize::MAX);
        let fits = bytes.get(..free_bytes).unwrap_or(bytes);
        locked(&self.content).bytes.extend_from_slice(fits);
        if fits.len() < bytes.len() { Err(self.folder.full("write", &self.name)) } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        sync(&self.folder, &self.content, &self.name)
    }
}

fn sync(folder: &SimulatedFolder, content: &SharedContent, name: &str) -> Result<(), StorageError> {
    let stepped = folder.step("sync", name);
    let mut content = locked(content);
    match stepped {
        Ok(device) if device.lies => {}
        Ok(_) => content.sync(),
        Err(error) => {
            let mut device = folder.device();
            if matches!(device.armed, Some((_, Fault::Failure | Fault::Full))) {
                content.lose(&mut device.rng);
            }
            return Err(error);
        }
    }
    Ok(())
}
