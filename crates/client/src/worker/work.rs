//! One lease of a worker: kept while the handler runs, and settled when that has ended.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep_until};

use super::cancellation::{Cancellation, Hold};
use super::failures::FailureLog;
use super::{JobOutcome, Stage};
use crate::cancelled::Cancelled;
use crate::{Client, ClientError};
use adjourn_protocol::{ReleaseKind, SettleResult};
use adjourn_types::limits::{DELAY_MS_MAX, REASON_BYTES_MAX};
use adjourn_types::{Lease, first_bytes};

/// A running handler. Dropping it drops the handler.
pub(super) struct Handling(JoinHandle<Option<JobOutcome>>);

impl Handling {
    /// A handler in a task of its own; its result is `None` if it was ended early.
    pub(super) fn new(task: JoinHandle<Option<JobOutcome>>) -> Self {
        Self(task)
    }
}

impl Drop for Handling {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The lease of one job, and what its keeper needs.
pub(super) struct Work {
    pub(super) client: Client,
    pub(super) lease: Lease,
    pub(super) ttr: Duration,
    /// The handler may run until this time.
    pub(super) run_until: Instant,
    pub(super) hold: Hold,
    pub(super) failures: Arc<Mutex<FailureLog>>,
}

impl Work {
    /// Keeps the lease while the handler runs, and settles it by the handler's outcome. Settles nothing if the lease
    /// is lost.
    pub(super) async fn keep(
        &self,
        mut handling: Handling,
        cancellation: &Cancellation,
        mut lost: watch::Receiver<Option<Cancelled>>,
        mut stage: watch::Receiver<Stage>,
    ) {
        let (mut over, mut is_stopping) = (stage.clone(), false);
        let ended = loop {
            tokio::select! {
                biased;
                ended = &mut handling.0 => break Ok(ended),
                why = self.keep_lease() => break Err(why),
                // The client outlives its workers: this ends only when the leases are lost.
                _ = lost.changed() => break Err(lost.borrow().unwrap_or(Cancelled::LeaseLost)),
                _ = stage.wait_for(|stage| *stage >= Stage::Stopping), if !is_stopping => {
                    is_stopping = true;
                    self.hold.cancel(Cancelled::WorkerStops);
                }
                _ = over.wait_for(|stage| *stage == Stage::Over) => break Err(Cancelled::WorkerStops),
                () = sleep_until(self.run_until) => break Err(Cancelled::TooLong),
            }
        };
        // The process may have been suspended since the last check of a clock.
        let ended =
            ended.and_then(|ended| cancellation.why().filter(|why| why.ends_lease()).map_or(Ok(ended), Err));
        match ended {
            Ok(ended) => self.settle(ended).await,
            Err(why) => self.cancel(why, handling).await,
        }
    }

    /// Ends the handler. If it still returns an outcome, that is used, unless its lease has ended.
    async fn cancel(&self, why: Cancelled, mut handling: Handling) {
        tracing::warn!(lease = %self.lease, %why, "a handler is cancelled");
        self.hold.cancel(why);
        if !why.ends_lease() {
            // It was told before, and has had its time.
            handling.0.abort();
        }
        // A blocking handler continues; its slot is not free before it ends, and no other handler gets the job. A handler
        // that has ended with its lease may have been awaited already, and its outcome does not count.
        let ended = if why.ends_lease() && handling.0.is_finished() {
            None
        } else {
            (&mut handling.0).await.ok().flatten()
        };
        match (why, ended) {
            (Cancelled::LeaseLost, _) => {}
            // The server may still hold the lease for this client. If not, this has no effect.
            (Cancelled::ConnectionLost | Cancelled::TimeOver, _) => {
                self.client.shared().give_back(&[self.lease], ReleaseKind::After(0));
            }
            (_, Some(outcome)) => self.settle(Ok(Some(outcome))).await,
            (Cancelled::TooLong, None) => self.release(ReleaseKind::Backoff, why.to_string()).await,
            (Cancelled::WorkerStops, None) => self.release(ReleaseKind::After(0), why.to_string()).await,
        }
    }

    /// Touches the lease each time half of it has passed; returns when it is lost.
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

    async fn settle(&self, ended: Result<Option<JobOutcome>, JoinError>) {
        match ended {
            Ok(Some(JobOutcome::Done)) => self.report("finished", self.client.finish(vec![self.lease]).await),
            Ok(Some(JobOutcome::Failed(reason))) => self.release(ReleaseKind::Backoff, reason).await,
            Ok(Some(JobOutcome::RetryAfter { delay_ms, reason })) => {
                self.release(ReleaseKind::After(delay_ms.min(DELAY_MS_MAX)), reason).await;
            }
            Ok(Some(JobOutcome::Bury(reason))) => self.bury(reason).await,
            Err(panic) => self.release(ReleaseKind::Backoff, panic_text(panic)).await,
            // The handler was ended early.
            Ok(None) => {}
        }
    }

    async fn release(&self, kind: ReleaseKind, reason: String) {
        self.log(&reason, "the handler failed: the job is released");
        let settled =
            self.client.release_because(vec![self.lease], kind, first_bytes(&reason, REASON_BYTES_MAX)).await;
        self.report("released", settled);
    }

    async fn bury(&self, reason: String) {
        self.log(&reason, "the handler gives the job up: it is buried");
        let settled =
            self.client.bury_because(vec![self.lease], first_bytes(&reason, REASON_BYTES_MAX)).await;
        self.report("buried", settled);
    }

    fn log(&self, reason: &str, what: &'static str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left_out) = failures.note(Instant::now(), self.lease.job, reason) {
            tracing::warn!(lease = %self.lease, reason, left_out, "{what}");
        }
    }

    fn report(&self, done: &'static str, settled: Result<Vec<SettleResult>, ClientError>) {
        match settled {
            Ok(results) if results.iter().all(Result::is_ok) => {
                tracing::trace!(lease = %self.lease, "the job is {done}");
            }
            Ok(_) => tracing::warn!(lease = %self.lease, "the lease was over before the job was {done}"),
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
