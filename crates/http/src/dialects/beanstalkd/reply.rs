//! Replies, as the original writes them.

use std::io::Write as _;

use super::super::super::problem::Problem;
use adjourn_protocol::{ErrorCode, JobReport};
use adjourn_types::JobId;

/// A reply without data.
pub(super) type Reply = &'static str;

pub(super) const NOT_FOUND: Reply = "NOT_FOUND\r\n";
pub(super) const DELETED: Reply = "DELETED\r\n";
pub(super) const BAD_FORMAT: Reply = "BAD_FORMAT\r\n";
pub(super) const OUT_OF_MEMORY: Reply = "OUT_OF_MEMORY\r\n";
pub(super) const INTERNAL_ERROR: Reply = "INTERNAL_ERROR\r\n";

/// What a caller of beanstalkd is told instead of an error of the queue.
pub(super) fn refusal(problem: &Problem) -> Reply {
    if problem.is(ErrorCode::NotFound) {
        NOT_FOUND
    } else if problem.is(ErrorCode::Stopping) {
        "DRAINING\r\n"
    } else if problem.is(ErrorCode::TooLarge) {
        "JOB_TOO_BIG\r\n"
    } else if [ErrorCode::Busy, ErrorCode::DiskFull, ErrorCode::Quota].iter().any(|code| problem.is(*code)) {
        OUT_OF_MEMORY
    } else {
        INTERNAL_ERROR
    }
}

pub(super) fn not_found() -> Vec<u8> {
    NOT_FOUND.into()
}

pub(super) fn found(job: &JobReport) -> Vec<u8> {
    let mut out = Vec::new();
    write_job(&mut out, "FOUND", job.id, &job.body);
    out
}

pub(super) fn write_job(out: &mut Vec<u8>, what: &str, id: JobId, body: &[u8]) {
    // Writing to memory cannot fail.
    let _ = write!(out, "{what} {} {}\r\n", id.0, body.len());
    out.extend_from_slice(body);
    out.extend_from_slice(b"\r\n");
}

/// A reply with data.
pub(super) fn data(yaml: &str) -> Vec<u8> {
    format!("OK {}\r\n{yaml}\r\n", yaml.len()).into()
}
