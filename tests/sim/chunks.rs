//! The folder of a node's checkpoints, as its process sees it: the simulated disk, and the mutants in front of
//! it.

use std::path::Path;

use adjourn_storage::StorageError;
use adjourn_storage::chunks::MANIFEST;
use adjourn_storage::folder::{FaultyFile, FaultyWriter, Folder, SimulatedFolder};

use super::mutants::Mutant;

/// A folder. Clones are the same one.
#[derive(Clone)]
pub(super) struct Chunks {
    pub(super) folder: SimulatedFolder,
    mutant: Mutant,
}

impl Chunks {
    pub(super) fn new(seed: u64, mutant: Mutant) -> Self {
        Self { folder: SimulatedFolder::new(seed), mutant }
    }

    /// The folder that the next process finds.
    pub(super) fn after(&self, power_lost: bool) -> Self {
        let folder = if power_lost { self.folder.crash() } else { self.folder.kill() };
        Self { folder, mutant: self.mutant }
    }

    fn holds(&self, name: &str) -> bool {
        self.folder.contents(name).is_some()
    }
}

impl Folder for Chunks {
    type File = FaultyFile;
    type Writer = FaultyWriter;

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn create(&self, name: &str) -> Result<FaultyWriter, StorageError> {
        self.folder.create(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        if self.mutant == Mutant::ManifestStays && to == MANIFEST && self.holds(MANIFEST) {
            return Ok(());
        }
        self.folder.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        match self.mutant {
            Mutant::NothingSwept => return Ok(()),
            Mutant::SweptTooMuch => {
                let newest = self.list()?.into_iter().rfind(|other| other.starts_with("chunk-"));
                if let Some(newest) = newest.filter(|newest| newest != name) {
                    self.folder.remove(&newest)?;
                }
            }
            _ => {}
        }
        self.folder.remove(name)
    }

    fn sync(&self) -> Result<(), StorageError> {
        if self.mutant == Mutant::NamesNotSynced { Ok(()) } else { self.folder.sync() }
    }

    fn open(&self, name: &str) -> Result<Option<FaultyFile>, StorageError> {
        self.folder.open(name)
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        self.folder.free_bytes()
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        self.folder.list()
    }
}
