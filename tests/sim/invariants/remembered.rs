//! The key of a finished job that is remembered is not given to another one, unless a push says so or somebody deletes the job.
//!
//! Keys whose job a push may have postponed are not checked: that changes for how long the job is remembered.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use adjourn_protocol::{JobRef, PushResult, Request, Response};
use adjourn_types::{Attributes, IfExists, JobId, JobState, Key, TopicName};
use bytes::Bytes;

use super::super::seen::{Seen, When};
use super::super::time::{MS, Us};
use super::bulks::{Asked, Bulks};
use super::{Invariant, Jumps};

type Name = (TopicName, Key);

/// It is not said to the millisecond when something is applied.
const SLACK: Us = 2 * MS;

#[derive(Debug, Default)]
pub(super) struct Remembered {
    /// When each body was pushed first.
    asked: BTreeMap<Bytes, Us>,
    /// Keyed jobs, and how long each is remembered.
    jobs: BTreeMap<JobId, (Name, Us)>,
    /// Keys that a push postpones, or somebody deletes, at any time.
    uncertain: BTreeSet<Name>,
    /// Bodies of pushes that may replace the job of a key, and were not answered yet.
    replacing: BTreeMap<Name, BTreeSet<Bytes>>,
    /// Jobs that somebody deletes by their ids.
    deleted: BTreeSet<JobId>,
    /// When the finish of each job was asked for first, and when it was acknowledged.
    finishing: BTreeMap<JobId, Us>,
    finished: BTreeMap<Name, (JobId, Us, Us)>,
    bulks: Bulks,
    jumps: Jumps,
}

impl Remembered {
    fn asked(&mut self, at: Us, request: &Request) {
        match request {
            Request::Push(push) => {
                for job in &push.jobs {
                    self.asked.entry(job.body.clone()).or_insert(at);
                    let Some(key) = &job.key else { continue };
                    let name = (push.topic.clone(), key.clone());
                    match job.if_exists {
                        IfExists::Postpone => _ = self.uncertain.insert(name),
                        IfExists::Replace | IfExists::ReplaceReserved => {
                            self.replacing.entry(name).or_default().insert(job.body.clone());
                        }
                        IfExists::Reject | IfExists::Keep => {}
                    }
                }
            }
            Request::Finish { leases } => {
                for lease in leases {
                    self.finishing.entry(lease.job).or_insert(at);
                }
            }
            Request::Delete(JobRef::Id(job)) => _ = self.deleted.insert(*job),
            Request::Delete(JobRef::Key { topic, key }) => {
                self.uncertain.insert((topic.clone(), key.clone()));
            }
            _ => {}
        }
    }

    fn said(&mut self, at: Us, request: &Request, response: &Response) -> Result<(), String> {
        match (request, response) {
            (Request::Push(push), Response::Pushed(results)) => {
                for (new, result) in push.jobs.iter().zip(results) {
                    let Some(key) = &new.key else { continue };
                    let name = (push.topic.clone(), key.clone());
                    self.replacing.entry(name.clone()).or_default().remove(&new.body);
                    let (PushResult::Pushed(id) | PushResult::Replaced(id)) = *result else { continue };
                    if let PushResult::Pushed(id) = *result {
                        let asked = self.asked.get(&new.body).copied().unwrap_or(at);
                        self.may_take(at, asked, &name, id)?;
                    }
                    if matches!(result, PushResult::Replaced(_)) {
                        // The one that was remembered is gone, and this one may end in any way.
                        self.finished.remove(&name);
                    }
                    let retention_ms = Attributes::dedupe_retention_of(new.attributes.as_bytes());
                    self.jobs.insert(id, (name, retention_ms * MS));
                }
            }
            (Request::Finish { leases }, Response::Settled(results)) => {
                let done = leases.iter().zip(results).filter(|(_, result)| result.is_ok());
                for job in done.map(|(lease, _)| lease.job) {
                    let Some((name, _)) = self.jobs.get(&job) else { continue };
                    // It was finished before this answer, which was lost at first: a later push has replaced it meanwhile.
                    let later = (Bound::Excluded(job), Bound::Unbounded);
                    if self.jobs.range(later).any(|(_, (other, _))| other == name) {
                        continue;
                    }
                    let asked = self.finishing.get(&job).copied().unwrap_or(at);
                    let last = self.finished.entry(name.clone()).or_insert((job, asked, at));
                    if last.0 < job {
                        *last = (job, asked, at);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A push made a job of this key, which says that no other one has it.
    fn may_take(&self, at: Us, asked: Us, name: &Name, id: JobId) -> Result<(), String> {
        let Some((job, finishing, finished)) = self.finished.get(name).copied() else { return Ok(()) };
        // A change to many jobs may have taken it to another topic, or have it forgotten.
        let frees = |one: &Asked| {
            one.moves() || (one.deletes() && one.bulk.filter.states.contains(JobState::Finished))
        };
        let is_certain = !self.uncertain.contains(name)
            && self.replacing.get(name).is_none_or(BTreeSet::is_empty)
            && !self.deleted.contains(&job)
            && !self.bulks.meeting(&name.0, Some(&name.1)).any(frees);
        let retention = self.jobs.get(&job).map_or(0, |(_, retention)| *retention);
        let passed = at - finishing + self.jumps.ahead_since(finishing, at) + SLACK;
        if is_certain && job < id && asked > finished && passed < retention {
            return Err(format!("job {id} has the key of job {job}, which is remembered for {retention} us"));
        }
        Ok(())
    }
}

impl Invariant for Remembered {
    fn name(&self) -> &'static str {
        "remembered"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.jumps.see(when, seen);
        match seen {
            Seen::Asked { connection, id, request, .. } => {
                self.bulks.asked(when.at, (*connection, *id), request);
                self.asked(when.at, request);
            }
            Seen::Said { connection, id, request: Some(request), response, .. } => {
                self.bulks.said(when.at, (*connection, *id), response);
                return self.said(when.at, request, response);
            }
            _ => {}
        }
        Ok(())
    }
}
