//! Limits of concurrent calls to all destinations, and of the memory for their bodies.
//!
//! Destinations that answered their last call have slots and memory separate from the others': however many of the
//! others hang, they find a slot.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The bodies take at most this part of the memory limit, and at most this many bytes.
const MEMORY_PART: u64 = 8;
const BODIES_BYTES_MAX: u64 = 256 << 20;
/// The bodies of one topic take at most this part of the memory of a reputation.
const TOPIC_PART: u32 = 4;

/// Whether a destination answered its last call, which decides about the slots for its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reputation {
    /// The destination answered its last call.
    Proven,
    /// It did not answer its last call, or was never called.
    Probation,
}

/// The slots of all calls.
#[derive(Debug)]
pub(super) struct CallSlots {
    proven: ReputationSlots,
    probation: ReputationSlots,
    per_reputation: usize,
}

/// The slots for destinations of one reputation.
#[derive(Debug)]
struct ReputationSlots {
    calls: Arc<Semaphore>,
    bodies: Bodies,
}

/// Memory for the bodies of calls under way.
#[derive(Debug)]
pub(super) struct Bodies {
    free: Arc<Semaphore>,
    kib_max: u32,
}

/// A slot for a call, until it is dropped.
#[derive(Debug)]
pub(super) struct CallSlot {
    _call: OwnedSemaphorePermit,
    _body: OwnedSemaphorePermit,
}

impl CallSlots {
    /// Slots for this many calls of each reputation, each of which takes a file descriptor, within a memory limit in bytes;
    /// 0 is no limit.
    pub(super) fn new(per_reputation: usize, memory_max_bytes: u64) -> Self {
        let bytes = match memory_max_bytes {
            0 => BODIES_BYTES_MAX,
            max => BODIES_BYTES_MAX.min(max / MEMORY_PART),
        };
        let kib_max = u32::try_from(bytes / 2 / 1024).unwrap_or(u32::MAX).max(TOPIC_PART);
        let slots = || ReputationSlots {
            calls: Arc::new(Semaphore::new(per_reputation)),
            bodies: Bodies::new(kib_max),
        };
        Self { proven: slots(), probation: slots(), per_reputation }
    }

    /// One topic's share of the memory.
    pub(super) fn share_of_topic(&self) -> Bodies {
        Bodies::new(self.proven.bodies.kib_max / TOPIC_PART)
    }

    /// A slot for a call with bodies of this size. Half of the slots, and of the memory, is reserved for a destination's
    /// `first` call.
    pub(super) fn take(&self, reputation: Reputation, is_first: bool, body_bytes: usize) -> Option<CallSlot> {
        let ReputationSlots { calls, bodies } = match reputation {
            Reputation::Proven => &self.proven,
            Reputation::Probation => &self.probation,
        };
        if !is_first && (calls.available_permits() < self.per_reputation / 2 || bodies.are_half_taken()) {
            return None;
        }
        Some(CallSlot { _body: bodies.take(body_bytes)?, _call: Arc::clone(calls).try_acquire_owned().ok()? })
    }

    /// How many calls are under way.
    pub(super) fn taken(&self) -> usize {
        [&self.proven, &self.probation]
            .map(|places| self.per_reputation - places.calls.available_permits())
            .iter()
            .sum()
    }
}

impl Bodies {
    fn new(kib_max: u32) -> Self {
        Self { free: Arc::new(Semaphore::new(kib_max as usize)), kib_max }
    }

    /// Memory for bodies of this size, if there is some; bodies larger than the whole limit take all of it.
    pub(super) fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).min(self.kib_max);
        Arc::clone(&self.free).try_acquire_many_owned(kib).ok()
    }

    /// The limit in bytes.
    pub(super) fn bytes_max(&self) -> u64 {
        u64::from(self.kib_max) << 10
    }

    fn are_half_taken(&self) -> bool {
        self.free.available_permits() < self.kib_max as usize / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_hang_leave_places_to_the_others() {
        const CALLS_PER_LANE_MAX: usize = 2048;
        let room = CallSlots::new(CALLS_PER_LANE_MAX, 0);
        let hanging: Vec<_> =
            (0..CALLS_PER_LANE_MAX).map_while(|_| room.take(Reputation::Probation, true, 0)).collect();
        assert_eq!((hanging.len(), room.taken()), (CALLS_PER_LANE_MAX, CALLS_PER_LANE_MAX));
        assert!(
            room.take(Reputation::Probation, true, 0).is_none()
                && room.take(Reputation::Proven, false, 0).is_some()
        );
        drop(hanging);
        let half: Vec<_> = (0..=CALLS_PER_LANE_MAX / 2)
            .map_while(|has| room.take(Reputation::Proven, has == 0, 0))
            .collect();
        assert_eq!(half.len(), CALLS_PER_LANE_MAX / 2 + 1);
        assert!(
            room.take(Reputation::Proven, false, 0).is_none()
                && room.take(Reputation::Proven, true, 0).is_some()
        );
    }

    #[test]
    fn bodies_take_a_part_of_the_limit_of_memory() {
        const BODY: usize = 1 << 20;
        let room = CallSlots::new(2048, 384 << 20);
        let fill = |reputation, is_first| {
            let taken: Vec<_> = (0..100).map_while(|_| room.take(reputation, is_first, BODY)).collect();
            (taken.len(), taken)
        };
        let (others, taken) = fill(Reputation::Proven, false);
        let (first, _more) = fill(Reputation::Proven, true);
        assert_eq!(
            (others, first),
            (13, 11),
            "48 MiB, half of it in each reputation, and half of that for first calls"
        );
        assert!(room.take(Reputation::Proven, true, 0).is_some(), "a call without a body needs none");
        assert_eq!(fill(Reputation::Probation, true).0, 24);
        drop(taken);
        assert_eq!(fill(Reputation::Proven, true).0, 13);
        assert_eq!(room.share_of_topic().bytes_max(), 6 << 20);
    }

    #[test]
    fn the_largest_body_finds_room_within_the_smallest_limit() {
        let room = CallSlots::new(2048, 1);
        let whole = room.take(Reputation::Proven, true, 8 << 20);
        assert!(whole.is_some() && room.share_of_topic().take(8 << 20).is_some());
        assert!(room.take(Reputation::Proven, true, 1).is_none());
    }
}
