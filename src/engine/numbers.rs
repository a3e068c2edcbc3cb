//! The numbers that the queue gives out: the ids of jobs, and fences. They only grow, and none is given out twice.

use crate::types::{Fence, GroupId, JobId, Millis};

/// How far a skip of ids moves the counts that are beyond its floor: further than any log that was lost can have
/// moved them.
pub const IDS_SKIPPED: u64 = 1 << 40;

/// No clock makes a [floor](ids_floor) higher than this: the job sequence has 56 bits, and some room is left for those that
/// count on, and skip on.
pub const LAST_JOB_MAX: u64 = (1 << 56) - (1 << 48);

/// The highest valid job count. Skipped ids end far below it, so that ids for centuries are left.
pub const COUNTED_JOBS_MAX: u64 = (1 << 56) - IDS_SKIPPED;

/// The greatest of all other numbers that count up.
pub const COUNT_MAX: u64 = 1 << 62;

/// The count at which ids continue after an accepted loss or a restored backup, at this time. All ids issued before,
/// by this queue or by one made from the same backup, are lower, if the wall clock is right and
/// the queue has issued at most 16,384 ids in each millisecond since 2020. That is enough until the year 2155.
pub fn ids_floor(wall: Millis) -> u64 {
    const YEAR_2020_MS: u64 = 1_577_836_800_000;
    const PER_MS_SHIFT: u32 = 14;
    (wall.0.saturating_sub(YEAR_2020_MS)).min(LAST_JOB_MAX >> PER_MS_SHIFT) << PER_MS_SHIFT
}

/// The last numbers that were given out in a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    group: GroupId,
    last_job: u64,
    last_fence: u64,
}

impl Numbers {
    pub(super) fn new(group: GroupId) -> Self {
        Self::restored(group, 0, 0)
    }

    /// As a checkpoint says.
    pub(super) fn restored(group: GroupId, last_job: u64, last_fence: u64) -> Self {
        Self { group, last_job, last_fence }
    }

    pub(super) fn group(&self) -> GroupId {
        self.group
    }

    /// The sequence of the job that was pushed last.
    pub(super) fn last_job(&self) -> u64 {
        self.last_job
    }

    pub(super) fn last_fence(&self) -> u64 {
        self.last_fence
    }

    pub(super) fn next_job(&mut self) -> JobId {
        self.last_job += 1;
        JobId::new(self.group, self.last_job)
    }

    pub(super) fn next_fence(&mut self) -> Fence {
        self.last_fence += 1;
        Fence(self.last_fence)
    }

    /// Goes on at this floor, or [`IDS_SKIPPED`] further where that is higher.
    pub(super) fn skip(&mut self, floor: u64) {
        let skipped_to = skipped(self.last_job, floor).min(COUNTED_JOBS_MAX - IDS_SKIPPED);
        self.last_job = self.last_job.max(skipped_to);
        self.last_fence = skipped(self.last_fence, floor);
    }

    /// Whether a job with this id was pushed.
    pub(super) fn include_job(&self, id: JobId) -> bool {
        id.group() == self.group && (1..=self.last_job).contains(&id.sequence())
    }

    /// Whether a lease with this fence was granted, or it is none.
    pub(super) fn include_fence(&self, fence: Fence) -> bool {
        fence.0 <= self.last_fence
    }
}

/// Where a count goes on.
pub(super) fn skipped(last: u64, floor: u64) -> u64 {
    if last < floor { floor } else { last + IDS_SKIPPED }
}
