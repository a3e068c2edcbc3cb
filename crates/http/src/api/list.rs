//! Lists and counts of jobs.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::caller::Caller;
use super::super::fields::{Field, Flag, Number};
use super::super::input::QueryOf;
use super::super::problem::{Problem, ProblemJson};
use super::filter::FilterJson;
use super::{Answer, ok};
use adjourn_json::JobJson;
use adjourn_protocol::{Counted, List, Request};
use adjourn_types::ListOrder;

/// The default number of jobs on a page.
const LIMIT_USUAL: u32 = 100;

/// What a list is asked beside its conditions.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Page {
    /// due (the default), id or key.
    #[param(inline)]
    order: Option<OrderJson>,
    /// At most this many jobs: 1 to 1024; 100 without it.
    #[param(value_type = Option<u32>)]
    limit: Option<Field<Number>>,
    /// Where the page before ended.
    #[param(value_type = Option<String>)]
    cursor: Option<Cursor>,
    /// Shows the jobs' bodies, too.
    #[param(value_type = Option<bool>)]
    bodies: Option<Field<Flag>>,
}

/// The order of a list.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum OrderJson {
    /// By due time.
    #[default]
    Due,
    /// By id: the order in which they were pushed.
    Id,
    /// By key; jobs without one are left out.
    Key,
}

/// Where a list, or a bulk change, goes on. Opaque.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String)]
pub(super) struct Cursor(pub(super) Bytes);

/// The page and the conditions of a list.
#[derive(Deserialize)]
pub(super) struct Asked {
    #[serde(flatten)]
    page: Page,
    #[serde(flatten)]
    filter: FilterJson,
    /// Unknown parameters.
    #[serde(flatten)]
    rest: BTreeMap<String, String>,
}

/// A page of jobs.
#[derive(Serialize, ToSchema)]
pub(super) struct JobsJson<'a> {
    /// The jobs. There may be none, and more on the next page.
    jobs: Vec<JobJson<'a>>,
    /// Where the next page goes on; without it this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// How many jobs match.
#[derive(Serialize, ToSchema)]
pub(super) struct CountJson {
    /// Jobs.
    jobs: u64,
}

/// Not a cursor.
#[derive(Debug, thiserror::Error)]
#[error("cursor: expected one that a page before has given")]
pub(super) struct CursorError;

impl TryFrom<String> for Cursor {
    type Error = CursorError;

    fn try_from(text: String) -> Result<Self, CursorError> {
        URL_SAFE_NO_PAD.decode(text).map(|bytes| Self(bytes.into())).map_err(|_| CursorError)
    }
}

/// A cursor as text; `None` after the last page.
pub(super) fn cursor_text(cursor: &Bytes) -> Option<String> {
    (!cursor.is_empty()).then(|| URL_SAFE_NO_PAD.encode(cursor))
}

/// List jobs
#[utoipa::path(
    get,
    path = "/v1/jobs",
    tag = "jobs",
    params(FilterJson, Page),
    responses(
        (status = 200, description = "A page of jobs", body = JobsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn list(caller: Caller, QueryOf(asked): QueryOf<Asked>) -> Answer {
    let Asked { page, filter, rest } = asked;
    if let Some((name, _)) = rest.first_key_value() {
        return Err(Problem::malformed(format!("there is no parameter {name}")));
    }
    let Page { order, limit, cursor, bodies } = page;
    let bodies = bodies.is_some_and(|bodies| bodies.0);
    let list = List {
        filter: filter.filter().map_err(|error| Problem::malformed(error.to_string()))?,
        order: match order.unwrap_or_default() {
            OrderJson::Due => ListOrder::Due,
            OrderJson::Id => ListOrder::Id,
            OrderJson::Key => ListOrder::Key,
        },
        jobs_max: limit.map_or(LIMIT_USUAL, |limit| limit.0),
        with_bodies: bodies,
        cursor: cursor.unwrap_or_default().0,
    };
    let adjourn_protocol::Page { jobs, cursor } = caller.ask(Request::List(list)).await?;
    let jobs = jobs.iter().map(|job| JobJson::of(job, bodies)).collect();
    ok(&JobsJson { jobs, cursor: cursor_text(&cursor) })
}

/// Count jobs
#[utoipa::path(
    get,
    path = "/v1/jobs/count",
    tag = "jobs",
    params(FilterJson),
    responses(
        (status = 200, description = "How many jobs match", body = CountJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn count(caller: Caller, QueryOf(filter): QueryOf<FilterJson>) -> Answer {
    let filter = filter.filter().map_err(|error| Problem::malformed(error.to_string()))?;
    let Counted(jobs) = caller.ask(Request::Count(filter)).await?;
    ok(&CountJson { jobs })
}
