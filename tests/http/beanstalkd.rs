//! Callers of beanstalkd: what is not seen when the original's replies are played beside ours (`tests/beanstalkd`).

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::rig::Site;
use super::tokens::site_with_tokens_and;
use crate::cli::commands::Commands;
use crate::cluster::free_port;
use crate::server_rig::{Process, Raw, adjourn, topic};
use adjourn_engine::SKIPPED_FENCES_MAX;
use adjourn_protocol::{Request, Reserve, Response};
use adjourn_server::config::Config;

/// A connection that knows nothing but lines.
struct Caller {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
}

impl Caller {
    /// Connects to a server whose port may not be open yet.
    fn patiently(address: SocketAddr) -> Self {
        let until = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < until, "nothing listens");
            std::thread::yield_now();
        }
        Self::connect(address)
    }

    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("set");
        let replies = BufReader::new(stream.try_clone().expect("cloned"));
        Self { stream, replies }
    }

    fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).expect("sent");
    }

    /// The next line, without its end; empty at the end of the connection.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.replies.read_line(&mut line).expect("a line");
        line.trim_end_matches("\r\n").to_owned()
    }

    fn ask(&mut self, command: &str) -> String {
        self.send(&format!("{command}\r\n"));
        self.line()
    }

    fn put(&mut self, arguments: &str, body: &str) -> u64 {
        let reply = self.ask(&format!("put {arguments} {}\r\n{body}", body.len()));
        reply.strip_prefix("INSERTED ").and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("{reply}"))
    }

    /// The number and the body of the job in the next reply; `None` if that is another one.
    fn job(&mut self) -> Option<(u64, String)> {
        let line = self.line();
        let (id, bytes) = line.strip_prefix("RESERVED ")?.split_once(' ')?;
        let mut body = vec![0; bytes.parse::<usize>().ok()? + 2];
        self.replies.read_exact(&mut body).expect("a body");
        let body = String::from_utf8(body).expect("text");
        Some((id.parse().ok()?, body.strip_suffix("\r\n")?.to_owned()))
    }

    fn reserve(&mut self) -> Option<(u64, String)> {
        self.send("reserve-with-timeout 10\r\n");
        self.job()
    }

    /// The data of a reply, as YAML's mappings without nesting.
    fn data(&mut self, command: &str) -> Vec<(String, String)> {
        let reply = self.ask(command);
        let bytes = reply.strip_prefix("OK ").and_then(|bytes| bytes.parse::<usize>().ok());
        let mut data = vec![0; bytes.unwrap_or_else(|| panic!("{reply}")) + 2];
        self.replies.read_exact(&mut data).expect("data");
        let data = String::from_utf8(data).expect("text");
        let pairs = data.lines().filter_map(|line| line.split_once(": "));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn field(&mut self, command: &str, name: &str) -> String {
        let data = self.data(command);
        let found = data.into_iter().find(|(field, _)| field == name);
        found.unwrap_or_else(|| panic!("{name} of {command}")).1
    }
}

fn speaks_beanstalkd(config: &mut Config) {
    config.beanstalkd_listen = Some("127.0.0.1:0".to_owned());
}

fn site() -> Site {
    Site::with(speaks_beanstalkd)
}

fn caller(site: &Site) -> Caller {
    Caller::connect(site.node.beanstalkd_address())
}

#[test]
fn a_lost_connection_gives_its_jobs_back_at_once() {
    let site = site();
    let (mut one, mut other) = (caller(&site), caller(&site));
    let id = one.put("0 0 600", "a");
    assert_eq!(one.reserve(), Some((id, "a".to_owned())));
    other.send("reserve\r\n");
    assert_eq!(one.ask("list-tube-used"), "USING default");
    drop(one);
    assert_eq!(other.job(), Some((id, "a".to_owned())));
    assert_eq!(other.field(&format!("stats-job {id}"), "reserves"), "2");
    // A waiting reserve whose connection is lost takes nothing.
    assert_eq!(other.ask(&format!("delete {id}")), "DELETED");
    other.send("reserve\r\n");
    let mut third = caller(&site);
    while third.field("stats-tube default", "current-waiting") != "1" {}
    drop(other);
    while third.field("stats-tube default", "current-waiting") != "0" {}
    let id = third.put("0 0 600", "b");
    assert_eq!(third.field(&format!("stats-job {id}"), "reserves"), "0");
    assert_eq!(third.reserve(), Some((id, "b".to_owned())));
}

/// A reserve needs no sync: a crash right behind it gives the job back, and what was deleted with it stays deleted.
#[test]
fn a_crash_gives_back_what_was_reserved() {
    const ROUNDS: usize = 4;
    let data = tempfile::tempdir().expect("a folder");
    let address = free_port();
    let port = address.to_string();
    let arguments = ["--beanstalkd-listen", port.as_str(), "--session-grace-ms", "0"];
    let mut ids = BTreeSet::new();
    for round in 0..ROUNDS {
        let server = Process::start(data.path(), &arguments);
        let mut caller = Caller::patiently(address);
        ids.extend((0..3).map(|number| caller.put("0 0 600", &format!("{round} {number}"))));
        let mut held: Vec<u64> = (0..2).filter_map(|_| Some(caller.reserve()?.0)).collect();
        let deleted = held.pop().expect("a job");
        assert_eq!(caller.ask(&format!("delete {deleted}")), "DELETED");
        ids.remove(&deleted);
        held.extend(caller.reserve().map(|(id, _)| id));
        server.kill();
    }
    let server = Process::start(data.path(), &arguments);
    let mut caller = Caller::patiently(address);
    let id = caller.put("100 0 600", "for another client");
    let found: BTreeSet<u64> = ids.iter().filter_map(|_| Some(caller.reserve()?.0)).collect();
    assert_eq!(found, ids, "each of them once");
    assert_eq!(caller.reserve().map(|(id, _)| id), Some(id), "what was deleted does not come back");
    // Fences that may be lost are not issued again.
    caller.ask(&format!("release {id} 100 0"));
    let topics = vec![topic("default")];
    let reserve = Reserve { topics, jobs_max: 1, wait_ms: 10_000, weights: Vec::new() };
    let Response::Reserved(jobs) = Raw::greeted(server.address).ask(Request::Reserve(reserve)) else {
        panic!("no jobs")
    };
    assert!(jobs[0].lease.fence.0 > ROUNDS as u64 * SKIPPED_FENCES_MAX, "{}", jobs[0].lease);
}

#[test]
fn the_count_of_jobs_does_not_fall_with_a_tube() {
    let site = site();
    let (mut one, mut other) = (caller(&site), caller(&site));
    assert_eq!(one.ask("use mails"), "USING mails");
    let id = one.put("0 0 60", "a");
    assert_eq!(one.ask(&format!("delete {id}")), "DELETED");
    assert_eq!(other.field("stats", "total-jobs"), "1");
    drop(one);
    while other.field("stats", "current-connections") != "1" {}
    assert_eq!(other.field("stats", "total-jobs"), "1");
}

#[test]
fn every_other_way_in_works_beside_it() {
    let site = site();
    let mut caller = caller(&site);
    assert_eq!(caller.ask("use mails+eu;$(1)"), "USING mails+eu;$(1)");
    let id = caller.put("7 0 30", "from beanstalkd");
    let job = site.web().get(&format!("/v1/jobs/{id}")).json();
    assert_eq!(
        (&job["topic"], &job["priority"], &job["ttr_ms"], &job["state"]),
        (&json!("mails+eu;$(1)"), &json!(7), &json!(30_000), &json!("ready"))
    );
    assert_eq!(caller.ask("watch mails+eu;$(1)"), "WATCHING 2");
    assert_eq!(caller.reserve(), Some((id, "from beanstalkd".to_owned())));
    let held = site.web().get(&format!("/v1/jobs/{id}")).json();
    let held_by = held["held_by"].as_str().unwrap_or_default();
    assert!(held_by.contains("beanstalkd") && held_by.contains("127.0.0.1:"), "{held}");
    assert_eq!(caller.ask(&format!("delete {id}")), "DELETED");
    let pushed = site.web().post("/v1/topics/mails+eu;$(1)/jobs", &json!({"body": "from HTTP"}));
    assert_eq!(pushed.status, 201, "{pushed}");
    let (id, body) = caller.reserve().expect("a job");
    assert_eq!(body, "from HTTP");
    assert_eq!(caller.ask(&format!("bury {id} 9")), "BURIED");
    let buried = site.web().get(&format!("/v1/jobs/{id}")).json();
    assert_eq!((&buried["state"], &buried["priority"]), (&json!("buried"), &json!(9)));
    // A pause by beanstalkd is a pause for all.
    assert_eq!(caller.ask("pause-tube mails+eu;$(1) 600"), "PAUSED");
    let settings = site.web().get("/v1/topics/mails+eu;$(1)").json();
    assert_eq!(settings["paused"], json!(true), "{settings}");
    assert!(settings["pause_left_ms"].as_u64().is_some_and(|left| left > 500_000), "{settings}");
}

#[test]
fn no_policy_of_the_queue_ends_its_jobs() {
    let site = Site::with(|config| {
        speaks_beanstalkd(config);
        config.retry_defaults = adjourn_types::RetryDefaults::default();
    });
    let mut caller = caller(&site);
    let id = caller.put("0 0 60", "again");
    for attempt in 1..=40 {
        assert_eq!(caller.reserve(), Some((id, "again".to_owned())), "attempt {attempt}");
        assert_eq!(caller.ask(&format!("release {id} 0 0")), "RELEASED");
    }
    assert_eq!(caller.field(&format!("stats-job {id}"), "reserves"), "40");
}

#[test]
fn commands_that_come_together_are_answered_in_order() {
    const JOBS: usize = 700;
    let site = site();
    let mut caller = caller(&site);
    let puts: Vec<String> = (0..JOBS).map(|nth| format!("put {nth} 0 60 4\r\n{nth:04}\r\n")).collect();
    caller.send(&(puts.concat() + "bad\r\n"));
    let ids: Vec<u64> = (0..JOBS)
        .map(|_| caller.line().strip_prefix("INSERTED ").and_then(|id| id.parse().ok()).expect("a number"))
        .collect();
    assert_eq!(caller.line(), "UNKNOWN_COMMAND");
    assert!(ids.is_sorted());
    caller.send(&("reserve-with-timeout 0\r\n".repeat(JOBS + 1) + "reserve-with-timeout 1\r\n"));
    for (nth, id) in ids.iter().enumerate() {
        assert_eq!(caller.job(), Some((*id, format!("{nth:04}"))));
    }
    assert_eq!((caller.line(), caller.line()), ("TIMED_OUT".to_owned(), "TIMED_OUT".to_owned()));
    // Some twice, and some that are not there.
    let deletes: Vec<String> =
        ids.iter().map(|id| format!("delete {id}\r\ndelete {id}\r\ndelete 999999{id}\r\n")).collect();
    caller.send(&(deletes.concat() + "stats-tube default\r\n"));
    for id in &ids {
        let replies = [caller.line(), caller.line(), caller.line()];
        assert_eq!(replies, ["DELETED", "NOT_FOUND", "NOT_FOUND"], "{id}");
    }
    assert!(caller.line().starts_with("OK "));
}

#[test]
fn a_held_job_is_told_of_before_its_time_is_over() {
    let site = site();
    let (mut one, mut other) = (caller(&site), caller(&site));
    let id = one.put("0 0 2", "a");
    let reserved = Instant::now();
    assert!(one.reserve().is_some());
    assert_eq!(one.ask("reserve"), "DEADLINE_SOON");
    assert!(reserved.elapsed() >= Duration::from_millis(900), "its last second has begun");
    assert_eq!(one.ask(&format!("touch {id}")), "TOUCHED");
    assert_eq!(one.ask("reserve-with-timeout 0"), "TIMED_OUT");
    // Its time to run is over: others get it, and it is not the first one's any more.
    assert_eq!(other.reserve(), Some((id, "a".to_owned())));
    assert!(reserved.elapsed() >= Duration::from_secs(2), "never early");
    for command in
        [format!("touch {id}"), format!("delete {id}"), format!("release {id} 0 0"), format!("bury {id} 0")]
    {
        assert_eq!(one.ask(&command), "NOT_FOUND", "{command}");
    }
    assert_eq!(other.ask(&format!("delete {id}")), "DELETED");
}

#[test]
fn a_half_closed_connection_gets_its_replies() {
    let site = site();
    let mut caller = caller(&site);
    let id = caller.put("0 0 60", "a");
    caller.send("reserve\r\nreserve\r\nlist-tube-used\r\n");
    caller.stream.shutdown(Shutdown::Write).expect("shut down");
    assert_eq!(caller.job(), Some((id, "a".to_owned())));
    assert_eq!(caller.line(), "TIMED_OUT");
    assert_eq!(caller.line(), "USING default");
    assert_eq!(caller.line(), "", "the end");
}

#[test]
fn callers_act_as_the_token_that_is_named() {
    let (site, [_]) = site_with_tokens_and([&["--allow", "push,read,consume,manage:shop.*"]], |config| {
        speaks_beanstalkd(config);
        config.dialects_token = Some("token1".to_owned());
    });
    let mut caller = caller(&site);
    assert_eq!(caller.ask("put 0 0 60 1\r\na"), "INTERNAL_ERROR", "not in that tube");
    assert_eq!(caller.ask("use shop.orders"), "USING shop.orders");
    let id = caller.put("0 0 60", "a");
    assert_eq!(caller.ask("reserve-with-timeout 0"), "INTERNAL_ERROR", "it still watches `default`");
    assert_eq!(caller.ask("watch shop.orders"), "WATCHING 2");
    assert_eq!(caller.ask("ignore default"), "WATCHING 1");
    assert_eq!(caller.reserve(), Some((id, "a".to_owned())));
    assert_eq!(caller.ask(&format!("delete {id}")), "DELETED");
}

#[test]
fn a_server_that_stops_takes_no_more_jobs() {
    let site = site();
    let (mut producer, mut worker) = (caller(&site), caller(&site));
    assert_eq!(producer.ask("list-tube-used"), "USING default");
    worker.send("reserve\r\n");
    while producer.field("stats-tube default", "current-waiting") != "1" {}
    let stopping = std::thread::spawn(move || {
        // Until the connection has ended.
        let mut last = String::new();
        loop {
            if producer.stream.write_all(b"put 0 3600 60 1\r\na\r\n").is_err() {
                return last;
            }
            let mut line = String::new();
            match producer.replies.read_line(&mut line) {
                Ok(0) | Err(_) => return last,
                Ok(_) => last = line,
            }
        }
    });
    site.node.stop();
    assert_eq!(worker.line(), "", "it is closed");
    let last = stopping.join().expect("ended");
    // Whether a put that was under way is in the queue may be unknown.
    let told = ["INSERTED ", "DRAINING\r\n", "INTERNAL_ERROR\r\n"];
    assert!(told.iter().any(|reply| last.starts_with(reply)), "{last}");
}

#[test]
fn a_body_needs_memory_and_arrives_in_time() {
    let site = Site::with(|config| {
        speaks_beanstalkd(config);
        config.frame_deadline_ms = 300;
    });
    let mut slow = caller(&site);
    slow.send("put 0 0 60 10\r\nabc");
    assert_eq!(slow.line(), "", "it is closed");
    let mut caller = caller(&site);
    let maximum = caller.field("stats", "max-job-size").parse::<usize>().expect("a number");
    let id = caller.put("0 0 60", &"x".repeat(maximum));
    assert_eq!(caller.field(&format!("stats-job {id}"), "state"), "ready");
    assert_eq!(
        caller.ask(&format!("put 0 0 60 {}\r\n{}", maximum + 1, "x".repeat(maximum + 1))),
        "JOB_TOO_BIG"
    );
    let tubes: Value = site.web().get("/v1/topics").json();
    assert_eq!(tubes["topics"][0]["ready"], json!(1), "{tubes}");
}

#[test]
fn unread_replies_take_bounded_memory() {
    let site = site();
    let (mut reader, mut other) = (caller(&site), caller(&site));
    let id = reader.put("0 0 60", &"x".repeat(1 << 20));
    reader.send(&format!("peek {id}\r\n").repeat(400));
    // Each is shown, or refused because what was shown before is not read yet: none is lost.
    let (mut shown, mut refused) = (0, 0);
    for _ in 0..400 {
        match reader.line().as_str() {
            "OUT_OF_MEMORY" => refused += 1,
            found => {
                assert!(found.starts_with("FOUND "), "{found}");
                let mut body = vec![0; (1 << 20) + 2];
                reader.replies.read_exact(&mut body).expect("a body");
                shown += 1;
            }
        }
    }
    assert_eq!(shown + refused, 400);
    assert!(shown > 0 && other.ask("list-tube-used") == "USING default");
}

#[test]
fn a_connection_ends_with_its_token_and_with_its_session() {
    let (site, [_]) = site_with_tokens_and([&["--allow", "push,read,consume,manage,admin:*"]], |config| {
        speaks_beanstalkd(config);
        config.dialects_token = Some("token1".to_owned());
    });
    let mut caller = Caller::connect(site.node.beanstalkd_address());
    caller.put("0 0 60", "a");
    let file = site.folder().join("tokens.toml");
    let revoked = adjourn(&["token", "revoke", "token1", "--file", file.to_str().expect("a path")]).status();
    assert!(revoked.expect("it ran").success());
    assert_eq!(caller.line(), "", "its token is revoked");

    let site = self::site();
    let mut worker = self::caller(&site);
    let id = worker.put("0 0 60", "a");
    assert!(worker.reserve().is_some());
    let commands = Commands::to(&site.node.address);
    let listed = commands.ok(&["connections", "--json"]);
    let connections: Vec<Value> =
        listed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let one = connections
        .iter()
        .find(|one| one["client_name"] == "beanstalkd")
        .unwrap_or_else(|| panic!("{listed}"));
    commands.ok(&["disconnect", &one["connection"].to_string(), "--end-session"]);
    worker.send(&format!("touch {id}\r\n"));
    assert_eq!(worker.line(), "", "its session is lost, with its job");
}

#[test]
fn a_web_page_commands_nothing() {
    let site = site();
    let mut page = caller(&site);
    page.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n\r\nput 0 0 60 1\r\na\r\n");
    assert_eq!(page.line(), "", "it is closed");
    assert_eq!(caller(&site).field("stats-tube default", "total-jobs"), "0");
}
