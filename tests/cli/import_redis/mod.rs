//! `adjourn import redis`, with a real Redis. Its data have the form that the older queues write; `tests/redis` has those queues
//! themselves.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

mod queues;
mod sorted_sets;

use std::collections::BTreeMap;
use std::process::Command;

use redis::{Connection, FromRedisValue};
use serde_json::Value;

use self::queues::{add, packed};
use super::commands::Rig;
use super::import::{GUIDE, OtherQueue, jobs};
use crate::cluster::free_port;

/// A Redis of its own.
struct Redis {
    _process: OtherQueue,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Redis {
    /// Starts one; `None` if it is not installed.
    fn start() -> Option<Self> {
        let (address, folder) = (free_port(), tempfile::tempdir().expect("a folder"));
        let mut command = Command::new("redis-server");
        command.args(["--port", &address.port().to_string(), "--bind", "127.0.0.1"]);
        command.args(["--save", "", "--appendonly", "no"]).current_dir(folder.path());
        Some(Self {
            _process: OtherQueue::start(&mut command, address)?,
            port: address.port(),
            _folder: folder,
        })
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    fn connect(&self) -> Connection {
        redis::Client::open(self.url()).and_then(|client| client.get_connection()).expect("connected")
    }

    /// The answer to a command, whose words stand between spaces.
    fn say<T: FromRedisValue>(&self, command: &str) -> T {
        self.send(&command.split(' ').map(str::as_bytes).collect::<Vec<_>>())
    }

    fn send<T: FromRedisValue>(&self, words: &[&[u8]]) -> T {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command.query(&mut self.connect()).expect("an answer")
    }

    /// All keys.
    fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.say("KEYS *");
        keys.sort_unstable();
        keys
    }

    /// Seconds from now on, as a score.
    fn seconds(&self, ahead: i64) -> i64 {
        self.say::<(i64, i64)>("TIME").0 + ahead
    }
}

/// What `adjourn import redis` says, and its exit code.
fn import(rig: &Rig, redis: &Redis, arguments: &str) -> (Option<i32>, String) {
    let url = redis.url();
    let all: Vec<&str> = ["import", "redis", &url].into_iter().chain(arguments.split(' ')).collect();
    let ended = rig.run(&all, b"");
    (ended.code, ended.out + &ended.errors)
}

/// The jobs by their bodies.
fn by_body(rig: &Rig) -> BTreeMap<String, Value> {
    jobs(rig).into_iter().map(|job| (text(&job["body"]), job)).collect()
}

/// A body as text. One in JSON has its fields in the order of their names here.
fn text(body: &Value) -> String {
    body.as_str().map_or_else(|| body.to_string(), str::to_owned)
}

/// The bodies of the next jobs of a topic.
fn reserved(rig: &Rig, topic: &str, jobs: usize) -> Vec<String> {
    (0..jobs).map(|_| text(&rig.json(&["reserve", topic])["body"])).collect()
}

/// A time in milliseconds since 1970, as JSON shows it.
fn shown(due_s: i64) -> String {
    let time = jiff::Timestamp::from_second(due_s).expect("a time");
    format!("{time:.3}")
}

#[test]
fn the_guides_for_redis_are_typed_as_they_stand() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    let _: i64 = redis.say("ZADD delayed 1900000000 o-1");
    let _: i64 = redis.say("HSET bodies o-1 one");
    let _: i64 = redis.say("RPUSH laravel_database_queues:default {}");
    add(&redis, "1", &[]);
    let _: i64 = redis.say("LPUSH bull:mail:wait 1");
    let _: i64 = redis.say("HSET dq_job_info orders:p-1 {}");
    let _: i64 = redis.say("ZADD dq_bucket_0 1900000000 orders:p-1");
    let _: String = redis.send(&[b"SET", b"o-1", &packed("orders", "o-1", 1_900_000_000, 60, "one")]);
    let _: i64 = redis.say("ZADD dq_bucket_1 1900000000 o-1");
    let (mut counted, mut taken) = (0, 0);
    for command in GUIDE.lines().map(str::trim).filter(|line| line.starts_with("adjourn import redis")) {
        let (_, arguments) =
            command.split_once("redis://").and_then(|(_, rest)| rest.split_once(' ')).expect("a command");
        let (code, told) = import(&rig, &redis, arguments);
        if arguments.ends_with("--dry-run") {
            counted += usize::from(told.contains(" jobs due, "));
        } else if code == Some(0) && told.starts_with("took over 1 jobs") {
            taken += 1;
        } else {
            let is_last = arguments.ends_with("--stopped") && matches!(code, Some(0 | 3));
            assert!(is_last && !told.contains("stay"), "{command}: {told}");
        }
    }
    assert_eq!((counted, taken, jobs(&rig).len()), (5, 5, 5));
}
