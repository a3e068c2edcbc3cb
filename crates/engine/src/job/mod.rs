//! A job: its fields in the state, and how they are read.

mod hash;
pub(crate) mod held;
pub(crate) mod in_group;
pub(crate) mod retry;
pub(crate) mod saved;
pub(crate) mod schedule;

use std::num::NonZeroU128;

use crate::clock::{Moment, Timeline};
use crate::place::BodyRef;
use adjourn_types::{BuryReason, JobId, JobState, TopicId};
use held::Held;
use in_group::InGroup;
use retry::Retry;
use schedule::OfSchedule;

/// The number of a set of defaults in a job; 0 for [`RetryDefaults::NONE`](adjourn_types::RetryDefaults::NONE).
pub(crate) type DefaultsNumber = u8;

/// The value of [`Job::since`] of a delayed job that was late and got a new due time: that happens once.
pub(super) const DUE_ANEW: u64 = 1;

/// A flag in [`Job::since`] of a delayed job that waits for [two times](Job::also_due); the other bits are the second time.
/// No time is that large.
const ALSO_DUE: u64 = 1 << 63;

/// The 128-bit keyed hash of a topic and a key. It is never 0, so that an `Option` of it is no larger.
pub(super) type KeyHash = NonZeroU128;

/// A job in the state, without its record.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) id: JobId,
    /// When it is, or was, due: see [`Job::due`].
    pub(super) due_at: u64,
    /// Ready: its [place](Job::set_ready) in the order, as a stamp. Reserved: the deadline, as a stamp. Finished: the time
    /// of the finish, as a stamp. Delayed or buried: 0, [`DUE_ANEW`], or see [`Job::held_until`] and [`Job::also_due`]. Scheduled: see
    /// [`Job::instant_has_come`].
    pub(super) since: u64,
    pub(super) topic: TopicId,
    pub(super) priority: u32,
    pub(super) ttr_ms: u32,
    pub(super) attempts: u32,
    /// Counts its changes.
    pub(super) changes: u32,
    pub(super) body: BodyRef,
    /// The timeline of `due_at`.
    pub(super) due_timeline: Timeline,
    pub(super) state: JobState,
    /// Why it is buried; meaningless in other states.
    pub(super) buried: BuryReason,
    /// The number of the queue's retry defaults at its push.
    pub(super) defaults: DefaultsNumber,
    /// When it was pushed, as a stamp; 0 for a [placeholder](super::SavedJob::stand_in), whose push is not known.
    pub(super) pushed_at: u64,
    /// Fields that most jobs do not need.
    pub(super) extras: Option<Box<JobExtras>>,
}

/// Fields that most jobs do not need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JobExtras {
    key_hash: Option<KeyHash>,
    retry: Option<Box<Retry>>,
    pub(super) held: Option<Box<Held>>,
    of_schedule: Option<Box<OfSchedule>>,
    in_group: Option<Box<InGroup>>,
}

impl Job {
    /// When it is, or was, due.
    pub(super) fn due(&self) -> Moment {
        Moment { timeline: self.due_timeline, at: self.due_at }
    }

    pub(super) fn set_due(&mut self, due: Moment) {
        (self.due_timeline, self.due_at) = (due.timeline, due.at);
    }

    /// The hash of its key.
    pub(super) fn key_hash(&self) -> Option<KeyHash> {
        self.extras.as_ref()?.key_hash
    }

    /// Frees the extras if they are back at their default.
    pub(super) fn set_key_hash(&mut self, key_hash: Option<KeyHash>) {
        let mut extras = self.extras.take().unwrap_or_default();
        extras.key_hash = key_hash;
        self.extras = (*extras != JobExtras::default()).then_some(extras);
    }

    /// Its retry and expiry settings.
    pub(super) fn retry(&self) -> Option<&Retry> {
        self.extras.as_ref()?.retry.as_deref()
    }

    /// How long it is remembered after it was finished, in milliseconds; 0 for not at all.
    pub(super) fn retention_ms(&self) -> u64 {
        self.retry().map_or(0, |retry| retry.retention_ms)
    }

    pub(super) fn set_retention(&mut self, retention_ms: u64) {
        if self.retention_ms() != retention_ms {
            let mut retry = self.retry().cloned().unwrap_or_default();
            retry.retention_ms = retention_ms;
            self.set_retry(Some(retry));
        }
    }

    /// Sets the retry and expiry settings of its new attributes.
    pub(super) fn set_retry(&mut self, retry: Option<Retry>) {
        let mut extras = self.extras.take().unwrap_or_default();
        extras.retry = retry.map(Box::new);
        self.extras = (*extras != JobExtras::default()).then_some(extras);
    }

    /// When it expires.
    pub(super) fn expires(&self) -> Option<Moment> {
        self.retry()?.expires
    }

    /// The wall-clock time that the job's state rests on. If the clock is set back before it, the job goes back to waiting.
    pub(super) fn reached_wall(&self) -> Option<u64> {
        let reached = match self.state {
            JobState::Ready => Some(self.due()),
            JobState::Delayed if self.held_until().is_some() => self.expires(),
            JobState::Scheduled if self.instant_has_come() => Some(self.due()),
            _ => None,
        };
        reached.filter(|moment| moment.timeline == Timeline::Wall).map(|moment| moment.at)
    }

    /// Set if it expired only by a wall clock that was set forward: it is dropped at this stamp if the clock is not set
    /// back by then.
    pub(super) fn held_until(&self) -> Option<u64> {
        let is_waiting = matches!(self.state, JobState::Delayed | JobState::Buried);
        (is_waiting && self.since > DUE_ANEW && self.since & ALSO_DUE == 0).then_some(self.since)
    }

    /// The second time that a delayed job waits for, on the other timeline. It has one if the wall clock was set back after
    /// it was granted, so that its due time is ahead again, and it was then put off.
    pub(super) fn also_due(&self) -> Option<Moment> {
        let is_both = self.state == JobState::Delayed && self.since & ALSO_DUE != 0;
        is_both.then(|| Moment { timeline: self.due_timeline.other(), at: self.since & !ALSO_DUE })
    }

    pub(super) fn set_also_due(&mut self, at: u64) {
        self.since = at | ALSO_DUE;
    }

    /// What a delayed job waits for: its due time, or an earlier expiry.
    pub(super) fn waits_for(&self) -> Moment {
        // On different timelines the order can change: then it waits for the due time, and the expiry is checked when that
        // comes.
        match self.expires() {
            Some(expires) if expires.timeline == self.due_timeline && expires.at < self.due_at => expires,
            _ => self.due(),
        }
    }

    /// Its timer, which depends on its state.
    pub(super) fn timer(&self) -> Option<Moment> {
        let by_stamp = |at| Some(Moment { timeline: Timeline::Stamp, at });
        match self.state {
            JobState::Reserved => by_stamp(self.since),
            JobState::Finished => by_stamp(self.since.saturating_add(self.retention_ms())),
            JobState::Delayed | JobState::Buried if self.held_until().is_some() => by_stamp(self.since),
            JobState::Ready | JobState::Buried => self.expires(),
            JobState::Delayed => Some(self.waits_for()),
            JobState::Scheduled => self.waits_for_instant().then(|| self.due()),
        }
    }

    /// True if nothing but its timer, or a command that names it, changes it while it waits: then it may wait on disk. A
    /// schedule and its jobs change each other, and so do a job that holds its group's place and those behind it: they
    /// stay in memory.
    pub(super) fn may_spill(&self) -> bool {
        self.state == JobState::Delayed
            && self.held_until().is_none()
            && self.runs_for().is_none()
            && !self.holds_place()
    }
}

impl JobExtras {
    /// Allocates nothing for a job that has neither.
    pub(super) fn new(key_hash: Option<KeyHash>, retry: Option<Retry>) -> Option<Box<Self>> {
        if key_hash.is_none() && retry.is_none() {
            return None;
        }
        Some(Box::new(Self { key_hash, retry: retry.map(Box::new), ..Self::default() }))
    }
}
