//! Jobs for the instants of a schedule in a time that has passed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{Field, ScheduleName, Time, TimeMs, either_time, schema, schema_time_ms};
use super::super::input::{JsonBody, Parts2};
use super::super::problem::{Problem, ProblemJson};
use super::{Answer, ok};
use adjourn_json::values::time_text;
use adjourn_protocol::{BACKFILL_MAX, Backfill, Request as Asked, ScheduleFill};
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
    if from > to {
        return Err(Problem::at_pointer("/to", "it ends before it begins: exchange `from` and `to`"));
    }
    // The queue refuses it, too, and knows no field of this API.
    if to > caller.ask::<Millis>(Asked::Ping).await? {
        return Err(Problem::at_pointer(
            "/to",
            "this time is ahead: the schedule fires what is ahead by itself",
        ));
    }
    let time = ScheduleFill { topic, name, from, to, is_dry_run: json.dry_run.unwrap_or_default() };
    let filled = fill(&caller, time).await?;
    let next = filled.next().map(|rest| time_text(rest.from));
    let Backfill { instants, pushed, kept, refused, .. } = filled;
    ok(&BackfilledJson { instants, pushed, kept, refused, next })
}

/// Pushes the jobs of a time, or counts its instants. If it comes upon an error after some jobs, there is a next part.
///
/// # Errors
///
/// If the schedule cannot be filled, or has too many instants.
pub(super) async fn fill(caller: &Caller, time: ScheduleFill) -> Result<Backfill, Problem> {
    let mut counted = Backfill::new(ScheduleFill { is_dry_run: true, ..time.clone() });
    while let Some(part) = counted.next() {
        counted.note(&caller.ask(Asked::ScheduleFill(part.clone())).await?);
        if counted.is_too_long() {
            let detail = format!(
                "the schedule has more than {BACKFILL_MAX} instants in this time: fill a shorter one"
            );
            return Err(Problem::at_pointer("/to", detail));
        }
    }
    if time.is_dry_run {
        return Ok(counted);
    }
    let mut filled = Backfill::new(time);
    // The schedule may be another one by now.
    while let Some(part) = filled.next().filter(|_| !filled.is_too_long()) {
        caller.wait_for_turn().await;
        match caller.ask(Asked::ScheduleFill(part.clone())).await {
            Ok(part) => filled.note(&part),
            Err(problem) if filled.instants == 0 => return Err(problem),
            // What was pushed stays.
            Err(_) => break,
        }
    }
    Ok(filled)
}
