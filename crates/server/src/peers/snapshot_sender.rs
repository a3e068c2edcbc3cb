//! The snapshot sender: serves the newest checkpoint to other nodes, a part per request, and holds its files open
//! while a node keeps asking.
//!
//! The bytes are those of a backup without its footer. They are the same each time the checkpoint is opened, so that
//! an interrupted node can resume.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

use super::super::checkpoint::ToCheckpoint;
use super::PeersState;
use super::frames::PeerFrame;
use adjourn_replica::Input;
use adjourn_storage::backup_file::FOOTER_BYTES;
use adjourn_storage::{PinnedBackup, StorageError};

/// The length of a part of a checkpoint, in bytes.
pub(super) const PART_BYTES: usize = 64 << 10;

/// A `FETCH` of another node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) node: u64,
    pub(super) index: u64,
    pub(super) offset: u64,
}

/// A checkpoint that is held open for a node.
struct Pin {
    backup: Arc<PinnedBackup>,
    asked: Instant,
    /// When the replica was last told of it.
    told: Option<Instant>,
}

/// Answers other nodes' requests for checkpoints until all senders of requests are gone.
pub(super) async fn serve(
    shared: Arc<PeersState>,
    checkpoint: Sender<ToCheckpoint>,
    mut asked: mpsc::Receiver<Asked>,
) {
    let mut pins: BTreeMap<u64, Pin> = BTreeMap::new();
    loop {
        let idle = shared.timing.pin_idle;
        let oldest = pins.values().map(|pin| pin.asked + idle).min();
        let ask = tokio::select! {
            () = shared.stopping.cancelled() => return,
            ask = asked.recv() => ask,
            () = sleep_until(oldest.unwrap_or_else(|| Instant::now() + idle)), if oldest.is_some() => {
                pins.retain(|_, pin| pin.asked.elapsed() < idle);
                continue;
            }
        };
        let Some(ask) = ask else { return };
        answer(ask, &mut pins, &shared, &checkpoint).await;
    }
}

async fn answer(
    ask: Asked,
    pins: &mut BTreeMap<u64, Pin>,
    shared: &PeersState,
    checkpoint: &Sender<ToCheckpoint>,
) {
    let Asked { node, index, offset } = ask;
    if shared.sends_no_snapshots.load(Ordering::Relaxed) {
        pins.clear();
        return refuse(ask, shared);
    }
    if pins.get(&node).is_none_or(|pin| pin.backup.header().index != index) {
        pins.remove(&node);
        let Some(backup) = newest(checkpoint).await.filter(|backup| backup.header().index == index) else {
            return refuse(ask, shared);
        };
        info!(node, index, bytes = backup.header().bytes, "a node fetches the checkpoint");
        pins.insert(node, Pin { backup, asked: Instant::now(), told: None });
    }
    let Some(pin) = pins.get_mut(&node) else { return };
    pin.asked = Instant::now();
    if pin.told.is_none_or(|told| told.elapsed() >= shared.timing.progress_every) {
        pin.told = Some(pin.asked);
        shared.tell(Input::SnapshotPulled { node });
    }
    let total = pin.backup.header().bytes - FOOTER_BYTES;
    if offset > total {
        return refuse(ask, shared);
    }
    let backup = Arc::clone(&pin.backup);
    match spawn_blocking(move || read(&backup, offset, total)).await {
        Ok(Ok(data)) => {
            if let Some(peer) = shared.peer(node) {
                peer.send_queue.push_part(PeerFrame::Part { index, offset, total, data });
            }
        }
        Ok(Err(error)) => {
            warn!(node, index, %error, "the checkpoint cannot be read for a node that fetches it");
            pins.remove(&node);
            refuse(ask, shared);
        }
        // The runtime is ending, and begins no more reads.
        Err(_) => {}
    }
}

/// The newest checkpoint, held open; `None` if there is none, or it cannot be opened.
async fn newest(checkpoint: &Sender<ToCheckpoint>) -> Option<Arc<PinnedBackup>> {
    let (reply, pinned) = oneshot::channel();
    // If the thread has ended, no reply comes.
    let _ = checkpoint.send(ToCheckpoint::Pin { reply });
    pinned.await.ok().flatten()
}

fn refuse(Asked { node, index, .. }: Asked, shared: &PeersState) {
    info!(node, index, "a node requests a checkpoint that no longer exists here: it gets the newest one");
    if let Some(peer) = shared.peer(node) {
        peer.send_queue.push_frame(PeerFrame::Gone { index });
    }
    shared.tell(Input::SnapshotRefused { node });
}

fn read(backup: &PinnedBackup, offset: u64, total: u64) -> Result<Bytes, StorageError> {
    let left = usize::try_from(total.saturating_sub(offset)).unwrap_or(usize::MAX);
    let mut part = vec![0; left.min(PART_BYTES)];
    let read = backup.read_at(offset, &mut part)?;
    part.truncate(read);
    Ok(part.into())
}
