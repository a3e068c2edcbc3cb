//! What the simulated disk keeps, loses and refuses.

use super::*;
use crate::storage::value::ValueError;
use crate::storage::{EntryKind, StorageErrorKind, Vote};

fn entry(index: u64, term: u64) -> LogEntry {
    let bytes = if index.is_multiple_of(3) { 100_000 } else { 100 };
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

/// Appends, takes back and appends again; returns the entries acknowledged when the armed fault struck.
fn work(storage: &mut SimulatedStorage) -> Vec<(u64, u64)> {
    let mut acknowledged = Vec::new();
    let steps = [batch(1..=4, 1, 0), batch(5..=8, 1, 4), batch(7..=9, 2, 6), batch(10..=10, 2, 9)];
    for step in steps {
        let first = step.entries.first().map_or(0, |entry| entry.index);
        if storage.persist(&step).is_err() || storage.write_watermark().is_err() {
            // Entries that were to be overwritten may be gone: they are no longer promised.
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
    let mut whole = SimulatedDisk::new(0).open().expect("empty");
    work(&mut whole);
    let steps = whole.steps();
    assert!(steps > 20, "{steps}");
    for seed in 0..20 {
        for step in 0..steps {
            let mut storage = SimulatedDisk::new(seed).open().expect("empty");
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
        let mut disk = SimulatedDisk::new(seed);
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
    let mut storage = SimulatedDisk::new(1).open().expect("empty");
    let acknowledged = work(&mut storage);
    storage.arm(3, Fault::Failure);
    let more = batch(11..=20, 3, 10);
    assert!(storage.persist(&more).is_err());
    let mut again = storage.kill().open().expect("whole");
    assert!(replayed(&mut again).starts_with(&acknowledged));
    assert_eq!(again.recovered().vote, Vote { term: 1, vote: 1 });
}

/// The process ends at a write or a sync that fails, or is killed there; another one starts and goes on; then the power
/// goes. What the other one has read and built on must be there.
#[test]
fn a_power_cut_after_a_restart_keeps_what_the_restart_found() {
    let mut whole = SimulatedDisk::new(0).open().expect("empty");
    work(&mut whole);
    let steps = whole.steps();
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
    assert!(more > 100, "{more} starts found what was not acknowledged");
}

#[test]
fn damage_is_found() {
    let disk = |spoil: &dyn Fn(&mut SimulatedDisk)| {
        let mut storage = SimulatedDisk::new(3).open().expect("empty");
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
    let vote = disk(&SimulatedDisk::spoil_vote);
    assert!(matches!(vote, Err(StorageError::Damaged { damage: Damage::Vote, .. })));
}

#[test]
fn a_full_device_says_so() {
    let mut storage = SimulatedDisk::new(1).open().expect("empty");
    storage.set_free_bytes(7);
    assert_eq!(storage.free_bytes().expect("a number"), 7);
    storage.arm(0, Fault::Full);
    assert!(matches!(storage.persist(&batch(1..=1, 1, 0)), Err(StorageError::DiskFull { .. })));
}

#[test]
fn the_same_seed_leaves_the_same() {
    let left = |seed| {
        let mut storage = SimulatedDisk::new(seed).open().expect("empty");
        storage.arm(16, Fault::PowerCut);
        work(&mut storage);
        let disk = storage.crash();
        disk.durable
    };
    assert_eq!(left(5), left(5));
    assert!((0..20).any(|seed| left(seed) != left(5)));
}

/// Appends, and cuts off the beginning whenever there is a checkpoint, or leaves the rest of it to later appends;
/// returns the acknowledged entries and the base of the newest checkpoint when the armed fault struck.
fn cutting_work(storage: &mut SimulatedStorage, at_once: bool) -> (Vec<(u64, u64)>, Option<LogBase>) {
    let (mut acknowledged, mut base) = (Vec::new(), None);
    let steps = [(batch(1..=40, 1, 0), 30), (batch(38..=45, 2, 37), 37), (batch(38..=47, 3, 46), 47)];
    for (step, checkpoint) in steps {
        let first = step.entries.first().map_or(0, |entry| entry.index);
        let persisted = storage.persist(&step);
        acknowledged.retain(|(index, _)| *index < first);
        if persisted.is_err() {
            break;
        }
        acknowledged.extend(step.entries.iter().map(|entry| (entry.index, entry.term)));
        let Ok(reached) = storage.base_at(checkpoint) else { break };
        base = Some(reached);
        while let (Ok(false), true) = (storage.cut(checkpoint), at_once) {}
        if storage.write_watermark().is_err() {
            break;
        }
    }
    (acknowledged, base)
}

#[test]
fn a_power_cut_at_every_step_of_a_cut_leaves_the_log_behind_the_checkpoint() {
    let mut whole = SimulatedDisk::new(0).open().expect("empty");
    let (_, base) = cutting_work(&mut whole, true);
    assert_eq!(base.map(|base| base.index), Some(47));
    assert!(whole.kill().durable.logs.log().is_empty());
    let steps = [false, true].map(|at_once| {
        let mut whole = SimulatedDisk::new(0).open().expect("empty");
        cutting_work(&mut whole, at_once);
        whole.steps()
    });
    let mut partly = 0;
    for seed in 0..8 {
        let at_once = seed % 2 == 1;
        for step in 0..steps[usize::from(at_once)] {
            let mut storage = SimulatedDisk::new(seed).open().expect("empty");
            storage.arm(step, Fault::PowerCut);
            let (mut acknowledged, base) = cutting_work(&mut storage, at_once);
            let disk = storage.crash();
            let base_index = base.map_or(0, |base| base.index);
            partly +=
                u32::from(disk.durable.logs.log().first_key_value().is_some_and(|(key, _)| key.part > 0));
            let mut again = disk.open_after(base).expect("nothing acknowledged is missing");
            assert_eq!(again.recovered().first_index, base_index + 1);
            assert!((base_index..=again.recovered().last_index).contains(&again.recovered().commit));
            acknowledged.retain(|(index, _)| *index > base_index);
            let found = replayed(&mut again);
            assert!(found.starts_with(&acknowledged), "step {step} of seed {seed}");
            let next = found.last().map_or(base_index, |(index, _)| *index) + 1;
            again.persist(&batch(next..=next, 3, base_index)).expect("it goes on");
            while !again.cut(base_index).expect("it goes on") {}
            let mut last = again.crash().open_after(base).expect("whole");
            assert_eq!(replayed(&mut last).last(), Some(&(next, 3)));
        }
    }
    assert!(partly > 100, "{partly} disks begin in the middle of an entry");
}

#[test]
fn what_is_cut_is_gone_for_good() {
    for seed in 0..20 {
        let mut storage = SimulatedDisk::new(seed).open().expect("empty");
        storage.persist(&batch(1..=40, 1, 0)).expect("written");
        let base = storage.base_at(30).expect("it is there");
        assert!(!storage.cut(30).expect("cut"), "it takes several rounds");
        while !storage.cut(30).expect("cut") {}
        let disk = storage.crash();
        assert_eq!(disk.durable.logs.log().first_key_value().map(|(key, _)| *key), Some(Key::first(31)));
        disk.open_after(Some(base)).expect("it opens");
    }
}

#[test]
fn a_beginning_that_does_not_fit_the_checkpoint_is_refused() {
    let disk = |cut: u64| {
        let mut storage = SimulatedDisk::new(3).open().expect("empty");
        work(&mut storage);
        let base = storage.base_at(6).expect("it is there");
        while !storage.cut(cut).expect("cut") {}
        (storage.kill(), base)
    };
    let refused = |cut: u64, change: fn(LogBase) -> LogBase| {
        let (disk, base) = disk(cut);
        match disk.open_after(Some(change(base))).map(drop).expect_err("it is refused") {
            StorageError::Damaged { damage, .. } => damage,
            error => panic!("{error}"),
        }
    };
    let (whole, base) = disk(6);
    whole.open_after(Some(base)).expect("it fits");
    let another = |base| LogBase { crc: 1, ..base };
    assert!(matches!(refused(5, another), Damage::Replaced { index: 6 }));
    assert!(matches!(refused(6, another), Damage::Value { index: 7, source: ValueError::Chain }));
    assert!(matches!(refused(6, |base| LogBase { index: 5, ..base }), Damage::Hole { index: 6 }));
    assert!(matches!(refused(6, |_| ROOT), Damage::Hole { index: 1 }));
}

#[test]
fn a_checkpoint_ahead_of_the_log_takes_its_place() {
    let disk = || {
        let mut storage = SimulatedDisk::new(3).open().expect("empty");
        work(&mut storage);
        storage.kill()
    };
    let base = LogBase { index: 20, term: 4, crc: 9 };
    let mut storage = disk().open_after(Some(base)).expect("it opens");
    let Recovered { commit, first_index, last_index, last_term, .. } = storage.recovered();
    assert_eq!((commit, first_index, last_index, last_term), (20, 21, 20, 4));
    storage.persist(&batch(21..=22, 4, 20)).expect("it goes on");
    let disk_after = storage.kill();
    assert!(disk_after.durable.logs.log().keys().all(|key| key.index > 20));
    assert_eq!(replayed(&mut disk_after.open_after(Some(base)).expect("whole")), [(21, 4), (22, 4)]);

    let mut short = disk();
    short.lose_from(6);
    let opened = short.open_after(Some(LogBase { index: 8, ..base })).map(drop);
    assert!(matches!(opened, Err(StorageError::ShortLog { last: 5, durable: 10, .. })), "{opened:?}");
}
