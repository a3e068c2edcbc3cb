//! Pushes that carried an idempotency key: a repeat gets the answer of the first time, whoever sends it.
//!
//! A key is a hash that the client, or the server for it, draws from what the caller says. The last
//! [`IDEMPOTENT_PUSHES_MAX`] are remembered, each for [`IDEMPOTENT_PUSH_MS`]. Unlike the
//! [window](super::window) of a session it cannot tell a push that it has forgotten from one that never was.

use std::collections::VecDeque;

use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

use super::Engine;
use super::command::{NewJob, TopicSelect};
use super::hash::{self, Sum};
use super::outcome::{PushOutcome, Reject};
use super::repeat::{JobChecksum, checksum_of};
use super::store::JobStore;
use super::window::{pack, unpack};
use crate::types::limits::{IDEMPOTENT_PUSH_MS, IDEMPOTENT_PUSHES_MAX};
use crate::types::{GroupId, Lease, Millis};

/// Old ones that one entry forgets at most, beyond those that make room.
const FORGOTTEN_PER_ENTRY_MAX: usize = 4096;

/// One pushed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Remembered {
    /// When it was pushed, as a stamp.
    pub(super) at: Millis,
    pub(super) key: u128,
    /// As windows pack it.
    pub(super) outcome: u64,
    pub(super) checksum: JobChecksum,
}

/// Those that are remembered, the oldest first, with an index by key.
#[derive(Debug, Default)]
pub(super) struct IdempotentPushes {
    ring: VecDeque<Remembered>,
    /// How many were forgotten: the number of the first in the ring.
    first: u64,
    numbers: HashTable<u64>,
}

/// What became of a key before.
enum Recall {
    New,
    Known(PushOutcome),
    /// It was used for another job.
    Reused,
}

impl Engine {
    /// Pushes jobs to one topic; an outcome for each. The key is the first job's; the others have those that follow it. A job
    /// whose key was used before has the outcome that it had then.
    pub(super) fn push_idempotent(
        &mut self,
        key: u128,
        topic: TopicSelect<'_>,
        jobs: &[NewJob<'_>],
        store: &mut impl JobStore,
        ended: &mut Vec<Lease>,
    ) -> Result<Vec<PushOutcome>, Reject> {
        self.in_topic(topic, |engine, topic| {
            let seed = engine.topic_seed(topic);
            let outcomes = (0..).zip(jobs).map(|(nth, job)| {
                let (key, checksum) = (key.wrapping_add(nth), checksum_of(job, seed));
                match engine.idempotent.recall(key, checksum, engine.clock.stamp, engine.group) {
                    Recall::Known(outcome) => outcome,
                    Recall::Reused => PushOutcome::Refused(Reject::SequenceReused, None),
                    Recall::New => {
                        let outcome = engine.push_one(topic, job, store, ended);
                        // What is refused was not pushed: the same may be tried again.
                        if !matches!(outcome, PushOutcome::Refused(..)) {
                            let at = engine.clock.stamp;
                            let remembered = Remembered { at, key, outcome: pack(outcome), checksum };
                            engine.idempotent.remember(remembered, &mut engine.sum);
                        }
                        outcome
                    }
                }
            });
            outcomes.collect()
        })
    }
}

impl IdempotentPushes {
    /// All that are remembered.
    pub(super) fn save(&self) -> Vec<Remembered> {
        self.ring.iter().copied().collect()
    }

    /// Restores the saved ones. The saved state hash already includes them.
    pub(super) fn restore(&mut self, saved: &[Remembered]) {
        for remembered in saved {
            self.remember(*remembered, &mut Sum::default());
        }
    }

    /// Forgets those that were pushed long ago: a bounded number of them.
    pub(super) fn forget_old(&mut self, stamp: Millis, sum: &mut Sum) {
        for _ in 0..FORGOTTEN_PER_ENTRY_MAX {
            match self.ring.front() {
                Some(remembered) if remembered.at.after(IDEMPOTENT_PUSH_MS) <= stamp => {
                    self.forget_first(sum);
                }
                _ => return,
            }
        }
    }

    /// The hashes of all of them, from scratch.
    pub(super) fn hash(&self) -> u128 {
        let mut sum = Sum::default();
        self.ring.iter().for_each(|remembered| sum.add(hash::of_idempotent(remembered)));
        sum.with(0)
    }

    /// Bytes of memory that they take: an estimate.
    pub(super) fn memory_bytes(&self) -> usize {
        self.ring.capacity() * size_of::<Remembered>() + self.numbers.capacity() * (size_of::<u64>() + 1)
    }

    fn recall(&self, key: u128, checksum: JobChecksum, stamp: Millis, group: GroupId) -> Recall {
        let has_key = |number: &u64| self.get(*number).is_some_and(|remembered| remembered.key == key);
        let found = self.numbers.find(hash_of(key), has_key).and_then(|number| self.get(*number));
        match found.filter(|remembered| remembered.at.after(IDEMPOTENT_PUSH_MS) > stamp) {
            None => Recall::New,
            Some(remembered) if remembered.checksum != checksum => Recall::Reused,
            Some(remembered) => unpack(remembered.outcome, group).map_or(Recall::New, Recall::Known),
        }
    }

    fn remember(&mut self, remembered: Remembered, sum: &mut Sum) {
        let (ring, first) = (&self.ring, self.first);
        let has_key =
            |number: &u64| ring_get(ring, first, *number).is_some_and(|one| one.key == remembered.key);
        if let Ok(too_old) = self.numbers.find_entry(hash_of(remembered.key), has_key) {
            too_old.remove();
        }
        let number = self.first + self.ring.len() as u64;
        self.ring.push_back(remembered);
        sum.add(hash::of_idempotent(&remembered));
        let (ring, first) = (&self.ring, self.first);
        self.numbers.insert_unique(hash_of(remembered.key), number, |number| {
            ring_get(ring, first, *number).map_or(0, |one| hash_of(one.key))
        });
        if self.ring.len() > IDEMPOTENT_PUSHES_MAX {
            self.forget_first(sum);
        }
    }

    fn forget_first(&mut self, sum: &mut Sum) {
        let Some(remembered) = self.ring.pop_front() else { return };
        sum.subtract(hash::of_idempotent(&remembered));
        let first = self.first;
        if let Ok(entry) = self.numbers.find_entry(hash_of(remembered.key), |number| *number == first) {
            entry.remove();
        }
        self.first += 1;
    }

    fn get(&self, number: u64) -> Option<&Remembered> {
        ring_get(&self.ring, self.first, number)
    }
}

fn ring_get(ring: &VecDeque<Remembered>, first: u64, number: u64) -> Option<&Remembered> {
    ring.get(usize::try_from(number.checked_sub(first)?).ok()?)
}

/// Keys are hashes already.
#[expect(clippy::cast_possible_truncation, reason = "half of it is enough")]
fn hash_of(key: u128) -> u64 {
    key as u64 ^ (key >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::JobId;

    const GROUP: GroupId = GroupId(0);

    fn remembered(key: u128, at: u64) -> Remembered {
        let outcome = pack(PushOutcome::Pushed(JobId(7)));
        Remembered { at: Millis(at), key, outcome, checksum: 3 }
    }

    fn known(pushes: &IdempotentPushes, key: u128, checksum: u32, stamp: u64) -> Option<bool> {
        match pushes.recall(key, checksum, Millis(stamp), GROUP) {
            Recall::New => None,
            Recall::Known(outcome) => Some(outcome == PushOutcome::Pushed(JobId(7))),
            Recall::Reused => Some(false),
        }
    }

    #[test]
    fn they_are_known_for_a_while_and_only_so_many() {
        let (mut pushes, mut sum) = (IdempotentPushes::default(), Sum::default());
        for key in 0..IDEMPOTENT_PUSHES_MAX as u128 + 2 {
            pushes.remember(remembered(key, 1000), &mut sum);
        }
        assert_eq!((known(&pushes, 1, 3, 1000), known(&pushes, 2, 3, 1000)), (None, Some(true)));
        assert_eq!(known(&pushes, 2, 4, 1000), Some(false), "another job");
        assert_eq!(known(&pushes, 2, 3, 1000 + IDEMPOTENT_PUSH_MS), None);
        assert_eq!(pushes.hash(), sum.with(0));
        let mut back = IdempotentPushes::default();
        back.restore(&pushes.save());
        assert_eq!((back.hash(), known(&back, 2, 3, 1000)), (pushes.hash(), Some(true)));
        pushes.forget_old(Millis(1000 + IDEMPOTENT_PUSH_MS), &mut sum);
        assert_eq!(pushes.ring.len(), IDEMPOTENT_PUSHES_MAX - FORGOTTEN_PER_ENTRY_MAX, "a bounded number");
        assert_eq!(pushes.hash(), sum.with(0));
    }

    #[test]
    fn a_key_that_is_used_again_after_its_time_is_known_anew() {
        let (mut pushes, mut sum) = (IdempotentPushes::default(), Sum::default());
        pushes.remember(remembered(9, 1000), &mut sum);
        let later = 1000 + IDEMPOTENT_PUSH_MS;
        pushes.remember(remembered(9, later), &mut sum);
        assert_eq!(known(&pushes, 9, 3, later), Some(true));
        pushes.forget_old(Millis(later), &mut sum);
        assert_eq!((known(&pushes, 9, 3, later), pushes.hash()), (Some(true), sum.with(0)));
    }
}
