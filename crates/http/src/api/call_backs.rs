//! Call-backs: what was attempted, and what may be called.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::input::{JsonBody, Number, Part, QueryOf};
use super::super::problem::{Problem, ProblemJson};
use super::page::{Conditions, PageQuery};
use super::{Answer, ok};
use adjourn_call_backs::Attempt;
use adjourn_protocol::ErrorCode;
use adjourn_types::{JobId, Right};

/// Which attempts.
type AttemptsQuery = PageQuery<1000, 100>;

/// The calls for one job.
#[derive(Serialize, ToSchema)]
#[schema(as = Attempts)]
pub(super) struct AttemptsJson {
    /// Those that this node made and still keeps, the first one first.
    attempts: Vec<Attempt>,
    /// For the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// The number of this node.
    node: u64,
    /// Whether no other node has made any: one without a port for other members. In a cluster each member keeps what it called.
    complete: bool,
}

/// What is to be called.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"url\": \"https://shop.example/due\"}")]
#[schema(as = Check, example = json!({"url": "https://shop.example/due"}))]
pub(super) struct CheckJson {
    /// The URL.
    url: String,
}

/// Whether it may be called.
#[derive(Serialize, ToSchema)]
#[schema(as = Checked)]
pub(super) struct CheckedJson {
    /// Whether this node would call it now.
    allowed: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The addresses of its host.
    addresses: Vec<AddressJson>,
}

/// One address.
#[derive(Serialize, ToSchema)]
#[schema(as = CheckedAddress)]
pub(super) struct AddressJson {
    /// The address.
    address: String,
    /// Whether it may be connected to.
    allowed: bool,
}

/// List the calls that were made for a job
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/attempts",
    operation_id = "list_attempts",
    tag = "call-backs",
    params(("id" = u64, Path, description = "The job's id; the job may be gone"), AttemptsQuery),
    responses(
        (status = 200, description = "The attempts", body = AttemptsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn attempts(
    caller: Caller,
    Part(Number(id)): Part<Number>,
    QueryOf(query): QueryOf<AttemptsQuery>,
) -> Answer {
    let access = caller.with_right(Right::Read, "attempts need")?;
    let attempts = caller.state().call_backs().attempts(JobId(id)).await.map_err(|error| {
        let message = format!("the log of call-backs cannot be read: {error}");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Unreadable, message)
    })?;
    let seen = attempts.into_iter().filter(|attempt| access.has(Right::Read, &attempt.topic));
    let numbered: Vec<(u64, Attempt)> = (1..).zip(seen).collect();
    let list = Conditions::of(format!("attempts of {id}").as_bytes());
    let (page, cursor) = query.of(&list, numbered, |(number, _)| number.to_be_bytes().to_vec())?;
    let attempts = page.into_iter().map(|(_, attempt)| attempt).collect();
    let (node, complete) = (caller.state().call_backs().node(), caller.state().local().is_alone());
    ok(&AttemptsJson { attempts, cursor, node, complete })
}

/// Say whether a URL may be called, and why not
#[utoipa::path(
    post,
    path = "/v1/call-backs/check",
    operation_id = "check_destination",
    tag = "call-backs",
    request_body = CheckJson,
    responses(
        (status = 200, description = "What this node would do", body = CheckedJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn check(caller: Caller, JsonBody(asked): JsonBody<CheckJson>) -> Answer {
    caller.with_right(Right::Manage, "to check a destination needs")?;
    let checked = caller.state().call_backs().check(&asked.url).await;
    let addresses = checked.addresses.iter();
    let addresses = addresses
        .map(|(address, refused)| AddressJson { address: address.to_string(), allowed: refused.is_none() });
    ok(&CheckedJson {
        allowed: checked.refused.is_none(),
        reason: checked.refused.clone(),
        addresses: addresses.collect(),
    })
}
