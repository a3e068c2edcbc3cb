//! The future of an answer.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;

use super::error::ClientError;
use adjourn_protocol::{PushResult, Response, SettleResult};

/// The result of a call.
pub(super) type Outcome = Result<Response, ClientError>;

/// The answer to a request that was already passed to the connection: a future.
///
/// The request is under way whether or not the ticket is polled. Dropping the ticket does not withdraw it:
/// only its answer is dropped.
#[derive(Debug)]
#[must_use = "a ticket resolves to the answer; without it a refusal goes unnoticed"]
pub struct Ticket<T> {
    answer: oneshot::Receiver<Outcome>,
    carries: PhantomData<fn() -> T>,
}

/// The results of a push, one per job, in order.
pub type PushTicket = Ticket<Vec<PushResult>>;

/// The results of a settling request, one per lease, in order.
pub type SettleTicket = Ticket<Vec<SettleResult>>;

impl<T> Ticket<T> {
    pub(super) fn new(answer: oneshot::Receiver<Outcome>) -> Self {
        Self { answer, carries: PhantomData }
    }
}

impl<T: TryFrom<Response>> Ticket<T> {
    /// Ends the wait: later answers go back to the connection. Returns what had come by now.
    pub(super) fn withdraw(&mut self) -> Option<T> {
        self.answer.close();
        self.answer.try_recv().ok()?.ok()?.try_into().ok()
    }
}

impl<T: TryFrom<Response, Error = Response>> Future for Ticket<T> {
    type Output = Result<T, ClientError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = ready!(Pin::new(&mut self.answer).poll(context));
        let response = outcome.unwrap_or(Err(ClientError::Closed))?;
        Poll::Ready(response.try_into().map_err(ClientError::unexpected))
    }
}
