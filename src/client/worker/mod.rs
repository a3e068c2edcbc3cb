//! Runs a handler for each job of some topics.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::calls::Client;
use super::cancellation::{Cancellation, Cancelled, Hold};
use super::error::ClientError;
use super::feed::Feed;
use super::shared::Shared;
use super::subscription::Subscription;
use crate::protocol::{Delivered, ErrorCode, ReleaseKind, Subscribe};
use crate::types::limits::{CREDIT_BYTES_MAX, REASON_BYTES_MAX};
use crate::types::{Lease, TopicName};

/// What a worker works on.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// From which topics, 1 to 64.
    pub topics: Vec<TopicName>,
    /// How many handlers run at once, at least 1.
    pub concurrency: u32,
    /// How many jobs wait in memory beside those, under leases that run already. 0 costs a round trip between two jobs
    /// of one handler, and starts no lease early.
    pub prefetch: u32,
    /// Their shares, one per topic, or none: see [`Reserve::weights`](crate::protocol::Reserve::weights).
    pub weights: Vec<u16>,
}

/// A handler at work: for each job that becomes ready it is called once.
///
/// | the handler | the job |
/// |---|---|
/// | returns `Ok` | is finished |
/// | returns `Err`, or panics | is released, to be attempted again as its backoff says; the error's text is its last reason, cut off at 1,024 bytes |
/// | takes long | keeps its lease: it is touched when half of the time is over |
/// | takes long, and the lease is lost all the same | somebody else may get it: **the handler is told why, and dropped** at its next `await`; what it returns all the same settles nothing |
///
/// A lease is lost ([`Cancelled`] names the reasons) when the server says so: to a touch, or after a reconnect that came too
/// late for the session's grace; when its time is over and the server could not be asked; and when the server has answered
/// nothing for as long as it keeps the leases of a lost connection. A handler that blocks a thread is not dropped, and has
/// its place until it ends: it asks [`Cancellation::why`] before whatever must not be done twice. The time for which the machine
/// slept counts; so does a step of its wall clock, to be safe.
///
/// Dropping the worker drops running handlers; their jobs come back when their leases end. [`stop`](Self::stop)
/// tells them that it waits for them instead.
#[derive(Debug)]
pub struct Worker {
    stopping: watch::Sender<bool>,
    shared: Arc<Shared>,
    feed: Arc<Feed>,
    task: Option<JoinHandle<Result<(), ClientError>>>,
}

impl WorkerConfig {
    /// One topic, eight handlers at once.
    pub fn new(topic: TopicName) -> Self {
        Self { topics: vec![topic], concurrency: 8, prefetch: 8, weights: Vec::new() }
    }
}

impl Worker {
    /// Subscribes and starts to work. Must be called within a tokio runtime.
    pub async fn start<H, F, E>(
        client: &Client,
        config: WorkerConfig,
        handler: H,
    ) -> Result<Self, ClientError>
    where
        H: Fn(Delivered, Cancellation) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
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
            running: JoinSet::new(),
            stop,
        };
        Ok(Self { stopping, shared, feed, task: Some(tokio::spawn(crew.work(subscription))) })
    }

    /// Whether it takes jobs: the client is connected, the server has confirmed the subscription on this connection, and no stop has
    /// begun. For a health check; also true while all handlers are busy.
    pub fn is_consuming(&self) -> bool {
        self.shared.is_connected() && self.feed.is_standing()
    }

    /// Takes no new job, releases those that wait in memory, tells the running handlers [`Cancelled::WorkerStops`], and waits
    /// for them and for the answers to their settling requests. If the subscription had ended by itself and the error was not
    /// reported yet, this returns it.
    pub async fn stop(mut self) -> Result<(), ClientError> {
        self.stopping.send_replace(true);
        self.ended().await
    }

    /// Waits until the subscription ends by itself: the client was closed, or the server refused to go on. Says why
    /// once.
    pub async fn ended(&mut self) -> Result<(), ClientError> {
        let Some(task) = &mut self.task else { return Ok(()) };
        // The task survives panics of handlers; it is gone early only with its runtime.
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

struct Crew<H> {
    client: Client,
    handler: Arc<H>,
    concurrency: usize,
    running: JoinSet<()>,
    stop: watch::Receiver<bool>,
}

impl<H, F, E> Crew<H>
where
    H: Fn(Delivered, Cancellation) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Display + Send + 'static,
{
    async fn work(mut self, mut subscription: Subscription) -> Result<(), ClientError> {
        let mut stop = self.stop.clone();
        let end = loop {
            let full = self.running.len() >= self.concurrency;
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break Ok(()),
                Some(_) = self.running.join_next() => {}
                job = subscription.next(), if !full => match job {
                    Some(job) => self.start(job),
                    None => break subscription.failure().map_or(Ok(()), Err),
                },
            }
        };
        drop(subscription);
        while self.running.join_next().await.is_some() {}
        end
    }

    fn start(&mut self, job: Delivered) {
        let until = Instant::now() + Duration::from_millis(job.ttr_left_ms.into());
        let (hold, cancellation) = Hold::new(until, Arc::clone(self.client.shared()));
        let lost = self.client.shared().leases_lost();
        let work = Work {
            client: self.client.clone(),
            lease: job.lease,
            ttr: Duration::from_millis(job.ttr_left_ms.into()),
            hold,
        };
        let handler = Arc::clone(&self.handler);
        let stop = self.stop.clone();
        self.running.spawn(async move {
            let told = cancellation.clone();
            let until_told = cancellation.clone().run(async move { handler(job, told).await });
            // In a task of its own a panic is an outcome.
            work.keep(Handling(tokio::spawn(until_told)), &cancellation, lost, stop).await;
        });
    }
}

/// A running handler, dropped with its keeper.
struct Handling<T>(JoinHandle<Option<T>>);

impl<T> Drop for Handling<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The action for one lease.
struct Work {
    client: Client,
    lease: Lease,
    ttr: Duration,
    hold: Hold,
}

impl Work {
    /// Keeps the lease while the handler runs, and settles it as that ends. When the lease is lost, settles nothing.
    async fn keep<E: Display>(
        &self,
        mut handling: Handling<Result<(), E>>,
        cancellation: &Cancellation,
        mut lost: watch::Receiver<Option<Cancelled>>,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut is_stopping = false;
        let ended = loop {
            tokio::select! {
                biased;
                ended = &mut handling.0 => break Ok(ended),
                why = self.keep_lease() => break Err(why),
                // The client outlives its workers: this ends with a loss only.
                _ = lost.changed() => break Err(lost.borrow().unwrap_or(Cancelled::LeaseLost)),
                _ = stop.wait_for(|stop| *stop), if !is_stopping => {
                    is_stopping = true;
                    self.hold.cancel(Cancelled::WorkerStops);
                }
            }
        };
        // The process may have stood still since anybody looked at a clock.
        let ended =
            ended.and_then(|ended| cancellation.why().filter(|why| why.ends_lease()).map_or(Ok(ended), Err));
        match ended {
            Ok(ended) => self.settle(ended).await,
            Err(why) => {
                tracing::warn!(lease = %self.lease, %why, "a handler is cancelled");
                self.hold.cancel(why);
                // A handler that blocks continues; its place is not free before it ends, and no other handler gets the job.
                if !handling.0.is_finished() {
                    let _ = (&mut handling.0).await;
                }
                if why != Cancelled::LeaseLost {
                    // The server may hold it for this client still. If not, this does nothing.
                    self.client.shared().give_back(&[self.lease], ReleaseKind::After(0));
                }
            }
        }
    }

    /// Touches the lease at half of its time, again and again; returns when it is lost.
    async fn keep_lease(&self) -> Cancelled {
        loop {
            let deadline = self.hold.until();
            sleep_until(deadline - self.ttr / 2).await;
            let touched = Instant::now();
            let touch = self.client.touch(vec![self.lease], None);
            let settled = tokio::select! {
                settled = touch => settled,
                () = sleep_until(deadline) => return Cancelled::TimeOver,
            };
            match settled.as_deref() {
                Ok([Ok(())]) => self.hold.prolong(touched + self.ttr),
                Ok(_) => return Cancelled::LeaseLost,
                Err(error) => {
                    tracing::warn!(lease = %self.lease, %error, "the lease could not be touched");
                    sleep_until(deadline).await;
                    return Cancelled::TimeOver;
                }
            }
        }
    }

    async fn settle<E: Display>(&self, ended: Result<Option<Result<(), E>>, JoinError>) {
        match ended {
            Ok(Some(Ok(()))) => self.finish().await,
            Ok(Some(Err(error))) => self.release(error.to_string()).await,
            Err(panic) => self.release(panic_text(panic)).await,
            // It was told to end.
            Ok(None) => {}
        }
    }

    async fn finish(&self) {
        let settled = self.client.finish(vec![self.lease]).await;
        self.report("finished", settled.map(|results| results.into_iter().all(|result| result.is_ok())));
    }

    async fn release(&self, cause: String) {
        tracing::warn!(lease = %self.lease, cause, "the handler failed: the job is released");
        let reason = cause.get(..cause.floor_char_boundary(REASON_BYTES_MAX)).unwrap_or_default();
        let (leases, kind) = (vec![self.lease], ReleaseKind::Backoff);
        let settled = match self.client.release_because(leases.clone(), kind, reason).await {
            // Not every member of the cluster knows reasons yet.
            Err(ClientError::Refused(reply)) if reply.code == ErrorCode::Unsupported => {
                self.client.release(leases, kind).await
            }
            settled => settled,
        };
        self.report("released", settled.map(|results| results.into_iter().all(|result| result.is_ok())));
    }

    fn report(&self, done: &'static str, settled: Result<bool, ClientError>) {
        match settled {
            Ok(true) => tracing::trace!(lease = %self.lease, "the job is {done}"),
            Ok(false) => tracing::warn!(lease = %self.lease, "the lease was over before the job was {done}"),
            Err(error) => tracing::warn!(lease = %self.lease, %error, "the job could not be {done}"),
        }
    }
}

fn panic_text(panic: JoinError) -> String {
    let payload = match panic.try_into_panic() {
        Ok(payload) => payload,
        Err(cancelled) => return cancelled.to_string(),
    };
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("the handler panicked: {}", text.unwrap_or("without a text"))
}
