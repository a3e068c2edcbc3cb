//! The connection task: connects, says HELLO, carries bytes, and does so again when the connection is lost.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::WriteHalf;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::answers::not_here;
use super::backoff::{Reconnects, dice};
use super::config::ClientConfig;
use super::error::{ClientError, ProtocolFault};
use super::pulse::Beat;
use super::reader::Reader;
use super::requests::{Connection, Elsewhere, OWN_ID, Requests};
use super::shared::{Handle, Shared};
use crate::protocol::{
    ErrorCode, FrameDecoder, Hello, Member, Request, Response, Resume, VERSION, VERSION_MIN, Welcome,
};
use crate::types::limits::RESPONSE_BYTES_MAX;

/// A connection that the server is about to close is given so long to answer what is under way.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// Output buffers that grew beyond this are not kept, in bytes.
const KEPT_BYTES_MAX: usize = 2 << 20;

/// Why a connection is over.
#[derive(Debug)]
pub(super) enum Loss {
    /// The server closed it.
    Closed,
    /// The system failed.
    Failed(io::Error),
    /// The server was silent for too long.
    Silent,
    /// It was to be closed, and everything was answered.
    Drained,
    /// The server broke the protocol.
    Fault(ProtocolFault),
}

/// A connection with a welcome.
struct Link {
    stream: TcpStream,
    /// What came behind WELCOME.
    buffer: BytesMut,
}

/// Why an attempt to connect failed.
enum Attempt {
    /// It will fail for ever.
    Hopeless(ClientError),
    /// Another attempt may succeed, here or there.
    Again(ClientError, Elsewhere),
}

/// Connects for the first time and starts the task.
pub(super) async fn open(config: ClientConfig) -> Result<Handle, ClientError> {
    let limit = Duration::from_millis(config.connect_timeout_ms);
    let mut last = None;
    let connected = timeout(limit, first(&config, &mut last)).await;
    let (link, welcome) = connected.unwrap_or_else(|_| {
        let late = ClientError::CannotConnect {
            server: config.server.clone(),
            source: Arc::new(io::ErrorKind::TimedOut.into()),
        };
        Err(last.unwrap_or(late))
    })?;
    let request_timeout =
        (config.request_timeout_ms > 0).then(|| Duration::from_millis(config.request_timeout_ms));
    let requests = Requests::new(Instant::now(), welcome, request_timeout, config.leases_outlive);
    let shared = Arc::new(Shared::new(requests));
    let task = Task { shared: Arc::clone(&shared), config };
    tokio::spawn(task.run(link));
    Ok(Handle::new(shared))
}

/// Tries every address until one answers, follows hints, and waits while no leader is elected.
async fn first(
    config: &ClientConfig,
    last: &mut Option<ClientError>,
) -> Result<(Link, Welcome), ClientError> {
    let mut hint = None;
    let mut waits = Reconnects::new(config.reconnect_wait_ms_max);
    loop {
        let mut found_one = false;
        for address in addresses(hint.take(), &config.server, &[]) {
            match dial(&address, hello(config, None)).await {
                Ok(welcomed) => return Ok(welcomed),
                Err(Attempt::Hopeless(error)) => return Err(error),
                Err(Attempt::Again(error, elsewhere)) => {
                    found_one |= matches!(error, ClientError::Refused(_));
                    hint = elsewhere.leader.or(hint);
                    *last = Some(error);
                }
            }
        }
        if !found_one && let Some(error) = last.take() {
            return Err(error);
        }
        sleep(waits.wait(dice())).await;
    }
}

/// Where to try, in order, each address once. What servers say of themselves is left out when it is no address to
/// connect to: 0.0.0.0 would be this machine.
fn addresses(hint: Option<String>, configured: &str, members: &[Member]) -> Vec<String> {
    let configured = configured.split(',').map(str::trim).filter(|address| !address.is_empty());
    let told = |address: &String| !address.parse().is_ok_and(|at: SocketAddr| at.ip().is_unspecified());
    let members = members.iter().map(|member| member.address.clone()).filter(told);
    let mut addresses = Vec::new();
    for address in hint.filter(told).into_iter().chain(configured.map(str::to_owned)).chain(members) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

fn hello(config: &ClientConfig, resume: Option<Resume>) -> Hello {
    Hello {
        version_min: VERSION_MIN,
        version_max: VERSION,
        client_name: config.name.clone(),
        token: config.token.clone(),
        heartbeat_ms: config.heartbeat_ms,
        resume,
        leases_outlive: config.leases_outlive,
    }
}

async fn dial(address: &str, hello: Hello) -> Result<(Link, Welcome), Attempt> {
    let failed = |error: io::Error| {
        let error = ClientError::CannotConnect { server: address.to_owned(), source: Arc::new(error) };
        Attempt::Again(error, Elsewhere::default())
    };
    let mut stream = TcpStream::connect(address).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    if stream.local_addr().map_err(failed)? == stream.peer_addr().map_err(failed)? {
        // Where nobody listens on a port of the dynamic range, TCP can connect a socket to itself.
        return Err(failed(io::ErrorKind::ConnectionRefused.into()));
    }
    let mut out = BytesMut::new();
    Request::Hello(hello).encode(OWN_ID, &mut out);
    stream.write_all(&out).await.map_err(failed)?;
    let response_bytes_max = u32::try_from(RESPONSE_BYTES_MAX).unwrap_or(u32::MAX);
    let mut reader = Reader::new(&mut stream, FrameDecoder::new(response_bytes_max), BytesMut::new());
    let answer = reader.frame().await;
    let buffer = reader.into_buffer();
    match answer {
        Ok(Some((_, Ok(Response::Welcome(welcome))))) => Ok((Link { stream, buffer }, *welcome)),
        Ok(Some((_, Ok(Response::Error(reply))))) => {
            let elsewhere = Elsewhere { leader: reply.leader.clone(), retry_after_ms: reply.retry_after_ms };
            let again = not_here(reply.code) || matches!(reply.code, ErrorCode::Busy | ErrorCode::Quota);
            let error = ClientError::Refused(reply);
            Err(if again { Attempt::Again(error, elsewhere) } else { Attempt::Hopeless(error) })
        }
        Ok(Some((_, Ok(Response::GoingAway { .. }))) | None)
        | Err(Loss::Closed | Loss::Silent | Loss::Drained) => {
            Err(failed(io::ErrorKind::ConnectionReset.into()))
        }
        Ok(Some((_, Ok(other)))) => Err(hopeless(ProtocolFault::Unexpected(other.opcode()))),
        Ok(Some((_, Err(error)))) => Err(hopeless(error.into())),
        Err(Loss::Fault(fault)) => Err(hopeless(fault)),
        Err(Loss::Failed(error)) => Err(failed(error)),
    }
}

fn hopeless(fault: ProtocolFault) -> Attempt {
    Attempt::Hopeless(ClientError::Protocol(fault))
}

/// The task of one client.
struct Task {
    shared: Arc<Shared>,
    config: ClientConfig,
}

impl Task {
    /// Runs until nobody needs the connection any more, or there is no hope for it.
    async fn run(self, link: Link) {
        let end = tokio::select! {
            end = self.connections(link) => end,
            never = self.deadlines() => match never {},
            () = self.shared.stopping.notified() => ClientError::Closed,
        };
        if !matches!(end, ClientError::Closed) {
            tracing::error!(error = %end, "the client gives up");
        }
        self.shared.change(|requests, _, answers| requests.end(&end, answers));
    }

    /// One connection after the other, until one cannot be replaced.
    async fn connections(&self, link: Link) -> ClientError {
        let mut link = link;
        let mut waits = Reconnects::new(self.config.reconnect_wait_ms_max);
        loop {
            let loss = self.carry(link).await;
            tracing::info!(?loss, server = self.config.server, "the connection is lost");
            let fault = if let Loss::Fault(fault) = &loss { Some(fault) } else { None };
            let proven = self.shared.change(|requests, _, answers| {
                requests.down(fault, answers);
                requests.proven
            });
            if proven {
                waits.reset();
            }
            link = match self.reconnect(&mut waits).await {
                Ok(link) => link,
                Err(error) => return error,
            };
        }
    }

    /// Carries bytes until the connection is lost.
    async fn carry(&self, link: Link) -> Loss {
        let Link { mut stream, buffer } = link;
        let (from, to) = stream.split();
        let response_bytes_max = u32::try_from(RESPONSE_BYTES_MAX).unwrap_or(u32::MAX);
        let mut reader = Reader::new(from, FrameDecoder::new(response_bytes_max), buffer);
        tokio::select! {
            loss = reader.run(&self.shared) => loss,
            error = self.write(to) => Loss::Failed(error),
            loss = self.heartbeats() => loss,
            () = self.drain_limit() => Loss::Drained,
        }
    }

    /// Writes whatever is encoded, all of it at once.
    async fn write(&self, mut to: WriteHalf<'_>) -> io::Error {
        let mut output = BytesMut::new();
        loop {
            output.clear();
            if output.capacity() > KEPT_BYTES_MAX {
                output = BytesMut::new();
            }
            self.shared.change(|requests, now, _| {
                std::mem::swap(&mut requests.out, &mut output);
                requests.writer_waits = output.is_empty();
                if !output.is_empty() {
                    requests.pulse.spoken(now);
                }
            });
            if output.is_empty() {
                self.shared.output.notified().await;
            } else if let Err(error) = to.write_all(&output).await {
                return error;
            }
        }
    }

    async fn heartbeats(&self) -> Loss {
        loop {
            match self.shared.change(|requests, now, _| requests.beat(now)) {
                Beat::Lost => return Loss::Silent,
                Beat::Quiet(until) => sleep_until(until).await,
                Beat::Never => std::future::pending().await,
            }
        }
    }

    async fn drain_limit(&self) {
        // What wakes it may be left over from the connection before.
        while self.shared.lock().connection != Connection::Draining {
            self.shared.draining.notified().await;
        }
        sleep(DRAIN_MAX).await;
    }

    /// Ends calls that wait too long, connected or not.
    async fn deadlines(&self) -> Infallible {
        loop {
            match self.shared.change(Requests::expire) {
                Some(next) => sleep_until(next).await,
                None => std::future::pending().await,
            }
        }
    }

    async fn reconnect(&self, waits: &mut Reconnects) -> Result<Link, ClientError> {
        let limit = Duration::from_millis(self.config.connect_timeout_ms);
        loop {
            let (mut elsewhere, welcome) = {
                let mut requests = self.shared.lock();
                (std::mem::take(&mut requests.elsewhere), Arc::clone(&requests.welcome))
            };
            let least = Duration::from_millis(elsewhere.retry_after_ms.into());
            sleep(waits.wait(dice()).max(least)).await;
            let resume = Resume { session: welcome.session, secret: welcome.secret };
            for address in addresses(elsewhere.leader.take(), &self.config.server, &welcome.members) {
                match timeout(limit, dial(&address, hello(&self.config, Some(resume)))).await {
                    Ok(Ok((link, welcome))) => {
                        tracing::info!(address, resumed = welcome.resumed, "connected again");
                        self.shared.change(|requests, now, answers| requests.up(now, welcome, answers))?;
                        return Ok(link);
                    }
                    // Something else answers here for now: what was a server once may be one again.
                    Ok(Err(Attempt::Hopeless(error @ ClientError::Protocol(_)))) => {
                        tracing::warn!(address, %error, "cannot connect yet");
                    }
                    Ok(Err(Attempt::Hopeless(error))) => return Err(error),
                    Ok(Err(Attempt::Again(error, hint))) => {
                        tracing::debug!(%error, "cannot connect yet");
                        if hint.leader.is_some() {
                            self.shared.lock().elsewhere = hint;
                        }
                    }
                    Err(_) => tracing::debug!(address, "no answer in time"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_come_first_and_no_address_twice() {
        let members = ["10.0.0.2:1", "0.0.0.0:1", "b:1", "[::]:1"].map(|address| Member {
            node: 1,
            address: address.to_owned(),
            leader: false,
        });
        let found = addresses(Some("b:1".to_owned()), "a:1, b:1,", &members);
        assert_eq!(found, ["b:1", "a:1", "10.0.0.2:1"]);
    }
}
