//! A capture: resident jobs and sessions as of one moment, taken in small steps while the engine continues. This file has
//! the part for jobs.
//!
//! The slab has pages: small ones at its beginning, where slots are reused often, larger ones after that. A page
//! without changes since its last capture is not captured again.
//!
//! Copy on write: a walk goes over the slots of the changed pages; a job that is about to change before the walk has
//! reached its slot is saved first. So each slot is captured once, in its state at the beginning of the capture. A budget
//! bounds the cost of a step, and a change costs at most one copy of the job.

pub(crate) mod state_metadata;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::Engine;
use crate::clock::Moment;
use crate::hash;
use crate::job::Job;
use crate::job::saved::SavedJob;
use crate::jobs::Slot;
use crate::jobs::paged::Paged;
use crate::spill::is_beyond_horizon;
use crate::store::Place;
use adjourn_types::JobState;
use state_metadata::{CapturedSessions, PartialMetadata, StateMetadata};

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

/// A resident job as it was when the capture began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedJob {
    /// Its page. The jobs of one page are captured together.
    pub page: u32,
    /// Its state.
    pub saved: SavedJob,
    /// The place of its record.
    pub place: Place,
    /// Its due time, or an earlier expiry; `None` if it is not delayed.
    pub delayed_until: Option<Moment>,
    /// Set if it waits beyond the [horizon](super::HORIZON_MS): it may be spilled while it has this hash, its share of the
    /// state hash.
    pub spillable: Option<u128>,
}

impl Engine {
    /// Begins to capture sessions and resident jobs as they are now. Pages that have not changed since their last capture
    /// are left out, except those that `again` names. Returns the numbers of the non-empty pages left out.
    ///
    /// Only one capture is under way at a time: a new one ends the previous one. The store must keep the records that
    /// captured jobs refer to until the caller has used them.
    pub fn begin_capture(&mut self, again: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        self.sessions.begin_capture();
        self.jobs.begin_capture(again)
    }

    /// Ends the capture, if there is one. The next capture takes its pages again.
    pub fn end_capture(&mut self) {
        self.sessions.end_capture();
        self.jobs.end_capture();
    }

    /// Completes a capture: the next one takes only the jobs that changed after this one began.
    pub fn keep_captured(&mut self) {
        self.jobs.keep_captured();
    }

    /// The least number of resident jobs that the next capture visits.
    pub fn changed_jobs(&self) -> u64 {
        self.jobs.changed() as u64
    }

    /// Everything in the state but the jobs.
    pub fn metadata(&self) -> StateMetadata {
        StateMetadata::of(self)
    }

    /// As [`Self::metadata`], but without the sessions, which [`Self::capture_sessions`] returns as of the beginning of the
    /// capture.
    pub fn partial_metadata(&self) -> PartialMetadata {
        PartialMetadata::of(self)
    }

    /// Encodes the next sessions, as they were when the capture began, until they have `outcomes_max` outcomes. Each
    /// session counts as [`SESSION_OUTCOMES`](super::SESSION_OUTCOMES) more. Returns at least one session, unless all were
    /// captured.
    pub fn capture_sessions(&mut self, outcomes_max: usize) -> CapturedSessions {
        CapturedSessions::next_of(self, outcomes_max)
    }

    /// Visits up to `budget` resident jobs, as they were when the capture began, and stops once their bodies reach
    /// `bytes_max`. Returns true if all jobs were visited.
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
