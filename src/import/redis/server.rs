//! A Redis server, as far as an import needs it.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::{
    Client, Cmd, Connection, ErrorKind, FromRedisValue, IntoConnectionInfo as _, Pipeline, ProtocolVersion,
    RedisError, RedisResult, ServerErrorKind, cmd,
};

use super::place::{Entry, Order, Page, Place};
use super::takeover::STAGED;
use crate::exit::{Exit, Failure};

/// A server that does not answer within this time counts as lost.
const ANSWER_MAX: Duration = Duration::from_mins(1);
/// Entries of a place that are read together.
const PAGE: u64 = 256;

/// Where a scan goes on, and what it has found.
type Scanned<T> = (u64, Vec<T>);

/// A connection to Redis.
pub(super) struct Redis {
    connection: Connection,
    address: String,
}

impl Redis {
    pub(super) fn connect(url: &str) -> Result<Self, Failure> {
        // In the newer protocol, commands and scripts show a score in different digits.
        let info = url.into_connection_info().map(|info| {
            let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2);
            info.set_redis_settings(settings)
        });
        let client = info.and_then(Client::open).map_err(|error| {
            let advice = "expected a URL such as redis://127.0.0.1:6379/0, rediss:// for TLS";
            Failure::new(Exit::Usage, format_args!("{error}: {advice}"))
        })?;
        let address = client.get_connection_info().addr().to_string();
        let connection = client.get_connection_with_timeout(ANSWER_MAX).and_then(|connection| {
            connection.set_read_timeout(Some(ANSWER_MAX))?;
            connection.set_write_timeout(Some(ANSWER_MAX))?;
            Ok(connection)
        });
        let connection = connection.map_err(|error| {
            Failure::new(Exit::Unreachable, format_args!("cannot connect to Redis at {address}: {error}"))
        })?;
        Ok(Self { connection, address })
    }

    /// The answer to a command.
    pub(super) fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, Failure> {
        let answer = command.query(&mut self.connection);
        answer.map_err(|error| self.failure(&error))
    }

    /// The answers to commands that read keys; `None` for a key of another type, and for one that does not exist.
    pub(super) fn ask_each<T: FromRedisValue>(
        &mut self,
        commands: &mut Pipeline,
    ) -> Result<Vec<Option<T>>, Failure> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let answers: RedisResult<Vec<RedisResult<Option<T>>>> =
            commands.ignore_errors().query(&mut self.connection);
        let answers = answers.map_err(|error| self.failure(&error))?;
        let answers = answers.into_iter().map(|answer| match answer {
            Err(error) if error.code() == Some("WRONGTYPE") => Ok(None),
            answer => answer.map_err(|error| self.failure(&error)),
        });
        answers.collect()
    }

    fn failure(&self, error: &RedisError) -> Failure {
        if error.is_timeout() {
            let message = format!("Redis at {} does not answer within a minute", self.address);
            return Failure::new(Exit::Refused, message);
        }
        let advice = match error.kind() {
            ErrorKind::Server(ServerErrorKind::Moved) => ": import from each master of the cluster",
            ErrorKind::Server(ServerErrorKind::ReadOnly) => ": import from its master",
            _ => "",
        };
        Failure::new(Exit::Refused, format_args!("Redis at {}: {error}{advice}", self.address))
    }

    /// Its time, in milliseconds since 1970.
    pub(super) fn now_ms(&mut self) -> Result<u64, Failure> {
        let (seconds, micros): (u64, u64) = self.ask(&cmd("TIME"))?;
        Ok(seconds * 1000 + micros / 1000)
    }

    /// The lists of imports.
    pub(super) fn staged(&mut self) -> Result<Vec<Vec<u8>>, Failure> {
        let keys = self.keys(&format!("{STAGED}*"))?.into_iter();
        Ok(keys.filter(|(_, kind)| kind == "list").map(|(key, _)| key).collect())
    }

    /// The keys that match a pattern, with their types.
    pub(super) fn keys(&mut self, pattern: &str) -> Result<BTreeMap<Vec<u8>, String>, Failure> {
        let (mut keys, mut cursor) = (BTreeMap::new(), 0_u64);
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(1000);
            let (next, found): Scanned<Vec<u8>> = self.ask(&scan)?;
            let kinds = self.kinds(&found)?;
            keys.extend(found.into_iter().zip(kinds));
            cursor = next;
            if cursor == 0 {
                return Ok(keys);
            }
        }
    }

    /// Whether there is a key of the type that this order has.
    pub(super) fn is(&mut self, key: &[u8], order: Order) -> Result<bool, Failure> {
        Ok(self.kinds(&[key.to_vec()])? == [order.kind()])
    }

    /// Those places that are there.
    pub(super) fn existing(&mut self, places: Vec<Place>) -> Result<Vec<Place>, Failure> {
        let keys: Vec<Vec<u8>> = places.iter().map(|place| place.key.clone()).collect();
        let places = places.into_iter().zip(self.kinds(&keys)?);
        Ok(places.filter(|(place, kind)| place.order.kind() == kind).map(|(place, _)| place).collect())
    }

    fn kinds(&mut self, keys: &[Vec<u8>]) -> Result<Vec<String>, Failure> {
        let mut types = redis::pipe();
        for key in keys {
            types.cmd("TYPE").arg(key);
        }
        Ok(self.ask_each(&mut types)?.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// The scores that each of these entries has in sorted sets, where it is in one.
    pub(super) fn scores(
        &mut self,
        sets: &[Vec<u8>],
        entries: &[Entry],
    ) -> Result<Vec<Vec<String>>, Failure> {
        let mut scores = redis::pipe();
        for entry in entries {
            for set in sets {
                scores.cmd("ZSCORE").arg(set).arg(&entry.name);
            }
        }
        let scores: Vec<Option<String>> = self.ask_each(&mut scores)?;
        let mut of_each =
            scores.chunks(sets.len().max(1)).map(|scores| scores.iter().flatten().cloned().collect());
        Ok(entries.iter().map(|_| of_each.next().unwrap_or_default()).collect())
    }

    /// The next entries of a place. `at` is 0, or what the page before said.
    pub(super) fn page(&mut self, place: &Place, at: u64) -> Result<Page, Failure> {
        let key = &place.key;
        let (first, last) = (at, at + PAGE - 1);
        let unscored = |name| Entry { name, score: String::new() };
        let (entries, cursor) = match place.order {
            Order::Scores => {
                let members: Vec<(Vec<u8>, String)> =
                    self.ask(cmd("ZRANGE").arg(key).arg(first).arg(last).arg("WITHSCORES"))?;
                (members.into_iter().map(|(name, score)| Entry { name, score }).collect(), None)
            }
            Order::Head => {
                let names: Vec<Vec<u8>> = self.ask(cmd("LRANGE").arg(key).arg(first).arg(last))?;
                (names.into_iter().map(unscored).collect(), None)
            }
            Order::Tail => {
                let (first, last) = (format!("-{}", last + 1), format!("-{}", first + 1));
                let names: Vec<Vec<u8>> = self.ask(cmd("LRANGE").arg(key).arg(first).arg(last))?;
                (names.into_iter().rev().map(unscored).collect(), None)
            }
            Order::Fields => {
                let (cursor, fields): Scanned<(Vec<u8>, Vec<u8>)> =
                    self.ask(cmd("HSCAN").arg(key).arg(at).arg("COUNT").arg(PAGE))?;
                (fields.into_iter().map(|(name, _)| unscored(name)).collect(), Some(cursor))
            }
            Order::Keys => {
                let (cursor, keys): Scanned<Vec<u8>> =
                    self.ask(cmd("SCAN").arg(at).arg("COUNT").arg(PAGE))?;
                (keys.into_iter().map(unscored).collect(), Some(cursor))
            }
        };
        Ok(Page { entries, cursor })
    }

    /// The elements of a list.
    pub(super) fn list(&mut self, key: &[u8]) -> Result<Vec<Vec<u8>>, Failure> {
        self.ask(cmd("LRANGE").arg(key).arg(0).arg(-1))
    }

    /// Runs a script.
    pub(super) fn run(
        &mut self,
        script: &str,
        keys: &[Vec<u8>],
        arguments: &[Vec<u8>],
    ) -> Result<i64, Failure> {
        self.ask(cmd("EVAL").arg(script).arg(keys.len()).arg(keys).arg(arguments))
    }
}

/// A pattern of Redis that matches just this text.
pub(super) fn literal(text: &str) -> String {
    let escaped = |character: char| {
        if r"*?[]\^".contains(character) { format!("\\{character}") } else { character.into() }
    };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_its_text() {
        assert_eq!(literal("a*b[c]:"), r"a\*b\[c\]:");
    }
}
