//! The counters from which job ids and fences are issued. They only grow, so none is issued twice.

use adjourn_types::{Fence, GroupId, JobId, Millis};

/// How far a skip moves counts that are already beyond its floor: further than any lost log can have moved them.
pub const IDS_SKIPPED: u64 = 1 << 40;

/// The highest [floor](ids_floor) that any wall clock can give. The job sequence has 56 bits: above this floor there is
/// room for further counting and skips.
pub const LAST_JOB_MAX: u64 = (1 << 56) - (1 << 48);

/// The highest valid job count. Skipped ids end far below it, so that ids for centuries are left.
pub const COUNTED_JOBS_MAX: u64 = (1 << 56) - IDS_SKIPPED;

/// The highest valid value of all other counts.
pub const COUNT_MAX: u64 = 1 << 62;

/// The most fences that one command passes over.
pub const SKIPPED_FENCES_MAX: u64 = 1 << 20;

/// The count at which ids continue after an accepted loss or a restored backup, at this time. It is above all ids issued
/// before, by this queue or by one restored from the same backup, if the wall clock is right and the queue has issued at
/// most 16,384 ids per millisecond since 2020. The count lasts until the year 2155.
pub fn ids_floor(wall: Millis) -> u64 {
    const YEAR_2020_MS: u64 = 1_577_836_800_000;
    const PER_MS_SHIFT: u32 = 14;
    (wall.0.saturating_sub(YEAR_2020_MS)).min(LAST_JOB_MAX >> PER_MS_SHIFT) << PER_MS_SHIFT
}

/// The last numbers issued in a group.
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

    /// The counters as a checkpoint stores them.
    pub(super) fn restored(group: GroupId, last_job: u64, last_fence: u64) -> Self {
        Self { group, last_job, last_fence }
    }

    pub(super) fn group(&self) -> GroupId {
        self.group
    }

    /// The sequence of the last pushed job.
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

    /// Continues at `floor`, or [`IDS_SKIPPED`] further if the count is there already.
    pub(super) fn skip(&mut self, floor: u64) {
        let skipped_to = skipped(self.last_job, floor).min(COUNTED_JOBS_MAX - IDS_SKIPPED);
        self.last_job = self.last_job.max(skipped_to);
        self.last_fence = skipped(self.last_fence, floor);
    }

    /// Passes over fences.
    pub(super) fn skip_fences(&mut self, count: u64) {
        self.last_fence += count.min(SKIPPED_FENCES_MAX);
    }

    /// True if a job with this id was pushed.
    pub(super) fn include_job(&self, id: JobId) -> bool {
        id.group() == self.group && (1..=self.last_job).contains(&id.sequence())
    }

    /// True if this fence was issued, or is 0.
    pub(super) fn include_fence(&self, fence: Fence) -> bool {
        fence.0 <= self.last_fence
    }
}

/// The count after a skip.
pub(super) fn skipped(last: u64, floor: u64) -> u64 {
    if last < floor { floor } else { last + IDS_SKIPPED }
}
