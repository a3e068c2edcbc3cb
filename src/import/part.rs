//! Lines of an export that are pushed together.

use crate::exit::{Exit, Failure};
use adjourn_http::{ExportedJob, exported_job};
use adjourn_protocol::{ErrorCode, PushResult};
use adjourn_types::TopicName;

/// Jobs that are pushed together.
const JOBS_MAX: usize = 256;
/// Their bodies have at most this many bytes together, or there is one.
const BYTES_MAX: usize = 512 << 10;

/// Lines of one topic that follow each other, and so do the numbers of their jobs.
pub(super) struct Part {
    pub(super) topic: TopicName,
    pub(super) jobs: Vec<ExportedJob>,
    /// Their lines.
    texts: Vec<Vec<u8>>,
    bytes: usize,
    /// The first line, from 0.
    pub(super) first: u64,
    /// Where the line behind the last one begins.
    pub(super) end: u64,
}

impl Part {
    /// This line, and where the one behind it begins.
    pub(super) fn of(text: Vec<u8>, line: u64, end: u64) -> Result<Self, Failure> {
        let job = exported_job(&text).map_err(|problem| {
            Failure::new(Exit::Usage, format_args!("line {}: {}", line + 1, problem.detail()))
        })?;
        let (topic, bytes) = (job.topic.clone(), job.job.body.len());
        Ok(Self { topic, jobs: vec![job], texts: vec![text], bytes, first: line, end })
    }

    /// Adds the lines that follow. Returns them if they cannot be pushed with these.
    pub(super) fn add(&mut self, next: Self) -> Option<Self> {
        let fits = self.topic == next.topic
            && self.first + self.texts.len() as u64 == next.first
            && self.texts.len() + next.texts.len() <= JOBS_MAX
            && self.bytes + next.bytes <= BYTES_MAX;
        if !fits {
            return Some(next);
        }
        self.jobs.extend(next.jobs);
        self.texts.extend(next.texts);
        self.bytes += next.bytes;
        self.end = next.end;
        None
    }

    /// The lines that the queue has refused, each with its number and why.
    pub(super) fn refused<'a>(
        &'a self,
        results: &'a [PushResult],
    ) -> impl Iterator<Item = (u64, &'a [u8], ErrorCode)> {
        let lines = (self.first..).zip(&self.texts).zip(results);
        lines.filter_map(|((line, text), result)| match result {
            PushResult::Refused(code, _) => Some((line, text.as_slice(), *code)),
            _ => None,
        })
    }
}
