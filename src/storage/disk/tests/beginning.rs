//! The log's beginning: cut off in rounds, and begun after a checkpoint, whatever of the log is there.

use super::*;
use crate::storage::log::{ROUND_BYTES_MAX, ROUND_REMOVALS_MAX, removals_along};
use crate::storage::recover::tests::tamper;
use crate::storage::value::{Key, ValueError};

/// Values that one round removes.
const ROUND: u64 = ROUND_REMOVALS_MAX as u64;

/// Entries 1 to `last` of ten bytes, in term 2, durable and in the watermark.
fn written(last: u64) -> (TempDir, DiskStorage) {
    let directory = TempDir::new().expect("a directory");
    let mut storage = open(&directory);
    storage.persist(&batch((1..=last).map(small).collect())).expect("written");
    storage.write_watermark().expect("written");
    (directory, storage)
}

fn small(index: u64) -> LogEntry {
    entry(index, 2, 10)
}

fn smalls(indices: std::ops::RangeInclusive<u64>) -> Vec<LogEntry> {
    indices.map(small).collect()
}

/// Opens a directory as if its newest checkpoint stood for `base`.
pub(in crate::storage) fn open_beside(path: &Path, base: LogBase) -> Result<DiskStorage, StorageError> {
    open_unrestored(path, |_| Ok(Some(base)))
}

/// Opens a directory whose newest checkpoint has a manifest, and maybe no state.
pub(in crate::storage) fn open_beside_manifest(path: &Path) -> Result<DiskStorage, StorageError> {
    open_unrestored(path, durable::base_in)
}

fn open_unrestored(
    path: &Path,
    base: impl FnOnce(&DiskFolder) -> Result<Option<LogBase>, StorageError>,
) -> Result<DiskStorage, StorageError> {
    let directory = std::sync::Arc::new(Directory::take_existing(path)?);
    let identity = directory.identity()?.expect("it was founded");
    install::complete(&*directory)?;
    let contents = directory.open(identity, base(&directory.chunks()?)?)?;
    let (durable, chunks) = (Durable::new(contents, path.to_owned())?, directory.chunks()?);
    Ok(DiskStorage { durable, chunks, restored: None, directory })
}

fn open_after(directory: &TempDir, base: LogBase) -> DiskStorage {
    open_beside(directory.path(), base).expect("it opens")
}

fn refusal_after(directory: &TempDir, base: LogBase) -> StorageError {
    open_beside(directory.path(), base).map(drop).expect_err("it is refused")
}

fn cut_all(storage: &mut DiskStorage, through: u64) {
    while !storage.cut(through).expect("cut") {}
}

/// The values that lie in the log, needed or not.
fn keys_in(directory: &TempDir) -> Vec<Key> {
    let mut keys = Vec::new();
    tamper(directory.path(), |db| {
        keys.extend(db.iter().keys().map(|key| Key::decode(&key.expect("a key")).expect("it is the log's")));
    });
    keys
}

fn values_in(directory: &TempDir) -> usize {
    keys_in(directory).len()
}

fn is_hole(error: &StorageError, at: u64) -> bool {
    matches!(error, StorageError::Damaged { damage: Damage::Hole { index }, .. } if *index == at)
}

fn is_replaced(error: &StorageError, at: u64) -> bool {
    matches!(error, StorageError::Damaged { damage: Damage::Replaced { index }, .. } if *index == at)
}

fn is_no_continuation(error: &StorageError, at: u64) -> bool {
    let StorageError::Damaged { damage: Damage::Value { index, source }, .. } = error else { return false };
    (*index, *source) == (at, ValueError::Chain)
}

#[test]
fn a_prefix_is_cut_in_rounds_and_each_of_them_lasts() {
    let (through, last) = (2 * ROUND + 12, 2 * ROUND + 22);
    let (directory, mut storage) = written(last);
    let base = storage.base_at(through).expect("it is there");
    assert_eq!((base.index, base.term), (through, 2));
    let next = through + 1;
    for (first, done) in [(ROUND + 1, false), (2 * ROUND + 1, false), (next, true), (next, true)] {
        assert_eq!(storage.cut(through).expect("cut"), done);
        assert_eq!(entries(&mut storage, next), smalls(next..=last));
        drop(storage);
        assert_eq!(keys_in(&directory), (first..=last).map(Key::first).collect::<Vec<_>>());
        storage = open_after(&directory, base);
        let found = storage.recovered();
        let expected =
            Recovered { first_index: next, last_index: last, last_term: 2, commit: last - 1, ..found };
        assert_eq!(found, expected);
        assert_eq!(storage.base_at(through).expect("it stands for it"), base);
        assert_eq!(entries(&mut storage, next), smalls(next..=last));
    }
}

#[test]
fn a_cut_of_just_one_round_is_done_when_it_says_so() {
    let (_directory, mut storage) = written(2 * ROUND + 1);
    for through in [ROUND, 2 * ROUND, 2 * ROUND + 1] {
        assert!(storage.cut(through).expect("cut"), "through {through}");
    }
}

#[test]
fn commits_take_the_beginning_along() {
    let (through, last) = (5 * ROUND, 5 * ROUND + 10);
    let (directory, mut storage) = written(last);
    let base = storage.base_at(through).expect("it is there");
    storage.persist(&batch(vec![small(last + 1)])).expect("written");
    drop(storage);
    assert_eq!(keys_in(&directory).first(), Some(&Key::first(1)), "nothing goes that was not ordered to");
    let mut storage = open(&directory);
    assert!(!storage.cut(through).expect("cut"));
    storage.persist(&batch(vec![small(last + 2)])).expect("written");
    storage.persist(&batch(smalls(last + 3..=last + 12))).expect("written");
    let first = ROUND + removals_along(1, 0) as u64 + removals_along(10, 0) as u64 + 1;
    assert!(first < through, "that was not all of it");
    assert_eq!(entries(&mut storage, through + 1), smalls(through + 1..=last + 12));
    drop(storage);
    assert_eq!(keys_in(&directory), (first..=last + 12).map(Key::first).collect::<Vec<_>>());
    let mut storage = open_after(&directory, base);
    assert!(!storage.cut(through).expect("cut"));
    storage.persist(&batch(smalls(last + 13..=last + 40))).expect("written");
    assert!(storage.cut(through).expect("cut"), "the commit took the rest");
    drop(storage);
    assert_eq!(keys_in(&directory), (through + 1..=last + 40).map(Key::first).collect::<Vec<_>>());
}

#[test]
fn a_full_commit_takes_nothing_along() {
    assert_eq!(removals_along(1, 100), 4);
    assert_eq!(removals_along(30, 100_000), 57);
    assert_eq!([1_000_000, ROUND_BYTES_MAX].map(|bytes| removals_along(64, bytes)), [2, 0]);
}

#[test]
fn a_tail_before_the_checkpoint_may_stay() {
    let (directory, mut storage) = written(30);
    let [cut_at, base] = [10, 20].map(|index| storage.base_at(index).expect("it is there"));
    cut_all(&mut storage, 10);
    assert_eq!(storage.base_at(10).expect("what was cut last"), cut_at);
    drop(storage);
    let mut storage = open_after(&directory, base);
    assert_eq!(entries(&mut storage, 21), smalls(21..=30));
    cut_all(&mut storage, 15);
    assert_eq!(storage.base_at(20).expect("the checkpoint"), base);
    assert_eq!(storage.base_at(17).expect("it is still there").index, 17);
    drop(storage);
    assert_eq!(values_in(&directory), 15);
    assert_eq!(entries(&mut open_after(&directory, base), 21), smalls(21..=30));
}

#[test]
fn a_log_goes_on_right_after_a_cut() {
    let (directory, mut storage) = written(30);
    let base = storage.base_at(20).expect("it is there");
    cut_all(&mut storage, 20);
    storage.persist(&batch(smalls(31..=32))).expect("written");
    let replaced = vec![entry(21, 3, 5), entry(22, 3, 40_000)];
    storage.persist(&batch(replaced.clone())).expect("all that was left is replaced");
    assert_eq!(entries(&mut storage, 21), replaced);
    drop(storage);
    let mut storage = open_after(&directory, base);
    assert_eq!(entries(&mut storage, 21), replaced);
    storage.persist(&batch(vec![entry(21, 4, 7)])).expect("once more, after a start");
    storage.write_watermark().expect("written");
    drop(storage);
    assert_eq!(entries(&mut open_after(&directory, base), 21), [entry(21, 4, 7)]);
}

#[test]
fn a_log_that_is_cut_to_nothing_begins_after_its_checkpoint() {
    let (directory, mut storage) = written(100);
    let base = storage.base_at(100).expect("it is there");
    cut_all(&mut storage, 100);
    drop(storage);
    assert_eq!(values_in(&directory), 0);
    let mut storage = open_after(&directory, base);
    let expected =
        Recovered { commit: 100, first_index: 101, last_index: 100, last_term: 2, vote: Vote::default() };
    assert_eq!(storage.recovered(), expected);
    assert_eq!(entries(&mut storage, 101), []);
    assert_eq!(storage.base_at(100).expect("the checkpoint"), base);
    assert!(storage.cut(100).expect("nothing is left"));
    storage.persist(&batch(smalls(101..=103))).expect("it goes on");
    drop(storage);
    assert_eq!(entries(&mut open_after(&directory, base), 101), smalls(101..=103));

    let older = LogBase { index: 99, ..base };
    assert!(is_hole(&refusal_after(&directory, older), 100));
    assert!(is_hole(&refusal(&directory), 1), "without its checkpoint");
}

#[test]
fn an_emptied_log_is_short_without_the_checkpoint_that_it_was_cut_for() {
    let (directory, mut storage) = written(9);
    let [older, base] = [8, 9].map(|index| storage.base_at(index).expect("it is there"));
    cut_all(&mut storage, 9);
    drop(storage);
    let error = refusal(&directory);
    assert!(matches!(error, StorageError::ShortLog { last: 0, durable: 9, .. }), "{error}");
    let error = refusal_after(&directory, older);
    assert!(matches!(error, StorageError::ShortLog { last: 8, durable: 9, .. }), "{error}");
    let error = refusal_after(&directory, LogBase { crc: base.crc ^ 1, ..base });
    assert!(is_replaced(&error, 9), "{error}");
    open_after(&directory, base);
}

#[test]
fn a_cut_can_be_cut_short_anywhere() {
    let (directory, mut storage) = written(200);
    let base = storage.base_at(200).expect("it is there");
    storage.persist(&batch(smalls(201..=205))).expect("written");
    let images = images_of(directory.path(), || cut_all(&mut storage, 200));
    assert_eq!(images.len() as u64, 200_u64.div_ceil(ROUND), "a sync for each round");
    for image in &images {
        let mut storage = open_after(image, base);
        assert_eq!(entries(&mut storage, 201), smalls(201..=205));
        storage.persist(&batch(smalls(206..=206))).expect("it goes on");
        cut_all(&mut storage, 200);
        drop(storage);
        assert_eq!(values_in(image), 6);
        assert_eq!(entries(&mut open_after(image, base), 201), smalls(201..=206));
    }
}

#[test]
fn a_large_entry_may_be_cut_in_part() {
    let directory = TempDir::new().expect("a directory");
    let mut storage = open(&directory);
    storage.persist(&batch(vec![small(1), entry(2, 2, 3 << 20), small(3)])).expect("written");
    let [before, base] = [1, 2].map(|index| storage.base_at(index).expect("it is there"));
    assert!(!storage.cut(2).expect("cut"));
    drop(storage);
    let error = refusal_after(&directory, before);
    assert!(is_hole(&error, 2), "its first parts are gone: {error}");
    let mut storage = open_after(&directory, base);
    assert_eq!(entries(&mut storage, 3), [small(3)]);
    cut_all(&mut storage, 2);
    storage.persist(&batch(vec![entry(4, 2, 100_000)])).expect("it goes on");
    assert_eq!(entries(&mut storage, 3), [small(3), entry(4, 2, 100_000)]);
    drop(storage);
    assert_eq!(entries(&mut open_after(&directory, base), 3), [small(3), entry(4, 2, 100_000)]);
}

#[test]
fn what_came_back_before_the_checkpoint_may_have_gaps() {
    let (directory, mut storage) = written(30);
    let base = storage.base_at(20).expect("it is there");
    drop(storage);
    let remove = |index: u64| {
        tamper(directory.path(), |db| drop(db.remove(Key::first(index).encode()).expect("removed")));
    };
    for gone in [5, 20, 19, 1] {
        remove(gone);
        let mut storage = open_after(&directory, base);
        assert_eq!(entries(&mut storage, 21), smalls(21..=30), "without {gone}");
    }
    let mut storage = open_after(&directory, base);
    cut_all(&mut storage, 20);
    drop(storage);
    assert_eq!(values_in(&directory), 10);
    remove(21);
    assert!(is_hole(&refusal_after(&directory, base), 21));
}

#[test]
fn an_entry_that_is_missing_behind_the_checkpoint_is_a_hole() {
    let (directory, mut storage) = written(30);
    let [base, beyond] = [10, 20].map(|index| storage.base_at(index).expect("it is there"));
    drop(storage);
    tamper(directory.path(), |db| drop(db.remove(Key::first(11).encode()).expect("removed")));
    assert!(is_hole(&refusal_after(&directory, base), 11), "entries before it are there");
    let mut storage = open_after(&directory, beyond);
    cut_all(&mut storage, 20);
    drop(storage);
    let before = LogBase { index: 19, ..beyond };
    assert!(is_hole(&refusal_after(&directory, before), 20), "nothing before it is there");
}

#[test]
fn a_log_that_does_not_continue_its_checkpoint_is_refused() {
    let (directory, mut storage) = written(30);
    let base = storage.base_at(20).expect("it is there");
    drop(storage);
    let [crc, term] = [LogBase { crc: base.crc ^ 1, ..base }, LogBase { term: 1, ..base }];
    for other in [crc, term] {
        let error = refusal_after(&directory, other);
        assert!(is_replaced(&error, 20), "{error}");
    }
    let mut storage = open_after(&directory, base);
    cut_all(&mut storage, 20);
    drop(storage);
    for other in [crc, LogBase { term: 3, ..base }] {
        let error = refusal_after(&directory, other);
        assert!(is_no_continuation(&error, 21), "{error}");
    }
    open_after(&directory, base);
}

#[test]
fn a_log_that_the_checkpoint_is_ahead_of_makes_way() {
    let (directory, storage) = written(150);
    drop(storage);
    let base = LogBase { index: 160, term: 5, crc: 77 };
    let images = images_of(directory.path(), || drop(open_after(&directory, base)));
    assert!(images.len() >= 3, "{} syncs", images.len());
    for image in images.iter().chain([&directory]) {
        let mut storage = open_after(image, base);
        let expected =
            Recovered { commit: 160, first_index: 161, last_index: 160, last_term: 5, vote: Vote::default() };
        assert_eq!(storage.recovered(), expected);
        assert_eq!(entries(&mut storage, 161), []);
        let next = entry(161, 5, 20_000);
        storage.persist(&batch(vec![next.clone()])).expect("it goes on");
        assert_eq!(entries(&mut storage, 161), std::slice::from_ref(&next));
        storage.write_watermark().expect("written");
        drop(storage);
        assert_eq!(values_in(image), 2, "nothing but the new entry");
        assert_eq!(entries(&mut open_after(image, base), 161), [next]);
    }
}

#[test]
fn a_checkpoint_may_stand_at_an_entry_of_which_only_a_part_is_there() {
    let directory = TempDir::new().expect("a directory");
    let mut storage = open(&directory);
    storage.persist(&batch(vec![small(1)])).expect("written");
    let images =
        images_of(directory.path(), || storage.persist(&batch(vec![entry(2, 2, 3 << 20)])).expect("written"));
    let base = LogBase { index: 2, ..storage.base_at(2).expect("it is there") };
    let mut storage = open_after(&images[1], base);
    assert_eq!(entries(&mut storage, 3), []);
    storage.persist(&batch(vec![small(3)])).expect("it goes on");
    drop(storage);
    assert_eq!(values_in(&images[1]), 1);
    assert_eq!(entries(&mut open_after(&images[1], base), 3), [small(3)]);
    // The same parts behind the checkpoint are an entry that was never written.
    let base = LogBase { index: 1, ..open(&images[2]).base_at(1).expect("it is there") };
    let mut storage = open_after(&images[2], base);
    assert_eq!(storage.recovered().last_index, 1);
    cut_all(&mut storage, 1);
    storage.persist(&batch(vec![entry(2, 3, 9)])).expect("written over");
    drop(storage);
    assert_eq!(entries(&mut open_after(&images[2], base), 2), [entry(2, 3, 9)]);
}

#[test]
fn a_log_that_reached_beyond_the_checkpoint_and_ends_before_it_is_short() {
    let (directory, mut storage) = written(9);
    storage.durable.media_mut().watermark.write([12, 9, 0]).expect("written");
    drop(storage);
    let at = |index| LogBase { index, term: 2, crc: 77 };
    let error = refusal_after(&directory, at(11));
    assert!(matches!(error, StorageError::ShortLog { last: 9, durable: 12, .. }), "{error}");
    assert_eq!(values_in(&directory), 9, "it is left as it is");
    open_after(&directory, at(13));
}

#[test]
fn a_watermark_from_before_the_checkpoint_says_nothing() {
    let (directory, mut storage) = written(9);
    storage.persist(&batch(smalls(10..=30))).expect("written, and not in the watermark");
    let base = storage.base_at(20).expect("it is there");
    cut_all(&mut storage, 20);
    drop(storage);
    assert_eq!(entries(&mut open_after(&directory, base), 21), smalls(21..=30));
}

#[test]
fn an_entry_that_is_cut_has_no_base() {
    let (_directory, mut storage) = written(30);
    cut_all(&mut storage, 20);
    let error = storage.base_at(19).expect_err("it is gone");
    assert!(is_hole(&error, 19), "{error}");
    assert!(matches!(storage.cut(25), Err(StorageError::FailedBefore { .. })));
}
