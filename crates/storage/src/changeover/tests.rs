//! A checkpoint of another member replaces this node's: completely, whenever the power fails, and the log goes on.

#![expect(clippy::indexing_slicing, reason = "lengths are known here")]

use bytes::Bytes;
use tempfile::TempDir;

use super::super::chunks::Manifest;
use super::super::disk::tests::beginning::open_beside_manifest;
use super::super::durable::base_in;
use super::super::folder::{Folder, FolderWriter as _, SimulatedFolder};
use super::super::recover::tests::images_of;
use super::super::simulated::{SimulatedDisk, SimulatedStorage};
use super::super::{
    Damage, DiskStorage, EntryKind, LogBase, LogEntry, OpenOptions, PersistBatch, Storage, Vote,
};
use super::*;
use crate::Fault;

const OLD_VOTE: Vote = Vote { term: 2, vote: 1 };
const NEW_VOTE: Vote = Vote { term: 6, vote: 3 };
/// The last entry of the old log.
const OLD_LAST: u64 = 12;
/// Number of entries that come with the checkpoint and follow it.
const BEHIND: u64 = 3;

/// A checkpoint of another member.
#[derive(Clone, Copy, Debug)]
struct At {
    index: u64,
    /// True if the log has its entry.
    agrees: bool,
}

/// Entries that the log lacks or has otherwise: beyond it, in its middle, its last one, and its first one; and entries
/// that it has: its last one, one in its middle, and its first one.
const AT: [At; 7] = [
    At { index: 40, agrees: false },
    At { index: 9, agrees: false },
    At { index: OLD_LAST, agrees: false },
    At { index: 1, agrees: false },
    At { index: OLD_LAST, agrees: true },
    At { index: 9, agrees: true },
    At { index: 1, agrees: true },
];

fn entry(index: u64, term: u64) -> LogEntry {
    let bytes = if index.is_multiple_of(5) { 40_000 } else { 30 };
    LogEntry { index, term, kind: EntryKind::Normal, data: Bytes::from(vec![index.to_le_bytes()[0]; bytes]) }
}

fn old_log() -> Vec<LogEntry> {
    (1..=OLD_LAST).map(|index| entry(index, 2)).collect()
}

fn other_base(index: u64) -> LogBase {
    LogBase { index, term: 5, crc: 0x0051_AB1E }
}

/// The base that the checkpoint stands for.
fn base(storage: &mut impl Storage, At { index, agrees }: At) -> LogBase {
    if agrees { storage.base_at(index).expect("it is in the log") } else { other_base(index) }
}

/// The batch that installs the checkpoint at `index`, with a vote and entries.
fn order(index: u64) -> PersistBatch {
    let entries = (index + 1..=index + BEHIND).map(|index| entry(index, 5)).collect();
    PersistBatch { vote: Some(NEW_VOTE), install: Some(index), entries, commit: index + 1 }
}

/// Puts a checkpoint that stands for `base` into a folder, with a file that only it has. All of it durable.
fn put_together(folder: &impl Folder, base: LogBase) {
    let mut file = folder.create(&mark(base)).expect("created");
    file.append(b"rows").and_then(|()| file.sync()).expect("written");
    let LogBase { index, term, crc: log_crc } = base;
    Manifest { index, term, log_crc, ..Manifest::default() }.write(folder).expect("written");
}

fn mark(base: LogBase) -> String {
    format!("rows-{}", base.index)
}

/// The state that a starting node finds.
#[derive(Debug, PartialEq)]
struct Found {
    names: Vec<String>,
    vote: Vote,
    base: Option<LogBase>,
    log: Vec<LogEntry>,
    last: u64,
}

fn found(storage: &mut impl Storage, folder: &impl Folder, vote: Vote, last: u64) -> Found {
    let base = base_in(folder).expect("a manifest or none");
    let mut log = Vec::new();
    let mut visit = |entry| {
        log.push(entry);
        Ok(())
    };
    storage.replay(base.map_or(0, |base| base.index) + 1, &mut visit).expect("it verifies");
    Found { names: folder.list().expect("listed"), vote, base, log, last }
}

impl Found {
    /// Checks that it is the new state, or the old one with every entry that others rely on. True if it is the new one.
    fn check(&self, expected: LogBase, acknowledged: bool) -> bool {
        let LogBase { index, term, .. } = expected;
        let agrees = term == OLD_VOTE.term;
        let Some(base) = self.base else {
            assert!(!acknowledged, "what was acknowledged is lost");
            assert_eq!(self.names, Vec::<String>::new());
            let is_needed = |entry: &LogEntry| agrees || entry.index < index;
            let needed = old_log().into_iter().filter(is_needed).collect::<Vec<_>>();
            assert!(old_log().starts_with(&self.log), "{self:?}");
            assert!(self.log.starts_with(&needed), "{} entries, {} are needed", self.log.len(), needed.len());
            assert!(self.vote == OLD_VOTE || self.vote == NEW_VOTE);
            return false;
        };
        assert_eq!((base, self.vote), (expected, NEW_VOTE));
        assert_eq!(self.names, ["manifest".to_owned(), mark(base)]);
        let (written, mut old) = (order(index).entries, old_log());
        old.retain(|entry| agrees && entry.index > index);
        assert!(written.starts_with(&self.log) || old == self.log, "{self:?}");
        assert!(!acknowledged || self.log == written, "what was acknowledged is lost");
        assert_eq!(self.last, index + self.log.len() as u64);
        true
    }
}

/// The simulated disk of a node with a fetched checkpoint, and the base of that.
fn simulated_disk(seed: u64, at: At) -> (SimulatedStorage, SimulatedFolder, LogBase) {
    let folder = SimulatedFolder::new(seed);
    folder.complete_install().expect("nothing to do");
    let mut storage = SimulatedDisk::new(seed).open_beside(&folder, None).expect("empty");
    let batch = PersistBatch { vote: Some(OLD_VOTE), install: None, entries: old_log(), commit: 0 };
    storage.persist(&batch).and_then(|()| storage.write_watermark()).expect("written");
    let base = base(&mut storage, at);
    put_together(&folder.incoming(), base);
    (storage, folder, base)
}

/// Starts a node on the simulated disk.
fn start(disk: SimulatedDisk, folder: &SimulatedFolder, expected: LogBase, acknowledged: bool) -> bool {
    let index = expected.index;
    folder.complete_install().expect("it is completed");
    let incoming = folder.incoming();
    assert_eq!(incoming.list().expect("it is there"), Vec::<String>::new());
    let base = base_in(folder).expect("a manifest or none");
    let mut storage = disk.open_beside(folder, base).expect("it opens");
    let recovered = storage.recovered();
    let found = found(&mut storage, folder, recovered.vote, recovered.last_index);
    let is_new = found.check(expected, acknowledged);
    // It continues from there, and repeats the install if that was not completed.
    if !is_new {
        put_together(&incoming, expected);
        storage.persist(&order(index)).expect("installed");
    }
    storage.cut(index).expect("cut");
    let next = entry(storage.recovered().last_index + 1, 7);
    let batch = PersistBatch { entries: vec![next.clone()], ..PersistBatch::default() };
    storage.persist(&batch).expect("written");
    assert_eq!(storage.read(next.index, next.index, 0).expect("read"), [next]);
    is_new
}

#[test]
fn the_power_may_go_at_every_step_of_the_log() {
    for at in AT {
        let mut old = 0;
        for seed in 0..6 {
            let (mut storage, ..) = simulated_disk(seed, at);
            let before = storage.steps();
            storage.persist(&order(at.index)).expect("installed");
            for step in 0..storage.steps() - before {
                let (mut storage, folder, base) = simulated_disk(seed, at);
                storage.arm(step, Fault::PowerCut);
                storage.persist(&order(at.index)).expect_err("the power is gone");
                let folder = folder.crash();
                old += u32::from(!start(storage.crash(), &folder, base, false));
            }
        }
        assert!(old > 0, "the vote comes first");
    }
}

#[test]
fn the_power_may_go_at_every_step_of_the_folders() {
    for at in AT {
        let mut outcomes = [0; 2];
        for seed in 0..10 {
            let (mut storage, folder, _) = simulated_disk(seed, at);
            let before = folder.steps();
            storage.persist(&order(at.index)).expect("installed");
            let steps = folder.steps() - before;
            for step in 0..=steps {
                let (mut storage, folder, base) = simulated_disk(seed, at);
                folder.arm(step, Fault::PowerCut);
                let acknowledged = storage.persist(&order(at.index)).is_ok();
                assert_eq!(acknowledged, step == steps);
                let folder = folder.crash();
                outcomes[usize::from(start(storage.crash(), &folder, base, acknowledged))] += 1;
            }
        }
        assert!(outcomes.iter().all(|seen| *seen > 5), "{outcomes:?}");
    }
}

#[test]
fn a_start_that_completes_it_may_be_cut_short_as_well() {
    for at in [AT[0], AT[4]] {
        for (seed, step, second) in
            (0..10).flat_map(|seed| (0..64).map(move |both| (seed, both / 8, both % 8)))
        {
            let (mut storage, folder, base) = simulated_disk(seed, at);
            folder.arm(step, Fault::Failure);
            let acknowledged = storage.persist(&order(at.index)).is_ok();
            // The process dies; what it wrote is readable, but not durable.
            let (disk, folder) = (storage.kill(), folder.kill());
            folder.arm(second, Fault::PowerCut);
            let _cut_short = folder.complete_install();
            start(disk, &folder.crash(), base, acknowledged);
        }
    }
}

/// A member that cannot read its own checkpoint gets the same one again.
#[test]
fn the_checkpoint_that_was_there_is_installed_again() {
    fn again(storage: &mut impl Storage, chunks: &impl Folder, incoming: &impl Folder, base: LogBase) {
        let written = order(base.index).entries;
        for order in [order(base.index), PersistBatch { entries: Vec::new(), ..order(base.index) }] {
            put_together(incoming, base);
            storage.persist(&order).expect("installed");
            assert_eq!(base_in(chunks).expect("read"), Some(base));
            assert_eq!(storage.base_at(base.index).expect("it begins there"), base);
            assert_eq!(storage.read(base.index + 1, u64::MAX, u64::MAX).expect("read"), written);
        }
    }
    for at in AT {
        let (mut storage, folder, base) = simulated_disk(1, at);
        storage.persist(&order(at.index)).expect("installed");
        again(&mut storage, &folder, &folder.incoming(), base);
        let (_directory, mut storage, base) = directory(at);
        storage.persist(&order(at.index)).expect("installed");
        let (chunks, incoming) = (storage.chunks().clone(), storage.incoming());
        again(&mut storage, &chunks, &incoming, base);
    }
}

/// There is one entry of a term at an index: either the log or the checkpoint is damaged.
#[test]
fn a_checkpoint_of_another_entry_of_the_same_term_is_refused() {
    let (mut storage, folder, base) = simulated_disk(1, AT[5]);
    put_together(&folder.incoming(), LogBase { crc: base.crc ^ 1, ..base });
    let error = storage.persist(&order(base.index)).expect_err("it does not fit");
    assert!(matches!(error, StorageError::Damaged { damage: Damage::Replaced { index: 9 }, .. }), "{error}");
    let (disk, folder) = (storage.kill(), folder.kill());
    folder.complete_install().expect("nothing to do");
    let mut storage = disk.open_beside(&folder, None).expect("it opens");
    assert_eq!(storage.read(1, OLD_LAST, u64::MAX).expect("read"), old_log());
}

/// A device with a log and a checkpoint, and new ones beside them.
fn built(seed: u64, new: &[&str]) -> SimulatedFolder {
    let folder = SimulatedFolder::new(seed);
    let root = folder.root();
    settle(&root).expect("nothing to do");
    for name in [&[LOG, IDENTITY_NEW], new].concat() {
        root.make(name).expect("made");
    }
    root.sync().expect("durable");
    for name in [&[LOG, CHUNKS], new].concat() {
        folder.beside(name).put(name, Vec::new());
    }
    folder
}

/// The name under which a folder was built; `None` if there is none.
fn origin(folder: &SimulatedFolder, name: &str) -> Option<String> {
    let is_there = folder.root().has(name).expect("read");
    is_there.then(|| folder.beside(name).list().expect("listed").concat())
}

#[test]
fn what_was_built_counts_as_a_whole_or_not_at_all() {
    for new in [&[LOG_NEW] as &[_], &[CHUNKS_NEW], &[LOG_NEW, CHUNKS_NEW]] {
        let mut outcomes = [0; 2];
        for seed in 0..8 {
            let undisturbed = built(seed, new);
            let before = undisturbed.steps();
            change_over(&undisturbed.root()).expect("done");
            let steps = undisturbed.steps() - before;
            for (step, second) in (0..=steps).flat_map(|step| (0..=steps).map(move |second| (step, second))) {
                let folder = built(seed, new);
                folder.arm(step, Fault::PowerCut);
                let acknowledged = change_over(&folder.root()).is_ok();
                let folder = folder.crash();
                folder.arm(second, Fault::PowerCut);
                let _cut_short = settle(&folder.root());
                let folder = folder.crash();
                settle(&folder.root()).expect("it is completed, or what was built goes");
                let is_new = folder.root().has(IDENTITY).expect("read");
                assert!(is_new || !acknowledged);
                for (name, next) in [(LOG, LOG_NEW), (CHUNKS, CHUNKS_NEW)] {
                    let expected = if is_new && new.contains(&next) { next } else { name };
                    assert_eq!(origin(&folder, name).as_deref(), Some(expected), "{step}, {second}");
                    assert_eq!(origin(&folder, next), None);
                }
                let kept = origin(&folder, "log.lost-1");
                assert_eq!(kept.as_deref(), (is_new && new.contains(&LOG_NEW)).then_some(LOG));
                assert_eq!((origin(&folder, "log.lost-2"), origin(&folder, CHUNKS_OLD)), (None, None));
                outcomes[usize::from(is_new)] += 1;
            }
        }
        assert!(outcomes.iter().all(|seen| *seen > 100), "{outcomes:?}");
    }
}

#[test]
fn another_checkpoint_than_the_one_that_is_there_is_refused() {
    let (mut storage, folder, _) = simulated_disk(1, AT[0]);
    let error = storage.persist(&order(41)).expect_err("another one");
    let StorageError::Damaged { damage: Damage::Incoming { wanted: 41, found: Some(40) }, .. } = error else {
        panic!("{error}")
    };
    drop(folder);
    let mut storage = SimulatedDisk::new(1).open().expect("empty");
    let error = storage.persist(&order(40)).expect_err("there is none");
    assert!(error.to_string().contains("none is there"), "{error}");
}

fn open(directory: &TempDir) -> DiskStorage {
    let path = directory.path().join("data");
    let options = OpenOptions { path, node: 1, cluster_id: [7; 16], storage_id: [8; 16], founder: false };
    DiskStorage::open(&options).expect("it opens")
}

/// The same on the disk. The manifests list no files: a start removes none of those here, as it knows none of the names.
fn directory(at: At) -> (TempDir, DiskStorage, LogBase) {
    let directory = TempDir::new().expect("a directory");
    let mut storage = open(&directory);
    let batch = PersistBatch { vote: Some(OLD_VOTE), install: None, entries: old_log(), commit: 0 };
    storage.persist(&batch).and_then(|()| storage.write_watermark()).expect("written");
    let base = base(&mut storage, at);
    put_together(&storage.incoming(), base);
    (directory, storage, base)
}

/// The state on the disk that a node finds beside a manifest without a state.
fn on_disk(directory: &TempDir) -> (DiskStorage, Found) {
    let path = directory.path().join("data");
    let mut storage = open_beside_manifest(&path).expect("it opens");
    let recovered = storage.recovered();
    let chunks = storage.chunks().clone();
    let found = found(&mut storage, &chunks, recovered.vote, recovered.last_index);
    (storage, found)
}

#[test]
fn the_log_goes_on_behind_it_and_handles_stay_good() {
    for at in AT {
        let index = at.index;
        let (directory, mut storage, base) = directory(at);
        let (chunks, incoming) = (storage.chunks().clone(), storage.incoming());
        storage.persist(&order(index)).expect("installed");
        assert_eq!(base_in(&chunks).expect("read"), Some(base));
        assert_eq!(incoming.list().expect("it is there again"), Vec::<String>::new());
        assert!(!directory.path().join("data").join(CHUNKS_OLD).exists());
        assert_eq!(storage.base_at(index).expect("it begins there"), base);
        assert_eq!(storage.read(index, index, 0).expect("read"), [], "it is in the checkpoint");
        assert_eq!(storage.read(index + 1, index + 9, 1 << 20).expect("read"), order(index).entries);
        drop(storage);
        let (mut storage, found) = on_disk(&directory);
        assert!(found.check(base, true));
        storage.cut(index).expect("what is left of the old log goes");
        // The next one, as the checkpoint thread writes it, and another install after that.
        let next = storage.base_at(index + 1).expect("it is in the log");
        put_together(&chunks, next);
        put_together(&incoming, other_base(index + 100));
        storage.persist(&order(index + 100)).expect("installed");
        drop(storage);
        assert!(on_disk(&directory).1.check(other_base(index + 100), true));
    }
}

#[test]
fn on_the_disk_it_may_be_cut_short_at_every_sync() {
    for at in AT {
        let (directory, mut storage, base) = directory(at);
        let images =
            images_of(directory.path(), || storage.persist(&order(at.index)).expect("it is installed"));
        assert!(images.len() >= 7, "{} syncs", images.len());
        let states = images.iter().map(|image| on_disk(image).1.check(base, false));
        let states: Vec<bool> = states.collect();
        assert!(states.is_sorted() && states[0] != states[states.len() - 1], "{states:?}");
    }
}

#[test]
fn a_range_is_read_as_far_as_the_bytes_allow() {
    fn check(storage: &mut impl Storage, cut: bool) {
        let log = old_log();
        let read = |storage: &mut _, first, last, bytes_max| {
            Storage::read(storage, first, last, bytes_max).expect("read")
        };
        // Entries of 30 bytes; the fifth and the tenth have 40,000.
        if !cut {
            assert_eq!(read(storage, 1, 3, 1000), log[..3]);
            assert_eq!(read(storage, 1, 1, 0), log[..1], "the first one in any case");
        }
        assert_eq!(read(storage, 4, 12, 59), log[3..4]);
        assert_eq!(read(storage, 4, 12, 40_029), log[3..4], "no more than was asked for");
        assert_eq!(read(storage, 4, 12, 40_030), log[3..5]);
        assert_eq!(read(storage, 5, 12, 1), log[4..5]);
        assert_eq!(read(storage, 11, 99, 1 << 20), log[10..], "up to the end");
        for (first, last) in [(13, 20), (0, 3), (7, 6)] {
            assert_eq!(read(storage, first, last, 1 << 20), [], "{first} to {last}");
        }
        if cut {
            assert_eq!(read(storage, 3, 12, 1 << 20), [], "it was cut");
        }
    }
    let (mut simulated, ..) = simulated_disk(1, AT[0]);
    let (_directory, mut disk, _) = directory(AT[0]);
    for cut in [false, true] {
        if cut {
            simulated.cut(3).expect("cut");
            disk.cut(3).expect("cut");
        }
        check(&mut simulated, cut);
        check(&mut disk, cut);
    }
    // A read is not a failure: the storage goes on.
    let batch = PersistBatch { entries: vec![entry(OLD_LAST + 1, 2)], ..PersistBatch::default() };
    simulated.persist(&batch).and_then(|()| disk.persist(&batch)).expect("written");
}

#[test]
fn a_node_that_joins_says_so_ever_after() {
    let directory = TempDir::new().expect("a directory");
    assert!(!open(&directory).is_founder());
    let path = directory.path().join("data");
    let options = OpenOptions { path, node: 1, cluster_id: [7; 16], storage_id: [8; 16], founder: true };
    assert!(!DiskStorage::open(&options).expect("it opens").is_founder());
}
