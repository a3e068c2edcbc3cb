//! Groups over HTTP: pushed, listed, changed; and why nothing is delivered.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use serde_json::{Value, json};

use super::rig::{Site, Web};
use super::tokens::site_with_tokens;

const GROUPS: &str = "/v1/topics/imports/groups";

fn names(reasons: &Value) -> Vec<&str> {
    let reasons = reasons["reasons"].as_array().expect("a list");
    reasons.iter().map(|reason| reason["why"].as_str().expect("a name")).collect()
}

fn push(web: &mut Web, body: &str, group: &str) -> Value {
    let pushed = web.post("/v1/topics/imports/jobs", &json!({ "body": body, "group": group }));
    assert_eq!(pushed.status, 201, "{pushed}");
    pushed.json()["id"].clone()
}

#[test]
fn groups_take_turns_are_listed_and_changed() {
    let site = Site::with(|config| config.memory = true);
    let mut web = site.web();
    assert_eq!(web.get(GROUPS).status, 404);
    let set = web.ask("PATCH", "/v1/topics/imports", Some(&json!({"group_leases_max": 1})));
    assert_eq!(set.status, 204, "{set}");
    let jobs = [("a1", "ann"), ("a2", "ann"), ("b1", "bob")].map(|(body, group)| push(&mut web, body, group));
    let raw = web.ask_with(
        "POST",
        "/v1/topics/imports/jobs?key=k",
        "Content-Type: text/plain\r\nAdjourn-Group: eve\r\n",
        b"e1",
    );
    assert_eq!(raw.status, 201, "{raw}");
    let reserved = web.ask("POST", "/v1/reserve?topics=imports&max=9", None).json();
    let got = reserved["jobs"].as_array().expect("a list").iter().map(|job| (&job["group"], &job["body"]));
    let expected =
        [("ann", "a1"), ("bob", "b1"), ("eve", "e1")].map(|(group, body)| (json!(group), json!(body)));
    assert!(got.eq(expected.iter().map(|(group, body)| (group, body))), "{reserved}");

    let page = web.get(&format!("{GROUPS}?limit=1")).json();
    let ann = page["groups"][0].clone();
    assert_eq!(
        (&ann["group"], &ann["ready"], &ann["hold"]),
        (&json!("ann"), &json!(1), &json!("group_leases"))
    );
    let cursor = page["cursor"].as_str().expect("there is more");
    let rest = web.get(&format!("{GROUPS}?cursor={cursor}")).json();
    assert_eq!((&rest["groups"][0]["group"], rest.get("cursor")), (&json!("bob"), None));
    assert_eq!(web.get(&format!("{GROUPS}?cursor={cursor}&prefix=a")).status, 400);
    let some = web.get(&format!("{GROUPS}?prefix=e")).json();
    assert_eq!(some["groups"].as_array().map(Vec::len), Some(1));

    let bob = format!("{GROUPS}/bob");
    assert_eq!(web.ask("PATCH", &bob, Some(&json!({"weight": 5, "paused": true}))).status, 204);
    let some = web.get(&format!("{GROUPS}?prefix=b")).json();
    assert_eq!((&some["groups"][0]["weight"], &some["groups"][0]["paused"]), (&json!(5), &json!(true)));
    for wrong in [json!({}), json!({"weight": 0}), json!({"weight": 1001}), json!({"speed": 1})] {
        assert_eq!(web.ask("PATCH", &bob, Some(&wrong)).status, 400, "{wrong}");
    }
    let count = web.get("/v1/jobs/count?topic=imports&group=ann").json();
    assert_eq!(count["count"], json!(2));

    let why = web.get(&format!("/v1/jobs/{}/why", jobs[1])).json();
    assert_eq!(names(&why), ["group_leases", "no_consumer"]);
    assert_eq!(why["reasons"][0]["count"], json!(1));
    let why = web.get("/v1/topics/imports/keys/k/why").json();
    assert_eq!(names(&why), ["reserved"]);
    assert_eq!(names(&web.get(&format!("{bob}/why")).json()), ["group_paused", "empty", "no_consumer"]);
    assert_eq!(names(&web.get("/v1/topics/imports/why").json()), ["group_leases", "no_consumer"]);
    assert_eq!(web.get("/v1/jobs/999/why").status, 404);
}

#[test]
fn groups_need_settings_and_the_right_to_manage() {
    let (site, [all, reader]) = site_with_tokens([&["--allow", "push,manage,read"], &["--allow", "read"]]);
    let (mut web, mut reader) = (site.web().with_token(&all), site.web().with_token(&reader));
    let job = push(&mut web, "a1", "ann");
    let double = json!({"weight": 2});
    let refused = web.ask("PATCH", &format!("{GROUPS}/ann"), Some(&double));
    assert_eq!(refused.refusal(), (409, "WRONG_STATE".to_owned()));
    for group in ["", &"x".repeat(256)] {
        let refused = web.post("/v1/topics/imports/jobs", &json!({"body": "x", "group": group}));
        assert_eq!(refused.refusal(), (400, "MALFORMED".to_owned()), "{group}");
        assert_eq!(refused.problem()["errors"][0]["pointer"], json!("/group"));
    }
    assert_eq!(web.ask("PATCH", "/v1/topics/imports", Some(&json!({"fair": true}))).status, 204);
    assert_eq!(web.ask("PATCH", &format!("{GROUPS}/ann"), Some(&double)).status, 204);
    let refused = reader.ask("PATCH", &format!("{GROUPS}/ann"), Some(&double));
    assert_eq!(refused.refusal(), (403, "FORBIDDEN".to_owned()));
    assert_eq!(reader.get(GROUPS).json()["groups"][0]["weight"], json!(2));
    assert_eq!(names(&reader.get(&format!("/v1/jobs/{job}/why")).json()), ["no_consumer"]);
}

#[test]
fn only_an_operator_learns_who_has_a_job_and_who_paused_a_topic() {
    let grants: [&[&str]; 2] = [&["--allow", "admin,push,consume,manage,read"], &["--allow", "read"]];
    let (site, [admin, reader]) = site_with_tokens(grants);
    let (mut web, mut reader) = (site.web().with_token(&admin), site.web().with_token(&reader));
    let job = push(&mut web, "a1", "ann");
    let reserved = web.post("/v1/reserve", &json!({"topics": ["imports"]}));
    assert_eq!(reserved.json()["jobs"][0]["id"], job, "{reserved}");
    assert_eq!(web.ask("POST", "/v1/topics/imports/pause", None).status, 204);
    let (of_job, of_topic) = (format!("/v1/jobs/{job}/why"), "/v1/topics/imports/why");
    let first = |web: &mut Web, path: &str| web.get(path).json()["reasons"][0].clone();
    let (held, paused) = (first(&mut web, &of_job), first(&mut web, of_topic));
    for reason in [&held, &paused] {
        let text = reason["detail"].as_str().expect("a text");
        assert!(text.contains("http") && text.contains(", token "), "{text}");
        assert!(reason["since"].is_string(), "{reason}");
    }
    let shown = web.get(&format!("/v1/jobs/{job}")).json();
    let listed = web.get("/v1/jobs?topic=imports").json();
    for job in [&shown, &listed["jobs"][0]] {
        assert!(job["held_by"].as_str().expect("a holder").contains("http, token "), "{job}");
    }
    assert_eq!(first(&mut reader, &of_job)["detail"], json!("a client has it"));
    assert_eq!(first(&mut reader, of_topic)["detail"], json!("the topic is paused: resume it"));
    let shown = reader.get(&format!("/v1/jobs/{job}")).json();
    let listed = reader.get("/v1/jobs?topic=imports").json();
    for job in [&shown, &listed["jobs"][0]] {
        assert!(job["held_by"].is_null() && job["reserved_last"].is_string(), "{job}");
    }
}
