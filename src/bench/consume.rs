//! The consuming side of a bench: subscribed connections that finish the jobs that they get.
//!
//! Each bench observes the jobs with its [`Watch`]. With [`Seen`], a body begins with the job's number and its due time,
//! so that the bench does not depend on what the server reports of either. A job that comes a second time is counted as
//! such.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use indicatif::ProgressBar;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::clock;
use super::load::Tally;
use super::report::Latencies;
use crate::connection::failure;
use crate::exit::Failure;
use crate::in_flight::InFlight;
use adjourn_client::{Client, ClientError, Subscription};
use adjourn_protocol::{Delivered, SettleResult, Subscribe};
use adjourn_types::TopicName;
use adjourn_types::limits::LEASES_MAX;

/// Most jobs that one consumer may hold.
const CREDIT_JOBS: u32 = 8192;
/// Most bytes of bodies that one consumer may hold.
const CREDIT_BYTES: u64 = 16 << 20;
/// After this time without a job, the missing ones count as lost.
const STALL: Duration = Duration::from_secs(15);
/// How often the count of jobs is checked.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Smallest body with a stamp, in bytes.
pub(super) const STAMPED_BODY_BYTES_MIN: usize = 16;

/// The stamp in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BodyStamp {
    /// The job's number in this run.
    pub(super) number: u64,
    /// When it is due, in milliseconds since the Unix epoch.
    pub(super) due_ms: u64,
}

impl BodyStamp {
    /// A body with this stamp, of `bytes` bytes or the length of the stamp.
    pub(super) fn body(self, bytes: usize) -> Bytes {
        let bytes = bytes.max(STAMPED_BODY_BYTES_MIN);
        let mut body = BytesMut::with_capacity(bytes);
        body.put_u64_le(self.number);
        body.put_u64_le(self.due_ms);
        body.resize(bytes, b'x');
        body.freeze()
    }

    /// The stamp of a body; `None` when it has none.
    pub(super) fn of(mut body: &[u8]) -> Option<Self> {
        (body.len() >= STAMPED_BODY_BYTES_MIN)
            .then(|| Self { number: body.get_u64_le(), due_ms: body.get_u64_le() })
    }
}

/// Observes jobs as they come and are finished; shared by all consumers.
pub(super) trait Watch: Send + Sync + 'static {
    /// Called for a job that came when the wall clock was `now_us`.
    fn came(&self, job: &Delivered, now_us: u64, consumed: &mut Consumed);

    /// Called for `jobs` more finished jobs.
    fn finished(&self, jobs: u64);
}

/// The jobs that have come.
#[derive(Debug)]
pub(super) struct Seen {
    words: Vec<AtomicU64>,
    distinct: AtomicU64,
    progress: ProgressBar,
}

impl Seen {
    /// The empty set, of a run of `jobs` jobs.
    pub(super) fn none_of(jobs: u64, progress: ProgressBar) -> Self {
        let words = usize::try_from(jobs.div_ceil(64)).unwrap_or(usize::MAX);
        let words = (0..words).map(|_| AtomicU64::new(0)).collect();
        Self { words, distinct: AtomicU64::new(0), progress }
    }

    /// Notes a job. True if it is the first time; a number beyond the run is never the first.
    pub(super) fn note(&self, number: u64) -> bool {
        let word = usize::try_from(number / 64).ok().and_then(|place| self.words.get(place));
        let bit = 1 << (number % 64);
        let first = word.is_some_and(|word| word.fetch_or(bit, Ordering::Relaxed) & bit == 0);
        if first {
            self.distinct.fetch_add(1, Ordering::Relaxed);
        }
        first
    }

    /// How many different jobs came.
    pub(super) fn distinct(&self) -> u64 {
        self.distinct.load(Ordering::Relaxed)
    }

    /// Waits until `jobs` different jobs have come, or no job came for a long time.
    pub(super) async fn wait_for(&self, jobs: u64) {
        wait_until(jobs, || self.distinct()).await;
    }

    /// Notes the job of a body that came at `now_us`.
    fn note_body(&self, body: &[u8], now_us: u64, consumed: &mut Consumed) {
        let Some(BodyStamp { number, due_ms }) = BodyStamp::of(body) else {
            return consumed.finished.errors.add("FOREIGN_JOB", 1);
        };
        if !self.note(number) {
            consumed.twice += 1;
        }
        let due_us = due_ms.saturating_mul(1000);
        if now_us < due_us {
            consumed.early += 1;
        }
        consumed.lateness.record(Duration::from_micros(now_us.saturating_sub(due_us)), 1);
    }
}

impl Watch for Seen {
    fn came(&self, job: &Delivered, now_us: u64, consumed: &mut Consumed) {
        self.note_body(&job.body, now_us, consumed);
        if !self.progress.is_hidden() {
            self.progress.inc(1);
        }
    }

    fn finished(&self, _: u64) {}
}

/// Waits until `count` reaches `goal`, or has not grown for a long time.
pub(super) async fn wait_until(goal: u64, count: impl Fn() -> u64) {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    let (mut counted, mut since) = (count(), clock::instant());
    while counted < goal && since.elapsed() < STALL {
        looks.tick().await;
        let before = std::mem::replace(&mut counted, count());
        if counted > before {
            since = clock::instant();
        }
    }
}

/// The results of consumers.
#[derive(Debug)]
pub(super) struct Consumed {
    /// The FINISH requests.
    pub(super) finished: Tally,
    /// When the last FINISH was answered.
    pub(super) last_answer: Option<Instant>,
    /// How long after its due time each job came.
    pub(super) lateness: Latencies,
    /// Jobs that came before their due time.
    pub(super) early: u64,
    /// Jobs that came again.
    pub(super) twice: u64,
}

/// An answered FINISH: when it was sent, its number of jobs, and the answer.
type Answer = ((Instant, u64), Result<Vec<SettleResult>, ClientError>);

/// Running consumers.
#[derive(Debug)]
pub(super) struct Consumers {
    tasks: JoinSet<Consumed>,
    stop: watch::Sender<bool>,
}

impl Consumers {
    /// Subscribes every client; jobs are finished as they come.
    pub(super) async fn start(
        clients: &[Client],
        topic: &TopicName,
        watch: &Arc<impl Watch>,
    ) -> Result<Self, Failure> {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for client in clients {
            let request = Subscribe {
                topics: vec![topic.clone()],
                credit_jobs: CREDIT_JOBS,
                credit_bytes: CREDIT_BYTES,
                weights: Vec::new(),
            };
            let subscription = client.subscribe(request).await.map_err(|error| failure(&error))?;
            let consumer = Consumer { client: client.clone(), watch: watch.clone() };
            tasks.spawn(consumer.run(subscription, stopped.clone()));
        }
        Ok(Self { tasks, stop })
    }

    /// Stops the consumers once all their requests are answered.
    pub(super) async fn stop(mut self) -> Consumed {
        // Consumers that lost their connection have already ended.
        self.stop.send_replace(true);
        let mut sum = Consumed::nothing();
        while let Some(consumed) = self.tasks.join_next().await {
            match consumed {
                Ok(consumed) => sum.merge(&consumed),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        sum
    }
}

impl Consumed {
    fn nothing() -> Self {
        Self { finished: Tally::new(), last_answer: None, lateness: Latencies::new(), early: 0, twice: 0 }
    }

    fn merge(&mut self, other: &Self) {
        self.finished.merge(&other.finished);
        self.last_answer = self.last_answer.max(other.last_answer);
        self.lateness.merge(&other.lateness);
        self.early += other.early;
        self.twice += other.twice;
    }

    /// Counts the answer to a FINISH of `jobs` jobs that was sent at `sent`.
    fn answered(&mut self, ((sent, jobs), answer): &Answer) {
        self.finished.finished(*sent, *jobs, answer);
        self.last_answer = Some(clock::instant());
    }
}

/// A consumer on one connection.
struct Consumer<W> {
    client: Client,
    watch: Arc<W>,
}

impl<W: Watch> Consumer<W> {
    async fn run(self, mut subscription: Subscription, mut stopped: watch::Receiver<bool>) -> Consumed {
        let mut consumed = Consumed::nothing();
        let mut in_flight = InFlight::new();
        loop {
            tokio::select! {
                jobs = at_hand(&mut subscription) => {
                    if jobs.is_empty() {
                        break;
                    }
                    for (job, came_us) in &jobs {
                        self.watch.came(job, *came_us, &mut consumed);
                    }
                    let memo = (clock::instant(), jobs.len() as u64);
                    match self.client.finish_detached(jobs.iter().map(|(job, _)| job.lease).collect()) {
                        Ok(ticket) => in_flight.push(memo, ticket),
                        Err(error) => consumed.finished.failed(&error, memo.1),
                    }
                }
                Some(answer) = in_flight.next() => self.answered(&answer, &mut consumed),
                _ = stopped.wait_for(|stopped| *stopped) => break,
            }
        }
        while let Some(answer) = in_flight.next().await {
            self.answered(&answer, &mut consumed);
        }
        consumed
    }

    fn answered(&self, answer: &Answer, consumed: &mut Consumed) {
        let before = consumed.finished.done;
        consumed.answered(answer);
        self.watch.finished(consumed.finished.done - before);
    }
}

/// Waits for a job, and takes the others that have arrived by then; each with its time. Empty when no more can come.
async fn at_hand(subscription: &mut Subscription) -> Vec<(Delivered, u64)> {
    let mut jobs = Vec::new();
    // Nothing is awaited once there is a job: dropping this wait loses none.
    let mut next = subscription.next().await;
    while let Some(job) = next {
        jobs.push((job, clock::wall_us()));
        if jobs.len() >= LEASES_MAX {
            break;
        }
        let another = pin!(subscription.next());
        next = match another.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(job) => job,
            Poll::Pending => None,
        };
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::report::Errors;

    #[test]
    fn a_body_carries_its_stamp() {
        let stamp = BodyStamp { number: 7, due_ms: 1_767_225_600_005 };
        for bytes in [0, 16, 64] {
            let body = stamp.body(bytes);
            assert_eq!((body.len(), BodyStamp::of(&body)), (bytes.max(16), Some(stamp)));
        }
        assert_eq!(BodyStamp::of(b"hello"), None);
    }

    #[test]
    fn jobs_are_seen_once() {
        let seen = Seen::none_of(65, ProgressBar::hidden());
        let firsts: Vec<bool> = [0, 64, 0, 1, 64, 1000].map(|number| seen.note(number)).to_vec();
        assert_eq!(firsts, [true, true, false, true, false, false]);
        assert_eq!(seen.distinct(), 3);
    }

    #[test]
    fn early_and_repeated_jobs_are_counted() {
        let (seen, mut consumed) = (Seen::none_of(3, ProgressBar::hidden()), Consumed::nothing());
        let body = |number| BodyStamp { number, due_ms: 5 }.body(0);
        seen.note_body(&body(0), 4_999, &mut consumed);
        seen.note_body(&body(1), 5_000, &mut consumed);
        seen.note_body(&body(1), 9_000, &mut consumed);
        assert_eq!((consumed.early, consumed.twice), (1, 1));
        assert_eq!(consumed.finished.errors, Errors::default());
        seen.note_body(b"too short", 0, &mut consumed);
        assert_ne!(consumed.finished.errors, Errors::default());
    }
}
