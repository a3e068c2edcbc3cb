//! What an edit does to the model.

#![expect(clippy::indexing_slicing, reason = "a topic that a job names exists")]

use adjourn_engine::{EditedRecord, JobEdit, JobSelect, Outcome, PushOutcome, Reject};
use adjourn_types::limits::{PRIORITY_DEFAULT, PRIORITY_UNSAID, TTR_MS_DEFAULT};
use adjourn_types::{AttributeSet, Attributes, JobId};

use super::naive::{Job, Model, State, Time};

impl Model {
    pub(super) fn edit(
        &mut self,
        job: JobId,
        edit: &JobEdit<'_>,
        version: Option<u64>,
    ) -> Result<Outcome, Reject> {
        let id = self.select(&JobSelect::Id(job))?;
        if version.is_some_and(|version| !self.has_version(id, version)) {
            return Err(Reject::Changed);
        }
        let mut new = self.find(id).clone();
        match new.state {
            State::Reserved { .. } => return Err(Reject::Reserved),
            State::Finished { .. } => return Err(Reject::WrongState),
            State::Buried(_) if edit.due.is_some() => return Err(Reject::WrongState),
            State::Delayed | State::Ready { .. } | State::Buried(_) => {}
        }
        let (had_due, expired) = (edit.due.is_none(), new.expires);
        new.due = edit.due.map_or(new.due, |due| self.time(due));
        if let Some(edited) = &edit.record {
            self.edit_record(&mut new, edited)?;
        }
        let is_new = !had_due || new.expires != expired;
        let last = self.as_stamp(new.due).max(i128::from(self.stamp));
        if is_new && new.expires.is_some_and(|expires| self.as_stamp(expires) <= last) {
            return Err(Reject::ExpiresBeforeDue);
        }
        let defaults = &self.topics[new.topic].rule.policy;
        match edit.ttr_ms {
            Some(0) => new.ttr_ms = defaults.ttr_ms.unwrap_or(TTR_MS_DEFAULT),
            other => new.ttr_ms = other.unwrap_or(new.ttr_ms),
        }
        match edit.priority {
            Some(PRIORITY_UNSAID) => new.priority = defaults.priority.unwrap_or(PRIORITY_DEFAULT),
            other => new.priority = other.unwrap_or(new.priority),
        }
        if edit.record.is_some() {
            self.kept += 1;
            new.place = self.kept;
        }
        new.past.edited = Some(self.stamp);
        let waits_anew = !had_due || (is_new && new.held.is_some());
        let is_buried = matches!(new.state, State::Buried(_));
        new.held = new.held.filter(|_| !is_new);
        *self.find_mut(id) = Job { changes: new.changes + 1, ..new };
        if waits_anew && !is_buried {
            self.wait(id);
        }
        Ok(self.changed(id))
    }

    fn edit_record(&self, job: &mut Job, edited: &EditedRecord<'_>) -> Result<(), Reject> {
        if edited.before != job.reference().checksum {
            return Err(Reject::Changed);
        }
        if let Some(PushOutcome::Refused(reject, _)) =
            self.refused(job.topic, edited.record.body.len(), std::slice::from_ref(job))
        {
            return Err(reject);
        }
        let record = &edited.record;
        let own = Attributes::policy_of(record.attributes);
        let defaults = &self.topics[job.topic].rule.policy;
        let after_due = |after_ms: u64| match job.due {
            Time::Stamp(at) => Time::Stamp(at + after_ms),
            Time::Wall(at) => Time::Wall(at + after_ms),
        };
        if edited.replaced.has(AttributeSet::EXPIRES) {
            let of_topic = defaults.expires_after_ms.map(after_due);
            job.expires = own.expires.map(|when| self.time(when)).or(of_topic);
        }
        if edited.replaced.has(AttributeSet::ATTEMPTS_MAX) {
            job.policy.attempts_max =
                own.attempts_max.or(defaults.attempts_max).or(job.of_queue.attempts_max);
        }
        if edited.replaced.has(AttributeSet::BACKOFF) {
            let of_topic = defaults.backoff.clone();
            job.policy.backoff = own.backoff.or(of_topic).or(job.of_queue.backoff.clone());
        }
        if edited.replaced.has(AttributeSet::DEDUPE_RETENTION) {
            job.retention_ms = Attributes::dedupe_retention_of(record.attributes);
        }
        job.holds_place &= Attributes::group_of(record.attributes).unwrap_or_default() == job.group();
        (job.attributes, job.body) = (record.attributes.to_vec(), record.body.to_vec());
        Ok(())
    }
}
