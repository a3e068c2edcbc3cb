//! How many due jobs one entry moves.

use crate::job::Job;
use adjourn_types::limits::{DUE_BYTES_PER_ENTRY_MAX, DUE_PER_ENTRY_MAX};

/// The number and size of the due jobs that one entry has moved so far.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    jobs: usize,
    /// The size of their bodies.
    bytes: u64,
}

impl Moved {
    /// Counts a job that moves.
    pub(crate) fn add(&mut self, job: &Job) {
        self.jobs += 1;
        self.bytes += u64::from(job.body.body_bytes);
    }

    /// True if this entry moves no more jobs: the next entries do.
    pub(crate) fn is_enough(&self) -> bool {
        self.jobs >= DUE_PER_ENTRY_MAX || self.bytes >= DUE_BYTES_PER_ENTRY_MAX
    }
}
