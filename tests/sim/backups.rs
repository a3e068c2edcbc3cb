//! Backups: a checkpoint whose files a node holds open while it goes on. Somebody reads it a while later, when other
//! checkpoints may have taken its place, and it must be what it was.

use std::io::Write as _;
use std::sync::Arc;

use adjourn_protocol::{BackupReady, RequestId, Response};
use adjourn_replica::ConnectionId;
use adjourn_storage::backup::Backup;
use adjourn_storage::backup_file::{FOOTER_BYTES, footer};
use adjourn_storage::{PinnedBackup, StorageError};
use xxhash_rust::xxh3::xxh3_128;

use super::mutants::Mutant;
use super::seen::{NodeId, Seen};
use super::time::{SECOND, Us};
use super::world::{Event, World};

/// A backup is read so long after its checkpoint. Others wait while two are held.
const READ_WITHIN: Us = 12 * SECOND;

impl World {
    pub(super) fn backup_ready(
        &mut self,
        node: NodeId,
        life: u64,
        (connection, request): (ConnectionId, RequestId),
        backup: Arc<PinnedBackup>,
    ) {
        let header = backup.header();
        let ready = BackupReady {
            index: header.index,
            jobs: header.jobs,
            state_hash: header.state_hash,
            bytes: header.bytes - FOOTER_BYTES,
        };
        self.said(node, connection, vec![(request, Response::BackupReady(ready))]);
        let pause = self.random.below(READ_WITHIN);
        self.after(pause, Event::ReadsBackup { node, life, backup });
    }

    /// Somebody reads a backup, unless the process is gone that held it.
    pub(super) fn read_backup(&mut self, node: NodeId, life: u64, backup: &PinnedBackup) {
        let fails_to_read = self.node(node).disk.may_fail_to_read();
        if self.life(node, life).is_none() || fails_to_read {
            return;
        }
        let (index, state_hash) = (backup.header().index, backup.header().state_hash);
        match verify(backup, self.plan.mutant == Mutant::BackupDamaged) {
            Ok(()) => self.see(&Seen::BackedUp { node, index, state_hash }),
            Err(error) => self.breaks("backups", format!("the backup of node {node} at {index}: {error}")),
        }
    }
}

/// Puts a backup together as a client does, and verifies all of it.
fn verify(backup: &PinnedBackup, is_damaged: bool) -> Result<(), StorageError> {
    let end = backup.header().bytes - FOOTER_BYTES;
    let mut bytes = vec![0; usize::try_from(end).expect("it is small")];
    let read = backup.read_at(0, &mut bytes)?;
    bytes.truncate(read);
    if is_damaged && let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
    bytes.extend_from_slice(&footer(xxh3_128(&bytes), backup.header().bytes));
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&bytes).expect("written");
    Backup::open(file.path())?.verify(|_| ())
}
