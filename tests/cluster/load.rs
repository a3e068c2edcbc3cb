//! Real clients that push, take and finish jobs all the while, and a ledger of what was promised to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use adjourn::client::{Client, ClientConfig, ClientError};
use adjourn::protocol::{Delivered, ErrorCode, NewJob, PushResult, Subscribe};
use adjourn::types::{JobId, Lease, Millis};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::rig::now;
use crate::server_rig::topic;

const TOPIC: &str = "load";
/// A lease lasts so long.
const TTR_MS: u32 = 8_000;
const PRODUCERS: u64 = 6;
const CONSUMERS: u64 = 3;
/// Jobs in one push.
const BATCH: u64 = 4;
/// Clocks of one machine, read twice, may differ by so much.
const EARLY_MS: u64 = 1;

/// What was seen.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The id of each job whose push was acknowledged, by the number that it carries.
    pushed: BTreeMap<u64, JobId>,
    /// Pushes whose outcome nobody knows.
    doubtful: BTreeSet<u64>,
    /// Each job that was delivered, by its number, with the id it came under.
    delivered: BTreeMap<u64, JobId>,
    /// Who holds what, and until when.
    held: BTreeMap<JobId, (u64, Instant)>,
    finished: BTreeSet<JobId>,
    /// Deliveries of a job that was delivered before.
    pub(crate) repeats: u64,
    /// Pushes that were refused because a disk was full: they were sent again.
    pub(crate) refused: u64,
    /// When a push was acknowledged last, and the longest time between two, since [`Load::watch`].
    watched: Option<(Instant, Duration)>,
    wrong: Vec<String>,
}

/// Clients at work.
pub(crate) struct Load {
    runtime: Runtime,
    ledger: Arc<Mutex<Ledger>>,
    stopping: Arc<AtomicBool>,
    producers: Vec<JoinHandle<()>>,
    consumers: Vec<JoinHandle<()>>,
    server: String,
}

impl Load {
    /// Connects them to the nodes at these addresses.
    pub(crate) fn start(server: &str) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let stopping = Arc::new(AtomicBool::new(false));
        let numbers = Arc::new(AtomicU64::new(0));
        let producers = (0..PRODUCERS).map(|_| {
            let (server, ledger) = (server.to_owned(), Arc::clone(&ledger));
            runtime.spawn(produce(server, ledger, Arc::clone(&stopping), Arc::clone(&numbers)))
        });
        let producers = producers.collect();
        let consumers = (0..CONSUMERS)
            .map(|consumer| runtime.spawn(consume(server.to_owned(), Arc::clone(&ledger), consumer)));
        let consumers = consumers.collect();
        Self { runtime, ledger, stopping, producers, consumers, server: server.to_owned() }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("nobody panics here")
    }

    /// Looks from now on for the longest time without an acknowledgement.
    pub(crate) fn watch(&self) {
        self.ledger().watched = Some((now(), Duration::ZERO));
    }

    /// The longest time in which no push was acknowledged, since [`Self::watch`].
    pub(crate) fn longest_pause(&self) -> Duration {
        self.ledger().watched.map_or(Duration::ZERO, |(last, longest)| longest.max(last.elapsed()))
    }

    /// Waits until so many pushes more are acknowledged.
    pub(crate) fn await_pushes(&self, more: usize) {
        let (begun, enough) = (now(), self.ledger().pushed.len() + more);
        while self.ledger().pushed.len() < enough {
            assert!(begun.elapsed() < super::rig::PATIENCE, "the producers are stuck");
            std::thread::yield_now();
        }
    }

    /// Ends the producers, waits until everything is delivered and finished, and holds what was seen against what was
    /// promised.
    pub(crate) fn check(mut self) -> Ledger {
        self.stopping.store(true, Ordering::Relaxed);
        for producer in self.producers.drain(..) {
            self.runtime.block_on(producer).expect("a producer without complaint");
        }
        let left = self.runtime.block_on(drained(&self.server));
        self.consumers.iter().for_each(JoinHandle::abort);
        for consumer in self.consumers.drain(..) {
            let ended = self.runtime.block_on(consumer);
            assert!(ended.is_err_and(|error| error.is_cancelled()), "a consumer with a complaint");
        }
        let ledger = std::mem::take(&mut *self.ledger());
        assert_eq!(ledger.wrong, Vec::<String>::new());
        assert_eq!(left, 0, "jobs that nobody gets");
        let lost = ledger.pushed.iter().filter(|(number, _)| !ledger.delivered.contains_key(number));
        let lost: Vec<_> = lost.collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
        ledger
    }
}

impl Ledger {
    pub(crate) fn pushes(&self) -> usize {
        self.pushed.len()
    }

    pub(crate) fn finished(&self) -> usize {
        self.finished.len()
    }

    fn acknowledged(&mut self, number: u64, job: JobId) {
        if let Some((last, longest)) = &mut self.watched {
            *longest = (*longest).max(last.elapsed());
            *last = now();
        }
        let before = self.pushed.insert(number, job);
        if before.is_some() {
            self.wrong.push(format!("number {number} was acknowledged twice"));
        }
        if self.delivered.get(&number).is_some_and(|delivered| *delivered != job) {
            self.wrong.push(format!("number {number} is {job}, and was delivered as another"));
        }
    }

    fn came(&mut self, consumer: u64, job: &Delivered) {
        let (id, now) = (job.lease.job, now());
        let number = u64::from_le_bytes(job.body.first_chunk().copied().unwrap_or_default());
        let wall = wall_ms();
        if u128::from(job.due.0) > wall + u128::from(EARLY_MS) {
            self.wrong.push(format!("{id} came {} ms early", u128::from(job.due.0) - wall));
        }
        if self.finished.contains(&id) {
            self.wrong.push(format!("{id} was finished and came again"));
        }
        match self.delivered.insert(number, id) {
            Some(before) if before != id => {
                self.wrong.push(format!("number {number} is two jobs: {before} and {id}"));
            }
            Some(_) => self.repeats += 1,
            None => {}
        }
        if self.pushed.get(&number).is_some_and(|pushed| *pushed != id) {
            self.wrong.push(format!("number {number} was acknowledged as another job than {id}"));
        }
        let until = now + Duration::from_millis(u64::from(job.ttr_left_ms));
        if let Some((holder, held_until)) =
            self.held.insert(id, (consumer, until)).filter(|held| held.1 > now)
        {
            let left = held_until - now;
            self.wrong.push(format!("{id} is held by {holder} for {left:?} more, and came to {consumer}"));
        }
    }

    fn settled(&mut self, job: JobId) {
        self.held.remove(&job);
        self.finished.insert(job);
    }
}

#[expect(clippy::disallowed_methods, reason = "real jobs are due by the real clock")]
fn wall_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |wall| wall.as_millis())
}

async fn connect(server: &str) -> Client {
    let config = ClientConfig {
        reconnect_wait_ms_max: 100,
        connect_timeout_ms: 2_000,
        heartbeat_ms: 1_000,
        request_timeout_ms: 120_000,
        ..ClientConfig::new(server)
    };
    Client::connect(config).await.expect("some node answers")
}

async fn produce(
    server: String,
    ledger: Arc<Mutex<Ledger>>,
    stopping: Arc<AtomicBool>,
    numbers: Arc<AtomicU64>,
) {
    let client = connect(&server).await;
    while !stopping.load(Ordering::Relaxed) {
        let first = numbers.fetch_add(BATCH, Ordering::Relaxed);
        let job = |number: u64| {
            let (new, wait_ms) = (NewJob::new(number.to_le_bytes().to_vec()), number % 50);
            // Some wait for a time to pass, others for a time of day.
            let mut job = if number.is_multiple_of(2) {
                new.after(wait_ms)
            } else {
                new.at(Millis(u64::try_from(wall_ms()).unwrap_or(u64::MAX) + wait_ms))
            };
            job.ttr_ms = TTR_MS;
            job
        };
        let outcome = client.push(&topic(TOPIC), (first..first + BATCH).map(job).collect()).await;
        let mut ledger = ledger.lock().expect("nobody panics here");
        match outcome {
            Ok(results) => {
                for (number, result) in (first..).zip(results) {
                    let PushResult::Pushed(id) = result else { panic!("{result:?}") };
                    ledger.acknowledged(number, id);
                }
            }
            Err(ClientError::Refused(reply)) if reply.code == ErrorCode::DiskFull => ledger.refused += 1,
            Err(ClientError::OutcomeUnknown) => ledger.doubtful.extend(first..first + BATCH),
            Err(error) => panic!("{error}"),
        }
    }
}

async fn consume(server: String, ledger: Arc<Mutex<Ledger>>, consumer: u64) {
    let client = connect(&server).await;
    let subscribe = Subscribe { topics: vec![topic(TOPIC)], credit_jobs: 64, credit_bytes: 1 << 20 };
    let mut subscription = client.subscribe(subscribe).await.expect("subscribed");
    while let Some(job) = subscription.next().await {
        ledger.lock().expect("nobody panics here").came(consumer, &job);
        let (client, ledger) = (client.clone(), Arc::clone(&ledger));
        tokio::spawn(async move { finish(&client, &ledger, job.lease).await });
    }
    panic!("the subscription ended: {:?}", subscription.failure());
}

async fn finish(client: &Client, ledger: &Mutex<Ledger>, lease: Lease) {
    let outcome = client.finish(vec![lease]).await;
    if let Ok([Ok(())]) = outcome.as_deref() {
        ledger.lock().expect("nobody panics here").settled(lease.job);
    }
}

/// Waits until nothing is left, and says how much is when nothing moves any more.
async fn drained(server: &str) -> u64 {
    let client = connect(server).await;
    let begun = now();
    loop {
        let totals = client.stats().await.expect("stats").totals;
        let left = totals.delayed + totals.ready + totals.reserved;
        if left == 0 || begun.elapsed() > super::rig::PATIENCE {
            return left;
        }
        tokio::task::yield_now().await;
    }
}
