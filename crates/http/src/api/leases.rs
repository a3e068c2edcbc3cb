//! Reserve jobs, and settle their leases: finish, release, touch, bury.

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::caller::Caller;
use super::super::fields::{Delay, Field, Number, Ttr, Wait, schema};
use super::super::input::{JsonBody, Part, QueryOf};
use super::super::problem::{Problem, ProblemJson, about};
use super::{Answer, ok};
use adjourn_json::DeliveredJson;
use adjourn_protocol::{Delivered, ErrorReply, ReleaseKind, Request, Reserve, SettleResult};
use adjourn_types::{Lease, LeaseParseError, NameError, TopicName};

/// What a reserve asks for.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ReserveQuery {
    /// Topics, with commas between.
    #[param(example = "orders,mails")]
    topics: String,
    /// At most this many jobs: 1 to 1024; 1 without it.
    #[param(value_type = Option<u32>)]
    max: Option<Field<Number>>,
    /// How long to wait for a job: at most an hour; not at all without it.
    #[param(value_type = Option<String>, example = "30s")]
    wait: Option<Field<Wait>>,
    /// A weight for each topic, with commas between: topics take turns by them.
    #[param(example = "5,1")]
    weights: Option<String>,
}

/// Leased jobs.
#[derive(Serialize, ToSchema)]
pub(super) struct ReservedJson<'a> {
    /// The jobs; none if none came in time.
    jobs: Vec<DeliveredJson<'a>>,
}

/// How a job is given back.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseJson {
    /// When it is ready again; without it after its backoff.
    #[schema(schema_with = schema::<Delay>)]
    delay: Option<Field<Delay>>,
    /// The work was not begun: it counts as no attempt.
    not_started: Option<bool>,
    /// Why, for people.
    reason: Option<String>,
}

/// How long a lease lasts from now on.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TouchJson {
    /// Without it the job's own.
    #[schema(schema_with = schema::<Ttr>)]
    ttr: Option<Field<Ttr>>,
}

/// Why a job is set aside.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BuryJson {
    /// For people.
    reason: Option<String>,
}

/// The same for many leases.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"finish": ["42-7", "43-8"], "release": ["44-9"], "delay": "1m"}))]
pub(super) struct SettleJson {
    /// Leases on jobs that are done.
    finish: Option<Vec<String>>,
    /// Leases on jobs to give back.
    release: Option<Vec<String>>,
    /// Leases to extend by the job's own time to run.
    touch: Option<Vec<String>>,
    /// Leases on jobs to set aside.
    bury: Option<Vec<String>>,
    /// When released jobs are ready again; without it after their backoff.
    #[schema(schema_with = schema::<Delay>)]
    delay: Option<Field<Delay>>,
    /// Why jobs are released or buried, for people.
    reason: Option<String>,
}

/// What became of many leases: of each its name and, if it was not good, the error.
#[derive(Serialize, ToSchema)]
pub(super) struct SettledJson {
    /// How many were good.
    settled: usize,
    /// Those that were not.
    failed: Vec<FailedJson>,
}

/// A lease that was not good.
#[derive(Serialize, ToSchema)]
pub(super) struct FailedJson {
    /// Which.
    lease: String,
    /// Why.
    #[schema(example = "STALE_LEASE")]
    error: &'static str,
    /// Whether it may have been settled all the same: no or unknown.
    applied: &'static str,
}

/// Reserve jobs
///
/// Waits for jobs (long poll), and leases them to the caller. Whoever shows a lease settles it.
#[utoipa::path(
    post,
    path = "/v1/reserve",
    tag = "leases",
    params(ReserveQuery),
    responses(
        (status = 200, description = "The jobs; none if none came in time", body = ReservedJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn reserve(caller: Caller, QueryOf(asked): QueryOf<ReserveQuery>) -> Answer {
    let topics = asked.topics.split(',').map(|name| name.trim().parse());
    let topics = topics.collect::<Result<Vec<TopicName>, NameError>>();
    let topics = topics.map_err(|error| Problem::malformed(format!("topics: {error}")))?;
    let weights =
        asked.weights.as_deref().map(|text| text.split(',').map(|weight| weight.trim().parse()).collect());
    let weights: Result<Vec<u16>, _> = weights.unwrap_or(Ok(Vec::new()));
    let weights = weights.map_err(|error| Problem::malformed(format!("weights: {error}")))?;
    let jobs_max = asked.max.map_or(1, |max| max.0);
    let wait_ms = asked.wait.map_or(0, |wait| wait.0);
    let reserve = Request::Reserve(Reserve { topics, jobs_max, wait_ms, weights });
    let jobs: Vec<Delivered> = caller.ask(reserve).await?;
    ok(&ReservedJson { jobs: jobs.iter().map(DeliveredJson::of).collect() })
}

/// Say that a job is done: it is removed
///
/// Saying it again is no error for a minute.
#[utoipa::path(
    post,
    path = "/v1/leases/{lease}/finish",
    tag = "leases",
    params(("lease" = String, Path, description = "The lease: ID-FENCE", example = "42-7")),
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn finish(caller: Caller, Part(lease): Part<Lease>) -> Answer {
    settled(&caller, Request::Finish { leases: vec![lease] }).await
}

/// Give a job back, to be attempted again
#[utoipa::path(
    post,
    path = "/v1/leases/{lease}/release",
    tag = "leases",
    params(("lease" = String, Path, description = "The lease: ID-FENCE", example = "42-7")),
    request_body = ReleaseJson,
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn release(
    caller: Caller,
    Part(lease): Part<Lease>,
    JsonBody(how): JsonBody<ReleaseJson>,
) -> Answer {
    let kind = match (how.not_started.unwrap_or(false), how.delay) {
        (true, None) => ReleaseKind::NotStarted,
        (true, Some(_)) => {
            return Err(Problem::malformed("a job that was not started is ready at once: no delay"));
        }
        (false, Some(delay)) => ReleaseKind::After(delay.0),
        (false, None) => ReleaseKind::Backoff,
    };
    settled(&caller, Request::Release { kind, leases: vec![lease], reason: how.reason }).await
}

/// Begin the time to run anew
#[utoipa::path(
    post,
    path = "/v1/leases/{lease}/touch",
    tag = "leases",
    params(("lease" = String, Path, description = "The lease: ID-FENCE", example = "42-7")),
    request_body = TouchJson,
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn touch(
    caller: Caller,
    Part(lease): Part<Lease>,
    JsonBody(how): JsonBody<TouchJson>,
) -> Answer {
    settled(&caller, Request::Touch { ttr_ms: how.ttr.map(|ttr| ttr.0), leases: vec![lease] }).await
}

/// Set a job aside until somebody kicks it
#[utoipa::path(
    post,
    path = "/v1/leases/{lease}/bury",
    tag = "leases",
    params(("lease" = String, Path, description = "The lease: ID-FENCE", example = "42-7")),
    request_body = BuryJson,
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn bury(
    caller: Caller,
    Part(lease): Part<Lease>,
    JsonBody(why): JsonBody<BuryJson>,
) -> Answer {
    settled(&caller, Request::Bury { leases: vec![lease], reason: why.reason }).await
}

/// Settle many leases
#[utoipa::path(
    post,
    path = "/v1/leases",
    tag = "leases",
    request_body = SettleJson,
    responses(
        (status = 200, description = "What became of them", body = SettledJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn settle(caller: Caller, JsonBody(json): JsonBody<SettleJson>) -> Answer {
    let SettleJson { finish, release, touch, bury, delay, reason } = json;
    let kind = delay.map_or(ReleaseKind::Backoff, |delay| ReleaseKind::After(delay.0));
    let (finish, release, touch, bury) = (
        leases(finish.as_ref())?,
        leases(release.as_ref())?,
        leases(touch.as_ref())?,
        leases(bury.as_ref())?,
    );
    let mut requests = vec![
        (finish.clone(), Request::Finish { leases: finish }),
        (release.clone(), Request::Release { kind, leases: release, reason: reason.clone() }),
        (touch.clone(), Request::Touch { ttr_ms: None, leases: touch }),
        (bury.clone(), Request::Bury { leases: bury, reason }),
    ];
    requests.retain(|(leases, _)| !leases.is_empty());
    // All requests are checked before the first one changes anything.
    for (_, request) in &requests {
        caller.check(request)?;
    }
    let mut all = SettledJson { settled: 0, failed: Vec::new() };
    for (leases, request) in requests {
        match caller.ask::<Vec<SettleResult>>(request).await {
            Ok(results) => {
                for (lease, result) in leases.into_iter().zip(results) {
                    match result {
                        Ok(()) => all.settled += 1,
                        Err(code) => all.failed.push(FailedJson::new(lease, code.name(), "no")),
                    }
                }
            }
            Err(problem) if all.settled == 0 && all.failed.is_empty() => return Err(problem),
            Err(problem) => {
                let ProblemJson { code, applied, .. } = problem.json();
                all.failed.extend(leases.into_iter().map(|lease| FailedJson::new(lease, code, applied)));
            }
        }
    }
    ok(&all)
}

impl FailedJson {
    fn new(lease: Lease, error: &'static str, applied: &'static str) -> Self {
        Self { lease: lease.to_string(), error, applied }
    }
}

fn leases(texts: Option<&Vec<String>>) -> Result<Vec<Lease>, Problem> {
    let leases = texts.into_iter().flatten().map(|text| text.parse()).collect::<Result<_, LeaseParseError>>();
    leases.map_err(|error| Problem::malformed(error.to_string()))
}

async fn settled(caller: &Caller, request: Request) -> Answer {
    let results: Vec<SettleResult> = caller.ask(request).await?;
    match results.first() {
        Some(Err(code)) => Err(ErrorReply::new(*code, about(*code)).into()),
        _ => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}
