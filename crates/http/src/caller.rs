//! The caller of a request: its token, its rights, and its access to the queue.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use tokio::time::{sleep, timeout};

use super::connection::{HttpConnection, busy, connection};
use super::memory::{json_bytes_at_most, with_memory};
use super::patience::CallerWatch;
use super::problem::Problem;
use super::streams::{StreamSlot, Streams};
use adjourn_alerts::Alerts;
use adjourn_calendar::{SYSTEM_ZONES, ZoneData};
use adjourn_call_backs::CallBacks;
use adjourn_protocol::{Applied, ErrorCode, ErrorReply, ReleaseKind, Request, Response};
use adjourn_server::tokens::AdmittedClient;
use adjourn_server::{Local, LocalSession};
use adjourn_types::{Access, Right};

/// The second attempt uses the node's new session, if there is one.
const TRIES: usize = 2;
/// An answer that comes within this time is written also to a caller that has closed its side: jobs that are ready need no wait.
const AT_ONCE: Duration = Duration::from_millis(50);

/// The state that all requests share.
#[derive(Clone, Debug)]
pub struct HttpState {
    local: Local,
    call_backs: CallBacks,
    alerts: Alerts,
    /// Largest body of a job, in bytes.
    body_bytes_max: usize,
    streams: Streams,
    /// The zone data of this node.
    zones: ZoneData,
    /// The token of callers that show none.
    acts_as: Option<Arc<str>>,
}

impl HttpState {
    /// The state for requests to this queue.
    pub(crate) fn new(local: Local, call_backs: CallBacks, alerts: Alerts) -> Self {
        let body_bytes_max = local.body_bytes_max();
        Self {
            local,
            call_backs,
            alerts,
            body_bytes_max,
            streams: Streams::default(),
            zones: ZoneData::newest(Path::new(SYSTEM_ZONES)),
            acts_as: None,
        }
    }

    /// The same state for callers that cannot show a token: they act as the token of this name.
    pub(crate) fn acting_as(self, token: Option<String>) -> Self {
        Self { acts_as: token.map(Into::into), ..self }
    }

    /// Authenticates a caller by its secret. One without a secret may act as a token.
    ///
    /// # Errors
    ///
    /// As [`Local::admit`].
    pub fn admit(&self, secret: &[u8], from: &str) -> Result<Arc<AdmittedClient>, ErrorReply> {
        let client = match self.acts_as.as_ref().filter(|_| secret.is_empty()) {
            Some(token) => self.local.admit_as(token),
            None => self.local.admit(secret, from),
        };
        client.map(Arc::new)
    }

    /// The sessions with the queue.
    pub fn local(&self) -> &Local {
        &self.local
    }

    /// The call-backs of this node.
    pub fn call_backs(&self) -> &CallBacks {
        &self.call_backs
    }

    /// The alerts of this node.
    pub fn alerts(&self) -> &Alerts {
        &self.alerts
    }

    /// The zone data of this node.
    pub fn zones(&self) -> &ZoneData {
        &self.zones
    }

    /// A slot for one more event stream of this token, if there is one.
    pub(super) fn stream(&self, token: &str) -> Option<StreamSlot> {
        self.streams.take(token)
    }
}

/// The caller of a request.
#[derive(Clone, Debug)]
pub struct Caller {
    state: HttpState,
    client: Arc<AdmittedClient>,
    connection: Arc<HttpConnection>,
    /// Its own session; `None` if it uses the one of all callers with its token.
    session: Option<Arc<LocalSession>>,
}

impl<S> FromRequestParts<S> for Caller
where
    S: Send + Sync,
    HttpState: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let state = HttpState::from_ref(state);
        let connection = connection(&parts.extensions)?;
        let secret = secret(&parts.headers);
        Ok(Self::showing(&connection, &state, secret, |from| state.admit(secret, from)).await?)
    }
}

/// The secret of `Authorization: Bearer …`; empty without that header.
fn secret(headers: &HeaderMap) -> &[u8] {
    let shown = headers.get(AUTHORIZATION).map(axum::http::HeaderValue::as_bytes).unwrap_or_default();
    match shown.split_at_checked("bearer ".len()) {
        Some((scheme, secret)) if scheme.eq_ignore_ascii_case(b"bearer ") => secret.trim_ascii(),
        _ => b"",
    }
}

impl Caller {
    /// A caller over a connection on which no token can be shown.
    ///
    /// # Errors
    ///
    /// If such callers are not admitted.
    pub(crate) fn without_token(
        connection: &Arc<HttpConnection>,
        state: &HttpState,
    ) -> Result<Self, ErrorReply> {
        let client = connection.admit(b"", |from| state.admit(b"", from))?;
        Ok(Self { state: state.clone(), client, connection: Arc::clone(connection), session: None })
    }

    /// Opens a session of its own, whose leases end with it, unless it has one.
    ///
    /// # Errors
    ///
    /// If no node leads, or the leader has no room.
    pub(crate) async fn open_session(&mut self, client_name: &str) -> Result<(), ErrorReply> {
        if self.session.is_none() {
            let (local, address) = (&self.state.local, self.connection.address());
            let opened = local.session_of_connection(&self.client.access(), client_name, address).await?;
            self.session = Some(opened);
        }
        Ok(())
    }

    /// Takes memory for what is shown to it until it is written. `false` if there is none.
    pub(crate) fn take_memory(&self, bytes: usize) -> bool {
        self.connection.take(bytes).is_ok()
    }

    /// True if its token was changed, revoked or has expired.
    pub(crate) fn has_ended(&self) -> bool {
        self.client.has_ended()
    }

    /// True if it had a session of its own, which has ended.
    pub(crate) fn has_lost_its_session(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.has_ended())
    }

    /// Ends its own session, if it has one: its jobs go back at once.
    pub(crate) async fn leave(self) {
        if let Some(session) = self.session {
            // Without an answer the session ends when its grace is over.
            let _ = session.ask(None, Request::Goodbye).await;
        }
    }

    /// A caller that shows something else than a secret, such as the cookie of a session: `search` finds the client that it
    /// stands for. It is called only if the last caller of this connection showed something else, or its token has ended.
    ///
    /// # Errors
    ///
    /// If it stands for no client, or the server is full.
    pub async fn showing(
        connection: &Arc<HttpConnection>,
        state: &HttpState,
        shown: &[u8],
        search: impl FnOnce(&str) -> Result<Arc<AdmittedClient>, ErrorReply>,
    ) -> Result<Self, ErrorReply> {
        let client = connection.admit(shown, search)?;
        let caller = Self { state: state.clone(), client, connection: Arc::clone(connection), session: None };
        caller.wait_for_turn().await;
        Ok(caller)
    }

    /// Waits until its token's rate limit allows one more request.
    pub(crate) async fn wait_for_turn(&self) {
        while let Err(wait) = self.client.room(1) {
            sleep(wait).await;
        }
        self.client.took(1);
    }

    /// The state that all requests share.
    pub fn state(&self) -> &HttpState {
        &self.state
    }

    /// Until the result is dropped, the request ends when the caller closes its side of the connection.
    pub(super) fn watch(&self) -> CallerWatch {
        self.connection.watch_caller()
    }

    /// The rights of the caller.
    pub fn access(&self) -> Arc<Access> {
        self.client.access()
    }

    /// The rights of the caller, if it has this right to any topic. `needs` begins the error message.
    ///
    /// # Errors
    ///
    /// If it has that right to no topic.
    pub fn with_right(&self, right: Right, needs: &str) -> Result<Arc<Access>, Problem> {
        let access = self.access();
        if access.has_somewhere(right) {
            return Ok(access);
        }
        let message = format!("{needs} a token with the right to {}", right.name());
        Err(ErrorReply::new(ErrorCode::Forbidden, message).into())
    }

    /// Waits until its token is changed, revoked or expired.
    pub(crate) async fn ended(&self) {
        self.client.ended().await;
    }

    /// The name of its token; empty if there are no tokens.
    pub(crate) fn token(&self) -> String {
        self.client.access().token.clone()
    }

    /// The largest body that it may push, in bytes.
    pub fn body_bytes_max(&self) -> usize {
        self.state.body_bytes_max.min(self.client.access().body_bytes_max)
    }

    /// Checks that a client could send the request.
    ///
    /// # Errors
    ///
    /// If it is too large or not valid.
    pub fn check(&self, request: &Request) -> Result<(), Problem> {
        Ok(request.validate(self.body_bytes_max())?)
    }

    /// Asks the queue. `T` is what the answer carries.
    ///
    /// # Errors
    ///
    /// What the queue says.
    pub async fn ask<T>(&self, request: Request) -> Result<T, Problem>
    where
        T: TryFrom<Response, Error = Response>,
    {
        // If the client has exceeded its own limit, the status differs from that of a busy server.
        let too_fast = |error| Problem::from(error).with_status(StatusCode::TOO_MANY_REQUESTS);
        self.client.bring(&request).map_err(too_fast)?;
        self.check(&request)?;
        // Whatever else was asked for may be done by the time the token ends: its answer is waited for.
        let answer = if let Request::Reserve(reserve) = &request {
            let waits = reserve.wait_ms > 0;
            let asking = self.ask_until_answered(request);
            tokio::select! {
                biased;
                answered = self.watched(waits, asking) => self.with_memory(answered?)?,
                () = self.client.ended() => {
                    let ended = "the token was changed, revoked or has expired: show another one";
                    return Err(ErrorReply::new(ErrorCode::Unauthenticated, ended).into());
                }
            }
        } else {
            self.ask_until_answered(request).await?
        };
        self.client.token().charge(&answer);
        answer.try_into().map_err(unexpected)
    }

    /// The outcome of a reserve. A caller that leaves while it waits gets no job.
    async fn watched<T>(&self, waits: bool, asking: impl Future<Output = T>) -> T {
        let mut asking = pin!(asking);
        if let Ok(answered) = timeout(AT_ONCE, &mut asking).await {
            return answered;
        }
        let _watch = waits.then(|| self.watch());
        asking.await
    }

    /// Takes the memory that these jobs need as JSON. Without it the jobs are given back, not started.
    fn with_memory(&self, answer: Response) -> Result<Response, Problem> {
        let Response::Reserved(jobs) = &answer else { return Ok(answer) };
        let bytes = jobs.iter().map(json_bytes_at_most).sum();
        if self.connection.take(bytes).is_ok() || jobs.is_empty() {
            return Ok(answer);
        }
        let leases = jobs.iter().map(|job| job.lease).collect();
        let release = Request::Release { kind: ReleaseKind::NotStarted, leases, reason: None };
        let caller = self.clone();
        // If this fails, the leases run out.
        tokio::spawn(async move { caller.ask_until_answered(release).await });
        Err(busy().into())
    }

    /// A message for a reader of events, with its memory. `None` if there is no memory.
    pub(super) fn event(&self, text: String) -> Option<Bytes> {
        self.connection.share().take(text.len()).map(|memory| with_memory(text.into(), memory))
    }

    async fn ask_until_answered(&self, request: Request) -> Result<Response, ErrorReply> {
        let mut tries = TRIES;
        loop {
            tries -= 1;
            let answered = match self.session().await {
                Ok(session) => {
                    session.ask(Some(Arc::clone(self.connection.address())), request.clone()).await
                }
                Err(error) => Err(error),
            };
            match answered {
                Err(error) if tries > 0 && is_of_the_session(&error) => {}
                answered => return answered,
            }
        }
    }

    async fn session(&self) -> Result<Arc<LocalSession>, ErrorReply> {
        if let Some(session) = &self.session {
            return Ok(Arc::clone(session));
        }
        self.state.local.session(&self.client.access()).await
    }
}

/// The queue answers each request with one kind of answer.
#[expect(clippy::needless_pass_by_value, reason = "the other side of a conversion")]
fn unexpected(answer: Response) -> Problem {
    debug_assert!(false, "an answer of another kind: {answer:?}");
    let message =
        "the queue gave an answer of another kind: this is an error in the program, please report it";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Unknown, message)
}

/// Whether another session may answer the same request.
fn is_of_the_session(error: &ErrorReply) -> bool {
    let has_ended = matches!(
        error.code,
        ErrorCode::SessionUnknown | ErrorCode::NoLeader | ErrorCode::NotLeader | ErrorCode::Stopping
    );
    has_ended && error.applied == Applied::No
}
