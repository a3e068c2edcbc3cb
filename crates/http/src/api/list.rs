//! Lists and counts of jobs.

use bytes::BytesMut;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::caller::Caller;
use super::super::fields::{Field, Whole, schema, schema_number};
use super::super::input::{Pairs, QueryOf};
use super::super::problem::{Place, ProblemJson};
use super::filter::FilterJson;
use super::page::{Conditions, Cursor};
use super::{Answer, ok};
use adjourn_json::JobJson;
use adjourn_protocol::{Counted, List, Request, RequestId};
use adjourn_types::ListOrder;
use adjourn_types::limits::LIST_JOBS_MAX;

/// The default number of jobs on a page.
const LIMIT_DEFAULT: u32 = 100;
const LIMIT_MAX: u64 = LIST_JOBS_MAX as u64;

/// The parameters of a list besides its conditions.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// The default is due.
    #[param(inline)]
    order: Option<OrderJson>,
    /// At most this many jobs. The default is 100.
    #[param(schema_with = schema_number::<1, LIMIT_MAX>, required = false)]
    limit: Option<Whole<1, LIMIT_MAX>>,
    /// The cursor of the page before, with the same conditions.
    #[param(schema_with = schema::<Cursor>, required = false)]
    cursor: Option<Field<Cursor>>,
    /// Shows the jobs' bodies, too.
    bodies: Option<bool>,
}

/// The names of these parameters.
const PAGE_PARAMETERS: [&str; 4] = ["order", "limit", "cursor", "bodies"];

/// The order of a list.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Order)]
pub(super) enum OrderJson {
    /// By due time.
    #[default]
    Due,
    /// By id: the order in which they were pushed.
    Id,
    /// By key; jobs without one are left out.
    Key,
}

/// A page of jobs.
#[derive(Serialize, ToSchema)]
#[schema(as = Jobs)]
pub(super) struct JobsJson<'a> {
    /// The jobs. There may be none, and more on the next page.
    jobs: Vec<JobJson<'a>>,
    /// For the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// A number of jobs.
#[derive(Serialize, ToSchema)]
#[schema(as = Count)]
pub(super) struct CountJson {
    /// How many.
    pub(super) count: u64,
}

/// List jobs
#[utoipa::path(
    get,
    path = "/v1/jobs",
    operation_id = "list_jobs",
    tag = "jobs",
    params(FilterJson, ListQuery),
    responses(
        (status = 200, description = "A page of jobs", body = JobsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn list(caller: Caller, mut query: Pairs) -> Answer {
    let page: ListQuery = query.split(&PAGE_PARAMETERS).read(Place::Parameter)?;
    let filter: FilterJson = query.read(Place::Parameter)?;
    let bodies = page.bodies.unwrap_or_default();
    let mut list = List {
        filter: filter.filter().map_err(|problem| problem.elsewhere(Place::Parameter))?,
        order: match page.order.unwrap_or_default() {
            OrderJson::Due => ListOrder::Due,
            OrderJson::Id => ListOrder::Id,
            OrderJson::Key => ListOrder::Key,
        },
        jobs_max: LIST_JOBS_MAX,
        with_bodies: false,
        cursor: bytes::Bytes::new(),
    };
    let conditions = conditions(&Request::List(list.clone()));
    list.cursor = conditions.open(page.cursor).map_err(|problem| problem.elsewhere(Place::Parameter))?;
    list.jobs_max = page.limit.map_or(LIMIT_DEFAULT, Whole::narrow);
    list.with_bodies = bodies;
    let adjourn_protocol::Page { jobs, cursor } = caller.ask(Request::List(list)).await?;
    let jobs = jobs.iter().map(|job| JobJson::of(job, bodies)).collect();
    ok(&JobsJson { jobs, cursor: conditions.cursor(&cursor) })
}

/// The conditions of a request that has no cursor yet.
pub(super) fn conditions(request: &Request) -> Conditions {
    let mut frame = BytesMut::new();
    request.encode(RequestId(0), &mut frame);
    Conditions::of(&frame)
}

/// Count jobs
#[utoipa::path(
    get,
    path = "/v1/jobs/count",
    operation_id = "count_jobs",
    tag = "jobs",
    params(FilterJson),
    responses(
        (status = 200, description = "How many jobs match", body = CountJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn count(caller: Caller, QueryOf(filter): QueryOf<FilterJson>) -> Answer {
    let filter = filter.filter().map_err(|problem| problem.elsewhere(Place::Parameter))?;
    let Counted(count) = caller.ask(Request::Count(filter)).await?;
    ok(&CountJson { count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_a_page_are_those_of_its_type() {
        let documented = ListQuery::into_params(|| None);
        let names: Vec<String> = documented.into_iter().map(|parameter| parameter.name).collect();
        assert_eq!(names, PAGE_PARAMETERS);
    }
}
