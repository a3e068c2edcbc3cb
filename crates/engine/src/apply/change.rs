//! Changes from outside: delete, reschedule, run now and kick, of one job by its id or its key, or of many; and moves of
//! jobs to another topic, for an operator.
//!
//! A moved job keeps its id, state, due time and history. Its key is hashed anew, because a key is unique in its topic. The
//! command carries each job's key, so that no key is read from the store.

use super::Applier;
use crate::command::{BulkChange, Conditions, JobSelect, KeyedJob};
use crate::jobs::{Found, Slot};
use crate::outcome::{Outcome, Reject};
use crate::read::list::meets;
use crate::read::version_of;
use crate::store::JobStore;
use adjourn_types::{Filter, JobId, JobState, Millis, TopicId, When};

/// Whether a job may move to another topic.
enum Moves {
    /// It moves.
    Goes(Slot),
    /// Another job in that topic has its key.
    InTheWay,
    /// It does not match, or may not move.
    Stays,
}

impl<S: JobStore> Applier<'_, S> {
    /// The resident job that a command names: `Engine::load_named` has loaded it.
    pub(super) fn select(&self, job: &JobSelect<'_>) -> Result<Slot, Reject> {
        self.engine.find(job).and_then(Found::resident).ok_or(Reject::NotFound)
    }

    /// Ends a job in any state; a finished one is forgotten. The outcome shows the state that it was in.
    pub(super) fn delete(&mut self, slot: Slot) -> Outcome {
        let outcome = self.changed(slot);
        self.remove(slot);
        outcome
    }

    /// Sets a new due time for a delayed or ready job; it must be before its expiry. A given `version` must match the
    /// job's.
    pub(super) fn reschedule(
        &mut self,
        slot: Slot,
        due: When,
        version: Option<u64>,
    ) -> Result<Outcome, Reject> {
        let due = self.engine.clock.resolve(due);
        let job = &self.engine.jobs[slot];
        if version.is_some_and(|version| version != version_of(job)) {
            return Err(Reject::Changed);
        }
        match job.state {
            JobState::Delayed | JobState::Ready => {}
            JobState::Reserved => return Err(Reject::Reserved),
            JobState::Buried | JobState::Finished | JobState::Scheduled => return Err(Reject::WrongState),
        }
        if job.expires().is_some_and(|expires| self.engine.clock.expires_before(expires, due)) {
            return Err(Reject::ExpiresBeforeDue);
        }
        let clock = self.engine.clock;
        self.engine.change(slot, |job| {
            job.set_due(due);
            job.set_waiting(clock);
        });
        Ok(self.changed(slot))
    }

    /// A delayed job becomes ready, due now. A ready one is unchanged.
    pub(super) fn run_now(&mut self, slot: Slot) -> Result<Outcome, Reject> {
        match self.engine.jobs[slot].state {
            JobState::Delayed => self.make_due(slot),
            JobState::Ready => {}
            JobState::Reserved => return Err(Reject::Reserved),
            JobState::Buried | JobState::Finished | JobState::Scheduled => return Err(Reject::WrongState),
        }
        Ok(self.changed(slot))
    }

    /// A buried job becomes ready, due now, and gets all its attempts back.
    pub(super) fn kick(&mut self, slot: Slot) -> Result<Outcome, Reject> {
        if self.engine.jobs[slot].state != JobState::Buried {
            return Err(Reject::WrongState);
        }
        self.revive(slot);
        Ok(self.changed(slot))
    }

    /// Kicks the first buried jobs in order, as [`Self::kick`] does.
    pub(super) fn kick_many(&mut self, topic: &str, jobs_max: u32) -> Result<Outcome, Reject> {
        let topic = self.engine.existing(topic)?;
        let mut jobs = 0;
        while jobs < jobs_max
            && let Some((.., slot)) = self.engine.topics.existing(topic).buried.first().copied()
        {
            self.revive(slot);
            jobs += 1;
        }
        Ok(Outcome::ChangedMany { jobs })
    }

    /// Makes a buried job ready and gives it all its attempts back.
    fn revive(&mut self, slot: Slot) {
        self.engine.change(slot, |job| job.attempts = 0);
        self.make_due(slot);
    }

    /// Makes a delayed or buried job ready, due now.
    pub(super) fn make_due(&mut self, slot: Slot) {
        let clock = self.engine.clock;
        self.engine.change(slot, |job| {
            job.set_due(clock.later(0));
            job.set_waiting(clock);
        });
    }

    pub(super) fn changed(&self, slot: Slot) -> Outcome {
        let job = &self.engine.jobs[slot];
        let (due, version) = (self.engine.clock.as_wall(job.due()), version_of(job));
        Outcome::Changed { job: job.id, state: job.state, due, version }
    }

    /// Changes each of these loaded jobs that exists, belongs to the topic (if one is named), meets the conditions and is
    /// in a state that allows the change.
    pub(super) fn change_many(
        &mut self,
        change: BulkChange,
        topic: Option<&str>,
        jobs: &[JobId],
        conditions: &Conditions<'_>,
    ) -> Outcome {
        let filter = conditions.filter();
        let mut changed = 0;
        let Ok(topic) = self.engine.known_or_all(topic) else { return Outcome::ChangedMany { jobs: 0 } };
        for id in jobs {
            let Some(Found::Resident(slot)) = self.engine.jobs.find(*id) else { continue };
            let is_done = match change {
                BulkChange::Reschedule { due } => self.is_due_at(slot, due),
                BulkChange::RunNow => self.engine.jobs[slot].state == JobState::Ready,
                BulkChange::Delete | BulkChange::Kick => false,
            };
            if is_done || !meets(&filter, topic, &self.engine.jobs[slot], self.engine.clock) {
                continue;
            }
            let outcome = match change {
                BulkChange::Delete => Ok(self.delete(slot)),
                BulkChange::Kick => self.kick(slot),
                BulkChange::RunNow => self.run_now(slot),
                BulkChange::Reschedule { due } => self.reschedule(slot, When::At(due), None),
            };
            changed += u32::from(outcome.is_ok());
        }
        Outcome::ChangedMany { jobs: changed }
    }

    fn is_due_at(&self, slot: Slot, due: Millis) -> bool {
        self.engine.jobs[slot].due() == self.engine.clock.resolve(When::At(due))
    }

    /// Moves each of these loaded jobs that exists, meets the conditions and may move.
    pub(super) fn move_many(
        &mut self,
        from: Option<&str>,
        to: &str,
        jobs: &[KeyedJob<'_>],
        conditions: &Conditions<'_>,
    ) -> Result<Outcome, Reject> {
        let (mut moved, mut in_the_way) = (0, 0);
        let Ok(from) = self.engine.known_or_all(from) else {
            return Ok(Outcome::Moved { jobs: moved, in_the_way });
        };
        let filter = conditions.filter();
        for job in jobs {
            match self.may_move(job, from, to, &filter) {
                Moves::Goes(slot) => {
                    // The topic is created with the first job that moves there: if that is refused, nothing was changed
                    // yet.
                    let topic = self.engine.intern(to)?;
                    let key_hash = job.key.map(|key| self.engine.key_secret.hash(topic, key));
                    self.engine.move_job(slot, topic, key_hash);
                    moved += 1;
                }
                Moves::InTheWay => in_the_way += 1,
                Moves::Stays => {}
            }
        }
        Ok(Outcome::Moved { jobs: moved, in_the_way })
    }

    fn may_move(&self, job: &KeyedJob<'_>, from: Option<TopicId>, to: &str, filter: &Filter) -> Moves {
        let Some(Found::Resident(slot)) = self.engine.jobs.find(job.job) else { return Moves::Stays };
        let found = &self.engine.jobs[slot];
        let to = self.engine.topics.id(to);
        if to == Some(found.topic)
            || found.state == JobState::Reserved
            || !meets(filter, from, found, self.engine.clock)
            || !self.is_key_of(job.key, slot)
        {
            return Moves::Stays;
        }
        let taken = |key| self.engine.jobs.find_key(self.engine.key_secret.hash(to?, key));
        if job.key.and_then(taken).is_some() { Moves::InTheWay } else { Moves::Goes(slot) }
    }

    /// True if this can be the key of a job. A job that is not found by its key has no hash to compare with.
    fn is_key_of(&self, key: Option<&[u8]>, slot: Slot) -> bool {
        let job = &self.engine.jobs[slot];
        job.key_hash().is_none_or(|key_hash| {
            key.is_some_and(|key| self.engine.key_secret.hash(job.topic, key) == key_hash)
        })
    }
}
