//! Push: new jobs, keys that exist, and repeats.

use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hasher;

use super::Engine;
use super::command::{NewJob, TopicSelect};
use super::job::{Job, JobExtras, KeyHash};
use super::jobs::Slot;
use super::outcome::{PushOutcome, Reject};
use super::repeat::checksum_of;
use super::store::{JobStore, Record};
use super::window::Recall;
use crate::types::{BuryReason, IfExists, JobId, JobState, Lease, SessionId, TopicId};

impl Engine {
    /// Pushes jobs to one topic; an outcome for each. A repeated sequence number answers as it did before; with another job it
    /// is refused.
    pub(super) fn push(
        &mut self,
        session: SessionId,
        sequence: u64,
        topic: TopicSelect<'_>,
        jobs: &[NewJob<'_>],
        store: &mut impl JobStore,
        ended: &mut Vec<Lease>,
    ) -> Result<Vec<PushOutcome>, Reject> {
        if session == SessionId(0) || sequence == 0 {
            return self.in_topic(topic, |engine, topic| {
                jobs.iter().map(|job| engine.push_one(topic, job, store, ended)).collect()
            });
        }
        let mut window = self.sessions.take_window(session).ok_or(Reject::SessionUnknown)?;
        let outcomes = self.in_topic(topic, |engine, topic| {
            let seed = engine.checksum_seed(topic);
            let each = (0..).zip(jobs).map(|(nth, job)| {
                // The protocol refuses numbers beyond the last one: no two jobs have the same.
                let sequence = sequence.saturating_add(nth);
                let checksum = checksum_of(job, seed);
                match window.recall(sequence, checksum, engine.group) {
                    Recall::Known(outcome) => outcome,
                    Recall::Forgotten => PushOutcome::Refused(Reject::OutcomeUnknown, None),
                    Recall::Reused => PushOutcome::Refused(Reject::SequenceReused, None),
                    Recall::New => {
                        let outcome = engine.push_one(topic, job, store, ended);
                        window.remember(session, sequence, outcome, checksum);
                        outcome
                    }
                }
            });
            each.collect()
        });
        self.sessions.put_window(session, window, self.is_bounded());
        outcomes
    }

    /// Pushes jobs to a topic, which is made if it is new and takes one.
    pub(super) fn in_topic(
        &mut self,
        topic: TopicSelect<'_>,
        push: impl FnOnce(&mut Self, TopicId) -> Vec<PushOutcome>,
    ) -> Result<Vec<PushOutcome>, Reject> {
        let is_new = self.existing(topic).is_err();
        let topic = self.intern(topic)?;
        let outcomes = push(self, topic);
        if is_new {
            self.topics.unmake_empty(topic);
        }
        Ok(outcomes)
    }

    /// The hash under which a topic's key is known.
    pub(super) fn key_hash(&self, topic: TopicId, key: &[u8]) -> KeyHash {
        let mut hasher = SipHasher24::new_with_key(&self.key_secret.unwrap_or_default());
        hasher.write(&topic.0.to_le_bytes());
        hasher.write(key);
        hasher.finish128().as_u128()
    }

    pub(super) fn push_one(
        &mut self,
        topic: TopicId,
        new: &NewJob<'_>,
        store: &mut impl JobStore,
        ended: &mut Vec<Lease>,
    ) -> PushOutcome {
        let key_hash = new.key.map(|key| self.key_hash(topic, key));
        let living = key_hash.and_then(|key_hash| self.jobs.find_key(key_hash)?.resident());
        let postponed = living.filter(|slot| new.if_exists == IfExists::Postpone && self.waits(*slot));
        let due = self.clock.resolve(new.due);
        let due = postponed.map_or(due, |slot| self.no_later_than_the_cap(slot, due, new.attributes));
        let retry = self.retry(topic, new.attributes, due);
        let expires = retry.as_ref().and_then(|retry| retry.expires);
        if expires.is_some_and(|expires| self.clock.expires_before(expires, due)) {
            return PushOutcome::Refused(Reject::ExpiresBeforeDue, None);
        }
        if let Some(slot) = living.filter(|_| postponed.is_none())
            && let Some(outcome) = self.not_by_key(slot, new.if_exists)
        {
            return outcome;
        }
        if let Some(outcome) = self.not_by_policy(topic, new.body.len(), living) {
            return outcome;
        }
        if let Some(slot) = postponed {
            return self.postpone(slot, new, due, retry, store);
        }
        if let Some(slot) = living {
            let job = self.remove(slot, store);
            let was_reserved = job.state == JobState::Reserved;
            ended.extend(was_reserved.then(|| Lease { job: job.id, fence: job.fence() }));
        }
        let (ttr_ms, priority) = self.ttr_and_priority(topic, new);
        self.last_job += 1;
        let id = JobId::new(self.group, self.last_job);
        let body = store.keep(Record { key: new.key, attributes: new.attributes, body: new.body });
        let mut job = Job {
            id,
            due_at: due.at,
            since: 0,
            topic,
            priority,
            ttr_ms,
            attempts: 0,
            changes: 0,
            body,
            due_timeline: due.timeline,
            state: JobState::Delayed,
            buried: BuryReason::Consumer,
            defaults: self.defaults.current(),
            pushed_at: if self.keeps_history() { self.clock.stamp.0 } else { 0 },
            extras: JobExtras::new(key_hash, retry),
        };
        job.set_waiting(self.clock);
        let slot = self.jobs.insert(job);
        self.enter(slot);
        self.note_pushed(slot);
        self.topics.totals(topic).pushed += 1;
        if living.is_some() { PushOutcome::Replaced(id) } else { PushOutcome::Pushed(id) }
    }

    /// The key of a new job lives: what the push answers, unless the new job takes the place of the one that has it.
    fn not_by_key(&self, slot: Slot, if_exists: IfExists) -> Option<PushOutcome> {
        let job = &self.jobs[slot];
        let is_reserved = job.state == JobState::Reserved;
        match if_exists {
            IfExists::Reject => Some(PushOutcome::Refused(Reject::KeyExists, Some(job.id))),
            IfExists::Keep => Some(PushOutcome::Kept(job.id)),
            IfExists::Replace | IfExists::Postpone if is_reserved => {
                Some(PushOutcome::Refused(Reject::Reserved, Some(job.id)))
            }
            IfExists::Replace | IfExists::ReplaceReserved | IfExists::Postpone => None,
        }
    }
}
