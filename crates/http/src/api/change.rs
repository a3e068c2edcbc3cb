//! One job, by its id or by its topic and key: get, delete, reschedule, run now, kick.

use axum::http::header::IF_NONE_MATCH;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use serde::Deserialize;
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{
    Delay, Field, Span, SpanMs, Time, TimeMs, schema, schema_ms, schema_time_ms, when,
};
use super::super::input::{JsonBody, Number, Part, Parts2};
use super::super::problem::{Problem, ProblemJson};
use super::{Answer, ok, version};
use adjourn_json::{ChangedJson, JobJson};
use adjourn_protocol::{Changed, JobRef, JobReport, Request};
use adjourn_types::{JobId, Key, TopicName, When};

/// A new due time.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"delay\": \"10m\"}")]
#[schema(as = Reschedule, example = json!({"delay": "10m"}))]
pub(super) struct RescheduleJson {
    /// How long from now the job is due.
    #[schema(schema_with = schema::<Span<Delay>>)]
    delay: Option<Field<Span<Delay>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<Delay>)]
    delay_ms: Option<SpanMs<Delay>>,
    /// When the job is due.
    #[schema(schema_with = schema::<Time>)]
    due: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[schema(schema_with = schema_time_ms)]
    due_ms: Option<TimeMs>,
}

impl RescheduleJson {
    fn when(&self) -> Result<When, Problem> {
        let (delay, due) = ((self.delay.as_ref(), self.delay_ms.as_ref()), (self.due.as_ref(), self.due_ms));
        when(delay, due)?.ok_or_else(|| Problem::at_pointer("/due", "give a delay or a due time"))
    }
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
    version::no_if_match(headers, "only reschedule and edit check it: leave it out")?;
    change(caller, request).await
}

pub(super) async fn change(caller: &Caller, request: Request) -> Answer {
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
            operation_id = concat!(stringify!($by_id), "_job"),
            tag = "jobs",
            params(("id" = u64, Path, description = "The job's id")),
            responses(
                (status = 200, description = $description, body = $body, content_type = "application/json"),
                (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
            ),
        )]
        pub(super) async fn $by_id(caller: Caller, headers: HeaderMap, Part(Number(id)): Part<Number>) -> Answer {
            let $job = JobRef::Id(JobId(id));
            $how(&caller, $request, &headers).await
        }

        $(#[$doc])*
        #[utoipa::path(
            $method,
            path = concat!("/v1/topics/{topic}/keys/{key}", $suffix),
            operation_id = concat!(stringify!($by_id), "_job_by_key"),
            tag = "jobs",
            params(("topic" = String, Path, description = "The topic"), ("key" = String, Path, description = "The job's key")),
            responses(
                (status = 200, description = $description, body = $body, content_type = "application/json"),
                (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
            ),
        )]
        pub(super) async fn $by_key(caller: Caller, headers: HeaderMap, Parts2(topic, key): Parts2<TopicName, Key>) -> Answer {
            let $job = JobRef::Key { topic, key };
            $how(&caller, $request, &headers).await
        }
    };
}

/// Defines the two handlers of a route for one job whose request has a body and may have `If-Match`: by its id, and by its key.
macro_rules! of_one_job_with_body {
    ($(#[$doc:meta])* $method:ident $by_id:ident, $by_key:ident, $suffix:literal, $body:ty, |$caller:ident, $job:ident, $headers:ident, $input:pat_param => $input_type:ty| $answer:expr) => {
        $(#[$doc])*
        #[utoipa::path(
            $method,
            path = concat!("/v1/jobs/{id}", $suffix),
            operation_id = concat!(stringify!($by_id), "_job"),
            tag = "jobs",
            params(("id" = u64, Path, description = "The job's id"), ("If-Match" = Option<String>, Header, description = "The job's ETag")),
            request_body = $body,
            responses(
                (status = 200, description = "The job as it is now", body = ChangedJson, content_type = "application/json"),
                (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
            ),
        )]
        pub(super) async fn $by_id($caller: Caller, $headers: HeaderMap, Part(Number(id)): Part<Number>, $input: $input_type) -> Answer {
            let $job = JobRef::Id(JobId(id));
            $answer.await
        }

        $(#[$doc])*
        #[utoipa::path(
            $method,
            path = concat!("/v1/topics/{topic}/keys/{key}", $suffix),
            operation_id = concat!(stringify!($by_id), "_job_by_key"),
            tag = "jobs",
            params(
                ("topic" = String, Path, description = "The topic"),
                ("key" = String, Path, description = "The job's key"),
                ("If-Match" = Option<String>, Header, description = "The job's ETag"),
            ),
            request_body = $body,
            responses(
                (status = 200, description = "The job as it is now", body = ChangedJson, content_type = "application/json"),
                (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
            ),
        )]
        pub(super) async fn $by_key($caller: Caller, $headers: HeaderMap, Parts2(topic, key): Parts2<TopicName, Key>, $input: $input_type) -> Answer {
            let $job = JobRef::Key { topic, key };
            $answer.await
        }
    };
}

pub(super) use {of_one_job, of_one_job_with_body};

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

of_one_job_with_body!(
    /// Give a delayed or ready job another due time; kick a buried one first
    ///
    /// With `If-Match`, only if the job has not changed since its `ETag` was shown.
    post reschedule, reschedule_by_key, "/reschedule", RescheduleJson,
    |caller, job, headers, JsonBody(to) => JsonBody<RescheduleJson>| rescheduled(&caller, job, &to, &headers)
);
