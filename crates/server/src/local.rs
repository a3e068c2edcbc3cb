//! Sessions of this process with its own core, for HTTP and for every other service inside the server.
//!
//! A session is a connection without a socket. The replica sees no difference: rights, limits, turns and leases are those
//! of any client. All callers with the same token share one session, concurrently; each answer goes to the caller that
//! asked. Leases outlive the session: any caller that shows a lease can settle it, over any session.
//!
//! On a node that does not lead, a session is a connection to the leader, over the [peers' port](super::peers).
//!
//! A job is shown only while its lease surely lasts: its remaining time is computed when the caller takes the answer,
//! however long the answer was under way or waited here. A job whose lease may be over is given back, not started.
//!
//! If a caller leaves before its answer comes, its RESERVE is cancelled, and jobs that were granted to it meanwhile are
//! given back unattempted.

mod leader_clock;
mod leases;
mod member;
mod opening;
mod taker;
#[cfg(test)]
mod tests;
mod waiting;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ServerError;
use super::accepted::{self, Accepted};
use super::connection::{ConnectionConfig, InputShare};
use super::core::{BRIEF_BYTES_MAX, ToCore};
use super::entropy;
use super::outbox::{Inbox, Outbox};
use super::peers::Passage;
use super::ports::Port;
use super::tokens::AdmittedClient;
use leader_clock::LeaderClock;
use leases::{leases_of, release};
use member::{Line, UNASKED};
use opening::{OPENING_MAX, Opening};
use taker::Taker;
use waiting::{Asker, Waiting};
pub use watch::Vitals;
use watch::Watchers;

use adjourn_protocol::{
    Applied, ErrorCode, ErrorReply, Hello, Request, RequestId, Response, VERSION, VERSION_MIN, Welcome,
};
use adjourn_replica::{ConnectionId, Input};
use adjourn_storage::CALL_BACKS;
use adjourn_transport::Stream;
use adjourn_transport::tls::Acceptor;
use adjourn_types::{Access, Lease, Millis, TopicName, whole_ms};

/// Requests of one session that may wait for their answer; further ones wait before they are sent.
const IN_FLIGHT_MAX: u32 = 16_384;
/// After the leader was not found or reached, it is tried again after this time.
const NO_WAY_FOR: Duration = Duration::from_millis(200);
/// Memory charged for a request beside its bodies, in bytes.
const REQUEST_BYTES: usize = 128;

/// The sessions of this process, one for each token in use.
#[derive(Clone, Debug)]
pub struct Local {
    config: Arc<ConnectionConfig>,
    /// To the leader, if another member leads.
    passage: Option<Passage>,
    /// The data directory; `None` in memory.
    data: Option<Arc<Path>>,
    watchers: Arc<Watchers>,
    sessions: Arc<Sessions>,
    /// For sessions of connections that are being opened with the leader.
    opening: Arc<Semaphore>,
}

/// The sessions by the name of their token.
#[derive(Debug, Default)]
struct Sessions(Mutex<BTreeMap<String, Arc<OfToken>>>);

/// The session of one token. The lock is held while it is opened: only callers with this token wait for it.
type OfToken = tokio::sync::Mutex<Opened>;

#[derive(Debug, Default)]
struct Opened {
    session: Option<Arc<LocalSession>>,
    /// Until when the leader is not tried again, and why.
    no_way: Option<(Instant, ErrorReply)>,
}

/// One session. It ends when its last owner drops it.
#[derive(Debug)]
pub struct LocalSession {
    way: Way,
    access: Arc<Access>,
    room: Semaphore,
    next: AtomicU32,
    waiting: Arc<Waiting>,
    welcome: OnceLock<Box<Welcome>>,
}

/// Where requests go.
#[derive(Debug)]
enum Way {
    /// To the core of this process.
    Core { config: Arc<ConnectionConfig>, connection: ConnectionId, share: InputShare },
    /// To another member; with its clock.
    Member(Line, Arc<LeaderClock>),
}

/// The answers to one request.
#[derive(Debug)]
pub struct Answering {
    session: Arc<LocalSession>,
    /// The request's number.
    pub number: u32,
    answers: UnboundedReceiver<Response>,
}

impl Local {
    /// Sessions with the core of this configuration, or with the member that leads.
    pub(super) fn new(config: Arc<ConnectionConfig>, passage: Option<Passage>, data: Option<&Path>) -> Self {
        Self {
            config,
            passage,
            data: data.map(Into::into),
            watchers: Arc::default(),
            sessions: Arc::default(),
            opening: Arc::new(Semaphore::new(OPENING_MAX)),
        }
    }

    /// Accepts connections at a port until the server stops. Each is served in a task of its own.
    ///
    /// # Errors
    ///
    /// If the system does not let the server listen on the port.
    pub fn accept<F: Future<Output = ()> + Send + 'static>(
        &self,
        port: Port,
        serve: impl Fn(Accepted) -> F + Clone + Send + Sync + 'static,
    ) -> Result<(), ServerError> {
        let has_tls = port.has_tls;
        tokio::spawn(accepted::accept(port.listen()?, Arc::clone(&self.config), has_tls, serve));
        Ok(())
    }

    /// Cancelled when the server stops.
    pub fn stopping(&self) -> CancellationToken {
        self.config.stopping.clone()
    }

    /// The folder of the log of call-backs; `None` if this server writes no files.
    pub fn call_backs_folder(&self) -> Option<PathBuf> {
        Some(self.data.as_ref()?.join(CALL_BACKS))
    }

    /// How long an accepted connection's first request may take to be complete, and any that was begun.
    pub fn request_deadline(&self) -> Duration {
        self.config.frame_deadline
    }

    /// True if there are no tokens: everyone who reaches the server may do everything.
    pub fn is_open(&self) -> bool {
        self.config.tokens.are_none()
    }

    /// True if connections are encrypted: then the certificate tells a client which server it is.
    pub fn has_tls(&self) -> bool {
        self.config.tls.is_some()
    }

    /// The ports that have a certificate, each with the last moment in which it is valid.
    pub fn certificate_ends(&self) -> Vec<(&'static str, Millis)> {
        let clients = self.config.tls.as_ref().and_then(Acceptor::certificate_ends);
        let members = self.config.members.as_ref().and_then(|members| members.certificate_ends());
        let ends = [("clients", clients), ("members", members)];
        let known = ends.into_iter().filter_map(|(port, end)| Some((port, Millis(end?.as_secs() * 1000))));
        known.collect()
    }

    /// The largest body of a job, in bytes.
    pub fn body_bytes_max(&self) -> usize {
        self.config.body_bytes_max
    }

    /// Authenticates a caller from this address by the secret of a token.
    ///
    /// # Errors
    ///
    /// If there is no such token, or it has its maximum of connections.
    pub fn admit(&self, secret: &[u8], from: &str) -> Result<AdmittedClient, ErrorReply> {
        self.config.tokens.admit(secret).inspect_err(|error| {
            if error.code == ErrorCode::Unauthenticated {
                self.config.audit.login_failed(from.to_owned(), error.message.clone());
            }
        })
    }

    /// Admits a caller that acts as the token of this name.
    ///
    /// # Errors
    ///
    /// As [`Self::admit`].
    pub fn admit_as(&self, token: &str) -> Result<AdmittedClient, ErrorReply> {
        self.config.tokens.admit_as(token)
    }

    /// The session of all callers with this access, opened if there is none.
    ///
    /// # Errors
    ///
    /// If no node leads, or the leader cannot be reached or has no room.
    pub async fn session(&self, access: &Arc<Access>) -> Result<Arc<LocalSession>, ErrorReply> {
        let of_token = self.sessions.of(&access.token);
        let mut opened = of_token.lock().await;
        let held = opened.session.as_ref().filter(|session| !session.has_ended());
        if let Some(session) = held.filter(|session| Arc::ptr_eq(&session.access, access)) {
            return Ok(Arc::clone(session));
        }
        if let Some((_, why)) = opened.no_way.as_ref().filter(|(until, _)| Instant::now() < *until) {
            return Err(why.clone());
        }
        let session = match LocalSession::open(&self.config, Arc::clone(access), Opening::SHARED).await {
            Err(error) if error.code == ErrorCode::NotLeader => {
                let led = self.led(&error, access, Opening::SHARED).await;
                opened.no_way = led.as_ref().err().map(|why| (Instant::now() + NO_WAY_FOR, why.clone()));
                led?
            }
            opened => opened?,
        };
        opened.session = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Tells the queue that the calls of a topic are suspended for this long, because their only destination failed.
    pub fn calls_suspended(&self, topic: &TopicName, left: Duration) {
        let (topic, for_ms) = (topic.clone(), whole_ms(left));
        // A core that has ended need not be told.
        let _ = self.config.core.send(ToCore::Input(Input::CallsSuspended { topic, for_ms }));
    }

    /// A session with the member that leads.
    async fn led(
        &self,
        error: &ErrorReply,
        access: &Arc<Access>,
        opening: Opening<'_>,
    ) -> Result<Arc<LocalSession>, ErrorReply> {
        let (Some(passage), Some(leader)) = (&self.passage, &error.leader) else { return Err(error.clone()) };
        let (stream, unread) = passage.open(leader, access).await?;
        LocalSession::with_member(stream, unread, Arc::clone(access), opening).await
    }

    /// A session that is not shared, with the core of this process.
    ///
    /// # Errors
    ///
    /// If this node does not lead, or has no room.
    pub async fn own_session(
        &self,
        access: Arc<Access>,
        client_name: &str,
    ) -> Result<Arc<LocalSession>, ErrorReply> {
        let opening = Opening { client_name, address: client_name, ..Opening::SHARED };
        LocalSession::open(&self.config, access, opening).await
    }

    /// A session for one connection from this address. Its leases end with it, and must not be shown to the caller: they are
    /// [volatile](adjourn_replica::Arrival::volatile_leases).
    ///
    /// # Errors
    ///
    /// As [`Self::session`].
    pub async fn session_of_connection(
        &self,
        access: &Arc<Access>,
        client_name: &str,
        address: &str,
    ) -> Result<Arc<LocalSession>, ErrorReply> {
        let opening = Opening { client_name, address, leases_outlive: false, volatile_leases: true };
        match LocalSession::open(&self.config, Arc::clone(access), opening).await {
            Err(error) if error.code == ErrorCode::NotLeader => {
                // The semaphore is never closed.
                let _turn = self.opening.acquire().await;
                self.led(&error, access, opening).await
            }
            opened => opened,
        }
    }
}

impl Sessions {
    /// The session of the token of this name, if it is open.
    fn of(&self, token: &str) -> Arc<OfToken> {
        let mut by_token = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A token in use by a task, which opens or checks its session, is kept.
        by_token.retain(|_, one| {
            Arc::strong_count(one) > 1 || one.try_lock().is_ok_and(|opened| opened.is_of_use())
        });
        Arc::clone(by_token.entry(token.to_owned()).or_default())
    }
}

impl Opened {
    fn is_of_use(&self) -> bool {
        let rests = self.no_way.as_ref().is_some_and(|(until, _)| Instant::now() < *until);
        rests || self.session.as_ref().is_some_and(|session| !session.has_ended())
    }
}

impl LocalSession {
    async fn open(
        config: &Arc<ConnectionConfig>,
        access: Arc<Access>,
        opening: Opening<'_>,
    ) -> Result<Arc<Self>, ErrorReply> {
        let secret = entropy::draw().map_err(|error| ErrorReply::new(ErrorCode::Busy, error.to_string()))?;
        let connection = config.numbers.next();
        let (outbox, Inbox { outgoing, gauge, .. }) = Outbox::new(IN_FLIGHT_MAX, config.output_bytes_max);
        let waiting = Arc::new(Waiting::default());
        let share = InputShare::new(&config.input, &gauge);
        let way = Way::Core { config: Arc::clone(config), connection, share };
        let session = Self::new(way, Arc::clone(&access), Arc::clone(&waiting));
        let arrival = opening.arrival(access, secret);
        config.core.send(ToCore::Connected { connection, arrival, outbox }).map_err(|_| stopping())?;
        let taker = Taker { config: Arc::clone(config), connection, gauge, waiting, unreported_bytes: 0 };
        tokio::spawn(taker.run(outgoing));
        session.greeted(opening, 0).await
    }

    async fn with_member(
        stream: Stream,
        unread: BytesMut,
        access: Arc<Access>,
        opening: Opening<'_>,
    ) -> Result<Arc<Self>, ErrorReply> {
        let (waiting, clock) = (Arc::new(Waiting::default()), Arc::new(LeaderClock::default()));
        let line = member::talk(stream, unread, Arc::clone(&waiting), Arc::clone(&clock));
        Self::new(Way::Member(line, clock), access, waiting).greeted(opening, member::HEARTBEAT_MS).await
    }

    fn new(way: Way, access: Arc<Access>, waiting: Arc<Waiting>) -> Arc<Self> {
        Arc::new(Self {
            way,
            access,
            room: Semaphore::new(IN_FLIGHT_MAX as usize),
            next: AtomicU32::new(1),
            waiting,
            welcome: OnceLock::new(),
        })
    }

    async fn greeted(
        self: Arc<Self>,
        opening: Opening<'_>,
        heartbeat_ms: u32,
    ) -> Result<Arc<Self>, ErrorReply> {
        let hello = Hello {
            version_min: VERSION_MIN,
            version_max: VERSION,
            client_name: opening.client_name.to_owned(),
            leases_outlive: opening.leases_outlive,
            heartbeat_ms,
            ..Hello::default()
        };
        if let Response::Welcome(welcome) = self.ask(None, Request::Hello(hello)).await? {
            // The session is not shared yet.
            let _ = self.welcome.set(welcome);
        }
        Ok(self)
    }

    /// The limits and the identity that WELCOME states; `None` before the session is open.
    pub fn welcome(&self) -> Option<&Welcome> {
        self.welcome.get().map(Box::as_ref)
    }

    /// True if it answers no more requests: this node has lost the lead, or an operator has closed the session.
    pub fn has_ended(&self) -> bool {
        self.waiting.lock().has_ended
    }

    /// Sends a request for a caller from this address, and waits for the answer.
    ///
    /// # Errors
    ///
    /// The error of the queue, or [`ErrorCode::NoLeader`] if the session ends before the answer.
    pub async fn ask(
        self: &Arc<Self>,
        from: Option<Arc<str>>,
        request: Request,
    ) -> Result<Response, ErrorReply> {
        let Request::Reserve(mut reserve) = request else {
            let mut answer = self.ask_once(from, request).await?;
            self.age(&mut answer);
            return Ok(answer);
        };
        let (asked, wait_ms) = (Instant::now(), reserve.wait_ms);
        loop {
            let mut answer = self.ask_once(from.clone(), Request::Reserve(reserve.clone())).await?;
            let had_jobs = !leases_of(&answer).is_empty();
            self.age(&mut answer);
            let is_whole = !had_jobs || !leases_of(&answer).is_empty();
            reserve.wait_ms = wait_ms.saturating_sub(whole_ms(asked.elapsed()));
            // Other jobs may come before the wait is over.
            if is_whole || reserve.wait_ms == 0 {
                return Ok(answer);
            }
        }
    }

    async fn ask_once(&self, from: Option<Arc<str>>, request: Request) -> Result<Response, ErrorReply> {
        // The semaphore is never closed.
        let _room = self.room.acquire().await;
        let is_reserve = matches!(request, Request::Reserve(_));
        let (sender, answer) = oneshot::channel();
        let number = self.enter(Asker::Once(sender))?;
        let mut left = Left { session: self, number, answer, cancels: is_reserve };
        self.send(from, number, request).await?;
        let answer = (&mut left.answer).await;
        left.cancels = false;
        match answer {
            Ok(Response::Error(error)) => Err(error),
            Ok(answer) => Ok(answer),
            Err(_) => Err(lost()),
        }
    }

    /// Sends a request that gets more than one answer.
    ///
    /// # Errors
    ///
    /// If the session has ended.
    pub async fn subscribe(self: &Arc<Self>, request: Request) -> Result<Answering, ErrorReply> {
        let (sender, answers) = mpsc::unbounded_channel();
        let number = self.enter(Asker::Always(sender))?;
        let answering = Answering { session: Arc::clone(self), number, answers };
        self.send(None, number, request).await?;
        Ok(answering)
    }

    /// Sends a request without waiting for the answer.
    fn mention(&self, request: Request) {
        let number = RequestId(self.number());
        match &self.way {
            Way::Core { config, connection, .. } => {
                let (connection, requests) = (*connection, vec![(number, request)]);
                let permit = adjourn_replica::Permit::default();
                // A core that has ended answers no requests.
                let _ = config.core.send(ToCore::Input(Input::Requests {
                    connection,
                    from: None,
                    requests,
                    permit,
                }));
            }
            Way::Member(line, _) => {
                // If there is no room, the request is dropped: it would only have saved work.
                let _ = line.try_send((number, request));
            }
        }
    }

    /// Gives back jobs that reach no caller: they were not started.
    fn give_back(&self, leases: Vec<Lease>) {
        if !leases.is_empty() {
            self.mention(release(leases));
        }
    }

    /// Sets the remaining time of each lease in an answer, as of now, and gives back jobs whose lease may be over.
    fn age(&self, answer: &mut Response) {
        let now_ms = match &self.way {
            Way::Core { config, .. } => config.clock.queue_ms(),
            Way::Member(_, clock) => clock.now_ms_at_most(),
        };
        self.give_back(answer.age(now_ms));
    }

    async fn send(&self, from: Option<Arc<str>>, number: u32, request: Request) -> Result<(), ErrorReply> {
        let (config, connection, share) = match &self.way {
            Way::Core { config, connection, share } => (config, *connection, share),
            Way::Member(line, _) => {
                let sent = line.send((RequestId(number), request)).await;
                return sent.map_err(|_| ErrorReply { applied: Applied::No, ..lost() });
            }
        };
        let bytes = REQUEST_BYTES + bodies_bytes(&request);
        let permit = share.hand_over(bytes, None).await;
        let requests = vec![(RequestId(number), request)];
        let message = ToCore::Input(Input::Requests { connection, from, requests, permit });
        let core = &config.core;
        let sent = if bytes <= BRIEF_BYTES_MAX { core.send_brief(message) } else { core.send(message) };
        sent.map_err(|_| stopping())
    }

    fn enter(&self, asker: Asker) -> Result<u32, ErrorReply> {
        let mut askers = self.waiting.lock();
        if askers.has_ended {
            return Err(ErrorReply { applied: Applied::No, ..lost() });
        }
        // Numbers wrap after 2^32 requests, and a long poll may still have this one.
        let mut number = self.number();
        while askers.by_number.contains_key(&number) {
            number = self.number();
        }
        askers.by_number.insert(number, asker);
        Ok(number)
    }

    /// The next number of a request, except for reserved ones.
    fn number(&self) -> u32 {
        loop {
            match self.next.fetch_add(1, Ordering::Relaxed) {
                0 | UNASKED => {}
                number => return number,
            }
        }
    }
}

impl Drop for LocalSession {
    fn drop(&mut self) {
        if let Way::Core { config, connection, .. } = &self.way {
            // A core that has ended need not be told.
            let _ = config.core.send(ToCore::Input(Input::Disconnected { connection: *connection }));
        }
    }
}

impl Answering {
    /// The next answer. `None` when the session has ended.
    pub async fn next(&mut self) -> Option<Response> {
        loop {
            let mut answer = self.answers.recv().await?;
            self.session.age(&mut answer);
            if answer.is_worth_sending() {
                return Some(answer);
            }
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.session.waiting.lock().by_number.remove(&self.number);
        self.session.mention(Request::Unsubscribe { subscription: self.number });
        // No caller takes the jobs that came meanwhile.
        while let Ok(answer) = self.answers.try_recv() {
            self.session.give_back(leases_of(&answer));
        }
    }
}

/// A caller that waits. If it is dropped before the answer has come, a RESERVE is cancelled.
struct Left<'a> {
    session: &'a LocalSession,
    number: u32,
    answer: oneshot::Receiver<Response>,
    cancels: bool,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.session.waiting.lock().by_number.remove(&self.number);
        match self.answer.try_recv() {
            _ if !self.cancels => {}
            // The answer came at this very moment.
            Ok(answer) => self.session.give_back(leases_of(&answer)),
            Err(_) => self.session.mention(Request::Cancel { request: self.number }),
        }
    }
}

fn bodies_bytes(request: &Request) -> usize {
    match request {
        Request::Push(push) => push.jobs.iter().map(|job| REQUEST_BYTES + job.body.len()).sum(),
        Request::Edit(edit) => edit.body.as_ref().map_or(0, Bytes::len),
        request => size_of_val(request.leases()),
    }
}

/// The error when the session ends before the answer comes.
fn lost() -> ErrorReply {
    let message = "this node stopped leading before it answered: ask again";
    ErrorReply { applied: Applied::Unknown, ..ErrorReply::new(ErrorCode::NoLeader, message) }
}

fn stopping() -> ErrorReply {
    ErrorReply::new(ErrorCode::Stopping, "the server is stopping: connect to it later")
}
