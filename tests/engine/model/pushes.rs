//! What pushes do to the model.

#![expect(clippy::indexing_slicing, reason = "a topic that a job names exists")]

use adjourn_engine::{NewJob, Outcome, PushOutcome, Reject};
use adjourn_types::limits::{IDEMPOTENT_PUSH_MS, PRODUCER_WINDOW_MAX};
use adjourn_types::{Attributes, BuryReason, Fence, GroupId, IfExists, JobEnd, JobId, Lease, SessionId};

use super::commands::is_finished;
use super::naive::{Job, Model, Past, Session, State, Time};
use super::policies::Resolved;

impl Model {
    pub(super) fn push(
        &mut self,
        session: SessionId,
        sequence: u64,
        topic: &str,
        jobs: &[NewJob<'_>],
    ) -> Result<Outcome, Reject> {
        let guarded = session.0 != 0 && sequence != 0;
        if guarded {
            self.session(session)?;
        }
        let known = self.topics.len();
        let topic = self.topic(topic, true)?;
        let mut outcomes = Vec::new();
        for (nth, job) in (0..).zip(jobs) {
            if !guarded {
                outcomes.push(self.push_one(topic, job));
                continue;
            }
            let number = sequence + nth;
            let content = format!("{} {job:?}", self.topics[topic].name);
            let known = self.session(session)?;
            let outcome = match known.pushes.get(&number) {
                _ if number < known.low => PushOutcome::Refused(Reject::OutcomeUnknown, None),
                Some((_, first)) if *first != content => PushOutcome::Refused(Reject::SequenceReused, None),
                Some((outcome, _)) => *outcome,
                None => {
                    let outcome = self.push_one(topic, job);
                    self.session(session)?.remember(number, outcome, content);
                    outcome
                }
            };
            outcomes.push(outcome);
        }
        self.forget_if_empty(topic, known);
        Ok(Outcome::Pushed(outcomes))
    }

    pub(super) fn push_idempotent(
        &mut self,
        (owner, key, list_jobs): (u64, u128, u32),
        topic: &str,
        jobs: &[NewJob<'_>],
    ) -> Result<Outcome, Reject> {
        let topics = self.topics.len();
        let topic = self.topic(topic, true)?;
        let content = |job: &NewJob<'_>| format!("{} {list_jobs} {job:?}", self.topics[topic].name);
        let contents: Vec<String> = jobs.iter().map(content).collect();
        let keys = (0..).map(|nth| (owner, key + nth));
        let known: Vec<_> = keys
            .clone()
            .zip(jobs)
            .map(|(key, _)| {
                let known = self.idempotent.get(&key).cloned();
                known.filter(|(at, ..)| at + IDEMPOTENT_PUSH_MS > self.stamp)
            })
            .collect();
        let other = known
            .iter()
            .zip(&contents)
            .any(|(known, content)| known.as_ref().is_some_and(|(_, first, _)| first != content));
        let mut outcomes = Vec::new();
        for (((key, job), content), known) in keys.zip(jobs).zip(contents).zip(known) {
            outcomes.push(match known {
                Some((_, first, outcome)) if first == content => outcome,
                _ if other => PushOutcome::Refused(Reject::SequenceReused, None),
                _ => {
                    let outcome = self.push_one(topic, job);
                    if !matches!(outcome, PushOutcome::Refused(..)) {
                        self.idempotent.insert(key, (self.stamp, content, outcome));
                    }
                    outcome
                }
            });
        }
        self.forget_if_empty(topic, topics);
        Ok(Outcome::Pushed(outcomes))
    }

    /// A topic that is not among the `known` ones was made for a push: if that brought it no job, it is not there.
    fn forget_if_empty(&mut self, topic: usize, known: usize) {
        if topic == known && self.jobs.iter().all(|job| job.topic != topic) {
            self.topics.pop();
        }
    }

    pub(super) fn push_one(&mut self, topic: usize, new: &NewJob<'_>) -> PushOutcome {
        self.push_replacing(topic, new, &[])
    }

    /// If the push is accepted, `replaced` make way for it.
    pub(super) fn push_replacing(&mut self, topic: usize, new: &NewJob<'_>, replaced: &[Job]) -> PushOutcome {
        let policy = Attributes::policy_of(new.attributes);
        let same_key =
            |job: &&Job| job.topic == topic && new.key.is_some() && job.found_by.as_deref() == new.key;
        let living = self.jobs.iter().find(same_key).filter(|living| !replaced.contains(living)).cloned();
        let postponed = living.as_ref().filter(|living| {
            new.if_exists == IfExists::Postpone
                && Attributes::buried_of(new.attributes).is_none()
                && matches!(living.state, State::Delayed | State::Ready { .. })
        });
        let mut due = self.time(new.due);
        if let (Some(living), Some(max_ms)) = (postponed, Attributes::postpone_max_of(new.attributes)) {
            let cap = Time::Stamp(living.past.pushed + max_ms);
            due = if self.as_stamp(due) <= self.as_stamp(cap) { due } else { cap };
        }
        let resolved = self.resolved(topic, new, policy, due);
        let expires = resolved.expires;
        let too_late = |expires| self.as_stamp(expires) <= self.as_stamp(due).max(i128::from(self.stamp));
        if expires.is_some_and(too_late) {
            return PushOutcome::Refused(Reject::ExpiresBeforeDue, None);
        }
        if let Some(living) = living.as_ref().filter(|_| postponed.is_none()) {
            let id = JobId(living.id);
            match new.if_exists {
                IfExists::Reject => return PushOutcome::Refused(Reject::KeyExists, Some(id)),
                IfExists::Keep => return PushOutcome::Kept(id),
                IfExists::Replace | IfExists::Postpone if matches!(living.state, State::Reserved { .. }) => {
                    return PushOutcome::Refused(Reject::Reserved, Some(id));
                }
                IfExists::Replace | IfExists::ReplaceReserved | IfExists::Postpone => {}
            }
        }
        if let Some(refused) = self.refused(topic, new.body.len(), &[replaced, living.as_slice()].concat()) {
            return refused;
        }
        if let Some(living) = postponed {
            return self.postpone(living.id, new, due, resolved);
        }
        for going in replaced.iter().chain(&living) {
            self.make_way(going);
        }
        let id = self.add(topic, new, due, resolved);
        living.map_or(PushOutcome::Pushed(id), |_| PushOutcome::Replaced(id))
    }

    fn add(&mut self, topic: usize, new: &NewJob<'_>, due: Time, resolved: Resolved) -> JobId {
        let Resolved { ttr_ms, priority, expires, policy } = resolved;
        let buried = Attributes::buried_of(new.attributes);
        let id = self.next_id(topic);
        self.jobs.push(Job {
            id: id.0,
            topic,
            key: new.key.map(<[u8]>::to_vec),
            found_by: new.key.map(<[u8]>::to_vec),
            attributes: Attributes::without_buried(new.attributes).into_owned(),
            body: new.body.to_vec(),
            place: self.kept,
            priority,
            ttr_ms,
            attempts: 0,
            due,
            due_anew: None,
            held: None,
            also_due: None,
            expires,
            policy,
            of_queue: self.of_queue(),
            changes: 0,
            retention_ms: Attributes::dedupe_retention_of(new.attributes),
            state: State::Delayed,
            past: Past { pushed: self.stamp, ..Past::default() },
            schedule: None,
            holds_place: false,
        });
        match buried {
            Some(reason) => {
                let fifo = self.group_policy(topic).fifo;
                let job = self.find_mut(id.0);
                job.holds_place = fifo && !job.group().is_empty();
                job.state = State::Buried(BuryReason::Consumer);
                job.past.reason = Some(reason.to_owned()).filter(|reason| !reason.is_empty());
            }
            None => self.wait(id.0),
        }
        id
    }

    /// The id of a new job of `topic`, which takes the next place, too.
    fn next_id(&mut self, topic: usize) -> JobId {
        (self.last_job, self.kept) = (self.last_job + 1, self.kept + 1);
        self.topics[topic].pushed += 1;
        JobId::new(GroupId(0), self.last_job)
    }

    /// A job that is replaced.
    pub(super) fn make_way(&mut self, living: &Job) {
        self.leave_schedule(living.id, JobEnd::Deleted);
        if let State::Reserved { fence, .. } = living.state {
            self.ended.push(Lease { job: JobId(living.id), fence: Fence(fence) });
        }
        self.remove(living.id);
        self.topics[living.topic].deleted += u64::from(!is_finished(&living.state));
    }

    fn postpone(&mut self, id: u64, new: &NewJob<'_>, due: Time, resolved: Resolved) -> PushOutcome {
        let Resolved { ttr_ms, priority, expires, policy } = resolved;
        self.kept += 1;
        let (place, retention_ms) = (self.kept, Attributes::dedupe_retention_of(new.attributes));
        let of_queue = self.of_queue();
        let job = self.find_mut(id);
        job.holds_place &= Attributes::group_of(new.attributes).unwrap_or_default() == job.group();
        (job.attributes, job.body, job.place) = (new.attributes.to_vec(), new.body.to_vec(), place);
        (job.priority, job.ttr_ms, job.policy, job.of_queue) = (priority, ttr_ms, policy, of_queue);
        (job.due, job.expires, job.retention_ms) = (due, expires, retention_ms);
        self.wait(id);
        PushOutcome::Postponed(JobId(id))
    }
}

impl Session {
    fn remember(&mut self, number: u64, outcome: PushOutcome, content: String) {
        if number >= self.high + PRODUCER_WINDOW_MAX as u64 {
            self.pushes.clear();
            self.low = number;
        }
        self.pushes.insert(number, (outcome, content));
        self.high = self.high.max(number + 1);
        self.low = self.low.max(self.high.saturating_sub(PRODUCER_WINDOW_MAX as u64));
        let low = self.low;
        self.pushes.retain(|number, _| *number >= low);
    }
}
