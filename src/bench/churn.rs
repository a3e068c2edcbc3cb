//! `adjourn bench churn`: shows whether memory and disk stay bounded while jobs come and go for long.
//!
//! Each connection pushes frame after frame. Most jobs of a frame are due within moments, are delivered and finished; one
//! in sixteen is due in days and has a key. When there are enough of those, the oldest are removed: one half is cancelled,
//! the other rescheduled to now, so that it is delivered and finished too. So data that was written to the disk for later
//! is moved and removed all the time. The number of live jobs is bounded: pushes wait until some are gone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use serde::Serialize;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval_at};

use super::consume::{Consumed, Consumers, Watch};
use super::footprint::{Footprint, FootprintArgs, Footprints};
use super::load::{error_name, everlasting_body, key_of};
use super::report::{Errors, rounded};
use super::scatter::spread;
use super::{BATCH_MAX, JobArgs, LinkArgs, clock, close, unclean};
use crate::connection::runtime;
use crate::exit::{Exit, Failure};
use crate::output::print_json;
use crate::usage::whole;
use adjourn_client::{Client, ClientError};
use adjourn_json::values::{DelayRange, delay_ms, delay_range};
use adjourn_protocol::{Delivered, JobRef, NewJob, PushResult};
use adjourn_types::{TopicName, When};

/// One job in this many is due in days.
const FAR_EVERY: u64 = 16;
/// The delay of these jobs.
const FAR_DELAY: DelayRange = DelayRange { min_ms: 86_400_000, max_ms: 30 * 86_400_000 };
/// The jobs of each connection are numbered from a multiple of this on.
const NUMBERS_PER_CONNECTION: u64 = 1 << 48;
/// Shortest time between two lines, in milliseconds.
const EVERY_MS_MIN: u64 = 10;
/// The pause of a connection after a refusal.
const PAUSE: Duration = Duration::from_millis(10);

const CHURN_EXAMPLE: &str = "\
Prints a line of JSON after each --every, and a last one: bench, seconds since the start; operations (pushed, delivered, finished, \
cancelled and rescheduled together); per_second since the previous line; alive (jobs); resident_bytes and \
data_bytes of a server on this machine whose --data is given; in the last line errors by name. Ends with 1 when there are \
errors. Up to --alive jobs stay behind.

Example:
  adjourn bench churn --data adjourn-data
  adjourn bench churn --operations 50000000 --alive 1000000 --data /var/lib/adjourn";

/// What `adjourn bench churn` is told.
#[derive(Debug, Args)]
#[command(after_help = CHURN_EXAMPLE)]
pub(super) struct ChurnBenchArgs {
    /// How many operations at least
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = whole(1..=u64::MAX))]
    operations: u64,
    /// Most jobs that are alive at a time; half of them due in days
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = whole::<u32>(1..=100_000_000))]
    alive: u32,
    /// Jobs in each PUSH frame; each connection has one in flight
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = whole(1..=BATCH_MAX))]
    batch: u32,
    /// How far the other half is delayed
    #[arg(long, value_name = "DURATION", default_value = "0s..100ms", value_parser = delay_range)]
    delay: DelayRange,
    /// Time between two lines
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = delay_ms)]
    every: u64,
    #[command(flatten)]
    footprint: FootprintArgs,
    #[command(flatten)]
    jobs: JobArgs,
    #[command(flatten)]
    link: LinkArgs,
}

/// Runs `adjourn bench churn`.
pub(super) fn run(args: &ChurnBenchArgs) -> Result<(), Failure> {
    // So that there is always room for a frame, however many far jobs wait.
    let alive_min = 4 * u64::from(args.batch) * u64::from(args.link.connections);
    if u64::from(args.alive) < alive_min {
        let advice = format!("with these --connections and --batch give --alive {alive_min} or more");
        return Err(Failure::new(Exit::Usage, advice));
    }
    let topic = args.jobs.topic()?;
    let footprints = args.footprint.find()?;
    let errors = runtime()?.block_on(churn(args, &topic, footprints))?;
    if errors.is_empty() { Ok(()) } else { Err(unclean()) }
}

async fn churn(args: &ChurnBenchArgs, topic: &TopicName, footprints: Footprints) -> Result<Errors, Failure> {
    let clients = args.link.connect().await?;
    let population = Arc::new(Population::new(args));
    let consumers = Consumers::start(&clients, topic, &population).await?;
    let mut lines = ProgressLines::new(footprints);
    let mut tasks = JoinSet::new();
    for (client, place) in clients.iter().cloned().zip(0..) {
        let producer = Producer::new(args, client, topic.clone(), population.clone(), place);
        tasks.spawn(producer.run());
    }

    let every = Duration::from_millis(args.every.max(EVERY_MS_MIN));
    let mut ticks = interval_at(tokio::time::Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut errors = Errors::default();
    loop {
        tokio::select! {
            _ = ticks.tick() => print_json(&lines.next(&population, None))?,
            ended = tasks.join_next() => match ended {
                Some(Ok(of_one)) => errors.merge(&of_one),
                Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
                None => break,
            },
        }
    }
    errors.merge(&consumers.stop().await.finished.errors);
    print_json(&lines.next(&population, Some(&errors)))?;
    close(clients).await;
    Ok(errors)
}

/// The live jobs, and the operations on jobs so far. All connections share it.
struct Population {
    /// Credit for this many more jobs.
    room: Semaphore,
    operations_min: u64,
    counts: Counts<AtomicU64>,
}

/// Operations by kind.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts<T> {
    pushed: T,
    delivered: T,
    finished: T,
    cancelled: T,
    rescheduled: T,
}

impl Population {
    fn new(args: &ChurnBenchArgs) -> Self {
        let room = usize::try_from(args.alive).unwrap_or(usize::MAX);
        Self { room: Semaphore::new(room), operations_min: args.operations, counts: Counts::default() }
    }

    /// Takes credit for jobs to push; false when no more are to be pushed.
    async fn enter(&self, jobs: u32) -> bool {
        self.room.acquire_many(jobs).await.map(SemaphorePermit::forget).is_ok()
    }

    /// Returns the credit of jobs that are gone.
    fn leave(&self, jobs: u64) {
        self.room.add_permits(usize::try_from(jobs).unwrap_or(0));
    }

    fn is_done(&self) -> bool {
        self.counts.now().operations() >= self.operations_min
    }
}

impl Watch for Population {
    fn came(&self, _: &Delivered, _: u64, _: &mut Consumed) {
        self.counts.delivered.fetch_add(1, Ordering::Relaxed);
    }

    fn finished(&self, jobs: u64) {
        self.counts.finished.fetch_add(jobs, Ordering::Relaxed);
        self.leave(jobs);
    }
}

impl Counts<AtomicU64> {
    fn now(&self) -> Counts<u64> {
        let now = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            pushed: now(&self.pushed),
            delivered: now(&self.delivered),
            finished: now(&self.finished),
            cancelled: now(&self.cancelled),
            rescheduled: now(&self.rescheduled),
        }
    }
}

impl Counts<u64> {
    fn operations(&self) -> u64 {
        self.pushed + self.delivered + self.finished + self.cancelled + self.rescheduled
    }

    fn alive(&self) -> u64 {
        // An answer may be counted before the answer to an earlier request.
        self.pushed.saturating_sub(self.finished + self.cancelled)
    }
}

/// Pushes, cancels and reschedules jobs over one connection.
struct Producer {
    client: Client,
    topic: TopicName,
    population: Arc<Population>,
    body: Bytes,
    batch: u32,
    delay: DelayRange,
    /// The number of its next job.
    next: u64,
    /// Its jobs that are due in days, the oldest first.
    far: VecDeque<u64>,
    far_max: usize,
    errors: Errors,
}

impl Producer {
    fn new(
        args: &ChurnBenchArgs,
        client: Client,
        topic: TopicName,
        population: Arc<Population>,
        place: u64,
    ) -> Self {
        Self {
            client,
            topic,
            population,
            body: everlasting_body(args.jobs.body),
            batch: args.batch,
            delay: args.delay,
            next: place * NUMBERS_PER_CONNECTION,
            far: VecDeque::new(),
            far_max: usize::try_from(args.alive / 2 / args.link.connections.max(1)).unwrap_or(0),
            errors: Errors::default(),
        }
    }

    /// Runs until all connections together have done enough, or a connection is lost.
    async fn run(mut self) -> Errors {
        while !self.population.is_done() && self.population.enter(self.batch).await {
            if let Err(error) = self.take_turn().await {
                self.errors.add(error_name(&error), 1);
                if error.code().is_none() {
                    self.population.room.close();
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        self.errors
    }

    /// Pushes a frame, then removes the surplus of far jobs, the oldest first.
    async fn take_turn(&mut self) -> Result<(), ClientError> {
        let numbers = self.next..self.next + u64::from(self.batch);
        self.next = numbers.end;
        let jobs = numbers.clone().map(|number| self.job(number)).collect();
        let results = match self.client.push(&self.topic, jobs).await {
            Ok(results) => results,
            Err(error) => {
                self.population.leave(u64::from(self.batch));
                return Err(error);
            }
        };
        for (number, result) in numbers.zip(results) {
            if let PushResult::Refused(code, _) = result {
                self.errors.add(code.name(), 1);
                self.population.leave(1);
                continue;
            }
            self.population.counts.pushed.fetch_add(1, Ordering::Relaxed);
            if is_spilled(number) {
                self.far.push_back(number);
            }
        }
        self.thin_out().await
    }

    async fn thin_out(&mut self) -> Result<(), ClientError> {
        let mut tasks = JoinSet::new();
        let surplus = self.far.len().saturating_sub(self.far_max);
        for number in self.far.drain(..surplus) {
            let job = JobRef::Key { topic: self.topic.clone(), key: key_of(number) };
            let (client, population) = (self.client.clone(), self.population.clone());
            tasks.spawn(async move {
                if is_cancelled(number) {
                    client.delete(job).await?;
                    population.counts.cancelled.fetch_add(1, Ordering::Relaxed);
                    population.leave(1);
                } else {
                    client.reschedule(job, When::After(0)).await?;
                    population.counts.rescheduled.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            });
        }
        let answers: Vec<Result<(), ClientError>> = tasks.join_all().await;
        answers.into_iter().collect()
    }

    fn job(&self, number: u64) -> NewJob {
        let job = NewJob::new(self.body.clone());
        if is_spilled(number) {
            return job.after(spread(FAR_DELAY, number)).key(key_of(number));
        }
        job.after(spread(self.delay, number))
    }
}

fn is_spilled(number: u64) -> bool {
    number.is_multiple_of(FAR_EVERY)
}

/// True if a far job is to be cancelled, false if it is to be rescheduled.
fn is_cancelled(number: u64) -> bool {
    (number / FAR_EVERY).is_multiple_of(2)
}

/// The lines printed from time to time.
struct ProgressLines {
    footprints: Footprints,
    started: Instant,
    /// The time of the last line, and how many operations it showed.
    last: (Instant, u64),
}

#[derive(Serialize)]
struct ProgressLine<'a> {
    bench: &'static str,
    seconds: f64,
    operations: u64,
    per_second: u64,
    alive: u64,
    #[serde(flatten)]
    counts: Counts<u64>,
    #[serde(flatten)]
    footprint: Footprint,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<&'a Errors>,
}

impl ProgressLines {
    fn new(footprints: Footprints) -> Self {
        let started = clock::instant();
        Self { footprints, started, last: (started, 0) }
    }

    fn next<'a>(&mut self, population: &Population, errors: Option<&'a Errors>) -> ProgressLine<'a> {
        let (now, counts) = (clock::instant(), population.counts.now());
        let operations = counts.operations();
        let (before, operations_before) = std::mem::replace(&mut self.last, (now, operations));
        let micros = (now - before).as_micros().max(1);
        let per_second = u128::from(operations - operations_before) * 1_000_000 / micros;
        ProgressLine {
            bench: "churn",
            seconds: rounded((now - self.started).as_secs_f64()),
            operations,
            per_second: u64::try_from(per_second).unwrap_or(u64::MAX),
            alive: counts.alive(),
            counts,
            footprint: self.footprints.take(),
            errors,
        }
    }
}
