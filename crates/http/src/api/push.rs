//! `POST /v1/topics/{topic}/jobs`: one job, a list of jobs, or a job a line.

use std::fmt;
use std::num::NonZeroU128;

use axum::extract::Request;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use ring::digest::{SHA256, digest};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::connection::connection;
use super::super::input::{self, Part};
use super::super::problem::{Problem, ProblemJson, about};
use super::new_job::NewJobJson;
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
pub(super) struct PushedJson {
    /// Its id; of a job that was kept or postponed, the one that is in the queue.
    id: u64,
    /// pushed, kept, replaced or postponed.
    #[schema(example = "pushed")]
    result: &'static str,
}

/// The outcome of one job of several.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum OutcomeJson {
    /// It is in the queue.
    Pushed(PushedJson),
    /// It is not.
    Refused(RefusedJson),
}

/// Why a job of several was refused.
#[derive(Serialize, ToSchema)]
pub(super) struct RefusedJson {
    /// The error's name.
    #[schema(example = "KEY_EXISTS")]
    error: &'static str,
    /// The error, for a person.
    detail: String,
    /// Whether it may be pushed later, as it is.
    retryable: bool,
    /// Whether it may be in the queue all the same: no or unknown.
    applied: &'static str,
    /// The job that is in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
}

/// The outcomes of several jobs.
#[derive(Serialize, ToSchema)]
pub(super) struct OutcomesJson {
    /// One for each job, in their order.
    results: Vec<OutcomeJson>,
}

/// The jobs of a request.
enum Brought {
    One(NewJob),
    Many(Vec<NewJob>),
}

/// The jobs of an array: each is converted before the next one is parsed.
struct Jobs(Vec<NewJob>);

impl<'de> Deserialize<'de> for Jobs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(JobsVisitor)
    }
}

struct JobsVisitor;

impl<'de> Visitor<'de> for JobsVisitor {
    type Value = Jobs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of jobs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Jobs, A::Error> {
        let mut jobs = Vec::new();
        while let Some(job) = sequence.next_element::<NewJobJson<'de>>()? {
            let nth = jobs.len() + 1;
            if nth > JOBS_MAX {
                return Err(A::Error::custom(too_many()));
            }
            jobs.push(job.job().map_err(|error| A::Error::custom(format_args!("job {nth}: {error}")))?);
        }
        Ok(Jobs(jobs))
    }
}

/// Push jobs
///
/// One job as an object, several as an array, or several as a line each (`application/x-ndjson`). Several jobs are taken one by one:
/// each has its own outcome.
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/jobs",
    tag = "jobs",
    params(
        ("topic" = String, Path, description = "The topic; it is made if it is new"),
        ("Idempotency-Key" = Option<String>, Header, description = "Drawn for this push: sent again with it, the push is taken once and answered as before"),
    ),
    request_body(content((NewJobJson = "application/json"), (Vec<NewJobJson> = "application/json"), (String = "application/x-ndjson"))),
    responses(
        (status = 201, description = "The job is on disk", body = PushedJson, content_type = "application/json"),
        (status = 200, description = "The job was kept, replaced or postponed; or the outcomes of several jobs", body = OutcomesJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn push(caller: Caller, Part(topic): Part<TopicName>, request: Request) -> Answer {
    caller.with_right(Right::Push, "a push needs")?;
    let key = idempotency_key(request.headers())?;
    match bring(&caller, request).await? {
        Brought::One(job) => {
            let idempotency = key.map(|key| Idempotency { key, list_jobs: 1 });
            let results = push_part(&caller, &topic, vec![job], idempotency).await?;
            one(results.first().copied().unwrap_or(PushResult::Refused(ErrorCode::Unknown, None)))
        }
        Brought::Many(jobs) => ok(&OutcomesJson { results: push_all(&caller, &topic, jobs, key).await? }),
    }
}

async fn bring(caller: &Caller, request: Request) -> Result<Brought, Problem> {
    let connection = connection(request.extensions())?;
    let (parts, body) = request.into_parts();
    let is_lines = input::media_type(&parts.headers) == "application/x-ndjson";
    if !is_lines {
        input::check_json(&parts.headers)?;
    }
    let bytes =
        input::read(body, JSON_BYTES_MAX.max(caller.body_bytes_max().saturating_mul(2)), &connection).await?;
    if is_lines {
        return lines(&bytes).map(Brought::Many);
    }
    if bytes.trim_ascii_start().starts_with(b"[") {
        return input::of_json(&bytes).map(|Jobs(jobs)| Brought::Many(jobs));
    }
    let job: NewJobJson<'_> = input::of_json(&bytes)?;
    job.job().map(Brought::One).map_err(|error| Problem::malformed(error.to_string()))
}

/// The jobs of a text with one per line; empty lines are skipped.
fn lines(bytes: &[u8]) -> Result<Vec<NewJob>, Problem> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let jobs = lines.enumerate().map(|(nth, (at, line))| {
        if nth == JOBS_MAX {
            return Err(Problem::malformed(too_many()));
        }
        let wrong = |error: &dyn fmt::Display| Problem::malformed(format!("line {}: {error}", at + 1));
        let job: NewJobJson<'_> = serde_json::from_slice(line).map_err(|error| wrong(&error))?;
        job.job().map_err(|error| wrong(&error))
    });
    jobs.collect()
}

fn too_many() -> String {
    format!("a request has at most {JOBS_MAX} jobs: send the others in a request of their own")
}

/// Pushes jobs. A job whose body is too large does not stop the others.
async fn push_all(
    caller: &Caller,
    topic: &TopicName,
    mut jobs: Vec<NewJob>,
    key: Option<NonZeroU128>,
) -> Result<Vec<OutcomeJson>, Problem> {
    let fits = |job: &NewJob| job.body.len() <= caller.body_bytes_max();
    let all_fit: Vec<bool> = jobs.iter().map(fits).collect();
    jobs.retain(fits);
    let mut outcomes = push_fitting(caller, topic, jobs, key).await?.into_iter();
    let too_large = Problem::from(ErrorReply::new(ErrorCode::TooLarge, about(ErrorCode::TooLarge)));
    let refused = || OutcomeJson::Refused(RefusedJson::of(&too_large));
    Ok(all_fit.into_iter().filter_map(|fits| if fits { outcomes.next() } else { Some(refused()) }).collect())
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
                        .extend(parts.flatten().map(|_| OutcomeJson::Refused(RefusedJson::untried(&reused))));
                    break;
                }
            }
            Err(problem) if outcomes.is_empty() => return Err(problem),
            Err(problem) => {
                outcomes.extend((0..count).map(|_| OutcomeJson::Refused(RefusedJson::of(&problem))));
                let rest = parts.flatten().map(|_| OutcomeJson::Refused(RefusedJson::untried(&problem)));
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

async fn push_part(
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
    let Some(text) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let text = text.as_bytes().trim_ascii();
    if !(1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&text.len()) {
        let message = format!("Idempotency-Key has 1 to {IDEMPOTENCY_KEY_BYTES_MAX} characters");
        return Err(Problem::malformed(message));
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
    let mut response = json(status, &pushed)?;
    if let Ok(place) = HeaderValue::from_str(&format!("/v1/jobs/{}", pushed.id)) {
        response.headers_mut().insert(LOCATION, place);
    }
    Ok(response)
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
                return Self::Refused(RefusedJson {
                    id: id.map(|id| id.0),
                    ..RefusedJson::of(&error.into())
                });
            }
        };
        Self::Pushed(PushedJson { id, result })
    }
}

impl RefusedJson {
    fn of(problem: &Problem) -> Self {
        let ProblemJson { code, detail, retryable, applied, .. } = problem.json();
        Self { error: code, detail, retryable, applied, id: None }
    }

    /// The refusal of a job that was not tried after this error of an earlier one.
    fn untried(problem: &Problem) -> Self {
        Self { applied: "no", ..Self::of(problem) }
    }
}

#[cfg(test)]
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
    fn a_line_that_is_no_job_is_named() {
        let jobs = lines(b"{\"body\":\"a\"}\n\n {\"body\":\"b\"} \r\n").expect("two jobs");
        assert_eq!(jobs.iter().map(|job| &job.body[..]).collect::<Vec<_>>(), [b"a", b"b"]);
        let error = lines(b"{}\n{\"delay\":\"soon\"}").expect_err("no job");
        assert!(error.json().detail.starts_with("line 2: "), "{error:?}");
    }
}
