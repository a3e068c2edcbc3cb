//! From stored data to a running replica: recovery of the state.

use std::path::Path;

use tracing::info;

use super::clock::Clock;
use super::config::{ClockChoice, Config};
use super::{ServerError, entropy};
use adjourn_calendar::{SYSTEM_ZONES, ZoneData};
use adjourn_replica::{MemoryAccount, PeerInfo, Recovery, Replica, ReplicaConfig};
use adjourn_storage::folder::{DiskFolder, Folder, SimulatedFolder};
use adjourn_storage::{
    self as storage, DirectoryLock, DiskStorage, OpenOptions, Restored, SimulatedDisk, Storage,
};
use adjourn_types::{Member, whole_ms};

/// What a node starts with.
pub(super) struct Recovered<F: Folder> {
    /// The log and the files beside it.
    pub(super) opened: Opened<F>,
    /// The state.
    pub(super) recovery: Recovery,
    /// The description of the node for others.
    pub(super) own: PeerInfo,
    /// The memory that clients use beside the state.
    pub(super) memory: MemoryAccount,
}

/// The data of a node: in a data directory, or in memory.
pub(super) struct Opened<F: Folder> {
    /// The log.
    pub(super) storage: Box<dyn Storage + Send>,
    /// The folder of checkpoints.
    pub(super) chunks: F,
    pub(super) identity: Identity,
    /// Keeps other processes away.
    pub(super) lock: Option<DirectoryLock>,
    /// Where checkpoints of other members are assembled, if there can be any.
    pub(super) incoming: Option<DiskFolder>,
    /// The data found in the log.
    found: storage::Recovered,
    /// The newest checkpoint, until the recovery takes it.
    restored: Option<Restored>,
}

/// Whose data it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    /// The cluster that the data belongs to.
    pub(super) cluster_id: [u8; 16],
    /// This copy of the data.
    pub(super) storage_id: [u8; 16],
    /// True if the cluster began here.
    pub(super) founder: bool,
}

impl Opened<DiskFolder> {
    /// Opens the data directory, or founds it.
    pub(super) fn on_disk(config: &Config, origin: Origin) -> Result<Self, ServerError> {
        let mut storage = DiskStorage::open(&OpenOptions {
            path: config.data.clone(),
            node: config.node,
            // Used only for a new directory.
            cluster_id: match origin {
                Origin::Founds => entropy::draw()?,
                Origin::Joins { cluster_id } => cluster_id,
            },
            storage_id: entropy::draw()?,
            founder: matches!(origin, Origin::Founds),
        })?;
        Ok(Self {
            chunks: storage.chunks().clone(),
            identity: Identity {
                cluster_id: storage.cluster_id(),
                storage_id: storage.storage_id(),
                founder: storage.is_founder(),
            },
            lock: Some(storage.lock()),
            incoming: Some(storage.incoming()),
            found: storage.recovered(),
            restored: storage.take_restored(),
            storage: Box::new(storage),
        })
    }
}

impl Opened<SimulatedFolder> {
    /// A new cluster of one node, whose data is gone when the process ends. No file is read or written.
    pub(super) fn in_memory() -> Result<Self, ServerError> {
        let identity = Identity { cluster_id: entropy::draw()?, storage_id: entropy::draw()?, founder: true };
        let chunks = SimulatedFolder::new(0);
        chunks.complete_install()?;
        let disk = SimulatedDisk::of_server(identity.cluster_id, identity.storage_id);
        let storage = disk.open_beside(&chunks, None)?;
        let found = storage.recovered();
        let storage = Box::new(storage);
        Ok(Self { storage, chunks, identity, lock: None, incoming: None, found, restored: None })
    }
}

/// The addresses that a node tells others.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    /// For clients.
    pub(super) client: String,
    /// For other nodes; empty if they cannot connect.
    pub(super) peer: String,
}

/// How an empty data directory is founded.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// A cluster begins here.
    Founds,
    /// The node waits to be added to a cluster.
    Joins {
        /// The id of that cluster.
        cluster_id: [u8; 16],
    },
}

/// Loads the newest checkpoint and replays the log after it. Blocks on the disk, for seconds if the queue is long.
pub(super) fn recover<F: Folder>(
    config: &Config,
    addresses: &Addresses,
    mut opened: Opened<F>,
    clock: Clock,
) -> Result<Recovered<F>, ServerError> {
    let begun = clock.elapsed();
    let memory = MemoryAccount::within(config.memory_max_bytes, config.body_bytes_max);
    let replica_config = replica_config(config, addresses, opened.identity, memory.clone())?;
    let mut recovery = Replica::recover(replica_config, opened.found, opened.restored.take());
    if config.clock == ClockChoice::Manual {
        recovery = recovery.with_manual_clock();
    }
    let mut refused = recovery.check_feature_level().err();
    opened.storage.replay(recovery.first_index(), &mut |entry| {
        if refused.is_none() {
            refused = recovery.replay(entry).err();
        }
        Ok(())
    })?;
    if let Some(refused) = refused {
        return Err(ServerError::Replay { data: config.data.clone(), source: refused });
    }
    let took_ms = whole_ms(clock.elapsed().saturating_sub(begun));
    let data = if config.memory { "(in memory)".to_owned() } else { config.data.display().to_string() };
    info!(
        version = env!("CARGO_PKG_VERSION"),
        data,
        index = opened.found.last_index,
        jobs = recovery.jobs(),
        took_ms,
        "recovered"
    );
    if let Some(ids_above) = recovery.ids_above() {
        info!(
            ids_above,
            "the queue was restored, or a loss was accepted: the ids of new jobs jump above this number, so that none is assigned twice"
        );
    }
    let member = Member {
        node: config.node,
        storage_id: opened.identity.storage_id,
        peer_address: addresses.peer.clone(),
        client_address: addresses.client.clone(),
    };
    let own = PeerInfo { member, feature_level_max: config.feature_level_max };
    Ok(Recovered { opened, recovery, own, memory })
}

fn replica_config(
    config: &Config,
    addresses: &Addresses,
    identity: Identity,
    memory: MemoryAccount,
) -> Result<ReplicaConfig, ServerError> {
    Ok(ReplicaConfig {
        node: config.node,
        cluster_id: identity.cluster_id,
        storage_id: identity.storage_id,
        founder: identity.founder,
        entropy: entropy::draw()?,
        server_name: config.server_name.clone(),
        client_address: addresses.client.clone(),
        peer_address: addresses.peer.clone(),
        feature_level_max: config.feature_level_max,
        body_bytes_max: config.body_bytes_max,
        heartbeat_ms: config.heartbeat_ms,
        session_grace_ms: config.session_grace_ms,
        retry_defaults: config.retry_defaults.clone(),
        zones: ZoneData::newest(Path::new(SYSTEM_ZONES)),
        output_bytes_max: config.output_bytes_max,
        uncommitted_bytes_max: config.uncommitted_bytes_max,
        memory_max_bytes: config.memory_max_bytes,
        memory_account: memory,
        checkpoint_log_bytes: config.checkpoint_log_bytes,
    })
}
