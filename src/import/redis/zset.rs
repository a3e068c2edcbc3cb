//! A sorted set by time, which programs poll.

use redis::cmd;

use super::place::{Entry, Found, FoundJob, Order, Place, State, Unit, due};
use super::server::Redis;
use super::takeover::{Claim, Layout, sha1};
use crate::exit::{Exit, Failure};
use adjourn_protocol::NewJob;
use adjourn_types::{Key, TopicName};

/// A score below this one is taken for seconds: as milliseconds it would be of the year 1973, as seconds it is of 5138.
const MILLIS_FROM: f64 = 1e11;

/// A sorted set whose members are bodies, or ids of bodies in a hash.
pub(super) struct Zset {
    key: Vec<u8>,
    hash: Option<Vec<u8>>,
    topic: TopicName,
    unit: Unit,
}

impl Zset {
    pub(super) fn new(
        redis: &mut Redis,
        key: &str,
        hash: Option<&str>,
        topic: TopicName,
        unit: Option<Unit>,
    ) -> Result<Self, Failure> {
        let unit = match unit {
            Some(unit) => unit,
            None if exists(redis, key.as_bytes())? => unit_of(redis, key)?,
            None => Unit::S,
        };
        Ok(Self { key: key.into(), hash: hash.map(Into::into), topic, unit })
    }

    fn job(&self, entry: &Entry, body: Option<Vec<u8>>, now_ms: u64) -> Result<Found, String> {
        let mut read = vec![entry.name.clone(), entry.score.clone().into()];
        let mut job = NewJob::new(entry.name.clone());
        if self.hash.is_some() {
            let body = body.ok_or("the hash has no body for it")?;
            read.push(sha1(&body));
            job.key = Some(Key::new(entry.name.clone().into()).map_err(|error| error.to_string())?);
            job.body = body.into();
        }
        job.due = due(&entry.score, self.unit, now_ms)?;
        Ok(Found::Job(Box::new(FoundJob { topic: self.topic.clone(), job, read })))
    }
}

impl Layout for Zset {
    fn places(&mut self, redis: &mut Redis) -> Result<Vec<Place>, Failure> {
        let place = Place {
            key: self.key.clone(),
            order: Order::Scores,
            state: State::Delayed,
            queue: String::new(),
        };
        Ok(if exists(redis, &self.key)? { vec![place] } else { Vec::new() })
    }

    fn look(&mut self, redis: &mut Redis, _: &Place, entries: &[Entry]) -> Result<Vec<Found>, Failure> {
        let now_ms = redis.now_ms()?;
        let mut bodies = redis::pipe();
        if let Some(hash) = &self.hash {
            for entry in entries {
                bodies.cmd("HGET").arg(hash).arg(&entry.name);
            }
        }
        let bodies: Vec<Option<Vec<u8>>> = redis.ask_each(&mut bodies)?;
        let bodies = bodies.into_iter().chain(std::iter::repeat(None));
        let found = entries.iter().zip(bodies).map(|(entry, body)| self.job(entry, body, now_ms));
        Ok(found.map(|found| found.unwrap_or_else(Found::Stays)).collect())
    }

    fn claim(&self, place: &Place) -> Claim {
        let keys = std::iter::once(place.key.clone()).chain(self.hash.clone()).collect();
        Claim { script: include_str!("lua/zset.lua"), keys, arguments: Vec::new() }
    }

    fn absent(&self) -> String {
        format!(
            "there is no {}: Redis removes a sorted set without members",
            String::from_utf8_lossy(&self.key)
        )
    }
}

/// Whether there is this sorted set.
fn exists(redis: &mut Redis, key: &[u8]) -> Result<bool, Failure> {
    match redis.ask::<String>(cmd("TYPE").arg(key))?.as_str() {
        "zset" => Ok(true),
        "none" => Ok(false),
        other => {
            let key = String::from_utf8_lossy(key);
            Err(Failure::new(Exit::Usage, format_args!("{key} is a {other}, no sorted set")))
        }
    }
}

/// The unit that all times of a sorted set look like.
fn unit_of(redis: &mut Redis, key: &str) -> Result<Unit, Failure> {
    let mut unit = None;
    for (command, from, to) in [("ZRANGEBYSCORE", "(0", "(inf"), ("ZREVRANGEBYSCORE", "(inf", "(0")] {
        let mut ask = cmd(command);
        ask.arg(key).arg(from).arg(to).arg("WITHSCORES").arg("LIMIT").arg(0).arg(1);
        let found: Vec<(Vec<u8>, f64)> = redis.ask(&ask)?;
        for (_, score) in found {
            let this = if score < MILLIS_FROM { Unit::S } else { Unit::Ms };
            if unit.is_some_and(|other| other != this) {
                return Err(Failure::new(
                    Exit::Usage,
                    format_args!(
                        "some scores of {key} look like seconds, others like milliseconds: say which with --unit"
                    ),
                ));
            }
            unit = Some(this);
        }
    }
    Ok(unit.unwrap_or(Unit::S))
}
