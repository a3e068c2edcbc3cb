//! One client's connection: bytes in, answers out.
//!
//! Reader and writer run in one task, so that a connection is woken once for both. Requests that were read together
//! go to the core as one message; waiting output is written together. Whatever a client does, no other connection
//! waits for it, and neither does the core: its buffers are bounded, its silence and its slowness have deadlines,
//! and an invalid frame costs at most this connection.

mod backup;
mod greeting;
mod input;
mod numbers;
mod reader;
mod writer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::audit::Audit;
use super::clock::NodeClock;
use super::core::{CoreMailbox, ToCore};
use super::outbox::{Gauge, Inbox, Outbox};
use super::peers::Callers;
use super::rate::Rate;
use super::tokens::{AdmittedClient, Tokens};
use super::unauthenticated::{Addresses, Counted, UnauthenticatedSlot};
use adjourn_protocol::{ErrorCode, ErrorReply, GoingAway, RequestId, Response, heartbeat_ms};
use adjourn_replica::{ConnectionId, Input, MemoryAccount};
use adjourn_transport::Stream;
use adjourn_transport::tls::{Acceptor, Members, is_of_tls};
use adjourn_types::SessionSecret;

pub(super) use input::{InputRoom, InputShare};
pub(crate) use numbers::ConnectionNumbers;
use reader::{End, Reader};
use writer::Writer;

/// The configuration that all connections share.
#[derive(Debug)]
pub(super) struct ConnectionConfig {
    /// The mailbox of the core.
    pub(super) core: CoreMailbox,
    /// The numbers of connections.
    pub(super) numbers: ConnectionNumbers,
    /// The clock by which the core tells when leases end.
    pub(super) clock: NodeClock,
    /// For the handshake of TLS; `None` serves plain connections.
    pub(super) tls: Option<Acceptor>,
    /// The TLS of the members' port. Only its certificate is of interest here.
    pub(super) members: Option<Arc<Members>>,
    /// The rate limit of TLS handshakes.
    pub(super) handshakes: Rate,
    /// The tokens of clients that may connect.
    pub(super) tokens: Arc<Tokens>,
    /// Permits for authenticated clients.
    pub(super) room: Arc<Semaphore>,
    /// How many connections each address has.
    pub(super) addresses: Arc<Addresses>,
    /// Most unauthenticated connections at each port.
    pub(super) unauthenticated_max: usize,
    /// Records failed logins.
    pub(super) audit: Audit,
    /// Largest body, in bytes.
    pub(super) body_bytes_max: usize,
    /// The memory that clients use beside the state.
    pub(super) memory: MemoryAccount,
    /// Room for bytes read but not yet taken by the core.
    pub(super) input: Arc<InputRoom>,
    /// Most requests that wait for their answer.
    pub(super) in_flight_max: u32,
    /// While this many bytes wait to be written, no request is taken.
    pub(super) output_bytes_max: usize,
    /// The deadline for HELLO, and for a frame that was begun.
    pub(super) frame_deadline: Duration,
    /// The heartbeat of a client that asks for none.
    pub(super) heartbeat_ms: u32,
    /// Cancelled when the server stops: connections without a HELLO are closed.
    pub(super) stopping: CancellationToken,
}

impl ConnectionConfig {
    /// A client that sends nothing for this time is treated as gone, and so is one that reads nothing.
    fn silence_max(&self, gauge: &Gauge) -> Duration {
        2 * Duration::from_millis(heartbeat_ms(gauge.heartbeat_wish_ms(), self.heartbeat_ms).into())
    }
}

/// Most requests under way over one connection with another member's callers.
pub(super) const CALLERS_IN_FLIGHT_MAX: u32 = 16_384;

/// How long a client has to read the last frame, and how long its input is then still read: otherwise its own sending could
/// fail before it reads the frame.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 16 << 20;

/// The address and the limits of a client that arrived.
#[derive(Debug)]
pub(super) struct Entry {
    /// The address of the client.
    pub(super) address: SocketAddr,
    /// Its slot while it is not authenticated.
    pub(super) place: UnauthenticatedSlot,
    /// Its entry in the count of its address.
    pub(super) counted: Counted,
    /// The deadline for its HELLO, TLS handshake included.
    pub(super) hello_by: Instant,
}

/// Serves one client until it leaves, breaks the rules, stops reading or is told that the server stops. A client that is
/// not authenticated keeps its slot to the end, and is closed when it loses the slot.
pub(super) async fn serve(
    stream: TcpStream,
    connection: ConnectionId,
    secret: SessionSecret,
    entry: Entry,
    config: Arc<ConnectionConfig>,
) {
    let loss = entry.place.loss();
    tokio::select! {
        biased;
        () = loss.cancelled() => {}
        () = receive(stream, connection, secret, entry, &config) => {}
    }
    debug!(connection = connection.0, "closed");
}

async fn receive(
    stream: TcpStream,
    connection: ConnectionId,
    secret: SessionSecret,
    entry: Entry,
    config: &ConnectionConfig,
) {
    let Entry { address, place, counted: _counted, hello_by } = entry;
    let secured = tokio::select! {
        biased;
        () = config.stopping.cancelled() => None,
        secured = secure(stream, address, hello_by, config) => secured,
    };
    let Some(stream) = secured else { return };
    talk(stream, connection, config.in_flight_max, config, async |reader| {
        reader.serve(secret, address, place, hello_by).await
    })
    .await;
}

/// Serves callers that another member vouches for.
pub(super) async fn serve_callers(
    callers: Callers,
    connection: ConnectionId,
    secret: SessionSecret,
    config: Arc<ConnectionConfig>,
) {
    let Callers { stream, unread, access, node } = callers;
    let from = format!("callers of node {node}");
    talk(stream, connection, CALLERS_IN_FLIGHT_MAX, &config, async |reader| {
        reader.serve_callers(secret, &from, AdmittedClient::vouched(access), unread).await
    })
    .await;
    debug!(connection = connection.0, node, "closed");
}

/// Reads and writes until `serve` returns an end.
async fn talk(
    mut stream: Stream,
    connection: ConnectionId,
    in_flight_max: u32,
    config: &ConnectionConfig,
    serve: impl AsyncFnOnce(&mut Reader<'_>) -> End,
) {
    let (outbox, Inbox { outgoing, backups, gauge }) = Outbox::new(in_flight_max, config.output_bytes_max);
    let presence = Presence { connection, core: &config.core };
    let (input, output) = stream.split();
    let share = InputShare::new(&config.input, &gauge);
    let mut reader = Reader::new(input, connection, config, &outbox, &gauge, &share);
    let reading = async {
        let end = serve(&mut reader).await;
        // Tell the core at once that the connection has ended, however long the client takes to read the reason.
        drop(presence);
        take_leave(end, connection, &outbox).await;
    };
    let writing = Writer::new(output, connection, config, &gauge).write(outgoing);
    let flushed = tokio::select! {
        biased;
        () = gauge.cut.cancelled() => false,
        flushed = writing => flushed,
        () = reading => false,
        () = backup::serve(backups, &outbox, &gauge) => false,
    };
    if flushed {
        linger(&mut stream).await;
    }
}

/// Tells a client why nothing more is read from it. If it does not read that and the output before it, it is cut off.
async fn take_leave(end: End, connection: ConnectionId, outbox: &Outbox) {
    match end {
        End::Gone => outbox.cut(),
        End::Stopped => {
            outbox.close();
            std::future::pending::<()>().await;
        }
        End::Refused(id, error) => {
            debug!(connection = connection.0, %error, "refused");
            outbox.say_last(id, Response::Error(error));
        }
        End::Away(message) => {
            debug!(connection = connection.0, message, "sent away");
            outbox.say_last(RequestId(0), Response::GoingAway { message, reason: GoingAway::Unknown });
        }
    }
    sleep(LINGER).await;
}

/// The first byte of a connection under TLS: a handshake record.
const TLS_HANDSHAKE: u8 = 0x16;

/// The stream for frames, after the TLS handshake if the server uses TLS. A client that does not use TLS then is told so.
pub(super) async fn secure(
    stream: TcpStream,
    address: SocketAddr,
    by: Instant,
    config: &ConnectionConfig,
) -> Option<Stream> {
    let Some(tls) = &config.tls else { return Some(Stream::Plain(stream)) };
    let mut first = [0];
    let handshake = async {
        if stream.peek(&mut first).await? > 0 && first != [TLS_HANDSHAKE] {
            let message = "this server speaks TLS alone: write adjourns:// before its address";
            turn_away(stream, ErrorReply::new(ErrorCode::Unsupported, message)).await;
            return Ok(None);
        }
        while let Err(wait) = config.handshakes.take(1) {
            sleep(wait).await;
        }
        match tls.accept(stream).await {
            Ok(secured) => Ok(Some(secured)),
            Err((error, refused)) => {
                hear_out(refused).await;
                Err(error)
            }
        }
    };
    let error = match timeout_at(by, handshake).await {
        Ok(Ok(secured)) => return secured,
        Ok(Err(error)) => error,
        Err(_) => std::io::ErrorKind::TimedOut.into(),
    };
    if is_of_tls(&error) {
        config.audit.login_failed(address.to_string(), format!("no handshake of TLS: {error}"));
    }
    debug!(%address, %error, "no handshake of TLS");
    None
}

/// A connection that the core may know of. Reports its end even if its task panics: else its leases would be held for
/// ever.
struct Presence<'a> {
    connection: ConnectionId,
    core: &'a CoreMailbox,
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        // The core handles this once, and ignores it for a connection that was never announced.
        let _ = self.core.send(ToCore::Input(Input::Disconnected { connection: self.connection }));
    }
}

/// Tells a client that there is no room for it.
pub(super) async fn turn_away(mut stream: TcpStream, error: ErrorReply) {
    let mut frame = BytesMut::new();
    Response::Error(error).encode(RequestId(0), &mut frame);
    if matches!(timeout(LINGER, stream.write_all(&frame)).await, Ok(Ok(()))) {
        hear_out(stream).await;
    }
}

/// Closes a connection after its client has had time to read the last frame.
async fn hear_out(mut stream: TcpStream) {
    // It does not matter whether the client sees the end of the stream.
    let _ = stream.shutdown().await;
    linger(&mut stream).await;
}

/// Drops input for a while: closing a socket with unread input resets the connection, and the client loses the last
/// frame.
async fn linger(stream: &mut (impl AsyncRead + Unpin)) {
    let drain = async {
        let mut scratch = [0; 4096];
        let mut left = LINGER_BYTES_MAX;
        while let Ok(bytes @ 1..) = stream.read(&mut scratch).await {
            left = left.saturating_sub(bytes);
            if left == 0 {
                break;
            }
        }
    };
    // A client that goes on sending for longer gets no more time.
    let _ = timeout(LINGER, drain).await;
}

#[cfg(test)]
mod tests;
