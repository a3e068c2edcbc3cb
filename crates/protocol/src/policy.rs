//! `TOPIC_SET`; `TOPIC_SETTINGS`, the answer to `TOPIC_SHOW`.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::field::{Field, Subject};
use super::response::{Response, TopicSettings};
use super::wire::{Fixed, Reader, not_longer, put_topic8};
use adjourn_types::limits::POLICY_BYTES_MAX;
use adjourn_types::{PolicyChange, PolicyError, RetryDefaults, Setting, TopicName};

const PAUSED: u8 = 1;
const ATTEMPTS_OF_QUEUE: u8 = 2;
const BACKOFF_OF_QUEUE: u8 = 4;

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
        put_topic8(out, &self.topic);
        put_settings(&self.change.encode(), out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let topic = reader.topic8()?;
        Ok(Self { topic, change: Box::new(settings(reader)?) })
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
    let TopicSettings { policy, defaults, paused, jobs, bytes } = settings;
    let attempts_max = defaults.attempts_max.filter(|_| policy.attempts_max.is_none());
    let backoff = defaults.backoff.as_ref().filter(|_| policy.backoff.is_none());
    let mark = |is_set, mark| if is_set { mark } else { 0 };
    let marks = mark(*paused, PAUSED)
        | mark(attempts_max.is_some(), ATTEMPTS_OF_QUEUE)
        | mark(backoff.is_some(), BACKOFF_OF_QUEUE);
    Fixed::<17>::new().u64(*jobs).u64(*bytes).u8(marks).write(out);
    let mut shown = policy.clone();
    shown.attempts_max = shown.attempts_max.or(attempts_max);
    shown.backoff = shown.backoff.or(backoff.cloned());
    put_settings(&shown.encode(), out);
}

pub(super) fn decode_settings(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let (jobs, bytes) = (reader.u64("jobs")?, reader.u64("bytes")?);
    let marks = reader.u8("marks")?;
    let mut policy = settings(reader)?.set;
    let defaults = RetryDefaults {
        attempts_max: policy.attempts_max.take_if(|_| marks & ATTEMPTS_OF_QUEUE != 0),
        backoff: policy.backoff.take_if(|_| marks & BACKOFF_OF_QUEUE != 0),
    };
    let paused = marks & PAUSED != 0;
    Ok(Response::TopicSettings(Box::new(TopicSettings { policy, defaults, paused, jobs, bytes })))
}

fn put_settings(settings: &[u8], out: &mut BytesMut) {
    Fixed::<2>::new().length16(settings.len()).write(out);
    out.put_slice(settings);
}

fn settings(reader: &mut Reader<'_>) -> Result<PolicyChange, DecodeError> {
    Ok(PolicyChange::decode(&reader.bytes16(POLICY_BYTES_MAX, "settings")?)?)
}
