//! The content of a file of the simulated folder, and how much of it is durable.

use crate::storage::simulated::Rng;

const SECTOR_BYTES: usize = 512;

/// The content of a file.
#[derive(Default)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    /// The number of durable bytes.
    pub(super) synced: usize,
    /// A sync failed: the others never will be.
    pub(super) is_lost: bool,
}

impl Content {
    /// All of it is durable.
    pub(super) fn durable(bytes: Vec<u8>) -> Self {
        Self { synced: bytes.len(), bytes, is_lost: false }
    }

    /// A sync fails: some of it is durable, and no more.
    pub(super) fn lose(&mut self, rng: &mut Rng) {
        self.synced += rng.below(self.bytes.len() - self.synced + 1);
        self.is_lost = true;
    }

    /// What a power cut leaves of it.
    pub(super) fn after_crash(&self, rng: &mut Rng) -> Vec<u8> {
        let cached = if self.is_lost { 0 } else { self.bytes.len() - self.synced };
        let kept = self.synced + rng.below(cached + 1);
        let mut left = self.bytes.get(..kept).unwrap_or_default().to_vec();
        let unsynced = left.get_mut(self.synced..).unwrap_or_default();
        // The system wrote the length, and the data behind, before this sector.
        if rng.below(3) == 0 && !unsynced.is_empty() {
            let at = rng.below(unsynced.len());
            unsynced.iter_mut().skip(at).take(SECTOR_BYTES).for_each(|byte| *byte = 0);
        }
        left
    }
}
