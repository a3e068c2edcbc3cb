//! Tokens say what a caller may do, as they do for any client.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::path::Path;

use adjourn_server::config::Config;
use serde_json::json;

use super::rig::{Site, Web};
use crate::server_rig::adjourn;

/// New tokens with these grants, in a file.
pub(crate) fn tokens_in<const N: usize>(file: &Path, grants: [&[&str]; N]) -> [String; N] {
    let mut number = 0;
    grants.map(|grants| {
        number += 1;
        let name = format!("token{number}");
        let made = adjourn(&["token", "create", &name, "--file", file.to_str().expect("a path")])
            .args(grants)
            .output()
            .expect("made");
        String::from_utf8(made.stdout).expect("text").trim_end().to_owned()
    })
}

/// A node, and the tokens with these grants.
pub(super) fn site_with_tokens<const N: usize>(grants: [&[&str]; N]) -> (Site, [String; N]) {
    site_with_tokens_and(grants, |_| {})
}

/// The same, with a configuration that differs in more.
pub(super) fn site_with_tokens_and<const N: usize>(
    grants: [&[&str]; N],
    change: impl FnOnce(&mut Config),
) -> (Site, [String; N]) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens.toml");
    let tokens = tokens_in(&file, grants);
    let site = Site::with(|config| {
        let kept = config.data.parent().expect("a folder").join("tokens.toml");
        std::fs::copy(&file, &kept).expect("copied");
        config.tokens_file = Some(kept);
        change(config);
    });
    (site, tokens)
}

#[test]
fn a_caller_does_what_its_token_grants() {
    let (site, [shop, reader]) = site_with_tokens([&["--allow", "push:orders.*"], &["--allow", "read"]]);
    let push = |web: &mut Web, topic: &str| web.post(&format!("/v1/topics/{topic}/jobs"), &json!({}));
    let mut stranger = site.web();
    let refused = push(&mut stranger, "orders.eu");
    assert_eq!(
        (refused.refusal(), refused.header("www-authenticate")),
        ((401, "UNAUTHENTICATED".to_owned()), Some("Bearer"))
    );
    let guessed = push(&mut site.web().with_token("adjourn_guess"), "orders.eu");
    assert_eq!(guessed.refusal(), (401, "UNAUTHENTICATED".to_owned()));
    let mut shop = site.web().with_token(&shop);
    assert_eq!(push(&mut shop, "orders.eu").status, 201);
    let refused = push(&mut shop, "mails");
    assert_eq!(
        (refused.refusal(), refused.header("www-authenticate")),
        ((403, "FORBIDDEN".to_owned()), None)
    );
    assert_eq!(shop.get("/v1/jobs").refusal(), (403, "FORBIDDEN".to_owned()));
    let mut reader = site.web().with_token(&reader);
    assert_eq!(reader.get("/v1/jobs/1").status, 200);
    assert_eq!(reader.ask("DELETE", "/v1/jobs/1", None).refusal(), (403, "FORBIDDEN".to_owned()));
}

#[test]
fn a_token_that_is_revoked_ends_what_waits() {
    let (site, [worker, other]) = site_with_tokens([&["--allow", "consume"], &["--allow", "read"]]);
    let mut waiting = site.web().with_token(&worker);
    waiting.send(
        format!("POST /v1/reserve?topics=t&wait=1h HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {worker}\r\n\r\n")
            .as_bytes(),
    );
    let mut other = site.web().with_token(&other);
    while other.get("/v1/stats").json()["waiting"] != json!(1) {}
    let file = site.folder().join("tokens.toml");
    let revoked = adjourn(&["token", "revoke", "token1", "--file", file.to_str().expect("a path")]).status();
    assert!(revoked.expect("it ran").success());
    assert_eq!(waiting.reply().expect("an answer").refusal(), (401, "UNAUTHENTICATED".to_owned()));
    assert_eq!(waiting.ask("POST", "/v1/reserve?topics=t", None).status, 401);
    assert_eq!(other.get("/v1/stats").status, 200);
}

#[test]
fn what_a_token_pushes_a_second_is_limited() {
    let (site, [shop]) = site_with_tokens([&["--allow", "push", "--jobs-per-second", "1"]]);
    let mut web = site.web().with_token(&shop);
    let many = json!(vec![json!({}); 50]);
    assert_eq!(web.post("/v1/topics/t/jobs", &many).status, 200);
    let refused = web.post("/v1/topics/t/jobs", &json!({}));
    assert_eq!(refused.refusal(), (429, "BUSY".to_owned()));
    assert!(
        refused
            .header("retry-after")
            .is_some_and(|seconds| seconds.parse::<u32>().is_ok_and(|wait| wait > 10))
    );
}

#[test]
fn what_a_backfill_pushes_is_limited_like_a_push() {
    let (site, [shop]) = site_with_tokens([&[
        "--allow",
        "push",
        "--allow",
        "read",
        "--allow",
        "manage",
        "--jobs-per-second",
        "1",
    ]]);
    let mut web = site.web().with_token(&shop);
    let schedule = "/v1/topics/t/schedules/daily";
    let daily = json!({"when": "0 9 * * *", "job": {"body": "x"}});
    let set = web.ask("PUT", schedule, Some(&daily));
    assert_eq!(set.status, 201, "{set}");
    let body = json!({"from": "2024-01-01T00:00:00Z", "to": "2024-02-20T00:00:00Z"});
    let filled = web.post(&format!("{schedule}/backfill"), &body);
    assert_eq!((filled.status, &filled.json()["pushed"]), (200, &json!(50)), "{filled}");
    assert_eq!(web.post("/v1/topics/t/jobs", &json!({})).refusal(), (429, "BUSY".to_owned()));
    assert_eq!(web.post(&format!("{schedule}/backfill"), &body).refusal(), (429, "BUSY".to_owned()));
}
