//! The jobs of `chenlinzhong/php-delayqueue`.
//!
//! A hash has the bodies by `TOPIC:ID`. The same names stand in sorted sets by their due time in seconds, and then in lists until a
//! consumer takes one: then it is in the hash no longer.

use std::collections::BTreeSet;

use redis::cmd;
use serde::Deserialize;
use serde_json::Value;

use super::super::php_delayqueue::BACKOFF;
use super::place::{Entry, Found, FoundJob, Order, Place, State, Unit, due};
use super::server::{Redis, literal};
use super::takeover::{Claim, Layout, sha1};
use crate::exit::Failure;
use adjourn_http::escaped_topic;
use adjourn_json::values::backoff;
use adjourn_protocol::NewJob;
use adjourn_types::{Attributes, AttributesBuilder, Key, When};

/// Its lists, in the order in which consumers read them.
const READY: [&str; 4] = ["1ready_queue", "2ready_queue", "3ready_queue", "ready_queue"];

/// The jobs of one of its servers of Redis.
pub(super) struct PhpDelayqueue {
    prefix: String,
    stopped: bool,
    buckets: Vec<Vec<u8>>,
    /// Those that stand in a sorted set or a list.
    seen: BTreeSet<Vec<u8>>,
}

impl PhpDelayqueue {
    pub(super) fn new(prefix: String, stopped: bool) -> Self {
        Self { prefix, stopped, buckets: Vec::new(), seen: BTreeSet::new() }
    }

    fn key(&self, ending: &str) -> Vec<u8> {
        [&self.prefix, ending].concat().into()
    }
}

/// The field of a body that matters here. The others may be anything.
#[derive(Deserialize)]
struct Fields {
    /// How many attempts have failed.
    #[serde(rename = "exp_notify_nums")]
    failed: Option<Value>,
}

fn job(entry: &Entry, body: &[u8], due: When) -> Result<FoundJob, String> {
    let name = std::str::from_utf8(&entry.name).map_err(|_| "its name is no text")?;
    let (topic, id) = name.split_once(':').ok_or("its name has no topic")?;
    let topic = escaped_topic(topic).map_err(|error| error.to_string())?;
    let key = Key::new(id.to_owned().into()).map_err(|error| error.to_string())?;
    let fields: Option<Fields> = serde_json::from_slice(body).ok();
    let failed = fields.and_then(|fields| fields.failed);
    // PHP writes it as a number, or as a text.
    let failed =
        failed.and_then(|failed| failed.as_u64().or_else(|| failed.as_str()?.parse().ok())).unwrap_or(0);
    let attributes = rest(usize::try_from(failed).unwrap_or(usize::MAX))?;
    let job = NewJob { due, key: Some(key), attributes, ..NewJob::new(body.to_vec()) };
    Ok(FoundJob { topic, job, read: vec![entry.name.clone(), sha1(body)] })
}

/// The attempts, and the waits between them, that are left after some have failed. Before the first one they are those of the topic.
fn rest(failed: usize) -> Result<Attributes, String> {
    if failed == 0 {
        return Ok(Attributes::default());
    }
    let waits: Vec<&str> = BACKOFF.split(',').collect();
    let left = waits.get(failed..).unwrap_or_default();
    let attempts = u32::try_from(left.len()).unwrap_or(u32::MAX).saturating_add(1);
    let mut builder = AttributesBuilder::default().attempts_max(attempts);
    if !left.is_empty() {
        builder = builder.backoff(&backoff(&left.join(",")).map_err(|error| error.to_string())?);
    }
    builder.build().map_err(|error| error.to_string())
}

impl Layout for PhpDelayqueue {
    fn places(&mut self, redis: &mut Redis) -> Result<Vec<Place>, Failure> {
        self.seen.clear();
        let keys = redis.keys(&format!("{}*", literal(&self.prefix)))?;
        let is = |key: &[u8], kind: &str| keys.get(key).is_some_and(|found| found == kind);
        let place = |key, order, state| Place { key, order, state, queue: String::new() };
        let bucket = self.key("bucket_");
        let is_bucket = |key: &[u8]| {
            let number = key.strip_prefix(bucket.as_slice()).unwrap_or_default();
            !number.is_empty() && number.iter().all(u8::is_ascii_digit) && is(key, "zset")
        };
        self.buckets = keys.keys().filter(|key| is_bucket(key)).cloned().collect();
        let ready = READY.iter().map(|ready| self.key(ready)).filter(|key| is(key, "list"));
        let mut places: Vec<Place> = ready.map(|key| place(key, Order::Head, State::Waiting)).collect();
        let buckets = self.buckets.iter().cloned();
        places.extend(buckets.map(|key| place(key, Order::Scores, State::Delayed)));
        let bodies = self.key("job_info");
        if is(&bodies, "hash") {
            places.push(place(bodies, Order::Fields, State::Held));
        }
        Ok(places)
    }

    fn look(&mut self, redis: &mut Redis, place: &Place, entries: &[Entry]) -> Result<Vec<Found>, Failure> {
        let now_ms = redis.now_ms()?;
        let names: Vec<&[u8]> = entries.iter().map(|entry| entry.name.as_slice()).collect();
        let bodies: Vec<Option<Vec<u8>>> = if names.is_empty() {
            Vec::new()
        } else {
            redis.ask(cmd("HMGET").arg(self.key("job_info")).arg(names))?
        };
        let buckets = if place.state == State::Held { self.buckets.as_slice() } else { &[] };
        let scores = redis.scores(buckets, entries)?;
        let found = entries.iter().zip(bodies).zip(scores).map(|((entry, body), scores)| {
            let due = match place.state {
                // It stands elsewhere, too.
                State::Held if self.seen.contains(&entry.name) || !scores.is_empty() => {
                    return Found::Nothing;
                }
                State::Held if !self.stopped => return Found::Held,
                State::Held | State::Waiting => Ok(When::After(0)),
                State::Delayed => due(&entry.score, Unit::S, now_ms),
            };
            // It stands in a list and, for a moment, in a sorted set, too.
            if !self.seen.insert(entry.name.clone()) {
                return Found::Nothing;
            }
            // It was deleted: consumers pass over it.
            let Some(body) = body else { return Found::Nothing };
            let found = due.and_then(|due| job(entry, &body, due));
            found.map_or_else(Found::Stays, |found| Found::Job(Box::new(found)))
        });
        Ok(found.collect())
    }

    fn claim(&self, place: &Place) -> Claim {
        let keys = [self.key("job_info"), place.key.clone()].into_iter().chain(self.buckets.iter().cloned());
        let arguments = vec![place.order.kind().into()];
        Claim { script: include_str!("lua/php_delayqueue.lua"), keys: keys.collect(), arguments }
    }

    fn absent(&self) -> String {
        format!("there are no jobs of php-delayqueue: no keys {0}job_info or {0}bucket_0", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_attempts_count() {
        let of = |failed| {
            let policy = rest(failed).expect("attributes").policy();
            (policy.attempts_max, policy.backoff.map(|backoff| backoff.wait_ms(1)))
        };
        assert_eq!(of(0), (None, None));
        assert_eq!(of(1), (Some(11), Some(180_000)));
        assert_eq!(of(10), (Some(2), Some(1_260_000)));
        assert_eq!((of(11), of(99)), ((Some(1), None), (Some(1), None)));
    }

    #[test]
    fn a_name_is_split_at_its_first_colon() {
        let of = |name: &str| job(&Entry { name: name.into(), score: String::new() }, b"{}", When::After(0));
        let found = of("a b:c:1").expect("a job");
        assert_eq!(found.topic.as_str(), "a:20b");
        assert_eq!(found.job.key.as_ref().map(Key::as_str), Some("c:1"));
        assert!(of("alone").is_err());
    }
}
