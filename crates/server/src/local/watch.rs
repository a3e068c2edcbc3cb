//! The state that this node shows to monitoring, whether it leads or not.
//!
//! The core has one question at a time, however many callers ask: so questions do not pile up while it hangs.

use std::sync::Arc;
use std::time::Duration;

use rustix::fs::statvfs;
use tokio::sync::{Mutex, broadcast, oneshot};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

use super::super::core::{Observed, ToCore};
use super::super::disk::resident_bytes;
use super::Local;
use adjourn_engine::JobEvent;
use adjourn_replica::CalledBack;
use adjourn_types::Access;

/// A core that does not report its state for this long hangs.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// The maximum age of the vitals: callers need no token for them.
const VITALS_AGE_MAX: Duration = Duration::from_secs(1);

/// The questions of those that watch the node.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    /// The last vitals.
    vitals: Mutex<Option<(Instant, Vitals)>>,
    /// Held while the core is asked for a caller with a token.
    turn: Mutex<()>,
    /// The question that the system has not answered: while a disk hangs, one thread waits for it.
    disk_free: Mutex<Option<JoinHandle<rustix::io::Result<u64>>>>,
}

/// The health of a node, for callers without a token.
#[derive(Clone, Copy, Debug)]
pub struct Vitals {
    /// True if it knows a leader.
    pub has_leader: bool,
    /// True if pushes are refused for lack of disk space.
    pub disk_is_full: bool,
    /// True if pushes are refused for lack of memory.
    pub memory_is_short: bool,
}

impl Local {
    /// The health of this node, at most a second old. `None` if its core does not answer in time.
    pub async fn vitals(&self) -> Option<Vitals> {
        let asked = async {
            let mut last = self.watchers.vitals.lock().await;
            if let Some((_, vitals)) = last.filter(|(at, _)| at.elapsed() < VITALS_AGE_MAX) {
                return Some(vitals);
            }
            let observation = self.ask_core(None).await?.observation;
            let vitals = Vitals {
                has_leader: observation.cluster.leader.is_some(),
                disk_is_full: observation.disk_is_full,
                memory_is_short: observation.memory_is_short,
            };
            *last = Some((Instant::now(), vitals));
            Some(vitals)
        };
        timeout(ANSWER_MAX, asked).await.ok()?
    }

    /// The state of this node and of the queue, as far as this access may see it. `None` if its core does not answer in
    /// time.
    pub async fn observe(&self, access: Arc<Access>) -> Option<Box<Observed>> {
        let asked = async {
            let _turn = self.watchers.turn.lock().await;
            self.ask_core(Some(access)).await
        };
        timeout(ANSWER_MAX, asked).await.ok()?
    }

    /// The topics with call-backs, as far as this node knows. `None` if its core does not answer in time.
    pub async fn called_back(&self) -> Option<Vec<CalledBack>> {
        let (asker, answer) = oneshot::channel();
        self.config.core.send_brief(ToCore::CalledBack(asker)).ok()?;
        timeout(ANSWER_MAX, answer).await.ok()?.ok()
    }

    /// Events of jobs from here on, as this node applies them. A reader that is too slow misses some, and is told how many.
    /// `None` if the core does not answer in time.
    pub async fn job_events(&self) -> Option<broadcast::Receiver<JobEvent>> {
        let (asker, answer) = oneshot::channel();
        self.config.core.send_brief(ToCore::WatchJobs(asker)).ok()?;
        timeout(ANSWER_MAX, answer).await.ok()?.ok()
    }

    /// True if no other member can lead, because this node has no peers' port.
    pub fn is_alone(&self) -> bool {
        self.passage.is_none()
    }

    /// Memory of the process, in bytes; `None` where the system does not report it.
    pub fn resident_bytes(&self) -> Option<u64> {
        resident_bytes()
    }

    /// Free space on the device of the data, in bytes; `None` if the system does not answer in time, or the data is in
    /// memory.
    pub async fn disk_free_bytes(&self) -> Option<u64> {
        let data = Arc::clone(self.data.as_ref()?);
        let asked = async {
            let mut asking = self.watchers.disk_free.lock().await;
            let ask = move || statvfs(&*data).map(|found| found.f_bavail.saturating_mul(found.f_frsize));
            let answer = asking.get_or_insert_with(|| spawn_blocking(ask)).await;
            *asking = None;
            answer.ok()?.ok()
        };
        timeout(ANSWER_MAX, asked).await.ok()?
    }

    async fn ask_core(&self, access: Option<Arc<Access>>) -> Option<Box<Observed>> {
        let (asker, answer) = oneshot::channel();
        self.config.core.send_brief(ToCore::Observe(access, asker)).ok()?;
        answer.await.ok()
    }
}
