//! Which failures of handlers are worth a line in the log: each reason once for each job, and so many a second at most.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::types::JobId;

/// Failures of this many jobs are remembered.
const REMEMBERED_MAX: usize = 256;
/// Lines in a [`WINDOW`] at most.
const LINES_MAX: u32 = 10;
const WINDOW: Duration = Duration::from_secs(1);

/// What was logged lately.
#[derive(Debug)]
pub(super) struct FailureLog {
    logged: VecDeque<(JobId, String)>,
    window: Instant,
    lines: u32,
    left_out: u64,
}

impl FailureLog {
    pub(super) fn new(now: Instant) -> Self {
        Self { logged: VecDeque::new(), window: now, lines: 0, left_out: 0 }
    }

    /// Whether this failure gets a line; if so, how many were left out since the one before.
    pub(super) fn note(&mut self, now: Instant, job: JobId, reason: &str) -> Option<u64> {
        if self.logged.iter().any(|(known, why)| *known == job && why == reason) {
            return None;
        }
        if now.saturating_duration_since(self.window) >= WINDOW {
            (self.window, self.lines) = (now, 0);
        }
        if self.lines >= LINES_MAX {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        if self.logged.len() >= REMEMBERED_MAX {
            self.logged.pop_front();
        }
        self.logged.push_back((job, reason.to_owned()));
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_reason_is_logged_once_for_each_job_and_a_flood_is_counted() {
        let begin = Instant::now();
        let mut log = FailureLog::new(begin);
        assert_eq!(log.note(begin, JobId(1), "no paper"), Some(0));
        assert_eq!(log.note(begin, JobId(1), "no paper"), None, "it was said");
        assert_eq!(log.note(begin, JobId(1), "no ink"), Some(0));
        for job in 2..=9 {
            assert_eq!(log.note(begin, JobId(job), "no paper"), Some(0));
        }
        for job in 10..=30 {
            assert_eq!(log.note(begin, JobId(job), "no paper"), None, "too many at once");
        }
        assert_eq!(log.note(begin + WINDOW, JobId(31), "no paper"), Some(21));
        for job in 32..u64::from(LINES_MAX) * REMEMBERED_MAX as u64 {
            let later = begin + WINDOW * u32::try_from(job).unwrap_or(u32::MAX);
            assert_eq!(log.note(later, JobId(job), "no paper"), Some(0));
        }
        assert!(log.logged.len() <= REMEMBERED_MAX);
    }
}
