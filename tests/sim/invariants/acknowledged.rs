//! Nothing that was acknowledged is lost: a job is there, byte for byte, until something ended it.
//!
//! What may have is in the books of [`reasons`](super::reasons). That a later job has the key of an earlier one says that
//! the earlier one is gone, as well as an answer does.

use std::collections::{BTreeMap, BTreeSet};

use adjourn::protocol::{ErrorCode, JobRef, NewJob, PushResult, Request, Response, StatsReport, Totals};
use adjourn::types::{Attributes, JobId, JobState, Key, TopicName};
use bytes::Bytes;

use super::super::seen::{Seen, When};
use super::super::time::Us;
use super::due::{Clocks, Due};
use super::reasons::{Asker, Reasons, TopicKey};
use super::{Invariant, delivered};

#[derive(Debug)]
pub(super) struct Acknowledged {
    jobs: BTreeMap<JobId, Job>,
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
            for job in &push.jobs {
                self.asked.entry(job.body.clone()).or_insert(at);
            }
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
                        PushResult::Kept(_) | PushResult::Refused(..) => continue,
                    };
                    gone.extend(self.acknowledge(id, replaces, &Job::new(&push.topic, new))?);
                }
                // One job of a push may end another one of it.
                gone.into_iter().try_for_each(|job| self.has_reason(now, job))
            }
            (Request::Get(JobRef::Id(job)), response) => self.found(now, *job, response),
            (_, Response::Stats(stats)) => counts(stats),
            _ => Ok(()),
        }
    }

    /// Returns jobs that cannot be there any more.
    fn acknowledge(&mut self, id: JobId, replaces: bool, job: &Job) -> Result<Vec<JobId>, String> {
        match self.jobs.insert(id, job.clone()) {
            Some(before) if before != *job => {
                return Err(format!("job {id} was acknowledged as {before:?} and as {job:?}"));
            }
            _ => {}
        }
        let asked = self.asked.get(&job.body).copied().unwrap_or(0);
        let expires = job.attributes.policy().expires.map(|when| Due { when, asked, said: None });
        Ok(self.reasons.pushed(id, job.topic_key(), replaces, expires))
    }

    fn found(&mut self, now: When, id: JobId, response: &Response) -> Result<(), String> {
        match response {
            Response::Job(report) if report.state == JobState::Finished => self.gone(now, id)?,
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
            Some(job) if job != found && !self.has_moved(job, found) => {
                Err(format!("job {id} was pushed as {job:?}, and is {found:?}"))
            }
            _ => Ok(()),
        }
    }
}

impl Acknowledged {
    /// Whether it is the same job, in another topic to which it may have gone.
    fn has_moved(&self, job: &Job, found: &Job) -> bool {
        let moved = Job { topic: found.topic.clone(), ..job.clone() };
        moved == *found && self.reasons.may_have_gone_to(&found.topic)
    }
}

impl Job {
    fn new(topic: &TopicName, new: &NewJob) -> Self {
        let NewJob { key, priority, attributes, body, .. } = new.clone();
        Self { topic: topic.clone(), key, priority, attributes, body }
    }

    fn topic_key(&self) -> Option<TopicKey> {
        Some((self.topic.clone(), self.key.clone()?))
    }
}

/// What was pushed is what ended and what remains.
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
