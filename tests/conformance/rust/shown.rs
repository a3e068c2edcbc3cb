//! Commands as requests, and answers as JSON: by way of the frames, whose schema has the same names.

use std::fmt::Display;

use adjourn_client::ClientError;
use adjourn_generate::Side;
use adjourn_protocol::{Delivered, ErrorCode, FrameDecoder, JobReport, Request, RequestId, Response};
use adjourn_types::limits::BODY_BYTES_CEILING;
use bytes::BytesMut;
use serde_json::{Value, json};

use crate::codec::Refused;
use crate::wire::{self, Newer};

/// What stands in `error` of an answer.
pub(super) type Failure = Value;

const IF_EXISTS: [&str; 5] = ["reject", "keep", "replace", "replace_any", "postpone"];
const OUTCOMES: [&str; 5] = ["pushed", "kept", "replaced", "refused", "postponed"];
const STATES: [&str; 5] = ["delayed", "ready", "reserved", "buried", "finished"];

pub(super) fn usage(why: impl Display) -> Failure {
    json!({ "code": "USAGE", "retryable": false, "applied": "no", "message": why.to_string() })
}

pub(super) fn not_found() -> Failure {
    json!({ "code": "NOT_FOUND", "retryable": false, "applied": "no" })
}

pub(super) fn refused((code, message): Refused) -> Failure {
    json!({ "code": code.name(), "retryable": code.retryable(), "applied": "no", "message": message })
}

pub(super) fn cancelled() -> Failure {
    json!({ "code": "CANCELLED", "retryable": true, "applied": "no" })
}

pub(super) fn client_failure(error: &ClientError) -> Failure {
    let (code, retryable) = match error {
        ClientError::Refused(reply) => (reply.code.name(), reply.retryable()),
        ClientError::ItemRefused { code, .. } => (code.name(), code.retryable()),
        ClientError::CannotConnect { .. } => ("CANNOT_CONNECT", true),
        ClientError::Address { .. } | ClientError::Tls(_) | ClientError::NoSession => ("USAGE", false),
        ClientError::OutcomeUnknown => ("OUTCOME_UNKNOWN", false),
        ClientError::Timeout { .. } => ("TIMEOUT", true),
        ClientError::Closed => ("CLOSED", false),
        ClientError::TooLarge { .. } => ("TOO_LARGE", false),
        ClientError::WrongCluster { .. } => ("WRONG_CLUSTER", false),
        ClientError::Protocol(_) => ("PROTOCOL", false),
    };
    let applied = if error.outcome_unknown() { "unknown" } else { "no" };
    json!({ "code": code, "retryable": retryable, "applied": applied, "message": error.to_string() })
}

/// The request that has these fields.
pub(super) fn request_of(opcode: &str, fields: &Value) -> Result<Request, Failure> {
    let frame = json!({ "request_id": 1, "opcode": opcode, "fields": fields });
    let bytes = wire::write(Side::Request, &frame, Newer::default()).map_err(usage)?;
    let mut buffer = BytesMut::from(bytes.as_slice());
    let frame = FrameDecoder::new(u32::MAX).next(&mut buffer).expect("a frame").expect("a whole one");
    // The limit of bodies is the server's: the client has to keep to it.
    Request::decode(&frame, BODY_BYTES_CEILING).map_err(|error| refused((error.code(), error.to_string())))
}

/// The fields of a PUSH.
pub(super) fn push_fields(command: &Value) -> Value {
    let jobs = command["jobs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let jobs: Vec<Value> = jobs
        .iter()
        .map(|job| {
            let mut fields = job.clone();
            (fields["due_ms"], fields["due_kind"]) = due(job);
            let mode = IF_EXISTS.iter().position(|mode| job["if_exists"] == **mode);
            fields["if_exists"] = json!(mode.unwrap_or_default());
            if job["priority"].is_null() {
                fields["priority"] = json!(u32::MAX);
            }
            fields
        })
        .collect();
    json!({ "topic": command["topic"], "jobs": jobs })
}

/// The due point of what has `at_ms`, or `delay_ms`, or neither: `due_ms` and `due_kind`.
pub(super) fn due(said: &Value) -> (Value, Value) {
    match &said["at_ms"] {
        Value::Null => (said["delay_ms"].clone(), json!(0)),
        at_ms => (at_ms.clone(), json!(1)),
    }
}

/// The fields that name a job.
pub(super) fn reference(command: &Value) -> Value {
    let kind = u8::from(command["job"].is_null());
    json!({ "job_kind": kind, "job": command["job"], "topic": command["topic"], "key": command["key"] })
}

/// The results of a PUSH or of what settles leases.
pub(super) fn results_json(response: &Response) -> Result<Value, Failure> {
    let fields = fields_of(response)?;
    let results = fields["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let results: Vec<Value> = results.iter().map(result_json).collect();
    Ok(json!({ "results": results }))
}

fn result_json(result: &Value) -> Value {
    let code = result["code"].as_u64().unwrap_or_default();
    if code != 0 {
        let code = u16::try_from(code).ok().and_then(ErrorCode::from_u16).unwrap_or(ErrorCode::Unknown);
        let applied = if code == ErrorCode::OutcomeUnknown { "unknown" } else { "no" };
        let mut error = json!({ "code": code.name(), "retryable": code.retryable(), "applied": applied });
        if result["job"].as_str().is_some_and(|job| job != "0") {
            error["job"] = result["job"].clone();
        }
        return json!({ "error": error });
    }
    let outcome = result["outcome"].as_u64().and_then(|number| usize::try_from(number).ok());
    match outcome {
        Some(outcome) => json!({ "outcome": OUTCOMES.get(outcome), "job": result["job"] }),
        None => json!({}),
    }
}

pub(super) fn delivered_json(job: Delivered) -> Result<Value, Failure> {
    Ok(fields_of(&Response::Deliver(vec![job]))?["jobs"][0].clone())
}

pub(super) fn report_json(report: JobReport) -> Result<Value, Failure> {
    let mut fields = fields_of(&Response::Job(Box::new(report)))?;
    fields["state"] = json!(fields["state"].as_u64().and_then(state_name));
    Ok(fields)
}

pub(super) fn state_name(number: u64) -> Option<&'static str> {
    usize::try_from(number).ok().and_then(|state| STATES.get(state).copied())
}

pub(super) fn fields_of(response: &Response) -> Result<Value, Failure> {
    let mut out = BytesMut::new();
    response.encode(RequestId(1), &mut out);
    let frame = wire::read(Side::Response, &out).map_err(usage)?;
    Ok(frame["fields"].clone())
}
