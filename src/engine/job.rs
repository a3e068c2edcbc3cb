//! A job: what the state knows of it, and what that means.

use super::clock::{Moment, Timeline};
use super::defaults::DefaultsNumber;
use super::held::Held;
use super::retry::Retry;
use super::store::BodyRef;
use crate::types::{BuryReason, JobId, JobState, TopicId};

/// Stands in [`Job::since`] of a delayed job that was late and became due anew: that happens once.
pub(super) const DUE_ANEW: u64 = 1;

/// Set in [`Job::since`] of a delayed job that waits for [two times](Job::also_due): the rest of it is the second one. No time is
/// as large.
const ALSO_DUE: u64 = 1 << 63;

/// The 128-bit keyed hash of a topic and a key.
pub(super) type KeyHash = u128;

/// What the state knows of a job.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) id: JobId,
    /// When it is, or was, [due](Self::due).
    pub(super) due_at: u64,
    /// Ready: its [place](Job::set_ready) in the order, as a stamp. Reserved: the deadline, as a stamp. Finished: when that was,
    /// as a stamp. Delayed or buried: [`DUE_ANEW`], or see [`Job::held_until`] and [`Job::also_due`].
    pub(super) since: u64,
    pub(super) topic: TopicId,
    pub(super) priority: u32,
    pub(super) ttr_ms: u32,
    pub(super) attempts: u32,
    /// How often it was changed so far.
    pub(super) changes: u32,
    pub(super) body: BodyRef,
    /// On which timeline `due_at` lies.
    pub(super) due_timeline: Timeline,
    pub(super) state: JobState,
    /// Why it is buried; means nothing in another state.
    pub(super) buried: BuryReason,
    /// The queue's defaults when it was pushed.
    pub(super) defaults: DefaultsNumber,
    /// When it was pushed, as a stamp; 0 of a [placeholder](super::SavedJob::stand_in), of which it is not known.
    pub(super) pushed_at: u64,
    /// What most jobs do not have.
    pub(super) extras: Option<Box<JobExtras>>,
}

/// What most jobs do not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JobExtras {
    key_hash: Option<[u64; 2]>,
    retry: Option<Box<Retry>>,
    pub(super) held: Option<Box<Held>>,
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
        let [low, high] = self.extras.as_ref()?.key_hash?;
        Some(u128::from(low) | u128::from(high) << 64)
    }

    /// Nothing stays allocated that is as it would be without.
    pub(super) fn set_key_hash(&mut self, key_hash: Option<KeyHash>) {
        let mut extras = self.extras.take().unwrap_or_default();
        extras.key_hash = key_hash.map(halves);
        self.extras = (*extras != JobExtras::default()).then_some(extras);
    }

    /// What its attributes say of retries and expiry.
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

    /// It has other attributes from now on, which say this.
    pub(super) fn set_retry(&mut self, retry: Option<Retry>) {
        let mut extras = self.extras.take().unwrap_or_default();
        extras.retry = retry.map(Box::new);
        self.extras = (*extras != JobExtras::default()).then_some(extras);
    }

    /// When it expires.
    pub(super) fn expires(&self) -> Option<Moment> {
        self.retry()?.expires
    }

    /// The time that the wall clock had reached when the job came to where it is. If the clock is set back behind that, the job goes
    /// back as well.
    pub(super) fn reached_wall(&self) -> Option<u64> {
        let reached = match self.state {
            JobState::Ready => Some(self.due()),
            JobState::Delayed if self.held_until().is_some() => self.expires(),
            _ => None,
        };
        reached.filter(|moment| moment.timeline == Timeline::Wall).map(|moment| moment.at)
    }

    /// It has expired by a wall clock that was set forward, and is ended at this stamp if the clock has not been set back by then.
    pub(super) fn held_until(&self) -> Option<u64> {
        let is_waiting = matches!(self.state, JobState::Delayed | JobState::Buried);
        (is_waiting && self.since > DUE_ANEW && self.since & ALSO_DUE == 0).then_some(self.since)
    }

    /// A delayed job is ready when this time has come as well as its due time. It is on the other timeline: the clock was set back
    /// after the job was granted, so that its due time lies ahead again, and then it was put off.
    pub(super) fn also_due(&self) -> Option<Moment> {
        let is_both = self.state == JobState::Delayed && self.since & ALSO_DUE != 0;
        is_both.then(|| Moment { timeline: self.due_timeline.other(), at: self.since & !ALSO_DUE })
    }

    pub(super) fn set_also_due(&mut self, at: u64) {
        self.since = at | ALSO_DUE;
    }

    /// What a delayed job waits for: its due time, or an earlier expiry.
    pub(super) fn waits_for(&self) -> Moment {
        // Across the two timelines which of them comes first may change: then it is the due time, and expiry is looked
        // at when that comes.
        match self.expires() {
            Some(expires) if expires.timeline == self.due_timeline && expires.at < self.due_at => expires,
            _ => self.due(),
        }
    }

    /// The one timer that its state asks for.
    pub(super) fn timer(&self) -> Option<Moment> {
        let by_stamp = |at| Some(Moment { timeline: Timeline::Stamp, at });
        match self.state {
            JobState::Reserved => by_stamp(self.since),
            JobState::Finished => by_stamp(self.since.saturating_add(self.retention_ms())),
            JobState::Delayed | JobState::Buried if self.held_until().is_some() => by_stamp(self.since),
            JobState::Ready | JobState::Buried => self.expires(),
            JobState::Delayed => Some(self.waits_for()),
        }
    }
}

impl JobExtras {
    /// Nothing is allocated for a job that has neither.
    pub(super) fn new(key_hash: Option<KeyHash>, retry: Option<Retry>) -> Option<Box<Self>> {
        if key_hash.is_none() && retry.is_none() {
            return None;
        }
        Some(Box::new(Self { key_hash: key_hash.map(halves), retry: retry.map(Box::new), ..Self::default() }))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves")]
fn halves(key_hash: KeyHash) -> [u64; 2] {
    [key_hash as u64, (key_hash >> 64) as u64]
}
