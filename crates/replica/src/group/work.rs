//! How much work was done, and estimates of how much a request will be.

use super::state::State;
use crate::selects::{is_in_any, select_job};
use adjourn_engine::{Command, NewJob, Place};
use adjourn_protocol::{Edit, JobRef, Request, ScheduleConditions};

/// The work of reading one block from a chunk, in addition to its size.
const BLOCK_WORK: u64 = 64;
/// This many bytes of a request, or of a block, are one unit of work.
pub(crate) const UNIT_BYTES: u64 = 1024;
/// Most schedules that are looked at for a page of a list.
pub(crate) const SCHEDULES_LOOKED_AT_MAX: u64 = 256;
/// A part of a push ends with the job that brings the work of reading spilled jobs to this.
const PART_WORK: u64 = 2048;

/// Work done, apart from the work that engine and store count.
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

/// The work of saying why a job waits.
const WHY_WORK: u64 = 16;
/// The work of a part of a backfill, or a bit less.
const FILL_WORK: u64 = 256;
/// The work of reading rules, of saying which zone is meant by a wrong name, or of looking for an instant that never comes. Each
/// instant that is shown is one unit more.
pub(crate) const PREVIEW_WORK: u64 = 1024;

impl State {
    /// Starts to read from disk what a command will need, without waiting. Returns an upper bound of the work.
    pub(crate) fn read_ahead(&self, command: &Command<'_>) -> u64 {
        self.engine.places_named(command).map(|place| self.work_of_block(place)).sum()
    }

    /// Starts to read a record. Returns an upper bound of the work; 0 if it is in memory.
    pub(super) fn work_of_block(&self, place: Place) -> u64 {
        match self.records.read_ahead(place) {
            0 => 0,
            bytes => reading(1, bytes),
        }
    }

    /// An estimate of the work of answering a read. A pass (`leader::browse`) has an account of its own.
    pub(crate) fn work_of_read(&self, request: &Request) -> u64 {
        match request {
            Request::Topics | Request::Stats => self.engine.topic_count() as u64,
            Request::Count(count) if count.filter.topic.is_none() => self.engine.topic_count() as u64,
            Request::Leases { jobs_max, .. } => u64::from(*jobs_max),
            // It counts what comes before a job.
            Request::Why(job) => 1 + WHY_WORK + self.topics_of(job) + self.work_of_job(job),
            Request::TopicWhy { .. } => 1 + WHY_WORK,
            Request::Get(job) => 1 + self.topics_of(job) + self.work_of_job(job),
            Request::Edit(Edit { job, body, .. }) => {
                1 + self.work_of_job(job) + body.as_ref().map_or(0, |body| body.len() as u64 / UNIT_BYTES)
            }
            Request::ScheduleSet(set) => 1 + set.template.body.len() as u64 / UNIT_BYTES,
            Request::ScheduleList(list) if list.conditions == ScheduleConditions::default() => {
                1 + u64::from(list.schedules_max)
            }
            // It may look at many before it finds one.
            Request::ScheduleList(_) => 1 + SCHEDULES_LOOKED_AT_MAX,
            Request::SchedulePreview(asked) => PREVIEW_WORK + u64::from(asked.instants_max),
            Request::ScheduleFill(_) => 1 + FILL_WORK,
            _ => 1,
        }
    }

    /// How many topics are searched for a job, if it is named without its topic.
    pub(crate) fn topics_of(&self, job: &JobRef) -> u64 {
        match job {
            JobRef::Key { topic, key } if is_in_any(topic, key) => self.engine.topic_count() as u64,
            _ => 0,
        }
    }

    fn work_of_job(&self, job: &JobRef) -> u64 {
        self.engine.place_of(&select_job(job)).map_or(0, |place| self.work_of_block(place))
    }

    /// How many of these jobs fit into one command, and the work of reading the spilled jobs that have their keys.
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

/// The work of reading this many blocks and bytes.
pub(super) fn reading(blocks: u64, bytes: u64) -> u64 {
    blocks * BLOCK_WORK + bytes / UNIT_BYTES
}
