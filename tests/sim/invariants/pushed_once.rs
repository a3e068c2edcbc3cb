//! A push that is repeated under its sequence number makes no second job, and has the answer of the first.

use std::collections::BTreeMap;

use adjourn_protocol::{ErrorCode, PushResult, Request, Response};
use adjourn_types::{JobId, JobState, SessionId};
use bytes::Bytes;

use super::super::seen::{Seen, When};
use super::{Invariant, delivered};

#[derive(Debug, Default)]
pub(super) struct PushedOnce {
    /// The job of each body; no two bodies are alike, but a job that is postponed has one after the other.
    jobs: BTreeMap<Bytes, JobId>,
    results: BTreeMap<(SessionId, u64), PushResult>,
}

impl PushedOnce {
    fn is_job_of(&mut self, body: &Bytes, job: JobId) -> Result<(), String> {
        let first = *self.jobs.entry(body.clone()).or_insert(job);
        if first == job { Ok(()) } else { Err(format!("jobs {first} and {job} are one push")) }
    }
}

impl Invariant for PushedOnce {
    fn name(&self) -> &'static str {
        "pushed once"
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
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
                    let Some(session) = session.filter(|_| push.sequence > 0) else { continue };
                    let first = *self.results.entry((session, push.sequence + nth)).or_insert(*result);
                    if first != *result && *result != PushResult::Refused(ErrorCode::OutcomeUnknown, None) {
                        return Err(format!("a push was answered with {first:?}, and then with {result:?}"));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
