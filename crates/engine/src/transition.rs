//! The only code that moves a job between states, orders, timers and sums.

use super::Engine;
use super::clock::{Clock, Moment, Timeline};
use super::events::JobEventKind;
use super::job::{DUE_ANEW, Job, KeyHash};
use super::jobs::Slot;
use adjourn_types::limits::DUE_PER_ENTRY_MAX;
use adjourn_types::{BuryReason, Fence, JobEnd, JobState, Millis, SessionId, TopicId};

impl Engine {
    /// Changes a job: removes it from the structures that its old state needs, and adds it to those that its new state
    /// needs.
    pub(super) fn change(&mut self, slot: Slot, change: impl FnOnce(&mut Job)) {
        let before = self.events.before_change(&self.jobs[slot], self.clock);
        self.change_unnoted(slot, change);
        self.events.note_change(before, &self.jobs[slot], self.clock, &self.topics);
    }

    /// As [`Self::change`], but without an event.
    pub(super) fn change_unnoted(&mut self, slot: Slot, change: impl FnOnce(&mut Job)) {
        self.leave(slot);
        self.jobs.change(slot, change);
        self.enter(slot);
    }

    /// Moves a job that is not reserved to another topic, under this hash of its key there, which no job has. With `None`
    /// it is no longer found by its key, which may then be used again in both topics. It counts as deleted from one topic
    /// and as pushed to the other, so that the counters of each topic add up.
    pub(super) fn move_job(&mut self, slot: Slot, topic: TopicId, key_hash: Option<KeyHash>) {
        debug_assert!(self.jobs[slot].state != JobState::Reserved, "its consumer has a lease on it");
        // A finished job was counted as finished in its old topic.
        if self.jobs[slot].state != JobState::Finished {
            self.topics.totals(self.jobs[slot].topic).deleted += 1;
            self.topics.totals(topic).pushed += 1;
        }
        self.note(slot, JobEventKind::Moved);
        self.leave(slot);
        self.jobs.set_topic(slot, topic, key_hash);
        self.enter(slot);
        self.note(slot, JobEventKind::Moved);
    }

    /// Notes an event of an existing job.
    pub(super) fn note(&mut self, slot: Slot, kind: JobEventKind) {
        self.events.note(kind, &self.jobs[slot], self.clock, &self.topics);
    }

    /// Notes the event that ended a job.
    pub(super) fn note_end(&mut self, job: &Job, kind: JobEventKind) {
        self.events.note(kind, job, self.clock, &self.topics);
    }

    /// Adds a job to the structures that its state needs.
    pub(super) fn enter(&mut self, slot: Slot) {
        self.changes += 1;
        let job = &self.jobs[slot];
        self.topics.enter(slot, job);
        self.timers.enter(slot, job);
        if job.holder() != SessionId::NONE
            && let Some(session) = self.sessions.holder(job.holder())
        {
            session.leases.insert((job.id, slot));
        }
        self.sum.add(job.hash());
    }

    /// Makes a job wait for its due time, or for a consumer if it is due: at the place of its due time.
    pub(super) fn make_wait(&mut self, slot: Slot) {
        let clock = self.clock;
        self.change(slot, |job| job.set_waiting(clock));
    }

    /// Follows a wall clock that was set back. Ready jobs that are not due any more wait again, and so do jobs that were
    /// held as expired: the latest first, a bounded number of them. The next entries move the rest; until then no reserve
    /// grants those.
    pub(super) fn turn_back(&mut self) {
        for _ in 0..DUE_PER_ENTRY_MAX {
            let Some(slot) = self.timers.too_far(self.clock) else { return };
            self.put_away(slot);
        }
    }

    /// Makes a job wait that may not be delivered by the current wall clock, or a schedule. An expired one is held until it has surely
    /// expired.
    pub(super) fn put_away(&mut self, slot: Slot) {
        if self.jobs[slot].state == JobState::Scheduled {
            return self.change(slot, |job| job.set_instant_has_come(false));
        }
        let (clock, job) = (self.clock, &self.jobs[slot]);
        let Some(expires) = job.expires().filter(|_| job.is_expired(self.clock)) else {
            return self.make_wait(slot);
        };
        let until = clock.sure_at(expires).max(DUE_ANEW + 1);
        self.change(slot, |job| {
            if job.state != JobState::Buried {
                // Of its two times, only the one on the wall clock can be ahead again.
                let also = job.also_due().filter(|also| also.timeline == Timeline::Wall);
                job.set_delayed(also.unwrap_or(job.due()));
            }
            job.since = until;
        });
    }

    /// Makes a job ready whose attempt failed: due now, behind all jobs that are ready by now. If the wall clock was set
    /// back before its due time, it waits.
    pub(super) fn make_wait_again(&mut self, slot: Slot) {
        if !self.clock.reached(self.jobs[slot].due()) {
            return self.make_wait(slot);
        }
        let now = self.clock.later(0);
        self.change(slot, |job| {
            job.set_due(now);
            job.set_ready(i128::from(now.at) + 1);
        });
    }

    /// A job of a schedule has ended: the schedule notes how, and the job is none of its jobs any more. Does nothing for
    /// other jobs.
    pub(super) fn leave_schedule(&mut self, slot: Slot, how: JobEnd) {
        let (id, schedule) = (self.jobs[slot].id, self.jobs[slot].runs_for());
        let Some(schedule) = schedule else { return };
        self.change_unnoted(slot, |job| job.set_of_schedule(None));
        if let Some(slot) = self.jobs.resident(schedule)
            && self.jobs[slot].state == JobState::Scheduled
        {
            self.change_unnoted(slot, |job| job.change_schedule(|schedule| schedule.note_end(id, how)));
        }
    }

    /// Removes a job from the state.
    pub(super) fn remove(&mut self, slot: Slot) -> Job {
        self.changes += 1;
        self.leave(slot);
        self.topics.refresh_groups();
        self.jobs.remove(slot)
    }

    /// Removes a job from the structures that its state needs.
    fn leave(&mut self, slot: Slot) {
        let job = &self.jobs[slot];
        self.sum.subtract(job.hash());
        if job.holder() != SessionId::NONE
            && let Some(session) = self.sessions.holder(job.holder())
        {
            session.leases.remove(&(job.id, slot));
        }
        self.timers.leave(slot, job);
        self.topics.leave(slot, job);
    }
}

impl Job {
    /// True if it has expired by the current wall clock, which may be wrong: it is not delivered meanwhile.
    pub(super) fn is_expired(&self, clock: Clock) -> bool {
        self.expires().is_some_and(|expires| clock.reached(expires))
    }

    /// Delayed until it is due, or ready if it is due already.
    pub(super) fn set_waiting(&mut self, clock: Clock) {
        let due = self.due();
        if clock.reached(due) { self.set_ready(clock.as_stamp(due)) } else { self.set_delayed(due) }
    }

    /// Delays it for `wait_ms` milliseconds. If its due time is ahead again, because the wall clock was set back since it
    /// was granted, it also waits for that.
    pub(super) fn put_off(&mut self, clock: Clock, wait_ms: u64) {
        let (due, later) = (self.due(), clock.later(wait_ms));
        self.set_delayed(later);
        if !clock.reached(due) {
            self.set_also_due(due.at);
            self.wait_for_later(clock);
        }
    }

    /// If it waits for two times, makes the one that is later by the current clock its due time.
    pub(super) fn wait_for_later(&mut self, clock: Clock) {
        if let Some(also) = self.also_due().filter(|also| clock.as_stamp(*also) > clock.as_stamp(self.due()))
        {
            let due = self.due();
            self.set_due(also);
            self.set_also_due(due.at);
        }
    }

    /// Makes it ready at this place: jobs of equal topic and priority are reserved in the order of these stamps. A negative
    /// place counts as 0.
    ///
    /// A job's place is its due time. So a failed job gets the place of its next attempt, and one whose work was not begun
    /// gets its old place back. A retry without a wait comes after all jobs that were due by then.
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

    /// Marks it as finished at this stamp, and remembered for `retention_ms`.
    pub(super) fn set_finished(&mut self, stamp: Millis, retention_ms: u64) {
        self.end_lease();
        (self.state, self.since) = (JobState::Finished, stamp.0);
        self.set_retention(retention_ms);
    }

    /// Resets the fields that do not describe the new state, so that equal states have equal records.
    fn end_lease(&mut self) {
        self.since = 0;
        self.set_lease(Fence::default(), SessionId::default());
        self.buried = BuryReason::Consumer;
    }
}
