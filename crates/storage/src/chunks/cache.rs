//! Recently read blocks of all chunks of one folder.

use bytes::Bytes;

/// Recently read blocks. Each block has one slot; a newer block replaces the older one in it.
///
/// Its memory is bounded by its size: a block that one long row makes longer than usual is not kept.
#[derive(Debug)]
pub struct BlockCache {
    entries: Vec<Option<Entry>>,
    kept: u64,
    kept_bytes: u64,
}

/// Longest block that is kept, in bytes.
const BLOCK_BYTES_MAX: usize = 64 << 10;

#[derive(Clone, Debug)]
struct Entry {
    chunk: u32,
    block: u32,
    bytes: Bytes,
}

impl BlockCache {
    /// Keeps up to `blocks` blocks, at least one, of 16 KiB each as a rule and 64 KiB at most.
    pub fn new(blocks: usize) -> Self {
        Self { entries: vec![None; blocks.max(1)], kept: 0, kept_bytes: 0 }
    }

    /// Forgets the blocks of a chunk; to be called when its file is removed.
    pub fn forget(&mut self, chunk: u32) {
        for entry in &mut self.entries {
            entry.take_if(|entry| entry.chunk == chunk);
        }
    }

    /// How many blocks were added: each was read from a file.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// The total length of these, in bytes.
    pub fn kept_bytes(&self) -> u64 {
        self.kept_bytes
    }

    pub(super) fn find(&self, chunk: u32, block: u32) -> Option<&Bytes> {
        let entry = self.entries.get(self.place(chunk, block))?.as_ref()?;
        (entry.chunk == chunk && entry.block == block).then_some(&entry.bytes)
    }

    pub(super) fn keep(&mut self, chunk: u32, block: u32, bytes: &Bytes) {
        self.kept += 1;
        self.kept_bytes += bytes.len() as u64;
        let place = self.place(chunk, block);
        if bytes.len() <= BLOCK_BYTES_MAX
            && let Some(entry) = self.entries.get_mut(place)
        {
            *entry = Some(Entry { chunk, block, bytes: bytes.clone() });
        }
    }

    /// Neighbouring blocks get different slots, and so do the first blocks of different chunks. The multiplier is
    /// that of Knuth, "The Art of Computer Programming", volume 3, 6.4.
    fn place(&self, chunk: u32, block: u32) -> usize {
        let mixed = chunk.wrapping_mul(0x9E37_79B1).rotate_left(7).wrapping_add(block);
        mixed as usize % self.entries.len()
    }
}

impl Default for BlockCache {
    fn default() -> Self {
        Self::new(64)
    }
}
