//! A memory of recent events, bounded in number and age, with a fair share for each owner.
//!
//! When it is full, the owner with the most events loses its oldest. So an owner with less than an equal share (minus
//! [`STEP`]) keeps what it has, whatever others do.

pub(crate) mod finished;
pub(crate) mod idempotency;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hashbrown::HashTable;

use crate::hash::Sum;
use adjourn_types::Millis;

/// Most old events that one entry forgets, beyond those that make room.
const FORGOTTEN_PER_ENTRY_MAX: usize = 4096;

/// Counts are compared in steps of this size, so that an owner with many events is not re-sorted with each one.
const STEP: usize = 64;

/// An event to remember.
pub(super) trait Happening: Copy {
    /// The owner whose share it uses.
    type Owner: Copy + Ord;
    /// What it is found by. No two events that are young enough have the same key.
    type Key: Copy + Eq;

    /// When it happened, as a stamp.
    fn at(&self) -> Millis;
    fn owner(&self) -> Self::Owner;
    fn key(&self) -> Self::Key;
    fn hash_of(key: Self::Key) -> u64;
    /// Its share of the state hash.
    fn element(&self) -> u128;
}

/// The remembered events.
#[derive(Debug)]
pub(super) struct Recent<T: Happening> {
    count_max: usize,
    ms_max: u64,
    count: usize,
    rings: BTreeMap<T::Owner, Ring<T>>,
    /// The owners, by their number of events, and by the time of their oldest.
    by_count: BTreeSet<(usize, T::Owner)>,
    by_age: BTreeSet<(Millis, T::Owner)>,
    /// The owner and number of each event, by key.
    index: HashTable<(T::Owner, u64)>,
}

/// The events of one owner, the oldest first.
#[derive(Debug)]
struct Ring<T> {
    /// The number of forgotten ones, which is the number of the first.
    first: u64,
    happenings: VecDeque<T>,
}

impl<T: Happening> Recent<T> {
    /// An empty memory for `count_max` events, each kept for `ms_max` milliseconds.
    pub(super) fn new(count_max: usize, ms_max: u64) -> Self {
        Self {
            count_max,
            ms_max,
            count: 0,
            rings: BTreeMap::new(),
            by_count: BTreeSet::new(),
            by_age: BTreeSet::new(),
            index: HashTable::new(),
        }
    }

    /// All events by owner, the oldest first.
    pub(super) fn all(&self) -> impl Iterator<Item = &T> {
        self.rings.values().flat_map(|ring| &ring.happenings)
    }

    /// Restores saved events, in the order of [`Self::all`]. The saved state hash already includes them.
    pub(super) fn restore(&mut self, saved: &[T]) {
        for happening in saved {
            self.remember(*happening, &mut Sum::default());
        }
    }

    /// The event with this key, if it is young enough at `stamp`.
    pub(super) fn find(&self, key: T::Key, stamp: Millis) -> Option<&T> {
        let has_key = |place: &(T::Owner, u64)| self.get(*place).is_some_and(|found| found.key() == key);
        let found = self.get(*self.index.find(T::hash_of(key), has_key)?)?;
        (!self.is_old(found.at(), stamp)).then_some(found)
    }

    /// Remembers an event. An older one with its key is no longer found.
    pub(super) fn remember(&mut self, happening: T, sum: &mut Sum) {
        let (owner, key) = (happening.owner(), happening.key());
        let rings = &self.rings;
        let has_key = |place: &(T::Owner, u64)| get(rings, *place).is_some_and(|found| found.key() == key);
        if let Ok(too_old) = self.index.find_entry(T::hash_of(key), has_key) {
            too_old.remove();
        }
        let ring = self.rings.entry(owner).or_insert_with(|| Ring { first: 0, happenings: VecDeque::new() });
        let number = ring.first + ring.happenings.len() as u64;
        ring.happenings.push_back(happening);
        let count = ring.happenings.len();
        sum.add(happening.element());
        if count == 1 {
            self.by_age.insert((happening.at(), owner));
        }
        self.count_changed(owner, count - 1, count);
        let rings = &self.rings;
        self.index.insert_unique(T::hash_of(key), (owner, number), |place| {
            get(rings, *place).map_or(0, |found| T::hash_of(found.key()))
        });
        self.count += 1;
        if self.count > self.count_max
            && let Some((_, most)) = self.by_count.last().copied()
        {
            self.forget_first(most, sum);
        }
    }

    /// Forgets a bounded number of events that are too old.
    pub(super) fn forget_old(&mut self, stamp: Millis, sum: &mut Sum) {
        for _ in 0..FORGOTTEN_PER_ENTRY_MAX {
            match self.by_age.first().copied() {
                Some((at, owner)) if self.is_old(at, stamp) => self.forget_first(owner, sum),
                _ => return,
            }
        }
    }

    /// The sum of their hashes, computed from scratch.
    pub(super) fn hash(&self) -> u128 {
        let mut sum = Sum::default();
        self.all().for_each(|happening| sum.add(happening.element()));
        sum.with(0)
    }

    /// An estimate of their memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let of_owner = size_of::<Ring<T>>() + 3 * size_of::<(usize, T::Owner)>();
        let happenings = 2 * self.count * size_of::<T>();
        happenings + self.index.capacity() * (size_of::<(T::Owner, u64)>() + 1) + self.rings.len() * of_owner
    }

    fn is_old(&self, at: Millis, stamp: Millis) -> bool {
        at.after(self.ms_max) <= stamp
    }

    fn forget_first(&mut self, owner: T::Owner, sum: &mut Sum) {
        let Some(ring) = self.rings.get_mut(&owner) else { return };
        let (number, count) = (ring.first, ring.happenings.len());
        let Some(first) = ring.happenings.pop_front() else { return };
        ring.first += 1;
        if ring.happenings.capacity() > (4 * count).max(STEP) {
            ring.happenings.shrink_to(2 * count);
        }
        let next_at = ring.happenings.front().map(Happening::at);
        if next_at != Some(first.at()) {
            self.by_age.remove(&(first.at(), owner));
            self.by_age.extend(next_at.map(|at| (at, owner)));
        }
        self.count_changed(owner, count, count - 1);
        if count == 1 {
            self.rings.remove(&owner);
        }
        let is_it = |place: &(T::Owner, u64)| *place == (owner, number);
        if let Ok(entry) = self.index.find_entry(T::hash_of(first.key()), is_it) {
            entry.remove();
        }
        sum.subtract(first.element());
        self.count -= 1;
    }

    fn count_changed(&mut self, owner: T::Owner, before: usize, now: usize) {
        if step_of(before) != step_of(now) {
            self.by_count.remove(&(step_of(before), owner));
            if now > 0 {
                self.by_count.insert((step_of(now), owner));
            }
        }
    }

    fn get(&self, place: (T::Owner, u64)) -> Option<&T> {
        get(&self.rings, place)
    }
}

fn get<T: Happening>(rings: &BTreeMap<T::Owner, Ring<T>>, (owner, number): (T::Owner, u64)) -> Option<&T> {
    let ring = rings.get(&owner)?;
    ring.happenings.get(usize::try_from(number.checked_sub(ring.first)?).ok()?)
}

fn step_of(count: usize) -> usize {
    if count < STEP { count } else { count - count % STEP }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Event {
        at: u64,
        owner: u8,
        key: u64,
    }

    impl Happening for Event {
        type Owner = u8;
        type Key = (u8, u64);

        fn at(&self) -> Millis {
            Millis(self.at)
        }

        fn owner(&self) -> u8 {
            self.owner
        }

        fn key(&self) -> (u8, u64) {
            (self.owner, self.key)
        }

        fn hash_of((owner, key): (u8, u64)) -> u64 {
            key << 8 | u64::from(owner)
        }

        fn element(&self) -> u128 {
            u128::from(self.at) << 80 | u128::from(self.owner) << 64 | u128::from(self.key)
        }
    }

    const COUNT_MAX: usize = 10_000;
    const MS_MAX: u64 = 60_000;

    fn recent() -> Recent<Event> {
        Recent::new(COUNT_MAX, MS_MAX)
    }

    fn knows(recent: &Recent<Event>, owner: u8, key: u64, stamp: u64) -> bool {
        recent.find((owner, key), Millis(stamp)).is_some()
    }

    #[test]
    fn who_has_less_than_a_fair_share_keeps_it_whatever_others_do() {
        let (mut recent, mut sum) = (recent(), Sum::default());
        let share = (COUNT_MAX / 3 - STEP) as u64;
        for key in 0..share {
            recent.remember(Event { at: 1000, owner: 7, key }, &mut sum);
        }
        for key in 0..5 * COUNT_MAX as u64 {
            for owner in [1, 200] {
                recent.remember(Event { at: 1001, owner, key }, &mut sum);
            }
        }
        assert!((0..share).all(|key| knows(&recent, 7, key, 1001)), "others' floods took its share");
        assert_eq!((recent.count, recent.all().count()), (COUNT_MAX, COUNT_MAX));
        let of = |owner| recent.all().filter(|event| event.owner == owner).count();
        assert!(of(1).abs_diff(of(200)) <= STEP + 1, "{} and {}", of(1), of(200));
        assert_eq!(recent.hash(), sum.with(0));
    }

    #[test]
    fn many_small_owners_lose_their_oldest_in_turn() {
        let (mut recent, mut sum) = (Recent::new(100, MS_MAX), Sum::default());
        for key in 0..100 {
            for owner in 0..50 {
                recent.remember(Event { at: key, owner, key }, &mut sum);
            }
        }
        for owner in 0..50 {
            let kept = recent.all().filter(|event| event.owner == owner).count();
            assert!((1..=3).contains(&kept), "{owner} has {kept}");
            assert!(knows(&recent, owner, 99, 99), "the newest of {owner} is kept");
        }
    }

    #[test]
    fn what_is_saved_comes_back_and_forgets_the_same() {
        let (mut recent, mut sum) = (recent(), Sum::default());
        for key in 0..COUNT_MAX as u64 + 500 {
            recent.remember(Event { at: 1000 + key % 7, owner: (key % 5) as u8, key }, &mut sum);
        }
        let saved: Vec<Event> = recent.all().copied().collect();
        let (mut back, mut back_sum) = (self::recent(), sum);
        back.restore(&saved);
        for recent in [(&mut recent, &mut sum), (&mut back, &mut back_sum)] {
            (0..700).for_each(|key| recent.0.remember(Event { at: 2000, owner: 9, key }, recent.1));
            recent.0.forget_old(Millis(1003 + MS_MAX), recent.1);
        }
        assert!(recent.all().eq(back.all()));
        assert_eq!((recent.hash(), sum), (back.hash(), back_sum));
        assert_eq!(recent.hash(), sum.with(0));
    }

    #[test]
    fn it_remembers_for_a_while_and_forgets_a_bounded_number_at_once() {
        let (mut recent, mut sum) = (recent(), Sum::default());
        for key in 0..COUNT_MAX as u64 {
            recent.remember(Event { at: 1000, owner: (key % 3) as u8, key }, &mut sum);
        }
        assert!(knows(&recent, 0, 3, 1000 + MS_MAX - 1) && !knows(&recent, 0, 3, 1000 + MS_MAX));
        recent.forget_old(Millis(1000 + MS_MAX), &mut sum);
        assert_eq!(recent.count, COUNT_MAX - FORGOTTEN_PER_ENTRY_MAX);
        // An event that is too old but still there gives way to a new one with its key.
        let last = COUNT_MAX as u64 - 1;
        let again = Event { at: 1000 + MS_MAX, owner: (last % 3) as u8, key: last };
        recent.remember(again, &mut sum);
        for _ in 0..3 {
            recent.forget_old(Millis(1000 + MS_MAX), &mut sum);
        }
        assert_eq!(recent.all().copied().collect::<Vec<_>>(), [again]);
        assert!(knows(&recent, again.owner, last, 1000 + MS_MAX));
        assert_eq!((recent.hash(), recent.rings.len(), recent.index.len()), (sum.with(0), 1, 1));
        assert_eq!((recent.by_count.len(), recent.by_age.len()), (1, 1));
    }
}
