//! A capture: resident jobs and sessions as of one moment, taken in small steps while the engine continues. This is
//! the part for jobs.
//!
//! The slab has pages: small ones at its beginning, where slots are reused often, larger ones after that. A page
//! without changes since its last capture is not captured again.
//!
//! Copy on write. A walk goes over the slots of the other pages; if a job is about to change before the walk has
//! reached its slot, it is saved first, as it was. So every slot is captured once, in its state at the beginning of
//! the capture, whatever has happened to it since. A budget bounds the cost of a step, and a change costs at most
//! one copy of the job.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Engine;
use super::clock::Moment;
use super::hash;
use super::job::Job;
use super::jobs::Slot;
use super::paged::Paged;
use super::saved::SavedJob;
use super::spill::is_beyond_horizon;
use super::state_metadata::{CapturedSessions, PartialMetadata, StateMetadata};
use super::store::Place;
use crate::types::JobState;

/// The number of slots of the first page, as a power of two.
const SMALLEST_BITS: u32 = 5;
/// The number of slots of the largest page, as a power of two. The second page is as large as the first, and each later one
/// twice as large as the one before, up to that.
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
/// Pages that are twice as large as those before them, and the second.
const DOUBLED: u32 = LARGEST_BITS - SMALLEST_BITS;

/// Slots that one job of a step's budget pays for: most of a slab may be empty.
const SLOTS_PER_JOB: usize = 8;

/// A walk that is under way, or at its end.
#[derive(Debug)]
pub(super) struct Capture {
    /// What lay behind was added later.
    end: usize,
    /// The pages to be seen, in order.
    pages: Vec<u32>,
    /// How many of them were seen: the walk is on the one behind.
    seen: usize,
    /// The next slot on that page.
    next: usize,
    /// Bits of slots that changed before the walk came to them.
    changed: Vec<u64>,
    /// The old content of changed jobs, by page.
    saved: BTreeMap<u32, VecDeque<Job>>,
}

/// A resident job, as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedJob {
    /// The page on which it is. Those of one page come one after the other.
    pub page: u32,
    /// All that the state holds of it.
    pub saved: SavedJob,
    /// Where its record is.
    pub place: Place,
    /// Its due time, or an earlier expiry. Jobs that are not delayed have none.
    pub delayed_until: Option<Moment>,
    /// It waits beyond the [horizon](super::HORIZON_MS), so it may be spilled while it has this hash: its share of the state hash.
    pub spillable: Option<u128>,
}

impl Engine {
    /// Begins to capture the sessions as they are now, and the resident jobs. Pages that have not changed since their last
    /// capture are left out, except those named by `again`. Returns the numbers of the pages left out that are not empty.
    ///
    /// Only one capture is under way at a time: a new one ends the previous one. The store must keep the records that captured
    /// jobs refer to until the caller has used them.
    pub fn begin_capture(&mut self, again: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        self.sessions.begin_capture();
        self.jobs.begin_capture(again)
    }

    /// Ends the capture that is under way, or discards a finished one, if there is one.
    pub fn end_capture(&mut self) {
        self.sessions.end_capture();
        self.jobs.end_capture();
    }

    /// Keeps the captured jobs: the next capture takes only the jobs that have changed since this one began.
    pub fn keep_captured(&mut self) {
        self.jobs.keep_captured();
    }

    /// How many resident jobs the next capture has at least.
    pub fn changed_jobs(&self) -> u64 {
        self.jobs.changed() as u64
    }

    /// Everything in the state but the jobs.
    pub fn metadata(&self) -> StateMetadata {
        StateMetadata::of(self)
    }

    /// The same, without the sessions: [`Self::capture_sessions`] gives them as they are now, if a capture has just begun.
    pub fn partial_metadata(&self) -> PartialMetadata {
        PartialMetadata::of(self)
    }

    /// Encodes the next sessions, as they were when the capture began, until they remember `outcomes_max` outcomes. Each counts
    /// as [`SESSION_OUTCOMES`](super::SESSION_OUTCOMES) more. There is one at least, unless all were captured.
    pub fn capture_sessions(&mut self, outcomes_max: usize) -> CapturedSessions {
        CapturedSessions::next_of(self, outcomes_max)
    }

    /// Visits up to `budget` of the resident jobs, as they were when the capture began, and none after one with which their
    /// bodies come to `bytes_max`. Whether these were the last.
    pub fn capture(&mut self, budget: usize, bytes_max: u64, mut visit: impl FnMut(CapturedJob)) -> bool {
        let (mut bytes, clock) = (0, self.clock);
        self.jobs.captured(budget, |page, job| {
            bytes += u64::from(job.body.body_bytes) + job.held_bytes() as u64;
            let delayed_until = if job.state == JobState::Delayed { job.timer() } else { None };
            let may_leave = job.held_until().is_none();
            let beyond = delayed_until.filter(|until| may_leave && is_beyond_horizon(clock, *until));
            visit(CapturedJob {
                page,
                saved: SavedJob::new(job),
                place: job.body.place,
                delayed_until,
                spillable: beyond.map(|_| hash::of_job(job)),
            });
            bytes < bytes_max
        })
    }
}

impl Capture {
    /// Begins with the first of these pages. `slots` is the number of all slots.
    pub(super) fn new(slots: usize, pages: Vec<u32>) -> Self {
        let changed = vec![0; slots.div_ceil(64)];
        let mut walk = Self { end: slots, pages, seen: 0, next: 0, changed, saved: BTreeMap::new() };
        walk.enter_page();
        walk
    }

    /// The job in this slot, if there is one, is about to change, to leave, or to come.
    pub(super) fn before_change(&mut self, slot: Slot, job: Option<&Job>) {
        let Some(page) = self.ahead_of(slot) else { return };
        let slot = slot as usize;
        let Some(word) = self.changed.get_mut(slot / 64) else { return };
        if *word & (1 << (slot % 64)) == 0 {
            *word |= 1 << (slot % 64);
            self.saved.entry(page).or_default().extend(job.cloned());
        }
    }

    /// Visits up to `budget` jobs, until `visit` returns false. Whether these were the last.
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

    /// Every page, seen or not.
    pub(super) fn into_pages(self) -> impl Iterator<Item = u32> {
        self.pages.into_iter()
    }

    /// The page on which the walk is.
    fn page(&self) -> Option<u32> {
        self.pages.get(self.seen).copied()
    }

    fn enter_page(&mut self) {
        self.next = self.page().map_or(self.end, start_of);
    }

    /// The page of a slot, if the walk will come to it.
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
