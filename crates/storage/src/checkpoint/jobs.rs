//! Captured jobs on their way to the checkpoint thread: encoded by the core, so that little memory is handed over.

use super::row::Head;
use adjourn_engine::{CapturedJob, Moment, Place, SavedJob};

/// Some resident jobs, as they were when the checkpoint began.
#[derive(Clone, Debug, Default)]
pub struct CheckpointJobs {
    jobs: Vec<CheckpointJob>,
    /// Each job, and its record if that is in memory alone, one behind the other.
    bytes: Vec<u8>,
}

/// A job without its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckpointJob {
    /// The number of its page.
    pub(super) page: u32,
    /// Its entry in the index of a chunk.
    pub(super) head: Head,
    /// Where its record is.
    pub(super) place: Place,
    /// Its hash, if it is due late enough to be spilled.
    pub(super) spillable: Option<[u8; 16]>,
    /// Length of the job.
    saved_bytes: usize,
    /// Length of its record, if that is in memory alone.
    record_bytes: Option<usize>,
}

impl CheckpointJobs {
    /// With room for this many jobs.
    pub fn with_capacity(jobs: usize) -> Self {
        Self { jobs: Vec::with_capacity(jobs), bytes: Vec::with_capacity(jobs * JOB_BYTES) }
    }

    /// Adds a job, with its record if that is in memory alone.
    pub fn push(&mut self, job: &CapturedJob, record: Option<&[u8]>) {
        let CapturedJob { page, ref saved, place, delayed_until, spillable } = *job;
        let begin = self.bytes.len();
        saved.encode(&mut self.bytes);
        let saved_bytes = self.bytes.len() - begin;
        self.bytes.extend_from_slice(record.unwrap_or_default());
        let head = head(saved, delayed_until.unwrap_or_else(|| saved.due()));
        let (spillable, record_bytes) = (spillable.map(u128::to_le_bytes), record.map(<[u8]>::len));
        self.jobs.push(CheckpointJob { page, head, place, spillable, saved_bytes, record_bytes });
    }

    /// True if there are no jobs.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Estimated memory that they take, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.jobs.capacity() * size_of::<CheckpointJob>() + self.bytes.capacity()
    }

    /// Each job, its encoded form, and its record if that is in memory alone.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&CheckpointJob, &[u8], Option<&[u8]>)> {
        let mut rest = &self.bytes[..];
        self.jobs.iter().map(move |job| {
            let mut take = |bytes| rest.split_off(..bytes).unwrap_or_default();
            (job, take(job.saved_bytes), job.record_bytes.map(take))
        })
    }
}

/// Room for a common job and its record, in bytes.
const JOB_BYTES: usize = 192;

/// The facts about a row that a start needs without reading the row.
fn head(saved: &SavedJob, waits_for: Moment) -> Head {
    Head {
        at: waits_for.at,
        id: saved.id().0,
        topic: saved.topic().0,
        timeline: waits_for.timeline.number(),
        key_hash: saved.key_hash().map(u128::to_le_bytes),
    }
}
