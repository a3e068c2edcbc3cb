//! The same change to many jobs, one step per request.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{
    Delay, Field, Span, SpanMs, Time, TimeMs, Topic, Whole, schema, schema_ms, schema_number, schema_time_ms,
    when,
};
use super::super::input::{JsonBody, object};
use super::super::problem::{Problem, ProblemJson};
use super::filter::FilterJson;
use super::list::conditions;
use super::page::Cursor;
use super::{Answer, ok};
use adjourn_protocol::{Bulk, Change, Counted, Request, Step};
use adjourn_types::limits::BULK_JOBS_MAX;
use adjourn_types::{Filter, JobState, Millis, States, When};

const LIMIT_MAX: u64 = BULK_JOBS_MAX as u64;

/// A step of a change to many jobs.
#[derive(Deserialize, ToSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object such as {\"change\": \"kick\", \"filter\": {\"topic\": \"orders\"}}"
)]
#[schema(as = Bulk, example = json!({"change": "delete", "filter": {"topic": "orders", "state": ["buried"]}}))]
pub(super) struct BulkJson {
    /// The change to each job.
    change: ChangeJson,
    /// With reschedule: how long from now the jobs are due. Each step counts from its own time.
    #[schema(schema_with = schema::<Span<Delay>>)]
    delay: Option<Field<Span<Delay>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<Delay>)]
    delay_ms: Option<SpanMs<Delay>>,
    /// With reschedule: when the jobs are due.
    #[schema(schema_with = schema::<Time>)]
    due: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[schema(schema_with = schema_time_ms)]
    due_ms: Option<TimeMs>,
    /// With move: the topic they go to.
    #[schema(schema_with = schema::<Topic>)]
    to: Option<Field<Topic>>,
    /// The jobs. At least one condition, or `all`, must be given.
    #[serde(default, deserialize_with = "object")]
    filter: FilterJson,
    /// All jobs of the queue.
    all: Option<bool>,
    /// Changes nothing, and counts what would be changed.
    dry_run: Option<bool>,
    /// Changes at most this many with this request. The default is 1024.
    #[schema(schema_with = schema_number::<1, LIMIT_MAX>)]
    limit: Option<Whole<1, LIMIT_MAX>>,
    /// The cursor of the step before, with the same conditions.
    #[schema(schema_with = schema::<Cursor>)]
    cursor: Option<Field<Cursor>>,
}

/// The change to each job.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Change)]
pub(super) enum ChangeJson {
    /// Delete it, whatever its state.
    Delete,
    /// Make it ready, if it is buried.
    Kick,
    /// Make it ready, if it is delayed.
    RunNow,
    /// Give it another due time, if it is delayed or ready.
    Reschedule,
    /// Move it to another topic.
    Move,
}

/// The outcome of a step.
#[derive(Serialize, ToSchema)]
#[schema(as = BulkStep)]
pub(super) struct BulkedJson {
    /// What meets the conditions: of this step, or all in a dry run of a change of jobs.
    pub(super) matched: u64,
    /// What was changed, or would be.
    pub(super) changed: u64,
    /// What was left as it is: a job whose state does not allow the change, or whose key the other topic has; a schedule that is so
    /// already, or gone by now.
    pub(super) skipped: u64,
    /// For the next step; absent after the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<String>,
}

/// Change many jobs
///
/// Each request is one step. Send the cursor of its answer with the next one, until there is none. A dry run counts all jobs at once; it
/// does not look for keys that the other topic has.
#[utoipa::path(
    post,
    path = "/v1/jobs/bulk",
    operation_id = "change_jobs",
    tag = "jobs",
    request_body = BulkJson,
    responses(
        (status = 200, description = "What this step did", body = BulkedJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn bulk(caller: Caller, JsonBody(mut json): JsonBody<BulkJson>) -> Answer {
    let change = json.change(Millis(0))?;
    let is_dry_run = json.dry_run.unwrap_or_default();
    let filter = std::mem::take(&mut json.filter).filter().map_err(|problem| problem.within("/filter"))?;
    let some = "give a condition that excludes some jobs, for example {\"topic\": \"orders\"}, or \"all\": true for all jobs of the queue";
    conditions_or_all(excludes_some(&filter), json.all, some)?;
    if is_dry_run {
        if json.limit.is_some() || json.cursor.is_some() {
            let detail = "a dry run counts all jobs at once: leave limit and cursor out";
            return Err(Problem::at_pointer("/dry_run", detail));
        }
        return dry_run(&caller, &change, filter).await;
    }
    let mut bulk = Bulk { change, filter, jobs_max: BULK_JOBS_MAX, cursor: bytes::Bytes::new() };
    // The conditions have a delay as it is: it is the same in each step.
    let conditions = conditions(&Request::Bulk(bulk.clone()));
    if json.delay.is_some() || json.delay_ms.is_some() {
        bulk.change = json.change(caller.ask(Request::Ping).await?)?;
    }
    bulk.cursor = conditions.open(json.cursor.take())?;
    bulk.jobs_max = json.limit.map_or(BULK_JOBS_MAX, Whole::narrow);
    let Step { jobs, skipped, cursor } = caller.ask(Request::Bulk(bulk)).await?;
    let (changed, skipped) = (u64::from(jobs), u64::from(skipped));
    ok(&BulkedJson { matched: changed + skipped, changed, skipped, cursor: conditions.cursor(&cursor) })
}

/// Checks that a change of many has conditions, or is said to be one of all. Otherwise `some` says which conditions to give.
///
/// # Errors
///
/// If it has neither, or both.
pub(super) fn conditions_or_all(has_conditions: bool, all: Option<bool>, some: &str) -> Result<(), Problem> {
    match (has_conditions, all.unwrap_or_default()) {
        (true, false) | (false, true) => Ok(()),
        (true, true) => Err(Problem::at_pointer("/all", "give conditions or \"all\": true, not both")),
        (false, false) => Err(Problem::at_pointer("/filter", some)),
    }
}

/// True if a filter has a condition. All states that a job in the queue can have are none, with or without finished jobs.
pub fn excludes_some(filter: &Filter) -> bool {
    let excludes_a_state = States::ALL.iter().any(|state| !filter.states.contains(state));
    excludes_a_state || *filter != (Filter { states: filter.states, ..Filter::default() })
}

async fn dry_run(caller: &Caller, change: &Change, filter: Filter) -> Answer {
    let Selected { matched, changing: changed } = select(caller, change, filter).await?;
    // Between the two counts jobs may have come.
    ok(&BulkedJson { matched, changed, skipped: matched.saturating_sub(changed), cursor: None })
}

/// The jobs that a change is about.
#[derive(Clone, Copy, Debug)]
pub struct Selected {
    /// How many meet the conditions.
    pub matched: u64,
    /// How many of them are in a state that allows the change.
    pub changing: u64,
}

/// Counts the jobs that a change is about.
///
/// # Errors
///
/// What the queue says.
pub async fn select(caller: &Caller, change: &Change, filter: Filter) -> Result<Selected, Problem> {
    let allowed = match change {
        Change::Delete => States::WITH_FINISHED,
        Change::Kick => States::of([JobState::Buried]),
        Change::RunNow => States::of([JobState::Delayed]),
        Change::Reschedule { .. } => States::of([JobState::Delayed, JobState::Ready]),
        Change::Move { .. } => States::of([JobState::Delayed, JobState::Ready, JobState::Buried]),
    };
    let changing = States::of(filter.states.iter().filter(|state| allowed.contains(*state)));
    let Counted { jobs: matched, .. } = caller.ask(Request::Count(filter.clone().into())).await?;
    let changing = if changing == filter.states {
        matched
    } else if changing.iter().next().is_none() {
        0
    } else {
        let filter = Filter { states: changing, ..filter };
        let Counted { jobs, .. } = caller.ask(Request::Count(filter.into())).await?;
        jobs
    };
    Ok(Selected { matched, changing })
}

impl BulkJson {
    /// The change. A delay counts from `now`.
    fn change(&self, now: Millis) -> Result<Change, Problem> {
        let missing = |field, what| Problem::at_pointer(field, format!("give {what} with this change"));
        let (delay, due) = ((self.delay.as_ref(), self.delay_ms.as_ref()), (self.due.as_ref(), self.due_ms));
        let due = when(delay, due)?.map(|due| match due {
            When::After(delay_ms) => now.after(delay_ms),
            When::At(at) => at,
        });
        let to = self.to.as_ref().map(|to| to.0.clone());
        Ok(match (self.change, due, to) {
            (ChangeJson::Delete, None, None) => Change::Delete,
            (ChangeJson::Kick, None, None) => Change::Kick,
            (ChangeJson::RunNow, None, None) => Change::RunNow,
            (ChangeJson::Reschedule, due, None) => {
                Change::Reschedule { due: due.ok_or_else(|| missing("/due", "a delay or a due time"))? }
            }
            (ChangeJson::Move, None, to) => {
                Change::Move { to: to.ok_or_else(|| missing("/to", "the other topic as \"to\""))? }
            }
            (_, Some(_), _) => return Err(Problem::at_pointer("/due", "only reschedule has a due time")),
            (_, None, Some(_)) => return Err(Problem::at_pointer("/to", "only move has another topic")),
        })
    }
}
