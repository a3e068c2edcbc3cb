//! The jobs: a slab of small records, found by id and by key.
//!
//! A slot's number means nothing outside; it is used again when its job is gone, and is not part of the state.

#![expect(clippy::indexing_slicing, reason = "a slot that is held elsewhere is live")]

use std::ops::{Index, IndexMut};

use hashbrown::HashTable;

use super::body::BodyRef;
use super::clock::Moment;
use super::retry::Retry;
use crate::types::{BuryReason, Fence, JobId, JobState, SessionId, TopicId};

/// Where a job lies in the slab.
pub(super) type Slot = u32;

/// The 128-bit keyed hash of a topic and a key.
pub(super) type Identity = u128;

/// What the state knows of a job.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: JobId,
    /// When it is, or was, due.
    pub(super) due: Moment,
    /// Ready: its due time as a stamp when it became so, which orders it. Reserved: the deadline, as a stamp.
    pub(super) since: u64,
    /// Reserved: the lease's fence.
    pub(super) fence: Fence,
    /// Reserved: the session that gives the lease back when it ends; 0 when the lease outlives it.
    pub(super) holder: SessionId,
    pub(super) topic: TopicId,
    pub(super) priority: u32,
    pub(super) ttr_ms: u32,
    pub(super) attempts: u32,
    pub(super) body: BodyRef,
    pub(super) state: JobState,
    /// Why it is buried; means nothing in another state.
    pub(super) buried: BuryReason,
    /// What most jobs do not have.
    pub(super) rare: Option<Box<Rare>>,
}

/// What most jobs do not have.
#[derive(Debug)]
pub(super) struct Rare {
    pub(super) identity: Option<[u64; 2]>,
    pub(super) retry: Option<Box<Retry>>,
}

impl Job {
    /// The hash of its key.
    pub(super) fn identity(&self) -> Option<Identity> {
        let [low, high] = self.rare.as_ref()?.identity?;
        Some(u128::from(low) | u128::from(high) << 64)
    }

    /// What its attributes say of retries and expiry.
    pub(super) fn retry(&self) -> Option<&Retry> {
        self.rare.as_ref()?.retry.as_deref()
    }

    /// When it expires.
    pub(super) fn expires(&self) -> Option<Moment> {
        self.retry()?.expires
    }

    /// The one timer that its state asks for.
    pub(super) fn timer(&self) -> Option<Moment> {
        match self.state {
            JobState::Reserved => Some(Moment { line: super::clock::Line::Stamp, at: self.since }),
            JobState::Ready | JobState::Buried => self.expires(),
            // Across the two timelines which of them comes first may change: then it is the due time, and expiry is looked
            // at when that comes.
            JobState::Delayed => match self.expires() {
                Some(expires) if expires.line == self.due.line && expires.at < self.due.at => Some(expires),
                _ => Some(self.due),
            },
        }
    }
}

impl Rare {
    /// Nothing is allocated for a job that has neither.
    pub(super) fn new(identity: Option<Identity>, retry: Option<Retry>) -> Option<Box<Self>> {
        if identity.is_none() && retry.is_none() {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        let identity = identity.map(|identity| [identity as u64, (identity >> 64) as u64]);
        Some(Box::new(Self { identity, retry: retry.map(Box::new) }))
    }
}

/// The slab and its indexes.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    slots: Vec<Option<Job>>,
    free: Vec<Slot>,
    ids: HashTable<Slot>,
    identities: HashTable<Slot>,
}

impl Jobs {
    /// How many jobs live.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The slot of the job with this id.
    pub(super) fn find(&self, id: JobId) -> Option<Slot> {
        self.ids.find(hash_of_id(id), |slot| self[*slot].id == id).copied()
    }

    /// The slot of the job whose key has this hash.
    pub(super) fn find_identity(&self, identity: Identity) -> Option<Slot> {
        let same = |slot: &Slot| self[*slot].identity() == Some(identity);
        self.identities.find(hash_of_identity(identity), same).copied()
    }

    /// Takes a job in, whose id and key are not here yet.
    pub(super) fn insert(&mut self, job: Job) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            Slot::try_from(self.slots.len() - 1)
                .unwrap_or_else(|_| unreachable!("4 billion jobs do not fit into memory"))
        });
        let (id, identity) = (job.id, job.identity());
        self.slots[slot as usize] = Some(job);
        let slots = &self.slots;
        let live = |slot: &Slot| live(slots[*slot as usize].as_ref());
        self.ids.insert_unique(hash_of_id(id), slot, |slot| hash_of_id(live(slot).id));
        if let Some(identity) = identity {
            let rehash = |slot: &Slot| live(slot).identity().map_or(0, hash_of_identity);
            self.identities.insert_unique(hash_of_identity(identity), slot, rehash);
        }
        slot
    }

    /// Takes a job out.
    pub(super) fn remove(&mut self, slot: Slot) -> Job {
        let (id, identity) = (self[slot].id, self[slot].identity());
        if let Ok(entry) = self.ids.find_entry(hash_of_id(id), |found| *found == slot) {
            entry.remove();
        }
        if let Some(identity) = identity
            && let Ok(entry) = self.identities.find_entry(hash_of_identity(identity), |found| *found == slot)
        {
            entry.remove();
        }
        self.free.push(slot);
        self.slots[slot as usize].take().unwrap_or_else(|| unreachable!("a slot that is held is live"))
    }

    /// Every job, in no order that means anything: for recomputing sums.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Slot, &Job)> {
        (0..).zip(&self.slots).filter_map(|(slot, job)| Some((slot, job.as_ref()?)))
    }
}

impl Index<Slot> for Jobs {
    type Output = Job;

    fn index(&self, slot: Slot) -> &Job {
        live(self.slots[slot as usize].as_ref())
    }
}

impl IndexMut<Slot> for Jobs {
    fn index_mut(&mut self, slot: Slot) -> &mut Job {
        match &mut self.slots[slot as usize] {
            Some(job) => job,
            None => unreachable!("a slot that is held is live"),
        }
    }
}

fn live(job: Option<&Job>) -> &Job {
    match job {
        Some(job) => job,
        None => unreachable!("a slot that is held is live"),
    }
}

/// Ids are sequential and ours: one multiplication spreads them over both ends of the word.
pub(super) fn hash_of_id(id: JobId) -> u64 {
    let spread = id.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    spread ^ spread >> 32
}

/// Identities are spread already, and nobody without the secret can choose them.
#[expect(clippy::cast_possible_truncation, reason = "half of it is enough")]
fn hash_of_identity(identity: Identity) -> u64 {
    identity as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_takes_at_most_128_bytes_with_its_timer() {
        assert!(size_of::<Option<Job>>() <= 96, "{}", size_of::<Option<Job>>());
    }
}
