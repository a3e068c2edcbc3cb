//! What the twin keeps, loses and refuses.

use super::*;
use crate::storage::{EntryKind, StorageErrorKind, Vote};

fn entry(index: u64, term: u64) -> LogEntry {
    let bytes = if index.is_multiple_of(3) { 100_000 } else { 100 };
    LogEntry { index, term, kind: EntryKind::Normal, data: vec![index.to_le_bytes()[0]; bytes].into() }
}

fn batch(indices: std::ops::RangeInclusive<u64>, term: u64, commit: u64) -> PersistBatch {
    let vote = (*indices.start() == 1).then_some(Vote { term, vote: 1 });
    PersistBatch { vote, entries: indices.map(|index| entry(index, term)).collect(), commit }
}

fn replayed(storage: &mut FaultyStorage) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut visit = |entry: LogEntry| {
        assert_eq!(entry.data, self::entry(entry.index, entry.term).data);
        found.push((entry.index, entry.term));
        Ok(())
    };
    storage.replay(1, &mut visit).expect("it verifies");
    found
}

/// Appends, takes back and appends again; returns what was acknowledged when the armed fault struck.
fn work(storage: &mut FaultyStorage) -> Vec<(u64, u64)> {
    let mut acknowledged = Vec::new();
    let steps = [batch(1..=4, 1, 0), batch(5..=8, 1, 4), batch(7..=9, 2, 6), batch(10..=10, 2, 9)];
    for step in steps {
        let first = step.entries.first().map_or(0, |entry| entry.index);
        if storage.persist(&step).is_err() || storage.write_watermark().is_err() {
            // What was to be overwritten may be gone: nobody was promised it any more.
            acknowledged.retain(|(index, _)| *index < first);
            break;
        }
        acknowledged.retain(|(index, _)| *index < first);
        acknowledged.extend(step.entries.iter().map(|entry| (entry.index, entry.term)));
    }
    acknowledged
}

#[test]
fn a_power_cut_at_every_step_keeps_what_was_acknowledged() {
    let mut whole = FaultyDisk::new(0).open().expect("empty");
    work(&mut whole);
    let steps = whole.steps();
    assert!(steps > 20, "{steps}");
    for seed in 0..20 {
        for step in 0..steps {
            let mut storage = FaultyDisk::new(seed).open().expect("empty");
            storage.arm(step, Fault::PowerCut);
            let acknowledged = work(&mut storage);
            assert!(matches!(storage.write_watermark(), Err(StorageError::FailedBefore { .. })));
            let mut again = storage.crash().open().expect("nothing acknowledged is missing");
            let found = replayed(&mut again);
            assert_eq!(found.get(..acknowledged.len()), Some(&acknowledged[..]), "step {step}");
            assert_eq!(again.recovered().last_index, found.len() as u64);
            assert!(again.recovered().commit <= again.recovered().last_index);
        }
    }
}

#[test]
fn a_device_that_lies_loses_what_was_acknowledged() {
    let mut missing = 0;
    for seed in 0..100 {
        let mut disk = FaultyDisk::new(seed);
        disk.lie_about_syncs();
        let mut storage = disk.open().expect("empty");
        let acknowledged = work(&mut storage);
        missing += match storage.crash().open() {
            Ok(mut storage) => usize::from(!replayed(&mut storage).starts_with(&acknowledged)),
            Err(error) => usize::from(error.kind() == StorageErrorKind::Damaged),
        };
    }
    assert!(missing > 50, "{missing}");
}

#[test]
fn what_a_process_wrote_outlives_it() {
    let mut storage = FaultyDisk::new(1).open().expect("empty");
    let acknowledged = work(&mut storage);
    storage.arm(3, Fault::Failure);
    let more = batch(11..=20, 3, 10);
    assert!(storage.persist(&more).is_err());
    let mut again = storage.kill().open().expect("whole");
    assert!(replayed(&mut again).starts_with(&acknowledged));
    assert_eq!(again.recovered().vote, Vote { term: 1, vote: 1 });
}

#[test]
fn damage_is_found() {
    let disk = |spoil: &dyn Fn(&mut FaultyDisk)| {
        let mut storage = FaultyDisk::new(3).open().expect("empty");
        work(&mut storage);
        let mut disk = storage.crash();
        spoil(&mut disk);
        disk.open().map(drop)
    };
    assert!(disk(&|_| {}).is_ok());
    for nth in 0..12 {
        let found = disk(&|disk| assert!(disk.flip_bit(nth)));
        assert!(matches!(found, Err(StorageError::Damaged { .. })), "{nth}: {found:?}");
    }
    let short = disk(&|disk| disk.lose_from(9));
    assert!(matches!(short, Err(StorageError::ShortLog { last: 8, durable: 10, .. })), "{short:?}");
    let hole = disk(&|disk| disk.lose_entry(5));
    assert!(matches!(hole, Err(StorageError::Damaged { damage: Damage::Hole { index: 5 }, .. })));
    let vote = disk(&FaultyDisk::spoil_vote);
    assert!(matches!(vote, Err(StorageError::Damaged { damage: Damage::Vote, .. })));
}

#[test]
fn a_full_device_says_so() {
    let mut storage = FaultyDisk::new(1).open().expect("empty");
    storage.set_free_bytes(7);
    assert_eq!(storage.free_bytes().expect("a number"), 7);
    storage.arm(0, Fault::Full);
    assert!(matches!(storage.persist(&batch(1..=1, 1, 0)), Err(StorageError::DiskFull { .. })));
}

#[test]
fn the_same_seed_leaves_the_same() {
    let left = |seed| {
        let mut storage = FaultyDisk::new(seed).open().expect("empty");
        storage.arm(16, Fault::PowerCut);
        work(&mut storage);
        let disk = storage.crash();
        (disk.log, disk.files)
    };
    assert_eq!(left(5), left(5));
    assert!((0..20).any(|seed| left(seed) != left(5)));
}
