//! Recently finished leases, so that a repeated finish gets the same answer, and GET can show the job as finished. Each
//! topic has a [share](crate::recent) of them: many finishes in one topic do not evict those of others.

use serde::{Deserialize, Serialize};

use crate::hash::{Element, Kind};
use crate::recent::{Happening, Recent};
use adjourn_types::limits::{FINISHED_WINDOW_MAX, FINISHED_WINDOW_MS};
use adjourn_types::{JobId, Lease, Millis, TopicId};

/// A finished lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finish {
    /// When it was finished, as a stamp.
    pub(crate) at: Millis,
    pub(crate) lease: Lease,
    /// The topic of its job.
    pub(crate) topic: TopicId,
    /// How often its job was attempted.
    pub(crate) attempts: u32,
}

/// The remembered leases. A job is finished once, so the job id is the key.
pub(crate) type Finished = Recent<Finish>;

impl Finished {
    /// True if this lease was finished, and is still remembered at `stamp`.
    pub(crate) fn has(&self, lease: Lease, stamp: Millis) -> bool {
        self.find(lease.job, stamp).is_some_and(|finish| finish.lease.fence == lease.fence)
    }
}

/// An empty list.
pub(crate) fn none_finished() -> Finished {
    Recent::new(FINISHED_WINDOW_MAX, FINISHED_WINDOW_MS)
}

impl Finish {
    /// True if its job id and fence are not greater than the last ones given out.
    pub(crate) fn is_within(&self, last_job: u64, last_fence: u64) -> bool {
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
        crate::jobs::hash_of_id(job)
    }

    fn element(&self) -> u128 {
        let Self { at, lease, topic, attempts } = self;
        let mut element = Element::new(Kind::Finished);
        element.word(at.0).word(lease.job.0).word(lease.fence.0).pair(topic.0, *attempts).hash()
    }
}
