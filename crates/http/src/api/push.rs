//! `POST /v1/topics/{topic}/jobs`: one job, a list of jobs, or a job a line.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU128;

use axum::extract::Request;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use ring::digest::{SHA256, digest};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use super::super::caller::Caller;
use super::super::connection::connection;
use super::super::input::{self, Pairs, Part};
use super::super::problem::{FieldErrorJson, Place, Problem, ProblemJson, about, names, schema_applied};
use super::super::wording::TWICE;
use super::exported::pushed_job;
use super::new_job::NewJobJson;
use super::raw_job::{JobParameters, options, raw_job};
use super::{Answer, json, ok};
use adjourn_protocol::frame::frame_bytes_max;
use adjourn_protocol::{ErrorCode, ErrorReply, Idempotency, NewJob, Push, PushResult, Request as Asked};
use adjourn_types::limits::PUSH_JOBS_MAX;
use adjourn_types::{JobId, Right, TopicName};

/// Most bytes of JSON at once.
const JSON_BYTES_MAX: usize = 16 << 20;
/// Most jobs of one request.
const JOBS_MAX: usize = 100_000;
/// The header by which a repeated push is recognized.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The maximum length of its value, in bytes.
const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// The bytes of a job in a frame, beside its body, key and attributes.
const JOB_BYTES: usize = 64;

/// A job that was pushed.
#[derive(Serialize, ToSchema)]
#[schema(as = PushedJob)]
pub(super) struct PushedJson {
    /// Its id; of a job that was kept or postponed, the one that is in the queue.
    id: u64,
    /// What became of the push.
    #[schema(schema_with = schema_result)]
    result: &'static str,
}

fn schema_result() -> RefOr<Schema> {
    names(["pushed", "kept", "replaced", "postponed"])
}

/// The outcome of one job of several.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Outcome)]
pub(super) enum OutcomeJson {
    /// It is in the queue.
    Pushed(PushedJson),
    /// It is not.
    Refused(RefusalJson),
}

/// Why one job, or one lease, of several was refused.
#[derive(Serialize, ToSchema)]
#[schema(as = Refusal)]
pub(super) struct RefusalJson {
    /// The error's name, as in problems.
    #[schema(example = "KEY_EXISTS")]
    code: &'static str,
    /// The error and its remedy, for a person.
    detail: String,
    /// Whether the same may succeed later, as it is.
    retryable: bool,
    /// Whether anything was changed all the same.
    #[schema(schema_with = schema_applied)]
    applied: &'static str,
    /// The fields that are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldErrorJson>,
    /// The existing job that prevents it.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<u64>,
}

/// The outcome of one job, or those of several.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = PushAnswer)]
#[expect(dead_code, reason = "it is a schema")]
pub(super) enum PushedAnswerJson {
    /// Of one.
    One(PushedJson),
    /// Of several.
    Many(OutcomesJson),
}

/// The outcomes of several jobs.
#[derive(Serialize, ToSchema)]
#[schema(as = Outcomes)]
pub(super) struct OutcomesJson {
    /// One for each job, in their order.
    results: Vec<OutcomeJson>,
}

/// The jobs of a request.
enum Brought {
    One(NewJob),
    Many(Jobs),
}

/// Push jobs
///
/// In JSON: one job as an object, several as an array of such objects, or one such object per line (`application/x-ndjson`). Each of
/// several jobs has its own outcome. With any other content type, the request's body is the job's body as it is. The fields of the job are
/// then parameters of the query or headers: `Adjourn-Delay`, `Adjourn-Key` and so on, and `Adjourn-Header-NAME` for a header of the job.
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/jobs",
    operation_id = "push",
    tag = "jobs",
    params(
        JobParameters,
        ("topic" = String, Path, description = "The topic; it is created if it is new"),
        ("Idempotency-Key" = Option<String>, Header, description = "A new random text for this push: if the request is repeated with it, the jobs are pushed once, and the answer is the same", min_length = 1, max_length = 255),
    ),
    request_body(content((NewJobJson = "application/json"), (String = "application/x-ndjson"), (String = "application/octet-stream"))),
    responses(
        (status = 201, description = "The job is on disk", body = PushedJson, content_type = "application/json"),
        (status = 200, description = "The job was kept, replaced or postponed; or the outcomes of several jobs", body = PushedAnswerJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn push(caller: Caller, Part(topic): Part<TopicName>, request: Request) -> Answer {
    caller.with_right(Right::Push, "a push needs")?;
    let key = idempotency_key(request.headers())?;
    match bring(&caller, &topic, request).await? {
        Brought::One(job) => {
            let idempotency = key.map(|key| Idempotency { key, list_jobs: 1 });
            let results = push_part(&caller, &topic, vec![job], idempotency).await?;
            one(results.first().copied().unwrap_or(PushResult::Refused(ErrorCode::Unknown, None)))
        }
        Brought::Many(jobs) => ok(&OutcomesJson { results: push_all(&caller, &topic, jobs, key).await? }),
    }
}

async fn bring(caller: &Caller, topic: &TopicName, request: Request) -> Result<Brought, Problem> {
    let connection = connection(request.extensions())?;
    let (parts, body) = request.into_parts();
    let kind = input::media_type(&parts.headers);
    let query = Pairs::of_query(parts.uri.query().unwrap_or_default());
    let (is_json, is_lines) = (kind == "application/json", kind == "application/x-ndjson");
    if let Some(name) = query.names().next().filter(|_| is_json || is_lines) {
        let detail = "in JSON the options are fields of the job: leave the query out";
        return Err(Problem::at(Place::Parameter(name.to_owned()), detail));
    }
    if (is_json || is_lines)
        && let Some(name) = options(&parts.headers).next()
    {
        let detail = "in JSON the options are fields of the job: leave the header out";
        return Err(Problem::at(Place::Header(name.to_string()), detail));
    }
    let bytes = input::read(body, bytes_max(caller), &connection).await?;
    if is_lines {
        return Jobs::of_lines(&bytes, topic).map(Brought::Many);
    }
    if is_json && bytes.trim_ascii_start().starts_with(b"[") {
        let List(elements) = input::any_of_json(&bytes)?;
        return Jobs::of(elements.iter().map(|element| element.get().as_bytes()), topic).map(Brought::Many);
    }
    if is_json {
        return pushed_job(&bytes, topic).map(Brought::One);
    }
    raw_job(query, &parts.headers, &kind, bytes).map(Brought::One)
}

/// The maximum length of a request's body that brings a job, in bytes.
pub(super) fn bytes_max(caller: &Caller) -> usize {
    JSON_BYTES_MAX.max(caller.body_bytes_max().saturating_mul(2))
}

/// The jobs of a list. Each is read alone: one may be malformed without stopping the others.
#[derive(Default)]
struct Jobs(Vec<Result<NewJob, Problem>>);

impl Jobs {
    /// Reads elements that are pushed to this topic.
    ///
    /// # Errors
    ///
    /// If there are more than a request may have.
    fn of<'a>(elements: impl Iterator<Item = &'a [u8]>, topic: &TopicName) -> Result<Self, Problem> {
        let mut jobs = Vec::new();
        for (index, element) in elements.enumerate() {
            if index == JOBS_MAX {
                return Err(Problem::malformed(too_many()));
            }
            jobs.push(pushed_job(element, topic).map_err(|problem| problem.of_element(index)));
        }
        Ok(Self(jobs))
    }

    /// The jobs of a text with one per line; empty lines are skipped.
    fn of_lines(text: &[u8], topic: &TopicName) -> Result<Self, Problem> {
        let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        Self::of(lines.filter(|line| !line.is_empty()), topic)
    }
}

/// The elements of a list of jobs.
struct List<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for List<'a> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct OfList<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for OfList<'a> {
            type Value = List<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of jobs")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<'a>, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = list.next_element()? {
                    if elements.len() == JOBS_MAX {
                        return Err(A::Error::custom(too_many()));
                    }
                    elements.push(element);
                }
                Ok(List(elements))
            }
        }

        source.deserialize_seq(OfList(PhantomData))
    }
}

fn too_many() -> String {
    format!("a request has at most {JOBS_MAX} jobs: send the others in another request")
}

/// Pushes jobs. One that is malformed or too large does not stop the others.
async fn push_all(
    caller: &Caller,
    topic: &TopicName,
    Jobs(jobs): Jobs,
    key: Option<NonZeroU128>,
) -> Result<Vec<OutcomeJson>, Problem> {
    let body_bytes_max = caller.body_bytes_max();
    let (mut fitting, mut refusals) = (Vec::with_capacity(jobs.len()), Vec::with_capacity(jobs.len()));
    for (index, job) in jobs.into_iter().enumerate() {
        refusals.push(match job {
            Ok(job) if job.body.len() <= body_bytes_max => {
                fitting.push(job);
                None
            }
            Ok(_) => {
                let detail = format!("a body has at most {body_bytes_max} bytes here");
                Some(
                    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::TooLarge, detail)
                        .of_element(index),
                )
            }
            Err(problem) => Some(problem),
        });
    }
    let mut outcomes = push_fitting(caller, topic, fitting, key).await?.into_iter();
    let each = refusals.into_iter().filter_map(|refusal| match refusal {
        Some(problem) => Some(OutcomeJson::Refused(RefusalJson::of(&problem))),
        None => outcomes.next(),
    });
    Ok(each.collect())
}

/// Pushes jobs, as many at once as fit into a frame. An error of a later part is the outcome of all jobs from there
/// on.
async fn push_fitting(
    caller: &Caller,
    topic: &TopicName,
    jobs: Vec<NewJob>,
    mut key: Option<NonZeroU128>,
) -> Result<Vec<OutcomeJson>, Problem> {
    let mut outcomes = Vec::with_capacity(jobs.len());
    let list_jobs = u32::try_from(jobs.len()).unwrap_or(u32::MAX);
    let mut parts = parts(topic, caller.body_bytes_max(), jobs).into_iter();
    while let Some(part) = parts.next() {
        let count = part.len();
        let idempotency = key.map(|key| Idempotency { key, list_jobs });
        let answered = push_part(caller, topic, part, idempotency).await;
        // The next part continues the numbering of the queue.
        key = key.and_then(|key| NonZeroU128::new(key.get().wrapping_add(count as u128)));
        match answered {
            Ok(results) => {
                let is_reused = results
                    .iter()
                    .any(|result| matches!(result, PushResult::Refused(ErrorCode::SequenceReused, _)));
                outcomes.extend(results.into_iter().map(OutcomeJson::of));
                if is_reused {
                    // The key belongs to another list: the other parts of this one are not pushed.
                    let reused =
                        ErrorReply::new(ErrorCode::SequenceReused, about(ErrorCode::SequenceReused)).into();
                    outcomes
                        .extend(parts.flatten().map(|_| OutcomeJson::Refused(RefusalJson::untried(&reused))));
                    break;
                }
            }
            Err(problem) if outcomes.is_empty() => return Err(problem),
            Err(problem) => {
                outcomes.extend((0..count).map(|_| OutcomeJson::Refused(RefusalJson::of(&problem))));
                let rest = parts.flatten().map(|_| OutcomeJson::Refused(RefusalJson::untried(&problem)));
                outcomes.extend(rest);
                break;
            }
        }
    }
    Ok(outcomes)
}

/// Splits jobs into parts that fit into a frame.
fn parts(topic: &TopicName, body_bytes_max: usize, jobs: Vec<NewJob>) -> Vec<Vec<NewJob>> {
    let bytes_max =
        (frame_bytes_max(body_bytes_max) as usize).saturating_sub(topic.as_str().len() + JOB_BYTES);
    let (mut parts, mut bytes) = (vec![Vec::new()], 0);
    for job in jobs {
        let weight = weight_bytes(&job);
        match parts.last_mut() {
            Some(part) if part.len() < PUSH_JOBS_MAX && (part.is_empty() || bytes + weight <= bytes_max) => {
                bytes += weight;
                part.push(job);
            }
            _ => {
                bytes = weight;
                parts.push(vec![job]);
            }
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Pushes one of these parts.
pub(super) async fn push_part(
    caller: &Caller,
    topic: &TopicName,
    jobs: Vec<NewJob>,
    idempotency: Option<Idempotency>,
) -> Result<Vec<PushResult>, Problem> {
    let push = Push { topic: topic.clone(), sequence: 0, jobs, idempotency };
    caller.ask(Asked::Push(push)).await
}

/// The number of an Idempotency-Key. The core separates the numbers of different tokens.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<NonZeroU128>, Problem> {
    let wrong = |detail: String| Err(Problem::at(Place::Header("Idempotency-Key".to_owned()), detail));
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).into_iter();
    let Some(text) = keys.next() else { return Ok(None) };
    if keys.next().is_some() {
        return wrong(TWICE.to_owned());
    }
    let text = text.as_bytes().trim_ascii();
    if !(1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&text.len()) {
        return wrong(format!("it has 1 to {IDEMPOTENCY_KEY_BYTES_MAX} characters"));
    }
    let hash = digest(&SHA256, text);
    let number = hash.as_ref().first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
    Ok(NonZeroU128::new(number))
}

fn weight_bytes(job: &NewJob) -> usize {
    let key_bytes = job.key.as_ref().map_or(0, |key| key.as_bytes().len());
    JOB_BYTES + key_bytes + job.attributes.as_bytes().len() + job.body.len()
}

fn one(result: PushResult) -> Answer {
    let pushed = match (OutcomeJson::of(result), result) {
        (OutcomeJson::Pushed(pushed), _) => pushed,
        (_, PushResult::Refused(code, job)) => {
            return Err(Problem::from(ErrorReply::new(code, about(code))).about_job(job));
        }
        _ => return Err(ErrorReply::new(ErrorCode::Unknown, about(ErrorCode::Unknown)).into()),
    };
    let status = if pushed.result == "pushed" { StatusCode::CREATED } else { StatusCode::OK };
    Ok(located(json(status, &pushed)?, pushed.id))
}

/// Adds the place of a job to an answer.
pub(super) fn located(mut answer: Response, job: u64) -> Response {
    if let Ok(place) = HeaderValue::from_str(&format!("/v1/jobs/{job}")) {
        answer.headers_mut().insert(LOCATION, place);
    }
    answer
}

impl OutcomeJson {
    fn of(result: PushResult) -> Self {
        let (JobId(id), result) = match result {
            PushResult::Pushed(id) => (id, "pushed"),
            PushResult::Kept(id) => (id, "kept"),
            PushResult::Replaced(id) => (id, "replaced"),
            PushResult::Postponed(id) => (id, "postponed"),
            PushResult::Refused(code, id) => {
                let error = ErrorReply::new(code, about(code));
                return Self::Refused(RefusalJson::of(&Problem::from(error).about_job(id)));
            }
        };
        Self::Pushed(PushedJson { id, result })
    }
}

impl RefusalJson {
    /// The refusal of a job or a lease.
    pub(super) fn of(problem: &Problem) -> Self {
        let ProblemJson { code, detail, retryable, applied, errors, job, .. } = problem.json();
        Self { code, detail, retryable, applied, errors, job }
    }

    /// The refusal of a job that was not tried after this error of an earlier one.
    fn untried(problem: &Problem) -> Self {
        Self { applied: "no", ..Self::of(problem) }
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]
mod tests {
    use bytes::BytesMut;

    use super::*;
    use adjourn_protocol::RequestId;

    fn topic() -> TopicName {
        "orders".parse().expect("a name")
    }

    #[test]
    fn jobs_that_are_too_many_for_a_frame_go_in_parts() {
        let large = || NewJob::new(vec![0; 1000]);
        for (jobs, parts_min) in
            [((0..100).map(|_| large()).collect(), 2), (vec![NewJob::new(""); 5000], 2), (Vec::new(), 0)]
        {
            let (count, parts) = (jobs.len(), parts(&topic(), 2048, jobs));
            assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), count);
            assert!(parts.len() >= parts_min && parts.len() <= parts_min * 3, "{} parts", parts.len());
            for jobs in parts {
                let mut frame = BytesMut::new();
                let bytes = Asked::Push(Push { topic: topic(), sequence: 0, jobs, idempotency: None })
                    .encode(RequestId(1), &mut frame);
                assert!(bytes <= frame_bytes_max(2048) as usize, "{bytes} bytes");
            }
        }
        let too_large = vec![NewJob::new(vec![0; 1 << 20])];
        assert_eq!(parts(&topic(), 2048, too_large).len(), 1, "it is refused as a whole");
    }

    #[test]
    fn each_element_of_a_list_is_read_alone() {
        let lines: [&[u8]; 4] =
            [br#"{"body":"a"}"#, br#"{"delay":"soon"}"#, b"{", br#"{"delay":"1s","delay_ms":1}"#];
        let Jobs(jobs) = Jobs::of_lines(&lines.join(&b'\n'), &topic()).expect("they are few");
        assert_eq!(jobs[0].as_ref().map(|job| &job.body[..]), Ok(&b"a"[..]));
        for (index, pointer) in [(1, "/1/delay"), (2, "/2"), (3, "/3/delay_ms")] {
            let refused = jobs[index].as_ref().expect_err("no job").json();
            assert_eq!(refused.errors[0].pointer.as_deref(), Some(pointer));
        }
        assert!(Jobs::of_lines(&b"{}\n".repeat(JOBS_MAX + 1), &topic()).is_err());
    }
}
