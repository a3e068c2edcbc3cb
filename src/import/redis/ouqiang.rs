//! The jobs of `ouqiang/delay-queue`.
//!
//! A job is a value under its bare id. Its id stands in a sorted set, a bucket, by its due time in seconds; then in the list of its
//! topic; and while a consumer has it, in a bucket again, by the end of its time to run.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_bytes::ByteBuf;

use super::place::{Entry, Found, FoundJob, Order, Place, State, Unit, due};
use super::server::{Redis, literal};
use super::takeover::{Claim, Layout, STAGED, sha1};
use crate::exit::{Exit, Failure};
use adjourn_http::job_with_id;
use adjourn_protocol::NewJob;
use adjourn_types::limits::TTR_MS_MAX;

/// While its server runs, a job that is due within this time, in milliseconds, is left to it: see `ouqiang.lua`.
const LEFT_MS: u64 = 5000;

/// The jobs of a database.
pub(super) struct Ouqiang {
    /// What stands before and behind the number of a bucket, and the name of a topic.
    bucket: (String, String),
    ready: (String, String),
    stopped: bool,
    buckets: Vec<Vec<u8>>,
    now_ms: u64,
    /// The ids that stand in a bucket or a list.
    seen: BTreeSet<Vec<u8>>,
}

/// A job as it stands in Redis: MessagePack with the names of fields of version 0.4, or of 0.2 and 0.3, or JSON of version 0.1.
#[derive(Debug, Deserialize)]
struct Stored {
    #[serde(rename = "1", alias = "Topic", alias = "topic")]
    topic: String,
    #[serde(rename = "2", alias = "Id", alias = "id")]
    id: String,
    /// When it is due, in seconds since 1970.
    #[serde(rename = "3", alias = "Delay", alias = "delay")]
    due_s: i64,
    #[serde(rename = "4", alias = "TTR", alias = "ttr")]
    ttr_s: i64,
    #[serde(rename = "5", alias = "Body", alias = "body")]
    body: ByteBuf,
}

impl Stored {
    fn read(value: &[u8]) -> Option<Self> {
        if value.first() == Some(&b'{') {
            serde_json::from_slice(value).ok()
        } else {
            rmp_serde::from_slice(value).ok()
        }
    }
}

/// The least of the times at which a job stands in buckets, in seconds.
fn least(scores: &[String]) -> Option<f64> {
    scores.iter().filter_map(|score| score.parse::<f64>().ok()).min_by(f64::total_cmp)
}

impl Ouqiang {
    pub(super) fn new(bucket_name: &str, queue_name: &str, stopped: bool) -> Result<Self, Failure> {
        let split = |pattern: &str, place: &str| {
            let parts =
                pattern.split_once(place).map(|(before, behind)| (before.to_owned(), behind.to_owned()));
            parts.ok_or_else(|| Failure::new(Exit::Usage, format_args!("{pattern:?} has no {place}")))
        };
        let (bucket, ready) = (split(bucket_name, "%d")?, split(queue_name, "%s")?);
        Ok(Self { bucket, ready, stopped, buckets: Vec::new(), now_ms: 0, seen: BTreeSet::new() })
    }

    fn found(&self, place: &Place, entry: &Entry, value: Option<&[u8]>, least_s: Option<f64>) -> Found {
        let is_lost = place.state == State::Held;
        let stored = match (value, value.and_then(Stored::read)) {
            // It was deleted: its server passes over it.
            (None, _) if !is_lost => return Found::Nothing,
            (Some(value), Some(stored)) if stored.id.as_bytes() == entry.name => (value, stored),
            // Any other key.
            _ if is_lost => return Found::Nothing,
            _ => return Found::stays("its key has no job of this queue"),
        };
        let (value, stored) = stored;
        #[expect(clippy::cast_precision_loss, reason = "times in seconds have fewer bits than a float holds")]
        let (due_s, soon_s) = (stored.due_s as f64, (self.now_ms + LEFT_MS) as f64 / 1000.0);
        let due_s = match (place.state, least_s) {
            (State::Waiting, _) => due_s,
            (_, Some(least_s)) if self.stopped || (soon_s <= least_s && least_s <= due_s) => {
                due_s.max(least_s)
            }
            (_, None) if self.stopped => due_s,
            _ => return Found::Held,
        };
        let found = due(&due_s.to_string(), Unit::S, self.now_ms).and_then(|due| {
            let ttr_s = u64::try_from(stored.ttr_s).unwrap_or(0);
            let (topic, job) = job_with_id(&stored.topic, &stored.id, ttr_s, stored.body.into_vec())?;
            let read = vec![entry.name.clone(), sha1(value), stored.due_s.to_string().into()];
            let job = NewJob { due, ttr_ms: job.ttr_ms.min(TTR_MS_MAX), ..job };
            Ok(FoundJob { topic, job, read })
        });
        found.map_or_else(Found::Stays, |found| Found::Job(Box::new(found)))
    }
}

impl Layout for Ouqiang {
    fn places(&mut self, redis: &mut Redis) -> Result<Vec<Place>, Failure> {
        self.seen.clear();
        let mut keys = |(before, behind): &(String, String), kind: &str| {
            let keys = redis.keys(&format!("{}*{}", literal(before), literal(behind)))?.into_iter();
            let of_kind = keys.filter(|(key, found)| found == kind && !key.starts_with(STAGED.as_bytes()));
            Ok::<Vec<Vec<u8>>, Failure>(of_kind.map(|(key, _)| key).collect())
        };
        let is_number = |key: &Vec<u8>| {
            let number = key.strip_prefix(self.bucket.0.as_bytes());
            let number = number.and_then(|rest| rest.strip_suffix(self.bucket.1.as_bytes()));
            number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
        };
        self.buckets = keys(&self.bucket, "zset")?.into_iter().filter(is_number).collect();
        let place = |key, order, state| Place { key, order, state, queue: String::new() };
        let ready = keys(&self.ready, "list")?.into_iter();
        let mut places: Vec<Place> = ready.map(|key| place(key, Order::Head, State::Waiting)).collect();
        let buckets = self.buckets.iter().cloned();
        places.extend(buckets.map(|key| place(key, Order::Scores, State::Delayed)));
        if self.stopped {
            // A job that its server had between a list and a bucket stands in neither.
            places.push(place(b"*".to_vec(), Order::Keys, State::Held));
        }
        Ok(places)
    }

    fn look(&mut self, redis: &mut Redis, place: &Place, entries: &[Entry]) -> Result<Vec<Found>, Failure> {
        self.now_ms = redis.now_ms()?;
        let mut values = redis::pipe();
        for entry in entries {
            values.cmd("GET").arg(&entry.name);
        }
        let values: Vec<Option<Vec<u8>>> = redis.ask_each(&mut values)?;
        let scores = redis.scores(&self.buckets, entries)?;
        let mut found = Vec::new();
        for ((entry, value), scores) in entries.iter().zip(&values).zip(&scores) {
            // An id may stand in several places.
            let is_new = self.seen.insert(entry.name.clone());
            found.push(if is_new {
                self.found(place, entry, value.as_deref(), least(scores))
            } else {
                Found::Nothing
            });
        }
        Ok(found)
    }

    fn claim(&self, place: &Place) -> Claim {
        let list = if place.state == State::Waiting { place.key.clone() } else { Vec::new() };
        let keys = std::iter::once(list).chain(self.buckets.iter().cloned()).collect();
        let stopped = if self.stopped { "1" } else { "0" };
        Claim { script: include_str!("lua/ouqiang.lua"), keys, arguments: vec![stopped.into()] }
    }

    fn absent(&self) -> String {
        let ((before, behind), (first, last)) = (&self.bucket, &self.ready);
        format!(
            "there are no jobs of ouqiang's queue: no keys {before}1{behind} or {first}TOPIC{last}; its default database is 1, as in redis://10.0.0.5/1"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_all_versions_are_read() {
        let of = |value: &[u8]| {
            let job = Stored::read(value).expect("a job");
            (job.topic, job.id, job.due_s, job.ttr_s, job.body.into_vec())
        };
        let expected = ("orders".to_owned(), "o-1".to_owned(), 1_796_043_130, 120, b"{}".to_vec());
        let of_4 = b"\x85\xa11\xa6orders\xa12\xa3o-1\xa13\xcek\rq\x7a\xa14x\xa15\xa2{}";
        let of_3 = b"\x85\xa5Topic\xa6orders\xa2Id\xa3o-1\xa5Delay\xcek\rq\x7a\xa3TTRx\xa4Body\xa2{}";
        let of_1 = br#"{"topic":"orders","id":"o-1","delay":1796043130,"ttr":120,"body":"{}"}"#;
        for value in [of_4.as_slice(), of_3, of_1] {
            assert_eq!(of(value), expected);
        }
        let no_text = b"\x85\xa11\xa1t\xa12\xa1i\xa13\x01\xa14\x01\xa15\xa2\xff\x00";
        assert_eq!(of(no_text).4, b"\xff\x00");
        assert!(Stored::read(b"\x01").is_none() && Stored::read(b"").is_none());
    }
}
