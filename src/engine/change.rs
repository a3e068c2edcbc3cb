//! Delete, reschedule, run now and kick: changes from outside, to one job by its id or its key, or to many of a
//! topic.

use super::Engine;
use super::command::{JobSelect, TopicSelect};
use super::jobs::{Found, Slot};
use super::outcome::{Outcome, Reject};
use super::read::version_of;
use super::store::JobStore;
use crate::types::{JobState, Lease, When};

impl Engine {
    /// Ends a job in any state, or forgets one that is finished. The outcome shows the state that it was in.
    pub(super) fn delete(
        &mut self,
        job: &JobSelect<'_>,
        store: &mut impl JobStore,
        ended: &mut Vec<Lease>,
    ) -> Result<Outcome, Reject> {
        let slot = self.select(job).ok_or(Reject::NotFound)?;
        let outcome = self.changed(slot);
        let job = self.remove(slot, store);
        if job.state == JobState::Reserved {
            ended.push(Lease { job: job.id, fence: job.fence() });
        }
        Ok(outcome)
    }

    /// A new due time for a delayed or ready job; it must lie before its expiry. With a `version`, only if it still has that.
    pub(super) fn reschedule(
        &mut self,
        job: &JobSelect<'_>,
        due: When,
        version: Option<u64>,
    ) -> Result<Outcome, Reject> {
        let slot = self.select(job).ok_or(Reject::NotFound)?;
        let due = self.clock.resolve(due);
        let job = &self.jobs[slot];
        if version.is_some_and(|version| version != version_of(job)) {
            return Err(Reject::Changed);
        }
        match job.state {
            JobState::Delayed | JobState::Ready => {}
            JobState::Reserved => return Err(Reject::Reserved),
            JobState::Buried | JobState::Finished => return Err(Reject::WrongState),
        }
        if job.expires().is_some_and(|expires| self.clock.expires_before(expires, due)) {
            return Err(Reject::ExpiresBeforeDue);
        }
        let clock = self.clock;
        self.change(slot, |job| {
            job.set_due(due);
            job.set_waiting(clock);
        });
        Ok(self.changed(slot))
    }

    /// A delayed job becomes ready, due now. One that is ready stays as it is.
    pub(super) fn run_now(&mut self, job: &JobSelect<'_>) -> Result<Outcome, Reject> {
        let slot = self.select(job).ok_or(Reject::NotFound)?;
        match self.jobs[slot].state {
            JobState::Delayed => self.make_due(slot),
            JobState::Ready => {}
            JobState::Reserved => return Err(Reject::Reserved),
            JobState::Buried | JobState::Finished => return Err(Reject::WrongState),
        }
        Ok(self.changed(slot))
    }

    /// A buried job becomes ready, due now, with all its attempts before it.
    pub(super) fn kick(&mut self, job: &JobSelect<'_>) -> Result<Outcome, Reject> {
        let slot = self.select(job).ok_or(Reject::NotFound)?;
        if self.jobs[slot].state != JobState::Buried {
            return Err(Reject::WrongState);
        }
        self.revive(slot);
        Ok(self.changed(slot))
    }

    /// The buried jobs whose turn comes first become ready, as [`Engine::kick`] does it with one.
    pub(super) fn kick_many(&mut self, topic: TopicSelect<'_>, jobs_max: u32) -> Result<Outcome, Reject> {
        let topic = self.existing(topic)?;
        let mut jobs = 0;
        while jobs < jobs_max
            && let Some((.., slot)) = self.topics.existing(topic).buried.first().copied()
        {
            self.revive(slot);
            jobs += 1;
        }
        Ok(Outcome::ChangedMany { jobs })
    }

    /// The job that is meant, which is resident: see [`Engine::load_named`].
    fn select(&self, job: &JobSelect<'_>) -> Option<Slot> {
        self.find(job).and_then(Found::resident)
    }

    /// Makes a buried job ready, with all its attempts before it.
    fn revive(&mut self, slot: Slot) {
        self.change(slot, |job| job.attempts = 0);
        self.make_due(slot);
    }

    fn make_due(&mut self, slot: Slot) {
        let clock = self.clock;
        self.change(slot, |job| {
            job.set_due(clock.later(0));
            job.set_waiting(clock);
        });
    }

    fn changed(&self, slot: Slot) -> Outcome {
        let job = &self.jobs[slot];
        let (due, version) = (self.clock.as_wall(job.due()), version_of(job));
        Outcome::Changed { job: job.id, state: job.state, due, version }
    }
}
