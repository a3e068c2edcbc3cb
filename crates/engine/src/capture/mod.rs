//! A capture: resident jobs and sessions as of one moment, taken in small steps while the engine continues. This file has
//! the part for jobs; [`jobs::capture`](crate::jobs::capture) has the walk over them.
//!
//! A page of jobs without changes since its last capture is not captured again.

pub(crate) mod state_metadata;

use std::collections::BTreeSet;

use crate::Engine;
use crate::clock::Moment;
use crate::job::saved::SavedJob;
use crate::place::Place;
use crate::spill::is_beyond_horizon;
use adjourn_types::JobState;
use state_metadata::{CapturedSessions, PartialMetadata, StateMetadata};

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
            let beyond = delayed_until.filter(|until| job.may_spill() && is_beyond_horizon(clock, *until));
            visit(CapturedJob {
                page,
                saved: SavedJob::new(job),
                place: job.body.place,
                delayed_until,
                spillable: beyond.map(|_| job.hash()),
            });
            bytes < bytes_max
        })
    }
}
