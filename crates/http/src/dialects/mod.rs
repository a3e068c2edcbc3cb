//! The protocols of older delay queues: each on a port of its own, as a thin layer over the queue.
//!
//! An id of ouqiang or of Youzan is unique over all topics, a key only within its topic. So an id becomes a key by which the
//! queue finds a job without its topic. A push adds its job first, and then removes earlier jobs of the id in other topics:
//! in between there are two, and never none.

pub(super) mod beanstalkd;
mod fields;
mod go_json;
pub(super) mod ouqiang;
mod php_body;
pub(super) mod php_delayqueue;
pub(super) mod youzan;

use std::fmt::{self, Write as _};
use std::time::Duration;

use axum::extract::Request;
use bytes::Bytes;

use self::fields::Fields;
#[cfg(test)]
pub(super) use self::go_json::quoted;
use super::caller::Caller;
use super::connection::connection;
use super::input;
use super::problem::Problem;
use adjourn_protocol::{
    Changed, Delivered, ErrorCode, JobRef, JobReport, NewJob, Push, PushResult, Request as Asked, Reserve,
};
use adjourn_types::limits::{DELAY_MS_MAX, RESERVE_TOPICS_MAX, TOPIC_BYTES_MAX};
use adjourn_types::{AttributesBuilder, Backoff, IfExists, JobId, JobState, Key, NameError, TopicName, When};

/// A job is buried after this many attempts: the older queues would try for ever.
const ATTEMPTS_MAX: u32 = 100;
/// The minimum of the maximum length of a JSON request, in bytes; larger jobs raise it.
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// A job in the form of older queues.
struct OldJob {
    topic: String,
    id: String,
    delay_s: u64,
    ttr_s: u64,
    body: String,
}

/// Why a request was not carried out.
enum Failure {
    /// The queue cannot hold what the request names.
    Impossible(String),
    /// The queue has refused it.
    Refused(Problem),
}

/// Why a request cannot be read.
enum Unread {
    /// Its body did not arrive, or is too large.
    Body(Problem),
    /// It is not a JSON object.
    Json,
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Impossible(why) => f.write_str(why),
            Self::Refused(problem) => f.write_str(&problem.json().detail),
        }
    }
}

/// Reads the fields of a request.
async fn read(caller: &Caller, request: Request) -> Result<Fields, Unread> {
    let connection = connection(request.extensions()).map_err(Unread::Body)?;
    let bytes_max = REQUEST_BYTES_MAX.max(caller.body_bytes_max().saturating_mul(2));
    let bytes = input::read(request.into_body(), bytes_max, &connection).await.map_err(Unread::Body)?;
    Fields::read(&bytes).ok_or(Unread::Json)
}

/// The queue's topic for one of an older queue.
fn topic_of(theirs: &str) -> Result<TopicName, Failure> {
    escaped_topic(theirs).map_err(|_| {
        Failure::Impossible(format!(
            "a topic has at most {TOPIC_BYTES_MAX} bytes, each other than letters, digits and ._/- three"
        ))
    })
}

/// The queue's topic for one of an older queue: each byte that a name may not have becomes `:` and two hexadecimal digits.
///
/// # Errors
///
/// If it is empty or too long.
pub fn escaped_topic(theirs: &str) -> Result<TopicName, NameError> {
    let mut ours = String::with_capacity(theirs.len());
    for (at, byte) in theirs.bytes().enumerate() {
        let fits = byte.is_ascii_alphanumeric() || b"._/".contains(&byte) || (byte == b'-' && at > 0);
        if fits {
            ours.push(byte.into());
        } else {
            // Writing to a string cannot fail.
            let _ = write!(ours, ":{byte:02x}");
        }
    }
    TopicName::new(ours.into())
}

/// The older queue's topic for one of this queue.
fn topic_from(ours: &str) -> String {
    let mut parts = ours.split(':');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let escaped = part
            .split_at_checked(2)
            .and_then(|(digits, rest)| Some((u8::from_str_radix(digits, 16).ok()?, rest)));
        match escaped {
            Some((byte, rest)) => {
                bytes.push(byte);
                bytes.extend(rest.as_bytes());
            }
            // This name was not escaped.
            None => bytes.extend([b":", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The key for an id.
fn key_of(id: &str) -> Result<Key, Failure> {
    Key::of_id(id)
        .map_err(|_| Failure::Impossible("an id has at most 253 bytes, and no control characters".to_owned()))
}

/// The id of a job; for a job that was not pushed under one, `@` and its number: see [`find`].
fn id_of(job: &Delivered) -> String {
    let id = job.key.as_ref().and_then(Key::id);
    id.map_or_else(|| format!("@{}", job.lease.job.0), str::to_owned)
}

/// The job here for one of a queue whose ids are unique over all topics, due at once, and its topic.
///
/// # Errors
///
/// Says what this queue cannot hold.
pub fn job_with_id(
    topic: &str,
    id: &str,
    ttr_s: u64,
    body: impl Into<Bytes>,
) -> Result<(TopicName, NewJob), String> {
    let impossible = |failure: Failure| failure.to_string();
    let (topic, key) = (topic_of(topic).map_err(impossible)?, key_of(id).map_err(impossible)?);
    // As in the older queues, a job comes back when its time to run is over.
    let attributes = AttributesBuilder::default().attempts_max(ATTEMPTS_MAX).backoff(&Backoff::NONE).build();
    let attributes = attributes.map_err(|error| error.to_string())?;
    let job = NewJob {
        ttr_ms: u32::try_from(ttr_s.saturating_mul(1000)).unwrap_or(u32::MAX),
        if_exists: IfExists::ReplaceReserved,
        key: Some(key),
        attributes,
        ..NewJob::new(body)
    };
    Ok((topic, job))
}

async fn push(caller: &Caller, job: &OldJob) -> Result<(), Failure> {
    let delay_ms = job.delay_s.saturating_mul(1000);
    if delay_ms > DELAY_MS_MAX {
        return Err(Failure::Impossible("a delay has at most 315360000 seconds".to_owned()));
    }
    let (topic, new) =
        job_with_id(&job.topic, &job.id, job.ttr_s, job.body.clone()).map_err(Failure::Impossible)?;
    let new = NewJob { due: When::After(delay_ms), ..new };
    let pushed = push_one(caller, topic, new).await?;
    // If a newer job was pushed meanwhile, its push removes this one.
    while let Some(older) = find_by_id(caller, &job.id).await?.filter(|found| found.id < pushed) {
        remove_one(caller, &older).await?;
    }
    Ok(())
}

/// Pushes a job that replaces the one with its key.
async fn push_one(caller: &Caller, topic: TopicName, job: NewJob) -> Result<JobId, Failure> {
    let request = Push { topic, sequence: 0, jobs: vec![job], idempotency: None };
    let results: Vec<PushResult> = caller.ask(Asked::Push(request)).await?;
    match results.first() {
        Some(PushResult::Pushed(id) | PushResult::Replaced(id)) => Ok(*id),
        Some(PushResult::Refused(code, _)) => Err(Failure::Impossible(code.to_string())),
        _ => Err(Failure::Impossible("the queue answers something else".to_owned())),
    }
}

/// One job of these topics, the first with a job that is ready; or, if none has one, whichever comes within `wait`.
async fn pop(caller: &Caller, topics: &[&str], wait: Duration) -> Result<Option<Delivered>, Failure> {
    if topics.len() > RESERVE_TOPICS_MAX {
        let message = format!("name at most {RESERVE_TOPICS_MAX} topics");
        return Err(Failure::Impossible(message));
    }
    let topics = topics.iter().map(|topic| topic_of(topic)).collect::<Result<Vec<_>, _>>()?;
    for topic in &topics {
        if let Some(job) = reserve(caller, vec![topic.clone()], 0).await? {
            return Ok(Some(job));
        }
    }
    if wait.is_zero() {
        return Ok(None);
    }
    reserve(caller, topics, u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)).await
}

async fn reserve(
    caller: &Caller,
    topics: Vec<TopicName>,
    wait_ms: u64,
) -> Result<Option<Delivered>, Failure> {
    let request = Asked::Reserve(Reserve { topics, jobs_max: 1, wait_ms, weights: Vec::new() });
    match caller.ask::<Vec<Delivered>>(request).await {
        Ok(jobs) => Ok(jobs.into_iter().next()),
        // Nobody gets jobs of a topic that is paused: there are none, for now.
        Err(problem) if problem.is(ErrorCode::Paused) => Ok(None),
        Err(problem) => Err(problem.into()),
    }
}

/// The job with this id; if there are two for a moment, the older one. If no job was pushed under the id `@5`, this is job
/// 5, if that was not pushed under an id.
async fn find(caller: &Caller, id: &str) -> Result<Option<JobReport>, Failure> {
    let found = find_by_id(caller, id).await?;
    let number = id.strip_prefix('@').and_then(|number| number.parse().ok());
    match number.filter(|_| found.is_none()) {
        Some(number) => {
            let numbered = look(caller, JobRef::Id(number)).await?;
            Ok(numbered.filter(|job| job.key.as_ref().and_then(Key::id).is_none()))
        }
        None => Ok(found),
    }
}

async fn find_by_id(caller: &Caller, id: &str) -> Result<Option<JobReport>, Failure> {
    Ok(look(caller, JobRef::Key { topic: TopicName::any(), key: key_of(id)? }).await?)
}

async fn look(caller: &Caller, job: JobRef) -> Result<Option<JobReport>, Problem> {
    match caller.ask::<JobReport>(Asked::Get(job)).await {
        Ok(job) => Ok(Some(job).filter(|job| job.state != Some(JobState::Finished))),
        Err(problem) if problem.is(ErrorCode::NotFound) => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Removes every job with this id, if there is one.
async fn remove(caller: &Caller, id: &str) -> Result<(), Failure> {
    let mut next = find(caller, id).await?;
    while let Some(job) = next {
        remove_one(caller, &job).await?;
        // Not by its number: job 5 stays when the job with the id `@5` is gone.
        next = find_by_id(caller, id).await?;
    }
    Ok(())
}

async fn remove_one(caller: &Caller, job: &JobReport) -> Result<(), Failure> {
    match caller.ask::<Changed>(Asked::Delete(JobRef::Id(job.id))).await {
        Err(problem) if !problem.is(ErrorCode::NotFound) => Err(problem.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_topic_comes_back_as_it_was(theirs in "[ -~üж]{1,30}") {
            if let Ok(ours) = topic_of(&theirs) {
                prop_assert_eq!(topic_from(ours.as_str()), theirs);
            }
        }
    }

    #[test]
    fn names_that_fit_stay_as_they_are() {
        let shown = |theirs: &str| topic_of(theirs).ok().map(|ours| ours.as_str().to_owned());
        assert_eq!(shown("order.eu/x_1-2"), Some("order.eu/x_1-2".to_owned()));
        assert_eq!(shown("-a:b c"), Some(":2da:3ab:20c".to_owned()));
        assert_eq!(shown(""), None);
        assert_eq!(shown(&"ж".repeat(34)), None, "too long");
    }
}
