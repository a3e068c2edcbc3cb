//! The output of commands: JSON objects of one line, and tables for people.
//!
//! Scripts rely on the JSON: fields may be added, but their meaning never changes. This module knows no connection
//! and no clock; it turns a server's answers into text.
//!
//! Texts come from others: from clients that choose keys, from a server that may be hostile. A terminal must show them and
//! not obey them: control characters, and marks that change the direction of text, are shown as `\u001b`, which JSON reads
//! as the character.

pub(crate) mod table;

use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde::Serialize;

use crate::exit::{Exit, Failure};
use adjourn_json::state_text;
use adjourn_json::values::time_text;
use adjourn_protocol::JobReport;
use adjourn_types::{JobState, Key};
use table::aligned_on;

/// An ending process waits this long for a reader of its last message.
const COMPLAINT_MAX: Duration = Duration::from_secs(1);

/// Prints on standard output. A reader that has gone away, as in `| head`, is not an error.
pub(super) fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut text = Vec::new();
    let mut out = io::stdout().lock();
    let written =
        write(&mut text).and_then(|()| out.write_all(plain(&String::from_utf8_lossy(&text)).as_bytes()));
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Refused, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Shows the user a line of progress. If it cannot be printed, the command goes on.
pub(super) fn show(line: impl Display) {
    let _ = print(|out| writeln!(out, "{line}"));
}

/// Prints a line on standard error. Goes on without a reader that has gone, or reads nothing.
pub(super) fn complain(line: impl Display) {
    let line = format!("{}\n", plain(&line.to_string()));
    let (done, printed) = mpsc::channel();
    let print = {
        let line = line.clone();
        move || {
            // There is nowhere to report an error.
            let _ = io::stderr().write_all(line.as_bytes());
            let _ = done.send(());
        }
    };
    match thread::Builder::new().spawn(print) {
        Ok(_) => _ = printed.recv_timeout(COMPLAINT_MAX),
        Err(_) => _ = io::stderr().write_all(line.as_bytes()),
    }
}

/// The text with everything escaped that acts on a terminal, except for line breaks and tabs.
fn plain(text: &str) -> String {
    escaped(text, |char| matches!(char, '\n' | '\t'))
}

/// The text on one line, with everything escaped that acts on a terminal.
pub(super) fn plain_line(text: &str) -> String {
    escaped(text, |_| false)
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        // Marks that change the direction of text, and two other line separators.
        let turns = matches!(
            char,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        );
        if (turns || char.is_control()) && !is_kept(char) {
            _ = write!(escaped, "\\u{:04x}", u32::from(char));
        } else {
            escaped.push(char);
        }
    }
    escaped
}

/// Prints one object on its own line.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(|out| write_json(out, value))
}

/// Writes one object on its own line.
pub(super) fn write_json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// A table of jobs that is printed page by page.
#[derive(Default)]
pub(super) struct JobsTable {
    /// The widths of the columns so far, so that the next page is aligned with them.
    widths: [usize; 9],
}

impl JobsTable {
    /// The rows of the next page; the first one has the header.
    pub(super) fn page(&mut self, jobs: &[JobReport]) -> String {
        let head = ["ID", "TOPIC", "STATE", "DUE", "PRIORITY", "ATTEMPTS", "BYTES", "KEY", "REASON"]
            .map(str::to_owned);
        let head = (self.widths == [0; 9]).then_some(head);
        let rows: Vec<_> = head.into_iter().chain(jobs.iter().map(job_row)).collect();
        aligned_on(&rows, &mut self.widths)
    }
}

fn job_row(job: &JobReport) -> [String; 9] {
    let key = job.key.as_ref().map_or("-", Key::as_str);
    [
        job.id.0.to_string(),
        job.topic.to_string(),
        state_text(job.state),
        time_text(job.due),
        job.priority.to_string(),
        job.attempts.to_string(),
        job.body_bytes.to_string(),
        key.to_owned(),
        reason(job),
    ]
}

/// The first line of the reason for which a job is buried.
fn reason(job: &JobReport) -> String {
    /// So that a row stays in one line of most terminals.
    const CHARS_MAX: usize = 40;
    let reason = job.history.reason.as_deref().filter(|_| job.state == Some(JobState::Buried));
    let line = reason.and_then(|reason| reason.lines().next()).unwrap_or("-");
    let mut shown: String = line.chars().take(CHARS_MAX).collect();
    if shown.len() < line.len() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bytes::Bytes;

    use super::*;
    use adjourn_types::{Attributes, JobHistory, JobId, JobState, Millis};

    fn report(id: u64) -> JobReport {
        JobReport {
            id: JobId(id),
            state: Some(JobState::Buried),
            topic: "orders".parse().expect("a topic"),
            key: None,
            priority: 1,
            attempts: 5,
            due: Millis(0),
            ttr_ms: 60_000,
            ttr_left_ms: 0,
            buried: None,
            attributes: Attributes::default(),
            body_bytes: 0,
            body: Bytes::new(),
            history: JobHistory::default(),
            version: 0,
        }
    }

    #[test]
    fn nothing_in_a_text_acts_on_a_terminal() {
        let hostile =
            "\u{1b}]0;title\u{7}\u{9b}2J\u{7f} \u{202e}txt.exe\u{2066}\u{200f}\r\n\tnext: \u{e9}\u{4e2d}";
        let shown = plain(hostile);
        let expected = "\\u001b]0;title\\u0007\\u009b2J\\u007f \\u202etxt.exe\\u2066\\u200f\\u000d\n\tnext: \u{e9}\u{4e2d}";
        assert_eq!(shown, expected);
        // The JSON value stays the same.
        let json = serde_json::to_string(hostile).expect("text");
        assert_eq!(serde_json::from_str::<String>(&plain(&json)).expect("JSON"), hostile);
    }

    #[test]
    fn the_pages_of_a_table_stand_below_each_other() {
        let page = |table: &mut JobsTable, ids: std::ops::Range<u64>| {
            table.page(&ids.map(report).collect::<Vec<_>>())
        };
        let mut table = JobsTable::default();
        let pages = [page(&mut table, 99_990..99_992), page(&mut table, 7..9)].concat();
        assert_eq!(pages.lines().count(), 5, "one head: {pages}");
        let widths: BTreeSet<usize> = pages.lines().map(str::len).collect();
        assert_eq!(widths.len(), 1, "{pages}");
    }
}
