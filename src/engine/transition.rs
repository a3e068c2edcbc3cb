//! The only place that moves a job between states, orders, timers and sums.

use super::Engine;
use super::clock::{Clock, Moment, Timeline};
use super::events::JobEventKind;
use super::hash;
use super::job::{DUE_ANEW, Job};
use super::jobs::Slot;
use super::store::JobStore;
use crate::types::limits::{DUE_BYTES_PER_ENTRY_MAX, DUE_PER_ENTRY_MAX};
use crate::types::{BuryReason, Fence, JobState, Lease, Millis, SessionId};

/// The number and size of the due jobs that one entry has moved so far.
#[derive(Debug, Default)]
pub(super) struct Moved {
    jobs: usize,
    /// Of their bodies.
    bytes: u64,
}

impl Moved {
    /// This job moves, too.
    pub(super) fn add(&mut self, job: &Job) {
        self.jobs += 1;
        self.bytes += u64::from(job.body.body_bytes);
    }

    /// Whether the rest is for the entries behind it.
    pub(super) fn is_enough(&self) -> bool {
        self.jobs >= DUE_PER_ENTRY_MAX || self.bytes >= DUE_BYTES_PER_ENTRY_MAX
    }
}

impl Engine {
    /// Changes a job: takes it out of everything that its state asked for, and puts it into what its new one asks
    /// for.
    pub(super) fn change(&mut self, slot: Slot, change: impl FnOnce(&mut Job)) {
        let before = self.before_change(slot);
        self.change_unnoted(slot, change);
        self.note_change(slot, before);
    }

    /// As [`Self::change`], for one that is no event by itself.
    pub(super) fn change_unnoted(&mut self, slot: Slot, change: impl FnOnce(&mut Job)) {
        self.leave(slot);
        self.jobs.change(slot, change);
        self.enter(slot);
    }

    /// Puts a job into what its state asks for.
    pub(super) fn enter(&mut self, slot: Slot) {
        self.changes += 1;
        let job = &self.jobs[slot];
        self.topics.enter(slot, job);
        self.timers.enter(slot, job);
        if job.holder() != SessionId(0)
            && let Some(session) = self.sessions.holder(job.holder())
        {
            session.leases.insert((job.id, slot));
        }
        self.sum.add(hash::of_job(job));
    }

    /// Makes a job wait for its due time, or for a consumer if that has come: in the place of its due time.
    pub(super) fn make_wait(&mut self, slot: Slot) {
        let clock = self.clock;
        self.change(slot, |job| job.set_waiting(clock));
    }

    /// The wall clock was set back. Ready jobs that are not due any more wait again, and so do jobs that were held as expired: the
    /// latest first, a bounded number of them. The entries after this one move the rest, and until then no reserve grants one.
    pub(super) fn turn_back(&mut self) {
        for _ in 0..DUE_PER_ENTRY_MAX {
            let Some(slot) = self.timers.too_far(self.clock) else { return };
            self.put_away(slot);
        }
    }

    /// Makes a job wait that is not for delivery by the wall clock as it is now. One that has expired by it is held, until it
    /// has expired for sure.
    pub(super) fn put_away(&mut self, slot: Slot) {
        let (clock, job) = (self.clock, &self.jobs[slot]);
        let Some(expires) = job.expires().filter(|_| self.is_expired(job)) else {
            return self.make_wait(slot);
        };
        let until = clock.sure_at(expires).max(DUE_ANEW + 1);
        self.change(slot, |job| {
            if job.state != JobState::Buried {
                // Of two times only the one on the wall clock can lie ahead again.
                let also = job.also_due().filter(|also| also.timeline == Timeline::Wall);
                job.set_delayed(also.unwrap_or(job.due()));
            }
            job.since = until;
        });
    }

    /// Makes a job ready whose attempt failed: due now, and behind all that is ready by now. It waits if its due time lies ahead, as
    /// the wall clock was set back.
    fn make_wait_again(&mut self, slot: Slot) {
        if !self.clock.reached(self.jobs[slot].due()) {
            return self.make_wait(slot);
        }
        let now = self.clock.later(0);
        self.change(slot, |job| {
            job.set_due(now);
            job.set_ready(i128::from(now.at) + 1);
        });
    }

    /// Ends a job: it is gone, whatever its state was.
    pub(super) fn end(&mut self, slot: Slot, store: &mut impl JobStore) -> Job {
        self.changes += 1;
        self.leave(slot);
        let job = self.jobs.remove(slot);
        store.forget(job.body);
        job
    }

    /// Ends a job that is deleted or replaced. One that is finished is counted already.
    pub(super) fn remove(&mut self, slot: Slot, store: &mut impl JobStore) -> Job {
        let job = self.end(slot, store);
        if job.state != JobState::Finished {
            self.topics.totals(job.topic).deleted += 1;
            self.note_end(&job, JobEventKind::Deleted);
        }
        job
    }

    /// Ends a job if it has expired for sure. Whether it did.
    pub(super) fn drop_expired(&mut self, slot: Slot, store: &mut impl JobStore) -> bool {
        let clock = self.clock;
        let is_over = self.jobs[slot].expires().is_some_and(|expires| clock.surely_reached(expires));
        if is_over {
            self.expire(slot, store);
        }
        is_over
    }

    /// Ends a job that nobody is to have any more.
    pub(super) fn expire(&mut self, slot: Slot, store: &mut impl JobStore) {
        let job = self.end(slot, store);
        self.topics.totals(job.topic).expired += 1;
        self.note_end(&job, JobEventKind::Expired);
    }

    /// Whether it has expired by the wall clock as it is now, which may be wrong: nobody is to have it meanwhile.
    pub(super) fn is_expired(&self, job: &Job) -> bool {
        job.expires().is_some_and(|expires| self.clock.reached(expires))
    }

    /// A job's timer fires.
    pub(super) fn fire(&mut self, slot: Slot, store: &mut impl JobStore, ended: &mut Vec<Lease>) {
        let job = &self.jobs[slot];
        if job.state == JobState::Reserved {
            ended.push(Lease { job: job.id, fence: job.fence() });
            self.fail_attempt(slot, None, store);
        } else if job.state == JobState::Finished {
            self.end(slot, store);
        } else if self.drop_expired(slot, store) {
            // Nobody is to have it any more.
        } else if self.jobs[slot].also_due().is_some_and(|also| !self.clock.reached(also)) {
            let clock = self.clock;
            self.change(slot, |job| job.wait_for_later(clock));
        } else if self.is_expired(&self.jobs[slot]) {
            self.put_away(slot);
        } else if self.jobs[slot].state == JobState::Buried {
            // It was held as expired, and is not any more.
            self.change(slot, |job| job.since = 0);
        } else {
            let verdict = self.when_due(slot);
            if !self.carry_out_verdict(slot, verdict, store) {
                self.make_wait(slot);
            }
        }
    }

    /// The attempt on a reserved job failed: it is tried again after `delay_ms`, which `None` leaves to its
    /// backoff, or set aside when no attempt is left.
    pub(super) fn fail_attempt(&mut self, slot: Slot, delay_ms: Option<u64>, store: &mut impl JobStore) {
        if self.drop_expired(slot, store) {
            return;
        }
        match self.after_failure(&self.jobs[slot], delay_ms) {
            AfterFailure::Bury => self.bury_job(slot, BuryReason::AttemptsUsedUp),
            AfterFailure::Retry => self.make_wait_again(slot),
            AfterFailure::Wait(wait_ms) => {
                let clock = self.clock;
                self.change(slot, |job| job.put_off(clock, wait_ms));
            }
        }
    }

    /// What becomes of a reserved job that is not expired when its attempt fails now.
    pub(super) fn after_failure(&self, job: &Job, delay_ms: Option<u64>) -> AfterFailure {
        if self.attempts_max(job).is_some_and(|attempts_max| job.attempts >= attempts_max) {
            return AfterFailure::Bury;
        }
        match delay_ms.unwrap_or_else(|| self.backoff_ms(job)) {
            0 => AfterFailure::Retry,
            wait_ms => AfterFailure::Wait(wait_ms),
        }
    }

    /// Takes a job out of everything that its state asked for.
    pub(super) fn leave(&mut self, slot: Slot) {
        let job = &self.jobs[slot];
        self.sum.subtract(hash::of_job(job));
        if job.holder() != SessionId(0)
            && let Some(session) = self.sessions.holder(job.holder())
        {
            session.leases.remove(&(job.id, slot));
        }
        self.timers.leave(slot, job);
        self.topics.leave(slot, job);
    }
}

/// What becomes of a job whose attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterFailure {
    /// No attempt is left.
    Bury,
    /// It is ready at once, behind the others; or when it is due.
    Retry,
    /// It is delayed for so many milliseconds.
    Wait(u64),
}

impl Job {
    /// Delayed until it is due, or ready if it is by now.
    pub(super) fn set_waiting(&mut self, clock: Clock) {
        let due = self.due();
        if clock.reached(due) { self.set_ready(clock.as_stamp(due)) } else { self.set_delayed(due) }
    }

    /// Delayed for this long, in milliseconds; and until it is due, if that lies ahead as the wall clock was set back since it was
    /// granted.
    pub(super) fn put_off(&mut self, clock: Clock, wait_ms: u64) {
        let (due, later) = (self.due(), clock.later(wait_ms));
        self.set_delayed(later);
        if !clock.reached(due) {
            self.set_also_due(due.at);
            self.wait_for_later(clock);
        }
    }

    /// Of two times that it waits for, its due time is the one that comes later by the clock as it is now.
    fn wait_for_later(&mut self, clock: Clock) {
        if let Some(also) = self.also_due().filter(|also| clock.as_stamp(*also) > clock.as_stamp(self.due()))
        {
            let due = self.due();
            self.set_due(also);
            self.set_also_due(due.at);
        }
    }

    /// Ready, in this place: jobs of a topic and a priority are reserved in the order of these stamps, which may lie before the
    /// first there is.
    ///
    /// A job's place is its due time. So a job that failed stands in the place of its next attempt, and one whose work was not
    /// begun in its old one. A retry without a wait comes behind all that was due by then.
    pub(super) fn set_ready(&mut self, since: i128) {
        self.end_lease();
        self.state = JobState::Ready;
        self.since = u64::try_from(since.max(0)).unwrap_or(u64::MAX);
    }

    pub(super) fn set_delayed(&mut self, due: Moment) {
        self.end_lease();
        self.state = JobState::Delayed;
        self.set_due(due);
    }

    pub(super) fn set_buried(&mut self, reason: BuryReason) {
        self.end_lease();
        (self.state, self.buried) = (JobState::Buried, reason);
    }

    /// Done at this stamp, and remembered for `retention_ms`.
    pub(super) fn set_finished(&mut self, stamp: Millis, retention_ms: u64) {
        self.end_lease();
        (self.state, self.since) = (JobState::Finished, stamp.0);
        self.set_retention(retention_ms);
    }

    /// What does not describe the new state is zero: equal states have equal records.
    fn end_lease(&mut self) {
        self.since = 0;
        self.set_lease(Fence::default(), SessionId::default());
        self.buried = BuryReason::Consumer;
    }
}
