//! A spilled job in memory: its id, its place, and the hash of its key if it has one.
//!
//! A resident job takes about 120 bytes of memory, without its record. A spilled one takes 16, or 32 with a key, plus 5 to
//! 12 in each index. The order in which slots are reused is not part of the state.

use super::slab::Slab;
use crate::job::KeyHash;
use crate::place::Place;
use adjourn_types::JobId;

/// The slot of a spilled job; the lowest bit selects one of the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SpilledSlot(pub(crate) u32);

/// The id of a free slot: no job has it.
const FREE: JobId = JobId(0);

#[derive(Debug)]
struct Spilled {
    id: JobId,
    place: Place,
}

impl Default for Spilled {
    fn default() -> Self {
        Self { id: FREE, place: Place(0) }
    }
}

/// All spilled jobs.
#[derive(Debug, Default)]
pub(crate) struct SpilledJobs {
    plain: Slab<Spilled>,
    keyed: Slab<(Spilled, u128)>,
}

impl SpilledJobs {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.plain.len() + self.keyed.len()
    }

    /// Bytes of memory that they take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.plain.memory_bytes() + self.keyed.memory_bytes()
    }

    pub(crate) fn id(&self, slot: SpilledSlot) -> JobId {
        self.spilled(slot).id
    }

    pub(crate) fn place(&self, slot: SpilledSlot) -> Place {
        self.spilled(slot).place
    }

    pub(crate) fn key_hash(&self, slot: SpilledSlot) -> Option<KeyHash> {
        if slot.is_keyed() { KeyHash::new(self.keyed[slot.number()].1) } else { None }
    }

    /// Sets the new place of its record.
    pub(crate) fn set_place(&mut self, slot: SpilledSlot, place: Place) {
        let keyed = slot.is_keyed();
        let spilled = if keyed { &mut self.keyed[slot.number()].0 } else { &mut self.plain[slot.number()] };
        spilled.place = place;
    }

    pub(crate) fn insert(&mut self, id: JobId, key_hash: Option<KeyHash>, place: Place) -> SpilledSlot {
        let spilled = Spilled { id, place };
        let (number, keyed) = match key_hash {
            None => (self.plain.insert(spilled), 0),
            Some(key_hash) => (self.keyed.insert((spilled, key_hash.get())), 1),
        };
        assert!(number < 1 << 30, "a billion spilled jobs are the most that one group can have");
        SpilledSlot(number << 1 | keyed)
    }

    pub(crate) fn remove(&mut self, slot: SpilledSlot) {
        if slot.is_keyed() {
            self.keyed.remove(slot.number());
        } else {
            self.plain.remove(slot.number());
        }
    }

    /// True if memory of removed jobs can be freed.
    pub(crate) fn can_shrink(&self) -> bool {
        self.plain.can_shrink() || self.keyed.can_shrink()
    }

    /// Frees some memory, if possible.
    pub(crate) fn shrink(&mut self) {
        self.plain.shrink();
        self.keyed.shrink();
    }

    /// Every spilled job, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (JobId, Option<KeyHash>, Place)> + '_ {
        let plain = self.plain.places().map(|spilled| (spilled.id, None, spilled.place));
        let keyed = self
            .keyed
            .places()
            .map(|(spilled, key_hash)| (spilled.id, KeyHash::new(*key_hash), spilled.place));
        plain.chain(keyed).filter(|spilled| spilled.0 != FREE)
    }

    fn spilled(&self, slot: SpilledSlot) -> &Spilled {
        if slot.is_keyed() { &self.keyed[slot.number()].0 } else { &self.plain[slot.number()] }
    }
}

impl SpilledSlot {
    fn is_keyed(self) -> bool {
        self.0 & 1 == 1
    }

    fn number(self) -> u32 {
        self.0 >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again() {
        let mut spilled = SpilledJobs::default();
        let one = spilled.insert(JobId(1), None, Place(10));
        let two = spilled.insert(JobId(2), KeyHash::new(7 << 64 | 3), Place(20));
        assert_eq!((spilled.id(one), spilled.place(one), spilled.key_hash(one)), (JobId(1), Place(10), None));
        assert_eq!(
            (spilled.id(two), spilled.place(two), spilled.key_hash(two)),
            (JobId(2), Place(20), KeyHash::new(7 << 64 | 3))
        );
        spilled.remove(one);
        spilled.remove(two);
        assert_eq!((spilled.len(), spilled.iter().count()), (0, 0));
        assert_eq!(spilled.insert(JobId(3), None, Place(30)), one);
        assert_eq!(spilled.insert(JobId(4), KeyHash::new(1), Place(40)), two);
        let new = spilled.insert(JobId(5), None, Place(50));
        assert!(new != one && new != two);
        spilled.set_place(new, Place(51));
        let all: Vec<_> = spilled.iter().collect();
        assert_eq!(
            all,
            [
                (JobId(3), None, Place(30)),
                (JobId(5), None, Place(51)),
                (JobId(4), KeyHash::new(1), Place(40))
            ]
        );
    }

    #[test]
    fn a_spilled_job_takes_little() {
        assert_eq!((size_of::<Spilled>(), size_of::<(Spilled, u128)>()), (16, 32));
    }
}
