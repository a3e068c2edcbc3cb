//! Every client command, for real: the binary against a server process.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::io::{Read as _, Write as _};
use std::ops::Deref;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::server_rig::{Process, adjourn};

/// A server and the directory that it lives in.
pub(crate) struct Rig {
    server: Process,
    commands: Commands,
    data: tempfile::TempDir,
}

/// Commands that go to one server, or to a cluster.
pub(crate) struct Commands {
    server: String,
}

/// What a command printed and how it ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) errors: String,
}

impl Commands {
    /// Those that are told this address, or several.
    pub(crate) fn to(server: &impl ToString) -> Self {
        Self { server: server.to_string() }
    }

    /// The address that they are told.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut command = adjourn(arguments);
        command.env("ADJOURN_SERVER", &self.server);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("the binary");
        let mut stdin = child.stdin.take().expect("piped");
        let input = input.to_owned();
        // The command may end before it has read everything.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
        writer.join().expect("written");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Ended { code: status.code(), out: text(stdout), errors: text(stderr) }
    }

    /// The output of a command that must succeed without a word on standard error.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        self.ok_with(arguments, b"")
    }

    fn ok_with(&self, arguments: &[&str], input: &[u8]) -> String {
        let ended = self.run(arguments, input);
        assert_eq!((ended.code, ended.errors.as_str()), (Some(0), ""), "{arguments:?}");
        ended.out
    }

    /// The one JSON object that a command prints.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let out = self.ok(arguments);
        assert_eq!(out.lines().count(), 1, "{arguments:?}: {out}");
        serde_json::from_str(&out).expect("JSON")
    }

    /// Checks that a command fails with `code` and says `expected`.
    pub(crate) fn fails(&self, arguments: &[&str], code: i32, expected: &str) {
        let ended = self.run(arguments, b"");
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.errors);
        assert!(ended.errors.contains(expected), "{arguments:?}: {}", ended.errors);
        assert_eq!(ended.out, "", "{arguments:?}");
    }
}

impl Deref for Rig {
    type Target = Commands;

    fn deref(&self) -> &Commands {
        &self.commands
    }
}

impl Rig {
    pub(crate) fn start() -> Self {
        let data = tempfile::tempdir().expect("a directory");
        let server = Process::start(data.path(), &[]);
        Self { commands: Commands::to(&server.address), server, data }
    }

    /// The server's data directory.
    pub(crate) fn data(&self) -> &str {
        self.data.path().to_str().expect("a path")
    }

    fn push(&self, arguments: &[&str]) -> u64 {
        let out = self.ok(&[&["push"], arguments].concat());
        out.strip_suffix('\n').and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("no id: {out:?}"))
    }

    fn lease(&self, topic: &str) -> String {
        self.json(&["reserve", topic])["lease"].as_str().expect("a lease").to_owned()
    }
}

#[test]
fn a_job_goes_from_push_to_finish() {
    let rig = Rig::start();
    let id = rig.push(&[
        "orders",
        "close",
        "--key",
        "order 17",
        "--header",
        "a=b",
        "--priority",
        "7",
        "--ttr",
        "90s",
    ]);
    let job = rig.json(&["reserve", "orders", "--wait", "30s"]);
    assert_eq!(job["id"], json!(id));
    let lease = job["lease"].as_str().expect("a lease");
    assert!(lease.starts_with(&format!("{id}-")), "{lease}");
    for (field, expected) in [
        ("topic", json!("orders")),
        ("key", json!("order 17")),
        ("priority", json!(7)),
        ("attempts", json!(1)),
        ("headers", json!({"a": "b"})),
        ("body", json!("close")),
    ] {
        assert_eq!(job[field], expected, "{field}");
    }
    let left_ms = job["ttr_left_ms"].as_u64().expect("a number");
    assert!((1..=90_000).contains(&left_ms), "{left_ms}");
    let due = job["due"].as_str().expect("a text");
    assert!(due.ends_with('Z') && due.len() == "2026-01-01T00:00:00.000Z".len(), "{due}");

    assert_eq!(rig.ok(&["finish", lease]), "");
    assert_eq!(rig.ok(&["finish", lease]), "", "a repeated finish answers as the first did");
    let mut gone = rig.json(&["get", &id.to_string()]);
    let finished = gone["finished"].take();
    assert!(finished.as_str().is_some_and(|time| time.ends_with('Z')), "{finished}");
    let expected =
        json!({ "id": id, "state": "finished", "topic": "orders", "attempts": 1, "finished": null });
    assert_eq!(gone, expected);
    let stats = rig.json(&["stats", "--json"]);
    for counts in [&stats, &stats["topics"]["orders"]] {
        for (field, expected) in [
            ("pushed", 1),
            ("finished", 1),
            ("delayed", 0),
            ("ready", 0),
            ("reserved", 0),
            ("buried", 0),
            ("oldest_ready_ms", 0),
        ] {
            assert_eq!(counts[field], json!(expected), "{field} in {stats}");
        }
    }
}

#[test]
fn jobs_are_listed_and_counted() {
    let rig = Rig::start();
    let ids: Vec<u64> =
        ["a-2", "a-1", "b-1"].map(|key| rig.push(&["orders", key, "--key", key, "--delay", "2h"])).to_vec();
    rig.push(&["others", "ready"]);
    let listed = |arguments: &[&str]| -> Vec<u64> {
        let out = rig.ok(&[&["list", "--topic", "orders", "--json"], arguments].concat());
        let job = |line: &str| serde_json::from_str::<Value>(line).expect("an object");
        out.lines().map(|line| job(line)["id"].as_u64().expect("an id")).collect()
    };
    assert_eq!(listed(&[]), ids);
    assert_eq!(listed(&["--key-prefix", "a-", "--order", "key"]), [ids[1], ids[0]]);
    assert_eq!(listed(&["--state", "ready,buried"]), [0_u64; 0]);
    assert_eq!(rig.ok(&["count"]), "4\n");
    assert_eq!(rig.ok(&["count", "--topic", "orders", "--key-prefix", "b"]), "1\n");
    let bars = ["count", "--topic", "orders", "--bar", "1h", "--bars", "2"];
    let counted = rig.ok(&[&bars[..], &["--bars-from", "2000-01-01T00:00:00Z"]].concat());
    let lines: Vec<Vec<&str>> = counted.lines().map(|line| line.split_whitespace().collect()).collect();
    let expected = [
        vec!["DUE", "FROM", "JOBS"],
        vec!["before", "0"],
        vec!["2000-01-01T00:00:00.000Z", "0"],
        vec!["2000-01-01T01:00:00.000Z", "0"],
        vec!["2000-01-01T02:00:00.000Z", "3"],
    ];
    assert_eq!(lines, expected);
    // From now on, two hours less some seconds.
    assert!(rig.ok(&bars).lines().nth(3).is_some_and(|line| line.ends_with(" 3")), "{}", rig.ok(&bars));

    let table = rig.ok(&["list", "--state", "ready"]);
    assert!(table.starts_with("ID   TOPIC  STATE") && table.contains("others  ready"), "{table}");
    let bodies = rig.ok(&["list", "--topic", "others", "--json", "--bodies", "--all"]);
    assert!(bodies.contains(r#""body":"ready""#), "{bodies}");

    let first = rig.run(&["list", "--topic", "orders", "--json", "--limit", "2"], b"");
    let cursor = first.errors.trim().rsplit(' ').next().expect("a cursor").to_owned();
    assert_eq!((first.code, first.out.lines().count()), (Some(0), 2), "{}", first.errors);
    assert_eq!(listed(&["--cursor", &cursor]), ids[2..]);
    let lease = rig.lease("others");
    rig.ok(&["bury", &lease, "--reason", "no such address"]);
    let buried = rig.ok(&["list", "--buried", "consumer", "--reason", "such", "--json"]);
    assert!(buried.contains(r#""reason":"no such address""#), "{buried}");
    assert_eq!(rig.ok(&["count", "--reason", "other"]), "0\n");
    rig.fails(&["list", "--cursor", "AAAA"], 1, "INVALID");
    rig.fails(&["list", "--cursor", "!"], 2, "expected a cursor");
}

#[test]
fn jobs_are_changed_by_conditions() {
    let rig = Rig::start();
    for key in ["a-1", "a-2", "b-1"] {
        rig.push(&["orders", key, "--key", key, "--delay", "2h"]);
    }
    let by_key = ["--topic", "orders", "--key-prefix", "a-"];
    let with = |command: &[&'static str]| -> Vec<&str> { [&command[..1], &by_key, &command[1..]].concat() };
    assert_eq!(rig.json(&with(&["delete", "--dry-run"])), json!({"matched": 2}));
    let moved = rig.json(&with(&["reschedule", "--at", "2100-01-01T00:00:00Z"]));
    assert_eq!(moved, json!({"matched": 2, "changed": 2, "skipped": 0}));
    assert_eq!(rig.json(&["get", "orders", "a-2"])["due"], json!("2100-01-01T00:00:00.000Z"));
    let later = rig.json(&["reschedule", "--state", "delayed", "--delay", "3h"]);
    assert_eq!(later, json!({"matched": 3, "changed": 3, "skipped": 0}));
    assert_eq!(rig.json(&with(&["run-now"])), json!({"matched": 2, "changed": 2, "skipped": 0}));
    assert_eq!(rig.ok(&["count", "--state", "ready"]), "2\n");
    let lease = rig.lease("orders");
    rig.ok(&["bury", &lease, "--reason", "no such address"]);
    let kicked = rig.json(&["kick", "--buried", "consumer", "--reason", "address"]);
    assert_eq!(kicked, json!({"matched": 1, "changed": 1, "skipped": 0}));
    assert_eq!(rig.json(&with(&["delete"])), json!({"matched": 2, "changed": 2, "skipped": 0}));
    assert_eq!(rig.ok(&["count"]), "1\n");
    rig.fails(&["delete"], 2, "name a job, or say which jobs");
    rig.fails(&["delete", "42", "--topic", "orders"], 2, "not both");
}

#[test]
fn jobs_move_and_topics_are_cleared_and_deleted() {
    let rig = Rig::start();
    for key in ["a", "b", "c"] {
        rig.push(&["orders", key, "--key", key, "--delay", "2h"]);
    }
    rig.push(&["failed", "other", "--key", "c"]);
    let to = ["move", "--topic", "orders", "--to", "failed"];
    assert_eq!(rig.json(&[&to[..], &["--dry-run"]].concat()), json!({"matched": 3}));
    assert_eq!(rig.json(&to), json!({"matched": 3, "changed": 2, "skipped": 1}));
    assert_eq!(rig.json(&["get", "failed", "a"])["topic"], json!("failed"));
    rig.fails(&["get", "orders", "a"], 3, "NOT_FOUND");
    rig.fails(&["move", "--topic", "orders", "--to", "orders"], 2, "the same");
    rig.fails(&["move", "--to", "orders"], 2, "say which jobs");

    // A reserved job is left alone.
    let lease = rig.lease("failed");
    let back = ["move", "--topic", "failed", "--to", "others"];
    assert_eq!(rig.json(&back), json!({"matched": 3, "changed": 2, "skipped": 1}));
    rig.fails(&["topic", "delete", "failed"], 1, "the topic is not empty (jobs: 1, ");
    rig.ok(&["finish", &lease]);
    rig.ok(&["pause", "failed"]);
    assert_eq!(rig.ok(&["topic", "delete", "failed"]), "");
    rig.fails(&["topic", "delete", "failed"], 3, "NOT_FOUND");
    let topics = rig.ok(&["topics"]);
    assert!(!topics.contains("failed") && topics.contains("others"), "{topics}");

    assert_eq!(rig.json(&["topic", "clear", "orders"]), json!({"matched": 1, "deleted": 1}));
    assert_eq!(rig.json(&["topic", "clear", "orders"]), json!({"matched": 0, "deleted": 0}));
    assert_eq!(rig.ok(&["topic", "delete", "others", "--force"]), "");
    assert_eq!(rig.ok(&["count"]), "0\n");
}

#[test]
fn nothing_to_reserve_has_its_own_exit_code() {
    let rig = Rig::start();
    rig.push(&["later", "body", "--delay", "1h"]);
    rig.fails(&["reserve", "later"], 3, "nothing to reserve");
    rig.fails(&["reserve", "later", "elsewhere", "--wait", "10ms"], 3, "nothing to reserve");
    rig.fails(&["peek", "elsewhere"], 3, "NOT_FOUND");
}

#[test]
fn a_key_is_postponed_and_its_reserved_job_replaced() {
    let rig = Rig::start();
    let push = |more: &[&str]| rig.push(&[&["orders", "--key", "k"], more].concat());
    let first = push(&["--delay", "1h"]);
    assert_eq!(push(&["--delay", "2h", "--if-exists", "postpone"]), first);
    assert_eq!(push(&["--delay", "2h", "--if-exists", "postpone", "--postpone-max", "0s"]), first);
    assert_eq!(rig.json(&["get", "orders", "k"])["state"], json!("ready"), "the cap is reached");
    rig.json(&["reserve", "orders"]);
    rig.fails(&["push", "orders", "--key", "k", "--if-exists", "postpone"], 1, "RESERVED");
    rig.fails(&["push", "orders", "--key", "k", "--if-exists", "replace"], 1, "RESERVED");
    assert!(push(&["--if-exists", "replace-any"]) > first);
    rig.fails(&["push", "orders", "--key", "k", "--postpone-max", "1s"], 2, "--if-exists");
}

#[test]
fn a_finished_key_is_remembered() {
    let rig = Rig::start();
    let first = rig.push(&["orders", "--key", "k", "--remember", "1d"]);
    let lease = rig.json(&["reserve", "orders"])["lease"].as_str().expect("a lease").to_owned();
    rig.ok(&["finish", &lease]);
    rig.fails(&["push", "orders", "--key", "k"], 1, &format!("(job {first})"));
    let job = rig.json(&["get", "orders", "k"]);
    assert_eq!((&job["id"], &job["state"], &job["key"]), (&json!(first), &json!("finished"), &json!("k")));
    assert_eq!(rig.ok(&["list", "--json"]), "");
    assert_eq!(rig.json(&["list", "--json", "--state", "finished"])["id"], json!(first));
    assert_eq!(rig.ok(&["count", "--state", "finished"]).trim(), "1");
    rig.ok(&["delete", "orders", "k"]);
    assert!(rig.push(&["orders", "--key", "k"]) > first);
    rig.fails(&["push", "orders", "--remember", "31d"], 2, "between 0s and 30d");
}

#[test]
fn a_key_finds_its_job() {
    let rig = Rig::start();
    let push = ["orders", "--key", "k", "--delay", "1h"];
    let by_key = ["orders", "k"];
    let with = |command: &[&'static str]| -> Vec<&str> { [&command[..1], &by_key, &command[1..]].concat() };

    let first = rig.push(&push);
    rig.fails(&[&["push"], &push[..]].concat(), 1, &format!("(job {first})"));
    assert_eq!(rig.push(&[&push[..], &["--if-exists", "keep"]].concat()), first);
    let second = rig.push(&[&push[..], &["--if-exists", "replace"]].concat());
    assert!(second > first);

    let job = rig.json(&with(&["get"]));
    assert_eq!((&job["id"], &job["state"], &job["body"]), (&json!(second), &json!("delayed"), &json!("")));
    let moved = rig.json(&with(&["reschedule", "--at", "2100-01-01T00:00:00+01:00"]));
    assert_eq!(moved, json!({"id": second, "state": "delayed", "due": "2099-12-31T23:00:00.000Z"}));
    assert_eq!(rig.json(&with(&["get"]))["due"], moved["due"]);
    assert_eq!(rig.json(&with(&["run-now"]))["state"], json!("ready"));
    assert_eq!(rig.json(&["peek", "orders"])["id"], json!(second));
    rig.fails(&with(&["kick"]), 1, "WRONG_STATE");
    rig.fails(&["push", "orders", "--delay", "2h", "--expires", "1h"], 1, "EXPIRES_BEFORE_DUE");
    assert_eq!(rig.json(&with(&["reschedule", "--delay", "1h"]))["state"], json!("delayed"));
    assert_eq!(rig.json(&["delete", &second.to_string()])["state"], json!("delayed"));
    rig.fails(&with(&["get"]), 3, "NOT_FOUND");
}

#[test]
fn a_schedule_shows_when_it_would_fire() {
    let next = |arguments: &[&str]| {
        let done = std::process::Command::new(env!("CARGO_BIN_EXE_adjourn"))
            .args(["schedule", "next"])
            .args(arguments)
            .output()
            .expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let from = ["--from", "2027-03-27T00:00:00Z", "--count", "2"];
    let (code, out, _) = next(&[&["30 2 * * *", "--zone", "europe/berlin"], &from[..]].concat());
    let expected = "2027-03-27T01:30:00.000Z  2027-03-27 02:30:00 +01:00 CET\n\
                    2027-03-28T01:00:00.000Z  2027-03-28 03:00:00 +02:00 CEST\nzone data 2";
    assert!(code == Some(0) && out.starts_with(expected), "{out}");
    let (_, out, _) =
        next(&[&["30 2 * * *", "--zone", "Europe/Berlin", "--dst", "literal"], &from[..]].concat());
    assert!(out.contains("2027-03-29T00:30:00.000Z  2027-03-29 02:30:00 +02:00 CEST"), "{out}");
    for (wrong, told) in [
        (&["0 9 * * 1-5", "--zone", "Berlin"][..], "Europe/Berlin"),
        (&["0 9 * *"], "5 or 6 fields"),
        (&["0 0 31 2 *"], "never"),
    ] {
        let (code, _, errors) = next(wrong);
        assert!(code == Some(2) && errors.contains(told), "{errors}");
    }
}

#[test]
fn parts_of_a_job_are_edited() {
    let rig = Rig::start();
    let push =
        ["orders", "1", "--key", "order-17", "--delay", "2h", "--header", "a=1", "--attempts-max", "3"];
    let id = rig.push(&push).to_string();
    let edited = rig.json(&["edit", "orders", "order-17", "--body", "2", "--priority", "7", "--ttr", "5m"]);
    assert_eq!(
        (&edited["id"], &edited["state"]),
        (&json!(id.parse::<u64>().expect("an id")), &json!("delayed"))
    );
    let job = rig.json(&["get", &id]);
    assert_eq!((&job["body"], &job["priority"], &job["ttr_ms"]), (&json!("2"), &json!(7), &json!(300_000)));
    assert_eq!((&job["headers"], &job["attempts_max"]), (&json!({"a": "1"}), &json!(3)));
    assert!(job["edited"].is_string());
    rig.ok(&["edit", &id, "--header", "b=2", "--unset", "attempts-max", "--at", "2100-01-01T00:00:00Z"]);
    let job = rig.json(&["get", &id]);
    assert_eq!((&job["headers"], &job["attempts_max"]), (&json!({"b": "2"}), &json!(25)));
    assert_eq!((&job["due"], &job["body"]), (&json!("2100-01-01T00:00:00.000Z"), &json!("2")));
    rig.fails(&["edit", &id], 2, "say what changes, for example: --priority 1");
    rig.fails(&["edit", "999999", "--priority", "1"], 3, "NOT_FOUND");
    rig.json(&["run-now", &id]);
    rig.lease("orders");
    rig.fails(&["edit", &id, "--priority", "1"], 1, "RESERVED");
}

#[test]
fn leases_are_settled_from_other_processes() {
    let rig = Rig::start();
    let id = rig.push(&["work", "body"]).to_string();
    let lease = rig.lease("work");
    assert_eq!(rig.ok(&["touch", &lease, "--ttr", "5m"]), "");
    let left_ms = rig.json(&["get", &id])["ttr_left_ms"].as_u64().expect("a number");
    assert!((60_001..=300_000).contains(&left_ms), "{left_ms}");

    assert_eq!(rig.ok(&["release", &lease, "--delay", "1h"]), "");
    rig.fails(&["finish", &lease], 1, &format!("{lease}: STALE_LEASE"));
    assert_eq!(rig.json(&["get", &id])["state"], json!("delayed"));
    rig.json(&["run-now", &id]);
    let lease = rig.lease("work");
    let before = rig.json(&["get", &id])["due"].clone();
    assert_eq!(rig.ok(&["release", &lease]), "");
    let after = rig.json(&["get", &id])["due"].clone();
    assert!(before.as_str() < after.as_str(), "it waits for the server's backoff: {before} {after}");
    let shown = rig.ok(&["topic", "show", "work"]);
    assert!(shown.contains("25 (default)") && shown.contains("1s..1h~20% (default)"), "{shown}");
    rig.json(&["run-now", &id]);
    let lease = rig.lease("work");

    rig.fails(&["bury", &lease, "--reason", &"x".repeat(1025)], 2, "at most 1024 bytes: this one has 1025");
    assert_eq!(rig.ok(&["bury", &lease, "--reason", "no such address"]), "");
    let job = rig.json(&["get", &id]);
    assert_eq!((&job["state"], &job["attempts"]), (&json!("buried"), &json!(3)));
    assert_eq!(job["reason"], json!("no such address"));
    for known in ["pushed", "reserved_first", "reserved_last", "held_by"] {
        assert!(!job[known].is_null(), "{known}: {job}");
    }
    assert_eq!(job["buried"], json!("buried by a consumer"));
    assert_eq!(rig.json(&["kick", &id])["state"], json!("ready"));
    let lease = rig.lease("work");
    rig.fails(&["finish", "999999-1", &lease, "999999-2"], 1, "999999-2: ");
    assert_eq!(rig.json(&["get", &id])["state"], json!("finished"));
    rig.fails(&["delete", &id], 3, "NOT_FOUND");
}

#[test]
fn a_job_that_fails_too_often_is_buried() {
    let rig = Rig::start();
    let id = rig.push(&["work", "--attempts-max", "2", "--backoff", "0s"]).to_string();
    for _ in 0..2 {
        let lease =
            rig.json(&["reserve", "work", "--wait", "30s"])["lease"].as_str().expect("a lease").to_owned();
        rig.ok(&["release", &lease]);
    }
    let job = rig.json(&["get", &id]);
    assert_eq!((&job["state"], &job["buried"]), (&json!("buried"), &json!("attempts used up")));
    assert_eq!((&job["attempts_max"], &job["backoff"]), (&json!(2), &json!("0s")));
    let many = ["kick", "work", "--max", "5000"];
    assert_eq!(rig.json(&many), json!({ "kicked": 1 }));
    assert_eq!(rig.json(&many), json!({ "kicked": 0 }));
    assert_eq!(rig.json(&["get", &id])["state"], json!("ready"));
    for incomplete in [&["kick", "work"][..], &["kick", "--max", "1"]] {
        assert_eq!(rig.run(incomplete, b"").code, Some(2), "{incomplete:?}");
    }
}

#[test]
fn bodies_are_any_bytes() {
    let rig = Rig::start();
    rig.ok_with(&["push", "files", "-"], b"\xff\x00\n");
    let job = rig.json(&["reserve", "files"]);
    assert_eq!((&job["body_base64"], job.get("body")), (&json!("/wAK"), None));
    rig.ok_with(&["push", "files", "-"], "käse\n".as_bytes());
    assert_eq!(rig.json(&["reserve", "files"])["body"], json!("käse\n"));
    let large = rig.run(&["push", "files", "-"], &vec![b'x'; (1 << 20) + 1]);
    assert_eq!(large.code, Some(1), "{}", large.errors);
    let told =
        "TOO_LARGE: the body has 1048577 bytes, and the server takes at most 1048576: send less, or raise";
    assert!(large.errors.contains(told), "{}", large.errors);
}

#[test]
fn ten_thousand_lines_keep_their_order() {
    let rig = Rig::start();
    let lines: Vec<String> = (0..10_000).map(|number| format!("line {number}")).collect();
    let out = rig.ok_with(&["push", "lines", "--lines"], lines.join("\n").as_bytes());
    let ids: Vec<u64> = out.lines().map(|line| line.parse().expect("an id")).collect();
    assert_eq!(ids.len(), lines.len());
    assert!(ids.is_sorted_by(|one, next| one < next));

    let mut taken = Vec::new();
    while taken.len() < lines.len() {
        let out = rig.ok(&["reserve", "lines", "--max", "1024", "--wait", "30s"]);
        taken.extend(out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")));
    }
    let bodies = taken.iter().map(|job| job["body"].as_str().expect("a body"));
    assert!(bodies.eq(lines.iter().map(String::as_str)));
    let leases: Vec<&str> = taken.iter().map(|job| job["lease"].as_str().expect("a lease")).collect();
    assert_eq!(rig.ok(&[&["finish"], leases.as_slice()].concat()), "");
    assert_eq!(rig.json(&["stats", "--json"])["finished"], json!(10_000));
}

#[test]
fn a_refused_line_leaves_its_place() {
    let rig = Rig::start();
    let input = format!("one\n{}\nthree\n", "x".repeat((1 << 20) + 1));
    let ended = rig.run(&["push", "lines", "--lines"], input.as_bytes());
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!((ended.code, lines.len(), lines[1]), (Some(1), 3, "-"), "{}", ended.errors);
    assert!(ended.errors.contains("line 2: TOO_LARGE"), "{}", ended.errors);
    assert_eq!(rig.json(&["stats", "--json"])["pushed"], json!(2));
}

#[test]
fn a_paused_topic_gives_nothing() {
    let rig = Rig::start();
    rig.push(&["work"]);
    assert_eq!(rig.ok(&["pause", "work", "--for", "10m"]), "");
    let shown = rig.ok(&["topic", "show", "work"]);
    assert!(shown.contains(", paused for 9m 59s") || shown.contains(", paused for 10m"), "{shown}");
    assert!(
        rig.json(&["topic", "show", "work", "--json"])["pause_left_ms"]
            .as_u64()
            .is_some_and(|left| left > 500_000)
    );
    assert_eq!(rig.ok(&["pause", "work"]), "");
    assert_eq!(rig.json(&["topic", "show", "work", "--json"])["pause_left_ms"], json!(null));
    rig.fails(&["reserve", "work"], 3, "PAUSED");
    let topics = rig.ok(&["topics"]);
    assert!(topics.contains("work (paused)"), "{topics}");
    assert_eq!(rig.json(&["topics", "--json"])["paused"], json!(true));
    assert_eq!(rig.ok(&["resume", "work"]), "");
    rig.lease("work");
    let table = rig.ok(&["stats"]);
    assert!(table.contains("\nTOPIC ") && table.contains("\n(all) "), "{table}");
}

#[test]
fn a_wait_for_nothing_is_not_advised_to_wait() {
    let rig = Rig::start();
    rig.fails(&["reserve", "work"], 3, "nothing to reserve: use --wait 5s to wait for a job");
    rig.fails(&["reserve", "work", "--wait", "1ms"], 3, "nothing to reserve within 1ms");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let rig = Rig::start();
    for (arguments, input) in [(&["push", "work", "--lines"][..], &b"a\nb\nc\n"[..]), (&["stats"], b"")] {
        let mut command = adjourn(arguments);
        command.env("ADJOURN_SERVER", rig.server.address.to_string());
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("the binary");
        drop(child.stdout.take());
        child.stdin.take().expect("piped").write_all(input).expect("written");
        let mut errors = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut errors).expect("text");
        assert_eq!((child.wait().expect("it ends").code(), errors.as_str()), (Some(0), ""), "{arguments:?}");
    }
    assert_eq!(rig.json(&["stats", "--json"])["pushed"], json!(3), "the lines are pushed nevertheless");
}
