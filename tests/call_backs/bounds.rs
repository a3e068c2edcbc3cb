//! What a call may reach, who may set one, and what it may say in whose name.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use super::{OK, Receiver, attempted, done, may_call_here, push, set, shown, site, state};
use crate::http::{Site, Web, tokens_in};

fn patch(web: &mut Web, topic: &str, settings: &Value) -> u16 {
    web.ask("PATCH", &format!("/v1/topics/{topic}"), Some(settings)).status
}

#[test]
fn urls_that_no_call_can_use_are_refused_when_they_are_set() {
    let site = site();
    let mut web = site.web();
    for url in [
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:0/",
        "http://127.0.0.1:/",
        "http://127.0.0.1:80a/",
        "http://[::1/",
        "http://::1/",
        "http://[::g]/",
        "http://a..b/",
        "http://a/<b>",
        "http://a/x/../y",
        "http://a/%2e%2E/y",
    ] {
        assert_eq!(patch(&mut web, "t", &json!({"call_back": url})), 400, "{url}");
    }
    for url in ["http://a./", "http://[::1]:8080/{key}?x={id}", "https://a_b.example?x=%2e%2e/.."] {
        assert!(patch(&mut web, "t", &json!({"call_back": url})) < 300, "{url}");
    }
}

#[test]
fn a_job_leaves_the_path_of_its_topic_by_no_key() {
    let (site, receiver) = (site(), Receiver::always(OK));
    let mut web = site.web();
    let settings = json!({"call_back": receiver.url("/orders/{key}?as={key}"), "call_back_method": "DELETE"});
    set(&mut web, "t", &settings);
    for job in [
        json!({}),
        json!({"key": "."}),
        json!({"key": ".."}),
        json!({"key": "1/../.."}),
        json!({"key": "..\\x"}),
    ] {
        let id = push(&mut web, "t", &job);
        let buried = state(&mut web, id, "buried");
        let told = buried["reason"].as_str().expect("a reason");
        assert!(told.contains("{key}") || told.contains("path"), "{buried}");
        assert!(web.ask("DELETE", &format!("/v1/jobs/{id}"), None).status < 300);
    }
    let good = push(&mut web, "t", &json!({"key": "..17"}));
    done(&mut web, good);
    let call = receiver.call();
    assert_eq!((call.line.as_str(), call.job()), ("DELETE /orders/..17?as=..17 HTTP/1.1", good));
    assert!(receiver.more().is_empty());
}

#[test]
fn the_id_of_a_call_is_no_other_queues() {
    let receiver = Receiver::always(OK);
    let ids = [site(), site()].map(|site| {
        let mut web = site.web();
        set(&mut web, "t", &json!({"call_back": receiver.url("/")}));
        let job = push(&mut web, "t", &json!({}));
        let id = receiver.call().header("webhook-id").to_owned();
        assert!(id.starts_with("job_") && id.ends_with(&format!("_{job}")), "{id}");
        id
    });
    assert_ne!(ids[0], ids[1]);
}

fn secrets(path: &Path, text: &str) {
    std::fs::write(path, text.replace("WHSEC", &format!("whsec_{}", "A".repeat(32)))).expect("written");
}

#[test]
fn secrets_sign_for_their_topics_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("secrets.toml");
    secrets(&file, "[secrets.shop]\ntopics = [\"shop.*\"]\nsecrets = [\"WHSEC\"]\n");
    let site = Site::with(|config| {
        may_call_here(config);
        config.call_backs.secrets_file = Some(file.clone());
    });
    let (mut web, receiver) = (site.web(), Receiver::always(OK));
    let settings = json!({"call_back": receiver.url("/"), "call_back_secrets": "shop"});
    set(&mut web, "shop.orders", &settings);
    push(&mut web, "shop.orders", &json!({}));
    assert!(receiver.call().header("webhook-signature").starts_with("v1,"));
    let warned = web.ask("PATCH", "/v1/topics/thief", Some(&settings)).json();
    let told = warned["warnings"][0].as_str().expect("a warning");
    assert!(told.contains("secrets named shop"), "{told}");
    let job = push(&mut web, "thief", &json!({}));
    let held = shown(&mut web, job, |job| job["reason"].is_string());
    assert!(held["reason"].as_str().expect("a reason").contains("secrets named shop"), "{held}");
    assert_eq!((&held["state"], &held["attempts"]), (&json!("delayed"), &json!(0)));
    assert!(receiver.more().is_empty());
}

#[test]
fn a_call_says_of_itself_what_the_queue_says() {
    let site = site();
    let mut web = site.web();
    for header in [
        "adjourn-lease: 1-1",
        "Adjourn-Anything: x",
        "webhook-id: x",
        "Webhook-Signature: v1,x",
        "webhook-timestamp: 1",
    ] {
        let settings = json!({"call_back": "http://127.0.0.1/", "call_back_headers": header});
        assert_eq!(patch(&mut web, "t", &settings), 400, "{header}");
    }
}

#[test]
fn who_has_jobs_sent_elsewhere_may_read_and_consume_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens.toml");
    let [manager, worker] =
        tokens_in(&file, [&["--allow", "manage:t*"], &["--allow", "manage,read,consume:t*"]]);
    let site = Site::with(|config| {
        may_call_here(config);
        config.tokens_file = Some(file.clone());
    });
    let (mut manager, mut worker) = (site.web().with_token(&manager), site.web().with_token(&worker));
    for setting in [json!({"call_back": "http://127.0.0.1/"}), json!({"call_back_of_job": true})] {
        assert_eq!(patch(&mut manager, "t", &setting), 403, "{setting}");
        assert!(patch(&mut worker, "t", &setting) < 300, "{setting}");
    }
    assert_eq!(patch(&mut manager, "t", &json!({"ttr": "1m"})), 204);
    // It may end calls, which shows it nothing.
    assert_eq!(patch(&mut manager, "t", &json!({"call_back": null, "call_back_of_job": null})), 204);
}

#[test]
fn who_takes_a_job_from_its_holder_may_manage_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens.toml");
    let [pusher, manager] = tokens_in(&file, [&["--allow", "push:t*"], &["--allow", "push,manage:t*"]]);
    let site = Site::with(|config| config.tokens_file = Some(file.clone()));
    let (mut pusher, mut manager) = (site.web().with_token(&pusher), site.web().with_token(&manager));
    let job = |mode: &str| json!({"key": "k", "if_exists": mode});
    assert_eq!(pusher.post("/v1/topics/t/jobs", &job("replace")).status, 201);
    let refused = pusher.post("/v1/topics/t/jobs", &job("replace_any"));
    assert_eq!(refused.refusal(), (403, "FORBIDDEN".to_owned()));
    assert!(manager.post("/v1/topics/t/jobs", &job("replace_any")).status < 300);
}

#[test]
fn a_node_does_not_call_itself() {
    let site = Site::with(|config| {
        may_call_here(config);
        config.call_backs.egress = "open".parse().expect("a rule");
        config.ouqiang_listen = Some("127.0.0.1:0".to_owned());
    });
    let mut web = site.web();
    let victim = push(&mut web, "victim", &json!({"delay": "1h"}));
    let addresses = [site.node.address, site.node.http_address(), site.node.ouqiang_address()];
    for (number, address) in addresses.into_iter().enumerate() {
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
            let url = format!("http://{host}:{}/", address.port());
            let checked = web.post("/v1/call-backs/check", &json!({"url": url})).json();
            assert_eq!(checked["allowed"], json!(false), "{url}: {checked}");
        }
        let (topic, port) = (format!("t{number}"), address.port());
        let url = format!("http://127.0.0.1:{port}/v1/jobs/{victim}");
        let warned = web
            .ask(
                "PATCH",
                &format!("/v1/topics/{topic}"),
                Some(&json!({"call_back": url, "call_back_method": "DELETE"})),
            )
            .json();
        assert!(warned["warnings"][0].as_str().expect("a warning").contains("itself"), "{warned}");
        let job = push(&mut web, &topic, &json!({}));
        let held = shown(&mut web, job, |job| job["reason"].is_string());
        assert!(held["reason"].as_str().expect("a reason").contains("itself"), "{held}");
    }
    assert_eq!(web.get(&format!("/v1/jobs/{victim}")).json()["state"], json!("delayed"));
}

#[test]
fn a_topic_whose_destination_is_forbidden_warns_when_it_is_set() {
    let site = Site::new();
    let mut web = site.web();
    let warned =
        web.ask("PATCH", "/v1/topics/t", Some(&json!({"call_back": "http://127.0.0.1/{key}?token=secret"})));
    assert_eq!(warned.status, 200);
    let told = warned.json();
    let warning = told["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("call_back_allow") && warning.contains("http://127.0.0.1:"), "{warning}");
    assert!(!warning.contains("secret"), "the log has it, too: {warning}");
    assert_eq!(patch(&mut web, "t", &json!({"ttr": "1m"})), 204);
}

#[test]
fn attempts_are_for_the_nodes_user_alone_and_say_whose_they_are() {
    let (site, receiver) = (site(), Receiver::always(OK));
    let mut web = site.web();
    set(&mut web, "t", &json!({"call_back": receiver.url("/")}));
    let job = push(&mut web, "t", &json!({}));
    attempted(&mut web, job, 1);
    let folder = site.folder().join("data/call-backs");
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in std::fs::read_dir(&folder).expect("a folder") {
        assert_eq!(mode(&file.expect("a file").path()), 0o600);
    }
    let shown = web.get(&format!("/v1/jobs/{job}/attempts")).json();
    assert_eq!((&shown["node"], &shown["complete"]), (&json!(1), &json!(true)), "no other node calls");
}
