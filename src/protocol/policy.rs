//! `TOPIC_SET` and `TOPIC_SHOW`; `TOPIC_SETTINGS`, the answer to the latter.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::request::Request;
use super::response::{Response, TopicSettings};
use super::wire::{Fixed, Reader, put_topic8};
use crate::types::limits::POLICY_BYTES_MAX;
use crate::types::{PolicyChange, PolicyError, Setting, TopicName};

const PAUSED: u8 = 1;

pub(super) fn encode_set(topic: &TopicName, change: &PolicyChange, out: &mut BytesMut) {
    put_topic8(out, topic);
    put_settings(&change.encode(), out);
}

pub(super) fn decode_set(reader: &mut Reader<'_>) -> Result<Request, DecodeError> {
    let topic = reader.topic8()?;
    let change = settings(reader)?;
    if change.set.dead_letters.as_ref() == Some(&topic) {
        return Err(PolicyError::OutOfRange { setting: Setting::DeadLetters }.into());
    }
    Ok(Request::TopicSet { topic, change: Box::new(change) })
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
