//! Jobs as JSON.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use super::values::{backoff_text, spelled, time_text};
use adjourn_protocol::{Delivered, JobReport};
use adjourn_types::{Attributes, JobId, JobState, Key, Millis, When};

/// A job that is leased to whoever asked.
#[derive(Serialize, ToSchema)]
pub struct DeliveredJson<'a> {
    /// Its id.
    pub id: u64,
    /// What settles it: `ID-FENCE`.
    #[schema(example = "42-7")]
    pub lease: String,
    /// Its topic.
    pub topic: &'a str,
    /// The user's own id.
    pub key: Option<&'a str>,
    /// A lower number is reserved first.
    pub priority: u32,
    /// How often it was reserved, this time included.
    pub attempts: u32,
    /// When it was due.
    #[schema(format = DateTime)]
    pub due: String,
    /// How much of the lease is left, in milliseconds.
    pub ttr_left_ms: u32,
    /// Its headers: a text, or a list if the name was repeated.
    #[schema(value_type = BTreeMap<String, HeaderJson>)]
    pub headers: BTreeMap<&'a str, HeaderJson<'a>>,
    /// Its body.
    #[serde(flatten)]
    pub body: BodyJson<'a>,
}

/// A job as the queue has it.
#[derive(Serialize, ToSchema)]
pub struct ReportJson<'a> {
    /// Its id.
    pub id: u64,
    /// delayed, ready, reserved, buried or finished.
    #[schema(example = "delayed")]
    pub state: String,
    /// Its topic.
    pub topic: &'a str,
    /// The user's own id.
    pub key: Option<&'a str>,
    /// A lower number is reserved first.
    pub priority: u32,
    /// How often it was reserved.
    pub attempts: u32,
    /// When it is, or was, due.
    #[schema(format = DateTime)]
    pub due: String,
    /// How long a lease on it lasts, in milliseconds.
    pub ttr_ms: u32,
    /// How much of its lease is left, in milliseconds; 0 when it is not reserved.
    pub ttr_left_ms: u32,
    /// Why it is buried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buried: Option<String>,
    /// When it expires: a time, or a duration after it is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// How often it may be attempted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts_max: Option<u32>,
    /// The waits between attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<String>,
    /// When it was pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub pushed: Option<String>,
    /// When it was first reserved.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub reserved_first: Option<String>,
    /// When it was last reserved.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub reserved_last: Option<String>,
    /// The session that had the last lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<u64>,
    /// What the last release or bury said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// When it was finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub finished: Option<String>,
    /// Its headers: a text, or a list if the name was repeated.
    #[schema(value_type = BTreeMap<String, HeaderJson>)]
    pub headers: BTreeMap<&'a str, HeaderJson<'a>>,
    /// The length of its body, where that is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u32>,
    /// Its body.
    #[serde(flatten)]
    pub body: Option<BodyJson<'a>>,
}

/// A job that was finished a short time ago and is not remembered.
#[derive(Serialize, ToSchema)]
pub struct FinishedJson<'a> {
    /// Its id.
    pub id: u64,
    /// finished.
    #[schema(example = "finished")]
    pub state: String,
    /// Its topic.
    pub topic: &'a str,
    /// How often it was reserved.
    pub attempts: u32,
    /// When it was finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub finished: Option<String>,
}

/// A job that is there, or was a short time ago.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum JobJson<'a> {
    /// It is there, or is remembered.
    There(Box<ReportJson<'a>>),
    /// It was finished a short time ago.
    Finished(FinishedJson<'a>),
}

/// What a change left of a job.
#[derive(Serialize, ToSchema)]
pub struct ChangedJson {
    /// Its id.
    pub id: u64,
    /// The state it is in now; of a deleted one, the one it was in.
    #[schema(example = "delayed")]
    pub state: String,
    /// When it is due.
    #[schema(format = DateTime)]
    pub due: String,
}

/// JSON has no bytes: a body that is text stands as it is, any other in base64 under another name.
#[derive(Serialize, ToSchema)]
pub enum BodyJson<'a> {
    /// UTF-8.
    #[serde(rename = "body")]
    Text(&'a str),
    /// Anything else.
    #[serde(rename = "body_base64")]
    Binary(String),
}

/// The values of one header: a text, or a list when the name was repeated.
#[derive(ToSchema)]
#[schema(value_type = Object)]
pub struct HeaderJson<'a>(Vec<&'a str>);

impl<'a> DeliveredJson<'a> {
    /// A job as `adjourn reserve` prints it.
    pub fn of(job: &'a Delivered) -> Self {
        Self {
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
}

impl<'a> JobJson<'a> {
    /// A job as `adjourn get` prints it; in a list mostly without its body.
    pub fn of(job: &'a JobReport, with_body: bool) -> Self {
        let history = &job.history;
        // Every existing or remembered job has a time to run.
        if job.state == Some(JobState::Finished) && job.ttr_ms == 0 {
            return Self::Finished(FinishedJson {
                id: job.id.0,
                state: state_text(job.state),
                topic: job.topic.as_str(),
                attempts: job.attempts,
                finished: history.finished.map(time_text),
            });
        }
        let policy = job.attributes.policy();
        Self::There(Box::new(ReportJson {
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
}

impl ChangedJson {
    /// The result of a change, as `adjourn delete`, `reschedule`, `run-now` and `kick` print it.
    pub fn new(job: JobId, state: Option<JobState>, due: Millis) -> Self {
        Self { id: job.0, state: state_text(state), due: time_text(due) }
    }
}

/// The name of a state.
pub fn state_text(state: Option<JobState>) -> String {
    state.map_or_else(|| "unknown".to_owned(), |state| state.to_string())
}

impl<'a> BodyJson<'a> {
    /// A body.
    pub fn of(body: &'a Bytes) -> Self {
        match std::str::from_utf8(body) {
            Ok(text) => Self::Text(text),
            Err(_) => Self::Binary(STANDARD.encode(body)),
        }
    }
}

impl Serialize for HeaderJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [value] => serializer.serialize_str(value),
            values => values.serialize(serializer),
        }
    }
}

fn headers(attributes: &Attributes) -> BTreeMap<&str, HeaderJson<'_>> {
    let mut headers = BTreeMap::new();
    for (name, value) in attributes.headers() {
        headers.entry(name).or_insert_with(|| HeaderJson(Vec::new())).0.push(value);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::{
        AttributesBuilder, Backoff, BackoffCurve, BuryReason, Fence, JobHistory, Lease, SessionId,
    };

    fn json(value: &impl Serialize) -> String {
        serde_json::to_string(value).expect("JSON")
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
            json(&DeliveredJson::of(&delivered("close \"it\"\n".as_bytes()))),
            concat!(
                r#"{"id":42,"lease":"42-7","topic":"orders","key":"order 17","priority":1024,"attempts":1,"#,
                r#""due":"2026-01-01T00:00:00.005Z","ttr_left_ms":59998,"headers":{},"body":"close \"it\"\n"}"#,
            )
        );
    }

    #[test]
    fn a_body_that_is_no_text_has_another_name() {
        let line = json(&DeliveredJson::of(&delivered(b"\xff\x00")));
        assert!(line.ends_with("\"headers\":{},\"body_base64\":\"/wA=\"}"), "{line}");
    }

    #[test]
    fn repeated_headers_become_an_array() {
        let builder = AttributesBuilder::default().header("b", "1").header("a", "2").header("b", "3");
        let attributes = builder.build().expect("valid");
        let line = json(&DeliveredJson::of(&Delivered { attributes, ..delivered(b"") }));
        assert!(line.contains(r#""headers":{"a":"2","b":["1","3"]}"#), "{line}");
    }

    fn report() -> JobReport {
        let curve = BackoffCurve::Exponential { first_ms: 1000, max_ms: 600_000 };
        let backoff = Backoff { curve, jitter_percent: 0 };
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
            version: 0,
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
        let line = json(&JobJson::of(&with_history, true));
        let expected = concat!(
            r#""backoff":"1s..10m","pushed":"1970-01-01T00:00:00.001Z","reserved_last":"1970-01-01T00:00:02.000Z","#,
            r#""held_by":7,"reason":"no such address","headers":{}"#
        );
        assert!(line.contains(expected), "{line}");
        let history = JobHistory { finished: Some(Millis(3000)), ..with_history.history.clone() };
        let remembered = JobReport { state: Some(JobState::Finished), history, ..with_history };
        let line = json(&JobJson::of(&remembered, true));
        let expected =
            r#""reason":"no such address","finished":"1970-01-01T00:00:03.000Z","headers":{},"body":""}"#;
        assert!(line.ends_with(expected), "{line}");
        let line = json(&JobJson::of(&JobReport { ttr_ms: 0, ..remembered }, true));
        let expected = r#""attempts":5,"finished":"1970-01-01T00:00:03.000Z"}"#;
        assert_eq!(line, format!(r#"{{"id":9,"state":"finished","topic":"orders",{expected}"#));
        assert_eq!(
            json(&JobJson::of(&report, true)),
            concat!(
                r#"{"id":9,"state":"buried","topic":"orders","key":null,"priority":1,"attempts":5,"#,
                r#""due":"1970-01-01T00:00:00.000Z","ttr_ms":60000,"ttr_left_ms":0,"buried":"attempts used up","#,
                r#""expires":"1970-01-01T00:00:00.000Z","attempts_max":5,"backoff":"1s..10m","headers":{},"body":""}"#,
            )
        );
    }
}
