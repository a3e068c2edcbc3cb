//! A directory of format 1 is taken over whole, whenever the power goes, or left as it is.

use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::storage::changeover::{IDENTITY, IDENTITY_NEXT};
use crate::storage::recover::tests::images_of;
use crate::storage::{DiskStorage, OpenOptions, Recovered, Storage as _};

/// As the files under `tests/formats/directory-v1` have it.
const NODE: u64 = 0x0102_0304_0506_0708;
const EXPECTED: Recovered =
    Recovered { vote: Vote { term: 7, vote: 3 }, commit: 2, first_index: 1, last_index: 3, last_term: 7 };

fn frozen() -> TempDir {
    let directory = TempDir::new().expect("a directory");
    fs::create_dir_all(directory.path().join("log/blobs")).expect("made");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/directory-v1");
    for name in ["identity", "vote", "watermark", "log/conf", "log/db"] {
        fs::copy(from.join(name), directory.path().join(name)).expect("copied");
    }
    directory
}

fn open(path: &Path) -> Result<DiskStorage, StorageError> {
    let path = path.to_owned();
    let options = OpenOptions { path, node: NODE, cluster_id: [1; 16], storage_id: [2; 16], founder: true };
    DiskStorage::open(&options)
}

#[test]
fn nothing_is_lost_wherever_it_is_cut_short() {
    let directory = frozen();
    let images = images_of(directory.path(), || drop(open(directory.path()).expect("it is taken over")));
    assert!(images.len() > 8, "{} syncs", images.len());
    for image in images.iter().chain([&directory, &directory]) {
        let mut storage = open(image.path()).expect("it opens");
        assert_eq!(storage.recovered(), EXPECTED);
        let mut entries = 0;
        let mut visit = |_| {
            entries += 1;
            Ok(())
        };
        storage.replay(1, &mut visit).expect("every entry verifies");
        assert_eq!(entries, 3);
        for gone in [VOTE, WATERMARK, LOG_NEW] {
            assert!(!image.path().join(gone).exists(), "{gone}");
        }
    }
}

/// The watermark of the new log names its last record.
#[test]
fn damage_to_the_newest_record_is_noticed() {
    let directory = frozen();
    drop(open(directory.path()).expect("it is taken over"));
    let journal = directory.path().join("log/journal-00");
    let mut bytes = fs::read(&journal).expect("there");
    let end = bytes.iter().rposition(|byte| *byte != 0).expect("it holds records");
    bytes.iter_mut().skip(end).take(1).for_each(|byte| *byte ^= 1);
    fs::write(&journal, bytes).expect("damaged");
    let refused = open(directory.path()).map(drop).expect_err("it was durable");
    assert!(matches!(refused, StorageError::ShortLog { durable: 3, .. }), "{refused}");
}

#[test]
fn what_its_own_version_wrote_after_a_decision_counts() {
    let directory = frozen();
    let images = images_of(directory.path(), || drop(open(directory.path()).expect("it is taken over")));
    let is_decided_only = |image: &&TempDir| {
        [IDENTITY_NEXT, LOG, LOG_NEW].into_iter().all(|name| image.path().join(name).exists())
    };
    let image = images.iter().find(is_decided_only).expect("one was taken between decision and change");
    // The new log is not what the old one has become.
    fs::remove_dir_all(image.path().join(LOG_NEW)).expect("removed");
    fs::create_dir(image.path().join(LOG_NEW)).expect("made");
    assert_eq!(open(image.path()).expect("it is taken over").recovered(), EXPECTED);
}

#[test]
fn a_directory_that_is_refused_keeps_its_files() {
    let spoiled: [fn(&Path); 3] = [
        |identity| fs::remove_file(identity).expect("removed"),
        |identity| fs::write(identity, b"ADJ").expect("torn"),
        |identity| {
            let mut later = b"ADJOURN\0\x09\0\0\0".to_vec();
            later.extend_from_slice(&crc32c::crc32c(&later).to_le_bytes());
            fs::write(identity, later).expect("written");
        },
    ];
    let others = |path: &Path| {
        let options = OpenOptions {
            path: path.to_owned(),
            node: NODE + 1,
            cluster_id: [1; 16],
            storage_id: [2; 16],
            founder: true,
        };
        assert!(matches!(DiskStorage::open(&options), Err(StorageError::OtherNode { .. })));
    };
    for spoil in spoiled {
        let directory = frozen();
        others(directory.path());
        let identity = directory.path().join(IDENTITY);
        let whole = fs::read(&identity).expect("there");
        spoil(&identity);
        drop(open(directory.path()).map(drop).expect_err("it is refused"));
        fs::write(&identity, whole).expect("put back");
        assert_eq!(open(directory.path()).expect("it is taken over").recovered(), EXPECTED);
    }
}

#[test]
fn what_its_own_version_would_refuse_is_left_as_it_is() {
    let spoiled: [fn(&Path); 4] = [
        |path| fs::write(path.join(VOTE), [0; 8192]).expect("spoilt"),
        |path| fs::write(path.join(WATERMARK), [0; 8192]).expect("spoilt"),
        |path| fs::rename(path.join("log"), path.join("log.move")).expect("renamed"),
        |path| {
            let database = path.join("log/db");
            let mut bytes = fs::read(&database).expect("read");
            let middle = bytes.len() / 2;
            bytes.iter_mut().skip(middle).take(64).for_each(|byte| *byte ^= 0x55);
            fs::write(&database, bytes).expect("spoilt");
        },
    ];
    for (nth, spoil) in spoiled.into_iter().enumerate() {
        let directory = frozen();
        spoil(directory.path());
        let refused = open(directory.path()).map(drop).expect_err("it is refused");
        assert!(matches!(refused, StorageError::NotTakenOver { .. }), "{nth}: {refused}");
        assert!(directory.path().join(VOTE).exists(), "{nth}");
        assert_eq!(
            fs::read(directory.path().join("identity")).expect("there"),
            fs::read(frozen().path().join("identity")).expect("there")
        );
        assert!(!directory.path().join(LOG_NEW).exists(), "{nth}: what was copied is removed");
    }
}
