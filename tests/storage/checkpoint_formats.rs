//! The files of a checkpoint as they are under `tests/formats/chunks-v1/`: today's code reads them, and writes the same.

use std::path::Path;

use adjourn_storage::chunks::{
    Bits, BlockCache, Chunk, ChunkSummary, ChunkWriter, MANIFEST, Manifest, ManifestChunk, PageWriter, Pages,
    PagesId, PagesSummary, RowHead, TIMELINE_STAMP, TIMELINE_WALL, TopicSummary, chunk_name, pages_name,
};
use adjourn_storage::folder::{Folder as _, SimulatedFolder};

use super::formats::frozen;

const CHUNK: u32 = 42;
const CHUNK_HASH: u128 = 0xc415_8fe9_7f32_6825_1776_c2e5_a637_02c8;
const PAGES: PagesId = PagesId { checkpoint: 7, page: 2 };
const PAGES_HASH: u128 = 0x69dd_fb2a_d28e_eef3_5bca_c32c_4bd9_24ed;

#[test]
fn a_chunk() {
    let (name, today) = (chunk_name(CHUNK), SimulatedFolder::new(0));
    let written = write_chunk(&today);
    let (bytes, folder) = old(&name, &today);
    assert_eq!(today.contents(&name), Some(bytes), "the writer writes other bytes");
    assert_eq!(written, chunk_summary());

    let chunk = Chunk::open(&folder, &chunk_summary()).expect("it opens");
    chunk.verify(|_| {}).expect("it verifies");
    let mut found = Vec::new();
    let mut cache = BlockCache::default();
    chunk.for_each_index(|row, head| found.push((row, head))).expect("it verifies");
    let found: Vec<(RowHead, Vec<u8>)> = found
        .into_iter()
        .map(|(row, head)| (head, chunk.read_row(row, &mut cache).expect("it is there").to_vec()))
        .collect();
    assert_eq!(found, rows());
}

#[test]
fn pages() {
    let (name, today) = (pages_name(PAGES), SimulatedFolder::new(0));
    let written = write_pages(&today);
    let (bytes, folder) = old(&name, &today);
    assert_eq!(today.contents(&name), Some(bytes), "the writer writes other bytes");
    assert_eq!(written, pages_summary());

    let mut found = Vec::new();
    let mut visit = |entry: &[u8]| {
        found.push(entry.to_vec());
        Ok(())
    };
    Pages::open(&folder, &pages_summary()).expect("it opens").for_each(&mut visit).expect("it verifies");
    assert_eq!(found, entries());
}

#[test]
fn a_manifest() {
    let today = SimulatedFolder::new(0);
    manifest().write(&today).expect("written");
    let (bytes, folder) = old(MANIFEST, &today);
    assert_eq!(today.contents(MANIFEST), Some(bytes), "the writer writes other bytes");
    assert_eq!(Manifest::read(&folder).expect("it verifies"), Some(manifest()));
}

/// The old file, alone in a folder.
fn old(name: &str, today: &SimulatedFolder) -> (Vec<u8>, SimulatedFolder) {
    let path = Path::new("chunks-v1").join(name);
    let path = path.to_str().expect("it is text");
    let bytes = frozen(path, || today.contents(name).expect("it was written"));
    let folder = SimulatedFolder::new(0);
    folder.put(name, bytes.clone());
    folder.sync().expect("synced");
    (bytes, folder)
}

/// Two pieces of index; blocks of many rows, and one of a single row; both lines; with key hashes and without.
fn rows() -> Vec<(RowHead, Vec<u8>)> {
    let row = |id: u64| {
        let key_hash = id.is_multiple_of(3).then_some(u128::from(id) << 64 | 0xabcd);
        let timeline = if id < 700 { TIMELINE_STAMP } else { TIMELINE_WALL };
        let topic = if id.is_multiple_of(2) { 3 } else { 70_000 };
        let head = RowHead { id, timeline, at: 1_790_000_000_000 + id * 250, topic, key_hash };
        let bytes = if id == 10 { 17_000 } else { 12 };
        (head, id.to_le_bytes().into_iter().cycle().take(bytes).collect())
    };
    (1..=1030).map(row).collect()
}

fn write_chunk(folder: &SimulatedFolder) -> ChunkSummary {
    let mut writer = ChunkWriter::create(folder, CHUNK).expect("created");
    for (head, bytes) in rows() {
        writer.push(head, &bytes).expect("written");
    }
    writer.finish().expect("finished")
}

fn chunk_summary() -> ChunkSummary {
    let topic = |topic, first_at, last_at| TopicSummary { topic, rows: 515, first_at, last_at };
    let topics = vec![
        topic(3, 1_790_000_000_500, 1_790_000_257_500),
        topic(70_000, 1_790_000_000_250, 1_790_000_257_250),
    ];
    ChunkSummary { number: CHUNK, rows: 1030, bytes: 60_953, hash: CHUNK_HASH, topics }
}

fn entries() -> Vec<Vec<u8>> {
    vec![Vec::new(), b"an entry".to_vec(), vec![0x5a; 66_000], b"another".to_vec()]
}

fn write_pages(folder: &SimulatedFolder) -> PagesSummary {
    let mut writer = PageWriter::create(folder, PAGES).expect("created");
    for entry in entries() {
        writer.push(&entry).expect("written");
    }
    writer.finish().expect("finished")
}

fn pages_summary() -> PagesSummary {
    PagesSummary { id: PAGES, entries: 4, bytes: 66_167, hash: PAGES_HASH }
}

fn manifest() -> Manifest {
    let mut live = Bits::new(1030);
    let mut spilled = Bits::new(1030);
    for row in [0, 63, 64, 700, 1029] {
        live.set(row);
    }
    spilled.set(64);
    Manifest {
        group: 0,
        checkpoint: 300,
        index: 0x0102_0304_0506,
        term: 7,
        log_crc: 0xdead_beef,
        voters: vec![1, 2, 3],
        learners: vec![u64::MAX],
        next_chunk: 43,
        state_hash: 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10,
        jobs: 5,
        metadata: b"\x00\x01the rest of the state\xff".to_vec(),
        chunks: vec![ManifestChunk { summary: chunk_summary(), live, spilled }],
        pages: vec![pages_summary()],
    }
}
