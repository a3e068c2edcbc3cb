//! Schedules over HTTP: set, fired, shown, listed, run, paused, resumed, deleted, previewed.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use adjourn_server::config::{ClockChoice, Config};
use serde_json::{Value, json};

use super::rig::{Reply, Site, Web};
use super::tokens::site_with_tokens;

const HOURLY: &str = "/v1/topics/reports/schedules/hourly";

fn stand_still(config: &mut Config) {
    (config.memory, config.clock) = (true, ClockChoice::Manual);
}

fn put(web: &mut Web, path: &str, body: &Value) -> Reply {
    web.ask("PUT", path, Some(body))
}

/// The same with this header.
fn put_if(web: &mut Web, path: &str, header: &str, body: &Value) -> Reply {
    let headers = format!("Content-Type: application/json\r\n{header}\r\n");
    web.ask_with("PUT", path, &headers, body.to_string().as_bytes())
}

fn advance(web: &mut Web, by: &str) {
    assert_eq!(web.post("/v1/test/clock", &json!({ "advance": by })).status, 200);
}

#[test]
fn a_schedule_fires_and_shows_what_it_did() {
    let site = Site::with(stand_still);
    let mut web = site.web();
    let new = json!({
        "when": "@every 1h", "missed": "none", "note": "for the accountants",
        "job": {"body": {"report": 1}, "ttr": "10s", "headers": {"trace": "a"}}
    });
    let set = put(&mut web, HOURLY, &new);
    assert_eq!(set.status, 201, "{set}");
    let (tag, set) = (set.header("etag").map(str::to_owned), set.json());
    let first = set["next"].clone();
    assert_eq!(set, json!({"id": set["id"], "version": 1, "next": first}));
    advance(&mut web, "1h");
    let shown = web.get(HOURLY);
    assert_eq!(shown.header("etag"), tag.as_deref(), "it is that of the content");
    let shown = shown.json();
    let job = shown["history"][0]["job"].clone();
    let expected = json!({
        "id": set["id"], "topic": "reports", "name": "hourly", "version": 1, "next": shown["next"], "fired": 1, "running": 1,
        "failures": 0, "has_come": false, "is_held": false, "when": "@every 1h", "dst": "vixie", "origin": shown["origin"],
        "missed": "none", "overlap": "skip", "note": "for the accountants",
        "job": {
            "ttr_ms": 10_000, "headers": {"content-type": "application/json", "trace": "a"}, "body": {"report": 1}
        },
        "history": [{"instant": first, "at": first, "job": job, "fired": "pushed"}]
    });
    assert_eq!(shown, expected);
    let reserved = web.ask("POST", "/v1/reserve?topics=reports", None).json();
    let got = &reserved["jobs"][0];
    assert_eq!((&got["id"], &got["body"], &got["due"]), (&job, &json!({"report": 1}), &first));
    // The first job has not ended, then it is finished.
    advance(&mut web, "1s");
    let lease = got["lease"].as_str().expect("a lease").to_owned();
    assert_eq!(web.ask("POST", &format!("/v1/leases/{lease}/finish"), None).status, 204);
    let shown = web.get(HOURLY).json();
    assert_eq!((&shown["running"], &shown["history"][0]["fired"]), (&json!(0), &json!("finished")));
    advance(&mut web, "1h");
    advance(&mut web, "1h");
    let shown = web.get(HOURLY).json();
    let fired: Vec<&Value> =
        shown["history"].as_array().expect("a list").iter().map(|one| &one["fired"]).collect();
    assert_eq!(fired, ["finished", "pushed", "overlap"], "{shown}");
    let skipped = &shown["history"][2];
    assert_eq!((&skipped["instants"], skipped.get("job")), (&json!(1), None));
}

#[test]
fn a_schedule_is_replaced_only_in_the_version_that_was_seen() {
    let site = Site::new();
    let mut web = site.web();
    let new = json!({"when": "0 9 * * 1-5", "zone": "Europe/Berlin"});
    let only_new = "If-None-Match: *";
    let first = put_if(&mut web, HOURLY, only_new, &new);
    assert_eq!(first.status, 201, "{first}");
    let tag = |reply: &Reply| reply.header("etag").expect("a tag").to_owned();
    let first_tag = tag(&first);
    let changed = (412, "CHANGED".to_owned());
    assert_eq!(put_if(&mut web, HOURLY, only_new, &new).refusal(), changed);
    let other = json!({"when": "@daily", "failures_max": 3});
    let second = put_if(&mut web, HOURLY, &format!("If-Match: {first_tag}"), &other);
    assert_eq!((second.status, &second.json()["version"]), (200, &json!(2)));
    assert_ne!(tag(&second), first_tag);
    assert_eq!(put_if(&mut web, HOURLY, &format!("If-Match: {first_tag}"), &new).refusal(), changed);
    for never in ["\"xyz\"", "\"ffffffff\"", "\"100000002\"", "\"0\""] {
        let refused = put_if(&mut web, HOURLY, &format!("If-Match: {never}"), &new);
        assert_eq!(refused.refusal(), changed, "{never}");
    }
    let nowhere = "/v1/topics/reports/schedules/none";
    assert_eq!(put_if(&mut web, nowhere, &format!("If-Match: {first_tag}"), &new).refusal(), changed);
    let shown = web.get(HOURLY).json();
    assert_eq!(
        (&shown["when"], &shown["failures_max"], shown.get("zone")),
        (&json!("@daily"), &json!(3), None)
    );
    assert_eq!(put(&mut web, HOURLY, &new).json()["version"], 3, "without a condition");
    for (header, name) in [
        ("If-Match: *", "If-Match"),
        ("If-Match: \"1\", \"2\"", "If-Match"),
        ("If-None-Match: \"1\"", "If-None-Match"),
        ("If-None-Match: *\r\nIf-Match: \"1\"", "If-None-Match"),
    ] {
        let refused = put_if(&mut web, HOURLY, header, &new).problem();
        assert_eq!(
            (&refused["status"], &refused["errors"][0]["header"]),
            (&json!(400), &json!(name)),
            "{header}"
        );
    }
}

#[test]
fn schedules_are_run_paused_resumed_and_deleted() {
    let site = Site::with(stand_still);
    let mut web = site.web();
    let path = "/v1/topics/reports/schedules/a%2Fb";
    let post = |web: &mut Web, action: &str| web.ask("POST", &format!("{path}/{action}"), None);
    assert_eq!(put(&mut web, path, &json!({"when": "@every 1h", "job": {"body": "x"}})).status, 201);
    let (noted, long) = (json!({"note": "for now"}), json!({"note": "x".repeat(1025)}));
    assert_eq!(web.post(&format!("{path}/pause"), &long).refusal(), (400, "MALFORMED".to_owned()));
    assert_eq!(web.post(&format!("{path}/pause"), &noted).status, 204);
    assert_eq!(web.get(path).json()["pause_note"], json!("for now"));
    assert_eq!(post(&mut web, "pause").status, 204);
    advance(&mut web, "1h");
    let shown = web.get(path).json();
    assert_eq!(
        (&shown["name"], &shown["paused"], &shown["fired"]),
        (&json!("a/b"), &json!("user"), &json!(0))
    );
    // By hand it pushes a job all the same.
    let ran = post(&mut web, "run");
    assert_eq!(ran.status, 201, "{ran}");
    let job = ran.json()["job"].as_u64().expect("an id");
    let place = format!("/v1/jobs/{job}");
    assert_eq!(ran.header("location"), Some(place.as_str()));
    assert_eq!(web.get(&place).json()["body"], "x");
    assert_eq!(web.ask("DELETE", &place, None).status, 200);
    assert_eq!(post(&mut web, "resume").status, 204);
    advance(&mut web, "1ms");
    let shown = web.get(path).json();
    assert_eq!((shown.get("paused"), &shown["fired"]), (None, &json!(1)), "the missed instant: {shown}");
    let headers = "If-Match: \"0000000000000001\"\r\n";
    for (method, suffix) in [("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/run")] {
        let refused = web.ask_with(method, &format!("{path}{suffix}"), headers, b"").problem();
        assert_eq!(refused["errors"][0]["header"], "If-Match", "{method} {suffix}");
    }
    assert_eq!(web.ask("DELETE", path, None).status, 204);
    for (method, suffix) in
        [("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/run")]
    {
        let refused = web.ask(method, &format!("{path}{suffix}"), None);
        assert_eq!(refused.refusal(), (404, "NOT_FOUND".to_owned()), "{method} {suffix}");
    }
    assert_eq!(web.get("/v1/jobs/count?topic=reports").json(), json!({"count": 1}), "its jobs stay");
    assert_eq!(put(&mut web, path, &json!({"when": "@daily"})).status, 201, "it is a new one");
}

/// The names on all pages.
fn names(web: &mut Web, query: &str) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = web.get(&format!("/v1/topics/t/schedules?{query}{cursor}")).json();
        let schedules = page["schedules"].as_array().expect("a list");
        all.extend(schedules.iter().map(|one| one["name"].as_str().expect("a name").to_owned()));
        match page["cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

#[test]
fn a_list_goes_on_with_its_cursor_and_meets_its_conditions() {
    let site = Site::new();
    let mut web = site.web();
    assert_eq!(names(&mut web, ""), [""; 0], "the topic need not exist");
    let every = ["b1", "a1", "b2", "a2", "b3"];
    for name in every {
        let set = put(&mut web, &format!("/v1/topics/t/schedules/{name}"), &json!({"when": "@daily"}));
        assert_eq!(set.status, 201, "{set}");
    }
    for name in ["b1", "a2", "b3"] {
        assert_eq!(web.ask("POST", &format!("/v1/topics/t/schedules/{name}/pause"), None).status, 204);
    }
    for limit in 1..=6 {
        let limit = format!("limit={limit}");
        assert_eq!(names(&mut web, &limit), every, "{limit}");
        assert_eq!(names(&mut web, &format!("{limit}&prefix=b")), ["b1", "b2", "b3"], "{limit}");
        assert_eq!(names(&mut web, &format!("{limit}&paused=true")), ["b1", "a2", "b3"], "{limit}");
        assert_eq!(names(&mut web, &format!("{limit}&paused=false&prefix=a")), ["a1"], "{limit}");
    }
    let page = web.get("/v1/topics/t/schedules?limit=2").json();
    let one = &page["schedules"][0];
    assert_eq!(
        (&one["topic"], &one["paused"], &one["when"]),
        (&json!("t"), &json!("user"), &json!("@daily"))
    );
    assert!(one.get("job").is_none() && one.get("history").is_none(), "{one}");
    let cursor = page["cursor"].as_str().expect("a cursor");
    for query in [
        format!("limit=2&prefix=b&cursor={cursor}"),
        format!("limit=2&cursor={cursor}AAAA"),
        "cursor=AAAA".to_owned(),
    ] {
        let refused = web.get(&format!("/v1/topics/t/schedules?{query}")).problem();
        assert_eq!((&refused["status"], &refused["errors"][0]["parameter"]), (&json!(400), &json!("cursor")));
    }
    let step = json!({"change": "pause", "topic": "t", "all": true, "limit": 2});
    let cursor = web.post("/v1/schedules/bulk", &step).json()["cursor"].as_str().map(str::to_owned);
    let mut forged = step;
    forged["cursor"] = json!(format!("{}AAAA", cursor.expect("there are more")));
    let refused = web.post("/v1/schedules/bulk", &forged).problem();
    assert_eq!((&refused["status"], &refused["errors"][0]["pointer"]), (&json!(400), &json!("/cursor")));
}

#[test]
fn a_preview_shows_when_a_schedule_would_fire() {
    let site = Site::new();
    let mut web = site.web();
    let query = "when=30+2+*+*+*&zone=Europe/Berlin&from=2027-03-27T00:00:00Z&count=3";
    let shown = web.get(&format!("/v1/schedules/preview?{query}")).json();
    let instants = json!([
        {"instant": "2027-03-27T01:30:00.000Z", "local": "2027-03-27 02:30:00 +01:00 CET"},
        {"instant": "2027-03-28T01:00:00.000Z", "local": "2027-03-28 03:00:00 +02:00 CEST"},
        {"instant": "2027-03-29T00:30:00.000Z", "local": "2027-03-29 02:30:00 +02:00 CEST"}
    ]);
    assert_eq!(shown["instants"], instants);
    let zone_data = shown["zone_data"].as_str().expect("a text");
    assert!(zone_data.ends_with(", bundled") || zone_data.ends_with(", of the system"), "{zone_data}");
    let literal = web.get(&format!("/v1/schedules/preview?{query}&dst=literal")).json();
    assert_eq!(literal["instants"][1]["instant"], "2027-03-29T00:30:00.000Z");
    let every = web.get("/v1/schedules/preview?when=@every+90s&from_ms=0&origin_ms=30000&count=2").json();
    let at: Vec<&Value> =
        every["instants"].as_array().expect("a list").iter().map(|one| &one["instant"]).collect();
    assert_eq!(at, ["1970-01-01T00:00:30.000Z", "1970-01-01T00:02:00.000Z"]);
    let over = web.get("/v1/schedules/preview?when=@at+1970-01-01T00:00:30Z").json();
    assert_eq!(over["instants"], json!([]));
    assert_eq!(
        web.get("/v1/schedules/preview?when=@hourly").json()["instants"].as_array().map(Vec::len),
        Some(5)
    );
}

#[test]
fn a_schedule_needs_the_rights_of_its_jobs() {
    let (site, [owner, manager, reader]) =
        site_with_tokens([&["--allow", "manage,push,read"], &["--allow", "manage"], &["--allow", "read"]]);
    let as_token = |token: &str| site.web().with_token(token);
    let (mut owner, mut manager, mut reader) = (as_token(&owner), as_token(&manager), as_token(&reader));
    let (new, forbidden) = (json!({"when": "@daily"}), (403, "FORBIDDEN".to_owned()));
    assert_eq!(put(&mut site.web(), HOURLY, &new).refusal().0, 401);
    assert_eq!(site.web().get("/v1/schedules/preview?when=@daily").refusal().0, 401);
    assert_eq!(put(&mut manager, HOURLY, &new).refusal(), forbidden, "its jobs are pushed");
    assert_eq!(put(&mut reader, HOURLY, &new).refusal(), forbidden);
    assert_eq!(put(&mut owner, HOURLY, &new).status, 201);
    assert_eq!(reader.get(HOURLY).status, 200);
    assert_eq!(reader.get("/v1/topics/reports/schedules").status, 200);
    assert_eq!(reader.get("/v1/schedules/preview?when=@daily").status, 200);
    assert_eq!(manager.get(HOURLY).refusal(), forbidden);
    for action in ["pause", "resume", "run"] {
        let refused = reader.ask("POST", &format!("{HOURLY}/{action}"), None);
        assert_eq!(refused.refusal(), forbidden, "{action}");
    }
    assert_eq!(reader.ask("DELETE", HOURLY, None).refusal(), forbidden);
    assert_eq!(manager.ask("DELETE", HOURLY, None).status, 204);
}

#[test]
fn many_schedules_are_changed_in_steps() {
    let site = Site::new();
    let mut web = site.web();
    for name in ["a.1", "b.1", "a.2", "a.3"] {
        let set = put(&mut web, &format!("/v1/topics/t/schedules/{name}"), &json!({"when": "@daily"}));
        assert_eq!(set.status, 201, "{set}");
    }
    let mut change = |body: &Value| {
        let (mut body, mut total) = (body.clone(), [0; 3]);
        loop {
            let step = web.post("/v1/schedules/bulk", &body);
            assert_eq!(step.status, 200, "{step}");
            let step = step.json();
            for (sum, field) in total.iter_mut().zip(["matched", "changed", "skipped"]) {
                *sum += step[field].as_u64().expect("a count");
            }
            match step.get("cursor") {
                Some(cursor) => body["cursor"] = cursor.clone(),
                None => return total,
            }
        }
    };
    let tenant =
        |change: &str| json!({"change": change, "topic": "t", "filter": {"prefix": "a."}, "limit": 2});
    let mut dry_run = tenant("pause");
    dry_run["dry_run"] = json!(true);
    assert_eq!(change(&dry_run), [3, 3, 0]);
    let mut noted = tenant("pause");
    noted["note"] = json!("moving");
    assert_eq!(change(&noted), [3, 3, 0]);
    assert_eq!(change(&tenant("pause")), [3, 0, 3], "they are paused already");
    assert_eq!(change(&json!({"change": "resume", "topic": "t", "all": true})), [4, 3, 1]);
    let soon = json!({"change": "delete", "topic": "t", "filter": {"next_before_ms": 0}});
    assert_eq!(change(&soon), [0, 0, 0], "none is before 1970");
    assert_eq!(change(&tenant("delete")), [3, 3, 0]);
    assert_eq!(names(&mut web, ""), ["b.1"]);
}

#[test]
fn a_backfill_pushes_the_jobs_of_a_time_that_has_passed() {
    let site = Site::with(stand_still);
    let mut web = site.web();
    let set = put(&mut web, HOURLY, &json!({"when": "@every 1h", "origin_ms": 0, "job": {"body": "report"}}));
    assert_eq!(set.status, 201, "{set}");
    let next_ms = |web: &mut Web| {
        let next = web.get(HOURLY).json()["next"].as_str().expect("a time").to_owned();
        next.parse::<jiff::Timestamp>().expect("a time").as_millisecond()
    };
    let first_ms = next_ms(&mut web);
    advance(&mut web, "1h");
    assert_eq!(next_ms(&mut web), first_ms + 3_600_000);
    let path = format!("{HOURLY}/backfill");
    // Its last instant has a job already, which the schedule has pushed.
    let mut body = json!({"from_ms": first_ms - 4 * 3_600_000, "to_ms": first_ms, "dry_run": true});
    let told =
        |instants, pushed, kept| json!({"instants": instants, "pushed": pushed, "kept": kept, "refused": 0});
    assert_eq!(web.post(&path, &body).json(), told(5, 0, 0));
    body["dry_run"] = json!(false);
    assert_eq!(web.post(&path, &body).json(), told(5, 4, 1));
    assert_eq!(web.post(&path, &body).json(), told(5, 0, 5), "again, it changes nothing");
    let jobs = web.ask("POST", "/v1/reserve?topics=reports&max=10", None).json();
    let jobs = jobs["jobs"].as_array().expect("a list");
    assert_eq!(jobs.len(), 5);
    let key = format!("hourly@{}", first_ms - 4 * 3_600_000);
    assert!(jobs.iter().any(|job| job["key"] == json!(key) && job["body"] == json!("report")), "{jobs:?}");
    assert_eq!(web.get(HOURLY).json()["fired"], json!(1), "the schedule knows nothing of it");
}
