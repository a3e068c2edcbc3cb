//! Gathers jobs of one topic into batches.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::sync::{Notify, oneshot, watch};

use super::calls::{Client, job_bytes, job_id, push_bytes};
use super::error::ClientError;
use adjourn_protocol::{ErrorCode, NewJob, PushResult};
use adjourn_types::limits::{DELAY_MS_MAX, TTR_MS_MAX, TTR_MS_MIN};
use adjourn_types::{JobId, TopicName, When};

/// When a batch is sent.
#[derive(Clone, Copy, Debug)]
pub struct ProducerConfig {
    /// How long the first job of a batch waits for others, in milliseconds.
    pub linger_ms: u64,
    /// A batch is sent when it has this many jobs; lowered to the server's limit.
    pub batch_jobs_max: usize,
    /// A batch is sent when it has this many bytes; lowered to the server's limit. A larger job travels alone.
    pub batch_bytes_max: usize,
}

/// Pushes jobs of one topic, many in one request.
///
/// Jobs are sent in the order of [`send`](Self::send). Dropping the producer sends the unsent jobs.
#[derive(Debug)]
pub struct Producer {
    inner: Arc<Inner>,
}

/// The outcome of one job: a future of its id, or of the id of the existing job if it was pushed with
/// [`IfExists::Keep`](adjourn_types::IfExists) or `Postpone`. A refusal is a [`ClientError::ItemRefused`].
///
/// Dropping it does not withdraw the job.
#[derive(Debug)]
pub struct SendTicket {
    result: oneshot::Receiver<Result<JobId, ClientError>>,
}

#[derive(Debug)]
struct Inner {
    client: Client,
    topic: TopicName,
    linger: Duration,
    jobs_max: usize,
    bytes_max: usize,
    batch: Mutex<Batch>,
    /// Signalled when a batch has its first job, or the producer is dropped.
    begun: Notify,
    /// Batches without an answer.
    unanswered: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Batch {
    jobs: Vec<NewJob>,
    waiters: Vec<oneshot::Sender<Result<JobId, ClientError>>>,
    bytes: usize,
    failure: Option<ClientError>,
    closed: bool,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self { linger_ms: 2, batch_jobs_max: 512, batch_bytes_max: 256 << 10 }
    }
}

impl Producer {
    /// A producer for one topic. Must be called within a tokio runtime.
    pub fn new(client: &Client, topic: TopicName, config: ProducerConfig) -> Self {
        let limits = client.shared().limits();
        let inner = Arc::new(Inner {
            client: client.clone(),
            linger: Duration::from_millis(config.linger_ms),
            jobs_max: config.batch_jobs_max.clamp(1, limits.push_jobs_max),
            bytes_max: config.batch_bytes_max.min(limits.frame_bytes_max).saturating_sub(push_bytes(&topic)),
            topic,
            batch: Mutex::default(),
            begun: Notify::new(),
            unanswered: watch::Sender::new(0),
        });
        tokio::spawn(Arc::clone(&inner).linger());
        Self { inner }
    }

    /// Adds a job to the batch. To limit the jobs in flight, limit the number of tickets that you hold.
    pub fn send(&self, job: NewJob) -> SendTicket {
        let (waiter, result) = oneshot::channel();
        match self.inner.check(&job) {
            Ok(()) => self.inner.add(job, waiter),
            Err(error) => {
                // The receiver is in the ticket below, so this is received.
                let _ = waiter.send(Err(error));
            }
        }
        SendTicket { result }
    }

    /// Sends the batch, and waits until every job is answered. Returns the first failure of any job since the last
    /// flush, whether or not its ticket was kept.
    pub async fn flush(&self) -> Result<(), ClientError> {
        self.inner.ship(&mut self.inner.lock());
        let mut unanswered = self.inner.unanswered.subscribe();
        // The sender lives as long as the producer.
        let _ = unanswered.wait_for(|batches| *batches == 0).await;
        self.inner.lock().failure.take().map_or(Ok(()), Err)
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        let mut batch = self.inner.lock();
        self.inner.ship(&mut batch);
        batch.closed = true;
        self.inner.begun.notify_one();
    }
}

impl Future for SendTicket {
    type Output = Result<JobId, ClientError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(ready!(Pin::new(&mut self.result).poll(context)).unwrap_or(Err(ClientError::Closed)))
    }
}

impl Inner {
    /// Refuses a job for which the server would refuse the whole batch.
    fn check(&self, job: &NewJob) -> Result<(), ClientError> {
        self.client.shared().limits().check_bodies(std::slice::from_ref(job))?;
        let delay_good = !matches!(job.due, When::After(delay_ms) if delay_ms > DELAY_MS_MAX);
        let ttr_good = job.ttr_ms == 0 || (TTR_MS_MIN..=TTR_MS_MAX).contains(&job.ttr_ms);
        if delay_good && ttr_good {
            Ok(())
        } else {
            Err(ClientError::ItemRefused { code: ErrorCode::Invalid, job: None })
        }
    }

    fn add(self: &Arc<Self>, job: NewJob, waiter: oneshot::Sender<Result<JobId, ClientError>>) {
        let mut batch = self.lock();
        let bytes = job_bytes(&job);
        if batch.bytes + bytes > self.bytes_max {
            self.ship(&mut batch);
        }
        batch.bytes += bytes;
        batch.jobs.push(job);
        batch.waiters.push(waiter);
        if batch.jobs.len() >= self.jobs_max {
            self.ship(&mut batch);
        } else if batch.jobs.len() == 1 {
            self.begun.notify_one();
        }
    }

    /// Passes the batch to the connection. Done under the lock, so that batches keep their order.
    fn ship(self: &Arc<Self>, batch: &mut Batch) {
        if batch.jobs.is_empty() {
            return;
        }
        batch.bytes = 0;
        let jobs = std::mem::take(&mut batch.jobs);
        let waiters = std::mem::take(&mut batch.waiters);
        match self.client.push_detached(&self.topic, jobs) {
            Ok(ticket) => {
                self.unanswered.send_modify(|batches| *batches += 1);
                let inner = Arc::clone(self);
                tokio::spawn(async move {
                    let outcome = ticket.await;
                    tell(&mut inner.lock().failure, waiters, &outcome);
                    inner.unanswered.send_modify(|batches| *batches -= 1);
                });
            }
            Err(error) => tell(&mut batch.failure, waiters, &Err(error)),
        }
    }

    /// Sends batches that have waited long enough.
    async fn linger(self: Arc<Self>) {
        loop {
            self.begun.notified().await;
            if self.lock().closed {
                return;
            }
            tokio::time::sleep(self.linger).await;
            self.ship(&mut self.lock());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Batch> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Resolves each job's ticket, and keeps the first failure.
fn tell(
    failure: &mut Option<ClientError>,
    waiters: Vec<oneshot::Sender<Result<JobId, ClientError>>>,
    outcome: &Result<Vec<PushResult>, ClientError>,
) {
    for (place, waiter) in waiters.into_iter().enumerate() {
        let result = match outcome {
            Err(error) => Err(error.clone()),
            Ok(results) => job_id(results.get(place)),
        };
        if let Err(error) = &result {
            failure.get_or_insert_with(|| error.clone());
        }
        // The caller may have dropped its ticket.
        let _ = waiter.send(result);
    }
}
