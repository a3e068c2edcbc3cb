//! One node, in a process of its own or inside a test: its threads, its sockets, its clock and its dice.
//!
//! ```text
//!   clients <--> connection tasks (tokio) --requests--> core thread --orders--> disk thread
//!                       ^                               owns Replica            owns Storage
//!                       +---------- answers -------------+   ^                      |
//!                                                            +------- durable ------+
//! ```
//!
//! The core never waits for a connection, nor for a write or a sync, and no connection waits for another. For a job that
//! is on the disk alone it reads the disk itself. Every answer comes from
//! the replica, which gives it when what it depends on is durable: nothing here answers on its own but PING
//! and frames that make no sense. What the core does not know (time, chance, sockets, files) enters here.

pub mod config;

mod checkpoint;
mod clock;
mod connection;
mod core;
mod disk;
mod entropy;
mod listener;
mod outbox;
mod start;
mod threads;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::info;

use self::core::{Core, ToCore};
use crate::replica::{Input, ReplayError};
use crate::storage::folder::SpareFolder;
use crate::storage::{DiskStorage, StorageError};
use checkpoint::{CheckpointThread, ToCheckpoint, Whose};
use clock::Clock;
pub(crate) use clock::wall;
use config::Config;
use connection::Terms;
use disk::{Disk, ToDisk};
pub use entropy::NoEntropy;
use listener::Reserved;
use start::Recovered;
use threads::Threads;

/// Why a server cannot start, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Which.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The system gives no thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// There is nothing to draw secrets from.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The data directory cannot be used, or the disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The log holds an entry that cannot be applied.
    #[error("the log in {} cannot be replayed: {source}", data.display())]
    Replay {
        /// The data directory.
        data: PathBuf,
        /// Which entry, and why.
        source: ReplayError,
    },
    /// A thread panicked: an error in the program. What was acknowledged is on the disk.
    #[error("the {0} thread ended by a panic: this is an error in the program, please report it")]
    Panicked(&'static str),
}

/// A node that can be started.
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Opens the data directory and serves it. Returns when clients can connect. Needs a tokio runtime of several
    /// threads.
    pub async fn start(config: Config) -> Result<Running, ServerError> {
        // The address comes first: a mistake there should not cost the time of a recovery.
        let reserved = listener::reserve(&config.listen).await;
        let listening = |source: io::Error| ServerError::Listen { address: config.listen.clone(), source };
        let reserved = reserved.map_err(listening)?;
        let address = reserved.address().map_err(listening)?;
        let clock = Clock::start();
        let recovering = tokio::task::spawn_blocking({
            let config = config.clone();
            move || start::recover(&config, address, clock)
        });
        let recovered = recovering.await.map_err(|_| ServerError::Panicked("recovery"))??;
        launch(&config, reserved, recovered, clock).await
    }
}

/// A node that serves clients. Dropping it ends it at once, as a crash would; [`Running::stop`] is the way to
/// end it well.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    core: Sender<ToCore>,
    stopping: CancellationToken,
    room: Arc<Semaphore>,
    connections_max: u32,
    threads: Threads,
}

/// At a stop, connections have so long to take what was sent to them.
const FLUSH_MAX: Duration = Duration::from_secs(5);

impl Running {
    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the server ends by itself: because the disk failed, or by an error in the program. Nothing
    /// that was not durable by then was acknowledged.
    pub async fn ended(&mut self) -> Result<(), ServerError> {
        let end = self.threads.first_end().await;
        self.stopping.cancel();
        // One that is at its end already needs no telling.
        let _ = self.core.send(ToCore::Abort);
        self.threads.join();
        end.unwrap_or(Ok(()))
    }

    /// Takes no new work, makes durable and answers what was accepted, says goodbye to every client and closes
    /// the data directory.
    pub async fn stop(mut self) -> Result<(), ServerError> {
        info!("stopping");
        self.stopping.cancel();
        // A core that has ended needs no telling.
        let _ = self.core.send(ToCore::Input(Input::Stop));
        self.ended().await?;
        // Whoever does not read by then is closed all the same.
        let _ = timeout(FLUSH_MAX, self.room.acquire_many(self.connections_max)).await;
        info!("stopped");
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopping.cancel();
        // A core that has ended needs no telling.
        let _ = self.core.send(ToCore::Abort);
    }
}

/// Starts the threads over a state that was recovered, waits until it leads, then lets clients in.
async fn launch(
    config: &Config,
    reserved: Reserved,
    recovered: Recovered,
    clock: Clock,
) -> Result<Running, ServerError> {
    let Recovered { storage, recovery } = recovered;
    let listen_error = |source: io::Error| ServerError::Listen { address: config.listen.clone(), source };
    let address = reserved.address().map_err(listen_error)?;
    let (tell_serving, serving) = oneshot::channel();
    let (threads, to_core) = start_threads(config, storage, clock, move |inputs, to_disk, to_checkpoint| {
        Core::new(recovery.start(clock.now()), to_disk, to_checkpoint, clock, tell_serving).run(&inputs);
    })?;
    let connections_max = u32::try_from(config.connections_max).unwrap_or(u32::MAX);
    let mut running = Running {
        address,
        core: to_core.clone(),
        stopping: CancellationToken::new(),
        room: Arc::new(Semaphore::new(config.connections_max)),
        connections_max,
        threads,
    };
    let serves = tokio::select! {
        served = serving => served.is_ok(),
        ended = running.ended() => {
            ended?;
            false
        }
    };
    if !serves {
        running.ended().await?;
        return Err(ServerError::Panicked("core"));
    }
    let listener = reserved.listen().map_err(listen_error)?;
    let terms = Arc::new(terms(config, to_core, running.stopping.clone()));
    tokio::spawn(listener::accept(listener, running.room.clone(), terms));
    info!(%address, "listening");
    Ok(running)
}

/// Starts the disk thread and the checkpoint thread, and one that runs `core`.
fn start_threads(
    config: &Config,
    storage: DiskStorage,
    clock: Clock,
    core: impl FnOnce(Receiver<ToCore>, Sender<ToDisk>, Sender<ToCheckpoint>) + Send + 'static,
) -> Result<(Threads, Sender<ToCore>), ServerError> {
    let (chunks, lock) = (storage.chunks().clone(), storage.lock());
    let whose = Whose { cluster_id: storage.cluster_id(), node: config.node };
    let (to_core, inputs) = mpsc::channel();
    let (to_disk, orders) = mpsc::channel();
    let (to_checkpoint, checkpoint_orders) = mpsc::channel();
    let mut threads = Threads::new();
    let disk =
        Disk::new(storage, to_core.clone(), clock, config.disk_free_min_bytes, config.memory_max_bytes > 0);
    let abort = to_core.clone();
    threads.spawn("disk", move || {
        let outcome = disk.run(&orders);
        // After a failure nothing may be answered any more.
        let _ = abort.send(ToCore::Abort);
        Some(outcome.map_err(ServerError::from))
    })?;
    // A checkpoint takes a part of what is kept free for those who take jobs out of the queue, and leaves the rest.
    let chunks = SpareFolder::new(chunks, config.disk_free_min_bytes / 2);
    let checkpoint = CheckpointThread::new(chunks, to_core.clone(), to_disk.clone(), clock, lock, whose);
    threads.spawn("checkpoint", move || {
        checkpoint.run(&checkpoint_orders);
        None
    })?;
    threads.spawn("core", move || {
        core(inputs, to_disk, to_checkpoint);
        None
    })?;
    Ok((threads, to_core))
}

fn terms(config: &Config, core: Sender<ToCore>, stopping: CancellationToken) -> Terms {
    Terms {
        core,
        wall: clock::wall,
        tokens: config.auth_tokens.clone(),
        body_bytes_max: config.body_bytes_max,
        in_flight_max: config.in_flight_max,
        output_bytes_max: config.output_bytes_max,
        frame_deadline: Duration::from_millis(config.frame_deadline_ms),
        silence_max: Duration::from_millis(2 * u64::from(config.heartbeat_ms)),
        stopping,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::replica::CheckpointOrder;
    use crate::storage::{CheckpointBegin, OpenOptions};
    use crate::types::GroupId;

    /// How a node ends whose core does this. All its threads come to their ends.
    async fn end_of(
        core: impl FnOnce(Receiver<ToCore>, Sender<ToDisk>, Sender<ToCheckpoint>) + Send + 'static,
    ) -> Result<(), ServerError> {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("data");
        let options = OpenOptions { path, node: 1, cluster_id: [1; 16], storage_id: [2; 16] };
        let storage = DiskStorage::open(&options).expect("founded");
        let config = Config::default();
        let (threads, core) = start_threads(&config, storage, Clock::start(), core).expect("started");
        let mut running = Running {
            address: SocketAddr::from(([127, 0, 0, 1], 1)),
            core,
            stopping: CancellationToken::new(),
            room: Arc::new(Semaphore::new(1)),
            connections_max: 1,
            threads,
        };
        running.ended().await
    }

    fn wait_for_abort(inputs: &Receiver<ToCore>) {
        while !matches!(inputs.recv(), Ok(ToCore::Abort) | Err(_)) {}
    }

    #[tokio::test]
    async fn a_panic_in_the_core_ends_the_node() {
        let end = end_of(|_inputs, _disk, _checkpoint| panic!("the core was told to panic")).await;
        assert!(matches!(end, Err(ServerError::Panicked("core"))), "{end:?}");
    }

    #[tokio::test]
    async fn a_panic_in_the_disk_thread_ends_the_node() {
        let end = end_of(|inputs, disk, _checkpoint| {
            // It is not there to be cut.
            disk.send(ToDisk::Cut { through: 9 }).expect("sent");
            wait_for_abort(&inputs);
        });
        let end = end.await;
        assert!(matches!(end, Err(ServerError::Panicked("disk"))), "{end:?}");
    }

    #[tokio::test]
    async fn a_panic_in_the_checkpoint_thread_ends_the_node() {
        let end = end_of(|inputs, _disk, checkpoint| {
            // No entry has that term.
            let begin = CheckpointBegin {
                number: 1,
                index: 0,
                term: 7,
                voters: vec![1],
                state_hash: 0,
                jobs: 0,
                image: Engine::new(GroupId(0)).image().encode(),
                chunks: Vec::new(),
                rewrite: Vec::new(),
                next_chunk: 1,
                chunk_bytes: 4096,
                pin: false,
            };
            for order in [CheckpointOrder::Begin(Box::new(begin)), CheckpointOrder::End] {
                checkpoint.send(ToCheckpoint::Order(order)).expect("sent");
            }
            wait_for_abort(&inputs);
        });
        let end = end.await;
        assert!(matches!(end, Err(ServerError::Panicked("checkpoint"))), "{end:?}");
    }

    #[tokio::test]
    async fn a_core_that_is_done_ends_the_node_well() {
        let end = end_of(|_inputs, disk, _checkpoint| disk.send(ToDisk::Finish).expect("sent")).await;
        assert!(end.is_ok(), "{end:?}");
    }
}
