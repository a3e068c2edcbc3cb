//! The directory as a node finds it: after a clean stop, after a cut, short, foreign, in use.

#![expect(clippy::indexing_slicing, reason = "lengths are known here")]

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use bytes::Bytes;
use tempfile::TempDir;

use super::*;
use crate::recover::tests::images_of;
use crate::sync::{self, Done};
use crate::{Damage, EntryKind, LogEntry, PersistBatch, Storage as _, StorageErrorKind, Vote};

pub(crate) mod beginning;
mod manifest;

pub(crate) fn options(path: &Path) -> OpenOptions {
    OpenOptions { path: path.to_owned(), node: 1, cluster_id: [7; 16], storage_id: [8; 16], founder: true }
}

/// A journal whose files fill up soon.
pub(crate) const SMALL: JournalSize = JournalSize { file_bytes: 64 << 10, files_max: 16 };

fn open(directory: &TempDir) -> DiskStorage {
    DiskStorage::open(&options(directory.path())).expect("it opens")
}

fn refusal(directory: &TempDir) -> StorageError {
    DiskStorage::open(&options(directory.path())).map(drop).expect_err("it is refused")
}

pub(crate) fn entry(index: u64, term: u64, bytes: usize) -> LogEntry {
    let byte = u8::try_from((index * 31 + term) % 251).expect("below 251");
    LogEntry { index, term, kind: EntryKind::Normal, data: Bytes::from(vec![byte; bytes]) }
}

pub(crate) fn batch(entries: Vec<LogEntry>) -> PersistBatch {
    let commit = entries.last().map_or(0, |entry| entry.index - 1);
    PersistBatch { vote: None, install: None, entries, commit }
}

pub(crate) fn entries(storage: &mut DiskStorage, first: u64) -> Vec<LogEntry> {
    let mut found = Vec::new();
    let mut visit = |entry| {
        found.push(entry);
        Ok(())
    };
    storage.replay(first, &mut visit).expect("every entry verifies");
    found
}

#[test]
fn a_new_directory_is_empty_and_keeps_whose_it_is() {
    let directory = TempDir::new().expect("a directory");
    let nested = directory.path().join("a").join("b");
    let storage = DiskStorage::open(&options(&nested)).expect("founded");
    assert_eq!(storage.recovered(), Recovered { first_index: 1, ..Recovered::default() });
    drop(storage);
    let other = OpenOptions { cluster_id: [1; 16], storage_id: [2; 16], ..options(&nested) };
    let storage = DiskStorage::open(&other).expect("it opens");
    assert_eq!((storage.cluster_id(), storage.storage_id()), ([7; 16], [8; 16]));
    assert!(storage.free_bytes().expect("a number") > 0);
}

#[test]
fn what_was_persisted_is_there_after_a_reopen() {
    let directory = TempDir::new().expect("a directory");
    let written: Vec<LogEntry> = [0, 1, 100, 16_000, 17_000, 3 << 20]
        .into_iter()
        .zip(1..)
        .map(|(bytes, index)| entry(index, 2, bytes))
        .collect();
    let mut storage = open(&directory);
    let vote = Vote { term: 2, vote: 1 };
    let first = PersistBatch { vote: Some(vote), ..batch(written[..3].to_vec()) };
    storage.persist(&first).expect("written");
    storage.persist(&batch(written[3..].to_vec())).expect("written");
    assert_eq!(entries(&mut storage, 1), written);
    storage.write_watermark().expect("written");
    drop(storage);

    let mut storage = open(&directory);
    let expected = Recovered { vote, commit: 5, first_index: 1, last_index: 6, last_term: 2 };
    assert_eq!(storage.recovered(), expected);
    assert_eq!(entries(&mut storage, 1), written);
    assert_eq!(entries(&mut storage, 5), written[4..]);
    assert_eq!(entries(&mut storage, 7), []);
    storage.persist(&batch(vec![entry(7, 3, 5)])).expect("it goes on");
    drop(storage);
    assert_eq!(open(&directory).recovered().last_term, 3);
}

#[test]
fn a_suffix_is_cut_and_the_chain_goes_on() {
    let directory = TempDir::new().expect("a directory");
    let mut storage = open(&directory);
    storage.persist(&batch((1..=40).map(|index| entry(index, 1, 70_000)).collect())).expect("written");
    storage.write_watermark().expect("written");
    storage.persist(&batch(vec![entry(5, 2, 10), entry(6, 2, 200_000)])).expect("cut and written");
    let expected: Vec<LogEntry> =
        (1..5).map(|index| entry(index, 1, 70_000)).chain([entry(5, 2, 10), entry(6, 2, 200_000)]).collect();
    assert_eq!(entries(&mut storage, 1), expected);
    drop(storage);
    let mut storage = open(&directory);
    assert_eq!((storage.recovered().last_index, storage.recovered().last_term), (6, 2));
    assert_eq!(entries(&mut storage, 1), expected);
    storage.persist(&batch(vec![entry(1, 3, 10)])).expect("cut to nothing");
    assert_eq!(entries(&mut storage, 1), [entry(1, 3, 10)]);
}

/// The syncs and drops that `work` performs on files and directories, by their names in `directory`.
fn done_by(directory: &Path, work: impl FnOnce()) -> Vec<(Done, String)> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (kept, root) = (Rc::clone(&seen), directory.to_owned());
    sync::watch(Some(Box::new(move |done, path| {
        let name = path.strip_prefix(&root).map_or_else(|_| "..".into(), Path::to_string_lossy);
        kept.borrow_mut().push((done, name.into_owned()));
        Ok(())
    })));
    work();
    sync::watch(None);
    seen.take()
}

/// Cached data may never reach the disk, even after a sync.
#[test]
fn a_start_reads_from_the_disk() {
    let directory = TempDir::new().expect("a directory");
    let mut storage = open(&directory);
    storage.persist(&batch(vec![entry(1, 1, 10)])).expect("written");
    drop(storage);
    let done = done_by(directory.path(), || drop(open(&directory)));
    let at = |done_to| done.iter().position(|found| *found == done_to);
    let dropped = at((Done::Dropped, "log/journal-00".to_owned())).expect("it is settled");
    assert_eq!(done[dropped - 1], (Done::Synced, "log/journal-00".to_owned()), "{done:?}");
    for name in ["..", "", "log"] {
        let synced = at((Done::Synced, name.to_owned())).expect(name);
        assert!(synced < dropped, "{name:?} is not durable before: {done:?}");
    }
}

/// An earlier process created it, and was killed before its name was durable.
#[test]
fn a_directory_that_is_there_is_durable_before_it_is_founded() {
    let parent = TempDir::new().expect("a directory");
    let path = parent.path().join("data");
    fs::create_dir(&path).expect("made");
    let done = done_by(&path, || drop(DiskStorage::open(&options(&path)).expect("founded")));
    assert_eq!(done.first(), Some(&(Done::Synced, "..".to_owned())), "{done:?}");
}

#[test]
fn a_directory_has_one_owner() {
    let directory = TempDir::new().expect("a directory");
    let storage = open(&directory);
    let error = refusal(&directory);
    assert_eq!(error.kind(), StorageErrorKind::Unusable);
    assert!(error.to_string().contains(&format!("in use by process {}", std::process::id())), "{error}");
    drop(storage);
    open(&directory);
}

#[test]
fn another_nodes_directory_is_refused() {
    let directory = TempDir::new().expect("a directory");
    drop(open(&directory));
    let other = OpenOptions { node: 2, ..options(directory.path()) };
    let error = DiskStorage::open(&other).map(drop).expect_err("refused");
    assert!(matches!(error, StorageError::OtherNode { expected: 2, found: 1, .. }), "{error}");
}

#[test]
fn a_failure_is_the_last_thing_that_happens() {
    let directory = TempDir::new().expect("a directory");
    let mut storage = open(&directory);
    storage.persist(&batch(vec![entry(1, 1, 1)])).expect("written");
    let mut refuse = |_| Err(StorageError::NoData { path: directory.path().to_owned() });
    storage.replay(1, &mut refuse).expect_err("the visitor's error");
    for refused in [
        storage.persist(&batch(vec![entry(2, 1, 1)])),
        storage.write_watermark(),
        storage.replay(1, &mut refuse),
    ] {
        let error = refused.expect_err("refused");
        assert!(matches!(error, StorageError::FailedBefore { .. }), "{error}");
    }
}

#[test]
fn a_founding_can_be_cut_short_anywhere() {
    let directory = TempDir::new().expect("a directory");
    let nested = directory.path().join("data");
    let images = images_of(directory.path(), || drop(DiskStorage::open(&options(&nested)).expect("founded")));
    assert!(images.len() > 5, "{} syncs", images.len());
    for image in &images {
        let mut storage = DiskStorage::open(&options(&image.path().join("data"))).expect("founded again");
        assert_eq!(storage.recovered(), Recovered { first_index: 1, ..Recovered::default() });
        storage.persist(&batch(vec![entry(1, 1, 10)])).expect("written");
        assert_eq!(entries(&mut storage, 1), [entry(1, 1, 10)]);
    }
}

#[test]
fn what_is_torn_while_founding_is_founded_again() {
    for name in ["identity.new", "log.new/journal-00"] {
        let directory = TempDir::new().expect("a directory");
        drop(open(&directory));
        for (from, to) in [("identity", "identity.new"), ("log", "log.new")] {
            fs::rename(directory.path().join(from), directory.path().join(to)).expect("renamed");
        }
        fs::remove_dir(directory.path().join("chunks")).expect("removed");
        fs::write(directory.path().join(name), b"AD").expect("torn");
        assert_eq!(open(&directory).recovered().last_index, 0, "{name}");
    }
}

#[test]
fn a_lost_identity_is_no_new_node() {
    let directory = TempDir::new().expect("a directory");
    drop(open(&directory));
    fs::remove_file(directory.path().join("identity")).expect("removed");
    let error = refusal(&directory);
    assert!(matches!(error, StorageError::Damaged { damage: Damage::IdentityMissing, .. }), "{error}");
    fs::write(directory.path().join("identity"), b"").expect("emptied");
    let error = refusal(&directory);
    assert!(matches!(error, StorageError::Damaged { damage: Damage::Identity, .. }), "{error}");
}

#[test]
fn a_directory_of_a_later_format_is_refused() {
    let directory = TempDir::new().expect("a directory");
    drop(open(&directory));
    let mut later = b"ADJOURN\0\x09\0\0\0".to_vec();
    later.extend_from_slice(&crc32c::crc32c(&later).to_le_bytes());
    fs::write(directory.path().join("identity"), later).expect("written");
    let error = refusal(&directory);
    assert!(matches!(error, StorageError::NewerFormat { found: 9, known: 1, .. }), "{error}");
    assert_eq!(error.kind(), StorageErrorKind::Unusable);
}

#[test]
fn a_foreign_directory_is_left_as_it_is() {
    let directory = TempDir::new().expect("a directory");
    fs::write(directory.path().join("thesis.tex"), b"\\end").expect("written");
    let error = refusal(&directory);
    assert_eq!(error.kind(), StorageErrorKind::Unusable);
    assert!(error.to_string().contains("thesis.tex"), "{error}");
    assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1);
    let file = directory.path().join("thesis.tex");
    let error = DiskStorage::open(&options(&file)).map(drop).expect_err("a file");
    assert!(matches!(error, StorageError::NotADirectory { .. }), "{error}");
    let mounted = TempDir::new().expect("a directory");
    fs::create_dir(mounted.path().join("lost+found")).expect("made");
    open(&mounted);
}

#[test]
fn stretches_go_to_the_archive_and_come_back() {
    let directory = TempDir::new().expect("a directory");
    let size = JournalSize { file_bytes: 64 << 10, files_max: 2 };
    let options = options(directory.path());
    let mut storage = DiskStorage::open_with(&options, size).expect("founded");
    let written: Vec<LogEntry> = (1..=60).map(|index| entry(index, 1, 9_000)).collect();
    for entry in &written {
        storage.persist(&batch(vec![entry.clone()])).expect("written");
        while let Some(chore) = storage.chore() {
            storage.chore_done(chore.run()).expect("done");
        }
    }
    let archived = || {
        let names = fs::read_dir(directory.path().join("log")).expect("listed");
        let names = names.map(|entry| entry.expect("an entry").file_name().into_string().expect("a text"));
        names.filter(|name| name.starts_with("stretch-")).count()
    };
    assert!(archived() > 3, "{}", archived());
    assert_eq!(entries(&mut storage, 1), written);
    drop(storage);
    let mut storage = DiskStorage::open_with(&options, size).expect("it opens");
    assert_eq!(entries(&mut storage, 1), written);
    assert_eq!(storage.read(30, 31, 1 << 20).expect("read"), written[29..31]);
    storage.cut(60).expect("cut");
    while let Some(chore) = storage.chore() {
        storage.chore_done(chore.run()).expect("done");
    }
    assert_eq!(archived(), 0);
}

#[test]
fn a_journal_of_another_size_is_used_up() {
    let directory = TempDir::new().expect("a directory");
    let mut storage = open(&directory);
    storage.persist(&batch(vec![entry(1, 1, 10)])).expect("written");
    drop(storage);
    let mut storage = DiskStorage::open_with(&options(directory.path()), SMALL).expect("it opens");
    for index in 2..=20 {
        storage.persist(&batch(vec![entry(index, 1, 1 << 20)])).expect("written");
    }
    let base = storage.base_at(20).expect("it is there");
    storage.cut(20).expect("cut");
    storage.persist(&batch(vec![entry(21, 1, 10)])).expect("it goes on");
    drop(storage);
    let mut storage = beginning::open_beside(directory.path(), base).expect("it opens");
    assert_eq!(entries(&mut storage, 21), [entry(21, 1, 10)]);
}
