//! What a node shows to whoever watches it, and the documents about it.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;

use super::rig::{Site, Web};
use super::tokens::site_with_tokens;

const DOCUMENT: &str = include_str!("../../docs/metrics.md");
const RULES: &str = include_str!("../../docs/adjourn.rules.yml");
const DASHBOARD: &str = include_str!("../../docs/grafana.json");

fn metrics(web: &mut Web) -> String {
    let shown = web.get("/metrics");
    assert_eq!(
        (shown.status, shown.header("content-type"), shown.header("vary")),
        (200, Some("text/plain; version=0.0.4; charset=utf-8"), Some("Accept"))
    );
    String::from_utf8(shown.body).expect("text")
}

fn value(text: &str, series: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series}")).parse().expect("a number")
}

/// Every metric with its kind, by the name that queries use.
fn shown(text: &str) -> BTreeSet<(String, String)> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    types.map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect()
}

/// The words of a text that are names of metrics.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("adjourn_")).map(str::to_owned).collect()
}

#[test]
fn the_documents_name_the_metrics_that_there_are() {
    let site = Site::new();
    let shown = shown(&metrics(&mut site.web()));
    let rows = DOCUMENT.lines().filter_map(|line| line.strip_prefix("| `adjourn_"));
    let documented: BTreeSet<(String, String)> = rows
        .map(|row| {
            let (name, rest) = row.split_once("` | ").expect("a name");
            (format!("adjourn_{name}"), rest.split(' ').next().expect("a kind").to_owned())
        })
        .collect();
    assert_eq!(documented, shown);
    let names: BTreeSet<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
    for (what, text) in [("rules", RULES), ("dashboard", DASHBOARD)] {
        let used = named(text);
        assert!(used.len() > 5, "{what}: {used:?}");
        for name in used {
            let base = name.strip_suffix("_bucket").unwrap_or(&name);
            assert!(names.contains(base), "{what}: there is no {name}");
        }
    }
}

/// A node with jobs in every state, and with topics of which one is paused.
fn busy_site() -> Site {
    let site = Site::new();
    let mut web = site.web();
    web.post("/v1/topics/a/jobs", &json!([{}, {}, {"delay": "1h"}])).json();
    web.post("/v1/topics/b/jobs", &json!({})).json();
    web.ask("POST", "/v1/reserve?topics=a", None).json();
    assert_eq!(web.ask("POST", "/v1/topics/b/pause", None).status, 204);
    site
}

/// What `promtool` says of this input: nothing if it is good. `None` if it is not installed.
fn checked(arguments: &[&str], input: &str) -> Option<(bool, String)> {
    let mut checker = Command::new("promtool");
    checker.arg("check").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut checker) = checker.spawn() else {
        assert!(std::env::var_os("ADJOURN_SKIP_NOTHING").is_none(), "promtool is not installed");
        println!("skipped: promtool is not installed");
        return None;
    };
    checker.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads");
    let ended = checker.wait_with_output().expect("it ends");
    let said = [ended.stdout, ended.stderr].concat();
    Some((ended.status.success(), String::from_utf8(said).expect("text")))
}

#[test]
fn prometheus_finds_no_fault_with_the_metrics() {
    let text = metrics(&mut busy_site().web());
    let Some(found) = checked(&["metrics"], &text) else { return };
    assert_eq!(found, (true, String::new()));
    let faulty = text.replace("_total", "").replace("# HELP adjourn_uptime_seconds", "#");
    let (_, said) = checked(&["metrics"], &faulty).expect("it is installed");
    assert!(said.contains("_total") && said.contains("no help text"), "{said}");
}

#[test]
fn prometheus_takes_the_alerts_and_the_example() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = DOCUMENT.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next());
    for (what, text) in [("rules", RULES), ("config", example.expect("an example"))] {
        let file = folder.path().join(what);
        std::fs::write(&file, text).expect("written");
        let file = file.to_str().expect("a path");
        let more: &[&str] = if what == "config" { &["--syntax-only"] } else { &[] };
        let Some((is_good, said)) = checked(&[&[what][..], more, &[file]].concat(), "") else { return };
        assert!(is_good && said.contains("SUCCESS"), "{what}: {said}");
    }
}

#[test]
fn both_formats_have_the_same_series() {
    let site = busy_site();
    let mut web = site.web();
    let text = metrics(&mut web);
    // As Prometheus 2 asks.
    let accept =
        "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n";
    let open = web.ask_with("GET", "/metrics", accept, b"");
    assert_eq!(
        (open.status, open.header("content-type")),
        (200, Some("application/openmetrics-text; version=1.0.0; charset=utf-8"))
    );
    let open = String::from_utf8(open.body).expect("text");
    let series = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.rsplit_once(' ').expect("a value").0.to_owned()).collect()
    };
    assert!(series(&text).len() > 100);
    assert_eq!(series(&text), series(&open));
    for (line, is_in_text, is_in_open) in [
        ("# TYPE adjourn_jobs_pushed_total counter", true, false),
        ("# HELP adjourn_jobs_pushed_total Jobs pushed so far", true, false),
        ("# TYPE adjourn_jobs_pushed counter", false, true),
        ("# HELP adjourn_jobs_pushed Jobs pushed so far", false, true),
        ("# TYPE adjourn_uptime_seconds gauge", true, true),
        ("# UNIT adjourn_uptime_seconds seconds", false, true),
        ("# TYPE adjourn_commit_seconds histogram", true, true),
        ("# EOF", false, true),
    ] {
        let is_in = |text: &str| text.lines().any(|found| found == line);
        assert_eq!((is_in(&text), is_in(&open)), (is_in_text, is_in_open), "{line}");
    }
    assert!(open.ends_with("\n# EOF\n") && !text.contains("# UNIT"));
    let prefers_text = "Accept: application/openmetrics-text;q=0.4, text/plain;q=0.5\r\n";
    let preferred = web.ask_with("GET", "/metrics", prefers_text, b"");
    assert_eq!(preferred.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
}

#[test]
fn jobs_are_counted_as_they_go() {
    let site = Site::new();
    let mut web = site.web();
    web.post("/v1/topics/a/jobs", &json!([{}, {}, {"delay": "1h"}])).json();
    web.post("/v1/topics/b/jobs", &json!({})).json();
    let lease = web.ask("POST", "/v1/reserve?topics=a", None).json();
    let lease = lease.pointer("/jobs/0/lease").and_then(|lease| lease.as_str()).expect("a lease").to_owned();
    let text = metrics(&mut web);
    let state = |topic: &str, state: &str| {
        value(&text, &format!("adjourn_topic_jobs{{topic=\"{topic}\",state=\"{state}\"}}"))
    };
    assert_eq!([state("a", "ready"), state("a", "reserved"), state("a", "delayed")], [1; 3]);
    assert_eq!(value(&text, "adjourn_jobs{state=\"ready\"}"), 2);
    assert_eq!(value(&text, "adjourn_jobs_pushed_total"), 4);
    assert_eq!(value(&text, "adjourn_lateness_seconds_count"), 1);
    assert!(value(&text, "adjourn_commit_seconds_count") > 2);
    assert_eq!(
        value(&text, "adjourn_commit_seconds_bucket{le=\"+Inf\"}"),
        value(&text, "adjourn_commit_seconds_count")
    );
    assert_eq!([value(&text, "adjourn_raft_leads"), value(&text, "adjourn_raft_has_leader")], [1; 2]);
    assert_eq!(web.ask("POST", &format!("/v1/leases/{lease}/finish"), None).status, 204);
    let text = metrics(&mut web);
    assert_eq!(value(&text, "adjourn_topic_jobs_finished_total{topic=\"a\"}"), 1);
}

#[test]
fn a_token_sees_what_it_may_read() {
    let (site, [reader, pusher, all]) =
        site_with_tokens([&["--allow", "read:a"], &["--allow", "push"], &["--allow", "push,read"]]);
    let mut web = site.web().with_token(&all);
    for topic in ["a", "b"] {
        web.post(&format!("/v1/topics/{topic}/jobs"), &json!({})).json();
    }
    let of_all = metrics(&mut web);
    assert!(of_all.contains("topic=\"b\"") && of_all.contains("adjourn_jobs_pushed_total 2"));
    let of_a = metrics(&mut site.web().with_token(&reader));
    assert!(of_a.contains("topic=\"a\"") && !of_a.contains("topic=\"b\""));
    assert!(!of_a.contains("adjourn_jobs_pushed_total"), "the sums tell of other topics");
    assert_eq!(site.web().with_token(&pusher).get("/metrics").refusal(), (403, "FORBIDDEN".to_owned()));
    assert_eq!(site.web().get("/metrics").refusal().0, 401);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(site.web().get(path).json(), json!({"status": "ok"}), "{path} needs no token");
    }
}

#[test]
fn the_topics_of_others_take_no_place() {
    let (site, [all, last]) = site_with_tokens([&["--allow", "push,read"], &["--allow", "read:own"]]);
    let mut web = site.web().with_token(&all);
    for number in 0..520 {
        web.post(&format!("/v1/topics/t{number}/jobs"), &json!({})).json();
    }
    web.post("/v1/topics/own/jobs", &json!({})).json();
    let of_own = metrics(&mut site.web().with_token(&last));
    assert_eq!(value(&of_own, "adjourn_topic_jobs_pushed_total{topic=\"own\"}"), 1);
    let of_all = metrics(&mut web);
    let listed = of_all.lines().filter(|line| line.starts_with("adjourn_topic_jobs_pushed_total{")).count();
    assert_eq!((listed, value(&of_all, "adjourn_topics")), (512, 521));
    assert_eq!(value(&of_all, "adjourn_jobs_pushed_total"), 521, "the sums have all");
}

#[test]
fn a_node_that_must_refuse_pushes_is_not_ready() {
    let site = Site::with(|config| config.disk_free_min_bytes = 1 << 60);
    let mut web = site.web();
    let refused = web.get("/readyz");
    assert_eq!(refused.status, 503);
    let told: serde_json::Value = serde_json::from_slice(&refused.body).expect("JSON");
    assert_eq!(
        told,
        json!({"status": "not ready", "reasons": ["the disk is nearly full: pushes are refused"]})
    );
    assert_eq!(web.get("/healthz").json(), json!({"status": "ok"}));
    assert!(metrics(&mut web).contains("\nadjourn_disk_full 1\n"));
}
