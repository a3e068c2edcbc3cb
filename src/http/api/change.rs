//! One job, by its id or by its topic and key: get, delete, reschedule, run now, kick.

use axum::response::Response as Answered;
use serde::Deserialize;
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{Delay, Field, Time, schema};
use super::super::input::{JsonBody, Part, Parts2};
use super::super::problem::{Problem, ProblemJson};
use super::{Answer, ok, unexpected};
use crate::json::{ChangedJson, JobJson};
use crate::protocol::{JobRef, Request, Response};
use crate::types::{JobId, Key, TopicName, When};

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

async fn shown(caller: &Caller, request: Request) -> Answer {
    match caller.ask(request).await? {
        Response::Job(job) => ok(&JobJson::of(&job, true)),
        other => Err(unexpected(&other)),
    }
}

async fn changed(caller: &Caller, request: Request) -> Answer {
    match caller.ask(request).await? {
        Response::Changed { job, state, due } => ok(&ChangedJson::new(job, state, due)),
        other => Err(unexpected(&other)),
    }
}

/// Makes the two functions of a route for one job: by its id, and by its key.
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
        pub(super) async fn $by_id(caller: Caller, Part(id): Part<JobId>) -> Result<Answered, Problem> {
            let $job = JobRef::Id(id);
            $how(&caller, $request).await
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
        pub(super) async fn $by_key(caller: Caller, Parts2(topic, key): Parts2<TopicName, Key>) -> Result<Answered, Problem> {
            let $job = by_key(topic, key);
            $how(&caller, $request).await
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
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/reschedule",
    tag = "jobs",
    params(("id" = u64, Path, description = "The job's id")),
    request_body = RescheduleJson,
    responses(
        (status = 200, description = "The job as it is now", body = ChangedJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn reschedule(
    caller: Caller,
    Part(id): Part<JobId>,
    JsonBody(to): JsonBody<RescheduleJson>,
) -> Answer {
    changed(&caller, Request::Reschedule { due: to.when()?, job: JobRef::Id(id) }).await
}

/// Give a delayed or ready job another due time; a buried one is kicked first
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/keys/{key}/reschedule",
    tag = "jobs",
    params(("topic" = String, Path, description = "The topic"), ("key" = String, Path, description = "The job's key")),
    request_body = RescheduleJson,
    responses(
        (status = 200, description = "The job as it is now", body = ChangedJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn reschedule_by_key(
    caller: Caller,
    Parts2(topic, key): Parts2<TopicName, Key>,
    JsonBody(to): JsonBody<RescheduleJson>,
) -> Answer {
    changed(&caller, Request::Reschedule { due: to.when()?, job: by_key(topic, key) }).await
}
