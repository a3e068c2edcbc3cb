//! The same change to many jobs, one step per request.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{Field, Time, Topic, schema};
use super::super::input::JsonBody;
use super::super::problem::{Problem, ProblemJson};
use super::filter::FilterJson;
use super::list::{Cursor, cursor_text};
use super::{Answer, ok};
use adjourn_protocol::{Bulk, Change, Request, Step};
use adjourn_types::limits::BULK_JOBS_MAX;

/// A step of a change to many jobs.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"change": "delete", "filter": {"topic": "orders", "state": "buried"}}))]
pub(super) struct BulkJson {
    /// What to do to each job.
    change: Option<ChangeJson>,
    /// With reschedule: when the jobs are due.
    #[schema(schema_with = schema::<Time>)]
    due: Option<Field<Time>>,
    /// With move: the topic they go to.
    #[schema(schema_with = schema::<Topic>)]
    to: Option<Field<Topic>>,
    /// To which jobs.
    filter: Option<FilterJson>,
    /// To at most this many with this request: 1 to 1024; 1024 without it.
    limit: Option<u32>,
    /// Where the step before ended.
    #[schema(value_type = Option<String>)]
    cursor: Option<Cursor>,
}

/// What to do to each job.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ChangeJson {
    /// Remove it, whatever its state.
    Delete,
    /// Make it ready, if it is buried.
    Kick,
    /// Make it ready, if it is delayed.
    RunNow,
    /// Give it another due time, if it is delayed or ready.
    Reschedule,
    /// Put it into another topic.
    Move,
}

/// What a step did.
#[derive(Serialize, ToSchema)]
pub(super) struct BulkedJson {
    /// Jobs that were changed.
    jobs: u32,
    /// Jobs that were not moved: another job has their key there.
    in_the_way: u32,
    /// Where the next step goes on; without it this was the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// Change many jobs
///
/// Each request is one step. Send the cursor of its answer with the next one, until there is none.
#[utoipa::path(
    post,
    path = "/v1/jobs/bulk",
    tag = "jobs",
    request_body = BulkJson,
    responses(
        (status = 200, description = "What this step did", body = BulkedJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn bulk(caller: Caller, JsonBody(json): JsonBody<BulkJson>) -> Answer {
    let BulkJson { change, due, to, filter, limit, cursor } = json;
    let missing = |what| Problem::malformed(format!("{what} is missing"));
    let change = match change.ok_or_else(|| missing("change"))? {
        ChangeJson::Delete => Change::Delete,
        ChangeJson::Kick => Change::Kick,
        ChangeJson::RunNow => Change::RunNow,
        ChangeJson::Reschedule => Change::Reschedule { due: due.ok_or_else(|| missing("due"))?.0 },
        ChangeJson::Move => Change::Move { to: to.ok_or_else(|| missing("to"))?.0 },
    };
    let filter =
        filter.unwrap_or_default().filter().map_err(|error| Problem::malformed(error.to_string()))?;
    let (jobs_max, cursor) = (limit.unwrap_or(BULK_JOBS_MAX), cursor.unwrap_or_default().0);
    let step = caller.ask(Request::Bulk(Bulk { change, filter, jobs_max, cursor })).await?;
    let Step { jobs, in_the_way, cursor } = step;
    ok(&BulkedJson { jobs, in_the_way, cursor: cursor_text(&cursor) })
}
