//! How many calls there are at the same time, over all destinations.
//!
//! Destinations that answered last and those that did not have places of their own: however many of the latter hang, the former find
//! a place.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Which places a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// The destination answered its last call.
    Proven,
    /// It did not, or was never called.
    Probation,
}

/// The places.
#[derive(Debug)]
pub(super) struct Room {
    proven: Arc<Semaphore>,
    probation: Arc<Semaphore>,
    per_lane: usize,
}

impl Room {
    /// Places for so many calls in each lane. Each takes a file descriptor.
    pub(super) fn new(per_lane: usize) -> Self {
        let places = || Arc::new(Semaphore::new(per_lane));
        Self { proven: places(), probation: places(), per_lane }
    }

    /// A place for a call. Half of the places are for the `first` call of a destination.
    pub(super) fn take(&self, lane: Lane, is_first: bool) -> Option<OwnedSemaphorePermit> {
        let places = match lane {
            Lane::Proven => &self.proven,
            Lane::Probation => &self.probation,
        };
        if !is_first && places.available_permits() < self.per_lane / 2 {
            return None;
        }
        Arc::clone(places).try_acquire_owned().ok()
    }

    /// How many calls are under way.
    pub(super) fn taken(&self) -> usize {
        2 * self.per_lane - self.proven.available_permits() - self.probation.available_permits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_hang_leave_places_to_the_others() {
        const CALLS_PER_LANE_MAX: usize = 2048;
        let room = Room::new(CALLS_PER_LANE_MAX);
        let hanging: Vec<_> =
            (0..CALLS_PER_LANE_MAX).map_while(|_| room.take(Lane::Probation, true)).collect();
        assert_eq!((hanging.len(), room.taken()), (CALLS_PER_LANE_MAX, CALLS_PER_LANE_MAX));
        assert!(room.take(Lane::Probation, true).is_none() && room.take(Lane::Proven, false).is_some());
        drop(hanging);
        let half: Vec<_> =
            (0..=CALLS_PER_LANE_MAX / 2).map_while(|has| room.take(Lane::Proven, has == 0)).collect();
        assert_eq!(half.len(), CALLS_PER_LANE_MAX / 2 + 1);
        assert!(room.take(Lane::Proven, false).is_none() && room.take(Lane::Proven, true).is_some());
    }
}
