//! Pages of other origins that the configuration allows to use the API, and those that it does not.

use std::collections::BTreeSet;

use serde_json::json;

use super::rig::{Reply, Site, Web};
use super::tokens::site_with_tokens_and;

const CONSOLE: &str = "https://console.example";

fn site() -> Site {
    Site::with(|config| {
        config.http_cors_origins = vec![CONSOLE.to_owned(), "http://localhost:8080".to_owned()];
        config.ouqiang_listen = Some("127.0.0.1:0".to_owned());
    })
}

/// What a browser asks before a page of this origin sends a request.
fn preflight(web: &mut Web, origin: &str, path: &str, method: &str, headers: &str) -> Reply {
    let asked = format!(
        "Origin: {origin}\r\nSec-Fetch-Site: cross-site\r\nAccess-Control-Request-Method: {method}\r\nAccess-Control-Request-Headers: {headers}\r\n"
    );
    web.ask_with("OPTIONS", path, &asked, b"")
}

/// The parts of a header.
fn parts(reply: &Reply, name: &str) -> BTreeSet<String> {
    let values = reply.headers.iter().filter(|(found, _)| found == name);
    values.flat_map(|(_, value)| value.split(',')).map(|part| part.trim().to_ascii_lowercase()).collect()
}

fn of(page: &str) -> String {
    format!("Origin: {page}\r\nSec-Fetch-Site: cross-site\r\n")
}

#[test]
fn a_page_of_an_allowed_origin_may_ask() {
    let site = site();
    let mut web = site.web();
    let wanted = "authorization,content-type,Adjourn-Trace,x-other,adjourn-a b";
    let told = preflight(&mut web, CONSOLE, "/v1/topics/t/jobs", "POST", wanted);
    assert_eq!((told.status, told.header("access-control-allow-origin")), (204, Some(CONSOLE)), "{told}");
    let methods = parts(&told, "access-control-allow-methods");
    assert!(["get", "post", "patch", "delete"].iter().all(|method| methods.contains(*method)), "{told}");
    let sent = "authorization content-type idempotency-key if-match if-none-match adjourn-trace";
    assert_eq!(
        parts(&told, "access-control-allow-headers"),
        sent.split(' ').map(str::to_owned).collect::<BTreeSet<_>>()
    );
    assert_eq!(told.header("access-control-max-age"), Some("3600"));
    assert!(parts(&told, "vary").contains("origin"), "{told}");
    assert_eq!(told.header("access-control-allow-credentials"), None);
    let json = format!("{}Content-Type: application/json\r\n", of("http://localhost:8080"));
    let pushed = web.ask_with("POST", "/v1/topics/t/jobs", &json, b"{}");
    assert_eq!(
        (pushed.status, pushed.header("access-control-allow-origin")),
        (201, Some("http://localhost:8080"))
    );
    let read = parts(&pushed, "access-control-expose-headers");
    assert_eq!(read, BTreeSet::from(["etag", "location", "retry-after"].map(str::to_owned)));
    assert!(parts(&pushed, "vary").contains("origin"));
    // A page may read why it was refused, and a cache must not give it the answer for another one.
    let missing = web.ask_with("GET", "/v1/jobs/99", &of(CONSOLE), b"");
    assert_eq!((missing.status, missing.header("access-control-allow-origin")), (404, Some(CONSOLE)));
    let own = web.get("/metrics");
    assert_eq!(own.header("access-control-allow-origin"), None);
    assert_eq!(parts(&own, "vary"), BTreeSet::from(["accept", "origin"].map(str::to_owned)));
}

#[test]
fn a_page_of_any_other_origin_is_refused() {
    let site = site();
    for origin in [
        "https://evil.example",
        "http://console.example",
        "https://console.example:8443",
        "https://console.example.evil",
        "https://a.console.example",
        "null",
        "*",
    ] {
        let mut web = site.web();
        let asked = web.ask_with("GET", "/v1/topics", &of(origin), b"");
        for told in [preflight(&mut web, origin, "/v1/topics", "GET", "authorization"), asked] {
            assert_eq!(told.refusal(), (403, "FORBIDDEN".to_owned()), "{origin}");
            assert_eq!(told.header("access-control-allow-origin"), None, "{origin}");
        }
    }
    // A link from an allowed page says no origin.
    let followed = site.web().ask_with("GET", "/v1/topics", "Sec-Fetch-Site: cross-site\r\n", b"");
    assert_eq!(followed.status, 403);
    // Nor does an allowed origin excuse a name that is not the server's.
    let mut web = site.web();
    web.send(format!("GET /v1/topics HTTP/1.1\r\nHost: evil.example\r\n{}\r\n", of(CONSOLE)).as_bytes());
    assert_eq!(web.reply().expect("an answer").status, 403);
}

#[test]
fn the_ports_of_older_queues_are_for_no_page() {
    let site = site();
    let mut web = Web::connect(site.node.ouqiang_address());
    let asked = web.ask_with("POST", "/pop", &of(CONSOLE), b"{}");
    for told in [preflight(&mut web, CONSOLE, "/pop", "POST", "content-type"), asked] {
        // It refuses in its own words.
        let said = String::from_utf8_lossy(&told.body);
        assert!(told.status == 200 && said.contains("pages of other sites may not ask"), "{told}");
        assert_eq!((told.header("access-control-allow-origin"), told.header("vary")), (None, None));
    }
}

#[test]
fn by_default_no_page_may_ask() {
    let site = Site::new();
    let mut web = site.web();
    assert_eq!(preflight(&mut web, CONSOLE, "/v1/topics", "GET", "authorization").status, 403);
    let own = web.get("/v1/topics");
    assert_eq!((own.header("access-control-allow-origin"), own.header("vary")), (None, None));
}

#[test]
fn a_page_needs_a_token_as_any_caller_does() {
    let (site, [reader]) = site_with_tokens_and([&["--allow", "read"]], |config| {
        config.http_cors_origins = vec![CONSOLE.to_owned()];
    });
    let mut web = site.web();
    assert_eq!(preflight(&mut web, CONSOLE, "/v1/topics", "GET", "authorization").status, 204);
    let refused = web.ask_with("GET", "/v1/topics", &of(CONSOLE), b"");
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (401, Some(CONSOLE)));
    let shown = site.web().with_token(&reader).ask_with("GET", "/v1/topics", &of(CONSOLE), b"");
    assert_eq!(shown.json(), json!({"topics": []}));
}
