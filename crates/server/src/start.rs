//! From a data directory to a running replica: recovery of the stored state.

use tracing::info;

use super::clock::Clock;
use super::config::Config;
use super::{ServerError, entropy};
use adjourn_replica::{MemoryAccount, PeerInfo, Recovery, Replica, ReplicaConfig};
use adjourn_storage::{DiskStorage, OpenOptions, Storage};
use adjourn_types::{Member, whole_ms};

/// The content of a data directory.
pub(super) struct Recovered {
    /// The log and the files beside it.
    pub(super) storage: DiskStorage,
    /// The state.
    pub(super) recovery: Recovery,
    /// The description of the node for others.
    pub(super) own: PeerInfo,
    /// The memory that clients use beside the state.
    pub(super) memory: MemoryAccount,
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

/// Opens the data directory, or founds it, loads the newest checkpoint and replays the log after it. Blocks on the
/// disk, for seconds if the queue is long.
pub(super) fn recover(
    config: &Config,
    addresses: &Addresses,
    origin: Origin,
    clock: Clock,
) -> Result<Recovered, ServerError> {
    let begun = clock.elapsed();
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
    let recovered = storage.recovered();
    let memory = MemoryAccount::within(config.memory_max_bytes, config.body_bytes_max);
    let replica_config = replica_config(config, addresses, &storage, memory.clone())?;
    let mut recovery = Replica::recover(replica_config, recovered, storage.take_restored());
    let mut refused = recovery.check_feature_level().err();
    storage.replay(recovery.first_index(), &mut |entry| {
        if refused.is_none() {
            refused = recovery.replay(entry).err();
        }
        Ok(())
    })?;
    if let Some(refused) = refused {
        return Err(ServerError::Replay { data: config.data.clone(), source: refused });
    }
    let took_ms = whole_ms(clock.elapsed().saturating_sub(begun));
    info!(
        version = env!("CARGO_PKG_VERSION"),
        data = %config.data.display(),
        index = recovered.last_index,
        jobs = recovery.jobs(),
        took_ms,
        "recovered"
    );
    let member = Member {
        node: config.node,
        storage_id: storage.storage_id(),
        peer_address: addresses.peer.clone(),
        client_address: addresses.client.clone(),
    };
    let own = PeerInfo { member, feature_level_max: config.feature_level_max };
    Ok(Recovered { storage, recovery, own, memory })
}

fn replica_config(
    config: &Config,
    addresses: &Addresses,
    storage: &DiskStorage,
    memory: MemoryAccount,
) -> Result<ReplicaConfig, ServerError> {
    Ok(ReplicaConfig {
        node: config.node,
        cluster_id: storage.cluster_id(),
        storage_id: storage.storage_id(),
        founder: storage.is_founder(),
        entropy: entropy::draw()?,
        server_name: config.server_name.clone(),
        client_address: addresses.client.clone(),
        peer_address: addresses.peer.clone(),
        feature_level_max: config.feature_level_max,
        body_bytes_max: config.body_bytes_max,
        heartbeat_ms: config.heartbeat_ms,
        session_grace_ms: config.session_grace_ms,
        retry_defaults: config.retry_defaults.clone(),
        output_bytes_max: config.output_bytes_max,
        uncommitted_bytes_max: config.uncommitted_bytes_max,
        memory_max_bytes: config.memory_max_bytes,
        memory_account: memory,
        checkpoint_log_bytes: config.checkpoint_log_bytes,
    })
}
