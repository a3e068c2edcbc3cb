//! The queues of Laravel, BullMQ, Bull, php-delayqueue and ouqiang.

use serde_json::json;

use super::super::commands::Rig;
use super::super::import::jobs;
use super::{Redis, by_body, import, reserved, shown};
use adjourn_types::limits::TTR_MS_MAX;

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
    assert!(told.starts_with("took over 5 jobs"), "{told}");
    assert!(
        told.contains(
            "1 stay, such as nonsense in app_queues:odd: it is no payload in JSON\n2 stay: workers"
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
    assert!(!all.contains_key(&payload("lapsed")) && !all.contains_key(&payload("held")));
    let order = reserved(&rig, "default", 2);
    assert_eq!(order, [payload("first"), grouped.to_owned()]);

    let (_, told) = import(&rig, &redis, "--laravel --queue default --stopped");
    assert!(told.starts_with("took over 2 jobs"), "{told}");
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
pub(super) fn add(redis: &Redis, id: &str, fields: &[(&str, &str)]) {
    let key = format!("bull:mail:{id}");
    for (name, value) in [("name", "send"), ("data", &format!("{{\"id\":\"{id}\"}}"))].iter().chain(fields) {
        let _: i64 = redis.send(&[b"HSET", key.as_bytes(), name.as_bytes(), value.as_bytes()]);
    }
}

/// Fills the queue `mail`.
fn fill_bullmq(redis: &Redis) {
    add(redis, "1", &[("opts", "{\"attempts\":0}")]);
    add(redis, "2", &[("opts", "{}")]);
    add(redis, "3", &[("opts", "{\"priority\":2}"), ("priority", "2")]);
    add(
        redis,
        "order-7",
        &[
            ("opts", r#"{"attempts":5,"backoff":{"type":"exponential","delay":1000}}"#),
            ("atm", "2"),
            ("deid", "dd"),
        ],
    );
    add(redis, "repeat:x:1900000000000", &[("rjk", "x")]);
    add(redis, "child", &[("parentKey", "bull:mail:parent")]);
    add(redis, "dead", &[("gid", "ann")]);
    add(redis, "alive", &[]);
    add(redis, "keeps", &[("deid", "one")]);
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
}

#[test]
fn the_queues_of_bullmq() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    fill_bullmq(&redis);
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

#[test]
fn jobs_of_php_delayqueue_behind_a_refused_one_are_not_early() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    rig.ok(&["topic", "set", "full", "--jobs-max", "1"]);
    let mut pipe = redis::pipe();
    for nth in 0..700 {
        let topic = if nth < 2 { "full" } else { "orders" };
        let name = format!("{topic}:{nth}");
        pipe.cmd("HSET").arg("dq_job_info").arg(&name).arg("{}").ignore();
        pipe.cmd("ZADD").arg("dq_bucket_0").arg(1_900_000_000 + nth).arg(&name).ignore();
    }
    pipe.exec(&mut redis.connect()).expect("filled");
    let (code, told) = import(&rig, &redis, "--php-delayqueue --stopped");
    assert_eq!((code, told.contains("refused 1 jobs")), (Some(1), true), "{told}");
    let (code, told) = import(&rig, &redis, "--php-delayqueue");
    assert_eq!((code, told.contains("workers")), (Some(1), false), "{told}");
    assert!(jobs(&rig).iter().all(|job| job["state"] == "delayed"));
    rig.ok(&["topic", "set", "full", "--jobs-max", "none"]);
    let (code, told) = import(&rig, &redis, "--php-delayqueue --stopped");
    assert_eq!((code, jobs(&rig).len()), (Some(0), 700), "{told}");
    assert!(jobs(&rig).iter().all(|job| job["state"] == "delayed") && redis.keys().is_empty());
}

/// A job of ouqiang's queue in MessagePack. Its texts have fewer than 32 bytes, its time to run is below 128.
pub(super) fn packed(topic: &str, id: &str, due_s: i64, ttr_s: u8, body: &str) -> Vec<u8> {
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
    // In the list of another topic, and with a time to run that is longer than the queue has.
    put("orders", "astray", now - 60, "astray");
    let forever = r#"{"topic":"old","id":"forever","delay":1900000003,"ttr":1000000,"body":"forever"}"#;
    let _: String = redis.send(&[b"SET", b"forever", forever.as_bytes()]);
    let json = r#"{"topic":"old","id":"json","delay":1900000002,"ttr":5,"body":"json"}"#;
    let _: String = redis.send(&[b"SET", b"json", json.as_bytes()]);
    for command in [
        "ZADD dq_bucket_1 1900000000 o-1 1900000005 twice".to_owned(),
        format!(
            "ZADD dq_bucket_2 1900000001 o-2 {} due {} held 1900000002 json 1900000003 forever 5 deleted 6 other",
            now - 1,
            now + 3600
        ),
        "ZADD dq_bucket_3 1900000000 twice".to_owned(),
        "RPUSH dq_queue_orders ready".to_owned(),
        "RPUSH dq_queue_ astray".to_owned(),
        "RPUSH other x".to_owned(),
    ] {
        let _: i64 = redis.say(&command);
    }
    let (code, told) = import(&rig, &redis, "--ouqiang");
    assert_eq!(code, Some(3), "{told}");
    assert!(told.starts_with("took over 7 jobs") && told.contains("2 stay: workers"), "{told}");
    let all = by_body(&rig);
    let first = &all["one"];
    assert_eq!(
        (&first["topic"], &first["key"], &first["due"], &first["ttr_ms"], &first["attempts_max"]),
        (&json!("orders"), &json!("id:o-1"), &json!("2030-03-17T17:46:40.000Z"), &json!(60_000), &json!(100))
    );
    assert_eq!((&all["two"]["topic"], &all["json"]["topic"]), (&json!("two:20words"), &json!("old")));
    assert_eq!((&all["astray"]["state"], &all["forever"]["ttr_ms"]), (&json!("ready"), &json!(TTR_MS_MAX)));
    assert_eq!((&all["ready"]["state"], &all["twice"]["due"]), (&json!("ready"), &first["due"]));

    let (_, told) = import(&rig, &redis, "--ouqiang --stopped");
    assert!(told.starts_with("took over 3 jobs"), "{told}");
    let all = by_body(&rig);
    assert_eq!((&all["due"]["state"], &all["lost"]["state"]), (&json!("ready"), &json!("ready")));
    assert_eq!(all["held"]["due"], shown(now + 3600));
    assert_eq!(redis.keys(), ["dq_bucket_2", "other"]);
}
