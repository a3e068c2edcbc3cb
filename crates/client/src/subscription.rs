//! A subscription: a stream of delivered jobs.

use std::sync::Arc;

use super::calls::Client;
use super::error::ClientError;
use super::ticket::Ticket;
use crate::requests::feed::{End, Feed};
use adjourn_protocol::{Delivered, RequestId, Subscribe};

/// Jobs as they become ready, under a lease each. Settle them with the [`Client`]: that makes room for the next.
///
/// It survives reconnects. Dropping it ends it; jobs that it had not handed out are released.
#[derive(Debug)]
pub struct Subscription {
    client: Client,
    id: RequestId,
    feed: Arc<Feed>,
}

impl Client {
    /// Asks for jobs as they become ready, as long as fewer than `credit_jobs` jobs and `credit_bytes` bytes are held. Settling a
    /// job makes room for the next.
    pub async fn subscribe(&self, subscribe: Subscribe) -> Result<Subscription, ClientError> {
        let credit_jobs = subscribe.credit_jobs;
        let feed = Arc::new(Feed::new(credit_jobs));
        let (id, acknowledged) = self.shared().subscribe(subscribe, Arc::clone(&feed))?;
        let subscription = Subscription { client: self.clone(), id, feed };
        Ticket::<()>::new(acknowledged).await?;
        Ok(subscription)
    }
}

impl Subscription {
    /// Waits for the next job; `None` when no more will come: the client was closed or the server ended the subscription.
    /// Then [`failure`](Self::failure) has the reason.
    ///
    /// [`Delivered::ttr_left_ms`] is the present remaining time of the lease; jobs whose lease ran out before they were
    /// taken are left out. The call may be dropped and made again without losing a job.
    pub async fn next(&mut self) -> Option<Delivered> {
        loop {
            let job = self.feed.next().await?;
            if !self.client.shared().leases_are_over() {
                return Some(job);
            }
            self.client.give_back(&[job]);
        }
    }

    /// True if it gets jobs now: the client is connected, and the server has confirmed the subscription on this connection.
    /// For health checks: after a lost connection it is false until the client has connected and subscribed again.
    pub fn is_consuming(&self) -> bool {
        self.client.is_connected() && self.feed.is_standing()
    }

    pub(super) fn feed(&self) -> Arc<Feed> {
        Arc::clone(&self.feed)
    }

    /// The error that ended it, if it has ended with one.
    pub fn failure(&self) -> Option<ClientError> {
        match self.feed.ended()? {
            End::Left => None,
            End::Failed(error) => Some(error),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let left = self.feed.leave();
        self.client.shared().unsubscribe(self.id);
        self.client.give_back(&left);
    }
}
