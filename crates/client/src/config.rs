//! The configuration of a client.

use adjourn_transport::tls::ClientFiles;
use adjourn_types::Secret;

/// The servers and the time limits of a client. [`ClientConfig::new`] sets defaults for everything but the address.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Where the server listens, as `host:port`; for a cluster, any member. Several addresses are separated by commas and
    /// tried in turn. `adjourns://` before them turns on TLS: each certificate must be for the dialled host.
    pub server: String,
    /// For TLS: the trusted CA and the client's certificate. Used only with `adjourns://`, and read again when the files
    /// change.
    pub tls: ClientFiles,
    /// The client's name in the server's logs; at most 64 bytes.
    pub name: String,
    /// The authentication token, at most 256 bytes; empty for none.
    pub token: Secret,
    /// Leases run to their deadline whatever happens to this client, even after [`close`](super::Client::close). For
    /// programs that reserve in one process and finish in another.
    pub leases_outlive: bool,
    /// No session is opened, which would be a commit at the start and one at the end. For programs that push, look and manage
    /// once and end. Such a client cannot reserve. Each of its pushes has a random
    /// [key](adjourn_protocol::Idempotency) instead of numbers, under which it is repeated after a lost connection.
    pub without_session: bool,
    /// The time limit of one attempt to connect, HELLO included, in milliseconds; the first attempts get less while there
    /// are other addresses to try. [`connect`](super::Client::connect) fails after this time; a client that lost its
    /// connection keeps trying.
    pub connect_timeout_ms: u64,
    /// How long a call may wait for its answer, in milliseconds, reconnects included; 0 for no limit. The
    /// wait of a [`reserve`](super::Client::reserve) is added to it.
    pub request_timeout_ms: u64,
    /// The longest time between two frames from each side, in milliseconds; 0 lets the server decide. Unless leases outlive the
    /// session, the client sends at least four frames in the server's grace. After twice this time
    /// without a frame the connection counts as lost.
    pub heartbeat_ms: u32,
    /// The longest wait between two attempts to reconnect, in milliseconds. The bound is 50 ms at first and doubles
    /// from attempt to attempt; each wait is a random part of it.
    pub reconnect_wait_ms_max: u64,
}

impl ClientConfig {
    /// The default configuration for the server at `server` (`host:port`).
    pub fn new(server: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            tls: ClientFiles::default(),
            name: concat!("adjourn-client/", env!("CARGO_PKG_VERSION")).to_owned(),
            token: Secret::default(),
            leases_outlive: false,
            without_session: false,
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
