//! The content of a file of the simulated folder, and how much of it is durable.

use std::collections::BTreeMap;

use super::Rng;

const SECTOR_BYTES: usize = 512;

/// The content of a file.
#[derive(Default)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    /// The number of durable bytes.
    pub(super) synced: usize,
    /// True after a failed sync: the other bytes never become durable.
    pub(super) is_lost: bool,
    /// What the disk holds of the sectors that were overwritten since.
    overwritten: BTreeMap<usize, Sector>,
}

/// A sector that was overwritten.
struct Sector {
    durable: Vec<u8>,
    /// A sync failed: no later one writes it, unless it is overwritten again.
    is_lost: bool,
}

impl Content {
    /// All of it is durable.
    pub(super) fn durable(bytes: Vec<u8>) -> Self {
        Self { synced: bytes.len(), bytes, ..Self::default() }
    }

    /// Overwrites the content from `offset` on; drops the bytes past its end.
    pub(super) fn overwrite(&mut self, offset: usize, bytes: &[u8]) {
        let end = (offset + bytes.len()).min(self.bytes.len());
        for at in offset / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES) {
            let durable = self.bytes.chunks(SECTOR_BYTES).nth(at).unwrap_or_default();
            let sector = self.overwritten.entry(at);
            sector.or_insert_with(|| Sector { durable: durable.to_vec(), is_lost: false }).is_lost = false;
        }
        let there = self.bytes.get_mut(offset..end).unwrap_or_default();
        there.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    }

    /// A sync succeeds.
    pub(super) fn sync(&mut self) {
        if !self.is_lost {
            self.synced = self.bytes.len();
        }
        self.overwritten.retain(|_, sector| sector.is_lost);
    }

    /// Makes the content durable; what a failed sync lost reads as the disk has it.
    pub(super) fn settle(&mut self) {
        for (at, sector) in std::mem::take(&mut self.overwritten) {
            if sector.is_lost {
                self.restore(at, &sector.durable);
            }
        }
        if self.is_lost {
            self.bytes.truncate(self.synced);
        }
        (self.synced, self.is_lost) = (self.bytes.len(), false);
    }

    fn restore(&mut self, at: usize, durable: &[u8]) {
        let there = self.bytes.iter_mut().skip(at * SECTOR_BYTES);
        there.zip(durable).for_each(|(to, from)| *to = *from);
    }

    /// A sync fails: a random part becomes durable, the rest is lost.
    pub(super) fn lose(&mut self, rng: &mut Rng) {
        let unsynced = self.bytes.len() - self.synced;
        if unsynced > 0 {
            self.synced += rng.below(unsynced + 1);
            self.is_lost = true;
        }
        self.overwritten.retain(|_, sector| sector.is_lost || rng.below(2) == 0);
        self.overwritten.values_mut().for_each(|sector| sector.is_lost = true);
    }

    /// What a power cut leaves of it.
    pub(super) fn after_crash(&self, rng: &mut Rng) -> Vec<u8> {
        let cached = if self.is_lost { 0 } else { self.bytes.len() - self.synced };
        let kept = self.synced + rng.below(cached + 1);
        let mut left = Self::durable(self.bytes.get(..kept).unwrap_or_default().to_vec());
        for (at, sector) in &self.overwritten {
            if sector.is_lost || rng.below(2) == 0 {
                left.restore(*at, &sector.durable);
            }
        }
        let mut left = left.bytes;
        let unsynced = left.get_mut(self.synced..).unwrap_or_default();
        // The system wrote the length and the data after this sector before the sector itself.
        if rng.below(3) == 0 && !unsynced.is_empty() {
            let at = rng.below(unsynced.len());
            unsynced.iter_mut().skip(at).take(SECTOR_BYTES).for_each(|byte| *byte = 0);
        }
        left
    }
}
