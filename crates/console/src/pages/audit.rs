//! The audit log: its last lines, read backwards from the end of its files.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use askama::Template;
use axum::http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::Answer;
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::{Pairs, Problem};
use adjourn_protocol::ErrorCode;
use adjourn_types::Millis;

/// Lines on a page.
const PAGE: usize = 100;
/// A request reads at most this many bytes, in blocks of this size. Longer lines are split.
const BYTES_MAX: u64 = 8 << 20;
const BLOCK_BYTES: u64 = 128 << 10;
/// Rotated files that the server keeps: `audit.log.1` is the newest one.
const KEPT_FILES: u32 = 5;

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    view: View,
    is_configured: bool,
    find: String,
    entries: Vec<Entry>,
    /// True if this is not the first page.
    is_behind: bool,
    /// The address of the next page, if there are older lines.
    older: Option<String>,
    /// True if the search stopped before the page was full.
    is_cut: bool,
}

/// A line of the log.
#[derive(Debug, Default, PartialEq, Eq)]
struct Entry {
    at: Option<Millis>,
    event: String,
    token: String,
    address: String,
    request: String,
    about: String,
    why: String,
    /// The line, if it is not one of the server.
    raw: Option<String>,
}

/// A place between two lines: a file, which keeps its inode when it is rotated, and an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    file: u64,
    before: u64,
}

/// What was found.
#[derive(Debug, Default)]
struct Found {
    /// The newest one first.
    lines: Vec<String>,
    /// Where the older lines end.
    older: Option<Spot>,
}

impl Entry {
    fn of(line: String) -> Self {
        let Ok(Value::Object(fields)) = serde_json::from_str(&line) else {
            return Self { raw: Some(line), ..Self::default() };
        };
        let field = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let at = field("at").parse().ok().and_then(|at: Timestamp| u64::try_from(at.as_millisecond()).ok());
        if at.is_none() {
            return Self { raw: Some(line), ..Self::default() };
        }
        Self {
            at: at.map(Millis),
            event: field("event"),
            token: field("token"),
            address: field("address"),
            request: field("request"),
            about: field("about"),
            why: field("why"),
            raw: None,
        }
    }

    /// True if it is about something that was not done, or not written.
    fn is_warning(&self) -> bool {
        self.event != "allowed"
    }
}

/// A page of the log.
pub(super) async fn show(visitor: Visitor) -> Answer {
    visitor.check_sees_server()?;
    let find = visitor.query.first("find").to_owned();
    let from = spot(&visitor.query);
    let path = visitor.console.config.audit_log.clone();
    let is_configured = path.is_some();
    let found = match path {
        Some(path) => {
            let wanted = find.clone();
            let reading = spawn_blocking(move || search(&path, &wanted, from));
            reading.await.map_err(io::Error::other).flatten().map_err(|error| unreadable(&error))?
        }
        None => Found::default(),
    };
    page(&AuditPage {
        view: visitor.view("audit"),
        is_configured,
        is_behind: from.is_some(),
        older: found.older.map(|older| address(&find, older)),
        is_cut: found.older.is_some() && found.lines.len() < PAGE,
        entries: found.lines.into_iter().map(Entry::of).collect(),
        find,
    })
}

fn unreadable(error: &io::Error) -> Problem {
    let message = format!("the audit log cannot be read: {error}");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Unreadable, message)
}

fn spot(query: &Pairs) -> Option<Spot> {
    let number = |name: &str| query.first(name).parse().ok();
    Some(Spot { file: number("file")?, before: number("before")? })
}

fn address(find: &str, Spot { file, before }: Spot) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("find", find);
    query.append_pair("file", &file.to_string()).append_pair("before", &before.to_string());
    format!("/console/audit?{}", query.finish())
}

/// The last lines that contain a text, before a spot or from the end. Blocks on the disk.
fn search(path: &Path, find: &str, mut from: Option<Spot>) -> io::Result<Found> {
    let mut found = Found::default();
    let mut left = BYTES_MAX;
    for number in 0..=KEPT_FILES {
        let Some(file) = open(&kept(path, number))? else { continue };
        let (inode, bytes) = (file.metadata()?.ino(), file.metadata()?.len());
        if from.is_some_and(|from| from.file != inode) {
            continue;
        }
        let end = from.take().map_or(bytes, |from| from.before.min(bytes));
        let before = read_back(&file, end, &mut left, |line| {
            let line = String::from_utf8_lossy(line);
            if !line.is_empty() && line.contains(find) {
                found.lines.push(line.into_owned());
            }
            found.lines.len() < PAGE
        })?;
        let is_full = found.lines.len() >= PAGE;
        let has_older = || (number + 1..=KEPT_FILES).any(|number| kept(path, number).is_file());
        if before > 0 || (is_full && has_older()) {
            found.older = Some(Spot { file: inode, before });
        }
        if before > 0 || is_full {
            break;
        }
    }
    Ok(found)
}

/// Reads lines backwards from `end` while `take` wants more and there are bytes `left`. Returns the offset of
/// the last line that was taken.
fn read_back(
    file: &File,
    mut end: u64,
    left: &mut u64,
    mut take: impl FnMut(&[u8]) -> bool,
) -> io::Result<u64> {
    while end > 0 && *left > 0 {
        let begin = end.saturating_sub(BLOCK_BYTES);
        let mut block = vec![0; usize::try_from(end - begin).map_err(io::Error::other)?];
        file.read_exact_at(&mut block, begin)?;
        *left = left.saturating_sub(end - begin);
        let text = block.strip_suffix(b"\n").unwrap_or(&block);
        // The first line may begin in the block before: it is read with that one.
        let line_break = text.iter().position(|byte| *byte == b'\n').filter(|_| begin > 0);
        let whole = text.get(line_break.map_or(0, |at| at + 1)..).unwrap_or_default();
        end = begin + text.len() as u64 + 1;
        for line in whole.rsplit(|byte| *byte == b'\n') {
            end -= line.len() as u64 + 1;
            if !take(line) {
                return Ok(end);
            }
        }
    }
    Ok(end)
}

/// Opens a file of the log. `None` if there is none of this name.
fn open(path: &Path) -> io::Result<Option<File>> {
    match fs::metadata(path) {
        // To open a pipe would take lines from its reader.
        Ok(found) if !found.is_file() => {
            let message = "audit_log is not a file: look where its lines go to";
            Err(io::Error::new(io::ErrorKind::Unsupported, message))
        }
        Ok(_) => File::open(path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The file with this number: 0 is the one that is written.
fn kept(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.to_owned().into_os_string();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("adjourn-audit-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }

        fn write(&self, name: &str, lines: impl Iterator<Item = String>) {
            let text: String = lines.map(|line| line + "\n").collect();
            fs::write(self.0.join(name), text).expect("written");
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// All pages of a search.
    fn pages(path: &Path, find: &str) -> Vec<Vec<String>> {
        let (mut from, mut pages) = (None, Vec::new());
        loop {
            let found = search(path, find, from).expect("read");
            pages.push(found.lines);
            match found.older {
                Some(older) => from = Some(older),
                None => return pages,
            }
        }
    }

    #[test]
    fn pages_go_on_into_rotated_files() {
        let folder = Folder::new("pages");
        let path = folder.0.join("audit.log");
        folder.write("audit.log.2", (0..50).map(|number| format!("line {number}")));
        folder.write("audit.log.1", (50..250).map(|number| format!("line {number}")));
        folder.write("audit.log", (250..300).map(|number| format!("line {number}")));
        let found = pages(&path, "");
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100, 100]);
        let all: Vec<String> = (0..300).rev().map(|number| format!("line {number}")).collect();
        assert_eq!(found.concat(), all);
        assert_eq!(pages(&path, "line 29").concat().len(), 11);
        let first = search(&path, "", None).expect("read").older.expect("older lines");
        for number in [2, 1] {
            let name = |number| folder.0.join(format!("audit.log.{number}"));
            fs::rename(name(number), name(number + 1)).expect("renamed");
        }
        let next = search(&path, "", Some(first)).expect("read");
        assert_eq!(
            next.lines.first().map(String::as_str),
            Some("line 199"),
            "it is found under its new name"
        );
        assert!(search(&path, "", Some(Spot { file: 0, before: 9 })).expect("read").lines.is_empty());
    }

    #[test]
    fn a_request_reads_a_limited_part() {
        let folder = Folder::new("large");
        let path = folder.0.join("audit.log");
        let long = "x".repeat(1000);
        folder.write("audit.log", (0..20_000).map(|number| format!("{number} {long}")));
        let found = pages(&path, "17 ");
        assert!(found.len() > 2 && found.first().is_some_and(|page| page.len() < PAGE), "{}", found.len());
        assert_eq!(found.concat().len(), 200);
        let one_line = "y".repeat(9 << 20);
        fs::write(&path, format!("first\n{one_line}\nlast\n")).expect("written");
        let lines = pages(&path, "").concat();
        assert_eq!(lines.iter().map(String::len).sum::<usize>(), one_line.len() + "firstlast".len());
    }

    #[test]
    fn lines_that_are_no_json_are_shown_as_they_are() {
        let line = r#"{"at":"1970-01-01T00:00:01.500Z","event":"denied","token":"shop","why":"no"}"#;
        let entry = Entry::of(line.to_owned());
        assert_eq!((entry.at, entry.token.as_str(), entry.why.as_str()), (Some(Millis(1500)), "shop", "no"));
        assert!(entry.is_warning() && entry.raw.is_none() && entry.about.is_empty());
        for other in ["no json", "[]", "{\"at\":1}"] {
            assert_eq!(Entry::of(other.to_owned()).raw.as_deref(), Some(other));
        }
    }
}
