//! `TOPIC_SET`; `TOPIC_SETTINGS`, the answer to `TOPIC_SHOW`.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::field::Field;
use super::response::{Response, TopicSettings};
use super::wire::{Fixed, Reader, put_topic8};
use crate::types::limits::POLICY_BYTES_MAX;
use crate::types::{PolicyChange, PolicyError, Setting, TopicName};

const PAUSED: u8 = 1;

/// A change to what a topic decides for its jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSet {
    /// The topic whose policy changes.
    pub topic: TopicName,
    /// What changes.
    pub change: Box<PolicyChange>,
}

impl Field for TopicSet {
    fn put(&self, out: &mut BytesMut) {
        put_topic8(out, &self.topic);
        put_settings(&self.change.encode(), out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let topic = reader.topic8()?;
        let change = settings(reader)?;
        if change.set.dead_letters.as_ref() == Some(&topic) {
            return Err(PolicyError::OutOfRange { setting: Setting::DeadLetters }.into());
        }
        Ok(Self { topic, change: Box::new(change) })
    }

    fn detach(self) -> Self {
        Self { topic: self.topic.detached(), ..self }
    }
}

pub(super) fn encode_settings(settings: &TopicSettings, out: &mut BytesMut) {
    let marks = if settings.paused { PAUSED } else { 0 };
    Fixed::<17>::new().u64(settings.jobs).u64(settings.bytes).u8(marks).write(out);
    put_settings(&settings.policy.encode(), out);
}

pub(super) fn decode_settings(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let (jobs, bytes) = (reader.u64("jobs")?, reader.u64("bytes")?);
    let paused = reader.u8("marks")? & PAUSED != 0;
    let policy = settings(reader)?.set;
    Ok(Response::TopicSettings(Box::new(TopicSettings { policy, paused, jobs, bytes })))
}

fn put_settings(settings: &[u8], out: &mut BytesMut) {
    Fixed::<2>::new().length16(settings.len()).write(out);
    out.put_slice(settings);
}

fn settings(reader: &mut Reader<'_>) -> Result<PolicyChange, DecodeError> {
    Ok(PolicyChange::decode(&reader.bytes16(POLICY_BYTES_MAX, "settings")?)?)
}
