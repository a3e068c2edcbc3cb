//! Jobs for the instants of a schedule in a time that has passed.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{Field, ScheduleName, Time, TimeMs, either_time, schema, schema_time_ms};
use super::super::input::{JsonBody, Parts2};
use super::super::problem::{Problem, ProblemJson};
use super::push::push_part;
use super::{Answer, ok};
use adjourn_calendar::{BACKFILL_MAX, Calendar};
use adjourn_json::values::time_text;
use adjourn_protocol::backfill::{Filled, pushes};
use adjourn_protocol::{ErrorCode, Request as Asked, ScheduleReport};
use adjourn_types::{Millis, TopicName};

/// A time that has passed.
#[derive(Deserialize, ToSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object such as {\"from\": \"2024-11-04T00:00:00Z\", \"to\": \"2024-11-11T00:00:00Z\"}"
)]
#[schema(as = Backfill, example = json!({"from": "2024-11-04T00:00:00Z", "to": "2024-11-11T00:00:00Z", "dry_run": true}))]
pub(super) struct BackfillJson {
    /// The first instant that counts.
    #[schema(schema_with = schema::<Time>)]
    from: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[schema(schema_with = schema_time_ms)]
    from_ms: Option<TimeMs>,
    /// The last instant that counts. It must not be ahead.
    #[schema(schema_with = schema::<Time>)]
    to: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[schema(schema_with = schema_time_ms)]
    to_ms: Option<TimeMs>,
    /// Pushes nothing, and counts the instants.
    dry_run: Option<bool>,
}

/// The outcome of a backfill.
#[derive(Serialize, ToSchema)]
#[schema(as = Backfilled)]
pub(super) struct BackfilledJson {
    /// Instants of the schedule in this time.
    instants: u64,
    /// Jobs that were pushed.
    pushed: u64,
    /// Instants whose job is in the topic already, by its key.
    kept: u64,
    /// Jobs that were refused: the topic's policy, or a limit of the queue, does not allow them.
    refused: u64,
    /// Set if it came upon an error after some instants: fill the rest from this one on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    next: Option<String>,
}

/// Push the jobs of a time that has passed
///
/// A job for each instant of the schedule in this time, due now, unless the topic has a job with the key of that instant. These are jobs like any others:
/// the history of the schedule does not show them, and they do not overlap with its own.
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/schedules/{name}/backfill",
    operation_id = "backfill_schedule",
    tag = "schedules",
    params(("topic" = String, Path, description = "The topic"), ("name" = String, Path, description = "The schedule's name")),
    request_body = BackfillJson,
    responses(
        (status = 200, description = "What became of the instants", body = BackfilledJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn backfill(
    caller: Caller,
    Parts2(topic, ScheduleName(name)): Parts2<TopicName, ScheduleName>,
    JsonBody(json): JsonBody<BackfillJson>,
) -> Answer {
    let missing = |field| Problem::at_pointer(field, "give this time: a backfill has a beginning and an end");
    let from = either_time("from", json.from.as_ref(), json.from_ms)?.ok_or_else(|| missing("/from"))?;
    let to = either_time("to", json.to.as_ref(), json.to_ms)?.ok_or_else(|| missing("/to"))?;
    let is_dry_run = json.dry_run.unwrap_or_default();
    let Backfilled { instants, filled, next } = fill(&caller, &topic, &name, (from, to), is_dry_run).await?;
    let Filled { pushed, kept, refused } = filled;
    ok(&BackfilledJson { instants, pushed, kept, refused, next: next.map(time_text) })
}

/// The outcome of a backfill.
#[derive(Clone, Copy, Debug)]
pub struct Backfilled {
    /// Instants of the schedule in that time.
    pub instants: u64,
    /// What became of them.
    pub filled: Filled,
    /// Set if it came upon an error: the first instant that was not filled.
    pub next: Option<Millis>,
}

/// Pushes the jobs of a time, or counts them.
///
/// # Errors
///
/// If the time is not past, or the schedule cannot be filled.
pub(super) async fn fill(
    caller: &Caller,
    topic: &TopicName,
    name: &str,
    (from, to): (Millis, Millis),
    is_dry_run: bool,
) -> Result<Backfilled, Problem> {
    let now: Millis = caller.ask(Asked::Ping).await?;
    if from > to || to > now {
        let detail = if to > now {
            "this time is ahead: the schedule fires what is ahead by itself"
        } else {
            "it ends before it begins: exchange `from` and `to`"
        };
        return Err(Problem::at_pointer("/to", detail));
    }
    let asked = Asked::ScheduleShow { topic: topic.clone(), name: name.to_owned() };
    let report: ScheduleReport = caller.ask(asked).await?;
    if report.rules.key.is_some() {
        let detail =
            "all jobs of this schedule have one key, so that only one can be there: push a job yourself";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, ErrorCode::Invalid, detail));
    }
    let calendar = Calendar::of_rules(&report.rules, from, caller.state().zones());
    let calendar = calendar
        .map_err(|error| Problem::malformed(format!("this member does not know when it fires: {error}")))?;
    let instants = calendar.to_fill(from, to).ok_or_else(|| {
        let detail =
            format!("the schedule has more than {BACKFILL_MAX} instants in this time: fill a shorter one");
        Problem::at_pointer("/to", detail)
    })?;
    let (mut filled, mut next) = (Filled::default(), None);
    let filling = if is_dry_run { &[] } else { &instants[..] };
    for (first, jobs) in pushes(&report, name, filling) {
        match push_part(caller, topic, jobs, None).await {
            Ok(results) => filled.count(&results),
            Err(problem) if filled == Filled::default() => return Err(problem),
            // What was pushed stays.
            Err(_) => {
                next = Some(first);
                break;
            }
        }
    }
    Ok(Backfilled { instants: instants.len() as u64, filled, next })
}
