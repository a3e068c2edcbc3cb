//! Settles the leases of called jobs, many at a time.
//!
//! It can go through any member: when this node loses the lead during a call, the new leader learns how the call
//! ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::{debug, warn};

use adjourn_protocol::{ErrorCode, ErrorReply, ReleaseKind, Request, Response};
use adjourn_server::Local;
use adjourn_types::limits::LEASES_MAX;
use adjourn_types::{Access, Lease};

/// Most requests under way: settlements that come meanwhile share the next ones.
const REQUESTS_MAX: usize = 8;
/// A settlement is tried for this long. Then the lease runs out, and the job is called again.
const TRIED_FOR: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(250);
/// Settlements that are taken at once: one request has room for all of them.
const TAKEN_MAX: usize = 1024;
const _: () = assert!(TAKEN_MAX <= LEASES_MAX, "those that are alike go in one request");

/// How a lease is settled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Settlement {
    Finish,
    /// The lease is renewed: the receiver settles it.
    Keep,
    /// The attempt failed: the next one is after this time, or by the backoff.
    Retry {
        after_ms: Option<u64>,
        reason: String,
    },
    /// There was no attempt. The next one is after this time, or at once.
    Return {
        after_ms: u64,
        reason: String,
    },
    Bury {
        reason: String,
    },
}

/// A handle of the settler.
#[derive(Clone, Debug)]
pub(super) struct Settler {
    sender: UnboundedSender<Ended>,
    /// Leases that were no longer held when the call ended.
    lost: Arc<AtomicU64>,
}

/// The end of a call.
struct Ended {
    lease: Lease,
    settlement: Settlement,
    /// Held until the queue has answered.
    unfinished: TaskTrackerToken,
}

impl Settler {
    pub(super) fn start(local: Local, access: Arc<Access>) -> Self {
        let (sender, settlements) = mpsc::unbounded_channel();
        let lost = Arc::default();
        tokio::spawn(run(Asking { local, access, lost: Arc::clone(&lost) }, settlements));
        Self { sender, lost }
    }

    /// Settles a lease. Drops the token when the queue has answered.
    pub(super) fn settle(&self, lease: Lease, settlement: Settlement, unfinished: TaskTrackerToken) {
        // At the end of the process, the lease runs out.
        let _ = self.sender.send(Ended { lease, settlement, unfinished });
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

async fn run(asking: Asking, mut settlements: UnboundedReceiver<Ended>) {
    let room = Arc::new(Semaphore::new(REQUESTS_MAX));
    let mut taken = Vec::new();
    loop {
        // The semaphore is never closed.
        let Ok(mut place) = Arc::clone(&room).acquire_owned().await else { return };
        if settlements.recv_many(&mut taken, TAKEN_MAX).await == 0 {
            return;
        }
        let mut alike: BTreeMap<Settlement, Vec<(Lease, TaskTrackerToken)>> = BTreeMap::new();
        for Ended { lease, settlement, unfinished } in taken.drain(..) {
            alike.entry(settlement).or_default().push((lease, unfinished));
        }
        for (settlement, leases) in alike {
            tokio::spawn(asking.clone().settle(settlement, leases, place));
            let Ok(next) = Arc::clone(&room).acquire_owned().await else { return };
            place = next;
        }
    }
}

#[derive(Clone)]
struct Asking {
    local: Local,
    access: Arc<Access>,
    lost: Arc<AtomicU64>,
}

impl Asking {
    async fn settle(
        self,
        settlement: Settlement,
        leases: Vec<(Lease, TaskTrackerToken)>,
        _place: OwnedSemaphorePermit,
    ) {
        let (mut leases, _unfinished): (Vec<Lease>, Vec<TaskTrackerToken>) = leases.into_iter().unzip();
        let until = Instant::now() + TRIED_FOR;
        loop {
            match self.ask(&settlement, leases.clone()).await {
                Ok(results) => {
                    let told = leases.iter().copied().zip(results);
                    let (mut again, mut lost) = (Vec::new(), 0);
                    for (lease, result) in told {
                        match result {
                            // The receiver may have settled it already.
                            Err(ErrorCode::StaleLease) if settlement == Settlement::Keep => {}
                            Err(ErrorCode::StaleLease) => lost += 1,
                            Err(ErrorCode::Busy) => again.push(lease),
                            Err(code) => warn!(%lease, ?code, "the outcome of a call-back is refused"),
                            Ok(()) => {}
                        }
                    }
                    self.lost.fetch_add(lost, Ordering::Relaxed);
                    leases = again;
                }
                Err(error) if Instant::now() < until => debug!(%error, "outcomes of call-backs wait"),
                Err(error) => {
                    warn!(%error, jobs = leases.len(), "the queue did not get the outcomes of some call-backs: these jobs will be called again");
                    return;
                }
            }
            if leases.is_empty() || Instant::now() >= until {
                return;
            }
            sleep(PAUSE).await;
        }
    }

    async fn ask(
        &self,
        settlement: &Settlement,
        leases: Vec<Lease>,
    ) -> Result<Vec<Result<(), ErrorCode>>, ErrorReply> {
        let reason = |reason: &String| Some(reason.clone()).filter(|reason| !reason.is_empty());
        let request = match settlement {
            Settlement::Finish => Request::Finish { leases },
            Settlement::Keep => Request::Touch { ttr_ms: None, leases },
            Settlement::Bury { reason: why } => Request::Bury { leases, reason: reason(why) },
            Settlement::Retry { after_ms, reason: why } => {
                let kind = after_ms.map_or(ReleaseKind::Backoff, ReleaseKind::After);
                Request::Release { kind, leases, reason: reason(why) }
            }
            Settlement::Return { after_ms, reason: why } => {
                let kind =
                    if *after_ms == 0 { ReleaseKind::NotStarted } else { ReleaseKind::Parked(*after_ms) };
                Request::Release { kind, leases, reason: reason(why) }
            }
        };
        match self.local.session(&self.access).await?.ask(None, request).await? {
            Response::Settled(results) => Ok(results),
            _ => Ok(Vec::new()),
        }
    }
}
