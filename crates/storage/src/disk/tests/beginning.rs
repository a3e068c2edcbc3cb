//! A log that begins after a checkpoint.

use super::*;

/// Opens a directory as if its newest checkpoint stood for `base`.
pub(crate) fn open_beside(path: &Path, base: LogBase) -> Result<DiskStorage, StorageError> {
    open_unrestored(path, |_| Ok(Some(base)))
}

/// Opens a directory whose newest checkpoint has a manifest, and maybe no state.
pub(crate) fn open_beside_manifest(path: &Path) -> Result<DiskStorage, StorageError> {
    open_unrestored(path, durable::base_in)
}

fn open_unrestored(
    path: &Path,
    base: impl FnOnce(&DiskFolder) -> Result<Option<LogBase>, StorageError>,
) -> Result<DiskStorage, StorageError> {
    let directory = Arc::new(Directory::take_existing(path)?);
    let identity = directory.identity()?.expect("it was founded");
    directory.settle()?;
    let (log, found) = directory.open(identity, base(&directory.chunks()?)?, SMALL)?;
    let chunks = directory.chunks()?;
    let durable = Durable::new(directory, log, found, path)?;
    Ok(DiskStorage { durable, identity, chunks, restored: None })
}

/// Entries 1 to `last` of ten bytes, in term 2, durable and in the watermark.
fn written(last: u64) -> (TempDir, DiskStorage) {
    let directory = TempDir::new().expect("a directory");
    let mut storage = open(&directory);
    storage.persist(&batch(smalls(1..=last))).expect("written");
    storage.write_watermark().expect("written");
    (directory, storage)
}

fn small(index: u64) -> LogEntry {
    entry(index, 2, 10)
}

fn smalls(indices: std::ops::RangeInclusive<u64>) -> Vec<LogEntry> {
    indices.map(small).collect()
}

fn open_after(directory: &TempDir, base: LogBase) -> DiskStorage {
    open_beside(directory.path(), base).expect("it opens")
}

fn refusal_after(directory: &TempDir, base: LogBase) -> StorageError {
    open_beside(directory.path(), base).map(drop).expect_err("it is refused")
}

#[test]
fn a_tail_before_the_checkpoint_may_stay() {
    let (directory, mut storage) = written(30);
    let [cut_at, base] = [10, 20].map(|index| storage.base_at(index).expect("it is there"));
    storage.cut(10).expect("cut");
    assert_eq!(storage.base_at(10).expect("what was cut last"), cut_at);
    drop(storage);
    let mut storage = open_after(&directory, base);
    assert_eq!(entries(&mut storage, 21), smalls(21..=30));
    assert_eq!(storage.base_at(20).expect("the checkpoint"), base);
}

#[test]
fn a_log_goes_on_right_after_a_cut() {
    let (directory, mut storage) = written(30);
    let base = storage.base_at(20).expect("it is there");
    storage.cut(20).expect("cut");
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
    storage.cut(100).expect("cut");
    drop(storage);
    let mut storage = open_after(&directory, base);
    let expected =
        Recovered { commit: 100, first_index: 101, last_index: 100, last_term: 2, vote: Vote::default() };
    assert_eq!(storage.recovered(), expected);
    assert_eq!(entries(&mut storage, 101), []);
    storage.cut(100).expect("nothing is left");
    storage.persist(&batch(smalls(101..=103))).expect("it goes on");
    drop(storage);
    assert_eq!(entries(&mut open_after(&directory, base), 101), smalls(101..=103));
}

#[test]
fn a_log_that_does_not_continue_its_checkpoint_is_refused() {
    let (directory, mut storage) = written(30);
    let base = storage.base_at(20).expect("it is there");
    drop(storage);
    for other in [LogBase { crc: base.crc ^ 1, ..base }, LogBase { term: 1, ..base }] {
        let error = refusal_after(&directory, other);
        let replaced = matches!(error, StorageError::Damaged { damage: Damage::Replaced { index: 20 }, .. });
        assert!(replaced, "{error}");
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
        assert_eq!(entries(&mut open_after(image, base), 161), [next]);
    }
}

#[test]
fn an_entry_that_is_cut_has_no_base() {
    let (_directory, mut storage) = written(30);
    storage.cut(20).expect("cut");
    let error = storage.base_at(19).expect_err("it is gone");
    assert!(matches!(error, StorageError::Damaged { damage: Damage::Hole { index: 19 }, .. }), "{error}");
    assert!(matches!(storage.cut(25), Err(StorageError::FailedBefore { .. })));
}
