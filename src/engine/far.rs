//! The memory of a spilled (*far*) job: its id, its place, and the hash of its key if it has one.
//!
//! A resident job takes about 120 bytes in memory, without its record. A spilled one takes 16, and 32 with a key,
//! plus 5 to 12 in each index. Which freed slot is reused next is not part of the state.

use super::jobs::Identity;
use super::slab::Slab;
use super::store::Place;
use crate::types::JobId;

/// Where a far job lies: the lowest bit says in which of the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FarSlot(pub(super) u32);

/// No job has this id: nothing is there.
const FREE: JobId = JobId(0);

#[derive(Debug)]
struct Far {
    id: JobId,
    place: Place,
}

impl Default for Far {
    fn default() -> Self {
        Self { id: FREE, place: Place(0) }
    }
}

/// All far jobs.
#[derive(Debug, Default)]
pub(super) struct FarJobs {
    plain: Slab<Far>,
    keyed: Slab<(Far, [u64; 2])>,
}

impl FarJobs {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.plain.len() + self.keyed.len()
    }

    /// Bytes of memory that they take.
    pub(super) fn memory_bytes(&self) -> usize {
        self.plain.memory_bytes() + self.keyed.memory_bytes()
    }

    pub(super) fn id(&self, slot: FarSlot) -> JobId {
        self.far(slot).id
    }

    pub(super) fn place(&self, slot: FarSlot) -> Place {
        self.far(slot).place
    }

    pub(super) fn identity(&self, slot: FarSlot) -> Option<Identity> {
        slot.is_keyed().then(|| wide(self.keyed[slot.number()].1))
    }

    /// Its record was written anew.
    pub(super) fn set_place(&mut self, slot: FarSlot, place: Place) {
        let keyed = slot.is_keyed();
        let far = if keyed { &mut self.keyed[slot.number()].0 } else { &mut self.plain[slot.number()] };
        far.place = place;
    }

    pub(super) fn insert(&mut self, id: JobId, identity: Option<Identity>, place: Place) -> FarSlot {
        let far = Far { id, place };
        let (number, keyed) = match identity {
            None => (self.plain.insert(far), 0),
            Some(identity) => (self.keyed.insert((far, narrow(identity))), 1),
        };
        assert!(number < 1 << 30, "a billion far jobs are the most that one group can have");
        FarSlot(number << 1 | keyed)
    }

    pub(super) fn remove(&mut self, slot: FarSlot) {
        if slot.is_keyed() {
            self.keyed.remove(slot.number());
        } else {
            self.plain.remove(slot.number());
        }
    }

    /// Whether many have gone, and there is memory to be given back.
    pub(super) fn can_shrink(&self) -> bool {
        self.plain.can_shrink() || self.keyed.can_shrink()
    }

    /// Gives some of it back, if there is.
    pub(super) fn shrink(&mut self) {
        self.plain.shrink();
        self.keyed.shrink();
    }

    /// Every far job, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = (JobId, Option<Identity>, Place)> + '_ {
        let plain = self.plain.places().map(|far| (far.id, None, far.place));
        let keyed = self.keyed.places().map(|(far, identity)| (far.id, Some(wide(*identity)), far.place));
        plain.chain(keyed).filter(|far| far.0 != FREE)
    }

    fn far(&self, slot: FarSlot) -> &Far {
        if slot.is_keyed() { &self.keyed[slot.number()].0 } else { &self.plain[slot.number()] }
    }
}

impl FarSlot {
    fn is_keyed(self) -> bool {
        self.0 & 1 == 1
    }

    fn number(self) -> u32 {
        self.0 >> 1
    }
}

fn wide([low, high]: [u64; 2]) -> Identity {
    u128::from(low) | u128::from(high) << 64
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves")]
fn narrow(identity: Identity) -> [u64; 2] {
    [identity as u64, (identity >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again() {
        let mut far = FarJobs::default();
        let one = far.insert(JobId(1), None, Place(10));
        let two = far.insert(JobId(2), Some(7 << 64 | 3), Place(20));
        assert_eq!((far.id(one), far.place(one), far.identity(one)), (JobId(1), Place(10), None));
        assert_eq!(
            (far.id(two), far.place(two), far.identity(two)),
            (JobId(2), Place(20), Some(7 << 64 | 3))
        );
        far.remove(one);
        far.remove(two);
        assert_eq!((far.len(), far.iter().count()), (0, 0));
        assert_eq!(far.insert(JobId(3), None, Place(30)), one);
        assert_eq!(far.insert(JobId(4), Some(1), Place(40)), two);
        let new = far.insert(JobId(5), None, Place(50));
        assert!(new != one && new != two);
        far.set_place(new, Place(51));
        let all: Vec<_> = far.iter().collect();
        assert_eq!(
            all,
            [(JobId(3), None, Place(30)), (JobId(5), None, Place(51)), (JobId(4), Some(1), Place(40))]
        );
    }

    #[test]
    fn a_far_job_takes_little() {
        assert_eq!((size_of::<Far>(), size_of::<(Far, [u64; 2])>()), (16, 32));
    }
}
