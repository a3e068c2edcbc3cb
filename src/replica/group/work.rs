//! How much work was done, and how much something will be.

use super::state::State;
use crate::engine::{Command, NewJob, Place};
use crate::protocol::Request;
use crate::replica::selects::select_job;

/// The work of reading a block from a chunk on the disk, however short it is.
const BLOCK_WORK: u64 = 64;
/// The bytes of a request, or of a block, that are one unit of work.
pub(crate) const UNIT_BYTES: u64 = 1024;
/// A part of a push ends with the job with which the spilled jobs that it reads are this much work.
const PART_WORK: u64 = 2048;

/// Work that was done, but for what engine and store count.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(super) done: u64,
}

impl Work {
    /// Adds to the work done.
    pub(crate) fn count(&mut self, work: u64) {
        self.done += work;
    }
}

impl State {
    /// Begins to read what a command will need of the disk, without waiting for it. How much work that is at most.
    pub(crate) fn read_ahead(&self, command: &Command<'_>) -> u64 {
        self.engine.places_named(command).map(|place| self.work_of_block(place)).sum()
    }

    /// Begins to read a record. How much work that is at most; 0 if it is in memory.
    pub(super) fn work_of_block(&self, place: Place) -> u64 {
        match self.records.read_ahead(place) {
            0 => 0,
            bytes => reading(1, bytes),
        }
    }

    /// How much work it will be to answer a read, by and large. A pass (`leader::browse`) is in an account of its own.
    pub(crate) fn work_of_read(&self, request: &Request) -> u64 {
        match request {
            Request::Topics | Request::Stats => self.engine.topic_count() as u64,
            Request::Count(filter) if filter.topic.is_none() => self.engine.topic_count() as u64,
            Request::Leases { jobs_max, .. } => u64::from(*jobs_max),
            Request::Get(job) => {
                1 + self.engine.place_of(&select_job(job)).map_or(0, |place| self.work_of_block(place))
            }
            _ => 1,
        }
    }

    /// How many of these jobs one command may have, and how much work it is to read the spilled jobs that have their keys.
    pub(crate) fn part_of(&self, topic: &str, jobs: &[NewJob<'_>]) -> (usize, u64) {
        let mut work = 0;
        for (count, place) in (1..).zip(self.engine.places_of_keys(topic, jobs)) {
            work += place.map_or(0, |place| self.work_of_block(place));
            if work >= PART_WORK {
                return (count, work);
            }
        }
        (jobs.len(), work)
    }
}

/// How much work it is to read these blocks.
pub(super) fn reading(blocks: u64, bytes: u64) -> u64 {
    blocks * BLOCK_WORK + bytes / UNIT_BYTES
}
