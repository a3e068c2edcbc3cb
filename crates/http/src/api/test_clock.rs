//! The clock of a server for tests: what it shows, and how a test moves it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{ClockStep, Field, schema};
use super::super::input::JsonBody;
use super::super::problem::{Problem, ProblemJson};
use super::{Answer, ok};
use adjourn_json::values::time_text;
use adjourn_protocol::Request;
use adjourn_types::Millis;

/// How far the clock moves.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AdvanceJson {
    /// By a duration, or to the time at which the `next` delayed job is due.
    #[schema(schema_with = schema::<ClockStep>)]
    advance: Option<Field<ClockStep>>,
}

/// The clock.
#[derive(Serialize, ToSchema)]
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
    tag = "server",
    request_body = AdvanceJson,
    responses(
        (status = 200, description = "The new time; everything that is due by then is carried out", body = ClockJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn advance(caller: Caller, JsonBody(json): JsonBody<AdvanceJson>) -> Answer {
    let Some(Field(advance)) = json.advance else {
        return Err(Problem::malformed("say how far: {\"advance\": \"15m\"} or {\"advance\": \"next\"}"));
    };
    let before: Millis = caller.ask(Request::Ping).await?;
    let now: Millis = caller.ask(Request::Advance(advance)).await?;
    ok(&ClockJson::of(now, Some(now.since(before))))
}
