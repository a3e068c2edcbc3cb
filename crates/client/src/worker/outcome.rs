//! The outcome of a handler.

use std::fmt::Display;

/// What happens to a job when its handler has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// The job is done: it is finished.
    Done,
    /// The attempt failed, for this reason: the job is released, and attempted again as its backoff says.
    Failed(String),
    /// The attempt failed: the job is released, and attempted again after this delay.
    RetryAfter {
        /// The delay in milliseconds, at most ten years; 0 for at once.
        delay_ms: u64,
        /// The reason.
        reason: String,
    },
    /// No further attempt would help, for this reason: the job is buried.
    Bury(String),
}

/// What a handler may return: `()`, a [`JobOutcome`], or a `Result` of either. An error is [`JobOutcome::Failed`] with its text.
pub trait IntoJobOutcome {
    /// The outcome of the job.
    fn into_job_outcome(self) -> JobOutcome;
}

impl IntoJobOutcome for JobOutcome {
    fn into_job_outcome(self) -> JobOutcome {
        self
    }
}

impl IntoJobOutcome for () {
    fn into_job_outcome(self) -> JobOutcome {
        JobOutcome::Done
    }
}

impl<T: IntoJobOutcome, E: Display> IntoJobOutcome for Result<T, E> {
    fn into_job_outcome(self) -> JobOutcome {
        match self {
            Ok(outcome) => outcome.into_job_outcome(),
            Err(error) => JobOutcome::Failed(error.to_string()),
        }
    }
}
