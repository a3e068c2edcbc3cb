//! The workers of a client: they stop before it says GOODBYE, which gives their jobs to other consumers.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// How long a handler that was told to end may take before it counts as one that blocks a thread.
pub(crate) const ABANDON_AFTER: Duration = Duration::from_secs(1);

/// The numbers of workers and handlers that run.
#[derive(Debug)]
pub(crate) struct Workers {
    closing: watch::Sender<bool>,
    /// Workers that have not ended.
    begun: watch::Sender<usize>,
    handlers: watch::Sender<usize>,
}

/// Counts a worker or a handler while it lives.
#[derive(Debug)]
pub(crate) struct AtWork(watch::Sender<usize>);

impl Default for Workers {
    fn default() -> Self {
        Self {
            closing: watch::Sender::new(false),
            begun: watch::Sender::new(0),
            handlers: watch::Sender::new(0),
        }
    }
}

impl Workers {
    /// Counts a worker that begins.
    pub(crate) fn worker(&self) -> AtWork {
        AtWork::new(&self.begun)
    }

    /// Counts a handler that begins.
    pub(crate) fn handler(&self) -> AtWork {
        AtWork::new(&self.handlers)
    }

    /// Becomes true when the workers must stop.
    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Stops the workers and waits for their ends. True if no handler runs any more: one that blocks a thread cannot be
    /// ended.
    pub(crate) async fn stop(&self) -> bool {
        self.closing.send_replace(true);
        // The senders are alive, so waiting cannot fail.
        let _ = self.begun.subscribe().wait_for(|begun| *begun == 0).await;
        let mut handlers = self.handlers.subscribe();
        timeout(ABANDON_AFTER, handlers.wait_for(|handlers| *handlers == 0)).await.is_ok()
    }
}

impl AtWork {
    fn new(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
