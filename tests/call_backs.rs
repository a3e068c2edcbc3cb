//! Call-backs over real sockets: a node that calls, receivers that answer well or badly.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

mod bounds;
mod document;
mod receiver;
mod retries;

use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use adjourn_client::{Client, ClientConfig};
use adjourn_protocol::Subscribe;
use adjourn_server::config::{Config, PortRange};
use serde_json::{Value, json};

pub(crate) use self::receiver::{Answer, Receiver};
use crate::cli::commands::Commands;
use crate::http::{Site, Web};
use crate::server_rig::Process;

const PATIENCE: Duration = Duration::from_secs(30);
const OK: Answer = Answer::Reply(200, "", "");

/// The arguments of a process that may call this machine.
const MAY_CALL_HERE: [&str; 4] = ["--call-back-allow", "127.0.0.0/8", "--call-back-ports", "1-65535"];

/// A node that may call this machine.
fn site() -> Site {
    Site::with(may_call_here)
}

pub(crate) fn may_call_here(config: &mut Config) {
    config.call_backs.allow = vec!["127.0.0.0/8".parse().expect("a network")];
    config.call_backs.ports = vec![PortRange { first: 1, last: 65_535 }];
}

/// Sets what a topic says of call-backs.
fn set(web: &mut Web, topic: &str, settings: &Value) {
    let reply = web.ask("PATCH", &format!("/v1/topics/{topic}"), Some(settings));
    // 200 warns that no calls are made.
    assert!([200, 204].contains(&reply.status), "{}", String::from_utf8_lossy(&reply.body));
}

fn push(web: &mut Web, topic: &str, job: &Value) -> u64 {
    let pushed = web.post(&format!("/v1/topics/{topic}/jobs"), job);
    assert_eq!(pushed.status, 201, "{}", String::from_utf8_lossy(&pushed.body));
    pushed.json()["id"].as_u64().expect("an id")
}

/// Asks until there is an answer.
pub(crate) fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        thread::yield_now();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's patience")]
fn now() -> Instant {
    Instant::now()
}

/// Waits until a job is done.
fn done(web: &mut Web, job: u64) {
    state(web, job, "finished");
}

/// Waits until a job looks like this.
fn shown(web: &mut Web, job: u64, is_so: impl Fn(&Value) -> bool) -> Value {
    wait_for("a state of a job", || {
        let shown = web.get(&format!("/v1/jobs/{job}"));
        (shown.status == 200).then(|| shown.json()).filter(&is_so)
    })
}

fn state(web: &mut Web, job: u64, state: &str) -> Value {
    shown(web, job, |job| job["state"] == json!(state))
}

fn attempts(web: &mut Web, job: u64) -> Vec<Value> {
    web.get(&format!("/v1/jobs/{job}/attempts")).json()["attempts"].as_array().expect("a list").clone()
}

/// Waits until so many attempts are logged.
fn attempted(web: &mut Web, job: u64, count: usize) -> Vec<Value> {
    wait_for("attempts", || Some(attempts(web, job)).filter(|attempts| attempts.len() >= count))
}

#[test]
fn a_due_job_is_called_back_and_done() {
    let (site, receiver) = (site(), Receiver::always(OK));
    let mut web = site.web();
    let url = receiver.url("/due/{key}");
    set(&mut web, "orders", &json!({"call_back": url, "call_back_headers": "X-Shop: {topic}"}));
    let job = push(&mut web, "orders", &json!({"key": "order 17", "body": "close", "delay": "200ms"}));
    let call = receiver.call();
    assert_eq!((call.line.as_str(), &call.body[..]), ("POST /due/order%2017 HTTP/1.1", &b"close"[..]));
    assert_eq!((call.job(), call.header("adjourn-attempt")), (job, "1"));
    assert_eq!((call.header("adjourn-key"), call.header("x-shop")), ("order 17", "orders"));
    assert_eq!(call.header("webhook-signature"), "");
    done(&mut web, job);
    let attempts = attempted(&mut web, job, 1);
    assert_eq!((&attempts[0]["status"], &attempts[0]["outcome"]), (&json!(200), &json!("finished")));
    let metrics = String::from_utf8(web.get("/metrics").body).expect("text");
    assert!(metrics.contains("adjourn_call_backs_total{outcome=\"finished\"} 1"), "{metrics}");
    assert!(metrics.contains("adjourn_call_back_seconds_count 1"), "{metrics}");
    assert!(receiver.more().is_empty());
}

#[test]
fn calls_are_signed_with_each_secret_of_their_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("secrets.toml");
    let secret = |byte: &str| format!("\"whsec_{}\"", byte.repeat(32));
    let write = |secrets: String| {
        let text = format!("[secrets.shop]\ntopics = [\"*\"]\nsecrets = [{secrets}]\n");
        std::fs::write(&file, text).expect("written");
    };
    write(secret("A"));
    let site = Site::with(|config| {
        may_call_here(config);
        config.call_backs.secrets_file = Some(file.clone());
    });
    let (mut web, receiver) = (site.web(), Receiver::always(OK));
    set(&mut web, "t", &json!({"call_back": receiver.url("/"), "call_back_secrets": "shop"}));
    push(&mut web, "t", &json!({"body": "a"}));
    let call = receiver.call();
    assert_eq!(call.header("webhook-signature"), signature(&call, "A"));
    write(format!("{}, {}", secret("B"), secret("A")));
    wait_for("both signatures", || {
        push(&mut web, "t", &json!({"body": "b"}));
        let call = receiver.call();
        let both = format!("{} {}", signature(&call, "B"), signature(&call, "A"));
        (call.header("webhook-signature") == both).then_some(())
    });
    // Without its secrets nothing is sent.
    set(&mut web, "unsigned", &json!({"call_back": receiver.url("/"), "call_back_secrets": "other"}));
    let job = push(&mut web, "unsigned", &json!({}));
    let held = shown(&mut web, job, |job| job["reason"].is_string());
    assert!(held["reason"].as_str().expect("a reason").contains("no secrets named other"), "{held}");
    assert_eq!((&held["state"], &held["attempts"]), (&json!("delayed"), &json!(0)));
}

/// What a receiver computes itself.
fn signature(call: &receiver::Call, byte: &str) -> String {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    let key = BASE64_STANDARD.decode(byte.repeat(32)).expect("base64");
    let text = [
        format!("{}.{}.", call.header("webhook-id"), call.header("webhook-timestamp")).as_bytes(),
        &call.body[..],
    ]
    .concat();
    let tag = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key), &text);
    format!("v1,{}", BASE64_STANDARD.encode(tag))
}

#[test]
fn a_receiver_may_finish_later() {
    let (site, receiver) = (site(), Receiver::always(Answer::Reply(202, "", "")));
    let mut web = site.web();
    set(&mut web, "t", &json!({"call_back": receiver.url("/")}));
    let job = push(&mut web, "t", &json!({}));
    let lease = receiver.call().header("adjourn-lease").to_owned();
    attempted(&mut web, job, 1);
    let held = state(&mut web, job, "reserved");
    assert_eq!(held["attempts"], json!(1));
    assert_eq!(web.ask("POST", &format!("/v1/leases/{lease}/finish"), None).status, 204);
    done(&mut web, job);
    assert!(receiver.more().is_empty());
}

#[test]
fn the_reply_decides() {
    let site = site();
    let mut web = site.web();
    let mut topic = |name: &str, answer: Answer, more: Value| {
        let receiver = Receiver::always(answer);
        let mut settings = json!({"call_back": receiver.url("/"), "backoff": "1m"});
        settings.as_object_mut().expect("settings").extend(more.as_object().expect("settings").clone());
        set(&mut web, name, &settings);
        (push(&mut web, name, &json!({"body": "{\"a\":1}"})), receiver)
    };
    let (refused, _one) = topic("refused", Answer::Reply(422, "", "no such order"), json!({}));
    let (lenient, _two) = topic("lenient", Answer::Reply(404, "", ""), json!({"call_back_refused": "retry"}));
    let (busy, _three) = topic("busy", Answer::Reply(503, "Retry-After: 120\r\n", ""), json!({}));
    let (moved, _four) =
        topic("moved", Answer::Reply(302, "Location: http://169.254.169.254/latest\r\n", ""), json!({}));
    let condition = json!({"call_back_retry_if": "{res.code} != 200 && {res.data.ok} == 'no'"});
    let no = Answer::Reply(200, "", r#"{"code": 7, "data": {"ok": "no"}}"#);
    let (failed, _five) = topic("failed", no, condition.clone());
    let (passed, _six) = topic("passed", Answer::Reply(200, "", r#"{"code": 200}"#), condition);
    let (zero, _seven) = topic("zero", Answer::Reply(200, "", "0"), json!({"call_back_success": "reply"}));
    let (form, eighth) =
        topic("form", OK, json!({"call_back_body": "{body.form}", "call_back_method": "PUT"}));
    let buried = state(&mut web, refused, "buried");
    assert_eq!(buried["reason"], json!("422 Unprocessable Entity: no such order"));
    for (job, reason) in [
        (lenient, "404 Not Found"),
        (busy, "503 Service Unavailable"),
        (moved, "302 Found to http://169.254.169.254/latest, which is not followed"),
        (failed, "200 OK: {\"code\": 7, \"data\": {\"ok\": \"no\"}}"),
        (zero, "200 OK: 0"),
    ] {
        let waiting = state(&mut web, job, "delayed");
        assert_eq!((&waiting["reason"], &waiting["attempts"]), (&json!(reason), &json!(1)));
    }
    let asked = web.get(&format!("/v1/jobs/{busy}")).json();
    let attempt = &attempts(&mut web, busy)[0];
    let [due, at] = [&asked["due"], &attempt["at"]].map(|text| text.as_str().expect("a time").to_owned());
    let [due, at] = [due, at].map(|text| text.parse::<jiff::Timestamp>().expect("a time").as_second());
    assert!((119..=125).contains(&(due - at)), "{due} {at}");
    done(&mut web, passed);
    done(&mut web, form);
    let call = eighth.call();
    assert_eq!((&call.body[..], call.line.as_str()), (&b"a=1"[..], "PUT / HTTP/1.1"));
}

#[test]
fn bad_destinations_hold_up_nobody() {
    let (site, good) = (site(), Receiver::always(OK));
    let mut web = site.web();
    let bad = [Answer::Hang, Answer::Reset, Answer::Trickle, Answer::Flood];
    let bad: Vec<Receiver> = bad.into_iter().map(Receiver::always).collect();
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address")
    };
    let urls = bad.iter().map(|receiver| receiver.url("/")).chain([format!("http://{closed}/")]);
    let mut jobs = Vec::new();
    for (number, url) in urls.enumerate() {
        let topic = format!("bad{number}");
        set(&mut web, &topic, &json!({"call_back": url, "call_back_timeout": "1s", "backoff": "1h"}));
        jobs.push(push(&mut web, &topic, &json!({})));
    }
    set(&mut web, "good", &json!({"call_back": good.url("/")}));
    let pushed: Vec<u64> = (0..50).map(|_| push(&mut web, "good", &json!({}))).collect();
    for job in &pushed {
        done(&mut web, *job);
    }
    let called: BTreeSet<u64> = good.more().iter().map(receiver::Call::job).collect();
    assert_eq!(called, pushed.into_iter().collect());
    // Of a flood no more is read than a verdict needs.
    done(&mut web, jobs[3]);
    for (job, reason, attempts) in [
        (jobs[0], "no reply within 1000 ms", 1),
        (jobs[1], "no reply", 1),
        (jobs[2], "no reply within", 1),
        (jobs[4], "no connection", 0),
    ] {
        let waiting = state(&mut web, job, "delayed");
        let told = waiting["reason"].as_str().expect("a reason");
        assert!(told.starts_with(reason) && waiting["attempts"] == json!(attempts), "{waiting}");
    }
    let metrics = String::from_utf8(web.get("/metrics").body).expect("text");
    assert!(metrics.contains("adjourn_topic_destinations_failing{topic=\"good\"} 0"), "{metrics}");
}

#[test]
fn nothing_is_called_that_is_not_allowed() {
    let receiver = Receiver::always(OK);
    let site = Site::new();
    let mut web = site.web();
    set(&mut web, "t", &json!({"call_back": receiver.url("/")}));
    let job = push(&mut web, "t", &json!({}));
    let held = state(&mut web, job, "delayed");
    let told = held["reason"].as_str().expect("a reason");
    assert!(told.contains("call_back_ports") && held["attempts"] == json!(0), "{held}");
    let check = |web: &mut Web, url: &str| web.post("/v1/call-backs/check", &json!({"url": url})).json();
    let loopback = check(&mut web, "http://localhost/");
    assert_eq!(loopback["allowed"], json!(false));
    assert!(loopback["reason"].as_str().expect("a reason").contains("call_back_allow"), "{loopback}");
    assert_eq!(check(&mut web, "file:///etc/passwd")["allowed"], json!(false));
    assert!(receiver.more().is_empty());
    let open = Site::with(|config| config.call_backs.egress = "open".parse().expect("a rule"));
    let mut web = open.web();
    assert_eq!(check(&mut web, "http://127.0.0.1/")["allowed"], json!(true));
    for metadata in ["http://169.254.169.254/latest", "http://[::ffff:a9fe:a9fe]/", "http://[fe80::1]/"] {
        let checked = check(&mut web, metadata);
        assert!(checked["reason"].as_str().expect("a reason").contains("never called"), "{checked}");
    }
}

#[test]
fn jobs_name_their_urls_where_they_may() {
    let (site, one, two) = (site(), Receiver::always(OK), Receiver::always(Answer::Hang));
    let mut web = site.web();
    set(&mut web, "t", &json!({"call_back_of_job": true, "call_back_timeout": "2s"}));
    let to = |url: String| json!({"headers": {"call-back": url}});
    let nowhere = push(&mut web, "t", &json!({}));
    for _ in 0..20 {
        push(&mut web, "t", &to(two.url("/hangs")));
    }
    let jobs: Vec<u64> = (0..20).map(|_| push(&mut web, "t", &to(one.url("/well")))).collect();
    for job in &jobs {
        done(&mut web, *job);
    }
    assert!(two.more().len() <= 3, "a destination that does not answer gets no more than probes");
    let buried = state(&mut web, nowhere, "buried");
    assert!(buried["reason"].as_str().expect("a reason").contains("has no URL"), "{buried}");
}

/// A client, a subscription and call-backs at one topic: each job is done once.
#[test]
fn all_ways_to_consume_serve_one_topic_at_once() {
    const JOBS: usize = 3000;
    let (site, receiver) = (site(), Receiver::always(OK));
    let mut web = site.web();
    set(&mut web, "t", &json!({"call_back": receiver.url("/"), "call_back_concurrency": 8}));
    // Calls have begun when the others come.
    let first = push(&mut web, "t", &json!({"body": "first"}));
    receiver.call();
    self::done(&mut web, first);
    let done = Arc::new(Mutex::new(Vec::<(&'static str, u64)>::new()));
    let address = site.node.address.to_string();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let subscribing = {
        let done = Arc::clone(&done);
        runtime.spawn(async move {
            let client = Client::connect(ClientConfig::new(&address)).await.expect("connected");
            let topics = vec!["t".parse().expect("a topic")];
            let order = Subscribe { topics, credit_jobs: 8, credit_bytes: 1 << 20, weights: Vec::new() };
            let mut jobs = client.subscribe(order).await.expect("subscribed");
            while let Some(job) = jobs.next().await {
                let results = client.finish(vec![job.lease]).await.expect("finished");
                assert_eq!(results, [Ok(())]);
                done.lock().expect("unpoisoned").push(("subscription", job.lease.job.0));
            }
        })
    };
    let polling = {
        let (mut web, done) = (site.web(), Arc::clone(&done));
        thread::spawn(move || {
            loop {
                let jobs = web.ask("POST", "/v1/reserve?topics=t&max=8&wait=2s", None).json();
                let jobs = jobs["jobs"].as_array().expect("a list").clone();
                if jobs.is_empty() {
                    return;
                }
                for job in jobs {
                    let lease = job["lease"].as_str().expect("a lease");
                    assert_eq!(web.ask("POST", &format!("/v1/leases/{lease}/finish"), None).status, 204);
                    done.lock().expect("unpoisoned").push(("poll", job["id"].as_u64().expect("an id")));
                }
            }
        })
    };
    let batch: Vec<Value> = (0..100).map(|_| json!({"body": "x"})).collect();
    let mut pushed = BTreeSet::new();
    for _ in 0..JOBS / batch.len() {
        let reply = web.post("/v1/topics/t/jobs", &json!(batch)).json();
        let jobs = reply["results"].as_array().expect("a list");
        pushed.extend(jobs.iter().map(|job| job["id"].as_u64().expect("an id")));
    }
    polling.join().expect("polled");
    wait_for("the end of all jobs", || {
        (web.get("/v1/jobs/count?topic=t").json()["count"] == json!(0)).then_some(())
    });
    subscribing.abort();
    let mut all = done.lock().expect("unpoisoned").clone();
    all.extend(receiver.more().iter().map(|call| ("call", call.job())));
    let ids: BTreeSet<u64> = all.iter().map(|(_, id)| *id).collect();
    assert_eq!((all.len(), &ids), (JOBS, &pushed), "each once");
    let ways: BTreeSet<&str> = all.iter().map(|(way, _)| *way).collect();
    assert_eq!(ways.len(), 3, "{ways:?}");
}

#[test]
fn a_node_that_stops_waits_for_calls_under_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tell, when) = channel();
    let receiver = Receiver::always(Answer::When(Arc::new(Mutex::new(when))));
    let process = Process::start(folder.path(), &MAY_CALL_HERE);
    let commands = Commands::to(&process.address);
    commands.ok(&["topic", "set", "t", "--call-back", &receiver.url("/"), "--remember", "1h"]);
    let job = commands.ok(&["push", "t", "x"]).trim().to_owned();
    receiver.call();
    process.signal(rustix::process::Signal::TERM);
    let (ended, end) = channel();
    thread::spawn(move || ended.send(process.wait().success()));
    assert!(end.recv_timeout(Duration::from_millis(500)).is_err(), "it waits");
    tell.send(200).expect("sent");
    assert_eq!(end.recv_timeout(PATIENCE), Ok(true));
    let process = Process::start(folder.path(), &MAY_CALL_HERE);
    let shown = Commands::to(&process.address).json(&["get", &job]);
    assert_eq!((&shown["state"], &shown["attempts"]), (&json!("finished"), &json!(1)), "{shown}");
    assert!(receiver.more().is_empty(), "it is called once");
}

#[test]
fn a_second_signal_ends_a_node_that_waits_for_a_call() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_tell, when) = channel();
    let receiver = Receiver::always(Answer::When(Arc::new(Mutex::new(when))));
    let process = Process::start(folder.path(), &MAY_CALL_HERE);
    let commands = Commands::to(&process.address);
    commands.ok(&["topic", "set", "t", "--call-back", &receiver.url("/")]);
    commands.ok(&["push", "t", "x"]);
    receiver.call();
    process.signal(rustix::process::Signal::TERM);
    process.signal(rustix::process::Signal::INT);
    assert_eq!(process.wait().code(), Some(130));
}

#[test]
fn changed_settings_end_the_calls_of_those_before() {
    let (site, old, new) = (site(), Receiver::always(OK), Receiver::always(OK));
    let mut web = site.web();
    set(&mut web, "t", &json!({"call_back": old.url("/")}));
    let job = push(&mut web, "t", &json!({}));
    done(&mut web, job);
    set(&mut web, "t", &json!({"call_back": new.url("/")}));
    wait_for("calls that go to the new receiver alone", || {
        old.more();
        for _ in 0..20 {
            let job = push(&mut web, "t", &json!({}));
            done(&mut web, job);
        }
        (old.more().is_empty() && new.more().len() == 20).then_some(())
    });
    set(&mut web, "t", &json!({"call_back_paused": true}));
    calls_end(&mut web, "t");
    let pushed: BTreeSet<u64> = (0..20).map(|_| push(&mut web, "t", &json!({}))).collect();
    let mut reserved = BTreeSet::new();
    while reserved.len() < pushed.len() {
        let jobs = web.ask("POST", "/v1/reserve?topics=t&max=20&wait=10s", None).json();
        reserved.extend(jobs["jobs"].as_array().expect("a list").iter().filter_map(|job| job["id"].as_u64()));
    }
    assert_eq!(reserved, pushed, "nobody calls");
    assert!(old.more().is_empty() && new.more().is_empty());
}

/// Waits until a topic is not among those that are called back.
fn calls_end(web: &mut Web, topic: &str) {
    wait_for("the end of calls", || {
        let metrics = String::from_utf8(web.get("/metrics").body).expect("text");
        (!metrics.contains(&format!("destinations_failing{{topic=\"{topic}\"}}"))).then_some(())
    });
}

#[test]
fn a_call_that_is_answered_after_its_settings_changed_counts() {
    let (tell, when) = channel();
    let (site, receiver) = (site(), Receiver::always(Answer::When(Arc::new(Mutex::new(when)))));
    let mut web = site.web();
    set(&mut web, "t", &json!({"call_back": receiver.url("/old")}));
    let job = push(&mut web, "t", &json!({}));
    receiver.call();
    set(&mut web, "t", &json!({"call_back": null}));
    tell.send(200).expect("sent");
    done(&mut web, job);
    calls_end(&mut web, "t");
    let other = push(&mut web, "t", &json!({}));
    let reserved = web.ask("POST", "/v1/reserve?topics=t&wait=10s", None).json();
    assert_eq!(reserved["jobs"][0]["id"], json!(other), "nobody calls any more");
    assert!(receiver.more().is_empty());
}
