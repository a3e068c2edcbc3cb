//! `/v1/test/clock`: a test in any language moves the clock.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use adjourn_server::config::{ClockChoice, Config};
use serde_json::json;

use super::rig::{Site, Web};
use super::tokens::site_with_tokens_and;

const CLOCK: &str = "/v1/test/clock";
const HOUR_MS: u64 = 3_600_000;

fn stand_still(config: &mut Config) {
    (config.memory, config.clock) = (true, ClockChoice::Manual);
}

fn reserved(web: &mut Web, topic: &str) -> usize {
    let reply = web.ask("POST", &format!("/v1/reserve?topics={topic}&max=10"), None);
    reply.json()["jobs"].as_array().expect("a list").len()
}

#[test]
fn a_job_comes_when_the_clock_is_moved() {
    let site = Site::with(stand_still);
    let mut web = site.web();
    let began = web.get(CLOCK).json();
    assert!(began.get("advanced_ms").is_none(), "{began}");
    let began_ms = began["now_ms"].as_u64().expect("a number");
    for delay in ["15m", "2h"] {
        assert_eq!(web.post("/v1/topics/mails/jobs", &json!({ "body": "a", "delay": delay })).status, 201);
    }
    assert_eq!(reserved(&mut web, "mails"), 0);
    let moved = web.post(CLOCK, &json!({ "advance": "15m" })).json();
    assert_eq!(
        (moved["now_ms"].as_u64(), moved["advanced_ms"].as_u64()),
        (Some(began_ms + 900_000), Some(900_000))
    );
    assert_eq!(reserved(&mut web, "mails"), 1);
    let moved = web.post(CLOCK, &json!({ "advance": "next" })).json();
    let lease_ends = began_ms + 7_200_000;
    assert_eq!(
        (moved["now_ms"].as_u64(), moved["advanced_ms"].as_u64()),
        (Some(lease_ends), Some(6_300_000))
    );
    // The lease of the first has ended meanwhile.
    assert_eq!(reserved(&mut web, "mails"), 2);
    let moved = web.post(CLOCK, &json!({ "advance_ms": 5 })).json();
    assert_eq!(moved, json!({ "now": moved["now"], "now_ms": lease_ends + 5, "advanced_ms": 5 }));
    let shown = web.get(CLOCK).json();
    assert_eq!(shown, json!({ "now": moved["now"], "now_ms": lease_ends + 5 }));
    assert_eq!(web.get("/v1/stats").json()["now"], moved["now"]);
}

#[test]
fn a_job_shows_when_it_expires_whatever_that_counts_from() {
    let site = Site::with(stand_still);
    let mut web = site.web();
    let began_ms = web.get(CLOCK).json()["now_ms"].as_u64().expect("a number");
    let job = json!({"key": "k", "delay": "1h", "expires": "2h", "if_exists": "postpone"});
    let path = "/v1/topics/t/keys/k";
    let expires = |web: &mut Web| {
        let shown = web.get(path).json()["expires"].as_str().expect("a time").to_owned();
        let expires = shown.parse::<jiff::Timestamp>().expect("a time").as_millisecond();
        u64::try_from(expires).expect("after 1970") - began_ms
    };
    assert_eq!(web.post("/v1/topics/t/jobs", &job).status, 201);
    assert_eq!(expires(&mut web), 2 * HOUR_MS);
    web.post(CLOCK, &json!({ "advance": "30m" }));
    assert_eq!(expires(&mut web), 2 * HOUR_MS, "it counts from the push");
    assert_eq!(web.ask("PATCH", path, Some(&json!({ "expires": "3h" }))).status, 200);
    assert_eq!(expires(&mut web), 3 * HOUR_MS + HOUR_MS / 2, "it counts from the edit");
    web.post(CLOCK, &json!({ "advance": "15m" }));
    assert_eq!(web.post("/v1/topics/t/jobs", &job).status, 200);
    assert_eq!(
        expires(&mut web),
        2 * HOUR_MS + 3 * HOUR_MS / 4,
        "it counts from the push that postponed the job"
    );
    assert_eq!(web.ask("PATCH", path, Some(&json!({ "expires": null }))).status, 200);
    assert_eq!(web.get(path).json().get("expires"), None);
}

#[test]
fn what_is_no_step_is_refused() {
    let site = Site::with(stand_still);
    let mut web = site.web();
    for body in [
        json!({}),
        json!({ "advance": "soon" }),
        json!({ "advance": "99999d" }),
        json!({ "by": "1s" }),
        json!({ "advance": 5 }),
    ] {
        assert_eq!(web.post(CLOCK, &body).refusal(), (400, "MALFORMED".to_owned()), "{body}");
    }
    assert_eq!(web.post(CLOCK, &json!({ "advance": "next" })).refusal(), (404, "NOT_FOUND".to_owned()));
}

#[test]
fn a_server_whose_clock_is_the_machine_s_refuses() {
    let site = Site::new();
    let refused = site.web().post(CLOCK, &json!({ "advance": "15m" }));
    assert_eq!(refused.refusal(), (501, "UNSUPPORTED".to_owned()));
    let detail = String::from_utf8_lossy(&refused.body).into_owned();
    assert!(detail.contains("adjourn serve --memory --clock manual"), "{detail}");
}

#[test]
fn it_needs_the_right_to_the_server() {
    let (site, [shop, operator]) =
        site_with_tokens_and([&["--allow", "push,consume,read,manage"], &["--allow", "admin"]], stand_still);
    let body = json!({ "advance": "1s" });
    let refused = site.web().with_token(&shop).post(CLOCK, &body);
    assert_eq!(refused.refusal(), (403, "FORBIDDEN".to_owned()));
    assert_eq!(site.web().with_token(&operator).post(CLOCK, &body).status, 200);
}
