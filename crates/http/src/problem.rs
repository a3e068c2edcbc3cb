//! Errors of requests: `application/problem+json` (RFC 9457), with the fields of the binary protocol's errors.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use adjourn_protocol::{Applied, DecodeError, ErrorCode, ErrorReply};
use adjourn_types::JobId;

/// A cluster without a leader elects one within about this time, in milliseconds.
const NO_LEADER_RETRY_MS: u32 = 500;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    status: StatusCode,
    error: ErrorReply,
    /// The existing job that prevents it.
    job: Option<JobId>,
}

/// A problem as it is written.
#[derive(Serialize, ToSchema)]
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
    /// The error's name in the binary protocol.
    #[schema(example = "KEY_EXISTS")]
    pub code: &'static str,
    /// Whether the same request may succeed later, as it is.
    pub retryable: bool,
    /// Whether anything was changed: `no` or `unknown`.
    pub applied: &'static str,
    /// Try again after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u32>,
    /// The job that is in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
}

impl Problem {
    /// A problem that does not come from the queue.
    pub(crate) fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status, error: ErrorReply::new(code, message), job: None }
    }

    /// A request that is not valid.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorCode::Malformed, message)
    }

    /// The same problem with another status.
    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The same problem, with the existing job that prevents the request.
    pub(crate) fn about_job(self, job: Option<JobId>) -> Self {
        Self { job, ..self }
    }

    /// The serialized form.
    pub(crate) fn json(&self) -> ProblemJson {
        let ErrorReply { code, applied, retry_after_ms, message, .. } = &self.error;
        ProblemJson {
            kind: format!("urn:adjourn:{code}"),
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: message.clone(),
            code: code.name(),
            retryable: self.error.retryable(),
            applied: match applied {
                Applied::No => "no",
                Applied::Unknown => "unknown",
            },
            retry_after_ms: (*retry_after_ms > 0).then_some(*retry_after_ms),
            job: self.job.map(|job| job.0),
        }
    }
}

impl From<ErrorReply> for Problem {
    fn from(mut error: ErrorReply) -> Self {
        // A client of the binary protocol tries another member instead.
        if matches!(error.code, ErrorCode::NotLeader | ErrorCode::NoLeader) {
            error.retry_after_ms = error.retry_after_ms.max(NO_LEADER_RETRY_MS);
        }
        Self { status: status_of(error.code), error, job: None }
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
        response
    }
}

/// The HTTP status that is closest to an error.
pub(crate) fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::Malformed => StatusCode::BAD_REQUEST,
        ErrorCode::Unsupported => StatusCode::NOT_IMPLEMENTED,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::Unauthorised => StatusCode::FORBIDDEN,
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
        ErrorCode::TooLarge => "the body is larger than the topic allows",
        ErrorCode::Quota => "the topic has as many jobs, or bytes of them, as its policy allows",
        ErrorCode::ExpiresBeforeDue => "the job would expire before it is due",
        ErrorCode::OutcomeUnknown => "the queue has forgotten whether this push was applied",
        ErrorCode::SequenceReused => "another job was pushed under the same Idempotency-Key",
        ErrorCode::WrongState => "the job is not in a state that allows this",
        ErrorCode::NotFound => "there is no such job",
        _ => "the queue refuses it",
    }
}
