//! How a handler is cancelled, and why.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use super::shared::Shared;

/// Why a handler is to end before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cancelled {
    /// The server was silent until it may have given the session's leases back. Another consumer may get
    /// the job.
    #[error("the connection is lost, and the lease may be over")]
    ConnectionLost,
    /// The server says that the lease is over. Another consumer may have the job.
    #[error("the server has taken the lease back")]
    LeaseLost,
    /// The lease has run out, as it could not be touched in time. Another consumer may get the job.
    #[error("the lease has run out")]
    TimeOver,
    /// The handler has run for as long as a worker lets it.
    #[error("the handler has run for longer than run_ms_max")]
    TooLong,
    /// The worker is stopped. The lease is kept, and the handler may come to its end; the worker waits for that, for as long as
    /// it may take to stop. If the worker was dropped, the handler is, too.
    #[error("the worker stops")]
    WorkerStops,
}

/// Tells a handler that it is to end before it is done.
///
/// An async handler needs it only to say why: it is dropped at its next `await`, after it was woken once more if it awaits
/// [`cancelled`](Self::cancelled). One that blocks is not dropped: it asks [`why`](Self::why) before whatever must not be done twice.
#[derive(Clone, Debug)]
pub struct Cancellation {
    state: watch::Receiver<State>,
    shared: Arc<Shared>,
}

/// What a handler's keeper knows of its lease.
#[derive(Debug)]
pub(super) struct Hold {
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// The lease runs until then.
    until: Instant,
    why: Option<Cancelled>,
}

impl Cancelled {
    /// Whether another consumer may have the job, so that the handler must not go on.
    pub(super) fn ends_lease(self) -> bool {
        self != Self::WorkerStops
    }
}

impl Cancellation {
    /// Why the handler has to end, if it has to. Reads the clock as well: so it is right even after a long pause of the
    /// process.
    pub fn why(&self) -> Option<Cancelled> {
        let state = *self.state.borrow();
        match state.why {
            Some(why) if why.ends_lease() => Some(why),
            _ if state.until <= Instant::now() => Some(Cancelled::TimeOver),
            _ if self.shared.leases_are_over() => Some(Cancelled::ConnectionLost),
            why => why,
        }
    }

    /// Waits until the handler is to end.
    pub async fn cancelled(&self) -> Cancelled {
        self.wait(|_| true).await
    }

    /// Runs `work` to its end, or until the lease is over.
    pub(super) async fn run<F: Future>(self, work: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            outcome = work => Some(outcome),
            _ = self.wait(Cancelled::ends_lease) => None,
        }
    }

    async fn wait(&self, matters: impl Fn(Cancelled) -> bool) -> Cancelled {
        let mut state = self.state.clone();
        let told = state.wait_for(|state| state.why.is_some_and(&matters)).await;
        told.ok().and_then(|state| state.why).unwrap_or(Cancelled::WorkerStops)
    }
}

impl Hold {
    /// A lease that runs until then, and what its handler is told of it.
    pub(super) fn new(until: Instant, shared: Arc<Shared>) -> (Self, Cancellation) {
        let (state, receiver) = watch::channel(State { until, why: None });
        (Self { state }, Cancellation { state: receiver, shared })
    }

    /// Until when the lease runs.
    pub(super) fn until(&self) -> Instant {
        self.state.borrow().until
    }

    /// The lease was touched.
    pub(super) fn prolong(&self, until: Instant) {
        self.state.send_modify(|state| state.until = until);
    }

    /// Tells the handler to end.
    pub(super) fn cancel(&self, why: Cancelled) {
        self.state.send_modify(|state| state.why = Some(why));
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.state.send_modify(|state| _ = state.why.get_or_insert(Cancelled::WorkerStops));
    }
}
