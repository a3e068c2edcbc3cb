//! The README's tour, typed word for word: what it shows is what the binary prints, but for numbers.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::cluster::free_port;
use super::server_rig::{Process, Raw, adjourn, push, topic};
use adjourn_protocol::{Request, Reserve, Response};

const README: &str = include_str!("../README.md");

/// The configurations of nodes that the README names.
const CONFIGURATIONS: [(&str, &str); 3] = [
    ("node1.toml", include_str!("../cluster/node1.toml")),
    ("node2.toml", include_str!("../cluster/node2.toml")),
    ("node3.toml", include_str!("../cluster/node3.toml")),
];

/// A command of the tour and the lines that stand below it.
pub(crate) struct Step<'a> {
    pub(crate) command: &'a str,
    pub(crate) shown: Vec<&'a str>,
}

/// What stands between a tour's marks.
fn tour(name: &str) -> &'static str {
    let (_, rest) = README.split_once(&format!("<!-- {name} -->")).expect("the tour begins");
    rest.split_once(&format!("<!-- /{name} -->")).expect("the tour ends").0
}

/// The commands for `adjourn` between a tour's marks.
fn steps(name: &str) -> Vec<Step<'static>> {
    let mut steps = typed(tour(name));
    steps.retain(|step| step.command.starts_with("adjourn "));
    steps
}

/// What is typed in a document's blocks of a console.
pub(crate) fn typed(text: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step> = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.starts_with("```") {
            in_block = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| in_block) {
            steps.push(Step { command, shown: Vec::new() });
        } else if let Some(step) = steps.last_mut().filter(|_| in_block) {
            step.shown.push(line);
        }
    }
    steps
}

/// The words of a command line, in which only single quotes mean something.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, piece) in command.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// A text without what differs from run to run: every number and every hash is 0, every gap one space.
pub(crate) fn shape(line: &str) -> String {
    let is_hash = |word: &str| word.len() == 32 && word.chars().all(|c| c.is_ascii_hexdigit());
    let words = line.split_whitespace().map(|word| if is_hash(word) { "0" } else { word });
    let mut shape = String::new();
    for character in words.collect::<Vec<_>>().join(" ").chars() {
        match character {
            '0'..='9' if shape.ends_with('0') => {}
            '0'..='9' => shape.push('0'),
            other => shape.push(other),
        }
    }
    // An uptime has seconds or not.
    shape.replace("0s 0ms", "0ms")
}

/// What the demo leaves behind: three jobs that are finished.
fn demo_was_here(server: &Process) {
    let mut client = Raw::greeted(server.address);
    for _ in 0..3 {
        assert!(matches!(client.ask(push("demo", "hello", 0)), Response::Pushed(_)));
        let reserve = Reserve { topics: vec![topic("demo")], jobs_max: 1, wait_ms: 0, weights: Vec::new() };
        let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("no job") };
        let leases = jobs.into_iter().map(|job| job.lease).collect();
        assert_eq!(client.ask(Request::Finish { leases }), Response::Settled(vec![Ok(())]));
    }
}

/// Types every command of a tour in `folder`, with `server` as the server, and compares what it prints.
fn type_all(name: &str, folder: &Path, server: &Process) {
    let steps = steps(name);
    assert!(steps.len() > 4, "only {} commands were found", steps.len());
    for Step { command, shown } in steps {
        let words = words(command);
        let arguments: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let mut typed: Command = adjourn(&arguments);
        typed.env("ADJOURN_SERVER", server.address.to_string()).current_dir(folder).stdin(Stdio::null());
        let output = typed.output().expect("the binary");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*errors), (Some(0), ""), "{command}");
        let printed = String::from_utf8(output.stdout).expect("text");
        let shapes = |lines: &mut dyn Iterator<Item = &str>| lines.map(shape).collect::<Vec<_>>();
        assert_eq!(shapes(&mut printed.lines()), shapes(&mut shown.into_iter()), "{command}");
    }
}

#[test]
fn the_tour_shows_what_is_printed() {
    let folder = tempfile::tempdir().expect("a directory");
    let server = Process::start(&folder.path().join("data"), &[]);
    demo_was_here(&server);
    type_all("tour", folder.path(), &server);
}

#[test]
fn the_tour_of_backups_shows_what_is_printed() {
    let folder = tempfile::tempdir().expect("a directory");
    let server = Process::start(&folder.path().join("data"), &[]);
    demo_was_here(&server);
    type_all("backups", folder.path(), &server);
}

/// The first block of this kind.
pub(crate) fn block<'a>(text: &'a str, kind: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("```{kind}\n")).expect("a block");
    rest.split_once("```").expect("its end").0
}

#[test]
fn a_cluster_with_tls_and_tokens_is_set_up_as_it_is_written() {
    let folder = tempfile::tempdir().expect("a directory");
    // Other tests have the usual ports.
    let ports: Vec<(&str, String)> = ["7440", "7441", "7450", "7451", "7460", "7461"]
        .map(|port| (port, free_port().port().to_string()))
        .into();
    let moved =
        |text: &str| ports.iter().fold(text.to_owned(), |text, (usual, own)| text.replace(usual, own));
    std::fs::create_dir(folder.path().join("cluster")).expect("created");
    for (name, text) in CONFIGURATIONS {
        std::fs::write(folder.path().join("cluster").join(name), moved(text)).expect("written");
    }
    let tour = tour("secure");
    let typed = format!("trap 'kill $(jobs -p); wait' EXIT\n{}", moved(block(tour, "sh")));
    let binaries = Path::new(env!("CARGO_BIN_EXE_adjourn")).parent().expect("a folder");
    let path = std::env::join_paths([binaries, Path::new("/usr/bin"), Path::new("/bin")]).expect("a path");
    let mut shell = Command::new("bash");
    shell.args(["-c", &typed]).env_clear().env("PATH", path).env("ADJOURN_LOG_LEVEL", "error");
    let output = shell.current_dir(folder.path()).stdin(Stdio::null()).output().expect("bash");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        printed.contains("node 2 is a member and votes\nnode 3 is a member and votes\n"),
        "{printed} {errors}"
    );
    assert!(printed.contains("\"body\":\"close order 17\""), "{printed} {errors}");
    assert!(errors.contains(block(tour, "text").trim_end()), "{errors}");
}

/// The blocks of a kind in a text.
fn blocks<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let begin = format!("```{kind}\n");
    text.split(&begin).skip(1).map(|rest| rest.split_once("```").expect("its end").0).collect()
}

#[test]
fn the_order_of_the_first_page_is_closed() {
    if Command::new("python3").arg("--version").output().is_err() {
        assert!(std::env::var_os("ADJOURN_SKIP_NOTHING").is_none(), "python3 is not installed");
        println!("skipped: python3 is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a directory");
    let server = Process::start(&folder.path().join("data"), &[]);
    let [producer, worker] = blocks(tour("orders"), "python")[..] else { panic!("a producer and a worker") };
    assert!(producer.contains("delay=30 * 60"), "half an hour");
    let python = |program: &str| {
        let program = program.replace("127.0.0.1:7440", &server.address.to_string()).replace("30 * 60", "0");
        let mut python = Command::new("python3");
        python.args(["-u", "-c", &program]).stdin(Stdio::null()).stdout(Stdio::piped());
        python.env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python/src"));
        python.spawn().expect("python3")
    };
    assert!(python(producer).wait().expect("it ends").success());
    let mut works = python(worker);
    let mut said = String::new();
    let mut output = BufReader::new(works.stdout.take().expect("piped"));
    output.read_line(&mut said).expect("a line");
    assert_eq!(said, "order 17 is closed\n");
    kill_process(Pid::from_child(&works), Signal::TERM).expect("signalled");
    assert!(works.wait().expect("it ends").success());
    let left = adjourn(&["count", "--server", &server.address.to_string()]).output().expect("the binary");
    assert_eq!(String::from_utf8_lossy(&left.stdout).trim(), "0", "the job is finished");
}
