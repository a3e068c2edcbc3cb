//! Lists and counts of jobs.

use bytes::BytesMut;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::caller::Caller;
use super::super::fields::{
    BarWidth, Field, Span, SpanMs, Time, TimeMs, Whole, either, either_time, schema, schema_ms,
    schema_number, schema_time_ms,
};
use super::super::input::Pairs;
use super::super::problem::{Place, Problem, ProblemJson};
use super::filter::FilterJson;
use super::page::{Conditions, Cursor};
use super::{Answer, ok};
use adjourn_json::JobJson;
use adjourn_json::values::time_text;
use adjourn_protocol::{Count, Counted, DueBar, List, Request, RequestId};
use adjourn_types::limits::{DUE_BARS_MAX, LIST_JOBS_MAX};
use adjourn_types::{DueBars, ListOrder, Millis};

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

const BARS_MAX: u64 = DUE_BARS_MAX as u64;

/// The parameters of a count besides its conditions.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct CountQuery {
    /// Counts the jobs by when they are due, too, in so many parts of a time: the bars of a histogram.
    #[param(schema_with = schema_number::<1, BARS_MAX>, required = false)]
    bars: Option<Whole<1, BARS_MAX>>,
    /// With `bars`: how long each is.
    #[param(schema_with = schema::<Span<BarWidth>>, required = false)]
    bar: Option<Field<Span<BarWidth>>>,
    /// The same in milliseconds.
    #[param(schema_with = schema_ms::<BarWidth>, required = false)]
    bar_ms: Option<SpanMs<BarWidth>>,
    /// With `bars`: where the first one begins. The default is now.
    #[param(schema_with = schema::<Time>, required = false)]
    bars_from: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[param(schema_with = schema_time_ms, required = false)]
    bars_from_ms: Option<TimeMs>,
}

/// The names of these parameters.
const COUNT_PARAMETERS: [&str; 5] = ["bars", "bar", "bar_ms", "bars_from", "bars_from_ms"];

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

/// How many jobs meet the conditions.
#[derive(Serialize, ToSchema)]
#[schema(as = Counted)]
struct CountedJson {
    /// How many.
    count: u64,
    /// With `bars`: the jobs that are due before them, each bar, and the jobs that are due after them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by_due: Vec<DueBarJson>,
}

/// The jobs that are due in a part of a time.
#[derive(Serialize, ToSchema)]
#[schema(as = DueBar)]
struct DueBarJson {
    /// Where it begins: it goes on to the next one, and the last one has no end. Absent for the jobs before the first bar.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2030-12-24T18:00:00.000Z")]
    from: Option<String>,
    /// The same, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_ms: Option<u64>,
    /// How many jobs are due in it.
    count: u64,
}

impl DueBarJson {
    /// The nth of a count.
    fn of((nth, bar): (usize, &DueBar)) -> Self {
        let from = Some(bar.from).filter(|_| nth > 0);
        Self { from: from.map(time_text), from_ms: from.map(|from| from.0), count: bar.jobs }
    }
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
///
/// With `bars` and `bar` they are counted by when they are due, too.
#[utoipa::path(
    get,
    path = "/v1/jobs/count",
    operation_id = "count_jobs",
    tag = "jobs",
    params(FilterJson, CountQuery),
    responses(
        (status = 200, description = "How many jobs match", body = CountedJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn count(caller: Caller, mut query: Pairs) -> Answer {
    let asked: CountQuery = query.split(&COUNT_PARAMETERS).read(Place::Parameter)?;
    let filter: FilterJson = query.read(Place::Parameter)?;
    let count = async {
        let filter = filter.filter()?;
        Ok(Count { filter, bars: asked.bars(&caller).await? })
    };
    let count = count.await.map_err(|problem: Problem| problem.elsewhere(Place::Parameter))?;
    let Counted { jobs, by_due } = caller.ask(Request::Count(count)).await?;
    ok(&CountedJson { count: jobs, by_due: by_due.iter().enumerate().map(DueBarJson::of).collect() })
}

impl CountQuery {
    async fn bars(&self, caller: &Caller) -> Result<Option<DueBars>, Problem> {
        let width_ms = either("bar", self.bar.as_ref(), self.bar_ms.as_ref())?;
        let from = either_time("bars_from", self.bars_from.as_ref(), self.bars_from_ms)?;
        match (self.bars, width_ms) {
            (Some(bars), Some(width_ms)) => {
                let from = match from {
                    Some(from) => from,
                    None => caller.ask::<Millis>(Request::Ping).await?,
                };
                Ok(Some(DueBars { from, width_ms, count: bars.narrow() }))
            }
            (None, None) if from.is_none() => Ok(None),
            (None, _) => Err(Problem::at_pointer("/bars", "say how many bars")),
            (Some(_), None) => Err(Problem::at_pointer("/bar", "say how long each bar is, such as 1h")),
        }
    }
}

#[cfg(test)]
mod tests {
    use utoipa::openapi::path::Parameter;

    use super::*;

    #[test]
    fn the_parameters_of_a_page_are_those_of_its_type() {
        let names = |documented: Vec<Parameter>| -> Vec<String> {
            documented.into_iter().map(|parameter| parameter.name).collect()
        };
        assert_eq!(names(ListQuery::into_params(|| None)), PAGE_PARAMETERS);
        assert_eq!(names(CountQuery::into_params(|| None)), COUNT_PARAMETERS);
    }
}
