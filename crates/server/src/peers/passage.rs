//! Connections to the leader for callers of other members: over the peers' port, one connection for each token.
//!
//! A member vouches for the access of its callers, and is trusted: it has the whole queue anyway. After that the
//! connection speaks the clients' protocol. Only members can open such a connection.

use std::sync::Arc;

use bytes::BytesMut;
use tracing::debug;

use super::PeersState;
use super::frames::{PeerFrame, Purpose};
use super::handshake::{self, Handshake, lock};
use adjourn_protocol::{ErrorCode, ErrorReply};
use adjourn_transport::Stream;
use adjourn_types::Access;

/// Access to the other members.
#[derive(Clone, Debug)]
pub(crate) struct Passage {
    pub(super) shared: Arc<PeersState>,
}

/// A connection with requests of another member's callers.
#[derive(Debug)]
pub(crate) struct Callers {
    /// The connection.
    pub(crate) stream: Stream,
    /// The bytes that were already read from it.
    pub(crate) unread: BytesMut,
    /// The access of the callers.
    pub(crate) access: Access,
    /// The member.
    pub(crate) node: u64,
}

impl Passage {
    /// Connects to the member whose address for clients is this one, for callers with this access.
    pub(crate) async fn open(
        &self,
        client_address: &str,
        access: &Access,
    ) -> Result<(Stream, BytesMut), ErrorReply> {
        let shared = &self.shared;
        let member = lock(&shared.directory)
            .others()
            .find(|member| member.client_address == client_address)
            .map(|member| (member.node, member.peer_address.clone()));
        let Some((node, address)) = member else {
            return Err(no_way(&format!("this node does not know who is at {client_address}")));
        };
        let (directory, opening) = (&shared.directory, &shared.opening);
        let dialled = handshake::dial(&address, directory, Purpose::Callers, Some(node), opening).await;
        let Handshake { mut wire, .. } = dialled.map_err(|error| {
            debug!(node, %error, "the leader takes no callers of this node");
            no_way(&format!("node {node}, which leads: {error}"))
        })?;
        let vouched = wire.write(&PeerFrame::Vouch(access.clone())).await;
        vouched.map_err(|error| no_way(&format!("node {node}, which leads: {error}")))?;
        Ok((wire.stream, wire.buffer))
    }
}

fn no_way(why: &str) -> ErrorReply {
    let error = ErrorReply::new(ErrorCode::NoLeader, format!("the leader cannot be reached: {why}"));
    ErrorReply { retry_after_ms: 500, ..error }
}
