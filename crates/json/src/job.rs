//! Jobs as JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::openapi::schema::{ArrayBuilder, Discriminator, ObjectBuilder, OneOfBuilder, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::values::{backoff_text, time_text};
use adjourn_protocol::{Delivered, JobReport};
use adjourn_types::{Attributes, JobId, JobState, Key, Millis, States, When};

/// A job that is leased to the caller.
#[derive(Serialize, ToSchema)]
#[schema(as = LeasedJob)]
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
    /// The group that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a str>,
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
#[schema(as = LivingJob)]
pub struct ReportJson<'a> {
    /// Its id.
    pub id: u64,
    /// delayed, ready, reserved or buried.
    #[schema(schema_with = living_states)]
    pub state: String,
    /// Its topic.
    pub topic: &'a str,
    /// How often it was reserved.
    pub attempts: u32,
    /// How much of its lease is left, in milliseconds; 0 when it is not reserved.
    pub ttr_left_ms: u32,
    /// Why it is buried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buried: Option<String>,
    /// The rest.
    #[serde(flatten)]
    pub details: DetailsJson<'a>,
}

/// What the queue has of a job, besides where it stands.
#[derive(Serialize, ToSchema)]
#[schema(as = JobDetails)]
pub struct DetailsJson<'a> {
    /// The user's own id.
    pub key: Option<&'a str>,
    /// The group that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a str>,
    /// A lower number is reserved first.
    pub priority: u32,
    /// When it is, or was, due.
    #[schema(format = DateTime)]
    pub due: String,
    /// How long a lease on it lasts, in milliseconds.
    pub ttr_ms: u32,
    /// When it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
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
    /// When it was last edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub edited: Option<String>,
    /// Who had the last lease: the client's address, its token and its name. Only a token with the right `admin` for all
    /// topics sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<&'a str>,
    /// The reason of the last release or bury.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
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

/// A finished job.
#[derive(Serialize, ToSchema)]
#[schema(as = FinishedJob)]
pub struct FinishedJson<'a> {
    /// Its id.
    pub id: u64,
    /// finished.
    #[schema(schema_with = finished_state)]
    pub state: String,
    /// Its topic.
    pub topic: &'a str,
    /// How often it was reserved.
    pub attempts: u32,
    /// When it was finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub finished: Option<String>,
    /// The rest, if the job is remembered.
    #[serde(flatten)]
    #[schema(ignore)]
    pub details: Option<DetailsJson<'a>>,
}

/// A job that is there, or was a short time ago. `state` says which.
#[derive(Serialize)]
#[serde(untagged)]
pub enum JobJson<'a> {
    /// It is there.
    Living(Box<ReportJson<'a>>),
    /// It was finished a short time ago, or is remembered.
    Finished(Box<FinishedJson<'a>>),
}

/// A job after a change.
#[derive(Serialize, ToSchema)]
#[schema(as = ChangedJob)]
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

/// A body as JSON: JSON as what it is, a text as a string, anything else in base64 under another name.
#[derive(Serialize, ToSchema)]
#[schema(as = JobBody)]
pub struct BodyJson<'a> {
    /// JSON, if the job's header `content-type` says so; else text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub body: Option<BodyValue<'a>>,
    /// Anything else, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
}

/// A body that JSON can show.
#[derive(Serialize)]
#[serde(untagged)]
pub enum BodyValue<'a> {
    /// UTF-8.
    Text(&'a str),
    /// JSON, on one line.
    Json(Cow<'a, RawValue>),
}

/// The values of one header: a text, or a list when the name was repeated.
pub struct HeaderJson<'a>(Vec<&'a str>);

impl<'a> DeliveredJson<'a> {
    /// A job as `adjourn reserve` prints it.
    pub fn of(job: &'a Delivered) -> Self {
        Self {
            id: job.lease.job.0,
            lease: job.lease.to_string(),
            topic: job.topic.as_str(),
            key: job.key.as_ref().map(Key::as_str),
            group: Attributes::group_of(job.attributes.as_bytes()),
            priority: job.priority,
            attempts: job.attempts,
            due: time_text(job.due),
            ttr_left_ms: job.ttr_left_ms,
            headers: headers(&job.attributes),
            body: BodyJson::of(&job.body, &job.attributes),
        }
    }
}

impl<'a> JobJson<'a> {
    /// A job as `adjourn get` prints it; in a list mostly without its body.
    pub fn of(job: &'a JobReport, with_body: bool) -> Self {
        let (id, state, topic, attempts) =
            (job.id.0, state_text(job.state), job.topic.as_str(), job.attempts);
        if job.state == Some(JobState::Finished) {
            let finished = job.history.finished.map(time_text);
            // Every remembered job has a time to run.
            let details = (job.ttr_ms > 0).then(|| DetailsJson::of(job, with_body));
            return Self::Finished(Box::new(FinishedJson { id, state, topic, attempts, finished, details }));
        }
        Self::Living(Box::new(ReportJson {
            id,
            state,
            topic,
            attempts,
            ttr_left_ms: job.ttr_left_ms,
            buried: job.buried.map(|reason| reason.to_string()),
            details: DetailsJson::of(job, with_body),
        }))
    }
}

impl<'a> DetailsJson<'a> {
    fn of(job: &'a JobReport, with_body: bool) -> Self {
        let (history, policy) = (&job.history, job.attributes.policy());
        Self {
            key: job.key.as_ref().map(Key::as_str),
            group: Attributes::group_of(job.attributes.as_bytes()),
            priority: job.priority,
            due: time_text(job.due),
            ttr_ms: job.ttr_ms,
            expires: expires_text(policy.expires),
            attempts_max: policy.attempts_max,
            backoff: policy.backoff.as_ref().map(backoff_text),
            pushed: history.pushed.map(time_text),
            reserved_first: history.reserved_first.map(time_text),
            reserved_last: history.reserved_last.map(time_text),
            edited: history.edited.map(time_text),
            held_by: history.held_by.as_deref(),
            reason: history.reason.as_deref(),
            headers: headers(&job.attributes),
            body_bytes: (!with_body).then_some(job.body_bytes),
            body: with_body.then(|| BodyJson::of(&job.body, &job.attributes)),
        }
    }
}

/// When a job expires. The server shows the time, not how it was given.
pub(crate) fn expires_text(expires: Option<When>) -> Option<String> {
    match expires? {
        When::At(at) => Some(time_text(at)),
        When::After(_) => None,
    }
}

fn living_states() -> Schema {
    let names = States::ALL.iter().map(|state| state.to_string());
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
}

fn finished_state() -> Schema {
    let name = [JobState::Finished.to_string()];
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(name)).into()
}

/// One of two schemas; the state tells which.
impl PartialSchema for JobJson<'_> {
    fn schema() -> RefOr<Schema> {
        let living = Ref::from_schema_name(ReportJson::name());
        let finished = Ref::from_schema_name(FinishedJson::name());
        let of_state = States::WITH_FINISHED.iter().map(|state| {
            let schema = if state == JobState::Finished { &finished } else { &living };
            (state.to_string(), schema.ref_location.clone())
        });
        let discriminator = Discriminator::with_mapping("state", of_state);
        OneOfBuilder::new()
            .description(Some("A job that is there, or was a short time ago. `state` says which."))
            .item(living.clone())
            .item(finished.clone())
            .discriminator(Some(discriminator))
            .into()
    }
}

impl ToSchema for JobJson<'_> {
    fn name() -> Cow<'static, str> {
        "Job".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        for (name, schema) in
            [(ReportJson::name(), ReportJson::schema()), (FinishedJson::name(), FinishedJson::schema())]
        {
            schemas.push((name.into_owned(), schema));
        }
        ReportJson::schemas(schemas);
        FinishedJson::schemas(schemas);
    }
}

impl PartialSchema for HeaderJson<'_> {
    fn schema() -> RefOr<Schema> {
        let text = || ObjectBuilder::new().schema_type(Type::String);
        let several = ArrayBuilder::new().items(text());
        OneOfBuilder::new().item(text()).item(several).into()
    }
}

impl ToSchema for HeaderJson<'_> {
    fn name() -> Cow<'static, str> {
        "HeaderValue".into()
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
    /// The body of a job with these attributes.
    pub fn of(body: &'a Bytes, attributes: &Attributes) -> Self {
        let value = match std::str::from_utf8(body) {
            Ok(text) if is_json(attributes) => json_value(text).unwrap_or(BodyValue::Text(text)),
            Ok(text) => BodyValue::Text(text),
            Err(_) => return Self { body: None, body_base64: Some(STANDARD.encode(body)) },
        };
        Self { body: Some(value), body_base64: None }
    }
}

fn is_json(attributes: &Attributes) -> bool {
    attributes.content_type().is_some_and(is_json_type)
}

/// True if a content type is JSON: `application/json`, or a type that ends in `+json`.
fn is_json_type(content_type: &str) -> bool {
    let kind = media_type(content_type);
    kind == "application/json" || (kind.contains('/') && kind.ends_with("+json"))
}

/// A content type in lower case, without its parameters.
pub fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The text as JSON; `None` if it is not JSON. Answers are lines, so a line break becomes a space: within JSON it is always
/// between values.
fn json_value(text: &str) -> Option<BodyValue<'_>> {
    if text.contains(['\n', '\r']) {
        let line = text.replace(['\n', '\r'], " ");
        return RawValue::from_string(line).ok().map(|value| BodyValue::Json(Cow::Owned(value)));
    }
    serde_json::from_str(text).ok().map(|value| BodyValue::Json(Cow::Borrowed(value)))
}

impl Serialize for HeaderJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [value] => serializer.serialize_str(value),
            values => values.serialize(serializer),
        }
    }
}

pub(crate) fn headers(attributes: &Attributes) -> BTreeMap<&str, HeaderJson<'_>> {
    let mut headers = BTreeMap::new();
    for (name, value) in attributes.headers() {
        headers.entry(name).or_insert_with(|| HeaderJson(Vec::new())).0.push(value);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::{AttributesBuilder, Backoff, BackoffCurve, BuryReason, Fence, JobHistory, Lease};

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
            edited: Some(Millis(3000)),
            held_by: Some("127.0.0.1:5000, token mail".to_owned()),
            reason: Some("no such address".to_owned()),
            finished: None,
        };
        let with_history = JobReport { history, ..report.clone() };
        let line = json(&JobJson::of(&with_history, true));
        let expected = concat!(
            r#""backoff":"1s..10m","pushed":"1970-01-01T00:00:00.001Z","reserved_last":"1970-01-01T00:00:02.000Z","#,
            r#""edited":"1970-01-01T00:00:03.000Z","held_by":"127.0.0.1:5000, token mail","reason":"no such address","headers":{}"#
        );
        assert!(line.contains(expected), "{line}");
        let history = JobHistory { finished: Some(Millis(3000)), ..with_history.history.clone() };
        let remembered = JobReport { state: Some(JobState::Finished), history, ..with_history };
        let line = json(&JobJson::of(&remembered, true));
        let expected = r#"{"id":9,"state":"finished","topic":"orders","attempts":5,"finished":"1970-01-01T00:00:03.000Z","key":null,"#;
        assert!(line.starts_with(expected) && line.ends_with(r#""headers":{},"body":""}"#), "{line}");
        let line = json(&JobJson::of(&JobReport { ttr_ms: 0, ..remembered }, true));
        let expected = r#""attempts":5,"finished":"1970-01-01T00:00:03.000Z"}"#;
        assert_eq!(line, format!(r#"{{"id":9,"state":"finished","topic":"orders",{expected}"#));
        assert_eq!(
            json(&JobJson::of(&report, true)),
            concat!(
                r#"{"id":9,"state":"buried","topic":"orders","attempts":5,"ttr_left_ms":0,"buried":"attempts used up","#,
                r#""key":null,"priority":1,"due":"1970-01-01T00:00:00.000Z","ttr_ms":60000,"#,
                r#""expires":"1970-01-01T00:00:00.000Z","attempts_max":5,"backoff":"1s..10m","headers":{},"body":""}"#,
            )
        );
    }
}
