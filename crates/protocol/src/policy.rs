//! `TOPIC_SET`; `TOPIC_SETTINGS`, the answer to `TOPIC_SHOW`.

use bytes::BytesMut;

use super::codes::bits::settings_marks;
use super::decode_error::DecodeError;
use super::field::{Field, Subject};
use super::layout::frames;
use super::response::{Response, TopicSettings};
use super::wire::{self, Reader, mark, not_longer};
use adjourn_types::limits::POLICY_BYTES_MAX;
use adjourn_types::{PolicyChange, PolicyError, RetryDefaults, Setting, TopicName};

/// A change to a topic's policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSet {
    /// The topic whose policy changes.
    pub topic: TopicName,
    /// The change.
    pub change: Box<PolicyChange>,
}

impl Field for TopicSet {
    fn put(&self, out: &mut BytesMut) {
        let settings = self.change.encode();
        frames::TopicSet { topic: self.topic.as_str().as_bytes(), settings: &settings }.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frames::TopicSet { topic, settings } = frames::TopicSet::take(reader)?;
        Ok(Self { topic: wire::topic(topic)?, change: Box::new(change(&settings)?) })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        // The bounds of a policy are those of its encoding, which logs and checkpoints have as well.
        let encoded = self.change.encode();
        not_longer(encoded.len(), POLICY_BYTES_MAX, "settings")?;
        PolicyChange::decode(&encoded)?;
        if self.change.set.dead_letters.as_ref() == Some(&self.topic) {
            return Err(PolicyError::OutOfRange { setting: Setting::DeadLetters }.into());
        }
        Ok(())
    }

    fn subject(&mut self) -> Subject<'_> {
        Subject::Topic(&self.topic)
    }

    fn detach(self) -> Self {
        Self { topic: self.topic.detached(), ..self }
    }
}

pub(super) fn encode_settings(settings: &TopicSettings, out: &mut BytesMut) {
    let TopicSettings { policy, defaults, paused, pause_left_ms, jobs, bytes } = settings;
    let attempts_max = defaults.attempts_max.filter(|_| policy.attempts_max.is_none());
    let backoff = defaults.backoff.as_ref().filter(|_| policy.backoff.is_none());
    let marks = mark(*paused, settings_marks::PAUSED)
        | mark(attempts_max.is_some(), settings_marks::ATTEMPTS_OF_SERVER)
        | mark(backoff.is_some(), settings_marks::BACKOFF_OF_SERVER);
    let mut shown = policy.clone();
    shown.attempts_max = shown.attempts_max.or(attempts_max);
    shown.backoff = shown.backoff.or(backoff.cloned());
    let settings = &shown.encode()[..];
    frames::TopicSettings { jobs: *jobs, bytes: *bytes, pause_left_ms: *pause_left_ms, marks, settings }
        .put(out);
}

pub(super) fn decode_settings(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let frames::TopicSettings { jobs, bytes, pause_left_ms, marks, settings } =
        frames::TopicSettings::take(reader)?;
    let mut policy = change(&settings)?.set;
    let defaults = RetryDefaults {
        attempts_max: policy.attempts_max.take_if(|_| marks & settings_marks::ATTEMPTS_OF_SERVER != 0),
        backoff: policy.backoff.take_if(|_| marks & settings_marks::BACKOFF_OF_SERVER != 0),
    };
    let paused = marks & settings_marks::PAUSED != 0;
    let settings = TopicSettings { policy, defaults, paused, pause_left_ms, jobs, bytes };
    Ok(Response::TopicSettings(Box::new(settings)))
}

fn change(settings: &[u8]) -> Result<PolicyChange, DecodeError> {
    not_longer(settings.len(), POLICY_BYTES_MAX, "settings")?;
    Ok(PolicyChange::decode(settings)?)
}
