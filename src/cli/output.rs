//! The output of commands: JSON objects of one line, and tables for people.
//!
//! Scripts rely on the JSON: fields may be added, but none changes its meaning. This module knows no connection and
//! no clock; it turns a server's answers into text.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::arguments::{backoff_text, spelled};
use super::exit::{Exit, Failure};
use super::table::aligned_on;
use crate::client::Changed;
use crate::protocol::{Delivered, JobReport};
use crate::types::{Attributes, JobState, Key, Millis, When};

/// A reserved job as `adjourn reserve` prints it.
pub(super) fn delivered_json(job: &Delivered) -> impl Serialize {
    DeliveredJson {
        id: job.lease.job.0,
        lease: job.lease.to_string(),
        topic: job.topic.as_str(),
        key: job.key.as_ref().map(Key::as_str),
        priority: job.priority,
        attempts: job.attempts,
        due: time_text(job.due),
        ttr_left_ms: job.ttr_left_ms,
        headers: headers(&job.attributes),
        body: BodyJson::of(&job.body),
    }
}

/// A job as `adjourn get` and `adjourn peek` print it.
pub(super) fn report_json(job: &JobReport) -> impl Serialize {
    report_with(job, true)
}

/// A job as `adjourn list --json` prints it.
pub(super) fn listed_json(job: &JobReport, with_body: bool) -> impl Serialize {
    report_with(job, with_body)
}

fn report_with(job: &JobReport, with_body: bool) -> JobJson<'_> {
    let history = &job.history;
    // Every job that is there, or is remembered, has a time to run.
    if job.state == Some(JobState::Finished) && job.ttr_ms == 0 {
        return JobJson::Finished(FinishedJson {
            id: job.id.0,
            state: state_text(job.state),
            topic: job.topic.as_str(),
            attempts: job.attempts,
            finished: history.finished.map(time_text),
        });
    }
    let policy = job.attributes.policy();
    JobJson::There(Box::new(ReportJson {
        id: job.id.0,
        state: state_text(job.state),
        topic: job.topic.as_str(),
        key: job.key.as_ref().map(Key::as_str),
        priority: job.priority,
        attempts: job.attempts,
        due: time_text(job.due),
        ttr_ms: job.ttr_ms,
        ttr_left_ms: job.ttr_left_ms,
        buried: job.buried.map(|reason| reason.to_string()),
        expires: policy.expires.map(|expires| match expires {
            When::After(retention_ms) => spelled(retention_ms),
            When::At(at) => time_text(at),
        }),
        attempts_max: policy.attempts_max,
        backoff: policy.backoff.as_ref().map(backoff_text),
        pushed: history.pushed.map(time_text),
        reserved_first: history.reserved_first.map(time_text),
        reserved_last: history.reserved_last.map(time_text),
        held_by: history.held_by.map(|session| session.0),
        reason: history.reason.as_deref(),
        finished: history.finished.map(time_text),
        headers: headers(&job.attributes),
        body_bytes: (!with_body).then_some(job.body_bytes),
        body: with_body.then(|| BodyJson::of(&job.body)),
    }))
}

fn state_text(state: Option<JobState>) -> String {
    state.map_or_else(|| "unknown".to_owned(), |state| state.to_string())
}

/// What became of a job, as `adjourn delete`, `reschedule`, `run-now` and `kick` print it.
pub(super) fn changed_json(changed: &Changed) -> impl Serialize {
    ChangedJson { id: changed.job.0, state: state_text(changed.state), due: time_text(changed.due) }
}

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

/// A point in time as RFC 3339 writes it, in UTC, to the millisecond.
pub(super) fn time_text(at: Millis) -> String {
    let at = i64::try_from(at.0).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    format!("{:.3}", at.unwrap_or(Timestamp::MAX))
}

#[derive(Serialize)]
struct DeliveredJson<'a> {
    id: u64,
    lease: String,
    topic: &'a str,
    key: Option<&'a str>,
    priority: u32,
    attempts: u32,
    due: String,
    ttr_left_ms: u32,
    headers: BTreeMap<&'a str, Header<'a>>,
    #[serde(flatten)]
    body: BodyJson<'a>,
}

#[derive(Serialize)]
struct ReportJson<'a> {
    id: u64,
    state: String,
    topic: &'a str,
    key: Option<&'a str>,
    priority: u32,
    attempts: u32,
    due: String,
    ttr_ms: u32,
    ttr_left_ms: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    buried: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts_max: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backoff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pushed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reserved_first: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reserved_last: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_by: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished: Option<String>,
    headers: BTreeMap<&'a str, Header<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_bytes: Option<u32>,
    #[serde(flatten)]
    body: Option<BodyJson<'a>>,
}

/// A job that was finished a short time ago and is not remembered.
#[derive(Serialize)]
struct FinishedJson<'a> {
    id: u64,
    state: String,
    topic: &'a str,
    attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum JobJson<'a> {
    There(Box<ReportJson<'a>>),
    Finished(FinishedJson<'a>),
}

#[derive(Serialize)]
struct ChangedJson {
    id: u64,
    state: String,
    due: String,
}

/// JSON has no bytes: a body that is text stands as it is, any other in base64 under another name.
#[derive(Serialize)]
enum BodyJson<'a> {
    #[serde(rename = "body")]
    Text(&'a str),
    #[serde(rename = "body_base64")]
    Binary(String),
}

impl<'a> BodyJson<'a> {
    fn of(body: &'a Bytes) -> Self {
        match std::str::from_utf8(body) {
            Ok(text) => Self::Text(text),
            Err(_) => Self::Binary(STANDARD.encode(body)),
        }
    }
}

/// The values of one header: a text, or an array when the name was repeated.
struct Header<'a>(Vec<&'a str>);

impl Serialize for Header<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [value] => serializer.serialize_str(value),
            values => values.serialize(serializer),
        }
    }
}

fn headers(attributes: &Attributes) -> BTreeMap<&str, Header<'_>> {
    let mut headers = BTreeMap::new();
    for (name, value) in attributes.headers() {
        headers.entry(name).or_insert_with(|| Header(Vec::new())).0.push(value);
    }
    headers
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::types::{AttributesBuilder, BuryReason, Fence, JobHistory, JobId, Lease, SessionId};

    fn json(value: &impl Serialize) -> String {
        let mut line = Vec::new();
        write_json(&mut line, value).expect("memory takes it");
        String::from_utf8(line).expect("JSON is text")
    }

    fn delivered(body: &'static [u8]) -> Delivered {
        Delivered {
            lease: Lease { job: JobId(42), fence: Fence(7) },
            topic: "orders".parse().expect("a topic"),
            key: Some("order 17".parse().expect("a key")),
            priority: 1024,
            attempts: 1,
            due: Millis(1_767_225_600_005),
            ttr_left_ms: 59_998,
            deadline_ms: 0,
            attributes: Attributes::default(),
            body: Bytes::from_static(body),
        }
    }

    #[test]
    fn a_reserved_job_is_one_line() {
        assert_eq!(
            json(&delivered_json(&delivered("close \"it\"\n".as_bytes()))),
            concat!(
                r#"{"id":42,"lease":"42-7","topic":"orders","key":"order 17","priority":1024,"attempts":1,"#,
                r#""due":"2026-01-01T00:00:00.005Z","ttr_left_ms":59998,"headers":{},"body":"close \"it\"\n"}"#,
                "\n"
            )
        );
    }

    #[test]
    fn a_body_that_is_no_text_has_another_name() {
        let line = json(&delivered_json(&delivered(b"\xff\x00")));
        assert!(line.ends_with("\"headers\":{},\"body_base64\":\"/wA=\"}\n"), "{line}");
    }

    #[test]
    fn repeated_headers_become_an_array() {
        let builder = AttributesBuilder::default().header("b", "1").header("a", "2").header("b", "3");
        let attributes = builder.build().expect("valid");
        let line = json(&delivered_json(&Delivered { attributes, ..delivered(b"") }));
        assert!(line.contains(r#""headers":{"a":"2","b":["1","3"]}"#), "{line}");
    }

    fn report() -> JobReport {
        let backoff = super::super::arguments::backoff("1s..10m").expect("a backoff");
        let builder =
            AttributesBuilder::default().expires(When::At(Millis(0))).attempts_max(5).backoff(&backoff);
        JobReport {
            id: JobId(9),
            state: Some(JobState::Buried),
            topic: "orders".parse().expect("a topic"),
            key: None,
            priority: 1,
            attempts: 5,
            due: Millis(0),
            ttr_ms: 60_000,
            ttr_left_ms: 0,
            buried: Some(BuryReason::AttemptsUsedUp),
            attributes: builder.build().expect("valid"),
            body_bytes: 0,
            body: Bytes::new(),
            history: JobHistory::default(),
        }
    }

    #[test]
    fn a_report_names_what_is_set_and_nothing_else() {
        let report = report();
        let history = JobHistory {
            pushed: Some(Millis(1)),
            reserved_first: None,
            reserved_last: Some(Millis(2000)),
            held_by: Some(SessionId(7)),
            reason: Some("no such address".to_owned()),
            finished: None,
        };
        let with_history = JobReport { history, ..report.clone() };
        let line = json(&report_json(&with_history));
        let expected = concat!(
            r#""backoff":"1s..10m","pushed":"1970-01-01T00:00:00.001Z","reserved_last":"1970-01-01T00:00:02.000Z","#,
            r#""held_by":7,"reason":"no such address","headers":{}"#
        );
        assert!(line.contains(expected), "{line}");
        let history = JobHistory { finished: Some(Millis(3000)), ..with_history.history.clone() };
        let remembered = JobReport { state: Some(JobState::Finished), history, ..with_history };
        let line = json(&report_json(&remembered));
        let expected =
            r#""reason":"no such address","finished":"1970-01-01T00:00:03.000Z","headers":{},"body":""}"#;
        assert!(line.ends_with(&format!("{expected}\n")), "{line}");
        let line = json(&report_json(&JobReport { ttr_ms: 0, ..remembered }));
        let expected = r#""attempts":5,"finished":"1970-01-01T00:00:03.000Z"}"#;
        assert_eq!(line, format!(r#"{{"id":9,"state":"finished","topic":"orders",{expected}"#) + "\n");
        assert_eq!(
            json(&report_json(&report)),
            concat!(
                r#"{"id":9,"state":"buried","topic":"orders","key":null,"priority":1,"attempts":5,"#,
                r#""due":"1970-01-01T00:00:00.000Z","ttr_ms":60000,"ttr_left_ms":0,"buried":"attempts used up","#,
                r#""expires":"1970-01-01T00:00:00.000Z","attempts_max":5,"backoff":"1s..10m","headers":{},"body":""}"#,
                "\n"
            )
        );
    }

    #[test]
    fn times_beyond_the_calendar_are_its_end() {
        assert_eq!(time_text(Millis(u64::MAX)), "9999-12-30T22:00:00.999Z");
    }

    #[test]
    fn the_pages_of_a_table_stand_below_each_other() {
        let page = |table: &mut JobsTable, ids: std::ops::Range<u64>| {
            table.page(&ids.map(|id| JobReport { id: JobId(id), ..report() }).collect::<Vec<_>>())
        };
        let mut table = JobsTable::default();
        let pages = [page(&mut table, 99_990..99_992), page(&mut table, 7..9)].concat();
        assert_eq!(pages.lines().count(), 5, "one head: {pages}");
        let widths: BTreeSet<usize> = pages.lines().map(str::len).collect();
        assert_eq!(widths.len(), 1, "{pages}");
    }
}
