//! A server, or a client, that is killed in the middle of a backup.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use adjourn_protocol::NewJob;
use adjourn_storage::Backup;

use super::super::server_rig::{Process, Raw, adjourn};
use super::{create, push_all, reserve, said, text};

/// So much comes through before the relay goes quiet: WELCOME, and some of the backup.
const PASSED_BYTES: usize = 3 << 20;

/// Stands between one client and a server, and stops passing on what the server says after a while.
struct Relay {
    address: SocketAddr,
    quiet: Receiver<()>,
    /// Dropped, it ends the relay.
    _hold: Sender<()>,
}

fn relay_to(server: SocketAddr) -> Relay {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (tell, quiet) = mpsc::channel();
    let (hold, done_with) = mpsc::channel::<()>();
    thread::spawn(move || {
        let (client, _) = listener.accept().expect("a client");
        let upstream = TcpStream::connect(server).expect("a server");
        let [mut from_client, mut to_client] = [client.try_clone().expect("two ends"), client];
        let [mut to_server, mut from_server] = [upstream.try_clone().expect("two ends"), upstream];
        thread::spawn(move || {
            let _ = std::io::copy(&mut from_client, &mut to_server);
        });
        let mut passed = 0;
        let mut buffer = vec![0; 64 << 10];
        while passed < PASSED_BYTES {
            let read = from_server.read(&mut buffer).unwrap_or(0);
            if read == 0 || to_client.write_all(buffer.get(..read).expect("as read")).is_err() {
                return;
            }
            passed += read;
        }
        tell.send(()).expect("the test listens");
        // Until the test is done with it.
        let _ = done_with.recv();
        for end in [to_client, from_server] {
            let _ = end.shutdown(Shutdown::Both);
        }
    });
    Relay { address, quiet, _hold: hold }
}

/// A server with some megabytes of jobs.
fn filled(data: &std::path::Path) -> Process {
    let server = Process::start(data, &[]);
    let mut client = Raw::greeted(server.address);
    for part in 0..8 {
        let jobs = (0..16).map(|nth| NewJob::new(vec![part * 16 + nth; 64 << 10]));
        push_all(&mut client, "large", jobs);
    }
    server
}

fn assert_usable(server: &Process, file: &std::path::Path) {
    create(server.address, file).verify(|_| {}).expect("whole");
    let mut client = Raw::greeted(server.address);
    let mut seen = 0;
    loop {
        let jobs = reserve(&mut client, "large", 64);
        if jobs.is_empty() {
            break;
        }
        assert!(jobs.iter().all(|(_, body)| body.len() == 64 << 10));
        seen += jobs.len();
    }
    assert_eq!(seen, 128);
}

#[test]
fn a_server_that_is_killed_leaves_no_backup_and_starts_again() {
    let folder = tempfile::tempdir().expect("a directory");
    let (data, file) = (folder.path().join("data"), folder.path().join("queue.backup"));
    let server = filled(&data);
    let line = relay_to(server.address);
    let address = line.address.to_string();
    let client = adjourn(&["backup", "create", text(&file), "--server", &address])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary");
    line.quiet.recv().expect("some of it came");
    server.kill();
    drop(line);
    let ended = said(&client.wait_with_output().expect("it ends"));
    let text_of_end = ended.with(4);
    assert!(text_of_end.contains("start again"), "{text_of_end}");
    let part = folder.path().join("queue.backup.part");
    assert!(!file.exists() && part.exists());
    Backup::open(&part).expect_err("not whole");

    let server = Process::start(&data, &[]);
    assert_usable(&server, &file);
    assert!(!part.exists(), "it became the backup");
}

#[test]
fn a_client_that_is_killed_leaves_nothing_behind_in_the_server() {
    let folder = tempfile::tempdir().expect("a directory");
    let (data, file) = (folder.path().join("data"), folder.path().join("queue.backup"));
    let server = filled(&data);
    let line = relay_to(server.address);
    let address = line.address.to_string();
    let mut client =
        adjourn(&["backup", "create", text(&file), "--server", &address]).spawn().expect("the binary");
    line.quiet.recv().expect("some of it came");
    client.kill().expect("killed");
    client.wait().expect("ended");
    drop(line);
    assert!(!file.exists() && folder.path().join("queue.backup.part").exists());
    assert_usable(&server, &file);
    let files = |process: &Process| fs::read_dir(format!("/proc/{}/fd", process.id())).map(Iterator::count);
    // Two backups later nothing of the first one is held open.
    if let Ok(before) = files(&server) {
        for _ in 0..3 {
            fs::remove_file(&file).expect("removed");
            create(server.address, &file);
        }
        assert!(files(&server).expect("as before") <= before + 4, "pins pile up");
    }
    assert!(server.terminate().success());
}
