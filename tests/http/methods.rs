//! The methods of each route: others are refused with those that it has, OPTIONS names them, HEAD is GET without a body.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::collections::BTreeSet;

use serde_json::json;

use super::rig::{Reply, Site};
use super::tokens::site_with_tokens;

/// Every route with its methods. Its variable parts are filled in.
fn routes(site: &Site) -> Vec<(String, BTreeSet<String>)> {
    let document = site.web().get("/v1/openapi.json").json();
    let paths = document["paths"].as_object().expect("paths");
    let filled = |path: &String| {
        let parts = [
            ("{id}", "1"),
            ("{key}", "k"),
            ("{name}", "n"),
            ("{group}", "g"),
            ("{topic}", "t"),
            ("{lease}", "1-1"),
            ("{node}", "9"),
            ("{connection}", "9"),
        ];
        let path = parts.iter().fold(path.clone(), |path, (name, value)| path.replace(name, value));
        assert!(!path.contains('{'), "{path}");
        path
    };
    let methods = |item: &serde_json::Value| {
        let named = item.as_object().expect("methods").keys().map(|method| method.to_uppercase());
        named.filter(|method| ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method.as_str())).collect()
    };
    let mut all: Vec<_> = paths.iter().map(|(path, item)| (filled(path), methods(item))).collect();
    let others = ["/v1/openapi.json", "/metrics", "/healthz", "/readyz"];
    all.extend(others.map(|path| (path.to_owned(), BTreeSet::from(["GET".to_owned()]))));
    assert!(all.len() > 30);
    all
}

/// The methods that an answer names.
fn allowed(reply: &Reply) -> BTreeSet<String> {
    let allowed = reply.header("allow").unwrap_or_default();
    allowed.split(',').map(|method| method.trim().to_owned()).collect()
}

/// All methods of a route that has these.
fn with_implied(methods: &BTreeSet<String>) -> BTreeSet<String> {
    let head = methods.contains("GET").then_some("HEAD");
    methods.iter().map(String::as_str).chain(head).chain(["OPTIONS"]).map(str::to_owned).collect()
}

#[test]
fn a_method_that_a_route_has_not_is_refused_with_those_that_it_has() {
    let site = Site::new();
    for (path, methods) in routes(&site) {
        for method in
            ["GET", "PUT", "DELETE", "TRACE"].into_iter().filter(|method| !methods.contains(*method))
        {
            let refused = site.web().ask(method, &path, None);
            assert_eq!(refused.refusal(), (405, "UNSUPPORTED".to_owned()), "{method} {path}");
            assert_eq!(allowed(&refused), with_implied(&methods), "{method} {path}");
        }
    }
}

#[test]
fn options_name_the_methods_and_need_no_token() {
    let (site, [reader]) = site_with_tokens([&["--allow", "push,read"]]);
    let mut stranger = site.web();
    for (path, methods) in routes(&site) {
        let told = stranger.ask("OPTIONS", &path, Some(&json!({})));
        assert_eq!((told.status, told.body.len()), (204, 0), "{path}");
        assert_eq!(allowed(&told), with_implied(&methods), "{path}");
    }
    assert_eq!(stranger.ask("OPTIONS", "/nowhere", None).status, 404);
    let topics = site.web().with_token(&reader).get("/v1/topics").json();
    assert_eq!(topics, json!({"topics": []}), "nothing is changed");
}

#[test]
fn head_is_get_without_a_body() {
    let site = Site::new();
    let mut web = site.web();
    web.post("/v1/topics/t/jobs", &json!({"key": "k", "delay": "1h"})).json();
    // What differs from one moment to the next.
    let lasting = |reply: &Reply| -> Vec<(String, String)> {
        let lasts = |name: &str| !["date", "content-length", "transfer-encoding"].contains(&name);
        reply.headers.iter().filter(|(name, _)| lasts(name)).cloned().collect()
    };
    let mut seen = 0;
    for (path, _) in routes(&site).into_iter().filter(|(_, methods)| methods.contains("GET")) {
        let head = web.head(&path);
        // A stream has no end: its connection is not used again.
        let get = if path == "/v1/events" {
            let mut web = site.web();
            web.send(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
            web.reply_head().expect("an answer")
        } else {
            assert!(head.header("content-length").is_some_and(|length| length != "0"), "{path}: {head}");
            web.get(&path)
        };
        assert_eq!((head.status, lasting(&head)), (get.status, lasting(&get)), "{path}");
        seen += usize::from(head.status == 200);
    }
    assert!(seen > 12, "only {seen} routes show something");
}
