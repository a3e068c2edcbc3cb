//! The JSON API does what its routes say.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use serde_json::{Value, json};

use super::rig::{Site, Web};
use crate::server_rig::{Raw, push};

fn id(pushed: &Value) -> u64 {
    pushed["id"].as_u64().expect("an id")
}

#[test]
fn a_job_is_pushed_reserved_and_finished() {
    let site = Site::new();
    let mut web = site.web();
    let new =
        json!({"body": "close order 17", "delay_ms": 1, "key": "order/17", "headers": {"trace": ["a", "b"]}});
    let pushed = web.post("/v1/topics/orders.eu/jobs", &new);
    assert_eq!(pushed.status, 201);
    let job = id(&pushed.json());
    assert_eq!(pushed.header("location"), Some(format!("/v1/jobs/{job}").as_str()));
    let reserved = web.ask("POST", "/v1/reserve?topics=mails,orders.eu&wait=30s", None).json();
    let [got] = &reserved["jobs"].as_array().expect("jobs")[..] else { panic!("{reserved}") };
    assert_eq!((id(got), &got["body"], &got["attempts"]), (job, &json!("close order 17"), &json!(1)));
    assert_eq!(got["headers"], json!({"trace": ["a", "b"]}));
    let by_key = web.get("/v1/topics/orders.eu/keys/order%2F17").json();
    assert_eq!((id(&by_key), &by_key["state"]), (job, &json!("reserved")));
    let lease = got["lease"].as_str().expect("a lease");
    for _ in 0..2 {
        assert_eq!(web.ask("POST", &format!("/v1/leases/{lease}/finish"), None).status, 204);
    }
    assert_eq!(web.get(&format!("/v1/jobs/{job}")).json()["state"], json!("finished"));
    assert_eq!(web.get("/v1/topics/orders.eu/keys/order%2F17").refusal(), (404, "NOT_FOUND".to_owned()));
}

#[test]
fn bodies_are_bytes() {
    let site = Site::new();
    let mut web = site.web();
    let job = id(&web.post("/v1/topics/t/jobs", &json!({"body_base64": "/wA="})).json());
    assert_eq!(web.get(&format!("/v1/jobs/{job}")).json()["body_base64"], json!("/wA="));
    let mut client = Raw::greeted(site.node.address);
    client.ask(push("t", "text\u{0}", 0));
    assert_eq!(web.get(&format!("/v1/jobs/{}", job + 1)).json()["body"], json!("text\u{0}"));
}

#[test]
fn several_jobs_have_an_outcome_each() {
    let site = Site::new();
    let mut web = site.web();
    let jobs = json!([{"key": "a"}, {"key": "a"}, {"key": "a", "if_exists": "keep"}, {"key": "a", "if_exists": "replace"}]);
    let outcomes = web.post("/v1/topics/t/jobs", &jobs).json();
    let results: Vec<&Value> =
        outcomes["results"].as_array().expect("outcomes").iter().map(|one| &one["result"]).collect();
    assert_eq!(results, [&json!("pushed"), &Value::Null, &json!("kept"), &json!("replaced")]);
    let first = id(&outcomes["results"][0]);
    let refused = &outcomes["results"][1];
    assert_eq!((&refused["code"], &refused["job"]), (&json!("KEY_EXISTS"), &json!(first)));
    let again = web.post("/v1/topics/t/jobs", &json!({"key": "a"}));
    assert_eq!(again.refusal(), (409, "KEY_EXISTS".to_owned()));
    let lines = "{\"body\":\"1\"}\r\n\n{\"body\":\"2\"}";
    let kind = "Content-Type: application/x-ndjson; charset=utf-8\r\n";
    let outcomes = web.ask_with("POST", "/v1/topics/lines/jobs", kind, lines.as_bytes()).json();
    assert_eq!(outcomes["results"].as_array().map(Vec::len), Some(2));
    // One that is malformed does not stop the others.
    let outcomes = web.ask_with("POST", "/v1/topics/lines/jobs", kind, b"{\"dealy\":1}\n{}\n{").json();
    let codes: Vec<&Value> =
        outcomes["results"].as_array().expect("outcomes").iter().map(|one| &one["code"]).collect();
    assert_eq!(codes, [&json!("MALFORMED"), &Value::Null, &json!("MALFORMED")]);
    assert_eq!(web.get("/v1/jobs/count?topic=lines").json(), json!({"count": 3}));
    let both = json!([{}, {"delay": "1h", "due": "2030-12-24T18:00:00Z"}]);
    let refused = web.post("/v1/topics/t/jobs", &both).json()["results"][1].clone();
    assert_eq!(
        (&refused["errors"][0]["pointer"], &refused["detail"]),
        (&json!("/1/due"), &json!("/1/due: give a delay or a due time, not both"))
    );
}

#[test]
fn a_job_that_is_too_large_keeps_no_other_back() {
    let site = Site::with(|config| config.body_bytes_max = 100);
    let mut web = site.web();
    let mut jobs: Vec<Value> = (0..5000).map(|_| json!({"body": "x"})).collect();
    for large in [0, 4500] {
        jobs[large] = json!({"body": "x".repeat(101)});
    }
    let outcomes = web.post("/v1/topics/t/jobs", &Value::from(jobs)).json();
    let results = outcomes["results"].as_array().expect("outcomes");
    let refused: Vec<usize> =
        (0..results.len()).filter(|at| results[*at]["code"] == json!("TOO_LARGE")).collect();
    assert_eq!((results.len(), refused), (5000, vec![0, 4500]));
    assert_eq!(web.get("/v1/jobs/count?topic=t").json(), json!({"count": 4998}));
}

#[test]
fn a_request_has_a_limited_number_of_jobs() {
    let site = Site::new();
    let mut web = site.web();
    let kind = "Content-Type: application/x-ndjson\r\n";
    let lines = "{}\n".repeat(100_001);
    let refused = web.ask_with("POST", "/v1/topics/t/jobs", kind, lines.as_bytes());
    assert_eq!(refused.refusal(), (400, "MALFORMED".to_owned()));
    let refused = web.post("/v1/topics/t/jobs", &Value::from(vec![json!({}); 100_001]));
    assert_eq!(refused.refusal(), (400, "MALFORMED".to_owned()));
    assert_eq!(web.get("/v1/jobs/count?topic=t").json(), json!({"count": 0}));
}

#[test]
fn lines_of_an_export_are_taken_back_buried_ones_included() {
    let site = Site::new();
    let mut web = site.web();
    let lines = [
        json!({"topic": "t", "key": "a", "due": "2030-01-01T00:00:00.000Z", "body": "a", "buried": "no such address"}),
        json!({"topic": "t", "key": "b", "body_base64": "AP8=", "buried": ""}),
        json!({"topic": "t", "key": "c"}),
    ];
    let text = lines.map(|line| line.to_string()).join("\n");
    let pushed =
        web.ask_with("POST", "/v1/topics/t/jobs", "Content-Type: application/x-ndjson\r\n", text.as_bytes());
    assert_eq!(pushed.json()["results"].as_array().map(Vec::len), Some(3), "{}", pushed.json());
    assert_eq!(web.get("/v1/jobs/count?topic=t&state=buried").json(), json!({"count": 2}));
    let first = web.get("/v1/topics/t/keys/a").json();
    assert_eq!(
        (&first["state"], &first["reason"], &first["due"], &first["attempts"]),
        (&json!("buried"), &json!("no such address"), &json!("2030-01-01T00:00:00.000Z"), &json!(0))
    );
    assert_eq!(web.ask("POST", "/v1/topics/t/keys/a/kick", None).status, 200);
    assert_eq!(web.get("/v1/topics/t/keys/a").json()["state"], "ready");
    let edited = web.ask("PATCH", "/v1/topics/t/keys/b", Some(&json!({"buried": "x"})));
    assert_eq!(edited.refusal(), (400, "MALFORMED".to_owned()));
}

#[test]
fn more_jobs_than_a_frame_takes_are_pushed_all_the_same() {
    let site = Site::new();
    let mut web = site.web();
    let jobs: Vec<Value> = (0..5000).map(|_| json!({"body": "x".repeat(1000)})).collect();
    let outcomes = web.post("/v1/topics/t/jobs", &Value::from(jobs)).json();
    let ids: Vec<u64> = outcomes["results"].as_array().expect("outcomes").iter().map(id).collect();
    assert_eq!((ids.len(), ids.is_sorted()), (5000, true));
    assert_eq!(web.get("/v1/jobs/count?topic=t").json(), json!({"count": 5000}));
}

#[test]
fn jobs_are_counted_by_when_they_are_due() {
    let site = Site::new();
    let mut web = site.web();
    let due = ["2030-01-01T00:00:00Z", "2030-01-01T00:59:59Z", "2030-01-01T02:00:00Z"];
    let jobs: Vec<Value> = due.iter().map(|due| json!({"due": due})).chain([json!({})]).collect();
    web.post("/v1/topics/t/jobs", &Value::from(jobs));
    let bars = "/v1/jobs/count?topic=t&bars=2&bar=1h&bars_from=2030-01-01T00:00:00Z";
    let from = |text: &str, millis: u64, count: u64| json!({"from": text, "from_ms": millis, "count": count});
    let by_due = json!([
        {"count": 1},
        from("2030-01-01T00:00:00.000Z", 1_893_456_000_000, 2),
        from("2030-01-01T01:00:00.000Z", 1_893_459_600_000, 0),
        from("2030-01-01T02:00:00.000Z", 1_893_463_200_000, 1),
    ]);
    assert_eq!(web.get(bars).json(), json!({"count": 4, "by_due": by_due}));
    let delayed = web.get("/v1/jobs/count?state=delayed&bars=1&bar_ms=1").json();
    assert_eq!((&delayed["count"], &delayed["by_due"][2]["count"]), (&json!(3), &json!(3)));
    let none = web.get("/v1/jobs/count?topic=none&bars=1&bar=1h").json();
    assert_eq!((&none["count"], none["by_due"].as_array().map(Vec::len)), (&json!(0), Some(3)));
    for wrong in [
        "bars=2",
        "bar=1h",
        "bars_from=2030-01-01T00:00:00Z",
        "bars=0&bar=1h",
        "bars=1025&bar=1h",
        "bars=1&bar=0s",
    ] {
        let refused = web.get(&format!("/v1/jobs/count?{wrong}"));
        assert_eq!(refused.status, 400, "{wrong}: {refused:?}");
    }
}

#[test]
fn a_list_goes_on_with_its_cursor() {
    let site = Site::new();
    let mut web = site.web();
    let jobs: Vec<Value> = (0..7).map(|n| json!({"key": format!("k{n}"), "delay": "1h"})).collect();
    web.post("/v1/topics/t/jobs", &Value::from(jobs));
    let mut keys = Vec::new();
    let mut path = "/v1/jobs?topic=t&state=delayed,ready&order=key&limit=3".to_owned();
    loop {
        let page = web.get(&path).json();
        keys.extend(page["jobs"].as_array().expect("jobs").iter().map(|job| job["key"].clone()));
        let Some(cursor) = page["cursor"].as_str() else { break };
        path = format!("/v1/jobs?topic=t&state=delayed,ready&order=key&limit=3&cursor={cursor}");
    }
    assert_eq!(keys, (0..7).map(|n| json!(format!("k{n}"))).collect::<Vec<_>>());
    for query in [
        "limit=x",
        "limit=0",
        "limit=1025",
        "cursor=!",
        "order=best",
        "topics=t",
        "state=asleep",
        "due_from=today",
        "due_from=1900000000",
        "due_from_ms=1&due_from=2030-12-24T18:00:00Z",
        "limit=1&limit=2",
    ] {
        let name = query.split('=').next().expect("a name");
        let refused = web.get(&format!("/v1/jobs?{query}"));
        assert_eq!(refused.refusal(), (400, "MALFORMED".to_owned()), "{query}");
        assert_eq!(refused.problem()["errors"][0]["parameter"], json!(name), "{refused}");
    }
    let page = web.get("/v1/jobs?topic=t&limit=1").json();
    let cursor = page["cursor"].as_str().expect("there are more");
    assert_eq!(web.get(&format!("/v1/jobs?topic=t&limit=2&cursor={cursor}")).status, 200);
    for other in ["topic=u", "topic=t&order=id", "topic=t&state=ready"] {
        let refused = web.get(&format!("/v1/jobs?{other}&cursor={cursor}"));
        assert_eq!(refused.problem()["errors"][0]["parameter"], json!("cursor"), "{other}: {refused}");
    }
}

#[test]
fn topics_and_connections_come_in_pages() {
    let site = Site::new();
    let mut web = site.web();
    for topic in ["a", "b", "c"] {
        web.post(&format!("/v1/topics/{topic}/jobs"), &json!({}));
    }
    let _clients = [Raw::greeted(site.node.address), Raw::greeted(site.node.address)];
    for (path, list, name) in
        [("/v1/topics", "topics", "topic"), ("/v1/connections", "connections", "connection")]
    {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = web.get(&format!("{path}?limit=2{cursor}")).json();
            seen.extend(page[list].as_array().expect("a list").iter().map(|one| one[name].clone()));
            let Some(next) = page["cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(seen.len(), 3, "{seen:?}");
        seen.dedup();
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert_eq!(web.get(&format!("{path}?limit=0")).refusal(), (400, "MALFORMED".to_owned()));
        assert_eq!(web.get(&format!("{path}?cursor=AAAAAAAAAA")).refusal(), (400, "MALFORMED".to_owned()));
    }
}

#[test]
fn a_body_comes_back_as_what_it_was() {
    let site = Site::new();
    let mut web = site.web();
    for (topic, body, kind) in [
        ("text", json!("grün\n"), Value::Null),
        ("object", json!({"order": 17, "lines": ["a", null]}), json!("application/json")),
        ("number", json!(1.5), json!("application/json")),
        ("null", Value::Null, json!("application/json")),
    ] {
        web.post(&format!("/v1/topics/{topic}/jobs"), &json!({"body": body}));
        let reserved = web.post("/v1/reserve", &json!({"topics": [topic], "wait": "30s"})).json();
        let job = &reserved["jobs"][0];
        assert_eq!((&job["body"], &job["headers"]["content-type"]), (&body, &kind), "{job}");
    }
    // JSON over more than one line stays what it is, and the answer stays one line.
    let lines = "Content-Type: application/vnd.shop+json\r\n";
    web.ask_with("POST", "/v1/topics/lines/jobs", lines, b"{\n  \"a\": \"b\\n\"\n}");
    let shown = web.get("/v1/topics/lines/next");
    assert_eq!(shown.json()["body"], json!({"a": "b\n"}));
    assert!(!shown.body.contains(&b'\n'), "{shown}");
    // What only says that it is JSON is text.
    web.ask_with("POST", "/v1/topics/broken/jobs", lines, b"{");
    assert_eq!(web.get("/v1/topics/broken/next").json()["body"], json!("{"));
}

#[test]
fn a_body_of_any_type_is_pushed_as_it_is() {
    let site = Site::new();
    let mut web = site.web();
    let headers = "Content-Type: Image/JPEG\r\nAdjourn-Key: photo\r\nAdjourn-Header-Album: 7\r\n";
    let pushed = web.ask_with("POST", "/v1/topics/t/jobs?delay=15m", headers, b"\xff\xd8\xff");
    assert_eq!(pushed.status, 201);
    let job = web.get("/v1/topics/t/keys/photo").json();
    assert_eq!((&job["state"], &job["body_base64"]), (&json!("delayed"), &json!("/9j/")));
    assert_eq!(job["headers"], json!({"content-type": "Image/JPEG", "album": "7"}));
    // A description of a job that was sent as curl sends a form is not mistaken for a body.
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let mistaken = web.ask_with("POST", "/v1/topics/t/jobs", form, b"{\"delay\": \"15m\"}");
    assert_eq!(mistaken.refusal(), (415, "UNSUPPORTED".to_owned()));
    let case = "Content-Type: APPLICATION/JSON; charset=UTF-8\r\n";
    assert_eq!(web.ask_with("POST", "/v1/topics/t/jobs", case, b"{\"body\": \"a\"}").status, 201);
    let query = web.ask_with("POST", "/v1/topics/t/jobs?delay=15m", case, b"{}");
    assert_eq!(query.problem()["errors"][0]["parameter"], json!("delay"), "{query}");
    let wrong = web.ask_with("POST", "/v1/topics/t/jobs", "Adjourn-Dealy: 1s\r\n", b"x");
    assert_eq!(wrong.problem()["errors"][0]["header"], json!("adjourn-dealy"), "{wrong}");
    assert_eq!(web.get("/v1/jobs/count").json(), json!({"count": 2}));
}

#[test]
fn a_job_is_changed_by_id_and_by_key() {
    let site = Site::new();
    let mut web = site.web();
    let job = id(&web.post("/v1/topics/t/jobs", &json!({"key": "k", "delay": "1h"})).json());
    let at = json!({"due": "2030-12-24T18:00:00Z"});
    let changed = web.post(&format!("/v1/jobs/{job}/reschedule"), &at).json();
    assert_eq!((&changed["state"], &changed["due"]), (&json!("delayed"), &json!("2030-12-24T18:00:00.000Z")));
    assert_eq!(
        web.post("/v1/topics/t/keys/k/reschedule", &json!({})).refusal(),
        (400, "MALFORMED".to_owned())
    );
    assert_eq!(web.ask("POST", "/v1/topics/t/keys/k/run-now", None).json()["state"], json!("ready"));
    assert_eq!(web.get("/v1/topics/t/next").json()["id"], json!(job));
    assert_eq!(web.ask("POST", "/v1/topics/t/keys/k/kick", None).refusal(), (409, "WRONG_STATE".to_owned()));
    assert_eq!(web.ask("DELETE", &format!("/v1/jobs/{job}"), None).json()["state"], json!("ready"));
    assert_eq!(web.ask("DELETE", "/v1/topics/t/keys/k", None).refusal(), (404, "NOT_FOUND".to_owned()));
}

fn reserve(web: &mut Web) -> String {
    let reserved = web.ask("POST", "/v1/reserve?topics=t&wait=30s", None).json();
    reserved["jobs"][0]["lease"].as_str().expect("a job").to_owned()
}

#[test]
fn leases_are_settled_one_by_one_and_together() {
    let site = Site::new();
    let mut web = site.web();
    web.post("/v1/topics/t/jobs", &json!([{}, {}, {}, {}]));
    let leases: Vec<String> = (0..4).map(|_| reserve(&mut web)).collect();
    let path = |at: usize, what: &str| format!("/v1/leases/{}/{what}", leases[at]);
    assert_eq!(web.post(&path(0, "touch"), &json!({"ttr": "5m"})).status, 204);
    assert_eq!(web.post(&path(0, "bury"), &json!({"reason": "no such address"})).status, 204);
    let shown = web.get("/v1/jobs?state=buried").json();
    assert_eq!(shown["jobs"][0]["reason"], json!("no such address"));
    assert_eq!(web.ask("POST", "/v1/topics/t/kick", None).json(), json!({"count": 1}));
    assert_eq!(web.post(&path(1, "release"), &json!({"delay": "1h"})).status, 204);
    assert_eq!(web.post(&path(1, "release"), &json!({})).refusal(), (409, "STALE_LEASE".to_owned()));
    assert_eq!(web.post(&path(2, "release"), &json!({"not_started": true})).status, 204);
    let all = json!({"finish": [leases[3], leases[1]], "touch": [leases[3]]});
    let settled = web.post("/v1/leases", &all).json();
    assert_eq!(settled["count"], json!(1));
    let failed: Vec<&Value> =
        settled["failed"].as_array().expect("failures").iter().map(|one| &one["lease"]).collect();
    assert_eq!(failed, [&json!(leases[1]), &json!(leases[3])], "it was finished before it was touched");
    assert_eq!(settled["failed"][0]["applied"], json!("no"));
    assert_eq!(settled["failed"][0]["code"], json!("STALE_LEASE"));
    // A malformed lease fails alone.
    let lease = reserve(&mut web);
    let settled = web.post("/v1/leases", &json!({"touch": [lease, "abc", "7"], "finish": ["1-1"]})).json();
    assert_eq!(settled["count"], json!(1), "{settled}");
    let failed = settled["failed"].as_array().expect("failures");
    let told = failed.iter().map(|one| (one["lease"].as_str(), one["code"].as_str(), &one["retryable"]));
    let malformed = |lease| (Some(lease), Some("MALFORMED"), &Value::Bool(false));
    let stale = (Some("1-1"), Some("STALE_LEASE"), &Value::Bool(false));
    assert_eq!(told.collect::<Vec<_>>(), [malformed("abc"), malformed("7"), stale], "{settled}");
    assert_eq!(failed[0]["errors"][0]["pointer"], json!("/touch/1"));
    // What cannot be asked is refused before anything is done.
    let no_text = web.post("/v1/leases", &json!({"finish": [lease, 7]}));
    assert_eq!(no_text.problem()["errors"][0]["pointer"], json!("/finish/1"), "{no_text}");
    let too_long = json!({"finish": [lease], "release": ["1-1"], "reason": "x".repeat(5000)});
    let refused = web.post("/v1/leases", &too_long);
    assert_eq!(refused.problem()["errors"][0]["pointer"], json!("/reason"), "{refused}");
    assert_eq!(web.post(&format!("/v1/leases/{lease}/touch"), &json!({})).status, 204, "it is held");
}

#[test]
fn many_jobs_are_changed_in_steps() {
    let site = Site::new();
    let mut web = site.web();
    web.post("/v1/topics/from/jobs", &Value::from(vec![json!({}); 5]));
    let mut step = json!({"change": "move", "to": "to", "filter": {"topic": "from"}, "limit": 2});
    let mut moved = 0;
    loop {
        let done = web.post("/v1/jobs/bulk", &step).json();
        assert_eq!((&done["matched"], &done["skipped"]), (&done["changed"], &json!(0)), "{done}");
        moved += done["changed"].as_u64().expect("a number");
        let Some(cursor) = done.get("cursor") else { break };
        step["cursor"] = cursor.clone();
    }
    assert_eq!(moved, 5);
    assert_eq!(web.get("/v1/jobs/count?topic=to").json(), json!({"count": 5}));
    for (request, pointer) in [
        (json!({"change": "delete", "filter": {"topik": "to"}}), "/filter/topik"),
        (json!({"change": "delete"}), "/filter"),
        (json!({"change": "delete", "filter": {}}), "/filter"),
        (json!({"change": "delete", "all": true, "filter": {"topic": "to"}}), "/all"),
        (json!({"change": "move", "filter": {"topic": "to"}}), "/to"),
        (json!({"change": "reschedule", "filter": {"topic": "to"}}), "/due"),
        (json!({"change": "kick", "to": "from", "filter": {"topic": "to"}}), "/to"),
        (json!({"change": "burn", "all": true}), "/change"),
        (json!({"filter": {"topic": "to"}}), "/change"),
        (json!({"change": "kick", "all": true, "limit": 0}), "/limit"),
        (json!({"change": "kick", "filter": {"due_from": "x"}}), "/filter/due_from"),
        (
            json!({"change": "delete", "filter": {"attempts_min": 0, "due_from_ms": 0, "reason": ""}}),
            "/filter",
        ),
        (json!({"change": "kick", "all": true, "dry_run": true, "limit": 1}), "/dry_run"),
        (json!({"change": "delete", "filter": {"state": LIVING}}), "/filter"),
        (json!({"change": "kick", "delay": "1h", "filter": {"topic": "to"}}), "/due"),
    ] {
        let refused = web.post("/v1/jobs/bulk", &request);
        assert_eq!(refused.refusal(), (400, "MALFORMED".to_owned()), "{request}");
        assert_eq!(refused.problem()["errors"][0]["pointer"], json!(pointer), "{refused}");
    }
    assert_eq!(web.get("/v1/jobs/count").json(), json!({"count": 5}));
}

/// The states of jobs in the queue: together they are no condition.
const LIVING: [&str; 4] = ["delayed", "ready", "reserved", "buried"];

#[test]
fn many_jobs_get_another_delay_in_steps() {
    let site = Site::new();
    let mut web = site.web();
    web.post("/v1/topics/t/jobs", &Value::from(vec![json!({}); 3]));
    let mut step = json!({"change": "reschedule", "delay": "1h", "filter": {"topic": "t"}, "limit": 2});
    let first = web.post("/v1/jobs/bulk", &step).json();
    step["cursor"] = first["cursor"].clone();
    let mut other = step.clone();
    other["delay"] = json!("2h");
    assert_eq!(web.post("/v1/jobs/bulk", &other).problem()["errors"][0]["pointer"], json!("/cursor"));
    let second = web.post("/v1/jobs/bulk", &step).json();
    assert_eq!((&first["changed"], &second["changed"]), (&json!(2), &json!(1)), "{second}");
    assert_eq!(web.get("/v1/jobs/count?state=delayed").json(), json!({"count": 3}));
    let job = web.get("/v1/jobs/3").json();
    let time = |name: &str| job[name].as_str().expect("a time").parse::<jiff::Timestamp>().expect("RFC 3339");
    let delay = time("due").duration_since(time("pushed"));
    assert!((3600..3630).contains(&delay.as_secs()), "{job}");
}

#[test]
fn what_a_job_is_pushed_with_is_shown_as_a_time() {
    let site = Site::new();
    let mut web = site.web();
    web.post("/v1/topics/t/jobs", &json!([{"expires": "2h"}, {"expires": "2100-01-01T00:00:00Z"}]));
    let job = web.get("/v1/jobs/1").json();
    let time = |name: &str| job[name].as_str().expect("a time").parse::<jiff::Timestamp>().expect("RFC 3339");
    assert_eq!(time("expires").duration_since(time("pushed")).as_secs(), 7200, "{job}");
    assert_eq!(web.get("/v1/jobs/2").json()["expires"], json!("2100-01-01T00:00:00.000Z"));
}

#[test]
fn a_dry_run_counts_and_changes_nothing() {
    let site = Site::new();
    let mut web = site.web();
    web.post("/v1/topics/t/jobs", &json!([{}, {}, {"delay": "1h"}]));
    for (change, counts) in [
        (json!({"change": "delete", "all": true}), (3, 3, 0)),
        (json!({"change": "run_now", "filter": {"topic": "t"}}), (3, 1, 2)),
        (json!({"change": "kick", "filter": {"topic": "t"}}), (3, 0, 3)),
        (
            json!({"change": "reschedule", "due": "2100-01-01T00:00:00Z", "filter": {"state": ["buried"]}}),
            (0, 0, 0),
        ),
        (json!({"change": "run_now", "filter": {"state": ["delayed"]}}), (1, 1, 0)),
    ] {
        let mut dry = change.clone();
        dry["dry_run"] = json!(true);
        let (matched, changed, skipped) = counts;
        let expected = json!({"matched": matched, "changed": changed, "skipped": skipped});
        assert_eq!(web.post("/v1/jobs/bulk", &dry).json(), expected, "{change}");
    }
    assert_eq!(web.get("/v1/jobs/count?state=delayed").json(), json!({"count": 1}));
    // The step itself says the same.
    let run_now = json!({"change": "run_now", "filter": {"topic": "t"}});
    let done = web.post("/v1/jobs/bulk", &run_now).json();
    assert_eq!(done, json!({"matched": 3, "changed": 1, "skipped": 2}));
    assert_eq!(web.get("/v1/jobs/count?state=ready").json(), json!({"count": 3}));
}

#[test]
fn a_reserve_says_how_long_its_leases_last() {
    let site = Site::new();
    let mut web = site.web();
    web.post("/v1/topics/a/jobs", &json!([{}, {}]));
    web.post("/v1/topics/b/jobs", &json!({}));
    let asked = json!({"topics": ["a", "b"], "max": 2, "lease": "10m", "weights": [1, 1]});
    let reserved = web.post("/v1/reserve", &asked).json();
    for job in reserved["jobs"].as_array().expect("a list") {
        let left = job["ttr_left_ms"].as_u64().expect("a number");
        assert!((500_000..=600_000).contains(&left), "{job}");
        let shown = web.get(&format!("/v1/jobs/{}", job["id"])).json();
        assert!(shown["ttr_left_ms"].as_u64().is_some_and(|left| left > 500_000), "{shown}");
    }
    assert_eq!(reserved["jobs"].as_array().map(Vec::len), Some(2));
    let left = web.ask("POST", "/v1/reserve?topics=a&topics=b&lease_ms=5000", None).json();
    assert!(left["jobs"][0]["ttr_left_ms"].as_u64().is_some_and(|left| left <= 5000), "{left}");
    for (query, parameter) in [
        ("", "topics"),
        ("topics=a&max=0", "max"),
        ("topics=a&max=1025", "max"),
        ("topics=a&wait=2h", "wait"),
        ("topics=a&wait=1s&wait_ms=1", "wait_ms"),
        ("topics=a&lease=1ms", "lease"),
        ("topics=a&weights=1,2", "weights"),
        ("topics=a&weights=0", "weights"),
        ("topics=a&timeout=1", "timeout"),
    ] {
        let refused = web.ask("POST", &format!("/v1/reserve?{query}"), None);
        assert_eq!(refused.problem()["errors"][0]["parameter"], json!(parameter), "{query}: {refused}");
    }
    let both = web.post("/v1/reserve?topics=a", &json!({"topics": ["a"]}));
    assert_eq!(both.problem()["errors"][0]["parameter"], json!("topics"), "{both}");
    let wrong = web.post("/v1/reserve", &json!({"topics": ["a", ""]}));
    assert_eq!(wrong.problem()["errors"][0]["pointer"], json!("/topics/1"), "{wrong}");
}

#[test]
fn a_topic_has_a_policy_and_a_pause() {
    let site = Site::new();
    let mut web = site.web();
    let set = json!({"ttr": "30s", "attempts_max": 5, "late": "1h:drop"});
    assert_eq!(web.ask("PATCH", "/v1/topics/t", Some(&set)).status, 204);
    assert_eq!(web.ask("PATCH", "/v1/topics/t", Some(&json!({"late": null}))).status, 204);
    assert_eq!(web.get("/v1/topics/t").json()["settings"], json!({"ttr_ms": 30_000, "attempts_max": 5}));
    for (wrong, pointer) in [
        (json!({"attempts_max": "5"}), "/attempts_max"),
        (json!({"attempts_max": 0}), "/attempts_max"),
        (json!({"rate": 0}), "/rate"),
        (json!({"leases_max": 0}), "/leases_max"),
        (json!({"ttr": 30}), "/ttr"),
        (json!({"ttr_ms": "30s"}), "/ttr_ms"),
        (json!({"ttr_ms": 1}), "/ttr_ms"),
        (json!({"call_back_paused": "true"}), "/call_back_paused"),
        (json!({"late": "soon"}), "/late"),
        (json!({"leases-max": 1}), "/leases-max"),
        (json!({"a/b": 1}), "/a~1b"),
        (json!({"rate": 1.5}), "/rate"),
        (json!({"ttr": "30s", "ttr_ms": 1000}), "/ttr_ms"),
    ] {
        let refused = web.ask("PATCH", "/v1/topics/t", Some(&wrong));
        assert_eq!(refused.refusal(), (400, "MALFORMED".to_owned()), "{wrong}");
        assert_eq!(refused.problem()["errors"][0]["pointer"], json!(pointer), "{refused}");
    }
    assert_eq!(web.post("/v1/topics/t/pause", &json!({"for": "10m"})).status, 204);
    assert!(web.get("/v1/topics/t").json()["pause_left_ms"].as_u64().is_some_and(|left| left > 500_000));
    let wrong = web.post("/v1/topics/t/pause", &json!({"for": "10m", "for_ms": 1})).problem();
    assert_eq!(wrong["errors"][0]["pointer"], "/for_ms");
    assert_eq!(web.post("/v1/topics/t/pause", &json!({"for_ms": 0})).status, 400);
    assert_eq!(web.ask("POST", "/v1/topics/t/pause", None).status, 204);
    assert_eq!(web.get("/v1/topics/t").json()["pause_left_ms"], json!(null));
    assert_eq!(web.get("/v1/topics").json()["topics"][0]["paused"], json!(true));
    assert_eq!(web.ask("POST", "/v1/topics/t/resume", None).status, 204);
    let none = json!({"ttr_ms": null, "attempts_max": null});
    assert_eq!(web.ask("PATCH", "/v1/topics/t", Some(&none)).status, 204);
    assert_eq!(web.ask("DELETE", "/v1/topics/t", None).status, 204);
}

#[test]
fn the_server_shows_itself() {
    let site = Site::new();
    let mut web = site.web();
    web.post("/v1/topics/t/jobs", &json!({"delay": "1h"}));
    let stats = web.get("/v1/stats").json();
    assert_eq!((&stats["delayed"], &stats["topics"]["t"]["delayed"]), (&json!(1), &json!(1)));
    assert_eq!(web.get("/v1/cluster").json()["members"][0]["role"], json!("leader"));
    let mut other = Raw::greeted(site.node.address);
    let connections = web.get("/v1/connections").json();
    let names: Vec<&Value> = connections["connections"]
        .as_array()
        .expect("clients")
        .iter()
        .map(|one| &one["client_name"])
        .collect();
    assert!(names.contains(&&json!("http")) && names.len() == 2, "{names:?}");
    let number =
        other.connections().into_iter().find(|one| one.client_name != "http").expect("it").connection;
    assert_eq!(web.ask("DELETE", &format!("/v1/connections/{number}?end_session=true"), None).status, 204);
    assert!(other.receive().is_some(), "it is told that it is closed");
    assert_eq!(web.post("/v1/cluster/members", &json!({"address": ""})).refusal().1, "INVALID");
}

#[test]
fn one_who_leaves_while_it_waits_gets_no_job() {
    let site = Site::new();
    let mut leaving = site.web();
    leaving.send(b"POST /v1/reserve?topics=t&wait=1h HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut web = site.web();
    let waits = |web: &mut Web| web.get("/v1/stats").json()["waiting"] == json!(1);
    while !waits(&mut web) {}
    drop(leaving);
    while waits(&mut web) {}
    let job = id(&web.post("/v1/topics/t/jobs", &json!({})).json());
    let shown = web.get(&format!("/v1/jobs/{job}")).json();
    assert_eq!((&shown["state"], &shown["attempts"]), (&json!("ready"), &json!(0)));
}
