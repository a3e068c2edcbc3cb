//! Recently finished leases, so that a repeated finish gets the same answer, and GET can show that the job was
//! finished. Each topic has a [share](super::recent) of them: many finishes in one topic make no others forgotten.

use serde::{Deserialize, Serialize};

use super::hash;
use super::recent::{Happening, Recent};
use crate::types::limits::{FINISHED_WINDOW_MAX, FINISHED_WINDOW_MS};
use crate::types::{JobId, Lease, Millis, TopicId};

/// A finished lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Finish {
    /// When it was finished, as a stamp.
    pub(super) at: Millis,
    pub(super) lease: Lease,
    /// Of its job.
    pub(super) topic: TopicId,
    /// How often its job was attempted.
    pub(super) attempts: u32,
}

/// Those that are remembered: a job is finished once.
pub(super) type Finished = Recent<Finish>;

impl Finished {
    /// Whether this lease was finished, not too long ago by the time of `stamp`.
    pub(super) fn has(&self, lease: Lease, stamp: Millis) -> bool {
        self.find(lease.job, stamp).is_some_and(|finish| finish.lease.fence == lease.fence)
    }
}

/// None yet.
pub(super) fn none_finished() -> Finished {
    Recent::new(FINISHED_WINDOW_MAX, FINISHED_WINDOW_MS)
}

impl Finish {
    /// Whether its numbers were given out, if these are the last ones.
    pub(super) fn is_within(&self, last_job: u64, last_fence: u64) -> bool {
        self.lease.job.sequence() <= last_job && self.lease.fence.0 <= last_fence
    }
}

impl Happening for Finish {
    type Owner = TopicId;
    type Key = JobId;

    fn at(&self) -> Millis {
        self.at
    }

    fn owner(&self) -> TopicId {
        self.topic
    }

    fn key(&self) -> JobId {
        self.lease.job
    }

    fn hash_of(job: JobId) -> u64 {
        super::jobs::hash_of_id(job)
    }

    fn element(&self) -> u128 {
        hash::of_finished(self)
    }
}
