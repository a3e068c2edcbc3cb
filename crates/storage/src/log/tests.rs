//! What a log keeps, finds and refuses, on a simulated folder.

#![expect(clippy::indexing_slicing, reason = "lengths are known here")]

use std::path::Path;

use super::super::archive::FileArchive;
use super::super::folder::{Folder as _, SimulatedFolder};
use super::super::journal::layout::{BLOCK_BYTES, HEADER_BYTES};
use super::super::{EntryKind, Fault};
use super::*;

mod files;

type TestLog = Log<SimulatedFolder, FileArchive<SimulatedFolder>>;

const ROOT: LogBase = LogBase { index: 0, term: 0, crc: 5 };
const SIZE: JournalSize = JournalSize { file_bytes: 16 << 10, files_max: 3 };

fn place(folder: &SimulatedFolder) -> LogPlace<SimulatedFolder, FileArchive<SimulatedFolder>> {
    let (folder, archive) = (folder.clone(), FileArchive(folder.clone()));
    LogPlace { path: Path::new("here").to_owned(), folder, archive, storage_id: [3; 16], size: SIZE }
}

fn created(seed: u64) -> (SimulatedFolder, TestLog) {
    let folder = SimulatedFolder::new(seed);
    let log = Log::create(place(&folder), ROOT, Vote { term: 1, vote: 1 }).expect("made");
    (folder, log)
}

fn open(folder: &SimulatedFolder) -> Result<TestLog, StorageError> {
    open_after(folder, ROOT)
}

fn open_after(folder: &SimulatedFolder, base: LogBase) -> Result<TestLog, StorageError> {
    Log::open(place(folder), base).map(|(log, _)| log)
}

fn entry(index: u64, term: u64) -> LogEntry {
    let bytes = if index.is_multiple_of(5) { 6000 } else { 700 };
    LogEntry { index, term, kind: EntryKind::Normal, data: vec![index.to_le_bytes()[0]; bytes].into() }
}

fn write(log: &mut TestLog, indices: std::ops::RangeInclusive<u64>, term: u64) -> Result<(), StorageError> {
    indices.into_iter().try_for_each(|index| log.commit(None, &[entry(index, term)], index - 1))
}

fn do_chores(log: &mut TestLog) {
    while let Some(chore) = log.chore() {
        let done = chore.run();
        log.chore_done(done).expect("done");
    }
}

/// The entries from `first` on, each with its term.
fn scanned(log: &mut TestLog, first: u64) -> Result<Vec<(u64, u64)>, StorageError> {
    let mut found = Vec::new();
    log.scan(first, &mut |read| {
        assert_eq!(read.data, entry(read.index, read.term).data);
        found.push((read.index, read.term));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

fn terms(spans: &[(u64, u64, u64)]) -> Vec<(u64, u64)> {
    spans.iter().flat_map(|(first, last, term)| (*first..=*last).map(|index| (index, *term))).collect()
}

fn journals(folder: &SimulatedFolder) -> Vec<String> {
    let names = folder.list().expect("listed").into_iter();
    names.filter(|name| name.starts_with("journal-")).collect()
}

fn archived_in(folder: &SimulatedFolder) -> usize {
    folder.list().expect("listed").iter().filter(|name| name.starts_with("stretch-")).count()
}

fn damage(error: &StorageError) -> Option<&Damage> {
    if let StorageError::Damaged { damage, .. } = error { Some(damage) } else { None }
}

#[test]
fn a_log_that_outgrows_the_journal_is_read_as_one() {
    for with_chores in [false, true] {
        let (folder, mut log) = created(1);
        for index in 1..=200 {
            write(&mut log, index..=index, 1).expect("written");
            if with_chores {
                do_chores(&mut log);
            }
        }
        assert!(journals(&folder).len() <= SIZE.files_max, "{:?}", journals(&folder));
        assert!(archived_in(&folder) > 5);
        assert_eq!(scanned(&mut log, 1).expect("whole"), terms(&[(1, 200, 1)]));
        assert_eq!(scanned(&mut log, 77).expect("whole"), terms(&[(77, 200, 1)]));
        let bases: Vec<LogBase> =
            [1, 50, 100, 199, 200].map(|index| log.end_before(index + 1).expect("there")).to_vec();
        drop(log);
        let mut log = open(&folder).expect("it opens");
        assert_eq!(scanned(&mut log, 1).expect("whole"), terms(&[(1, 200, 1)]));
        for base in bases {
            assert_eq!(log.end_before(base.index + 1).expect("there"), base);
        }
        write(&mut log, 201..=210, 2).expect("it goes on");
        assert_eq!(scanned(&mut log, 150).expect("whole"), terms(&[(150, 200, 1), (201, 210, 2)]));
    }
}

#[test]
fn what_a_checkpoint_made_needless_is_used_again() {
    let (folder, mut log) = created(1);
    for index in 1..=500 {
        write(&mut log, index..=index, 1).expect("written");
        if index % 10 == 0 {
            log.cut(index - 5).expect("cut");
        }
        do_chores(&mut log);
    }
    assert_eq!((journals(&folder).len(), archived_in(&folder)), (SIZE.files_max, 0));
    assert_eq!(scanned(&mut log, 496).expect("whole"), terms(&[(496, 500, 1)]));
    assert!(log.end_before(400).is_err());
    let base = log.end_before(496).expect("there");
    drop(log);
    let mut log = open_after(&folder, base).expect("it opens");
    assert_eq!(scanned(&mut log, 496).expect("whole"), terms(&[(496, 500, 1)]));
    let refused = open(&folder).map(drop).expect_err("its beginning is gone");
    assert!(matches!(damage(&refused), Some(Damage::Hole { index: 1 })), "{refused}");
}

#[test]
fn stretches_leave_the_archive_with_the_beginning() {
    let (folder, mut log) = created(1);
    write(&mut log, 1..=200, 1).expect("written");
    let before = archived_in(&folder);
    log.cut(150).expect("cut");
    do_chores(&mut log);
    assert!(archived_in(&folder) < before / 2);
    let base = log.end_before(151).expect("there");
    assert_eq!(base.index, 150);
    log.cut(200).expect("cut");
    do_chores(&mut log);
    assert_eq!(archived_in(&folder), 0);
    let base = log.end_before(201).expect("there");
    drop(log);
    let mut log = open_after(&folder, base).expect("it opens");
    assert_eq!(scanned(&mut log, 201).expect("empty"), []);
    write(&mut log, 201..=202, 1).expect("it goes on");
}

#[test]
fn a_chore_may_end_when_its_stretch_is_needless() {
    let (folder, mut log) = created(1);
    while log.chore().is_none() || log.files.slots().len() < SIZE.files_max {
        log.under_way = None;
        let next = log.end().index + 1;
        write(&mut log, next..=next, 1).expect("written");
    }
    log.under_way = None;
    let chore = log.chore().expect("the oldest is to be archived");
    assert!(matches!(log.under_way, Some(UnderWay::Archive(_))));
    let last = log.end().index;
    log.cut(last).expect("cut");
    chore.run().expect("done");
    log.chore_done(Ok(())).expect("taken");
    assert_eq!(archived_in(&folder), 1);
    do_chores(&mut log);
    assert_eq!(archived_in(&folder), 0);
    assert!(log.files.free(0).is_some(), "its file is free");
}

#[test]
fn a_chore_without_room_is_given_up_and_the_log_goes_on() {
    let (folder, mut log) = created(1);
    do_chores(&mut log);
    write(&mut log, 1..=20, 1).expect("written");
    let taken: usize = folder
        .list()
        .expect("listed")
        .iter()
        .filter_map(|name| folder.contents(name))
        .map(|file| file.len())
        .sum();
    folder.set_capacity_bytes(taken as u64 + 100);
    let mut next = 21;
    let full = loop {
        if let Some(chore) = log.chore() {
            let done = chore.run();
            log.chore_done(done).expect("it is no failure");
        }
        if let Err(error) = write(&mut log, next..=next, 1) {
            break error;
        }
        next += 1;
    };
    assert!(matches!(full, StorageError::Passing(_)), "{full}");
    assert_eq!(scanned(&mut log, 1).expect("whole"), terms(&[(1, next - 1, 1)]));
    // All entries are still there, and the log goes on when there is room: archiving may make some.
    match write(&mut log, next..=next, 1) {
        Ok(()) => next += 1,
        Err(error) => assert!(matches!(error, StorageError::Passing(_)), "{error}"),
    }
    folder.set_capacity_bytes(u64::MAX);
    write(&mut log, next..=next, 1).expect("written");
    assert_eq!(scanned(&mut log, 1).expect("whole"), terms(&[(1, next, 1)]));
    let mut log = open(&folder.kill()).expect("it opens");
    assert_eq!(scanned(&mut log, 1).expect("whole"), terms(&[(1, next, 1)]));
}

#[test]
fn an_end_is_replaced_wherever_it_lies() {
    for first in [2, 50, 100, 190, 200] {
        let (folder, mut log) = created(1);
        write(&mut log, 1..=200, 1).expect("written");
        write(&mut log, first..=first + 3, 2).expect("written");
        let expected = terms(&[(1, first - 1, 1), (first, first + 3, 2)]);
        assert_eq!(scanned(&mut log, 1).expect("whole"), expected);
        drop(log);
        let mut log = open(&folder).expect("it opens");
        assert_eq!(scanned(&mut log, 1).expect("whole"), expected);
        assert_eq!(log.end().index, first + 3);
        log.remove_end(first + 1).expect("removed");
        drop(log);
        assert_eq!(open(&folder).expect("it opens").end().index, first);
    }
}

#[test]
fn vote_and_commit_index_come_back() {
    let (folder, mut log) = created(1);
    let mut vote = Vote { term: 1, vote: 1 };
    for index in 1..=60 {
        let changed = (index % 7 == 0).then_some(Vote { term: index, vote: 2 });
        vote = changed.unwrap_or(vote);
        let entries = if index % 3 == 0 { vec![] } else { vec![entry(log.end().index + 1, 1)] };
        log.commit(changed, &entries, log.end().index).expect("written");
        let (end, mut again) = (log.end(), open(&folder).expect("it opens"));
        assert_eq!((again.vote(), again.end()), (vote, end));
        assert!(again.commit_index() <= end.index);
        log.write_watermark().expect("written");
        again = open(&folder).expect("it opens");
        assert_eq!(again.commit_index(), log.commit_index());
    }
}

#[test]
fn an_entry_larger_than_a_file_has_one_of_its_own() {
    let (folder, mut log) = created(1);
    write(&mut log, 1..=3, 1).expect("written");
    let large = LogEntry { data: vec![7; 100_000].into(), ..entry(4, 1) };
    log.commit(None, std::slice::from_ref(&large), 3).expect("written");
    write(&mut log, 5..=60, 1).expect("written");
    let mut log = open(&folder).expect("it opens");
    let mut found = Vec::new();
    log.scan(4, &mut |entry| {
        found.push(entry);
        Ok(ControlFlow::Continue(()))
    })
    .expect("whole");
    assert_eq!((found.len(), &found[0]), (57, &large));
    log.cut(60).expect("cut");
    do_chores(&mut log);
    assert!(log.files.slots().iter().all(|slot| slot.bytes == SIZE.file_bytes));
}

/// Writes, replaces the end, votes, cuts and archives. Returns the entries and the vote acknowledged when the armed fault
/// struck, and the base of the newest checkpoint.
fn work(log: &mut TestLog) -> (Vec<(u64, u64)>, Vec<Vote>, LogBase) {
    let (mut acknowledged, mut votes, mut base) = (Vec::new(), vec![Vote { term: 1, vote: 1 }], ROOT);
    let steps = [(1, 9, 1), (10, 30, 1), (25, 34, 2), (35, 60, 2), (58, 64, 3)];
    'steps: for (nth, (first, last, term)) in steps.into_iter().enumerate() {
        for index in first..=last {
            let vote = (index == first && nth > 0).then(|| Vote { term: term + 10, vote: index });
            votes.extend(vote);
            acknowledged.retain(|(acknowledged, _)| *acknowledged < index);
            if log.commit(vote, &[entry(index, term)], index.saturating_sub(3)).is_err() {
                break 'steps;
            }
            acknowledged.push((index, term));
            votes.drain(..votes.len() - 1);
        }
        let Ok(reached) = log.end_before(last - 5) else { break };
        if nth % 2 == 1 {
            base = reached;
            if log.cut(base.index).is_err() {
                break;
            }
        }
        while let Some(chore) = log.chore() {
            let done = chore.run();
            if log.chore_done(done).is_err() {
                break 'steps;
            }
        }
        if log.write_watermark().is_err() {
            break;
        }
    }
    (acknowledged, votes, base)
}

fn check(
    left: &SimulatedFolder,
    (acknowledged, votes, base): &(Vec<(u64, u64)>, Vec<Vote>, LogBase),
    what: &str,
) {
    let mut log = open_after(left, *base).unwrap_or_else(|refused| panic!("{what}: {refused}"));
    let found = scanned(&mut log, base.index + 1).unwrap_or_else(|refused| panic!("{what}: {refused}"));
    let promised: Vec<_> = acknowledged.iter().filter(|(index, _)| *index > base.index).copied().collect();
    assert_eq!(found.get(..promised.len()), Some(&promised[..]), "{what}");
    assert!(votes.contains(&log.vote()), "{what}: {:?} is none of {votes:?}", log.vote());
    let next = found.last().map_or(base.index, |(index, _)| *index) + 1;
    write(&mut log, next..=next, 9).expect("it goes on");
    let mut log =
        open_after(&left.kill(), *base).unwrap_or_else(|refused| panic!("{what}, again: {refused}"));
    assert_eq!(scanned(&mut log, base.index + 1).expect("whole").last(), Some(&(next, 9)), "{what}");
}

#[test]
fn a_fault_at_every_step_keeps_what_was_acknowledged() {
    let (folder, mut log) = created(0);
    let begun = folder.steps();
    let whole = work(&mut log);
    assert_eq!(whole.0.len(), 64);
    assert!(archived_in(&folder) > 0, "stretches were archived");
    let steps = folder.steps() - begun;
    for (seed, fault) in (0..8).zip([Fault::PowerCut, Fault::Failure, Fault::Full].into_iter().cycle()) {
        for step in 0..steps {
            let (folder, mut log) = created(seed);
            folder.arm(step, fault);
            let promised = work(&mut log);
            let what = format!("{fault:?} at step {step} of seed {seed}");
            let dies = fault != Fault::PowerCut && seed % 2 == 0;
            check(&if dies { folder.kill() } else { folder.crash() }, &promised, &what);
        }
    }
}

#[test]
fn a_start_makes_durable_what_it_found() {
    for seed in 0..60 {
        let (folder, mut log) = created(seed);
        write(&mut log, 1..=7, 1).expect("written");
        folder.arm(1 + seed % 2, Fault::Failure);
        assert!(write(&mut log, 8..=9, 1).is_err());
        let killed = folder.kill();
        let found = scanned(&mut open(&killed).expect("it opens"), 1).expect("whole");
        assert!(found.starts_with(&terms(&[(1, 7, 1)])));
        let again = scanned(&mut open(&killed.crash()).expect("it opens"), 1).expect("whole");
        assert_eq!(again, found, "seed {seed}");
    }
}

/// A log of several stretches, with its watermark, and its folder.
fn written() -> (SimulatedFolder, TestLog) {
    let (folder, mut log) = created(3);
    write(&mut log, 1..=30, 1).expect("written");
    log.write_watermark().expect("written");
    (folder, log)
}

#[test]
fn every_flipped_byte_is_refused_or_harmless() {
    let (folder, mut log) = written();
    let (whole, end) = (scanned(&mut log, 1).expect("whole"), log.end());
    drop(log);
    let mut refused = 0;
    for name in folder.list().expect("listed") {
        let bytes = folder.contents(&name).expect("there");
        for at in (0..bytes.len()).filter(|at| at % 97 == 0 || at % BLOCK_BYTES < 120) {
            assert!(folder.flip_bit(&name, at as u64 * 8 + 3));
            let outcome =
                open(&folder).and_then(|mut log| scanned(&mut log, 1).map(|found| (found, log.end())));
            match outcome {
                Ok(found) => assert_eq!(found, (whole.clone(), end), "byte {at} of {name}"),
                Err(StorageError::Damaged { .. } | StorageError::ShortLog { .. }) => refused += 1,
                Err(error) => panic!("byte {at} of {name}: {error}"),
            }
            folder.put(&name, bytes.clone());
        }
    }
    assert!(refused > 300, "{refused}");
}

/// The offsets of the records in the newest file.
fn records(folder: &SimulatedFolder, name: &str) -> Vec<usize> {
    let bytes = folder.contents(name).expect("there");
    let mut at = usize::try_from(RECORDS_AT).expect("small");
    let mut places = Vec::new();
    while bytes[at..].starts_with(b"ADJR") {
        places.push(at);
        let length: [u8; 4] = bytes[at + 16..at + 20].try_into().expect("four");
        at += HEADER_BYTES + u32::from_le_bytes(length) as usize;
    }
    places
}

fn zero(folder: &SimulatedFolder, name: &str, from: usize, to: usize) {
    let mut bytes = folder.contents(name).expect("there");
    bytes[from..to].fill(0);
    folder.put(name, bytes);
}

#[test]
fn a_record_that_is_missing_among_others_is_damage() {
    let (folder, mut log) = created(3);
    write(&mut log, 1..=4, 1).expect("written");
    drop(log);
    let places = records(&folder, "journal-00");
    assert_eq!(places.len(), 4);
    let whole = folder.contents("journal-00").expect("there");
    for gap in 0..places.len() - 1 {
        zero(&folder, "journal-00", places[gap], places[gap + 1]);
        let refused = open(&folder).map(drop).expect_err("there are later ones");
        let at = gap as u64 + 1;
        assert!(matches!(damage(&refused), Some(Damage::Record { index, .. }) if *index == at), "{refused}");
        folder.put("journal-00", whole.clone());
    }
}

#[test]
fn the_last_record_is_missed_when_the_watermark_names_it() {
    for with_watermark in [false, true] {
        let (folder, mut log) = created(3);
        write(&mut log, 1..=4, 1).expect("written");
        if with_watermark {
            log.write_watermark().expect("written");
        }
        drop(log);
        let last = *records(&folder, "journal-00").last().expect("some");
        zero(&folder, "journal-00", last, last + 100);
        match open(&folder) {
            Err(StorageError::ShortLog { last: 3, durable: 4, .. }) if with_watermark => {}
            Ok(log) if !with_watermark => assert_eq!(log.end().index, 3),
            outcome => panic!("{:?}", outcome.map(|log| log.end())),
        }
    }
}

#[test]
fn a_lost_vote_is_missed_when_the_watermark_names_it() {
    let (folder, mut log) = created(3);
    write(&mut log, 1..=2, 1).expect("written");
    log.commit(Some(Vote { term: 4, vote: 2 }), &[], 0).expect("written");
    log.write_watermark().expect("written");
    drop(log);
    let last = *records(&folder, "journal-00").last().expect("some");
    zero(&folder, "journal-00", last, last + 10);
    let refused = open(&folder).map(drop).expect_err("the vote is gone");
    assert!(matches!(damage(&refused), Some(Damage::Tail)), "{refused}");
}

#[test]
fn a_newest_file_that_lost_its_head_is_missed() {
    let (folder, mut log) = created(3);
    do_chores(&mut log);
    while log.stretches.len() < 2 {
        let next = log.end().index + 1;
        write(&mut log, next..=next, 1).expect("written");
    }
    drop(log);
    zero(&folder, "journal-01", 0, BLOCK_BYTES);
    let refused = open(&folder).map(drop).expect_err("its records are there");
    assert!(matches!(damage(&refused), Some(Damage::Hole { .. })), "{refused}");
}

#[test]
fn a_body_that_looks_like_a_record_is_none() {
    let (folder, mut log) = created(3);
    write(&mut log, 1..=2, 1).expect("written");
    // An attack: a record with a later sequence, as a node without a salt would write it.
    let mut forged = Vec::new();
    let point = Point { offset: 0, sequence: 40, chain: 0, end: ROOT };
    layout::encode_record(0, point, 0, None, &[entry(1, 1)], &mut forged);
    let entry = LogEntry { data: forged.into(), ..entry(3, 1) };
    log.commit(None, &[entry], 2).expect("written");
    drop(log);
    let last = *records(&folder, "journal-00").last().expect("some");
    // Its header is torn.
    zero(&folder, "journal-00", last, last + 8);
    assert_eq!(open(&folder).expect("it was not acknowledged").end().index, 2);
}

#[test]
fn a_stretch_that_is_missing_is_a_hole() {
    let (folder, log) = written();
    drop(log);
    let archived = folder.list().expect("listed").into_iter().filter(|name| name.starts_with("stretch-"));
    let archived: Vec<String> = archived.collect();
    for name in &archived {
        let bytes = folder.contents(name).expect("there");
        folder.remove(name).expect("removed");
        let refused = open(&folder).map(drop).expect_err("it is needed");
        assert!(matches!(damage(&refused), Some(Damage::Hole { .. })), "without {name}: {refused}");
        folder.put(name, bytes);
    }
    assert!(archived.len() > 1);
    for name in journals(&folder) {
        folder.remove(&name).expect("removed");
    }
    for name in archived {
        folder.remove(&name).expect("removed");
    }
    let refused = open(&folder).map(drop).expect_err("it is gone");
    assert!(matches!(damage(&refused), Some(Damage::LogMissing)), "{refused}");
}

#[test]
fn a_log_that_does_not_fit_the_checkpoint_is_refused() {
    let (folder, mut log) = written();
    let base = log.end_before(21).expect("there");
    drop(log);
    open_after(&folder, base).expect("it fits");
    for other in [LogBase { crc: base.crc ^ 1, ..base }, LogBase { term: 7, ..base }] {
        let refused = open_after(&folder, other).map(drop).expect_err("another one");
        assert!(matches!(damage(&refused), Some(Damage::Replaced { index: 20 })), "{refused}");
    }
}

#[test]
fn a_checkpoint_ahead_of_the_log_takes_its_place() {
    let (folder, log) = written();
    drop(log);
    let base = LogBase { index: 50, term: 4, crc: 9 };
    let (mut log, found) = Log::open(place(&folder), base).expect("it opens");
    assert_eq!(found.last, 30);
    log.rebase(base).expect("begun");
    do_chores(&mut log);
    assert_eq!(archived_in(&folder), 0);
    write(&mut log, 51..=52, 4).expect("it goes on");
    let vote = log.vote();
    drop(log);
    let mut log = open_after(&folder, base).expect("it opens");
    assert_eq!(scanned(&mut log, 51).expect("whole"), terms(&[(51, 52, 4)]));
    assert_eq!(log.vote(), vote);
}

#[test]
fn what_can_be_read_of_a_damaged_log_is_read() {
    let (folder, log) = written();
    drop(log);
    let archived = folder.list().expect("listed").into_iter().find(|name| name == "stretch-2");
    let name = archived.expect("there are several");
    assert!(folder.flip_bit(&name, (RECORDS_AT + 2000) * 8));
    let (mut log, _, obstacle) = Log::find(place(&folder), ROOT).expect("read");
    assert!(obstacle.is_none(), "it is found when it is read");
    let mut kept = 0;
    let refused = log.scan(1, &mut |entry| {
        kept = entry.index;
        Ok(ControlFlow::Continue(()))
    });
    let refused = refused.expect_err("found");
    assert!(
        matches!(damage(&refused), Some(Damage::Record { index, .. }) if *index == kept + 1),
        "{refused}"
    );
    assert!(kept > 1);
    folder.remove(&name).expect("removed");
    let (mut log, _, obstacle) = Log::find(place(&folder), ROOT).expect("read");
    let found = scanned(&mut log, 1).expect("what is there is whole");
    let hole = found.len() as u64 + 1;
    assert!(matches!(obstacle.as_ref().and_then(damage), Some(Damage::Hole { index }) if *index == hole));
}
