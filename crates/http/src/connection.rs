//! One connection: its slots in the server, the memory of its request under way, and the token of its last request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{Extensions, StatusCode};

use super::patience::{CallerWatch, Progress};
use super::problem::Problem;
use adjourn_protocol::{ErrorCode, ErrorReply};
use adjourn_server::tokens::AdmittedClient;
use adjourn_server::{ConnectionHold, HeldMemory, MemoryShare};
use adjourn_types::Access;

/// One connection, and the token of its last request.
#[derive(Debug)]
pub struct HttpConnection {
    from: Arc<str>,
    progress: Arc<Progress>,
    held: Mutex<ConnectionState>,
}

#[derive(Debug)]
struct ConnectionState {
    hold: ConnectionHold,
    /// The memory of the request under way: for its body, then for its answer.
    memory: HeldMemory,
    shown: Option<(Vec<u8>, Arc<AdmittedClient>)>,
}

impl HttpConnection {
    /// A connection with these slots in the server.
    pub(crate) fn new(hold: ConnectionHold) -> Self {
        let from = hold.address().to_string().into();
        let memory = hold.memory(&Access::open()).nothing();
        let state = Mutex::new(ConnectionState { hold, memory, shown: None });
        Self { from, progress: Progress::new(), held: state }
    }

    /// The progress of its requests.
    pub(super) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Until the result is dropped, the request under way ends when its caller closes its side of the connection.
    pub(super) fn watch_caller(&self) -> CallerWatch {
        self.progress.watch()
    }

    /// True if the last caller that showed a token, or needed none, was admitted.
    pub(super) fn is_admitted(&self) -> bool {
        self.lock().shown.is_some()
    }

    /// Takes memory for the request under way.
    ///
    /// # Errors
    ///
    /// If its token, or its address, has used up its share.
    pub(super) fn take(&self, bytes: usize) -> Result<(), Problem> {
        let mut held = self.lock();
        if held.memory.try_add(bytes) {
            return Ok(());
        }
        if held.memory.is_all() {
            let message = "the request is larger than this node has memory for: send less at once";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::TooLarge, message));
        }
        Err(busy().into())
    }

    /// Resizes the memory of the request under way to that of its answer. `false` if there is not enough: then it is
    /// unchanged.
    pub(super) fn answered(&self, bytes: usize) -> (HeldMemory, bool) {
        let mut memory = self.lock().memory.take_all();
        let has_room = memory.resize(bytes);
        (memory, has_room)
    }

    /// The address of the caller.
    pub fn address(&self) -> &Arc<str> {
        &self.from
    }

    /// The account that pays for its requests.
    pub(super) fn share(&self) -> MemoryShare {
        self.lock().memory.share().clone()
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Authenticates a caller by its secret, with `search` for the token of a caller from this address. It is called only
    /// if the secret differs from that of the last request, or that token has ended.
    pub(super) fn admit(
        &self,
        secret: &[u8],
        search: impl FnOnce(&str) -> Result<Arc<AdmittedClient>, ErrorReply>,
    ) -> Result<Arc<AdmittedClient>, ErrorReply> {
        let mut held = self.lock();
        if let Some((before, client)) = &held.shown
            && before == secret
            && !client.has_ended()
        {
            return Ok(Arc::clone(client));
        }
        // The connection no longer counts as one of the token before.
        held.shown = None;
        let client = search(&self.from)?;
        if !held.hold.let_in() {
            let message =
                "the server has as many connections as it may have: try again, or raise connections_max";
            return Err(ErrorReply { retry_after_ms: 1000, ..ErrorReply::new(ErrorCode::Busy, message) });
        }
        held.memory = held.hold.memory(&client.access()).nothing();
        held.shown = Some((secret.to_vec(), Arc::clone(&client)));
        Ok(client)
    }
}

/// The connection of a request.
///
/// # Errors
///
/// If it has none.
pub fn connection(extensions: &Extensions) -> Result<Arc<HttpConnection>, Problem> {
    let connection = extensions.get::<Arc<HttpConnection>>().cloned();
    connection.ok_or_else(|| Problem::malformed("the request came over no connection"))
}

/// The error for a token or an address that has used up its memory.
pub(super) fn busy() -> ErrorReply {
    let message = "unread answers and requests under way take as much memory as you may have: read the answers, and try again";
    ErrorReply { retry_after_ms: 1000, ..ErrorReply::new(ErrorCode::Busy, message) }
}
