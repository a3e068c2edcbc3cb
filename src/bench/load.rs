//! The producing side of the benches: jobs made by number, pushed through a window of frames.
//!
//! The generator shares the machine with the server, so it does little: one runtime thread, bodies that
//! are created once, no task per request.

use std::ops::Range;
use std::time::Instant;

use bytes::Bytes;
use indicatif::ProgressBar;
use tokio::task::JoinSet;

use super::clock;
use super::report::{Errors, Latencies};
use crate::in_flight::InFlight;
use adjourn_client::{Client, ClientError};
use adjourn_protocol::{ErrorCode, NewJob, PushResult, SettleResult};
use adjourn_types::{Key, TopicName};

/// The results of the jobs that one connection pushed.
#[derive(Debug)]
pub(super) struct Tally {
    /// Jobs that succeeded.
    pub(super) done: u64,
    /// The latency of each.
    pub(super) latencies: Latencies,
    /// Jobs that failed.
    pub(super) errors: Errors,
}

/// The parameters of the pushes on one connection.
#[derive(Clone, Debug)]
pub(super) struct Pushing {
    /// The topic of the jobs.
    pub(super) topic: TopicName,
    /// Frames in flight.
    pub(super) window: usize,
    /// Jobs per frame.
    pub(super) batch: usize,
    /// The progress bar.
    pub(super) progress: ProgressBar,
}

impl Tally {
    /// Without results.
    pub(super) fn new() -> Self {
        Self { done: 0, latencies: Latencies::new(), errors: Errors::default() }
    }

    /// The sum over all connections.
    pub(super) async fn sum(mut connections: JoinSet<Self>) -> Self {
        let mut sum = Self::new();
        while let Some(tally) = connections.join_next().await {
            match tally {
                Ok(tally) => sum.merge(&tally),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        sum
    }

    /// Adds the results of another one.
    pub(super) fn merge(&mut self, other: &Self) {
        self.done += other.done;
        self.latencies.merge(&other.latencies);
        self.errors.merge(&other.errors);
    }

    /// Counts the answer to a PUSH of `jobs` jobs that was sent at `sent`.
    pub(super) fn pushed(&mut self, sent: Instant, jobs: u64, answer: &Result<Vec<PushResult>, ClientError>) {
        let refusal = |result: &PushResult| match result {
            PushResult::Refused(code, _) => Some(*code),
            _ => None,
        };
        self.answered(sent, jobs, answer, refusal);
    }

    /// Counts the answer to a FINISH of `jobs` leases that was sent at `sent`.
    pub(super) fn finished(
        &mut self,
        sent: Instant,
        jobs: u64,
        answer: &Result<Vec<SettleResult>, ClientError>,
    ) {
        self.answered(sent, jobs, answer, |result| result.err());
    }

    /// Counts jobs that ended with the same error.
    pub(super) fn failed(&mut self, error: &ClientError, jobs: u64) {
        self.errors.add(error_name(error), jobs);
    }

    /// Counts a job that succeeded by a request of its own, which was sent at `sent` and is answered now.
    pub(super) fn one_done(&mut self, sent: Instant) {
        self.done += 1;
        self.latencies.record(clock::instant() - sent, 1);
    }

    fn answered<T>(
        &mut self,
        sent: Instant,
        jobs: u64,
        answer: &Result<Vec<T>, ClientError>,
        refusal: impl Fn(&T) -> Option<ErrorCode>,
    ) {
        let results = match answer {
            Ok(results) => results,
            Err(error) => return self.failed(error, jobs),
        };
        let mut refused = 0;
        for code in results.iter().filter_map(refusal) {
            self.errors.add(code.name(), 1);
            refused += 1;
        }
        let done = jobs.saturating_sub(refused);
        self.done += done;
        self.latencies.record(clock::instant() - sent, done);
    }
}

/// The name in reports of a request that failed as a whole.
pub(super) fn error_name(error: &ClientError) -> &'static str {
    match error {
        ClientError::Refused(reply) => reply.code.name(),
        ClientError::ItemRefused { code, .. } => code.name(),
        ClientError::OutcomeUnknown => ErrorCode::OutcomeUnknown.name(),
        ClientError::TooLarge { .. } => ErrorCode::TooLarge.name(),
        ClientError::Timeout { .. } => "TIMEOUT",
        ClientError::CannotConnect { .. } | ClientError::Closed => "CONNECTION_LOST",
        ClientError::NoSession => "NO_SESSION",
        ClientError::Address { .. } => "ADDRESS",
        ClientError::Tls(_) => "TLS",
        ClientError::WrongCluster { .. } => "WRONG_CLUSTER",
        ClientError::Protocol(_) => "PROTOCOL",
    }
}

/// The jobs of connection `place` when `places` connections share `jobs`.
pub(super) fn share(jobs: u64, place: u32, places: u32) -> Range<u64> {
    let edge =
        |place: u32| u64::try_from(u128::from(jobs) * u128::from(place) / u128::from(places)).unwrap_or(jobs);
    edge(place)..edge(place + 1)
}

/// The key of the job with this number, for benches with keys.
pub(super) fn key_of(number: u64) -> Key {
    format!("job-{number}").parse().expect("a short text without control characters")
}

/// A body of `bytes` bytes that lives as long as the process, so that clones need no reference count.
pub(super) fn everlasting_body(bytes: usize) -> Bytes {
    Bytes::from_static(Box::leak(vec![b'x'; bytes].into_boxed_slice()))
}

/// Pushes the jobs of `numbers` and waits for all answers. Stops sending after an error of the connection.
pub(super) async fn push_all(
    client: &Client,
    pushing: &Pushing,
    numbers: Range<u64>,
    mut make: impl FnMut(u64) -> NewJob,
) -> Tally {
    let mut tally = Tally::new();
    let mut in_flight = InFlight::new();
    let mut numbers = numbers.peekable();
    loop {
        while in_flight.len() < pushing.window && numbers.peek().is_some() {
            let jobs: Vec<NewJob> = numbers.by_ref().take(pushing.batch).map(&mut make).collect();
            let memo = (clock::instant(), jobs.len() as u64);
            match client.push_detached(&pushing.topic, jobs) {
                Ok(ticket) => in_flight.push(memo, ticket),
                Err(error) => tally.failed(&error, memo.1 + numbers.by_ref().count() as u64),
            }
        }
        let Some(((sent, jobs), answer)) = in_flight.next().await else { return tally };
        tally.pushed(sent, jobs, &answer);
        if let Err(error) = answer {
            tally.failed(&error, numbers.by_ref().count() as u64);
        }
        if !pushing.progress.is_hidden() {
            pushing.progress.inc(jobs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_every_job_once() {
        for (jobs, places) in [(10, 3), (2, 4), (0, 1), (1_000_003, 7)] {
            let edges: Vec<Range<u64>> = (0..places).map(|place| share(jobs, place, places)).collect();
            assert_eq!(edges.first().map(|range| range.start), Some(0));
            assert_eq!(edges.last().map(|range| range.end), Some(jobs));
            assert!(
                edges.iter().zip(edges.iter().skip(1)).all(|(one, next)| one.end == next.start),
                "{edges:?}"
            );
        }
    }
}
