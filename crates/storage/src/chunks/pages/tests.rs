//! Round trips of page files, and every way in which a small one can be damaged.

use proptest::prelude::*;

use super::super::super::folder::SimulatedFolder;
use super::*;

fn id(checkpoint: u32) -> PagesId {
    PagesId { checkpoint, page: 3 }
}

fn write(folder: &SimulatedFolder, checkpoint: u32, entries: &[Vec<u8>]) -> PagesSummary {
    let mut writer = PageWriter::create(folder, id(checkpoint)).expect("created");
    for entry in entries {
        writer.push(entry).expect("written");
    }
    writer.finish().expect("finished")
}

fn read(folder: &SimulatedFolder, summary: &PagesSummary) -> Result<Vec<Vec<u8>>, StorageError> {
    let mut entries = Vec::new();
    Pages::open(folder, summary)?.for_each(|entry| {
        entries.push(entry.to_vec());
        Ok(())
    })?;
    Ok(entries)
}

fn damage(error: StorageError) -> FileDamage {
    let text = error.to_string();
    assert!(text.contains("pages-00000009-00000003") && text.contains("Restore the directory"), "{text}");
    match error {
        StorageError::Damaged { damage: Damage::Pages { damage, .. }, .. } => damage,
        other => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_is_written_is_read(
        entries in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..3000),
        long in prop::collection::vec(any::<u8>(), 0..200_000),
    ) {
        let entries: Vec<Vec<u8>> = entries.into_iter().chain([long]).collect();
        let folder = SimulatedFolder::new(1);
        let summary = write(&folder, 9, &entries);
        prop_assert_eq!(summary.entries as usize, entries.len());
        folder.sync().expect("synced");
        prop_assert_eq!(read(&folder.crash(), &summary).expect("it verifies"), entries);
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_found() {
    let folder = SimulatedFolder::new(1);
    let entries = [vec![], vec![1, 2, 3], vec![4; 20]];
    let summary = write(&folder, 9, &entries);
    let footer_at = summary.bytes - FOOTER_BYTES;
    for bit in 0..summary.bytes * 8 {
        assert!(folder.flip_bit("pages-00000009-00000003", bit));
        let found = damage(read(&folder, &summary).expect_err("it is damaged"));
        let (part, at) = match bit / 8 {
            0..HEADER_END => (FilePart::Header, 0),
            byte if byte >= footer_at => (FilePart::Footer, footer_at),
            _ => (FilePart::Block, HEADER_END),
        };
        assert_eq!(found, FileDamage::Bytes { part, at }, "bit {bit}");
        assert!(folder.flip_bit("pages-00000009-00000003", bit));
    }
    assert_eq!(read(&folder, &summary).expect("whole"), entries);
    let whole = folder.contents("pages-00000009-00000003").expect("written");
    for bytes in (0..summary.bytes).rev() {
        assert!(folder.cut("pages-00000009-00000003", bytes as usize));
        let found = damage(read(&folder, &summary).expect_err("it is short"));
        assert_eq!(found, FileDamage::Short { found: bytes, expected: summary.bytes });
    }
    folder.put("pages-00000009-00000003", [&whole[..], &[0]].concat());
    let found = damage(read(&folder, &summary).expect_err("it is long"));
    assert!(matches!(found, FileDamage::Bytes { part: FilePart::Footer, .. }), "{found}");
    folder.remove("pages-00000009-00000003").expect("removed");
    assert_eq!(damage(read(&folder, &summary).expect_err("it is gone")), FileDamage::Missing);
}

#[test]
fn another_file_under_its_name_is_refused() {
    let folder = SimulatedFolder::new(1);
    let summary = write(&folder, 9, &[vec![1]]);
    write(&folder, 8, &[vec![1]]);
    folder.rename("pages-00000008-00000003", "pages-00000009-00000003").expect("renamed");
    assert_eq!(damage(read(&folder, &summary).expect_err("another")), FileDamage::Other);
    write(&folder, 9, &[vec![2]]);
    assert_eq!(damage(read(&folder, &summary).expect_err("another")), FileDamage::Other);
    let mut bytes = folder.contents("pages-00000009-00000003").expect("written");
    bytes[..HEADER_BYTES].copy_from_slice(&Header { version: 2, ..header(id(9)) }.encode());
    folder.put("pages-00000009-00000003", bytes);
    let error = read(&folder, &summary).expect_err("newer");
    assert!(matches!(error, StorageError::NewerFormat { found: 2, known: 1, .. }), "{error}");
}

/// Two blocks at the same place in two files: each is valid by itself.
#[test]
fn a_block_of_another_file_is_found_by_the_hash() {
    let folder = SimulatedFolder::new(1);
    let summary = write(&folder, 9, &[vec![1; 50]]);
    let whole = folder.contents("pages-00000009-00000003").expect("written");
    write(&folder, 9, &[vec![2; 50]]);
    let mut mixed = folder.contents("pages-00000009-00000003").expect("written");
    let footer_at = mixed.len() - FOOTER_BYTES as usize;
    mixed[footer_at..].copy_from_slice(&whole[footer_at..]);
    folder.put("pages-00000009-00000003", mixed);
    assert_eq!(damage(read(&folder, &summary).expect_err("mixed")), FileDamage::Hash);
}

#[test]
fn an_error_of_the_visitor_ends_it() {
    let folder = SimulatedFolder::new(1);
    let summary = write(&folder, 9, &[vec![1], vec![2], vec![3]]);
    let other = PagesSummary { id: id(7), ..summary.clone() };
    let mut seen = 0;
    let ended = Pages::open(&folder, &summary).expect("it opens").for_each(|entry| {
        seen += 1;
        if entry == [2] { Err(damaged(PathBuf::new(), &other, FileDamage::Hash)) } else { Ok(()) }
    });
    let Err(StorageError::Damaged { damage: Damage::Pages { id: found, .. }, .. }) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!(found, id(7));
    assert_eq!(seen, 2);
}
