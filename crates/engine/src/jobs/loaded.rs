//! The jobs that became resident recently. A pass that has already scanned the resident jobs finds here those it missed.
//!
//! Not part of the state: replicas load jobs at different times.

use std::collections::VecDeque;

use adjourn_types::JobId;

/// Beyond this number the oldest are forgotten. A pass that did not look at them in time scans again.
const LOADED_MAX: usize = 65_536;

/// The last jobs that were loaded, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    jobs: VecDeque<JobId>,
    /// The number of jobs ever loaded.
    count: u64,
}

impl Loaded {
    pub(crate) fn note(&mut self, job: JobId) {
        if self.jobs.len() == LOADED_MAX {
            self.jobs.pop_front();
        }
        self.jobs.push_back(job);
        self.count += 1;
    }

    /// How many jobs were loaded until now.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The job that was loaded after `count` others; `None` if it is forgotten, or not loaded yet.
    pub(crate) fn nth(&self, count: u64) -> Option<JobId> {
        let forgotten = self.count - self.jobs.len() as u64;
        let place = usize::try_from(count.checked_sub(forgotten)?).ok()?;
        self.jobs.get(place).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_known() {
        let mut loaded = Loaded::default();
        assert_eq!(loaded.nth(0), None);
        let all = LOADED_MAX as u64 + 3;
        (0..all).for_each(|job| loaded.note(JobId(job)));
        assert_eq!((loaded.count(), loaded.nth(2), loaded.nth(3)), (all, None, Some(JobId(3))));
        assert_eq!((loaded.nth(all - 1), loaded.nth(all)), (Some(JobId(all - 1)), None));
    }
}
