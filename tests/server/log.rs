//! A log that cannot be written costs lines, never the node.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use adjourn_protocol::Response;
use serde_json::Value;

use crate::cluster::free_port;
use crate::server_rig::{Process, Raw, adjourn, push};

/// Connections whose lines at level debug do not fit into a pipe.
const MANY: usize = 1000;
/// The same for a pipe and the lines that a node keeps for it.
const TOO_MANY: usize = 8000;

fn serve(data: &Path, listen: &str) -> Command {
    let mut command = adjourn(&["serve", "--listen", listen, "--log-format", "json", "--log-level", "debug"]);
    command.arg("--data").arg(data);
    command
}

/// A node whose log this test reads itself.
fn with_pipe(data: &Path) -> (Process, BufReader<ChildStderr>) {
    let mut child = serve(data, "127.0.0.1:0").stderr(Stdio::piped()).spawn().expect("the binary");
    let mut log = BufReader::new(child.stderr.take().expect("piped"));
    let listening = await_line(&mut log, |event| event["message"] == "listening");
    let address = listening["address"].as_str().and_then(|address| address.parse().ok()).expect("an address");
    (Process { child, address }, log)
}

/// Reads the log up to such a line. Every line is whole.
pub(crate) fn await_line(log: &mut BufReader<ChildStderr>, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(log.read_line(&mut line).expect("a line") > 0, "the log has ended");
        let event = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no whole line: {line}"));
        if is_wanted(&event) {
            return event;
        }
    }
}

/// Clients come and go, and one stays: each makes the node log something.
fn clients(address: SocketAddr, count: usize) {
    let mut stays = Raw::greeted(address);
    for number in 0..count {
        drop(Raw::connect(address));
        if number % 100 == 0 {
            assert!(matches!(stays.ask(push("log", "job", 0)), Response::Pushed(_)));
        }
    }
    assert!(matches!(Raw::greeted(address).ask(push("log", "job", 0)), Response::Pushed(_)));
}

#[test]
fn a_node_outlives_the_reader_of_its_log() {
    let data = tempfile::tempdir().expect("a directory");
    let (server, log) = with_pipe(data.path());
    drop(log);
    clients(server.address, MANY);
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn a_node_does_not_wait_for_a_log_that_is_not_read_and_tells_what_was_lost() {
    let data = tempfile::tempdir().expect("a directory");
    let (server, mut log) = with_pipe(data.path());
    clients(server.address, TOO_MANY);
    let told = await_line(&mut log, |event| event["lines_lost"].is_u64());
    assert!(told["lines_lost"].as_u64() > Some(0), "{told}");
    clients(server.address, TOO_MANY);
    let more = await_line(&mut log, |event| event["lines_lost"].is_u64());
    assert!(more["lines_lost"].as_u64() > told["lines_lost"].as_u64(), "it counts from the start: {more}");
    // Its end does not wait for a reader, either.
    clients(server.address, MANY);
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn a_node_starts_and_serves_although_its_log_finds_a_full_disk() {
    let data = tempfile::tempdir().expect("a directory");
    let full = OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let address = free_port();
    let child = serve(data.path(), &address.to_string()).stderr(full).spawn().expect("the binary");
    let mut server = Process { child, address };
    await_port(&mut server.child, address);
    clients(address, MANY);
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn a_demo_serves_on_although_its_terminal_is_gone() {
    let data = tempfile::tempdir().expect("a directory");
    let address = free_port();
    let mut command = adjourn(&["demo", "--listen", &address.to_string()]);
    let mut child = command
        .arg("--data")
        .arg(data.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary");
    drop((child.stdout.take(), child.stderr.take()));
    let mut server = Process { child, address };
    await_port(&mut server.child, address);
    clients(address, MANY);
    assert_eq!(server.terminate().code(), Some(0));
}

/// Waits until a process listens; fails if it ends.
fn await_port(child: &mut Child, address: SocketAddr) {
    while Raw::try_connect(address).is_none() {
        assert_eq!(child.try_wait().expect("a child"), None, "it has ended");
        std::thread::yield_now();
    }
}
