//! The output of commands: JSON objects of one line, and tables for people.
//!
//! Scripts rely on the JSON: fields may be added, but none changes its meaning. This module knows no connection and
//! no clock; it turns a server's answers into text.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use super::exit::{Exit, Failure};
use super::table::aligned_on;
use crate::json::state_text;
use crate::json::values::time_text;
use crate::protocol::JobReport;
use crate::types::Key;

/// Prints on standard output. A reader that has gone away, as in `| head`, is no failure.
pub(super) fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Refused, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints one object on a line of its own.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(|out| write_json(out, value))
}

/// Writes one object on a line of its own.
pub(super) fn write_json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// Jobs, as a table that is written page by page.
#[derive(Default)]
pub(super) struct JobsTable {
    /// Of the columns so far, so that the next page stands below them.
    widths: [usize; 8],
}

impl JobsTable {
    /// The next page; the first one has the head.
    pub(super) fn page(&mut self, jobs: &[JobReport]) -> String {
        let head = ["ID", "TOPIC", "STATE", "DUE", "PRIORITY", "ATTEMPTS", "BYTES", "KEY"].map(str::to_owned);
        let head = (self.widths == [0; 8]).then_some(head);
        let rows: Vec<_> = head.into_iter().chain(jobs.iter().map(job_row)).collect();
        aligned_on(&rows, &mut self.widths)
    }
}

fn job_row(job: &JobReport) -> [String; 8] {
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
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bytes::Bytes;

    use super::*;
    use crate::types::{Attributes, JobHistory, JobId, JobState, Millis};

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
