//! A process may open only so many files: connections never take those that storage needs.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use adjourn_protocol::{Count, ErrorCode, Request, Response};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::server_rig::{Process, Raw, adjourn, hello, push};

/// Runs `adjourn serve` where the process may open this many files: at first, and at most.
fn serve(data: &Path, files: (u32, u32), arguments: &[&str]) -> Result<Process, (Option<i32>, String)> {
    let serve = adjourn(&[]);
    let (soft, hard) = files;
    let script = format!("ulimit -Sn {soft} && ulimit -Hn {hard} && exec \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, "bash"]).arg(serve.get_program());
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .args(arguments)
        .stdin(Stdio::null());
    for (name, _) in serve.get_envs() {
        command.env_remove(name);
    }
    Process::spawn(command)
}

/// Connects from this address of the loopback, and says nothing.
fn silent(from: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let SocketAddr::V4(to) = to else { panic!("{to}") };
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &SocketAddrV4::new(from, 0)).expect("bound");
    connect(&socket, &to).expect("connected");
    TcpStream::from(socket)
}

#[test]
fn connections_leave_storage_the_files_that_it_needs() {
    const FILES: u32 = 1024;
    const SILENT: usize = 1100;
    const JOBS_MAX: u64 = 20_000;
    const CHECKPOINTS: usize = 5;
    // This process has the other end of each connection.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("raised");
    let data = tempfile::tempdir().expect("a directory");
    // Connections that say nothing stay for as long as this lasts.
    let patient =
        ["--frame-deadline-ms", "600000", "--heartbeat-ms", "200000", "--session-grace-ms", "600000"];
    let arguments = [&patient[..], &["--checkpoint-log-bytes", "65536"]].concat();
    let server = serve(data.path(), (FILES, FILES), &arguments).expect("it listens");
    let mut client = Raw::greeted(server.address);
    // Clients that were let in and do nothing, until no more are.
    let mut idle = Vec::new();
    loop {
        let mut one = Raw::connect(server.address);
        one.send(&[Request::Hello(hello())]);
        match one.receive() {
            Some((_, Response::Welcome(_))) => idle.push(one),
            Some((_, Response::Error(refused))) => {
                assert_eq!(refused.code, ErrorCode::Busy);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!((100..FILES as usize / 2).contains(&idle.len()), "{} were let in", idle.len());
    let sources = [2, 3, 4, 5].map(|last| Ipv4Addr::new(127, 0, 0, last));
    let silent: Vec<TcpStream> =
        sources.iter().cycle().take(SILENT).map(|from| silent(*from, server.address)).collect();
    // Each checkpoint opens files, and so does a journal that grows.
    let manifest = || std::fs::metadata(data.path().join("chunks/manifest")).map_or(0, |found| found.ino());
    let (mut seen, mut checkpoints, mut jobs) = (manifest(), 0, 0_u64);
    while checkpoints < CHECKPOINTS {
        assert!(jobs < JOBS_MAX, "{checkpoints} checkpoints after {jobs} jobs");
        assert!(matches!(client.ask(push("files", vec![1; 16 << 10], 7_200_000)), Response::Pushed(_)));
        jobs += 1;
        if manifest() != seen {
            (seen, checkpoints) = (manifest(), checkpoints + 1);
        }
    }
    assert!(idle.iter_mut().all(Raw::is_alive), "those that were let in stay");
    drop((silent, idle));
    assert_eq!(server.terminate().code(), Some(0));
    let server = Process::start(data.path(), &[]);
    let counted = Raw::greeted(server.address).ask(Request::Count(Count::default()));
    assert!(matches!(counted, Response::Counted { jobs: found, .. } if found == jobs), "{counted:?}");
}

#[test]
fn too_few_files_are_an_error_at_the_start_that_says_what_to_do() {
    let data = tempfile::tempdir().expect("a directory");
    let (code, log) = serve(data.path(), (300, 300), &[]).err().expect("it does not start");
    assert_eq!(code, Some(2), "{log}");
    assert!(log.contains("may open 300 files, and a server needs 832"), "{log}");
    assert!(log.contains("LimitNOFILE"), "{log}");
    assert!(!data.path().join("identity").exists(), "nothing was founded");
}

#[test]
fn a_server_raises_its_limit_as_far_as_it_may() {
    let data = tempfile::tempdir().expect("a directory");
    let server = serve(data.path(), (256, 4096), &[]).expect("it listens");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.id())).expect("limits");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    assert_eq!(files.split_whitespace().skip(3).take(2).collect::<Vec<_>>(), ["4096", "4096"], "{files}");
    assert_eq!(server.terminate().code(), Some(0));
}
