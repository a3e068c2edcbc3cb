//! Jobs that are taken over, each once.
//!
//! A job is pushed under a number that the same job has in every attempt, so a repeat after a crash adds nothing. A job that is set
//! aside cannot be pushed as such: it is pushed far ahead of its time and with one attempt, reserved, buried, and only then gets its
//! own attempts. If that breaks off, it waits or is buried, and is never delivered; the repeat goes on from there.

use std::num::NonZeroU128;
use std::time::Duration;

use tokio::time::sleep;
use xxhash_rust::xxh3::xxh3_128;

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
    ticket: PushTicket,
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

/// The number of the job with this name in a source.
pub(super) fn number_of(source: &str, job: &str) -> NonZeroU128 {
    let named = [source.as_bytes(), b"\0", job.as_bytes()].concat();
    NonZeroU128::new(xxh3_128(&named)).unwrap_or(NonZeroU128::MIN)
}

/// Sends jobs of one topic. Their numbers are this one and those that follow.
pub(super) fn send(
    client: &Client,
    number: NonZeroU128,
    topic: &TopicName,
    jobs: Vec<ExportedJob>,
) -> Result<Sent, ClientError> {
    let mut aside = Vec::new();
    let jobs = jobs.into_iter().enumerate().map(|(nth, exported)| {
        let ExportedJob { job, buried, .. } = exported;
        let job = if job.key.is_some() { NewJob { if_exists: IfExists::Keep, ..job } } else { job };
        let Some(reason) = buried else { return job };
        aside.push((nth, reason, job.attributes.clone()));
        let one_attempt = with_one_attempt(&job.attributes);
        NewJob { due: When::After(ASIDE_MS), attributes: one_attempt, ..job }
    });
    let jobs = jobs.collect();
    Ok(Sent { ticket: client.push_under(number, topic, jobs)?, aside })
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
        let results = self.ticket.await?;
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
