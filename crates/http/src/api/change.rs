//! One job, by its id or by its topic and key: get, delete, reschedule, run now, kick.

use axum::http::header::IF_NONE_MATCH;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response as Answered};
use serde::Deserialize;
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{Delay, Field, Time, schema};
use super::super::input::{JsonBody, Part, Parts2};
use super::super::problem::{Problem, ProblemJson};
use super::{Answer, ok, version};
use adjourn_json::{ChangedJson, JobJson};
use adjourn_protocol::{Changed, ErrorCode, JobRef, JobReport, Request};
use adjourn_types::{JobId, Key, TopicName, When};

/// A new due time.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"delay": "10m"}))]
pub(super) struct RescheduleJson {
    /// How long from now the job is due.
    #[schema(schema_with = schema::<Delay>)]
    delay: Option<Field<Delay>>,
    /// When the job is due.
    #[schema(schema_with = schema::<Time>)]
    due: Option<Field<Time>>,
}

impl RescheduleJson {
    fn when(&self) -> Result<When, Problem> {
        match (&self.delay, &self.due) {
            (Some(delay), None) => Ok(When::After(delay.0)),
            (None, Some(due)) => Ok(When::At(due.0)),
            _ => Err(Problem::malformed("say delay or due, one of them")),
        }
    }
}

fn by_key(topic: TopicName, key: Key) -> JobRef {
    JobRef::Key { topic, key }
}

async fn shown(caller: &Caller, request: Request, headers: &HeaderMap) -> Answer {
    let job: JobReport = caller.ask(request).await?;
    let tag = version::tag_of(job.version);
    if tag.is_some() && headers.get(IF_NONE_MATCH) == tag.as_ref() {
        return Ok(version::tagged(StatusCode::NOT_MODIFIED.into_response(), tag));
    }
    Ok(version::tagged(ok(&JobJson::of(&job, true))?, tag))
}

/// A change that does not check the job's version.
async fn changed(caller: &Caller, request: Request, headers: &HeaderMap) -> Answer {
    if version::if_match(headers)?.is_some() {
        let message = "If-Match is heeded by reschedule alone: ask without it";
        return Err(Problem::new(StatusCode::BAD_REQUEST, ErrorCode::Unsupported, message));
    }
    change(caller, request).await
}

async fn change(caller: &Caller, request: Request) -> Answer {
    let Changed { job, state, due, version } = caller.ask(request).await?;
    let shown = ok(&ChangedJson::new(job, state, due))?;
    Ok(version::tagged(shown, version::tag_of(version)))
}

async fn rescheduled(caller: &Caller, job: JobRef, to: &RescheduleJson, headers: &HeaderMap) -> Answer {
    let if_version = version::if_match(headers)?;
    change(caller, Request::Reschedule { due: to.when()?, job, if_version }).await
}

/// Defines the two handlers of a route for one job: by its id, and by its key.
macro_rules! of_one_job {
    ($(#[$doc:meta])* $method:ident $by_id:ident, $by_key:ident, $suffix:literal, $body:ty, $how:ident, $description:literal, |$job:ident| $request:expr) => {
        $(#[$doc])*
        #[utoipa::path(
            $method,
            path = concat!("/v1/jobs/{id}", $suffix),
            tag = "jobs",
            params(("id" = u64, Path, description = "The job's id")),
            responses(
                (status = 200, description = $description, body = $body, content_type = "application/json"),
                (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
            ),
        )]
        pub(super) async fn $by_id(caller: Caller, headers: HeaderMap, Part(id): Part<JobId>) -> Result<Answered, Problem> {
            let $job = JobRef::Id(id);
            $how(&caller, $request, &headers).await
        }

        $(#[$doc])*
        #[utoipa::path(
            $method,
            path = concat!("/v1/topics/{topic}/keys/{key}", $suffix),
            tag = "jobs",
            params(("topic" = String, Path, description = "The topic"), ("key" = String, Path, description = "The job's key")),
            responses(
                (status = 200, description = $description, body = $body, content_type = "application/json"),
                (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
            ),
        )]
        pub(super) async fn $by_key(caller: Caller, headers: HeaderMap, Parts2(topic, key): Parts2<TopicName, Key>) -> Result<Answered, Problem> {
            let $job = by_key(topic, key);
            $how(&caller, $request, &headers).await
        }
    };
}

of_one_job!(
    /// Show a job
    get get, get_by_key, "", JobJson, shown, "The job",
    |job| Request::Get(job)
);
of_one_job!(
    /// Delete a job, whatever its state
    delete delete, delete_by_key, "", ChangedJson, changed, "The job is gone; this was its state",
    |job| Request::Delete(job)
);
of_one_job!(
    /// Make a delayed job ready at once
    post run_now, run_now_by_key, "/run-now", ChangedJson, changed, "The job as it is now",
    |job| Request::RunNow(job)
);
of_one_job!(
    /// Make a buried job ready
    post kick, kick_by_key, "/kick", ChangedJson, changed, "The job as it is now",
    |job| Request::Kick(job)
);

/// Give a delayed or ready job another due time; a buried one is kicked first
///
/// With `If-Match`, only if the job has not changed since its `ETag` was shown.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/reschedule",
    tag = "jobs",
    params(("id" = u64, Path, description = "The job's id"), ("If-Match" = Option<String>, Header, description = "The job's ETag")),
    request_body = RescheduleJson,
    responses(
        (status = 200, description = "The job as it is now", body = ChangedJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn reschedule(
    caller: Caller,
    headers: HeaderMap,
    Part(id): Part<JobId>,
    JsonBody(to): JsonBody<RescheduleJson>,
) -> Answer {
    rescheduled(&caller, JobRef::Id(id), &to, &headers).await
}

/// Give a delayed or ready job another due time; a buried one is kicked first
///
/// With `If-Match`, only if the job has not changed since its `ETag` was shown.
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/keys/{key}/reschedule",
    tag = "jobs",
    params(
        ("topic" = String, Path, description = "The topic"),
        ("key" = String, Path, description = "The job's key"),
        ("If-Match" = Option<String>, Header, description = "The job's ETag"),
    ),
    request_body = RescheduleJson,
    responses(
        (status = 200, description = "The job as it is now", body = ChangedJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn reschedule_by_key(
    caller: Caller,
    headers: HeaderMap,
    Parts2(topic, key): Parts2<TopicName, Key>,
    JsonBody(to): JsonBody<RescheduleJson>,
) -> Answer {
    rescheduled(&caller, by_key(topic, key), &to, &headers).await
}
