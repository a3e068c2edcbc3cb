//! `adjourn recover` on a log that ends too early: what it says, what it ends with, and that a node starts again.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::fs;
use std::path::Path;
use std::process::Output;

use adjourn_protocol::{Request, Reserve, Response};
use adjourn_raft::MembershipChange;
use adjourn_storage::{DiskStorage, EntryKind, LogEntry, OpenOptions, PersistBatch, Storage, StorageError};
use tempfile::TempDir;

use crate::server_rig::{Node, Process, Raw, adjourn, push, topic};

fn open(path: &Path) -> Result<DiskStorage, StorageError> {
    let path = path.to_owned();
    DiskStorage::open(&OpenOptions { path, node: 1, cluster_id: [1; 16], storage_id: [2; 16], founder: true })
}

fn recover(data: &Path, arguments: &[&str]) -> Output {
    adjourn(&["recover", "--data"]).arg(data).args(arguments).output().expect("the binary")
}

fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].concat().escape_ascii().to_string()
}

/// A directory whose log ends before its watermark: the records after entry 3 are zeros.
fn short_log() -> TempDir {
    let directory = TempDir::new().expect("a directory");
    let mut storage = open(directory.path()).expect("founded");
    let mut write = |indices: std::ops::RangeInclusive<u64>| {
        let entry = |index| LogEntry { index, term: 1, kind: EntryKind::Normal, data: "".into() };
        let entries = indices.map(entry).collect();
        storage.persist(&PersistBatch { vote: None, install: None, entries, commit: 0 }).expect("written");
    };
    write(1..=3);
    write(4..=5);
    storage.write_watermark().expect("written");
    drop(storage);
    let path = directory.path().join("log/journal-00");
    let mut bytes = fs::read(&path).expect("the file");
    let record = bytes.windows(4).rposition(|window| window == b"ADJR").expect("the last record");
    bytes[record..].fill(0);
    fs::write(&path, bytes).expect("written");
    directory
}

#[test]
fn a_loss_is_accepted_only_on_purpose() {
    let directory = short_log();
    let refused = open(directory.path()).map(drop).expect_err("short").to_string();
    assert!(refused.contains("index 3") && refused.contains("index 5"), "{refused}");

    let asked = recover(directory.path(), &[]);
    assert_eq!(asked.status.code(), Some(7), "{}", said(&asked));
    for expected in ["the log entries up to 3", "the entries from 4 to 5", "--yes"] {
        assert!(said(&asked).contains(expected), "{}", said(&asked));
    }
    assert!(open(directory.path()).is_err(), "nothing was changed");

    let done = recover(directory.path(), &["--yes"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(open(directory.path()).expect("it opens").recovered().last_index, 4);
    let again = recover(directory.path(), &["--yes"]);
    assert_eq!(again.status.code(), Some(0));
    assert!(said(&again).contains("nothing to recover"), "{}", said(&again));
}

#[test]
fn what_cannot_be_recovered_is_told_apart() {
    let directory = TempDir::new().expect("a directory");
    let empty = recover(directory.path(), &["--yes"]);
    assert_eq!(empty.status.code(), Some(6), "{}", said(&empty));
    let storage = open(directory.path()).expect("founded");
    let in_use = recover(directory.path(), &["--yes"]);
    assert_eq!(in_use.status.code(), Some(6));
    assert!(said(&in_use).contains("in use by process"), "{}", said(&in_use));
    drop(storage);
    fs::write(directory.path().join("identity"), b"ADJOURN").expect("spoilt");
    let damaged = recover(directory.path(), &["--yes"]);
    assert_eq!(damaged.status.code(), Some(7));
    assert!(said(&damaged).contains("backup"), "{}", said(&damaged));
}

/// What `adjourn inspect` says of a directory.
fn inspected(data: &Path) -> serde_json::Value {
    let output = adjourn(&["inspect", "--json"]).arg(data).output().expect("the binary");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)))
}

/// The directory of node 1 of three, with three jobs in it. The other two nodes are lost.
fn survivor() -> TempDir {
    let directory = TempDir::new().expect("a directory");
    let node = Node::start(directory.path(), |_| {});
    let mut client = Raw::greeted(node.address);
    for delay_ms in [0, 0, 3_600_000] {
        assert!(matches!(client.ask(push("left", "a job", delay_ms)), Response::Pushed(_)));
    }
    node.stop();
    let mut storage = open(directory.path()).expect("it opens");
    let found = storage.recovered();
    let changes = [2, 3].map(|node| [MembershipChange::Learner(node), MembershipChange::Voter(node)]);
    let entries = changes.concat().into_iter().zip(found.last_index + 1..).map(|(change, index)| LogEntry {
        index,
        term: found.last_term,
        kind: EntryKind::ConfChange,
        data: change.encode().into(),
    });
    let batch = PersistBatch { entries: entries.collect(), ..PersistBatch::default() };
    storage.persist(&batch).and_then(|()| storage.write_watermark()).expect("written");
    directory
}

#[test]
fn the_survivor_of_a_lost_majority_goes_on_with_every_job() {
    let directory = survivor();
    let data = directory.path();
    let before = inspected(data);
    assert_eq!((&before["voters"], &before["founder"]), (&serde_json::json!([1, 2, 3]), &true.into()));

    let asked = recover(data, &["--alone"]);
    assert_eq!(asked.status.code(), Some(7), "{}", said(&asked));
    for expected in ["voters 1, 2, 3", "nodes 2, 3", "fewer than 2", "--alone --yes"] {
        assert!(said(&asked).contains(expected), "{expected}: {}", said(&asked));
    }
    for field in ["cluster_id", "storage_id", "voters", "term", "commit", "durable"] {
        assert_eq!(inspected(data)[field], before[field], "{field} was changed");
    }

    let done = recover(data, &["--alone", "--yes"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let after = inspected(data);
    assert_eq!((&after["voters"], &after["learners"]), (&serde_json::json!([1]), &serde_json::json!([])));
    for id in ["cluster_id", "storage_id"] {
        assert!(after[id].is_string() && after[id] != before[id], "{id} is another one");
    }
    assert!(after["term"].as_u64() > before["term"].as_u64().map(|term| term + 900), "{after}");

    let process = Process::start(data, &[]);
    let mut client = Raw::greeted(process.address);
    let reserve = Reserve { topics: vec![topic("left")], jobs_max: 9, wait_ms: 0, weights: Vec::new() };
    let Response::Reserved(jobs) = client.ask(Request::Reserve(reserve)) else { panic!("no jobs") };
    assert_eq!(jobs.len(), 2);
    let Response::Stats(stats) = client.ask(Request::Stats) else { panic!("no stats") };
    assert_eq!((stats.totals.delayed, stats.totals.reserved), (1, 2));
    assert!(matches!(client.ask(push("left", "another", 0)), Response::Pushed(_)), "it takes new ones");
    assert!(process.terminate().success());
}

#[test]
fn an_empty_directory_has_nobody_to_go_on() {
    let directory = TempDir::new().expect("a directory");
    drop(open(directory.path()).expect("founded"));
    let refused = recover(directory.path(), &["--alone", "--yes"]);
    assert_eq!(refused.status.code(), Some(6), "{}", said(&refused));
}
