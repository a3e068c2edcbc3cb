//! The cost of a loss, and that accepting it can be interrupted at any point.

#![expect(clippy::indexing_slicing, reason = "lengths are known here")]

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use bytes::Bytes;
use tempfile::TempDir;

use super::*;
use crate::disk::tests::SMALL;
use crate::disk::tests::beginning::open_beside;
use crate::journal::layout::{HEADER_BYTES, RECORDS_AT};
use crate::{Damage, DiskStorage, OpenOptions, PersistBatch, Recovered, Storage, Vote, sync};
use adjourn_engine::Entry;

mod alone;

const ENTRIES: u64 = 30;
const LOST_ID: [u8; 16] = [8; 16];
const NEW_ID: [u8; 16] = [9; 16];
const NOW: Millis = Millis(1_790_000_000_000);

fn open(path: &Path) -> Result<DiskStorage, StorageError> {
    let path = path.to_owned();
    let options = OpenOptions { path, node: 1, cluster_id: [7; 16], storage_id: LOST_ID, founder: true };
    DiskStorage::open_with(&options, SMALL)
}

fn entry(index: u64) -> LogEntry {
    let bytes = if index.is_multiple_of(7) { 50_000 } else { 20 };
    LogEntry { index, term: 3, kind: EntryKind::Normal, data: Bytes::from(vec![0x5a; bytes]) }
}

/// A directory with a log, closed.
fn written() -> TempDir {
    let directory = TempDir::new().expect("a directory");
    let mut storage = open(directory.path()).expect("founded");
    let vote = Some(Vote { term: 4, vote: 1 });
    for index in 1..=ENTRIES {
        let (vote, entries) = (vote.filter(|_| index == 1), vec![entry(index)]);
        let commit = 25.min(index);
        storage.persist(&PersistBatch { vote, install: None, entries, commit }).expect("written");
    }
    storage.write_watermark().expect("written");
    directory
}

/// Changes the record of an entry silently. Each entry has its own record.
fn spoil(directory: &Path, index: u64, change: impl FnOnce(&mut [u8])) {
    for file in fs::read_dir(directory.join("log")).expect("listed") {
        let path = file.expect("an entry").path();
        let mut bytes = fs::read(&path).expect("read");
        let mut at = usize::try_from(RECORDS_AT).expect("small");
        while bytes.get(at..at + 4) == Some(b"ADJR") {
            let field = |from: usize| bytes[from..from + 8].try_into().map_or(0, u64::from_le_bytes);
            let next = at + HEADER_BYTES + usize::try_from(field(at + 16) & 0xFFFF_FFFF).expect("small");
            let vote = if bytes[at + 6] & 1 == 1 { 16 } else { 0 };
            if field(at + HEADER_BYTES + 8 + vote) + 1 == index {
                change(&mut bytes[at..next]);
                fs::write(&path, bytes).expect("written");
                return;
            }
            at = next;
        }
    }
    panic!("entry {index} has no record");
}

fn flip(directory: &Path, index: u64) {
    spoil(directory, index, |record| *record.last_mut().expect("not empty") ^= 1);
}

/// Ends the log before this entry.
fn lose_from(directory: &Path, index: u64) {
    (index..=ENTRIES)
        .rev()
        .for_each(|index| spoil(directory, index, |record| record[..HEADER_BYTES].fill(0)));
}

fn accept(directory: &Path) {
    Salvage::examine(directory).expect("a directory").accept(NEW_ID, NOW).expect("accepted");
}

/// Checks that a node opens the directory, and finds the first `kept` entries and the skip.
fn assert_recovered(directory: &Path, kept: u64) {
    let mut storage = open(directory).expect("it opens");
    let recovered = storage.recovered();
    assert_eq!((recovered.last_index, recovered.vote.term), (kept + 1, 4));
    assert!(recovered.commit <= kept + 1);
    assert_eq!((storage.cluster_id(), storage.storage_id()), ([7; 16], NEW_ID));
    let mut found = Vec::new();
    let mut visit = |entry| {
        found.push(entry);
        Ok(())
    };
    storage.replay(1, &mut visit).expect("it verifies");
    let skip = found.pop().expect("the skip");
    assert_eq!(found, (1..=kept).map(entry).collect::<Vec<_>>());
    assert_eq!((skip.index, skip.term), (kept + 1, 4));
    assert_eq!(
        Entry::decode(&skip.data).expect("an entry").commands,
        [Command::SkipIds { floor: ids_floor(NOW) }]
    );
    let entries = vec![LogEntry { index: kept + 2, ..entry(1) }];
    storage.persist(&PersistBatch { vote: None, install: None, entries, commit: kept }).expect("it goes on");
}

#[test]
fn a_whole_log_is_left_alone() {
    let directory = written();
    let salvage = Salvage::examine(directory.path()).expect("a directory");
    assert!(!salvage.is_needed());
    assert_eq!((salvage.kept(), salvage.durable()), (ENTRIES, Some(ENTRIES)));
    salvage.accept(NEW_ID, NOW).expect("nothing to do");
    assert_eq!(open(directory.path()).expect("it opens").storage_id(), LOST_ID);
}

#[test]
fn a_short_log_goes_on_where_it_ends() {
    let directory = written();
    lose_from(directory.path(), ENTRIES);
    assert!(matches!(open(directory.path()), Err(StorageError::ShortLog { last: 29, durable: ENTRIES, .. })));
    let salvage = Salvage::examine(directory.path()).expect("a directory");
    assert!(salvage.is_needed() && salvage.obstacle().is_none());
    assert_eq!((salvage.kept(), salvage.durable()), (ENTRIES - 1, Some(ENTRIES)));
    drop(salvage);
    assert!(open(directory.path()).is_err(), "examining changes nothing");
    accept(directory.path());
    assert_recovered(directory.path(), ENTRIES - 1);
    assert!(directory.path().join("log.lost-1").exists());
}

#[test]
fn a_damaged_entry_and_all_behind_it_go() {
    let directory = written();
    flip(directory.path(), 12);
    let error = open(directory.path()).and_then(|mut storage| storage.replay(1, &mut |_| Ok(())));
    let error = error.expect_err("found");
    assert!(
        matches!(error, StorageError::Damaged { damage: Damage::Record { index: 12, .. }, .. }),
        "{error}"
    );
    accept(directory.path());
    assert_recovered(directory.path(), 11);
}

#[test]
fn a_hole_ends_the_log_wherever_it_is() {
    for hole in [1, 2, 7, ENTRIES - 1] {
        let directory = written();
        spoil(directory.path(), hole, |record| record[..HEADER_BYTES].fill(0));
        let found = Salvage::examine(directory.path()).expect("a directory");
        assert!(
            matches!(found.obstacle(), Some(StorageError::Damaged { damage: Damage::Record { index, .. }, .. }) if *index == hole),
            "{:?}",
            found.obstacle()
        );
        found.accept(NEW_ID, NOW).expect("accepted");
        assert_recovered(directory.path(), hole - 1);
    }
}

#[test]
fn a_log_that_is_gone_begins_anew() {
    let directory = written();
    fs::remove_dir_all(directory.path().join("log")).expect("removed");
    accept(directory.path());
    let storage = open(directory.path()).expect("it opens");
    let Recovered { last_index, vote, .. } = storage.recovered();
    assert_eq!((last_index, vote), (1, Vote { term: 1, vote: 0 }), "the vote went with it");
}

#[test]
fn what_is_no_data_has_nothing_to_recover() {
    let directory = TempDir::new().expect("a directory");
    let missing = directory.path().join("missing");
    for path in [directory.path(), &missing] {
        let error = Salvage::examine(path).expect_err("nothing there");
        assert!(matches!(error, StorageError::NoData { .. }), "{error}");
    }
    assert!(!missing.exists());
    let storage = open(&missing).expect("founded");
    assert!(matches!(Salvage::examine(&missing), Err(StorageError::InUse { .. })));
    drop(storage);
}

#[test]
fn accepting_can_be_cut_short_anywhere() {
    let directory = written();
    flip(directory.path(), 12);
    let images = images_of(directory.path(), || accept(directory.path()));
    assert!(images.len() > 6, "{} syncs", images.len());
    let mut decided = Vec::new();
    for (nth, image) in images.iter().enumerate() {
        // The first one to open the directory completes a decided change.
        let is_done = if nth % 2 == 0 {
            !Salvage::examine(image.path()).expect("a directory").is_needed()
        } else {
            open(image.path()).expect("it opens").storage_id() == NEW_ID
        };
        decided.push(is_done);
        accept(image.path());
        assert_recovered(image.path(), 11);
        let kept = |number: u32| image.path().join(format!("log.lost-{number}")).exists();
        assert!(kept(1) && !kept(2), "the old log is kept once");
    }
    let before = decided.iter().filter(|done| !**done).count();
    assert!(decided.is_sorted() && before > 3 && before + 3 < decided.len(), "{decided:?}");
}

/// A directory whose checkpoint stands for entry 10, with the log cut up to `cut`.
fn written_and_cut(cut: u64) -> (TempDir, LogBase) {
    let directory = written();
    let mut storage = open(directory.path()).expect("it opens");
    let base = storage.base_at(10).expect("it is there");
    let LogBase { index, term, crc: log_crc } = base;
    Manifest { index, term, log_crc, ..Manifest::default() }.write(storage.chunks()).expect("written");
    storage.cut(cut).expect("cut");
    drop(storage);
    (directory, base)
}

/// Checks that a node opens the directory, and finds the entries from the checkpoint up to `kept`, and the skip.
fn assert_recovered_after(directory: &Path, base: LogBase, kept: u64) {
    let mut storage = open_beside(directory, base).expect("it opens");
    let mut found = Vec::new();
    let mut visit = |entry: LogEntry| {
        found.push(entry);
        Ok(())
    };
    storage.replay(base.index + 1, &mut visit).expect("it verifies");
    let skip = found.pop().expect("the skip");
    assert_eq!((skip.index, storage.recovered().last_index), (kept + 1, kept + 1));
    assert_eq!(found, (base.index + 1..=kept).map(entry).collect::<Vec<_>>());
}

#[test]
fn what_the_checkpoint_holds_is_never_lost() {
    type Loss = fn(&Path);
    let lost: [(Loss, u64); 3] =
        [(|path| flip(path, 20), 19), (|path| flip(path, 11), 10), (|path| lose_from(path, 11), 10)];
    for cut in [0, 8, 10] {
        for (loss, kept) in lost {
            let (directory, base) = written_and_cut(cut);
            let path = directory.path();
            assert!(!Salvage::examine(path).expect("whole").is_needed());
            loss(path);
            let salvage = Salvage::examine(path).expect("a directory");
            assert_eq!((salvage.kept(), salvage.is_needed()), (kept, true), "cut at {cut}");
            drop(salvage);
            accept(path);
            assert_recovered_after(path, base, kept);
        }
    }
}

#[test]
fn a_watermark_from_before_the_checkpoint_is_no_obstacle() {
    let directory = TempDir::new().expect("a directory");
    let mut storage = open(directory.path()).expect("founded");
    for entries in [vec![entry(1)], (2..=ENTRIES).map(entry).collect()] {
        storage.persist(&PersistBatch { vote: None, install: None, entries, commit: 0 }).expect("written");
    }
    let LogBase { index, term, crc: log_crc } = storage.base_at(10).expect("it is there");
    Manifest { index, term, log_crc, ..Manifest::default() }.write(storage.chunks()).expect("written");
    storage.cut(10).expect("cut");
    drop(storage);
    let salvage = Salvage::examine(directory.path()).expect("a directory");
    assert_eq!((salvage.kept(), salvage.is_needed()), (ENTRIES, false));
}

#[test]
fn accepting_beside_a_checkpoint_can_be_cut_short_anywhere() {
    let (directory, base) = written_and_cut(10);
    flip(directory.path(), 20);
    let images = images_of(directory.path(), || accept(directory.path()));
    assert!(images.len() > 6, "{} syncs", images.len());
    for image in &images {
        accept(image.path());
        assert_recovered_after(image.path(), base, 19);
    }
}

/// The directory as it was after each sync of `work`.
pub(crate) fn images_of(directory: &Path, work: impl FnOnce()) -> Vec<TempDir> {
    let images = Rc::new(RefCell::new(Vec::new()));
    let (directory, kept) = (directory.to_owned(), Rc::clone(&images));
    sync::watch(Some(Box::new(move |_, _| {
        kept.borrow_mut().push(copied(&directory));
        Ok(())
    })));
    work();
    sync::watch(None);
    images.take()
}

fn copied(directory: &Path) -> TempDir {
    let image = TempDir::new().expect("a directory");
    copy_into(directory, image.path());
    image
}

fn copy_into(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("listed") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&to).expect("made");
            copy_into(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).expect("copied");
        }
    }
}
