//! Round trips of chunks, and every way in which a small one can be damaged.

use proptest::prelude::*;

use super::super::super::folder::SimulatedFolder;
use super::super::{BlockCache, ChunkWriter, TIMELINE_STAMP, TIMELINE_WALL};
use super::*;
use crate::StorageErrorKind;

type Row = (RowHead, Vec<u8>);

fn head(id: u64, timeline: u8, at: u64, topic: u32, key_hash: Option<u128>) -> RowHead {
    RowHead { id, timeline, at, topic, key_hash }
}

/// Rows as a checkpoint would write them: sorted, no id twice.
fn rows(rows_max: usize, row_bytes_max: usize) -> impl Strategy<Value = Vec<Row>> {
    let key_hash = prop::option::of(any::<u128>());
    let bytes = prop_oneof![
        20 => prop::collection::vec(any::<u8>(), 0..300),
        1 => prop::collection::vec(any::<u8>(), 0..row_bytes_max),
    ];
    let row = (TIMELINE_STAMP..=TIMELINE_WALL, 0..50_u64, any::<u64>(), 0..5_u32, key_hash, bytes);
    prop::collection::vec(row, 0..rows_max).prop_map(|rows| {
        let rows = rows.into_iter();
        let mut rows: Vec<Row> = rows
            .map(|(timeline, at, id, topic, key_hash, bytes)| {
                (head(id, timeline, at, topic, key_hash), bytes)
            })
            .collect();
        rows.sort_by_key(|(head, _)| head.order());
        rows.dedup_by_key(|(head, _)| head.order());
        rows
    })
}

fn write(folder: &SimulatedFolder, number: u32, rows: &[Row]) -> ChunkSummary {
    let mut writer = ChunkWriter::create(folder, number).expect("created");
    for ((head, bytes), row) in rows.iter().zip(0..) {
        assert_eq!(writer.push(*head, bytes).expect("written"), row);
    }
    writer.finish().expect("finished")
}

fn index(chunk: &Chunk) -> Result<Vec<RowHead>, StorageError> {
    let mut heads = Vec::new();
    chunk.for_each_index(|row, head| {
        assert_eq!(row as usize, heads.len());
        heads.push(head);
    })?;
    Ok(heads)
}

/// Checks everything that a chunk can return.
fn check(folder: &SimulatedFolder, summary: &ChunkSummary, rows: &[Row], cache: &mut BlockCache) {
    let chunk = Chunk::open(folder, summary).expect("it opens");
    assert_eq!(chunk.rows() as usize, rows.len());
    let expected: Vec<RowHead> = rows.iter().map(|(head, _)| *head).collect();
    assert_eq!(index(&chunk).expect("it verifies"), expected);
    let mut heads = Vec::new();
    for ((_, bytes), row) in rows.iter().zip(0..) {
        assert_eq!(chunk.read_row(row, cache).expect("it is there"), bytes);
        chunk.read_heads(row, &mut heads).expect("they are there");
        assert!(expected[row as usize..].starts_with(&heads) && !heads.is_empty());
    }
    for (timeline, at) in [(0, 0), (1, 0), (1, 25), (2, 0), (2, 25), (2, 50), (3, 0)] {
        let first = expected.partition_point(|head| (head.timeline, head.at) < (timeline, at));
        assert_eq!(
            chunk.first_row_from(timeline, at).expect("it verifies") as usize,
            first,
            "({timeline}, {at})"
        );
    }
    let mut told = 0;
    chunk.verify(|bytes| told = bytes).expect("it verifies");
    assert!(told > 0 && told < summary.bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_is_written_is_read(one in rows(2500, 100_000), two in rows(40, 3_000_000)) {
        let folder = SimulatedFolder::new(1);
        let mut cache = BlockCache::new(3);
        let summaries = [write(&folder, 1, &one), write(&folder, 0x7fff_ffff, &two)];
        folder.sync().expect("synced");
        let folder = folder.crash();
        check(&folder, &summaries[0], &one, &mut cache);
        check(&folder, &summaries[1], &two, &mut cache);
    }
}

/// A chunk of three blocks and two pieces of the index, but still small.
fn small() -> (SimulatedFolder, ChunkSummary, Vec<Row>) {
    let rows: Vec<Row> = (0..1030_u64)
        .map(|id| {
            let key_hash = id.is_multiple_of(100).then_some(u128::from(id) << 70);
            let bytes = if id == 7 { vec![7; 17_000] } else { vec![id.to_le_bytes()[0]; 2] };
            (head(id, if id < 500 { TIMELINE_STAMP } else { TIMELINE_WALL }, 1000 + id, 3, key_hash), bytes)
        })
        .collect();
    let folder = SimulatedFolder::new(1);
    let summary = write(&folder, 42, &rows);
    (folder, summary, rows)
}

/// A small chunk, so that tests can corrupt it byte by byte.
fn tiny() -> (SimulatedFolder, ChunkSummary, Vec<Row>) {
    let rows: Vec<Row> = (0..4_u64)
        .map(|id| {
            let key_hash = (id == 2).then_some(u128::MAX / 3);
            (head(id, TIMELINE_STAMP, 1_790_000_000_000 + id, 3 + id as u32 % 2, key_hash), vec![id as u8; 5])
        })
        .collect();
    let folder = SimulatedFolder::new(1);
    let summary = write(&folder, 42, &rows);
    (folder, summary, rows)
}

/// Opens a chunk and reads all of it without verifying the hash.
fn read_all(folder: &SimulatedFolder, summary: &ChunkSummary) -> Result<Vec<Row>, StorageError> {
    let chunk = Chunk::open(folder, summary)?;
    let mut cache = BlockCache::default();
    let heads = index(&chunk)?.into_iter().zip(0..);
    heads.map(|(head, row)| Ok((head, chunk.read_row(row, &mut cache)?.to_vec()))).collect()
}

fn damage(error: StorageError) -> FileDamage {
    assert_eq!(error.kind(), StorageErrorKind::Damaged, "{error}");
    let text = error.to_string();
    assert!(text.contains("chunk-0000002a") && text.contains("Put a copy of this file back"), "{text}");
    match error {
        StorageError::Damaged { damage: Damage::Chunk { damage, .. }, .. } => damage,
        other => panic!("{other}"),
    }
}

#[test]
fn every_flipped_bit_is_found_where_it_is() {
    let (folder, summary, rows) = tiny();
    let footer = Footer::BYTES;
    for bit in 0..summary.bytes * 8 {
        assert!(folder.flip_bit("chunk-0000002a", bit));
        let found = damage(read_all(&folder, &summary).expect_err("it is damaged"));
        let FileDamage::Bytes { part, at } = found else { panic!("bit {bit}: {found}") };
        assert!(at <= bit / 8 && (at + footer >= summary.bytes) == (bit / 8 + footer >= summary.bytes));
        let expected = match bit / 8 {
            0..HEADER_END => FilePart::Header,
            byte if byte + footer >= summary.bytes => FilePart::Footer,
            _ => part,
        };
        assert_eq!(part, expected, "bit {bit}");
        let verified = Chunk::open(&folder, &summary).and_then(|chunk| chunk.verify(|_| {}));
        assert_eq!(damage(verified.expect_err("it is damaged")), found);
        assert!(folder.flip_bit("chunk-0000002a", bit));
    }
    assert_eq!(read_all(&folder, &summary).expect("whole"), rows);
}

#[test]
fn every_cut_and_every_tail_is_found() {
    let (folder, summary, _) = tiny();
    let whole = folder.contents("chunk-0000002a").expect("written");
    for bytes in (0..summary.bytes).rev() {
        assert!(folder.cut("chunk-0000002a", bytes as usize));
        let found = damage(Chunk::open(&folder, &summary).map(drop).expect_err("it is short"));
        assert_eq!(found, FileDamage::Short { found: bytes, expected: summary.bytes });
    }
    folder.put("chunk-0000002a", [&whole[..], &[0]].concat());
    let found = damage(Chunk::open(&folder, &summary).map(drop).expect_err("it is long"));
    assert!(matches!(found, FileDamage::Bytes { part: FilePart::Footer, .. }), "{found}");
    folder.remove("chunk-0000002a").expect("removed");
    assert_eq!(damage(Chunk::open(&folder, &summary).map(drop).expect_err("gone")), FileDamage::Missing);
}

#[test]
fn another_file_under_its_name_is_refused() {
    let (folder, summary, mut rows) = tiny();
    let name = "chunk-0000002a";
    rows[3].1[0] ^= 1;
    for other in [&rows[..3], &rows[..]] {
        write(&folder, 43, other);
        folder.rename("chunk-0000002b", name).expect("renamed");
        let found = damage(Chunk::open(&folder, &summary).map(drop).expect_err("another"));
        assert_eq!(found, FileDamage::Other);
    }
    // The same number, so that only the hash differs.
    write(&folder, 42, &rows);
    assert_eq!(damage(Chunk::open(&folder, &summary).map(drop).expect_err("another")), FileDamage::Other);
}

#[test]
fn a_file_from_the_future_needs_a_newer_binary() {
    let (folder, summary, _) = tiny();
    let mut bytes = folder.contents("chunk-0000002a").expect("written");
    let newer = super::super::fields::Header { version: 2, ..header(42) };
    bytes[..HEADER_BYTES].copy_from_slice(&newer.encode());
    folder.put("chunk-0000002a", bytes);
    let error = Chunk::open(&folder, &summary).map(drop).expect_err("newer");
    assert!(matches!(error, StorageError::NewerFormat { found: 2, known: 1, .. }), "{error}");
}

/// Corrects the checksum over the corrupted bytes, so that only the hash can tell.
#[test]
fn verify_finds_what_the_checksums_do_not() {
    let (folder, summary, rows) = tiny();
    let mut bytes = folder.contents("chunk-0000002a").expect("written");
    let block_end = BlockHeader::read(&bytes[HEADER_BYTES..]).expect("a block").bytes as usize;
    let block = HEADER_BYTES..HEADER_BYTES + block_end;
    bytes[block.end - 1] ^= 1;
    let crc_at = block.start + block::BLOCK_HEADER_BYTES - 4;
    let covered = [&bytes[block.start..crc_at], &bytes[crc_at + 4..block.end]].concat();
    bytes[crc_at..crc_at + 4].copy_from_slice(&crc32c::crc32c(&covered).to_le_bytes());
    folder.put("chunk-0000002a", bytes);
    assert_ne!(read_all(&folder, &summary).expect("every checksum is right"), rows);
    let chunk = Chunk::open(&folder, &summary).expect("it opens");
    assert_eq!(damage(chunk.verify(|_| {}).expect_err("the hash is not")), FileDamage::Hash);
}

#[test]
fn the_text_says_which_jobs_and_what_to_do() {
    let (folder, summary, _) = tiny();
    folder.remove("chunk-0000002a").expect("removed");
    let error = Chunk::open(&folder, &summary).map(drop).expect_err("gone");
    assert_eq!(
        error.to_string(),
        "the data in the simulated disk is damaged: chunk-0000002a is missing. It holds up to 4 jobs: 2 of topic 3, due from \
         1790000000000 to 1790000000002; 2 of topic 4, due from 1790000000001 to 1790000000003 (ms since 1970). Put a \
         copy of this file back, if there is one: it never changes after it was written. Or restore the directory \
         from a backup"
    );
}

#[test]
fn a_row_that_is_not_there_is_an_error() {
    let (folder, summary, rows) = small();
    let chunk = Chunk::open(&folder, &summary).expect("it opens");
    assert!(chunk.blocks.len() >= 3 && chunk.pieces.len() == 2);
    let mut cache = BlockCache::default();
    for row in [rows.len() as u32, u32::MAX] {
        let error = chunk.read_row(row, &mut cache).expect_err("there is none");
        assert_eq!(damage(error), FileDamage::NoRow { row });
    }
    let mut heads = Vec::new();
    chunk.read_heads(1030, &mut heads).expect("nothing");
    assert!(heads.is_empty());
    check(&folder, &summary, &rows, &mut cache);
}

#[test]
fn an_open_chunk_outlives_its_name() {
    let (folder, summary, rows) = small();
    let chunk = Chunk::open(&folder, &summary).expect("it opens");
    folder.remove("chunk-0000002a").expect("removed");
    write(&folder, 42, &rows[..5]);
    chunk.verify(|_| {}).expect("it is the one that was opened");
}

#[test]
fn a_cached_block_is_not_read_again() {
    let (folder, summary, rows) = small();
    let chunk = Chunk::open(&folder, &summary).expect("it opens");
    let mut cache = BlockCache::default();
    chunk.read_row(0, &mut cache).expect("read");
    folder.arm_read(0);
    assert_eq!(chunk.read_row(1, &mut cache).expect("cached"), rows[1].1);
    cache.forget(42);
    chunk.read_row(1, &mut cache).expect_err("the device fails");
}

#[test]
fn an_empty_chunk_is_one() {
    let folder = SimulatedFolder::new(1);
    let summary = write(&folder, 0, &[]);
    check(&folder, &summary, &[], &mut BlockCache::default());
}
