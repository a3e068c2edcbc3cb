//! `adjourn groups`, `group` and `why` against a server; and the examples of `docs/groups.md`, typed word for word.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use serde_json::{Value, json};

use super::commands::Rig;
use crate::tour::{Step, shape, typed};

const PAGE: &str = include_str!("../../docs/groups.md");

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn the_page_about_groups_shows_what_is_printed() {
    let rig = Rig::start();
    let steps = typed(PAGE);
    assert!(steps.len() > 10, "only {} commands were found", steps.len());
    for Step { command, shown } in steps {
        let (typed, pipe) = command.split_once(" | ").map_or((command, ""), |(typed, pipe)| (typed, pipe));
        let arguments: Vec<&str> = typed.split_whitespace().skip(1).collect();
        let printed = rig.ok(&arguments);
        if pipe.is_empty() {
            let printed: Vec<String> = printed.lines().map(shape).collect();
            let shown: Vec<String> = shown.into_iter().map(shape).collect();
            assert_eq!(printed, shown, "{command}");
        } else {
            assert_eq!(pipe, "jq -c '[.group, .body]'");
            let of_jq = |job: &Value| json!([job.get("group"), job.get("body")]).to_string();
            assert_eq!(lines(&printed).iter().map(of_jq).collect::<Vec<_>>(), shown, "{command}");
        }
    }
}

#[test]
fn groups_are_listed_and_changed_only_where_they_mean_something() {
    let rig = Rig::start();
    rig.fails(&["groups", "t"], 3, "there is no such topic");
    rig.ok(&["push", "t", "x", "--group", "a b"]);
    rig.fails(&["group", "set", "t", "a b", "--weight", "2"], 1, "set `fair`");
    rig.fails(&["group", "set", "t", "a", "--weight", "0"], 2, "1");
    rig.fails(&["push", "t", "x", "--group", ""], 2, "a group has 1 to 255 bytes");
    rig.ok(&["topic", "set", "t", "--fair", "true"]);
    rig.fails(&["topic", "set", "t", "--group-order", "lifo"], 2, "fifo or none");
    rig.ok(&["group", "set", "t", "a b", "--weight", "2"]);
    let listed = lines(&rig.ok(&["groups", "t", "--json"]));
    let group = listed.first().expect("a group");
    assert_eq!((listed.len(), &group["group"], &group["weight"]), (1, &json!("a b"), &json!(2)));
    assert_eq!(rig.ok(&["groups", "t", "--prefix", "b", "--json"]), "");
    assert_eq!(rig.ok(&["count", "--topic", "t", "--group", "a b"]), "1\n");
    assert_eq!(rig.json(&["get", "1"])["group"], json!("a b"));
    rig.ok(&["edit", "1", "--unset", "group"]);
    assert_eq!(rig.json(&["get", "1"]).get("group"), None);
}

#[test]
fn why_names_a_job_or_a_topic() {
    let rig = Rig::start();
    rig.fails(&["why"], 2, "name a job");
    rig.fails(&["why", "1", "--topic", "t"], 2, "name a job");
    rig.fails(&["why", "1"], 3, "there is no such job");
    rig.fails(&["why", "--topic", "t"], 3, "there is no such topic");
    rig.ok(&["push", "t", "x", "--key", "k", "--delay", "1h"]);
    let text = rig.ok(&["why", "t", "k"]);
    assert!(text.starts_with("delayed: its due time has not come (until 20"), "{text}");
    let [delayed] = &lines(&rig.ok(&["why", "1", "--json"]))[..] else { panic!("one reason") };
    assert_eq!(delayed["why"], json!("delayed"));
    rig.ok(&["run-now", "1"]);
    rig.ok(&["pause", "t"]);
    let names = |text: &str| -> Vec<String> {
        lines(text).iter().map(|reason| reason["why"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&rig.ok(&["why", "1", "--json"])), ["topic_paused", "no_consumer"]);
    let text = rig.ok(&["why", "1"]);
    assert!(
        text.contains(": 127.0.0.1:") && text.contains(" paused the topic: resume it (since 20"),
        "{text}"
    );
    rig.ok(&["resume", "t"]);
    assert_eq!(names(&rig.ok(&["why", "--topic", "t", "--json"])), ["no_consumer"]);
    let job = rig.json(&["reserve", "t"]);
    let text = rig.ok(&["why", "1"]);
    assert!(text.starts_with("reserved: ") && text.contains(" has it (since 20"), "{text}");
    assert!(text.contains(", until 20"), "{text}");
    rig.ok(&["bury", job["lease"].as_str().expect("a lease"), "--reason", "no address"]);
    let text = rig.ok(&["why", "1"]);
    assert_eq!(text, "buried: a consumer buried it: kick it, or delete it; the last reason: no address\n");
}
