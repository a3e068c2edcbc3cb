//! Runs a handler for each job of some topics.

pub(crate) mod cancellation;

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};

use crate::calls::Client;
use crate::error::ClientError;
use crate::requests::feed::Feed;
use crate::shared::ClientState;
use crate::subscription::Subscription;
use crate::workers::{ABANDON_AFTER, AtWork};
use adjourn_protocol::{Delivered, Subscribe};
use adjourn_types::TopicName;
use adjourn_types::limits::{CREDIT_BYTES_MAX, DELAY_MS_MAX};
use cancellation::{Cancellation, Hold};
use failures::FailureLog;
pub use outcome::{IntoJobOutcome, JobOutcome};
use work::{Handling, Work};

mod failures;
mod outcome;
mod work;

/// The topics and the limits of a worker.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// The topics, 1 to 64.
    pub topics: Vec<TopicName>,
    /// How many handlers run at once, at least 1.
    pub concurrency: u32,
    /// How many more jobs wait in memory, under leases that run already. 0, the default, costs a round trip between two
    /// jobs of one handler. With more, all of them lose an attempt if the process dies, although none was begun. A job that
    /// waits for half of its lease is given back uncounted.
    pub prefetch: u32,
    /// The shares of the topics, one for each, or empty: see [`Reserve::weights`](adjourn_protocol::Reserve::weights).
    pub weights: Vec<u16>,
    /// How long a handler may run, in milliseconds; an hour by default. Until then its lease is extended, after that
    /// it is [cancelled](super::Cancelled::TooLong).
    pub run_ms_max: u64,
    /// How long [`Worker::stop`] waits for handlers, in milliseconds; 30 seconds by default. Then it cancels them.
    pub stop_timeout_ms: u64,
}

/// Calls a handler once for each job that becomes ready.
///
/// | the handler | the job |
/// |---|---|
/// | returns `Ok` or [`JobOutcome::Done`] | is finished |
/// | returns `Err` or [`JobOutcome::Failed`], or panics | is released, to be attempted again as its backoff says; the error's text is its last reason, cut off at 1,024 bytes |
/// | returns [`JobOutcome::RetryAfter`] or [`JobOutcome::Bury`] | is released with that delay, or buried |
/// | takes long | keeps its lease: it is touched when half of the time is over, up to [`WorkerConfig::run_ms_max`] |
/// | takes long, and the lease is lost nevertheless | another consumer may get it: **the handler is told why, and dropped** at its next `await`; a result that it still returns settles nothing |
///
/// A lease is lost ([`Cancelled`](super::Cancelled) names the reasons) when the server reports it, on a touch or after a
/// reconnect that came too late for the session's grace; when it has run out and the server could not be asked; and when
/// the server has not answered for as long as it keeps the leases of a lost connection. A handler that blocks a thread is
/// not dropped, and occupies its slot until it ends: it checks [`Cancellation::why`] before anything that must not be done
/// twice. Time during which the machine slept counts; so does a step of its wall clock, to be safe.
///
/// A failure is logged as a warning of `tracing`: once for each job and reason, ten a second at most.
///
/// Wrap the handler in a function for anything that should happen around it, such as a span for tracing:
///
/// ```
/// use adjourn_client::{Cancellation, IntoJobOutcome};
/// use adjourn_client::protocol::Delivered;
///
/// fn traced<H, F>(handler: H) -> impl Fn(Delivered, Cancellation) -> std::pin::Pin<Box<dyn Future<Output = F::Output> + Send>>
/// where
///     H: Fn(Delivered, Cancellation) -> F,
///     F: Future<Output: IntoJobOutcome> + Send + 'static,
/// {
///     move |job, cancellation| {
///         let id = job.lease.job;
///         let handled = handler(job, cancellation);
///         Box::pin(async move {
///             println!("job {id} begins");
///             handled.await
///         })
///     }
/// }
/// ```
///
/// Dropping the worker drops running handlers; their jobs come back when their leases end. [`stop`](Self::stop)
/// waits for them instead, and tells them so.
#[derive(Debug)]
pub struct Worker {
    stopping: watch::Sender<bool>,
    shared: Arc<ClientState>,
    feed: Arc<Feed>,
    task: Option<JoinHandle<Result<(), ClientError>>>,
}

/// The stages of a worker's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Working,
    /// Handlers are asked to finish.
    Stopping,
    /// Handlers are cancelled.
    Over,
}

impl WorkerConfig {
    /// One topic, eight handlers at once.
    pub fn new(topic: TopicName) -> Self {
        Self {
            topics: vec![topic],
            concurrency: 8,
            prefetch: 0,
            weights: Vec::new(),
            run_ms_max: 3_600_000,
            stop_timeout_ms: 30_000,
        }
    }
}

impl Worker {
    /// Subscribes and starts to work. Must be called within a tokio runtime.
    pub async fn start<H, F>(client: &Client, config: WorkerConfig, handler: H) -> Result<Self, ClientError>
    where
        H: Fn(Delivered, Cancellation) -> F + Send + Sync + 'static,
        F: Future<Output: IntoJobOutcome + Send> + Send + 'static,
    {
        let concurrency = config.concurrency.max(1);
        let subscribe = Subscribe {
            topics: config.topics,
            credit_jobs: concurrency.saturating_add(config.prefetch),
            credit_bytes: CREDIT_BYTES_MAX,
            weights: config.weights,
        };
        let subscription = client.subscribe(subscribe).await?;
        let (shared, feed) = (Arc::clone(client.shared()), subscription.feed());
        let (stopping, stop) = watch::channel(false);
        let crew = Crew {
            client: client.clone(),
            handler: Arc::new(handler),
            concurrency: usize::try_from(concurrency).unwrap_or(usize::MAX),
            run_max: Duration::from_millis(config.run_ms_max.min(DELAY_MS_MAX)),
            stop_timeout: Duration::from_millis(config.stop_timeout_ms),
            running: JoinSet::new(),
            stage: watch::Sender::new(Stage::Working),
            failures: Arc::new(Mutex::new(FailureLog::new(Instant::now()))),
            _at_work: shared.workers.worker(),
        };
        Ok(Self { stopping, shared, feed, task: Some(tokio::spawn(crew.work(subscription, stop))) })
    }

    /// True if it takes jobs: the client is connected, the server has confirmed the subscription on this connection, and no
    /// stop has begun. For health checks; also true while all handlers are busy.
    pub fn is_consuming(&self) -> bool {
        self.shared.is_connected() && self.feed.is_standing()
    }

    /// Takes no new jobs, gives back those that wait in memory, tells the running handlers
    /// [`WorkerStops`](super::Cancelled::WorkerStops), and waits for them and for the answers to their settling requests.
    /// After [`WorkerConfig::stop_timeout_ms`] it drops those that still run: their attempts have failed. A handler that
    /// blocks a thread goes on; its job goes to another consumer when its lease ends. If the subscription had ended by
    /// itself and the error was not reported yet, this returns it.
    pub async fn stop(mut self) -> Result<(), ClientError> {
        self.stopping.send_replace(true);
        self.ended().await
    }

    /// Waits until the subscription ends by itself: the client was closed, or the server refused to go on. Returns
    /// the error once.
    pub async fn ended(&mut self) -> Result<(), ClientError> {
        let Some(task) = &mut self.task else { return Ok(()) };
        // The task survives panics of handlers; it ends early only with its runtime.
        let end = task.await.unwrap_or(Err(ClientError::Closed));
        self.task = None;
        end
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// A worker's handlers.
struct Crew<H> {
    client: Client,
    handler: Arc<H>,
    concurrency: usize,
    run_max: Duration,
    stop_timeout: Duration,
    running: JoinSet<()>,
    stage: watch::Sender<Stage>,
    failures: Arc<Mutex<FailureLog>>,
    _at_work: AtWork,
}

impl<H, F> Crew<H>
where
    H: Fn(Delivered, Cancellation) -> F + Send + Sync + 'static,
    F: Future<Output: IntoJobOutcome + Send> + Send + 'static,
{
    async fn work(
        mut self,
        mut subscription: Subscription,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), ClientError> {
        let mut closing = self.client.shared().workers.closing();
        let end = loop {
            let full = self.running.len() >= self.concurrency;
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break Ok(()),
                _ = closing.wait_for(|closing| *closing) => break Ok(()),
                Some(_) = self.running.join_next() => {}
                job = subscription.next(), if !full => match job {
                    Some(job) => self.start(job),
                    None => break subscription.failure().map_or(Ok(()), Err),
                },
            }
        };
        drop(subscription);
        self.stage.send_replace(Stage::Stopping);
        if timeout(self.stop_timeout, all(&mut self.running)).await.is_err() {
            self.stage.send_replace(Stage::Over);
            let until = Instant::now() + ABANDON_AFTER;
            if timeout_at(until, all(&mut self.running)).await.is_err() {
                let handlers = self.running.len();
                tracing::warn!(handlers, "the worker ends, and leaves handlers that do not come to an end");
            }
        }
        end
    }

    fn start(&mut self, job: Delivered) {
        let (begun, ttr) = (Instant::now(), Duration::from_millis(job.ttr_left_ms.into()));
        let shared = self.client.shared();
        let (hold, cancellation) = Hold::new(begun + ttr, Arc::clone(shared));
        let (lost, stage) = (shared.leases_lost(), self.stage.subscribe());
        let work = Work {
            client: self.client.clone(),
            lease: job.lease,
            ttr,
            run_until: begun + self.run_max,
            hold,
            failures: Arc::clone(&self.failures),
        };
        let (handler, at_work) = (Arc::clone(&self.handler), shared.workers.handler());
        self.running.spawn(async move {
            let told = cancellation.clone();
            let until_told = cancellation.clone().run(async move {
                let _at_work = at_work;
                handler(job, told).await.into_job_outcome()
            });
            // In a task of its own, a panic becomes an outcome.
            work.keep(Handling::new(tokio::spawn(until_told)), &cancellation, lost, stage).await;
        });
    }
}

/// Waits for all handlers.
async fn all(running: &mut JoinSet<()>) {
    while running.join_next().await.is_some() {}
}
