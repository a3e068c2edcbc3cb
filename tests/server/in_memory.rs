//! A server in memory as a process: it touches no file, says where it listens, and does what a server does.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};

use adjourn_protocol::{Advance, Request, Reserve, Response};
use rustix::process::Signal;
use serde_json::Value;

use crate::http::Web;
use crate::server_rig::{Process, Raw, adjourn, push, topic};

/// The process, the addresses that it has printed, and its log.
struct InMemory {
    process: Process,
    ports: Value,
    log: Receiver<Value>,
}

impl InMemory {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = adjourn(&["serve", "--memory", "--listen", "127.0.0.1:0", "--log-format", "json"]);
        command.args(arguments).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary");
        let log = lines_of(&mut child);
        let mut printed = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut printed).expect("a line");
        let ports: Value = serde_json::from_str(&printed).expect("JSON");
        let address = ports["listen"].as_str().expect("an address").parse().expect("an address");
        Self { process: Process { child, address }, ports, log }
    }

    /// Waits until its log has a line with this message.
    fn await_line(&self, message: &str) {
        while self.log.recv().expect("it runs")["message"] != message {}
    }
}

/// The log of a process, which is read to its end.
fn lines_of(child: &mut Child) -> Receiver<Value> {
    let stderr = child.stderr.take().expect("piped");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            // The test may have ended.
            let _ = sender.send(serde_json::from_str(&line).unwrap_or_default());
        }
    });
    receiver
}

/// The files that a process has open, or has mapped, other than programs and libraries.
#[cfg(target_os = "linux")]
fn files_of(process: u32, below: &Path) -> Vec<std::path::PathBuf> {
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).expect("listed");
    let open = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    open.filter(|path| path.starts_with(below) || path.extension().is_some()).collect()
}

#[test]
fn it_needs_no_directory_and_writes_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["--clock", "manual", "--http-listen", "127.0.0.1:0"];
    let server = InMemory::start(folder.path(), &arguments);
    let mut client = Raw::greeted(server.process.address);
    client.ask(push("mails", "later", 900_000));
    client.ask(Request::Advance(Advance::By(900_000)));
    let reserve = Reserve { topics: vec![topic("mails")], jobs_max: 1, wait_ms: 0, weights: Vec::new() };
    let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("no answer") };
    assert_eq!(jobs.len(), 1);
    let http = server.ports["http_listen"].as_str().expect("an address").parse().expect("an address");
    assert_eq!(Web::connect(http).get("/readyz").status, 200);
    #[cfg(target_os = "linux")]
    assert_eq!(files_of(server.process.id(), folder.path()), Vec::<std::path::PathBuf>::new());
    drop(client);
    assert!(server.process.terminate().success());
    assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 0);
}

#[test]
fn it_ends_with_its_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = InMemory::start(folder.path(), &["--end-with-stdin"]);
    let mut client = Raw::greeted(server.process.address);
    let mut stdin = server.process.child.stdin.take().expect("piped");
    stdin.write_all(b"what is written changes nothing\n").expect("written");
    client.ask(push("mails", "later", 900_000));
    drop(stdin);
    assert!(server.process.child.wait().expect("waited").success());
}

#[test]
fn it_takes_checkpoints_and_keeps_jobs_in_them() {
    const JOBS: usize = 300;
    const HOURS_MS: u64 = 5 * 3_600_000;
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["--clock", "manual", "--checkpoint-log-bytes", "65536"];
    let server = InMemory::start(folder.path(), &arguments);
    let mut client = Raw::greeted(server.process.address);
    let body = |number: usize| format!("{number}:").repeat(2000);
    for number in 0..JOBS {
        client.ask(push("mails", body(number), HOURS_MS + number as u64));
        if number % 100 == 99 {
            server.await_line("checkpoint");
        }
    }
    client.ask(Request::Advance(Advance::By(HOURS_MS + JOBS as u64)));
    let mut bodies = Vec::new();
    while bodies.len() < JOBS {
        let reserve =
            Reserve { topics: vec![topic("mails")], jobs_max: 1024, wait_ms: 0, weights: Vec::new() };
        let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("no answer") };
        assert!(!jobs.is_empty(), "{} of {JOBS} are there", bodies.len());
        bodies.extend(jobs.into_iter().map(|job| job.body));
    }
    assert!(bodies.iter().enumerate().all(|(number, found)| *found == body(number)));
    let backup = client.ask(Request::BackupBegin);
    assert!(matches!(backup, Response::BackupReady(_)), "{backup:?}");
    server.process.signal(Signal::TERM);
}

#[test]
fn what_needs_a_disk_or_other_nodes_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |arguments: &[&str], words: &[&str]| {
        let mut command = adjourn(&["serve", "--listen", "127.0.0.1:0"]);
        let output = command.args(arguments).current_dir(folder.path()).output().expect("ended");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(words.iter().all(|word| text.contains(word)), "{arguments:?}: {text}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 0, "{arguments:?}");
    };
    refused(&["--clock", "manual"], &["--memory"]);
    refused(&["--memory", "--clock", "wall"], &["real or manual"]);
    for (flag, value) in [
        ("--data", "data"),
        ("--peer-listen", "127.0.0.1:0"),
        ("--peer-address", "127.0.0.1:7441"),
        ("--join", "127.0.0.1:7441"),
        ("--found", "true"),
        ("--audit-log", "audit.log"),
        ("--call-back-log-bytes", "1048576"),
        ("--disk-free-min-bytes", "0"),
        ("--peer-tls-cert", "node.pem"),
    ] {
        let key = flag.trim_start_matches("--").replace('-', "_");
        refused(&["--memory", flag, value], &["--memory", &key]);
    }
}
