//! Accepts connections, within the limits of unauthenticated ones.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tracing::{debug, warn};

use super::connection::{self, ConnectionConfig, Entry};
use super::entropy;
use super::unauthenticated::{Addresses, Counted, UnauthenticatedLimits, UnauthenticatedSlot};
use adjourn_protocol::{ErrorCode, ErrorReply};
use adjourn_replica::ConnectionId;
use adjourn_types::SessionSecret;

/// Connections that the system queues while the server is busy accepting others.
const BACKLOG: u32 = 1024;
/// An address that has all slots does not take one from itself before the slot's owner has had it for this long.
const SLOT_PATIENCE: Duration = Duration::from_secs(1);
/// Clients that are told of a lack of room at the same time; further ones are closed without an answer.
const TURNED_AWAY_MAX: usize = 64;
/// The pause after an error that does not pass at once, such as a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A bound address that is not listened on yet: clients can connect when the queue is ready.
#[derive(Debug)]
pub(super) struct Reserved(TcpSocket);

/// Binds the address `host:port`.
pub(super) async fn reserve(address: &str) -> io::Result<Reserved> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in lookup_host(address).await? {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // A server that restarts finds connections of its predecessor that the system has not forgotten yet.
        socket.set_reuseaddr(true)?;
        match socket.bind(address) {
            Ok(()) => return Ok(Reserved(socket)),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Reserved {
    /// The address, with the port that the system chose if it was 0.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Begins to accept clients.
    pub(super) fn listen(self) -> io::Result<TcpListener> {
        self.0.listen(BACKLOG)
    }
}

/// Accepts clients until the server stops.
pub(super) async fn accept_clients(listener: TcpListener, config: Arc<ConnectionConfig>) {
    let turned_away = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
    let without_place = |stream| {
        // A client with TLS could read nothing before a handshake, which costs too much for a crowd.
        if config.tls.is_none()
            && let Ok(permit) = turned_away.clone().try_acquire_owned()
        {
            turn_away(stream, permit);
        }
    };
    accept(listener, &config, |stream, id, entry| welcome(stream, id, entry, config.clone()), without_place)
        .await;
}

/// Accepts until the server stops: hands over connections with a slot for unauthenticated ones, and those without.
pub(super) async fn accept(
    listener: TcpListener,
    config: &ConnectionConfig,
    with_place: impl Fn(TcpStream, ConnectionId, Entry),
    without_place: impl Fn(TcpStream),
) {
    let unauthenticated = UnauthenticatedLimits::new(config.unauthenticated_max, SLOT_PATIENCE);
    loop {
        let accepted = tokio::select! {
            biased;
            () = config.stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            // Answers are gathered before they are written: waiting for more would only delay them.
            Ok((stream, peer)) if stream.set_nodelay(true).is_ok() => {
                let connection = config.numbers.next();
                debug!(connection = connection.0, %peer, "connected");
                match admit(peer.ip(), &config.addresses, &unauthenticated) {
                    Some((counted, place)) => {
                        let hello_by = Instant::now() + config.frame_deadline;
                        with_place(stream, connection, Entry { address: peer, place, counted, hello_by });
                    }
                    None => without_place(stream),
                }
            }
            Ok((_, peer)) => debug!(%peer, "gone before it was served"),
            Err(error) => {
                warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// A slot for an unauthenticated connection from this address. An address that has its maximum of connections takes no slot
/// from others.
fn admit(
    from: IpAddr,
    addresses: &Arc<Addresses>,
    unauthenticated: &Arc<UnauthenticatedLimits>,
) -> Option<(Counted, UnauthenticatedSlot)> {
    let counted = addresses.count(from)?;
    Some((counted, unauthenticated.enter(from)?))
}

fn welcome(stream: TcpStream, connection: ConnectionId, entry: Entry, config: Arc<ConnectionConfig>) {
    match entropy::draw() {
        Ok(bytes) => {
            tokio::spawn(connection::serve(stream, connection, SessionSecret(bytes), entry, config));
        }
        Err(error) => warn!(%error, "a connection is refused"),
    }
}

fn turn_away(stream: TcpStream, permit: OwnedSemaphorePermit) {
    let message = "too many connections are unauthenticated or come from this address: try again";
    let error = ErrorReply { retry_after_ms: 1000, ..ErrorReply::new(ErrorCode::Busy, message) };
    tokio::spawn(async move {
        connection::turn_away(stream, error).await;
        drop(permit);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_address_that_has_enough_takes_no_place_from_others() {
        let (addresses, unauthenticated) = (Addresses::new(2), UnauthenticatedLimits::new(3, Duration::ZERO));
        let [greedy, other] = ["10.0.0.1", "10.0.0.2"].map(|ip| ip.parse().expect("an address"));
        // Two of its own, and the other's, which a third one would take.
        let admitted =
            [greedy, greedy, other].map(|from| admit(from, &addresses, &unauthenticated).expect("a place"));
        assert!(admit(greedy, &addresses, &unauthenticated).is_none());
        assert!(admitted.iter().all(|(_, place)| !place.loss().is_cancelled()));
        assert!(admit(other, &addresses, &unauthenticated).is_some(), "who has fewer comes in");
        assert!(admitted.iter().any(|(_, place)| place.loss().is_cancelled()));
    }
}
