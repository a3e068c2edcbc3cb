//! The jobs of one subscription that have arrived but were not taken yet.
//!
//! The connection adds jobs, the [`Subscription`](crate::Subscription) takes them. A job that is not taken for half of its
//! lease is given back. A job whose lease has ended, for example while the process was suspended, is never handed out:
//! another consumer may have it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error::ClientError;
use adjourn_protocol::Delivered;
use adjourn_types::Lease;

/// The jobs in memory, and the end of the subscription.
#[derive(Debug)]
pub(crate) struct Feed {
    buffer: Mutex<Buffer>,
    news: Notify,
    /// With more jobs in memory than this, those whose leases have ended are removed.
    jobs_max: usize,
}

#[derive(Debug, Default)]
struct Buffer {
    jobs: VecDeque<(Instant, Delivered)>,
    /// True if the server has confirmed the subscription on the present connection.
    stands: bool,
    end: Option<End>,
}

/// Why no more jobs come.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// The subscriber left.
    Left,
    /// The subscription failed.
    Failed(ClientError),
}

/// The result of taking a job.
enum Taken {
    Job(Delivered),
    /// No more jobs will come.
    End,
    /// No job yet.
    Nothing,
}

impl Feed {
    /// The feed of a subscription with credit for this many jobs.
    pub(crate) fn new(credit_jobs: u32) -> Self {
        let jobs_max = usize::try_from(credit_jobs).unwrap_or(usize::MAX).saturating_mul(2);
        Self { buffer: Mutex::default(), news: Notify::new(), jobs_max }
    }

    /// Adds jobs; returns them as an error if the subscription has ended.
    pub(crate) fn deliver(&self, now: Instant, jobs: Vec<Delivered>) -> Result<(), Vec<Delivered>> {
        let mut buffer = self.lock();
        if buffer.end.is_some() {
            return Err(jobs);
        }
        buffer.jobs.extend(jobs.into_iter().map(|job| (now, job)));
        if buffer.jobs.len() > self.jobs_max {
            buffer.jobs.retain(|(came, job)| ttr_left(*came, job, now).is_some());
        }
        drop(buffer);
        self.news.notify_one();
        Ok(())
    }

    /// The next job whose lease still runs; `None` when none can come any more.
    pub(crate) async fn next(&self) -> Option<Delivered> {
        loop {
            match self.take(Instant::now()) {
                Taken::Job(job) => return Some(job),
                Taken::End => return None,
                Taken::Nothing => self.news.notified().await,
            }
        }
    }

    /// Notes that the server has confirmed the subscription, or that its connection is lost.
    pub(crate) fn stands(&self, stands: bool) {
        self.lock().stands = stands;
    }

    /// True if jobs may come: the subscription is confirmed and was not ended.
    pub(crate) fn is_standing(&self) -> bool {
        let buffer = self.lock();
        buffer.stands && buffer.end.is_none()
    }

    /// Removes the jobs in memory, because their leases are or may be over. Returns the leases.
    pub(crate) fn forget(&self) -> Vec<Lease> {
        self.lock().jobs.drain(..).map(|(_, job)| job.lease).collect()
    }

    /// Removes the jobs that have waited in memory for half of their leases: they are given back while their leases
    /// certainly run, so that they lose no attempt. Returns the leases, and when the next job must be given back.
    pub(crate) fn give_up(&self, now: Instant) -> (Vec<Lease>, Option<Instant>) {
        let mut buffer = self.lock();
        let (mut late, mut next) = (Vec::new(), None::<Instant>);
        buffer.jobs.retain(|(came, job)| {
            let until = wait_until(*came, job);
            if until <= now {
                late.push(job.lease);
            } else {
                next = Some(next.map_or(until, |next| next.min(until)));
            }
            until > now
        });
        (late, next)
    }

    /// Ends the feed: no more jobs come. The first reason stays.
    pub(crate) fn end(&self, end: End) {
        let mut buffer = self.lock();
        let failed = matches!(end, End::Failed(_));
        buffer.end.get_or_insert(end);
        if failed {
            buffer.jobs.clear();
        }
        drop(buffer);
        self.news.notify_one();
    }

    /// Ends the feed because the subscriber leaves. Returns the jobs that it did not take.
    pub(crate) fn leave(&self) -> Vec<Delivered> {
        self.end(End::Left);
        self.lock().jobs.drain(..).map(|(_, job)| job).collect()
    }

    /// Why no more jobs come; `None` if they may.
    pub(crate) fn ended(&self) -> Option<End> {
        self.lock().end.clone()
    }

    fn take(&self, now: Instant) -> Taken {
        let mut buffer = self.lock();
        while let Some((came, mut job)) = buffer.jobs.pop_front() {
            if let Some(left_ms) = ttr_left(came, &job, now) {
                job.ttr_left_ms = left_ms;
                return Taken::Job(job);
            }
        }
        if buffer.end.is_some() { Taken::End } else { Taken::Nothing }
    }

    fn lock(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time until which a job that came at `came` waits in memory.
pub(crate) fn wait_until(came: Instant, job: &Delivered) -> Instant {
    came + Duration::from_millis(job.ttr_left_ms.into()) / 2
}

/// The remaining lease of a job that came at `came`, in milliseconds; `None` when it is over.
fn ttr_left(came: Instant, job: &Delivered, now: Instant) -> Option<u32> {
    let left =
        Duration::from_millis(job.ttr_left_ms.into()).checked_sub(now.saturating_duration_since(came))?;
    u32::try_from(left.as_millis()).ok().filter(|left_ms| *left_ms > 0)
}
