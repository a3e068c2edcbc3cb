//! Jobs that leave and come: `adjourn export`, and `adjourn import` of it and of a real beanstalkd.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::commands::Rig;
use crate::cluster::free_port;
use crate::server_rig::{adjourn, unconfigured};

/// The jobs of a server, without what an import does not keep.
pub(super) fn jobs(rig: &Rig) -> Vec<Value> {
    let listed = rig.ok(&["list", "--json", "--bodies", "--all", "--order", "id"]);
    let jobs = listed.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let kept = |mut job: Value| {
        let fields = job.as_object_mut().expect("an object");
        for own in
            ["id", "attempts", "pushed", "reserved_first", "reserved_last", "edited", "held_by", "buried"]
        {
            fields.remove(own);
        }
        job
    };
    jobs.map(kept).collect()
}

/// A server with jobs of all kinds.
fn with_jobs() -> Rig {
    let rig = Rig::start();
    let push = |arguments: &[&str]| rig.ok(&[&["push"], arguments].concat());
    push(&[
        "orders",
        "close \u{e9}\n\"17\"",
        "--key",
        "17",
        "--delay",
        "1h",
        "--ttr",
        "90s",
        "--priority",
        "7",
    ]);
    push(&[
        "orders",
        "{\"a\":\n1}",
        "--header",
        "content-type=application/json",
        "--header",
        "x=1",
        "--header",
        "x=2",
    ]);
    push(&[
        "mails",
        "a",
        "--attempts-max",
        "3",
        "--backoff",
        "1s..1m~10%",
        "--group",
        "ann",
        "--remember",
        "1d",
    ]);
    push(&["mails", "b", "--expires", "2h"]);
    push(&["mails", "bad", "--key", "b1", "--attempts-max", "9", "--priority", "1"]);
    push(&["mails", "bad, too", "--priority", "2"]);
    for reason in ["no such address", ""] {
        let lease = rig.json(&["reserve", "mails"])["lease"].as_str().expect("a lease").to_owned();
        rig.ok(&["bury", &lease, "--reason", reason]);
    }
    rig
}

#[test]
fn each_line_of_an_export_is_taken_back() {
    let (from, to) = (with_jobs(), Rig::start());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("all.jsonl");
    let path = file.to_str().expect("text");
    let exported = from.ok(&["export"]);
    std::fs::write(&file, exported.clone() + "\n{\"topic\":\"bytes\",\"body_base64\":\"AP8A\"}\n")
        .expect("written");
    let counted = to.ok(&["import", "jsonl", path, "--dry-run"]);
    assert_eq!(
        counted,
        "bytes: 1 jobs to push, 0 of them to bury\nmails: 4 jobs to push, 2 of them to bury\norders: 2 jobs to push, 0 of them to bury\n"
    );
    assert!(jobs(&to).is_empty(), "a dry run");
    assert_eq!(
        to.ok(&["import", "jsonl", path]),
        "pushed 7 jobs, 2 of them buried; kept 0 that were there\n"
    );
    let again = to.ok(&["import", "jsonl", path]);
    assert!(again.starts_with("all 8 lines are imported already"), "{again}");
    let (mut there, here) = (jobs(&from), jobs(&to));
    there.push(here.last().expect("jobs").clone());
    assert_eq!(here.last().map(|job| &job["body_base64"]), Some(&json!("AP8A")));
    assert_eq!(there.len(), here.len());
    for (there, here) in there.iter().zip(&here) {
        assert_eq!(here, there);
    }
    assert_eq!(from.ok(&["export"]) + &to.ok(&["export", "--topic", "bytes"]), to.ok(&["export"]));
    assert_eq!(to.ok(&["export"]).lines().count(), 7);
}

#[test]
fn a_mistake_in_a_file_changes_nothing() {
    let rig = Rig::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wrong.jsonl");
    std::fs::write(
        &file,
        "{\"topic\":\"a\",\"body\":1}\n{\"body\":2}\n\n{\"topic\":\"a\",\"delay\":\"soon\"}\n[]\n",
    )
    .expect("written");
    let ended = rig.run(&["import", "jsonl", file.to_str().expect("text")], b"");
    assert_eq!(ended.code, Some(2), "{}", ended.errors);
    for told in ["nothing was pushed, 3 lines are wrong", "line 2: /topic", "line 4: /delay", "line 5:"] {
        assert!(ended.errors.contains(told), "{told}: {}", ended.errors);
    }
    assert!(jobs(&rig).is_empty());
    let missing = rig.run(&["import", "jsonl", "/nowhere"], b"");
    assert_eq!(missing.code, Some(2));
}

#[test]
fn lines_that_the_queue_refuses_are_kept() {
    let rig = Rig::start();
    rig.ok(&["topic", "set", "full", "--jobs-max", "1"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("jobs.jsonl");
    let line = |topic: &str, body: u32| format!("{{\"topic\":\"{topic}\",\"body\":\"{body}\"}}\n");
    let large = line("free", 5).replace('5', &"5".repeat(2 << 20));
    let lines =
        [line("full", 1), line("full", 2), line("free", 3), large.clone(), line("free", 6), line("full", 4)];
    std::fs::write(&file, lines.concat()).expect("written");
    let path = file.to_str().expect("text");
    let ended = rig.run(&["import", "jsonl", path], b"");
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (Some(1), "pushed 3 jobs, 0 of them buried; kept 0 that were there\n")
    );
    assert!(
        ended.errors.contains("refused 3 jobs") && ended.errors.contains("line 4: TOO_LARGE"),
        "{}",
        ended.errors
    );
    let refused = format!("{path}.refused");
    assert_eq!(
        std::fs::read_to_string(&refused).expect("lines"),
        line("full", 2) + &large + &line("full", 4)
    );
    assert!(rig.ok(&["import", "jsonl", path]).starts_with("all 6 lines are imported already"));
    rig.ok(&["topic", "set", "full", "--jobs-max", "none"]);
    let again = rig.run(&["import", "jsonl", &refused], b"");
    assert!(again.out.starts_with("pushed 2 jobs"), "{}", again.out);
    assert_eq!(jobs(&rig).len(), 5);
}

#[test]
fn a_delay_beyond_what_the_queue_takes_stays_in_beanstalkd() {
    let Some(beanstalkd) = Beanstalkd::start() else { return };
    let rig = Rig::start();
    beanstalkd.say("put 1 400000000 60 1\r\na\r\nput 1 0 60 1\r\nb\r\n");
    let ended = rig.run(&["import", "beanstalkd", &beanstalkd.address], b"");
    assert_eq!((ended.code, ended.out.as_str()), (Some(3), "took over 1 jobs, 0 of them buried\n"));
    assert!(
        ended.errors.contains("default: jobs whose delay is longer than ten years stay"),
        "{}",
        ended.errors
    );
    assert_eq!(jobs(&rig).len(), 1);
    assert!(beanstalkd.say("peek 1\r\n").starts_with("FOUND 1 1"));
}

#[test]
fn an_import_that_is_killed_goes_on_and_pushes_nothing_twice() {
    const JOBS: usize = 6000;
    let rig = Rig::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("many.jsonl");
    let lines = (0..JOBS).map(|nth| {
        let buried = if nth % 1500 == 7 { ",\"buried\":\"why\"" } else { "" };
        format!("{{\"topic\":\"t{}\",\"body\":\"{nth}\"{buried}}}\n", nth / 700)
    });
    std::fs::write(&file, lines.collect::<Vec<_>>().concat()).expect("written");
    let arguments = ["import", "jsonl", file.to_str().expect("text")];
    killed_until_done(&rig, &arguments, Duration::from_millis(60));
    let all = jobs(&rig);
    let mut bodies: Vec<usize> = all
        .iter()
        .map(|job| job["body"].as_str().and_then(|body| body.parse().ok()).expect("a number"))
        .collect();
    bodies.sort_unstable();
    assert_eq!(bodies, (0..JOBS).collect::<Vec<_>>(), "each once");
    let buried: Vec<&Value> = all.iter().filter(|job| job["state"] == "buried").collect();
    assert_eq!(buried.len(), 4);
    assert!(buried.iter().all(|job| job["reason"] == "why" && job["attempts_max"] != 1), "{buried:?}");
}

/// Runs a command again and again, and kills each a little later than the one before, until one ends by itself. Returns how many were killed.
pub(super) fn killed_until_done(rig: &Rig, arguments: &[&str], step: Duration) -> usize {
    let (mut wait, mut kills) = (Duration::from_millis(20), 0);
    loop {
        let mut command = adjourn(arguments);
        command.env("ADJOURN_SERVER", rig.server()).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary");
        if ends_within(&mut child, wait) {
            let output = child.wait_with_output().expect("ended");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            return kills;
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
        kills += 1;
        wait += step;
    }
}

/// Whether a process ends by itself within this time.
fn ends_within(child: &mut Child, time: Duration) -> bool {
    let by = tokio::time::Instant::now() + time;
    while tokio::time::Instant::now() < by {
        if child.try_wait().expect("asked").is_some() {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

/// The page that says how to move here.
pub(super) const GUIDE: &str = include_str!("../../docs/migrate.md");

#[test]
fn the_guide_is_typed_as_it_stands() {
    let (rig, folder) = (Rig::start(), tempfile::tempdir().expect("a folder"));
    let binaries = std::path::Path::new(env!("CARGO_BIN_EXE_adjourn")).parent().expect("a folder").to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binaries).chain(std::env::split_paths(&others)))
        .expect("a path");
    let block =
        GUIDE.split("```console\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    for step in block.split("$ ").skip(1) {
        let (command, shown) = step.split_once('\n').expect("a command");
        let mut shell = unconfigured("sh");
        shell.env("PATH", &path).env("ADJOURN_SERVER", rig.server()).current_dir(folder.path());
        let output = shell.args(["-c", command]).output().expect("a shell");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), shown, "{command}");
    }
    let Some(beanstalkd) = Beanstalkd::start() else { return };
    beanstalkd.say("put 1 0 60 1\r\na\r\n");
    for command in GUIDE.lines().map(str::trim).filter(|line| line.starts_with("adjourn import beanstalkd")) {
        let command = command.replace("127.0.0.1:11300", &beanstalkd.address);
        let told = rig.ok(&command.split(' ').skip(1).collect::<Vec<_>>());
        assert!(told.contains("default: 1 ready") || told.starts_with("took over 1 jobs"), "{told}");
    }
    assert_eq!(jobs(&rig).len(), 2);
}

/// The process of another queue, which ends with the test.
pub(super) struct OtherQueue(Child);

impl OtherQueue {
    /// Starts one that listens at this address; `None` if it is not installed.
    pub(super) fn start(command: &mut Command, address: SocketAddr) -> Option<Self> {
        let Ok(process) = command.stdout(Stdio::null()).spawn() else {
            let program = command.get_program().display();
            assert!(std::env::var_os("ADJOURN_SKIP_NOTHING").is_none(), "{program} is not installed");
            println!("skipped: {program} is not installed");
            return None;
        };
        while TcpStream::connect(address).is_err() {}
        Some(Self(process))
    }
}

impl Drop for OtherQueue {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A real beanstalkd.
struct Beanstalkd {
    _process: OtherQueue,
    address: String,
}

impl Beanstalkd {
    /// Starts one; `None` if it is not installed.
    fn start() -> Option<Self> {
        let address = free_port();
        let mut command = Command::new("beanstalkd");
        command.args(["-l", "127.0.0.1", "-p", &address.port().to_string()]);
        Some(Self { _process: OtherQueue::start(&mut command, address)?, address: address.to_string() })
    }

    /// Sends commands, and returns the replies.
    fn say(&self, commands: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("connected");
        stream.write_all(format!("{commands}quit\r\n").as_bytes()).expect("sent");
        let mut replies = String::new();
        stream.read_to_string(&mut replies).expect("replies");
        replies
    }
}

#[test]
fn the_tubes_of_beanstalkd_are_emptied() {
    let Some(beanstalkd) = Beanstalkd::start() else { return };
    let rig = Rig::start();
    let put = |arguments: &str, body: &str| format!("put {arguments} {}\r\n{body}\r\n", body.len());
    let set = ["use mails\r\n", "watch mails\r\n", "ignore default\r\n"].concat()
        + &put("5 0 30", "bad")
        + "reserve-with-timeout 0\r\nbury 1 6\r\n"
        + &put("9 0 60", "third")
        + &put("1 0 60", "first")
        + &put("1 0 60", "second")
        + &put("7 3600 90", "later")
        + "use orders\r\n"
        + &put("0 0 1", "o");
    let replies = beanstalkd.say(&set);
    assert!(replies.contains("BURIED") && replies.contains("INSERTED 6"), "{replies}");
    // One that a worker has.
    let mut worker = TcpStream::connect(&beanstalkd.address).expect("connected");
    let mut reader = BufReader::new(worker.try_clone().expect("cloned"));
    worker.write_all((put("3 0 600", "held") + "reserve-with-timeout 0\r\n").as_bytes()).expect("sent");
    let mut line = String::new();
    for _ in 0..2 {
        line.clear();
        reader.read_line(&mut line).expect("a reply");
    }
    assert!(line.starts_with("RESERVED "), "{line}");
    let counted = rig.ok(&["import", "beanstalkd", &beanstalkd.address, "--dry-run"]);
    let mails = "mails: 3 ready, 1 delayed, 1 buried; 0 reserved by workers, which stay\n";
    assert!(counted.contains(mails) && counted.contains("1 reserved by workers"), "{counted}");
    let only = rig.ok(&["import", "beanstalkd", &beanstalkd.address, "--tube", "mails"]);
    assert_eq!(only, "took over 5 jobs, 1 of them buried\n");
    let rest = rig.run(&["import", "beanstalkd", &beanstalkd.address], b"");
    assert_eq!(
        (rest.code, rest.out.as_str()),
        (Some(3), "took over 1 jobs, 0 of them buried\n"),
        "{}",
        rest.errors
    );
    assert!(rest.errors.contains("1 jobs are reserved by workers and stay"), "{}", rest.errors);
    worker.write_all(b"release 7 3 0\r\n").expect("sent");
    line.clear();
    // The rest of the reserved job, and the reply.
    for _ in 0..2 {
        reader.read_line(&mut line).expect("a reply");
    }
    assert!(line.ends_with("RELEASED\r\n"), "{line}");
    assert_eq!(
        rig.ok(&["import", "beanstalkd", &beanstalkd.address]),
        "took over 1 jobs, 0 of them buried\n"
    );
    let left = beanstalkd.say("stats\r\n");
    assert!(left.contains("current-jobs-ready: 0\ncurrent-jobs-reserved: 0\ncurrent-jobs-delayed: 0\ncurrent-jobs-buried: 0\n"), "{left}");
    let unknown = rig.run(&["import", "beanstalkd", &beanstalkd.address, "--tube", "nothing"], b"");
    assert_eq!(unknown.code, Some(2), "{}", unknown.errors);

    assert_taken_over(&rig);
}

/// The jobs of that test are here as they were there.
fn assert_taken_over(rig: &Rig) {
    let all = jobs(rig);
    let of =
        |body: &str| all.iter().find(|job| job["body"] == body).unwrap_or_else(|| panic!("{body}: {all:?}"));
    assert_eq!(all.len(), 7);
    let bad = of("bad");
    assert_eq!(
        (&bad["state"], &bad["priority"], &bad["ttr_ms"]),
        (&json!("buried"), &json!(6), &json!(30_000))
    );
    let later = of("later");
    assert_eq!(
        (&later["state"], &later["priority"], &later["ttr_ms"]),
        (&json!("delayed"), &json!(7), &json!(90_000))
    );
    assert_eq!((&of("o")["topic"], &of("held")["topic"]), (&json!("orders"), &json!("default")));
    let order: Vec<Value> = (0..3).map(|_| rig.json(&["reserve", "mails"])["body"].clone()).collect();
    assert_eq!(order, ["first", "second", "third"]);
}

#[test]
fn an_import_of_beanstalkd_that_is_killed_takes_nothing_twice() {
    const JOBS: usize = 600;
    let Some(beanstalkd) = Beanstalkd::start() else { return };
    let rig = Rig::start();
    let puts: Vec<String> = (0..JOBS)
        .map(|nth| format!("put {nth} {} 60 3\r\n{nth:03}\r\n", if nth % 3 == 0 { 3600 } else { 0 }))
        .collect();
    beanstalkd.say(&puts.concat());
    let kills =
        killed_until_done(&rig, &["import", "beanstalkd", &beanstalkd.address], Duration::from_millis(50));
    assert!(kills > 0, "one was killed");
    let mut bodies: Vec<String> =
        jobs(&rig).iter().map(|job| job["body"].as_str().expect("text").to_owned()).collect();
    bodies.sort_unstable();
    assert_eq!(bodies, (0..JOBS).map(|nth| format!("{nth:03}")).collect::<Vec<_>>(), "each once");
}
