//! Which lines are written, which are counted, and who waits for them.

use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use super::*;
use adjourn_protocol::RequestOpcode;

/// Anything that takes longer has failed. Tests do not wait for it to pass.
const PATIENCE: Duration = Duration::from_secs(30);

struct Rig {
    folder: TempDir,
    audit: Audit,
    auditor: Auditor,
}

impl Rig {
    fn new(bytes_max: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (audit, auditor) = Audit::new(Some(&folder.path().join("audit.log")), bytes_max).expect("a file");
        Self { folder, audit, auditor }
    }

    /// The content of the log, when all is written.
    fn written(self) -> (TempDir, Vec<Value>) {
        self.audit.end();
        self.auditor.run();
        let lines = lines(&self.folder.path().join("audit.log"));
        (self.folder, lines)
    }
}

fn lines(path: &PathBuf) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn request(token: &str, about: &str, denied: Option<&str>) -> Audited {
    Audited {
        token: token.to_owned(),
        address: "10.0.0.9:1".to_owned(),
        request: RequestOpcode::Bulk,
        about: about.to_owned(),
        denied: denied.map(str::to_owned),
    }
}

fn of<'a>(lines: &'a [Value], event: &str, token: &str) -> Vec<&'a Value> {
    let is_of = |line: &&Value| line["event"] == event && line["token"].as_str().unwrap_or_default() == token;
    lines.iter().filter(is_of).collect()
}

#[test]
fn lines_go_to_files_that_are_put_aside() {
    let rig = Rig::new(400);
    for number in 0..20 {
        let denied = (number == 19).then_some("it has \"no\" right");
        rig.audit.request(request("shop", &format!("topic orders.{number} delete"), denied));
    }
    rig.audit.login_failed("10.0.0.8:1".to_owned(), "unknown".to_owned());
    let (folder, last) = rig.written();
    assert_eq!(last.last().map(|line| &line["event"]), Some(&"login_failed".into()));
    let files = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
    let all = ["audit.log.2", "audit.log.1", "audit.log"].map(files).concat();
    assert!(all.contains("topic orders.19 delete") && all.contains(r#"it has \"no\" right"#), "{all}");
    assert!(files("audit.log.5").len() <= 400);
    assert!(!folder.path().join("audit.log.6").exists());
}

#[test]
fn a_flood_of_refusals_is_counted() {
    let rig = Rig::new(1 << 20);
    for number in 0..1000 {
        rig.audit.request(request("thief", "topic a", Some("no right")));
        rig.audit.login_failed("10.0.0.8:1".to_owned(), "unknown".to_owned());
        if number % 100 == 0 {
            rig.audit.request(request("operator", "topic b delete", None));
        }
    }
    rig.audit.request(request("shop", "topic a", Some("no right")));
    rig.audit.login_failed("10.0.0.9:1".to_owned(), "expired".to_owned());
    let (_folder, lines) = rig.written();
    let other = |line: &&Value| line["event"] == "login_failed" && line["address"] == "10.0.0.9:1";
    assert_eq!(lines.iter().filter(other).count(), 1, "the flood of one address hides no other");
    assert_eq!([of(&lines, "allowed", "operator").len(), of(&lines, "denied", "shop").len()], [10, 1]);
    for (event, token, what) in
        [("denied", "thief", "requests were denied"), ("login_failed", "", "logins failed")]
    {
        let (all, counted) = (of(&lines, event, token), of(&lines, "lost", token));
        let written = all.iter().filter(|line| line["address"] != "10.0.0.9:1" || event == "denied").count();
        assert!((10..100).contains(&written), "{written} of {event}");
        let [counted] = counted.as_slice() else { panic!("{counted:?}") };
        let why = counted["why"].as_str().expect("a reason");
        assert!(why.starts_with(&(1000 - written).to_string()) && why.contains(what), "{why}");
    }
}

#[test]
fn refusals_leave_room_for_the_other_lines_and_nobody_waits() {
    let rig = Rig::new(64 << 20);
    // The thread that writes them is stuck before it begins.
    for token in 0..500 {
        (0..10)
            .for_each(|_| rig.audit.request(request(&format!("thief-{token}"), "topic a", Some("no right"))));
    }
    (0..2000).for_each(|_| rig.audit.request(request("operator", "topic b delete", None)));
    rig.audit.end();
    let (_folder, lines) = rig.written();
    assert_eq!(of(&lines, "allowed", "operator").len(), 2000);
    let lost = of(&lines, "lost", "");
    assert!(matches!(lost.as_slice(), [lost] if lost["why"].to_string().contains("2952 lines")), "{lost:?}");
}

#[test]
fn what_is_not_written_is_told_though_nothing_else_comes() {
    let Rig { folder, audit, auditor } = Rig::new(1 << 20);
    let writing = std::thread::spawn(move || auditor.run());
    (0..50).for_each(|_| audit.request(request("thief", "topic a", Some("no right"))));
    let begun = Instant::now();
    let path = folder.path().join("audit.log");
    while !std::fs::read_to_string(&path).expect("a file").contains("more requests were denied") {
        assert!(begun.elapsed() < PATIENCE, "it is not told");
        std::thread::yield_now();
    }
    audit.end();
    writing.join().expect("it ends");
}

#[tokio::test]
async fn the_end_is_told_when_everything_is_written() {
    let Rig { folder: _folder, audit, auditor } = Rig::new(1 << 20);
    let writing = std::thread::spawn(move || auditor.run());
    audit.request(request("operator", "topic b delete", None));
    audit.end();
    tokio::time::timeout(PATIENCE, audit.written()).await.expect("written");
    writing.join().expect("it ends");
}

#[test]
fn long_texts_are_cut_off() {
    let rig = Rig::new(1 << 20);
    rig.audit.request(request("operator", &"ü".repeat(4000), None));
    let (_folder, lines) = rig.written();
    let about = lines.first().and_then(|line| line.get("about")).and_then(Value::as_str).expect("text");
    assert!(about.len() <= TEXT_BYTES_MAX + '…'.len_utf8() && about.ends_with("ü…"), "{about}");
}

#[test]
fn times_sort_as_text() {
    let times =
        [0, 120, 1_700_000_000_000, 1_700_000_000_001, 1_700_000_001_000].map(|at| super::at(Millis(at)));
    assert!(times.is_sorted() && times.iter().all(|time| time.len() == times[0].len()), "{times:?}");
}
