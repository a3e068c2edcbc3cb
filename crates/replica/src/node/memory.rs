//! The memory limit of a node: at the limit, pushes are refused, while operations that free memory continue.
//!
//! The driver measures the memory of the process from time to time. Growth since the last measurement is estimated, so that
//! a burst of pushes does not exceed the limit in between.

/// The limit and the known memory use of the node, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// The limit in bytes; 0 for no limit.
    max: u64,
    /// The part of the limit reserved for clients beside the state: the [account](crate::account::MemoryAccount).
    kept: u64,
    /// The measured memory of the process, without the part taken from that account.
    resident: u64,
    /// The estimated memory of the state at that measurement.
    estimated: u64,
    /// The estimated memory now.
    now: u64,
    /// The upper bound of a checkpoint's memory at that measurement, in addition.
    checkpoint: u64,
}

/// The copies of a command in flight: request, entry, log buffer, record.
const COPIES: u64 = 4;
/// New chunks are at most one part in this number of the limit: a checkpoint takes about five times as much.
const CHUNK_PART: u64 = 64;
/// The upper and lower bounds of that, in bytes.
const CHUNK_BYTES_MAX: u64 = 256 << 20;
const CHUNK_BYTES_MAX_LEAST: u64 = 1 << 20;

impl Memory {
    /// A limit of `max_bytes` (0 for none), with `kept_bytes` reserved for clients.
    pub(crate) fn new(max_bytes: u64, kept_bytes: usize) -> Self {
        Self { max: max_bytes, kept: kept_bytes as u64, ..Self::default() }
    }

    /// True if there is a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.max > 0
    }

    /// Takes a measurement: the memory of the process without the clients' account, the estimate for the state, and the
    /// upper bound of a checkpoint's memory in addition.
    pub(crate) fn measured(&mut self, resident_bytes: u64, estimated_bytes: u64, checkpoint_bytes: u64) {
        (self.resident, self.estimated, self.now) = (resident_bytes, estimated_bytes, estimated_bytes);
        self.checkpoint = checkpoint_bytes;
    }

    /// Notes the current estimate of the state's memory.
    pub(crate) fn changed(&mut self, estimated_bytes: u64) {
        self.now = estimated_bytes;
    }

    /// The largest size of new chunks, in bytes.
    pub(crate) fn chunk_bytes_max(&self) -> usize {
        let part = if self.is_limited() { self.max / CHUNK_PART } else { CHUNK_BYTES_MAX };
        usize::try_from(part.clamp(CHUNK_BYTES_MAX_LEAST, CHUNK_BYTES_MAX)).unwrap_or(usize::MAX)
    }

    /// True if the limit is reached: pushes are refused.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short_with(0)
    }

    /// True if the limit would be reached with this many bytes of commands in flight.
    pub(crate) fn is_short_with(&self, under_way_bytes: usize) -> bool {
        let added = self.now.saturating_sub(self.estimated) + COPIES * under_way_bytes as u64;
        self.max > 0 && self.resident + added + self.checkpoint + self.kept > self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: usize = 24 << 20;

    #[test]
    fn what_was_added_since_the_measurement_counts() {
        const CHECKPOINT: u64 = 72 << 20;
        let mut memory = Memory::new(1 << 30, KEPT);
        let short_at = |memory: &mut Memory, estimated_bytes| {
            memory.changed(estimated_bytes);
            memory.is_short()
        };
        memory.measured(500 << 20, 100 << 20, CHECKPOINT);
        assert!(!memory.is_short());
        assert!(!short_at(&mut memory, 500 << 20));
        assert!(short_at(&mut memory, 530 << 20));
        assert!(
            !short_at(&mut memory, 500 << 20) && memory.is_short_with(8 << 20),
            "what is under way counts"
        );
        memory.measured(500 << 20, 100 << 20, 2 * CHECKPOINT);
        assert!(short_at(&mut memory, 500 << 20), "what a checkpoint takes is kept free");
        memory.measured(940 << 20, 530 << 20, CHECKPOINT);
        assert!(memory.is_short(), "the process takes more than the state");
        memory.measured(600 << 20, 530 << 20, CHECKPOINT);
        assert!(!memory.is_short(), "it has become less");
        assert!(!short_at(&mut Memory::new(0, KEPT), u64::MAX / 2), "no limit");
    }

    #[test]
    fn with_little_memory_a_checkpoint_takes_little() {
        for max in [256 << 20, 1 << 30, 1 << 34] {
            let chunk_bytes = Memory::new(max, KEPT).chunk_bytes_max();
            let taken = adjourn_storage::checkpoint::memory_bytes_max(chunk_bytes) as u64;
            assert!(taken < max / 8, "{taken} of {max}");
        }
        assert_eq!(Memory::new(0, KEPT).chunk_bytes_max(), 256 << 20, "no limit");
    }
}
