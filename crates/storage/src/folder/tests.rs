//! The disk and the simulation behave the same; and the effect of faults and power cuts on the simulation.

use std::io;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::{Fault, StorageErrorKind};

/// An operation on both folders. Names and handles are picked by number.
#[derive(Clone, Debug)]
enum Step {
    Create(u8),
    Append(u8, Vec<u8>),
    SyncFile(u8),
    Rename(u8, u8),
    Remove(u8),
    Sync,
    Open(u8),
    Read(u8, u64, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop::collection::vec(any::<u8>(), 0..50);
    let name = 0..4_u8;
    prop_oneof![
        name.clone().prop_map(Step::Create),
        (any::<u8>(), bytes).prop_map(|(writer, bytes)| Step::Append(writer, bytes)),
        any::<u8>().prop_map(Step::SyncFile),
        (name.clone(), name.clone()).prop_map(|(from, to)| Step::Rename(from, to)),
        name.clone().prop_map(Step::Remove),
        Just(Step::Sync),
        name.prop_map(Step::Open),
        (any::<u8>(), 0..120_u64, 0..80_usize).prop_map(|(file, at, bytes)| Step::Read(file, at, bytes)),
    ]
}

fn name(number: u8) -> String {
    format!("file-{number}")
}

fn outcome(result: Result<(), StorageError>) -> String {
    match result {
        Ok(()) => "done".to_owned(),
        Err(StorageError::Io { action, path, source }) => {
            format!("{action} {:?}: {:?}", path.file_name(), source.kind())
        }
        Err(error) => panic!("{error}"),
    }
}

fn read(file: &impl FolderFile, at: u64, bytes: usize) -> Vec<u8> {
    let mut buffer = vec![0xee; bytes];
    let read = file.read_at(at, &mut buffer).expect("read");
    buffer.truncate(read);
    buffer
}

fn whole(file: &impl FolderFile) -> Vec<u8> {
    let bytes = file.bytes().expect("a length");
    read(file, 0, usize::try_from(bytes).expect("small") + 10)
}

/// Runs a script. Returns what can be observed after each step.
fn seen(folder: &impl Folder, steps: &[Step]) -> Vec<String> {
    let (mut writers, mut files) = (Vec::new(), Vec::new());
    let mut seen = Vec::new();
    for step in steps {
        let done = match step {
            Step::Create(number) => outcome(folder.create(&name(*number)).map(|file| writers.push(file))),
            Step::Append(writer, bytes) => {
                let writer = pick(&mut writers, *writer);
                writer.map_or_else(String::new, |writer| outcome(writer.append(bytes)))
            }
            Step::SyncFile(writer) => {
                let writer = pick(&mut writers, *writer);
                writer.map_or_else(String::new, |writer| outcome(writer.sync()))
            }
            Step::Rename(from, to) => outcome(folder.rename(&name(*from), &name(*to))),
            Step::Remove(number) => outcome(folder.remove(&name(*number))),
            Step::Sync => outcome(folder.sync()),
            Step::Open(number) => {
                let file = folder.open(&name(*number)).expect("opened");
                let there = file.is_some();
                files.extend(file);
                there.to_string()
            }
            Step::Read(file, at, bytes) => {
                let file = pick(&mut files, *file);
                file.map_or_else(String::new, |file| format!("{:?}", read(file, *at, *bytes)))
            }
        };
        seen.push(done);
    }
    for name in folder.list().expect("read") {
        let file = folder.open(&name).expect("opened").expect("it is there");
        seen.push(format!("{name}: {:?}", whole(&file)));
    }
    seen.extend(files.iter().map(|file| format!("{:?}", whole(file))));
    seen
}

fn pick<T>(all: &mut [T], number: u8) -> Option<&mut T> {
    let count = all.len().max(1);
    all.get_mut(usize::from(number) % count)
}

proptest! {
    #[test]
    fn the_simulated_disk_does_what_the_disk_does(steps in prop::collection::vec(step(), 0..60)) {
        let directory = TempDir::new().expect("a directory");
        let disk = DiskFolder::new(&directory.path().join("a/b")).expect("made");
        prop_assert_eq!(seen(&SimulatedFolder::new(1), &steps), seen(&disk, &steps));
    }

    /// Of a synced file everything is kept, and of an unsynced one a prefix, perhaps with a sector of zeros.
    #[test]
    fn a_power_cut_keeps_what_was_synced(
        seed: u64,
        synced in prop::collection::vec(1..=255_u8, 0..2000),
        rest in prop::collection::vec(1..=255_u8, 0..2000),
    ) {
        let folder = SimulatedFolder::new(seed);
        let mut writer = folder.create("a").expect("created");
        folder.sync().expect("synced");
        writer.append(&synced).expect("written");
        writer.sync().expect("synced");
        writer.append(&rest).expect("written");
        let left = folder.crash().contents("a").expect("its name was synced");
        prop_assert_eq!(&left[..synced.len()], &synced);
        let (rest, left) = (&rest[..left.len() - synced.len()], &left[synced.len()..]);
        let zeros: Vec<usize> = (0..left.len()).filter(|at| left[*at] != rest[*at]).collect();
        prop_assert!(zeros.iter().all(|at| left[*at] == 0));
        if let [first, .., last] = zeros[..] {
            prop_assert!(last - first < 512);
        }
    }
}

fn write(folder: &SimulatedFolder, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
    let mut writer = folder.create(name)?;
    writer.append(bytes)?;
    writer.sync()
}

#[test]
fn names_that_were_not_synced_are_there_or_not_one_by_one() {
    let mut found = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let folder = SimulatedFolder::new(seed);
        write(&folder, "a", b"old a").expect("written");
        write(&folder, "b", b"old b").expect("written");
        folder.sync().expect("synced");
        write(&folder, "new", b"new a").expect("written");
        folder.rename("new", "a").expect("renamed");
        folder.remove("b").expect("removed");
        let left = folder.crash();
        let a = left.contents("a").expect("never lost: a rename is one step");
        assert!(a == b"old a" || a == b"new a");
        found.insert((a, left.contents("b").is_some(), left.contents("new").is_some()));
    }
    // `a` is the old or the new one, `b` exists or not; and `new` exists only if `a` is old.
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(found.iter().all(|(a, _, new)| !new || a == b"old a"));
}

#[test]
fn a_failure_at_every_step_is_the_last_thing_that_happens() {
    let work = |folder: &SimulatedFolder| {
        write(folder, "new", b"abc")?;
        folder.rename("new", "a")?;
        folder.sync()?;
        folder.remove("a")
    };
    let whole = SimulatedFolder::new(0);
    work(&whole).expect("nothing is armed");
    assert_eq!(whole.steps(), 6);
    for fault in [Fault::Failure, Fault::PowerCut] {
        for step in 0..whole.steps() {
            let folder = SimulatedFolder::new(step);
            write(&folder, "before", b"x").expect("written");
            let file = folder.open("before").expect("opened").expect("there");
            folder.arm(step, fault);
            let error = work(&folder).expect_err("it was armed");
            assert_eq!(error.kind(), StorageErrorKind::DiskFailed);
            assert!(work(&folder).is_err() && folder.list().is_err() && folder.open("before").is_err());
            assert!(file.bytes().is_err() && file.read_at(0, &mut [0]).is_err());
            assert!(folder.kill().list().expect("another process may read").contains(&"before".to_owned()));
        }
    }
}

#[test]
fn a_read_can_fail() {
    let folder = SimulatedFolder::new(0);
    write(&folder, "a", b"abc").expect("written");
    let file = folder.open("a").expect("opened").expect("there");
    folder.arm_read(1);
    assert_eq!(read(&file, 1, 5), b"bc");
    assert!(matches!(file.read_at(0, &mut [0]), Err(StorageError::Io { action: "read", .. })));
    assert_eq!(read(&file, 0, 5), b"abc", "and the next one does not");
}

#[test]
fn a_full_disk_takes_what_fits_and_goes_on_when_there_is_room() {
    let folder = SimulatedFolder::new(0);
    folder.set_capacity_bytes(10);
    write(&folder, "a", &[1; 6]).expect("it fits");
    let mut writer = folder.create("b").expect("created");
    let error = writer.append(&[2; 6]).expect_err("it does not");
    assert!(matches!(error, StorageError::DiskFull { action: "write", .. }), "{error}");
    assert_eq!(folder.contents("b").expect("created"), [2; 4]);
    folder.remove("a").expect("removed");
    writer.append(&[3; 6]).expect("there is room");
    folder.arm(0, Fault::Full);
    assert!(matches!(folder.create("c"), Err(StorageError::DiskFull { action: "create", .. })));
    folder.create("c").expect("once only");
}

#[test]
fn a_device_that_lies_loses_what_was_synced() {
    let mut lost = 0;
    for seed in 0..50 {
        let folder = SimulatedFolder::new(seed);
        folder.lie_about_syncs();
        write(&folder, "a", &[1; 100]).expect("it says so");
        folder.sync().expect("it says so");
        lost += i32::from(folder.crash().contents("a").is_none_or(|left| left != [1; 100]));
    }
    assert!(lost > 25, "{lost}");
}

#[test]
fn a_process_that_dies_loses_nothing_and_syncs_nothing_and_the_same_seed_leaves_the_same() {
    let work = |seed| {
        let folder = SimulatedFolder::new(seed);
        for name in ["a", "b", "c"] {
            folder.create(name).expect("created").append(&[7; 1000]).expect("written");
        }
        folder
    };
    let killed = work(1).kill();
    assert_eq!(killed.list().expect("read"), ["a", "b", "c"]);
    assert_eq!(killed.contents("b"), Some(vec![7; 1000]));
    assert!((0..20).any(|seed| work(seed).kill().crash().contents("b").is_none()));
    let left = |seed| {
        let folder = work(seed).crash();
        folder.list().expect("read").into_iter().map(|name| folder.contents(&name)).collect::<Vec<_>>()
    };
    assert_eq!(left(5), left(5));
    assert!((0..20).any(|seed| left(seed) != left(5)));
}

#[test]
fn what_is_no_folder_is_refused() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("file");
    std::fs::write(&path, b"").expect("written");
    assert!(matches!(DiskFolder::new(&path), Err(StorageError::NotADirectory { .. })));
    let folder = DiskFolder::new(directory.path()).expect("it is there");
    let error = folder.remove("nothing").expect_err("it is not there");
    assert!(matches!(error, StorageError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound));
}
