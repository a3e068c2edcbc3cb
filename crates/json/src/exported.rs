//! Jobs as lines of an export: as a push takes them, with their topic.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::job::{HeaderJson, expires_text, headers};
use super::values::{backoff_text, time_text};
use adjourn_protocol::JobReport;
use adjourn_types::{Attributes, JobState, Key};

/// A job as a push takes it, with its topic and, if it is set aside, why. Ids, attempts and history stay behind.
#[derive(Serialize)]
pub struct ExportedJson<'a> {
    topic: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    due: String,
    priority: u32,
    ttr_ms: u32,
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
        let policy = job.attributes.policy();
        let text = std::str::from_utf8(&job.body).ok();
        let remember_ms = Attributes::dedupe_retention_of(job.attributes.as_bytes());
        let is_buried = job.state == Some(JobState::Buried);
        Self {
            topic: job.topic.as_str(),
            key: job.key.as_ref().map(Key::as_str),
            group: Attributes::group_of(job.attributes.as_bytes()),
            due: time_text(job.due),
            priority: job.priority,
            ttr_ms: job.ttr_ms,
            expires: expires_text(policy.expires),
            attempts_max: policy.attempts_max,
            backoff: policy.backoff.as_ref().map(backoff_text),
            remember_ms: Some(remember_ms).filter(|remember_ms| *remember_ms > 0),
            headers: headers(&job.attributes),
            body: text,
            body_base64: text.is_none().then(|| STANDARD.encode(&job.body)),
            buried: is_buried.then(|| job.history.reason.as_deref().unwrap_or_default()),
        }
    }
}
