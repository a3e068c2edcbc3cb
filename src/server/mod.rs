//! One node, in a process of its own or inside a test: its threads, its sockets, its clock and its dice.
//!
//! ```text
//!   clients <--> connection tasks (tokio) --requests--> core thread --orders--> disk thread
//!                       ^                               owns Replica            owns Storage
//!                       +---------- answers -------------+   ^                      |
//!                                                            +------- durable ------+
//! ```
//!
//! The core never waits for a connection or for the disk, and no connection for another. Every answer comes from
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

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::info;

use self::core::{Core, ToCore};
use crate::replica::{Input, ReplayError};
use crate::storage::StorageError;
use checkpoint::{CheckpointThread, Whose};
use clock::Clock;
use config::Config;
use connection::Terms;
use disk::Disk;
pub use entropy::NoEntropy;
use listener::Reserved;
use start::Recovered;

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
    disk_ended: Option<oneshot::Receiver<Result<(), StorageError>>>,
    threads: Vec<(&'static str, JoinHandle<()>)>,
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
        let Some(disk_ended) = &mut self.disk_ended else { return Ok(()) };
        let disk = disk_ended.await;
        self.disk_ended = None;
        self.stopping.cancel();
        // The core is at its end already, unless the disk thread panicked.
        let _ = self.core.send(ToCore::Abort);
        for (name, thread) in self.threads.drain(..) {
            thread.join().map_err(|_| ServerError::Panicked(name))?;
        }
        match disk {
            Ok(outcome) => Ok(outcome?),
            Err(_) => Err(ServerError::Panicked("disk")),
        }
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
    let (chunks, lock) = (storage.chunks().clone(), storage.lock());
    let whose = Whose { cluster_id: storage.cluster_id(), node: config.node };
    let listen_error = |source: io::Error| ServerError::Listen { address: config.listen.clone(), source };
    let address = reserved.address().map_err(listen_error)?;
    let (to_core, inputs) = mpsc::channel();
    let (to_disk, orders) = mpsc::channel();
    let (to_checkpoint, checkpoint_orders) = mpsc::channel();
    let (tell_serving, serving) = oneshot::channel();
    let (tell_ended, disk_ended) = oneshot::channel();
    let disk =
        Disk::new(storage, to_core.clone(), clock, config.disk_free_min_bytes, config.memory_max_bytes > 0);
    let abort = to_core.clone();
    let disk_thread = spawn("adjourn-disk", move || {
        let outcome = disk.run(&orders);
        // After a failure nothing may be answered any more.
        let _ = abort.send(ToCore::Abort);
        let _ = tell_ended.send(outcome);
    })?;
    let checkpoint = CheckpointThread::new(
        chunks,
        to_core.clone(),
        to_disk.clone(),
        to_checkpoint.clone(),
        clock,
        lock,
        whose,
    );
    let checkpoint_thread = spawn("adjourn-checkpoint", move || checkpoint.run(&checkpoint_orders))?;
    let core_thread = spawn("adjourn-core", move || {
        Core::new(recovery.start(clock.now()), to_disk, to_checkpoint, clock, tell_serving).run(&inputs);
    })?;
    let connections_max = u32::try_from(config.connections_max).unwrap_or(u32::MAX);
    let mut running = Running {
        address,
        core: to_core.clone(),
        stopping: CancellationToken::new(),
        room: Arc::new(Semaphore::new(config.connections_max)),
        connections_max,
        disk_ended: Some(disk_ended),
        threads: vec![("core", core_thread), ("disk", disk_thread), ("checkpoint", checkpoint_thread)],
    };
    if serving.await.is_err() {
        running.ended().await?;
        return Err(ServerError::Panicked("core"));
    }
    let listener = reserved.listen().map_err(listen_error)?;
    let terms = Arc::new(terms(config, to_core, running.stopping.clone()));
    tokio::spawn(listener::accept(listener, running.room.clone(), terms));
    info!(%address, "listening");
    Ok(running)
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, ServerError> {
    thread::Builder::new().name(name.to_owned()).spawn(run).map_err(ServerError::Thread)
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
