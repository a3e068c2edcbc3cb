//! The audit log: denied requests, failed logins, and requests that change more than single jobs. One JSON object a
//! line.
//!
//! A thread of its own writes the lines. No request waits for it; the end of the node waits two seconds at most. Refusals
//! are limited: denied requests for each token, failed logins for each address and in total. So a source that is refused
//! again and again neither floods the log nor crowds out other lines. Lines that are not written are counted, and the count
//! is written within seconds.

mod file;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use super::clock::wall;
use super::rate::Rate;
use super::unauthenticated::network;
use adjourn_replica::Audited;
use adjourn_types::Millis;
use file::RotatedFile;

/// Lines that may wait to be written; further ones are counted.
const WAITING_MAX: usize = 4096;
/// Refusals among these lines: the rest of the room is for other lines.
const REFUSALS_WAITING_MAX: usize = 2048;
/// Refusals of one token, or failed logins from one address, that are written in a second; further ones are counted.
const REFUSALS_PER_SECOND: u32 = 1;
/// Failed logins that are written in a second, whatever the addresses.
const LOGINS_PER_SECOND: u32 = 20;
/// The refusals of this time may come at once.
const REFUSALS_BURST: Duration = Duration::from_secs(10);
/// Tokens, and addresses, whose refusals are counted separately.
const SOURCES_MAX: usize = 1024;
/// Longer texts in a line are truncated, in bytes.
const TEXT_BYTES_MAX: usize = 1024;
/// Lines that were not written are reported after this time.
const TELL_AFTER: Duration = Duration::from_secs(2);

/// A handle of the audit log.
#[derive(Clone, Debug)]
pub(super) struct Audit(Arc<AuditState>);

/// Writes the lines of the audit log to a file.
pub(super) struct Auditor {
    shared: Arc<AuditState>,
    /// The file; `None` writes to the log of the process.
    file: Option<RotatedFile>,
    /// Cancels [`AuditState::written`].
    _written: DropGuard,
}

#[derive(Debug)]
struct AuditState {
    waiting: Mutex<Waiting>,
    /// Signalled when a line waits, or when no more follow.
    changed: Condvar,
    /// Cancelled when all lines are written.
    written: CancellationToken,
}

/// The lines that wait to be written, and the counts of those that were dropped.
#[derive(Debug)]
struct Waiting {
    lines: VecDeque<Line>,
    refusals: usize,
    by_token: Sources,
    by_address: Sources,
    logins: Rate,
    /// Lines that were dropped for lack of room.
    lost: u64,
    /// When the first line was dropped that is not reported yet.
    untold_since: Option<Instant>,
    is_over: bool,
}

/// The refusals by token, or by address.
#[derive(Debug, Default)]
struct Sources(BTreeMap<String, Refusals>);

/// The rate of one source of refusals, and how many were not written.
#[derive(Debug)]
struct Refusals {
    rate: Rate,
    unwritten: u64,
}

/// One line.
#[derive(Debug, Default, Serialize)]
struct Line {
    at: String,
    event: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    token: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<&'static str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    about: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    why: String,
    #[serde(skip)]
    is_refusal: bool,
}

impl Audit {
    /// A handle, and the writer to the file or to the log of the process.
    pub(super) fn new(file: Option<&Path>, bytes_max: u64) -> io::Result<(Self, Auditor)> {
        let file = file.map(|path| RotatedFile::open(path, bytes_max)).transpose()?;
        let waiting = Waiting {
            lines: VecDeque::new(),
            refusals: 0,
            by_token: Sources::default(),
            by_address: Sources::default(),
            logins: Rate::with_burst(LOGINS_PER_SECOND, REFUSALS_BURST),
            lost: 0,
            untold_since: None,
            is_over: false,
        };
        let written = CancellationToken::new();
        let guard = written.clone().drop_guard();
        let shared = Arc::new(AuditState { waiting: Mutex::new(waiting), changed: Condvar::new(), written });
        Ok((Self(Arc::clone(&shared)), Auditor { shared, file, _written: guard }))
    }

    /// Records a request that was denied, or that will change more than single jobs.
    pub(super) fn request(&self, audited: Audited) {
        let Audited { token, address, request, about, denied } = audited;
        let is_refusal = denied.is_some();
        let mut waiting = self.0.waiting();
        if is_refusal && !waiting.may_tell_of_request(&token) {
            drop(waiting);
            self.0.changed.notify_one();
            return;
        }
        waiting.add(Line {
            at: at(wall()),
            event: if is_refusal { "denied" } else { "allowed" },
            token,
            address,
            request: Some(request.name()),
            about: cut(about),
            why: cut(denied.unwrap_or_default()),
            is_refusal,
        });
        drop(waiting);
        self.0.changed.notify_one();
    }

    /// Records a failed login.
    pub(super) fn login_failed(&self, address: String, why: String) {
        let mut waiting = self.0.waiting();
        if waiting.may_tell_of_login(&address) {
            let (at, event, why) = (at(wall()), "login_failed", cut(why));
            waiting.add(Line { at, event, address, why, is_refusal: true, ..Line::default() });
        }
        drop(waiting);
        self.0.changed.notify_one();
    }

    /// Ends the log: no lines follow.
    pub(super) fn end(&self) {
        self.0.waiting().is_over = true;
        self.0.changed.notify_one();
    }

    /// Waits until all lines are written.
    pub(super) async fn written(&self) {
        self.0.written.cancelled().await;
    }
}

impl Auditor {
    /// Writes until [`Audit::end`].
    pub(super) fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        while let Some(lines) = shared.next() {
            for line in lines {
                self.write(&line);
            }
        }
    }

    fn write(&mut self, line: &Line) {
        let Ok(mut text) = serde_json::to_string(line) else { return };
        let Some(file) = &mut self.file else {
            info!(target: "audit", "{text}");
            return;
        };
        text.push('\n');
        if let Err(error) = file.write(text.as_bytes()) {
            let path = file.path().display();
            warn!(%error, %path, line = text.trim_end(), "the audit log cannot be written");
        }
    }
}

impl AuditState {
    /// Waits for lines, or until dropped lines must be reported. `None` when all lines are written and no more follow.
    fn next(&self) -> Option<Vec<Line>> {
        let mut waiting = self.waiting();
        loop {
            let told_in = waiting
                .untold_since
                .map(|since| (since + TELL_AFTER).saturating_duration_since(Instant::now()));
            if told_in == Some(Duration::ZERO) || (waiting.is_over && waiting.lines.is_empty()) {
                let untold = waiting.take_untold();
                return if untold.is_empty() { None } else { Some(untold) };
            }
            if let Some(line) = waiting.lines.pop_front() {
                waiting.refusals -= usize::from(line.is_refusal);
                return Some(vec![line]);
            }
            waiting = match told_in {
                Some(left) => {
                    let woken = self.changed.wait_timeout(waiting, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// True if one more refusal of this token may be written; otherwise counts it.
    fn may_tell_of_request(&mut self, token: &str) -> bool {
        match self.by_token.refusals(token) {
            Some(refusals) if refusals.rate.take(1).is_ok() => return true,
            Some(refusals) => refusals.unwritten += 1,
            None => self.lost += 1,
        }
        self.begin_to_count();
        false
    }

    /// The same for a failed login from this address.
    fn may_tell_of_login(&mut self, address: &str) -> bool {
        match self.by_address.refusals(&network_text(address)) {
            Some(refusals) if refusals.rate.take(1).is_ok() && self.logins.take(1).is_ok() => return true,
            Some(refusals) => refusals.unwritten += 1,
            None => self.lost += 1,
        }
        self.begin_to_count();
        false
    }

    fn add(&mut self, line: Line) {
        let is_full =
            self.lines.len() >= WAITING_MAX || (line.is_refusal && self.refusals >= REFUSALS_WAITING_MAX);
        if is_full {
            self.lost += 1;
            self.begin_to_count();
            return;
        }
        self.refusals += usize::from(line.is_refusal);
        self.lines.push_back(line);
    }

    fn begin_to_count(&mut self) {
        self.untold_since.get_or_insert_with(Instant::now);
    }

    /// Lines that report the dropped lines. Resets the counts.
    fn take_untold(&mut self) -> Vec<Line> {
        self.untold_since = None;
        let line = |token: &str, address: &str, why: String| {
            warn!(token, address, "lines are missing in the audit log: {why}");
            let (token, address) = (token.to_owned(), address.to_owned());
            Line { at: at(wall()), event: "lost", token, address, why, ..Line::default() }
        };
        let mut lines = Vec::new();
        for (token, unwritten) in self.by_token.take_unwritten() {
            lines.push(line(&token, "", format!("{unwritten} more requests were denied in a short time")));
        }
        for (address, unwritten) in self.by_address.take_unwritten() {
            lines.push(line("", &address, format!("{unwritten} more logins failed in a short time")));
        }
        let lost = std::mem::take(&mut self.lost);
        if lost > 0 {
            lines.push(line("", "", format!("{lost} lines were lost: too many waited to be written")));
        }
        lines
    }
}

impl Sources {
    /// The refusals of one source; `None` if there are too many sources.
    fn refusals(&mut self, name: &str) -> Option<&mut Refusals> {
        if self.0.len() >= SOURCES_MAX && !self.0.contains_key(name) {
            self.0.retain(|_, refusals| refusals.unwritten > 0);
            if self.0.len() >= SOURCES_MAX {
                return None;
            }
        }
        Some(self.0.entry(name.to_owned()).or_insert_with(Refusals::new))
    }

    /// Takes the counts of refusals that were not written, by source.
    fn take_unwritten(&mut self) -> Vec<(String, u64)> {
        let untold = self.0.iter_mut().filter(|(_, refusals)| refusals.unwritten > 0);
        untold.map(|(name, refusals)| (name.clone(), std::mem::take(&mut refusals.unwritten))).collect()
    }
}

impl Refusals {
    fn new() -> Self {
        Self { rate: Rate::with_burst(REFUSALS_PER_SECOND, REFUSALS_BURST), unwritten: 0 }
    }
}

/// The network of an address, without a port, as the limits of unauthenticated connections count it.
fn network_text(address: &str) -> String {
    let parsed = address.parse::<SocketAddr>();
    parsed.map_or_else(|_| address.to_owned(), |address| network(address.ip()).to_string())
}

/// A time, always in the same form, so that lines sort as text.
fn at(time: Millis) -> String {
    let millis = i64::try_from(time.0).ok();
    let time = millis.and_then(|millis| Timestamp::from_millisecond(millis).ok()).unwrap_or_default();
    format!("{time:.3}")
}

/// Truncates a text to the maximum in a line.
fn cut(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests;
