//! How a server process ends that is not asked politely: a second signal, a disk that takes no more.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use adjourn_protocol::{ErrorCode, PushResult, Request, Response, Subscribe};
use adjourn_types::JobId;
use rustix::fs::OFlags;
use rustix::process::Signal;

use crate::cluster::now;
use crate::server_rig::{Process, Raw, adjourn, hello, push, topic};

/// Starts `adjourn serve` where no file can grow beyond `file_kib`: a write that would is refused by the system, as
/// it is on a full disk.
fn with_small_files(data: &std::path::Path, file_kib: u64) -> Process {
    let serve = adjourn(&[]);
    let script = format!("trap '' XFSZ; ulimit -f {file_kib}; exec \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, "bash"]).arg(serve.get_program());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).stdin(Stdio::null());
    for (name, _) in serve.get_envs() {
        command.env_remove(name);
    }
    Process::spawn(command).expect("it listens")
}

#[test]
fn a_write_that_fails_ends_the_server_and_loses_nothing_acknowledged() {
    // The files of the journal fit, and the chunk of a checkpoint does not.
    const FILE_KIB: u64 = 10 << 10;
    const JOBS: u32 = 4000;
    let data = tempfile::tempdir().expect("a directory");
    let server = with_small_files(data.path(), FILE_KIB);
    let mut client = Raw::greeted(server.address);
    let mut acknowledged = BTreeSet::new();
    for number in 0..JOBS {
        let body = number.to_le_bytes().repeat(16 << 10);
        if client.send(&[push("full", body, 60_000)]).is_none() {
            break;
        }
        match client.receive() {
            Some((_, Response::Pushed(results))) => {
                let [PushResult::Pushed(id)] = results[..] else { panic!("{results:?}") };
                acknowledged.insert(id);
            }
            Some((_, other)) => panic!("{other:?}"),
            None => break,
        }
    }
    assert!((1..JOBS as usize).contains(&acknowledged.len()), "{} were acknowledged", acknowledged.len());
    assert_eq!(server.wait().code(), Some(8), "the disk failed");

    let server = Process::start(data.path(), &[]);
    let mut client = Raw::greeted(server.address);
    for id in acknowledged {
        assert!(is_there(&mut client, id), "{id} was acknowledged and is gone");
    }
    assert_eq!(server.terminate().code(), Some(0));
}

fn is_there(client: &mut Raw, id: JobId) -> bool {
    let got = client.ask(Request::Get(adjourn_protocol::JobRef::Id(id)));
    matches!(got, Response::Job(job) if job.id == id && job.body.len() == 64 << 10)
}

#[test]
fn a_second_signal_ends_a_server_that_waits_for_a_client_that_does_not_read() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &[]);
    // 24 MB of unread answers do not fit into the sockets' buffers: the stop waits for them.
    let mut deaf = Raw::greeted(server.address);
    deaf.send(&[Request::Subscribe(Subscribe {
        topics: vec![topic("big")],
        credit_jobs: 1000,
        credit_bytes: 256 << 20,
        weights: Vec::new(),
    })]);
    let mut client = Raw::greeted(server.address);
    for _ in 0..24 {
        assert!(matches!(client.ask(push("big", vec![1; 1_000_000], 0)), Response::Pushed(_)));
    }
    server.signal(Signal::TERM);
    assert!(matches!(client.receive(), Some((_, Response::GoingAway { .. }))), "the first was heard");
    server.signal(Signal::INT);
    assert_eq!(server.wait().code(), Some(130));
}

#[test]
fn a_stop_waits_for_no_audit_log_that_hangs() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("audit");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    // A pipe that is full, and that nobody reads.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("a flag");
    let mut pipe = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path).expect("a pipe");
    while pipe.write(&[b'\n'; 1024]).is_ok() {}
    let tokens = folder.path().join("tokens.toml");
    std::fs::write(&tokens, "").expect("written");
    let [tokens, audit] = [&tokens, &path].map(|path| path.to_str().expect("a path"));
    let mut server =
        Process::start(&folder.path().join("data"), &["--tokens-file", tokens, "--audit-log", audit]);
    for _ in 0..3 {
        let mut stranger = Raw::connect(server.address);
        stranger.send(&[Request::Hello(hello())]);
        assert_eq!(stranger.refusal().code, ErrorCode::Unauthenticated);
    }
    server.signal(Signal::TERM);
    let begun = now();
    let ended = loop {
        if let Some(status) = server.child.try_wait().expect("a child") {
            break status;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "it does not end");
    };
    assert_eq!(ended.code(), Some(0));
    drop(pipe);
}
