//! Calls that fail: which of them use up an attempt, and when the next one is made.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use serde_json::json;

use super::{Answer, OK, Receiver, attempted, attempts, done, push, set, shown, site, state, wait_for};
use crate::http::Web;

#[test]
fn a_call_that_was_sent_is_an_attempt_whatever_comes_of_it() {
    let site = site();
    let mut web = site.web();
    let answers = [Answer::Hang, Answer::Reset, Answer::Reply(503, "", "")];
    let mut jobs = Vec::new();
    for (number, answer) in answers.into_iter().enumerate() {
        let (topic, receiver) = (format!("t{number}"), Receiver::always(answer));
        let settings = json!({"call_back": receiver.url("/"), "call_back_timeout": "200ms",
            "attempts_max": 3, "backoff": "10ms"});
        set(&mut web, &topic, &settings);
        jobs.push((push(&mut web, &topic, &json!({})), receiver));
    }
    for (job, receiver) in jobs {
        let buried = state(&mut web, job, "buried");
        assert_eq!(buried["attempts"], json!(3), "{buried}");
        assert_eq!(attempted(&mut web, job, 3).len(), 3);
        assert_eq!(receiver.more().len(), 3, "each attempt is one call");
    }
}

#[test]
fn a_receiver_that_a_kept_connection_kills_costs_an_attempt() {
    let site = site();
    let mut web = site.web();
    // It answers once, and is gone when the next call comes over the same connection.
    let receiver = Receiver::mortal();
    set(&mut web, "t", &json!({"call_back": receiver.url("/"), "backoff": "1h"}));
    let first = push(&mut web, "t", &json!({"body": "first"}));
    done(&mut web, first);
    let second = push(&mut web, "t", &json!({"body": "second"}));
    let waiting = state(&mut web, second, "delayed");
    assert_eq!(waiting["attempts"], json!(1), "{waiting}");
    let told = waiting["reason"].as_str().expect("a reason");
    assert!(told.starts_with("no reply"), "{told}");
}

#[test]
fn a_destination_that_cannot_be_reached_costs_no_attempt() {
    let site = site();
    let mut web = site.web();
    let address =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    set(
        &mut web,
        "t",
        &json!({"call_back": format!("http://{address}/"), "backoff": "1h", "attempts_max": 1}),
    );
    let job = push(&mut web, "t", &json!({}));
    let seen = attempted(&mut web, job, 3);
    assert!(seen.iter().all(|attempt| attempt["outcome"] == json!("not_tried")), "{seen:?}");
    assert_eq!(state(&mut web, job, "delayed")["attempts"], json!(0));
    // It comes back.
    let receiver = Receiver::at(&address.to_string(), |_| OK);
    done(&mut web, job);
    assert_eq!(receiver.call().header("adjourn-attempt"), "1");
}

/// How many seconds after its last call a job is due.
fn pause(web: &mut Web, job: u64) -> i64 {
    let waiting = state(web, job, "delayed");
    let last = attempted(web, job, 1).pop().expect("an attempt");
    let [due, at] = [&waiting["due"], &last["at"]].map(|time| {
        let time = time.as_str().expect("a time").parse::<jiff::Timestamp>();
        time.expect("a time").as_second()
    });
    due - at
}

#[test]
fn a_destination_shortens_no_pause() {
    let site = site();
    let mut web = site.web();
    for (topic, header) in [
        ("none", "Retry-After: 0\r\n"),
        ("past", "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"),
        ("short", "Retry-After: 7\r\n"),
    ] {
        let receiver = Receiver::always(Answer::Reply(503, header, ""));
        set(&mut web, topic, &json!({"call_back": receiver.url("/"), "backoff": "30m"}));
        let job = push(&mut web, topic, &json!({}));
        let pause = pause(&mut web, job);
        assert!((1799..1860).contains(&pause), "{topic}: {pause} s");
    }
    let receiver = Receiver::always(Answer::Reply(503, "Retry-After: 1800\r\n", ""));
    set(&mut web, "long", &json!({"call_back": receiver.url("/"), "backoff": "1s"}));
    let job = push(&mut web, "long", &json!({}));
    assert!((1799..1860).contains(&pause(&mut web, job)));
}

#[test]
fn a_job_whose_own_url_is_gone_stops_no_other() {
    let receiver = Receiver::new(|call| {
        let is_gone = call.line.contains("gone");
        if is_gone { Answer::Reply(410, "", "") } else { OK }
    });
    let site = site();
    let mut web = site.web();
    set(&mut web, "t", &json!({"call_back": receiver.url("/orders/{key}")}));
    let gone = push(&mut web, "t", &json!({"key": "gone"}));
    assert_eq!(state(&mut web, gone, "buried")["reason"], json!("410 Gone"));
    let other = push(&mut web, "t", &json!({"key": "there"}));
    done(&mut web, other);
    assert!(web.get("/v1/topics/t").json()["settings"]["call_back_paused"].is_null());
}

#[test]
fn a_destination_that_is_gone_is_called_no_more() {
    let (site, receiver) = (site(), Receiver::always(Answer::Reply(410, "", "")));
    let mut web = site.web();
    set(&mut web, "t", &json!({"call_back": receiver.url("/"), "backoff": "1h"}));
    let job = push(&mut web, "t", &json!({}));
    receiver.call();
    wait_for("the pause", || {
        let shown = web.get("/v1/topics/t").json();
        shown["settings"]["call_back_paused"].is_boolean().then_some(())
    });
    let waiting = state(&mut web, job, "delayed");
    assert_eq!((&waiting["attempts"], &waiting["reason"]), (&json!(1), &json!("410 Gone")));
    assert_eq!(attempts(&mut web, job)[0]["outcome"], json!("paused"));
    // It is not the first one when the calls begin again.
    let next = push(&mut web, "t", &json!({}));
    set(&mut web, "t", &json!({"call_back_paused": null}));
    assert_eq!(receiver.call().job(), next);
}

#[test]
fn a_condition_judges_whole_replies_alone() {
    let long: &'static str = format!(r#"{{"ok": "yes", "more": "{}"}}"#, "x".repeat(20_000)).leak();
    let (site, receiver) = (site(), Receiver::always(Answer::Reply(200, "", long)));
    let mut web = site.web();
    let mut topic = |name: &str, condition: &str| {
        set(
            &mut web,
            name,
            &json!({"call_back": receiver.url("/"), "call_back_retry_if": condition, "backoff": "1h"}),
        );
        push(&mut web, name, &json!({}))
    };
    let (unread, by_status) = (topic("unread", "{res.ok} == 'no'"), topic("by-status", "{status} != 200"));
    let waiting = shown(&mut web, unread, |job| job["reason"].is_string());
    let told = waiting["reason"].as_str().expect("a reason");
    assert!(told.contains("longer than 16384 bytes"), "{told}");
    assert_eq!((&waiting["state"], &waiting["attempts"]), (&json!("delayed"), &json!(1)));
    done(&mut web, by_status);
}

#[test]
fn why_says_until_when_calls_to_a_failed_destination_are_suspended() {
    let (site, receiver) = (site(), Receiver::always(Answer::Reply(503, "", "")));
    let mut web = site.web();
    set(&mut web, "t", &json!({"call_back": receiver.url("/"), "backoff": "1h"}));
    push(&mut web, "t", &json!({}));
    receiver.call();
    let next = push(&mut web, "t", &json!({}));
    wait_for("the reason", || {
        let why = web.get(&format!("/v1/jobs/{next}/why")).json();
        let reasons = why["reasons"].as_array().expect("a list");
        let suspended = reasons.iter().find(|reason| reason["why"] == json!("call_back_suspended"))?;
        suspended["until"].is_string().then_some(())
    });
}
