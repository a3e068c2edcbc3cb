//! The jobs that fill a time of a schedule that has passed.

use super::NewJob;
use crate::response::PushResult;
use crate::schedule::{JobTemplate, ScheduleReport};
use adjourn_types::{IfExists, Millis, When};

/// One push has jobs of at most about this size, in bytes, if they are more than one: it leaves room for others.
const PUSH_BYTES: usize = 256 << 10;
/// What a job takes beside its body, in bytes, or less.
const JOB_BYTES: usize = 1 << 10;

/// What became of the jobs of a backfill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// They were pushed.
    pub pushed: u64,
    /// The topic has a job with their key already.
    pub kept: u64,
    /// The topic's policy, or a limit of the queue, does not allow them.
    pub refused: u64,
}

impl Filled {
    /// Counts the jobs of one push.
    pub fn count(&mut self, results: &[PushResult]) {
        for result in results {
            match result {
                PushResult::Kept(_) => self.kept += 1,
                PushResult::Refused(..) => self.refused += 1,
                _ => self.pushed += 1,
            }
        }
    }
}

/// The pushes that fill these instants of a schedule, each with its first instant. The jobs are due at once; if the topic has a
/// job with the key of an instant, that one stays.
pub fn pushes<'a>(
    schedule: &'a ScheduleReport,
    name: &'a str,
    instants: &'a [Millis],
) -> impl Iterator<Item = (Millis, Vec<NewJob>)> {
    let together = PUSH_BYTES / (JOB_BYTES + schedule.template.body.len());
    instants.chunks(together.max(1)).filter_map(move |part| {
        let jobs = part.iter().map(|instant| job_of(schedule, name, *instant));
        Some((*part.first()?, jobs.collect()))
    })
}

fn job_of(schedule: &ScheduleReport, name: &str, instant: Millis) -> NewJob {
    let JobTemplate { priority, ttr_ms, attributes, body } = schedule.template.clone();
    NewJob {
        due: When::After(0),
        priority,
        ttr_ms,
        if_exists: IfExists::Keep,
        key: schedule.rules.key_of(name, instant),
        attributes,
        body,
    }
}
