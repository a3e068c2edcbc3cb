//! Jobs as lines of an export: as a push takes them, with their topic.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::job::{HeaderJson, expires_text, headers};
use super::values::{backoff_text, time_text};
use adjourn_protocol::{JobReport, NewJob};
use adjourn_types::limits::PRIORITY_UNSAID;
use adjourn_types::{Attributes, JobState, Key, TopicName, When};

/// A job as a push takes it, with its topic and, if it is buried, why. Ids, attempts and history stay behind.
#[derive(Serialize)]
pub struct ExportedJson<'a> {
    topic: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttr_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts_max: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backoff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remember_ms: Option<u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<&'a str, HeaderJson<'a>>,
    /// The body, if it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
    /// Any other body.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    /// Why it is set aside; empty if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    buried: Option<&'a str>,
}

impl<'a> ExportedJson<'a> {
    /// A job that was listed with its body.
    pub fn of(job: &'a JobReport) -> Self {
        let is_buried = job.state == Some(JobState::Buried);
        Self {
            due: Some(time_text(job.due)),
            priority: Some(job.priority),
            ttr_ms: Some(job.ttr_ms),
            buried: is_buried.then(|| job.history.reason.as_deref().unwrap_or_default()),
            ..Self::with(&job.topic, job.key.as_ref(), &job.attributes, &job.body)
        }
    }

    /// A job that is to be pushed. What is to be done about a job with its key is not said.
    pub fn of_new(topic: &'a TopicName, job: &'a NewJob) -> Self {
        let (due, delay_ms) = match job.due {
            When::At(at) => (Some(time_text(at)), None),
            When::After(delay_ms) => (None, Some(delay_ms).filter(|delay_ms| *delay_ms > 0)),
        };
        Self {
            due,
            delay_ms,
            priority: Some(job.priority).filter(|priority| *priority != PRIORITY_UNSAID),
            ttr_ms: Some(job.ttr_ms).filter(|ttr_ms| *ttr_ms > 0),
            ..Self::with(topic, job.key.as_ref(), &job.attributes, &job.body)
        }
    }

    fn with(topic: &'a TopicName, key: Option<&'a Key>, attributes: &'a Attributes, body: &'a [u8]) -> Self {
        let policy = attributes.policy();
        let text = std::str::from_utf8(body).ok();
        let remember_ms = Attributes::dedupe_retention_of(attributes.as_bytes());
        Self {
            topic: topic.as_str(),
            key: key.map(Key::as_str),
            group: Attributes::group_of(attributes.as_bytes()),
            due: None,
            delay_ms: None,
            priority: None,
            ttr_ms: None,
            expires: expires_text(policy.expires),
            attempts_max: policy.attempts_max,
            backoff: policy.backoff.as_ref().map(backoff_text),
            remember_ms: Some(remember_ms).filter(|remember_ms| *remember_ms > 0),
            headers: headers(attributes),
            body: text,
            body_base64: text.is_none().then(|| STANDARD.encode(body)),
            buried: Attributes::buried_of(attributes.as_bytes()),
        }
    }
}
