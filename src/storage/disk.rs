//! The durable state of one node: the [`Storage`] on sled and real files.
//!
//! # What is promised
//!
//! What [`persist`](Storage::persist) was given is on the disk when it returns. The first failure is the last call
//! that does anything: nobody knows what the system dropped with a failed sync, so nothing is tried again.
//!
//! # What a start accepts, and what it refuses
//!
//! sled can lose the tail of its log, or values in the middle, without a word. Three things tell.
//!
//! - The **chain** of checksums: every entry from the first to the last is there, as it was written. A hole or a
//!   bad value is damage, wherever it is: batches are synced one after the other, and what was not synced
//!   disappears from the end, so a power cut cannot cause it.
//! - The **watermark**: the index up to which the log was durable. It is written after the log's sync, at most
//!   100 ms late, and once more at the very first entry; so a log is never found empty that had something in it. A log that ends
//!   before its watermark has lost what was acknowledged.
//! - The **identity**: a directory that was once founded is never founded again.
//!
//! A log that ends at its watermark or after it, and verifies, is accepted. What lies behind the watermark was
//! acknowledged or not: nobody can tell, and Raft takes both. What is left undetected is a disk that loses exactly
//! what was acknowledged in the last 100 ms before a crash, cleanly, from the end.
//!
//! Cutting a suffix lowers the watermark first, durably: it never claims more than there is.

use std::path::PathBuf;

use super::directory::{Contents, Directory};
use super::identity::Identity;
use super::{LogEntry, PersistBatch, Recovered, Storage, StorageError, Vote};

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
}

/// An open data directory. It is locked while this lives.
pub struct DiskStorage {
    contents: Contents,
    /// Last durable index, commit index: what the watermark should say.
    watermark: Watermark,
    failed: bool,
    // Dropped last: the directory stays locked until sled has closed its files.
    directory: Directory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watermark {
    last: u64,
    commit: u64,
}

impl DiskStorage {
    /// Opens the data directory, or founds it if it is empty or does not exist.
    pub fn open(options: &OpenOptions) -> Result<Self, StorageError> {
        let directory = Directory::take(&options.path)?;
        let contents = match directory.identity()? {
            Some(identity) if identity.node != options.node => {
                return Err(StorageError::OtherNode {
                    path: options.path.clone(),
                    expected: options.node,
                    found: identity.node,
                });
            }
            Some(identity) => directory.open(identity)?,
            None => {
                let OpenOptions { node, cluster_id, storage_id, .. } = *options;
                directory.found(Identity { node, cluster_id, storage_id })?
            }
        };
        let [durable, commit] = contents.watermark.values();
        let last = contents.log.end().index;
        if last < durable {
            return Err(StorageError::ShortLog { path: options.path.clone(), last, durable });
        }
        let watermark = Watermark { last, commit: commit.min(last) };
        Ok(Self { contents, watermark, failed: false, directory })
    }

    /// What was found: where the log begins and ends, term and vote.
    pub fn recovered(&self) -> Recovered {
        let end = self.contents.log.end();
        let [term, vote] = self.contents.vote.values();
        Recovered {
            vote: Vote { term, vote },
            commit: self.watermark.commit,
            first_index: self.contents.log.first_index(),
            last_index: end.index,
            last_term: end.term,
        }
    }

    /// The cluster that the data belongs to.
    pub fn cluster_id(&self) -> [u8; 16] {
        self.contents.identity.cluster_id
    }

    /// This copy of the data.
    pub fn storage_id(&self) -> [u8; 16] {
        self.contents.identity.storage_id
    }

    fn append(&mut self, entries: &[LogEntry], commit: u64) -> Result<(), StorageError> {
        let Some(first) = entries.first() else {
            self.watermark.commit = commit.min(self.watermark.last).max(self.watermark.commit);
            return Ok(());
        };
        let before = first.index.saturating_sub(1);
        let [durable, _] = self.contents.watermark.values();
        if durable > before {
            self.watermark = Watermark { last: before, commit: self.watermark.commit.min(before) };
            self.flush_watermark()?;
        }
        self.contents.log.append(entries)?;
        let last = self.contents.log.end().index;
        self.watermark = Watermark { last, commit: commit.min(last) };
        if durable == 0 { self.flush_watermark() } else { Ok(()) }
    }

    fn flush_watermark(&mut self) -> Result<(), StorageError> {
        let values = [self.watermark.last, self.watermark.commit];
        if self.contents.watermark.values() == values {
            return Ok(());
        }
        self.contents.watermark.write(values)
    }

    /// Carries something out unless something failed before.
    fn carefully<T>(
        &mut self,
        action: impl FnOnce(&mut Self) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        if self.failed {
            return Err(StorageError::FailedBefore { path: self.directory.path().to_owned() });
        }
        action(self).inspect_err(|_| {
            self.failed = true;
            self.contents.log.abandon();
        })
    }
}

impl Storage for DiskStorage {
    fn persist(&mut self, batch: &PersistBatch) -> Result<(), StorageError> {
        self.carefully(|storage| {
            if let Some(Vote { term, vote }) = batch.vote {
                // Into both slots: one that goes bad later must not bring an older vote back.
                storage.contents.vote.write([term, vote])?;
                storage.contents.vote.write([term, vote])?;
            }
            storage.append(&batch.entries, batch.commit)
        })
    }

    fn write_watermark(&mut self) -> Result<(), StorageError> {
        self.carefully(Self::flush_watermark)
    }

    fn replay(
        &mut self,
        first: u64,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.carefully(|storage| storage.contents.log.scan(first, visit))
    }

    fn free_bytes(&self) -> Result<u64, StorageError> {
        let path = self.directory.path();
        let free =
            rustix::fs::statvfs(path).map_err(|error| StorageError::io("look at", path, error.into()))?;
        Ok(free.f_bavail.saturating_mul(free.f_frsize))
    }
}

#[cfg(test)]
mod tests;
