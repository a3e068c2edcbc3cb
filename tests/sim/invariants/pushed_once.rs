//! A push that is repeated under its sequence number or its key makes no second job, and has the answer of the first.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{ErrorCode, Idempotency, Push, PushResult, Request, Response};
use adjourn_types::{JobId, JobState};
use bytes::Bytes;

use super::super::clients::is_of_schedule;
use super::super::seen::{Seen, When};
use super::super::time::{HOUR, Us};
use super::{Invariant, JobIdentity, Jumps, delivered};

/// How long the key of a push is remembered.
const KEY_KEPT: Us = 24 * HOUR;

#[derive(Debug, Default)]
pub(super) struct PushedOnce {
    /// The job of each body; no two bodies are alike, but a job that is postponed has one after the other.
    jobs: BTreeMap<Bytes, JobId>,
    /// The first answer about each job.
    results: BTreeMap<JobIdentity, PushResult>,
    /// When each key was used first.
    keyed: BTreeMap<u128, Us>,
    /// The bodies of pushes whose key may have been forgotten when they were repeated.
    forgotten: BTreeSet<Bytes>,
    jumps: Jumps,
}

impl PushedOnce {
    /// Forgets what was known of a push whose key the queue may have forgotten.
    fn asked(&mut self, at: Us, push: &Push) {
        let Some(Idempotency { key, .. }) = push.idempotency else { return };
        let first = self.keyed.entry(key.get()).or_insert(at);
        if at - *first + self.jumps.ahead_since(*first, at) < KEY_KEPT {
            return;
        }
        *first = at;
        for (nth, new) in (0..).zip(&push.jobs) {
            self.results.remove(&JobIdentity::Keyed(key.get() + nth));
            self.forgotten.insert(new.body.clone());
        }
    }

    fn is_job_of(&mut self, body: &Bytes, job: JobId) -> Result<(), String> {
        if self.forgotten.contains(body) || is_of_schedule(body) {
            return Ok(());
        }
        let first = *self.jobs.entry(body.clone()).or_insert(job);
        if first == job { Ok(()) } else { Err(format!("jobs {first} and {job} are one push")) }
    }

    fn is_result_of(&mut self, identity: JobIdentity, result: PushResult) -> Result<(), String> {
        let is_keyed = matches!(identity, JobIdentity::Keyed(_));
        if is_keyed && matches!(result, PushResult::Refused(..)) && !self.results.contains_key(&identity) {
            // A refused job was not pushed: its key is free.
            return Ok(());
        }
        let first = *self.results.entry(identity).or_insert(result);
        if first == result || result == PushResult::Refused(ErrorCode::OutcomeUnknown, None) {
            return Ok(());
        }
        Err(format!("a push was answered with {first:?}, and then with {result:?}"))
    }
}

impl Invariant for PushedOnce {
    fn name(&self) -> &'static str {
        "pushed once"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.jumps.see(when, seen);
        if let Seen::Asked { request: Request::Push(push), .. } = seen {
            self.asked(when.at, push);
        }
        let Seen::Said { request, response, session, .. } = seen else { return Ok(()) };
        for job in delivered(response) {
            self.is_job_of(&job.body, job.lease.job)?;
        }
        match (request, response) {
            // Of a finished job the body is not known any more.
            (_, Response::Job(report)) if report.state == Some(JobState::Finished) => Ok(()),
            (_, Response::Job(report)) => self.is_job_of(&report.body, report.id),
            (Some(Request::Push(push)), Response::Pushed(results)) => {
                for ((nth, new), result) in (0..).zip(&push.jobs).zip(results) {
                    if let PushResult::Pushed(job) | PushResult::Replaced(job) | PushResult::Postponed(job) =
                        result
                    {
                        self.is_job_of(&new.body, *job)?;
                    }
                    if let Some(identity) = JobIdentity::of(*session, push, nth) {
                        self.is_result_of(identity, *result)?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
