//! The audit log: who was denied what, and who did what changes more than single jobs. One JSON object a line.
//!
//! A thread of its own writes the lines; nobody waits for it. It goes on with a new file when one is large enough, and keeps
//! the last ones. What it cannot write in time is counted, and the count written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use jiff::Timestamp;
use serde::Serialize;
use tracing::{info, warn};

use super::clock::wall;
use super::rate::Rate;
use crate::replica::Audited;

/// Lines that wait to be written; what comes beyond is counted.
const WAITING_MAX: usize = 4096;
/// Failed logins that are written down in a second; what comes beyond is counted.
const FAILED_LOGINS_PER_SECOND: u32 = 10;
/// Files that are kept beside the one that is written: `audit.log.1` is the newest of them.
const KEPT_FILES: u32 = 5;

/// The way to the audit log.
#[derive(Clone, Debug)]
pub(super) struct Audit {
    lines: SyncSender<Message>,
    lost: Arc<AtomicU64>,
    /// Strangers do not decide how much is written, or how soon old lines go.
    logins: Arc<Rate>,
}

/// One line.
#[derive(Debug, Serialize)]
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
}

#[derive(Debug)]
enum Message {
    Line(Box<Line>),
    End,
}

/// Writes the audit log.
pub(super) struct Auditor {
    lines: Receiver<Message>,
    lost: Arc<AtomicU64>,
    /// `None` writes to the log of the process.
    file: Option<Rotated>,
}

/// A file that is put aside when it is large enough.
struct Rotated {
    path: PathBuf,
    bytes_max: u64,
    file: File,
    bytes: u64,
}

impl Audit {
    /// The log, and who writes it: to the file, or to the log of the process.
    pub(super) fn new(file: Option<&Path>, bytes_max: u64) -> io::Result<(Self, Auditor)> {
        let (lines, receiver) = sync_channel(WAITING_MAX);
        let lost = Arc::new(AtomicU64::new(0));
        let file = file.map(|path| Rotated::open(path, bytes_max)).transpose()?;
        let logins = Arc::new(Rate::new(FAILED_LOGINS_PER_SECOND));
        Ok((Self { lines, lost: Arc::clone(&lost), logins }, Auditor { lines: receiver, lost, file }))
    }

    /// A request was denied, or will change more than single jobs.
    pub(super) fn request(&self, audited: Audited) {
        let Audited { token, address, request, about, denied } = audited;
        let event = if denied.is_some() { "denied" } else { "allowed" };
        let (request, why) = (Some(request.name()), denied.unwrap_or_default());
        self.tell(Line { at: now(), event, token, address, request, about, why });
    }

    /// Somebody was not let in.
    pub(super) fn login_failed(&self, address: String, why: String) {
        if self.logins.take(1).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let (event, token, about) = ("login_failed", String::new(), String::new());
        self.tell(Line { at: now(), event, token, address, request: None, about, why });
    }

    /// Nothing more comes.
    pub(super) fn end(&self) {
        // One that is gone has ended.
        let _ = self.lines.send(Message::End);
    }

    fn tell(&self, line: Line) {
        if let Err(TrySendError::Full(_)) = self.lines.try_send(Message::Line(Box::new(line))) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Auditor {
    /// Writes until [`Audit::end`].
    pub(super) fn run(mut self) {
        while let Ok(Message::Line(line)) = self.lines.recv() {
            self.write(&line);
            let lost = self.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                warn!(lost, "lines of the audit log were lost: too many came at once");
                let (why, empty) = (format!("{lost} lines were lost: too many came at once"), String::new());
                let (token, address, about) = (empty.clone(), empty.clone(), empty);
                self.write(&Line { at: now(), event: "lost", token, address, request: None, about, why });
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
            warn!(%error, path = %file.path.display(), line = text.trim_end(), "the audit log cannot be written");
        }
    }
}

impl Rotated {
    fn open(path: &Path, bytes_max: u64) -> io::Result<Self> {
        let file = append(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), bytes_max, file, bytes })
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > self.bytes_max {
            self.rotate()?;
        }
        self.file.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let kept = |number: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        for number in (1..KEPT_FILES).rev() {
            match std::fs::rename(kept(number), kept(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(&self.path, kept(1))?;
        (self.file, self.bytes) = (append(&self.path)?, 0);
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

fn now() -> String {
    let millis = i64::try_from(wall().0).ok();
    millis.and_then(|millis| Timestamp::from_millisecond(millis).ok()).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::RequestOpcode;

    #[test]
    fn lines_go_to_files_that_are_put_aside() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.log");
        let (audit, auditor) = Audit::new(Some(&path), 400).expect("a file");
        for number in 0..20 {
            audit.request(Audited {
                token: "shop".to_owned(),
                address: "10.0.0.9:1".to_owned(),
                request: RequestOpcode::Bulk,
                about: format!("topic orders.{number} delete"),
                denied: (number == 19).then(|| "it has \"no\" right".to_owned()),
            });
        }
        audit.login_failed("10.0.0.8:1".to_owned(), "unknown".to_owned());
        audit.end();
        auditor.run();
        let files = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
        let last: Vec<serde_json::Value> =
            files("audit.log").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let events: Vec<&serde_json::Value> = last.iter().map(|line| &line["event"]).collect();
        assert_eq!(events.last().map(|event| event.as_str()), Some(Some("login_failed")));
        let all = ["audit.log.2", "audit.log.1", "audit.log"].map(files).concat();
        assert!(all.contains("topic orders.19 delete") && all.contains(r#"it has \"no\" right"#), "{all}");
        assert!(files("audit.log.5").len() <= 400);
        assert!(!folder.path().join("audit.log.6").exists());
    }
}
