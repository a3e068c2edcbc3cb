//! Every bench, for real and small: what it reports, and what the server says of the same.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use serde_json::{Value, json};

use super::commands::Rig;

const TOPIC: &str = "measured";

/// The report of a bench in which nothing may have gone wrong.
fn report_of(rig: &Rig, arguments: &[&str]) -> Value {
    let shape = ["--connections", "2", "--topic", TOPIC, "--json"];
    let ended = rig.run(&[&["bench"], arguments, &shape].concat(), b"");
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.errors);
    let report: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(report["errors"], json!({}), "{report}");
    assert!(report["per_second"].as_u64() > Some(0), "{report}");
    assert!(report["latency_ms"]["p99"].as_f64() <= report["latency_ms"]["max"].as_f64(), "{report}");
    report
}

/// What the server counts in the benches' topic.
fn counts(rig: &Rig) -> Value {
    rig.json(&["stats", "--json"])["topics"][TOPIC].clone()
}

#[test]
fn jobs_are_pushed_delivered_and_finished() {
    let rig = Rig::start();
    let late = report_of(&rig, &["late", "--jobs", "200", "--delay", "50ms", "--body", "100"]);
    for field in ["early", "twice", "missing"] {
        assert_eq!(late[field], json!(0), "{late}");
    }
    let cycle = report_of(&rig, &["cycle", "--jobs", "3000", "--batch", "16", "--body", "100"]);
    assert!(cycle["phases"]["finish"]["per_second"].as_u64() > Some(0), "{cycle}");
    assert_eq!(counts(&rig)["finished"], json!(3200));
    report_of(&rig, &["push", "--jobs", "1001", "--window", "3", "--batch", "7", "--delay", "1d..30d"]);
    assert_eq!(counts(&rig)["delayed"], json!(1001));
}

#[test]
fn a_backlog_is_drained() {
    let rig = Rig::start();
    report_of(&rig, &["push", "--jobs", "1500", "--delay", "0s"]);
    assert_eq!(counts(&rig)["ready"], json!(1500));
    let drained = report_of(&rig, &["drain", "--jobs", "1500"]);
    assert_eq!(
        (&drained["missing"], counts(&rig)["finished"].as_u64()),
        (&json!(0), Some(1500)),
        "{drained}"
    );
}

#[test]
fn jobs_are_found_and_cancelled_by_their_keys() {
    let rig = Rig::start();
    report_of(&rig, &["push", "--jobs", "300", "--delay", "1d..30d", "--keys"]);
    assert_eq!(rig.json(&["get", TOPIC, "job-299"])["state"], json!("delayed"));

    let list = report_of(&rig, &["list", "--page", "100", "--first", "2"]);
    assert_eq!(list["jobs"], json!(300), "{list}");
    let text = rig.run(&["bench", "list", "--topic", TOPIC, "--page", "100", "--first", "2"], b"").out;
    for line in ["list: 5 pages in ", "  first: 2 pages in ", "  pages: 3 pages in "] {
        assert!(text.contains(line), "{line:?}: {text}");
    }
    let keys = report_of(&rig, &["keys", "--jobs", "300", "--gets", "400", "--cancels", "299"]);
    let phases = keys["phases"].as_object().expect("an object");
    assert!(phases.keys().eq(["cancel", "get"]), "{keys}");
    assert!(phases.values().all(|phase| phase["latency_ms"]["p50"].as_f64() > Some(0.0)), "{keys}");
    let after = counts(&rig);
    assert_eq!((&after["deleted"], &after["delayed"]), (&json!(299), &json!(1)), "{after}");

    let again = ["keys", "--topic", TOPIC, "--jobs", "300", "--gets", "0", "--cancels", "300", "--json"];
    let ended = rig.run(&[&["bench"], &again[..]].concat(), b"");
    let report: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!((ended.code, &report["errors"]), (Some(1), &json!({"NOT_FOUND": 299})), "{report}");
}

#[test]
fn churn_keeps_the_number_of_jobs_bounded() {
    let rig = Rig::start();
    let shape = ["--connections", "2", "--batch", "32", "--alive", "256", "--topic", TOPIC];
    let watched = ["churn", "--operations", "20000", "--every", "20ms", "--data", rig.data()];
    let ended = rig.run(&[&["bench"], &watched[..], &shape].concat(), b"");
    assert_eq!((ended.code, ended.errors.as_str()), (Some(0), ""));
    let lines: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let operations = |line: &Value| line["operations"].as_u64();
    assert!(lines.is_sorted_by_key(operations), "{}", ended.out);
    for line in &lines {
        assert!(line["alive"].as_u64() <= Some(256), "{line}");
        assert!(line["data_bytes"].as_u64() > Some(0), "{line}");
        assert!(!cfg!(target_os = "linux") || line["resident_bytes"].as_u64() > Some(0), "{line}");
    }
    let last = lines.last().expect("a line");
    assert!(operations(last) >= Some(20_000) && last["errors"] == json!({}), "{last}");
    let after = counts(&rig);
    for (told, counted) in [("pushed", "pushed"), ("finished", "finished"), ("cancelled", "deleted")] {
        assert!(last[told].as_u64() > Some(0) && last[told] == after[counted], "{told}: {last} {after}");
    }
    assert!(last["rescheduled"].as_u64() > Some(0), "{last}");
}
