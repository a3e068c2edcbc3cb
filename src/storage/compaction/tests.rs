//! Log compaction: the copy has every entry, whenever the power fails; a copy that would be wrong is discarded.

#![expect(clippy::indexing_slicing, reason = "lengths are known here")]

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use tempfile::TempDir;

use super::super::chunks::Manifest;
use super::super::disk::tests::{batch, entries, entry, options};
use super::super::folder::Folder as _;
use super::super::recover::tests::images_of;
use super::super::simulated::{Fault, SimulatedDisk, SimulatedStorage};
use super::super::{
    Depth, DiskStorage, PersistBatch, Recovered, Salvage, Storage, StorageErrorKind, inspect,
};
use super::*;
use crate::engine::Engine;

/// Entries in the log before it is cut.
const LAST: u64 = 40;
/// Where the checkpoint stands.
const BASE: u64 = 36;
/// Bytes of each entry: several rounds, and several values each.
const ENTRY_BYTES: usize = 700_000;

fn opened(path: &Path) -> DiskStorage {
    let mut storage = DiskStorage::open(&options(path)).expect("it opens");
    let first = storage.recovered().first_index;
    storage.replay(first, &mut |_| Ok(())).expect("it verifies");
    storage.set_move_bytes_min(1);
    storage
}

/// Makes a durable checkpoint that stands for the entry at `index`, of nothing.
fn checkpoint(storage: &mut DiskStorage, index: u64) {
    let LogBase { index, term, crc: log_crc } = storage.base_at(index).expect("it is there");
    let engine = Engine::new(GroupId(0));
    let (metadata, state_hash) = (engine.metadata().encode(), engine.state_hash());
    let manifest = Manifest { index, term, log_crc, state_hash, metadata, ..Manifest::default() };
    manifest.write(storage.chunks()).expect("written");
}

fn cut(storage: &mut DiskStorage, through: u64) {
    while !storage.cut(through).expect("cut") {}
}

fn large(index: u64) -> LogEntry {
    entry(index, 2, ENTRY_BYTES)
}

fn append(storage: &mut impl Storage, indices: std::ops::RangeInclusive<u64>) {
    for index in indices {
        storage.persist(&batch(vec![large(index)])).expect("written");
    }
}

/// A log that has a large file and a few entries.
fn long_ago() -> (TempDir, DiskStorage) {
    let directory = TempDir::new().expect("a directory");
    let mut storage = opened(directory.path());
    append(&mut storage, 1..=LAST);
    storage.write_watermark().expect("written");
    checkpoint(&mut storage, BASE);
    cut(&mut storage, BASE);
    (directory, storage)
}

/// Takes steps until there is nothing more to do; the sizes of each compaction.
fn shrink(storage: &mut impl Storage) -> Vec<(u64, u64)> {
    let mut compactions = Vec::new();
    loop {
        match storage.shrink(0).expect("it goes well") {
            Shrunk::Nothing => return compactions,
            Shrunk::More => {}
            Shrunk::CopyCorrupt => panic!("nobody corrupted it"),
            Shrunk::Compacted { bytes_before, bytes_after } => compactions.push((bytes_before, bytes_after)),
        }
    }
}

fn names(path: &Path) -> Vec<String> {
    let names = fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().expect("a plain name")).collect();
    names.retain(|name| name.starts_with(LOG));
    names.sort();
    names
}

fn bytes_of(path: &Path) -> u64 {
    fs::metadata(path.join("log/db")).expect("it is there").len()
}

/// How many steps a compaction takes until the swap, and all of them.
fn steps_of_a_move() -> (usize, usize) {
    let (_directory, mut storage) = long_ago();
    let mut steps = Vec::new();
    while steps.last() != Some(&Shrunk::Nothing) {
        steps.push(storage.shrink(0).expect("it goes well"));
    }
    let swap =
        steps.iter().position(|step| matches!(step, Shrunk::Compacted { .. })).expect("it is compacted");
    (swap, steps.len())
}

#[test]
fn a_compacted_log_has_all_that_is_needed_and_goes_on() {
    let (directory, mut storage) = long_ago();
    let before = bytes_of(directory.path());
    let [(bytes_before, bytes_after)] = shrink(&mut storage)[..] else { panic!("it is compacted once") };
    assert_eq!((bytes_before, bytes_after), (before, bytes_of(directory.path())));
    assert!(bytes_after <= 16 << 20 && bytes_before >= 48 << 20, "{bytes_before} to {bytes_after}");
    assert_eq!(names(directory.path()), [LOG]);
    let kept: Vec<LogEntry> = (BASE + 1..=LAST).map(large).collect();
    assert_eq!(entries(&mut storage, BASE + 1), kept);
    assert_eq!(storage.read(BASE, LAST, u64::MAX).expect("read"), [], "it is before the beginning");
    assert_eq!(storage.read(BASE + 2, BASE + 3, u64::MAX).expect("read"), kept[1..3]);
    assert_eq!(storage.base_at(BASE).expect("there").index, BASE);
    append(&mut storage, LAST + 1..=LAST + 2);
    storage.persist(&batch(vec![entry(LAST + 2, 3, 10), entry(LAST + 3, 3, 20_000)])).expect("replaced");
    checkpoint(&mut storage, LAST);
    cut(&mut storage, LAST);
    storage.write_watermark().expect("written");
    drop(storage);

    let mut storage = opened(directory.path());
    let left = [large(LAST + 1), entry(LAST + 2, 3, 10), entry(LAST + 3, 3, 20_000)];
    assert_eq!(entries(&mut storage, LAST + 1), left);
    let Recovered { first_index, last_index, last_term, .. } = storage.recovered();
    assert_eq!((first_index, last_index, last_term), (LAST + 1, LAST + 3, 3));
    assert_eq!(shrink(&mut storage).len(), 1);
    append(&mut storage, LAST + 4..=LAST + 5);
    checkpoint(&mut storage, LAST + 5);
    cut(&mut storage, LAST + 5);
    assert_eq!(shrink(&mut storage), [], "little was added since");
    append(&mut storage, LAST + 6..=LAST + 7);
    assert_eq!(shrink(&mut storage).len(), 1, "so much was added that it is worth it");
}

#[test]
fn appends_and_cuts_go_on_during_a_compaction() {
    let (directory, mut storage) = long_ago();
    let (mut last, mut compacted) = (LAST, false);
    while !compacted {
        compacted = matches!(storage.shrink(0).expect("it goes well"), Shrunk::Compacted { .. });
        if !compacted && last < LAST + 4 {
            // Up to the copy's beginning, so that it stays good.
            append(&mut storage, last + 1..=last + 1);
            last += 1;
        }
        if last == LAST + 3 && !compacted {
            checkpoint(&mut storage, BASE + 1);
            cut(&mut storage, BASE + 1);
        }
    }
    append(&mut storage, last + 1..=last + 1);
    let expected: Vec<LogEntry> = (BASE + 2..=last + 1).map(large).collect();
    assert_eq!(entries(&mut storage, BASE + 2), expected);
    assert_eq!(shrink(&mut storage), [], "one is enough");
    drop(storage);
    assert_eq!(entries(&mut opened(directory.path()), BASE + 2), expected);
}

#[test]
fn an_empty_log_is_compacted() {
    let (directory, mut storage) = long_ago();
    checkpoint(&mut storage, LAST);
    cut(&mut storage, LAST);
    assert_eq!(shrink(&mut storage).len(), 1);
    drop(storage);
    let mut storage = opened(directory.path());
    assert_eq!(storage.recovered().last_index, LAST);
    append(&mut storage, LAST + 1..=LAST + 1);
    drop(storage);
    assert_eq!(entries(&mut opened(directory.path()), LAST + 1), [large(LAST + 1)]);
}

#[test]
fn a_log_that_is_small_or_needed_stays() {
    let directory = TempDir::new().expect("a directory");
    let mut storage = opened(directory.path());
    append(&mut storage, 1..=LAST);
    assert_eq!(storage.shrink(0).expect("a look"), Shrunk::Nothing, "all of it is needed");
    checkpoint(&mut storage, BASE);
    cut(&mut storage, BASE);
    storage.set_move_bytes_min(bytes_of(directory.path()));
    assert_eq!(storage.shrink(0).expect("a look"), Shrunk::Nothing, "the file is small enough");
    storage.set_move_bytes_min(bytes_of(directory.path()) - 1);
    assert_eq!(storage.shrink(u64::MAX).expect("a look"), Shrunk::Nothing, "there is no room");
    assert_eq!(storage.shrink(0).expect("a look"), Shrunk::More);
}

/// An operation that aborts a compaction, after this number of its steps.
fn given_up(steps: usize, disturb: impl FnOnce(&mut DiskStorage)) -> (TempDir, DiskStorage) {
    let (directory, mut storage) = long_ago();
    for _ in 0..steps {
        assert_eq!(storage.shrink(0).expect("it goes well"), Shrunk::More);
    }
    assert_eq!(names(directory.path()), [LOG, LOG_MOVE]);
    disturb(&mut storage);
    storage.set_move_bytes_min(u64::MAX);
    assert_eq!(shrink(&mut storage), [], "it is given up");
    assert_eq!(names(directory.path()), [LOG]);
    storage.set_move_bytes_min(1);
    (directory, storage)
}

#[test]
fn entries_that_are_replaced_give_it_up() {
    let replacing = [entry(LAST - 2, 3, 100), entry(LAST - 1, 3, 50_000)];
    let (swap, _) = steps_of_a_move();
    for steps in [1, 2, swap] {
        let (directory, mut storage) =
            given_up(steps, |storage| storage.persist(&batch(replacing.to_vec())).expect("replaced"));
        assert_eq!(shrink(&mut storage).len(), 1, "the next one begins anew");
        drop(storage);
        let mut storage = opened(directory.path());
        let expected = [large(LAST - 3), replacing[0].clone(), replacing[1].clone()];
        assert_eq!(entries(&mut storage, LAST - 3), expected, "after {steps} steps");
    }
}

#[test]
fn a_cut_beyond_the_copy_gives_it_up() {
    let (directory, mut storage) = given_up(2, |storage| {
        checkpoint(storage, LAST - 1);
        cut(storage, LAST - 1);
    });
    assert_eq!(shrink(&mut storage).len(), 1);
    drop(storage);
    assert_eq!(entries(&mut opened(directory.path()), LAST), [large(LAST)]);
}

#[test]
fn a_checkpoint_of_another_member_gives_it_up() {
    let base = LogBase { index: LAST + 60, term: 5, crc: 77 };
    let behind = entry(base.index + 1, 5, 50_000);
    let (directory, mut storage) = given_up(2, |storage| {
        let LogBase { index, term, crc: log_crc } = base;
        let metadata = Engine::new(GroupId(0)).metadata().encode();
        let manifest = Manifest { index, term, log_crc, metadata, ..Manifest::default() };
        manifest.write(&storage.incoming()).expect("written");
        let entries = vec![behind.clone()];
        let install = PersistBatch { install: Some(index), entries, ..PersistBatch::default() };
        storage.persist(&install).expect("installed");
    });
    assert_eq!(shrink(&mut storage).len(), 1);
    drop(storage);
    assert_eq!(entries(&mut opened(directory.path()), base.index + 1), [behind]);
}

#[test]
fn a_want_of_space_gives_it_up() {
    let (directory, mut storage) = given_up(3, |storage| {
        assert_eq!(storage.shrink(u64::MAX).expect("no failure"), Shrunk::More);
    });
    assert_eq!(entries(&mut storage, LAST), [large(LAST)]);
    assert_eq!(shrink(&mut storage).len(), 1);
    drop(storage);
    assert_eq!(entries(&mut opened(directory.path()), LAST), [large(LAST)]);
}

#[test]
fn a_copy_that_does_not_read_back_gives_it_up() {
    let (swap, _) = steps_of_a_move();
    // All is copied, and little of it read back.
    let (directory, mut storage) = given_up(swap - 2, |storage| {
        let database = storage.incoming().path().with_file_name(LOG_MOVE).join("db");
        let file = fs::File::options().write(true).open(database).expect("opened");
        let bytes = file.metadata().expect("it is there").len();
        (4096..bytes).step_by(4096).for_each(|at| file.write_all_at(&[0x5A; 64], at).expect("corrupted"));
        assert_eq!(storage.shrink(0).expect("no failure"), Shrunk::CopyCorrupt);
    });
    assert_eq!(entries(&mut storage, BASE + 1), (BASE + 1..=LAST).map(large).collect::<Vec<_>>());
    assert_eq!(shrink(&mut storage), [], "it may be so again, and is not tried all the time");
    append(&mut storage, LAST + 1..=2 * LAST);
    checkpoint(&mut storage, LAST + BASE);
    cut(&mut storage, LAST + BASE);
    assert_eq!(shrink(&mut storage).len(), 1, "the next one begins anew");
    drop(storage);
    assert_eq!(entries(&mut opened(directory.path()), 2 * LAST), [large(2 * LAST)]);
}

#[test]
fn it_can_be_cut_short_anywhere() {
    let (directory, mut storage) = long_ago();
    let images = images_of(directory.path(), || assert_eq!(shrink(&mut storage).len(), 1));
    let kept: Vec<LogEntry> = (BASE + 1..=LAST).map(large).collect();
    let mut seen = std::collections::BTreeSet::new();
    for image in &images {
        let there = names(image.path());
        let scratch = TempDir::new().expect("a directory");
        let found = inspect(image.path(), &scratch.path().join("log"), Depth::Whole).expect("it is read");
        let log = found.log.expect("there is one");
        assert_eq!((found.damage.len(), log.base, log.last), (0, BASE, LAST), "{:?}", found.damage);
        assert_eq!(names(image.path()), there, "looking changes nothing");
        let beside: Vec<String> = found.logs.into_iter().map(|folder| folder.name).collect();
        let expected = [LOG_MOVE, LOG_OLD].into_iter().filter(|name| {
            let counts = *name == LOG_MOVE && !there.iter().any(|name| name == LOG);
            there.iter().any(|there| there == name) && !counts
        });
        assert_eq!(beside, expected.collect::<Vec<_>>());
        seen.insert(there);
        let salvage = Salvage::examine(image.path()).expect("it is read");
        assert_eq!((salvage.is_needed(), salvage.kept()), (false, LAST));
        drop(salvage);
        let mut storage = opened(image.path());
        assert_eq!(names(image.path()), [LOG]);
        assert_eq!(entries(&mut storage, BASE + 1), kept);
        append(&mut storage, LAST + 1..=LAST + 1);
        assert!(shrink(&mut storage).len() <= 1);
        assert_eq!(entries(&mut storage, LAST + 1), [large(LAST + 1)]);
    }
    let states = [&[LOG][..], &[LOG, LOG_MOVE], &[LOG_MOVE, LOG_OLD], &[LOG, LOG_OLD]];
    for state in states {
        assert!(seen.iter().any(|names| names == state), "{state:?} is not among {seen:?}");
    }
    assert_eq!(seen.len(), states.len(), "{seen:?}");
}

/// A node's work on the simulated disk: it writes, makes checkpoints, truncates and compacts, until the armed fault strikes. Returns the
/// entries acknowledged, where the newest checkpoint stands, and how often the log was compacted.
fn work(storage: &mut SimulatedStorage) -> (Vec<LogEntry>, Option<LogBase>, usize) {
    let (mut log, mut base, mut compactions) = (Vec::new(), None, 0);
    let sized = |index: u64| (index, if index.is_multiple_of(3) { 40_000 } else { 10_000 });
    storage.set_move_bytes_min(200_000);
    for round in 0..30_u64 {
        let last = log.len() as u64;
        // Every fourth batch replaces an entry.
        let first = if round % 4 == 3 { last } else { last + 1 };
        let entries: Vec<LogEntry> =
            (first..first + 4).map(sized).map(|(index, bytes)| entry(index, round, bytes)).collect();
        log.truncate(usize::try_from(first - 1).expect("small"));
        if storage.persist(&PersistBatch { commit: first - 1, ..batch(entries.clone()) }).is_err() {
            break;
        }
        log.extend(entries);
        if round % 3 == 1 {
            let Ok(reached) = storage.base_at(first - 1) else { break };
            base = Some(reached);
            while let Ok(false) = storage.cut(reached.index) {}
        }
        for _ in 0..3 {
            compactions += usize::from(matches!(storage.shrink(0), Ok(Shrunk::Compacted { .. })));
        }
        if storage.write_watermark().is_err() {
            break;
        }
    }
    (log, base, compactions)
}

#[test]
fn a_power_cut_at_every_step_on_the_simulated_disk_loses_nothing() {
    let mut whole = SimulatedDisk::new(0).open().expect("empty");
    let (_, _, compactions) = work(&mut whole);
    let steps = whole.steps();
    assert!(compactions >= 3 && steps > 100, "{compactions} compactions, {steps} steps");
    for seed in 0..4 {
        for step in 0..steps {
            let mut storage = SimulatedDisk::new(seed).open().expect("empty");
            storage.arm(step, Fault::PowerCut);
            let (log, base, _) = work(&mut storage);
            let disk = if seed % 2 == 0 { storage.crash() } else { storage.kill() };
            let mut again = disk.open_after(base).expect("nothing acknowledged is missing");
            let first = base.map_or(0, |base| base.index) + 1;
            assert_eq!(again.recovered().first_index, first);
            let mut found = Vec::new();
            let mut visit = |entry| {
                found.push(entry);
                Ok(())
            };
            again.replay(first, &mut visit).expect("it verifies");
            let kept = log.get(usize::try_from(first - 1).expect("small")..).unwrap_or_default();
            assert!(found.starts_with(kept), "step {step} of seed {seed}: {} of {}", found.len(), kept.len());
            again.set_move_bytes_min(1);
            assert!(shrink(&mut again).len() <= 1);
        }
    }
}

#[test]
fn what_is_full_while_it_copies_is_no_failure_and_what_fails_is() {
    let prepared = |fault, step| {
        let mut storage = SimulatedDisk::new(4).open().expect("empty");
        storage.persist(&batch((1..=40).map(|index| entry(index, 1, 30_000)).collect())).expect("written");
        while !storage.cut(38).expect("cut") {}
        storage.set_move_bytes_min(1);
        let at = storage.steps() + step;
        storage.arm(step, fault);
        (storage, at)
    };
    // The new log and its sync, four values and their sync.
    for step in 0..7 {
        let (mut storage, at) = prepared(Fault::Full, step);
        for _ in 0..2 {
            assert!(!matches!(storage.shrink(0).expect("no failure"), Shrunk::Compacted { .. }));
            if storage.steps() > at {
                // There is space again.
                storage.arm(u64::MAX >> 1, Fault::Full);
            }
        }
        storage.set_move_bytes_min(u64::MAX);
        assert_eq!(shrink(&mut storage), [], "step {step}");
        storage.persist(&batch(vec![entry(41, 1, 10)])).expect("it goes on");
    }
    // From there on it is the log that counts.
    for (fault, steps) in [(Fault::Full, 7..11), (Fault::Failure, 0..11)] {
        for step in steps {
            let (mut storage, _) = prepared(fault, step);
            let failed = (0..9).find_map(|_| storage.shrink(0).err()).expect("it fails");
            assert_eq!(failed.kind(), StorageErrorKind::DiskFailed);
            assert!(matches!(storage.shrink(0), Err(StorageError::FailedBefore { .. })));
        }
    }
}

#[test]
fn a_log_that_is_gone_is_not_made_of_an_old_one() {
    let (directory, storage) = long_ago();
    drop(storage);
    let path = directory.path();
    fs::rename(path.join(LOG), path.join(LOG_OLD)).expect("renamed");
    let refused = DiskStorage::open(&options(path)).map(drop).expect_err("it is refused");
    assert!(matches!(refused, StorageError::Damaged { damage: Damage::LogMissing, .. }), "{refused}");
    assert_eq!(names(path), [LOG_OLD], "nothing is recompacted before the log is accepted");
    fs::rename(path.join(LOG_OLD), path.join(LOG)).expect("renamed");
    assert_eq!(entries(&mut opened(path), LAST), [large(LAST)]);
}

#[test]
fn a_full_disk_is_told_from_one_that_fails() {
    let of = |kind: ErrorKind| CopyError::of(StorageError::sync(Path::new("log.move/db"), kind.into()));
    assert!(matches!(of(ErrorKind::StorageFull).given_up(), Ok(Shrunk::More)));
    assert!(matches!(of(ErrorKind::QuotaExceeded).given_up(), Ok(Shrunk::More)));
    assert!(of(ErrorKind::Other).given_up().is_err(), "whatever else a sync says is the end");
}

#[test]
fn weights_follow_the_log() {
    let value = 10_000 + HEADER_BYTES as u64;
    let large = |index| entry(index, 2, 10_000);
    let mut weights = Weights::unknown(5);
    assert_eq!((weights.behind(4), weights.behind(5)), (None, Some(0)));
    (6..=20).for_each(|index| assert_eq!(weights.add(&large(index)), value));
    // Runs of two.
    assert_eq!(weights.behind(5), Some(15 * value));
    assert_eq!((weights.behind(7), weights.behind(8)), (Some(13 * value), Some(13 * value)));
    weights.remove_end(19);
    assert_eq!(weights.behind(9), Some(10 * value), "19 still counts");
    weights.remove_end(11);
    assert_eq!(weights.behind(9), Some(2 * value), "10, and 11 which is gone");
    weights.remove_end(10);
    assert_eq!(weights.behind(9), Some(0));
    weights.add(&entry(10, 1, 0));
    assert_eq!(weights.behind(9), Some(HEADER_BYTES as u64));
    weights.remove_end(3);
    assert_eq!((weights.behind(1), weights.behind(2), weights.knows(2)), (None, Some(0), false));
}
