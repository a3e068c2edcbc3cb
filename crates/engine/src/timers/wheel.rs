//! A hierarchical hashed timing wheel, which finds the next timer among millions.
//!
//! After Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (SOSP 1987), and the timers of kernels.
//! The tick is 1 ms; there are 4 levels of 1024 slots, so that a slot of level *n* spans 1024^*n* ms. A timer lies on the
//! level of the highest 10-bit digit in which its time differs from the wheel's position, in the slot of that
//! digit. When the position enters a slot of a higher level, its timers move down (a cascade). Timers that differ above
//! 40 bits, which are rare in a real queue, wait in an ordered set.
//!
//! Promises:
//! - Setting and cancelling cost O(1) while the timer is ahead of the position. Finding the next occupied slot scans at
//!   most 4 x 16 words.
//! - Timers fire in the order (time, id), however they were set. Slots are unordered, so the timers before the position are
//!   kept in an ordered set, the *front*, which costs O(log n) of the timers that are due soon.
//! - Each [`Wheel::step`] moves at most one timer. A caller may call it ahead of time to spread the work; the rest is done
//!   when a timer is requested.
//!
//! Neither the position nor the timers already collected affect which timers fire or when.
//!
//! It knows no jobs and no clock: a timer is a slot number, a time and an id.

#![expect(clippy::indexing_slicing, reason = "slots and digits are below the lengths of what they index")]

use std::collections::BTreeSet;

use crate::jobs::paged::Paged;

const LEVELS: usize = 4;
const DIGIT_BITS: usize = 10;
const SLOTS: usize = 1 << DIGIT_BITS;
const DIGIT_MASK: u64 = (1 << DIGIT_BITS) - 1;
const SPAN_BITS: usize = LEVELS * DIGIT_BITS;
const NONE: u32 = u32::MAX;

/// A timer as it is ordered: time, id, slot.
pub(crate) type Timer = (u64, u64, u32);

/// The timers of all wheels, by slot: a slot has at most one.
#[derive(Debug, Default)]
pub(crate) struct Nodes(Paged<Node>);

#[derive(Clone, Copy, Debug)]
struct Node {
    at: u64,
    id: u64,
    next: u32,
    previous: u32,
    home: Home,
}

/// Where a timer is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Nowhere,
    Front,
    Later,
    Slot { level: u8, digit: u16 },
}

/// One wheel.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// Timers before it are in the front.
    position: u64,
    /// First timer of each slot, level by level.
    heads: Box<[u32]>,
    /// Which slots of each level have timers.
    occupied: Box<[Bitmap; LEVELS]>,
    front: BTreeSet<Timer>,
    later: BTreeSet<Timer>,
}

impl Wheel {
    /// A wheel without a timer.
    pub(crate) fn new() -> Self {
        Self {
            position: 0,
            heads: vec![NONE; LEVELS * SLOTS].into(),
            occupied: Box::new([Bitmap::default(); LEVELS]),
            front: BTreeSet::new(),
            later: BTreeSet::new(),
        }
    }

    /// Sets the timer of `slot`, which must have none. At `u64::MAX` it never fires.
    pub(crate) fn set(&mut self, nodes: &mut Nodes, slot: u32, at: u64, id: u64) {
        let node = nodes.claim(slot);
        debug_assert_eq!(node.home, Home::Nowhere, "a slot has one timer at most");
        (node.at, node.id) = (at, id);
        self.place(nodes, slot);
    }

    /// Takes the timer of `slot` away, which must be one of this wheel's.
    pub(crate) fn cancel(&mut self, nodes: &mut Nodes, slot: u32) {
        let node = nodes.0[slot as usize];
        match node.home {
            Home::Nowhere => debug_assert!(false, "cancelled a timer that is not set"),
            Home::Front => drop(self.front.remove(&(node.at, node.id, slot))),
            Home::Later => drop(self.later.remove(&(node.at, node.id, slot))),
            Home::Slot { level, digit } => self.unlink(nodes, slot, usize::from(level), usize::from(digit)),
        }
        nodes.0[slot as usize].home = Home::Nowhere;
    }

    /// The first timer, if it fires at `until` or before. Collects timers as far as necessary.
    pub(crate) fn first(&mut self, nodes: &mut Nodes, until: u64) -> Option<Timer> {
        loop {
            if let Some(first) = self.front.first()
                && first.0 < self.position
            {
                return (first.0 <= until).then_some(*first);
            }
            if !self.step(nodes, until.saturating_add(1)) {
                return None;
            }
        }
    }

    /// Collects until the first `count` timers up to `until` are in the front, in order.
    pub(crate) fn fill(&mut self, nodes: &mut Nodes, until: u64, count: usize) {
        let ordered = |wheel: &Self| wheel.front.last().is_none_or(|last| last.0 < wheel.position);
        while !(self.front.len() >= count && ordered(self)) {
            if !self.step(nodes, until.saturating_add(1)) {
                return;
            }
        }
    }

    /// The timers of the front up to `until`, in order; complete after [`Self::fill`].
    pub(crate) fn front(&self, until: u64) -> impl Iterator<Item = Timer> + '_ {
        self.front.iter().copied().take_while(move |timer| timer.0 <= until && timer.0 < self.position)
    }

    /// A time after `after` before which nothing fires: the first timer's own if it is within the current 1024 ms, else the
    /// start of its slot, at which the caller asks again.
    pub(crate) fn next_after(&mut self, nodes: &mut Nodes, after: u64) -> Option<u64> {
        while self.step(nodes, after.saturating_add(1)) {}
        let soonest = after.saturating_add(1);
        if let Some(first) = self.front.range((soonest, 0, 0)..).next() {
            return Some(first.0);
        }
        let cascading = self.entered().is_some() || self.arrived().is_some();
        let start = if cascading { Some(self.position) } else { self.next_slot().map(|(start, _)| start) };
        start.map(|start| start.max(soonest))
    }

    /// One step towards `end`: moves one timer down a level or to the front, or the position to the next occupied
    /// slot. False when everything before `end` is in the front.
    pub(crate) fn step(&mut self, nodes: &mut Nodes, end: u64) -> bool {
        if self.position >= end {
            return false;
        }
        if self.cascade_one(nodes) {
            return true;
        }
        match self.next_slot() {
            Some((start, level)) if start < end => {
                self.position = start;
                if level == 0 {
                    self.collect_one(nodes);
                }
                true
            }
            _ => {
                self.position = end;
                false
            }
        }
    }

    /// Puts a timer where it belongs for the current position.
    fn place(&mut self, nodes: &mut Nodes, slot: u32) {
        let node = &mut nodes.0[slot as usize];
        if node.at < self.position {
            node.home = Home::Front;
            self.front.insert((node.at, node.id, slot));
            return;
        }
        let level = level_of(node.at ^ self.position);
        if level >= LEVELS {
            node.home = Home::Later;
            self.later.insert((node.at, node.id, slot));
            return;
        }
        let digit = digit(node.at, level);
        let head = std::mem::replace(&mut self.heads[level * SLOTS + digit], slot);
        #[expect(clippy::cast_possible_truncation, reason = "4 levels, 1024 digits")]
        let home = Home::Slot { level: level as u8, digit: digit as u16 };
        (node.home, node.previous, node.next) = (home, NONE, head);
        if head == NONE {
            self.occupied[level].insert(digit);
        } else {
            nodes.0[head as usize].previous = slot;
        }
    }

    fn unlink(&mut self, nodes: &mut Nodes, slot: u32, level: usize, digit: usize) {
        let Node { next, previous, .. } = nodes.0[slot as usize];
        if next != NONE {
            nodes.0[next as usize].previous = previous;
        }
        if previous != NONE {
            nodes.0[previous as usize].next = next;
            return;
        }
        self.heads[level * SLOTS + digit] = next;
        if next == NONE {
            self.occupied[level].remove(digit);
        }
    }

    /// Moves one timer out of a slot that the position has entered; the highest level comes first.
    fn cascade_one(&mut self, nodes: &mut Nodes) -> bool {
        if let Some(first) = self.arrived() {
            self.later.remove(&first);
            self.place(nodes, first.2);
            return true;
        }
        let Some((level, digit)) = self.entered() else { return false };
        let slot = self.heads[level * SLOTS + digit];
        self.unlink(nodes, slot, level, digit);
        self.place(nodes, slot);
        true
    }

    /// The first timer of the ordered set, if the levels can hold it by now.
    fn arrived(&self) -> Option<Timer> {
        self.later.first().copied().filter(|first| level_of(first.0 ^ self.position) < LEVELS)
    }

    /// The highest slot above the lowest level that the position has entered and that still holds a timer.
    fn entered(&self) -> Option<(usize, usize)> {
        let mut slots = (1..LEVELS).rev().map(|level| (level, digit(self.position, level)));
        slots.find(|(level, digit)| self.heads[level * SLOTS + digit] != NONE)
    }

    /// Moves one timer from the slot at the position to the front; after the last one, the position moves on.
    fn collect_one(&mut self, nodes: &mut Nodes) {
        let digit = digit(self.position, 0);
        let slot = self.heads[digit];
        self.unlink(nodes, slot, 0, digit);
        let node = &mut nodes.0[slot as usize];
        debug_assert_eq!(node.at, self.position, "a slot of the lowest level is one tick");
        node.home = Home::Front;
        self.front.insert((node.at, node.id, slot));
        if self.heads[digit] == NONE {
            self.position += 1;
        }
    }

    /// Start and level of the first occupied slot, if no cascade is pending.
    fn next_slot(&self) -> Option<(u64, usize)> {
        for (level, occupied) in self.occupied.iter().enumerate() {
            let from = digit(self.position, level) + usize::from(level > 0);
            if let Some(found) = occupied.first_from(from) {
                let above = self.position >> ((level + 1) * DIGIT_BITS) << ((level + 1) * DIGIT_BITS);
                return Some((above | (found as u64) << (level * DIGIT_BITS), level));
            }
        }
        self.later.first().map(|first| (first.0 >> SPAN_BITS << SPAN_BITS, LEVELS))
    }
}

impl Nodes {
    /// True if `slot` has a timer.
    pub(crate) fn is_set(&self, slot: u32) -> bool {
        self.0.get(slot as usize).is_some_and(|node| node.home != Home::Nowhere)
    }

    /// Frees the nodes from `slots` on. None of them has a timer.
    pub(crate) fn shrink(&mut self, slots: usize) {
        debug_assert!(
            self.0.iter().skip(slots).all(|node| node.home == Home::Nowhere),
            "their jobs are gone"
        );
        if slots < self.0.len() {
            self.0.truncate(slots);
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }

    /// When the timer of `slot` fires.
    pub(crate) fn at(&self, slot: u32) -> u64 {
        self.0[slot as usize].at
    }

    fn claim(&mut self, slot: u32) -> &mut Node {
        while self.0.len() <= slot as usize {
            self.0.push(Node { at: 0, id: 0, next: NONE, previous: NONE, home: Home::Nowhere });
        }
        &mut self.0[slot as usize]
    }
}

/// Which slots of a level hold a timer.
#[derive(Clone, Copy, Debug)]
struct Bitmap([u64; SLOTS / 64]);

impl Default for Bitmap {
    fn default() -> Self {
        Self([0; SLOTS / 64])
    }
}

impl Bitmap {
    fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn remove(&mut self, place: usize) {
        self.0[place / 64] &= !(1 << (place % 64));
    }

    /// The first member at `from` or after it.
    fn first_from(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.0.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

/// The level of the highest digit that is not 0.
fn level_of(difference: u64) -> usize {
    difference.checked_ilog2().map_or(0, |bit| bit as usize / DIGIT_BITS)
}

fn digit(time: u64, level: usize) -> usize {
    (time >> (level * DIGIT_BITS) & DIGIT_MASK) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Set { delay: u64, id: u64 },
        Cancel { nth: usize },
        Fire { after: u64 },
        Prepare { ahead: u64, budget: usize },
        Next,
    }

    const DAY: u64 = 86_400_000;

    fn delays() -> impl Strategy<Value = u64> {
        prop_oneof![
            0..4_u64,
            0..3_000_u64,
            0..2_000_000_u64,
            0..30 * DAY,
            0..3_650 * DAY,
            Just(1 << 41),
            Just(u64::MAX / 2)
        ]
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            5 => (delays(), 0..50_u64).prop_map(|(delay, id)| Step::Set { delay, id }),
            2 => (0..100_usize).prop_map(|nth| Step::Cancel { nth }),
            2 => delays().prop_map(|after| Step::Fire { after }),
            2 => (delays(), 0..40_usize).prop_map(|(ahead, budget)| Step::Prepare { ahead, budget }),
            1 => Just(Step::Next),
        ];
        proptest::collection::vec(step, 1..200)
    }

    struct Both {
        nodes: Nodes,
        wheel: Wheel,
        model: BTreeSet<Timer>,
        free: Vec<u32>,
        now: u64,
    }

    impl Both {
        fn fire(&mut self) {
            while let Some(expected) = self.model.first().copied().filter(|first| first.0 <= self.now) {
                self.wheel.fill(&mut self.nodes, self.now, 5);
                let due = self.model.iter().copied().take_while(|timer| timer.0 <= self.now);
                assert!(self.wheel.front(self.now).take(5).eq(due.take(5)), "the front is in order");
                assert_eq!(self.wheel.first(&mut self.nodes, self.now), Some(expected));
                self.wheel.cancel(&mut self.nodes, expected.2);
                self.model.remove(&expected);
                self.free.push(expected.2);
            }
            assert_eq!(self.wheel.first(&mut self.nodes, self.now), None, "nothing fires early");
        }

        fn step(&mut self, step: &Step) {
            match *step {
                Step::Set { delay, id } => {
                    let slot = self.free.pop().expect("fewer steps than slots");
                    let at = self.now.saturating_add(delay);
                    self.wheel.set(&mut self.nodes, slot, at, id);
                    self.model.insert((at, id, slot));
                }
                Step::Cancel { nth } => {
                    let Some(timer) = self.model.iter().nth(nth).copied() else { return };
                    self.wheel.cancel(&mut self.nodes, timer.2);
                    self.model.remove(&timer);
                    self.free.push(timer.2);
                }
                Step::Fire { after } => {
                    self.now = self.now.saturating_add(after).min(1 << 60);
                    self.fire();
                }
                Step::Prepare { ahead, mut budget } => {
                    while budget > 0 && self.wheel.step(&mut self.nodes, self.now.saturating_add(ahead)) {
                        budget -= 1;
                    }
                }
                Step::Next => {
                    let next = self.wheel.next_after(&mut self.nodes, self.now);
                    let first = self.model.range((self.now + 1, 0, 0)..).next();
                    assert_eq!(next.is_some(), first.is_some());
                    if let (Some(next), Some(first)) = (next, first) {
                        assert!(next > self.now && next <= first.0, "{next} {first:?}");
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn fires_as_an_ordered_map_would(start in delays(), steps in steps()) {
            let (nodes, wheel, model) = (Nodes::default(), Wheel::new(), BTreeSet::new());
            let mut both = Both { nodes, wheel, model, free: (0..200).collect(), now: start.min(1 << 50) };
            for step in &steps {
                both.step(step);
            }
            both.now = u64::MAX - 1;
            both.fire();
            let left = both.nodes.0.iter().filter(|node| matches!(node.home, Home::Slot { .. })).count();
            assert_eq!(left + both.wheel.front.len() + both.wheel.later.len(), both.model.len());
        }
    }

    #[test]
    fn asking_again_at_each_answer_leads_to_the_timer_in_a_few_questions() {
        for at in [1_u64, 1_500, 2_000_000, 30 * DAY, 3_650 * DAY] {
            let (mut nodes, mut wheel) = (Nodes::default(), Wheel::new());
            wheel.first(&mut nodes, 1_790_000_000_123);
            let at = 1_790_000_000_123 + at;
            wheel.set(&mut nodes, 0, at, 1);
            let mut asked = vec![1_790_000_000_123];
            while asked.last() != Some(&at) {
                asked.extend(wheel.next_after(&mut nodes, *asked.last().expect("not empty")));
                assert!(asked.len() <= LEVELS + 2, "{asked:?}");
            }
        }
    }

    #[test]
    fn a_slot_that_is_only_partly_collected_is_not_in_order_yet() {
        let (mut nodes, mut wheel) = (Nodes::default(), Wheel::new());
        for slot in 0..3 {
            wheel.set(&mut nodes, slot, 7, u64::from(slot));
        }
        assert!(wheel.step(&mut nodes, 8), "collects one of three: the last that was set");
        assert_eq!(wheel.front(7).count(), 0);
        assert_eq!(wheel.first(&mut nodes, 7), Some((7, 0, 0)));
    }
}
