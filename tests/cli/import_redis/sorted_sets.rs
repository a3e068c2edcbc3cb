//! Sorted sets by time, and what all imports from Redis have in common: limits, mistakes, kills, several at once.

use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::super::commands::Rig;
use super::super::import::{jobs, killed_until_done};
use super::{Redis, by_body, import};
use crate::server_rig::adjourn;
use adjourn_client::{Client, ClientConfig};
use adjourn_protocol::Reserve;

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
            "orders: 2 jobs due, 3 later\n2 stay, such as far in delayed: it is due in more than ten years, if its time is in the right unit\n"
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
    assert!(told.starts_with("took over 1 jobs; left out 1 with the key of one that was there, such as o-3 of orders\n1 stay, such as o-2 in delayed: the hash has no body for it"), "{told}");
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
        ("--zset mixed --topic t --stopped", "cannot be used with", 2),
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
    let stays = "1 stay, such as xxxx";
    let (code, told) = import(&rig, &redis, "--zset delayed --topic orders --dry-run");
    assert_eq!(
        (code, told.contains("orders: 0 jobs due, 2 later") && told.contains(stays)),
        (Some(0), true),
        "{told}"
    );
    let (code, told) = import(&rig, &redis, "--zset delayed --topic orders");
    assert_eq!((code, told.starts_with("took over 2 jobs")), (Some(3), true), "{told}");
    assert!(
        told.contains(stays) && told.contains("more bytes than body_bytes_max of the server, 1048576"),
        "{told}"
    );
    assert_eq!(redis.say::<i64>("ZCARD delayed"), 1);
    // The topic may take less than the server: this one is known only when it is refused.
    rig.ok(&["topic", "set", "orders", "--body-max", "1024"]);
    let _: i64 = redis.say(&format!("ZADD other 1900000000 c 1900000000 {}", "y".repeat(2000)));
    for taken in ["took over 2 jobs", "took over 0 jobs"] {
        let (code, told) = import(&rig, &redis, "--zset other --topic orders");
        assert_eq!((code, told.starts_with(taken)), (Some(1), true), "{told}");
        assert!(told.contains("refused 1 jobs, which stay in adjourn-import:{other}:other"), "{told}");
        assert!(told.contains("orders: TOO_LARGE"), "{told}");
    }
    let staged: Vec<String> = redis.say("LRANGE adjourn-import:{other}:other 1 -1");
    let left: Vec<bool> = staged.iter().map(|line| !line.is_empty()).collect();
    assert_eq!(left, [false, false, true], "each keeps its place, and so its number");
    rig.ok(&["topic", "set", "orders", "--body-max", "none"]);
    let (_, told) = import(&rig, &redis, "--zset other --topic orders");
    assert!(told.contains("took over 1 jobs"), "{told}");
    assert_eq!((jobs(&rig).len(), redis.keys()), (5, vec!["delayed".to_owned()]));
}

#[test]
fn a_line_keeps_its_number_beside_others() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    let (list, line) =
        ("adjourn-import:{x}:x", |body: &str| format!("{{\"topic\":\"t\",\"body\":\"{body}\"}}"));
    let number = "0123456789abcdef0123000000000001";
    let push = |lines: &[&str]| {
        let _: i64 = redis.send(
            &[
                &[b"RPUSH".as_slice(), list.as_bytes()],
                &lines.iter().map(|line| line.as_bytes()).collect::<Vec<_>>()[..],
            ]
            .concat(),
        );
        import(&rig, &redis, "--zset nothing --topic t")
    };
    let (first, second) = (line("a"), line("b"));
    let (code, told) = push(&[number, &first, &second]);
    assert_eq!((code, told.contains("took over 2 jobs")), (Some(0), true), "{told}");
    // As an importer that was killed leaves it, which had seen the first one pushed.
    let (code, told) = push(&[number, "", &second]);
    assert_eq!((code, jobs(&rig).len(), redis.keys().len()), (Some(0), 2, 0), "{told}");
}

#[test]
fn an_import_that_may_not_write_takes_nothing_out() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    for forbidden in ["rpush", "zrem", "zscore", "eval", "exists"] {
        let _: i64 = redis.say("ZADD delayed 1900000000 a");
        let _: String = redis.say(&format!("ACL SETUSER importer on >secret ~* +@all -{forbidden}"));
        let url = format!("redis://importer:secret@127.0.0.1:{}/0", redis.port);
        let ended = rig.run(&["import", "redis", &url, "--zset", "delayed", "--topic", "orders"], b"");
        assert_eq!(ended.code, Some(1), "{forbidden}: {}", ended.errors);
        let told = ended.errors.contains("permission") || ended.errors.contains("can't run this command");
        assert!(told && !ended.errors.contains("secret"), "{forbidden}: {}", ended.errors);
        assert_eq!(redis.say::<i64>("ZCARD delayed"), 1, "{forbidden}");
        let _: i64 = redis.say("ACL DELUSER importer");
        let _: i64 = redis.say("DEL adjourn-import:{delayed}:delayed");
    }
    assert!(jobs(&rig).is_empty());
}

#[test]
fn jobs_leave_a_redis_that_is_full() {
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    fill(&redis, 600);
    let _: String = redis.say("CONFIG SET maxmemory 1");
    let (code, told) = import(&rig, &redis, "--zset delayed --topic orders");
    assert_eq!((code, told.starts_with("took over 600 jobs")), (Some(0), true), "{told}");
    assert!(redis.keys().is_empty());
}

/// One importer may see a job refused that another one pushes a moment later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_imports_into_a_full_topic_push_each_job_once() {
    const JOBS: usize = 3000;
    let Some(redis) = Redis::start() else { return };
    let rig = Rig::start();
    rig.ok(&["topic", "set", "orders", "--jobs-max", "100"]);
    let mut pipe = redis::pipe();
    for nth in 0..JOBS {
        pipe.cmd("ZADD").arg("delayed").arg(nth).arg(format!("{nth:05}")).ignore();
    }
    pipe.exec(&mut redis.connect()).expect("filled");
    let client = Client::connect(ClientConfig::new(rig.server())).await.expect("connected");
    let mut handled = Vec::new();
    while handled.len() < JOBS {
        let imports: Vec<Child> = (0..3)
            .map(|_| {
                let mut command =
                    adjourn(&["import", "redis", &redis.url(), "--zset", "delayed", "--topic", "orders"]);
                command.env("ADJOURN_SERVER", rig.server()).stdout(Stdio::null()).stderr(Stdio::piped());
                command.spawn().expect("the binary")
            })
            .collect();
        let ended = tokio::task::spawn_blocking(move || {
            imports.into_iter().map(|import| import.wait_with_output().expect("ended")).collect::<Vec<_>>()
        });
        // They find room while this one works.
        while !ended.is_finished() {
            handled.extend(handle_some(&client).await);
        }
        for output in ended.await.expect("ended") {
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{told}");
        }
        handled.extend(handle_some(&client).await);
    }
    loop {
        let more = handle_some(&client).await;
        if more.is_empty() {
            break;
        }
        handled.extend(more);
    }
    handled.sort_unstable();
    assert_eq!(handled, (0..JOBS).map(|nth| format!("{nth:05}")).collect::<Vec<_>>(), "each once");
}

/// Reserves and finishes some jobs. Returns their bodies.
async fn handle_some(client: &Client) -> Vec<String> {
    let topics = vec!["orders".parse().expect("a name")];
    let reserve = Reserve { topics, jobs_max: 7, wait_ms: 1, weights: Vec::new() };
    let jobs = client.reserve(reserve).await.expect("jobs");
    let leases = jobs.iter().map(|job| job.lease).collect();
    for settled in client.finish(leases).await.expect("finished") {
        settled.expect("held");
    }
    jobs.iter().map(|job| String::from_utf8_lossy(&job.body).into_owned()).collect()
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
