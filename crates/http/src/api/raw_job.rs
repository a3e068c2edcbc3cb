//! A push whose body is that of the job as it is. The job's fields are in the query and in headers.

use std::collections::BTreeSet;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use bytes::Bytes;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{RefOr, Required, Schema};
use utoipa::{IntoParams, PartialSchema as _};

use super::super::input::Pairs;
use super::super::problem::{Place, Problem};
use super::new_job::NewJobJson;
use adjourn_protocol::{ErrorCode, NewJob};

/// The headers that have fields of a job.
const OPTION_PREFIX: &str = "adjourn-";
/// The content type that `curl` states by itself.
const FORM: &str = "application/x-www-form-urlencoded";
/// Fields of a job that may be in the query, or in headers, if the request's body is that of the job.
pub(super) struct JobParameters;

/// The other ones: the request's body, and headers of the request, say them.
const BODY_FIELDS: [&str; 3] = ["body", "body_base64", "headers"];

impl IntoParams for JobParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let RefOr::T(Schema::Object(job)) = NewJobJson::schema() else { return Vec::new() };
        let fields = job.properties.into_iter().filter(|(name, _)| !BODY_FIELDS.contains(&name.as_str()));
        let parameters = fields.map(|(name, schema)| {
            let description = "Not with JSON: there it is a field of the job";
            let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Query);
            parameter.required(Required::False).description(Some(description)).schema(Some(schema)).build()
        });
        parameters.collect()
    }
}

/// The headers that have fields of a job.
pub(super) fn options(headers: &HeaderMap) -> impl Iterator<Item = &HeaderName> {
    headers.keys().filter(|name| name.as_str().starts_with(OPTION_PREFIX))
}

/// A job whose body is that of the request, and whose fields are in the query and in headers.
pub(super) fn raw_job(
    mut fields: Pairs,
    headers: &HeaderMap,
    kind: &str,
    body: Bytes,
) -> Result<NewJob, Problem> {
    let says_nothing = fields.names().next().is_none() && options(headers).next().is_none();
    if says_nothing && is_common(kind) && looks_like_json(&body) {
        let message = "the body looks like JSON: say Content-Type: application/json if it describes a job, as curl --json does, or application/octet-stream if it is the body of the job";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorCode::Unsupported, message));
    }
    let (mut in_headers, mut job_headers) = (BTreeSet::new(), Vec::new());
    for (name, value) in headers {
        let Some(option) = name.as_str().strip_prefix(OPTION_PREFIX) else { continue };
        let place = || Place::Header(name.to_string());
        let value = str::from_utf8(value.as_bytes()).map_err(|_| Problem::at(place(), "it is not UTF-8"))?;
        if let Some(header) = option.strip_prefix("header-") {
            job_headers.push((header.to_owned(), value.to_owned()));
            continue;
        }
        let field = option.replace('-', "_");
        if fields.has(&field) && !in_headers.contains(&field) {
            return Err(Problem::at(place(), "the query has it, too: give it once"));
        }
        fields.add(field.clone(), value.to_owned());
        in_headers.insert(field);
    }
    let place = |field: String| {
        if in_headers.contains(&field) {
            return Place::Header(format!("{OPTION_PREFIX}{}", field.replace('_', "-")));
        }
        Place::Parameter(field)
    };
    for field in BODY_FIELDS {
        if fields.has(field) {
            let detail = "the request's body is the job's body, and Adjourn-Header-NAME gives it a header";
            return Err(Problem::at(place(field.to_owned()), detail));
        }
    }
    let mut job: NewJobJson<'static> = fields.read(place)?;
    for (name, value) in job_headers {
        job.add_header(name, value);
    }
    let said = headers.get(CONTENT_TYPE).and_then(|said| said.to_str().ok());
    job.with_body(body, said).map_err(|problem| problem.elsewhere(place))
}

/// True for the content types that programs state by themselves, and for those that mean the same as `application/json`.
fn is_common(kind: &str) -> bool {
    ["", FORM, "text/plain"].contains(&kind) || (kind.contains("json") && !kind.ends_with("+json"))
}

/// True if a body was probably meant to describe a job, or several.
fn looks_like_json(body: &[u8]) -> bool {
    body.trim_ascii_start().first().is_some_and(|first| b"{[".contains(first))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::super::super::input;
    use super::*;
    use adjourn_types::{Key, When};

    #[test]
    fn a_body_of_another_type_is_the_job_s_body() {
        let raw = |query: &str, headers: &[(&'static str, &'static str)], body: &'static [u8]| {
            let map = headers
                .iter()
                .map(|(name, value)| (name.parse().expect("a name"), HeaderValue::from_static(value)));
            let mut all = HeaderMap::new();
            map.for_each(|(name, value): (HeaderName, _)| {
                all.append(name, value);
            });
            let map = all;
            let kind = input::media_type(&map);
            raw_job(Pairs::of_query(query), &map, &kind, body.into())
        };
        let job = raw(
            "delay=15m&priority=7",
            &[("content-type", "image/jpeg"), ("adjourn-key", "k"), ("adjourn-header-trace", "x")],
            b"\xff\xd8",
        )
        .expect("a job");
        assert_eq!((&job.body[..], job.priority), (&b"\xff\xd8"[..], 7));
        assert_eq!((job.due, job.key.as_ref().map(Key::as_str)), (When::After(900_000), Some("k")));
        let headers: Vec<_> = job.attributes.headers().collect();
        assert_eq!(headers, [("content-type", "image/jpeg"), ("trace", "x")]);
        assert_eq!(raw("", &[], b"").expect("a job"), NewJob::new(""));
        for (query, headers, body, expected) in [
            ("dealy=1s", &[][..], &b""[..], "dealy: there is no such field: is delay meant?"),
            ("delay=1s", &[("adjourn-delay", "2s")], b"", "adjourn-delay: the query has it, too"),
            ("delay=1s&delay=2s", &[], b"", "delay: it is given more than once"),
            (
                "delay_ms=x",
                &[],
                b"",
                "delay_ms: expected a whole number from 0 to 315360000000, found the text \"x\"",
            ),
            ("", &[("adjourn-if-exists", "maybe")], b"", "adjourn-if-exists: expected one of reject, keep"),
            (
                "delay=1s",
                &[("adjourn-due", "2030-12-24T18:00:00Z")],
                b"",
                "adjourn-due: give a delay or a due",
            ),
            ("body=x", &[], b"", "body: the request's body is the job's body"),
            (
                "",
                &[],
                br#" {"delay": "15m"}"#,
                "the body looks like JSON: say Content-Type: application/json",
            ),
            ("", &[("content-type", "application/x-www-form-urlencoded")], b"[]", "the body looks like JSON"),
            (
                "",
                &[("content-type", "text/plain;charset=UTF-8")],
                br#"{"delay": "15m",}"#,
                "the body looks like",
            ),
            ("", &[("content-type", "text/json")], b"{}", "the body looks like JSON"),
            ("", &[("content-type", "application/jsonl")], b"{}\n{}", "the body looks like JSON"),
        ] {
            let refused = raw(query, headers, body).expect_err(expected).json().detail;
            assert!(refused.starts_with(expected), "{refused}");
        }
        assert!(raw("", &[("content-type", "application/octet-stream")], b"{}").is_ok());
        assert!(raw("", &[("content-type", "application/vnd.shop+json")], b"{}").is_ok());
        assert!(raw("delay=1s", &[("content-type", "text/plain")], b"{}").is_ok(), "it is said what it is");
        let tags = [("adjourn-header-tag", "a"), ("adjourn-header-tag", "b")];
        let tagged = raw("", &tags, b"x").expect("a job");
        assert_eq!(tagged.attributes.headers().collect::<Vec<_>>(), [("tag", "a"), ("tag", "b")]);
        assert!(raw("", &[("content-type", "application/x-www-form-urlencoded")], b"a=1").is_ok());
    }
}
