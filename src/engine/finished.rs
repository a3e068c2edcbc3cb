//! The leases that were finished lately, so that a repeated finish answers as the first did.

use std::collections::VecDeque;

use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

use super::hash::{self, Sum};
use crate::types::limits::{FINISHED_WINDOW_MAX, FINISHED_WINDOW_MS};
use crate::types::{JobId, Lease, Millis};

/// Old ones that one entry forgets at most, beyond those that make room.
const FORGOTTEN_PER_ENTRY_MAX: usize = 4096;

/// A queue of finished leases, the oldest first, with an index by job: a job is finished once.
#[derive(Debug, Default)]
pub(super) struct Finished {
    ring: VecDeque<(Millis, Lease)>,
    /// How many were forgotten: the number of the first in the ring.
    first: u64,
    numbers: HashTable<u64>,
}

/// What is remembered, as it is written to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedFinished {
    first: u64,
    ring: Vec<(Millis, Lease)>,
}

impl SavedFinished {
    /// Whether numbers up to these may be in it: `first` is the greatest for its own count.
    pub(super) fn is_within(&self, first: u64, last_job: u64, last_fence: u64) -> bool {
        let given_out = |lease: &Lease| lease.job.sequence() <= last_job && lease.fence.0 <= last_fence;
        self.first <= first && self.ring.iter().all(|(_, lease)| given_out(lease))
    }
}

impl Finished {
    /// All that it remembers.
    pub(super) fn save(&self) -> SavedFinished {
        SavedFinished { first: self.first, ring: self.ring.iter().copied().collect() }
    }

    /// Takes back what was saved. What it adds to the state hash is in the sum that comes with it.
    pub(super) fn restore(&mut self, saved: &SavedFinished) {
        self.first = saved.first;
        for (stamp, lease) in &saved.ring {
            self.remember(*lease, *stamp, &mut Sum::default());
        }
    }

    /// Whether this lease was finished, not too long ago.
    pub(super) fn remembers(&self, lease: Lease, stamp: Millis) -> bool {
        let found = self.numbers.find(hash_of(lease.job), |number| {
            self.get(*number).is_some_and(|(_, finished)| finished.job == lease.job)
        });
        let found = found.and_then(|number| self.get(*number));
        found.is_some_and(|(at, finished)| {
            finished.fence == lease.fence && at.after(FINISHED_WINDOW_MS) > stamp
        })
    }

    /// Remembers a lease that was just finished.
    pub(super) fn remember(&mut self, lease: Lease, stamp: Millis, sum: &mut Sum) {
        let number = self.first + self.ring.len() as u64;
        self.ring.push_back((stamp, lease));
        sum.add(hash::of_finished(number, stamp, lease));
        let (ring, first) = (&self.ring, self.first);
        self.numbers.insert_unique(hash_of(lease.job), number, |number| {
            usize::try_from(number - first)
                .ok()
                .and_then(|place| ring.get(place))
                .map_or(0, |(_, l)| hash_of(l.job))
        });
        if self.ring.len() > FINISHED_WINDOW_MAX {
            self.forget_first(sum);
        }
    }

    /// Forgets those that were finished long ago: a bounded number of them.
    pub(super) fn forget_old(&mut self, stamp: Millis, sum: &mut Sum) {
        for _ in 0..FORGOTTEN_PER_ENTRY_MAX {
            match self.ring.front() {
                Some((at, _)) if at.after(FINISHED_WINDOW_MS) <= stamp => self.forget_first(sum),
                _ => return,
            }
        }
    }

    /// The number of the first that is remembered.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The hashes of all of them, from scratch.
    pub(super) fn hash(&self) -> u128 {
        let mut sum = Sum::default();
        for (number, (stamp, lease)) in (self.first..).zip(&self.ring) {
            sum.add(hash::of_finished(number, *stamp, *lease));
        }
        sum.with(0)
    }

    fn forget_first(&mut self, sum: &mut Sum) {
        let Some((stamp, lease)) = self.ring.pop_front() else { return };
        sum.subtract(hash::of_finished(self.first, stamp, lease));
        if let Ok(entry) = self.numbers.find_entry(hash_of(lease.job), |number| *number == self.first) {
            entry.remove();
        }
        self.first += 1;
    }

    fn get(&self, number: u64) -> Option<&(Millis, Lease)> {
        self.ring.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }
}

fn hash_of(job: JobId) -> u64 {
    super::jobs::hash_of_id(job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Fence;

    fn lease(number: u64) -> Lease {
        Lease { job: JobId(number), fence: Fence(number + 5) }
    }

    #[test]
    fn it_remembers_for_a_while_and_only_so_many() {
        let (mut finished, mut sum) = (Finished::default(), Sum::default());
        let last = FINISHED_WINDOW_MAX as u64 + 3;
        for number in 0..last {
            finished.remember(lease(number), Millis(1000), &mut sum);
        }
        assert!(!finished.remembers(lease(2), Millis(1000)), "the oldest made room");
        assert!(finished.remembers(lease(3), Millis(1000 + FINISHED_WINDOW_MS - 1)));
        assert!(!finished.remembers(lease(3), Millis(1000 + FINISHED_WINDOW_MS)));
        assert!(!finished.remembers(Lease { fence: Fence(1), ..lease(3) }, Millis(1000)));
        assert_eq!(finished.hash(), sum.with(0));

        finished.forget_old(Millis(1000 + FINISHED_WINDOW_MS), &mut sum);
        assert_eq!(finished.first(), 3 + FORGOTTEN_PER_ENTRY_MAX as u64, "a bounded number");
        assert_eq!(finished.hash(), sum.with(0));
    }
}
