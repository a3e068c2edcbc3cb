//! Server-sent events: counts, and what happens to jobs.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use serde_json::{Value, json};

use super::rig::{Site, Web};
use super::tokens::site_with_tokens_and;
use crate::server_rig::{Raw, adjourn, push, topic};

/// One that reads them.
struct Reader(Web);

impl Reader {
    fn open(mut web: Web, token: Option<&str>, query: &str) -> Self {
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        web.send(format!("GET /v1/events?{query} HTTP/1.1\r\nHost: localhost\r\n{token}\r\n").as_bytes());
        let reply = web.reply().expect("an answer");
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/event-stream")), "{reply}");
        Self(web)
    }

    /// The next event; `None` at the end.
    fn try_next(&mut self) -> Option<(String, Value)> {
        loop {
            let line = self.0.line()?;
            // The last chunk. The connection stays open.
            if line == "0" {
                return None;
            }
            if let Some(event) = line.strip_prefix("event: ").map(|event| event.trim_end().to_owned()) {
                let data = self.0.line()?;
                let data = data.trim_end().strip_prefix("data: ").expect("data");
                return Some((event, serde_json::from_str(data).expect("JSON")));
            }
        }
    }

    fn next(&mut self, kind: &str) -> Value {
        let (event, data) = self.try_next().expect("an event");
        assert_eq!(event, kind, "{data}");
        data
    }

    /// The next events of a job.
    fn life(&mut self, job: u64, count: usize) -> Vec<String> {
        let mut events = Vec::new();
        while events.len() < count {
            let event = self.next("job");
            if event["job"] == json!(job) {
                events.push(event["event"].as_str().expect("a name").to_owned());
            }
        }
        events
    }
}

fn new_job(web: &mut Web, topic: &str, job: &Value) -> u64 {
    web.post(&format!("/v1/topics/{topic}/jobs"), job).json()["id"].as_u64().expect("an id")
}

fn lease(web: &mut Web, topic: &str) -> String {
    let reserved = web.ask("POST", &format!("/v1/reserve?topics={topic}&wait=30s"), None).json();
    reserved["jobs"][0]["lease"].as_str().expect("a lease").to_owned()
}

#[test]
fn counts_come_at_intervals() {
    let site = Site::new();
    let mut web = site.web();
    new_job(&mut web, "orders", &json!({"delay": "1h"}));
    new_job(&mut web, "mails", &json!({}));
    let mut reader = Reader::open(site.web(), None, "topics=ord*&every=1s");
    let counts = reader.next("counts");
    assert_eq!((&counts["node"], &counts["leader"]), (&json!(1), &json!(1)));
    assert_eq!(counts["totals"], Value::Null, "of some topics there are no sums");
    assert_eq!(counts["topics"].as_array().map(Vec::len), Some(1), "{counts}");
    assert_eq!(
        (&counts["topics"][0]["topic"], &counts["topics"][0]["delayed"]),
        (&json!("orders"), &json!(1))
    );
    let all = Reader::open(site.web(), None, "").next("counts");
    assert_eq!((&all["totals"]["delayed"], &all["totals"]["ready"]), (&json!(1), &json!(1)));
    new_job(&mut site.web(), "orders", &json!({"delay": "1h"}));
    while reader.next("counts")["topics"][0]["delayed"] != json!(2) {}
}

#[test]
fn the_life_of_a_job_is_shown() {
    let site = Site::new();
    let mut web = site.web();
    let mut reader = Reader::open(site.web(), None, "what=jobs&topics=orders");
    new_job(&mut web, "mails", &json!({}));
    let job = new_job(&mut web, "orders", &json!({"key": "a"}));
    let first = reader.next("job");
    assert_eq!(
        (&first["topic"], &first["event"], &first["attempts"]),
        (&json!("orders"), &json!("pushed"), &json!(0))
    );
    assert_eq!(reader.life(job, 1), ["ready"]);
    let held = lease(&mut web, "orders");
    assert_eq!(web.post(&format!("/v1/leases/{held}/bury"), &json!({})).status, 204);
    assert_eq!(web.ask("POST", &format!("/v1/jobs/{job}/kick"), None).status, 200);
    let held = lease(&mut web, "orders");
    assert_eq!(web.post(&format!("/v1/leases/{held}/release"), &json!({"delay": "100ms"})).status, 204);
    let held = lease(&mut web, "orders");
    assert_eq!(web.ask("POST", &format!("/v1/leases/{held}/finish"), None).status, 204);
    let life = ["reserved", "buried", "ready", "reserved", "delayed", "ready", "reserved", "finished"];
    assert_eq!(reader.life(job, life.len()), life);
    let late = new_job(&mut web, "orders", &json!({"delay": "1h", "key": "b"}));
    let due = json!({"due": "2030-01-01T00:00:00Z"});
    assert_eq!(web.post(&format!("/v1/jobs/{late}/reschedule"), &due).status, 200);
    assert_eq!(web.ask("DELETE", &format!("/v1/jobs/{late}"), None).status, 200);
    let expiring = new_job(&mut web, "orders", &json!({"expires": "100ms"}));
    assert_eq!(reader.life(late, 3), ["pushed", "delayed", "deleted"]);
    assert_eq!(reader.life(expiring, 3), ["pushed", "ready", "expired"]);
}

#[test]
fn a_job_that_goes_to_dead_letters_leaves_its_topic() {
    let site = Site::new();
    let mut web = site.web();
    let set = web.ask("PATCH", "/v1/topics/orders", Some(&json!({"dead_letters": "failed"})));
    assert_eq!(set.status, 204);
    let mut reader = Reader::open(site.web(), None, "what=jobs");
    let job = new_job(&mut web, "orders", &json!({}));
    let held = lease(&mut web, "orders");
    assert_eq!(web.post(&format!("/v1/leases/{held}/bury"), &json!({})).status, 204);
    let told = |event: Value| (event["topic"].clone(), event["event"].clone(), event["job"].clone());
    for (topic, event) in [
        ("orders", "pushed"),
        ("orders", "ready"),
        ("orders", "reserved"),
        ("orders", "moved"),
        ("failed", "moved"),
        ("failed", "ready"),
    ] {
        assert_eq!(told(reader.next("job")), (json!(topic), json!(event), json!(job)));
    }
}

#[test]
fn a_token_sees_its_own_topics_until_it_is_revoked() {
    let mut file = None;
    let (site, [all, some]) =
        site_with_tokens_and([&["--allow", "push,read"], &["--allow", "read:orders.*"]], |config| {
            file.clone_from(&config.tokens_file);
        });
    let mut reader = Reader::open(site.web(), Some(&some), "what=counts,jobs");
    assert_eq!(reader.next("counts")["totals"], Value::Null);
    let mut web = site.web().with_token(&all);
    new_job(&mut web, "mails", &json!({}));
    let job = new_job(&mut web, "orders.eu", &json!({}));
    let (kind, event) = reader.try_next().expect("an event");
    assert_eq!((kind.as_str(), &event["job"]), ("job", &json!(job)), "{event}");
    let file = file.expect("a file");
    let revoked = adjourn(&["token", "revoke", "token2", "--file", file.to_str().expect("a path")]).output();
    assert!(revoked.expect("run").status.success());
    while reader.try_next().is_some() {}
    let refused = site.web().with_token(&some).get("/v1/events");
    assert_eq!(refused.status, 401);
}

#[test]
fn a_reader_that_is_too_slow_is_told_what_it_missed() {
    const BATCHES: u64 = 80;
    const JOBS: u64 = 1000;
    let site = Site::new();
    let mut reader = Reader::open(site.web(), None, "what=jobs");
    let mut raw = Raw::greeted(site.node.address);
    for _ in 0..BATCHES {
        let mut request = push("t", "x", 3_600_000);
        if let adjourn_protocol::Request::Push(push) = &mut request {
            push.topic = topic("t");
            push.jobs = vec![push.jobs[0].clone(); usize::try_from(JOBS).expect("small")];
        }
        raw.ask(request);
    }
    // So many are kept that the last one is among them.
    let (mut seen, mut missed) = (0, 0);
    while seen + missed < BATCHES * JOBS {
        match reader.try_next().expect("an event") {
            (kind, data) if kind == "lagged" => missed += data["missed"].as_u64().expect("a number"),
            _ => seen += 1,
        }
    }
    assert!(missed > 0 && seen > 0, "{seen} seen, {missed} missed");
    assert_eq!(seen + missed, BATCHES * JOBS);
}

#[test]
fn wrong_wishes_are_refused() {
    let site = Site::new();
    for query in ["what=all", "every=10ms", "topics=a%20b", "every=x", "since=1"] {
        let refused = site.web().get(&format!("/v1/events?{query}"));
        assert_eq!(refused.refusal(), (400, "MALFORMED".to_owned()), "{query}");
    }
    // There are so many places, and each is free again when its reader goes.
    let readers: Vec<Reader> = (0..64).map(|_| Reader::open(site.web(), None, "what=jobs")).collect();
    assert_eq!(site.web().get("/v1/events").refusal(), (503, "BUSY".to_owned()));
    drop(readers);
    while site.web().get("/v1/events").status != 200 {}
}
