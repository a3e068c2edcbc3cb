//! Errors of requests: `application/problem+json` (RFC 9457), with the fields of the binary protocol's errors.

use std::fmt;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

use adjourn_protocol::{Applied, DecodeError, ErrorCode, ErrorReply};
use adjourn_types::JobId;

/// A cluster without a leader elects one within about this time, in milliseconds.
const NO_LEADER_RETRY_MS: u32 = 500;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    status: StatusCode,
    error: ErrorReply,
    /// The field that is wrong, and what is wrong with it.
    field: Option<Box<(Place, String)>>,
    /// The existing job that prevents it.
    job: Option<JobId>,
}

/// Where a value stands in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the body: a JSON pointer.
    Pointer(String),
    /// In the query.
    Parameter(String),
    /// In a header.
    Header(String),
    /// In the path.
    Path(String),
}

/// What is wrong with a field.
#[derive(Serialize, ToSchema)]
#[schema(as = FieldError)]
pub(crate) struct FieldErrorJson {
    /// Its place in the body: a JSON pointer (RFC 6901).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "/1/ttr")]
    pub pointer: Option<String>,
    /// Its name in the query or in the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// Its name among the headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// What is wrong.
    pub detail: String,
}

/// Why a request was refused.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemJson {
    /// `urn:adjourn:` and the code.
    #[serde(rename = "type")]
    #[schema(example = "urn:adjourn:KEY_EXISTS")]
    pub kind: String,
    /// The status in words.
    pub title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// One sentence for a person: the error and its remedy.
    pub detail: String,
    /// The error's name, by which programs decide. protocol.md lists all.
    #[schema(example = "KEY_EXISTS")]
    pub code: &'static str,
    /// Whether the same request may succeed later, as it is.
    pub retryable: bool,
    /// Whether anything was changed.
    #[schema(schema_with = schema_applied)]
    pub applied: &'static str,
    /// Try again after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u32>,
    /// The fields that are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldErrorJson>,
    /// The existing job that prevents it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
}

/// The schema of a text that is one of these.
pub(crate) fn names(all: impl IntoIterator<Item = &'static str>) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(all)).into()
}

/// The schema of [`Applied`].
pub(crate) fn schema_applied() -> RefOr<Schema> {
    names(["no", "unknown"])
}

impl Problem {
    /// A problem that does not come from the queue.
    pub fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status, error: ErrorReply::new(code, message), field: None, job: None }
    }

    /// True if this is its code.
    pub fn is(&self, code: ErrorCode) -> bool {
        self.error.code == code
    }

    /// A request that is not valid.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorCode::Malformed, message)
    }

    /// A request with a field that is not valid.
    pub fn at(place: Place, detail: impl Into<String>) -> Self {
        let (place, mut detail) = (place.shortened(), detail.into());
        shorten(&mut detail);
        Self { field: Some(Box::new((place, detail))), ..Self::malformed("") }
    }

    /// A JSON body with a field that is not valid.
    pub(crate) fn at_pointer(pointer: &str, detail: impl Into<String>) -> Self {
        Self::at(Place::Pointer(pointer.to_owned()), detail)
    }

    /// The same problem of a field within another one.
    pub(crate) fn within(self, outer: &str) -> Self {
        self.elsewhere(|name| Place::Pointer(format!("{outer}/{name}")))
    }

    /// The same problem of an element of a list.
    pub(crate) fn of_element(self, index: usize) -> Self {
        let (pointer, detail) = match self.field.map(|field| *field) {
            Some((Place::Pointer(pointer), detail)) => (pointer, detail),
            _ => (String::new(), self.error.message.clone()),
        };
        let field = (Place::Pointer(format!("/{index}{pointer}")), detail);
        Self { field: Some(Box::new(field)), ..self }
    }

    /// The same problem of a field that came elsewhere than in the body: `place` makes the place of its name.
    #[must_use]
    pub fn elsewhere(self, place: impl Fn(String) -> Place) -> Self {
        let field = self.field.map(|field| match *field {
            (Place::Pointer(pointer), detail) => {
                Box::new((place(pointer.trim_start_matches('/').to_owned()), detail))
            }
            elsewhere => Box::new(elsewhere),
        });
        Self { field, ..self }
    }

    /// The same problem with another status.
    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The same problem, with the existing job that prevents the request.
    pub(crate) fn about_job(self, job: Option<JobId>) -> Self {
        Self { job, ..self }
    }

    /// Its HTTP status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What is wrong, and what to do: one sentence for a person. It begins with the field that is wrong, if one is.
    pub fn detail(&self) -> String {
        match self.field.as_deref() {
            Some((place, detail)) => format!("{place}: {detail}"),
            None => self.error.message.clone(),
        }
    }

    /// The serialized form.
    pub(crate) fn json(&self) -> ProblemJson {
        let ErrorReply { code, applied, retry_after_ms, .. } = &self.error;
        ProblemJson {
            kind: format!("urn:adjourn:{code}"),
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: self.detail(),
            code: code.name(),
            retryable: self.error.retryable(),
            applied: match applied {
                Applied::No => "no",
                Applied::Unknown => "unknown",
            },
            retry_after_ms: (*retry_after_ms > 0).then_some(*retry_after_ms),
            errors: self.field.iter().map(|field| FieldErrorJson::new(&field.0, &field.1)).collect(),
            job: self.job.map(|job| job.0),
        }
    }
}

impl FieldErrorJson {
    fn new(place: &Place, detail: &str) -> Self {
        let none = Self { pointer: None, parameter: None, header: None, detail: detail.to_owned() };
        match place.clone() {
            Place::Pointer(pointer) => Self { pointer: Some(pointer), ..none },
            Place::Parameter(name) | Place::Path(name) => Self { parameter: Some(name), ..none },
            Place::Header(name) => Self { header: Some(name), ..none },
        }
    }
}

/// The maximum length of a text in a problem that repeats what a caller sent, in bytes.
const TOLD_BYTES_MAX: usize = 512;

fn shorten(text: &mut String) {
    if text.len() > TOLD_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TOLD_BYTES_MAX));
        text.push_str("...");
    }
}

impl Place {
    fn shortened(mut self) -> Self {
        let (Self::Pointer(name) | Self::Parameter(name) | Self::Header(name) | Self::Path(name)) = &mut self;
        shorten(name);
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pointer(pointer) if pointer.is_empty() => f.write_str("the body"),
            Self::Pointer(name) | Self::Parameter(name) | Self::Header(name) | Self::Path(name) => {
                f.write_str(name)
            }
        }
    }
}

impl From<ErrorReply> for Problem {
    fn from(mut error: ErrorReply) -> Self {
        // A client of the binary protocol tries another member instead.
        if matches!(error.code, ErrorCode::NotLeader | ErrorCode::NoLeader) {
            error.retry_after_ms = error.retry_after_ms.max(NO_LEADER_RETRY_MS);
        }
        Self { status: status_of(error.code), error, field: None, job: None }
    }
}

impl From<DecodeError> for Problem {
    fn from(error: DecodeError) -> Self {
        ErrorReply::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let json = serde_json::to_vec(&self.json()).unwrap_or_default();
        let mut response = (self.status, json).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.error.retry_after_ms > 0 {
            headers.insert(RETRY_AFTER, HeaderValue::from(self.error.retry_after_ms.div_ceil(1000)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // The console shows it as a page.
        response.extensions_mut().insert(self);
        response
    }
}

/// The HTTP status that is closest to an error.
pub(crate) fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::Malformed => StatusCode::BAD_REQUEST,
        ErrorCode::Unsupported => StatusCode::NOT_IMPLEMENTED,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorCode::Forbidden => StatusCode::FORBIDDEN,
        ErrorCode::Invalid | ErrorCode::ExpiresBeforeDue | ErrorCode::SequenceReused => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        ErrorCode::NotLeader
        | ErrorCode::NoLeader
        | ErrorCode::Busy
        | ErrorCode::Stopping
        | ErrorCode::SessionUnknown
        | ErrorCode::OutcomeUnknown => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
        ErrorCode::Quota => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::StaleLease
        | ErrorCode::KeyExists
        | ErrorCode::Reserved
        | ErrorCode::WrongState
        | ErrorCode::Paused => StatusCode::CONFLICT,
        ErrorCode::Changed => StatusCode::PRECONDITION_FAILED,
        ErrorCode::Unreadable | ErrorCode::Unknown => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The text of an error of a single job or lease, for which the protocol has none.
pub(crate) fn about(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::KeyExists => "a job with this key is in the queue: say if_exists, or choose another key",
        ErrorCode::Reserved => "the job is reserved: wait until its consumer is done, or delete it",
        ErrorCode::StaleLease => "the lease is over: another consumer has the job, or it was settled",
        ErrorCode::TooLarge => {
            "the body is larger than body_max of the topic: send a smaller one, or raise the setting (GET /v1/topics/TOPIC shows it)"
        }
        ErrorCode::Quota => {
            "the topic has reached jobs_max or bytes_max: finish or delete jobs, or raise the setting (GET /v1/topics/TOPIC shows it)"
        }
        ErrorCode::ExpiresBeforeDue => {
            "the job would expire before it is due: let it expire later, or be due earlier"
        }
        ErrorCode::OutcomeUnknown => "the queue has forgotten whether this push was applied",
        ErrorCode::SequenceReused => "another job was pushed under the same Idempotency-Key",
        ErrorCode::WrongState => "the job is not in a state that allows this",
        ErrorCode::NotFound => "there is no such job",
        _ => "the queue refuses it",
    }
}
