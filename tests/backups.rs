//! Backups of a real server: their content, the restored queue, and what happens on both sides when one dies.
//!
//! `damage` breaks backups byte by byte, `inspection` looks at data directories.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

mod damage;
mod dying;
mod inspection;
mod restoring;
mod streams;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Output;

use adjourn_protocol::{
    BackupReady, JobRef, NewJob, Push, PushResult, Request, Reserve, Response, StatsReport,
};
use adjourn_storage::Backup;
use adjourn_storage::backup_file::{FOOTER_BYTES, footer};
use adjourn_types::{JobId, Key, Lease, When};
use bytes::Bytes;

use super::server_rig::{Node, Raw, adjourn, topic};
use crate::storage::formats::frozen;

/// So far ahead that a checkpoint takes the job out of memory.
const FAR_MS: u64 = 30 * 86_400_000;

/// What a command said, and how it ended.
struct Said {
    code: Option<i32>,
    text: String,
}

/// Runs a command to its end.
fn run(arguments: &[&str]) -> Said {
    said(&adjourn(arguments).output().expect("the binary"))
}

fn said(output: &Output) -> Said {
    let text = String::from_utf8([&output.stdout[..], &output.stderr].concat()).expect("text");
    Said { code: output.status.code(), text }
}

impl Said {
    /// Its text, of a command that had to succeed.
    fn well(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.text);
        self.text
    }

    /// Its text, of a command that had to end with this code.
    fn with(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}", self.text);
        self.text
    }
}

/// A path as an argument.
fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

/// Takes a backup with the command line.
fn create(address: SocketAddr, file: &Path) -> Backup {
    run(&["backup", "create", text(file), "--server", &address.to_string()]).well();
    Backup::open(file).expect("a backup")
}

/// Takes a backup over a connection that stays, so that nothing happens to the queue before or behind it.
fn download(client: &mut Raw, file: &Path) -> BackupReady {
    let Response::BackupReady(ready) = client.ask(Request::BackupBegin) else { panic!("no backup") };
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < ready.bytes {
        let read = Request::BackupRead { offset: bytes.len() as u64, bytes: 10_000 };
        let Response::BackupData(data) = client.ask(read) else { panic!("no data") };
        assert!(!data.is_empty(), "less than was said");
        bytes.extend_from_slice(&data);
    }
    let footer = footer(xxhash_rust::xxh3::xxh3_128(&bytes), ready.bytes + FOOTER_BYTES);
    std::fs::write(file, [&bytes[..], &footer].concat()).expect("written");
    ready
}

/// Pushes jobs to a topic, all with the same delay, and returns their ids.
fn push_all(client: &mut Raw, name: &str, jobs: impl IntoIterator<Item = NewJob>) -> Vec<JobId> {
    let push = Push { topic: topic(name), sequence: 0, jobs: jobs.into_iter().collect(), idempotency: None };
    let Response::Pushed(results) = client.ask(Request::Push(push)) else { panic!("not pushed") };
    let id = |result| match result {
        PushResult::Pushed(id) => id,
        other => panic!("{other:?}"),
    };
    results.into_iter().map(id).collect()
}

/// Reserves up to `jobs_max` ready jobs.
fn reserve(client: &mut Raw, name: &str, jobs_max: u32) -> Vec<(Lease, Bytes)> {
    let reserve = Reserve { topics: vec![topic(name)], jobs_max, wait_ms: 0, weights: Vec::new() };
    let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("no jobs") };
    jobs.into_iter().map(|job| (job.lease, job.body)).collect()
}

fn finish(client: &mut Raw, leases: Vec<Lease>) {
    let Response::Settled(results) = client.ask(Request::Finish { leases }) else { panic!("not settled") };
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

fn stats(client: &mut Raw) -> StatsReport {
    let Response::Stats(stats) = client.ask(Request::Stats) else { panic!("no stats") };
    *stats
}

/// Jobs of every kind, resident and spilled, with and without keys; some reserved, buried or finished. Returns what lives: body
/// by id.
fn fill(client: &mut Raw) -> BTreeMap<JobId, Bytes> {
    let mut live = BTreeMap::new();
    for (name, delay_ms) in [("ready", 0), ("soon", 600_000), ("far", FAR_MS)] {
        let body = |nth: usize| Bytes::from(format!("{name} {nth} ").repeat(1 + nth % 40));
        let key = |nth: usize| Key::new(format!("key {nth}").into()).expect("a key");
        let job = |nth: usize| {
            let job = NewJob::new(body(nth)).after(delay_ms * (1000 + nth as u64) / 1000);
            if nth.is_multiple_of(3) { job.key(key(nth)) } else { job }
        };
        let ids = push_all(client, name, (0..120).map(job));
        live.extend(ids.into_iter().enumerate().map(|(nth, id)| (id, body(nth))));
    }
    let leases: Vec<Lease> = reserve(client, "ready", 30).into_iter().map(|(lease, _)| lease).collect();
    let (buried, rest) = leases.split_at(10);
    let (finished, _held) = rest.split_at(10.min(rest.len()));
    client.ask(Request::Bury { leases: buried.to_vec(), reason: None });
    finish(client, finished.to_vec());
    for lease in finished {
        live.remove(&lease.job);
    }
    live
}

/// A backup of a queue with jobs of every kind, and how the queue stood.
struct Sample {
    _folder: tempfile::TempDir,
    file: PathBuf,
    stats: StatsReport,
    live: BTreeMap<JobId, Bytes>,
}

fn sample() -> Sample {
    let folder = tempfile::tempdir().expect("a directory");
    let node = Node::start(&folder.path().join("data"), |_| {});
    let mut client = Raw::greeted(node.address);
    let mut live = fill(&mut client);
    // The first one spills jobs and leaves a chunk behind; of the second one they are the old part.
    let file = folder.path().join("queue.backup");
    create(node.address, &file);
    let more = push_all(&mut client, "soon", [NewJob::new("one more").after(600_000)]);
    live.extend(more.into_iter().map(|id| (id, Bytes::from("one more"))));
    let ready = download(&mut client, &file);
    let stats = stats(&mut client);
    let said = (ready.index, ready.state_hash, ready.jobs);
    assert_eq!(said, (stats.applied_index, stats.state_hash, live.len() as u64), "nothing else happened");
    drop(client);
    node.stop();
    Sample { _folder: folder, file, stats, live }
}

#[test]
fn a_backup_is_the_state_of_the_queue_and_says_so() {
    let sample = sample();
    let backup = Backup::open(&sample.file).expect("a backup");
    let header = backup.header();
    assert_eq!(
        (header.jobs, header.files),
        (sample.live.len() as u64, 7),
        "manifest, four pages, two chunks"
    );
    assert_eq!((header.index, header.state_hash), (sample.stats.applied_index, sample.stats.state_hash));
    backup.verify(|_| {}).expect("whole");
    let verified = run(&["backup", "verify", text(&sample.file)]).well();
    assert!(verified.contains(&format!("{:032x}", header.state_hash)), "{verified}");

    let json = run(&["backup", "inspect", text(&sample.file), "--json"]).well();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["checkpoint"]["jobs"], header.jobs);
    assert_eq!(json["checkpoint"]["topics"]["far"]["delayed"], 120);
    assert_eq!(json["checkpoint"]["topics"]["ready"]["buried"], 10);
    assert_eq!(json["bytes"], std::fs::metadata(&sample.file).expect("there").len());
    let shown = run(&["backup", "inspect", text(&sample.file)]).well();
    assert!(shown.contains("chunk-00000002") && shown.contains("soon"), "{shown}");
}

#[test]
fn a_backup_in_its_format_is_read() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("old.backup");
    let bytes = frozen("backup-v1.bin", || {
        let node = Node::start(&folder.path().join("data"), |_| {});
        let mut client = Raw::greeted(node.address);
        let key = Key::new(Bytes::from_static(b"a key")).expect("a key");
        push_all(&mut client, "ready", [NewJob::new("now").key(key)]);
        push_all(&mut client, "soon", [NewJob::new("in ten minutes").after(600_000)]);
        push_all(&mut client, "far", vec![NewJob::new("in a month").after(FAR_MS); 2]);
        download(&mut client, &file);
        node.stop();
        std::fs::read(&file).expect("written")
    });
    std::fs::write(&file, bytes).expect("written");
    let backup = Backup::open(&file).expect("a backup");
    backup.verify(|_| {}).expect("whole");
    let topics: Vec<(String, u64, u64)> = backup
        .checkpoint()
        .topics
        .into_iter()
        .map(|topic| (topic.name.to_string(), topic.delayed, topic.ready))
        .collect();
    let expected = [("ready", 0, 1), ("soon", 1, 0), ("far", 2, 0)];
    assert_eq!(topics, expected.map(|(name, delayed, ready)| (name.to_owned(), delayed, ready)));
    let data = folder.path().join("restored");
    run(&["restore", text(&file), "--data", text(&data)]).well();
    let node = Node::start(&data, |_| {});
    let mut client = Raw::greeted(node.address);
    assert_eq!(
        reserve(&mut client, "ready", 9).into_iter().map(|taken| taken.1).collect::<Vec<_>>(),
        ["now"]
    );
    node.stop();
}

#[test]
fn every_row_that_counts_as_live_is_somebodys() {
    let folder = tempfile::tempdir().expect("a directory");
    let node = Node::start(&folder.path().join("data"), |_| {});
    let mut client = Raw::greeted(node.address);
    let ids = push_all(&mut client, "soon", vec![NewJob::new("x").after(600_000); 9]);
    let live = |client: &mut Raw| -> u32 {
        let file = folder.path().join("queue.backup");
        download(client, &file);
        let backup = Backup::open(&file).expect("a backup");
        backup.verify(|_| {}).expect("whole");
        backup.checkpoint().chunks.iter().map(|chunk| chunk.live).sum()
    };
    assert_eq!(live(&mut client), 9);
    // They are in a chunk, and spilled: they are written once more.
    for id in &ids[..3] {
        let due = When::After(FAR_MS);
        client.ask(Request::Reschedule { job: JobRef::Id(*id), due, if_version: None });
    }
    assert_eq!(live(&mut client), 9);
    assert_eq!(live(&mut client), 9);
    node.stop();
}

#[test]
fn a_file_is_replaced_on_purpose_only() {
    let folder = tempfile::tempdir().expect("a directory");
    let node = Node::start(&folder.path().join("data"), |_| {});
    let (address, file) = (node.address.to_string(), folder.path().join("queue.backup"));
    std::fs::write(&file, "precious").expect("written");
    let refused = run(&["backup", "create", text(&file), "--server", &address]).with(1);
    assert!(refused.contains("--force"), "{refused}");
    assert_eq!(std::fs::read(&file).expect("there"), b"precious");
    run(&["backup", "create", text(&file), "--server", &address, "--force"]).well();
    Backup::open(&file).expect("a backup").verify(|_| {}).expect("whole");
    node.stop();
}

#[test]
fn a_backup_belongs_to_its_connection() {
    let folder = tempfile::tempdir().expect("a directory");
    let node = Node::start(folder.path(), |_| {});
    let (mut one, mut other) = (Raw::greeted(node.address), Raw::greeted(node.address));
    let read = |offset, bytes| Request::BackupRead { offset, bytes };
    assert!(matches!(one.ask(read(0, 8)), Response::Error(error) if error.code.name() == "NOT_FOUND"));
    let Response::BackupReady(ready) = one.ask(Request::BackupBegin) else { panic!("no backup") };
    assert_eq!(one.ask(read(0, 8)), Response::BackupData(Bytes::from_static(b"ADJBCKUP")));
    assert!(matches!(other.ask(read(0, 8)), Response::Error(_)));
    // At the end there is less, and nothing behind it, however far.
    assert!(matches!(one.ask(read(ready.bytes - 3, 8)), Response::BackupData(data) if data.len() == 3));
    assert_eq!(one.ask(read(u64::MAX - 3, 1 << 20)), Response::BackupData(Bytes::new()));
    assert_eq!(one.ask(Request::BackupEnd), Response::Done);
    assert!(matches!(one.ask(read(0, 8)), Response::Error(_)));
    // Many reads at once are answered one after the other, and no client is disconnected.
    let Response::BackupReady(_) = one.ask(Request::BackupBegin) else { panic!("no backup") };
    one.send(&vec![read(0, 1 << 20); 100]).expect("sent");
    for _ in 0..100 {
        assert!(matches!(one.receive(), Some((_, Response::BackupData(data))) if !data.is_empty()));
    }
    node.stop();
}

#[test]
fn two_backups_are_held_at_a_time_and_the_next_waits() {
    let folder = tempfile::tempdir().expect("a directory");
    let node = Node::start(&folder.path().join("data"), |_| {});
    let mut holders = [(); 2].map(|()| {
        let mut client = Raw::greeted(node.address);
        let Response::BackupReady(_) = client.ask(Request::BackupBegin) else { panic!("no backup") };
        client
    });
    let mut waiting = [(); 2].map(|()| {
        let mut client = Raw::greeted(node.address);
        let asked = client.send(&[Request::BackupBegin]).expect("a server");
        (client, asked)
    });
    // They were asked for before this, and begin after it.
    assert!(waiting.iter_mut().all(|(client, _)| client.is_alive()));
    let mut other = Raw::greeted(node.address);
    push_all(&mut other, "t", [NewJob::new("later")]);
    let applied = stats(&mut other).applied_index;
    assert_eq!(holders[0].ask(Request::BackupEnd), Response::Done);
    for (client, asked) in &mut waiting {
        let Some((id, Response::BackupReady(ready))) = client.receive() else { panic!("no backup") };
        assert_eq!(id, *asked);
        assert!(ready.index >= applied, "both share the next one: {} and not {applied}", ready.index);
    }
    // A connection lets go of its own when it asks for another.
    let [_, other] = &mut holders;
    let asked = other.send(&[Request::BackupBegin]).expect("a server");
    let Some((id, Response::BackupReady(_))) = other.receive() else { panic!("no backup") };
    assert_eq!(id, asked);
    drop((holders, waiting));
    node.stop();
}
