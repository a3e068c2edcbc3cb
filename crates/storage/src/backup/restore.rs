//! Makes a data directory, which a node can open, from a backup.
//!
//! 1. All of the backup is verified.
//! 2. Chunks and page files are copied unchanged into the next checkpoint's folder, then a manifest with the new node as
//!    the only voter, for the log of a new cluster.
//! 3. The log begins after the checkpoint. Its first entry records that there was a loss: ids, fences and sessions
//!    that were assigned after the backup must not be reused
//!    ([`Command::SkipIds`](adjourn_engine::Command::SkipIds)), and neither must those assigned after another restore
//!    of the same backup.
//! 4. The directory [changes over](crate::changeover) to both.
//!
//! Each step is durable before the next. A crash before step 4 leaves a directory that a node refuses; a second
//! restore clears it and starts over.

use std::path::PathBuf;

use super::Backup;
use crate::chunks::output;
use crate::chunks::{MANIFEST, Manifest};
use crate::directory::Directory;
use crate::folder::Folder as _;
use crate::identity::Identity;
use crate::recover::skip_ids;
use crate::{LogBase, StorageError};
use adjourn_types::Millis;

/// The directory, node and cluster that a backup is restored to.
#[derive(Clone, Debug)]
pub struct RestoreOptions {
    /// The data directory: empty, or one that does not exist yet.
    pub path: PathBuf,
    /// The number of the node that will run on it.
    pub node: u64,
    /// The new cluster: not that of the backup, which may still run.
    pub cluster_id: [u8; 16],
    /// The id of this copy of the data.
    pub storage_id: [u8; 16],
    /// The wall clock: what the new queue gives out depends on it.
    pub now: Millis,
}

impl Backup {
    /// Verifies the backup and makes a data directory of it. `progress` is told how many bytes are done, of three
    /// times its length.
    pub fn restore(
        &self,
        options: &RestoreOptions,
        mut progress: impl FnMut(u64),
    ) -> Result<(), StorageError> {
        Directory::refuse_filled(&options.path)?;
        self.verify(&mut progress)?;
        let directory = Directory::take_empty(&options.path)?;
        let RestoreOptions { node, cluster_id, storage_id, now, .. } = *options;
        let identity = Identity { node, cluster_id, storage_id, founder: true };
        let chunks = directory.new_chunks()?;
        let mut done = 2 * self.header.bytes;
        for file in self.folder.files().iter().filter(|file| file.name != MANIFEST) {
            if let Some(source) = self.folder.open(&file.name)? {
                output::copy(&chunks, &file.name, &source, |bytes| {
                    done += bytes;
                    progress(done);
                })?;
            }
        }
        chunks.sync()?;
        let crc = LogBase::root(cluster_id).crc;
        let manifest =
            Manifest { voters: vec![node], learners: Vec::new(), log_crc: crc, ..self.manifest.clone() };
        manifest.write(&chunks)?;
        let base = LogBase { index: manifest.index, term: manifest.term, crc };
        directory.finish_restoring(identity, base, &skip_ids(base.index + 1, base.term.max(1), now))
    }
}
