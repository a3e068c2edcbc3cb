//! How much memory a node may take: beyond it pushes are refused, and what takes jobs out of memory goes on.
//!
//! What the process really takes is measured by the driver, now and then. What has been added since is estimated, so
//! that a burst of pushes does not run past the limit between two measurements.

/// The limit, and what is known of where the node stands; in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// At most so much; 0 for no limit.
    max: u64,
    /// What the process took when it was measured last.
    resident: u64,
    /// What the state was estimated to take then.
    estimated: u64,
}

/// What one checkpoint takes while it is written, and requests that are under way: kept free for them, in bytes.
const RESERVE_BYTES: u64 = 96 << 20;

impl Memory {
    /// No more than this; 0 for no limit.
    pub(super) fn new(max_bytes: u64) -> Self {
        Self { max: max_bytes, ..Self::default() }
    }

    /// Whether there is a limit at all.
    pub(super) fn is_limited(&self) -> bool {
        self.max > 0
    }

    /// The process takes so much, and the state is estimated to take so much of it.
    pub(super) fn measured(&mut self, resident_bytes: u64, estimated_bytes: u64) {
        (self.resident, self.estimated) = (resident_bytes, estimated_bytes);
    }

    /// Whether nothing more may be added to a state that is estimated to take so much now.
    pub(super) fn is_short(&self, estimated_bytes: u64) -> bool {
        let added = estimated_bytes.saturating_sub(self.estimated);
        self.max > 0 && self.resident + added + RESERVE_BYTES > self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_since_the_measurement_counts() {
        let mut memory = Memory::new(1 << 30);
        memory.measured(500 << 20, 100 << 20);
        assert!(!memory.is_short(100 << 20));
        assert!(!memory.is_short(500 << 20));
        assert!(memory.is_short(530 << 20));
        memory.measured(940 << 20, 530 << 20);
        assert!(memory.is_short(530 << 20), "the process takes more than the state");
        memory.measured(600 << 20, 530 << 20);
        assert!(!memory.is_short(530 << 20), "it has become less");
        assert!(!Memory::new(0).is_short(u64::MAX / 2), "no limit");
    }
}
