//! How a node without data finds its cluster: it asks the configured addresses until one of them answers.

use std::sync::Arc;

use tracing::{info, warn};

use super::Timing;
use super::frames::ClusterInfo;
use super::handshake::{self, HandshakeError, Opening};
use adjourn_transport::tls::Members;

/// Why a node cannot join.
#[derive(Debug, thiserror::Error)]
#[error("the node at {address} does not let this one join: {reason}")]
pub struct JoinError {
    /// The answering node's address.
    address: String,
    /// The reason.
    reason: HandshakeError,
}

/// Asks for the cluster, and repeats this until a node answers.
///
/// # Errors
///
/// If a member answers and refuses this node.
pub(crate) async fn find_cluster(
    addresses: &[String],
    node: u64,
    tls: Option<Arc<Members>>,
    timing: Timing,
) -> Result<ClusterInfo, JoinError> {
    let opening = Opening { tls, patience: timing.handshake };
    let mut pause = timing.backoff_min;
    loop {
        for address in addresses {
            match handshake::ask_cluster(address, node, &opening).await {
                Ok(cluster) => {
                    let members = cluster.members.len();
                    info!(address, cluster = %super::peer_directory::short(&cluster.cluster_id), members, "found the cluster");
                    return Ok(cluster);
                }
                Err(reason @ HandshakeError::Refused(_)) => {
                    return Err(JoinError { address: address.clone(), reason });
                }
                Err(error) if pause >= timing.backoff_max => warn!(address, %error, "cannot join yet"),
                Err(error) => info!(address, %error, "cannot join yet"),
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(timing.backoff_max);
    }
}
