//! Attacks over HTTP.

use std::net::SocketAddr;

use super::Scene;
use crate::cluster::free_port;
use crate::http::Web;

/// A scene with HTTP, and a port of Youzan's dialect whose callers act as the shop; and where the two are.
fn with_http() -> (Scene, SocketAddr, SocketAddr) {
    let [web, youzan] = [free_port(), free_port()];
    let (at, dialect) = (web.to_string(), youzan.to_string());
    let memory = (256 << 20).to_string();
    let ports = ["--http-listen", &at, "--youzan-listen", &dialect, "--dialects-token", "shop"];
    (Scene::with(&[&ports[..], &["--memory-max-bytes", &memory]].concat()), web, youzan)
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
    for (host, more) in [
        ("evil.example", ""),
        ("evil.example:9278", ""),
        ("localhost", "Origin: https://evil.example\r\n"),
        ("localhost", "Sec-Fetch-Site: cross-site\r\n"),
        ("localhost", "Sec-Fetch-Site: same-site\r\n"),
    ] {
        assert_eq!(ask(youzan, host, more).refusal().0, 403, "{host} {more}");
    }
    for host in ["LOCALHOST", "localhost:9278", "127.0.0.1", "[::1]:9278"] {
        assert_ne!(ask(youzan, host, "").status, 403, "{host}");
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
        assert_eq!(read.refusal().0, 403, "{path}");
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
