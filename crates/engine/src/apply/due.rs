//! Timers that fire, attempts that fail, and jobs that end.

use std::sync::Arc;

use super::Applier;
use crate::defaults::AfterFailure;
use crate::events::JobEventKind;
use crate::job::{DUE_ANEW, Job};
use crate::jobs::Slot;
use crate::store::JobStore;
use crate::timers::moved::Moved;
use crate::topics::policy::Verdict;
use adjourn_types::limits::DUE_PER_ENTRY_MAX;
use adjourn_types::{BuryReason, JobEnd, JobState, TopicId};

const INSTANTS_PER_MS: u64 = 32;
const INSTANTS_PER_ENTRY_MIN: u64 = 128;

/// Most schedules whose instant comes with an entry that was made this long after the one before. Very many of one instant leave
/// room for the jobs that are due behind it; where entries are far apart, because the disk is slow, each takes more.
fn instants_per_entry(elapsed_ms: u64) -> u64 {
    elapsed_ms.saturating_mul(INSTANTS_PER_MS).clamp(INSTANTS_PER_ENTRY_MIN, DUE_PER_ENTRY_MAX as u64)
}

impl<S: JobStore> Applier<'_, S> {
    /// Fires the timers that are due, up to the limits of one entry: those of jobs, then those of schedules. The entry before was made
    /// this long ago.
    pub(super) fn move_due(&mut self, elapsed_ms: u64) -> Result<(), S::Error> {
        let mut moved = Moved::default();
        while !moved.is_enough() {
            let Some(slot) = self.engine.first_due(self.store)? else { break };
            moved.add(&self.engine.jobs[slot]);
            self.fire(slot);
        }
        for _ in 0..instants_per_entry(elapsed_ms) {
            let Some(slot) = self.engine.timers.first_instant(self.engine.clock) else { break };
            self.engine.change(slot, |job| job.set_instant_has_come(true));
        }
        Ok(())
    }

    /// Fires a job's timer.
    fn fire(&mut self, slot: Slot) {
        let job = &self.engine.jobs[slot];
        if job.state == JobState::Reserved {
            self.applied.ended.push(job.lease());
            self.fail_attempt(slot, None);
        } else if job.state == JobState::Finished {
            self.end(slot, JobEnd::Finished);
        } else if self.drop_expired(slot) {
            // It is not delivered any more.
        } else if self.engine.jobs[slot].also_due().is_some_and(|also| !self.engine.clock.reached(also)) {
            let clock = self.engine.clock;
            self.engine.change(slot, |job| job.wait_for_later(clock));
        } else if self.engine.jobs[slot].is_expired(self.engine.clock) {
            self.engine.put_away(slot);
        } else if self.engine.jobs[slot].state == JobState::Buried {
            // It was held as expired; the wall clock was set back since.
            self.engine.change(slot, |job| job.since = 0);
        } else {
            let verdict = self.engine.topics.when_due(&self.engine.jobs[slot], self.engine.clock);
            if !self.carry_out_verdict(slot, verdict) {
                self.engine.make_wait(slot);
            }
        }
    }

    /// Ends a failed attempt: the job is retried after `delay_ms` (`None`: after its backoff), or set aside if it has no
    /// attempt left.
    pub(super) fn fail_attempt(&mut self, slot: Slot, delay_ms: Option<u64>) {
        if self.drop_expired(slot) {
            return;
        }
        match self.engine.defaults.after_failure(&self.engine.jobs[slot], delay_ms) {
            AfterFailure::Bury => self.bury_job(slot, BuryReason::AttemptsUsedUp),
            AfterFailure::Retry => self.engine.make_wait_again(slot),
            AfterFailure::Wait(wait_ms) => {
                let clock = self.engine.clock;
                self.engine.change(slot, |job| job.put_off(clock, wait_ms));
            }
        }
    }

    /// Removes a job in any state, or a schedule.
    pub(super) fn end(&mut self, slot: Slot, how: JobEnd) -> Job {
        self.engine.leave_schedule(slot, how);
        let job = self.engine.remove(slot);
        self.store.forget(job.body);
        job
    }

    /// Removes a job that is deleted or replaced, and ends a lease on it. A finished job was counted as finished before.
    pub(super) fn remove(&mut self, slot: Slot) {
        let job = self.end(slot, JobEnd::Deleted);
        if job.state != JobState::Finished {
            self.engine.topics.totals(job.topic).deleted += 1;
            self.engine.note_end(&job, JobEventKind::Deleted);
        }
        if job.state == JobState::Reserved {
            self.applied.ended.push(job.lease());
        }
    }

    /// Drops a job that has surely expired. Returns true if it did.
    pub(super) fn drop_expired(&mut self, slot: Slot) -> bool {
        let clock = self.engine.clock;
        let is_over = self.engine.jobs[slot].expires().is_some_and(|expires| clock.surely_reached(expires));
        if is_over {
            self.expire(slot);
        }
        is_over
    }

    /// Drops an expired or late job.
    fn expire(&mut self, slot: Slot) {
        let job = self.end(slot, JobEnd::Expired);
        self.engine.topics.totals(job.topic).expired += 1;
        self.engine.note_end(&job, JobEventKind::Expired);
    }

    /// Carries out the topic's action for a late job. Returns true if the job is not to be delivered now.
    pub(super) fn carry_out_verdict(&mut self, slot: Slot, verdict: Verdict) -> bool {
        match verdict {
            Verdict::InTime => return false,
            Verdict::Later(due) => self.engine.change(slot, |job| {
                job.set_delayed(due);
                job.since = DUE_ANEW;
            }),
            Verdict::Bury => self.bury_job(slot, BuryReason::TooLate),
            Verdict::Drop => self.expire(slot),
        }
        true
    }

    /// Buries a job, or moves it to its topic's dead letters: ready, with all its attempts, and not found by its key, which
    /// may be taken there.
    pub(super) fn bury_job(&mut self, slot: Slot, reason: BuryReason) {
        self.engine.leave_schedule(slot, JobEnd::Failed);
        let Some(topic) = self.dead_letters(self.engine.jobs[slot].topic) else {
            return self.engine.change(slot, |job| job.set_buried(reason));
        };
        let now = self.engine.clock.later(0);
        let text = Arc::<str>::from(reason.to_string());
        self.engine.change_unnoted(slot, |job| {
            job.attempts = 0;
            job.set_due(now);
            job.set_ready(i128::from(now.at));
            if job.past().is_none_or(|past| past.reason.is_none()) {
                job.set_reason(text);
            }
        });
        self.engine.move_job(slot, topic, None);
        self.engine.note(slot, JobEventKind::Ready);
    }

    /// The dead-letter topic of a topic, created if it is new. `None` without one, or if there are too many topics.
    fn dead_letters(&mut self, topic: TopicId) -> Option<TopicId> {
        let name = self.engine.topics.policy(topic)?.dead_letters.clone()?;
        self.engine.intern(name.as_str()).ok().filter(|id| *id != topic)
    }
}
