//! Whole checkpoints: the files that a power cut leaves of an unfinished one, and the files that are removed.

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;

use tempfile::TempDir;

use super::super::folder::{DiskFolder, SimulatedFolder};
use super::super::{Fault, sync};
use super::output::PIECE_BYTES;
use super::*;

/// Writes a checkpoint: the content of the previous one, a new chunk, a changed page, and an unchanged one.
fn checkpoint<F: Folder>(folder: &F, before: Option<&Manifest>) -> Result<Manifest, StorageError> {
    let mut manifest = before.cloned().unwrap_or_default();
    manifest.checkpoint += 1;
    let number = manifest.next_chunk;
    let mut writer = ChunkWriter::create(folder, number)?;
    for id in 0..300 {
        let head = RowHead { id, timeline: TIMELINE_STAMP, at: id * 3, topic: 1, key_hash: None };
        writer.push(head, &[u8::try_from(number).expect("few"); 100])?;
    }
    let summary = writer.finish()?;
    let rows = summary.rows;
    manifest.chunks.push(ManifestChunk { summary, live: Bits::full(rows), spilled: Bits::new(rows) });
    manifest.next_chunk += 1;
    let checkpoint = u32::try_from(manifest.checkpoint).expect("few");
    manifest.pages.retain(|pages| pages.id.page == 0);
    for page in if before.is_some() { 1..2 } else { 0..2 } {
        let mut pages = PageWriter::create(folder, PagesId { checkpoint, page })?;
        pages.push(b"an entry")?;
        manifest.pages.push(pages.finish()?);
    }
    folder.sync()?;
    manifest.write(folder)?;
    remove_unlisted(folder, Some(&manifest))?;
    Ok(manifest)
}

/// Reads all that a manifest lists.
fn verify<F: Folder>(folder: &F, manifest: &Manifest) {
    for chunk in &manifest.chunks {
        Chunk::open(folder, &chunk.summary).expect("it opens").verify(|_| {}).expect("it verifies");
    }
    for pages in &manifest.pages {
        Pages::open(folder, pages).expect("it opens").for_each(|_| Ok(())).expect("it verifies");
    }
}

#[test]
fn a_power_cut_at_every_step_leaves_a_whole_checkpoint() {
    let whole = SimulatedFolder::new(0);
    let first = checkpoint(&whole, None).expect("written");
    let before = whole.steps();
    checkpoint(&whole, Some(&first)).expect("written");
    let steps = whole.steps() - before;
    assert!(steps > 10, "{steps}");
    let mut found = [0; 3];
    for seed in 0..40 {
        for step in 0..=steps {
            let folder = SimulatedFolder::new(seed);
            let first = checkpoint(&folder, None).expect("written");
            folder.arm(step, Fault::PowerCut);
            let second = checkpoint(&folder, Some(&first));
            let left = folder.crash();
            let manifest = Manifest::read(&left).expect("never half of one").expect("never none");
            assert!(manifest.checkpoint == 2 || second.is_err(), "what was done is kept");
            found[usize::try_from(manifest.checkpoint).expect("few")] += 1;
            verify(&left, &manifest);
            remove_unlisted(&left, Some(&manifest)).expect("removed");
            let names = [1 + manifest.pages.len() + manifest.chunks.len(), left.list().expect("read").len()];
            assert_eq!(names[0], names[1], "the manifest, the pages, the chunks");
            let third = checkpoint(&left, Some(&manifest)).expect("it goes on");
            verify(&left.crash(), &third);
        }
    }
    assert!(found[1] > 100 && found[2] > 100, "{found:?}");
}

#[test]
fn a_full_disk_leaves_the_checkpoint_before() {
    let folder = SimulatedFolder::new(0);
    let first = checkpoint(&folder, None).expect("written");
    folder.set_capacity_bytes(70_000);
    let error = checkpoint(&folder, Some(&first)).expect_err("there is no room");
    assert!(matches!(error, StorageError::DiskFull { .. }), "{error}");
    assert_eq!(remove_unlisted(&folder, Some(&first)).expect("removed"), 1);
    let folder = folder.crash();
    assert_eq!(Manifest::read(&folder).expect("read").as_ref(), Some(&first));
    verify(&folder, &first);
}

#[test]
fn only_what_is_ours_and_not_listed_is_removed() {
    let folder = SimulatedFolder::new(0);
    let manifest = checkpoint(&folder, None).expect("written");
    let mut kept = folder.list().expect("read");
    let foreign = [
        "chunk-1",
        "chunk-0000000G",
        "chunk-0000000A",
        "chunk-000000001",
        "chunk-00000001.old",
        "pages-00000001",
        "pages-00000001-1",
        "notes",
        "x.new",
    ];
    for name in foreign {
        folder.put(name, vec![1]);
        kept.push(name.to_owned());
    }
    kept.sort();
    let ours = [
        "chunk-00000001",
        "pages-000000ff-00000000",
        "chunk-00000000.new",
        "pages-00000007-00000001.new",
        "manifest.new",
    ];
    for name in ours {
        folder.put(name, vec![1]);
    }
    assert_eq!(remove_unlisted(&folder, Some(&manifest)).expect("removed"), ours.len());
    assert_eq!(folder.crash().list().expect("read"), kept);
    let folder = folder.kill();
    assert_eq!(remove_unlisted(&folder, None).expect("removed"), 3, "the chunk and two pages");
}

/// On the disk, with every sync observed: never more than 1 MiB is unsynced.
#[test]
fn a_long_chunk_is_synced_piece_by_piece() {
    let directory = TempDir::new().expect("a directory");
    let folder = DiskFolder::new(directory.path()).expect("made");
    let lengths = Rc::new(RefCell::new(Vec::new()));
    let seen = lengths.clone();
    sync::watch(Some(Box::new(move |_, path| {
        seen.borrow_mut().push(fs::metadata(path)?.len());
        Ok(())
    })));
    let mut writer = ChunkWriter::create(&folder, 1).expect("created");
    for id in 0..60_u64 {
        let head = RowHead { id, timeline: TIMELINE_WALL, at: 5, topic: 1, key_hash: Some(9) };
        let bytes = if id == 7 { 3 << 20 } else { 50_000 };
        writer.push(head, &vec![3; bytes]).expect("written");
    }
    let summary = writer.finish().expect("finished");
    sync::watch(None);
    let lengths = lengths.take();
    assert_eq!(lengths.last(), Some(&summary.bytes), "all of it is durable");
    assert_eq!(lengths.len() as u64, summary.bytes.div_ceil(PIECE_BYTES as u64));
    let steps = lengths.iter().zip([0].iter().chain(&lengths)).map(|(now, before)| now - before);
    assert!(steps.into_iter().all(|step| step <= PIECE_BYTES as u64), "{lengths:?}");
    let chunk = Chunk::open(&folder, &summary).expect("it opens");
    chunk.verify(|_| {}).expect("it verifies");
}
