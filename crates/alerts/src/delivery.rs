//! Delivery: a queue and a task for each target. A target that hangs delays neither other targets nor rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::sleep;
use tracing::{debug, warn};

use super::message::Message;
use super::target::Target;

/// Messages that may wait for one target. Further ones are dropped: the next repeat tells what is still wrong, but an end
/// is told once.
const WAITING_MAX: usize = 64;
/// A message that was not accepted is sent again after these pauses; then it is dropped.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30), Duration::from_mins(2)];

/// The numbers of delivered and of dropped messages.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) sent: AtomicU64,
    pub(super) failed: AtomicU64,
}

/// The queue to one target. Queued messages are sent even after this is dropped.
#[derive(Debug)]
pub(super) struct Delivery {
    sender: Sender<Message>,
    target: Arc<Target>,
    counts: Arc<Counts>,
}

impl Delivery {
    pub(super) fn start(target: Arc<Target>, counts: Arc<Counts>) -> Self {
        let (sender, messages) = mpsc::channel(WAITING_MAX);
        tokio::spawn(run(messages, Arc::clone(&target), Arc::clone(&counts)));
        Self { sender, target, counts }
    }

    /// True if it delivers to this target, also when the file was read again.
    pub(super) fn leads_to(&self, target: &Target) -> bool {
        self.target.written == target.written
    }

    pub(super) fn send(&self, message: Message) {
        if self.sender.try_send(message).is_err() {
            self.counts.failed.fetch_add(1, Ordering::Relaxed);
            warn!(target_name = self.target.name, "an alert was dropped: too many wait for the same target");
        }
    }
}

async fn run(mut messages: Receiver<Message>, target: Arc<Target>, counts: Arc<Counts>) {
    while let Some(message) = messages.recv().await {
        let count = if deliver(&target, &message).await { &counts.sent } else { &counts.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

async fn deliver(target: &Target, message: &Message) -> bool {
    let mut pauses = PAUSES.into_iter();
    loop {
        let Err(error) = target.send(message).await else { return true };
        let Some(pause) = pauses.next() else {
            let name = &target.name;
            warn!(target_name = name, %error, alert = message.subject(), "an alert was dropped: its target did not accept it");
            return false;
        };
        debug!(target_name = target.name, %error, "an alert is sent again");
        sleep(pause).await;
    }
}
