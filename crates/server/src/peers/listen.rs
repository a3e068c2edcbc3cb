//! Accepts connections of other nodes, and refuses all others.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tracing::{debug, warn};

use super::super::unauthenticated::{UnauthenticatedLimits, UnauthenticatedSlot};
use super::PeersState;
use super::handshake::{self, Accepted, HandshakeError, lock};

/// Connections before the end of the handshake.
const UNAUTHENTICATED_MAX: usize = 64;
/// The pause after an error that does not pass at once, such as a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Refused nodes reconnect soon. Each reason is logged at this interval at most.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);
/// Most reasons that are remembered.
const REASONS_MAX: usize = 64;

/// Accepts until the node stops.
pub(super) async fn accept(listener: TcpListener, shared: Arc<PeersState>) {
    let unauthenticated = UnauthenticatedLimits::new(UNAUTHENTICATED_MAX, shared.timing.slot_patience);
    let complaints = Arc::new(Complaints::default());
    loop {
        let accepted = tokio::select! {
            biased;
            () = shared.stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => {
                // Without a slot the connection is closed without an answer.
                if let Some(place) = unauthenticated.enter(from.ip()) {
                    let (shared, complaints) = (Arc::clone(&shared), Arc::clone(&complaints));
                    tokio::spawn(receive(stream, from, place, shared, complaints));
                }
            }
            Err(error) => {
                warn!(%error, "cannot accept a connection of another node");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn receive(
    stream: TcpStream,
    from: SocketAddr,
    place: UnauthenticatedSlot,
    shared: Arc<PeersState>,
    complaints: Arc<Complaints>,
) {
    let loss = place.loss();
    let handshake = tokio::select! {
        handshake = handshake::accept(stream, &shared.directory, &shared.opening) => handshake,
        () = loss.cancelled() => {
            debug!(%from, "another connection took its place before it said who it is");
            return;
        }
    };
    drop(place);
    match handshake {
        Ok(Accepted::Answered) => debug!(%from, "somebody asked who is here"),
        Ok(Accepted::Peer(handshake)) => shared.admit(handshake),
        Ok(Accepted::Callers(callers)) => {
            if shared.callers.try_send(callers).is_err() {
                debug!(%from, "no room for callers of another node");
            }
        }
        Err(error @ (HandshakeError::Unreachable(_) | HandshakeError::Broken(_))) => {
            debug!(%from, %error, "whoever dialled is gone");
        }
        Err(error) => complaints.say(from, &error),
    }
}

/// When each reason for a refusal was logged last.
#[derive(Default)]
struct Complaints(Mutex<BTreeMap<String, Instant>>);

impl Complaints {
    fn say(&self, from: SocketAddr, reason: &dyn std::fmt::Display) {
        let mut told = lock(&self.0);
        let reason = reason.to_string();
        if told.get(&reason).is_some_and(|told| told.elapsed() < COMPLAIN_EVERY) {
            debug!(%from, reason, "a connection to peer_listen was refused");
            return;
        }
        warn!(%from, reason, "a connection to peer_listen was refused");
        if told.len() >= REASONS_MAX {
            told.clear();
        }
        told.insert(reason, Instant::now());
    }
}
