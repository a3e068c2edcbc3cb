//! The checkpoint thread: it writes the captured state, in parallel with the log, and tells the core when it is
//! durable.
//!
//! It has no state between two checkpoints. An interrupted checkpoint leaves files that no manifest lists; a start
//! removes them.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::{info, warn};

use super::clock::{self, Clock};
use super::core::{CoreMailbox, ToCore};
use super::disk::{DiskHandle, ToDisk};
use adjourn_engine::CapturedSessions;
use adjourn_replica::{CheckpointOrder, Input};
use adjourn_storage::chunks::{self, Chunk, Manifest};
use adjourn_storage::folder::Folder;
use adjourn_storage::{
    BackupOrigin, CheckpointBegin, CheckpointJobs, CheckpointWriter, DirectoryLock, LogBase, PinnedBackup,
    StorageError,
};
use adjourn_types::{Millis, whole_ms};

/// Inputs of the checkpoint thread.
#[derive(Debug)]
pub(super) enum ToCheckpoint {
    /// A part of a checkpoint.
    Order(CheckpointOrder),
    /// Hold the newest checkpoint open, for another node to pull.
    Pin {
        /// Gets the checkpoint; nothing if there is none, or it cannot be opened.
        reply: oneshot::Sender<Option<Arc<PinnedBackup>>>,
    },
    /// No more input follows. An unfinished checkpoint is left as it is.
    Finish,
}

/// The checkpoint thread's own state.
pub(super) struct CheckpointThread<F: Folder> {
    folder: F,
    core: CoreMailbox,
    disk: DiskHandle,
    clock: Clock,
    /// The owner of the checkpoints, for backups.
    whose: Whose,
    under_way: Option<UnderWay<F>>,
    /// No other process may open the directory before this thread has ended.
    _lock: Option<DirectoryLock>,
}

/// The owner of the data in a directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whose {
    /// The id of the cluster.
    pub(super) cluster_id: [u8; 16],
    /// The number of the node.
    pub(super) node: u64,
}

struct UnderWay<F: Folder> {
    writer: CheckpointWriter<F>,
    /// Gets the log's entry at the checkpoint's index from the disk thread.
    base: Receiver<LogBase>,
    pin: bool,
    since: Duration,
}

/// Lowers the priority of this thread: its work can wait, deliveries cannot. If the system has no priorities of
/// threads, or refuses, the thread goes on without.
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
        core: CoreMailbox,
        disk: DiskHandle,
        clock: Clock,
        lock: Option<DirectoryLock>,
        whose: Whose,
    ) -> Self {
        Self { folder, core, disk, clock, whose, under_way: None, _lock: lock }
    }

    /// Processes inputs until all senders are gone. A failure ends the node.
    pub(super) fn run(mut self, inputs: &Receiver<ToCheckpoint>) {
        yield_to_others();
        for input in inputs {
            let outcome = match input {
                ToCheckpoint::Order(CheckpointOrder::Begin(begin)) => self.begin(*begin),
                ToCheckpoint::Order(CheckpointOrder::Sessions(sessions)) => {
                    self.add_sessions(&sessions);
                    Ok(())
                }
                ToCheckpoint::Order(CheckpointOrder::Jobs(jobs)) => self.add(&jobs),
                ToCheckpoint::Order(CheckpointOrder::End) => self.finish(),
                ToCheckpoint::Order(CheckpointOrder::Abandon) => self.drop_unfinished(),
                ToCheckpoint::Pin { reply } => {
                    // The receiver may have ended meanwhile.
                    let _ = reply.send(self.pin_for_member());
                    Ok(())
                }
                ToCheckpoint::Finish => return,
            };
            if let Err(error) = outcome {
                return self.tell(ToCore::Failed(error));
            }
        }
    }

    fn begin(&mut self, begin: CheckpointBegin) -> Result<(), StorageError> {
        let (reply, base) = mpsc::channel();
        self.disk.send(ToDisk::Base { index: begin.index, reply });
        let (pin, since) = (begin.pin, self.clock.elapsed());
        match CheckpointWriter::begin(self.folder.clone(), begin) {
            Ok(writer) => self.under_way = Some(UnderWay { writer, base, pin, since }),
            Err(error) => self.abandon(error)?,
        }
        Ok(())
    }

    /// Adds sessions to the checkpoint under way. Without one they are ignored.
    fn add_sessions(&mut self, sessions: &CapturedSessions) {
        if let Some(under_way) = &mut self.under_way {
            under_way.writer.add_sessions(sessions);
            self.tell(ToCore::Input(Input::CheckpointTook));
        }
    }

    /// Adds jobs to the checkpoint under way. Without one they are ignored.
    fn add(&mut self, jobs: &CheckpointJobs) -> Result<(), StorageError> {
        let Some(under_way) = &mut self.under_way else { return Ok(()) };
        let added = under_way.writer.add(jobs);
        self.tell(ToCore::Input(Input::CheckpointTook));
        added.or_else(|error| self.abandon(error))
    }

    fn finish(&mut self) -> Result<(), StorageError> {
        let Some(UnderWay { writer, base, pin, since }) = self.under_way.take() else { return Ok(()) };
        // If the disk thread is gone, it has failed and reports that itself.
        let Ok(base) = base.recv() else { return Ok(()) };
        let sealed = match writer.seal(base) {
            Ok(sealed) => sealed,
            Err(error) => return self.abandon(error),
        };
        // From here on it may be the newest one, whatever happens: it cannot be abandoned.
        let mut checkpoint = sealed.publish()?;
        if pin {
            checkpoint.pinned = self.pin(clock::wall(), &checkpoint.listed);
        }
        let took_ms = whole_ms(self.clock.elapsed().saturating_sub(since));
        let (index, chunks) = (checkpoint.index, checkpoint.listed.len());
        info!(index, rows = checkpoint.written.len(), chunks, took_ms, "checkpoint");
        self.tell(ToCore::Input(Input::CheckpointDone(Box::new(checkpoint))));
        Ok(())
    }

    /// Abandons the checkpoint under way after a temporary shortage: nothing is lost, the log just keeps growing.
    /// Also if a part of an earlier one is unreadable: another member may have it.
    fn abandon(&mut self, error: StorageError) -> Result<(), StorageError> {
        if error.is_unreadable() {
            self.remove_unfinished()?;
            self.tell(ToCore::Input(Input::CheckpointUnreadable(error)));
            return Ok(());
        }
        if !error.is_shortage() {
            return Err(error);
        }
        warn!(%error, "a checkpoint failed and will be tried again");
        self.remove_unfinished()?;
        self.tell(ToCore::Input(Input::CheckpointAbandoned));
        Ok(())
    }

    /// Abandons the checkpoint under way, if there is one.
    fn drop_unfinished(&mut self) -> Result<(), StorageError> {
        if self.under_way.is_some() {
            self.remove_unfinished()?;
            self.tell(ToCore::Input(Input::CheckpointAbandoned));
        }
        Ok(())
    }

    /// Removes the files of the checkpoint under way.
    fn remove_unfinished(&mut self) -> Result<(), StorageError> {
        self.under_way = None;
        let removed = Manifest::read(&self.folder)
            .and_then(|manifest| chunks::remove_unlisted(&self.folder, manifest.as_ref()));
        match removed {
            // They are ignored, and removed after the next checkpoint.
            Err(error) if error.is_shortage() => {}
            removed => _ = removed?,
        }
        Ok(())
    }

    /// Like [`Self::pin`], but without a time: a member that fetches one half of a checkpoint now and the other half later
    /// must get the same bytes.
    fn pin_for_member(&self) -> Option<Arc<PinnedBackup>> {
        let exists = self.folder.open(chunks::MANIFEST).is_ok_and(|manifest| manifest.is_some());
        if exists { self.pin(Millis::default(), &[]) } else { None }
    }

    /// Opens the files of the newest checkpoint and holds them. The node goes on without if no descriptors are left.
    fn pin(&self, created_at: Millis, held: &[Arc<Chunk>]) -> Option<Arc<PinnedBackup>> {
        let Whose { cluster_id, node } = self.whose;
        let origin = BackupOrigin { cluster_id, node, created_at };
        let pinned = PinnedBackup::open(&self.folder, origin, held);
        pinned.inspect_err(|error| warn!(%error, "no backup")).ok().map(Arc::new)
    }

    fn tell(&self, what: ToCore) {
        // If the core is gone, no one waits for an answer.
        let _ = self.core.send(what);
    }
}
