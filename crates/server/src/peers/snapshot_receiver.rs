//! The snapshot receiver: fetches a checkpoint from another node part by part into a file, verifies it as a whole,
//! then unpacks it beside this node's data.
//!
//! One snapshot at a time, and one part in flight: the sender is never flooded, and urgent messages overtake. After
//! a broken connection, or when a fetch starts again, it resumes at the end of the file, if the checkpoint begins
//! with the same bytes: these contain the hash of everything in it. A checkpoint that arrives damaged, or that there
//! is no space for, is discarded and fetched again, a few times.
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
use super::PeersState;
use super::fetch_progress::{FetchProgress, Shown};
use super::frames::PeerFrame;
use super::partial_snapshot::{self, PartialSnapshot};
use adjourn_replica::Input;
use adjourn_storage::folder::{DiskFolder, Folder, SpareFolder};
use adjourn_storage::{Backup, Restored, StorageError, StorageErrorKind, checkpoint};

/// A command of the core to fetch a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct FetchRequest {
    /// Its number, by which the core tells the result of its last request from earlier ones.
    pub(super) number: u64,
    /// The node that has the checkpoint.
    pub(super) from: u64,
    /// The last entry that it contains.
    pub(super) index: u64,
}

/// The answer of another node to `FETCH`.
#[derive(Debug)]
pub(super) enum Answer {
    /// A part.
    Part { node: u64, index: u64, offset: u64, total: u64, data: Bytes },
    /// The node no longer has that checkpoint.
    Gone { node: u64, index: u64 },
}

/// Where a fetched checkpoint is written.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotFiles {
    /// The partial snapshot.
    pub(crate) file: PathBuf,
    /// The files of the checkpoint, on the same device. The folder leaves some space to the log.
    pub(crate) incoming: SpareFolder<DiskFolder>,
}

impl SnapshotFiles {
    /// Fails if there is no space for this many bytes more.
    fn look(&self, bytes: u64) -> Result<(), StorageError> {
        if self.incoming.free_bytes()? < bytes {
            return Err(StorageError::DiskFull { action: "write", path: self.file.clone() });
        }
        Ok(())
    }
}

/// Why a fetch ended without a checkpoint.
#[derive(Debug)]
enum FetchError {
    /// Another checkpoint was requested, or none is needed.
    Cancelled,
    /// The other node no longer has it, or does not answer.
    Gone,
    /// The checkpoint is damaged. Fetching it again may help.
    Useless(Flaw),
    /// The disk failed.
    Failed(StorageError),
}

/// Why a fetched checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
enum Flaw {
    /// It is damaged, or of a later version, or a resource ran short.
    #[error(transparent)]
    Storage(StorageError),
    /// It is not the requested one.
    #[error("it is the checkpoint at entry {0}")]
    OtherIndex(u64),
    /// The other node stated different lengths for one checkpoint.
    #[error("its parts have different lengths")]
    Parts,
}

/// The number of attempts to fetch a checkpoint that arrives damaged.
const ATTEMPTS_MAX: u32 = 3;

/// Fetches the ordered checkpoints, until the core ends.
pub(super) async fn serve(
    shared: Arc<PeersState>,
    places: SnapshotFiles,
    mut requests: mpsc::UnboundedReceiver<FetchRequest>,
    mut answers: mpsc::Receiver<Answer>,
) {
    let mut next = requests.recv().await;
    while let Some(request) = next.take() {
        let cancelled = shared.stopping.child_token();
        let fetch = Fetch { request, shared: &shared, places: &places, cancelled: &cancelled };
        let outcome = {
            let mut fetching = pin!(fetch.run(&mut answers));
            tokio::select! {
                outcome = &mut fetching => outcome,
                newer = requests.recv() => {
                    // Let the unpacking end first: two at once would write into the same folder.
                    cancelled.cancel();
                    next = newer;
                    fetching.await
                }
            }
        };
        let FetchRequest { number, from, index } = request;
        match outcome {
            Ok(restored) => {
                info!(from, index, "a checkpoint was fetched and verified");
                let input = Input::SnapshotFetched { index, restored };
                shared.send(ToCore::SnapshotFetch { number, input });
            }
            Err(FetchError::Gone | FetchError::Useless(_)) => {
                warn!(from, index, "a checkpoint could not be fetched: the leader offers the next one");
                shared.send(ToCore::SnapshotFetch { number, input: Input::SnapshotGone { index } });
            }
            Err(FetchError::Cancelled) => {}
            Err(FetchError::Failed(error)) => return shared.send(ToCore::Failed(error)),
        }
        if next.is_none() {
            next = requests.recv().await;
        }
    }
}

/// A fetch under way.
struct Fetch<'a> {
    request: FetchRequest,
    shared: &'a PeersState,
    places: &'a SnapshotFiles,
    cancelled: &'a CancellationToken,
}

impl Fetch<'_> {
    async fn run(&self, answers: &mut mpsc::Receiver<Answer>) -> Result<Box<Restored>, FetchError> {
        let FetchRequest { from, index, .. } = self.request;
        info!(from, index, "fetching a checkpoint");
        let mut attempt = 1;
        loop {
            let useless = match self.attempt(answers).await {
                Err(FetchError::Useless(flaw)) => flaw,
                outcome => return outcome,
            };
            warn!(from, index, attempt, reason = %useless, "a fetched checkpoint cannot be used");
            if attempt == ATTEMPTS_MAX {
                let path = self.places.file.clone();
                blocking(move || partial_snapshot::remove(&path)).await?;
                return Err(FetchError::Useless(useless));
            }
            tokio::select! {
                () = tokio::time::sleep(self.shared.timing.fetch_retry * attempt) => attempt += 1,
                () = self.cancelled.cancelled() => return Err(FetchError::Cancelled),
            }
        }
    }

    async fn attempt(&self, answers: &mut mpsc::Receiver<Answer>) -> Result<Box<Restored>, FetchError> {
        let total = self.fetch(answers).await?;
        let restored = self.unpack(total).await?;
        if self.cancelled.is_cancelled() { Err(FetchError::Cancelled) } else { Ok(restored) }
    }

    /// Fetches the whole checkpoint into the file. Returns its length.
    async fn fetch(&self, answers: &mut mpsc::Receiver<Answer>) -> Result<u64, FetchError> {
        let (total, first) = self.part(0, answers).await?;
        let path = self.places.file.clone();
        let mut partial = blocking(move || PartialSnapshot::begin(&path, &first, total)).await?;
        if partial.bytes() > first_bytes(total) {
            info!(bytes = partial.bytes(), total, "continuing an earlier fetch of this checkpoint");
        }
        let (places, missing) = (self.places.clone(), total.saturating_sub(partial.bytes()));
        blocking(move || places.look(missing)).await?;
        let mut progress = FetchProgress::begin(partial.bytes(), total, Instant::now());
        while partial.bytes() < total {
            let (claimed, data) = self.part(partial.bytes(), answers).await?;
            if claimed != total || data.is_empty() {
                return Err(FetchError::Useless(Flaw::Parts));
            }
            let places = self.places.clone();
            partial = blocking(move || {
                places.look(data.len() as u64)?;
                partial.put(&data)?;
                Ok(partial)
            })
            .await?;
            if let Some(shown) = progress.show(partial.bytes(), Instant::now()) {
                self.log_progress(partial.bytes(), total, shown);
            }
        }
        blocking(move || partial.finish()).await?;
        Ok(total)
    }

    fn log_progress(&self, bytes: u64, total: u64, shown: Shown) {
        let FetchRequest { from, index, .. } = self.request;
        let Shown { percent, bytes_per_second, seconds_left } = shown;
        info!(from, index, bytes, total, percent, bytes_per_second, seconds_left, "fetching the checkpoint");
    }

    /// Requests the part at `offset` until it arrives.
    async fn part(
        &self,
        offset: u64,
        answers: &mut mpsc::Receiver<Answer>,
    ) -> Result<(u64, Bytes), FetchError> {
        let timing = &self.shared.timing;
        let begun = Instant::now();
        loop {
            self.ask(offset);
            tokio::select! {
                () = self.cancelled.cancelled() => return Err(FetchError::Cancelled),
                answered = timeout(timing.part, self.answer(offset, answers)) => match answered {
                    Ok(answer) => return answer,
                    Err(_) if begun.elapsed() >= timing.fetch_silence => return Err(FetchError::Gone),
                    Err(_) => {}
                },
            }
        }
    }

    fn ask(&self, offset: u64) {
        let FetchRequest { from, index, .. } = self.request;
        if let Some(peer) = self.shared.peer(from) {
            peer.send_queue.push_frame(PeerFrame::Fetch { index, offset });
        }
    }

    /// Waits for the answer to the last request. Answers to earlier requests are ignored.
    async fn answer(
        &self,
        asked: u64,
        answers: &mut mpsc::Receiver<Answer>,
    ) -> Result<(u64, Bytes), FetchError> {
        let ours = (self.request.from, self.request.index);
        while let Some(answer) = answers.recv().await {
            match answer {
                Answer::Part { node, index, offset, total, data }
                    if (node, index) == ours && offset == asked =>
                {
                    return Ok((total, data));
                }
                Answer::Gone { node, index } if (node, index) == ours => return Err(FetchError::Gone),
                _ => {}
            }
        }
        Err(FetchError::Cancelled)
    }

    /// Verifies all of it and unpacks it. Meanwhile it keeps sending requests: otherwise the other node would take this
    /// one for gone, and offer the next checkpoint.
    async fn unpack(&self, total: u64) -> Result<Box<Restored>, FetchError> {
        let (places, index) = (self.places.clone(), self.request.index);
        let mut unpacking = pin!(blocking(move || Ok(unpack(&places, index))));
        loop {
            tokio::select! {
                unpacked = &mut unpacking => return unpacked?,
                () = tokio::time::sleep(self.shared.timing.progress_every) => self.ask(total),
            }
        }
    }
}

/// Unpacks the checkpoint in the file beside this node's own, and removes the file, even after an error.
fn unpack(places: &SnapshotFiles, index: u64) -> Result<Box<Restored>, FetchError> {
    let unpacked = || {
        let backup = Backup::open(&places.file)?;
        if backup.header().index != index {
            return Err(FetchError::Useless(Flaw::OtherIndex(backup.header().index)));
        }
        backup.verify(|_| {})?;
        // The files of an earlier fetch are not needed: the core has requested another one.
        empty(&places.incoming)?;
        backup.unpack(&places.incoming)?;
        checkpoint::restore(&places.incoming)?.ok_or(FetchError::Gone)
    };
    let outcome = unpacked();
    partial_snapshot::remove(&places.file)?;
    if outcome.is_err() {
        // Half a checkpoint takes space, and a lack of space may be the reason.
        empty(&places.incoming)?;
    }
    outcome.map(Box::new)
}

fn empty(folder: &impl Folder) -> Result<(), StorageError> {
    folder.list()?.iter().try_for_each(|name| folder.remove(name))
}

/// The length of the first part, in bytes.
fn first_bytes(total: u64) -> u64 {
    total.min(super::snapshot_sender::PART_BYTES as u64)
}

/// Runs blocking work outside the threads that serve connections, always to its end.
async fn blocking<T: Send + 'static>(
    step: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, FetchError> {
    match spawn_blocking(step).await {
        Ok(done) => done.map_err(FetchError::from),
        // The runtime is ending, and begins no more writes.
        Err(_) => Err(FetchError::Cancelled),
    }
}

impl From<StorageError> for FetchError {
    fn from(error: StorageError) -> Self {
        if error.kind() == StorageErrorKind::DiskFailed && !error.is_shortage() {
            Self::Failed(error)
        } else {
            Self::Useless(Flaw::Storage(error))
        }
    }
}
