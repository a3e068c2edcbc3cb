//! The durable state of one node: the [`Storage`] on sled and real files.
//!
//! # Promises
//!
//! When [`persist`](Storage::persist) returns, its data is on the disk; [`durable`] has the rules.
//!
//! # What a start accepts, and what it refuses
//!
//! sled can silently lose the tail of its log, or values in the middle. Four things detect that.
//!
//! - The **chain** of checksums: every entry from the first to the last is there, as it was written. A hole or a bad
//!   value is damage, wherever it is: batches are synced one after the other, and unsynced data disappears from the
//!   end, so a power cut cannot cause it.
//! - The **watermark**: the entry up to which the log was durable. It is written after the log's sync, at most 100
//!   ms late, and once more at the very first entry; so a log that had entries is never accepted as empty. A log
//!   that ends before its watermark has lost acknowledged entries. The watermark has the checksum of the last value,
//!   too: a replaced part of the log forms a chain of its own, which sled brings back when its file is damaged.
//! - The **base**: the entry that the newest checkpoint represents. The log continues it, with or without the
//!   entries before it; a log that ends before it is replaced by the checkpoint.
//! - The **identity**: a directory that was once founded is never founded again.
//!
//! Files that the newest checkpoint does not list are removed after the log was accepted, not before: a missing
//! manifest, or an older one that an operator put back, must not cost the chunks of the newest.
//!
//! A start first completes an interrupted [install] or [compaction] of the log, before it opens anything.
//! Leftovers of such a compaction are removed when the log was accepted.
//!
//! A file may be readable only because it is in the system's memory: written by a process that was killed before its
//! sync, or never written after a failed sync. So the start first [settles](Directory::settle) names, vote,
//! watermark and log: what it reads of them then is on the disk.
//!
//! A log that ends at or after its watermark, and verifies, is accepted. Entries after the watermark may or may not
//! have been acknowledged; Raft handles both. Undetected remains a disk that loses exactly the entries acknowledged in
//! the last 100 ms before a crash, cleanly, from the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::checkpoint::{self, Restored};
use super::compaction::{self, CompactionBackend, Which};
use super::directory::{Contents, Directory};
use super::durable::{self, Durable, LogBackend, SmallFile, Visit};
use super::folder::{DiskFolder, free_bytes};
use super::identity::Identity;
use super::install;
use super::log::Log;
use super::slot_file::Values;
use super::value::Key;
use super::{LogBase, LogEntry, PersistBatch, Recovered, Shrunk, Storage, StorageError};

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
    /// Whether a new directory begins its cluster, with this node as the only member; else it is that of a node which is
    /// added to one. One that exists stays what it was.
    pub founder: bool,
}

/// An open data directory. It is locked while this lives.
pub struct DiskStorage {
    durable: Durable<Contents>,
    chunks: DiskFolder,
    restored: Option<Restored>,
    // Dropped last: the directory stays locked until sled has closed its files.
    directory: Arc<Directory>,
}

/// Keeps a data directory locked while it lives.
#[derive(Clone, Debug)]
pub struct DirectoryLock(#[expect(dead_code, reason = "held for its lock alone")] Arc<Directory>);

impl DiskStorage {
    /// Opens the data directory and takes its newest checkpoint; founds it if it is empty or does not exist.
    pub fn open(options: &OpenOptions) -> Result<Self, StorageError> {
        let directory = Arc::new(Directory::take(&options.path)?);
        let mut restored = None;
        let accept = |contents| Durable::new(contents, options.path.clone());
        let durable = match directory.identity()? {
            Some(identity) if identity.node != options.node => {
                return Err(StorageError::OtherNode {
                    path: options.path.clone(),
                    expected: options.node,
                    found: identity.node,
                });
            }
            Some(identity) => {
                directory.settle()?;
                restored = checkpoint::restore_own(&directory.chunks()?)?;
                let base = restored.as_ref().map(|restored| restored.base);
                let opened = directory.open(identity, base).and_then(accept);
                if base.is_none() && opened.as_ref().is_err_and(StorageError::is_of_cut_log) {
                    directory.refuse_lost_manifest()?;
                }
                opened?
            }
            None => {
                let OpenOptions { node, cluster_id, storage_id, founder, .. } = *options;
                let contents = directory.found(Identity { node, cluster_id, storage_id, founder })?;
                install::complete(&*directory)?;
                accept(contents)?
            }
        };
        let chunks = directory.chunks()?;
        checkpoint::sweep(&chunks)?;
        while !directory.remove_piece()? {}
        Ok(Self { durable, chunks, restored, directory })
    }

    /// Whether a node has its data in this directory.
    pub fn is_founded(path: &Path) -> bool {
        Directory::is_founded(path)
    }

    /// The newest checkpoint, as it was found; `None` if there never was one, or it was taken before.
    pub fn take_restored(&mut self) -> Option<Restored> {
        self.restored.take()
    }

    /// The directory stays locked while this lives, whatever becomes of the storage.
    pub fn lock(&self) -> DirectoryLock {
        DirectoryLock(Arc::clone(&self.directory))
    }

    /// Where checkpoints go.
    pub fn chunks(&self) -> &DiskFolder {
        &self.chunks
    }

    /// Where a checkpoint of another member is put together, to be installed by a batch with
    /// [`install`](PersistBatch::install). Empty after a start and after an install.
    pub fn incoming(&self) -> DiskFolder {
        self.directory.incoming()
    }

    /// The data found at the start: where the log begins and ends, term and vote.
    pub fn recovered(&self) -> Recovered {
        self.durable.recovered()
    }

    /// From now on the log stays where it is while its file is not larger than this. For tests: a node goes by 128 MiB.
    pub fn set_move_bytes_min(&mut self, bytes: u64) {
        self.durable.set_move_bytes_min(bytes);
    }

    /// The cluster that the data belongs to.
    pub fn cluster_id(&self) -> [u8; 16] {
        self.durable.backend().identity.cluster_id
    }

    /// This copy of the data.
    pub fn storage_id(&self) -> [u8; 16] {
        self.durable.backend().identity.storage_id
    }

    /// Whether the cluster began in this directory: then its first configuration is this node alone. Any other has none
    /// until a checkpoint or entries of other members say it.
    pub fn is_founder(&self) -> bool {
        self.durable.backend().identity.founder
    }
}

impl Storage for DiskStorage {
    fn persist(&mut self, batch: &PersistBatch) -> Result<(), StorageError> {
        self.durable.persist(batch)
    }

    fn write_watermark(&mut self) -> Result<(), StorageError> {
        self.durable.write_watermark()
    }

    fn base_at(&mut self, index: u64) -> Result<LogBase, StorageError> {
        self.durable.base_at(index)
    }

    fn cut(&mut self, through: u64) -> Result<bool, StorageError> {
        self.durable.cut(through)
    }

    fn shrink(&mut self, spare_bytes: u64) -> Result<Shrunk, StorageError> {
        self.durable.shrink(spare_bytes)
    }

    fn replay(
        &mut self,
        first: u64,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.durable.replay(first, visit)
    }

    fn read(&mut self, first: u64, last: u64, bytes_max: u64) -> Result<Vec<LogEntry>, StorageError> {
        self.durable.read(first, last, bytes_max)
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        free_bytes(self.directory.path())
    }
}

impl LogBackend for Contents {
    fn base(&self) -> LogBase {
        self.log.base()
    }

    fn end(&self) -> LogBase {
        self.log.end()
    }

    fn last_found(&self) -> u64 {
        self.log.last_found()
    }

    fn end_before(&mut self, index: u64) -> Result<LogBase, StorageError> {
        self.log.end_before(index)
    }

    fn append(&mut self, entries: &[LogEntry]) -> Result<(), StorageError> {
        self.log.append(entries)
    }

    fn cut(&mut self, through: u64) -> Result<bool, StorageError> {
        self.log.cut(through)
    }

    fn scan(&mut self, first: u64, visit: &mut Visit<'_>) -> Result<(), StorageError> {
        self.log.scan(first, visit)
    }

    fn forget_read(&mut self) -> Result<(), StorageError> {
        self.log.forget_read()
    }

    fn incoming(&self) -> Result<Option<LogBase>, StorageError> {
        durable::base_in(&self.directory.incoming())
    }

    fn remove_end(&mut self, index: u64) -> Result<(), StorageError> {
        self.log.remove_end(index)
    }

    fn install(&mut self, base: LogBase) -> Result<(), StorageError> {
        install::install(&*self.directory)?;
        self.log.rebase(base);
        Ok(())
    }

    fn values(&self, file: SmallFile) -> Values {
        match file {
            SmallFile::Vote => self.vote.values(),
            SmallFile::Watermark => self.watermark.values(),
        }
    }

    fn write(&mut self, file: SmallFile, values: Values) -> Result<(), StorageError> {
        match file {
            SmallFile::Vote => self.vote.write(values),
            SmallFile::Watermark => self.watermark.write(values),
        }
    }

    fn abandon(&mut self) {
        self.log.abandon();
        [&mut self.log_new, &mut self.log_old].into_iter().flatten().for_each(Log::abandon);
    }
}

impl CompactionBackend for Contents {
    fn file_bytes(&self) -> Result<u64, StorageError> {
        self.log.file_bytes()
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        free_bytes(self.directory.path())
    }

    fn values_from(
        &mut self,
        which: Which,
        from: Key,
        bytes_max: usize,
    ) -> Result<Vec<(Key, Bytes)>, StorageError> {
        match which {
            Which::Log => self.log.values_from(from, bytes_max),
            Which::New => self.compacted_log().values_from(from, bytes_max),
        }
    }

    fn create_new(&mut self, base: LogBase) -> Result<(), StorageError> {
        self.log_new = Some(self.directory.create_log_for_compaction(base)?);
        Ok(())
    }

    fn put_new(&mut self, values: &[(Key, Bytes)]) -> Result<(), StorageError> {
        self.compacted_log().put(values)
    }

    fn reopen_new(&mut self) -> Result<(), StorageError> {
        self.compacted_log().read_anew()
    }

    fn swap_logs(&mut self) -> Result<(), StorageError> {
        let (base, end) = (self.log.base(), self.log.end());
        compaction::swap(&*self.directory)?;
        let path = self.directory.log_path();
        let mut log = self.log_new.take().unwrap_or_else(|| unreachable!("a compaction is under way"));
        log.counts_from(&path, base, end);
        self.log_old = Some(std::mem::replace(&mut self.log, log));
        Ok(())
    }

    fn remove_rest(&mut self) -> Result<bool, StorageError> {
        // To close one takes a step of its own.
        if self.log_new.take().or_else(|| self.log_old.take()).is_some() {
            return Ok(false);
        }
        self.directory.remove_piece()
    }
}

impl Contents {
    fn compacted_log(&mut self) -> &mut Log {
        self.log_new.as_mut().unwrap_or_else(|| unreachable!("a compaction is under way"))
    }
}

#[cfg(test)]
pub(super) mod tests;
