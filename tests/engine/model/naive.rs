//! The queue, as simple as it can be said: lists that are searched from one end to the other.

#![expect(clippy::indexing_slicing, reason = "a topic that a job names exists")]

use std::collections::BTreeMap;

use adjourn_engine::{
    Applied, Entry, FinishedView, JobSelect, JobView, Outcome, Paused, PushOutcome, Record, Reject, wait_ms,
};
use adjourn_types::limits::{
    DUE_PER_ENTRY_MAX, FINISHED_WINDOW_MS, SESSION_RETENTION_MS, TOPIC_RETENTION_MS,
};
use adjourn_types::{
    BuryReason, Fence, JobEnd, JobHistory, JobId, JobState, Lease, Millis, Policy, RetryDefaults, SessionId,
    SessionSecret, TopicId, TopicName, When,
};

use super::groups::{Groups, Regrouped};
use super::policies::Rule;
use super::schedules::Schedule;
use crate::kept_bodies::{KeptRecord, reference};

/// A wall clock that was set forward may be wrong for this long.
const DOUBT_MS: u64 = 24 * 3_600_000;

/// A time: of the wall clock or of the stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    Wall(u64),
    Stamp(u64),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    Delayed,
    Ready { order: u64 },
    Reserved { fence: u64, deadline: u64, session: u64 },
    Buried(BuryReason),
    Finished { at: u64 },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) topic: usize,
    pub(crate) key: Option<Vec<u8>>,
    /// Its key, unless it is not found by it: among dead letters.
    pub(super) found_by: Option<Vec<u8>>,
    pub(crate) attributes: Vec<u8>,
    pub(crate) body: Vec<u8>,
    pub(super) place: u32,
    pub(super) priority: u32,
    pub(super) ttr_ms: u32,
    pub(super) attempts: u32,
    pub(super) due: Time,
    /// When it is due, if that is because it was late; only of a delayed job.
    pub(super) due_anew: Option<Time>,
    /// The stamp until which it is held, as it has expired by a wall clock that was set forward; only of a delayed or buried job.
    pub(super) held: Option<u64>,
    /// It waits for this time as well as for its due time; only of a delayed job.
    pub(super) also_due: Option<Time>,
    pub(super) expires: Option<Time>,
    pub(super) policy: Policy,
    /// The queue's defaults for retries when it was pushed.
    pub(super) of_queue: RetryDefaults,
    /// How often it was changed.
    pub(super) changes: u64,
    /// How long it is remembered after its finish.
    pub(super) retention_ms: u64,
    pub(crate) state: State,
    pub(crate) past: Past,
    /// The schedule that pushed it, until it has ended.
    pub(crate) schedule: Option<u64>,
    /// The jobs of its group wait for it, where groups are in order.
    pub(crate) holds_place: bool,
}

/// The recorded history of a job. Times are stamps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Past {
    pub(crate) pushed: u64,
    /// When it was first and last reserved, and by whom.
    pub(super) reserved: Option<(u64, u64, String)>,
    pub(super) edited: Option<u64>,
    pub(super) reason: Option<String>,
}

/// A lease that was finished.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub(crate) at: u64,
    pub(crate) lease: Lease,
    /// Of its job.
    pub(super) topic: usize,
    pub(super) attempts: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Topic {
    pub(crate) name: String,
    pub(crate) paused: Option<Paused>,
    pub(crate) pushed: u64,
    pub(crate) finished: u64,
    pub(crate) deleted: u64,
    pub(crate) expired: u64,
    pub(super) idle_since: Option<u64>,
    /// It was forgotten; its number is not used again.
    pub(crate) gone: bool,
    pub(crate) rule: Rule,
    pub(crate) groups: Groups,
}

#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) id: u64,
    pub(crate) secret: SessionSecret,
    pub(crate) outlive: bool,
    pub(crate) client: String,
    pub(crate) lapsed: Option<u64>,
    /// Outcomes by sequence, and the pushed jobs; only numbers from `low` on are known.
    pub(super) pushes: BTreeMap<u64, (PushOutcome, String)>,
    pub(super) low: u64,
    /// One more than the highest number.
    pub(super) high: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) stamp: u64,
    pub(crate) offset: i64,
    /// When the wall clock was set forward last, and the offset before.
    forward: Option<(u64, i64)>,
    pub(crate) genesis: bool,
    pub(crate) jobs: Vec<Job>,
    pub(crate) schedules: Vec<Schedule>,
    pub(crate) topics: Vec<Topic>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) finished: Vec<Finished>,
    pub(crate) last_job: u64,
    pub(super) last_fence: u64,
    pub(super) last_session: u64,
    /// By key: when, what was pushed, and its outcome.
    pub(super) idempotent: BTreeMap<(u64, u128), (u64, String, PushOutcome)>,
    /// Jobs as they were when their versions were looked at.
    pub(crate) versions: BTreeMap<u64, (u64, Job)>,
    pub(super) members: BTreeMap<u64, [u8; 16]>,
    pub(crate) feature_level: u32,
    pub(crate) defaults: Option<RetryDefaults>,
    pub(super) kept: u32,
    pub(super) ended: Vec<Lease>,
    /// By the entry under way.
    pub(super) deleted_topics: Vec<(TopicId, TopicName)>,
    pub(super) regrouped: Regrouped,
}

impl Model {
    pub(crate) fn apply(&mut self, entry: &Entry<'_>) -> Applied {
        let before = self.stamp;
        self.stamp = before.max(entry.stamp.0);
        self.wake_groups(before);
        self.end_pauses();
        for id in self.too_far(self.stamp) {
            self.put_away(id);
        }
        self.turn_schedules_back();
        for _ in 0..DUE_PER_ENTRY_MAX {
            let Some(job) = self.first_due(self.stamp) else { break };
            self.fire(job);
        }
        self.let_instants_come(self.stamp - before);
        let mut forgotten: Vec<(u64, u64)> = self
            .sessions
            .iter()
            .filter_map(|session| Some((session.lapsed?, session.id)))
            .filter(|(lapsed, _)| lapsed + SESSION_RETENTION_MS <= self.stamp)
            .collect();
        forgotten.sort_unstable();
        forgotten.truncate(64);
        self.sessions.retain(|session| !forgotten.iter().any(|(_, id)| *id == session.id));

        let mut topics_gone = self.forget_topics();
        let outcomes = entry.commands.iter().map(|command| match self.command(command) {
            Ok(outcome) => outcome,
            Err(reject) => Outcome::Rejected(reject),
        });
        let outcomes = outcomes.collect();
        self.follow_groups();
        self.note_idle();
        topics_gone.append(&mut self.deleted_topics);
        Applied { outcomes, ended: std::mem::take(&mut self.ended), topics_gone }
    }

    fn forget_topics(&mut self) -> Vec<(TopicId, TopicName)> {
        let mut idle: Vec<(u64, usize)> = (0..self.topics.len())
            .filter(|topic| !self.topics[*topic].gone)
            .filter_map(|topic| Some((self.topics[topic].idle_since?, topic)))
            .filter(|(since, _)| since + TOPIC_RETENTION_MS <= self.stamp)
            .collect();
        idle.sort_unstable();
        // A dead letter may have come to one in this entry.
        let (busy, idle): (Vec<_>, Vec<_>) = idle.into_iter().partition(|(_, topic)| self.is_used(*topic));
        let name = |topic: usize| self.topics[topic].name.parse().expect("a name");
        let gone = idle.iter().map(|(_, topic)| (topic_id(*topic), name(*topic))).collect();
        for (_, topic) in idle {
            self.topics[topic].gone = true;
        }
        for (_, topic) in busy {
            self.topics[topic].idle_since = None;
        }
        gone
    }

    fn note_idle(&mut self) {
        for topic in 0..self.topics.len() {
            let is_used = self.is_used(topic) || self.any_group_set(topic);
            let topic = &mut self.topics[topic];
            if is_used || topic.paused.is_some() || topic.rule.is_there() {
                topic.idle_since = None;
            } else {
                topic.idle_since = topic.idle_since.or(Some(self.stamp));
            }
        }
    }

    pub(crate) fn wall(&self, stamp: u64) -> u64 {
        u64::try_from((i128::from(stamp) + i128::from(self.offset)).max(0)).expect("fits")
    }

    /// The remembered view of a finished job.
    pub(crate) fn finished_view(&self, finished: &Finished) -> Option<FinishedView> {
        let Finished { topic, attempts, .. } = *finished;
        let is_lately = finished.at + FINISHED_WINDOW_MS > self.stamp && !self.topics[topic].gone;
        let at = Millis(self.wall(finished.at));
        is_lately.then(|| FinishedView { topic: topic_id(topic), attempts, at })
    }

    fn history(&self, past: &Past) -> JobHistory {
        let wall = |stamp: u64| Millis(self.wall(stamp));
        let (first, last, client) = match &past.reserved {
            None => (None, None, None),
            Some((first, last, client)) => (Some(*first), Some(*last), Some(client.clone())),
        };
        JobHistory {
            pushed: Some(wall(past.pushed)),
            reserved_first: first.map(wall),
            reserved_last: last.map(wall),
            edited: past.edited.map(wall),
            held_by: client.filter(|client| !client.is_empty()),
            reason: past.reason.clone(),
            finished: None,
        }
    }

    pub(super) fn as_stamp(&self, time: Time) -> i128 {
        match time {
            Time::Stamp(at) => i128::from(at),
            Time::Wall(at) => i128::from(at) - i128::from(self.offset),
        }
    }

    pub(super) fn as_wall(&self, time: Time) -> Millis {
        match time {
            Time::Stamp(at) => Millis(self.wall(at)),
            Time::Wall(at) => Millis(at),
        }
    }

    pub(super) fn has_come(&self, time: Time, stamp: u64) -> bool {
        match time {
            Time::Stamp(at) => at <= stamp,
            Time::Wall(at) => at <= self.wall(stamp),
        }
    }

    pub(super) fn time(&self, when: When) -> Time {
        match when {
            When::After(delay_ms) => Time::Stamp(self.stamp + delay_ms),
            When::At(at) => Time::Wall(at.0),
        }
    }

    pub(super) fn order(&self, time: Time) -> u64 {
        u64::try_from(self.as_stamp(time).max(0)).expect("fits")
    }

    pub(super) fn set_offset(&mut self, offset: i64) {
        if offset > self.offset + 1_000 {
            let lately = self.forward.filter(|(at, _)| at + DOUBT_MS > self.stamp);
            let before = lately.map_or(self.offset, |(_, before)| before.min(self.offset));
            self.forward = Some((self.stamp, before));
        }
        self.offset = offset;
        self.forward = self.forward.filter(|(_, before)| *before < offset);
    }

    /// When a time has come also by the wall clock as it was before it was set forward, if that was within a day.
    pub(super) fn surely(&self, time: Time) -> i128 {
        let before = self.forward.filter(|(at, _)| at + DOUBT_MS > self.stamp).map(|(_, before)| before);
        match (time, before) {
            (Time::Wall(at), Some(before)) => i128::from(at) - i128::from(before.min(self.offset)),
            _ => self.as_stamp(time),
        }
    }

    /// Jobs that rest on a time that the wall clock has not reached any more.
    pub(crate) fn too_far(&self, stamp: u64) -> Vec<u64> {
        let ahead = |time| matches!(time, Time::Wall(at) if at > self.wall(stamp));
        let is_too_far = |job: &&Job| match job.state {
            State::Ready { .. } => ahead(job.due),
            State::Delayed => job.held.is_some() && job.expires.is_some_and(ahead),
            _ => false,
        };
        self.jobs.iter().filter(is_too_far).map(|job| job.id).collect()
    }

    pub(super) fn put_away(&mut self, id: u64) {
        let job = self.find(id);
        let Some(expires) = job.expires.filter(|_| self.expired(job, self.stamp)) else {
            return self.wait(id);
        };
        // By then the clock before the step shows it, or the one after it has been believed for long enough, and shows it.
        let by_old = self.surely(expires);
        let by_new = self.forward.map(|(at, _)| self.as_stamp(expires).max(i128::from(at + DOUBT_MS)));
        let held = by_new.map_or(by_old, |by_new| by_new.min(by_old));
        let held = Some(u64::try_from(held).expect("not yet"));
        let job = self.find_mut(id);
        if !matches!(job.state, State::Buried(_)) {
            if let Some(also @ Time::Wall(_)) = job.also_due {
                job.due = also;
            }
            (job.state, job.due_anew, job.also_due) = (State::Delayed, None, None);
        }
        job.held = held;
    }

    pub(super) fn expired(&self, job: &Job, stamp: u64) -> bool {
        job.expires.is_some_and(|expires| self.has_come(expires, stamp))
    }

    /// When something happens to a job by itself.
    pub(crate) fn alarm(job: &Job) -> Option<Time> {
        match job.state {
            State::Reserved { deadline, .. } => Some(Time::Stamp(deadline)),
            State::Delayed | State::Buried(_) if job.held.is_some() => job.held.map(Time::Stamp),
            State::Ready { .. } | State::Buried(_) => job.expires,
            State::Finished { at } => Some(Time::Stamp(at + job.retention_ms)),
            State::Delayed => Some(Self::waits_for(job)),
        }
    }

    pub(super) fn waits_for(job: &Job) -> Time {
        match (job.due, job.expires) {
            (Time::Stamp(due), Some(Time::Stamp(expires))) => Time::Stamp(due.min(expires)),
            (Time::Wall(due), Some(Time::Wall(expires))) => Time::Wall(due.min(expires)),
            (due, _) => due,
        }
    }

    /// The jobs whose time has come at a stamp, in order.
    pub(crate) fn due(&self, stamp: u64) -> Vec<&Job> {
        let come = |job: &&Job| Self::alarm(job).is_some_and(|alarm| self.has_come(alarm, stamp));
        let mut due: Vec<&Job> = self.jobs.iter().filter(come).collect();
        due.sort_by_key(|job| (Self::alarm(job).map(|alarm| self.as_stamp(alarm)), job.id));
        due
    }

    /// The first job whose time has come.
    fn first_due(&self, stamp: u64) -> Option<u64> {
        self.due(stamp).first().map(|job| job.id)
    }

    /// The topics of the jobs that the next entry makes ready.
    pub(crate) fn due_topics(&self, stamp: u64) -> Vec<TopicId> {
        let becomes_ready = |job: &&&Job| {
            let ready = match job.state {
                State::Delayed => job.also_due.is_none_or(|also| self.has_come(also, stamp)),
                State::Reserved { .. } => {
                    let used_up = job.policy.attempts_max.is_some_and(|max| job.attempts >= max);
                    (!used_up && self.backoff(job) == 0) || self.topics[job.topic].rule.is_there()
                }
                State::Ready { .. } | State::Buried(_) | State::Finished { .. } => false,
            };
            ready && !self.expired(job, stamp) && self.has_come(job.due, stamp)
        };
        let due = self.due(stamp);
        due.iter().take(DUE_PER_ENTRY_MAX).filter(becomes_ready).map(|job| topic_id(job.topic)).collect()
    }

    #[expect(clippy::unused_self, reason = "reads as a question to the model")]
    fn backoff(&self, job: &Job) -> u64 {
        job.policy.backoff.as_ref().map_or(0, |backoff| wait_ms(backoff, JobId(job.id), job.attempts))
    }

    /// When the next thing happens by itself after a stamp.
    pub(crate) fn next_alarm(&self, after: u64) -> Option<u64> {
        let alarms = self.jobs.iter().filter_map(Self::alarm);
        let alarms = alarms.chain(self.schedules.iter().filter_map(Schedule::alarm));
        let alarms = alarms.map(|alarm| self.order(alarm));
        alarms.filter(|at| *at > after).min()
    }

    fn fire(&mut self, id: u64) {
        let job = self.find(id);
        match job.state {
            State::Reserved { fence, .. } => {
                self.ended.push(Lease { job: JobId(id), fence: Fence(fence) });
                self.fail(id, None);
            }
            State::Finished { .. } => _ = self.remove(id),
            _ if self.surely_expired(job) => self.expire(id),
            _ if job.also_due.is_some_and(|also| !self.has_come(also, self.stamp)) => self.wait_for_later(id),
            _ if self.expired(job, self.stamp) => self.put_away(id),
            State::Buried(_) => self.find_mut(id).held = None,
            _ => {
                if !self.treat_as_late(id, true) {
                    self.wait(id);
                }
            }
        }
    }

    pub(super) fn fail(&mut self, id: u64, delay_ms: Option<u64>) {
        let job = self.find(id).clone();
        let wait = delay_ms.unwrap_or(self.backoff(&job));
        if self.surely_expired(&job) {
            self.expire(id);
        } else if job.policy.attempts_max.is_some_and(|max| job.attempts >= max) {
            self.bury_job(id, BuryReason::AttemptsUsedUp);
        } else if wait == 0 {
            self.wait_again(id);
        } else {
            self.put_off(id, wait);
        }
    }

    pub(super) fn put_off(&mut self, id: u64, wait_ms: u64) {
        let (stamp, later) = (self.stamp, Time::Stamp(self.stamp + wait_ms));
        let due = self.find(id).due;
        let lies_ahead = !self.has_come(due, stamp);
        let job = self.find_mut(id);
        (job.state, job.due, job.due_anew, job.held) = (State::Delayed, later, None, None);
        job.also_due = lies_ahead.then_some(due);
        self.wait_for_later(id);
    }

    /// Of two times that a job waits for, its due time is the one that comes later by the clock as it is now.
    fn wait_for_later(&mut self, id: u64) {
        let job = self.find(id);
        let due = job.due;
        if let Some(also) = job.also_due.filter(|also| self.as_stamp(*also) > self.as_stamp(due)) {
            let job = self.find_mut(id);
            (job.due, job.also_due) = (also, Some(due));
        }
    }

    /// For its due time, or for a consumer.
    pub(super) fn wait(&mut self, id: u64) {
        let due = self.find(id).due;
        let (order, is_due) = (self.order(due), self.has_come(due, self.stamp));
        let job = self.find_mut(id);
        job.state = if is_due { State::Ready { order } } else { State::Delayed };
        (job.due_anew, job.held, job.also_due) = (None, None, None);
    }

    /// After a failed attempt: behind what is ready by now, or for its due time if that lies ahead again.
    fn wait_again(&mut self, id: u64) {
        let stamp = self.stamp;
        if !self.has_come(self.find(id).due, stamp) {
            return self.wait(id);
        }
        let job = self.find_mut(id);
        (job.due, job.due_anew, job.held, job.also_due) = (Time::Stamp(stamp), None, None, None);
        job.state = State::Ready { order: stamp + 1 };
    }

    pub(super) fn expire(&mut self, id: u64) {
        self.leave_schedule(id, JobEnd::Expired);
        let job = self.remove(id);
        self.topics[job.topic].expired += 1;
    }

    pub(super) fn remove(&mut self, id: u64) -> Job {
        self.regroup(id);
        let place = self.jobs.iter().position(|job| job.id == id).expect("lives");
        self.jobs.remove(place)
    }

    pub(super) fn find(&self, id: u64) -> &Job {
        self.jobs.iter().find(|job| job.id == id).expect("lives")
    }

    /// For one change of it or more.
    pub(super) fn find_mut(&mut self, id: u64) -> &mut Job {
        self.regroup(id);
        let job = self.jobs.iter_mut().find(|job| job.id == id).expect("lives");
        job.changes += 1;
        job
    }

    pub(super) fn session(&mut self, id: SessionId) -> Result<&mut Session, Reject> {
        self.sessions.iter_mut().find(|session| session.id == id.0).ok_or(Reject::SessionUnknown)
    }

    pub(super) fn topic(&mut self, topic: &str, make: bool) -> Result<usize, Reject> {
        let found = self.topics.iter().position(|known| known.name == topic && !known.gone);
        match found {
            None if make => {
                self.topics.push(Topic { name: topic.to_owned(), ..Topic::default() });
                Ok(self.topics.len() - 1)
            }
            found => found.ok_or(Reject::NotFound),
        }
    }

    pub(crate) fn select(&mut self, job: &JobSelect<'_>) -> Result<u64, Reject> {
        let found = match job {
            JobSelect::Id(id) => self.jobs.iter().find(|job| job.id == id.0),
            JobSelect::Key { topic, key } => {
                let topic = self.topic(topic, false)?;
                self.jobs.iter().find(|job| job.topic == topic && job.found_by.as_deref() == Some(*key))
            }
        };
        found.map(|job| job.id).ok_or(Reject::NotFound)
    }

    /// The oldest job with a key in one of these topics, without finished ones.
    pub(crate) fn oldest(&self, key: &[u8], topics: &[&str]) -> Option<u64> {
        let is_it = |job: &&Job| {
            job.found_by.as_deref() == Some(key)
                && !matches!(job.state, State::Finished { .. })
                && topics.contains(&&*self.topics[job.topic].name)
        };
        self.jobs.iter().filter(is_it).map(|job| job.id).min()
    }

    pub(crate) fn view(&self, id: u64) -> JobView {
        let job = self.find(id);
        let (mut lease, mut buried) = (None, None);
        let mut history = self.history(&job.past);
        let state = match job.state {
            State::Delayed => JobState::Delayed,
            State::Ready { .. } => JobState::Ready,
            State::Reserved { fence, deadline, .. } => {
                lease = Some((Fence(fence), Millis(deadline)));
                JobState::Reserved
            }
            State::Buried(reason) => {
                buried = Some(reason);
                JobState::Buried
            }
            State::Finished { at } => {
                history.finished = Some(Millis(self.wall(at)));
                JobState::Finished
            }
        };
        JobView {
            id: JobId(id),
            state,
            topic: topic_id(job.topic),
            priority: job.priority,
            attempts: job.attempts,
            due: self.as_wall(job.due),
            ttr_ms: job.ttr_ms,
            lease,
            expires: job.expires.map(|expires| self.as_wall(expires)),
            attempts_max: job.policy.attempts_max,
            backoff: job.policy.backoff.clone(),
            buried,
            history,
            // Only the engine knows it.
            version: 0,
            body: job.reference(),
        }
    }
}

impl Job {
    /// Where its record is kept is no state.
    pub(crate) fn without_place(&self) -> Self {
        Self { place: 0, ..self.clone() }
    }

    pub(crate) fn record(&self) -> KeptRecord {
        let (key, attributes, body) = (self.key.clone(), self.attributes.clone(), self.body.clone());
        KeptRecord { key, attributes, body, reference: self.reference() }
    }

    pub(super) fn reference(&self) -> adjourn_engine::BodyRef {
        let record = Record { key: self.key.as_deref(), attributes: &self.attributes, body: &self.body };
        reference(self.place, &record)
    }
}

pub(super) fn topic_id(topic: usize) -> TopicId {
    TopicId(u32::try_from(topic).expect("few topics"))
}
