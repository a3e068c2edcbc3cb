//! A job to be pushed, as JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::super::fields::{
    Delay, Field, Group, JobKey, Reason, Remember, Span, SpanMs, Time, TimeMs, TimeOrDelay, Ttr, Waits,
    Whole, either, schema, schema_ms, schema_number, schema_time_ms, when,
};
use super::super::problem::Problem;
use adjourn_json::HeaderJson;
use adjourn_protocol::NewJob;
use adjourn_types::limits::{ATTRIBUTES_BYTES_MAX, PRIORITY_UNSAID};
use adjourn_types::{AttributeError, Attributes, AttributesBuilder, CONTENT_TYPE, IfExists, When};

/// The maximum length of a header's name, in bytes.
const HEADER_NAME_BYTES_MAX: usize = 255;

/// A job to be pushed.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "a job: an object such as {\"body\": \"close order 17\"}")]
#[schema(as = NewJob, example = json!({"body": "close order 17", "delay": "15m", "key": "order-17"}))]
pub(crate) struct NewJobJson<'a> {
    /// The body: a string is the text itself, anything else is kept as JSON.
    #[serde(borrow, default, deserialize_with = "present")]
    #[schema(value_type = Option<serde_json::Value>)]
    body: Option<&'a RawValue>,
    /// The body in base64, for bytes.
    #[serde(borrow)]
    #[schema(content_encoding = "base64")]
    body_base64: Option<Cow<'a, str>>,
    /// Your own id of the job, unique in its topic while the job lives.
    #[schema(schema_with = schema::<JobKey>)]
    key: Option<Field<JobKey>>,
    /// How long after the queue takes it the job is due. Without it and `due`, the job is due at once.
    #[schema(schema_with = schema::<Span<Delay>>)]
    delay: Option<Field<Span<Delay>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<Delay>)]
    delay_ms: Option<SpanMs<Delay>>,
    /// When the job is due.
    #[schema(schema_with = schema::<Time>)]
    due: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[schema(schema_with = schema_time_ms)]
    due_ms: Option<TimeMs>,
    /// A lower number is reserved first. The default is that of the topic, or 1024.
    #[schema(schema_with = schema_number::<0, PRIORITY_MAX>)]
    priority: Option<Whole<0, PRIORITY_MAX>>,
    /// How long a consumer may hold the job. The default is that of the topic, or 60 s.
    #[schema(schema_with = schema::<Span<Ttr>>)]
    ttr: Option<Field<Span<Ttr>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<Ttr>)]
    ttr_ms: Option<SpanMs<Ttr>>,
    /// What to do if the topic has a job with this key.
    if_exists: Option<IfExistsJson>,
    /// With `if_exists` postpone: due at most this long after the first push.
    #[schema(schema_with = schema::<Span<Delay>>)]
    postpone_max: Option<Field<Span<Delay>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<Delay>)]
    postpone_max_ms: Option<SpanMs<Delay>>,
    /// When the job is dropped if it is not finished: a time, or a duration from now.
    #[schema(schema_with = schema::<TimeOrDelay>)]
    expires: Option<Field<TimeOrDelay>>,
    /// After this many failed attempts the job is buried.
    #[schema(schema_with = schema_number::<1, ATTEMPTS_MAX>)]
    attempts_max: Option<Whole<1, ATTEMPTS_MAX>>,
    /// The waits between attempts.
    #[schema(schema_with = schema::<Waits>)]
    backoff: Option<Field<Waits>>,
    /// How long the job and its key are remembered after it was finished.
    #[schema(schema_with = schema::<Span<Remember>>)]
    remember: Option<Field<Span<Remember>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<Remember>)]
    remember_ms: Option<SpanMs<Remember>>,
    /// The group that the job belongs to, such as a tenant. The topic's settings say what it means.
    #[schema(schema_with = schema::<Group>)]
    group: Option<Field<Group>>,
    /// The job is buried from the start, for this reason, which may be empty.
    #[schema(schema_with = schema::<Reason>)]
    buried: Option<Field<Reason>>,
    /// Headers: a text each, or a list of texts.
    #[schema(value_type = Option<BTreeMap<String, HeaderJson>>)]
    headers: Option<BTreeMap<String, HeaderValues>>,
}

const PRIORITY_MAX: u64 = PRIORITY_UNSAID as u64 - 1;
const ATTEMPTS_MAX: u64 = u32::MAX as u64;

/// A field that may be `null`.
fn present<'de, D: Deserializer<'de>>(source: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(source).map(Some)
}

/// What to do if a job with the key of a new one is in the queue.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = IfExists)]
pub(crate) enum IfExistsJson {
    /// Refuse the new one.
    #[default]
    Reject,
    /// Keep the one that is there.
    Keep,
    /// Replace the one that is there, unless it is reserved.
    Replace,
    /// Replace the one that is there, also if it is reserved.
    ReplaceAny,
    /// Give the one that is there this body and due time.
    Postpone,
}

/// The values of a header: a text, or a list of texts.
pub(crate) enum HeaderValues {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl<'de> Deserialize<'de> for HeaderValues {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct OfHeader;

        impl<'de> Visitor<'de> for OfHeader {
            type Value = HeaderValues;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a list of texts")
            }

            fn visit_str<E>(self, text: &str) -> Result<HeaderValues, E> {
                Ok(HeaderValues::One(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<HeaderValues, A::Error> {
                let mut all = Vec::new();
                while let Some(text) = texts.next_element()? {
                    all.push(text);
                }
                Ok(HeaderValues::Several(all))
            }
        }

        source.deserialize_any(OfHeader)
    }
}

impl NewJobJson<'_> {
    /// The job.
    pub(crate) fn job(self) -> Result<NewJob, Problem> {
        let (body, is_json) = self.body()?;
        self.with_body(body, is_json.then_some("application/json"))
    }

    /// The job with this body, and its type. A type among the headers wins.
    pub(crate) fn with_body(self, body: Bytes, content_type: Option<&str>) -> Result<NewJob, Problem> {
        self.check_key()?;
        let ttr_ms = either("ttr", self.ttr.as_ref(), self.ttr_ms.as_ref())?;
        Ok(NewJob {
            due: self.due()?,
            priority: self.priority.map_or(PRIORITY_UNSAID, Whole::narrow),
            ttr_ms: ttr_ms.and_then(|ttr_ms| ttr_ms.try_into().ok()).unwrap_or(0),
            if_exists: self.if_exists.unwrap_or_default().into(),
            attributes: self.attributes(content_type)?,
            key: self.key.map(|key| key.0),
            body,
        })
    }

    /// Refuses what would have no effect without a key, or without `postpone`.
    fn check_key(&self) -> Result<(), Problem> {
        let has_max = self.postpone_max.is_some() || self.postpone_max_ms.is_some();
        if self.key.is_none() && (self.if_exists.is_some() || has_max) {
            let name = if self.if_exists.is_some() { "/if_exists" } else { "/postpone_max" };
            return Err(Problem::at_pointer(
                name,
                "it is about a job with the same key: give a key, or leave it out",
            ));
        }
        if has_max && !matches!(self.if_exists, Some(IfExistsJson::Postpone)) {
            return Err(Problem::at_pointer(
                "/postpone_max",
                "only postpone has it: give if_exists postpone, or leave it out",
            ));
        }
        Ok(())
    }

    /// Adds a header.
    pub(crate) fn add_header(&mut self, name: String, value: String) {
        let headers = self.headers.get_or_insert_default();
        match headers.entry(name).or_insert_with(|| HeaderValues::Several(Vec::new())) {
            HeaderValues::Several(values) => values.push(value),
            one @ HeaderValues::One(_) => *one = HeaderValues::One(value),
        }
    }

    /// The body, and whether it is JSON.
    pub(super) fn body(&self) -> Result<(Bytes, bool), Problem> {
        match (self.body, &self.body_base64) {
            (Some(_), Some(_)) => {
                Err(Problem::at_pointer("/body_base64", "give body or body_base64, not both"))
            }
            (Some(json), None) if json.get().starts_with('"') => {
                let text: Cow<'_, str> = serde_json::from_str(json.get()).map_err(|error| {
                    Problem::at_pointer("/body", format!("it is not valid text: {error}"))
                })?;
                Ok((Bytes::copy_from_slice(text.as_bytes()), false))
            }
            (Some(json), None) => Ok((Bytes::copy_from_slice(json.get().as_bytes()), true)),
            (None, Some(base64)) => {
                let bytes = STANDARD.decode(base64.as_bytes()).map_err(|error| {
                    Problem::at_pointer("/body_base64", format!("it is not base64: {error}"))
                })?;
                Ok((bytes.into(), false))
            }
            (None, None) => Ok((Bytes::new(), false)),
        }
    }

    /// The fields that jobs of a schedule do not have, because the schedule decides about them, and whether they are given.
    pub(super) fn of_one_job(&self) -> [(&'static str, bool); 9] {
        [
            ("key", self.key.is_some()),
            ("delay", self.delay.is_some()),
            ("delay_ms", self.delay_ms.is_some()),
            ("due", self.due.is_some()),
            ("due_ms", self.due_ms.is_some()),
            ("if_exists", self.if_exists.is_some()),
            ("postpone_max", self.postpone_max.is_some()),
            ("postpone_max_ms", self.postpone_max_ms.is_some()),
            ("buried", self.buried.is_some()),
        ]
    }

    fn due(&self) -> Result<When, Problem> {
        let (delay, due) = ((self.delay.as_ref(), self.delay_ms.as_ref()), (self.due.as_ref(), self.due_ms));
        Ok(when(delay, due)?.unwrap_or(When::After(0)))
    }

    fn attributes(&self, content_type: Option<&str>) -> Result<Attributes, Problem> {
        let mut attributes = AttributesBuilder::default();
        let has_type = self.headers.iter().flatten().any(|(name, _)| name.eq_ignore_ascii_case(CONTENT_TYPE));
        if let Some(content_type) = content_type.filter(|_| !has_type) {
            attributes = attributes.header(CONTENT_TYPE, content_type);
        }
        for (name, values) in self.headers.iter().flatten() {
            if name.is_empty() || name.len() > HEADER_NAME_BYTES_MAX {
                let detail = format!("a header's name has 1 to {HEADER_NAME_BYTES_MAX} bytes");
                return Err(Problem::at_pointer("/headers", detail));
            }
            let values = match values {
                HeaderValues::One(value) => std::slice::from_ref(value),
                HeaderValues::Several(values) => values,
            };
            attributes = values.iter().fold(attributes, |built, value| built.header(name, value));
        }
        if let Some(expires) = &self.expires {
            attributes = attributes.expires(expires.0);
        }
        if let Some(attempts) = self.attempts_max {
            attributes = attributes.attempts_max(attempts.narrow());
        }
        if let Some(backoff) = &self.backoff {
            attributes = attributes.backoff(&backoff.0);
        }
        if let Some(ms) = either("remember", self.remember.as_ref(), self.remember_ms.as_ref())? {
            attributes = attributes.dedupe_retention(ms);
        }
        if let Some(ms) = either("postpone_max", self.postpone_max.as_ref(), self.postpone_max_ms.as_ref())? {
            attributes = attributes.postpone_max(ms);
        }
        if let Some(group) = &self.group {
            attributes = attributes.group(group.0.as_str());
        }
        if let Some(reason) = &self.buried {
            attributes = attributes.buried(&reason.0);
        }
        // What remains is the size of all headers, and a job's other fields beside them.
        attributes.build().map_err(|error| {
            let detail = match error {
                AttributeError::TooLarge => format!("headers and the job's other fields take at most {ATTRIBUTES_BYTES_MAX} bytes: move data to the body"),
                error => error.to_string(),
            };
            Problem::at_pointer("/headers", detail)
        })
    }
}

impl From<IfExistsJson> for IfExists {
    fn from(mode: IfExistsJson) -> Self {
        match mode {
            IfExistsJson::Reject => Self::Reject,
            IfExistsJson::Keep => Self::Keep,
            IfExistsJson::Replace => Self::Replace,
            IfExistsJson::ReplaceAny => Self::ReplaceReserved,
            IfExistsJson::Postpone => Self::Postpone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::input;
    use super::*;
    use adjourn_types::{BackoffCurve, Key, Millis};

    fn job(text: &str) -> Result<NewJob, String> {
        let json = input::of_json::<NewJobJson<'_>>(text.as_bytes());
        json.and_then(NewJobJson::job).map_err(|problem| problem.json().detail)
    }

    #[test]
    fn every_field_reaches_the_job() {
        let full = job(concat!(
            r#"{"body":"a\nb","key":"k","delay":"15m","priority":7,"ttr_ms":30000,"if_exists":"replace_any","#,
            r#""expires":"2h","attempts_max":5,"backoff":"1s..10m","remember":"1d","#,
            r#""headers":{"a":"1","b":["2","3"]}}"#
        ))
        .expect("a job");
        assert_eq!((&full.body[..], full.priority, full.ttr_ms), (&b"a\nb"[..], 7, 30_000));
        assert_eq!((full.due, full.if_exists), (When::After(900_000), IfExists::ReplaceReserved));
        assert_eq!(full.key.as_ref().map(Key::as_str), Some("k"));
        let headers: Vec<_> = full.attributes.headers().collect();
        assert_eq!(headers, [("a", "1"), ("b", "2"), ("b", "3")]);
        let policy = full.attributes.policy();
        assert_eq!((policy.expires, policy.attempts_max), (Some(When::After(7_200_000)), Some(5)));
        let curve = policy.backoff.map(|backoff| backoff.curve);
        assert_eq!(curve, Some(BackoffCurve::Exponential { first_ms: 1000, max_ms: 600_000 }));
        let at =
            job(r#"{"body_base64":"/wA=","due":"1970-01-01T00:00:01Z","expires":"1970-01-01T00:00:02Z"}"#)
                .expect("a job");
        assert_eq!((&at.body[..], at.due), (&b"\xff\x00"[..], When::At(Millis(1000))));
        assert_eq!(at.attributes.policy().expires, Some(When::At(Millis(2000))));
        let postponed = job(r#"{"key":"k","if_exists":"postpone","postpone_max_ms":60000}"#).expect("a job");
        assert_eq!(postponed.if_exists, IfExists::Postpone);
        assert_eq!(Attributes::postpone_max_of(postponed.attributes.as_bytes()), Some(60_000));
        assert_eq!(job("{}").expect("a job"), NewJob::new(""));
        assert_eq!(
            job(r#"{"due_ms":1900000000000}"#).expect("a job").due,
            When::At(Millis(1_900_000_000_000))
        );
    }

    #[test]
    fn a_body_is_text_or_json() {
        for (json, body, kind) in [
            (r#""grün""#, "grün", None),
            (r#"{"b": 1, "a": 1.50}"#, r#"{"b": 1, "a": 1.50}"#, Some("application/json")),
            ("[1]", "[1]", Some("application/json")),
            ("null", "null", Some("application/json")),
            ("12345678901234567890123", "12345678901234567890123", Some("application/json")),
        ] {
            let made = job(&format!(r#"{{"body": {json}}}"#)).expect("a job");
            assert_eq!(made.body, body.as_bytes());
            assert_eq!(made.attributes.headers().next(), kind.map(|kind| ("content-type", kind)), "{json}");
        }
        let own = job(r#"{"body": {}, "headers": {"Content-Type": "application/x+json"}}"#).expect("a job");
        assert_eq!(own.attributes.headers().collect::<Vec<_>>(), [("Content-Type", "application/x+json")]);
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, reason) in [
            (r#"{"body":"a","body_base64":"YQ=="}"#, "/body_base64: give body or body_base64"),
            (r#"{"body":"\ud800"}"#, "/body: it is not valid text"),
            (r#"{"delay":"1s","due":"2030-12-24T18:00:00Z"}"#, "/due: give a delay or a due time"),
            (r#"{"delay":"1s","delay_ms":1000}"#, "/delay_ms: give delay or delay_ms"),
            (r#"{"due":"2030-12-24T18:00:00Z","due_ms":1}"#, "/due_ms: give due or due_ms"),
            (r#"{"delay":"soon"}"#, "/delay: expected a number and a unit, for example 1500ms"),
            (r#"{"delay":"15M"}"#, "/delay: M might be minutes or months"),
            (
                r#"{"delay":900}"#,
                "/delay: expected a duration with a unit, such as \"15m\", found the number 900",
            ),
            (
                r#"{"delay_ms":-1}"#,
                "/delay_ms: expected a whole number from 0 to 315360000000, found the number -1",
            ),
            (r#"{"delay_ms":1.5}"#, "found the number 1.5"),
            (r#"{"due":"tomorrow"}"#, "RFC 3339"),
            (
                r#"{"due":1900000000}"#,
                "/due: expected a time such as \"2030-12-24T18:00:00Z\", found the number",
            ),
            (
                r#"{"due":"1900000000"}"#,
                "/due: expected a time as 2030-12-24T18:00:00Z: a number alone might",
            ),
            (r#"{"expires":"1900000000"}"#, "/expires: expected a time as"),
            (r#"{"ttr":"1ms"}"#, "/ttr: expected a duration between 100ms and 7d"),
            (r#"{"ttr_ms":1}"#, "/ttr_ms: expected a whole number from 100 to 604800000, found the number 1"),
            (r#"{"key":""}"#, "/key: a key has 1 to 256 bytes"),
            (r#"{"priority":4294967295}"#, "/priority: expected a whole number from 0 to 4294967294"),
            (r#"{"attempts_max":0}"#, "/attempts_max: expected a whole number from 1"),
            (
                r#"{"if_exists":"maybe"}"#,
                "/if_exists: expected one of reject, keep, replace, replace_any, postpone",
            ),
            (r#"{"if_exists":"keep"}"#, "/if_exists: it is about a job with the same key: give a key"),
            (r#"{"postpone_max":"1h"}"#, "/postpone_max: it is about a job with the same key"),
            (r#"{"postpone_max_ms":1,"key":"k"}"#, "/postpone_max: only postpone has it"),
            (r#"{"postpone_max_ms":1,"key":"k","if_exists":"keep"}"#, "/postpone_max: only postpone has it"),
            (r#"{"body_base64":"?"}"#, "/body_base64: it is not base64"),
            (
                r#"["a"]"#,
                "the body: expected a job: an object such as {\"body\": \"close order 17\"}, found a list",
            ),
            (r#"{"dealy":"1s"}"#, "/dealy: there is no such field: is delay meant?"),
            (r#"{"headers":{"":"x"}}"#, "/headers: a header's name has 1 to 255 bytes"),
            (r#"{"headers":{"a":[1]}}"#, "/headers/a/0: "),
            (r#"{"headers":{"a":1}}"#, "/headers/a: expected a text, or a list of texts, found the number 1"),
            ("[]", "the body: expected a job: an object such as"),
            (r#""a""#, "the body: expected a job"),
            (r#"{"body":"#, "the request's body is not JSON: EOF while parsing a value at line 1 column 8"),
            ("{} x", "the request's body is not JSON: trailing characters at line 1 column 4"),
        ] {
            let error = job(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
