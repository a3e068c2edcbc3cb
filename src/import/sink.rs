//! Jobs that are taken over, each once.
//!
//! A job is pushed under a number that the same job has in every attempt, so a repeat after a crash adds nothing. A job that is set
//! aside cannot be pushed as such: it is pushed far ahead of its time and with one attempt, reserved, buried, and only then gets its
//! own attempts. If that breaks off, it waits or is buried, and is never delivered; the repeat goes on from there.

use std::num::NonZeroU128;
use std::time::Duration;

use tokio::time::sleep;

use super::numbers;
use adjourn_client::{Client, ClientError, PushTicket};
use adjourn_http::ExportedJob;
use adjourn_protocol::{Edit, ErrorCode, JobRef, NewJob, PushResult};
use adjourn_types::{AttributeSet, Attributes, AttributesBuilder, IfExists, JobId, TopicName, When};

/// A job that is to be set aside is due after this time, in milliseconds, if it is not: nobody gets it before.
const ASIDE_MS: u64 = 7 * 86_400_000;
/// Somebody may hold a job that is to be set aside for so long: an import that was killed.
const HELD_MAX: Duration = Duration::from_secs(30);
const AGAIN_AFTER: Duration = Duration::from_millis(250);

/// Jobs of one topic that were sent, and the answer to come.
pub(super) struct Sent {
    number: NonZeroU128,
    topic: TopicName,
    jobs: Vec<NewJob>,
    /// An error if they do not fit into a request.
    ticket: Result<PushTicket, ClientError>,
    /// For each job that is to be set aside, its place among them, why, and its attributes.
    aside: Vec<(usize, String, Attributes)>,
}

/// What became of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// They are in the queue.
    pub(super) pushed: u64,
    /// The topic has a job with their key, which stays.
    pub(super) kept: u64,
    /// Of those that were pushed, they are set aside.
    pub(super) buried: u64,
}

/// Sends jobs of one topic. Their numbers are this one and those that follow.
pub(super) fn send(client: &Client, number: NonZeroU128, topic: &TopicName, jobs: Vec<ExportedJob>) -> Sent {
    let mut aside = Vec::new();
    let jobs = jobs.into_iter().enumerate().map(|(nth, exported)| {
        let ExportedJob { job, buried, .. } = exported;
        let job = if job.key.is_some() { NewJob { if_exists: IfExists::Keep, ..job } } else { job };
        let Some(reason) = buried else { return job };
        aside.push((nth, reason, job.attributes.clone()));
        let one_attempt = with_one_attempt(&job.attributes);
        NewJob { due: When::After(ASIDE_MS), attributes: one_attempt, ..job }
    });
    let jobs: Vec<NewJob> = jobs.collect();
    let ticket = client.push_under(number, topic, jobs.clone());
    Sent { number, topic: topic.clone(), jobs, ticket, aside }
}

/// The same attributes, but for the attempts.
fn with_one_attempt(attributes: &Attributes) -> Attributes {
    let one = AttributesBuilder::default().attempts_max(1).build();
    let edited = one.and_then(|one| attributes.edited(AttributeSet::ATTEMPTS_MAX, &one));
    edited.unwrap_or_else(|_| attributes.clone())
}

impl Sent {
    /// Waits for the answer, and sets aside what is to be. Returns the result of each job.
    pub(super) async fn done(
        self,
        client: &Client,
        counts: &mut Counts,
    ) -> Result<Vec<PushResult>, ClientError> {
        let results = match self.ticket {
            Ok(ticket) => ticket.await,
            Err(error) => Err(error),
        };
        let results = match results {
            // It is refused as a whole for the sake of one of them.
            Err(error) if is_too_large(&error) => {
                push_each(client, self.number, &self.topic, self.jobs).await?
            }
            results => results?,
        };
        for result in &results {
            match result {
                PushResult::Kept(_) => counts.kept += 1,
                PushResult::Refused(..) => {}
                _ => counts.pushed += 1,
            }
        }
        for (nth, reason, attributes) in self.aside {
            if let Some(PushResult::Pushed(id)) = results.get(nth) {
                set_aside(client, *id, &reason, attributes).await?;
                counts.buried += 1;
            }
        }
        Ok(results)
    }
}

fn is_too_large(error: &ClientError) -> bool {
    matches!(error, ClientError::TooLarge { .. }) || error.code() == Some(ErrorCode::TooLarge)
}

/// Pushes each job alone, under its own number.
async fn push_each(
    client: &Client,
    number: NonZeroU128,
    topic: &TopicName,
    jobs: Vec<NewJob>,
) -> Result<Vec<PushResult>, ClientError> {
    let mut results = Vec::new();
    for (nth, job) in (0..).zip(jobs) {
        let pushed = match client.push_under(numbers::behind(number, nth), topic, vec![job]) {
            Ok(ticket) => ticket.await,
            Err(error) => Err(error),
        };
        match pushed {
            Err(error) if is_too_large(&error) => {
                results.push(PushResult::Refused(ErrorCode::TooLarge, None));
            }
            pushed => results.extend(pushed?),
        }
    }
    Ok(results)
}

async fn set_aside(
    client: &Client,
    id: JobId,
    reason: &str,
    attributes: Attributes,
) -> Result<(), ClientError> {
    let mut waited = Duration::ZERO;
    loop {
        match client.reserve_job(JobRef::Id(id)).await {
            // An import that was killed holds it, until the grace of its session is over.
            Err(error) if error.code() == Some(ErrorCode::Reserved) && waited < HELD_MAX => {
                sleep(AGAIN_AFTER).await;
                waited += AGAIN_AFTER;
            }
            // A repeat after it was finished or deleted by somebody.
            Err(error) if error.code() == Some(ErrorCode::NotFound) => return Ok(()),
            held => {
                let settled = client.bury_because(vec![held?.lease], reason).await?;
                // With a short time to run the lease may have ended before.
                if settled.first().is_some_and(Result::is_ok) {
                    break;
                }
            }
        }
    }
    let edit = Edit { replaced: AttributeSet::ATTEMPTS_MAX, attributes, ..Edit::new(JobRef::Id(id)) };
    client.edit(edit).await.map(drop)
}
