//! Callers of older delay queues, as they are.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use adjourn_server::config::Config;
use serde_json::{Value, json};

use super::examples::type_all;
use super::rig::{Reply, Site, Web};
use super::tokens::site_with_tokens_and;
use crate::server_rig::{Raw, push};

const DOCUMENT: &str = include_str!("../../docs/dialects.md");

fn site() -> Site {
    Site::with(|config| {
        config.ouqiang_listen = Some("127.0.0.1:0".to_owned());
        config.youzan_listen = Some("127.0.0.1:0".to_owned());
        config.beanstalkd_listen = Some("127.0.0.1:0".to_owned());
    })
}

fn ouqiang(site: &Site) -> Web {
    Web::connect(site.node.ouqiang_address())
}

fn youzan(site: &Site) -> Web {
    Web::connect(site.node.youzan_address())
}

/// As clients send it: a form's content type, whatever the body is.
fn call(web: &mut Web, path: &str, body: &str) -> Reply {
    let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
    web.ask_with("POST", path, kind, body.as_bytes())
}

/// The answer of ouqiang's queue, to the byte.
fn said(web: &mut Web, path: &str, body: &str) -> String {
    let reply = call(web, path, body);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
    String::from_utf8(reply.body).expect("text")
}

fn add(topic: &str, id: &str, body: &str) -> String {
    json!({"topic": topic, "id": id, "delay": 1, "ttr": 60, "body": body}).to_string()
}

/// Makes a job due at once, past the second that is the shortest delay there.
fn hurry(site: &Site, topic: &str, key: &str) {
    site.web().ask("POST", &format!("/v1/topics/{topic}/keys/id:{key}/run-now"), None).json();
}

#[test]
fn the_document_shows_what_is_answered() {
    let site = site();
    let places = [
        ("127.0.0.1:9277", site.node.ouqiang_address()),
        ("127.0.0.1:9278", site.node.youzan_address()),
        ("127.0.0.1:11300", site.node.beanstalkd_address()),
    ];
    type_all(DOCUMENT, &site, &places);
}

#[test]
fn answers_are_those_of_ouqiang_to_the_byte() {
    let site = site();
    let mut web = ouqiang(&site);
    let done = r#"{"code":0,"message":"操作成功","data":null}"#;
    assert_eq!(
        said(&mut web, "/push", &add("a", "1", "<b>&")),
        r#"{"code":0,"message":"添加成功","data":null}"#
    );
    hurry(&site, "a", "1");
    let popped = r#"{"code":0,"message":"操作成功","data":{"id":"1","body":"\u003cb\u003e\u0026"}}"#;
    assert_eq!(said(&mut web, "/pop", r#"{"TOPIC": " a "}"#), popped);
    assert_eq!(said(&mut web, "/finish", r#"{"id":"1"}"#), done);
    for path in ["/finish", "/delete", "/get"] {
        assert_eq!(said(&mut web, path, r#"{"id":"1"}"#), done, "{path} of one that is gone");
    }
    let failures = [
        ("/push", r#"{"topic":"a","delay":1,"ttr":1}"#, "job id不能为空"),
        ("/push", r#"{"id":"1","topic":" ","delay":1,"ttr":1}"#, "topic 不能为空"),
        ("/push", r#"{"id":"1","topic":"a","delay":0,"ttr":1}"#, "delay 取值范围1 - (2^31 - 1)"),
        ("/push", r#"{"id":"1","topic":"a","delay":1,"ttr":86401}"#, "ttr 取值范围1 - 86400"),
        ("/push", r#"{"id":"1","topic":"a","delay":1.0,"ttr":1}"#, "解析json失败"),
        ("/push", r#"{"id":1,"topic":"a","delay":1,"ttr":1}"#, "解析json失败"),
        ("/push", r#"{"id":"1","topic":"a","delay":1,"ttr":1,"body":{"a":1}}"#, "解析json失败"),
        ("/push", r#"{"id":"1","topic":"a","delay":1,"ttr":1,"body":[],"body":"b"}"#, "解析json失败"),
        ("/pop", r#"{"topic":""}"#, "topic不能为空"),
        ("/pop", "no json", "解析json失败"),
        ("/get", "{}", "job id不能为空"),
        ("/finish", "[]", "解析json失败"),
    ];
    for (path, body, message) in failures {
        let expected = format!("{{\"code\":1,\"message\":\"{message}\",\"data\":null}}");
        assert_eq!(said(&mut web, path, body), expected, "{path} {body}");
    }
}

#[test]
fn texts_are_read_and_written_as_go_does() {
    let site = site();
    let mut web = ouqiang(&site);
    let body = b"{\"topic\":\"a\",\"id\":\"\xe8\xae!\",\"delay\":1,\"ttr\":1,\"body\":\"a\xe2\x80\xa8b\\u2029c\\ud800d\\ud83d\\ude00\\b\xff.\"}";
    let pushed = web.ask_with("POST", "/push", "", body);
    assert!(String::from_utf8_lossy(&pushed.body).contains("添加成功"), "{pushed}");
    let id = "\u{fffd}\u{fffd}!";
    let shown = said(&mut web, "/get", &json!({ "id": id }).to_string());
    let written = format!(r#""id":"{id}","#);
    assert!(shown.contains(&written), "{shown}");
    let body = "\"body\":\"a\\u2028b\\u2029c\u{fffd}d😀\\u0008\u{fffd}.\"";
    assert!(shown.contains(body), "{shown}");
    // What another interface has pushed need not be text.
    let raw = site.web().post("/v1/topics/raw/jobs", &json!({"body_base64": "/+iu"}));
    let number = raw.json()["id"].clone();
    let shown = said(&mut web, "/get", &format!(r#"{{"id":"@{number}"}}"#));
    assert!(shown.contains(r#""body":"\ufffd\ufffd\ufffd""#), "{shown}");
}

#[test]
fn every_answer_is_in_the_words_of_the_queue() {
    let site = site();
    let mut web = ouqiang(&site);
    for bytes in [1 << 20, 2 << 20, 17 << 20] {
        let answer = said(&mut web, "/push", &add("a", "1", &"x".repeat(bytes + 1)));
        assert_eq!(answer, r#"{"code":1,"message":"读取request body失败","data":null}"#, "{bytes}");
        web = ouqiang(&site);
    }
    let foreign = |web: &mut Web, path: &str| {
        web.send(
            format!("POST {path} HTTP/1.1\r\nHost: queue.example\r\nContent-Length: 2\r\n\r\n{{}}")
                .as_bytes(),
        );
        web.reply().expect("an answer")
    };
    let answer = foreign(&mut web, "/push");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    let json: Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!((&json["code"], &json["data"]), (&json!(1), &Value::Null));
    assert!(json["message"].as_str().is_some_and(|message| message.contains("http_hosts")), "{json}");
    let answer = foreign(&mut youzan(&site), "/").json();
    assert_eq!((&answer["success"], &answer["id"]), (&json!(false), &Value::Null));
    let nothing = call(&mut web, "/nothing", "");
    assert_eq!((nothing.status, &*nothing.body), (404, &b"404 page not found\n"[..]));
}

#[test]
fn an_id_is_found_after_a_restart_and_after_a_move() {
    let mut site = site();
    let mut web = ouqiang(&site);
    for topic in 0..20 {
        said(&mut web, "/push", &add(&format!("t{topic}"), &format!("{topic}"), "first"));
        said(&mut web, "/push", &add(&format!("t{topic}"), "shared", &format!("by {topic}")));
    }
    site = site.restarted_with(|config| config.ouqiang_listen = Some("127.0.0.1:0".to_owned()));
    let mut web = ouqiang(&site);
    for topic in 0..20 {
        let shown = said(&mut web, "/get", &format!(r#"{{"id":"{topic}"}}"#));
        assert!(shown.contains(&format!(r#""topic":"t{topic}","#)), "{shown}");
    }
    assert!(said(&mut web, "/get", r#"{"id":"shared"}"#).contains("by 19"));
    let mut web_api = site.web();
    let moved = web_api
        .post("/v1/jobs/bulk", &json!({"change": "move", "to": "elsewhere", "filter": {"topic": "t19"}}));
    let moved = moved.json();
    assert_eq!(moved["changed"], json!(2), "{moved}");
    assert!(said(&mut web, "/get", r#"{"id":"shared"}"#).contains(r#""topic":"elsewhere""#));
    said(&mut web, "/delete", r#"{"id":"shared"}"#);
    assert!(said(&mut web, "/get", r#"{"id":"shared"}"#).contains(r#""data":null"#));
    assert_eq!(site.web().get("/v1/jobs/count").json(), json!({"count": 20}));
}

#[test]
fn an_id_is_one_for_all_topics() {
    let site = site();
    let mut web = ouqiang(&site);
    for (topic, body) in [("a", "old"), ("订单", "newer"), ("c", "newest")] {
        assert!(said(&mut web, "/push", &add(topic, "7", body)).contains("添加成功"));
    }
    assert_eq!(
        site.web().get("/v1/jobs/count").json(),
        json!({"count": 1}),
        "each took the place of the one before"
    );
    let shown: Value = serde_json::from_str(&said(&mut web, "/get", r#"{"id":"7"}"#)).expect("JSON");
    let due = shown.pointer("/data/delay").and_then(Value::as_u64).expect("seconds");
    assert!(due > 1_790_000_000);
    assert_eq!(shown["data"], json!({"topic": "c", "id": "7", "delay": due, "ttr": 60, "body": "newest"}));
    // Also one that somebody holds.
    hurry(&site, "c", "7");
    assert!(said(&mut web, "/pop", r#"{"topic":"c"}"#).contains("newest"));
    assert!(said(&mut web, "/push", &add("订单", "7", "last")).contains("添加成功"));
    let page = site.web().get("/v1/jobs").json();
    assert_eq!(page.pointer("/jobs/0/topic"), Some(&json!(":e8:ae:a2:e5:8d:95")));
    assert_eq!(page["jobs"].as_array().map(Vec::len), Some(1));
    let shown = said(&mut web, "/get", r#"{"id":"7"}"#);
    assert!(shown.contains("订单") && shown.contains("last"), "{shown}");
}

#[test]
fn a_job_without_a_key_has_its_number_and_gives_way_to_a_key() {
    let site = site();
    let (mut old, mut web) = (ouqiang(&site), site.web());
    let number = web.post("/v1/topics/a/jobs", &json!({"body": "unnamed"})).json()["id"].clone();
    let id = format!("@{number}");
    let (by_id, count) = (format!(r#"{{"id":"{id}"}}"#), "/v1/jobs/count");
    assert!(said(&mut old, "/get", &by_id).contains("unnamed"));
    // A key that looks so is another job's, and takes the place of none.
    assert!(said(&mut old, "/push", &add("b", &id, "named")).contains("添加成功"));
    assert_eq!(web.get(count).json(), json!({"count": 2}));
    assert!(said(&mut old, "/get", &by_id).contains("named"));
    assert!(said(&mut old, "/delete", &by_id).contains("操作成功"));
    assert_eq!(web.get(count).json(), json!({"count": 1}));
    assert!(said(&mut old, "/pop", r#"{"topic":"a"}"#).contains("unnamed"));
    assert!(said(&mut old, "/finish", &by_id).contains("操作成功"));
    assert_eq!(web.get(count).json(), json!({"count": 0}));
    // The number of a job with an id is no id; that of a job with another key is.
    let [named, keyed] = ["id:k", "k"].map(|key| {
        let number = web.post("/v1/topics/a/jobs", &json!({ "key": key })).json()["id"].clone();
        format!(r#"{{"id":"@{number}"}}"#)
    });
    said(&mut old, "/delete", &named);
    assert_eq!(web.get(count).json(), json!({"count": 2}));
    said(&mut old, "/delete", &keyed);
    said(&mut old, "/delete", r#"{"id":"k"}"#);
    assert_eq!(web.get(count).json(), json!({"count": 0}));
    let many = vec!["a"; 65].join(",");
    assert!(said(&mut old, "/pop", &format!(r#"{{"topic":"{many}"}}"#)).contains("at most 64 topics"));
}

#[test]
fn topics_are_popped_in_order_of_preference() {
    let site = site();
    let mut web = ouqiang(&site);
    for topic in ["low", "high"] {
        assert!(said(&mut web, "/push", &add(topic, topic, "x")).contains("添加成功"));
        hurry(&site, topic, topic);
    }
    for expected in ["high", "low"] {
        let popped = said(&mut web, "/pop", r#"{"topic":"high,low"}"#);
        assert!(popped.contains(&format!("\"id\":\"{expected}\"")), "{popped}");
    }
    // A pop waits for what comes; a job without a key has a number.
    let mut waiting = ouqiang(&site);
    waiting
        .send(b"POST /pop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{\"topic\":\"high,low\"}");
    Raw::greeted(site.node.address).ask(push("low", "plain", 0));
    let popped = String::from_utf8(waiting.reply().expect("an answer").body).expect("text");
    assert!(popped.contains(r#""data":{"id":"@3","body":"plain"}"#), "{popped}");
    assert!(said(&mut web, "/finish", r#"{"id":"@3"}"#).contains("操作成功"));
    assert_eq!(site.web().get("/v1/jobs/3").refusal().0, 404);
}

#[test]
fn a_job_that_is_not_finished_comes_back_and_not_for_ever() {
    let site = site();
    let mut web = youzan(&site);
    let ask = |web: &mut Web, command: Value| call(web, "/", &command.to_string()).json();
    let added =
        ask(&mut web, json!({"command": "add", "topic": "t", "id": "1", "delay": 0, "TTR": 1, "body": "b"}));
    assert_eq!(added, json!({"success": true, "error": "", "id": "1", "value": null}));
    let pop = json!({"command": "pop", "topic": "t"});
    assert_eq!(ask(&mut web, pop.clone())["value"], json!("b"));
    assert_eq!(ask(&mut web, pop)["value"], Value::Null, "it is held");
    // Its second is over, and another consumer gets it.
    let again = site.web().ask("POST", "/v1/reserve?topics=t&wait=10s", None).json();
    assert_eq!(again.pointer("/jobs/0/attempts"), Some(&json!(2)));
    assert_eq!(site.web().get("/v1/jobs/1").json()["attempts_max"], json!(100));
    assert_eq!(ask(&mut web, json!({"command": "delete", "id": "1"}))["success"], json!(true));
    assert_eq!(site.web().get("/v1/jobs/count").json(), json!({"count": 0}));
    for (command, error) in [
        (json!({"command": "take"}), "there is no command take"),
        (json!({"command": "pop"}), "topic must be"),
        (json!({"command": "add", "topic": "t", "id": "2", "delay": -1, "TTR": 1}), "delay must be"),
        (json!([]), "send a JSON object"),
    ] {
        let refused = ask(&mut web, command);
        assert_eq!(refused["success"], json!(false));
        assert!(refused["error"].as_str().is_some_and(|said| said.starts_with(error)), "{refused}");
    }
}

#[test]
fn callers_without_a_token_act_as_the_one_that_is_named() {
    let listens = |config: &mut Config| {
        config.ouqiang_listen = Some("127.0.0.1:0".to_owned());
        config.dialects_token = Some("token1".to_owned());
    };
    let (site, [_, none]) = site_with_tokens_and(
        [&["--allow", "push,consume,read,manage:old.*"], &["--allow", "read:other"]],
        listens,
    );
    let mut web = ouqiang(&site);
    assert!(said(&mut web, "/push", &add("old.a", "1", "x")).contains("添加成功"));
    let denied = said(&mut web, "/push", &add("new", "1", "x"));
    assert!(
        denied.starts_with(r#"{"code":1,"message":"添加失败: "#) && denied.contains("token1"),
        "{denied}"
    );
    let shown = said(&mut ouqiang(&site).with_token(&none), "/get", r#"{"id":"1"}"#);
    assert_eq!(
        shown, r#"{"code":0,"message":"操作成功","data":null}"#,
        "one that shows a token has its rights"
    );
    assert!(said(&mut web, "/get", r#"{"id":"1"}"#).contains("old.a"));
    let unknown = said(&mut ouqiang(&site).with_token("adjourn_guess"), "/get", r#"{"id":"1"}"#);
    assert!(unknown.starts_with(r#"{"code":1,"message":""#), "{unknown}");
}
