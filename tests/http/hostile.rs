//! Callers that break the rules of HTTP, are slow, or have a browser ask for them. Others do not notice.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use serde_json::{Value, json};

use super::rig::{Site, Web};

fn is_well(site: &Site) {
    assert_eq!(site.web().get("/v1/topics").status, 200);
}

#[test]
fn what_is_no_request_is_refused() {
    let site = Site::new();
    for (sent, status) in [
        ("GET /v1/stats HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (
            "POST /v1/reserve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            400,
        ),
        ("GET\r\n\r\n", 400),
        ("GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n", 400),
    ] {
        let mut web = site.web();
        web.send(sent.as_bytes());
        assert_eq!(web.reply().map(|reply| reply.status), Some(status), "{sent:?}");
    }
    // Another protocol.
    let mut web = site.web();
    web.send(b"\x00\x01\x02\x03\r\n\r\n");
    assert!(web.reply().is_none_or(|reply| reply.status == 400));
    is_well(&site);
}

#[test]
fn a_request_that_is_smuggled_behind_another_is_none() {
    let site = Site::new();
    let mut web = site.web();
    let push =
        "POST /v1/topics/smuggled/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let inner = format!("{push}Content-Length: 2\r\n\r\n{{}}");
    let outer = format!(
        "POST /v1/reserve?topics=t HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: {}\r\n\r\n0\r\n\r\n{inner}",
        inner.len() + 5
    );
    web.send(outer.as_bytes());
    assert_eq!(web.reply().map(|reply| reply.status), Some(200));
    assert!(web.is_closed(), "what follows is none of it");
    let topics = site.web().get("/v1/topics").json();
    assert!(topics["topics"].as_array().is_some_and(Vec::is_empty), "{topics}");
}

#[test]
fn heads_and_bodies_have_limits() {
    let site = Site::new();
    let mut web = site.web();
    web.send(
        format!("GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(1 << 20)).as_bytes(),
    );
    assert!(web.reply().is_none_or(|reply| reply.status == 431));
    let large = json!({ "reason": "x".repeat(300 << 10) });
    assert_eq!(site.web().post("/v1/leases/1-1/bury", &large).refusal(), (413, "TOO_LARGE".to_owned()));
    let body = json!({ "body": "x".repeat((1 << 20) + 1) });
    assert_eq!(site.web().post("/v1/topics/t/jobs", &body).refusal(), (413, "TOO_LARGE".to_owned()));
    // Announced, and never sent: it takes no memory, and is refused at once.
    let mut web = site.web();
    web.send(b"POST /v1/topics/t/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n");
    assert_eq!(web.reply().expect("an answer").refusal(), (413, "TOO_LARGE".to_owned()));
    is_well(&site);
}

#[test]
fn slow_heads_are_given_up_and_others_are_served() {
    let site = Site::with(|config| config.frame_deadline_ms = 300);
    let mut slow: Vec<Web> = (0..50).map(|_| site.web()).collect();
    for web in &mut slow {
        web.send(b"POST /v1/reserve?topics=t HTTP/1.1\r\nHost: local");
    }
    let mut web = site.web();
    web.post("/v1/topics/t/jobs", &json!({"body": "on time"}));
    let reserved = web.ask("POST", "/v1/reserve?topics=t&wait=30s", None).json();
    assert_eq!(reserved["jobs"][0]["body"], json!("on time"));
    for web in &mut slow {
        assert!(web.is_closed());
    }
}

#[test]
fn a_page_of_another_site_asks_for_nothing() {
    let site = Site::new();
    let mut web = site.web();
    let paused = web.ask_with("POST", "/v1/topics/t/pause", "Origin: https://evil.example\r\n", b"");
    assert_eq!(paused.refusal(), (403, "FORBIDDEN".to_owned()));
    // A name of its own that leads to this machine.
    let mut web = site.web();
    web.send(b"GET /v1/jobs HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert_eq!(web.reply().expect("an answer").refusal(), (403, "FORBIDDEN".to_owned()));
    // A browser sends a form without asking the server first; it states the site of the page.
    for site in ["Origin: https://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site"] {
        let form = format!("Content-Type: text/plain\r\n{site}\r\n");
        let refused = web.ask_with("POST", "/v1/topics/t/jobs", &form, b"a=1");
        assert_eq!(refused.refusal(), (403, "FORBIDDEN".to_owned()), "{site}");
    }
    let own = web.ask_with(
        "POST",
        "/v1/topics/t/jobs",
        "Origin: http://localhost\r\nContent-Type: application/json\r\n",
        b"{}",
    );
    assert_eq!(own.status, 201);
}

#[test]
fn requests_of_one_connection_are_answered_in_their_order() {
    let site = Site::new();
    let mut web = site.web();
    let one = "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    web.send(one.repeat(20).as_bytes());
    let ids: Vec<Value> = (0..20).map(|_| web.reply().expect("an answer").json()["id"].clone()).collect();
    assert_eq!(ids, (1..=20).map(Value::from).collect::<Vec<_>>());
}

#[test]
fn a_server_that_stops_answers_what_it_has_and_closes() {
    let site = Site::new();
    let mut web = site.web();
    assert_eq!(web.post("/v1/topics/t/jobs", &json!({})).status, 201);
    let mut waiting = site.web();
    waiting.send(b"POST /v1/reserve?topics=none&wait=1h HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while web.get("/v1/stats").json()["waiting"] != json!(1) {}
    site.node.stop();
    let reply = waiting.reply().expect("an answer");
    assert!(reply.status == 200 || reply.status == 503, "{reply}");
    assert!(waiting.is_closed() && web.is_closed());
}
