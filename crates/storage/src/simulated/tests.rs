//! What the simulated disk keeps, loses and refuses: [`log`](super::super::log) has the rest.

use super::*;
use crate::folder::Folder as _;
use crate::{EntryKind, LogEntry, PersistBatch, StorageErrorKind};

fn entry(index: u64, term: u64) -> LogEntry {
    let bytes = if index.is_multiple_of(3) { 10_000 } else { 100 };
    LogEntry { index, term, kind: EntryKind::Normal, data: vec![index.to_le_bytes()[0]; bytes].into() }
}

fn batch(indices: std::ops::RangeInclusive<u64>, term: u64, commit: u64) -> PersistBatch {
    let vote = (*indices.start() == 1).then_some(Vote { term, vote: 1 });
    PersistBatch { vote, install: None, entries: indices.map(|index| entry(index, term)).collect(), commit }
}

fn replayed(storage: &mut SimulatedStorage) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut visit = |entry: LogEntry| {
        assert_eq!(entry.data, self::entry(entry.index, entry.term).data);
        found.push((entry.index, entry.term));
        Ok(())
    };
    storage.replay(storage.recovered().first_index, &mut visit).expect("it verifies");
    found
}

/// Appends, truncates and appends again; returns the entries acknowledged when the armed fault struck.
fn work(storage: &mut SimulatedStorage) -> Vec<(u64, u64)> {
    let mut acknowledged = Vec::new();
    let steps = [batch(1..=4, 1, 0), batch(5..=8, 1, 4), batch(7..=9, 2, 6), batch(10..=10, 2, 9)];
    for step in steps {
        let first = step.entries.first().map_or(0, |entry| entry.index);
        // Entries that are to be overwritten are no longer promised.
        acknowledged.retain(|(index, _)| *index < first);
        if storage.persist(&step).is_err() {
            break;
        }
        acknowledged.extend(step.entries.iter().map(|entry| (entry.index, entry.term)));
        if storage.do_chores().is_err() || storage.write_watermark().is_err() {
            break;
        }
    }
    acknowledged
}

#[test]
fn a_power_cut_at_every_step_keeps_what_was_acknowledged() {
    let mut whole = SimulatedDisk::new(0).open().expect("empty");
    let begun = whole.steps();
    work(&mut whole);
    let steps = whole.steps() - begun;
    assert!(steps > 15, "{steps}");
    for seed in 0..20 {
        for step in 0..steps {
            let mut storage = SimulatedDisk::new(seed).open().expect("empty");
            storage.arm(step, Fault::PowerCut);
            let acknowledged = work(&mut storage);
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
        let mut disk = SimulatedDisk::new(seed);
        disk.lie_about_syncs();
        let mut storage = disk.open().expect("empty");
        let acknowledged = work(&mut storage);
        missing += match storage.crash().open() {
            Ok(mut storage) => {
                let mut found = Vec::new();
                let replay = storage.replay(1, &mut |entry| {
                    found.push((entry.index, entry.term));
                    Ok(())
                });
                usize::from(replay.is_err() || !found.starts_with(&acknowledged))
            }
            Err(error) => usize::from(error.kind() == StorageErrorKind::Damaged),
        };
    }
    assert!(missing > 50, "{missing}");
}

/// The process ends at a failed write or sync, or is killed there; another one starts and continues; then the power
/// fails. What the second process has read and built on must be kept.
#[test]
fn a_power_cut_after_a_restart_keeps_what_the_restart_found() {
    let mut whole = SimulatedDisk::new(0).open().expect("empty");
    let begun = whole.steps();
    work(&mut whole);
    let steps = whole.steps() - begun;
    let mut more = 0;
    for seed in 0..20 {
        for step in 0..steps {
            let mut storage = SimulatedDisk::new(seed).open().expect("empty");
            storage.arm(step, Fault::Failure);
            let acknowledged = work(&mut storage);
            let mut again = storage.kill().open().expect("whole");
            let mut found = replayed(&mut again);
            assert!(found.starts_with(&acknowledged), "step {step} of seed {seed}");
            more += usize::from(found.len() > acknowledged.len());
            let vote = again.recovered().vote;
            let (next, term) = (found.len() as u64 + 1, vote.term.max(2));
            let goes_on = PersistBatch { vote: None, ..batch(next..=next, term, 0) };
            again.persist(&goes_on).expect("it goes on");
            found.push((next, term));
            let mut last = again.crash().open().unwrap_or_else(|refused| {
                panic!("step {step} of seed {seed}: {refused}");
            });
            assert_eq!(replayed(&mut last), found, "step {step} of seed {seed}");
            assert_eq!(last.recovered().vote, vote, "step {step} of seed {seed}");
        }
    }
    assert!(more > 20, "{more} starts found what was not acknowledged");
}

/// Entry 1, and entry 2 for later.
fn with_one_for_later(seed: u64) -> SimulatedStorage {
    let mut storage = SimulatedDisk::new(seed).open().expect("empty");
    storage.persist(&batch(1..=1, 1, 0)).expect("it is written");
    storage.write_watermark().expect("it is written");
    let steps = storage.steps();
    storage.persist_later(batch(2..=2, 1, 1)).expect("it is kept");
    assert_eq!(storage.steps(), steps, "nothing is written yet");
    storage
}

#[test]
fn what_is_written_later_is_durable_with_what_comes_next() {
    let found = |storage: SimulatedStorage| replayed(&mut storage.crash().open().expect("whole"));
    assert_eq!(found(with_one_for_later(0)), [(1, 1)], "nothing has written it");
    let next: [&dyn Fn(&mut SimulatedStorage); 3] = [
        &|storage| storage.write_watermark().expect("it is written"),
        &|storage| assert_eq!(storage.base_at(2).expect("it is there").index, 2),
        &|storage| assert_eq!(storage.read(2, 2, 1).expect("it is there").len(), 1),
    ];
    for (number, act) in next.into_iter().enumerate() {
        let mut storage = with_one_for_later(0);
        act(&mut storage);
        assert!(storage.crash().open().expect("whole").recovered().last_index == 2, "act {number}");
    }
    let mut storage = with_one_for_later(0);
    let steps = storage.steps();
    storage.persist(&batch(3..=3, 1, 2)).expect("it is written");
    assert_eq!(storage.steps() - steps, 2, "one write and one sync for both");
    assert_eq!(found(storage), [(1, 1), (2, 1), (3, 1)]);
}

/// What waits to be written is never missing before a later entry that was acknowledged.
#[test]
fn a_power_cut_never_leaves_a_gap_for_what_is_written_later() {
    for seed in 0..50 {
        for step in 0..8 {
            let mut storage = with_one_for_later(seed);
            storage.arm(step, Fault::PowerCut);
            let is_durable = storage.persist(&batch(3..=4, 1, 2)).is_ok();
            let _ = storage.persist_later(batch(5..=5, 1, 4));
            let all_durable = is_durable && storage.write_watermark().is_ok();
            let found = replayed(&mut storage.crash().open().expect("whole")).len();
            let least = if all_durable {
                5
            } else if is_durable {
                4
            } else {
                1
            };
            assert!((least..=5).contains(&found), "step {step} of seed {seed}: {found} entries");
        }
    }
}

#[test]
fn not_much_is_written_later() {
    let mut storage = with_one_for_later(0);
    let steps = storage.steps();
    for index in 3.. {
        storage.persist_later(batch(index..=index, 1, 1)).expect("written, or kept");
        if storage.steps() > steps {
            assert_eq!(replayed(&mut storage.crash().open().expect("whole")).len() as u64, index);
            break;
        }
        assert!(index < 10_000, "it is written at last");
    }
}

#[test]
fn what_is_written_later_outlasts_a_shortage() {
    let mut storage = with_one_for_later(0);
    let folder = storage.folder().clone();
    let names = folder.list().expect("listed");
    let taken: usize = names.iter().filter_map(|name| folder.contents(name)).map(|file| file.len()).sum();
    folder.set_capacity_bytes(taken as u64 + 100);
    let mut last = 2;
    let full = loop {
        if let Err(error) = storage.write_watermark() {
            break error;
        }
        last += 1;
        storage.persist_later(batch(last..=last, 1, 1)).expect("it is kept");
    };
    assert!(matches!(full, StorageError::Passing(_)), "{full}");
    folder.set_capacity_bytes(u64::MAX);
    storage.write_watermark().expect("there is room");
    assert_eq!(replayed(&mut storage.crash().open().expect("whole")).len() as u64, last);
}

#[test]
fn a_full_device_says_so() {
    let mut storage = SimulatedDisk::new(1).open().expect("empty");
    storage.set_free_bytes(7);
    assert_eq!(storage.free_bytes().expect("a number"), 7);
    storage.arm(0, Fault::Full);
    assert!(matches!(storage.persist(&batch(1..=1, 1, 0)), Err(StorageError::DiskFull { .. })));
    assert!(matches!(storage.write_watermark(), Err(StorageError::FailedBefore { .. })));
}

#[test]
fn the_same_seed_leaves_the_same() {
    let left = |seed, step| {
        let mut storage = SimulatedDisk::new(seed).open().expect("empty");
        storage.arm(step, Fault::PowerCut);
        work(&mut storage);
        storage.crash().folder().contents("journal-00")
    };
    for step in 0..8 {
        assert_eq!(left(5, step), left(5, step));
    }
    assert!((0..8).any(|step| (0..20).any(|seed| left(seed, step) != left(5, step))));
}
