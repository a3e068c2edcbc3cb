//! Connections: how long they may be idle, and what becomes of a request whose caller has closed its side.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use adjourn_transport::tls::Connector;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::rig::{Site, Web};
use super::tokens::site_with_tokens_and;
use crate::server::openssl::certificates::{Certificates, Flaw};

const GET: &str = "GET /v1/topics HTTP/1.1\r\nHost: localhost\r\n";

fn timeout(web: &mut Web, path: &str) -> Option<String> {
    web.get(path).header("keep-alive").map(str::to_owned)
}

#[test]
fn an_idle_connection_is_kept_for_longer_than_a_head_may_take() {
    let site = Site::with(|config| config.frame_deadline_ms = 300);
    let mut web = site.web();
    assert_eq!(timeout(&mut web, "/v1/topics").as_deref(), Some("timeout=75"));
    // One on which no request comes is closed while the first one is idle.
    assert!(site.web().is_closed());
    assert_eq!(web.get("/v1/topics").status, 200);
}

#[test]
fn a_connection_that_is_idle_for_too_long_is_closed() {
    let site = Site::with(|config| {
        config.http_keep_alive_ms = 1_200;
        config.frame_deadline_ms = 600_000;
    });
    let mut web = site.web();
    assert_eq!(timeout(&mut web, "/v1/topics").as_deref(), Some("timeout=1"));
    assert!(web.is_closed());
}

#[test]
fn a_head_that_is_late_is_given_up_however_long_a_connection_may_be_idle() {
    let site = Site::with(|config| {
        config.http_keep_alive_ms = 600_000;
        config.frame_deadline_ms = 300;
    });
    let mut web = site.web();
    assert_eq!(web.get("/v1/topics").status, 200);
    web.send(b"GET /v1/topics HTTP/1.1\r\nHost: local");
    assert!(web.is_closed());
    // More of it does not give it more time.
    let mut slow = TcpStream::connect(site.node.http_address()).expect("connected");
    slow.set_read_timeout(Some(Duration::from_millis(20))).expect("set");
    let is_closed = |stream: &mut TcpStream| {
        let _ = stream.write_all(b"x");
        match stream.read(&mut [0; 1]) {
            Ok(read) => read == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    };
    assert!((0..1000).any(|_| is_closed(&mut slow)), "it is open after 20 seconds");
}

#[test]
fn a_caller_that_shows_no_token_keeps_no_connection() {
    let (site, [reader]) =
        site_with_tokens_and([&["--allow", "read"]], |config| config.frame_deadline_ms = 1_000);
    let mut known = site.web().with_token(&reader);
    assert_eq!(timeout(&mut known, "/v1/topics").as_deref(), Some("timeout=75"));
    let mut stranger = site.web();
    for (path, status) in [("/healthz", 200), ("/v1/topics", 401), ("/nowhere", 404)] {
        let told = stranger.get(path);
        assert_eq!((told.status, told.header("keep-alive")), (status, Some("timeout=1")), "{path}");
    }
    assert!(stranger.is_closed());
    assert_eq!(known.get("/v1/topics").status, 200);
}

#[test]
fn an_answer_after_which_the_connection_is_closed_promises_nothing() {
    let site = Site::new();
    let reserve = "POST /v1/reserve?topics=t HTTP/1.1\r\nHost: localhost\r\n";
    for sent in [
        format!("{GET}Connection: close\r\n\r\n"),
        format!("{GET}Connection: x, Close\r\n\r\n"),
        format!("{reserve}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        "GET /v1/topics HTTP/1.0\r\nHost: localhost\r\n\r\n".to_owned(),
    ] {
        let mut web = site.web();
        web.send(sent.as_bytes());
        let told = web.reply().expect("an answer");
        assert_eq!((told.status, told.header("keep-alive")), (200, None), "{sent}");
        assert!(web.is_closed(), "{sent}");
    }
    let mut web = site.web();
    for _ in 0..2 {
        web.send(b"GET /v1/topics HTTP/1.0\r\nHost: localhost\r\nConnection: Keep-Alive\r\n\r\n");
        let told = web.reply().expect("an answer");
        assert_eq!((told.status, told.header("keep-alive")), (200, Some("timeout=75")));
    }
}

#[test]
fn a_caller_that_has_closed_its_side_gets_its_answer() {
    let site = Site::new();
    let push = "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let ask = |sent: &str| {
        let mut web = site.web();
        web.send(sent.as_bytes());
        web.close_sending();
        let reply = web.reply().expect("an answer");
        assert!(web.is_closed(), "{reply}");
        reply
    };
    for number in 1..=20 {
        let pushed = ask(&format!("{push}Content-Length: 2\r\n\r\n{{}}")).json();
        assert_eq!(pushed["id"], json!(number));
        assert_eq!(ask(&format!("{GET}\r\n")).json()["topics"][0]["pushed"], json!(number));
    }
    let reserved = ask("POST /v1/reserve?topics=t HTTP/1.1\r\nHost: localhost\r\n\r\n").json();
    assert_eq!(reserved["jobs"][0]["id"], json!(1), "it does not wait");
    let reserved = ask("POST /v1/reserve?topics=t&wait=30s HTTP/1.1\r\nHost: localhost\r\n\r\n").json();
    assert_eq!(reserved["jobs"][0]["id"], json!(2), "it need not wait");
    let half = ask(&format!("{push}Content-Length: 3\r\n\r\n{{}}"));
    assert_eq!(half.refusal(), (400, "MALFORMED".to_owned()));
    assert_eq!(site.web().get("/v1/topics").json()["topics"][0]["pushed"], json!(20));
}

#[test]
fn a_caller_over_tls_that_has_closed_its_side_gets_its_answer() {
    let certificates = Certificates::new();
    let files = certificates.server("localhost", Flaw::None);
    let site = Site::with(|config| {
        config.tls_cert = Some(files.certificate);
        config.tls_key = Some(files.key);
    });
    let connector = Connector::new(&certificates.client()).expect("a connector");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let answer = runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(site.node.http_address()).await.expect("connected");
        let mut stream = connector.connect("localhost:443", stream).await.expect("a handshake");
        stream.write_all(format!("{GET}\r\n").as_bytes()).await.expect("sent");
        stream.shutdown().await.expect("closed");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer, and an orderly end");
        answer
    });
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("{\"topics\":[]}"), "{answer}");
}

#[test]
fn a_caller_that_closes_its_side_while_it_waits_gets_no_job() {
    let site = Site::new();
    let mut web = site.web();
    let waits = |web: &mut Web| web.get("/v1/stats").json()["waiting"] == json!(1);
    let mut leaving = site.web();
    leaving.send(b"POST /v1/reserve?topics=t&wait=30s HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while !waits(&mut web) {}
    leaving.close_sending();
    assert!(leaving.is_closed());
    while waits(&mut web) {}
    let job = web.post("/v1/topics/t/jobs", &json!({})).json()["id"].clone();
    let shown = web.get(&format!("/v1/jobs/{job}")).json();
    assert_eq!((&shown["state"], &shown["attempts"]), (&json!("ready"), &json!(0)));
}

#[test]
fn what_is_sent_while_a_reserve_waits_is_read_after_it() {
    let site = Site::new();
    let mut web = site.web();
    let mut waiting = site.web();
    // Less than what is read ahead, and more.
    for headers in [1, 40] {
        waiting.send(b"POST /v1/reserve?topics=t&wait=30s HTTP/1.1\r\nHost: localhost\r\n\r\n");
        while web.get("/v1/stats").json()["waiting"] != json!(1) {}
        let next = format!("{GET}{}\r\n{GET}\r\n", "X-Filler: 0123456789\r\n".repeat(headers));
        let (begun, rest) = next.split_at(next.len() - 30);
        waiting.send(begun.as_bytes());
        let job = web.post("/v1/topics/t/jobs", &json!({})).json()["id"].clone();
        assert_eq!(waiting.reply().expect("an answer").json()["jobs"][0]["id"], job);
        waiting.send(rest.as_bytes());
        for _ in 0..2 {
            assert_eq!(waiting.reply().expect("an answer").status, 200, "{headers} headers");
        }
    }
}
