//! A hash index in many small tables, so that no single insert has to rehash all of it.
//!
//! Growing one table of ten million entries takes half a second. A thousand small tables grow at different times.

#![expect(clippy::indexing_slicing, reason = "a shard's number is below their number")]

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

const SHARDS: usize = 1024;
/// hashbrown uses the lowest bits for the place in a table and the highest seven for its tags.
const SHARD_SHIFT: u32 = 40;

/// A set of numbers, each found by the hash of what it identifies.
#[derive(Debug)]
pub(crate) struct Index {
    shards: Box<[HashTable<u32>]>,
    len: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| HashTable::new()).collect(), len: 0 }
    }
}

impl Index {
    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Makes room for this total number of entries, so that filling it never rehashes.
    pub(crate) fn reserve(&mut self, entries: usize, hash_of: impl Fn(u32) -> u64) {
        // Shards vary by chance, by a few percent of the mean.
        let each = entries / SHARDS + entries / SHARDS / 16;
        for shard in &mut self.shards {
            shard.reserve(each.saturating_sub(shard.len()), |number| hash_of(*number));
        }
    }

    /// The number under this hash that `is` accepts.
    pub(crate) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        self.shards[shard(hash)].find(hash, |number| is(*number)).copied()
    }

    /// Adds a number that is not in the index.
    pub(crate) fn insert(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        self.shards[shard(hash)].insert_unique(hash, number, |number| hash_of(*number));
        self.len += 1;
    }

    /// Adds many numbers, each with its hash, much faster than one by one: those of one table are added together, while it
    /// is in the processor's cache. Stops at the first number that is the `same` as one in the index, and returns it.
    pub(crate) fn insert_all(
        &mut self,
        numbers: &[(u64, u32)],
        hash_of: impl Fn(u32) -> u64,
        same: impl Fn(u32, u32) -> bool,
    ) -> Result<(), u32> {
        for (hash, number) in by_shard(numbers) {
            let table = &mut self.shards[shard(hash)];
            match table.entry(hash, |there| same(*there, number), |there| hash_of(*there)) {
                Entry::Occupied(_) => return Err(number),
                Entry::Vacant(place) => _ = place.insert(number),
            }
            self.len += 1;
        }
        Ok(())
    }

    /// Replaces a number by another one under the same hash.
    pub(crate) fn replace(&mut self, hash: u64, old: u32, new: u32) {
        match self.shards[shard(hash)].find_mut(hash, |number| *number == old) {
            Some(number) => *number = new,
            None => debug_assert!(false, "what is replaced is there"),
        }
    }

    /// Removes a number.
    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        match self.shards[shard(hash)].find_entry(hash, |found| *found == number) {
            Ok(entry) => _ = entry.remove(),
            Err(_) => debug_assert!(false, "what is removed is there"),
        }
        self.len -= 1;
    }

    /// Shrinks the tables that are nearly empty.
    pub(crate) fn shrink(&mut self, hash_of: impl Fn(u32) -> u64) {
        for shard in &mut self.shards {
            if shard.len() < shard.capacity() / 8 {
                shard.shrink_to(shard.len() * 2, |number| hash_of(*number));
            }
        }
    }

    /// Bytes of memory of the tables.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.shards.iter().map(HashTable::allocation_size).sum()
    }
}

/// A counting sort by shard.
fn by_shard(numbers: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let mut ends = [0; SHARDS];
    for (hash, _) in numbers {
        ends[shard(*hash)] += 1;
    }
    let mut end = 0;
    for place in &mut ends {
        end += *place;
        *place = end;
    }
    let mut sorted = vec![(0, 0); numbers.len()];
    for &(hash, number) in numbers.iter().rev() {
        let place = &mut ends[shard(hash)];
        *place -= 1;
        sorted[*place] = (hash, number);
    }
    sorted
}

fn shard(hash: u64) -> usize {
    usize::try_from(hash >> SHARD_SHIFT).map_or(0, |spread| spread % SHARDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(number: u32) -> u64 {
        u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn it_finds_what_it_holds_and_nothing_else() {
        let mut index = Index::default();
        for number in 0..100_000 {
            index.insert(hash_of(number), number, hash_of);
        }
        for number in (0..100_000).step_by(2) {
            index.remove(hash_of(number), number);
            index.replace(hash_of(number + 1), number + 1, number + 1_000_001);
        }
        assert_eq!(index.len(), 50_000);
        for number in (0..100_000).step_by(2) {
            assert_eq!(index.find(hash_of(number), |found| found == number), None);
            let replaced = index.find(hash_of(number + 1), |found| found == number + 1_000_001);
            assert_eq!(replaced, Some(number + 1_000_001));
        }
    }

    #[test]
    fn many_at_once_are_there_as_if_they_had_come_one_by_one() {
        let mut index = Index::default();
        let same = |one, other| one % 100_000 == other % 100_000;
        let numbers =
            |range: std::ops::Range<u32>| range.map(|number| (hash_of(number), number)).collect::<Vec<_>>();
        assert_eq!(index.insert_all(&numbers(0..70_000), hash_of, same), Ok(()));
        assert_eq!(index.insert_all(&[], hash_of, same), Ok(()));
        assert_eq!(index.insert_all(&numbers(70_000..100_000), hash_of, same), Ok(()));
        assert_eq!(index.len(), 100_000);
        for number in 0..100_000 {
            assert_eq!(index.find(hash_of(number), |found| found == number), Some(number));
        }
        assert_eq!(index.insert_all(&[(hash_of(7), 100_007)], hash_of, same), Err(100_007));
        let twice = [(hash_of(200_001), 100_007), (hash_of(200_001), 7)];
        assert_eq!(index.insert_all(&twice, hash_of, same), Err(7), "twice among themselves");
    }

    #[test]
    fn room_that_is_not_needed_is_given_back() {
        let mut index = Index::default();
        (0..100_000).for_each(|number| index.insert(hash_of(number), number, hash_of));
        let full = index.memory_bytes();
        (0..99_000).for_each(|number| index.remove(hash_of(number), number));
        index.shrink(hash_of);
        assert!(index.memory_bytes() < full / 10, "{} of {full} bytes", index.memory_bytes());
        let found = |number: &u32| index.find(hash_of(*number), |found| found == *number).is_some();
        assert_eq!((0..100_000).filter(found).count(), 1000);
    }

    #[test]
    fn room_that_was_made_is_enough() {
        let mut index = Index::default();
        index.reserve(1_000_000, hash_of);
        let before = index.memory_bytes();
        (0..1_000_000).for_each(|number| index.insert(hash_of(number), number, hash_of));
        assert_eq!(index.memory_bytes(), before, "nothing grew");
    }
}
