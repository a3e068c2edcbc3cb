//! Unanswered requests, in the order in which they were sent.

use std::collections::VecDeque;

use adjourn_client::{ClientError, Ticket};
use adjourn_protocol::Response;

/// A queue of tickets, each with a value of its sender.
pub(super) struct InFlight<M, T>(VecDeque<(M, Ticket<T>)>);

impl<M, T: TryFrom<Response, Error = Response>> InFlight<M, T> {
    /// None.
    pub(super) fn new() -> Self {
        Self(VecDeque::new())
    }

    /// The number of requests in flight.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a request.
    pub(super) fn push(&mut self, memo: M, ticket: Ticket<T>) {
        self.0.push_back((memo, ticket));
    }

    /// The answer to the oldest request; `None` without one. Dropping the wait loses nothing.
    pub(super) async fn next(&mut self) -> Option<(M, Result<T, ClientError>)> {
        let (_, ticket) = self.0.front_mut()?;
        let answer = ticket.await;
        let (memo, _) = self.0.pop_front()?;
        Some((memo, answer))
    }
}
