//! What a caller of HTTP is told who makes a mistake: every request of `mistakes.txt` with its answer.
//!
//! The file is made anew by `ADJOURN_WRITE_MISTAKES=1 cargo test mistakes`: read the difference before it is committed.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::rig::{Reply, Site};

/// A request a line: method, path and, behind a space each, headers as `Name:value` and a body from its first `{`, `[`, `"` or `<`.
const REQUESTS: &str = include_str!("mistakes.txt");

/// Words of the program that callers do not know.
const INNER_WORDS: [&str; 14] = [
    "struct ",
    "enum ",
    "variant",
    "HELLO",
    "frame",
    "attribute ",
    "0x",
    "u32",
    "u64",
    "i64",
    "invalid digit",
    "Json",
    "map,",
    "deserialize",
];

#[test]
fn each_mistake_is_named_and_so_is_its_remedy() {
    let site = Site::with(|config| config.body_bytes_max = 1000);
    let mut web = site.web();
    web.post("/v1/topics/orders/jobs", &serde_json::json!({"key": "order-17", "delay": "1h"}));
    let mut all = String::new();
    for line in REQUESTS.lines() {
        if line.is_empty() || line.starts_with('#') {
            let _ = writeln!(all, "{line}");
            continue;
        }
        let Some(request) = line.strip_prefix("$ ") else { continue };
        let (method, path, headers, body) = parts(request);
        let reply = site.web().ask_with(method, path, &headers, body.as_bytes());
        let _ = write!(all, "$ {request}\n{}", told(&reply));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/mistakes.txt");
    if std::env::var_os("ADJOURN_WRITE_MISTAKES").is_some() {
        std::fs::write(path, &all).expect("written");
    }
    assert_eq!(all, REQUESTS, "made anew by ADJOURN_WRITE_MISTAKES=1 cargo test mistakes");
}

fn parts(request: &str) -> (&str, &str, String, &str) {
    let begins = [" {", " [", " \"", " <"].into_iter().filter_map(|beginning| request.find(beginning)).min();
    let (head, body) = begins.map_or((request, ""), |at| request.split_at(at));
    let body = body.trim_start();
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers: String = words.map(|header| header.replacen(':', ": ", 1) + "\r\n").collect();
    if !body.is_empty() && !headers.contains("Content-Type") {
        headers.push_str("Content-Type: application/json\r\n");
    }
    (method, path, headers, body)
}

/// An answer as the file has it: the status, the code and the detail, and the place of what is wrong.
fn told(reply: &Reply) -> String {
    let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    // In a list the answer is that of its last element.
    let outcomes = answer["results"].as_array().or(answer["failed"].as_array());
    let problem = outcomes.and_then(|outcomes| outcomes.last()).unwrap_or(&answer);
    let detail = problem["detail"].as_str().unwrap_or("no problem");
    for word in INNER_WORDS {
        assert!(!detail.contains(word), "{word:?} is no word of the API: {detail}");
    }
    let place = problem["errors"][0].as_object().and_then(|error| {
        let (kind, name) = error.iter().find(|(kind, _)| *kind != "detail")?;
        Some(format!(" {kind} {name}"))
    });
    let code = problem["code"].as_str().unwrap_or_default();
    format!("  {} {code}{}: {detail}\n", reply.status, place.unwrap_or_default())
}
