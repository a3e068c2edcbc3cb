//! A device and the system's cache before it: which data is read, which part is durable, and which part never will be.
//!
//! A block that was written is **dirty** until a sync of its file writes it. When that sync fails, the system treats the
//! blocks that it could not write as clean: such a block is **lost**. It is read as it was written, and no later sync writes
//! it, until it is written again. When the system drops it from its cache, the durable data is read. A process that dies
//! changes none of this. A power cut leaves the durable data and any part of the dirty data.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::RngExt as _;
use proptest::test_runner::TestRng;

use super::disk::{BLOCK_BYTES, Block, Content, FileId, Name, StateMetadata};

/// A device and the cache before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Device {
    pub(super) durable: StateMetadata,
    /// As it is read.
    pub(super) written: StateMetadata,
    /// Blocks of `written` that no sync writes.
    pub(super) lost: BTreeSet<(FileId, usize)>,
}

impl Device {
    /// After a power cut: nothing is in the cache.
    pub(super) fn cut_off(image: &StateMetadata) -> Self {
        Self { durable: image.clone(), written: image.clone(), lost: BTreeSet::new() }
    }

    /// Writes the readable content into the empty directory `root`. The device then has it there.
    pub(super) fn moved_to(&self, root: &Path) -> Self {
        self.written.write(root);
        let copy = StateMetadata::read(root, &StateMetadata::default());
        let numbers = self.written.numbers_in(&copy);
        let written = StateMetadata { names: copy.names, ..self.written.renumbered(&numbers) };
        let lost = self.lost.iter().filter_map(|(id, block)| Some((*numbers.get(id)?, *block)));
        Self { durable: self.durable.renumbered(&numbers), lost: lost.collect(), written }
    }

    /// Compares with the files as they are now. Changed blocks are dirty.
    pub(super) fn look(&mut self, root: &Path) {
        let before = std::mem::take(&mut self.written);
        self.written = StateMetadata::read(root, &before);
        let block = |image: &StateMetadata, (id, at): &(FileId, usize)| {
            image.contents.get(id).and_then(|content| content.blocks.get(*at)).cloned()
        };
        self.lost.retain(|lost| {
            let (old, new) = (block(&before, lost), block(&self.written, lost));
            old.zip(new).is_some_and(|(old, new)| Arc::ptr_eq(&old, &new))
        });
    }

    /// A sync of a file goes well.
    pub(super) fn sync_file(&mut self, id: FileId) {
        let mut content = Arc::clone(&self.written.contents[&id]);
        let lost: Vec<usize> = self.lost_of(id).collect();
        for at in lost {
            Arc::make_mut(&mut content).blocks[at] = self.durable_block(id, at);
        }
        self.durable.contents.insert(id, content);
    }

    /// The system drops what it has in memory of the file at `path`.
    pub(super) fn drop_lost(&mut self, id: FileId, path: &Path) {
        let file = File::options().write(true).open(path).expect("it opens");
        let bytes = self.written.contents[&id].bytes;
        for at in self.lost_of(id) {
            let begin = (at * BLOCK_BYTES) as u64;
            let length = usize::try_from(bytes - begin).unwrap_or(usize::MAX).min(BLOCK_BYTES);
            file.write_all_at(&self.durable_block(id, at)[..length], begin).expect("it is written");
        }
        self.lost.retain(|(lost, _)| *lost != id);
    }

    /// A sync of a file fails: of its dirty blocks a part gets to the disk, and the others are lost.
    pub(super) fn fail_to_sync_file(&mut self, id: FileId, rng: &mut TestRng) {
        let written = Arc::clone(&self.written.contents[&id]);
        let old: Arc<Content> = self.durable.contents.get(&id).cloned().unwrap_or_default();
        let share = [0.0, 0.2, 0.5, 0.8][rng.random_range(0..4)];
        for (at, block) in written.blocks.iter().enumerate() {
            let is_dirty = old.blocks.get(at).is_none_or(|old| old != block);
            if is_dirty && !rng.random_bool(share) {
                self.lost.insert((id, at));
            }
        }
        self.sync_file(id);
    }

    fn durable_block(&self, id: FileId, at: usize) -> Block {
        let durable = self.durable.contents.get(&id).and_then(|content| content.blocks.get(at));
        durable.map_or_else(|| Arc::new([0; BLOCK_BYTES]), Arc::clone)
    }

    fn lost_of(&self, id: FileId) -> impl Iterator<Item = usize> {
        self.lost.range((id, 0)..=(id, usize::MAX)).map(|(_, at)| *at)
    }
}

/// Whether sled will read it as a summary of its log.
pub(super) fn is_summary((_, name): &Name) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("snap.") && !name.ends_with(".generating")
}
