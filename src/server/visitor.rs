//! Connections that come in at a port for something else than the binary protocol, with the same door, TLS and limits as clients.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::connection::{self, ConnectionConfig, Entry};
use super::door::{Counted, Place};
use super::listener;
use crate::replica::MemoryShare;
use crate::transport::Stream;
use crate::types::Access;

/// One that has come in.
#[derive(Debug)]
pub struct Visitor {
    /// The connection, after the handshake of TLS if the server speaks it.
    pub stream: Stream,
    /// What it holds of the server.
    pub stay: Stay,
}

/// What a visitor holds of the server.
#[derive(Debug)]
pub struct Stay {
    config: Arc<ConnectionConfig>,
    address: SocketAddr,
    place: Option<Place>,
    loss: CancellationToken,
    room: Option<OwnedSemaphorePermit>,
    _counted: Counted,
}

/// Accepts visitors until the server stops. Each is served in a task of its own.
pub(super) async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    config: Arc<ConnectionConfig>,
    has_tls: bool,
    serve: impl Fn(Visitor) -> F + Clone + Send + 'static,
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
    serve: impl Fn(Visitor) -> F,
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
    let stay = Stay { config, address, place: Some(place), loss, room: None, _counted: counted };
    serve(Visitor { stream, stay }).await;
    debug!(%address, "closed");
}

impl Stay {
    /// Where the visitor is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What one who may do this takes of the node's memory.
    pub fn memory(&self, access: &Access) -> MemoryShare {
        self.config.memory.share(access, &self.address.to_string())
    }

    /// Lets the visitor in for good: others take its place at the door no longer. `false` if the server has as many connections as it
    /// may.
    pub fn let_in(&mut self) -> bool {
        if self.room.is_none() {
            self.room = self.config.room.clone().try_acquire_owned().ok();
            if self.room.is_some() {
                self.place = None;
            }
        }
        self.room.is_some()
    }

    /// Cancelled when another connection has taken the visitor's place at the door, unless it was let in.
    pub fn loss(&self) -> CancellationToken {
        self.loss.clone()
    }

    /// Cancelled when the server stops.
    pub fn stopping(&self) -> CancellationToken {
        self.config.stopping.clone()
    }
}
