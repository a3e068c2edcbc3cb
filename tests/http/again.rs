//! Requests that are sent again, and changes of jobs that others may have changed.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use adjourn_types::limits::IDEMPOTENT_LIST_JOBS_MAX;
use serde_json::{Value, json};

use super::rig::{Reply, Site, Web};
use super::tokens::site_with_tokens;

fn push(web: &mut Web, key: &str, jobs: &Value) -> Reply {
    let headers = format!("Content-Type: application/json\r\nIdempotency-Key: {key}\r\n");
    web.ask_with("POST", "/v1/topics/t/jobs", &headers, jobs.to_string().as_bytes())
}

fn count(web: &mut Web) -> Value {
    web.get("/v1/jobs/count?topic=t").json()["count"].clone()
}

#[test]
fn a_push_that_is_sent_again_is_taken_once() {
    let site = Site::new();
    let mut web = site.web();
    let first = push(&mut web, "order 17", &json!({"body": "a"}));
    let again = push(&mut web, "order 17", &json!({"body": "a"}));
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!((again.json(), count(&mut web)), (first.json(), json!(1)));
    let other = push(&mut web, "order 17", &json!({"body": "b"}));
    assert_eq!(other.refusal(), (422, "SEQUENCE_REUSED".to_owned()));
    let several = json!([{"body": "c"}, {"body": "d"}, {"body": "e", "delay": "1h"}]);
    let first = push(&mut web, "several", &several).json();
    assert_eq!((push(&mut web, "several", &several).json(), count(&mut web)), (first, json!(4)));
    // What one job finished is not pushed anew.
    let leases = web.ask("POST", "/v1/reserve?topics=t&max=1", None).json();
    let lease = leases["jobs"][0]["lease"].as_str().expect("a lease");
    assert_eq!(web.ask("POST", &format!("/v1/leases/{lease}/finish"), None).status, 204);
    assert_eq!(push(&mut web, "order 17", &json!({"body": "a"})).status, 201);
    assert_eq!(count(&mut web), json!(3));
    for bad in ["", &"k".repeat(256)] {
        assert_eq!(push(&mut web, bad, &json!({})).refusal(), (400, "MALFORMED".to_owned()));
    }
}

#[test]
fn a_key_is_for_one_list_however_it_is_split() {
    let site = Site::new();
    let mut web = site.web();
    let list =
        |jobs: usize| Value::Array((0..jobs).map(|number| json!({"body": number.to_string()})).collect());
    let refusals = |reply: Reply| {
        let results = reply.json()["results"].as_array().expect("results").clone();
        (results.len(), results.iter().filter(|result| result["code"] == "SEQUENCE_REUSED").count())
    };
    // Each is more than one frame takes.
    let first = push(&mut web, "long", &list(5000)).json();
    assert_eq!(push(&mut web, "long", &list(5000)).json(), first, "all of it is known");
    assert_eq!(refusals(push(&mut web, "long", &list(5001))), (5001, 5001));
    assert_eq!(refusals(push(&mut web, "long", &list(4096))), (4096, 4096));
    assert_eq!(count(&mut web), json!(5000));
    // One that the queue might forget in part is not taken at all.
    let too_long = push(&mut web, "too long", &list(IDEMPOTENT_LIST_JOBS_MAX + 1));
    assert_eq!(too_long.refusal(), (413, "TOO_LARGE".to_owned()));
    assert_eq!(count(&mut web), json!(5000));
}

#[test]
fn what_was_refused_may_be_sent_again() {
    let site = Site::new();
    let mut web = site.web();
    let job = web.post("/v1/topics/t/jobs", &json!({"key": "k"})).json()["id"].clone();
    let refused = push(&mut web, "one", &json!({"key": "k"}));
    assert_eq!(refused.refusal(), (409, "KEY_EXISTS".to_owned()));
    let problem: Value = serde_json::from_slice(&refused.body).expect("JSON");
    assert_eq!(problem["job"], job, "which one is in the way");
    web.ask("DELETE", "/v1/topics/t/keys/k", None).json();
    assert_eq!(push(&mut web, "one", &json!({"key": "k"})).status, 201);
}

#[test]
fn a_push_is_known_after_a_restart() {
    let mut site = Site::new();
    let first = push(&mut site.web(), "order 17", &json!({"body": "a"})).json();
    site = site.restarted();
    let mut web = site.web();
    assert_eq!(push(&mut web, "order 17", &json!({"body": "a"})).json(), first);
    assert_eq!(count(&mut web), json!(1));
}

#[test]
fn each_token_has_keys_of_its_own() {
    let (site, [one, two]) = site_with_tokens([&["--allow", "push:t"], &["--allow", "push:t"]]);
    let [one, two] = [one, two].map(|token| {
        let pushed = push(&mut site.web().with_token(&token), "order 17", &json!({"body": "a"}));
        pushed.json()["id"].clone()
    });
    assert_ne!(one, two);
}

#[test]
fn parts_of_a_job_change() {
    let site = Site::with(|_| {});
    let mut web = site.web();
    let job = json!({"body": "text", "key": "k", "delay": "1h", "headers": {"a": "1"}, "attempts_max": 3});
    let id = web.post("/v1/topics/orders/jobs", &job).json()["id"].clone();
    let path = format!("/v1/jobs/{id}");
    let changed = web.ask("PATCH", &path, Some(&json!({"body": {"order": 17}, "attempts_max": null})));
    assert_eq!((changed.status, &changed.json()["state"]), (200, &json!("delayed")));
    let shown = web.get(&path).json();
    assert_eq!((&shown["body"], &shown["attempts_max"]), (&json!({"order": 17}), &Value::Null));
    assert_eq!(shown["headers"], json!({"a": "1", "content-type": "application/json"}));
    let by_key = "/v1/topics/orders/keys/k";
    assert_eq!(web.ask("PATCH", by_key, Some(&json!({"headers": {"b": "2"}, "priority": 1}))).status, 200);
    let shown = web.get(by_key);
    let tag = shown.header("etag").expect("a tag").to_owned();
    let shown = shown.json();
    assert_eq!((&shown["body"], &shown["priority"]), (&json!({"order": 17}), &json!(1)));
    assert_eq!(
        shown["headers"],
        json!({"b": "2", "content-type": "application/json"}),
        "the type is the body's"
    );
    let edit = |web: &mut Web| {
        let headers = format!("Content-Type: application/json\r\nIf-Match: {tag}\r\n");
        web.ask_with("PATCH", by_key, &headers, br#"{"body": "text"}"#)
    };
    assert_eq!(edit(&mut web).status, 200);
    let again = edit(&mut web);
    assert_eq!(again.refusal(), (412, "CHANGED".to_owned()));
    assert_eq!(web.get(by_key).json()["headers"], json!({"b": "2"}));
}

#[test]
fn an_edit_needs_only_the_right_to_manage() {
    let (site, [producer, manager]) = site_with_tokens([&["--allow", "push:t"], &["--allow", "manage:t"]]);
    let pushed =
        site.web().with_token(&producer).post("/v1/topics/t/jobs", &json!({"key": "k", "delay": "1h"}));
    assert_eq!(pushed.status, 201);
    let mut manager = site.web().with_token(&manager);
    for edit in [json!({"body": {"a": 1}}), json!({"headers": {"a": "1"}}), json!({"priority": 3})] {
        assert_eq!(manager.ask("PATCH", "/v1/topics/t/keys/k", Some(&edit)).status, 200, "{edit}");
    }
    assert_eq!(manager.get("/v1/topics/t/keys/k").refusal(), (403, "FORBIDDEN".to_owned()));
    let refused =
        site.web().with_token(&producer).ask("PATCH", "/v1/topics/t/keys/k", Some(&json!({"priority": 4})));
    assert_eq!(refused.refusal(), (403, "FORBIDDEN".to_owned()));
}

#[test]
fn what_stays_counts_for_the_limit_of_an_edit() {
    let site = Site::with(|_| {});
    let mut web = site.web();
    let job = |length| json!({"delay": "1h", "headers": {"a": "x".repeat(length)}});
    let id = web.post("/v1/topics/t/jobs", &job(900)).json()["id"].clone();
    let path = format!("/v1/jobs/{id}");
    let content_type = format!("application/{}", "y".repeat(200));
    let edit = json!({"headers": {"content-type": content_type, "a": "x".repeat(500)}});
    assert_eq!(web.ask("PATCH", &path, Some(&edit)).status, 200);
    let refused = web.ask("PATCH", &path, Some(&json!({"headers": {"a": "x".repeat(900)}})));
    assert_eq!(refused.refusal(), (413, "TOO_LARGE".to_owned()), "with the content type that stays");
    assert_eq!(web.get(&path).json()["headers"]["a"], json!("x".repeat(500)));
}

#[test]
fn a_job_is_rescheduled_only_if_nobody_changed_it() {
    let site = Site::new();
    let mut web = site.web();
    let id = web.post("/v1/topics/t/jobs", &json!({"key": "k", "delay": "1h"})).json()["id"].clone();
    let path = format!("/v1/jobs/{id}");
    let shown = web.get(&path);
    let tag = shown.header("etag").expect("a tag").to_owned();
    let unchanged = web.ask_with("GET", &path, &format!("If-None-Match: {tag}\r\n"), b"");
    assert_eq!((unchanged.status, unchanged.header("etag")), (304, Some(tag.as_str())));
    let reschedule = |web: &mut Web, path: &str, tag: &str| {
        let headers = format!("Content-Type: application/json\r\nIf-Match: {tag}\r\n");
        web.ask_with("POST", &format!("{path}/reschedule"), &headers, br#"{"delay": "2h"}"#)
    };
    let changed = reschedule(&mut web, &path, &tag);
    let new = changed.header("etag").expect("a tag").to_owned();
    assert_eq!((changed.status, new != tag), (200, true));
    assert_eq!(web.get(&path).header("etag"), Some(new.as_str()));
    let stale = reschedule(&mut web, &path, &tag);
    assert_eq!(stale.refusal(), (412, "CHANGED".to_owned()));
    assert_eq!(reschedule(&mut web, "/v1/topics/t/keys/k", &new).status, 200);
    for never_shown in ["\"x\"", "W/\"0000000000000001\""] {
        assert_eq!(reschedule(&mut web, &path, never_shown).status, 412, "{never_shown}");
    }
    assert_eq!(reschedule(&mut web, &path, "*").status, 200);
    // What a condition cannot be heeded for is not done.
    assert_eq!(reschedule(&mut web, &path, "\"a\", \"b\"").refusal(), (400, "MALFORMED".to_owned()));
    let condition = format!("If-Match: {new}\r\n");
    for (method, path) in [("DELETE", path.clone()), ("POST", format!("{path}/run-now"))] {
        let refused = web.ask_with(method, &path, &condition, b"");
        assert_eq!(refused.refusal(), (400, "MALFORMED".to_owned()));
    }
    assert_eq!(web.get(&path).json()["state"], json!("delayed"));
}
