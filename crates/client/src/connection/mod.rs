//! The connection task: finds the leader, carries bytes, and reconnects when the connection is lost.

pub(crate) mod backoff;
pub(crate) mod dial;
pub(crate) mod reader;
pub(crate) mod servers;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::config::ClientConfig;
use crate::error::{ClientError, ProtocolFault};
use crate::requests::heartbeats::Beat;
use crate::requests::{Connection, Requests};
use crate::search::{Elsewhere, Search};
use crate::shared::{ClientState, Handle};
use adjourn_protocol::{Hello, RequestId, Welcome};
use adjourn_transport::WriteHalf;
use adjourn_transport::tls::Connector;
use adjourn_types::whole_ms;
use backoff::{Reconnects, rng};
use dial::{Attempt, Link, decoder, dial, hello, unreachable, ways};
use reader::Reader;

/// How long a server that is closing the connection has to answer the requests under way.
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
    /// The server sent something, but left a request unanswered for too long.
    Stuck,
    /// It was to be closed, and all requests were answered.
    Drained,
    /// The server broke the protocol.
    Fault(ProtocolFault),
}

/// Connects for the first time and starts the task.
pub(super) async fn open(config: ClientConfig) -> Result<Handle, ClientError> {
    let limit = Duration::from_millis(config.connect_timeout_ms);
    let mut last = None;
    let (mut search, tls) = ways(&config)?;
    let connected = timeout(limit, first(&config, tls.as_ref(), &mut search, &mut last)).await;
    let (link, welcome) = connected.unwrap_or_else(|_| {
        let late = unreachable(&config.server, io::ErrorKind::TimedOut.into());
        Err(last.unwrap_or(late))
    })?;
    let request_timeout =
        (config.request_timeout_ms > 0).then(|| Duration::from_millis(config.request_timeout_ms));
    let mut requests = Requests::new(
        Instant::now(),
        link.said,
        welcome,
        request_timeout,
        config.leases_outlive || config.without_session,
    );
    if config.without_session {
        requests.push_under_keys(random_key(&config.server)?);
    }
    let shared = Arc::new(ClientState::new(requests));
    let task = Task { shared: Arc::clone(&shared), tls, config };
    // Made before the task: the runtime may end before it runs the task for the first time.
    let ending = Ending { shared: Arc::clone(&shared), cause: ClientError::Closed };
    tokio::spawn(task.run(link, search, ending));
    Ok(Handle::new(shared))
}

/// Tries every address until one answers, follows hints, and waits while no leader is elected.
async fn first(
    config: &ClientConfig,
    tls: Option<&Connector>,
    search: &mut Search,
    last: &mut Option<ClientError>,
) -> Result<(Link, Welcome), ClientError> {
    let limit = Duration::from_millis(config.connect_timeout_ms);
    let mut waits = Reconnects::new(config.reconnect_wait_ms_max);
    let mut leader = None;
    loop {
        search.begin(leader.take().as_deref(), &[]);
        let missed = match round(search, tls, &hello(config, None), limit, false).await {
            Ok(found) => return Ok(found),
            Err(missed) => missed,
        };
        match missed.error {
            Some(error) if missed.is_hopeless || !(missed.was_answered || missed.was_silent) => {
                return Err(error);
            }
            error => *last = error.or(last.take()),
        }
        let Elsewhere { leader: hint, retry_after_ms } = missed.elsewhere;
        leader = hint;
        sleep(waits.wait(rng(), missed.was_answered) + millis(retry_after_ms)).await;
    }
}

/// A round of attempts that all failed.
#[derive(Debug, Default)]
struct Missed {
    /// The error to report; the answer of a server is preferred to a failed connection.
    error: Option<ClientError>,
    /// True if the error is permanent.
    is_hopeless: bool,
    /// True if a server answered that it does not lead now.
    was_answered: bool,
    /// A server did not answer in time.
    was_silent: bool,
    /// The hints of the servers.
    elsewhere: Elsewhere,
}

/// Tries each address once, and the addresses in hints, until the leader is found. `is_again` is true if a server was found
/// before.
async fn round(
    search: &mut Search,
    tls: Option<&Connector>,
    hello: &Hello,
    limit: Duration,
    is_again: bool,
) -> Result<(Link, Welcome), Missed> {
    let mut missed = Missed::default();
    while let Some(address) = search.next() {
        let said = AtomicBool::new(false);
        let found = timeout(search.patience(limit), dial(&address, tls, hello.clone(), &said)).await;
        let may_take_over = hello.resume.is_some() && said.into_inner();
        match found {
            Ok(Ok(found)) => {
                search.answered(&address);
                search.found(found.1.resumed);
                tracing::debug!(address, "welcomed");
                return Ok(found);
            }
            Ok(Err(Attempt::Hopeless(error @ ClientError::Protocol(_)))) if is_again => {
                // Another program answers at the address for now: the server may come back later.
                tracing::warn!(address, %error, "cannot connect yet");
            }
            Ok(Err(Attempt::Hopeless(error))) => {
                return Err(Missed { error: Some(error), is_hopeless: true, ..missed });
            }
            Ok(Err(Attempt::Again(error))) => {
                tracing::debug!(address, %error, "cannot connect yet");
                search.answered(&address);
                if let ClientError::Refused(reply) = &error {
                    missed.was_answered = true;
                    missed.elsewhere.heed(reply);
                    reply.leader.iter().for_each(|leader| search.redirect(leader));
                    missed.error = Some(error);
                } else {
                    if may_take_over {
                        search.gave_up_hello();
                    }
                    if !missed.was_answered {
                        missed.error = Some(error);
                    }
                }
            }
            Err(_) => {
                tracing::debug!(address, "no answer in time");
                if may_take_over {
                    search.gave_up_hello();
                }
                missed.was_silent = true;
                if !missed.was_answered {
                    missed.error = Some(unreachable(&address, io::ErrorKind::TimedOut.into()));
                }
                search.silent(address);
            }
        }
    }
    Err(missed)
}

/// The key of the first push of a client without a session: no other client may draw the same.
#[expect(clippy::disallowed_methods, reason = "the client is an edge")]
fn random_key(server: &str) -> Result<u128, ClientError> {
    let mut key = [0; 16];
    getrandom::fill(&mut key).map_err(|error| unreachable(server, io::Error::other(error.to_string())))?;
    Ok(u128::from_le_bytes(key))
}

fn millis(number: u32) -> Duration {
    Duration::from_millis(number.into())
}

/// The task of one client.
struct Task {
    shared: Arc<ClientState>,
    /// The TLS connector; `None` for plain connections.
    tls: Option<Connector>,
    config: ClientConfig,
}

/// Ends every call when the task ends, even by a panic or with its runtime: the calls would never get an answer.
struct Ending {
    shared: Arc<ClientState>,
    cause: ClientError,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.shared.change(|requests, _, answers| requests.end(&self.cause, answers));
    }
}

impl Task {
    /// Runs until all users of the connection are gone, or it has failed for good.
    async fn run(self, link: Link, search: Search, mut ending: Ending) {
        let end = tokio::select! {
            end = self.connections(link, search) => end,
            never = self.deadlines() => match never {},
            () = self.shared.stopping.notified() => ClientError::Closed,
        };
        if !matches!(end, ClientError::Closed) {
            tracing::error!(error = %end, "the client gives up");
        }
        ending.cause = end;
    }

    /// Runs one connection after the other, until one cannot be replaced.
    async fn connections(&self, link: Link, search: Search) -> ClientError {
        let (mut link, mut search) = (link, search);
        let mut waits = Reconnects::new(self.config.reconnect_wait_ms_max);
        loop {
            let loss = self.carry(link).await;
            tracing::info!(?loss, server = self.config.server, "the connection is lost");
            let fault = if let Loss::Fault(fault) = &loss { Some(fault) } else { None };
            let (proven, is_taken_over) = self.shared.change(|requests, _, answers| {
                requests.down(fault, answers);
                (requests.wire.proven, requests.heartbeats.is_taken_over)
            });
            if is_taken_over && !search.took_itself_over() {
                return ClientError::Closed;
            }
            if proven {
                waits.reset();
            }
            link = match self.reconnect(&mut search, &mut waits).await {
                Ok(link) => link,
                Err(error) => return error,
            };
        }
    }

    /// Carries bytes until the connection is lost.
    async fn carry(&self, link: Link) -> Loss {
        let Link { mut stream, buffer, .. } = link;
        let (from, to) = stream.split();
        let mut reader = Reader::new(from, decoder(), buffer);
        tokio::select! {
            loss = reader.run(&self.shared) => loss,
            error = self.write(to) => Loss::Failed(error),
            loss = self.heartbeats() => loss,
            () = self.drain_limit() => Loss::Drained,
        }
    }

    /// Writes encoded requests, all that there are at once.
    async fn write(&self, mut to: WriteHalf<'_>) -> io::Error {
        let mut output = BytesMut::new();
        loop {
            output.clear();
            if output.capacity() > KEPT_BYTES_MAX {
                output = BytesMut::new();
            }
            self.shared.change(|requests, now, _| {
                std::mem::swap(&mut requests.wire.out, &mut output);
                requests.wire.writer_waits = output.is_empty();
                if !output.is_empty() {
                    requests.heartbeats.spoken(now);
                }
            });
            if output.is_empty() {
                self.shared.output.notified().await;
            } else if let Err(error) = self.write_all(&mut to, &output).await {
                return error;
            }
        }
    }

    /// Writes all bytes. A server that reads them, however slowly, is not stuck.
    async fn write_all(&self, to: &mut WriteHalf<'_>, output: &[u8]) -> io::Result<()> {
        let mut left = output;
        loop {
            let written = to.write(left).await?;
            left = left.get(written..).unwrap_or_default();
            if left.is_empty() {
                // TLS may have buffered more than the socket took.
                return to.flush().await;
            }
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.shared.change(|requests, now, _| requests.heartbeats.moved(now));
        }
    }

    async fn heartbeats(&self) -> Loss {
        loop {
            match self.shared.change(|requests, now, _| requests.beat(now)) {
                Beat::Lost => return Loss::Silent,
                Beat::Stuck => {
                    self.tell_stuck();
                    return Loss::Stuck;
                }
                Beat::Quiet(until) => sleep_until(until).await,
            }
        }
    }

    /// Logs the state of a connection with an unanswered request.
    fn tell_stuck(&self) {
        let mut requests = self.shared.lock();
        let oldest = requests.oldest_unanswered();
        let (id, waited) = oldest.map_or((RequestId(0), Duration::ZERO), |(id, since)| (id, since.elapsed()));
        tracing::warn!(
            request = id.0,
            waited_ms = whole_ms(waited),
            connection = ?requests.wire.connection,
            in_flight = requests.wire.in_flight,
            in_line = requests.line.len(),
            unsent_bytes = requests.wire.out.len(),
            elsewhere = ?requests.elsewhere,
            "a request has no answer: the connection is given up"
        );
    }

    async fn drain_limit(&self) {
        // A notification may be left over from the connection before.
        while self.shared.lock().wire.connection != Connection::Draining {
            self.shared.draining.notified().await;
        }
        sleep(DRAIN_MAX).await;
    }

    /// Ends calls that wait too long, connected or not, and gives back jobs that no caller takes.
    async fn deadlines(&self) -> Infallible {
        loop {
            match self.shared.change(Requests::expire) {
                Some(next) => tokio::select! {
                    () = sleep_until(next) => {}
                    () = self.shared.sooner.notified() => {}
                },
                None => self.shared.sooner.notified().await,
            }
        }
    }

    /// Searches for the leader until it is found, and resumes the session there.
    async fn reconnect(&self, search: &mut Search, waits: &mut Reconnects) -> Result<Link, ClientError> {
        let limit = Duration::from_millis(self.config.connect_timeout_ms);
        let mut elsewhere = std::mem::take(&mut self.shared.lock().elsewhere);
        // A node that answers that it does not lead is up, and there probably is a leader.
        let mut was_answered = elsewhere != Elsewhere::default();
        loop {
            // All redirected clients are told the same pause: the random wait is added to it.
            sleep(waits.wait(rng(), was_answered) + millis(elsewhere.retry_after_ms)).await;
            let welcome = self.shared.welcome();
            let resume = welcome.resume();
            search.begin(elsewhere.leader.as_deref(), &welcome.members);
            match round(search, self.tls.as_ref(), &hello(&self.config, resume), limit, true).await {
                Ok((link, welcome)) => {
                    tracing::info!(resumed = welcome.resumed, "connected again");
                    self.shared
                        .change(|requests, now, answers| requests.up(now, link.said, welcome, answers))?;
                    return Ok(link);
                }
                Err(Missed { error: Some(error), is_hopeless: true, .. }) => return Err(error),
                Err(missed) => (elsewhere, was_answered) = (missed.elsewhere, missed.was_answered),
            }
        }
    }
}
