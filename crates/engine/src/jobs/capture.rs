//! A capture of resident jobs: a walk over the slots of the pages that have changed.
//!
//! The slab has pages: small ones at its beginning, where slots are reused often, larger ones after that.
//!
//! Copy on write: a job that is about to change before the walk has reached its slot is saved first. So each slot is
//! captured once, in its state at the beginning of the capture. A budget bounds the cost of a step, and a change costs at
//! most one copy of the job.

use std::collections::{BTreeMap, VecDeque};

use super::Slot;
use super::paged::Paged;
use crate::job::Job;

/// The number of slots of the first page, as a power of two.
const SMALLEST_BITS: u32 = 5;
/// The number of slots of the largest page, as a power of two. The second page is as large as the first, and each later one
/// twice as large as the one before, up to this size.
const LARGEST_BITS: u32 = 14;
/// Slots of the largest page.
pub const PAGE_SLOTS_MAX: usize = 1 << LARGEST_BITS;

/// The page of a slot.
pub(super) fn page_of(slot: Slot) -> u32 {
    match slot {
        0..PAGE_SLOTS => 0,
        PAGE_SLOTS..LARGEST => slot.ilog2() - SMALLEST_BITS + 1,
        _ => DOUBLED + (slot >> LARGEST_BITS),
    }
}

/// The first slot of a page.
pub(super) fn start_of(page: u32) -> usize {
    match page {
        0 => 0,
        1..=DOUBLED => 1 << (SMALLEST_BITS + page - 1),
        _ => ((page - DOUBLED) as usize) << LARGEST_BITS,
    }
}

const PAGE_SLOTS: u32 = 1 << SMALLEST_BITS;
const LARGEST: u32 = 1 << LARGEST_BITS;
/// The number of the last page below the largest size. The pages after it all have the largest size.
const DOUBLED: u32 = LARGEST_BITS - SMALLEST_BITS;

/// A step may pass this many slots per job of its budget: most of a slab may be empty.
const SLOTS_PER_JOB: usize = 8;

/// A walk, under way or complete.
#[derive(Debug)]
pub(super) struct Capture {
    /// The end of the slab when the capture began.
    end: usize,
    /// The pages to capture, in ascending order.
    pages: Vec<u32>,
    /// How many of them are complete: the walk is on the next one.
    seen: usize,
    /// The next slot on that page.
    next: usize,
    /// One bit per slot that changed before the walk reached it.
    changed: Vec<u64>,
    /// The saved jobs of those slots, by page.
    saved: BTreeMap<u32, VecDeque<Job>>,
}

impl Capture {
    /// Begins a walk over `pages`. `slots` is the number of all slots.
    pub(super) fn new(slots: usize, pages: Vec<u32>) -> Self {
        let changed = vec![0; slots.div_ceil(64)];
        let mut walk = Self { end: slots, pages, seen: 0, next: 0, changed, saved: BTreeMap::new() };
        walk.enter_page();
        walk
    }

    /// Saves a slot's job, if there is one, before it changes, unless the walk has passed the slot.
    pub(super) fn before_change(&mut self, slot: Slot, job: Option<&Job>) {
        let Some(page) = self.ahead_of(slot) else { return };
        let slot = slot as usize;
        let Some(word) = self.changed.get_mut(slot / 64) else { return };
        if *word & (1 << (slot % 64)) == 0 {
            *word |= 1 << (slot % 64);
            self.saved.entry(page).or_default().extend(job.cloned());
        }
    }

    /// Visits up to `budget` jobs, until `visit` returns false. Returns true if the walk is complete.
    pub(super) fn step(
        &mut self,
        slots: &Paged<Option<Job>>,
        budget: usize,
        mut visit: impl FnMut(u32, &Job) -> bool,
    ) -> bool {
        let (mut left, mut slots_left) = (budget, budget * SLOTS_PER_JOB);
        while let Some(page) = self.page() {
            while let Some(job) = self.saved.get_mut(&page).filter(|_| left > 0).and_then(VecDeque::pop_front)
            {
                left = if visit(page, &job) { left - 1 } else { 0 };
            }
            let page_end = self.end.min(start_of(page + 1));
            while self.next < page_end {
                if left == 0 || slots_left == 0 {
                    return false;
                }
                let changed =
                    self.changed.get(self.next / 64).is_some_and(|word| word >> (self.next % 64) & 1 == 1);
                let job = slots.get(self.next).and_then(Option::as_ref);
                self.next += 1;
                slots_left -= 1;
                if let Some(job) = job.filter(|_| !changed) {
                    left = if visit(page, job) { left - 1 } else { 0 };
                }
            }
            if self.saved.get(&page).is_some_and(|saved| !saved.is_empty()) {
                return false;
            }
            self.saved.remove(&page);
            self.seen += 1;
            self.enter_page();
        }
        true
    }

    /// All pages of the capture, complete or not.
    pub(super) fn into_pages(self) -> impl Iterator<Item = u32> {
        self.pages.into_iter()
    }

    /// The page that the walk is on.
    fn page(&self) -> Option<u32> {
        self.pages.get(self.seen).copied()
    }

    fn enter_page(&mut self) {
        self.next = self.page().map_or(self.end, start_of);
    }

    /// The page of a slot, if the walk has yet to reach the slot.
    fn ahead_of(&self, slot: Slot) -> Option<u32> {
        let (at, page) = (slot as usize, page_of(slot));
        let ahead = at >= self.next && at < self.end && self.pages.binary_search(&page).is_ok();
        ahead.then_some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_on_one_page() {
        for page in 0..40 {
            let (first, next) = (start_of(page), start_of(page + 1));
            let length = next - first;
            assert!(length.is_power_of_two() && (1 << SMALLEST_BITS..=PAGE_SLOTS_MAX).contains(&length));
            for slot in [first, first + length / 2, next - 1] {
                assert_eq!(page_of(Slot::try_from(slot).expect("it is small")), page, "{slot}");
            }
        }
        assert_eq!(start_of(40) - start_of(39), PAGE_SLOTS_MAX);
    }
}
