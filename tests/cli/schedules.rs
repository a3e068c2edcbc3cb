//! `adjourn schedule` against a server: set, show, list, run, pause, resume and delete, and a file that is applied.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::path::PathBuf;

use serde_json::{Value, json};

use super::commands::{Commands, Rig};

const SCHEDULE: &str = "schedule";

/// A schedule that does not fire while a test runs.
const YEARLY: [&str; 5] = ["set", "reports", "yearly", "0 9 29 2 *", "--zone=Europe/Berlin"];

/// Runs `adjourn schedule`, which must succeed.
fn ok(rig: &Commands, arguments: &[&str]) -> String {
    rig.ok(&[&[SCHEDULE], arguments].concat())
}

fn json_of(rig: &Commands, arguments: &[&str]) -> Value {
    rig.json(&[&[SCHEDULE], arguments].concat())
}

fn fails(rig: &Commands, arguments: &[&str], code: i32, expected: &str) {
    rig.fails(&[&[SCHEDULE], arguments].concat(), code, expected);
}

fn show(rig: &Commands, name: &str) -> Value {
    json_of(rig, &["show", "reports", name, "--json"])
}

#[test]
fn a_schedule_is_set_shown_and_listed() {
    let rig = Rig::start();
    let more =
        ["--body", "yes", "--header", "a=b", "--ttr", "30s", "--expires-after", "1h", "--note", "a note"];
    let set = json_of(&rig, &[&YEARLY[..], &more].concat());
    assert_eq!(set["version"], json!(1));
    let next = set["next"].as_str().expect("a time");
    assert!(next.ends_with("-02-29T08:00:00.000Z"), "{next}");

    let shown = show(&rig, "yearly");
    for (field, expected) in [
        ("id", &set["id"]),
        ("next", &set["next"]),
        ("when", &json!("0 9 29 2 *")),
        ("zone", &json!("Europe/Berlin")),
        ("overlap", &json!("skip")),
        ("note", &json!("a note")),
        ("paused", &Value::Null),
        ("history", &json!([])),
        ("job", &json!({"ttr_ms": 30_000, "expires": "1h", "headers": {"a": "b"}, "body": "yes"})),
    ] {
        assert_eq!(&shown[field], expected, "{field}");
    }
    let text = ok(&rig, &["show", "reports", "yearly"]);
    let first = format!("reports yearly: version 1, next {next} (");
    assert!(text.starts_with(&first) && text.contains(" 09:00:00 +01:00 CET), fired 0"), "{text}");
    assert!(text.contains("\n  expires-after  1h\n") && text.contains("\n  header a       b\n"), "{text}");
    assert!(!text.contains("  from "), "only an interval counts from a time: {text}");

    ok(&rig, &["set", "reports", "monthly", "@monthly"]);
    ok(&rig, &["pause", "reports", "monthly"]);
    let list = ok(&rig, &["list", "reports"]);
    let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "WHEN", "ZONE", "NEXT", "PAUSED", "RUNNING", "FIRED", "NOTE"]);
    assert_eq!((rows[1][0], rows[2][0], rows.len()), ("yearly", "monthly", 3));
    for filter in
        [&["--prefix", "month"][..], &["--paused"], &["--next-before", "2100-01-01T00:00:00Z", "--prefix=m"]]
    {
        let one = json_of(&rig, &[&["list", "reports", "--json"], filter].concat());
        assert_eq!((&one["name"], &one["paused"]), (&json!("monthly"), &json!("user")), "{filter:?}");
    }
    assert_eq!(ok(&rig, &["list", "nothing"]).lines().count(), 1, "only the head");
}

#[test]
fn a_schedule_is_run_paused_and_deleted() {
    let rig = Rig::start();
    ok(&rig, &[&YEARLY[..], &["--body", "by hand"]].concat());
    ok(&rig, &["pause", "reports", "yearly"]);
    assert!(ok(&rig, &["show", "reports", "yearly"]).contains(", paused, fired 0"));
    ok(&rig, &["pause", "reports", "yearly", "--note", "until the books are closed"]);
    let noted = "paused: until the books are closed, fired 0";
    assert!(ok(&rig, &["show", "reports", "yearly"]).contains(noted));
    assert!(ok(&rig, &["list", "reports"]).contains("until the books are closed"));
    fails(&rig, &["pause", "reports", "yearly", "--note", &"x".repeat(1025)], 1, "note of 1025 bytes");
    let job = ok(&rig, &["run", "reports", "yearly"]);
    let leased = rig.json(&["reserve", "reports", "--wait", "30s"]);
    assert_eq!((leased["id"].to_string(), &leased["body"]), (job.trim().to_owned(), &json!("by hand")));
    assert_eq!(show(&rig, "yearly")["running"], json!(1));
    rig.ok(&["finish", leased["lease"].as_str().expect("a lease")]);
    let shown = show(&rig, "yearly");
    let [firing] = shown["history"].as_array().expect("a list").as_slice() else { panic!("{shown}") };
    assert_eq!((&firing["job"], &firing["fired"]), (&leased["id"], &json!("finished")));
    let text = ok(&rig, &["show", "reports", "yearly"]);
    assert!(text.lines().last().is_some_and(|line| line.ends_with("finished")), "{text}");

    ok(&rig, &["resume", "reports", "yearly"]);
    let shown = show(&rig, "yearly");
    assert_eq!((&shown["paused"], &shown["pause_note"]), (&Value::Null, &Value::Null));
    ok(&rig, &["delete", "reports", "yearly"]);
    for command in ["show", "delete", "pause", "resume", "run"] {
        fails(&rig, &[command, "reports", "yearly"], 3, "has no schedule of this name");
    }
}

#[test]
fn many_schedules_are_paused_resumed_and_deleted() {
    let rig = Rig::start();
    for name in ["a.1", "b.1", "a.2"] {
        ok(&rig, &["set", "reports", name, "@yearly"]);
    }
    assert_eq!(ok(&rig, &["pause", "reports", "--prefix", "a."]), "2 schedules paused\n");
    assert_eq!(ok(&rig, &["pause", "reports", "--all"]), "1 schedule paused\n");
    assert_eq!(ok(&rig, &["list", "reports", "--active"]).lines().count(), 1);
    assert_eq!(ok(&rig, &["resume", "reports", "--prefix", "b."]), "1 schedule resumed\n");
    assert_eq!(ok(&rig, &["delete", "reports", "--prefix", "a."]), "2 schedules deleted\n");
    assert!(ok(&rig, &["list", "reports"]).contains("\nb.1 "));
    fails(&rig, &["delete", "reports"], 2, "--prefix");
    fails(&rig, &["delete", "reports", "b.1", "--all"], 2, "cannot be used with");
}

#[test]
fn a_time_that_has_passed_is_filled() {
    let rig = Rig::start();
    ok(&rig, &["set", "reports", "daily", "0 9 * * *", "--body", "report"]);
    let week =
        ["backfill", "reports", "daily", "--from", "2024-11-04T09:00:00Z", "--to", "2024-11-10T09:00:00Z"];
    assert_eq!(ok(&rig, &[&week[..], &["--dry-run"]].concat()), "times 7\n");
    assert_eq!(ok(&rig, &week), "times 7, pushed 7, there already 0, refused 0\n");
    assert_eq!(ok(&rig, &week), "times 7, pushed 0, there already 7, refused 0\n");
    let job = rig.json(&["get", "reports", "daily@1730710800000"]);
    assert_eq!(job["body"], json!("report"));
    fails(
        &rig,
        &["backfill", "reports", "daily", "--from=2024-11-05T00:00:00Z", "--to=2024-11-04T00:00:00Z"],
        2,
        "exchange them",
    );
    fails(
        &rig,
        &["backfill", "reports", "daily", "--from=2024-11-05T00:00:00Z", "--to=2100-11-01T00:00:00Z"],
        1,
        "ahead",
    );
    fails(
        &rig,
        &["backfill", "reports", "no", "--from=2024-11-04T00:00:00Z", "--to=2024-11-05T00:00:00Z"],
        3,
        "no schedule",
    );
}

#[test]
fn a_schedule_fires_and_shows_it() {
    let rig = Rig::start();
    ok(&rig, &["set", "reports", "often", "@every 1s", "--count", "1", "--body", "tick", "--key", "one"]);
    let leased = rig.json(&["reserve", "reports", "--wait", "30s"]);
    assert_eq!((&leased["key"], &leased["body"]), (&json!("one"), &json!("tick")));
    let shown = show(&rig, "often");
    assert_eq!((&shown["fired"], &shown["next"], &shown["count"]), (&json!(1), &Value::Null, &json!(1)));
    assert_eq!(shown["history"][0]["fired"], json!("pushed"));
    let text = ok(&rig, &["show", "reports", "often"]);
    assert!(text.contains("no next time") && text.contains("\n  from  "), "{text}");
}

#[test]
fn what_cannot_be_set_is_refused() {
    let rig = Rig::start();
    fails(&rig, &["set", "reports", "daily", "@daily", "--zone", "Berlin"], 1, "did you mean Europe/Berlin");
    fails(&rig, &["set", "reports", "daily", "0 9 * *"], 1, "a cron expression has 5 or 6 fields");
    fails(&rig, &["set", "reports", "daily", "@at 2001-01-01T00:00:00Z"], 1, "never fires");
    fails(
        &rig,
        &["set", "reports", "daily", "@daily", "--if-version", "1"],
        1,
        "CHANGED: there is no schedule",
    );
    ok(&rig, &["set", "reports", "daily", "@daily", "--if-new"]);
    fails(&rig, &["set", "reports", "daily", "@daily", "--if-new"], 1, "CHANGED: there is a schedule");
    let with = |version| ["set", "reports", "daily", "@hourly", "--if-version", version];
    fails(&rig, &with("2"), 1, "has version 1, and 2 was expected");
    assert_eq!(json_of(&rig, &with("1"))["version"], json!(2));
    assert_eq!(
        rig.run(&["schedule", "set", "reports", "input", "@daily", "--body", "-"], b"piped").code,
        Some(0)
    );
    assert_eq!(show(&rig, "input")["job"]["body"], json!("piped"));
}

/// A file of schedules, and what applying it prints.
struct File<'a> {
    rig: &'a Rig,
    path: PathBuf,
}

impl File<'_> {
    fn apply(&self, content: &str, options: &[&str]) -> Vec<String> {
        std::fs::write(&self.path, content).expect("written");
        let path = self.path.to_str().expect("a path");
        ok(self.rig, &[&["apply", path], options].concat()).lines().map(str::to_owned).collect()
    }

    fn is_refused(&self, content: &str, code: i32, expected: &str) {
        std::fs::write(&self.path, content).expect("written");
        fails(self.rig, &["apply", self.path.to_str().expect("a path"), "--prune"], code, expected);
    }
}

fn entry(name: &str, when: &str, more: &str) -> String {
    format!("[[schedule]]\ntopic = \"reports\"\nname = \"{name}\"\nwhen = \"{when}\"\n{more}\n")
}

#[test]
fn a_file_is_the_truth() {
    let rig = Rig::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = File { rig: &rig, path: folder.path().join("schedules.toml") };
    ok(&rig, &["set", "reports", "old", "@daily"]);
    ok(&rig, &["set", "other", "kept", "@daily"]);
    let daily =
        entry("daily", "0 9 * * 1-5", "zone = 'Europe/Berlin'\nbody = 'x'\nheaders = { b = '1', a = '2' }");
    let both = daily.clone() + &entry("poll", "@every 1d", "expires_after = '5m'");

    let unpruned = "- reports old  not in the file: --prune deletes it";
    let dry = file.apply(&both, &["--dry-run"]);
    let last = "new 2, changed 0, the same 0, not in the file 1: this was a dry run, nothing is changed";
    assert_eq!(dry, ["+ reports daily", "+ reports poll", unpruned, last]);
    fails(&rig, &["show", "reports", "daily"], 3, "NOT_FOUND");
    let last = "new 2, changed 0, the same 0, not in the file 1";
    assert_eq!(file.apply(&both, &[]), ["+ reports daily", "+ reports poll", unpruned, last]);
    let last = "new 0, changed 0, the same 2, not in the file 1";
    assert_eq!(file.apply(&both, &[]), ["= reports daily", "= reports poll", unpruned, last]);
    assert_eq!(show(&rig, "daily")["version"], json!(1), "what is the same is not set again");

    ok(&rig, &["pause", "reports", "daily"]);
    let changed = both.replace("0 9 *", "0 8 *").replace("'x'", "'y'").replace("a = '2'", "c = '3'");
    let differences = [
        "~ reports daily",
        "    header a: 2 -> -",
        "    header c: - -> 3",
        "    when: 0 9 * * 1-5 -> 0 8 * * 1-5",
        "    body: x -> y",
    ];
    let dry = file.apply(&changed, &["--dry-run", "--prune"]);
    assert_eq!(dry[..7], [&differences[..], &["= reports poll", "- reports old"]].concat());
    assert_eq!(show(&rig, "old")["version"], json!(1), "it is still there");
    let last = "new 0, changed 1, the same 1, deleted 1";
    let done = file.apply(&changed, &["--prune"]);
    assert_eq!(done, [&differences[..], &["= reports poll", "- reports old", last]].concat());
    let shown = show(&rig, "daily");
    assert_eq!((&shown["version"], &shown["paused"]), (&json!(2), &json!("user")));
    assert_eq!(shown["job"]["headers"], json!({"b": "1", "c": "3"}));
    fails(&rig, &["show", "reports", "old"], 3, "NOT_FOUND");
    assert_eq!(
        json_of(&rig, &["list", "other", "--json"])["name"],
        json!("kept"),
        "its topic is not in the file"
    );
}

#[test]
fn a_faulty_file_changes_nothing() {
    let rig = Rig::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = File { rig: &rig, path: folder.path().join("schedules.toml") };
    ok(&rig, &["set", "reports", "old", "@daily"]);
    let good = entry("good", "@daily", "");
    for (bad, expected) in [
        (
            entry("bad", "0 9 * *", ""),
            "schedules.toml: schedule bad of reports: when: a cron expression has 5 or 6",
        ),
        (
            entry("bad", "@daily", "zone = 'Berlin'"),
            "schedule bad of reports: zone: there is no time zone Berlin",
        ),
        (
            entry("bad", "@at 2001-01-01T00:00:00Z", ""),
            "schedule bad of reports: when: it never fires after now",
        ),
        (entry("bad", "@daily", "colour = 1"), "there is no key colour"),
        (entry("good", "@daily", ""), "schedule good of reports: it is in the file twice"),
        ("[[schedule]\n".to_owned(), "schedules.toml, line 6: "),
    ] {
        file.is_refused(&(good.clone() + &bad), 2, expected);
        fails(&rig, &["show", "reports", "good"], 3, "NOT_FOUND");
        assert_eq!(show(&rig, "old")["version"], json!(1));
    }
    fails(&rig, &["apply", "no/such/file"], 2, "cannot read the schedules in no/such/file");
}
