//! A capture: all near jobs as they were at one moment, taken in small steps while the engine goes on.
//!
//! Copy on write. A walk goes over the slots of the slab; a job that is about to change before the walk has come to
//! its slot is saved first, as it was. So every slot is seen once, in the state of the moment at which the capture
//! began, whatever has happened to it since. What a step costs is bounded by its budget, and a change costs one copy
//! of the job at most.

use std::collections::VecDeque;

use super::Engine;
use super::clock::Moment;
use super::hash;
use super::jobs::{Job, Slot};
use super::paged::Paged;
use super::saved::SavedJob;
use super::store::Place;
use crate::types::JobState;

/// Slots that one job of a step's budget pays for: most of a slab may be empty.
const SLOTS_PER_JOB: usize = 8;

/// A walk that is under way.
#[derive(Debug)]
pub(super) struct Capture {
    /// What lay behind was added later.
    end: usize,
    /// The walk has seen the slots before.
    next: usize,
    /// Bits of slots that changed before the walk came to them.
    changed: Vec<u64>,
    /// What was there.
    saved: VecDeque<Job>,
}

/// A near job, as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedJob {
    /// All that the state holds of it.
    pub saved: SavedJob,
    /// Where its record is.
    pub place: Place,
    /// Its due time, or an earlier expiry: what it waits for. Jobs that are not delayed have none.
    pub delayed_until: Option<Moment>,
    /// What it adds to the state hash.
    pub hash: u128,
}

impl Engine {
    /// Begins to capture the jobs as they are now. Only one capture is under way at a time: the one before ends.
    /// The records that captured jobs refer to have to be kept by their store until they were used.
    pub fn begin_capture(&mut self) {
        self.jobs.begin_capture();
    }

    /// Ends the capture that is under way, if there is one: nobody wants the rest of it.
    pub fn end_capture(&mut self) {
        self.jobs.end_capture();
    }

    /// Adds up to `budget` of the near jobs, as they were when the capture began, to `captured`, and none after one with
    /// which their bodies come to `bytes_max`. Whether these were the last.
    pub fn capture(&mut self, budget: usize, bytes_max: u64, captured: &mut Vec<CapturedJob>) -> bool {
        let mut bytes = 0;
        self.jobs.captured(budget, |job| {
            bytes += u64::from(job.body.body_bytes);
            captured.push(CapturedJob {
                saved: SavedJob::new(job),
                place: job.body.place,
                delayed_until: if job.state == JobState::Delayed { job.timer() } else { None },
                hash: hash::of_job(job),
            });
            bytes < bytes_max
        })
    }
}

impl Capture {
    /// Begins with the first of so many slots.
    pub(super) fn new(slots: usize) -> Self {
        Self { end: slots, next: 0, changed: vec![0; slots.div_ceil(64)], saved: VecDeque::new() }
    }

    /// The job in this slot, if there is one, is about to change, to leave, or to come.
    pub(super) fn before_change(&mut self, slot: Slot, job: Option<&Job>) {
        let slot = slot as usize;
        if slot < self.next || slot >= self.end {
            return;
        }
        let Some(word) = self.changed.get_mut(slot / 64) else { return };
        if *word & (1 << (slot % 64)) == 0 {
            *word |= 1 << (slot % 64);
            self.saved.extend(job.cloned());
        }
    }

    /// Visits up to `budget` jobs, until `visit` returns false. Whether these were the last.
    pub(super) fn step(
        &mut self,
        slots: &Paged<Option<Job>>,
        budget: usize,
        mut visit: impl FnMut(&Job) -> bool,
    ) -> bool {
        let mut left = budget;
        while left > 0
            && let Some(job) = self.saved.pop_front()
        {
            left = if visit(&job) { left - 1 } else { 0 };
        }
        // Up to the end of the page: the next step goes on with the next one.
        let page = slots.page_from(self.next).iter().take(self.end - self.next);
        for job in page.take(left * SLOTS_PER_JOB) {
            if left == 0 {
                break;
            }
            let changed =
                self.changed.get(self.next / 64).is_some_and(|word| word >> (self.next % 64) & 1 == 1);
            self.next += 1;
            if let Some(job) = job.as_ref().filter(|_| !changed) {
                left = if visit(job) { left - 1 } else { 0 };
            }
        }
        self.next >= self.end && self.saved.is_empty()
    }
}
