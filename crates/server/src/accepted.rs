//! Connections at ports for protocols other than the binary one, with the same TLS and limits as those of clients.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::connection::{self, ConnectionConfig, Entry};
use super::listener;
use super::unauthenticated::{Counted, UnauthenticatedSlot};
use adjourn_replica::MemoryShare;
use adjourn_transport::Stream;
use adjourn_types::Access;

/// An accepted connection.
#[derive(Debug)]
pub struct Accepted {
    /// The connection, after the TLS handshake if the server uses TLS.
    pub stream: Stream,
    /// Its slot, its permit and the limits that apply to it.
    pub hold: ConnectionHold,
}

/// The slots and permits of an accepted connection.
#[derive(Debug)]
pub struct ConnectionHold {
    config: Arc<ConnectionConfig>,
    address: SocketAddr,
    place: Option<UnauthenticatedSlot>,
    loss: CancellationToken,
    room: Option<OwnedSemaphorePermit>,
    _counted: Counted,
}

/// Accepts connections until the server stops. Each is served in a task of its own.
pub(super) async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    config: Arc<ConnectionConfig>,
    has_tls: bool,
    serve: impl Fn(Accepted) -> F + Clone + Send + 'static,
) {
    let with_place = |stream, _, entry| {
        tokio::spawn(receive(stream, entry, config.clone(), has_tls, serve.clone()));
    };
    listener::accept(listener, &config, with_place, drop).await;
}

async fn receive<F: Future<Output = ()> + Send + 'static>(
    stream: TcpStream,
    entry: Entry,
    config: Arc<ConnectionConfig>,
    has_tls: bool,
    serve: impl Fn(Accepted) -> F,
) {
    let Entry { address, place, counted, hello_by } = entry;
    let loss = place.loss();
    let secure = async {
        if has_tls {
            connection::secure(stream, address, hello_by, &config).await
        } else {
            Some(Stream::Plain(stream))
        }
    };
    let secured = tokio::select! {
        biased;
        () = config.stopping.cancelled() => None,
        () = loss.cancelled() => None,
        secured = secure => secured,
    };
    let Some(stream) = secured else { return };
    let hold = ConnectionHold { config, address, place: Some(place), loss, room: None, _counted: counted };
    serve(Accepted { stream, hold }).await;
    debug!(%address, "closed");
}

impl ConnectionHold {
    /// The address of the other end.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The share of the node's memory for a caller with this access.
    pub fn memory(&self, access: &Access) -> MemoryShare {
        self.config.memory.share(access, &self.address.to_string())
    }

    /// Marks it as authenticated: no other connection can take its slot any more. `false` if the server has its
    /// maximum number of connections.
    pub fn let_in(&mut self) -> bool {
        if self.room.is_none() {
            self.room = self.config.room.clone().try_acquire_owned().ok();
            if self.room.is_some() {
                self.place = None;
            }
        }
        self.room.is_some()
    }

    /// Cancelled when another connection takes its slot, which cannot happen once it is authenticated.
    pub fn loss(&self) -> CancellationToken {
        self.loss.clone()
    }

    /// Cancelled when the server stops.
    pub fn stopping(&self) -> CancellationToken {
        self.config.stopping.clone()
    }
}
