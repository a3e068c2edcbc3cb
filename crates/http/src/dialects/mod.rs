//! The protocols of older delay queues: each on a port of its own, as a thin layer over the queue.
//!
//! An id of ouqiang or of Youzan is unique over all topics, a key only within its topic. So an id becomes the key, and a
//! request that names it searches every topic that the caller may read. A push adds its job first, and then removes earlier
//! jobs of the id in other topics: in between there are two, and never none.

mod fields;
pub(super) mod ouqiang;
pub(super) mod php_delayqueue;
pub(super) mod youzan;

use std::fmt::{self, Write as _};
use std::time::Duration;

use axum::extract::Request;
use bytes::Bytes;
use tokio::task::JoinSet;

use self::fields::Fields;
use super::caller::Caller;
use super::connection::connection;
use super::input;
use super::problem::Problem;
use adjourn_protocol::{
    Changed, Delivered, ErrorCode, JobRef, JobReport, NewJob, Push, PushResult, Request as Asked, Reserve,
    TopicReport,
};
use adjourn_types::limits::{DELAY_MS_MAX, PRIORITY_UNSAID, RESERVE_TOPICS_MAX, TOPIC_BYTES_MAX};
use adjourn_types::{AttributesBuilder, Backoff, IfExists, JobId, JobState, Key, NameError, TopicName, When};

/// A job is buried after this many attempts: the older queues would try for ever.
const ATTEMPTS_MAX: u32 = 100;
/// Most concurrent look-ups of one request.
const LOOKUPS_MAX: usize = 64;

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
    Key::new(Bytes::copy_from_slice(id.as_bytes()))
        .map_err(|_| Failure::Impossible("an id has at most 256 bytes, and no control characters".to_owned()))
}

/// The id of a job: its key; for a job without a key, `@` and its number, which is not a key: see [`find`].
fn id_of(job: &Delivered) -> String {
    job.key.as_ref().map_or_else(|| format!("@{}", job.lease.job.0), |key| key.as_str().to_owned())
}

async fn push(caller: &Caller, job: &OldJob) -> Result<(), Failure> {
    let (topic, key) = (topic_of(&job.topic)?, key_of(&job.id)?);
    let delay_ms = job.delay_s.saturating_mul(1000);
    if delay_ms > DELAY_MS_MAX {
        return Err(Failure::Impossible("a delay has at most 315360000 seconds".to_owned()));
    }
    // As in the older queues, a job comes back when its time to run is over.
    let attributes = AttributesBuilder::default().attempts_max(ATTEMPTS_MAX).backoff(&Backoff::NONE).build();
    let attributes = attributes.map_err(|error| Failure::Impossible(error.to_string()))?;
    let ttr_ms = u32::try_from(job.ttr_s.saturating_mul(1000)).unwrap_or(u32::MAX);
    let new = NewJob {
        due: When::After(delay_ms),
        priority: PRIORITY_UNSAID,
        ttr_ms,
        if_exists: IfExists::ReplaceReserved,
        key: Some(key),
        attributes,
        body: job.body.clone().into(),
    };
    let pushed = push_one(caller, topic, new).await?;
    // A newer job was pushed meanwhile: its push removes this one.
    for older in find_by_key(caller, &job.id).await?.into_iter().filter(|found| found.id < pushed) {
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
        Err(problem) if problem.json().code == ErrorCode::Paused.name() => Ok(None),
        Err(problem) => Err(problem.into()),
    }
}

/// Every job with this id in any topic, the newest last. If no job has the key `@5`, this is job 5, if it was pushed
/// without a key.
async fn find(caller: &Caller, id: &str) -> Result<Vec<JobReport>, Failure> {
    let found = find_by_key(caller, id).await?;
    let number = id.strip_prefix('@').and_then(|number| number.parse().ok());
    match number.filter(|_| found.is_empty()) {
        Some(number) => {
            let numbered = look(caller.clone(), JobRef::Id(number)).await?;
            Ok(numbered.into_iter().filter(|job| job.key.is_none()).collect())
        }
        None => Ok(found),
    }
}

async fn find_by_key(caller: &Caller, id: &str) -> Result<Vec<JobReport>, Failure> {
    let key = key_of(id)?;
    let topics: Vec<TopicReport> = caller.ask(Asked::Topics).await?;
    let mut topics = topics.into_iter();
    let (mut lookups, mut found) = (JoinSet::new(), Vec::new());
    loop {
        while lookups.len() < LOOKUPS_MAX
            && let Some(topic) = topics.next()
        {
            let job = JobRef::Key { topic: topic.topic, key: key.clone() };
            lookups.spawn(look(caller.clone(), job));
        }
        match lookups.join_next().await {
            Some(Ok(looked)) => found.extend(looked?),
            // A runtime that ends answers no requests.
            Some(Err(_)) => {}
            None => break,
        }
    }
    found.sort_by_key(|job| job.id);
    Ok(found)
}

async fn look(caller: Caller, job: JobRef) -> Result<Option<JobReport>, Failure> {
    match caller.ask::<JobReport>(Asked::Get(job)).await {
        Ok(job) => Ok(Some(job).filter(|job| job.state != Some(JobState::Finished))),
        Err(problem) if problem.json().code == ErrorCode::NotFound.name() => Ok(None),
        Err(problem) => Err(problem.into()),
    }
}

/// Removes every job with this id, if there is one.
async fn remove(caller: &Caller, id: &str) -> Result<(), Failure> {
    for job in find(caller, id).await? {
        remove_one(caller, &job).await?;
    }
    Ok(())
}

async fn remove_one(caller: &Caller, job: &JobReport) -> Result<(), Failure> {
    match caller.ask::<Changed>(Asked::Delete(JobRef::Id(job.id))).await {
        Err(problem) if problem.json().code != ErrorCode::NotFound.name() => Err(problem.into()),
        _ => Ok(()),
    }
}

/// JSON in Go's encoding: `<`, `>` and `&`, which occur only in texts, are escaped.
fn as_go_writes(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
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
        assert_eq!(shown(&"ж".repeat(30)), None, "too long");
    }
}
