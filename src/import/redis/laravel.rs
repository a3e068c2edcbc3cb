//! The queues of Laravel.
//!
//! A queue is a list `queues:NAME`, a sorted set `queues:NAME:delayed` and one `queues:NAME:reserved` of the jobs that workers have, all
//! with times in seconds. A payload becomes a job as Adjourn's own driver for Laravel would push it.

use std::collections::BTreeSet;

use redis::cmd;
use serde::Deserialize;
use serde_json::Value;

use super::place::{Entry, Found, FoundJob, Order, Place, State, Unit, due, topic_named};
use super::server::{Redis, literal};
use super::takeover::{Claim, Layout, STAGED};
use crate::exit::{Exit, Failure};
use adjourn_protocol::NewJob;
use adjourn_types::limits::TTR_MS_MAX;
use adjourn_types::{Attributes, AttributesBuilder, Backoff, CONTENT_TYPE, TopicName, When};

const QUEUES: &str = "queues:";
const DELAYED: &str = ":delayed";
const RESERVED: &str = ":reserved";
/// The list that wakes workers: it has an element for each job.
const NOTIFY: &str = ":notify";
/// A job's lease outlives its timeout by this time, in seconds, as in the driver.
const BEYOND_TIMEOUT_S: f64 = 10.0;
/// The time to run of a job without a timeout: the default `retry_after` of the driver, in milliseconds.
const TTR_MS: u32 = 90_000;

/// The queues of an application.
pub(super) struct Laravel {
    prefix: String,
    /// Only these; all, if none is named.
    queues: Vec<String>,
    stopped: bool,
}

/// The fields of a payload that matter here. The others may be anything.
#[derive(Deserialize)]
struct Payload {
    timeout: Option<Value>,
    #[serde(rename = "messageGroup")]
    group: Option<Value>,
}

impl Laravel {
    pub(super) fn new(
        redis: &mut Redis,
        prefix: Option<&str>,
        queues: Vec<String>,
        stopped: bool,
    ) -> Result<Self, Failure> {
        let prefix = prefix.map_or_else(|| prefix_of(redis), |prefix| Ok(prefix.to_owned()))?;
        Ok(Self { prefix, queues, stopped })
    }

    fn key(&self, queue: &str, ending: &str) -> Vec<u8> {
        [&self.prefix, QUEUES, queue, ending].concat().into()
    }

    /// The names of its queues.
    fn found(&self, redis: &mut Redis) -> Result<BTreeSet<String>, Failure> {
        if !self.queues.is_empty() {
            return Ok(self.queues.iter().cloned().collect());
        }
        let before = [&self.prefix, QUEUES].concat();
        let mut names = BTreeSet::new();
        for (key, kind) in redis.keys(&format!("{}*", literal(&before)))? {
            let Ok(key) = String::from_utf8(key) else { continue };
            let Some(name) = key.strip_prefix(&before) else { continue };
            let set = name.strip_suffix(DELAYED).or_else(|| name.strip_suffix(RESERVED));
            match (kind.as_str(), set) {
                ("zset", Some(name)) => _ = names.insert(name.to_owned()),
                // A queue may have a name like that of the list of another one, but has payloads.
                ("list", _) if name.ends_with(NOTIFY) => {
                    let first: Option<Vec<u8>> = redis.ask(cmd("LINDEX").arg(&key).arg(0))?;
                    if first.is_some_and(|first| first.starts_with(b"{")) {
                        names.insert(name.to_owned());
                    }
                }
                ("list", _) => _ = names.insert(name.to_owned()),
                _ => {}
            }
        }
        Ok(names)
    }

    fn job(&self, place: &Place, entry: &Entry, now_ms: u64) -> Result<Found, String> {
        let due = match place.state {
            State::Waiting => When::After(0),
            State::Delayed => due(&entry.score, Unit::S, now_ms)?,
            State::Held if self.stopped => When::After(0),
            // Also one whose time has passed: where `retry_after` is null, that is each. Workers that run get it again.
            State::Held => return Ok(Found::Held),
        };
        let payload = payload(&entry.name).filter(|payload| payload.starts_with(b"{"));
        let payload = payload.ok_or("it is no payload in JSON")?;
        let fields: Payload = serde_json::from_slice(payload).map_err(|_| "it is no payload in JSON")?;
        let timeout_s =
            fields.timeout.and_then(|timeout| timeout.as_f64()).filter(|timeout_s| *timeout_s > 0.0);
        let ttr_ms = timeout_s.map_or(TTR_MS, |timeout_s| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "beyond its range it has a limit anyway"
            )]
            (((timeout_s + BEYOND_TIMEOUT_S) * 1000.0) as u32).min(TTR_MS_MAX)
        });
        let attributes = attributes(fields.group.as_ref().and_then(Value::as_str))?;
        let job = NewJob { due, ttr_ms, attributes, ..NewJob::new(payload.to_vec()) };
        let topic = topic_of(&place.queue)?;
        let read = match place.order {
            Order::Scores => vec![entry.name.clone(), entry.score.clone().into()],
            _ => vec![entry.name.clone()],
        };
        Ok(Found::Job(Box::new(FoundJob { topic, job, read })))
    }
}

/// Laravel decides about retries.
fn attributes(group: Option<&str>) -> Result<Attributes, String> {
    let builder = AttributesBuilder::default().header(CONTENT_TYPE, "application/json");
    let builder = builder.attempts_max(u32::MAX).backoff(&Backoff::NONE);
    let builder = match group {
        Some(group) => builder.group(group),
        None => builder,
    };
    builder.build().map_err(|error| error.to_string())
}

/// The topic of a queue. On a cluster its name may stand in braces.
fn topic_of(queue: &str) -> Result<TopicName, String> {
    topic_named(queue.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(queue))
}

/// The payload of an element. With the option `serializer` of phpredis it is a text that PHP has serialised: `s:LENGTH:"...";`.
fn payload(element: &[u8]) -> Option<&[u8]> {
    let Some(serialised) = element.strip_prefix(b"s:") else { return Some(element) };
    let colon = serialised.iter().position(|byte| *byte == b':')?;
    let length: usize = std::str::from_utf8(serialised.get(..colon)?).ok()?.parse().ok()?;
    let text = serialised.get(colon + 1..)?.strip_prefix(b"\"")?.strip_suffix(b"\";")?;
    Some(text).filter(|text| text.len() == length)
}

/// The prefix of the only application that is found.
fn prefix_of(redis: &mut Redis) -> Result<String, Failure> {
    let keys = redis.keys(&format!("*{QUEUES}*"))?;
    let keys = keys.into_keys().filter_map(|key| String::from_utf8(key).ok());
    let prefixes: BTreeSet<String> =
        keys.filter_map(|key| key.split_once(QUEUES).map(|(prefix, _)| prefix.to_owned())).collect();
    let mut prefixes = prefixes.into_iter().filter(|prefix| !prefix.starts_with(STAGED));
    match (prefixes.next(), prefixes.next()) {
        (first, None) => Ok(first.unwrap_or_default()),
        (first, second) => {
            let both: Vec<String> = first.into_iter().chain(second).chain(prefixes).collect();
            let message = format!("several applications have queues: choose one with --prefix, of {both:?}");
            Err(Failure::new(Exit::Usage, message))
        }
    }
}

impl Layout for Laravel {
    fn places(&mut self, redis: &mut Redis) -> Result<Vec<Place>, Failure> {
        let mut places = Vec::new();
        for queue in self.found(redis)? {
            for (ending, order, state) in [
                ("", Order::Head, State::Waiting),
                (DELAYED, Order::Scores, State::Delayed),
                (RESERVED, Order::Scores, State::Held),
            ] {
                let key = self.key(&queue, ending);
                places.push(Place { key, order, state, queue: queue.clone() });
            }
        }
        redis.existing(places)
    }

    fn look(&mut self, redis: &mut Redis, place: &Place, entries: &[Entry]) -> Result<Vec<Found>, Failure> {
        let now_ms = redis.now_ms()?;
        let found = entries.iter().map(|entry| self.job(place, entry, now_ms));
        Ok(found.map(|found| found.unwrap_or_else(Found::Stays)).collect())
    }

    fn claim(&self, place: &Place) -> Claim {
        let notify = self.key(&place.queue, NOTIFY);
        let (script, keys) = match place.order {
            Order::Scores => (include_str!("lua/zset.lua"), vec![place.key.clone()]),
            _ => (include_str!("lua/list.lua"), vec![place.key.clone(), notify]),
        };
        Claim { script, keys, arguments: Vec::new() }
    }

    fn absent(&self) -> String {
        format!("there are no queues of Laravel: no keys {}{QUEUES}NAME", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_serialised_payload_is_unwrapped() {
        assert_eq!(payload(b"{}"), Some(b"{}".as_slice()));
        assert_eq!(payload(b"s:2:\"{}\";"), Some(b"{}".as_slice()));
        assert_eq!(payload(b"s:3:\"{}\";"), None);
        assert_eq!(payload(b"s:x"), None);
    }

    #[test]
    fn a_queue_in_braces_is_a_topic_without_them() {
        assert_eq!(topic_of("{high}").map(|topic| topic.as_str().to_owned()), Ok("high".to_owned()));
        assert_eq!(topic_of("a:delayed").map(|topic| topic.as_str().to_owned()), Ok("a:delayed".to_owned()));
        assert!(topic_of("two words").is_err());
    }
}
