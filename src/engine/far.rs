//! What the engine keeps of a job that is far: its id, its place, and the hash of its key if it has one.
//!
//! A delayed job takes some 130 bytes in memory, without its record. A far one takes 16, and 32 with a key; to each come
//! 5 to 12 in each index. Where the slot of a job that left is used again is not part of the state.

#![expect(clippy::indexing_slicing, reason = "a slot that is held elsewhere is live")]

use super::jobs::Identity;
use super::paged::Paged;
use super::store::Place;
use crate::types::JobId;

/// Where a far job lies: the lowest bit says in which of the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FarSlot(pub(super) u32);

/// No job has this id: the slot is free, and its place is the next free slot.
const FREE: JobId = JobId(0);
const END: u64 = u64::MAX;

#[derive(Debug)]
struct Far {
    id: JobId,
    place: Place,
}

/// All far jobs.
#[derive(Debug)]
pub(super) struct FarJobs {
    plain: Paged<Far>,
    keyed: Paged<(Far, [u64; 2])>,
    free_plain: u64,
    free_keyed: u64,
    len: usize,
}

impl Default for FarJobs {
    fn default() -> Self {
        Self { plain: Paged::default(), keyed: Paged::default(), free_plain: END, free_keyed: END, len: 0 }
    }
}

impl FarJobs {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
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
        self.far_mut(slot).place = place;
    }

    pub(super) fn insert(&mut self, id: JobId, identity: Option<Identity>, place: Place) -> FarSlot {
        self.len += 1;
        let far = Far { id, place };
        match identity {
            None => {
                let number = take(&mut self.free_plain, |free| self.plain[free].place.0);
                put(&mut self.plain, number, far)
            }
            Some(identity) => {
                let number = take(&mut self.free_keyed, |free| self.keyed[free].0.place.0);
                FarSlot(put(&mut self.keyed, number, (far, narrow(identity))).0 | 1)
            }
        }
    }

    pub(super) fn remove(&mut self, slot: FarSlot) {
        self.len -= 1;
        let next = std::mem::replace(self.free(slot), slot.number() as u64);
        *self.far_mut(slot) = Far { id: FREE, place: Place(next) };
    }

    /// Every far job, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = (JobId, Option<Identity>, Place)> + '_ {
        let plain = self.plain.iter().map(|far| (far.id, None, far.place));
        let keyed = self.keyed.iter().map(|(far, identity)| (far.id, Some(wide(*identity)), far.place));
        plain.chain(keyed).filter(|far| far.0 != FREE)
    }

    fn far(&self, slot: FarSlot) -> &Far {
        if slot.is_keyed() { &self.keyed[slot.number()].0 } else { &self.plain[slot.number()] }
    }

    fn far_mut(&mut self, slot: FarSlot) -> &mut Far {
        if slot.is_keyed() { &mut self.keyed[slot.number()].0 } else { &mut self.plain[slot.number()] }
    }

    fn free(&mut self, slot: FarSlot) -> &mut u64 {
        if slot.is_keyed() { &mut self.free_keyed } else { &mut self.free_plain }
    }
}

impl FarSlot {
    fn is_keyed(self) -> bool {
        self.0 & 1 == 1
    }

    fn number(self) -> usize {
        (self.0 >> 1) as usize
    }
}

/// The first free slot, if there is one; the next one becomes the first.
fn take(free: &mut u64, next_of: impl Fn(usize) -> u64) -> Option<usize> {
    let number = usize::try_from(*free).ok().filter(|_| *free != END)?;
    *free = next_of(number);
    Some(number)
}

fn put<T>(list: &mut Paged<T>, free: Option<usize>, far: T) -> FarSlot {
    let number = free.unwrap_or(list.len());
    if number == list.len() {
        list.push(far);
    } else {
        list[number] = far;
    }
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    assert!(number < 1 << 30, "a billion far jobs are the most that one group can have");
    FarSlot(number << 1)
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
