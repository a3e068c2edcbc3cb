//! `adjourn import redis`, with a real Redis. Its data have the form that the older queues write; `tests/redis` has those queues
//! themselves.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::{Connection, FromRedisValue};
use serde_json::{Value, json};

use super::commands::Rig;
use super::import::{GUIDE, jobs, killed_until_done};
use crate::server_rig::adjourn;

/// A Redis of its own.
struct Redis {
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Redis {
    /// Starts one; `None` if it is not installed.
    fn start() -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("redis-server");
        command.args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ]);
        let Ok(process) = command.current_dir(folder.path()).stdout(Stdio::null()).spawn() else {
            assert!(std::env::var_os("ADJOURN_SKIP_NOTHING").is_none(), "redis-server is not installed");
            println!("skipped: redis-server is not installed");
            return None;
        };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {}
        Some(Self { process, port, _folder: folder })
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

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
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
fn a_sorted_set_whose_members_are_bodies() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    let far: i64 = redis.seconds(400_000_000);
    for (score, member) in [
        ("-inf", "least"),
        ("0", "zero"),
        ("1900000000", "seconds"),
        ("1900000000.0625", "fraction"),
        (&far.to_string(), "far"),
        ("+inf", "never"),
    ] {
        let _: i64 = redis.say(&format!("ZADD delayed {score} {member}"));
    }
    let _: i64 = redis.send(&[b"ZADD", b"delayed", b"1900000001", b"\x00\xff"]);
    let (code, told) = import(&rig, &redis, "--zset delayed --topic orders --dry-run");
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.starts_with(
            "orders: 2 jobs due, 3 later\n2 stay, such as far in delayed: it is due in more than ten years\n"
        ),
        "{told}"
    );
    assert_eq!((jobs(&rig).len(), redis.say::<i64>("ZCARD delayed")), (0, 7));

    let (code, told) = import(&rig, &redis, "--zset delayed --topic orders");
    assert_eq!(code, Some(3), "{told}");
    assert!(
        told.starts_with("took over 5 jobs; left out 0 with") && told.contains("2 jobs stay in Redis"),
        "{told}"
    );
    let all = by_body(&rig);
    assert_eq!(all["seconds"]["due"], "2030-03-17T17:46:40.000Z");
    assert_eq!(all["fraction"]["due"], "2030-03-17T17:46:40.063Z", "never early");
    assert_eq!((&all["zero"]["state"], &all["least"]["state"]), (&json!("ready"), &json!("ready")));
    assert_eq!(jobs(&rig).iter().filter(|job| job["body_base64"] == "AP8=").count(), 1);
    assert_eq!(redis.say::<Vec<String>>("ZRANGE delayed 0 -1"), ["far", "never"]);
    assert_eq!(redis.keys(), ["delayed"]);
}

#[test]
fn a_sorted_set_whose_members_are_ids_of_a_hash() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    rig.ok(&["push", "orders", "newer", "--key", "o-3"]);
    for (score, id, body) in [
        ("1900000000500", "o-1", Some("one")),
        ("1900000000501", "o-2", None),
        ("1000000000000", "o-3", Some("older")),
    ] {
        let _: i64 = redis.say(&format!("ZADD delayed {score} {id}"));
        if let Some(body) = body {
            let _: i64 = redis.say(&format!("HSET bodies {id} {body}"));
        }
    }
    let _: i64 = redis.say("HSET bodies other x");
    let (code, told) = import(&rig, &redis, "--zset delayed --hash bodies --topic orders");
    assert_eq!(code, Some(3), "{told}");
    assert!(told.starts_with("took over 1 jobs; left out 1 with the key of one that was there\n1 stay, such as o-2 in delayed: the hash has no body for it"), "{told}");
    let all = by_body(&rig);
    assert_eq!((&all["one"]["key"], &all["one"]["due"]), (&json!("o-1"), &json!("2030-03-17T17:46:40.500Z")));
    assert!(all.contains_key("newer") && !all.contains_key("older"));
    assert_eq!(redis.say::<Vec<String>>("HKEYS bodies"), ["other"]);
}

#[test]
fn what_cannot_be_imported_is_told() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    for command in [
        "ZADD mixed 1900000000 a",
        "ZADD mixed 1900000000000 b",
        "SET text x",
        "RPUSH adjourn-import:{x}:x y",
    ] {
        let _: Value = json!(redis.say::<Option<String>>(command));
    }
    for (arguments, expected, code) in [
        ("--zset mixed --topic t", "say which with --unit", 2),
        ("--zset text --topic t", "text is a string, no sorted set", 2),
        ("--zset nothing --topic t --dry-run", "there is no nothing", 0),
        ("--zset mixed", "--topic <TOPIC>", 2),
        ("--laravel --topic t", "cannot be used with", 2),
        ("--bullmq --unit s", "cannot be used with", 2),
        ("--bullmq --queue-name x", "cannot be used with", 2),
        ("--ouqiang --queue x", "cannot be used with", 2),
        ("--dry-run", "required", 2),
        ("--ouqiang --bucket-name b", "has no %d", 2),
        (
            "--zset mixed --topic t --unit ms",
            "adjourn-import:{x}:x in Redis is no list of an import: rename it",
            1,
        ),
    ] {
        let (ended, told) = import(&rig, &redis, arguments);
        assert_eq!((ended, told.contains(expected)), (Some(code), true), "{arguments}: {told}");
    }
    let _: i64 = redis.say("DEL adjourn-import:{x}:x");
    for arguments in ["--laravel", "--bullmq", "--php-delayqueue", "--ouqiang", "--zset nothing --topic t"] {
        let (ended, told) = import(&rig, &redis, arguments);
        assert_eq!((ended, told.starts_with("there ")), (Some(0), true), "{arguments}: {told}");
    }
    for (url, code) in [("http://x", 2), ("redis://127.0.0.1:1/0", 4)] {
        let ended = rig.run(&["import", "redis", url, "--laravel"], b"");
        assert_eq!(ended.code, Some(code), "{}", ended.errors);
    }
    assert!(jobs(&rig).is_empty());
}

#[test]
fn jobs_that_the_queue_refuses_come_with_the_next_import() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    rig.ok(&["topic", "set", "orders", "--jobs-max", "2"]);
    for member in ["a", "b", "c", "d"] {
        let _: i64 = redis.say(&format!("ZADD delayed 1900000000 {member}"));
    }
    for _ in 0..2 {
        let (code, told) = import(&rig, &redis, "--zset delayed --topic orders");
        assert_eq!(code, Some(1), "{told}");
        assert!(
            told.contains("the queue refused 2 jobs, which stay in adjourn-import:{delayed}:delayed"),
            "{told}"
        );
    }
    rig.ok(&["topic", "set", "orders", "--jobs-max", "none"]);
    let (code, told) = import(&rig, &redis, "--zset delayed --topic orders");
    assert_eq!((code, told.starts_with("took over 2 jobs")), (Some(0), true), "{told}");
    assert_eq!(by_body(&rig).into_keys().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    assert!(redis.keys().is_empty());
}

#[test]
fn a_job_that_is_too_large_holds_no_other_back() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    let large = "x".repeat(2 << 20);
    for (key, member) in [("delayed", "a"), ("delayed", &large), ("delayed", "z"), ("other", "b")] {
        let _: i64 = redis.say(&format!("ZADD {key} 1900000000 {member}"));
    }
    for told_of in ["took over 2 jobs", "took over 0 jobs"] {
        let (code, told) = import(&rig, &redis, "--zset delayed --topic orders");
        assert_eq!((code, told.starts_with(told_of)), (Some(1), true), "{told}");
        assert!(told.contains("refused 1 jobs, which stay in adjourn-import:{delayed}:delayed"), "{told}");
        assert!(told.contains("orders: TOO_LARGE"), "{told}");
    }
    let (_, told) = import(&rig, &redis, "--zset other --topic orders");
    assert!(told.starts_with("took over 1 jobs"), "{told}");
    assert_eq!(by_body(&rig).into_keys().collect::<Vec<_>>(), ["a", "b", "z"]);
    assert_eq!(redis.say::<i64>("LLEN adjourn-import:{delayed}:delayed"), 2);
}

/// Fills a sorted set, half of whose jobs are due.
fn fill(redis: &Redis, jobs: usize) {
    let mut pipe = redis::pipe();
    for nth in 0..jobs {
        let score = if nth % 2 == 0 { 1_900_000_000 + nth } else { nth };
        pipe.cmd("ZADD").arg("delayed").arg(score).arg(format!("{nth:05}")).ignore();
    }
    pipe.exec(&mut redis.connect()).expect("filled");
}

fn bodies(rig: &Rig) -> Vec<String> {
    let mut bodies: Vec<String> =
        jobs(rig).iter().map(|job| job["body"].as_str().expect("text").to_owned()).collect();
    bodies.sort_unstable();
    bodies
}

#[test]
fn an_import_of_redis_that_is_killed_loses_nothing_and_takes_nothing_twice() {
    const JOBS: usize = 6000;
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    fill(&redis, JOBS);
    let url = redis.url();
    let arguments = ["import", "redis", &url, "--zset", "delayed", "--topic", "orders"];
    let kills = killed_until_done(&rig, &arguments, Duration::from_millis(15));
    assert!(kills > 0, "one was killed");
    assert_eq!(bodies(&rig), (0..JOBS).map(|nth| format!("{nth:05}")).collect::<Vec<_>>(), "each once");
    assert!(redis.keys().is_empty());
}

#[test]
fn several_imports_and_a_poller_get_each_job_once() {
    const JOBS: usize = 6000;
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    fill(&redis, JOBS);
    let done = AtomicBool::new(false);
    let polled = std::thread::scope(|scope| {
        let poller = scope.spawn(|| {
            let (mut connection, mut polled) = (redis.connect(), Vec::new());
            while !done.load(Ordering::Relaxed) {
                let mut due = redis::cmd("ZRANGEBYSCORE");
                due.arg("delayed").arg("-inf").arg(1_000_000).arg("LIMIT").arg(0).arg(10);
                let due: Vec<String> = due.query(&mut connection).expect("members");
                for member in due {
                    if redis::cmd("ZREM")
                        .arg("delayed")
                        .arg(&member)
                        .query::<i64>(&mut connection)
                        .expect("removed")
                        == 1
                    {
                        polled.push(member);
                    }
                }
            }
            polled
        });
        let imports: Vec<Child> = (0..3)
            .map(|_| {
                let mut command =
                    adjourn(&["import", "redis", &redis.url(), "--zset", "delayed", "--topic", "orders"]);
                command.env("ADJOURN_SERVER", rig.server()).stdout(Stdio::piped()).stderr(Stdio::piped());
                command.spawn().expect("the binary")
            })
            .collect();
        for import in imports {
            let output = import.wait_with_output().expect("ended");
            let told = String::from_utf8_lossy(&output.stderr);
            // The others may have taken all.
            assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
        }
        done.store(true, Ordering::Relaxed);
        poller.join().expect("polled")
    });
    let (mut all, imported) = (bodies(&rig), bodies(&rig).len());
    assert!(imported > 0 && !polled.is_empty(), "{imported} and {}", polled.len());
    all.extend(polled);
    all.sort_unstable();
    assert_eq!(all, (0..JOBS).map(|nth| format!("{nth:05}")).collect::<Vec<_>>(), "each once");
    assert!(redis.keys().is_empty());
}

#[test]
fn the_queues_of_laravel() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    let payload = |name: &str| format!("{{\"attempts\":0,\"displayName\":\"{name}\",\"timeout\":null}}");
    let (lapsed, live) = (redis.seconds(-30), redis.seconds(600));
    let grouped = "{\"messageGroup\":\"ann\",\"timeout\":120}";
    for command in [
        format!("RPUSH app_queues:default {} {grouped}", payload("first")),
        "RPUSH app_queues:default:notify 1 1".to_owned(),
        format!("ZADD app_queues:default:delayed 1900000000 {}", payload("later")),
        format!("ZADD app_queues:default:reserved {lapsed} {} {live} {}", payload("lapsed"), payload("held")),
        format!("ZADD app_queues:{{high}}:delayed 1900000001 {}", payload("tagged")),
        format!(
            "ZADD app_queues:a:delayed:delayed 1 s:{}:\"{}\";",
            payload("wrapped").len(),
            payload("wrapped")
        ),
        "RPUSH app_queues:odd nonsense".to_owned(),
    ] {
        let _: i64 = redis.say(&command);
    }
    let (code, told) = import(&rig, &redis, "--laravel");
    assert_eq!(code, Some(3), "{told}");
    assert!(told.starts_with("took over 6 jobs"), "{told}");
    assert!(
        told.contains(
            "1 stay, such as nonsense in app_queues:odd: it is no payload in JSON\n1 stay: workers"
        ),
        "{told}"
    );
    assert_eq!(redis.keys(), ["app_queues:default:reserved", "app_queues:odd"]);
    let all = by_body(&rig);
    let first = &all[&payload("first")];
    assert_eq!(
        (&first["topic"], &first["state"], &first["ttr_ms"], &first["attempts_max"], &first["backoff"]),
        (&json!("default"), &json!("ready"), &json!(90_000), &json!(u32::MAX), &json!("0s"))
    );
    assert_eq!(first["headers"]["content-type"], "application/json");
    assert_eq!((&all[grouped]["ttr_ms"], &all[grouped]["group"]), (&json!(130_000), &json!("ann")));
    assert_eq!(all[&payload("later")]["due"], "2030-03-17T17:46:40.000Z");
    assert_eq!(
        (&all[&payload("tagged")]["topic"], &all[&payload("wrapped")]["topic"]),
        (&json!("high"), &json!("a:delayed"))
    );
    assert_eq!(all[&payload("lapsed")]["state"], "ready");
    assert!(!all.contains_key(&payload("held")));
    let order = reserved(&rig, "default", 2);
    assert_eq!(order, [payload("first"), grouped.to_owned()]);

    let (_, told) = import(&rig, &redis, "--laravel --queue default --stopped");
    assert!(told.starts_with("took over 1 jobs"), "{told}");
    assert_eq!(by_body(&rig)[&payload("held")]["state"], "ready");
    let (code, told) = import(&rig, &redis, "--laravel --queue typo");
    assert_eq!((code, told.starts_with("there are no queues of Laravel")), (Some(0), true), "{told}");
    // Two applications in one database.
    let _: i64 = redis.say("RPUSH other_queues:default {}");
    let (code, told) = import(&rig, &redis, "--laravel");
    assert_eq!(
        (code, told.contains("choose one with --prefix, of [\"app_\", \"other_\"]")),
        (Some(2), true),
        "{told}"
    );
    assert_eq!(import(&rig, &redis, "--laravel --prefix other_").0, Some(0));
}

/// Adds a job as BullMQ does.
fn add(redis: &Redis, id: &str, fields: &[(&str, &str)]) {
    let key = format!("bull:mail:{id}");
    for (name, value) in [("name", "send"), ("data", &format!("{{\"id\":\"{id}\"}}"))].iter().chain(fields) {
        let _: i64 = redis.send(&[b"HSET", key.as_bytes(), name.as_bytes(), value.as_bytes()]);
    }
}

#[test]
fn the_queues_of_bullmq() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    add(&redis, "1", &[("opts", "{\"attempts\":0}")]);
    add(&redis, "2", &[("opts", "{}")]);
    add(&redis, "3", &[("opts", "{\"priority\":2}"), ("priority", "2")]);
    add(
        &redis,
        "order-7",
        &[
            ("opts", r#"{"attempts":5,"backoff":{"type":"exponential","delay":1000}}"#),
            ("atm", "2"),
            ("deid", "dd"),
        ],
    );
    add(&redis, "repeat:x:1900000000000", &[("rjk", "x")]);
    add(&redis, "child", &[("parentKey", "bull:mail:parent")]);
    add(&redis, "dead", &[("gid", "ann")]);
    add(&redis, "alive", &[]);
    add(&redis, "keeps", &[("deid", "one")]);
    let _: i64 = redis.say("HSET bull:mail:dn:one data {}");
    for command in [
        "HSET bull:mail:meta version bullmq:5.81.5",
        "LPUSH bull:mail:wait 1 2 0:marker child missing",
        "ZADD bull:mail:prioritized 8589934592 3",
        "ZADD bull:mail:delayed 7782400000000003 order-7 7782400000000000 repeat:x:1900000000000",
        "RPUSH bull:mail:active dead alive keeps",
        "SADD bull:mail:stalled dead",
        "HSET bull:mail:order-7:logs a b",
    ] {
        let _: i64 = redis.say(command);
    }
    for command in ["SET bull:mail:de:dd order-7", "SET bull:mail:alive:lock token"] {
        let _: String = redis.say(command);
    }
    let (code, told) = import(&rig, &redis, "--bullmq");
    assert_eq!(code, Some(3), "{told}");
    assert!(told.starts_with("took over 4 jobs"), "{told}");
    for stays in [
        "1 stay, such as child in bull:mail:wait: it belongs to a flow",
        "1 stay, such as repeat:x:1900000000000",
        "3 stay: workers",
    ] {
        assert!(told.contains(stays), "{stays}: {told}");
    }
    let all = by_body(&rig);
    let first = &all["{\"id\":\"1\"}"];
    assert_eq!(
        (&first["topic"], &first["key"], &first["attempts_max"]),
        (&json!("mail"), &json!(null), &json!(1))
    );
    assert_eq!(first["headers"], json!({"content-type": "application/json", "name": "send"}));
    let later = &all["{\"id\":\"order-7\"}"];
    assert_eq!(
        (&later["key"], &later["due"], &later["attempts_max"], &later["backoff"]),
        (&json!("order-7"), &json!("2030-03-17T17:46:40.000Z"), &json!(3), &json!("4s..30d"))
    );
    assert_eq!(all["{\"id\":\"3\"}"]["priority"], 1026);
    let order = reserved(&rig, "mail", 3);
    assert_eq!(order, ["{\"id\":\"1\"}", "{\"id\":\"2\"}", "{\"id\":\"3\"}"]);

    let (_, told) = import(&rig, &redis, "--bullmq --stopped");
    assert!(told.starts_with("took over 1 jobs") && told.contains("1 stay: workers"), "{told}");
    assert!(told.contains("such as keeps in bull:mail:active: its deduplication keeps a next job"), "{told}");
    assert_eq!(by_body(&rig)["{\"id\":\"dead\"}"]["group"], "ann");
    let left: Vec<String> = redis.keys().into_iter().map(|key| key.replace("bull:mail:", "")).collect();
    assert_eq!(
        left,
        [
            "active",
            "alive",
            "alive:lock",
            "child",
            "delayed",
            "dn:one",
            "keeps",
            "meta",
            "repeat:x:1900000000000",
            "wait"
        ]
    );
    assert_eq!(redis.say::<Vec<String>>("LRANGE bull:mail:wait 0 -1"), ["missing", "child", "0:marker"]);
}

#[test]
fn in_bull_a_job_without_a_priority_comes_last() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    for (id, priority) in [("1", "0"), ("2", "5"), ("3", "1")] {
        add(&redis, id, &[("priority", priority), ("opts", "{\"attempts\":1,\"backoff\":500}")]);
        let _: i64 = redis.say(&format!("LPUSH bull:mail:wait {id}"));
    }
    let _: i64 = redis.say("ZADD bull:mail:priority 5 2 1 3");
    let (code, told) = import(&rig, &redis, "--bullmq");
    assert_eq!((code, told.starts_with("took over 3 jobs")), (Some(0), true), "{told}");
    let order = reserved(&rig, "mail", 3);
    assert_eq!(order, ["{\"id\":\"3\"}", "{\"id\":\"2\"}", "{\"id\":\"1\"}"]);
    assert!(redis.keys().is_empty());
}

#[test]
fn the_jobs_of_php_delayqueue() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    let body = |n: u32| format!("{{\"n\":{n}}}");
    for (name, body) in [
        ("orders:o-1", body(1)),
        ("two words:a:b", body(2)),
        ("orders:due", body(3)),
        ("mail:low", body(4)),
        ("mail:tried", "{\"exp_notify_nums\":3,\"n\":5}".to_owned()),
        ("mail:lost", body(6)),
        ("alone", body(7)),
    ] {
        let _: i64 = redis.send(&[b"HSET", b"dq_job_info", name.as_bytes(), body.as_bytes()]);
    }
    for (key, score, name) in [
        ("dq_bucket_0", "1900000000", "orders:o-1"),
        ("dq_bucket_1", "1900000001", "two words:a:b"),
        ("dq_bucket_0", "1900000002", "mail:tried"),
        ("dq_bucket_0", "1900000003", "orders:deleted"),
        ("dq_bucket_0", "1900000004", "alone"),
    ] {
        let _: i64 = redis.send(&[b"ZADD", key.as_bytes(), score.as_bytes(), name.as_bytes()]);
    }
    for command in [
        "RPUSH dq_1ready_queue orders:due",
        "RPUSH dq_3ready_queue mail:low",
        "ZADD dq_bucket_1 1 orders:due",
    ] {
        let _: i64 = redis.say(command);
    }
    let _: String = redis.say("SET lock:mail:tried 1");
    let (code, told) = import(&rig, &redis, "--php-delayqueue");
    assert_eq!(code, Some(3), "{told}");
    assert!(told.starts_with("took over 5 jobs"), "{told}");
    assert!(told.contains("such as alone in dq_bucket_0: its name has no topic\n1 stay: workers"), "{told}");
    let all = by_body(&rig);
    let first = &all[&body(1)];
    assert_eq!(
        (&first["topic"], &first["key"], &first["due"], &first["attempts_max"]),
        (&json!("orders"), &json!("o-1"), &json!("2030-03-17T17:46:40.000Z"), &json!(25))
    );
    assert_eq!((&all[&body(2)]["topic"], &all[&body(2)]["key"]), (&json!("two:20words"), &json!("a:b")));
    assert_eq!((&all[&body(3)]["state"], &all[&body(4)]["state"]), (&json!("ready"), &json!("ready")));
    let tried = &all["{\"exp_notify_nums\":3,\"n\":5}"];
    assert_eq!(
        (&tried["attempts_max"], &tried["backoff"]),
        (&json!(9), &json!("7m,9m,11m,13m,15m,17m,19m,21m"))
    );
    let (_, told) = import(&rig, &redis, "--php-delayqueue --stopped");
    assert!(told.starts_with("took over 1 jobs"), "{told}");
    assert_eq!(by_body(&rig)[&body(6)]["state"], "ready");
    assert_eq!(redis.keys(), ["dq_bucket_0", "dq_job_info"]);
    assert_eq!(redis.say::<Vec<String>>("HKEYS dq_job_info"), ["alone"]);
}

/// A job of ouqiang's queue in MessagePack. Its texts have fewer than 32 bytes, its time to run is below 128.
fn packed(topic: &str, id: &str, due_s: i64, ttr_s: u8, body: &str) -> Vec<u8> {
    let text = |text: &str| [&[0xa0 | u8::try_from(text.len()).expect("short")], text.as_bytes()].concat();
    let due = [&[0xce], u32::try_from(due_s).expect("a time").to_be_bytes().as_slice()].concat();
    let fields = [
        text("1"),
        text(topic),
        text("2"),
        text(id),
        text("3"),
        due,
        text("4"),
        vec![ttr_s],
        text("5"),
        text(body),
    ];
    [vec![0x85], fields.concat()].concat()
}

#[test]
fn the_jobs_of_ouqiangs_queue() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    let now = redis.seconds(0);
    let put = |topic: &str, id: &str, due_s: i64, body: &str| {
        let _: String = redis.send(&[b"SET", id.as_bytes(), &packed(topic, id, due_s, 60, body)]);
    };
    put("orders", "o-1", 1_900_000_000, "one");
    put("two words", "o-2", 1_900_000_001, "two");
    put("orders", "ready", now - 60, "ready");
    put("orders", "due", now - 1, "due");
    put("orders", "held", now - 100, "held");
    put("orders", "lost", now - 100, "lost");
    put("orders", "twice", 1_900_000_000, "twice");
    let json = r#"{"topic":"old","id":"json","delay":1900000002,"ttr":5,"body":"json"}"#;
    let _: String = redis.send(&[b"SET", b"json", json.as_bytes()]);
    for command in [
        "ZADD dq_bucket_1 1900000000 o-1 1900000005 twice".to_owned(),
        format!(
            "ZADD dq_bucket_2 1900000001 o-2 {} due {} held 1900000002 json 5 deleted 6 other",
            now - 1,
            now + 3600
        ),
        "ZADD dq_bucket_3 1900000000 twice".to_owned(),
        "RPUSH dq_queue_orders ready".to_owned(),
        "RPUSH other x".to_owned(),
    ] {
        let _: i64 = redis.say(&command);
    }
    let (code, told) = import(&rig, &redis, "--ouqiang");
    assert_eq!(code, Some(3), "{told}");
    assert!(told.starts_with("took over 5 jobs") && told.contains("2 stay: workers"), "{told}");
    let all = by_body(&rig);
    let first = &all["one"];
    assert_eq!(
        (&first["topic"], &first["key"], &first["due"], &first["ttr_ms"], &first["attempts_max"]),
        (&json!("orders"), &json!("id:o-1"), &json!("2030-03-17T17:46:40.000Z"), &json!(60_000), &json!(100))
    );
    assert_eq!((&all["two"]["topic"], &all["json"]["topic"]), (&json!("two:20words"), &json!("old")));
    assert_eq!((&all["ready"]["state"], &all["twice"]["due"]), (&json!("ready"), &first["due"]));

    let (_, told) = import(&rig, &redis, "--ouqiang --stopped");
    assert!(told.starts_with("took over 3 jobs"), "{told}");
    let all = by_body(&rig);
    assert_eq!((&all["due"]["state"], &all["lost"]["state"]), (&json!("ready"), &json!("ready")));
    assert_eq!(all["held"]["due"], shown(now + 3600));
    assert_eq!(redis.keys(), ["dq_bucket_2", "other"]);
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
