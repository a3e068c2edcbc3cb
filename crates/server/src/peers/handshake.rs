//! The handshake of two nodes.
//!
//! ```text
//!  the node that dials          the node that listens
//!   | HELLO -------------------->|  my identity and my cluster
//!   |<------------------ WELCOME |  my identity; or REFUSED, and the end
//!   | PING --------------------->|  we are connected; or REFUSED, and the end
//! ```
//!
//! Both sides make the same checks: see [`PeerDirectory::check`]. If one refuses, both learn the reason. One deadline
//! limits the whole handshake.
//!
//! A node that wants to be added has no cluster yet; it sends JOIN instead, learns the cluster's id, and the
//! connection ends.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::frames::{ClusterInfo, Greeting, PeerFrame, PeerFrameError, Purpose, Refusal, RefusalCode};
use super::passage::Callers;
use super::peer_directory::PeerDirectory;
use super::wire::{Wire, WireError};
use adjourn_replica::PeerInfo;
use adjourn_transport::Stream;
use adjourn_transport::tls::{Members, node_name};
use adjourn_types::Access;
use adjourn_types::limits::PEER_FRAME_BYTES_MAX_BEFORE_WELCOME;

/// The TLS setup and the deadlines of a new connection between nodes.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    /// With it, both sides prove that they are members before either reads a frame of the other.
    pub(super) tls: Option<Arc<Members>>,
    /// The limit to each of: connecting, with the TLS handshake; and the handshake of the two nodes.
    pub(super) patience: Duration,
}

/// A completed handshake: each side knows who the other is.
#[derive(Debug)]
pub(super) struct Handshake {
    /// The connection.
    pub(super) wire: Wire,
    /// The other node, as it describes itself.
    pub(super) about: PeerInfo,
    /// True if this node dialled.
    pub(super) dialled: bool,
}

/// The result of a handshake that another node started.
#[derive(Debug)]
pub(super) enum Accepted {
    /// A node that keeps the connection.
    Peer(Handshake),
    /// A member, for its callers.
    Callers(Callers),
    /// A probe or a join that was answered. The connection ends.
    Answered,
}

/// Why a handshake failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeError {
    /// No process listens at the address.
    #[error("it cannot be reached: {0}")]
    Unreachable(#[source] io::Error),
    /// The other side has not proven, by TLS, that it is a member.
    #[error("the TLS handshake failed: {0}. Do both nodes have certificates of the same CA?")]
    Unproven(#[source] io::Error),
    /// The other side does not answer in time.
    #[error("it sent no HELLO within {} ms", .0.as_millis())]
    Silent(Duration),
    /// The connection ended.
    #[error(transparent)]
    Broken(WireError),
    /// The other side refuses this node.
    #[error("it refuses this node: {0}")]
    Refused(Refusal),
    /// This node refuses the other side.
    #[error("it is refused: {0}")]
    Refuses(Refusal),
}

/// A refused node is read from for this long after the refusal, so that it can read the reason before its own sending fails.
const LINGER: Duration = Duration::from_secs(1);
/// The maximum length of a frame with the list of members, in bytes.
const CLUSTER_BYTES_MAX: usize = 64 << 10;
/// The maximum length of a frame with the access of callers, in bytes.
const VOUCH_BYTES_MAX: usize = 64 << 10;

/// The purpose of a node that dialled.
enum Came {
    Answered,
    Peer(PeerInfo),
    Callers(u64, Access),
}

/// Dials a node, which must be `expected` if that is given, for a peer connection or a probe.
pub(super) async fn dial(
    address: &str,
    directory: &Mutex<PeerDirectory>,
    purpose: Purpose,
    expected: Option<u64>,
    opening: &Opening,
) -> Result<Handshake, HandshakeError> {
    let hello = PeerFrame::Hello(lock(directory).greeting(purpose));
    let mut wire = opening.dial(address, PEER_FRAME_BYTES_MAX_BEFORE_WELCOME).await?;
    let handshake = timeout(opening.patience, async {
        wire.write(&hello).await?;
        let Greeting { about, .. } = match wire.read().await? {
            PeerFrame::Welcome(greeting) => {
                prove(&wire, greeting.about.member.node)?;
                lock(directory).check(&greeting, expected).map_err(HandshakeError::Refuses)?;
                greeting
            }
            other => return Err(HandshakeError::unexpected(other)),
        };
        if purpose != Purpose::Probe {
            wire.write(&PeerFrame::Ping).await?;
        }
        Ok(about)
    });
    let handshake = handshake.await;
    let (about, wire) = conclude(handshake, wire, opening.patience)?;
    Ok(Handshake { wire, about, dialled: true })
}

/// Takes the other node's greeting, and answers it.
pub(super) async fn accept(
    stream: TcpStream,
    directory: &Mutex<PeerDirectory>,
    opening: &Opening,
) -> Result<Accepted, HandshakeError> {
    let mut wire = opening.accept(stream).await?;
    let handshake = timeout(opening.patience, async {
        match wire.read().await? {
            PeerFrame::Hello(greeting) => {
                prove(&wire, greeting.about.member.node)?;
                let welcome = {
                    let directory = lock(directory);
                    directory.check(&greeting, None).map_err(HandshakeError::Refuses)?;
                    if greeting.purpose == Purpose::Callers && !directory.has(greeting.about.member.node) {
                        let text = "only a member's callers are heard: add the node to the cluster first";
                        return Err(HandshakeError::Refuses(Refusal::new(RefusalCode::NotProven, text)));
                    }
                    PeerFrame::Welcome(directory.greeting(greeting.purpose))
                };
                wire.write(&welcome).await?;
                if greeting.purpose == Purpose::Probe {
                    return Ok(Came::Answered);
                }
                match wire.read().await? {
                    PeerFrame::Ping => {}
                    other => return Err(HandshakeError::unexpected(other)),
                }
                if greeting.purpose == Purpose::Peer {
                    return Ok(Came::Peer(greeting.about));
                }
                wire.set_frame_bytes_max(VOUCH_BYTES_MAX);
                match wire.read().await? {
                    PeerFrame::Vouch(access) => Ok(Came::Callers(greeting.about.member.node, access)),
                    other => Err(HandshakeError::unexpected(other)),
                }
            }
            PeerFrame::Join(node) => {
                prove(&wire, node)?;
                let cluster = lock(directory).cluster(node).map_err(HandshakeError::Refuses)?;
                wire.write(&PeerFrame::Cluster(cluster)).await?;
                Ok(Came::Answered)
            }
            other => Err(HandshakeError::unexpected(other)),
        }
    });
    let handshake = handshake.await;
    let (came, wire) = conclude(handshake, wire, opening.patience)?;
    Ok(match came {
        Came::Answered => Accepted::Answered,
        Came::Peer(about) => Accepted::Peer(Handshake { wire, about, dialled: false }),
        Came::Callers(node, access) => {
            Accepted::Callers(Callers { stream: wire.stream, unread: wire.buffer, access, node })
        }
    })
}

/// Asks the node at `address` for its cluster, on behalf of a node that is to have this number.
pub(super) async fn ask_cluster(
    address: &str,
    node: u64,
    opening: &Opening,
) -> Result<ClusterInfo, HandshakeError> {
    let mut wire = opening.dial(address, CLUSTER_BYTES_MAX).await?;
    let asked = timeout(opening.patience, async {
        wire.write(&PeerFrame::Join(node)).await?;
        match wire.read().await? {
            PeerFrame::Cluster(cluster) => Ok(cluster),
            other => Err(HandshakeError::unexpected(other)),
        }
    });
    let asked = asked.await;
    conclude(asked, wire, opening.patience).map(|(cluster, _)| cluster)
}

/// Locks a mutex. No code panics while holding it; even after a panic the data would be consistent.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Opening {
    async fn dial(&self, address: &str, frame_bytes_max: usize) -> Result<Wire, HandshakeError> {
        self.in_time(async {
            let stream = TcpStream::connect(address).await.map_err(HandshakeError::Unreachable)?;
            // Output is already batched: waiting for more would only delay it.
            stream.set_nodelay(true).map_err(HandshakeError::Unreachable)?;
            let stream = match &self.tls {
                Some(tls) => tls.connect(stream).await.map_err(HandshakeError::Unproven)?,
                None => Stream::Plain(stream),
            };
            Ok(Wire::new(stream, frame_bytes_max))
        })
        .await
    }

    async fn accept(&self, stream: TcpStream) -> Result<Wire, HandshakeError> {
        self.in_time(async {
            // As above.
            stream.set_nodelay(true).map_err(HandshakeError::Unreachable)?;
            let stream = match &self.tls {
                Some(tls) => tls.accept(stream).await.map_err(HandshakeError::Unproven)?,
                None => Stream::Plain(stream),
            };
            Ok(Wire::new(stream, PEER_FRAME_BYTES_MAX_BEFORE_WELCOME))
        })
        .await
    }

    async fn in_time(
        &self,
        opening: impl Future<Output = Result<Wire, HandshakeError>>,
    ) -> Result<Wire, HandshakeError> {
        let late = |_| Err(HandshakeError::Unreachable(io::ErrorKind::TimedOut.into()));
        timeout(self.patience, opening).await.unwrap_or_else(late)
    }
}

/// Checks that the other side's certificate allows it to be this node.
fn prove(wire: &Wire, node: u64) -> Result<(), HandshakeError> {
    if wire.stream.may_be_node(node) {
        return Ok(());
    }
    let text = format!("the certificate shown is not for {}, the name of node {node}", node_name(node));
    Err(HandshakeError::Refuses(Refusal::new(RefusalCode::NotProven, text)))
}

/// Sends the reason if this side refuses. The caller does not wait until the other side has read it.
fn conclude<T>(
    handshake: Result<Result<T, HandshakeError>, tokio::time::error::Elapsed>,
    wire: Wire,
    patience: Duration,
) -> Result<(T, Wire), HandshakeError> {
    let error = match handshake.unwrap_or(Err(HandshakeError::Silent(patience))) {
        Ok(handshake) => return Ok((handshake, wire)),
        Err(error) => error,
    };
    let refusal = match &error {
        HandshakeError::Refuses(refusal) => Some(refusal.clone()),
        HandshakeError::Silent(_) => {
            let text = format!("nothing was said for {} ms: is this a node?", patience.as_millis());
            Some(Refusal::new(RefusalCode::Malformed, text))
        }
        _ => None,
    };
    if let Some(refusal) = refusal {
        tokio::spawn(refuse(wire, refusal));
    }
    Err(error)
}

/// Sends a refused node the reason, and ends the connection.
async fn refuse(mut wire: Wire, refusal: Refusal) {
    let farewell = async {
        wire.write(&PeerFrame::Refused(refusal)).await?;
        wire.stream.shutdown().await?;
        // Closing a socket with unread input resets the connection, and the other side loses the reason.
        let mut scratch = [0; 4096];
        while wire.stream.read(&mut scratch).await? > 0 {}
        Ok::<(), WireError>(())
    };
    // It does not matter whether the other side reads that.
    let _ = timeout(LINGER, farewell).await;
}

impl HandshakeError {
    /// The error for an unexpected frame.
    fn unexpected(frame: PeerFrame) -> Self {
        match frame {
            PeerFrame::Refused(refusal) => Self::Refused(refusal),
            _ => Self::Refuses(Refusal::new(
                RefusalCode::Malformed,
                "a frame came that has no place at the beginning of a connection between nodes",
            )),
        }
    }
}

impl From<WireError> for HandshakeError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Frame(error) => {
                let (code, advice) = match error {
                    PeerFrameError::Version { .. } => (RefusalCode::Version, "upgrade the older of the two"),
                    _ => (RefusalCode::Malformed, "only nodes may connect to peer_listen"),
                };
                Self::Refuses(Refusal::new(code, format!("{error}: {advice}")))
            }
            error => Self::Broken(error),
        }
    }
}
