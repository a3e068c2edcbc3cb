//! A job to be pushed, as JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use utoipa::ToSchema;

use super::super::fields::{Delay, Field, JobKey, Time, TimeOrDelay, Ttr, Waits, schema};
use adjourn_protocol::NewJob;
use adjourn_types::limits::PRIORITY_UNSAID;
use adjourn_types::{AttributeError, AttributesBuilder, IfExists, When};

/// A job to be pushed.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"body": "close order 17", "delay": "15m", "key": "order-17"}))]
pub(crate) struct NewJobJson<'a> {
    /// The body, as text.
    #[serde(borrow)]
    body: Option<Cow<'a, str>>,
    /// The body, in base64, if it is no text.
    #[serde(borrow)]
    body_base64: Option<Cow<'a, str>>,
    /// Your own id of the job, unique in its topic while the job lives.
    #[schema(schema_with = schema::<JobKey>)]
    key: Option<Field<JobKey>>,
    /// How long after the queue takes it the job is due; without it and `due` at once.
    #[schema(schema_with = schema::<Delay>)]
    delay: Option<Field<Delay>>,
    /// When the job is due.
    #[schema(schema_with = schema::<Time>)]
    due: Option<Field<Time>>,
    /// A lower number is reserved first; without it the topic's default, or 1024.
    #[schema(maximum = 4_294_967_294_u32)]
    priority: Option<u32>,
    /// How long a consumer may hold the job; without it the topic's default, or 60 s.
    #[schema(schema_with = schema::<Ttr>)]
    ttr: Option<Field<Ttr>>,
    /// What to do if a job with this key is in the queue.
    if_exists: Option<IfExistsJson>,
    /// With `if_exists` postpone: due at the latest so long after the first push.
    #[schema(schema_with = schema::<Delay>)]
    postpone_max: Option<Field<Delay>>,
    /// When the job is dropped if it is not finished: a time, or a duration from now.
    #[schema(schema_with = schema::<TimeOrDelay>)]
    expires: Option<Field<TimeOrDelay>>,
    /// After this many failed attempts the job is buried.
    #[schema(minimum = 1)]
    attempts: Option<u32>,
    /// The waits between attempts.
    #[schema(schema_with = schema::<Waits>)]
    backoff: Option<Field<Waits>>,
    /// How long the job and its key are remembered after it was finished.
    #[schema(schema_with = schema::<Delay>)]
    remember: Option<Field<Delay>>,
    /// Headers: a text each, or a list of texts.
    #[schema(value_type = Option<BTreeMap<String, HeaderValues>>)]
    headers: Option<BTreeMap<String, HeaderValues>>,
}

/// What to do if a job with the key of a new one is in the queue.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
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

/// One value, or several.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum HeaderValues {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

/// Why JSON is not a job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NewJobError {
    /// Two bodies.
    #[error("say body or body_base64, not both")]
    TwoBodies,
    /// Two due times.
    #[error("say delay or due, not both")]
    TwoDues,
    /// Not base64.
    #[error("body_base64 is no base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// A priority that is reserved.
    #[error("priority must be 0 to 4294967294")]
    Priority,
    /// An attribute that is not valid.
    #[error(transparent)]
    Attribute(#[from] AttributeError),
}

impl NewJobJson<'_> {
    /// The job.
    pub(crate) fn job(self) -> Result<NewJob, NewJobError> {
        let body = match (&self.body, &self.body_base64) {
            (Some(_), Some(_)) => return Err(NewJobError::TwoBodies),
            (Some(text), None) => Bytes::copy_from_slice(text.as_bytes()),
            (None, Some(base64)) => STANDARD.decode(base64.as_bytes())?.into(),
            (None, None) => Bytes::new(),
        };
        let due = match (self.delay.as_ref(), self.due.as_ref()) {
            (Some(_), Some(_)) => return Err(NewJobError::TwoDues),
            (None, Some(at)) => When::At(at.0),
            (delay, None) => When::After(delay.map_or(0, |delay| delay.0)),
        };
        if self.priority == Some(PRIORITY_UNSAID) {
            return Err(NewJobError::Priority);
        }
        Ok(NewJob {
            due,
            priority: self.priority.unwrap_or(PRIORITY_UNSAID),
            ttr_ms: self.ttr.as_ref().map_or(0, |ttr| ttr.0),
            if_exists: self.if_exists.unwrap_or_default().into(),
            attributes: self.attributes().build()?,
            key: self.key.map(|key| key.0),
            body,
        })
    }

    fn attributes(&self) -> AttributesBuilder {
        let mut attributes = AttributesBuilder::default();
        for (name, values) in self.headers.iter().flatten() {
            let values = match values {
                HeaderValues::One(value) => std::slice::from_ref(value),
                HeaderValues::Several(values) => values,
            };
            attributes = values.iter().fold(attributes, |built, value| built.header(name, value));
        }
        if let Some(expires) = &self.expires {
            attributes = attributes.expires(expires.0);
        }
        if let Some(attempts) = self.attempts {
            attributes = attributes.attempts_max(attempts);
        }
        if let Some(backoff) = &self.backoff {
            attributes = attributes.backoff(&backoff.0);
        }
        if let Some(retention) = &self.remember {
            attributes = attributes.dedupe_retention(retention.0);
        }
        if let Some(max) = &self.postpone_max {
            attributes = attributes.postpone_max(max.0);
        }
        attributes
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
    use super::*;
    use adjourn_types::{BackoffCurve, Key, Millis};

    fn job(text: &str) -> Result<NewJob, String> {
        let json: NewJobJson<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        json.job().map_err(|error| error.to_string())
    }

    #[test]
    fn every_field_reaches_the_job() {
        let full = job(concat!(
            r#"{"body":"a\nb","key":"k","delay":"15m","priority":7,"ttr":30000,"if_exists":"replace-any","#,
            r#""expires":"2h","attempts":5,"backoff":"1s..10m","remember":"1d","postpone_max":60000,"#,
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
        assert_eq!(job("{}").expect("a job"), NewJob::new(""));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, reason) in [
            (r#"{"body":"a","body_base64":"YQ=="}"#, "body or body_base64"),
            (r#"{"delay":"1s","due":"2030-12-24T18:00:00Z"}"#, "delay or due"),
            (r#"{"delay":"soon"}"#, "for example 1500ms"),
            (r#"{"delay":-1}"#, "expected a duration"),
            (r#"{"delay":1.5}"#, "expected a duration"),
            (r#"{"due":"tomorrow"}"#, "RFC 3339"),
            (r#"{"ttr":"1ms"}"#, "between 100ms and 7d"),
            (r#"{"ttr":1}"#, "between 100ms and 7d"),
            (r#"{"key":""}"#, "a key has 1 to 256 bytes"),
            (r#"{"priority":4294967295}"#, "priority must be"),
            (r#"{"if_exists":"maybe"}"#, "unknown variant `maybe`"),
            (r#"{"body_base64":"?"}"#, "no base64"),
            (r#"{"dealy":"1s"}"#, "unknown field `dealy`"),
            (r#"{"headers":{"":"x"}}"#, "malformed"),
        ] {
            let error = job(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
