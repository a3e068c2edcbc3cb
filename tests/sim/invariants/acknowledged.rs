//! Nothing that was acknowledged is lost: a job is there, byte for byte, until something ended it.

use std::collections::{BTreeMap, BTreeSet};

use adjourn::protocol::{
    Applied, ErrorCode, JobRef, NewJob, PushResult, Request, Response, StatsReport, Totals,
};
use adjourn::types::{Attributes, IfExists, JobId, Key, TopicName};
use bytes::Bytes;

use super::super::seen::{Seen, When};
use super::{Invariant, delivered};

#[derive(Debug, Default)]
pub(super) struct Acknowledged {
    jobs: BTreeMap<JobId, Job>,
    /// Requests that may have ended a job, and were not refused.
    ends: BTreeMap<JobId, i32>,
    ends_by_key: BTreeMap<(TopicName, Key), i32>,
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
    fn asked(&mut self, request: &Request, by: i32) {
        match request {
            Request::Finish { leases } => {
                for lease in leases {
                    *self.ends.entry(lease.job).or_default() += by;
                }
            }
            Request::Delete(JobRef::Id(job)) => *self.ends.entry(*job).or_default() += by,
            Request::Delete(JobRef::Key { topic, key }) => {
                *self.ends_by_key.entry((topic.clone(), key.clone())).or_default() += by;
            }
            Request::Push(push) => {
                for job in &push.jobs {
                    self.replaces(&push.topic, job, by);
                }
            }
            _ => {}
        }
    }

    fn replaces(&mut self, topic: &TopicName, job: &NewJob, by: i32) {
        if let (IfExists::Replace, Some(key)) = (job.if_exists, &job.key) {
            *self.ends_by_key.entry((topic.clone(), key.clone())).or_default() += by;
        }
    }

    fn answered(&mut self, request: &Request, response: &Response) -> Result<(), String> {
        match (request, response) {
            (Request::Push(push), Response::Pushed(results)) => {
                for (new, result) in push.jobs.iter().zip(results) {
                    match result {
                        PushResult::Replaced(job) => self.acknowledge(*job, &Job::new(&push.topic, new))?,
                        PushResult::Pushed(job) => {
                            self.acknowledge(*job, &Job::new(&push.topic, new))?;
                            self.replaces(&push.topic, new, -1);
                        }
                        PushResult::Kept(_) | PushResult::Refused(..) => self.replaces(&push.topic, new, -1),
                    }
                }
            }
            (Request::Finish { leases }, Response::Settled(results)) => {
                for (lease, _) in leases.iter().zip(results).filter(|(_, result)| result.is_err()) {
                    *self.ends.entry(lease.job).or_default() -= 1;
                }
            }
            (Request::Get(JobRef::Id(job)), response) => self.found(*job, response)?,
            (request, Response::Error(error)) if error.applied == Applied::No => self.asked(request, -1),
            (_, Response::Stats(stats)) => counts(stats)?,
            _ => {}
        }
        Ok(())
    }

    fn acknowledge(&mut self, id: JobId, job: &Job) -> Result<(), String> {
        match self.jobs.insert(id, job.clone()) {
            Some(before) if before != *job => {
                Err(format!("job {id} was acknowledged as {before:?} and as {job:?}"))
            }
            _ => Ok(()),
        }
    }

    fn found(&mut self, id: JobId, response: &Response) -> Result<(), String> {
        match response {
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
            Response::Error(error) if error.code == ErrorCode::NotFound => {
                if let Some(job) = self.jobs.get(&id).filter(|job| !self.may_have_ended(id, job)) {
                    return Err(format!("job {id} was acknowledged, and is not there: {job:?}"));
                }
            }
            _ => return Ok(()),
        }
        if self.healed {
            self.inspected.insert(id);
        }
        Ok(())
    }

    fn compare(&self, id: JobId, found: &Job) -> Result<(), String> {
        match self.jobs.get(&id) {
            Some(job) if job != found => Err(format!("job {id} was pushed as {job:?}, and is {found:?}")),
            _ => Ok(()),
        }
    }

    fn may_have_ended(&self, id: JobId, job: &Job) -> bool {
        let by_key = job.key.clone().and_then(|key| self.ends_by_key.get(&(job.topic.clone(), key)));
        self.ends.get(&id).is_some_and(|count| *count > 0)
            || by_key.is_some_and(|count| *count > 0)
            || job.attributes.policy().expires.is_some()
    }
}

impl Job {
    fn new(topic: &TopicName, new: &NewJob) -> Self {
        let NewJob { key, priority, attributes, body, .. } = new.clone();
        Self { topic: topic.clone(), key, priority, attributes, body }
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

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Asked { request, .. } => self.asked(request, 1),
            Seen::Said { request, response, .. } => {
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
                    self.answered(request, response)?;
                }
            }
            Seen::Healed => self.healed = true,
            Seen::Inspected => {
                if let Some(job) = self.jobs.keys().find(|job| !self.inspected.contains(job)) {
                    return Err(format!("job {job} was acknowledged, and nobody has looked for it"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
