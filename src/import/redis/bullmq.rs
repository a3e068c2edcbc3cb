//! The queues of BullMQ, and of Bull, its ancestor.
//!
//! A job is a hash `PREFIX:QUEUE:ID`; its id stands in the sorted set `delayed` or `prioritized`, or in the list `wait`, `paused` or
//! `active`, whose next job is the last element. The score in `delayed` is the due time in milliseconds times 4096, and a counter.

use std::collections::{BTreeMap, BTreeSet};

use redis::cmd;
use serde::Deserialize;
use serde_json::Value;

use super::place::{Entry, Found, FoundJob, Order, Place, State, Unit, due, topic_named};
use super::server::{Redis, literal};
use super::takeover::{Claim, Layout, sha1};
use crate::exit::Failure;
use adjourn_protocol::NewJob;
use adjourn_types::limits::{BACKOFF_LIST_MAX, PRIORITY_DEFAULT, PRIORITY_UNSAID};
use adjourn_types::{Attributes, AttributesBuilder, Backoff, BackoffCurve, CONTENT_TYPE, Key, When};

/// Where ids stand, in the order in which they are taken.
const PLACES: [(&str, Order, State); 5] = [
    ("wait", Order::Tail, State::Waiting),
    ("paused", Order::Tail, State::Waiting),
    ("prioritized", Order::Scores, State::Waiting),
    ("delayed", Order::Scores, State::Delayed),
    ("active", Order::Tail, State::Held),
];
/// The fields of a job's hash that are read.
const FIELDS: [&str; 10] =
    ["data", "name", "opts", "priority", "atm", "attemptsMade", "rjk", "parentKey", "gid", "deid"];
/// The longest wait between attempts that a job gets here, in milliseconds.
const BACKOFF_MS_MAX: u32 = 30 * 86_400_000;
const SCHEDULED: &str = "it is the next run of a repeated job: make a schedule here, then remove it there";
const KEEPS_THE_NEXT: &str = "its deduplication keeps a next job until a worker has ended this one";
const IN_A_FLOW: &str = "it belongs to a flow, whose parents wait for the results of their children";

/// The queues behind a prefix.
pub(super) struct Bullmq {
    prefix: String,
    /// Only these; all, if none is named.
    queues: Vec<String>,
    stopped: bool,
    /// The queues of Bull, where a job without a priority comes last.
    of_bull: BTreeMap<String, bool>,
}

/// The options of a job, as far as they matter here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Options {
    attempts: Option<f64>,
    /// A number, or an object with a type, a delay and a jitter.
    backoff: Option<Value>,
    repeat: Option<Value>,
}

/// What Redis has of a job beside its id.
struct Hash<'a>(&'a [Option<Vec<u8>>]);

impl Hash<'_> {
    fn bytes(&self, name: &str) -> Option<&[u8]> {
        let place = FIELDS.iter().position(|field| *field == name)?;
        self.0.get(place)?.as_deref()
    }

    fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.bytes(name)?).ok()
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.text(name)?.parse().ok()
    }
}

impl Bullmq {
    pub(super) fn new(prefix: String, queues: Vec<String>, stopped: bool) -> Self {
        Self { prefix, queues, stopped, of_bull: BTreeMap::new() }
    }

    fn key(&self, queue: &str, ending: &str) -> Vec<u8> {
        format!("{}:{queue}:{ending}", self.prefix).into()
    }

    /// The names of its queues.
    fn found(&self, redis: &mut Redis) -> Result<BTreeSet<String>, Failure> {
        if !self.queues.is_empty() {
            return Ok(self.queues.iter().cloned().collect());
        }
        let before = format!("{}:", self.prefix);
        let keys = redis.keys(&format!("{}*", literal(&before)))?;
        let names = keys.into_iter().filter_map(|(key, kind)| {
            let key = String::from_utf8(key).ok()?;
            // A queue of Bull may have a colon in its name, and so may a job.
            let (name, ending) = key.strip_prefix(&before)?.rsplit_once(':')?;
            let is_place = PLACES.iter().any(|(place, order, _)| *place == ending && order.kind() == kind);
            is_place.then(|| name.to_owned())
        });
        Ok(names.collect())
    }

    fn job(
        &self,
        place: &Place,
        entry: &Entry,
        hash: &Hash<'_>,
        is_flow: bool,
        now_ms: u64,
    ) -> Result<Found, String> {
        // Both skip an id without a job.
        let Some(data) = hash.bytes("data") else { return Ok(Found::Nothing) };
        let options: Options = match hash.text("opts") {
            Some(text) => serde_json::from_str(text).map_err(|_| "its options are none of BullMQ")?,
            None => Options::default(),
        };
        if hash.bytes("rjk").is_some() || options.repeat.is_some() || entry.name.starts_with(b"repeat:") {
            return Err(SCHEDULED.to_owned());
        }
        if is_flow || hash.bytes("parentKey").is_some() {
            return Err(IN_A_FLOW.to_owned());
        }
        let due = match place.state {
            State::Delayed => due(&due_ms(&entry.score)?, Unit::Ms, now_ms)?,
            State::Waiting | State::Held => When::After(0),
        };
        let is_bull = self.of_bull.get(&place.queue) == Some(&true);
        let job = NewJob {
            due,
            priority: priority(hash.number("priority").unwrap_or(0), is_bull),
            key: key_of(&entry.name)?,
            attributes: attributes(hash, &options, is_bull)?,
            ..NewJob::new(data.to_vec())
        };
        let topic = topic_named(&place.queue)?;
        let read = vec![entry.name.clone(), entry.score.clone().into(), sha1(data)];
        Ok(Found::Job(Box::new(FoundJob { topic, job, read })))
    }
}

fn priority(priority: u32, is_bull: bool) -> u32 {
    match priority {
        0 => PRIORITY_UNSAID,
        // There it comes before all jobs without a priority, here before those of the default one.
        priority if is_bull => priority.min(PRIORITY_DEFAULT - 1),
        priority => PRIORITY_DEFAULT.saturating_add(priority).min(PRIORITY_UNSAID - 1),
    }
}

/// The due time in a score of `delayed`, in milliseconds.
fn due_ms(score: &str) -> Result<String, String> {
    let score: f64 = score.parse().map_err(|_| format!("its score is {score:?}"))?;
    Ok((score / 4096.0).floor().to_string())
}

/// The key of a job whose id somebody has chosen. One that the old queue has counted is none: another queue has the same.
fn key_of(id: &[u8]) -> Result<Option<Key>, String> {
    if id.iter().all(u8::is_ascii_digit) {
        return Ok(None);
    }
    Key::new(id.to_vec().into()).map(Some).map_err(|error| error.to_string())
}

/// A number that may have any size.
fn whole(number: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is brought within its range"
    )]
    let whole = number.clamp(0.0, f64::from(u32::MAX)) as u32;
    whole
}

impl Options {
    /// The waits after this many failed attempts, if so many attempts are left, at least one.
    fn waits(&self, made: u32, left: u32, is_bull: bool) -> Backoff {
        let wait_ms = |delay_ms: f64| whole(delay_ms).min(BACKOFF_MS_MAX);
        let power = |nth: u32| f64::from(nth.min(31)).exp2();
        let said = self.backoff.as_ref();
        let number = |name: &str| said.and_then(|said| said.get(name)).and_then(Value::as_f64);
        let delay_ms = said.and_then(Value::as_f64).or_else(|| number("delay")).unwrap_or(0.0);
        // The part of a wait by which it may be shorter.
        let jitter = number("jitter").unwrap_or(0.0);
        // A kind of its program's own has its delay here.
        let is_exponential = said.and_then(|said| said.get("type")).is_some_and(|kind| kind == "exponential");
        let curve = match (is_exponential, is_bull) {
            (false, _) => BackoffCurve::Fixed(wait_ms(delay_ms)),
            (true, false) => BackoffCurve::Exponential {
                first_ms: wait_ms(delay_ms * power(made)),
                max_ms: BACKOFF_MS_MAX,
            },
            (true, true) => {
                let waits = u32::try_from(BACKOFF_LIST_MAX).unwrap_or(1).min(left.saturating_sub(1)).max(1);
                let wait_ms = |nth: u32| wait_ms(delay_ms * (power(made + nth) - 1.0));
                BackoffCurve::List((1..=waits).map(wait_ms).collect())
            }
        };
        let jitter_percent = u8::try_from(whole((jitter * 100.0).min(100.0))).unwrap_or(0);
        Backoff { curve, jitter_percent }
    }
}

fn attributes(hash: &Hash<'_>, options: &Options, is_bull: bool) -> Result<Attributes, String> {
    let made = hash.number("atm").or_else(|| hash.number("attemptsMade")).unwrap_or(0);
    let left = whole(options.attempts.unwrap_or(1.0)).max(1).saturating_sub(made).max(1);
    let backoff = options.waits(made, left, is_bull);
    let mut builder = AttributesBuilder::default().header(CONTENT_TYPE, "application/json");
    if let Some(name) = hash.text("name") {
        builder = builder.header("name", name);
    }
    if let Some(group) = hash.text("gid") {
        builder = builder.group(group);
    }
    let builder = builder.attempts_max(left).backoff(&backoff);
    builder.build().map_err(|error| error.to_string())
}

impl Layout for Bullmq {
    fn places(&mut self, redis: &mut Redis) -> Result<Vec<Place>, Failure> {
        let mut places = Vec::new();
        for queue in self.found(redis)? {
            let mut meta = redis::pipe();
            for field in ["version", "opts.maxLenEvents"] {
                meta.cmd("HGET").arg(self.key(&queue, "meta")).arg(field);
            }
            let meta: Vec<Option<Vec<u8>>> = redis.ask_each(&mut meta)?;
            // BullMQ before its version 4 served priorities as Bull does, from the same set.
            let is_bull =
                meta.iter().all(Option::is_none) || redis.is(&self.key(&queue, "priority"), Order::Scores)?;
            self.of_bull.insert(queue.clone(), is_bull);
            for (ending, order, state) in PLACES {
                let key = self.key(&queue, ending);
                places.push(Place { key, order, state, queue: queue.clone() });
            }
        }
        redis.existing(places)
    }

    fn look(&mut self, redis: &mut Redis, place: &Place, entries: &[Entry]) -> Result<Vec<Found>, Failure> {
        let now_ms = redis.now_ms()?;
        let (mut hashes, mut beside) = (redis::pipe(), redis::pipe());
        for entry in entries {
            let key = [self.key(&place.queue, ""), entry.name.clone()].concat();
            let with = |ending: &[u8]| [key.as_slice(), ending].concat();
            hashes.cmd("HMGET").arg(&key).arg(&FIELDS);
            beside.cmd("EXISTS").arg(with(b":dependencies")).arg(with(b":processed"));
            beside.cmd("EXISTS").arg(with(b":lock"));
        }
        let hashes: Vec<Option<Vec<Option<Vec<u8>>>>> = redis.ask_each(&mut hashes)?;
        let beside: Vec<Option<u64>> = redis.ask_each(&mut beside)?;
        let mut all = Vec::new();
        for ((entry, hash), beside) in entries.iter().zip(&hashes).zip(beside.chunks(2)) {
            let exists = |nth: usize| beside.get(nth).is_some_and(|found| found.unwrap_or(0) > 0);
            let hash = Hash(hash.as_deref().unwrap_or_default());
            let keeps_the_next = match hash.bytes("deid") {
                Some(id) => {
                    redis.ask(cmd("EXISTS").arg([self.key(&place.queue, "dn:"), id.to_vec()].concat()))?
                }
                None => false,
            };
            all.push(if place.state == State::Held && (!self.stopped || exists(1)) {
                Found::Held
            } else if keeps_the_next {
                Found::stays(KEEPS_THE_NEXT)
            } else {
                self.job(place, entry, &hash, exists(0), now_ms).unwrap_or_else(Found::Stays)
            });
        }
        Ok(all)
    }

    fn claim(&self, place: &Place) -> Claim {
        let kind = match (place.state, place.order) {
            (State::Held, _) => "active",
            (_, Order::Scores) => "set",
            _ => "list",
        };
        let arguments = vec![self.key(&place.queue, ""), kind.into()];
        Claim { script: include_str!("lua/bullmq.lua"), keys: vec![place.key.clone()], arguments }
    }

    fn absent(&self) -> String {
        format!("there are no queues with jobs: no keys {}:NAME:delayed or :wait", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_has_its_time_above_a_counter() {
        assert_eq!(due_ms("7782400000000003").as_deref(), Ok("1900000000000"));
        assert_eq!(due_ms("7356590911056896").as_deref(), Ok("1796042702894"));
    }

    #[test]
    fn a_backoff_goes_on_where_it_was() {
        let of = |json: &str, made, is_bull| {
            let options: Options = serde_json::from_str(&format!("{{\"backoff\":{json}}}")).expect("options");
            options.waits(made, 3, is_bull)
        };
        let exponential = r#"{"type":"exponential","delay":1000,"jitter":0.5}"#;
        let backoff = of(exponential, 2, false);
        assert_eq!((backoff.wait_ms(1), backoff.wait_ms(2), backoff.jitter_percent), (4000, 8000, 50));
        let backoff = of(exponential, 1, true);
        assert_eq!(backoff.curve, BackoffCurve::List(vec![3000, 7000]));
        assert_eq!(of("500", 2, true).curve, BackoffCurve::Fixed(500));
        for odd in [r#"{"type":"own"}"#, r#"{"delay":null}"#, "\"500\"", "false", "null", "[]"] {
            assert_eq!(of(odd, 0, false), Backoff::NONE, "{odd}");
        }
        assert_eq!(of("1e300", 0, false).curve, BackoffCurve::Fixed(BACKOFF_MS_MAX));
    }

    #[test]
    fn only_an_id_that_was_chosen_becomes_a_key() {
        assert_eq!(key_of(b"17"), Ok(None));
        assert_eq!(
            key_of(b"order-17").map(|key| key.map(|key| key.as_str().to_owned())),
            Ok(Some("order-17".to_owned()))
        );
        assert!(key_of(b"a\nb").is_err());
    }
}
