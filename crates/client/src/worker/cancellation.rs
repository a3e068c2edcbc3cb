//! The cancellation of a handler, and its reason.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::cancelled::Cancelled;
use crate::shared::ClientState;

/// Tells a handler that it has to end early.
///
/// An async handler needs it only for the reason: it is dropped at its next `await`, after it was woken once more if it
/// awaits [`cancelled`](Self::cancelled). A blocking handler is not dropped: it checks [`why`](Self::why) before anything
/// that must not be done twice.
#[derive(Clone, Debug)]
pub struct Cancellation {
    state: watch::Receiver<State>,
    shared: Arc<ClientState>,
}

/// The state of a handler's lease, as its keeper knows it.
#[derive(Debug)]
pub(super) struct Hold {
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// When the lease ends.
    until: Instant,
    why: Option<Cancelled>,
}

impl Cancellation {
    /// Why the handler has to end, if it has to. It also checks the clock: so it is right even after a long pause of
    /// the process.
    pub fn why(&self) -> Option<Cancelled> {
        let state = *self.state.borrow();
        match state.why {
            Some(why) if why.ends_lease() => Some(why),
            _ if state.until <= Instant::now() => Some(Cancelled::TimeOver),
            _ if self.shared.leases_are_over() => Some(Cancelled::ConnectionLost),
            why => why,
        }
    }

    /// Waits until the handler has to end.
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
    /// The keeper's and the handler's side of a lease that runs until then.
    pub(super) fn new(until: Instant, shared: Arc<ClientState>) -> (Self, Cancellation) {
        let (state, receiver) = watch::channel(State { until, why: None });
        (Self { state }, Cancellation { state: receiver, shared })
    }

    /// When the lease ends.
    pub(super) fn until(&self) -> Instant {
        self.state.borrow().until
    }

    /// Notes that the lease was touched.
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
