//! Recently finished leases, so that a repeated finish gets the same answer, and GET can show that the job was
//! finished.

use std::collections::VecDeque;
use std::iter;

use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

use super::Engine;
use super::hash::{self, Sum};
use super::outcome::FinishedView;
use crate::types::limits::{FINISHED_WINDOW_MAX, FINISHED_WINDOW_MS};
use crate::types::{JobId, Lease, Millis, TopicId};

/// Old ones that one entry forgets at most, beyond those that make room.
const FORGOTTEN_PER_ENTRY_MAX: usize = 4096;

/// A finished lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finish {
    /// When it was finished, as a stamp.
    pub(super) at: Millis,
    pub(super) lease: Lease,
    /// Of its job; means nothing without attempts.
    pub(super) topic: TopicId,
    /// How often its job was attempted; 0 if that was not recorded.
    pub(super) attempts: u32,
}

/// A queue of finished leases, the oldest first, with an index by job: a job is finished once.
#[derive(Debug, Default)]
pub(super) struct Finished {
    ring: VecDeque<Finish>,
    /// How many were forgotten: the number of the first in the ring.
    first: u64,
    numbers: HashTable<u64>,
}

/// The remembered jobs, as a checkpoint stores them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedFinished {
    first: u64,
    ring: Vec<(Millis, Lease)>,
}

/// What a checkpoint says in addition of each of these leases, once the attempts are recorded; empty before that, as in older
/// checkpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedAttempts(Vec<(TopicId, u32)>);

impl Engine {
    /// The job with this id if it was finished not too long ago, by the time of `stamp`, and if that was recorded.
    pub fn finished_job(&self, job: JobId, stamp: Millis) -> Option<FinishedView> {
        let finish = self.finished.find(job, stamp).filter(|finish| finish.attempts > 0)?;
        self.topics.find(finish.topic)?;
        Some(FinishedView { topic: finish.topic, attempts: finish.attempts, at: self.wall(finish.at) })
    }
}

impl SavedAttempts {
    /// Whether nothing is known.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl SavedFinished {
    /// Whether these are the attempts of its leases.
    pub(super) fn fits(&self, attempts: &SavedAttempts) -> bool {
        attempts.is_empty() || attempts.0.len() == self.ring.len()
    }

    /// Whether numbers up to these may be in it: `first` is the greatest for its own count.
    pub(super) fn is_within(&self, first: u64, last_job: u64, last_fence: u64) -> bool {
        let given_out = |lease: &Lease| lease.job.sequence() <= last_job && lease.fence.0 <= last_fence;
        self.first <= first && self.ring.iter().all(|(_, lease)| given_out(lease))
    }
}

impl Finished {
    /// All that it remembers.
    pub(super) fn save(&self) -> SavedFinished {
        SavedFinished {
            first: self.first,
            ring: self.ring.iter().map(|finish| (finish.at, finish.lease)).collect(),
        }
    }

    /// The attempts of the finished jobs, to be saved apart.
    pub(super) fn save_attempts(&self) -> SavedAttempts {
        if self.ring.iter().all(|finish| finish.attempts == 0) {
            return SavedAttempts::default();
        }
        SavedAttempts(self.ring.iter().map(|finish| (finish.topic, finish.attempts)).collect())
    }

    /// Restores the saved jobs. The saved state hash already includes their hashes.
    pub(super) fn restore(&mut self, saved: &SavedFinished, attempts: &SavedAttempts) {
        self.first = saved.first;
        let known = attempts.0.iter().copied().chain(iter::repeat((TopicId(0), 0)));
        for ((at, lease), (topic, attempts)) in saved.ring.iter().zip(known) {
            self.remember(Finish { at: *at, lease: *lease, topic, attempts }, &mut Sum::default());
        }
    }

    /// Whether this lease was finished, not too long ago.
    pub(super) fn remembers(&self, lease: Lease, stamp: Millis) -> bool {
        self.find(lease.job, stamp).is_some_and(|finish| finish.lease.fence == lease.fence)
    }

    /// The last lease of this job, if it was finished not too long ago.
    fn find(&self, job: JobId, stamp: Millis) -> Option<&Finish> {
        let is_of_job = |number: &u64| self.get(*number).is_some_and(|finish| finish.lease.job == job);
        let finish = self.get(*self.numbers.find(hash_of(job), is_of_job)?)?;
        (finish.at.after(FINISHED_WINDOW_MS) > stamp).then_some(finish)
    }

    /// Remembers a lease that was just finished.
    pub(super) fn remember(&mut self, finish: Finish, sum: &mut Sum) {
        let number = self.first + self.ring.len() as u64;
        self.ring.push_back(finish);
        sum.add(hash::of_finished(number, &finish));
        let (ring, first) = (&self.ring, self.first);
        self.numbers.insert_unique(hash_of(finish.lease.job), number, |number| {
            usize::try_from(number - first)
                .ok()
                .and_then(|place| ring.get(place))
                .map_or(0, |finish| hash_of(finish.lease.job))
        });
        if self.ring.len() > FINISHED_WINDOW_MAX {
            self.forget_first(sum);
        }
    }

    /// Forgets those that were finished long ago: a bounded number of them.
    pub(super) fn forget_old(&mut self, stamp: Millis, sum: &mut Sum) {
        for _ in 0..FORGOTTEN_PER_ENTRY_MAX {
            match self.ring.front() {
                Some(finish) if finish.at.after(FINISHED_WINDOW_MS) <= stamp => self.forget_first(sum),
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
        for (number, finish) in (self.first..).zip(&self.ring) {
            sum.add(hash::of_finished(number, finish));
        }
        sum.with(0)
    }

    fn forget_first(&mut self, sum: &mut Sum) {
        let Some(finish) = self.ring.pop_front() else { return };
        sum.subtract(hash::of_finished(self.first, &finish));
        let hash = hash_of(finish.lease.job);
        if let Ok(entry) = self.numbers.find_entry(hash, |number| *number == self.first) {
            entry.remove();
        }
        self.first += 1;
    }

    fn get(&self, number: u64) -> Option<&Finish> {
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

    fn finish(number: u64) -> Finish {
        let attempts = u32::from(number.is_multiple_of(2));
        Finish { at: Millis(1000), lease: lease(number), topic: TopicId(3), attempts }
    }

    #[test]
    fn what_is_saved_comes_back() {
        let (mut finished, mut sum) = (Finished::default(), Sum::default());
        for number in [1, 3] {
            finished.remember(finish(number), &mut sum);
        }
        assert!(finished.save_attempts().is_empty(), "as older versions write it");
        finished.remember(finish(2), &mut sum);
        let mut back = Finished::default();
        back.restore(&finished.save(), &finished.save_attempts());
        assert_eq!((back.ring, back.first), (finished.ring, finished.first));
        let mut other = finish(2);
        other.attempts += 1;
        assert_ne!(hash::of_finished(1, &other), hash::of_finished(1, &finish(2)));
    }

    #[test]
    fn it_remembers_for_a_while_and_only_so_many() {
        let (mut finished, mut sum) = (Finished::default(), Sum::default());
        let last = FINISHED_WINDOW_MAX as u64 + 3;
        for number in 0..last {
            finished.remember(finish(number), &mut sum);
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
