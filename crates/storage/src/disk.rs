//! The durable state of one node: the [`Storage`](super::Storage) on sled and real files.
//!
//! # Promises
//!
//! When [`persist`](super::Storage::persist) returns, its data is on the disk; [`durable`] has the rules.
//!
//! # What a start accepts, and what it refuses
//!
//! - The [log](super::log) from the newest checkpoint on: as long as it ever was, without a hole, and as it was written.
//!   A log that ends before the checkpoint is replaced.
//! - The **identity**: a directory that was once founded is never founded again.
//!
//! Files that the newest checkpoint does not list are removed after the log was accepted, not before: a missing
//! manifest, or an older one that an operator put back, must not cost the chunks of the newest.
//!
//! A start completes a [change](super::changeover) that was decided, before it opens anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::archive::SledArchive;
use super::checkpoint::{self, Restored};
use super::directory::Directory;
use super::durable::{self, Durable, OnVolume, Volume};
use super::folder::{DiskFolder, free_bytes};
use super::identity::Identity;
use super::journal::JournalSize;
use super::{LogBase, Recovered, StorageError};

/// Where the data is and whose it must be.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The data directory; made if there is none.
    pub path: PathBuf,
    /// This node's number in its group. A directory of another node is refused.
    pub node: u64,
    /// The cluster that a new directory belongs to. One that exists keeps its own.
    pub cluster_id: [u8; 16],
    /// The id of a new copy of the data. One that exists keeps its own.
    pub storage_id: [u8; 16],
    /// True for a new directory that begins its cluster, with this node as the only member; false if the node will be
    /// added to one. An existing directory stays what it was.
    pub founder: bool,
}

impl OpenOptions {
    fn check(&self, identity: Identity) -> Result<(), StorageError> {
        if identity.node == self.node {
            return Ok(());
        }
        let (path, expected, found) = (self.path.clone(), self.node, identity.node);
        Err(StorageError::OtherNode { path, expected, found })
    }
}

/// An open data directory. It is locked while this lives.
pub struct DiskStorage {
    durable: Durable<Arc<Directory>>,
    identity: Identity,
    chunks: DiskFolder,
    restored: Option<Restored>,
}

/// Keeps a data directory locked while it lives.
#[derive(Clone, Debug)]
pub struct DirectoryLock(#[expect(dead_code, reason = "held for its lock alone")] Arc<Directory>);

impl DiskStorage {
    /// Opens the data directory and takes its newest checkpoint; founds it if it is empty or does not exist.
    pub fn open(options: &OpenOptions) -> Result<Self, StorageError> {
        Self::open_with(options, JournalSize::default())
    }

    /// Like [`open`](Self::open), with a journal of this size.
    pub fn open_with(options: &OpenOptions, size: JournalSize) -> Result<Self, StorageError> {
        let directory = Arc::new(Directory::take(&options.path)?);
        let found = directory.identity()?;
        let OpenOptions { node, cluster_id, storage_id, founder, .. } = *options;
        let identity = found.unwrap_or(Identity { node, cluster_id, storage_id, founder });
        options.check(identity)?;
        if found.is_some() {
            directory.settle()?;
        } else {
            directory.found(identity, size)?;
        }
        let chunks = directory.chunks()?;
        let restored = checkpoint::restore_own(&chunks)?;
        let base = restored.as_ref().map(|restored| restored.base);
        let opened = directory.open(identity, base, size);
        if base.is_none() && opened.as_ref().is_err_and(StorageError::is_of_cut_log) {
            directory.refuse_lost_manifest()?;
        }
        let (log, found) = opened?;
        let durable = Durable::new(Arc::clone(&directory), log, found, &options.path)?;
        checkpoint::sweep(&chunks)?;
        Ok(Self { durable, identity, chunks, restored })
    }

    /// True if the directory has the data of a node.
    pub fn is_founded(path: &Path) -> bool {
        Directory::is_founded(path)
    }

    /// Takes the newest checkpoint that was found; `None` if there never was one, or it was taken before.
    pub fn take_restored(&mut self) -> Option<Restored> {
        self.restored.take()
    }

    /// Keeps the directory locked while it lives, even after the storage is closed.
    pub fn lock(&self) -> DirectoryLock {
        DirectoryLock(Arc::clone(self.durable.volume()))
    }

    /// The folder of checkpoints.
    pub fn chunks(&self) -> &DiskFolder {
        &self.chunks
    }

    /// Where a checkpoint of another member is assembled, to be installed by a batch with
    /// [`install`](super::PersistBatch::install). Empty after a start and after an install.
    pub fn incoming(&self) -> DiskFolder {
        Directory::incoming(self.durable.volume())
    }

    /// The data found at the start: where the log begins and ends, term and vote.
    pub fn recovered(&self) -> Recovered {
        self.durable.recovered()
    }

    /// The cluster that the data belongs to.
    pub fn cluster_id(&self) -> [u8; 16] {
        self.identity.cluster_id
    }

    /// This copy of the data.
    pub fn storage_id(&self) -> [u8; 16] {
        self.identity.storage_id
    }

    /// True if the cluster began in this directory: its first configuration is then this node alone. Other nodes have
    /// none until they get it from a checkpoint or from entries of other members.
    pub fn is_founder(&self) -> bool {
        self.identity.founder
    }
}

impl OnVolume for DiskStorage {
    type Volume = Arc<Directory>;

    fn durable(&mut self) -> &mut Durable<Arc<Directory>> {
        &mut self.durable
    }

    fn volume(&self) -> &Arc<Directory> {
        self.durable.volume()
    }
}

impl Volume for Arc<Directory> {
    type Folder = DiskFolder;
    type Archive = SledArchive;

    fn incoming(&self) -> Result<Option<LogBase>, StorageError> {
        durable::base_in(&Directory::incoming(self))
    }

    fn install(&self) -> Result<(), StorageError> {
        Directory::install(self)
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        free_bytes(self.path())
    }
}

#[cfg(test)]
pub(super) mod tests;
