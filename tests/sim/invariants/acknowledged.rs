//! Nothing that was acknowledged is lost: a job is there, byte for byte, until something ended it.
//!
//! What may have is in the books of [`reasons`](super::reasons). That a later job has the key of an earlier one says that
//! the earlier one is gone, as well as an answer does.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{
    ErrorCode, JobRef, NewJob, PushResult, Request, RequestId, Response, StatsReport, Totals,
};
use adjourn_replica::ConnectionId;
use adjourn_types::limits::{PRIORITY_DEFAULT, PRIORITY_UNSAID};
use adjourn_types::{AttributeSet, Attributes, IfExists, JobId, JobState, Key, TopicName, tag};
use bytes::Bytes;

use super::super::clients::EDIT_HEADER;
use super::super::seen::{Seen, When};
use super::super::time::Us;
use super::due::{Clocks, Due};
use super::reasons::{Asker, Reasons, TopicKey};
use super::{Invariant, delivered};

#[derive(Debug)]
pub(super) struct Acknowledged {
    jobs: BTreeMap<JobId, Job>,
    /// What pushes that postpone may have made of the job of a key.
    later: BTreeMap<TopicKey, Vec<Job>>,
    /// When each body was acknowledged last, and the job that it belongs to.
    said: BTreeMap<Bytes, (Us, JobId)>,
    /// Bodies that were pushed, acknowledged and then followed by another one, and since when that was known.
    followed: BTreeMap<Bytes, Us>,
    /// When each look at a job was asked for.
    looks: BTreeMap<(ConnectionId, RequestId), Us>,
    /// When each body was pushed first.
    asked: BTreeMap<Bytes, Us>,
    reasons: Reasons,
    clocks: Clocks,
    healed: bool,
    /// Jobs that were asked for since.
    inspected: BTreeSet<JobId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Job {
    topic: TopicName,
    key: Option<Key>,
    priority: u32,
    attributes: Attributes,
    body: Bytes,
}

impl Acknowledged {
    pub(super) fn new(among_others: bool) -> Self {
        Self {
            jobs: BTreeMap::new(),
            later: BTreeMap::new(),
            said: BTreeMap::new(),
            followed: BTreeMap::new(),
            looks: BTreeMap::new(),
            asked: BTreeMap::new(),
            reasons: Reasons::default(),
            clocks: Clocks::new(among_others),
            healed: false,
            inspected: BTreeSet::new(),
        }
    }

    fn asked(&mut self, at: Us, asker: Asker, request: &Request) {
        self.reasons.asked(at, asker, request);
        if let Request::Push(push) = request {
            for new in &push.jobs {
                let first = *self.asked.entry(new.body.clone()).or_insert(at);
                let job = Job::new(&push.topic, new);
                if let Some(key) = job.topic_key().filter(|_| new.if_exists == IfExists::Postpone) {
                    if let Some(when) = new.attributes.policy().expires {
                        self.reasons.may_expire(key.clone(), Due { when, asked: first, said: None });
                    }
                    self.later.entry(key).or_default().push(job);
                }
            }
        }
        if let Request::Get(_) = request {
            self.looks.insert((asker.connection, asker.id), at);
        }
    }

    fn answered(
        &mut self,
        now: When,
        asker: Asker,
        request: &Request,
        response: &Response,
    ) -> Result<(), String> {
        self.reasons.answered(now.at, asker, request, response);
        match (request, response) {
            (Request::Push(push), Response::Pushed(results)) => {
                let mut gone = Vec::new();
                for (new, result) in push.jobs.iter().zip(results) {
                    let (id, replaces) = match result {
                        PushResult::Replaced(job) => (*job, true),
                        PushResult::Pushed(job) => (*job, false),
                        PushResult::Postponed(job) => {
                            self.postponed(now.at, *job, &new.body);
                            (*job, false)
                        }
                        PushResult::Kept(_) | PushResult::Refused(..) => continue,
                    };
                    self.said.entry(new.body.clone()).or_insert((now.at, id));
                    gone.extend(self.acknowledge(id, replaces, &Job::new(&push.topic, new))?);
                }
                // One job of a push may end another one of it.
                gone.into_iter().try_for_each(|job| self.has_reason(now, job))
            }
            (Request::Get(JobRef::Id(job)), response) => {
                let look = self.looks.remove(&(asker.connection, asker.id));
                if let (Some(look), Response::Job(report)) = (look, response) {
                    self.is_newest(look, *job, &report.body)?;
                }
                self.found(now, *job, response)
            }
            (_, Response::Stats(stats)) => counts(stats),
            _ => Ok(()),
        }
    }

    /// Returns jobs that cannot be there any more.
    fn acknowledge(&mut self, id: JobId, replaces: bool, job: &Job) -> Result<Vec<JobId>, String> {
        match self.jobs.insert(id, job.clone()) {
            Some(before) if before != *job && !self.is_later(&before) && !self.is_later(job) => {
                return Err(format!("job {id} was acknowledged as {before:?} and as {job:?}"));
            }
            _ => {}
        }
        let asked = self.asked.get(&job.body).copied().unwrap_or(0);
        let expires = job.attributes.policy().expires.map(|when| Due { when, asked, said: None });
        Ok(self.reasons.pushed(id, job.topic_key(), replaces, expires))
    }

    /// Bodies acknowledged for a job before this one was pushed are no longer in it.
    fn postponed(&mut self, at: Us, id: JobId, body: &Bytes) {
        let asked = self.asked.get(body).copied().unwrap_or(0);
        let before = self.said.iter().filter(|(_, (said, job))| *job == id && *said < asked);
        for (body, _) in before {
            self.followed.entry(body.clone()).or_insert(at);
        }
    }

    fn is_newest(&self, asked: Us, id: JobId, body: &Bytes) -> Result<(), String> {
        match self.followed.get(body) {
            Some(followed) if *followed < asked => {
                Err(format!("job {id} was postponed, and has its old body"))
            }
            _ => Ok(()),
        }
    }

    /// Whether a push that postpones may have made this of a job.
    fn is_later(&self, job: &Job) -> bool {
        let later = job.topic_key().and_then(|key| self.later.get(&key));
        later.is_some_and(|later| later.iter().any(|later| later.is_shown_as(job)))
    }

    fn found(&mut self, now: When, id: JobId, response: &Response) -> Result<(), String> {
        match response {
            Response::Job(report) if report.state == Some(JobState::Finished) => self.gone(now, id)?,
            Response::Error(error) if error.code == ErrorCode::NotFound => self.gone(now, id)?,
            Response::Job(report) => {
                let found = Job {
                    topic: report.topic.clone(),
                    key: report.key.clone(),
                    priority: report.priority,
                    attributes: report.attributes.clone(),
                    body: report.body.clone(),
                };
                self.compare(id, &found)?;
            }
            _ => return Ok(()),
        }
        if self.healed {
            self.inspected.insert(id);
        }
        Ok(())
    }

    fn gone(&mut self, now: When, id: JobId) -> Result<(), String> {
        let Some(job) = self.jobs.get(&id) else { return Ok(()) };
        self.reasons.is_gone(id, job.topic_key());
        self.has_reason(now, id)
    }

    fn has_reason(&self, now: When, id: JobId) -> Result<(), String> {
        match self.reasons.without_reason(now, &self.clocks, id) {
            Some(lost) => {
                Err(format!("job {lost} was acknowledged, and is not there: {:?}", self.jobs.get(&lost)))
            }
            None => Ok(()),
        }
    }

    fn compare(&self, id: JobId, found: &Job) -> Result<(), String> {
        match self.jobs.get(&id) {
            Some(job) if !job.is_shown_as(found) && !self.is_later(found) && !self.has_moved(job, found) => {
                Err(format!("job {id} was pushed as {job:?}, and is {found:?}"))
            }
            _ => Ok(()),
        }
    }
}

impl Acknowledged {
    /// Whether it is the same job, in another topic to which it may have gone.
    fn has_moved(&self, job: &Job, found: &Job) -> bool {
        // It may have been postponed before it was moved.
        let before = Job { topic: job.topic.clone(), ..found.clone() };
        (job.is_shown_as(&before) || self.is_later(&before)) && self.reasons.may_have_gone_to(&found.topic)
    }
}

impl Job {
    fn new(topic: &TopicName, new: &NewJob) -> Self {
        let NewJob { key, priority, attributes, body, .. } = new.clone();
        let attributes = attributes.without(tag::BURIED);
        let priority = if priority == PRIORITY_UNSAID { PRIORITY_DEFAULT } else { priority };
        Self { topic: topic.clone(), key, priority, attributes, body }
    }

    /// Whether a job is shown like this: with the retries that it gets elsewhere, if it says nothing of them.
    fn is_shown_as(&self, shown: &Self) -> bool {
        let policy = shown.attributes.policy();
        // An edit gives it other headers.
        let is_edited = shown.attributes.headers().any(|(name, _)| name == EDIT_HEADER);
        let replaced = if is_edited { AttributeSet::HEADERS } else { AttributeSet::NONE };
        let attributes = self.attributes.edited(replaced, &shown.attributes).unwrap_or_default();
        let expires = match policy.expires {
            Some(adjourn_types::When::At(at)) => Some(at),
            _ => None,
        };
        let attributes = attributes.in_force(expires, policy.attempts_max, policy.backoff.as_ref());
        Self { attributes, ..self.clone() } == *shown
    }

    fn topic_key(&self) -> Option<TopicKey> {
        Some((self.topic.clone(), self.key.clone()?))
    }
}

/// The pushed jobs are the ended jobs and the remaining ones.
fn counts(stats: &StatsReport) -> Result<(), String> {
    for (name, totals) in stats
        .topics
        .iter()
        .map(|report| (report.topic.as_str(), &report.totals))
        .chain([("all", &stats.totals)])
    {
        let Totals { delayed, ready, reserved, buried, pushed, finished, deleted, expired, .. } = *totals;
        if pushed != delayed + ready + reserved + buried + finished + deleted + expired {
            return Err(format!("the counts of {name} do not add up: {totals:?}"));
        }
    }
    Ok(())
}

impl Invariant for Acknowledged {
    fn name(&self) -> &'static str {
        "acknowledged"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.clocks.see(when, seen);
        match seen {
            Seen::Asked { connection, session, id, request, .. } => {
                self.asked(when.at, Asker { connection: *connection, session: *session, id: *id }, request);
            }
            Seen::Said { connection, session, id, request, response, .. } => {
                for job in delivered(response) {
                    let found = Job {
                        topic: job.topic.clone(),
                        key: job.key.clone(),
                        priority: job.priority,
                        attributes: job.attributes.clone(),
                        body: job.body.clone(),
                    };
                    self.compare(job.lease.job, &found)?;
                }
                if let Some(request) = request {
                    let asker = Asker { connection: *connection, session: *session, id: *id };
                    self.answered(when, asker, request, response)?;
                }
            }
            Seen::Healed => self.healed = true,
            Seen::Inspected => {
                if let Some(job) = self.jobs.keys().find(|job| !self.inspected.contains(job)) {
                    return Err(format!("job {job} was acknowledged, and nobody has looked for it"));
                }
                self.reasons.gone().try_for_each(|job| self.has_reason(when, job))?;
            }
            _ => {}
        }
        Ok(())
    }
}
