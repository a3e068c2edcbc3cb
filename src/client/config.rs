//! The configuration of a client.

use crate::transport::tls::ClientFiles;
use crate::types::Secret;

/// How to reach a server, and how patient to be. [`ClientConfig::new`] fills in everything but the address.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Where the server listens, as `host:port`; of a cluster, any member. Several addresses are separated by commas and tried
    /// in turn. With `adjourns://` before them TLS is spoken, and each certificate must be for the host that is dialled.
    pub server: String,
    /// For TLS: the CA that is believed and the certificate that is shown. Used with `adjourns://` alone, and read anew when the
    /// files change.
    pub tls: ClientFiles,
    /// What the client calls itself, for the server's logs; at most 64 bytes.
    pub name: String,
    /// The authentication token, at most 256 bytes; empty for none.
    pub token: Secret,
    /// Leases run to their deadline whatever becomes of this client, [`close`](super::Client::close) included. For
    /// programs that reserve in one process and finish in another.
    pub leases_outlive: bool,
    /// How long one attempt to connect may take, HELLO included, in milliseconds; at first less while there are other
    /// addresses to try. [`connect`](super::Client::connect) fails after this time; a client that lost its connection goes on
    /// trying.
    pub connect_timeout_ms: u64,
    /// How long a call may wait for its answer, in milliseconds, all reconnects included; 0 for no bound. The
    /// wait of a [`reserve`](super::Client::reserve) is added to it.
    pub request_timeout_ms: u64,
    /// The longest time between two frames from each side, in milliseconds; 0 lets the server decide. Unless leases outlive the
    /// session, the client sends at least four frames in the server's grace. After twice this time
    /// without a frame the connection counts as lost.
    pub heartbeat_ms: u32,
    /// The longest wait between two attempts to reconnect, in milliseconds. The first is at most 50 ms; it doubles
    /// from attempt to attempt, and a random part of it is waited.
    pub reconnect_wait_ms_max: u64,
}

impl ClientConfig {
    /// A usual client of the server at `server` (`host:port`).
    pub fn new(server: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            tls: ClientFiles::default(),
            name: concat!("adjourn-client/", env!("CARGO_PKG_VERSION")).to_owned(),
            token: Secret::default(),
            leases_outlive: false,
            connect_timeout_ms: 5_000,
            request_timeout_ms: 30_000,
            heartbeat_ms: 0,
            reconnect_wait_ms_max: 1_000,
        }
    }
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self::new("127.0.0.1:7440")
    }
}
