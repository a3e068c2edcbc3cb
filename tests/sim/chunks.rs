//! The folder of a node's checkpoints, as its process sees it: the faulty twin, and in front of it what is broken on
//! purpose.

use std::path::Path;

use adjourn::storage::StorageError;
use adjourn::storage::chunks::MANIFEST;
use adjourn::storage::folder::{FaultyFile, FaultyFolder, FaultyWriter, Folder};

use super::mutants::Mutant;

/// A folder. Clones are the same one.
#[derive(Clone)]
pub(super) struct Chunks {
    pub(super) twin: FaultyFolder,
    mutant: Mutant,
}

impl Chunks {
    pub(super) fn new(seed: u64, mutant: Mutant) -> Self {
        Self { twin: FaultyFolder::new(seed), mutant }
    }

    /// The folder that the next process finds.
    pub(super) fn after(&self, power_lost: bool) -> Self {
        let twin = if power_lost { self.twin.crash() } else { self.twin.kill() };
        Self { twin, mutant: self.mutant }
    }

    fn holds(&self, name: &str) -> bool {
        self.twin.contents(name).is_some()
    }
}

impl Folder for Chunks {
    type File = FaultyFile;
    type Writer = FaultyWriter;

    fn path(&self) -> &Path {
        self.twin.path()
    }

    fn create(&self, name: &str) -> Result<FaultyWriter, StorageError> {
        self.twin.create(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        if self.mutant == Mutant::ManifestStays && to == MANIFEST && self.holds(MANIFEST) {
            return Ok(());
        }
        self.twin.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        match self.mutant {
            Mutant::NothingSwept => return Ok(()),
            Mutant::SweptTooMuch => {
                let newest = self.list()?.into_iter().rfind(|other| other.starts_with("chunk-"));
                if let Some(newest) = newest.filter(|newest| newest != name) {
                    self.twin.remove(&newest)?;
                }
            }
            _ => {}
        }
        self.twin.remove(name)
    }

    fn sync(&self) -> Result<(), StorageError> {
        if self.mutant == Mutant::NamesNotSynced { Ok(()) } else { self.twin.sync() }
    }

    fn open(&self, name: &str) -> Result<Option<FaultyFile>, StorageError> {
        self.twin.open(name)
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        self.twin.free_bytes()
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        self.twin.list()
    }
}
