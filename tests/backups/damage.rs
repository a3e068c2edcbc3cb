//! A backup that is truncated at any byte, or has any byte changed, is refused with the place.

use std::fs;
use std::path::Path;

use adjourn_storage::{Backup, BackupDamage, StorageError};

use super::super::server_rig::{Node, Raw};
use super::{create, fill, run, sample, text};

const HEADER_BYTES: u64 = 112;
const FOOTER_BYTES: u64 = 32;

/// Where the parts of a backup begin, and where the last one ends.
fn borders(backup: &Backup) -> Vec<u64> {
    let files = backup.files().iter().map(|file| file.at);
    let bytes = backup.header().bytes;
    [0, HEADER_BYTES].into_iter().chain(files).chain([bytes - FOOTER_BYTES, bytes]).collect()
}

/// All places near the borders, and every so-and-so-many-th in between.
fn places(borders: &[u64], step: u64) -> Vec<u64> {
    let end = borders.last().copied().expect("an end");
    let near = |at: &u64| at.is_multiple_of(step) || borders.iter().any(|border| border.abs_diff(*at) <= 12);
    (0..end).filter(near).collect()
}

fn refusal(path: &Path) -> StorageError {
    match Backup::open(path).and_then(|backup| backup.verify(|_| {})) {
        Err(error) => error,
        Ok(()) => panic!("a damaged backup is taken for whole"),
    }
}

#[test]
fn cut_anywhere_it_is_refused_with_where_it_ends() {
    let sample = sample();
    let whole = fs::read(&sample.file).expect("there");
    let borders = borders(&Backup::open(&sample.file).expect("a backup"));
    let cut = sample.file.with_extension("cut");
    for length in places(&borders, 61) {
        fs::write(&cut, whole.get(..usize::try_from(length).expect("small")).expect("shorter"))
            .expect("written");
        let refused = refusal(&cut);
        let is_short = matches!(
            &refused,
            StorageError::DamagedBackup { at, damage: BackupDamage::Short { .. }, .. } if *at == length
        );
        assert!(is_short, "cut to {length} bytes: {refused}");
    }
    fs::write(&cut, [&whole[..], b"x"].concat()).expect("written");
    let long = refusal(&cut);
    assert!(
        matches!(&long, StorageError::DamagedBackup { at, damage: BackupDamage::Long, .. } if *at == whole.len() as u64)
    );
}

#[test]
fn with_any_byte_changed_it_is_refused_with_the_part() {
    let sample = sample();
    let mut bytes = fs::read(&sample.file).expect("there");
    let borders = borders(&Backup::open(&sample.file).expect("a backup"));
    let spoilt = sample.file.with_extension("spoilt");
    for place in places(&borders, 97) {
        let byte = usize::try_from(place).expect("small");
        bytes[byte] ^= 0x10;
        fs::write(&spoilt, &bytes).expect("written");
        bytes[byte] ^= 0x10;
        let refused = refusal(&spoilt);
        let StorageError::DamagedBackup { at, .. } = &refused else { panic!("byte {place}: {refused}") };
        let part = borders.iter().rev().find(|border| **border <= place).expect("a part");
        assert!((*part..=place).contains(at), "byte {place} is in the part at {part}: {refused}");
    }
    fs::write(&spoilt, &bytes).expect("written");
    Backup::open(&spoilt).expect("a backup").verify(|_| {}).expect("as it was");
}

#[test]
fn the_command_line_says_at_which_byte() {
    let sample = sample();
    let backup = Backup::open(&sample.file).expect("a backup");
    let chunk = backup.files().iter().find(|file| file.name == "chunk-00000001").expect("a chunk").at;
    let mut bytes = fs::read(&sample.file).expect("there");
    bytes[usize::try_from(chunk).expect("small") + 100] ^= 1;
    fs::write(&sample.file, &bytes).expect("written");
    let refused = run(&["backup", "verify", text(&sample.file)]).with(7);
    let place = format!("is damaged at byte {}", chunk + 20);
    assert!(refused.contains(&place) && refused.contains("chunk-00000001"), "{refused}");
    let missing = run(&["backup", "verify", "/nonexistent/queue.backup"]).with(6);
    assert!(missing.contains("there is no backup"), "{missing}");
}

/// The disk has changed a chunk since it was written. The node serves from it until a client asks for those jobs.
#[test]
fn a_backup_of_a_damaged_chunk_does_not_take_the_place_of_a_whole_one() {
    let folder = tempfile::tempdir().expect("a directory");
    let node = Node::start(&folder.path().join("data"), |_| {});
    fill(&mut Raw::greeted(node.address));
    let file = folder.path().join("queue.backup");
    create(node.address, &file);
    let whole = fs::read(&file).expect("there");
    let chunk = folder.path().join("data/chunks/chunk-00000001");
    let mut bytes = fs::read(&chunk).expect("there");
    bytes[100] ^= 1;
    // Over the old ones: the node has the file open.
    fs::write(&chunk, bytes).expect("written");
    let server = node.address.to_string();
    let refused = run(&["backup", "create", "--force", text(&file), "--server", &server]).with(7);
    assert!(refused.contains("queue.backup.part is damaged at byte"), "{refused}");
    assert!(refused.contains("chunk-00000001"), "{refused}");
    assert_eq!(fs::read(&file).expect("there"), whole);
    node.stop();
}
