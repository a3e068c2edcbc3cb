//! What commands ask of the queue, whatever connection they come from.

use std::sync::LazyLock;

use bytes::Bytes;

use super::super::super::caller::Caller;
use super::super::super::problem::Problem;
use super::super::look;
use super::command::{Next, Put, priority_of};
use super::held_jobs::HeldJob;
use super::reply::{DELETED, NOT_FOUND, Reply};
use adjourn_protocol::{
    Bulk, Change, Changed, Edit, ErrorCode, JobRef, JobReport, Kicked, List, NewJob, Page, Push, PushResult,
    Request, SettleResult, Step,
};
use adjourn_types::limits::{BULK_JOBS_MAX, DELAY_MS_MAX, KICK_JOBS_MAX, TTR_MS_MAX};
use adjourn_types::{
    Attributes, AttributesBuilder, Backoff, Filter, IfExists, JobId, JobState, ListOrder, States, TopicName,
    When,
};

/// The queue, for one connection.
pub(super) struct Queue(pub(super) Caller);

impl Queue {
    pub(super) async fn push(&self, tube: &TopicName, jobs: Vec<NewJob>) -> Result<Vec<PushResult>, Problem> {
        let push = Push { topic: tube.clone(), sequence: 0, jobs, idempotency: None };
        self.0.ask(Request::Push(push)).await
    }

    pub(super) async fn finish(&self, held: &[HeldJob]) -> Result<Vec<SettleResult>, Problem> {
        let leases = held.iter().map(|job| job.lease).collect();
        self.0.ask(Request::Finish { leases }).await
    }

    /// Deletes a job that this connection does not hold.
    pub(super) async fn delete(&self, id: u64) -> Result<Reply, Problem> {
        match self.look(id).await? {
            Some(job) if job.state != Some(JobState::Reserved) => {
                self.change(Request::Delete(JobRef::Id(job.id)), DELETED).await
            }
            _ => Ok(NOT_FOUND),
        }
    }

    /// Asks for a change of a job. The reply is `done` unless the job is gone, or in another state by now.
    pub(super) async fn change(&self, request: Request, done: Reply) -> Result<Reply, Problem> {
        match self.0.ask::<Changed>(request).await {
            Ok(_) => Ok(done),
            Err(problem) if is_about_its_state(&problem) => Ok(NOT_FOUND),
            Err(problem) => Err(problem),
        }
    }

    /// Gives a job that was put aside another priority. If that is not possible, another connection has changed or got it by now.
    pub(super) async fn set_priority(&self, id: u64, priority: u32, due: Option<When>) {
        let edit = Edit { priority: Some(priority), due, ..Edit::new(JobRef::Id(JobId(id))) };
        let _ = self.0.ask::<Changed>(Request::Edit(edit)).await;
    }

    /// The job with this number.
    pub(super) async fn look(&self, id: u64) -> Result<Option<JobReport>, Problem> {
        look(&self.0, JobRef::Id(JobId(id))).await
    }

    pub(super) async fn peek_next(&self, tube: &TopicName, next: Next) -> Result<Option<JobReport>, Problem> {
        let topic = tube.clone();
        if next == Next::Ready {
            // The first ready job, or else the first delayed one.
            let first = match self.0.ask::<JobReport>(Request::Peek { topic }).await {
                Err(problem) if problem.is(ErrorCode::NotFound) => None,
                first => Some(first?),
            };
            return Ok(first.filter(|job| job.state == Some(JobState::Ready)));
        }
        let state = if next == Next::Delayed { JobState::Delayed } else { JobState::Buried };
        let list = List {
            filter: Filter { topic: Some(topic), states: States::of([state]), ..Filter::default() },
            order: ListOrder::Due,
            jobs_max: 1,
            with_bodies: true,
            cursor: Bytes::new(),
        };
        let page: Page = self.0.ask(Request::List(list)).await?;
        Ok(page.jobs.into_iter().next())
    }

    pub(super) async fn kick(&self, topic: &TopicName, bound: u32) -> Result<u64, Problem> {
        let mut kicked = 0;
        while kicked < u64::from(bound) {
            let jobs_max = left_of(bound, kicked).min(KICK_JOBS_MAX);
            let request = Request::KickMany { topic: topic.clone(), jobs_max };
            let Kicked(now) = match self.0.ask(request).await {
                // A tube without jobs.
                Err(problem) if problem.is(ErrorCode::NotFound) => return Ok(kicked),
                now => now?,
            };
            kicked += u64::from(now);
            if now < jobs_max {
                break;
            }
        }
        if kicked > 0 {
            return Ok(kicked);
        }
        let mut cursor = Bytes::new();
        while kicked < u64::from(bound) {
            let states = States::of([JobState::Delayed]);
            let bulk = Bulk {
                change: Change::RunNow,
                filter: Filter { topic: Some(topic.clone()), states, ..Filter::default() },
                jobs_max: left_of(bound, kicked).min(BULK_JOBS_MAX),
                cursor,
            };
            let step: Step = self.0.ask(Request::Bulk(bulk)).await?;
            kicked += u64::from(step.jobs);
            if step.cursor.is_empty() {
                break;
            }
            cursor = step.cursor;
        }
        Ok(kicked)
    }

    pub(super) async fn kick_job(&self, id: u64) -> Result<Reply, Problem> {
        let job = JobRef::Id(JobId(id));
        let request = match self.look(id).await?.and_then(|job| job.state) {
            Some(JobState::Buried) => Request::Kick(job),
            Some(JobState::Delayed) => Request::RunNow(job),
            _ => return Ok(NOT_FOUND),
        };
        self.change(request, "KICKED\r\n").await
    }
}

/// As many attempts as consumers make, without a wait.
static ENDLESS: LazyLock<Attributes> = LazyLock::new(|| {
    let attributes = AttributesBuilder::default().attempts_max(u32::MAX).backoff(&Backoff::NONE).build();
    attributes.unwrap_or_default()
});

/// The job here for one of beanstalkd: it has no retries and no end but those that its consumers decide. `None` if its delay is
/// longer than ten years.
pub fn new_job(put: Put) -> Option<NewJob> {
    let Put { priority, delay_s, ttr_s, body } = put;
    let delay_ms = u64::from(delay_s) * 1000;
    (delay_ms <= DELAY_MS_MAX).then(|| NewJob {
        due: When::After(delay_ms),
        priority: priority_of(priority),
        ttr_ms: ttr_s.max(1).saturating_mul(1000).min(TTR_MS_MAX),
        if_exists: IfExists::Reject,
        key: None,
        attributes: ENDLESS.clone(),
        body,
    })
}

fn left_of(bound: u32, done: u64) -> u32 {
    u32::try_from(u64::from(bound).saturating_sub(done)).unwrap_or(u32::MAX)
}

pub(super) fn is_about_its_state(problem: &Problem) -> bool {
    [ErrorCode::NotFound, ErrorCode::Reserved, ErrorCode::WrongState].iter().any(|code| problem.is(*code))
}
