//! Reserve jobs, and settle their leases: finish, release, touch, bury.

use axum::extract::Request as AxumRequest;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, ToSchema};

use super::super::caller::Caller;
use super::super::connection::connection;
use super::super::fields::{
    Delay, Field, Reason, SentLease, Span, SpanMs, Topic, Ttr, Wait, Whole, either, schema, schema_ms,
    schema_number, schema_topics,
};
use super::super::input::{self, JsonBody, MaybeJson, Pairs, Part};
use super::super::problem::{Place, Problem, ProblemJson, about};
use super::push::RefusalJson;
use super::{Answer, ok};
use adjourn_json::DeliveredJson;
use adjourn_protocol::{Delivered, ErrorCode, ErrorReply, ReleaseKind, Request, Reserve, SettleResult};
use adjourn_types::limits::RESERVE_JOBS_MAX;
use adjourn_types::{Lease, LeaseParseError, TopicName, whole_ms};

/// What to reserve.
#[derive(Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"topics\": [\"orders\"]}")]
#[into_params(parameter_in = Query)]
#[schema(as = Reserve, example = json!({"topics": ["orders"], "max": 10, "wait": "30s"}))]
pub(super) struct ReserveJson {
    /// The topics.
    #[schema(schema_with = schema_topics)]
    #[param(schema_with = schema_topics, required = false)]
    topics: Vec<Field<Topic>>,
    /// Reserves at most this many jobs. The default is 1.
    #[schema(schema_with = schema_number::<1, JOBS_MAX>)]
    #[param(schema_with = schema_number::<1, JOBS_MAX>, required = false)]
    max: Option<Whole<1, JOBS_MAX>>,
    /// How long to wait for a job. The default is not to wait.
    #[schema(schema_with = schema::<Span<Wait>>)]
    #[param(schema_with = schema::<Span<Wait>>, required = false)]
    wait: Option<Field<Span<Wait>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<Wait>)]
    #[param(schema_with = schema_ms::<Wait>, required = false)]
    wait_ms: Option<SpanMs<Wait>>,
    /// How long the leases last. The default is each job's own time to run.
    #[schema(schema_with = schema::<Span<Ttr>>)]
    #[param(schema_with = schema::<Span<Ttr>>, required = false)]
    lease: Option<Field<Span<Ttr>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<Ttr>)]
    #[param(schema_with = schema_ms::<Ttr>, required = false)]
    lease_ms: Option<SpanMs<Ttr>>,
    /// A weight for each topic: topics take turns by them.
    #[schema(schema_with = schema_weights)]
    #[param(schema_with = schema_weights, required = false)]
    weights: Option<Vec<Whole<1, WEIGHT_MAX>>>,
}

const JOBS_MAX: u64 = RESERVE_JOBS_MAX as u64;
const WEIGHT_MAX: u64 = u16::MAX as u64;

fn schema_weights() -> RefOr<Schema> {
    let weight = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).maximum(Some(WEIGHT_MAX));
    let list = SchemaType::from_iter([Type::Array, Type::Null]);
    ArrayBuilder::new().schema_type(list).items(weight).into()
}

/// Leased jobs.
#[derive(Serialize, ToSchema)]
#[schema(as = Reserved)]
pub(super) struct ReservedJson<'a> {
    /// The jobs; none if none came in time.
    jobs: Vec<DeliveredJson<'a>>,
}

/// How a job is given back.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"delay\": \"30s\"}")]
#[schema(as = Release)]
pub(super) struct ReleaseJson {
    /// When it is ready again. The default is its backoff.
    #[schema(schema_with = schema::<Span<Delay>>)]
    delay: Option<Field<Span<Delay>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<Delay>)]
    delay_ms: Option<SpanMs<Delay>>,
    /// The work was not started: this does not count as an attempt.
    not_started: Option<bool>,
    /// Why, for people.
    #[schema(schema_with = schema::<Reason>)]
    reason: Option<Field<Reason>>,
}

/// How long a lease lasts from now on.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"ttr\": \"5m\"}")]
#[schema(as = Touch)]
pub(super) struct TouchJson {
    /// The default is the job's own.
    #[schema(schema_with = schema::<Span<Ttr>>)]
    ttr: Option<Field<Span<Ttr>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<Ttr>)]
    ttr_ms: Option<SpanMs<Ttr>>,
}

/// Why a job is set aside.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"reason\": \"no such address\"}")]
#[schema(as = Bury)]
pub(super) struct BuryJson {
    /// For people.
    #[schema(schema_with = schema::<Reason>)]
    reason: Option<Field<Reason>>,
}

/// The same for many leases.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"finish\": [\"42-7\"]}")]
#[schema(as = Settle, example = json!({"finish": ["42-7", "43-8"], "release": ["44-9"], "delay": "1m"}))]
pub(super) struct SettleJson {
    /// Leases on jobs that are done.
    #[schema(value_type = Option<Vec<String>>)]
    finish: Option<Leases>,
    /// Leases on jobs to give back.
    #[schema(value_type = Option<Vec<String>>)]
    release: Option<Leases>,
    /// Leases to extend by the job's own time to run.
    #[schema(value_type = Option<Vec<String>>)]
    touch: Option<Leases>,
    /// Leases on jobs to set aside.
    #[schema(value_type = Option<Vec<String>>)]
    bury: Option<Leases>,
    /// When released jobs are ready again. The default is their backoff.
    #[schema(schema_with = schema::<Span<Delay>>)]
    delay: Option<Field<Span<Delay>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<Delay>)]
    delay_ms: Option<SpanMs<Delay>>,
    /// Why jobs are released or buried, for people.
    #[schema(schema_with = schema::<Reason>)]
    reason: Option<Field<Reason>>,
}

/// Leases in a request. One may be malformed without stopping the others.
type Leases = Vec<Field<SentLease>>;

/// The outcome of many leases.
#[derive(Serialize, ToSchema)]
#[schema(as = Settled)]
pub(super) struct SettledJson {
    /// How many were settled.
    count: usize,
    /// Those that were not.
    failed: Vec<FailedJson>,
}

/// A lease that was not settled.
#[derive(Serialize, ToSchema)]
#[schema(as = FailedLease)]
pub(super) struct FailedJson {
    /// The lease, as it was sent.
    lease: String,
    /// Why.
    #[serde(flatten)]
    refusal: RefusalJson,
}

/// Reserve jobs
///
/// Waits for jobs (long poll), and leases them to the caller, who settles each job by its lease. Say what to reserve in the query or in
/// JSON.
#[utoipa::path(
    post,
    path = "/v1/reserve",
    operation_id = "reserve",
    tag = "leases",
    params(ReserveJson),
    request_body = Option<ReserveJson>,
    responses(
        (status = 200, description = "The jobs; none if none came in time", body = ReservedJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn reserve(caller: Caller, request: AxumRequest) -> Answer {
    let (asked, is_query) = read_reserve(request).await?;
    let place = |problem: Problem| if is_query { problem.elsewhere(Place::Parameter) } else { problem };
    let wait_ms = either("wait", asked.wait.as_ref(), asked.wait_ms.as_ref()).map_err(place)?;
    let lease_ms = either("lease", asked.lease.as_ref(), asked.lease_ms.as_ref()).map_err(place)?;
    let topics: Vec<TopicName> = asked.topics.into_iter().map(|topic| topic.0).collect();
    let weights = asked.weights.unwrap_or_default();
    let weights: Vec<u16> = weights.iter().filter_map(|weight| weight.0.try_into().ok()).collect();
    if !weights.is_empty() && weights.len() != topics.len() {
        let detail = format!("give one weight for each of the {} topics", topics.len());
        return Err(place(Problem::at_pointer("/weights", detail)));
    }
    if topics.is_empty() {
        return Err(place(Problem::at_pointer("/topics", "give at least one topic")));
    }
    let jobs_max = asked.max.map_or(1, Whole::narrow);
    let reserve = Request::Reserve(Reserve { topics, jobs_max, wait_ms: wait_ms.unwrap_or(0), weights });
    let mut jobs: Vec<Delivered> = caller.ask(reserve).await?;
    if let Some(ttr_ms) = lease_ms.and_then(|lease_ms| lease_ms.try_into().ok())
        && !jobs.is_empty()
    {
        jobs = with_lease(&caller, jobs, ttr_ms).await;
    }
    ok(&ReservedJson { jobs: jobs.iter().map(DeliveredJson::of).collect() })
}

/// What to reserve, and whether it stood in the query.
async fn read_reserve(request: AxumRequest) -> Result<(ReserveJson, bool), Problem> {
    let query = Pairs::of_query(request.uri().query().unwrap_or_default());
    let connection = connection(request.extensions())?;
    let (parts, body) = request.into_parts();
    let body = input::read(body, input::SMALL_BYTES_MAX, &connection).await?;
    if body.is_empty() {
        return query.read(Place::Parameter).map(|asked| (asked, true));
    }
    if let Some(name) = query.names().next() {
        let detail = "the body says what to reserve: leave the query out";
        return Err(Problem::at(Place::Parameter(name.to_owned()), detail));
    }
    input::check_json(&parts.headers)?;
    input::of_json(&body).map(|asked| (asked, false))
}

/// The jobs with leases that last for this time from now on. If that fails, a job keeps the lease that it has; one whose lease has
/// ended is left out.
async fn with_lease(caller: &Caller, jobs: Vec<Delivered>, ttr_ms: u32) -> Vec<Delivered> {
    let began = Instant::now();
    let leases = jobs.iter().map(|job| job.lease).collect();
    let touched: Result<Vec<SettleResult>, Problem> =
        caller.ask(Request::Touch { ttr_ms: Some(ttr_ms), leases }).await;
    // The leader counts from a moment after `began`.
    let took_ms = u32::try_from(whole_ms(began.elapsed())).unwrap_or(u32::MAX);
    let left = |job: &Delivered, touched: Option<&SettleResult>| match touched {
        Some(Ok(())) => ttr_ms.saturating_sub(took_ms),
        Some(Err(ErrorCode::StaleLease)) => 0,
        // Whether it was extended, or shortened, is not known.
        _ => job.ttr_left_ms.min(ttr_ms).saturating_sub(took_ms),
    };
    let results = touched.unwrap_or_default();
    let each = jobs.into_iter().enumerate().map(|(nth, job)| {
        let ttr_left_ms = left(&job, results.get(nth));
        Delivered { ttr_left_ms, ..job }
    });
    each.filter(|job| job.ttr_left_ms > 0).collect()
}

/// Say that a job is done: it is removed
///
/// Saying it again is no error for a minute.
#[utoipa::path(
    post,
    path = "/v1/leases/{lease}/finish",
    operation_id = "finish",
    tag = "leases",
    params(("lease" = String, Path, description = "The lease: ID-FENCE")),
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
    operation_id = "release",
    tag = "leases",
    params(("lease" = String, Path, description = "The lease: ID-FENCE")),
    request_body = Option<ReleaseJson>,
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn release(
    caller: Caller,
    Part(lease): Part<Lease>,
    MaybeJson(how): MaybeJson<ReleaseJson>,
) -> Answer {
    let delay_ms = either("delay", how.delay.as_ref(), how.delay_ms.as_ref())?;
    let kind = match (how.not_started.unwrap_or_default(), delay_ms) {
        (true, None) => ReleaseKind::NotStarted,
        (true, Some(_)) => {
            let detail = "a job that was not started is ready at once: leave the delay out";
            return Err(Problem::at_pointer("/not_started", detail));
        }
        (false, Some(delay_ms)) => ReleaseKind::After(delay_ms),
        (false, None) => ReleaseKind::Backoff,
    };
    let reason = how.reason.map(|reason| reason.0);
    settled(&caller, Request::Release { kind, leases: vec![lease], reason }).await
}

/// Start the time to run again
#[utoipa::path(
    post,
    path = "/v1/leases/{lease}/touch",
    operation_id = "touch",
    tag = "leases",
    params(("lease" = String, Path, description = "The lease: ID-FENCE")),
    request_body = Option<TouchJson>,
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn touch(
    caller: Caller,
    Part(lease): Part<Lease>,
    MaybeJson(how): MaybeJson<TouchJson>,
) -> Answer {
    let ttr_ms = either("ttr", how.ttr.as_ref(), how.ttr_ms.as_ref())?;
    let ttr_ms = ttr_ms.and_then(|ttr_ms| ttr_ms.try_into().ok());
    settled(&caller, Request::Touch { ttr_ms, leases: vec![lease] }).await
}

/// Set a job aside until it is kicked
#[utoipa::path(
    post,
    path = "/v1/leases/{lease}/bury",
    operation_id = "bury",
    tag = "leases",
    params(("lease" = String, Path, description = "The lease: ID-FENCE")),
    request_body = Option<BuryJson>,
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn bury(
    caller: Caller,
    Part(lease): Part<Lease>,
    MaybeJson(why): MaybeJson<BuryJson>,
) -> Answer {
    settled(&caller, Request::Bury { leases: vec![lease], reason: why.reason.map(|reason| reason.0) }).await
}

/// Settle many leases
#[utoipa::path(
    post,
    path = "/v1/leases",
    operation_id = "settle",
    tag = "leases",
    request_body = SettleJson,
    responses(
        (status = 200, description = "What became of them", body = SettledJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn settle(caller: Caller, JsonBody(json): JsonBody<SettleJson>) -> Answer {
    let SettleJson { finish, release, touch, bury, delay, delay_ms, reason } = json;
    let delay_ms = either("delay", delay.as_ref(), delay_ms.as_ref())?;
    if delay_ms.is_some() && release.is_none() {
        let field = if delay.is_some() { "/delay" } else { "/delay_ms" };
        return Err(Problem::at_pointer(
            field,
            "it delays the jobs in `release`: leave it out, or give that",
        ));
    }
    if reason.is_some() && release.is_none() && bury.is_none() {
        let detail = "it is the reason of `release` and `bury`: leave it out, or give one of them";
        return Err(Problem::at_pointer("/reason", detail));
    }
    let kind = delay_ms.map_or(ReleaseKind::Backoff, ReleaseKind::After);
    let reason = reason.map(|reason| reason.0);
    let mut all = SettledJson { count: 0, failed: Vec::new() };
    let mut read = |name, list| all.read(name, list);
    let (finish, release) = (read("finish", finish), read("release", release));
    let (touch, bury) = (read("touch", touch), read("bury", bury));
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
    let mut is_first = true;
    for (leases, request) in requests {
        match caller.ask::<Vec<SettleResult>>(request).await {
            Ok(results) => {
                for (lease, result) in leases.into_iter().zip(results) {
                    match result {
                        Ok(()) => all.count += 1,
                        Err(code) => all.fail(&lease, &refused(code)),
                    }
                }
            }
            Err(problem) if is_first => return Err(problem),
            Err(problem) => leases.iter().for_each(|lease| all.fail(lease, &problem)),
        }
        is_first = false;
    }
    ok(&all)
}

impl SettledJson {
    /// The leases of a list that are well formed. The others fail.
    fn read(&mut self, name: &str, list: Option<Leases>) -> Vec<Lease> {
        let mut leases = Vec::new();
        for (index, Field(text)) in list.into_iter().flatten().enumerate() {
            match text.parse() {
                Ok(lease) => leases.push(lease),
                Err::<_, LeaseParseError>(error) => {
                    let problem = Problem::at_pointer(&format!("/{name}/{index}"), error.to_string());
                    self.fail(&text, &problem);
                }
            }
        }
        leases
    }

    fn fail(&mut self, lease: &impl ToString, problem: &Problem) {
        self.failed.push(FailedJson { lease: lease.to_string(), refusal: RefusalJson::of(problem) });
    }
}

/// Why a single lease is refused.
fn refused(code: ErrorCode) -> Problem {
    ErrorReply::new(code, about(code)).into()
}

async fn settled(caller: &Caller, request: Request) -> Answer {
    let results: Vec<SettleResult> = caller.ask(request).await?;
    match results.first() {
        Some(Err(code)) => Err(refused(*code)),
        _ => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}
