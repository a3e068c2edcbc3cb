//! Attacks over HTTP.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use serde_json::json;
use tokio::net::TcpSocket;

use super::Scene;
use crate::cluster::free_port;
use crate::http::Web;

/// A scene with HTTP, and a port of Youzan's dialect whose callers act as the shop; and where the two are.
fn with_http() -> (Scene, SocketAddr, SocketAddr) {
    let [web, youzan] = [free_port(), free_port()];
    let (at, dialect) = (web.to_string(), youzan.to_string());
    let memory = (256 << 20).to_string();
    let ports = ["--http-listen", &at, "--youzan-listen", &dialect, "--dialects-token", "shop"];
    let scene = Scene::with(&[&ports[..], &["--memory-max-bytes", &memory]].concat());
    // They are listened on a moment after the clients' port.
    for port in [web, youzan] {
        while Web::try_connect(port).is_none() {
            std::thread::yield_now();
        }
    }
    (scene, web, youzan)
}

/// A connection that the system keeps little for.
fn small(address: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(address).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream
}

/// The shop's business goes on.
fn shop_is_well(scene: &Scene, web: SocketAddr) {
    let mut shop = Web::connect(web).with_token(&scene.shop);
    let body = "x".repeat(100 << 10);
    let pushed = shop.post("/v1/topics/shop.orders/jobs", &json!({ "body": body })).json();
    let reserved = shop.ask("POST", "/v1/reserve?topics=shop.orders&wait=30s", None).json();
    assert_eq!((&reserved["jobs"][0]["id"], &reserved["jobs"][0]["body"]), (&pushed["id"], &json!(body)));
    assert_eq!(Web::connect(web).get("/readyz").status, 200);
}

#[test]
fn a21_answers_that_nobody_reads() {
    let (scene, web, _) = with_http();
    let mut thief = Web::connect(web).with_token(&scene.thief);
    let large = json!({ "body": "\u{1}".repeat(1 << 20), "delay": "1d" });
    let job = thief.post("/v1/topics/thief.jobs/jobs", &large).json();
    let get = format!(
        "GET /v1/jobs/{} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        job["id"], scene.thief
    );
    let mut unread: Vec<TcpStream> = (0..40).map(|_| small(web)).collect();
    let status = |stream: &mut TcpStream| {
        stream.write_all(get.as_bytes()).unwrap();
        let mut line = [0; 12];
        stream.read_exact(&mut line).unwrap();
        String::from_utf8(line.to_vec()).unwrap()
    };
    let told: Vec<String> = unread.iter_mut().map(status).collect();
    let shown = told.iter().filter(|line| *line == "HTTP/1.1 200").count();
    let refused = told.iter().filter(|line| *line == "HTTP/1.1 503").count();
    assert!((1..10).contains(&shown) && shown + refused == told.len(), "{told:?}");
    shop_is_well(&scene, web);
    // What was not read is given back when its reader is gone.
    drop(unread);
    while status(&mut small(web)) != "HTTP/1.1 200" {}
}

#[test]
fn a22_bodies_that_are_announced_and_do_not_come() {
    let (scene, web, _) = with_http();
    let head = format!(
        "POST /v1/topics/thief.jobs/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n",
        scene.thief
    );
    let mut announced: Vec<Web> = (0..40).map(|_| Web::connect(web)).collect();
    for (number, web) in announced.iter_mut().enumerate() {
        let rest = if number % 2 == 0 {
            "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
        } else {
            "Content-Length: 16777216\r\n\r\n{"
        };
        web.send(format!("{head}{rest}").as_bytes());
    }
    let mut thief = Web::connect(web).with_token(&scene.thief);
    let large = json!({ "body": "x".repeat(300 << 10) });
    assert_eq!(thief.post("/v1/topics/thief.jobs/jobs", &large).status, 201, "it has taken nothing yet");
    shop_is_well(&scene, web);
}

#[test]
fn a23_a_page_whose_name_leads_to_this_machine() {
    let (scene, web, youzan) = with_http();
    let ask = |address: SocketAddr, host: &str, more: &str| {
        let mut web = Web::connect(address);
        let add = r#"{"topic":"shop.orders","id":"1","delay":60,"ttr":60,"body":"x"}"#;
        let length = add.len();
        web.send(
            format!("POST /push HTTP/1.1\r\nHost: {host}\r\n{more}Content-Length: {length}\r\n\r\n{add}")
                .as_bytes(),
        );
        web.reply().unwrap()
    };
    let pushed = || {
        let mut shop = Web::connect(web).with_token(&scene.shop);
        shop.get("/v1/jobs/count?topic=shop.orders").json()["count"].clone()
    };
    let before = pushed();
    // The port of an older queue refuses in its own words.
    for (host, more) in [
        ("evil.example", ""),
        ("evil.example:9278", ""),
        ("localhost", "Origin: https://evil.example\r\n"),
        ("localhost", "Sec-Fetch-Site: cross-site\r\n"),
        ("localhost", "Sec-Fetch-Site: same-site\r\n"),
    ] {
        assert_eq!(ask(youzan, host, more).status, 200, "{host} {more}");
        assert_eq!(pushed(), before, "{host} {more}");
    }
    for host in ["LOCALHOST", "localhost:9278", "127.0.0.1", "[::1]:9278"] {
        assert_eq!(ask(youzan, host, "").status, 200, "{host}");
    }
    // Where a token is needed, a name says nothing.
    assert_eq!(ask(web, "queue.example", "").status, 404);
    assert!(scene.shop().is_alive());
}

#[test]
fn a24_what_another_site_has_a_browser_read() {
    let (scene, web, youzan) = with_http();
    for (address, path) in [(web, "/v1/events"), (web, "/healthz"), (web, "/v1/openapi.json"), (youzan, "/")]
    {
        let mut shop = Web::connect(address).with_token(&scene.shop);
        let read = shop.ask_with("GET", path, "Sec-Fetch-Site: cross-site\r\n", b"");
        let expected = if address == youzan { 200 } else { 403 };
        assert_eq!(read.status, expected, "{path}");
        let told = String::from_utf8_lossy(&read.body);
        assert!(told.contains("pages of other sites may not ask"), "{path}: {told}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("cross-origin-resource-policy", "same-origin"),
            (
                "content-security-policy",
                "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            ),
        ] {
            assert_eq!(read.header(name), Some(value), "{path}");
        }
    }
    let mut shop = Web::connect(web).with_token(&scene.shop);
    let own = shop.ask_with("GET", "/v1/topics", "Sec-Fetch-Site: same-origin\r\n", b"");
    assert_eq!((own.status, own.header("x-content-type-options")), (200, Some("nosniff")));
}
