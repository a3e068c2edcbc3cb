//! From a data directory to a replica that can run: what the disk remembers, replayed.

use std::net::SocketAddr;

use tracing::info;

use super::clock::Clock;
use super::config::Config;
use super::{ServerError, entropy};
use crate::replica::{Recovery, Replica, ReplicaConfig};
use crate::storage::{DiskStorage, OpenOptions, Storage};
use crate::types::FEATURE_LEVEL;

/// What was in a data directory.
pub(super) struct Recovered {
    /// The log and what lies beside it.
    pub(super) storage: DiskStorage,
    /// The state.
    pub(super) recovery: Recovery,
}

/// Opens the data directory, or founds it, takes the newest checkpoint and replays the log behind it. Blocks: for the
/// disk, and in long queues for seconds.
pub(super) fn recover(config: &Config, address: SocketAddr, clock: Clock) -> Result<Recovered, ServerError> {
    let begun = clock.elapsed();
    let mut storage = DiskStorage::open(&OpenOptions {
        path: config.data.clone(),
        node: config.node,
        // Used only if there is nothing yet.
        cluster_id: entropy::draw()?,
        storage_id: entropy::draw()?,
        founder: true,
    })?;
    let recovered = storage.recovered();
    let replica_config = replica_config(config, address, &storage)?;
    let mut recovery = Replica::recover(replica_config, recovered, storage.take_restored());
    let mut refused = None;
    storage.replay(recovery.first_index(), &mut |entry| {
        if refused.is_none() {
            refused = recovery.replay(entry).err();
        }
        Ok(())
    })?;
    if let Some(refused) = refused {
        return Err(ServerError::Replay { data: config.data.clone(), source: refused });
    }
    let took_ms = u64::try_from(clock.elapsed().saturating_sub(begun).as_millis()).unwrap_or(u64::MAX);
    info!(
        version = env!("CARGO_PKG_VERSION"),
        data = %config.data.display(),
        index = recovered.last_index,
        jobs = recovery.jobs(),
        took_ms,
        "recovered"
    );
    Ok(Recovered { storage, recovery })
}

fn replica_config(
    config: &Config,
    address: SocketAddr,
    storage: &DiskStorage,
) -> Result<ReplicaConfig, ServerError> {
    Ok(ReplicaConfig {
        node: config.node,
        cluster_id: storage.cluster_id(),
        storage_id: storage.storage_id(),
        founder: storage.is_founder(),
        entropy: entropy::draw()?,
        server_name: config.server_name.clone(),
        client_address: config.client_address.clone().unwrap_or_else(|| address.to_string()),
        peer_address: String::new(),
        feature_level_max: FEATURE_LEVEL,
        body_bytes_max: config.body_bytes_max,
        heartbeat_ms: config.heartbeat_ms,
        session_grace_ms: config.session_grace_ms,
        in_flight_max: config.in_flight_max,
        output_bytes_max: config.output_bytes_max,
        uncommitted_bytes_max: config.uncommitted_bytes_max,
        memory_max_bytes: config.memory_max_bytes,
        checkpoint_log_bytes: config.checkpoint_log_bytes,
    })
}
