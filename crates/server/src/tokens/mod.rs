//! The tokens: who may connect, what each may do, and how much.
//!
//! A server without a file of tokens admits everyone and allows everything. Otherwise a client shows a secret; the token
//! with its hash has the client's rights, and limits all clients that show the same secret together. The file is read again
//! when it has changed and then stayed the same for a second, and when the process is told to. Connections of a token end
//! when it is changed, expired or removed.

mod file;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::clock::wall;
use super::rate::Rate;
use adjourn_protocol::{Edit, ErrorCode, ErrorReply, Request, Response};
use adjourn_transport::Mark;
use adjourn_types::{Access, Millis};
pub use file::{Limits, SecretHash, Text, TokenEntry, TokenError, TokenFile, TokenName, new_secret};

/// The interval between two checks of the file and of expired tokens.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// All tokens of a server.
#[derive(Debug)]
pub(super) struct Tokens {
    file: Option<PathBuf>,
    held: Mutex<LoadedTokens>,
}

#[derive(Debug)]
struct LoadedTokens {
    tokens: Vec<Arc<Token>>,
    /// The mark of the file when it was read.
    mark: Option<Mark>,
    /// The mark of the file at the last check.
    seen: Option<Mark>,
    /// The last logged reason why the file could not be used.
    complaint: Option<String>,
}

/// One token, and its use.
#[derive(Debug)]
struct Token {
    /// `None` for clients without a token, where none is needed.
    entry: Option<TokenEntry>,
    access: Arc<Access>,
    connections: AtomicU32,
    requests: Option<Rate>,
    jobs: Option<Rate>,
    bytes: Option<Rate>,
    /// Cancelled when the token has expired or was changed or removed.
    ended: CancellationToken,
}

/// A client whose token was accepted.
#[derive(Debug)]
pub struct AdmittedClient(Arc<Token>);

/// A token that was shown once. It admits further clients until it ends.
#[derive(Clone, Debug)]
pub struct ShownToken(Arc<Token>);

/// What callers are told who send no token, or a wrong one.
const MISSING: &str = "this server requires a token: send `Authorization: Bearer TOKEN` in HTTP, set ADJOURN_TOKEN for the command line, \
                       or the token of a client's configuration";
const UNKNOWN: &str = "the token is unknown: ask the operator of the server for another";

impl Tokens {
    /// Reads the file, if there is one.
    pub(super) fn read(file: Option<&Path>) -> Result<Arc<Self>, TokenError> {
        let mark = file.map(Mark::of);
        let tokens = match file {
            Some(path) => {
                let entries = TokenFile::read(path)?.tokens;
                if entries.is_empty() {
                    warn!(path = %path.display(), "no token is in the file: every client is refused");
                }
                entries.into_iter().map(|entry| Token::new(Some(entry))).collect()
            }
            None => vec![Token::new(None)],
        };
        let held = LoadedTokens { tokens, mark, seen: None, complaint: None };
        Ok(Arc::new(Self { file: file.map(Path::to_owned), held: Mutex::new(held) }))
    }

    /// Admits a client that shows the secret of a token. Compares all tokens, so that the time reveals nothing.
    pub(super) fn admit(&self, secret: &[u8]) -> Result<AdmittedClient, ErrorReply> {
        let (shown, now) = (SecretHash::of(secret), wall());
        let mut found = None;
        for token in &self.held().tokens {
            if token.entry.as_ref().is_none_or(|entry| entry.sha256.matches(&shown)) {
                found = Some(Arc::clone(token));
            }
        }
        let Some(token) = found else {
            let why = if secret.is_empty() { MISSING } else { UNKNOWN };
            return Err(ErrorReply::new(ErrorCode::Unauthenticated, why));
        };
        Self::let_in(token, now)
    }

    /// Admits a client that acts as the token of this name.
    pub(super) fn admit_as(&self, name: &str) -> Result<AdmittedClient, ErrorReply> {
        let found = self.held().tokens.iter().find(|token| token.access.token == name).cloned();
        let Some(token) = found else {
            let unknown = format!("there is no token {name}, which callers of this port act as: make it");
            return Err(ErrorReply::new(ErrorCode::Unauthenticated, unknown));
        };
        Self::let_in(token, wall())
    }

    fn let_in(token: Arc<Token>, now: Millis) -> Result<AdmittedClient, ErrorReply> {
        if token.has_ended(now) {
            let expired = format!(
                "the token {} has expired: ask the operator of the server for another",
                token.access.token
            );
            return Err(ErrorReply::new(ErrorCode::Unauthenticated, expired));
        }
        let most = token.entry.as_ref().and_then(|entry| entry.limits.connections).unwrap_or(u32::MAX);
        // From here on its drop lowers the count.
        let client = AdmittedClient(token);
        if client.0.connections.fetch_add(1, Ordering::Relaxed) >= most {
            let many = format!(
                "the token {} has as many connections as it may, {most}: close some",
                client.0.access.token
            );
            let error = ErrorReply::new(ErrorCode::Busy, many);
            return Err(ErrorReply { retry_after_ms: 1000, ..error });
        }
        Ok(client)
    }

    /// True if there is no file of tokens: then everyone may do everything.
    pub(super) fn are_none(&self) -> bool {
        self.file.is_none()
    }

    /// Checks the file and the expiry of tokens until the server stops.
    pub(super) async fn watch(self: Arc<Self>, stopping: CancellationToken) {
        if self.file.is_none() {
            return;
        }
        loop {
            tokio::select! {
                () = stopping.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            let tokens = Arc::clone(&self);
            // A runtime that ends checks no files.
            let _ = spawn_blocking(move || tokens.look()).await;
        }
    }

    /// Reads the file if it has changed, and ends expired tokens. A file that changes at each check is being written: it is
    /// read once a check finds it unchanged.
    fn look(&self) {
        if let Some(path) = &self.file {
            let settled = self.held().settled(Mark::of(path));
            if let Some(mark) = settled {
                let read = TokenFile::read(path);
                if Mark::of(path) == mark {
                    self.take_over(path, mark, read);
                }
            }
        }
        let now = wall();
        for token in &self.held().tokens {
            if token.has_ended(now) {
                token.ended.cancel();
            }
        }
    }

    /// Reads the file now. If it cannot be used, nothing changes; the log has the reason.
    pub(super) fn reload(&self) {
        let Some(path) = &self.file else { return };
        // Before the file is read: later changes are seen at the next check.
        let mark = Mark::of(path);
        self.take_over(path, mark, TokenFile::read(path));
    }

    fn take_over(&self, path: &Path, mark: Mark, read: Result<TokenFile, TokenError>) {
        let mut held = self.held();
        // An unreadable file is tried again at the next check: it may never change again.
        if !matches!(read, Err(TokenError::Unreadable { .. })) {
            held.mark = Some(mark);
        }
        match read {
            Ok(file) if file.tokens.is_empty() && !held.tokens.is_empty() && !names_none(path) => {
                let empty = "no token is in the file: those from before stay in use. To let no client in, write `token = []`";
                held.complain(format!("{}: {empty}", path.display()));
            }
            Ok(file) => {
                info!(path = %path.display(), tokens = file.tokens.len(), "read the tokens");
                held.complaint = None;
                held.replace(file.tokens);
            }
            Err(error) => held.complain(format!("{error}: the tokens from before stay in use")),
        }
    }

    fn held(&self) -> MutexGuard<'_, LoadedTokens> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if a file states that there are no tokens, as after the last one was revoked. A truncated file does not state it.
fn names_none(path: &Path) -> bool {
    #[derive(serde::Deserialize)]
    struct Says {
        token: Option<Vec<serde::de::IgnoredAny>>,
    }
    let text = std::fs::read_to_string(path).unwrap_or_default();
    toml::from_str(&text).is_ok_and(|says: Says| says.token.is_some_and(|tokens| tokens.is_empty()))
}

impl LoadedTokens {
    /// The mark of a file that was not read yet, if it is the same as at the check before.
    fn settled(&mut self, mark: Mark) -> Option<Mark> {
        let is_settled = self.seen.as_ref() == Some(&mark) && self.mark.as_ref() != Some(&mark);
        self.seen = Some(mark.clone());
        is_settled.then_some(mark)
    }

    /// Warns of a problem, once.
    fn complain(&mut self, complaint: String) {
        if self.complaint.as_ref() != Some(&complaint) {
            warn!("{complaint}");
            self.complaint = Some(complaint);
        }
    }

    /// Replaces the tokens. An unchanged token keeps its connections, and what it has used of its limits.
    fn replace(&mut self, entries: Vec<TokenEntry>) {
        let before = std::mem::take(&mut self.tokens);
        let same =
            |entry: &TokenEntry| before.iter().find(|token| token.entry.as_ref() == Some(entry)).cloned();
        self.tokens = entries
            .into_iter()
            .map(|entry| same(&entry).unwrap_or_else(|| Token::new(Some(entry))))
            .collect();
        for token in before {
            if !self.tokens.iter().any(|now| Arc::ptr_eq(now, &token)) {
                token.ended.cancel();
            }
        }
    }
}

impl Token {
    fn new(entry: Option<TokenEntry>) -> Arc<Self> {
        let limits = entry.as_ref().map(|entry| entry.limits.clone()).unwrap_or_default();
        let most =
            |limit: Option<u32>| limit.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let access = entry.as_ref().map_or_else(Access::open, |entry| Access {
            token: entry.name.to_string(),
            grants: entry.allow.iter().map(|grant| grant.0.clone()).collect(),
            body_bytes_max: most(limits.body_bytes),
            sessions_max: most(limits.sessions),
            topics_max: most(limits.topics),
        });
        Self::of(entry, access, &limits)
    }

    fn of(entry: Option<TokenEntry>, access: Access, limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            entry,
            access: Arc::new(access),
            connections: AtomicU32::new(0),
            requests: limits.requests_per_second.map(Rate::new),
            jobs: limits.jobs_per_second.map(Rate::new),
            bytes: limits.bytes_per_second.map(Rate::new),
            ended: CancellationToken::new(),
        })
    }

    fn has_ended(&self, now: Millis) -> bool {
        self.ended.is_cancelled() || self.entry.as_ref().is_some_and(|entry| entry.has_expired(now))
    }
}

impl ShownToken {
    /// Its name; empty if there are no tokens.
    pub fn name(&self) -> &str {
        &self.0.access.token
    }

    /// True if it has expired or was changed or removed.
    pub fn has_ended(&self) -> bool {
        self.0.has_ended(wall())
    }

    /// Charges the jobs that a request pushed without bringing them: only its answer says how many they were.
    pub fn charge(&self, answer: &Response) {
        let Response::ScheduleFilled(filled) = answer else { return };
        let limits = [(&self.0.jobs, filled.jobs()), (&self.0.bytes, filled.bytes)];
        let limits = limits.into_iter().filter_map(|(rate, much)| Some((rate.as_ref()?, much)));
        limits.for_each(|(rate, much)| rate.charge(much));
    }

    /// Admits one more client.
    ///
    /// # Errors
    ///
    /// If it has ended, or has its maximum of connections.
    pub fn admit(&self) -> Result<AdmittedClient, ErrorReply> {
        Tokens::let_in(Arc::clone(&self.0), wall())
    }
}

impl AdmittedClient {
    /// The token of the client.
    pub fn token(&self) -> ShownToken {
        ShownToken(Arc::clone(&self.0))
    }

    /// A client that another member vouches for. That member applies the limits.
    pub(super) fn vouched(access: Access) -> Self {
        let token = Token::of(None, access, &Limits::default());
        token.connections.store(1, Ordering::Relaxed);
        Self(token)
    }

    /// The rights of the client.
    pub fn access(&self) -> Arc<Access> {
        Arc::clone(&self.0.access)
    }

    /// True if the token has expired or was changed or removed.
    pub fn has_ended(&self) -> bool {
        self.0.ended.is_cancelled()
    }

    /// Waits until the token expires or is changed or removed.
    pub async fn ended(&self) {
        self.0.ended.cancelled().await;
    }

    /// How many requests may be taken now, up to `most`; if none, how long to wait.
    pub fn room(&self, most: u32) -> Result<u32, Duration> {
        self.0.requests.as_ref().map_or(Ok(most), |rate| rate.room(most))
    }

    /// Charges requests that were taken.
    pub fn took(&self, requests: u32) {
        if let Some(rate) = &self.0.requests {
            // There was room for them; if another connection was faster, the next ones wait longer.
            rate.charge(requests.into());
        }
    }

    /// Fails if the bodies that a request brings exceed a limit now. An edit with a body counts as a push of one job. A
    /// refused request uses up nothing. What a backfill pushes is [charged](ShownToken::charge) with its answer.
    pub fn bring(&self, request: &Request) -> Result<(), ErrorReply> {
        let (jobs, bytes) = match request {
            Request::Push(push) => {
                (push.jobs.len() as u64, push.jobs.iter().map(|job| job.body.len() as u64).sum())
            }
            Request::Edit(Edit { body: Some(body), .. }) => (1, body.len() as u64),
            Request::ScheduleFill(fill) if !fill.is_dry_run => (0, 0),
            _ => return Ok(()),
        };
        let limits = [(&self.0.jobs, jobs, "jobs"), (&self.0.bytes, bytes, "bytes of bodies")];
        let limits = || limits.iter().filter_map(|(rate, much, what)| Some((rate.as_ref()?, much, what)));
        let waits = limits().filter_map(|(rate, _, what)| Some((rate.check().err()?, rate, what)));
        if let Some((wait, rate, what)) = waits.max_by_key(|(wait, ..)| *wait) {
            let (token, most) = (&self.0.access.token, rate.per_second());
            let fast = format!("the token {token} may push {most} {what} a second: slow down");
            let retry_after_ms = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX).max(1);
            return Err(ErrorReply { retry_after_ms, ..ErrorReply::new(ErrorCode::Busy, fast) });
        }
        limits().for_each(|(rate, much, _)| rate.charge(*much));
        Ok(())
    }
}

impl Drop for AdmittedClient {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
