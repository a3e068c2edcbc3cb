//! `adjourn recover` on a log that ends too early: what it says, what it ends with, and that a node starts again.

use std::fs;
use std::path::Path;
use std::process::Output;

use adjourn::storage::{DiskStorage, EntryKind, LogEntry, OpenOptions, PersistBatch, Storage, StorageError};
use tempfile::TempDir;

use super::server_rig::adjourn;

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

/// A directory whose watermark is that of a longer log.
fn short_log() -> TempDir {
    let [long, short] = [5, 3].map(|last| {
        let directory = TempDir::new().expect("a directory");
        let mut storage = open(directory.path()).expect("founded");
        let entry = |index| LogEntry { index, term: 1, kind: EntryKind::Normal, data: "".into() };
        let entries = (1..=last).map(entry).collect();
        storage.persist(&PersistBatch { vote: None, install: None, entries, commit: 0 }).expect("written");
        directory
    });
    fs::copy(long.path().join("watermark"), short.path().join("watermark")).expect("copied");
    short
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
