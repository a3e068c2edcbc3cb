//! Round trips of manifests, every way in which one can be damaged, and power cuts while one is replaced.

use proptest::prelude::*;

use super::super::super::folder::SimulatedFolder;
use super::super::PagesId;
use super::super::layout::TopicSummary;
use super::*;
use crate::Fault;

fn manifest(checkpoint: u64) -> Manifest {
    let topics = vec![TopicSummary { topic: 3, rows: 100, first_at: 5, last_at: 900 }];
    let summary = |number| ChunkSummary {
        number,
        rows: 100,
        bytes: 5000,
        hash: 7 << 90 | u128::from(number),
        topics: topics.clone(),
    };
    let mut live = Bits::new(100);
    (10..30).for_each(|row| _ = live.set(row));
    let mut spilled = Bits::new(100);
    (20..25).for_each(|row| _ = spilled.set(row));
    let pages = |checkpoint, page| PagesSummary {
        id: PagesId { checkpoint, page },
        entries: 20,
        bytes: 800,
        hash: 1 << 100,
    };
    Manifest {
        group: 0,
        checkpoint,
        index: 1000 + checkpoint,
        term: 7,
        log_crc: 0xfeed,
        voters: vec![1, 2, 3],
        learners: vec![9],
        next_chunk: 12,
        state_hash: u128::MAX / 5,
        jobs: 120,
        metadata: vec![0xab; 40],
        chunks: vec![
            ManifestChunk { summary: summary(4), live: live.clone(), spilled },
            ManifestChunk { summary: summary(11), live, spilled: Bits::new(100) },
        ],
        pages: vec![pages(1, 2), pages(1, 3)],
    }
}

fn damage(error: StorageError) -> FileDamage {
    let text = error.to_string();
    assert!(text.contains("manifest") && text.contains("Restore the directory"), "{text}");
    match error {
        StorageError::Damaged { damage: Damage::Manifest(damage), .. } => damage,
        other => panic!("{other}"),
    }
}

#[test]
fn the_newest_manifest_comes_back() {
    let mut folder = SimulatedFolder::new(1);
    assert_eq!(Manifest::read(&folder).expect("read"), None);
    for manifest in [manifest(1), manifest(2), Manifest::default()] {
        manifest.write(&folder).expect("written");
        let left = folder.kill().crash();
        assert_eq!(Manifest::read(&left).expect("read"), Some(manifest));
        assert_eq!(left.list().expect("read"), [MANIFEST]);
        folder = left;
    }
}

#[test]
fn a_power_cut_at_every_step_leaves_the_old_manifest_or_the_new() {
    let (mut old, mut new) = (0, 0);
    for seed in 0..200 {
        for step in 0..8 {
            let folder = SimulatedFolder::new(seed);
            manifest(1).write(&folder).expect("written");
            folder.arm(step, Fault::PowerCut);
            let written = manifest(2).write(&folder).is_ok();
            let found = Manifest::read(&folder.crash()).expect("never half of one").expect("never none");
            assert!(found == manifest(2) || found == manifest(1) && !written);
            *(if found.checkpoint == 1 { &mut old } else { &mut new }) += 1;
        }
    }
    assert!(old > 100 && new > 100, "{old} and {new}");
}

#[test]
fn every_flipped_bit_and_every_cut_is_found() {
    let folder = SimulatedFolder::new(1);
    manifest(1).write(&folder).expect("written");
    let whole = folder.contents(MANIFEST).expect("written");
    for bit in 0..whole.len() as u64 * 8 {
        assert!(folder.flip_bit(MANIFEST, bit));
        let found = damage(Manifest::read(&folder).expect_err("it is damaged"));
        let frame = FRAME_BYTES as u64;
        let (part, at) = if bit / 8 < frame { (FilePart::Header, 0) } else { (FilePart::Payload, frame) };
        assert_eq!(found, FileDamage::Bytes { part, at }, "bit {bit}");
        assert!(folder.flip_bit(MANIFEST, bit));
    }
    for bytes in (0..whole.len()).rev() {
        assert!(folder.cut(MANIFEST, bytes));
        let found = damage(Manifest::read(&folder).expect_err("it is short"));
        assert!(
            matches!(found, FileDamage::Short { found, .. } if found == bytes as u64),
            "{bytes}: {found}"
        );
    }
    folder.put(MANIFEST, [&whole[..], &[0]].concat());
    damage(Manifest::read(&folder).expect_err("it is long"));
}

/// Decodes a manifest with this payload and correct checksums.
fn sealed_payload(length: u64, payload: &[u8]) -> Result<Manifest, StorageError> {
    let mut bytes = HEADER.encode().to_vec();
    bytes.extend_from_slice(&length.to_le_bytes());
    seal(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&crc32c::crc32c(payload).to_le_bytes());
    decode(&bytes, Path::new("there"))
}

#[test]
fn nonsense_under_a_right_checksum_is_refused() {
    let spoilt: [fn(&mut Manifest); 10] = [
        |manifest| manifest.chunks.reverse(),
        |manifest| manifest.next_chunk = 11,
        |manifest| manifest.next_chunk = NEXT_CHUNK_MAX + 1,
        |manifest| manifest.index = COUNT_MAX + 1,
        |manifest| manifest.term = COUNT_MAX + 1,
        |manifest| manifest.checkpoint = u64::from(u32::MAX),
        |manifest| manifest.chunks[0].live = Bits::new(99),
        |manifest| manifest.chunks[0].spilled = Bits::new(101),
        |manifest| manifest.chunks[0].spilled = Bits::full(100),
        |manifest| manifest.chunks[1].summary.number = 4,
    ];
    for spoil in spoilt {
        let mut manifest = manifest(1);
        spoil(&mut manifest);
        let payload = options().serialize(&manifest).expect("it encodes");
        damage(sealed_payload(payload.len() as u64, &payload).expect_err("nonsense"));
    }
    let whole = options().serialize(&manifest(1)).expect("it encodes");
    assert_eq!(sealed_payload(whole.len() as u64, &whole).expect("whole"), manifest(1));
    let fewer = &whole[..whole.len() - 1];
    damage(sealed_payload(fewer.len() as u64, fewer).expect_err("a byte too few"));
    let more = [&whole[..], &[0]].concat();
    damage(sealed_payload(more.len() as u64, &more).expect_err("a byte too many"));
    damage(sealed_payload(u64::MAX, &whole).expect_err("another length"));
}

proptest! {
    /// The lengths in it are arbitrary: nothing is allocated for them, and nothing panics.
    #[test]
    fn any_payload_is_refused_or_read(payload in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(manifest) = sealed_payload(payload.len() as u64, &payload) {
            prop_assert!(manifest.makes_sense());
        }
    }

    #[test]
    fn any_change_of_a_payload_is_refused_or_read(at in 0_usize..400, bytes: [u8; 9]) {
        let mut payload = options().serialize(&manifest(1)).expect("it encodes");
        payload.iter_mut().skip(at).zip(bytes).for_each(|(place, byte)| *place = byte);
        if let Ok(manifest) = sealed_payload(payload.len() as u64, &payload) {
            prop_assert!(manifest.makes_sense());
        }
    }
}

#[test]
fn a_manifest_from_the_future_needs_a_newer_binary() {
    let folder = SimulatedFolder::new(1);
    manifest(1).write(&folder).expect("written");
    let mut bytes = folder.contents(MANIFEST).expect("written");
    bytes[..HEADER_BYTES].copy_from_slice(&Header { version: 2, ..HEADER }.encode());
    folder.put(MANIFEST, bytes);
    let error = Manifest::read(&folder).expect_err("newer");
    assert_eq!(
        error.to_string(),
        "the simulated disk/manifest has format 2, and this binary supports formats up to 1: use a newer one"
    );
}

#[test]
#[should_panic = "makes no sense"]
fn nonsense_is_never_written() {
    let mut manifest = manifest(1);
    manifest.chunks.reverse();
    _ = manifest.write(&SimulatedFolder::new(1));
}
