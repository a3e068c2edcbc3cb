//! The manifest is missing, or an older one was put back: the files of the newest checkpoint must stay.

use super::*;
use crate::FileDamage;
use crate::chunks::{ChunkWriter, MANIFEST, Manifest, chunk_name};
use crate::folder::Folder as _;
use crate::recover::Salvage;
use adjourn_engine::Engine;
use adjourn_types::GroupId;

/// A directory with a log of 30 entries and two checkpoints, at 10 and at 20, and the manifest of the first. The files
/// are those of the second, and the log is cut up to `cut`.
fn written(cut: u64) -> (TempDir, Vec<u8>) {
    let directory = TempDir::new().expect("a directory");
    let mut storage = DiskStorage::open_with(&options(directory.path()), SMALL).expect("founded");
    for index in 1..=30 {
        storage.persist(&batch(vec![entry(index, 2, 3000)])).expect("written");
    }
    storage.write_watermark().expect("written");
    let path = directory.path().join("chunks").join(MANIFEST);
    let mut older = Vec::new();
    for (number, index) in [(1, 10), (2, 20)] {
        older = fs::read(&path).unwrap_or_default();
        let LogBase { index, term, crc: log_crc } = storage.base_at(index).expect("it is there");
        ChunkWriter::create(storage.chunks(), number).and_then(ChunkWriter::finish).expect("written");
        storage.chunks().sync().expect("synced");
        let (checkpoint, metadata) = (number.into(), Engine::new(GroupId(0)).metadata().encode());
        Manifest { checkpoint, index, term, log_crc, next_chunk: 3, metadata, ..Manifest::default() }
            .write(storage.chunks())
            .expect("written");
    }
    storage.cut(cut).expect("cut");
    drop(storage);
    if cut == 20 {
        // The journal may reuse its file.
        fs::remove_file(directory.path().join("log").join("journal-00")).expect("removed");
    }
    (directory, older)
}

fn chunks_in(directory: &TempDir) -> Vec<bool> {
    let folder = directory.path().join("chunks");
    [1, 2].map(|number| folder.join(chunk_name(number)).exists()).to_vec()
}

fn is_missing_manifest(error: &StorageError) -> bool {
    let damage = |damage: &Damage| matches!(damage, Damage::Manifest(FileDamage::Missing));
    matches!(error, StorageError::Damaged { damage: found, .. } if damage(found))
}

#[test]
fn a_log_that_was_cut_needs_its_manifest() {
    let (directory, _) = written(20);
    fs::remove_file(directory.path().join("chunks").join(MANIFEST)).expect("removed");
    let error = refusal(&directory);
    assert!(is_missing_manifest(&error), "{error}");
    assert_eq!(chunks_in(&directory), [true, true], "nothing was removed");
    let error = Salvage::examine(directory.path()).map(drop).expect_err("its jobs are in the chunks");
    assert!(is_missing_manifest(&error), "{error}");
    assert_eq!(chunks_in(&directory), [true, true], "nothing was removed");
}

#[test]
fn a_log_that_was_cut_to_nothing_needs_its_manifest() {
    let (directory, _) = written(20);
    for file in fs::read_dir(directory.path().join("log")).expect("listed") {
        fs::remove_file(file.expect("an entry").path()).expect("removed");
    }
    fs::remove_file(directory.path().join("chunks").join(MANIFEST)).expect("removed");
    assert!(is_missing_manifest(&refusal(&directory)));
    assert!(is_missing_manifest(&Salvage::examine(directory.path()).map(drop).expect_err("refused")));
    assert_eq!(chunks_in(&directory), [true, true], "nothing was removed");
}

#[test]
fn an_older_manifest_that_was_put_back_costs_no_chunk() {
    let (directory, older) = written(20);
    fs::write(directory.path().join("chunks").join(MANIFEST), older).expect("put back");
    let error = refusal(&directory);
    let hole = matches!(error, StorageError::Damaged { damage: Damage::Hole { index: 11 }, .. });
    assert!(hole, "{error}");
    assert_eq!(chunks_in(&directory), [true, true], "nothing was removed");
}

#[test]
fn what_a_checkpoint_left_that_never_became_one_goes_with_the_next_start() {
    let (directory, _) = written(0);
    fs::remove_file(directory.path().join("chunks").join(MANIFEST)).expect("removed");
    drop(open(&directory));
    assert_eq!(chunks_in(&directory), [false, false]);
}
