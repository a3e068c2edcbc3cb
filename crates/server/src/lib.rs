//! One node, in a process of its own or inside a test: its threads, sockets, clocks and random source.
//!
//! ```text
//!   clients <--> connection tasks (tokio) --requests--> core      --batches--> disk thread
//!                       ^                               owns Replica           owns Storage
//!                       +---------- answers -------------+   ^  ^                   |
//!   other nodes <--> peers' tasks (tokio) <--- bundles ------+  +----- durable -----+
//! ```
//!
//! The core is an [actor](mailbox::Actor): a thread of its own and a task of the runtime run it in turns. Alone with one
//! request, the task reads it, makes it durable and answers it, all on one thread: no thread waits for another. In a
//! crowd and for large work, the core, the disk thread and the connections work side by side.
//!
//! The core never waits for a connection, and no connection waits for another. The core itself reads jobs that are only on
//! disk. Every answer comes from the replica, when everything it depends on is durable: the server itself answers only
//! PING and invalid frames. Everything that the core does not know (time, randomness, sockets, files) enters here.

pub mod config;

mod accepted;
mod audit;
mod callers;
mod checkpoint;
mod clock;
mod connection;
mod core;
mod disk;
pub mod entropy;
mod listener;
mod local;
mod mailbox;
mod outbox;
pub mod peers;
mod ports;
mod rate;
mod stages;
mod start;
pub mod testing;
mod threads;
pub mod tokens;
mod unauthenticated;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::core::{Core, CoreMailbox, CoreRunner, ToCore};
pub use accepted::{Accepted, ConnectionHold};
pub use adjourn_engine::{JobEvent, JobEventKind};
pub use adjourn_replica::{CalledBack, HeldMemory, MemoryShare, OBSERVED_TOPICS_MAX, Observation};
use adjourn_replica::{Input, MemoryAccount, ReplayError};
use adjourn_storage::folder::{Folder, SpareFolder};
use adjourn_storage::{DiskStorage, StorageError};
use adjourn_transport::tls::{Acceptor, Members, TlsError};
use audit::{Audit, Auditor};
use checkpoint::{CheckpointThread, ToCheckpoint, Whose};
pub use clock::wall;
use clock::{Clock, NodeClock};
use config::{Config, ConfigError};
use connection::{ConnectionConfig, ConnectionNumbers, InputRoom};
pub use core::Observed;
use disk::{Chores, Disk, DiskHandle};
pub use entropy::NoEntropy;
pub use local::{Answering, Local, LocalSession, Vitals};
pub use peers::JoinError;
use peers::{Passage, Peers, SnapshotFiles, Timing};
pub use ports::Port;
use ports::{Ports, listen};
pub use rate::Rate;
pub use stages::{BOUNDS_US, Buckets};
use start::{Opened, Origin, Recovered};
use threads::Threads;
use tokens::{TokenError, Tokens};
use unauthenticated::Addresses;
pub use unauthenticated::network;

/// Why a server cannot start, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address, as configured.
        address: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Other nodes could not connect to the address that this node would tell them.
    #[error("{address} is not an address that others can connect to: set {key}")]
    NoAddress {
        /// The key of the configuration that is missing.
        key: &'static str,
        /// The address that the node listens on.
        address: SocketAddr,
    },
    /// A node without a peers' port cannot be a member.
    #[error("a node that joins a cluster needs an address for its members: set peer_listen")]
    JoinsUnreachably,
    /// A second cluster beside the first would be an accident.
    #[error(
        "{} is empty. If there is a cluster, name its members: --join HOST:PORT. If this node was a member, its data is lost: it \
         joins under another number. If it is the first node of a new cluster, say --found",
        .0.display()
    )]
    FoundsUnasked(PathBuf),
    /// The cluster refuses this node.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// The system refuses a new thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// The system has no random bytes for secrets.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// Keys of the configuration do not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Certificates or keys cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The audit log cannot be opened.
    #[error("cannot open the audit log {}: {source}", path.display())]
    AuditLog {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Everyone who reaches the address could use the queue.
    #[error("{key} is {address}, which other machines can reach without authentication: {missing}")]
    Exposed {
        /// The key of the configuration.
        key: &'static str,
        /// The address.
        address: SocketAddr,
        /// What is missing, and what to do.
        missing: &'static str,
    },
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
    /// A thread panicked: an error in the program. Acknowledged data is on the disk.
    #[error("the {0} thread panicked: this is a bug, please report it")]
    Panicked(&'static str),
}

/// A node that can be started.
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Opens the data directory, or memory, and serves it. A node that stays alone can be used when this returns; any other one
    /// listens by then, and reports the leader. Needs a tokio runtime of several threads.
    pub async fn start(config: Config) -> Result<Running, ServerError> {
        warn_of(&config);
        config.check_memory()?;
        // Addresses come first: a mistake there should not cost the time of a recovery.
        let ports = Ports::reserve(&config).await?;
        let gate = Gate::read(&config)?;
        let clock = Clock::start();
        let origin = origin(&config, gate.members.clone()).await?;
        if config.memory {
            let recovered = start::recover(&config, &ports.addresses, Opened::in_memory()?, clock)?;
            return launch(&config, ports, gate, recovered, clock).await;
        }
        let recovering = tokio::task::spawn_blocking({
            let (config, addresses) = (config.clone(), ports.addresses.clone());
            move || start::recover(&config, &addresses, Opened::on_disk(&config, origin)?, clock)
        });
        let recovered = recovering.await.map_err(|_| ServerError::Panicked("recovery"))??;
        launch(&config, ports, gate, recovered, clock).await
    }
}

/// Warns of settings that are valid and do not work well.
fn warn_of(config: &Config) {
    if !config.grace_fits_heartbeat() {
        let (session_grace_ms, heartbeat_ms) = (config.session_grace_ms, config.heartbeat_ms);
        warn!(
            session_grace_ms,
            heartbeat_ms,
            "the grace is shorter than three heartbeats: clients give up their leases when a connection falters. Raise \
             session_grace_ms, or lower heartbeat_ms"
        );
    }
    let (memory_max_bytes, kept) =
        (config.memory_max_bytes, MemoryAccount::within(config.memory_max_bytes, config.body_bytes_max));
    let needed_bytes = PROCESS_BYTES + kept.bytes_max() as u64;
    if (1..needed_bytes).contains(&memory_max_bytes) {
        warn!(
            memory_max_bytes,
            needed_bytes,
            "memory_max_bytes leaves no room for jobs, beside the process itself and what is kept for requests and answers: pushes \
             may get BUSY"
        );
    }
}

/// The memory of a process with few jobs, and as much again for what it does at the time.
const PROCESS_BYTES: u64 = 40 << 20;

/// The certificates and tokens that are checked at the two ports.
struct Gate {
    clients: Option<Acceptor>,
    members: Option<Arc<Members>>,
    tokens: Arc<Tokens>,
}

impl Gate {
    fn read(config: &Config) -> Result<Self, ServerError> {
        let clients = config.tls()?.map(Acceptor::new).transpose()?;
        let members = config.peer_tls()?.map(|files| Members::new(files, config.node)).transpose()?;
        clients.iter().for_each(Acceptor::remind);
        members.iter().for_each(Members::remind);
        let tokens = Tokens::read(config.tokens_file.as_deref())?;
        Ok(Self { clients, members: members.map(Arc::new), tokens })
    }
}

/// The origin of an empty data directory: a node that joins asks the configured members.
async fn origin(config: &Config, tls: Option<Arc<Members>>) -> Result<Origin, ServerError> {
    if config.memory || DiskStorage::is_founded(&config.data) {
        return Ok(Origin::Founds);
    }
    if config.join.is_empty() {
        let may = config.found || config.peer_listen.is_none();
        return if may { Ok(Origin::Founds) } else { Err(ServerError::FoundsUnasked(config.data.clone())) };
    }
    let cluster = peers::find_cluster(&config.join, config.node, tls, Timing::default()).await?;
    Ok(Origin::Joins { cluster_id: cluster.cluster_id })
}

/// A node that serves clients. Dropping it ends it at once, as a crash would; [`Running::stop`] is the way to
/// end it well.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    peer_address: Option<SocketAddr>,
    /// Cancelled when messages to other nodes are not needed any more: accepted requests need them until then.
    talking: CancellationToken,
    connections_max: u32,
    threads: Threads,
    connections: Arc<ConnectionConfig>,
    /// The connections to the other members, if there may be some.
    passage: Option<Passage>,
    /// The data directory; `None` in memory.
    data: Option<PathBuf>,
}

/// After a stop, connections have this long to read their last answers.
const FLUSH_MAX: Duration = Duration::from_secs(5);
/// At the end, the last lines of the audit log have this long to be written.
const AUDIT_MAX: Duration = Duration::from_secs(2);

impl Running {
    /// The address for clients.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Access to the queue for other services in this process.
    pub fn local(&self) -> Local {
        Local::new(Arc::clone(&self.connections), self.passage.clone(), self.data.as_deref())
    }

    /// The address for other nodes, if there is one.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        self.peer_address
    }

    /// Waits until the server ends by itself: because the disk failed, or by an error in the program. Nothing was
    /// acknowledged that was not durable.
    pub async fn ended(&mut self) -> Result<(), ServerError> {
        self.threads.first_end().await;
        self.connections.stopping.cancel();
        self.talking.cancel();
        // A core that has ended need not be told.
        let _ = self.connections.core.send(ToCore::Abort);
        self.connections.audit.end();
        if timeout(AUDIT_MAX, self.connections.audit.written()).await.is_err() {
            warn!("the audit log is not written in time: its last lines are lost");
        }
        self.threads.join().await
    }

    /// Reads the file of tokens again. Certificates are read when they have changed.
    pub async fn reload(&self) {
        let tokens = Arc::clone(&self.connections.tokens);
        // A runtime that ends reads no files.
        let _ = tokio::task::spawn_blocking(move || tokens.reload()).await;
    }

    /// Waits until the core serves clients.
    async fn until_served(&mut self, ready: oneshot::Receiver<()>) -> Result<(), ServerError> {
        let is_served = tokio::select! {
            served = ready => served.is_ok(),
            ended = self.ended() => {
                ended?;
                false
            }
        };
        if is_served {
            return Ok(());
        }
        self.ended().await?;
        Err(ServerError::Panicked("core"))
    }

    /// Takes no new work, completes and answers the accepted requests, says goodbye to every client and closes
    /// the data directory.
    pub async fn stop(mut self) -> Result<(), ServerError> {
        info!("stopping");
        self.connections.stopping.cancel();
        // A core that has ended need not be told.
        let _ = self.connections.core.send(ToCore::Input(Input::Stop));
        self.ended().await?;
        // A client that does not read by then is closed all the same.
        let _ = timeout(FLUSH_MAX, self.connections.room.acquire_many(self.connections_max)).await;
        info!("stopped");
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.connections.stopping.cancel();
        self.talking.cancel();
        // A core that has ended need not be told.
        let _ = self.connections.core.send(ToCore::Abort);
        self.connections.audit.end();
    }
}

/// Starts the threads with a recovered state, then admits clients: on a node that stays alone, when it leads.
async fn launch<F: Folder>(
    config: &Config,
    ports: Ports,
    gate: Gate,
    recovered: Recovered<F>,
    clock: Clock,
) -> Result<Running, ServerError> {
    let Recovered { opened, recovery, own, memory } = recovered;
    let channels = Channels::new(clock);
    let to_core = channels.to_core.clone();
    if Handle::current().metrics().num_workers() > 1 {
        tokio::spawn(to_core.clone().serve());
    }
    let (signal_ready, ready) = oneshot::channel();
    let talking = CancellationToken::new();
    let alone = ports.peers.is_none();
    let tokens = Arc::clone(&gate.tokens);
    let (callers, arriving) = tokio::sync::mpsc::channel(callers::WAITING_MAX);
    let reachable = ports.peers.zip(config.peer_listen.as_ref()).zip(opened.incoming.clone());
    let peers = reachable.map(|((reserved, address), incoming)| {
        let incoming = SpareFolder::new(incoming, config.disk_free_min_bytes / 2);
        let options = peers::Options {
            cluster_id: opened.identity.cluster_id,
            own,
            places: SnapshotFiles { file: config.data.join("incoming.pull"), incoming },
            tls: gate.members.clone(),
            core: to_core.clone(),
            checkpoint: channels.to_checkpoint.clone(),
            callers,
            clock,
            timing: Timing::default(),
            stopping: talking.clone(),
        };
        Ok::<_, ServerError>(Peers::start(options, listen(reserved, address)?))
    });
    let peers = peers.transpose()?;
    let passage = peers.as_ref().map(Peers::passage);
    let (audit, auditor) = open_audit_log(config)?;
    let (to_audit, node_clock) = (audit.clone(), NodeClock::new(clock, config.clock));
    let core_clock = node_clock.clone();
    let threads = start_threads(config, opened, clock, channels, move |runner, to_disk, to_checkpoint| {
        let replica = recovery.start(clock.now());
        let core = Core::new(replica, to_disk, to_checkpoint, peers, core_clock, to_audit, signal_ready);
        runner.run(Box::new(core));
    })?;
    threads.spawn_apart("audit", move || auditor.run())?;
    tell_of_memory(&memory, to_core.clone());
    let connections = Arc::new(connection_config(config, &to_core, gate, audit, memory, node_clock));
    let mut running = Running {
        address: ports.address,
        peer_address: ports.peer_address,
        talking,
        connections_max: u32::try_from(config.connections_max).unwrap_or(u32::MAX),
        threads,
        connections: Arc::clone(&connections),
        passage,
        data: (!config.memory).then(|| config.data.clone()),
    };
    if alone {
        running.until_served(ready).await?;
    }
    let listener = listen(ports.clients, &config.listen)?;
    tokio::spawn(tokens.watch(connections.stopping.clone()));
    tokio::spawn(callers::serve(arriving, Arc::clone(&connections)));
    tokio::spawn(listener::accept_clients(listener, connections));
    info!(address = %running.address, peer_address = %ports.addresses.peer, "listening");
    Ok(running)
}

/// Reports to the core when memory that it waits for was freed.
fn tell_of_memory(memory: &MemoryAccount, core: CoreMailbox) {
    memory.when_given_back(move || {
        // A core that has ended waits for no memory.
        let _ = core.send(ToCore::Input(Input::MemoryGivenBack));
    });
}

fn connection_config(
    config: &Config,
    core: &CoreMailbox,
    gate: Gate,
    audit: Audit,
    memory: MemoryAccount,
    clock: NodeClock,
) -> ConnectionConfig {
    ConnectionConfig {
        core: core.clone(),
        numbers: ConnectionNumbers::new(),
        clock,
        tls: gate.clients,
        members: gate.members,
        handshakes: Rate::new(config.handshakes_per_second),
        tokens: gate.tokens,
        room: Arc::new(Semaphore::new(config.connections_max)),
        unauthenticated_max: config.unauthenticated_max,
        addresses: Addresses::new(config.connections_per_address_max),
        audit,
        body_bytes_max: config.body_bytes_max,
        memory,
        input: Arc::new(InputRoom::new(config.memory_max_bytes, config.body_bytes_max)),
        in_flight_max: config.in_flight_max,
        output_bytes_max: config.output_bytes_max,
        frame_deadline: Duration::from_millis(config.frame_deadline_ms),
        heartbeat_ms: config.heartbeat_ms,
        stopping: CancellationToken::new(),
    }
}

/// The channels between the threads.
struct Channels {
    to_core: CoreMailbox,
    runner: CoreRunner,
    to_checkpoint: Sender<ToCheckpoint>,
    checkpoint_orders: Receiver<ToCheckpoint>,
}

impl Channels {
    fn new(clock: Clock) -> Self {
        let (to_core, runner) = mailbox::mailbox(clock);
        let (to_checkpoint, checkpoint_orders) = mpsc::channel();
        Self { to_core, runner, to_checkpoint, checkpoint_orders }
    }
}

/// Starts the disk thread and the checkpoint thread, and one that runs `core`.
fn start_threads<F: Folder>(
    config: &Config,
    opened: Opened<F>,
    clock: Clock,
    channels: Channels,
    core: impl FnOnce(CoreRunner, DiskHandle, Sender<ToCheckpoint>) + Send + 'static,
) -> Result<Threads, ServerError> {
    let Opened { storage, chunks, identity, lock, .. } = opened;
    let whose = Whose { cluster_id: identity.cluster_id, node: config.node };
    let Channels { to_core, runner, to_checkpoint, checkpoint_orders } = channels;
    let mut threads = Threads::new();
    let (chores, chore_thread) = Chores::new();
    let watch_memory = config.memory_max_bytes > 0;
    let free_min_bytes = config.disk_free_min_bytes;
    let (to_disk, disk) = Disk::start(storage, to_core.clone(), clock, free_min_bytes, watch_memory, chores);
    let chores_lock = lock.clone();
    threads.spawn("chores", move || {
        // It may work in the directory after the disk thread has ended.
        let _lock = chores_lock;
        chore_thread.run();
        None
    })?;
    let abort = to_core.clone();
    threads.spawn("disk", move || {
        let outcome = disk.run();
        // After a failure no request may be answered.
        let _ = abort.send(ToCore::Abort);
        Some(outcome.map_err(ServerError::from))
    })?;
    // Checkpoints may use a part of the space that is reserved for finishing and deleting jobs, and leave the rest.
    let chunks = SpareFolder::new(chunks, config.disk_free_min_bytes / 2);
    let checkpoint = CheckpointThread::new(chunks, to_core, to_disk.clone(), clock, lock, whose);
    threads.spawn("checkpoint", move || {
        checkpoint.run(&checkpoint_orders);
        None
    })?;
    threads.spawn("core", move || {
        core(runner, to_disk, to_checkpoint);
        None
    })?;
    Ok(threads)
}

fn open_audit_log(config: &Config) -> Result<(Audit, Auditor), ServerError> {
    let file = config.audit_log.as_deref();
    Audit::new(file, config.audit_log_bytes).map_err(|source| {
        let path = file.unwrap_or(Path::new("")).to_owned();
        ServerError::AuditLog { path, source }
    })
}

#[cfg(test)]
mod tests;
