//! Edit: changes parts of a job that no consumer holds.

use super::Applier;
use crate::clock::Moment;
use crate::command::{EditedRecord, JobEdit};
use crate::job::Job;
use crate::job::retry::Retry;
use crate::jobs::Slot;
use crate::outcome::{Outcome, Reject};
use crate::place::BodyRef;
use crate::read::version_of;
use crate::store::{JobStore, Record};
use adjourn_types::{AttributeSet, JobState};

impl<S: JobStore> Applier<'_, S> {
    /// Changes the parts of a delayed, ready or buried job that the edit names. A given `version` must match the job's.
    pub(super) fn edit(
        &mut self,
        slot: Slot,
        edit: &JobEdit<'_>,
        version: Option<u64>,
    ) -> Result<Outcome, Reject> {
        let (clock, job) = (self.engine.clock, &self.engine.jobs[slot]);
        if version.is_some_and(|version| version != version_of(job)) {
            return Err(Reject::Changed);
        }
        match job.state {
            JobState::Delayed | JobState::Ready => {}
            JobState::Buried if edit.due.is_none() => {}
            JobState::Reserved => return Err(Reject::Reserved),
            JobState::Buried | JobState::Finished | JobState::Scheduled => return Err(Reject::WrongState),
        }
        let new_due = edit.due.map(|due| clock.resolve(due));
        let due = new_due.unwrap_or(job.due());
        let retry = match &edit.record {
            Some(edited) if edited.before != job.body.checksum => return Err(Reject::Changed),
            Some(edited) => {
                self.engine.topics.has_room(job.topic, edited.record.body.len(), Some(job))?;
                self.edited_retry(job, edited, due)
            }
            None => job.retry().cloned(),
        };
        let expires = retry.as_ref().and_then(|retry| retry.expires);
        let is_new = new_due.is_some() || expires != job.expires();
        if is_new && expires.is_some_and(|expires| clock.expires_before(expires, due)) {
            return Err(Reject::ExpiresBeforeDue);
        }
        let (ttr_ms, priority) = self.engine.topics.ttr_and_priority(
            job.topic,
            edit.ttr_ms.unwrap_or(job.ttr_ms),
            edit.priority.unwrap_or(job.priority),
        );
        let body = match &edit.record {
            Some(EditedRecord { record, .. }) => self.renew(slot, *record),
            None => job.body,
        };
        let edited_group = edit.record.filter(|edited| edited.replaced.has(AttributeSet::GROUP));
        let new_group = edited_group.map(|edited| edited.record.attributes);
        self.engine.change(slot, |job| {
            (job.body, job.ttr_ms, job.priority) = (body, ttr_ms, priority);
            job.set_retry(retry);
            if let Some(attributes) = new_group {
                job.set_group_of(attributes);
            }
            job.set_due(due);
            // A job that was held as expired is looked at again.
            if is_new && job.state == JobState::Buried {
                job.since = 0;
            } else if new_due.is_some() || (is_new && job.held_until().is_some()) {
                job.set_waiting(clock);
            }
            job.note_edited(clock.stamp.0);
        });
        Ok(self.changed(slot))
    }

    /// Keeps a new record for a job in place of the one that it has.
    pub(super) fn renew(&mut self, slot: Slot, record: Record<'_>) -> BodyRef {
        let (id, before) = (self.engine.jobs[slot].id, self.engine.jobs[slot].body);
        let body = self.store.keep(record);
        self.engine.jobs.note_renewed(id);
        self.store.forget(before);
        body
    }

    /// Retries and expiry after an edit: those of the replaced attributes are as in a push, the others stay.
    fn edited_retry(&self, job: &Job, edited: &EditedRecord<'_>, due: Moment) -> Option<Retry> {
        let new = self.retry(job.topic, edited.record.attributes, due).unwrap_or_default();
        let mut retry = job.retry().cloned().unwrap_or_default();
        retry.digest = new.digest;
        let is_new = |attribute| edited.replaced.has(attribute);
        if is_new(AttributeSet::EXPIRES) {
            retry.expires = new.expires;
        }
        if is_new(AttributeSet::ATTEMPTS_MAX) {
            retry.attempts_max = new.attempts_max;
        }
        if is_new(AttributeSet::BACKOFF) {
            retry.backoff = new.backoff;
        }
        if is_new(AttributeSet::DEDUPE_RETENTION) {
            retry.retention_ms = new.retention_ms;
        }
        retry.some()
    }
}
