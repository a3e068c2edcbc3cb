//! The addresses of a node: those that it listens on, and those that it tells others.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

use super::ServerError;
use super::config::Config;
use super::listener::{self, Reserved};
use super::start::Addresses;

/// Another port for clients, bound but not listened on yet.
#[derive(Debug)]
pub struct Port {
    reserved: Reserved,
    configured: String,
    /// True if its clients use TLS when the server does.
    pub(super) has_tls: bool,
    /// The address for clients.
    pub address: SocketAddr,
}

impl Port {
    /// Binds an address, which a key of the configuration names.
    ///
    /// # Errors
    ///
    /// If it cannot be bound, or others could reach it without tokens or client certificates.
    pub async fn reserve(config: &Config, key: &'static str, address: &str) -> Result<Self, ServerError> {
        let (reserved, found) = reserve(address).await?;
        refuse_unknown_clients(config, key, found)?;
        Ok(Self { reserved, configured: address.to_owned(), has_tls: true, address: found })
    }

    /// The same for a port whose clients show no secret: others reach it only if the configuration allows that.
    ///
    /// # Errors
    ///
    /// If it cannot be bound, or others could reach it.
    pub async fn reserve_open(
        config: &Config,
        key: &'static str,
        address: &str,
    ) -> Result<Self, ServerError> {
        let (reserved, found) = reserve(address).await?;
        refuse_exposed(config, key, found, CALLERS_UNKNOWN)?;
        Ok(Self { reserved, configured: address.to_owned(), has_tls: true, address: found })
    }

    /// The same port for clients that cannot use TLS.
    #[must_use]
    pub fn without_tls(self) -> Self {
        Self { has_tls: false, ..self }
    }

    /// Begins to accept clients.
    pub(super) fn listen(self) -> Result<TcpListener, ServerError> {
        listen(self.reserved, &self.configured)
    }
}

/// The addresses of a node, bound but not listened on yet.
pub(super) struct Ports {
    pub(super) clients: Reserved,
    /// `None` if the node stays alone.
    pub(super) peers: Option<Reserved>,
    /// The address for clients.
    pub(super) address: SocketAddr,
    /// The address for other nodes.
    pub(super) peer_address: Option<SocketAddr>,
    /// The addresses that others are told.
    pub(super) addresses: Addresses,
}

impl Ports {
    /// Binds the configured addresses.
    pub(super) async fn reserve(config: &Config) -> Result<Self, ServerError> {
        let (clients, address) = reserve(&config.listen).await?;
        refuse_unknown_clients(config, "listen", address)?;
        let client = config.client_address.clone().unwrap_or_else(|| address.to_string());
        let Some(peer_listen) = &config.peer_listen else {
            let addresses = Addresses { client, peer: String::new() };
            return if config.join.is_empty() {
                Ok(Self { clients, peers: None, address, peer_address: None, addresses })
            } else {
                Err(ServerError::JoinsUnreachably)
            };
        };
        let (peers, peer_address) = reserve(peer_listen).await?;
        if config.peer_tls_cert.is_none() {
            refuse_exposed(config, "peer_listen", peer_address, MEMBERS_UNKNOWN)?;
        }
        let told = [
            ("client_address", &config.client_address, address),
            ("peer_address", &config.peer_address, peer_address),
        ];
        for (key, configured, address) in told {
            if configured.is_none() && address.ip().is_unspecified() {
                return Err(ServerError::NoAddress { key, address });
            }
        }
        let peer = config.peer_address.clone().unwrap_or_else(|| peer_address.to_string());
        let (peers, peer_address) = (Some(peers), Some(peer_address));
        Ok(Self { clients, peers, address, peer_address, addresses: Addresses { client, peer } })
    }
}

const CLIENTS_UNKNOWN: &str = "set tls_cert and tls_key (`adjourn cert node` makes them) and tokens_file (`adjourn token \
                               create`), listen on 127.0.0.1, or set --insecure if everyone who can reach it is trusted";
const MEMBERS_UNKNOWN: &str = "set peer_tls_cert, peer_tls_key and peer_tls_ca (`adjourn cert node` makes them), or set \
                               --insecure if everyone who can reach it is trusted";

const CALLERS_UNKNOWN: &str = "its callers need no token because dialects_token is set: put a proxy that authenticates them before it on the \
                               loopback, or set --insecure if everyone who can reach it is trusted";

fn refuse_unknown_clients(
    config: &Config,
    key: &'static str,
    address: SocketAddr,
) -> Result<(), ServerError> {
    let knows_clients =
        config.tls_cert.is_some() && (config.tokens_file.is_some() || config.tls_client_ca.is_some());
    if knows_clients { Ok(()) } else { refuse_exposed(config, key, address, CLIENTS_UNKNOWN) }
}

/// Refuses an address that others can reach and that would admit everyone.
fn refuse_exposed(
    config: &Config,
    key: &'static str,
    address: SocketAddr,
    missing: &'static str,
) -> Result<(), ServerError> {
    let is_exposed = !address.ip().to_canonical().is_loopback() && !config.insecure;
    if is_exposed { Err(ServerError::Exposed { key, address, missing }) } else { Ok(()) }
}

async fn reserve(address: &str) -> Result<(Reserved, SocketAddr), ServerError> {
    let reserved = listener::reserve(address).await;
    let reserved = reserved.and_then(|reserved| Ok((reserved.address()?, reserved)));
    let (found, reserved) = reserved.map_err(|source| listening(address, source))?;
    Ok((reserved, found))
}

/// Begins to accept connections.
pub(super) fn listen(reserved: Reserved, address: &str) -> Result<TcpListener, ServerError> {
    reserved.listen().map_err(|source| listening(address, source))
}

fn listening(address: &str, source: io::Error) -> ServerError {
    ServerError::Listen { address: address.to_owned(), source }
}
