//! One attempt to reach a server: connect, send HELLO, read the answer.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::BytesMut;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::Loss;
use super::reader::Reader;
use super::servers::Servers;
use crate::config::ClientConfig;
use crate::error::{ClientError, ProtocolFault};
use crate::requests::OWN_ID;
use crate::requests::answers::not_here;
use crate::search::Search;
use adjourn_protocol::{
    ErrorCode, FrameDecoder, Hello, Request, Response, Resume, VERSION, VERSION_MIN, Welcome,
};
use adjourn_transport::Stream;
use adjourn_transport::tls::{ClientFiles, Connector};
use adjourn_types::limits::RESPONSE_BYTES_MAX;

/// A connection whose HELLO was accepted.
pub(crate) struct Link {
    pub(crate) stream: Stream,
    /// The bytes read after the answer.
    pub(crate) buffer: BytesMut,
    /// When HELLO was sent.
    pub(crate) said: Instant,
}

/// Why an attempt to connect failed.
pub(crate) enum Attempt {
    /// It will always fail.
    Hopeless(ClientError),
    /// Another attempt may succeed, with this server or another one.
    Again(ClientError),
}

impl Attempt {
    /// The error.
    pub(crate) fn error(self) -> ClientError {
        let (Self::Hopeless(error) | Self::Again(error)) = self;
        error
    }
}

/// The HELLO of this client.
pub(crate) fn hello(config: &ClientConfig, resume: Option<Resume>) -> Hello {
    Hello {
        version_min: VERSION_MIN,
        version_max: VERSION,
        client_name: config.name.clone(),
        token: config.token.clone(),
        heartbeat_ms: config.heartbeat_ms,
        resume,
        leases_outlive: config.leases_outlive,
        without_session: config.without_session,
    }
}

/// Connects and greets the server. `said` becomes true when HELLO may reach a server, even if this call is dropped.
pub(crate) async fn dial(
    address: &str,
    tls: Option<&Connector>,
    hello: Hello,
    said: &AtomicBool,
) -> Result<(Link, Welcome), Attempt> {
    let wish_ms = hello.heartbeat_ms;
    let stream = open(address, tls).await?;
    said.store(true, Ordering::Relaxed);
    let (link, answer) = greet(address, stream, hello).await?;
    match answer {
        Response::Welcome(mut welcome) => {
            // A shorter heartbeat than the server's notices a lost server sooner.
            if wish_ms > 0 {
                welcome.heartbeat_ms = welcome.heartbeat_ms.min(wish_ms);
            }
            Ok((link, *welcome))
        }
        Response::Error(reply) => {
            let again = not_here(reply.code) || matches!(reply.code, ErrorCode::Busy | ErrorCode::Quota);
            let error = ClientError::Refused(reply);
            Err(if again { Attempt::Again(error) } else { Attempt::Hopeless(error) })
        }
        Response::GoingAway { .. } => Err(Attempt::Again(cut_off(address))),
        other => Err(Attempt::Hopeless(ClientError::unexpected(other))),
    }
}

/// The addresses of a client's servers, and the TLS connector if it is configured.
pub(crate) fn ways(config: &ClientConfig) -> Result<(Search, Option<Connector>), ClientError> {
    let servers: Servers = config.server.parse()?;
    let tls = servers.tls.then(|| Connector::new(&config.tls)).transpose()?;
    if tls.is_none() && config.tls != ClientFiles::default() {
        let reason = "files for TLS are named: write adjourns:// before it";
        return Err(ClientError::Address { found: config.server.clone(), reason });
    }
    Ok((Search::new(servers.addresses), tls))
}

/// Opens a connection, with TLS if there is a connector.
pub(crate) async fn open(address: &str, tls: Option<&Connector>) -> Result<Stream, Attempt> {
    let failed = |error| Attempt::Again(unreachable(address, error));
    let stream = TcpStream::connect(address).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    if stream.local_addr().map_err(failed)? == stream.peer_addr().map_err(failed)? {
        // If no process listens on a port of the dynamic range, TCP can connect a socket to itself.
        return Err(failed(io::ErrorKind::ConnectionRefused.into()));
    }
    match tls {
        Some(tls) => tls.connect(address, stream).await.map_err(failed),
        None => Ok(Stream::Plain(stream)),
    }
}

/// Sends HELLO over a connection to this address and returns the answer.
pub(crate) async fn greet(
    address: &str,
    mut stream: Stream,
    hello: Hello,
) -> Result<(Link, Response), Attempt> {
    let failed = |error| Attempt::Again(unreachable(address, error));
    let said = Instant::now();
    let mut out = BytesMut::new();
    Request::Hello(hello).encode(OWN_ID, &mut out);
    stream.write_all(&out).await.map_err(failed)?;
    stream.flush().await.map_err(failed)?;
    let mut reader = Reader::new(&mut stream, decoder(), BytesMut::new());
    let answer = reader.frame().await;
    let buffer = reader.into_buffer();
    match answer {
        Ok(Some((_, Ok(response)))) => Ok((Link { stream, buffer, said }, response)),
        Ok(Some((_, Err(error)))) => Err(hopeless(error.into())),
        Ok(None) | Err(Loss::Closed | Loss::Silent | Loss::Stuck | Loss::Drained) => {
            Err(Attempt::Again(cut_off(address)))
        }
        Err(Loss::Fault(fault)) => Err(hopeless(fault)),
        Err(Loss::Failed(error)) => Err(failed(error)),
    }
}

/// The decoder of frames from a server.
pub(crate) fn decoder() -> FrameDecoder {
    FrameDecoder::new(u32::try_from(RESPONSE_BYTES_MAX).unwrap_or(u32::MAX))
}

/// The error if there is no connection to this address.
pub(crate) fn unreachable(address: &str, error: io::Error) -> ClientError {
    ClientError::CannotConnect { server: address.to_owned(), source: Arc::new(error) }
}

/// The error if the server closed the connection before it answered.
pub(crate) fn cut_off(address: &str) -> ClientError {
    unreachable(address, io::ErrorKind::ConnectionReset.into())
}

fn hopeless(fault: ProtocolFault) -> Attempt {
    Attempt::Hopeless(ClientError::Protocol(fault))
}
