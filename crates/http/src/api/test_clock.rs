//! The clock of a server for tests: what it shows, and how a test moves it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{ClockStep, Delay, Field, SpanMs, schema, schema_ms};
use super::super::input::JsonBody;
use super::super::problem::{Problem, ProblemJson};
use super::{Answer, ok};
use adjourn_json::values::time_text;
use adjourn_protocol::{Advance, Request};
use adjourn_types::Millis;

/// How far the clock moves.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"advance\": \"15m\"}")]
#[schema(as = Advance, example = json!({"advance": "15m"}))]
pub(super) struct AdvanceJson {
    /// By a duration, or to the time at which the `next` delayed job is due.
    #[schema(schema_with = schema::<ClockStep>)]
    advance: Option<Field<ClockStep>>,
    /// By a duration, in milliseconds.
    #[schema(schema_with = schema_ms::<Delay>)]
    advance_ms: Option<SpanMs<Delay>>,
}

/// The clock.
#[derive(Serialize, ToSchema)]
#[schema(as = Clock)]
pub(super) struct ClockJson {
    /// What it shows.
    #[schema(example = "2030-12-24T18:00:00.000Z")]
    now: String,
    /// The same, in milliseconds since 1970.
    now_ms: u64,
    /// How far it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    advanced_ms: Option<u64>,
}

impl ClockJson {
    fn of(now: Millis, advanced_ms: Option<u64>) -> Self {
        Self { now: time_text(now), now_ms: now.0, advanced_ms }
    }
}

/// Show the queue's clock
#[utoipa::path(
    get,
    path = "/v1/test/clock",
    operation_id = "show_clock",
    tag = "server",
    responses(
        (status = 200, description = "The time by which jobs are due", body = ClockJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn show(caller: Caller) -> Answer {
    ok(&ClockJson::of(caller.ask(Request::Ping).await?, None))
}

/// Move the clock of a server for tests
#[utoipa::path(
    post,
    path = "/v1/test/clock",
    operation_id = "advance_clock",
    tag = "server",
    request_body = AdvanceJson,
    responses(
        (status = 200, description = "The new time; everything that is due by then is carried out", body = ClockJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn advance(caller: Caller, JsonBody(json): JsonBody<AdvanceJson>) -> Answer {
    let advance = match (json.advance, json.advance_ms) {
        (Some(Field(advance)), None) => advance,
        (None, Some(millis)) => Advance::By(millis.millis()),
        _ => {
            let detail =
                "give the step: {\"advance\": \"15m\"}, {\"advance\": \"next\"} or {\"advance_ms\": 900000}";
            return Err(Problem::at_pointer("/advance", detail));
        }
    };
    let before: Millis = caller.ask(Request::Ping).await?;
    let now: Millis = caller.ask(Request::Advance(advance)).await?;
    ok(&ClockJson::of(now, Some(now.since(before))))
}
