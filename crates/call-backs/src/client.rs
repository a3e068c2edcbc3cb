//! The HTTP client of call-backs: HTTP/1.1 with its own connections, because the address of each is checked before it is made.
//!
//! It follows no redirects, uses no proxies, and reads no more of a reply than a verdict needs. A fault says whether the
//! request may have been sent: then only the receiver knows its effect.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HeaderName, LOCATION, RETRY_AFTER};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustix::io::Errno;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::{Instant, timeout, timeout_at};

use super::call_slots::Reputation;
use super::destination::Origin;
use super::egress::{Guard, Refusal};
use super::lookup::Lookup;
use super::outcome::{Fault, REPLY_BYTES_MAX, Reply};
use adjourn_server::config::CallBackConfig;
use adjourn_transport::Stream;
use adjourn_transport::tls::{Connector, TlsError};

/// Most bytes of a reply's head.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// A connection, with TLS, is made within this time.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// A connection that was idle for this time is closed, before most servers would close it.
const IDLE_MAX: Duration = Duration::from_secs(4);
/// Most idle connections that are kept: each takes a file descriptor.
const IDLE_LINKS_MAX: usize = 1024;
/// Most concurrent name lookups, for destinations of each reputation.
const LOOKUPS_MAX: usize = 64;

/// The deadline of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    /// The time from the start to the deadline, for error messages.
    within: Duration,
    by: Instant,
}

/// Makes calls.
#[derive(Debug)]
pub(super) struct Client {
    guard: Guard,
    /// The connector; or the error, if the certificates cannot be used.
    tls: Result<Connector, TlsError>,
    idle: Mutex<BTreeMap<Origin, Vec<Idle>>>,
    idle_places: Arc<Semaphore>,
    lookup: Arc<Lookup>,
    /// Permits by reputation: a name server that does not answer delays only the same kind.
    lookups: [Arc<Semaphore>; 2],
}

#[derive(Debug)]
struct Idle {
    link: Link,
    since: Instant,
    _place: OwnedSemaphorePermit,
}

/// A connection. Dropping it ends it, even during a request.
#[derive(Debug)]
struct Link {
    sender: SendRequest<Full<Bytes>>,
    driver: AbortHandle,
}

impl Deadline {
    /// A deadline after this time from now.
    pub(super) fn of(within: Duration) -> Self {
        Self { within, by: Instant::now() + within }
    }

    /// The time of the deadline.
    pub(super) fn by(self) -> Instant {
        self.by
    }

    fn has_passed(self) -> bool {
        Instant::now() >= self.by
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Client {
    /// A client with these rules.
    ///
    /// # Errors
    ///
    /// If the CA of destinations cannot be used.
    pub(super) fn new(config: &CallBackConfig) -> Result<Self, TlsError> {
        let tls = match Connector::to_anyone(config.ca.clone()) {
            // Most nodes make no calls, or none by HTTPS.
            Err(TlsError::NoRoots) if config.ca.is_none() => Err(TlsError::NoRoots),
            read => Ok(read?),
        };
        let idle_max = config.calls_per_reputation_max.min(IDLE_LINKS_MAX);
        Ok(Self::with_lookup(Guard::new(config), tls, Lookup::of_system(), idle_max))
    }

    fn with_lookup(guard: Guard, tls: Result<Connector, TlsError>, lookup: Lookup, idle_max: usize) -> Self {
        let lookups = [(); 2].map(|()| Arc::new(Semaphore::new(LOOKUPS_MAX)));
        let idle_places = Arc::new(Semaphore::new(idle_max));
        Self { guard, tls, idle: Mutex::default(), idle_places, lookup: Arc::new(lookup), lookups }
    }

    /// Forbids calls to the addresses on which this node listens.
    pub(super) fn never_call(&mut self, own: Vec<SocketAddr>) {
        self.guard.never_call(own);
    }

    /// Sends a request and waits for the reply until the deadline.
    pub(super) async fn call(
        &self,
        reputation: Reputation,
        origin: &Origin,
        request: &Request<Full<Bytes>>,
        deadline: Deadline,
    ) -> Result<Reply, Fault> {
        let was_sent = AtomicBool::new(false);
        let called =
            timeout_at(deadline.by, self.exchange(reputation, origin, request, deadline, &was_sent)).await;
        let fault = match called.unwrap_or(Err(Fault::TimedOut(deadline.within))) {
            Ok(reply) => return Ok(reply),
            Err(fault) => fault,
        };
        Err(match (was_sent.into_inner(), fault) {
            (false, Fault::TimedOut(within)) => {
                Fault::Connect(format!("none within {} ms", within.as_millis()))
            }
            // The connection that ended may have sent the request: a later fault does not change that.
            (true, fault @ (Fault::Connect(_) | Fault::Refused(_) | Fault::NotReady(_))) => {
                Fault::Broken(format!("the connection ended; then {fault}"))
            }
            (_, fault) => fault,
        })
    }

    async fn exchange(
        &self,
        reputation: Reputation,
        origin: &Origin,
        request: &Request<Full<Bytes>>,
        deadline: Deadline,
        was_sent: &AtomicBool,
    ) -> Result<Reply, Fault> {
        self.guard.check_port(origin)?;
        while let Some(mut link) = self.take_idle(origin) {
            if link.sender.ready().await.is_err() {
                continue;
            }
            // If the destination had closed an idle connection, that says nothing about it.
            if let Ok(response) = link.send(request, deadline, was_sent).await {
                return self.read(origin, link, response).await;
            }
            break;
        }
        let mut link = self.connect(reputation, origin).await?;
        let response = link.send(request, deadline, was_sent).await?;
        self.read(origin, link, response).await
    }

    async fn read(&self, origin: &Origin, link: Link, response: Response<Incoming>) -> Result<Reply, Fault> {
        let (head, mut body) = response.into_parts();
        let mut read = BytesMut::new();
        let mut is_whole = true;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Fault::Broken(told(&error)))?;
            let Some(data) = frame.data_ref() else { continue };
            let room = REPLY_BYTES_MAX - read.len();
            read.extend_from_slice(data.get(..room).unwrap_or(data));
            if data.len() > room {
                is_whole = false;
                break;
            }
        }
        if is_whole {
            self.put_idle(origin, link);
        }
        let text = |name: HeaderName| Some(head.headers.get(name)?.to_str().ok()?.to_owned());
        Ok(Reply {
            is_whole,
            status: head.status,
            retry_after: text(RETRY_AFTER),
            location: text(LOCATION),
            body: read.freeze(),
        })
    }

    async fn connect(&self, reputation: Reputation, origin: &Origin) -> Result<Link, Fault> {
        let (mut refusal, mut failure) = (None, None);
        for address in self.addresses(reputation, origin).await? {
            if let Err(refused) = self.guard.check(origin, address.ip()) {
                refusal = Some(refused);
                continue;
            }
            match timeout(CONNECT_MAX, self.open(origin, address)).await {
                Ok(Ok(link)) => return Ok(link),
                Ok(Err(fault)) => failure = Some(fault),
                Err(_) => {
                    failure = Some(Fault::Connect(format!("{address} does not answer")));
                }
            }
        }
        let nowhere = || Fault::Connect(format!("{} has no address", origin.host));
        Err(failure.or(refusal.map(Fault::Refused)).unwrap_or_else(nowhere))
    }

    async fn open(&self, origin: &Origin, address: SocketAddr) -> Result<Link, Fault> {
        let failed = |error: &dyn std::fmt::Display| Fault::Connect(format!("{address}: {error}"));
        let stream =
            TcpStream::connect(address).await.map_err(|error| match Errno::from_io_error(&error) {
                // A lack of resources on this node says nothing about the destination.
                Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::ADDRNOTAVAIL) => {
                    Fault::NotReady(format!("this node cannot connect: {error}"))
                }
                _ => failed(&error),
            })?;
        let (own, peer) = stream
            .local_addr()
            .and_then(|own| Ok((own, stream.peer_addr()?)))
            .map_err(|error| failed(&error))?;
        self.guard.check_own(origin, peer.ip(), Some(own.ip()))?;
        // If this fails, a small request may be delayed, but is still sent.
        let _ = stream.set_nodelay(true);
        let stream = if origin.is_secure {
            let tls = self.tls.as_ref().map_err(|error| Fault::NotReady(error.to_string()))?;
            tls.connect(&origin.address(), stream).await.map_err(|error| failed(&error))?
        } else {
            Stream::Plain(stream)
        };
        let builder =
            http1::Builder::new().max_buf_size(HEAD_BYTES_MAX).handshake(TokioIo::new(stream)).await;
        let (sender, connection) = builder.map_err(|error| failed(&error))?;
        // The sender of the request gets the error.
        let driver = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        Ok(Link { sender, driver })
    }

    /// The addresses of a host. The lookup runs in a thread of its own, as the system sets no time limit.
    async fn addresses(&self, reputation: Reputation, origin: &Origin) -> Result<Vec<SocketAddr>, Fault> {
        let (host, port) = (origin.host.clone(), origin.port);
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let [proven, probation] = &self.lookups;
        let lookups = if reputation == Reputation::Proven { proven } else { probation };
        let looked_up = async {
            // The semaphore is never closed.
            let room = Arc::clone(lookups).acquire_owned().await;
            let lookup = Arc::clone(&self.lookup);
            spawn_blocking(move || {
                let _room = room;
                lookup.find(&host, port)
            })
            .await
        };
        match timeout(CONNECT_MAX, looked_up).await {
            Ok(Ok(Ok(found))) => Ok(found),
            Ok(Ok(Err(error))) => Err(Fault::Connect(format!("{} is not found: {error}", origin.host))),
            Ok(Err(_)) => Err(Fault::NotReady("the server is stopping".to_owned())),
            Err(_) => Err(Fault::Connect(format!("{} is not looked up in time", origin.host))),
        }
    }

    /// Decides for each address of a destination whether it may be called.
    pub(super) async fn check(&self, origin: &Origin) -> Result<Vec<(IpAddr, Result<(), Refusal>)>, Fault> {
        self.guard.check_port(origin)?;
        let addresses = self.addresses(Reputation::Probation, origin).await?;
        Ok(addresses.into_iter().map(|found| (found.ip(), self.guard.check(origin, found.ip()))).collect())
    }

    fn take_idle(&self, origin: &Origin) -> Option<Link> {
        let mut idle = self.idle();
        let links = idle.get_mut(origin)?;
        // The most recently used one, so that the others can time out.
        let taken = links.pop();
        if links.is_empty() {
            idle.remove(origin);
        }
        taken.filter(|idle| idle.since.elapsed() < IDLE_MAX).map(|idle| idle.link)
    }

    fn put_idle(&self, origin: &Origin, link: Link) {
        let place = Arc::clone(&self.idle_places).try_acquire_owned().ok();
        let Some(place) = place.filter(|_| !link.sender.is_closed()) else { return };
        let idle = Idle { link, since: Instant::now(), _place: place };
        self.idle().entry(origin.clone()).or_default().push(idle);
    }

    /// Closes connections that were idle for too long.
    pub(super) fn close_idle(&self) {
        self.idle().retain(|_, links| {
            links.retain(|idle| idle.since.elapsed() < IDLE_MAX);
            !links.is_empty()
        });
    }

    fn idle(&self) -> MutexGuard<'_, BTreeMap<Origin, Vec<Idle>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    /// Sends a request, unless its deadline has passed, and notes whether any of it may have been sent.
    async fn send(
        &mut self,
        request: &Request<Full<Bytes>>,
        deadline: Deadline,
        was_sent: &AtomicBool,
    ) -> Result<Response<Incoming>, Fault> {
        // A process that was suspended must not begin a call after its deadline.
        if deadline.has_passed() {
            return Err(Fault::TimedOut(deadline.within));
        }
        let sent_before = was_sent.swap(true, Ordering::Relaxed);
        self.sender.try_send_request(request.clone()).await.map_err(|mut error| {
            if error.take_message().is_some() {
                was_sent.store(sent_before, Ordering::Relaxed);
                return Fault::Connect(told(error.error()));
            }
            Fault::Broken(told(error.error()))
        })
    }
}

/// The error, with its cause.
fn told(error: &hyper::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;
    use adjourn_server::config::{Egress, PortRange};

    /// A receiver that answers one call for each connection.
    fn receiver() -> (u16, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                counted.fetch_add(1, Ordering::SeqCst);
                let _ = stream.read(&mut [0; 4096]);
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            }
        });
        (port, calls)
    }

    #[tokio::test]
    async fn a_name_that_is_rebound_is_checked_at_every_connection() {
        let (port, calls) = receiver();
        let answers = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.2", "127.0.0.1"];
        let asked = AtomicUsize::new(0);
        let lookup = Lookup::of(move |host, port| {
            assert_eq!(host, "rebound.example");
            let answer = answers.get(asked.fetch_add(1, Ordering::SeqCst)).expect("an answer");
            Ok(vec![SocketAddr::new(answer.parse().expect("an address"), port)])
        });
        let config = CallBackConfig {
            egress: Egress::PublicOnly,
            allow: vec!["127.0.0.1".parse().expect("an address")],
            ports: vec![PortRange { first: 1, last: u16::MAX }],
            ..CallBackConfig::default()
        };
        let client = Client::with_lookup(Guard::new(&config), Err(TlsError::NoRoots), lookup, IDLE_LINKS_MAX);
        let origin = Origin { is_secure: false, host: "rebound.example".to_owned(), port };
        let call = async || {
            let request = Request::new(Full::new(Bytes::new()));
            client.call(Reputation::Proven, &origin, &request, Deadline::of(Duration::from_secs(30))).await
        };
        assert_eq!(call().await.expect("a reply").status, 200);
        for _ in 0..3 {
            let refused = call().await.expect_err("another address");
            assert!(matches!(refused, Fault::Refused(_)), "{refused}");
        }
        assert_eq!(call().await.expect("a reply").status, 200);
        assert_eq!(calls.load(Ordering::SeqCst), 2, "nothing reached another address");
    }

    #[tokio::test]
    async fn a_call_whose_time_is_over_is_not_sent() {
        let (port, calls) = receiver();
        let config = CallBackConfig {
            egress: Egress::Open,
            ports: vec![PortRange { first: 1, last: u16::MAX }],
            ..CallBackConfig::default()
        };
        let client = Client::with_lookup(Guard::new(&config), Err(TlsError::NoRoots), Lookup::of_system(), 1);
        let origin = Origin { is_secure: false, host: "127.0.0.1".to_owned(), port };
        let request = Request::new(Full::new(Bytes::new()));
        let (link, was_sent) = (client.connect(Reputation::Proven, &origin).await, AtomicBool::new(false));
        let late = link.expect("connected").send(&request, Deadline::of(Duration::ZERO), &was_sent).await;
        assert!(matches!(late, Err(Fault::TimedOut(_))) && !was_sent.into_inner());
        let late = client.call(Reputation::Proven, &origin, &request, Deadline::of(Duration::ZERO)).await;
        assert!(matches!(late, Err(Fault::Connect(_))), "it costs no attempt: {late:?}");
        let sent =
            client.call(Reputation::Proven, &origin, &request, Deadline::of(Duration::from_secs(30))).await;
        assert_eq!((sent.expect("a reply").status.as_u16(), calls.load(Ordering::SeqCst) > 0), (200, true));
    }
}
