//! The snapshot receiver: pulls a checkpoint from another node part by part into a file, verifies it as a whole,
//! then unpacks it beside this node's data.
//!
//! One snapshot at a time, and one part in flight: the sender is never flooded, and urgent messages overtake. After
//! a broken connection, or when a pull starts again, it resumes at the end of the file, if the checkpoint begins
//! with the same bytes: these contain the hash of everything in it. A damaged checkpoint is discarded and pulled
//! again, a few times; so is one for which there is no space.
//!
//! ```text
//! DIR/incoming.pull    the partial snapshot
//! DIR/incoming/        the files of the checkpoint, when all of it was verified
//! ```

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::super::core::ToCore;
use super::Shared;
use super::frames::PeerFrame;
use super::pulled::{self, Pulled};
use crate::replica::Input;
use crate::storage::folder::{DiskFolder, Folder, SpareFolder};
use crate::storage::{Backup, Restored, StorageError, StorageErrorKind, checkpoint};

/// A checkpoint to be pulled.
#[derive(Clone, Copy, Debug)]
pub(super) struct PullOrder {
    /// By this number the core tells the answer to its last order from those to earlier ones.
    pub(super) number: u64,
    /// From whom.
    pub(super) from: u64,
    /// The last entry that it contains.
    pub(super) index: u64,
}

/// What another node answers to `FETCH`.
#[derive(Debug)]
pub(super) enum Answer {
    /// A part.
    Part { node: u64, index: u64, offset: u64, total: u64, data: Bytes },
    /// It is not the newest there.
    Gone { node: u64, index: u64 },
}

/// Where it all goes.
#[derive(Clone, Debug)]
pub(in crate::server) struct Places {
    /// What was pulled.
    pub(in crate::server) file: PathBuf,
    /// The files of the checkpoint, on the same device: what is spared of it is left to the log.
    pub(in crate::server) incoming: SpareFolder<DiskFolder>,
}

impl Places {
    /// Refuses to go on if there is no room for so many bytes more.
    fn look(&self, bytes: u64) -> Result<(), StorageError> {
        if self.incoming.free_bytes()? < bytes {
            return Err(StorageError::DiskFull { action: "write", path: self.file.clone() });
        }
        Ok(())
    }
}

/// Why a pull ended without a checkpoint.
#[derive(Debug)]
enum PullEnd {
    /// Another one is wanted, or none.
    Cancelled,
    /// The other node has it no more, or does not answer.
    Gone,
    /// What came is of no use: it may be, if it is pulled again.
    Useless(Flaw),
    /// The disk failed.
    Failed(StorageError),
}

/// Why a checkpoint that was pulled is of no use.
#[derive(Debug, thiserror::Error)]
enum Flaw {
    /// It is damaged, or of a later version, or something is short that it needs.
    #[error(transparent)]
    Storage(StorageError),
    /// It is not the one that was asked for.
    #[error("it is of entry {0}")]
    OtherIndex(u64),
    /// The other node said of one checkpoint that it had different lengths.
    #[error("its parts do not fit together")]
    Parts,
}

/// How often a checkpoint is pulled that turns out to be of no use.
const ATTEMPTS_MAX: u32 = 3;

/// Pulls what is ordered, until nobody can order any more.
pub(super) async fn serve(
    shared: Arc<Shared>,
    places: Places,
    mut orders: mpsc::UnboundedReceiver<PullOrder>,
    mut answers: mpsc::Receiver<Answer>,
) {
    let mut next = orders.recv().await;
    while let Some(order) = next.take() {
        let cancelled = shared.stopping.child_token();
        let pull = Pull { order, shared: &shared, places: &places, cancelled: &cancelled };
        let outcome = {
            let mut pulling = pin!(pull.run(&mut answers));
            tokio::select! {
                outcome = &mut pulling => outcome,
                newer = orders.recv() => {
                    // What is being unpacked comes to its end first: two would write into the same folder.
                    cancelled.cancel();
                    next = newer;
                    pulling.await
                }
            }
        };
        let PullOrder { number, from, index } = order;
        match outcome {
            Ok(restored) => {
                info!(from, index, "a checkpoint was pulled and is whole");
                let input = Input::SnapshotFetched { index, restored };
                shared.send(ToCore::Pulled { number, input });
            }
            Err(PullEnd::Gone | PullEnd::Useless(_)) => {
                warn!(from, index, "a checkpoint could not be pulled: the next one that is offered will be");
                shared.send(ToCore::Pulled { number, input: Input::SnapshotGone { index } });
            }
            Err(PullEnd::Cancelled) => {}
            Err(PullEnd::Failed(error)) => return shared.send(ToCore::Failed(error)),
        }
        if next.is_none() {
            next = orders.recv().await;
        }
    }
}

/// A pull that is under way.
struct Pull<'a> {
    order: PullOrder,
    shared: &'a Shared,
    places: &'a Places,
    cancelled: &'a CancellationToken,
}

impl Pull<'_> {
    async fn run(&self, answers: &mut mpsc::Receiver<Answer>) -> Result<Box<Restored>, PullEnd> {
        let PullOrder { from, index, .. } = self.order;
        info!(from, index, "pulling a checkpoint");
        let mut attempt = 1;
        loop {
            let useless = match self.attempt(answers).await {
                Err(PullEnd::Useless(flaw)) => flaw,
                outcome => return outcome,
            };
            warn!(from, index, attempt, reason = %useless, "a checkpoint that was pulled is of no use");
            if attempt == ATTEMPTS_MAX {
                let path = self.places.file.clone();
                blocking(move || pulled::remove(&path)).await?;
                return Err(PullEnd::Useless(useless));
            }
            tokio::select! {
                () = tokio::time::sleep(self.shared.timing.pull_again * attempt) => attempt += 1,
                () = self.cancelled.cancelled() => return Err(PullEnd::Cancelled),
            }
        }
    }

    async fn attempt(&self, answers: &mut mpsc::Receiver<Answer>) -> Result<Box<Restored>, PullEnd> {
        let total = self.fetch(answers).await?;
        let restored = self.unpack(total).await?;
        if self.cancelled.is_cancelled() { Err(PullEnd::Cancelled) } else { Ok(restored) }
    }

    /// Brings the whole checkpoint into the file. Returns its length.
    async fn fetch(&self, answers: &mut mpsc::Receiver<Answer>) -> Result<u64, PullEnd> {
        let (total, first) = self.part(0, answers).await?;
        let path = self.places.file.clone();
        let mut pulled = blocking(move || Pulled::begin(&path, &first, total)).await?;
        if pulled.bytes() > first_bytes(total) {
            info!(bytes = pulled.bytes(), total, "some of the checkpoint is here already");
        }
        let (places, missing) = (self.places.clone(), total.saturating_sub(pulled.bytes()));
        blocking(move || places.look(missing)).await?;
        while pulled.bytes() < total {
            let (claimed, data) = self.part(pulled.bytes(), answers).await?;
            if claimed != total || data.is_empty() {
                return Err(PullEnd::Useless(Flaw::Parts));
            }
            let places = self.places.clone();
            pulled = blocking(move || {
                places.look(data.len() as u64)?;
                pulled.put(&data)?;
                Ok(pulled)
            })
            .await?;
        }
        blocking(move || pulled.finish()).await?;
        Ok(total)
    }

    /// Asks for the part at `offset` until it is there.
    async fn part(&self, offset: u64, answers: &mut mpsc::Receiver<Answer>) -> Result<(u64, Bytes), PullEnd> {
        let timing = &self.shared.timing;
        let begun = Instant::now();
        loop {
            self.ask(offset);
            tokio::select! {
                () = self.cancelled.cancelled() => return Err(PullEnd::Cancelled),
                answered = timeout(timing.part, self.answer(offset, answers)) => match answered {
                    Ok(answer) => return answer,
                    Err(_) if begun.elapsed() >= timing.pull_silence => return Err(PullEnd::Gone),
                    Err(_) => {}
                },
            }
        }
    }

    fn ask(&self, offset: u64) {
        let PullOrder { from, index, .. } = self.order;
        if let Some(peer) = self.shared.peer(from) {
            peer.lanes.push_frame(PeerFrame::Fetch { index, offset });
        }
    }

    /// Waits for the answer to what was asked last. Those to what was asked before are passed over.
    async fn answer(
        &self,
        asked: u64,
        answers: &mut mpsc::Receiver<Answer>,
    ) -> Result<(u64, Bytes), PullEnd> {
        let ours = (self.order.from, self.order.index);
        while let Some(answer) = answers.recv().await {
            match answer {
                Answer::Part { node, index, offset, total, data }
                    if (node, index) == ours && offset == asked =>
                {
                    return Ok((total, data));
                }
                Answer::Gone { node, index } if (node, index) == ours => return Err(PullEnd::Gone),
                _ => {}
            }
        }
        Err(PullEnd::Cancelled)
    }

    /// Verifies all of it and unpacks it. Meanwhile the other node goes on hearing of this one: it would take it for gone,
    /// and offer the next checkpoint.
    async fn unpack(&self, total: u64) -> Result<Box<Restored>, PullEnd> {
        let (places, index) = (self.places.clone(), self.order.index);
        let mut unpacking = pin!(blocking(move || Ok(unpack(&places, index))));
        loop {
            tokio::select! {
                unpacked = &mut unpacking => return unpacked?,
                () = tokio::time::sleep(self.shared.timing.pulled_every) => self.ask(total),
            }
        }
    }
}

/// The checkpoint in the file, beside what this node has; the file is not needed any more then, whether it is whole or not.
fn unpack(places: &Places, index: u64) -> Result<Box<Restored>, PullEnd> {
    let unpacked = || {
        let backup = Backup::open(&places.file)?;
        if backup.header().index != index {
            return Err(PullEnd::Useless(Flaw::OtherIndex(backup.header().index)));
        }
        backup.verify(|_| {})?;
        // What an earlier pull left there is of no use any more: the core has asked for another one.
        empty(&places.incoming)?;
        backup.unpack(&places.incoming)?;
        checkpoint::restore(&places.incoming)?.ok_or(PullEnd::Gone)
    };
    let outcome = unpacked();
    pulled::remove(&places.file)?;
    if outcome.is_err() {
        // Half a checkpoint takes space, and that may be what there was too little of.
        empty(&places.incoming)?;
    }
    outcome.map(Box::new)
}

fn empty(folder: &impl Folder) -> Result<(), StorageError> {
    folder.list()?.iter().try_for_each(|name| folder.remove(name))
}

/// So much comes with the first part.
fn first_bytes(total: u64) -> u64 {
    total.min(super::offers::PART_BYTES as u64)
}

/// Does what blocks beside the threads that serve connections, and always to its end.
async fn blocking<T: Send + 'static>(
    step: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, PullEnd> {
    match spawn_blocking(step).await {
        Ok(done) => done.map_err(PullEnd::from),
        // The server ends, and does not begin to write any more.
        Err(_) => Err(PullEnd::Cancelled),
    }
}

impl From<StorageError> for PullEnd {
    fn from(error: StorageError) -> Self {
        if error.kind() == StorageErrorKind::DiskFailed && !error.is_shortage() {
            Self::Failed(error)
        } else {
            Self::Useless(Flaw::Storage(error))
        }
    }
}
