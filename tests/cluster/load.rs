//! Real clients that push, take and finish jobs all the while.

// Two test binaries have this file, each at another place.
#[path = "ledger.rs"]
mod ledger;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use adjourn_client::{Client, ClientConfig, ClientError};
use adjourn_protocol::{ErrorCode, NewJob, PushResult, Subscribe, Totals};
use adjourn_types::{Lease, Millis};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::rig::now;
use crate::server_rig::topic;
pub(crate) use ledger::Ledger;

const TOPIC: &str = "load";
/// A lease lasts so long.
const TTR_MS: u32 = 8_000;
const PRODUCERS: u64 = 6;
const CONSUMERS: u64 = 3;
/// Jobs in one push.
const BATCH: u64 = 4;
/// One job in this number takes long: it is finished when a few more of these have come.
const TAKES_LONG: u64 = 16;
/// So many of them each consumer holds all the while, over a failover too.
const HELD_LONG: usize = 4;

/// Clients at work.
pub(crate) struct Load {
    runtime: Runtime,
    ledger: Arc<Mutex<Ledger>>,
    stopping: watch::Sender<bool>,
    producers: Vec<JoinHandle<()>>,
    consumers: Vec<JoinHandle<()>>,
    server: String,
}

impl Load {
    /// Connects them to the nodes at these addresses.
    pub(crate) fn start(server: &str) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let stopping = watch::Sender::new(false);
        let numbers = Arc::new(AtomicU64::new(0));
        let producers = (0..PRODUCERS).map(|_| {
            let (server, ledger) = (server.to_owned(), Arc::clone(&ledger));
            runtime.spawn(produce(server, ledger, stopping.subscribe(), Arc::clone(&numbers)))
        });
        let producers = producers.collect();
        let consumers = (0..CONSUMERS).map(|consumer| {
            let (server, ledger) = (server.to_owned(), Arc::clone(&ledger));
            runtime.spawn(consume(server, ledger, stopping.subscribe(), consumer))
        });
        let consumers = consumers.collect();
        Self { runtime, ledger, stopping, producers, consumers, server: server.to_owned() }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("nobody panics here")
    }

    /// Looks from now on for the longest time without an acknowledgement.
    pub(crate) fn watch(&self) {
        self.ledger().watch();
    }

    /// The longest time in which no push was acknowledged, since [`Self::watch`].
    pub(crate) fn longest_pause(&self) -> Duration {
        self.ledger().longest_pause()
    }

    /// Waits until `more` further pushes are acknowledged.
    pub(crate) fn await_pushes(&self, more: usize) {
        let (begun, enough) = (now(), self.ledger().pushes() + more);
        while self.ledger().pushes() < enough {
            assert!(begun.elapsed() < super::rig::PATIENCE, "the producers are stuck");
            std::thread::yield_now();
        }
    }

    /// Ends the producers, waits until everything is delivered and finished, and returns the events seen.
    pub(crate) fn end(mut self) -> Ledger {
        self.stopping.send_replace(true);
        for producer in self.producers.drain(..) {
            self.runtime.block_on(producer).expect("a producer without complaint");
        }
        let (left, totals) = self.runtime.block_on(drained(&self.server, &self.ledger));
        self.consumers.iter().for_each(JoinHandle::abort);
        for consumer in self.consumers.drain(..) {
            let ended = self.runtime.block_on(consumer);
            assert!(ended.is_err_and(|error| error.is_cancelled()), "a consumer with a complaint");
        }
        let mut ledger = std::mem::take(&mut *self.ledger());
        ledger.close(left, totals);
        ledger
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
    stopping: watch::Receiver<bool>,
    numbers: Arc<AtomicU64>,
) {
    let client = connect(&server).await;
    while !*stopping.borrow() {
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
            Err(ClientError::OutcomeUnknown) => ledger.doubt(first..first + BATCH),
            Err(error) => panic!("{error}"),
        }
    }
}

/// A job in hand.
struct Taken {
    lease: Lease,
    /// How often its consumer had connected anew when it came.
    connection: u64,
}

async fn consume(
    server: String,
    ledger: Arc<Mutex<Ledger>>,
    mut stopping: watch::Receiver<bool>,
    consumer: u64,
) {
    let client = connect(&server).await;
    let subscribe =
        Subscribe { topics: vec![topic(TOPIC)], credit_jobs: 64, credit_bytes: 1 << 20, weights: Vec::new() };
    let mut subscription = client.subscribe(subscribe).await.expect("subscribed");
    let mut held = VecDeque::new();
    loop {
        let came = tokio::select! {
            came = subscription.next() => came,
            _ = stopping.changed() => {
                held.drain(..).for_each(|taken| finish(&client, &ledger, &taken));
                continue;
            }
        };
        let Some(job) = came else { panic!("the subscription ended: {:?}", subscription.failure()) };
        ledger.lock().expect("nobody panics here").came(consumer, &job, wall_ms());
        let taken = Taken { lease: job.lease, connection: client.reconnects() };
        // A job that comes again was held for too long.
        let takes_long = job.lease.job.sequence().is_multiple_of(TAKES_LONG) && job.attempts == 1;
        if !takes_long || *stopping.borrow() {
            finish(&client, &ledger, &taken);
            continue;
        }
        held.push_back(taken);
        if held.len() > HELD_LONG
            && let Some(taken) = held.pop_front()
        {
            finish(&client, &ledger, &taken);
        }
    }
}

/// Finishes a job, and goes on meanwhile.
fn finish(client: &Client, ledger: &Arc<Mutex<Ledger>>, taken: &Taken) {
    let (lease, carried_over) = (taken.lease, client.reconnects() > taken.connection);
    ledger.lock().expect("nobody panics here").finishing += 1;
    let (client, ledger) = (client.clone(), Arc::clone(ledger));
    tokio::spawn(async move {
        let outcome = client.finish(vec![lease]).await;
        ledger.lock().expect("nobody panics here").settled(lease, carried_over, outcome.as_deref());
    });
}

/// Waits until nothing is left, and says how much is when nothing moves any more, and what the queue has counted.
async fn drained(server: &str, ledger: &Mutex<Ledger>) -> (u64, Totals) {
    let client = connect(server).await;
    let begun = now();
    loop {
        let totals = client.stats().await.expect("stats").totals;
        let left = totals.delayed + totals.ready + totals.reserved;
        let is_quiet = left == 0 && ledger.lock().expect("nobody panics here").finishing == 0;
        if is_quiet || begun.elapsed() > super::rig::PATIENCE {
            let topics = client.topics().await.expect("topics");
            let own = topics.into_iter().find(|report| report.topic == topic(TOPIC));
            return (left, own.expect("it was pushed to").totals);
        }
        tokio::task::yield_now().await;
    }
}
