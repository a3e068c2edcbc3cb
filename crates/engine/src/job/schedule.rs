//! The part of a job that is a schedule, or that a schedule pushed.

use std::collections::VecDeque;

use bincode::Options as _;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::saved::options;
use super::{Job, JobExtras};
use adjourn_types::{
    Fired, Firing, JobEnd, JobId, JobState, Millis, Overlap, PausedBy, SCHEDULE_HISTORY_MAX, ScheduleBefore,
};

/// The value of [`Job::since`] of a schedule whose instant has come: the leader is to fire it.
const HAS_COME: u64 = 1;
/// The value of [`Job::since`] of a schedule whose instant has come, and has to wait until an earlier job has ended.
const IS_HELD: u64 = 2;

/// What only a schedule has, and what only the jobs of one have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OfSchedule {
    /// It is a schedule.
    Schedule(Schedule),
    /// It is a job that this schedule pushed.
    JobOf(JobId),
}

/// A schedule, without the job that it pushes: body, attributes, priority and time to run are those of a [`Job`], and its
/// due time is the schedule's next instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Schedule {
    /// How often it was set.
    pub(crate) version: u32,
    pub(crate) overlap: Overlap,
    /// It is paused after this many failures in a row; 0 for never.
    pub(crate) failures_max: u32,
    /// Failures in a row so far.
    pub(crate) failures: u32,
    /// Instants at which it pushed a job, without those by hand.
    pub(crate) fired: u64,
    /// Its jobs that have not ended.
    pub(crate) running: u32,
    pub(crate) paused: Option<PausedBy>,
    /// What the user who paused it noted; empty for nothing.
    pub(crate) pause_note: Box<str>,
    /// True if it has no next instant: its due time is the last one.
    pub(crate) is_over: bool,
    /// The latest firings, the oldest first.
    pub(crate) history: VecDeque<Firing>,
}

impl OfSchedule {
    /// Its share of the state hash of its job.
    pub(super) fn digest(&self) -> u128 {
        let bytes = options().serialize(self);
        xxh3_128(&bytes.unwrap_or_else(|error| unreachable!("a schedule always encodes: {error}")))
    }
}

impl Schedule {
    /// Notes a firing, and forgets the oldest if there are too many; but not that of the youngest job that has not ended.
    pub(crate) fn note(&mut self, firing: Firing) {
        if self.history.len() >= SCHEDULE_HISTORY_MAX {
            let running = self.history.iter().rposition(|firing| firing.what.running_job().is_some());
            self.history.remove(usize::from(running == Some(0)));
        }
        self.history.push_back(firing);
    }

    /// Its jobs that have not ended, the oldest first; only those that the history knows.
    pub(crate) fn running_jobs(&self) -> impl Iterator<Item = JobId> {
        self.history.iter().filter_map(|firing| firing.what.running_job())
    }

    /// Notes that one of its jobs has ended.
    pub(crate) fn note_end(&mut self, ended: JobId, how: JobEnd) {
        self.running = self.running.saturating_sub(1);
        let fired = self.history.iter_mut().rev().map(|firing| &mut firing.what);
        for fired in fired {
            if let Fired::Pushed { job, end } = fired
                && *job == ended
            {
                *end = Some(how);
            }
        }
        match how {
            JobEnd::Finished => self.failures = 0,
            JobEnd::Failed => {
                self.failures = self.failures.saturating_add(1);
                if self.failures_max > 0 && self.failures >= self.failures_max {
                    self.paused.get_or_insert(PausedBy::Failures);
                }
            }
            JobEnd::Deleted | JobEnd::Expired => {}
        }
    }

    /// True if it waits until its earlier job has ended.
    fn is_blocked(&self) -> bool {
        self.overlap == Overlap::QueueOne && self.running > 0
    }
}

impl Job {
    /// What makes it a schedule, if it is one.
    pub(crate) fn schedule(&self) -> Option<&Schedule> {
        match self.of_schedule()? {
            OfSchedule::Schedule(schedule) => Some(schedule),
            OfSchedule::JobOf(_) => None,
        }
    }

    /// Changes a schedule; nothing else.
    pub(crate) fn change_schedule(&mut self, change: impl FnOnce(&mut Schedule)) {
        if let Some(OfSchedule::Schedule(schedule)) =
            self.extras.as_mut().and_then(|extras| extras.of_schedule.as_deref_mut())
        {
            change(schedule);
        }
    }

    /// The schedule that pushed it, while the job has not ended.
    pub(crate) fn runs_for(&self) -> Option<JobId> {
        match (self.of_schedule()?, self.state) {
            (OfSchedule::JobOf(schedule), JobState::Delayed | JobState::Ready | JobState::Reserved) => {
                Some(*schedule)
            }
            _ => None,
        }
    }

    pub(crate) fn of_schedule(&self) -> Option<&OfSchedule> {
        self.extras.as_ref()?.of_schedule.as_deref()
    }

    /// Frees the extras if they are back at their default.
    pub(crate) fn set_of_schedule(&mut self, of_schedule: Option<OfSchedule>) {
        let mut extras = self.extras.take().unwrap_or_default();
        extras.of_schedule = of_schedule.map(Box::new);
        self.extras = (*extras != JobExtras::default()).then_some(extras);
    }

    /// Sets the next instant of a schedule; `None` if there is none any more.
    pub(crate) fn set_next_instant(&mut self, next: Option<Millis>) {
        self.since = 0;
        if let Some(next) = next {
            self.due_at = next.0;
        }
        self.change_schedule(|schedule| schedule.is_over = next.is_none());
    }

    /// True if it is a schedule that waits for its next instant.
    pub(crate) fn waits_for_instant(&self) -> bool {
        self.since == 0
            && self.schedule().is_some_and(|schedule| schedule.paused.is_none() && !schedule.is_over)
    }

    /// True if it is a schedule whose instant has come.
    pub(crate) fn instant_has_come(&self) -> bool {
        self.state == JobState::Scheduled && self.since != 0
    }

    /// True if it is a schedule whose instant had to wait until an earlier job had ended.
    pub(crate) fn is_held(&self) -> bool {
        self.state == JobState::Scheduled && self.since == IS_HELD
    }

    /// Notes that the instant of a schedule has come, or that it lies ahead again.
    pub(crate) fn set_instant_has_come(&mut self, has_come: bool) {
        self.since = if has_come { HAS_COME } else { 0 };
        self.hold_if_blocked();
    }

    /// Notes that a schedule pushed a job.
    pub(crate) fn note_pushed(&mut self) {
        self.change_schedule(|schedule| schedule.running = schedule.running.saturating_add(1));
        self.hold_if_blocked();
    }

    /// A schedule was paused or resumed.
    pub(crate) fn release_held(&mut self, paused: bool) {
        if self.instant_has_come() {
            self.since = HAS_COME;
        }
        if !paused {
            self.hold_if_blocked();
        }
    }

    fn hold_if_blocked(&mut self) {
        if self.since == HAS_COME && self.schedule().is_some_and(Schedule::is_blocked) {
            self.since = IS_HELD;
        }
    }

    /// A schedule as one that sets it anew has to have seen it.
    pub(crate) fn as_before(&self) -> Option<ScheduleBefore> {
        let schedule = self.schedule()?;
        Some(ScheduleBefore { schedule: self.id, version: schedule.version, next: self.next_instant() })
    }

    /// The next instant of a schedule; `None` if there is none any more.
    pub(crate) fn next_instant(&self) -> Option<Millis> {
        self.schedule().filter(|schedule| !schedule.is_over).map(|_| Millis(self.due_at))
    }

    /// True if the leader is to fire this schedule.
    pub(crate) fn is_to_fire(&self) -> bool {
        self.instant_has_come()
            && self.schedule().is_some_and(|schedule| schedule.paused.is_none() && !schedule.is_blocked())
    }

    /// An estimate of the memory that the schedule takes beside the slab, in bytes.
    pub(crate) fn schedule_bytes(&self) -> usize {
        /// The allocator's overhead.
        const ALLOCATION_BYTES: usize = 16;
        self.of_schedule().map_or(0, |_| {
            let of_schedule = self.schedule().map_or(0, |schedule| {
                schedule.history.capacity() * size_of::<Firing>() + schedule.pause_note.len()
            });
            size_of::<JobExtras>() + size_of::<OfSchedule>() + 2 * ALLOCATION_BYTES + of_schedule
        })
    }
}
