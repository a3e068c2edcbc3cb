//! Damage to the files of a data directory: bytes that flip, blocks that go elsewhere, files that are cut or gone.
//!
//! Whatever happens to them: the start, or the reading that follows it, is refused as damage, or everything
//! acknowledged is there, byte for byte. Never a panic, never a shorter log without a word, never a new queue.
//!
//! The log was closed cleanly: its watermark is not behind. A part of it was replaced once, so that older entries
//! lie in the file whose chain of checksums is right as well.

#![expect(clippy::indexing_slicing, reason = "places come from the lengths")]

mod newest_record;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use adjourn_storage::{
    Damage, DiskStorage, EntryKind, JournalSize, LogEntry, OpenOptions, PersistBatch, Storage as _,
    StorageError, StorageErrorKind, Vote,
};
use bytes::Bytes;
use proptest::prelude::{Rng as _, RngExt as _};
use proptest::test_runner::{RngAlgorithm, TestRng};
use tempfile::TempDir;

const VOTE: Vote = Vote { term: 3, vote: 2 };
const BLOCK_BYTES: usize = 4096;
/// A small journal: what is written takes more files than it has, and the oldest stretches are in the archive.
const SIZE: JournalSize = JournalSize { file_bytes: 64 << 10, files_max: 3 };

/// A data directory and its acknowledged data.
struct Original {
    directory: TempDir,
    log: Vec<LogEntry>,
}

/// What became of a start.
#[derive(Debug)]
enum Start {
    Whole,
    Refused(Box<StorageError>),
}

#[test]
fn bytes_that_flip_in_the_log() {
    damage_each_file(200, |bytes, rng| {
        let place = place_in(bytes, rng);
        bytes[place] ^= 1 << rng.random_range(0..8);
    });
}

#[test]
fn blocks_that_hold_something_else() {
    damage_each_file(150, |bytes, rng| {
        let [to, from] = [0; 2].map(|_| place_in(bytes, rng) / BLOCK_BYTES * BLOCK_BYTES);
        let end = (to + BLOCK_BYTES).min(bytes.len());
        match rng.random_range(0..4) {
            0 => bytes[to..end].fill(0),
            1 => bytes[to..end].fill(0xff),
            2 => rng.fill_bytes(&mut bytes[to..end]),
            _ if from + BLOCK_BYTES <= bytes.len() => {
                let block = bytes[from..from + BLOCK_BYTES].to_vec();
                bytes[to..end].copy_from_slice(&block[..end - to]);
            }
            _ => bytes[to] ^= 1,
        }
    });
}

#[test]
fn a_log_file_that_is_cut_anywhere() {
    damage_each_file(200, |bytes, rng| {
        let place = place_in(bytes, rng);
        let place = if rng.random() { place } else { place / BLOCK_BYTES * BLOCK_BYTES };
        bytes.truncate(place);
    });
}

#[test]
fn an_identity_that_flips_or_is_cut_anywhere() {
    let original = Original::new();
    let mut rng = rng(4);
    let whole = fs::read(original.directory.path().join("identity")).expect("the file");
    for round in 0..100 {
        let mut bytes = whole.clone();
        let place = rng.random_range(0..bytes.len());
        if round % 3 == 0 {
            bytes.truncate(place);
        } else {
            bytes[place] ^= 1 << rng.random_range(0..8);
        }
        // Every byte counts.
        let start = original.start_with("identity", Some(&bytes));
        assert!(matches!(start, Start::Refused(_)), "byte {place}: {start:?}");
    }
}

#[test]
fn files_of_the_archive_that_flip_or_are_cut() {
    let original = Original::new();
    let mut rng = rng(5);
    let names = original.files();
    let archived: Vec<&String> = names.iter().filter(|name| name.starts_with("log/stretch-")).collect();
    assert!(archived.len() >= 6, "{archived:?}");
    for name in archived {
        let whole = fs::read(original.directory.path().join(name)).expect("the file");
        for round in 0..30 {
            if whole.is_empty() {
                continue;
            }
            let mut bytes = whole.clone();
            let place = place_in(&bytes, &mut rng);
            if round % 3 == 0 {
                bytes.truncate(place);
            } else {
                bytes[place] ^= 1 << rng.random_range(0..8);
            }
            original.start_with(name, Some(&bytes));
        }
    }
}

#[test]
fn files_that_are_gone() {
    let original = Original::new();
    let names = original.files();
    for name in &names {
        let start = original.start_with(name, None);
        let right = match (name.as_str(), &start) {
            ("identity", Start::Refused(error)) => is(error, |it| matches!(it, Damage::IdentityMissing)),
            // The copy of the first block, and the values.
            (name, Start::Refused(_)) if name.starts_with("log/stretch-") => {
                name.ends_with("/head") || name.ends_with("/db")
            }
            (name, Start::Refused(_)) => name.starts_with("log/journal-") && !original.is_free(name),
            // sled makes its configuration and its summary anew; the lock file is made by each start.
            (name, Start::Whole) => {
                let of_stretch = name.strip_suffix("/head").or(name.strip_suffix("/db"));
                let is_needed = name == "identity" || of_stretch.is_some_and(|of| original.counts(of));
                !is_needed && (!name.starts_with("log/journal-") || original.is_free(name))
            }
        };
        assert!(right, "without {name}: {start:?}");
    }
    assert!(names.len() >= 10, "{names:?}");
}

#[test]
fn a_log_that_is_emptied_or_replaced() {
    let original = Original::new();
    let emptied = original.copy();
    fs::remove_dir_all(emptied.path().join("log")).expect("removed");
    let check =
        |directory: &TempDir, expected: fn(&StorageError) -> bool| match original.start(directory.path()) {
            Start::Refused(error) => assert!(expected(&error), "{error}"),
            Start::Whole => panic!("what is gone is there"),
        };
    check(&emptied, |error| is(error, |damage| matches!(damage, Damage::LogMissing)));
    fs::create_dir(emptied.path().join("log")).expect("made");
    check(&emptied, |error| is(error, |damage| matches!(damage, Damage::LogMissing)));
    for name in original.journal() {
        fs::write(emptied.path().join(name), []).expect("made");
    }
    check(&emptied, |error| is(error, |damage| matches!(damage, Damage::LogMissing)));

    // A log of as many entries, from another cluster, or from another node of this one.
    for (cluster_id, storage_id) in [([1; 16], [8; 16]), ([7; 16], [1; 16])] {
        let other = TempDir::new().expect("a directory");
        let options = OpenOptions { cluster_id, storage_id, ..options(other.path()) };
        let mut storage = DiskStorage::open_with(&options, SIZE).expect("founded");
        storage.persist(&batch(original.log.clone())).expect("written");
        drop(storage);
        let replaced = original.copy();
        fs::remove_dir_all(replaced.path().join("log")).expect("removed");
        copy_into(&other.path().join("log"), &replaced.path().join("log"));
        // Of another copy of the data, no head can be read.
        let expected: fn(&StorageError) -> bool = if storage_id == [1; 16] {
            |error| is(error, |damage| matches!(damage, Damage::LogMissing))
        } else {
            |error| is(error, |damage| matches!(damage, Damage::Replaced { index: 0 }))
        };
        check(&replaced, expected);
    }
}

/// sled's own checksums are right here: its files hold what it was given, and that is not the log.
#[test]
fn values_that_sled_gives_back_wrong() {
    let original = Original::new();
    let mut rng = rng(6);
    let (mut intact, mut refused) = (0, 0);
    for round in 0..60 {
        let tampered = original.copy();
        let mut stretches = original.stretches();
        stretches.retain(|stretch| original.counts(stretch));
        let stretch = &stretches[rng.random_range(0..stretches.len())];
        let config = sled::Config::new().path(tampered.path().join(stretch)).segment_size(8 << 20);
        let db = config.flush_every_ms(None).open().expect("it opens");
        let key = db.first().expect("read").expect("it has values").0;
        let mut value = db.get(&key).expect("read").expect("it is there").to_vec();
        match round % 3 {
            0 => {
                let place = rng.random_range(0..value.len());
                value[place] ^= 1 << rng.random_range(0..8);
                db.insert(key, value).expect("written");
            }
            1 => drop(db.remove(key).expect("removed")),
            _ => {
                value.truncate(rng.random_range(0..value.len()));
                db.insert(key, value).expect("written");
            }
        }
        db.flush().expect("flushed");
        drop(db);
        // sled's threads may hold its lock a moment longer.
        let free = directory();
        copy_into(tampered.path(), free.path());
        match original.start(free.path()) {
            // The head and the watermark have copies, and what follows the last record is of no use.
            Start::Whole => intact += 1,
            Start::Refused(_) => refused += 1,
        }
    }
    assert!(refused > 40, "{intact} whole, {refused} refused");
}

/// A stretch in the archive, or a file of the journal, that is another one of the same log.
#[test]
fn stretches_that_change_places() {
    let original = Original::new();
    let [stretches, journal] = [original.stretches(), original.journal()];
    for names in [&stretches, &journal] {
        for (one, other) in names.iter().zip(names.iter().skip(1)) {
            let copy = original.copy();
            let [one, other] = [one, other].map(|name| copy.path().join(name));
            let aside = copy.path().join("log/aside");
            fs::rename(&one, &aside).expect("renamed");
            fs::rename(&other, &one).expect("renamed");
            fs::rename(&aside, &other).expect("renamed");
            let start = original.start(copy.path());
            // The heads say which stretch a file of the journal holds, not its name.
            let expected = names == &journal;
            assert_eq!(matches!(start, Start::Whole), expected, "{one:?} and {other:?}: {start:?}");
        }
    }
}

/// A file of the journal that is a copy of another one: the stretch that it held is gone.
#[test]
fn journal_files_that_are_another_one() {
    let original = Original::new();
    let journal = original.journal();
    for (lost, other) in journal.iter().flat_map(|lost| journal.iter().map(move |other| (lost, other))) {
        let bytes = fs::read(original.directory.path().join(other)).expect("the file");
        let start = original.start_with(lost, Some(&bytes));
        let expected = lost == other || original.is_free(lost);
        assert_eq!(matches!(start, Start::Whole), expected, "{lost} is {other}: {start:?}");
    }
}

#[test]
fn a_full_disk_is_no_damage() {
    let mut original = Original::new();
    let whole = original.log.len();
    let data = original.directory.path().to_owned();
    let mut storage = open(&data).expect("it opens");
    for index in whole + 1..whole + 40 {
        let index = index as u64;
        let entry = LogEntry { index, term: 3, kind: EntryKind::Normal, data: vec![7; 9_000].into() };
        storage.persist(&batch(vec![entry.clone()])).expect("written");
        if let Some(chore) = storage.chore() {
            // There was no room for it: it is asked for again when there is some.
            drop(chore);
            let full = StorageError::io("write", &data, std::io::ErrorKind::StorageFull.into());
            storage.chore_done(Err(full)).expect("the log goes on");
        }
        original.log.push(entry);
    }
    storage.write_watermark().expect("written");
    drop(storage);
    assert!(matches!(original.start(&data), Start::Whole), "all of it is there");
}

#[test]
fn a_directory_that_cannot_be_written() {
    let original = Original::new();
    let file = original.directory.path().join("identity");
    let below = DiskStorage::open(&options(&file.join("data"))).map(drop).expect_err("it is in a file");
    assert_ne!(below.kind(), StorageErrorKind::Damaged, "{below}");
    let at = DiskStorage::open(&options(&file)).map(drop).expect_err("it is a file");
    assert!(matches!(at, StorageError::NotADirectory { .. }), "{at}");

    // To the superuser nothing is forbidden.
    let copy = original.copy();
    let forbid = |forbidden: bool| {
        for name in ["", "log", "log/journal-00", "identity", "lock"] {
            let path = copy.path().join(name);
            let mut permissions = fs::metadata(&path).expect("it is there").permissions();
            permissions.set_readonly(forbidden);
            fs::set_permissions(&path, permissions).expect("changed");
        }
    };
    forbid(true);
    let start = original.start_unjudged(copy.path());
    forbid(false);
    match start {
        Start::Refused(error) => assert_eq!(error.kind(), StorageErrorKind::Unusable, "{error}"),
        Start::Whole => {}
    }
}

/// Damages copies of the journal's files and of the archive's databases; each must be refused or whole, and both must
/// happen.
fn damage_each_file(copies: usize, damage: impl Fn(&mut Vec<u8>, &mut TestRng)) {
    let original = Original::new();
    let databases = original.stretches().into_iter().map(|stretch| stretch + "/db");
    let names: Vec<String> = original.journal().into_iter().chain(databases).collect();
    assert!(names.len() >= 5, "{names:?}");
    let read = |name: &String| fs::read(original.directory.path().join(name)).expect("the file");
    let whole: Vec<Vec<u8>> = names.iter().map(read).collect();
    let mut rng = rng(copies as u64);
    let (mut intact, mut refused) = (0, 0);
    for round in 0..copies {
        let file = round % names.len();
        let mut bytes = whole[file].clone();
        damage(&mut bytes, &mut rng);
        match original.start_with(&names[file], Some(&bytes)) {
            Start::Whole => intact += 1,
            Start::Refused(_) => refused += 1,
        }
    }
    // Not all of the file is in use.
    assert!(intact > 0 && refused > copies / 4, "{intact} whole, {refused} refused");
}

impl Original {
    fn new() -> Self {
        let directory = directory();
        let mut rng = rng(0);
        let mut entry = |index, term| {
            let mut data = vec![0; if index % 13 == 0 { 40_000 } else { rng.random_range(0..4000) }];
            rng.fill_bytes(&mut data);
            LogEntry { index, term, kind: EntryKind::Normal, data: Bytes::from(data) }
        };
        let old: Vec<LogEntry> = (1..=40).map(|index| entry(index, 1)).collect();
        let new: Vec<LogEntry> = (25..=40).map(|index| entry(index, 2)).collect();
        let log = [&old[..24], &new].concat();
        let mut storage = open(directory.path()).expect("founded");
        let write = |storage: &mut DiskStorage, entries: &[LogEntry]| {
            for entries in entries.chunks(4) {
                storage.persist(&batch(entries.to_vec())).expect("written");
                while let Some(chore) = storage.chore() {
                    storage.chore_done(chore.run()).expect("done");
                }
            }
            storage.write_watermark().expect("written");
        };
        write(&mut storage, &old);
        drop(storage);
        let mut storage = open(directory.path()).expect("it opens");
        write(&mut storage, &new);
        storage
            .persist(&PersistBatch { vote: Some(VOTE), install: None, entries: Vec::new(), commit: 20 })
            .expect("written");
        storage.write_watermark().expect("written");
        drop(storage);
        Self { directory, log }
    }

    fn copy(&self) -> TempDir {
        let directory = directory();
        copy_into(self.directory.path(), directory.path());
        directory
    }

    /// The names of all files.
    fn files(&self) -> Vec<String> {
        let root = self.directory.path();
        let mut folders = vec![root.to_owned()];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("the folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(root).expect("it is inside");
                    files.push(name.to_str().expect("a plain name").to_owned());
                }
            }
        }
        files.sort();
        files
    }

    /// The files of the journal.
    fn journal(&self) -> Vec<String> {
        self.files().into_iter().filter(|name| name.starts_with("log/journal-")).collect()
    }

    /// Whether a stretch of the archive has an entry that was not replaced.
    fn counts(&self, stretch: &str) -> bool {
        let number_and_base = |name: &str| {
            let head = fs::read(self.directory.path().join(name)).expect("it is there");
            let field = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
            (field(8), field(24))
        };
        let (number, base) = number_and_base(&format!("{stretch}/head"));
        let archived = self.stretches().into_iter().map(|name| name + "/head");
        let others = archived.chain(self.journal()).map(|name| number_and_base(&name));
        others.filter(|(other, _)| *other > number).all(|(_, other)| other > base)
    }

    /// The folders of the archive.
    fn stretches(&self) -> Vec<String> {
        let names = self.files();
        let heads = names.iter().filter_map(|name| name.strip_suffix("/head"));
        let stretches: Vec<String> = heads.map(str::to_owned).collect();
        assert!(stretches.len() >= 2, "{stretches:?}");
        stretches
    }

    /// Whether a file of the journal holds no stretch that is needed: it was never used, or its stretch is in the archive.
    fn is_free(&self, name: &str) -> bool {
        let head = fs::read(self.directory.path().join(name)).expect("the file")[8..16].to_vec();
        let number = u64::from_le_bytes(head.try_into().expect("eight bytes"));
        number == 0 || self.stretches().contains(&format!("log/stretch-{number}"))
    }

    /// Starts from a copy in which one file is another, or is gone.
    fn start_with(&self, name: &str, bytes: Option<&[u8]>) -> Start {
        let copy = self.copy();
        let path: PathBuf = copy.path().join(name);
        match bytes {
            Some(bytes) => fs::write(path, bytes).expect("written"),
            None => fs::remove_file(path).expect("removed"),
        }
        self.start(copy.path())
    }

    /// Starts, reads everything and judges: it is all there, or it is refused as damage.
    fn start(&self, root: &Path) -> Start {
        let start = self.start_unjudged(root);
        if let Start::Refused(error) = &start {
            assert_eq!(error.kind(), StorageErrorKind::Damaged, "{error}");
        }
        start
    }

    fn start_unjudged(&self, root: &Path) -> Start {
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            // A queue that is founded anew would take this id.
            let founding = OpenOptions { storage_id: [9; 16], ..options(root) };
            let mut storage = DiskStorage::open_with(&founding, SIZE)?;
            let mut log = Vec::new();
            let mut visit = |entry| {
                log.push(entry);
                Ok(())
            };
            storage.replay(1, &mut visit)?;
            Ok((storage.storage_id(), storage.recovered().vote, log))
        }));
        match attempt.expect("no panic comes out") {
            Ok((storage_id, vote, log)) => {
                assert_eq!(storage_id, [8; 16], "it is taken for a new one");
                assert_eq!(vote, VOTE);
                let same = log.iter().zip(&self.log).take_while(|(found, written)| found == written).count();
                assert_eq!((log.len(), same), (self.log.len(), self.log.len()), "entries found, and right");
                Start::Whole
            }
            Err(error) => Start::Refused(Box::new(error)),
        }
    }
}

/// A place in a file; mostly one at which something is written.
fn place_in(bytes: &[u8], rng: &mut TestRng) -> usize {
    let anywhere = rng.random_ratio(1, 10);
    loop {
        let place = rng.random_range(0..bytes.len());
        if anywhere || bytes[place] != 0 {
            return place;
        }
    }
}

fn is(error: &StorageError, expected: impl Fn(&Damage) -> bool) -> bool {
    matches!(error, StorageError::Damaged { damage, .. } if expected(damage))
}

fn batch(entries: Vec<LogEntry>) -> PersistBatch {
    PersistBatch { vote: None, install: None, entries, commit: 0 }
}

fn open(root: &Path) -> Result<DiskStorage, StorageError> {
    DiskStorage::open_with(&options(root), SIZE)
}

fn options(root: &Path) -> OpenOptions {
    OpenOptions { path: root.to_owned(), node: 1, cluster_id: [7; 16], storage_id: [8; 16], founder: true }
}

fn copy_into(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("the folder") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_into(&path, &to);
        } else {
            fs::copy(&path, &to).expect("copied");
        }
    }
}

/// In memory if the system has a place for that.
fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    directory.expect("a directory")
}

fn rng(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}
