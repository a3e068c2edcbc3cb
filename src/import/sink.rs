//! Jobs that are taken over, each once.
//!
//! A job is pushed under a number that the same job has in every attempt, so a repeat after a crash adds nothing.

use std::num::NonZeroU128;

use super::numbers;
use adjourn_client::{Client, ClientError, PushTicket};
use adjourn_http::ExportedJob;
use adjourn_protocol::{ErrorCode, NewJob, PushResult};
use adjourn_types::{Attributes, IfExists, TopicName};

/// Jobs of one topic that were sent, and the answer to come.
pub(super) struct Sent {
    number: NonZeroU128,
    topic: TopicName,
    jobs: Vec<NewJob>,
    /// An error if one of them is too large for a request.
    ticket: Result<PushTicket, ClientError>,
}

/// What became of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// They are in the queue.
    pub(super) pushed: u64,
    /// The topic has a job with their key, which stays.
    pub(super) kept: u64,
    /// Of those that were pushed, they are buried.
    pub(super) buried: u64,
}

/// Sends jobs of one topic. Their numbers are this one and those that follow.
pub(super) fn send(client: &Client, number: NonZeroU128, topic: &TopicName, jobs: Vec<ExportedJob>) -> Sent {
    let jobs = jobs.into_iter().map(|ExportedJob { job, .. }| {
        if job.key.is_some() { NewJob { if_exists: IfExists::Keep, ..job } } else { job }
    });
    let jobs: Vec<NewJob> = jobs.collect();
    let ticket = client.push_under(number, topic, jobs.clone());
    Sent { number, topic: topic.clone(), jobs, ticket }
}

/// Whether a push of this job buries it.
pub(super) fn is_buried(job: &NewJob) -> bool {
    Attributes::buried_of(job.attributes.as_bytes()).is_some()
}

impl Sent {
    /// Waits for the answer. Returns the result of each job.
    pub(super) async fn done(
        self,
        client: &Client,
        counts: &mut Counts,
    ) -> Result<Vec<PushResult>, ClientError> {
        let buried: Vec<bool> = self.jobs.iter().map(is_buried).collect();
        let results = match answer(self.ticket).await {
            // One of them is, and the whole request is refused.
            Err(error) if is_too_large(&error) => {
                push_each(client, self.number, &self.topic, self.jobs).await?
            }
            results => results?,
        };
        for (result, is_buried) in results.iter().zip(buried) {
            match result {
                PushResult::Kept(_) => counts.kept += 1,
                PushResult::Refused(..) => {}
                _ => {
                    counts.pushed += 1;
                    counts.buried += u64::from(is_buried);
                }
            }
        }
        Ok(results)
    }
}

/// The answer to a push, whether this process or the server gives it.
async fn answer(ticket: Result<PushTicket, ClientError>) -> Result<Vec<PushResult>, ClientError> {
    ticket?.await
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
        match answer(client.push_under(numbers::after(number, nth), topic, vec![job])).await {
            Err(error) if is_too_large(&error) => {
                results.push(PushResult::Refused(ErrorCode::TooLarge, None));
            }
            pushed => results.extend(pushed?),
        }
    }
    Ok(results)
}
