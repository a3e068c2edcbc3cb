//! Push: new jobs, existing keys, and repeated pushes.
//!
//! A push with *postpone* and a live key changes the job with that key instead of adding one. The job keeps its id,
//! attempts and history; body, attributes, priority, ttr and due time come from the push. So a job that is pushed
//! repeatedly becomes due once the pushes pause for long enough, or at the cap that the last push sets.
//!
//! A push with *buried* adds a job that is buried from the start; the job is kept without that attribute.

use std::num::NonZeroU128;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Applier;
use crate::clock::{Clock, Moment, Timeline};
use crate::command::{Command, NewJob};
use crate::events::JobEventKind;
use crate::job::held::some_text;
use crate::job::retry::Retry;
use crate::job::{Job, JobExtras};
use crate::jobs::Slot;
use crate::outcome::{Outcome, PushOutcome, Reject};
use crate::recent::idempotency::Remembered;
use crate::sessions::repeat::checksum_of;
use crate::sessions::window::{Recall, pack};
use crate::store::{JobStore, Record};
use adjourn_types::limits::REASON_BYTES_MAX;
use adjourn_types::{Attributes, BuryReason, IfExists, JobId, JobState, Millis, SessionId, TopicId};

impl<S: JobStore> Applier<'_, S> {
    /// Pushes jobs to one topic; one outcome per job. A repeated sequence number gets its first outcome; with another job
    /// it is refused.
    pub(super) fn push(
        &mut self,
        session: SessionId,
        sequence: u64,
        topic: &str,
        jobs: &[NewJob<'_>],
    ) -> Result<Vec<PushOutcome>, Reject> {
        if session == SessionId::NONE || sequence == 0 {
            return self.in_topic(topic, |applier, topic| {
                jobs.iter().map(|job| applier.push_one(topic, job)).collect()
            });
        }
        let mut window = self.engine.sessions.take_window(session).ok_or(Reject::SessionUnknown)?;
        let outcomes = self.in_topic(topic, |applier, topic| {
            let engine = &applier.engine;
            let seed = engine.topics.checksum_seed(topic);
            let group = engine.numbers.group();
            let each = (0..).zip(jobs).map(|(nth, job)| {
                // The protocol refuses numbers that would overflow here, so no two jobs share one.
                let sequence = sequence.saturating_add(nth);
                let checksum = checksum_of(job, seed);
                match window.recall(sequence, checksum, group) {
                    Recall::Known(outcome) => outcome,
                    Recall::Forgotten => PushOutcome::Refused(Reject::OutcomeUnknown, None),
                    Recall::Reused => PushOutcome::Refused(Reject::SequenceReused, None),
                    Recall::New => {
                        let outcome = applier.push_one(topic, job);
                        window.remember(session, sequence, outcome, checksum);
                        outcome
                    }
                }
            });
            each.collect()
        });
        self.engine.sessions.put_window(session, window);
        outcomes
    }

    /// Pushes jobs to one topic; one outcome per job. A job whose key was used before gets its first outcome. If a key was
    /// used for another job, no job is pushed.
    pub(super) fn push_idempotent(&mut self, command: &Command<'_>) -> Result<Outcome, Reject> {
        let &Command::PushIdempotent { owner, key, list_jobs, topic, ref jobs } = command else {
            unreachable!("it pushes under no key")
        };
        let outcomes = self.in_topic(topic, |applier, topic| {
            let engine = &applier.engine;
            let seed = engine.topics.checksum_seed(topic);
            let seed = xxh3_64_with_seed(&list_jobs.to_le_bytes(), seed);
            let at = engine.clock.stamp;
            let keyed = (0..).zip(jobs).map(|(nth, job)| {
                let key_hash = engine.key_secret.hash_push(owner, key.wrapping_add(nth));
                let pushed = Remembered { at, owner, key_hash, outcome: 0, checksum: checksum_of(job, seed) };
                (pushed, engine.idempotent.recall(&pushed, engine.numbers.group()))
            });
            let keyed: Vec<_> = keyed.collect();
            let is_reused = keyed.iter().any(|(_, recall)| *recall == Recall::Reused);
            let outcomes = keyed.into_iter().zip(jobs).map(|((pushed, recall), job)| match recall {
                Recall::Known(outcome) => outcome,
                _ if is_reused => PushOutcome::Refused(Reject::SequenceReused, None),
                _ => {
                    let outcome = applier.push_one(topic, job);
                    // A refused job was not pushed: the client may retry it with the same key.
                    if !matches!(outcome, PushOutcome::Refused(..)) {
                        let pushed = Remembered { outcome: pack(outcome), ..pushed };
                        let engine = &mut *applier.engine;
                        engine.idempotent.remember(pushed, &mut engine.sum);
                    }
                    outcome
                }
            });
            outcomes.collect()
        });
        outcomes.map(Outcome::Pushed)
    }

    /// Pushes jobs to a topic. A new topic is created only if it takes a job.
    fn in_topic(
        &mut self,
        topic: &str,
        push: impl FnOnce(&mut Self, TopicId) -> Vec<PushOutcome>,
    ) -> Result<Vec<PushOutcome>, Reject> {
        if let Some(known) = self.engine.topics.id(topic) {
            return Ok(push(self, known));
        }
        let new = self.engine.intern(topic)?;
        let outcomes = push(self, new);
        self.engine.topics.unmake_empty(new);
        Ok(outcomes)
    }

    pub(super) fn push_one(&mut self, topic: TopicId, new: &NewJob<'_>) -> PushOutcome {
        self.push_replacing(topic, new, &[])
    }

    /// Pushes a job. If it is accepted, `replaced` make way for it.
    pub(super) fn push_replacing(
        &mut self,
        topic: TopicId,
        new: &NewJob<'_>,
        replaced: &[Slot],
    ) -> PushOutcome {
        let key_hash = new.key.map(|key| self.engine.key_secret.hash(topic, key));
        let living = key_hash.and_then(|key_hash| self.engine.jobs.find_key(key_hash)?.resident());
        let living = living.filter(|slot| !replaced.contains(slot));
        let postponed = living.filter(|slot| {
            new.if_exists == IfExists::Postpone
                && waits(&self.engine.jobs[*slot])
                && Attributes::buried_of(new.attributes).is_none()
        });
        let clock = self.engine.clock;
        let due = clock.resolve(new.due);
        let due = postponed
            .map_or(due, |slot| no_later_than_the_cap(&self.engine.jobs[slot], due, new.attributes, clock));
        let retry = self.retry(topic, new.attributes, due);
        let expires = retry.as_ref().and_then(|retry| retry.expires);
        if expires.is_some_and(|expires| clock.expires_before(expires, due)) {
            return PushOutcome::Refused(Reject::ExpiresBeforeDue, None);
        }
        if let Some(slot) = living.filter(|_| postponed.is_none())
            && let Some(outcome) = self.not_by_key(slot, new.if_exists)
        {
            return outcome;
        }
        let going = replaced.iter().chain(&living).map(|slot| &self.engine.jobs[*slot]);
        if let Err(reject) = self.engine.topics.has_room(topic, new.body.len(), going) {
            return PushOutcome::Refused(reject, None);
        }
        if let Some(slot) = postponed {
            return self.postpone(slot, new, due, retry);
        }
        for slot in replaced.iter().chain(&living) {
            self.remove(*slot);
        }
        let id = self.add(topic, new, key_hash, due, retry);
        if living.is_some() { PushOutcome::Replaced(id) } else { PushOutcome::Pushed(id) }
    }

    /// Adds a job.
    fn add(
        &mut self,
        topic: TopicId,
        new: &NewJob<'_>,
        key_hash: Option<NonZeroU128>,
        due: Moment,
        retry: Option<Retry>,
    ) -> JobId {
        let (clock, buried) = (self.engine.clock, Attributes::buried_of(new.attributes));
        let (ttr_ms, priority) = self.engine.topics.ttr_and_priority(topic, new.ttr_ms, new.priority);
        let id = self.engine.numbers.next_job();
        let attributes = match buried {
            Some(_) => Attributes::without_buried(new.attributes),
            None => new.attributes.into(),
        };
        let body = self.store.keep(Record { key: new.key, attributes: &attributes, body: new.body });
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
            defaults: self.engine.defaults.current(),
            pushed_at: clock.stamp.0,
            extras: JobExtras::new(key_hash, retry),
        };
        job.set_group_of(new.attributes);
        match buried {
            Some(reason) => {
                job.set_buried(BuryReason::Consumer);
                // In a group that is in order it holds up those behind it, as one that was reserved before does.
                job.set_holds_place(self.engine.topics.is_in_order(&job));
                if let Some(reason) = some_text(reason, REASON_BYTES_MAX) {
                    job.set_reason(reason);
                }
            }
            None => job.set_waiting(clock),
        }
        let slot = self.engine.jobs.insert(job);
        self.engine.enter(slot);
        self.engine.note(slot, JobEventKind::Pushed);
        match self.engine.jobs[slot].state {
            JobState::Ready => self.engine.note(slot, JobEventKind::Ready),
            JobState::Buried => self.engine.note(slot, JobEventKind::Buried),
            _ => {}
        }
        self.engine.topics.totals(topic).pushed += 1;
        id
    }

    /// Gives a job that [waits] the body, the settings and the due time of a push.
    fn postpone(&mut self, slot: Slot, new: &NewJob<'_>, due: Moment, retry: Option<Retry>) -> PushOutcome {
        let body = self.renew(slot, Record { key: new.key, attributes: new.attributes, body: new.body });
        let (clock, defaults) = (self.engine.clock, self.engine.defaults.current());
        let topic = self.engine.jobs[slot].topic;
        let (ttr_ms, priority) = self.engine.topics.ttr_and_priority(topic, new.ttr_ms, new.priority);
        self.engine.change(slot, |job| {
            (job.body, job.priority, job.ttr_ms, job.defaults) = (body, priority, ttr_ms, defaults);
            job.set_retry(retry);
            job.set_group_of(new.attributes);
            job.set_due(due);
            job.set_waiting(clock);
        });
        PushOutcome::Postponed(self.engine.jobs[slot].id)
    }

    /// Retries and expiry of a new job with this due time: its own settings, completed by its topic's.
    pub(super) fn retry(&self, topic: TopicId, attributes: &[u8], due: Moment) -> Option<Retry> {
        let own = Retry::read(attributes, self.engine.clock);
        match self.engine.topics.policy(topic) {
            Some(policy) => Retry::with_defaults(own, attributes, policy, due),
            None => own,
        }
    }

    /// The answer to a push whose key exists; `None` if the new job takes the place of the old one.
    fn not_by_key(&self, slot: Slot, if_exists: IfExists) -> Option<PushOutcome> {
        let job = &self.engine.jobs[slot];
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

/// True if a job can be postponed: it is neither reserved nor buried.
fn waits(job: &Job) -> bool {
    matches!(job.state, JobState::Delayed | JobState::Ready)
}

/// Caps the due time of a push at the latest that its attributes allow, counted from the job's first push. A placeholder's
/// first push is not known: then it counts from now.
fn no_later_than_the_cap(job: &Job, due: Moment, attributes: &[u8], clock: Clock) -> Moment {
    let Some(max_ms) = Attributes::postpone_max_of(attributes) else { return due };
    let first = if job.pushed_at == 0 { clock.stamp } else { Millis(job.pushed_at) };
    let cap = Moment { timeline: Timeline::Stamp, at: first.after(max_ms).0 };
    if clock.as_stamp(due) <= i128::from(cap.at) { due } else { cap }
}
