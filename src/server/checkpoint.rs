//! The checkpoint thread: it writes what the core captured, beside the log, and tells the core when it is durable.
//!
//! It owns no state between two checkpoints. One that is cut short leaves files that nothing lists; a start removes
//! them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::{info, warn};

use super::clock::{self, Clock};
use super::core::ToCore;
use super::disk::ToDisk;
use crate::replica::{CheckpointOrder, Input};
use crate::storage::chunks::{self, Manifest};
use crate::storage::folder::Folder;
use crate::storage::{BackupOrigin, CheckpointWriter, DirectoryLock, LogBase, PinnedBackup, StorageError};
use crate::types::Millis;

/// What the checkpoint thread is told.
#[derive(Debug)]
pub(super) enum ToCheckpoint {
    /// A part of a checkpoint.
    Order(CheckpointOrder),
    /// The log's entry that it stands for.
    Base(LogBase),
    /// Hold the newest checkpoint open, for another node to pull.
    Pin {
        /// Who asks; gets nothing if there is no checkpoint, or it cannot be opened.
        reply: oneshot::Sender<Option<Arc<PinnedBackup>>>,
    },
    /// There will be nothing more. What is under way is left as it is.
    Finish,
}

/// The checkpoint thread's own state.
pub(super) struct CheckpointThread<F: Folder> {
    folder: F,
    core: Sender<ToCore>,
    disk: Sender<ToDisk>,
    /// The way back to this thread.
    own: Sender<ToCheckpoint>,
    clock: Clock,
    /// Whose checkpoints they are: for backups.
    whose: Whose,
    under_way: Option<UnderWay<F>>,
    /// Nobody else opens the directory before this thread has ended.
    _lock: DirectoryLock,
}

/// Whose data a directory holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whose {
    /// The cluster's.
    pub(super) cluster_id: [u8; 16],
    /// The node's.
    pub(super) node: u64,
}

struct UnderWay<F: Folder> {
    writer: CheckpointWriter<F>,
    base: Option<LogBase>,
    complete: bool,
    pin: bool,
    since: Duration,
}

/// What this thread has to do has time; deliveries have none. Where the system does not know of priorities of
/// threads, or refuses them, it goes without.
fn yield_to_others() {
    const NICE: i32 = 10;
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICE);
    #[cfg(not(target_os = "linux"))]
    let _ = NICE;
}

impl<F: Folder> CheckpointThread<F> {
    /// A thread that writes into `folder`, asks `disk` for the log's entries and reports to `core`.
    pub(super) fn new(
        folder: F,
        core: Sender<ToCore>,
        disk: Sender<ToDisk>,
        own: Sender<ToCheckpoint>,
        clock: Clock,
        lock: DirectoryLock,
        whose: Whose,
    ) -> Self {
        Self { folder, core, disk, own, clock, whose, under_way: None, _lock: lock }
    }

    /// Writes what it is told, until there is nobody left who tells it anything. A failure ends the node.
    pub(super) fn run(mut self, inputs: &Receiver<ToCheckpoint>) {
        yield_to_others();
        for input in inputs {
            let outcome = match input {
                ToCheckpoint::Order(CheckpointOrder::Begin(begin)) => {
                    let base = ToDisk::Base { index: begin.index, reply: self.own.clone() };
                    // A disk thread that is gone has failed, and says so itself.
                    let _ = self.disk.send(base);
                    let pin = begin.pin;
                    CheckpointWriter::begin(self.folder.clone(), *begin).map(|writer| {
                        let since = self.clock.elapsed();
                        self.under_way = Some(UnderWay { writer, base: None, complete: false, pin, since });
                    })
                }
                ToCheckpoint::Order(CheckpointOrder::Jobs(jobs)) => {
                    self.tell(ToCore::Input(Input::CheckpointTook));
                    self.under_way.as_mut().map_or(Ok(()), |under_way| under_way.writer.add(jobs))
                }
                ToCheckpoint::Order(CheckpointOrder::End) => {
                    self.under_way.iter_mut().for_each(|under_way| under_way.complete = true);
                    self.finish_if_complete()
                }
                ToCheckpoint::Base(base) => {
                    self.under_way.iter_mut().for_each(|under_way| under_way.base = Some(base));
                    self.finish_if_complete()
                }
                ToCheckpoint::Pin { reply } => {
                    // Whoever asked may have ended meanwhile.
                    let _ = reply.send(self.pin_for_member());
                    Ok(())
                }
                ToCheckpoint::Finish => return,
            };
            let outcome = match outcome {
                Err(error @ StorageError::DiskFull { .. }) => self.abandon(&error),
                outcome => outcome,
            };
            if let Err(error) = outcome {
                return self.tell(ToCore::Failed(error));
            }
        }
    }

    /// A checkpoint does not fit on the disk: nothing is lost, the log just grows on. What was written of it goes.
    fn abandon(&mut self, error: &StorageError) -> Result<(), StorageError> {
        warn!(%error, "there is no space for a checkpoint: make some; it is tried again");
        self.under_way = None;
        chunks::remove_unlisted(&self.folder, Manifest::read(&self.folder)?.as_ref())?;
        self.tell(ToCore::Input(Input::CheckpointAbandoned));
        Ok(())
    }

    fn finish_if_complete(&mut self) -> Result<(), StorageError> {
        let complete = |under_way: &mut UnderWay<F>| under_way.complete && under_way.base.is_some();
        let Some(UnderWay { writer, base: Some(base), pin, since, .. }) = self.under_way.take_if(complete)
        else {
            return Ok(());
        };
        let mut checkpoint = writer.finish(base)?;
        if pin {
            checkpoint.pinned = self.pin(clock::wall());
        }
        let took_ms =
            u64::try_from(self.clock.elapsed().saturating_sub(since).as_millis()).unwrap_or(u64::MAX);
        let (index, chunks) = (checkpoint.index, checkpoint.listed.len());
        info!(index, rows = checkpoint.written.len(), chunks, took_ms, "checkpoint");
        self.tell(ToCore::Input(Input::CheckpointDone(Box::new(checkpoint))));
        Ok(())
    }

    /// As [`Self::pin`]. Without a time: whoever pulls half of a checkpoint now and the other half later must get the same
    /// bytes.
    fn pin_for_member(&self) -> Option<Arc<PinnedBackup>> {
        let exists = self.folder.open(chunks::MANIFEST).is_ok_and(|manifest| manifest.is_some());
        if exists { self.pin(Millis::default()) } else { None }
    }

    /// Holds the files of the checkpoint open that was written last. The node goes on if the system has none left to open.
    fn pin(&self, created_at: Millis) -> Option<Arc<PinnedBackup>> {
        let Whose { cluster_id, node } = self.whose;
        let origin = BackupOrigin { cluster_id, node, created_at };
        let pinned = PinnedBackup::open(&self.folder, origin);
        pinned.inspect_err(|error| warn!(%error, "no backup")).ok().map(Arc::new)
    }

    fn tell(&self, what: ToCore) {
        // A core that is gone has nobody left to answer.
        let _ = self.core.send(what);
    }
}
